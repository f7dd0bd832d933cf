//! Interests: what neighbours and this node's session want to be told.
//!
//! Spec: 02 §4.3, 03 §3.2 to §3.4. An interest that comes from a neighbour in the south, or from
//! this node's session, is answered from the tables and passed on to every upstream neighbour (see
//! `asked`). Its closing `D_FINAL` waits until each of those has closed its own answer, or until a
//! timer ends.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Declaration, Interest as InterestMessage, InterestMode};

use crate::asked::AskSpec;
use crate::entity::{Kind, KindSet, Told};
use crate::face::{FaceId, Region};
use crate::limits::{AGGREGATES_MAX, Violation, key_memory};
use crate::message;
use crate::outbox::{Event, Outbox};
use crate::routing::Routing;

/// What the session wants to be told, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalInterestMode {
    /// What exists at this moment.
    Current,
    /// Changes from this moment on.
    Future,
    /// Both.
    CurrentFuture,
}

/// An interest of this node's session.
#[derive(Clone, Copy, Debug)]
pub struct LocalInterest<'a> {
    /// Chosen by the session, unique among its live interests.
    pub id: u32,
    /// What it is about.
    pub key: &'a KeyExpr,
    /// Which declarations.
    pub kinds: KindSet,
    /// Which moments.
    pub mode: LocalInterestMode,
}

/// An interest that someone has at this node.
#[derive(Clone, Debug)]
pub(crate) struct Interest {
    /// `None` covers every key.
    pub(crate) key: Option<KeyExpr>,
    pub(crate) kinds: KindSet,
    pub(crate) current: bool,
    pub(crate) future: bool,
    /// One entity with the interest's own key stands for all that match.
    pub(crate) aggregate: bool,
    /// What the aggregate was told as, per kind.
    pub(crate) aggregated: [Option<Told>; Kind::COUNT],
    /// Neighbours that have not told all, and the id under which they were asked; 0 for a fellow
    /// peer, which tells everything unasked.
    pub(crate) waiting: BTreeMap<FaceId, u32>,
    /// Tokens told while somebody is waited for, so that each is told once.
    heard: Heard,
    pub(crate) deadline_us: u64,
}

/// Estimated memory of the tokens that one open answer remembers, in bytes. An answer that names
/// more may name some of them twice.
pub(crate) const HEARD_MEMORY_MAX: usize = 16 << 20;

/// The tokens that an answer has named.
#[derive(Clone, Debug, Default)]
struct Heard {
    keys: BTreeSet<KeyExpr>,
    /// Estimated memory of the keys, in bytes.
    memory: usize,
}

impl Heard {
    /// Returns whether `key` was not there.
    fn insert(&mut self, key: &KeyExpr) -> bool {
        if self.keys.contains(key) {
            return false;
        }
        let memory = self.memory + key_memory(key);
        if memory <= HEARD_MEMORY_MAX {
            self.memory = memory;
            self.keys.insert(key.clone());
        }
        true
    }

    fn remove(&mut self, key: &KeyExpr) {
        if self.keys.remove(key) {
            self.memory -= key_memory(key);
        }
    }
}

impl Interest {
    /// Notes that `key` is told; returns whether that is news.
    pub(crate) fn hears(&mut self, key: &KeyExpr) -> bool {
        self.waiting.is_empty() || self.heard.insert(key)
    }

    /// Estimated memory of what was told while somebody is waited for, in bytes.
    pub(crate) const fn heard_memory(&self) -> usize {
        self.heard.memory
    }

    pub(crate) fn spec(&self) -> AskSpec {
        AskSpec {
            key: self.key.clone(),
            kinds: self.kinds,
            current: self.current,
            future: self.future,
        }
    }
}

impl Routing {
    /// Registers an interest of this node's session. What exists is reported before this returns,
    /// what the upstream still has to tell comes later; [`Event::InterestFinal`] closes both.
    /// An earlier interest under the same id ends.
    pub fn declare_interest(
        &mut self,
        now_us: u64,
        interest: LocalInterest<'_>,
        out: &mut dyn Outbox,
    ) {
        self.unregister(FaceId::LOCAL, interest.id, out);
        let (current, future) = match interest.mode {
            LocalInterestMode::Current => (true, false),
            LocalInterestMode::Future => (false, true),
            LocalInterestMode::CurrentFuture => (true, true),
        };
        let registered = Interest {
            key: Some(interest.key.clone()),
            kinds: interest.kinds,
            current,
            future,
            aggregate: false,
            aggregated: Default::default(),
            waiting: BTreeMap::new(),
            heard: Heard::default(),
            deadline_us: self.interest_deadline(now_us),
        };
        self.register(FaceId::LOCAL, interest.id, registered, out);
    }

    /// Withdraws an interest of this node's session.
    pub fn undeclare_interest(&mut self, id: u32, out: &mut dyn Outbox) {
        self.unregister(FaceId::LOCAL, id, out);
    }

    /// Withdraws an interest of this node's session in the tokens of a moment. Nothing is said: there
    /// is nothing to end at the neighbours.
    pub fn cancel_snapshot(&mut self, id: u32) {
        let Some(local) = self.faces.get_mut(&FaceId::LOCAL) else { return };
        if let Some(interest) = local.interests.remove(&id) {
            debug_assert!(!interest.future, "a standing interest is undeclared");
            self.forget_snapshot(FaceId::LOCAL, id, &interest);
        }
    }

    /// Handles an `INTEREST` message.
    pub fn handle_interest(
        &mut self,
        now_us: u64,
        face: FaceId,
        message: &InterestMessage<'_>,
        out: &mut dyn Outbox,
    ) {
        // Those who serve this node have nothing to ask it (03 §3.3).
        if self.faces.get(&face).is_none_or(|asker| asker.upstream || asker.networked) {
            return;
        }
        if message.mode == InterestMode::Final {
            self.unregister(face, message.id, out);
            return;
        }
        let key = match message.wire_expr {
            None => None,
            Some(expr) => match self.resolve(face, expr) {
                Ok(key) => Some(key),
                Err(error) => {
                    self.ignore(face, error, out);
                    return close_answer(face, message.id, out);
                }
            },
        };
        let asker = &self.faces[&face];
        if asker.interests.contains_key(&message.id) {
            return;
        }
        if asker.interests.len() >= self.config.limits.interests_max {
            let max = self.config.limits.interests_max;
            return out.event(Event::Refuse { face, violation: Violation::Interests { max } });
        }
        let kinds = KindSet::from_options(message.options);
        let aggregates = asker.interests.values().filter(|other| other.aggregate);
        let interest = Interest {
            aggregate: message.options.aggregate
                && key.is_some()
                && matches!(asker.region, Region::South(_, weft_wire::WhatAmI::Client))
                && !kinds.contains(Kind::Token)
                && aggregates.take(AGGREGATES_MAX).count() < AGGREGATES_MAX,
            key,
            kinds,
            current: message.mode.is_current(),
            future: message.mode.is_future(),
            aggregated: Default::default(),
            waiting: BTreeMap::new(),
            heard: Heard::default(),
            deadline_us: self.interest_deadline(now_us),
        };
        self.register(face, message.id, interest, out);
    }

    fn interest_deadline(&self, now_us: u64) -> u64 {
        now_us.saturating_add(self.config.interests_timeout_us)
    }

    fn register(&mut self, face: FaceId, id: u32, interest: Interest, out: &mut dyn Outbox) {
        let spec = interest.spec();
        if interest.future {
            match &interest.key {
                Some(key) => {
                    self.interests_by_key.get_or_insert_with(key, Vec::new).push((face, id));
                }
                None => self.interests_in_all.push((face, id)),
            }
        }
        let Some(asker) = self.faces.get_mut(&face) else { return };
        let from_south = asker.region != Region::North;
        asker.interests.insert(id, interest);
        if let Some(key) = &spec.key {
            self.charge(face, key, out);
        }
        if from_south {
            self.ask_upstream(face, id, &spec, out);
        }
        if spec.current {
            self.answer_current(face, id, out);
        } else {
            self.remember_current(face, id);
        }
        self.settle_interest(face, id, out);
    }

    fn unregister(&mut self, face: FaceId, id: u32, out: &mut dyn Outbox) {
        let Some(asker) = self.faces.get_mut(&face) else { return };
        let Some(interest) = asker.interests.remove(&id) else { return };
        self.forget_interest(face, id, &interest, out);
    }

    /// Undoes everything that an interest left behind here and upstream.
    fn forget_interest(
        &mut self,
        face: FaceId,
        id: u32,
        interest: &Interest,
        out: &mut dyn Outbox,
    ) {
        if interest.future {
            self.unindex(face, id, interest.key.as_ref());
            self.release_upstream(face, id, &interest.spec(), out);
        }
        self.forget_snapshot(face, id, interest);
    }

    fn forget_snapshot(&mut self, face: FaceId, id: u32, interest: &Interest) {
        self.interest_deadlines.remove(&(interest.deadline_us, face, id));
        if let Some(key) = &interest.key {
            self.discharge(face, key);
        }
        if !interest.future {
            self.abandon(&interest.waiting);
        }
    }

    fn unindex(&mut self, face: FaceId, id: u32, key: Option<&KeyExpr>) {
        match key {
            None => self.interests_in_all.retain(|other| *other != (face, id)),
            Some(key) => {
                let emptied = self.interests_by_key.get_mut(key.as_ke()).is_some_and(|ids| {
                    ids.retain(|other| *other != (face, id));
                    ids.is_empty()
                });
                if emptied {
                    self.interests_by_key.remove(key.as_ke());
                }
            }
        }
    }

    /// A fellow peer has told all it has: whoever waited for it hears the rest.
    pub(crate) fn answer_waiting_for(&mut self, neighbour: FaceId, out: &mut dyn Outbox) {
        for (face, id) in self.waiting_for(neighbour) {
            let unasked = self.faces[&face].interests[&id].waiting[&neighbour] == 0;
            if unasked {
                self.stop_waiting(face, id, neighbour, out);
            }
        }
    }

    /// A neighbour left: nobody waits for its answers.
    pub(crate) fn drop_answers_of(&mut self, neighbour: FaceId, out: &mut dyn Outbox) {
        for (face, id) in self.waiting_for(neighbour) {
            self.stop_waiting(face, id, neighbour, out);
        }
    }

    /// The interests that wait for a neighbour.
    fn waiting_for(&self, neighbour: FaceId) -> Vec<(FaceId, u32)> {
        let waits = |face: FaceId, id: u32| {
            let asker = self.faces.get(&face).and_then(|face| face.interests.get(&id));
            asker.is_some_and(|interest| interest.waiting.contains_key(&neighbour))
        };
        let open = self.interest_deadlines.iter();
        open.filter(|(_, face, id)| waits(*face, *id)).map(|(_, face, id)| (*face, *id)).collect()
    }

    pub(crate) fn stop_waiting(
        &mut self,
        face: FaceId,
        id: u32,
        neighbour: FaceId,
        out: &mut dyn Outbox,
    ) {
        let Some(asker) = self.faces.get(&face) else { return };
        let Some(interest) = asker.interests.get(&id) else { return };
        if !interest.waiting.contains_key(&neighbour) {
            return;
        }
        if interest.waiting.len() == 1 {
            self.answer_rest(face, id, out);
        }
        let asker = self.faces.get_mut(&face).and_then(|face| face.interests.get_mut(&id));
        if let Some(interest) = asker {
            interest.waiting.remove(&neighbour);
        }
        self.settle_interest(face, id, out);
    }

    /// Closes the answer to an interest if nobody is waited for.
    fn settle_interest(&mut self, face: FaceId, id: u32, out: &mut dyn Outbox) {
        let Some(asker) = self.faces.get_mut(&face) else { return };
        let Some(interest) = asker.interests.get_mut(&id) else { return };
        if !interest.waiting.is_empty() {
            return;
        }
        self.interest_deadlines.remove(&(interest.deadline_us, face, id));
        interest.heard = Heard::default();
        if !interest.future {
            let key = interest.key.take();
            asker.interests.remove(&id);
            if let Some(key) = key {
                self.discharge(face, &key);
            }
        }
        close_answer(face, id, out);
    }

    /// A token was told to `face` as news, or its end was: the open answers to the interests of
    /// that face leave it out, or have it again.
    pub(crate) fn heard_as_news(&mut self, face: FaceId, key: &KeyExpr, alive: bool) {
        let Some(asker) = self.faces.get_mut(&face) else { return };
        for (_, _, id) in self.interest_deadlines.iter().filter(|(_, other, _)| *other == face) {
            let interest = asker.interests.get_mut(id).filter(|interest| interest.future);
            match interest {
                Some(interest) if !alive => {
                    interest.heard.remove(key);
                }
                Some(interest)
                    if interest.kinds.contains(Kind::Token)
                        && interest.key.as_ref().is_none_or(|wanted| wanted.intersects(key)) =>
                {
                    interest.heard.insert(key);
                }
                _ => {}
            }
        }
    }

    /// Closes the answers whose upstream has not answered in time.
    pub(crate) fn expire_interests(&mut self, now_us: u64, out: &mut dyn Outbox) {
        while let Some(&(deadline_us, face, id)) = self.interest_deadlines.first() {
            if deadline_us > now_us {
                break;
            }
            self.answer_rest(face, id, out);
            self.interest_deadlines.pop_first();
            let asker = self.faces.get_mut(&face).and_then(|face| face.interests.get_mut(&id));
            if let Some(interest) = asker {
                let asks = core::mem::take(&mut interest.waiting);
                if !interest.future {
                    self.abandon(&asks);
                }
                self.settle_interest(face, id, out);
            }
        }
    }

    /// A neighbour left: its interests end.
    pub(crate) fn drop_interests_of(&mut self, face: FaceId, out: &mut dyn Outbox) {
        let Some(gone) = self.faces.get_mut(&face) else { return };
        for (id, interest) in core::mem::take(&mut gone.interests) {
            self.forget_interest(face, id, &interest, out);
        }
    }
}

/// Says that all that there is to tell has been told.
fn close_answer(face: FaceId, id: u32, out: &mut dyn Outbox) {
    if face == FaceId::LOCAL {
        out.event(Event::InterestFinal { interest: id });
    } else {
        out.send(face, &message::declare(Some(id), Declaration::Final));
    }
}
