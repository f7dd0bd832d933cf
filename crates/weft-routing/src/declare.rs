//! Declarations: who owns what.
//!
//! Spec: 02 §1.6, §4.1 to §4.3, §4.8; 03 §3.5. Subscribers, queryables and tokens go through the
//! same table. Who is told of a change is decided in `tell`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Declaration, Declare, QueryableInfo, WireExpr};

use crate::asked::Answer;
use crate::entity::{Entry, Kind, Owner};
use crate::expr::ResolveError;
use crate::face::FaceId;
use crate::few::Few;
use crate::limits::{SAME_KEY_MAX, Violation, key_memory};
use crate::outbox::{Event, Outbox};
use crate::routing::Routing;

/// A declaration of a neighbour, its fields resolved.
struct Declared {
    kind: Kind,
    id: u32,
    key: KeyExpr,
    info: QueryableInfo,
}

/// What a declaration did to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// It is in the table.
    New,
    /// Its information differs from before.
    Updated,
    /// It was there already.
    Known,
    /// Its id stands for another key, which it keeps.
    Conflict,
}

impl Routing {
    /// Declares an entity of this node's session under an id of the session's choice.
    pub fn declare(
        &mut self,
        kind: Kind,
        id: u32,
        key: &KeyExpr,
        info: QueryableInfo,
        out: &mut dyn Outbox,
    ) {
        self.add_owner(FaceId::LOCAL, kind, id, key, info);
        self.sync(kind, key, out);
    }

    /// Withdraws an entity of this node's session.
    pub fn undeclare(&mut self, kind: Kind, id: u32, out: &mut dyn Outbox) {
        if let Some(key) = self.remove_owner(FaceId::LOCAL, kind, id) {
            self.sync(kind, &key, out);
        }
    }

    /// Gives `key`, or what comes before its first wildcard, a number at the neighbours to which
    /// this node declares freely (02 §2 rules 7 and 8), so that its samples carry no text.
    pub fn name_key(&mut self, key: &KeyExpr, out: &mut dyn Outbox) {
        for face in &self.pushed {
            if let Some(face) = self.faces.get_mut(face) {
                crate::message::named(face, key, out);
            }
        }
        self.watch.invalidate(key);
    }

    /// Handles a `DECLARE` message. Returns whether an expression id changed its meaning, after
    /// which whatever the caller remembers of this face's wire expressions is void.
    pub fn handle_declare(
        &mut self,
        now_us: u64,
        face: FaceId,
        message: &Declare<'_>,
        out: &mut dyn Outbox,
    ) -> bool {
        let none = QueryableInfo::default();
        let interest = message.interest_id;
        match message.body {
            Declaration::KeyExpr { id, wire_expr } => self.declare_expr(face, id, wire_expr, out),
            Declaration::UndeclareKeyExpr { id } => return self.undeclare_expr(face, id),
            Declaration::Final => match interest {
                Some(0) => self.neighbour_ready(face, out),
                Some(id) => self.handle_asked_final(face, id, out),
                None => {}
            },
            _ if self.network_of(face).is_some() => {
                self.handle_sourced(now_us, face, message, out);
            }
            Declaration::Subscriber { id, wire_expr } => {
                self.declared(face, Kind::Subscriber, id, wire_expr, none, interest, out);
            }
            Declaration::Queryable { id, wire_expr, info } => {
                self.declared(face, Kind::Queryable, id, wire_expr, info, interest, out);
            }
            Declaration::Token { id, wire_expr } => {
                self.declared(face, Kind::Token, id, wire_expr, none, interest, out);
            }
            Declaration::UndeclareSubscriber { id, .. } => {
                self.undeclared(face, Kind::Subscriber, id, None, out);
            }
            Declaration::UndeclareQueryable { id, .. } => {
                self.undeclared(face, Kind::Queryable, id, None, out);
            }
            Declaration::UndeclareToken { id, wire_expr } => {
                self.undeclared(face, Kind::Token, id, wire_expr, out);
            }
        }
        false
    }

    /// The key expression behind a wire expression of `face`.
    pub fn resolve(&self, face: FaceId, expr: WireExpr<'_>) -> Result<KeyExpr, ResolveError> {
        match self.faces.get(&face) {
            Some(face) => face.exprs.resolve(expr, &self.config.limits),
            None => Err(ResolveError::UnknownScope { scope: expr.scope, mapping: expr.mapping }),
        }
    }

    /// Says once that the node does not take what a neighbour declares or is interested in.
    pub(crate) fn ignore(&mut self, face: FaceId, error: ResolveError, out: &mut dyn Outbox) {
        let is_limit =
            matches!(error, ResolveError::TooLong { .. } | ResolveError::TooManyChunks { .. });
        if let Some(neighbour) = self.faces.get_mut(&face)
            && is_limit
            && !core::mem::replace(&mut neighbour.ignored, true)
        {
            out.event(Event::Ignored { face, error });
        }
    }

    fn declare_expr(&mut self, face: FaceId, id: u16, expr: WireExpr<'_>, out: &mut dyn Outbox) {
        // The message has no mapping flag: a scope in it means an id of this node (02 §2 rule 4).
        let expr = WireExpr { mapping: weft_wire::Mapping::Receiver, ..expr };
        if let Ok(key) = self.resolve(face, expr)
            && let Some(neighbour) = self.faces.get_mut(&face)
            && neighbour.exprs.declared(id, key.clone())
        {
            self.charge(face, &key, out);
        }
    }

    fn undeclare_expr(&mut self, face: FaceId, id: u16) -> bool {
        let Some(neighbour) = self.faces.get_mut(&face) else { return false };
        let Some(key) = neighbour.exprs.undeclared(id) else { return false };
        neighbour.key_memory -= key_memory(&key);
        // Routes to this neighbour may use the id.
        self.watch.invalidate_all();
        true
    }

    /// Counts `key` among what the neighbour makes this node remember; refuses a neighbour that
    /// goes too far.
    pub(crate) fn charge(&mut self, face: FaceId, key: &KeyExpr, out: &mut dyn Outbox) {
        if let Some(neighbour) = self.faces.get_mut(&face) {
            let limits = &self.config.limits;
            let max = if neighbour.networked {
                limits.network_key_memory_max
            } else {
                limits.key_memory_max
            };
            neighbour.key_memory += key_memory(key);
            if neighbour.key_memory > max && face != FaceId::LOCAL {
                out.event(Event::Refuse { face, violation: Violation::KeyMemory { max } });
            }
        }
    }

    pub(crate) fn discharge(&mut self, face: FaceId, key: &KeyExpr) {
        if let Some(neighbour) = self.faces.get_mut(&face) {
            neighbour.key_memory -= key_memory(key);
        }
    }

    #[allow(clippy::too_many_arguments)] // one field of the message each
    fn declared(
        &mut self,
        face: FaceId,
        kind: Kind,
        id: u32,
        expr: WireExpr<'_>,
        info: QueryableInfo,
        interest: Option<u32>,
        out: &mut dyn Outbox,
    ) {
        let key = match self.resolve(face, expr) {
            Ok(key) => key,
            Err(error) => return self.ignore(face, error, out),
        };
        let Some(owner) = self.faces.get(&face) else { return };
        let declared = Declared { kind, id, key, info };
        let Some(interest) = interest else {
            return self.add_declared(face, &declared, None, out);
        };
        // Only an upstream neighbour answers interests (03 §3.4).
        if !owner.upstream {
            return;
        }
        match owner.asked.answer_to(interest) {
            Some(answer) if answer.one_shot => self.pass_snapshot(&declared, &answer, out),
            Some(answer) => self.add_declared(face, &declared, Some(&answer), out),
            // The rest of an answer to an interest that has ended. Snapshots carry no id.
            None if id == 0 => {}
            None => self.add_declared(face, &declared, Some(&Answer::to_nobody()), out),
        }
    }

    /// Passes a part of a snapshot on to those who asked for it; nothing is kept.
    fn pass_snapshot(&mut self, declared: &Declared, answer: &Answer, out: &mut dyn Outbox) {
        for &(asker, interest) in &answer.askers {
            self.answer(asker, interest, declared.kind, &declared.key, declared.info, out);
        }
    }

    fn add_declared(
        &mut self,
        face: FaceId,
        declared: &Declared,
        answer: Option<&Answer>,
        out: &mut dyn Outbox,
    ) {
        let Declared { kind, id, ref key, info } = *declared;
        if let Some(violation) = self.would_exceed(face, declared) {
            return out.event(Event::Refuse { face, violation });
        }
        let added = self.add_owner(face, kind, id, key, info);
        if added == Added::New {
            self.charge(face, key, out);
        }
        match answer {
            _ if added == Added::Conflict => {}
            // A token that existed before is history: only those who asked for it hear of it.
            Some(answer) if kind == Kind::Token && !answer.replayed => {
                for &(asker, interest) in &answer.askers {
                    self.answer(asker, interest, kind, key, info, out);
                }
                self.remember_silently(key);
            }
            // Asked again after a reconnection: whoever was not told of it before is told now.
            Some(answer) if kind == Kind::Token && added == Added::Known => {
                for &(asker, _) in &answer.askers {
                    self.break_silence(asker, key, out);
                }
            }
            _ if added == Added::Known => {}
            _ => self.sync(kind, key, out),
        }
    }

    fn would_exceed(&self, face: FaceId, declared: &Declared) -> Option<Violation> {
        let owner = self.faces.get(&face)?;
        if owner.declared[declared.kind.index()].contains_key(&declared.id) {
            return None;
        }
        let max = self.config.limits.declarations_max;
        if owner.declaration_count() >= max {
            return Some(Violation::Declarations { max });
        }
        let same_key = self.tables[declared.kind.index()]
            .get(declared.key.as_ke())
            .and_then(|entry| entry.owners.get(&Owner::Face(face)))
            .is_some_and(|declarations| declarations.len() >= SAME_KEY_MAX);
        same_key.then_some(Violation::Declarations { max: SAME_KEY_MAX })
    }

    fn undeclared(
        &mut self,
        face: FaceId,
        kind: Kind,
        id: u32,
        expr: Option<WireExpr<'_>>,
        out: &mut dyn Outbox,
    ) {
        if let Some(key) = self.remove_owner(face, kind, id) {
            self.discharge(face, &key);
            self.sync(kind, &key, out);
        } else if let Some(expr) = expr.filter(|expr| !expr.is_empty())
            && self.faces.get(&face).is_some_and(|face| face.upstream)
            && let Ok(key) = self.resolve(face, expr)
        {
            self.token_gone_unseen(face, &key, out);
        }
    }

    /// The neighbour has told all it has: from here on it gets only what it asked for.
    pub(crate) fn neighbour_ready(&mut self, face: FaceId, out: &mut dyn Outbox) {
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        if !core::mem::replace(&mut neighbour.ready, true) {
            self.watch.invalidate_all();
            self.answer_waiting_for(face, out);
            out.event(Event::NeighbourReady { face });
        }
    }

    fn add_owner(
        &mut self,
        face: FaceId,
        kind: Kind,
        id: u32,
        key: &KeyExpr,
        info: QueryableInfo,
    ) -> Added {
        let Some(owner) = self.faces.get_mut(&face) else { return Added::Conflict };
        let known = owner.declared[kind.index()].entry(id).or_insert_with(|| key.clone());
        if known != key {
            return Added::Conflict;
        }
        let entry = self.tables[kind.index()].get_or_insert_with(key, Entry::default);
        let declarations = entry.owners.get_or_insert_with(Owner::Face(face), Few::default);
        let added = match declarations.insert(id, info) {
            Some(known) if known == info => return Added::Known,
            Some(_) => Added::Updated,
            None => Added::New,
        };
        self.owners_changed(kind, key, Owner::Face(face));
        added
    }

    /// Returns the key if the entity existed.
    fn remove_owner(&mut self, face: FaceId, kind: Kind, id: u32) -> Option<KeyExpr> {
        let key = self.faces.get_mut(&face)?.declared[kind.index()].remove(&id)?;
        if let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke())
            && let Some(declarations) = entry.owners.get_mut(&Owner::Face(face))
        {
            declarations.remove(&id);
            if declarations.is_empty() {
                entry.owners.remove(&Owner::Face(face));
            }
        }
        self.owners_changed(kind, &key, Owner::Face(face));
        Some(key)
    }

    pub(crate) fn owners_changed(&mut self, kind: Kind, key: &KeyExpr, owner: Owner) {
        self.note_covered(kind, key, owner);
        if kind == Kind::Subscriber {
            self.watch.invalidate(key);
        }
    }

    /// Withdraws all that a leaving neighbour declared.
    pub(crate) fn drop_declarations_of(&mut self, face: FaceId, out: &mut dyn Outbox) {
        let Some(gone) = self.faces.get_mut(&face) else { return };
        let declared = core::mem::take(&mut gone.declared);
        let told = core::mem::take(&mut gone.told);
        for (kind, told) in Kind::ALL.into_iter().zip(told) {
            let told = told
                .into_iter()
                .flat_map(|(root, keys)| keys.into_iter().map(move |key| (root, key)));
            for (root, key) in told {
                if let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke()) {
                    entry.told.remove(&(face, root));
                }
                self.drop_unused(kind, &key);
            }
        }
        for (kind, declared) in Kind::ALL.into_iter().zip(declared) {
            let keys: BTreeSet<KeyExpr> = declared.into_values().collect();
            for key in keys {
                if let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke()) {
                    entry.owners.remove(&Owner::Face(face));
                }
                self.owners_changed(kind, &key, Owner::Face(face));
                self.sync(kind, &key, out);
            }
        }
    }

    pub(crate) fn drop_unused(&mut self, kind: Kind, key: &KeyExpr) {
        let table = &mut self.tables[kind.index()];
        if table.get(key.as_ke()).is_some_and(Entry::is_unused) {
            table.remove(key.as_ke());
        }
    }

    /// Whether a neighbour declared a match for what the session sends or asks on `key`. With
    /// `complete`, only a complete queryable that covers all of `key` counts.
    pub fn has_remote_match(&self, kind: Kind, key: &KeyExpr, complete: bool) -> bool {
        let mut found = false;
        self.tables[kind.index()].for_each_intersecting(key.as_ke(), |owned, entry| {
            found |= entry.owners.iter().any(|(owner, declarations)| {
                *owner != Owner::LOCAL
                    && (!complete
                        || owned.includes(key.as_ke())
                            && declarations.values().any(|info| info.complete))
            });
        });
        found
    }

    /// The queryables of neighbours, as they are declared, that a query of the session on `key` matches.
    ///
    /// Cost: their number.
    pub fn remote_queryables(&self, key: &KeyExpr) -> Vec<(KeyExpr, QueryableInfo)> {
        let mut found = Vec::new();
        self.tables[Kind::Queryable.index()].for_each_intersecting(key.as_ke(), |owned, entry| {
            if let Some(info) = entry.merged(|owner| owner != Owner::LOCAL) {
                found.push((owned.clone(), info));
            }
        });
        found
    }
}
