//! What this node asks of its upstream neighbours, for its session and for those it serves.
//!
//! Spec: 02 §4.3, 03 §3.2 and §3.4. Identical interests share one question. An interest in changes
//! stays; a snapshot is forgotten with its answer.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::InterestMode;

use crate::entity::{Kind, KindSet};
use crate::face::{FaceId, Region};
use crate::message::{self, named};
use crate::outbox::Outbox;
use crate::routing::Routing;

/// What an interest at the upstream asks for; equal ones are shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AskSpec {
    pub(crate) key: Option<KeyExpr>,
    pub(crate) kinds: KindSet,
    pub(crate) current: bool,
    pub(crate) future: bool,
}

/// One interest of this node at an upstream neighbour.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    spec: AskSpec,
    /// Who is behind it: faces and their interest ids.
    askers: Vec<(FaceId, u32)>,
    settled: bool,
    /// Asked again after a reconnection: what comes is news and not history.
    replayed: bool,
}

/// All interests of this node at one upstream neighbour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    by_id: BTreeMap<u32, Ask>,
    by_spec: BTreeMap<AskSpec, u32>,
}

impl Asked {
    /// Whether the neighbour has told every `kind` that matches exactly `key`, and keeps this node
    /// up to date (03 §3.4, write-side filtering).
    pub(crate) fn is_settled(&self, kind: Kind, key: &KeyExpr) -> bool {
        let first = AskSpec {
            key: Some(key.clone()),
            kinds: KindSet::default(),
            current: false,
            future: false,
        };
        self.by_spec
            .range(first..)
            .take_while(|(spec, _)| spec.key.as_ref() == Some(key))
            .filter(|(spec, _)| spec.kinds.contains(kind))
            .map(|(_, id)| &self.by_id[id])
            .any(|ask| ask.settled && (ask.spec.current || ask.replayed))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Who waits for declarations that answer interest `id`.
    pub(crate) fn answer_to(&self, id: u32) -> Option<Answer> {
        let ask = self.by_id.get(&id)?;
        Some(Answer {
            one_shot: !ask.spec.future,
            replayed: ask.replayed,
            askers: ask.askers.clone(),
        })
    }

    fn remove(&mut self, id: u32) {
        if let Some(ask) = self.by_id.remove(&id) {
            self.by_spec.remove(&ask.spec);
        }
    }

    /// Takes `asker` off; returns the id of the interest that nobody needs after that.
    fn release(&mut self, spec: &AskSpec, asker: (FaceId, u32)) -> Option<u32> {
        let id = *self.by_spec.get(spec)?;
        let ask = self.by_id.get_mut(&id)?;
        ask.askers.retain(|other| *other != asker);
        if !ask.askers.is_empty() {
            return None;
        }
        self.remove(id);
        Some(id)
    }
}

/// The askers behind one upstream interest.
pub(crate) struct Answer {
    pub(crate) one_shot: bool,
    pub(crate) replayed: bool,
    pub(crate) askers: Vec<(FaceId, u32)>,
}

impl Answer {
    /// Whoever asked has withdrawn.
    pub(crate) const fn to_nobody() -> Self {
        Self { one_shot: false, replayed: false, askers: Vec::new() }
    }
}

impl Routing {
    /// Passes an interest on to the upstream neighbours.
    ///
    /// All of them are asked, for a snapshot as well; the reference asks one (03 §3.4), and misses
    /// what only the others know if they are not connected to each other.
    pub(crate) fn ask_upstream(
        &mut self,
        face: FaceId,
        id: u32,
        spec: &AskSpec,
        out: &mut dyn Outbox,
    ) {
        // An Eclipse router gives no answer at all to a snapshot of anything but tokens (02 §4.3).
        if !spec.future && spec.kinds != KindSet::only(Kind::Token) {
            return;
        }
        let upstream: Vec<FaceId> = self
            .pushed
            .iter()
            .copied()
            .filter(|other| *other != face && self.faces[other].upstream)
            .collect();
        for neighbour in upstream {
            let asked = self.asked_as(face, spec);
            if let Some(ask) = self.ask(neighbour, asked, (face, id), false, out) {
                self.wait_for(face, id, neighbour, ask);
            }
        }
        if !spec.future {
            // A fellow that is still telling what it has will be done shortly.
            let fellows = self.faces.values().filter(|it| it.is_fellow_peer() || it.networked);
            let telling: Vec<FaceId> =
                fellows.filter(|other| !other.ready).map(|other| other.id).collect();
            for neighbour in telling {
                self.wait_for(face, id, neighbour, 0);
            }
        }
    }

    fn wait_for(&mut self, face: FaceId, id: u32, neighbour: FaceId, ask: u32) {
        let asker = self.faces.get_mut(&face).and_then(|face| face.interests.get_mut(&id));
        if let Some(interest) = asker {
            interest.waiting.insert(neighbour, ask);
            self.interest_deadlines.insert((interest.deadline_us, face, id));
        }
    }

    /// Asks one upstream neighbour, or joins those who have asked it the same. Returns the id of
    /// the question, unless it is answered already.
    fn ask(
        &mut self,
        neighbour: FaceId,
        spec: AskSpec,
        asker: (FaceId, u32),
        replayed: bool,
        out: &mut dyn Outbox,
    ) -> Option<u32> {
        let face = self.faces.get_mut(&neighbour)?;
        if spec.future
            && let Some(id) = face.asked.by_spec.get(&spec)
            && let Some(ask) = face.asked.by_id.get_mut(id)
        {
            ask.askers.push(asker);
            return (!ask.settled).then_some(*id);
        }
        let id = face.take_id();
        let expr = spec.key.as_ref().map(|key| named(face, key, out));
        let mode = match (spec.current, spec.future) {
            (true, false) => InterestMode::Current,
            (false, true) if !replayed => InterestMode::Future,
            _ => InterestMode::CurrentFuture,
        };
        let options = spec.kinds.to_options(true, false);
        let expr = expr.as_ref().map(|expr| expr.as_wire());
        out.send(neighbour, &message::interest(id, mode, options, expr));
        if spec.future {
            face.asked.by_spec.insert(spec.clone(), id);
        }
        let ask = Ask { spec, askers: Vec::from([asker]), settled: false, replayed };
        face.asked.by_id.insert(id, ask);
        Some(id)
    }

    /// Nobody wants the answers to these snapshots any more; whatever comes of them is ignored.
    pub(crate) fn abandon(&mut self, asks: &BTreeMap<FaceId, u32>) {
        for (neighbour, ask) in asks {
            if let Some(face) = self.faces.get_mut(neighbour) {
                face.asked.remove(*ask);
            }
        }
    }

    pub(crate) fn release_upstream(
        &mut self,
        face: FaceId,
        id: u32,
        spec: &AskSpec,
        out: &mut dyn Outbox,
    ) {
        let spec = &self.asked_as(face, spec);
        let mut released = false;
        for neighbour in &self.pushed {
            let Some(upstream) = self.faces.get_mut(neighbour) else { continue };
            let Some(ended) = upstream.asked.release(spec, (face, id)) else { continue };
            released = true;
            let options = KindSet::default().to_options(false, false);
            out.send(*neighbour, &message::interest(ended, InterestMode::Final, options, None));
        }
        if released {
            self.invalidate_asked(spec.key.as_ref());
        }
    }

    /// An upstream neighbour has closed its answer to interest `id`.
    pub(crate) fn handle_asked_final(&mut self, neighbour: FaceId, id: u32, out: &mut dyn Outbox) {
        let Some(face) = self.faces.get_mut(&neighbour) else { return };
        let Some(ask) = face.asked.by_id.get_mut(&id) else { return };
        ask.settled = true;
        let (askers, key) = (ask.askers.clone(), ask.spec.key.clone());
        if !ask.spec.future {
            face.asked.remove(id);
        }
        self.invalidate_asked(key.as_ref());
        for (face, id) in askers {
            self.stop_waiting(face, id, neighbour, out);
        }
    }

    /// Asks a new upstream neighbour all that the south wants to know.
    pub(crate) fn replay_interests(&mut self, neighbour: FaceId, out: &mut dyn Outbox) {
        let wanted: Vec<(AskSpec, (FaceId, u32))> = self
            .faces
            .values()
            .filter(|face| face.region != Region::North)
            .flat_map(|face| face.interests.iter().map(|(id, interest)| (face.id, *id, interest)))
            .filter(|(_, _, interest)| interest.future)
            .map(|(face, id, interest)| (self.asked_as(face, &interest.spec()), (face, id)))
            .collect();
        for (spec, asker) in wanted {
            self.ask(neighbour, spec, asker, true, out);
        }
    }

    fn invalidate_asked(&mut self, key: Option<&KeyExpr>) {
        match key {
            Some(key) => self.watch.invalidate(key),
            None => self.watch.invalidate_all(),
        }
    }
}
