//! Who is told of what.
//!
//! Spec: 02 §4.3, §4.8; 03 §3.3, §3.5. Whatever changes, [`Routing::sync`] compares what each
//! concerned face should know with what it was told and sends the difference; so there is one rule
//! for declaring, updating and withdrawing, and repeating it is harmless.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::QueryableInfo;

use crate::entity::{Entry, Kind, Owner, Told, merge};
use crate::face::{Face, FaceId, Region};
use crate::interest::Interest;
use crate::message::{declaration, declare, named_once, undeclare, undeclare_unseen_token};
use crate::network::NodeIx;
use crate::outbox::{Event, Outbox};
use crate::routing::Routing;

/// How a declaration answers an interest.
#[derive(Clone, Copy)]
struct Answering {
    interest: u32,
    /// The asker keeps no record: the id in the declaration is 0 (02 §4.1).
    one_shot: bool,
}

impl Routing {
    /// Brings every concerned face's knowledge of `kind` on `key` up to date.
    ///
    /// Cost: the faces that are pushed to, those interested in the key, and those already told.
    pub(crate) fn sync(&mut self, kind: Kind, key: &KeyExpr, out: &mut dyn Outbox) {
        let interested = self.interested(kind, key);
        let mut faces = interested.clone();
        faces.extend(&self.pushed);
        if let Some(entry) = self.tables[kind.index()].get(key.as_ke()) {
            faces.extend(entry.told.keys().map(|(face, _)| *face));
        }
        self.sync_networks(kind, key, out);
        for face in faces {
            if face == FaceId::LOCAL && kind != Kind::Token {
                self.matching_event(kind, key, out);
            } else {
                self.sync_face(face, kind, key, interested.contains(&face), out);
            }
        }
        let mut aggregates = Vec::new();
        self.for_each_interest(key, |face, id, interest| {
            if interest.aggregate && interest.kinds.contains(kind) {
                aggregates.push((face, id));
            }
        });
        for (face, id) in aggregates {
            self.sync_aggregate(face, id, kind, None, out);
        }
        self.drop_unused(kind, key);
        self.sync_cover(kind, key, out);
    }

    /// Tells a new neighbour everything that is pushed to it (03 §3.1).
    pub(crate) fn push_all(&mut self, face: FaceId, out: &mut dyn Outbox) {
        for kind in Kind::ALL {
            let known = self.tables[kind.index()].iter().map(|(key, _)| key);
            let keys: Vec<KeyExpr> = known.chain(self.covers(kind)).cloned().collect();
            for key in keys {
                self.sync_face(face, kind, &key, false, out);
            }
        }
    }

    /// Answers the current part of an interest from the tables.
    pub(crate) fn answer_current(&mut self, face: FaceId, id: u32, out: &mut dyn Outbox) {
        let Some(interest) = self.interest(face, id) else { return };
        let (kinds, aggregate) = (interest.kinds, interest.aggregate);
        for kind in Kind::ALL.into_iter().filter(|kind| kinds.contains(*kind)) {
            if face == FaceId::LOCAL && kind != Kind::Token {
                out.event(Event::MatchingChanged { interest: id });
            } else if aggregate {
                self.sync_aggregate(face, id, kind, Some(id), out);
            } else {
                for (key, info) in self.matching(face, id, kind) {
                    self.answer(face, id, kind, &key, info, out);
                }
            }
        }
    }

    /// The answer to an interest is about to be closed: the tokens that it has not told, because
    /// they were told in answers to others and the one that would repeat them does not come.
    pub(crate) fn answer_rest(&mut self, face: FaceId, id: u32, out: &mut dyn Outbox) {
        let wanted = self
            .interest(face, id)
            .is_some_and(|interest| interest.current && interest.kinds.contains(Kind::Token));
        if wanted {
            for (key, info) in self.matching(face, id, Kind::Token) {
                self.answer(face, id, Kind::Token, &key, info, out);
            }
        }
    }

    /// Tells a face of an entity as part of the answer to its interest, once.
    pub(crate) fn answer(
        &mut self,
        face: FaceId,
        id: u32,
        kind: Kind,
        key: &KeyExpr,
        info: QueryableInfo,
        out: &mut dyn Outbox,
    ) {
        let asker = self.faces.get_mut(&face).and_then(|face| face.interests.get_mut(&id));
        if let Some(interest) = asker
            && (kind != Kind::Token || interest.hears(key))
        {
            let answering = Answering { interest: id, one_shot: !interest.future };
            self.tell(face, kind, key, info, Some(answering), out);
        }
    }

    /// An interest in changes only: what exists is remembered, so that its end can be told.
    pub(crate) fn remember_current(&mut self, face: FaceId, id: u32) {
        let tokens = self.interest(face, id).is_some_and(|it| it.kinds.contains(Kind::Token));
        if tokens {
            for (key, _) in self.matching(face, id, Kind::Token) {
                self.remember_for(face, &key);
            }
        }
    }

    /// Marks a token as known to every interested face that was not told of it.
    pub(crate) fn remember_silently(&mut self, key: &KeyExpr) {
        for face in self.interested(Kind::Token, key) {
            let (Some(neighbour), Some(entry)) =
                (self.faces.get(&face), self.tables[Kind::Token.index()].get(key.as_ke()))
            else {
                continue;
            };
            if self.advertised(key, Some(entry), neighbour, Kind::Token).is_some() {
                self.remember_for(face, key);
            }
        }
    }

    /// Tells `face` as news of a token that it was only remembered for.
    pub(crate) fn break_silence(&mut self, face: FaceId, key: &KeyExpr, out: &mut dyn Outbox) {
        let entry = self.tables[Kind::Token.index()].get(key.as_ke());
        let told = entry.and_then(|entry| entry.told.get(&(face, NodeIx::SELF)));
        if told.is_some_and(|told| told.silent) {
            self.tell(face, Kind::Token, key, QueryableInfo::default(), None, out);
        }
    }

    /// A token went that this node never heard of, because its interest was in changes only.
    pub(crate) fn token_gone_unseen(&mut self, face: FaceId, key: &KeyExpr, out: &mut dyn Outbox) {
        let known = self.tables[Kind::Token.index()].get(key.as_ke());
        if known.is_some_and(|entry| !entry.owners.is_empty()) {
            return;
        }
        for asker in self.interested(Kind::Token, key) {
            if asker == FaceId::LOCAL {
                self.token_event(key, false, out);
            } else if self.faces[&asker].passes_to(&self.faces[&face]) {
                let expr = self.faces[&asker].exprs.best(key);
                out.send(asker, &undeclare_unseen_token(expr.as_wire()));
            }
        }
    }

    /// The faces with a standing interest in `kind` on `key`, one per face, aggregates excluded.
    fn interested(&self, kind: Kind, key: &KeyExpr) -> BTreeSet<FaceId> {
        let mut faces = BTreeSet::new();
        self.for_each_interest(key, |face, _, interest| {
            if interest.kinds.contains(kind) && !interest.aggregate {
                faces.insert(face);
            }
        });
        faces
    }

    fn for_each_interest(&self, key: &KeyExpr, mut visit: impl FnMut(FaceId, u32, &Interest)) {
        let mut visit = |(face, id): (FaceId, u32)| {
            if let Some(interest) = self.interest(face, id) {
                visit(face, id, interest);
            }
        };
        self.interests_in_all.iter().copied().for_each(&mut visit);
        self.interests_by_key.for_each_intersecting(key.as_ke(), |_, ids| {
            ids.iter().copied().for_each(&mut visit);
        });
    }

    fn interest(&self, face: FaceId, id: u32) -> Option<&Interest> {
        self.faces.get(&face)?.interests.get(&id)
    }

    pub(crate) fn sync_face(
        &mut self,
        face: FaceId,
        kind: Kind,
        key: &KeyExpr,
        interested: bool,
        out: &mut dyn Outbox,
    ) {
        let Some(neighbour) = self.faces.get(&face).filter(|face| !face.networked) else { return };
        let entry = self.tables[kind.index()].get(key.as_ke());
        let info = self.advertised(key, entry, neighbour, kind);
        let told = entry.and_then(|entry| entry.told.get(&(face, NodeIx::SELF))).copied();
        match (info, told) {
            (None, Some(told)) => self.untell(face, kind, key, told, out),
            (Some(info), Some(told)) if info != told.info && kind == Kind::Queryable => {
                self.tell(face, kind, key, info, None, out);
            }
            (Some(info), None) if interested || neighbour.is_pushed_to() => {
                self.tell(face, kind, key, info, None, out);
            }
            _ => {}
        }
    }

    /// Tells `face` of an entity, as an answer or as news.
    fn tell(
        &mut self,
        face: FaceId,
        kind: Kind,
        key: &KeyExpr,
        info: QueryableInfo,
        answering: Option<Answering>,
        out: &mut dyn Outbox,
    ) {
        let one_shot = answering.is_some_and(|answering| answering.one_shot);
        let id = if one_shot { 0 } else { self.record_told(face, kind, key, info) };
        if face == FaceId::LOCAL {
            return self.tell_session(key, answering, out);
        }
        if kind == Kind::Token && answering.is_none() {
            self.heard_as_news(face, key, true);
        }
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        let expr = named_once(neighbour, key, out);
        let body = declaration(kind, id, expr.as_wire(), info);
        out.send(face, &declare(answering.map(|answering| answering.interest), body));
    }

    /// Notes what `face` knows of `key`; returns the entity's id there.
    fn record_told(&mut self, face: FaceId, kind: Kind, key: &KeyExpr, info: QueryableInfo) -> u32 {
        let Some(neighbour) = self.faces.get_mut(&face) else { return 0 };
        let entry = self.tables[kind.index()].get_or_insert_with(key, Entry::default);
        let told = entry.told.get_or_insert_with((face, NodeIx::SELF), || Told {
            id: 0,
            info,
            silent: true,
        });
        if told.silent {
            *told = Told { id: neighbour.take_id(), info, silent: false };
        }
        told.info = info;
        neighbour.knows(kind, NodeIx::SELF, key);
        told.id
    }

    fn tell_session(&mut self, key: &KeyExpr, answering: Option<Answering>, out: &mut dyn Outbox) {
        match answering {
            Some(Answering { interest, one_shot: true }) => {
                out.event(Event::TokenReply { interest, key: key.clone() });
            }
            Some(Answering { interest, .. }) => out.event(Event::Token {
                interests: Vec::from([interest]),
                key: key.clone(),
                alive: true,
            }),
            None => {
                self.heard_as_news(FaceId::LOCAL, key, true);
                self.token_event(key, true, out);
            }
        }
    }

    fn untell(
        &mut self,
        face: FaceId,
        kind: Kind,
        key: &KeyExpr,
        told: Told,
        out: &mut dyn Outbox,
    ) {
        if let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke()) {
            entry.told.remove(&(face, NodeIx::SELF));
        }
        if kind == Kind::Token {
            self.heard_as_news(face, key, false);
        }
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        neighbour.unlearns(kind, NodeIx::SELF, key);
        if face == FaceId::LOCAL {
            self.token_event(key, false, out);
        } else if told.silent {
            let expr = neighbour.exprs.best(key);
            out.send(face, &undeclare_unseen_token(expr.as_wire()));
        } else {
            out.send(face, &undeclare(kind, told.id));
        }
    }

    fn remember_for(&mut self, face: FaceId, key: &KeyExpr) {
        let kind = Kind::Token.index();
        let entry = self.tables[kind].get_or_insert_with(key, Entry::default);
        let unseen = Told { id: 0, info: QueryableInfo::default(), silent: true };
        entry.told.get_or_insert_with((face, NodeIx::SELF), || unseen);
        if let Some(neighbour) = self.faces.get_mut(&face) {
            neighbour.knows(Kind::Token, NodeIx::SELF, key);
        }
    }

    /// The entities that an interest matches and its face may hear of.
    fn matching(&self, face: FaceId, id: u32, kind: Kind) -> Vec<(KeyExpr, QueryableInfo)> {
        let (Some(neighbour), Some(interest)) = (self.faces.get(&face), self.interest(face, id))
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let snapshot = !interest.future && kind == Kind::Token;
        let mut visit = |key: &KeyExpr, entry: &Entry| {
            // A peer of the reference asks one of its gateways for a snapshot, whichever.
            let elsewhere = |owner: &Owner| {
                snapshot
                    && neighbour.crossing.hears()
                    && self.owner_region(*owner) != neighbour.region
            };
            let info = if entry.owners.keys().any(elsewhere) {
                Some(QueryableInfo::default())
            } else {
                self.advertised(key, Some(entry), neighbour, kind)
            };
            if let Some(info) = info {
                found.push((key.clone(), info));
            }
        };
        let table = &self.tables[kind.index()];
        match &interest.key {
            Some(key) => table.for_each_intersecting(key.as_ke(), visit),
            None => table.iter().for_each(|(key, entry)| visit(key, entry)),
        }
        found
    }

    /// Brings the one entity up to date that stands for all matches of an aggregate interest.
    fn sync_aggregate(
        &mut self,
        face: FaceId,
        id: u32,
        kind: Kind,
        answering: Option<u32>,
        out: &mut dyn Outbox,
    ) {
        let Some(key) = self.interest(face, id).and_then(|interest| interest.key.clone()) else {
            return;
        };
        let info = self
            .matching(face, id, kind)
            .into_iter()
            .map(|(owned, info)| QueryableInfo {
                complete: info.complete && owned.includes(key.as_ke()),
                ..info
            })
            .reduce(merge);
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        let Some(interest) = neighbour.interests.get(&id) else { return };
        let before = interest.aggregated[kind.index()];
        let told = match (info, before) {
            (Some(info), Some(told)) if told.silent || told.info != info => {
                Told { info, silent: false, ..told }
            }
            (Some(info), None) => Told { id: neighbour.take_id(), info, silent: false },
            // The id stays reserved: the same one comes back with the next match (02 §4.3).
            (None, Some(told)) if !told.silent => Told { silent: true, ..told },
            _ => return,
        };
        if let Some(interest) = neighbour.interests.get_mut(&id) {
            interest.aggregated[kind.index()] = Some(told);
        }
        if told.silent {
            out.send(face, &undeclare(kind, told.id));
        } else {
            let expr = neighbour.exprs.best(&key);
            let body = declaration(kind, told.id, expr.as_wire(), told.info);
            out.send(face, &declare(answering, body));
        }
    }

    fn matching_event(&self, kind: Kind, key: &KeyExpr, out: &mut dyn Outbox) {
        for interest in self.local_interests(kind, key) {
            out.event(Event::MatchingChanged { interest });
        }
    }

    fn token_event(&self, key: &KeyExpr, alive: bool, out: &mut dyn Outbox) {
        let interests = self.local_interests(Kind::Token, key);
        if !interests.is_empty() {
            out.event(Event::Token { interests, key: key.clone(), alive });
        }
    }

    /// The session's standing interests in `kind` on `key`.
    fn local_interests(&self, kind: Kind, key: &KeyExpr) -> Vec<u32> {
        let mut found = Vec::new();
        self.for_each_interest(key, |face, id, interest| {
            if face == FaceId::LOCAL && interest.kinds.contains(kind) {
                found.push(id);
            }
        });
        found
    }

    /// Whether what `owner` sends may reach `neighbour` through this node, unless both are members of
    /// the same network.
    pub(crate) fn passes(&self, owner: Owner, neighbour: &Face) -> bool {
        match owner {
            Owner::Face(face) => {
                self.faces.get(&face).is_some_and(|face| face.passes_to(neighbour))
            }
            Owner::Node(region, node) => {
                region != neighbour.region
                    && !self.aside.contains(&region)
                    && (region != Region::North || neighbour.crossing.to_north())
                    && self.networks[&region]
                        .zid_of(node)
                        .is_some_and(|zid| !neighbour.is_linked_with(zid))
            }
        }
    }

    /// What `neighbour` should know of a key; `None` if nothing.
    fn advertised(
        &self,
        key: &KeyExpr,
        entry: Option<&Entry>,
        neighbour: &Face,
        kind: Kind,
    ) -> Option<QueryableInfo> {
        let admits = |owner: Owner| {
            let own_token = kind == Kind::Token
                && owner == Owner::Face(neighbour.id)
                && neighbour.region.brokers();
            own_token
                || match owner {
                    Owner::Face(face) => {
                        self.faces.get(&face).is_some_and(|face| neighbour.passes_to(face))
                    }
                    Owner::Node(..) => self.passes(owner, neighbour),
                }
        };
        if neighbour.region == Region::North {
            self.told_to_north(kind, key, entry, admits)
        } else if kind == Kind::Queryable {
            entry?.merged(admits)
        } else {
            entry?.owners.keys().any(|owner| admits(*owner)).then(QueryableInfo::default)
        }
    }
}
