//! The entities of the node's own session: subscribers, queryables, publishers, queriers, tokens.
//!
//! Spec: 02 §4.2, §4.4, §4.7, §4.8; 05 A.2, A.9. Each has an id that the session gets from
//! [`Node::next_entity`]. Callbacks, samples and replies are the session's own; here is only what
//! the network and the routes must know.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use weft_keyexpr::{KeTree, KeyExpr};
use weft_routing::{FaceId, Kind, KindSet, LocalInterest, LocalInterestMode};
use weft_wire::{QueryTarget, QueryableInfo};

use crate::node::Node;
use crate::ports::{NodeEvent, Ports};
use crate::timers::Timer;

/// Where samples and queries may come from, or go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locality {
    /// This session only.
    SessionLocal,
    /// Other sessions only.
    Remote,
    /// Both.
    #[default]
    Any,
}

impl Locality {
    /// Whether it includes this session.
    pub const fn allows_local(self) -> bool {
        !matches!(self, Self::Remote)
    }

    /// Whether it includes other sessions.
    pub const fn allows_remote(self) -> bool {
        !matches!(self, Self::SessionLocal)
    }
}

/// What a publisher or querier matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOf {
    /// A publisher: any subscriber.
    Subscribers,
    /// A querier: any queryable, or for [`QueryTarget::AllComplete`] any complete one that covers
    /// its key.
    Queryables(QueryTarget),
}

#[derive(Debug)]
struct Receiver {
    id: u32,
    origin: Locality,
    complete: bool,
}

#[derive(Debug)]
struct Sender {
    key: KeyExpr,
    of: MatchOf,
    destination: Locality,
    matching: bool,
}

/// Gives each entity of a node an id, unique in the node's life.
///
/// Shared, so that whoever only needs an id does not need the node: a query takes one, and nothing else before it is asked.
#[derive(Debug, Default)]
pub struct EntityIds(AtomicU32);

impl EntityIds {
    /// The next id. Cost: one atomic increment.
    pub fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The session's entities.
#[derive(Debug, Default)]
pub(crate) struct Entities {
    ids: Arc<EntityIds>,
    subscribers: KeTree<Vec<Receiver>>,
    queryables: KeTree<Vec<Receiver>>,
    keys: BTreeMap<u32, KeyExpr>,
    senders: BTreeMap<u32, Sender>,
    token_queries: BTreeSet<u32>,
}

impl Entities {
    fn receivers(&mut self, kind: Kind) -> &mut KeTree<Vec<Receiver>> {
        if kind == Kind::Subscriber { &mut self.subscribers } else { &mut self.queryables }
    }

    fn remove(&mut self, kind: Kind, id: u32) -> Option<(KeyExpr, Locality)> {
        let key = self.keys.remove(&id)?;
        let receivers = self.receivers(kind);
        let entry = receivers.get_mut(key.as_ke())?;
        let index = entry.iter().position(|receiver| receiver.id == id)?;
        let removed = entry.remove(index);
        if entry.is_empty() {
            receivers.remove(key.as_ke());
        }
        Some((key, removed.origin))
    }
}

impl Node {
    /// An id for a new entity, unique in this node's life.
    pub fn next_entity(&self) -> u32 {
        self.entities.ids.next()
    }

    /// Where the ids of this node's entities come from.
    pub fn entity_ids(&self) -> Arc<EntityIds> {
        Arc::clone(&self.entities.ids)
    }

    /// Declares a subscriber.
    pub fn declare_subscriber(
        &mut self,
        now_us: u64,
        id: u32,
        key: &KeyExpr,
        origin: Locality,
        ports: &mut dyn Ports,
    ) {
        self.declare_receiver(now_us, Kind::Subscriber, id, key, origin, false, ports);
    }

    /// Declares a queryable.
    pub fn declare_queryable(
        &mut self,
        now_us: u64,
        id: u32,
        key: &KeyExpr,
        complete: bool,
        origin: Locality,
        ports: &mut dyn Ports,
    ) {
        self.declare_receiver(now_us, Kind::Queryable, id, key, origin, complete, ports);
    }

    #[allow(clippy::too_many_arguments)] // the two declarations above, with names
    fn declare_receiver(
        &mut self,
        now_us: u64,
        kind: Kind,
        id: u32,
        key: &KeyExpr,
        origin: Locality,
        complete: bool,
        ports: &mut dyn Ports,
    ) {
        self.entities.keys.insert(id, key.clone());
        let receivers = self.entities.receivers(kind);
        let entry = receivers.get_or_insert_with(key.clone(), Vec::new);
        entry.push(Receiver { id, origin, complete });
        if origin.allows_remote() {
            let info = QueryableInfo { complete, distance: 0 };
            self.with_routing(now_us, ports, |routing, out| {
                routing.declare(kind, id, key, info, out);
            });
        }
        self.local_receivers_changed(kind, key, ports);
    }

    /// Withdraws a subscriber. Routes computed from here on are without it.
    pub fn undeclare_subscriber(&mut self, now_us: u64, id: u32, ports: &mut dyn Ports) {
        self.undeclare_receiver(now_us, Kind::Subscriber, id, ports);
    }

    /// Withdraws a queryable.
    pub fn undeclare_queryable(&mut self, now_us: u64, id: u32, ports: &mut dyn Ports) {
        self.undeclare_receiver(now_us, Kind::Queryable, id, ports);
    }

    fn undeclare_receiver(&mut self, now_us: u64, kind: Kind, id: u32, ports: &mut dyn Ports) {
        let Some((key, origin)) = self.entities.remove(kind, id) else { return };
        if origin.allows_remote() {
            self.with_routing(now_us, ports, |routing, out| routing.undeclare(kind, id, out));
        }
        self.local_receivers_changed(kind, &key, ports);
    }

    fn local_receivers_changed(&mut self, kind: Kind, key: &KeyExpr, ports: &mut dyn Ports) {
        if kind == Kind::Subscriber {
            self.routing.invalidate(key);
        }
        let touched: Vec<u32> = self
            .entities
            .senders
            .iter()
            .filter(|(_, sender)| sender.kind() == kind && sender.key.intersects(key.as_ke()))
            .map(|(id, _)| *id)
            .collect();
        for id in touched {
            self.update_matching(id, ports);
        }
    }

    /// Declares a publisher or a querier: neighbours tell what matches it, samples and queries that
    /// nobody wants stay here, and its key gets a number.
    pub fn declare_sender(
        &mut self,
        now_us: u64,
        id: u32,
        key: &KeyExpr,
        of: MatchOf,
        destination: Locality,
        ports: &mut dyn Ports,
    ) {
        let sender = Sender { key: key.clone(), of, destination, matching: false };
        let kinds = KindSet::only(sender.kind());
        self.entities.senders.insert(id, sender);
        if destination.allows_remote() {
            let interest = LocalInterest { id, key, kinds, mode: LocalInterestMode::CurrentFuture };
            self.with_routing(now_us, ports, |routing, out| {
                routing.name_key(key, out);
                routing.declare_interest(now_us, interest, out);
            });
        } else {
            self.interest_final(id, ports);
        }
        self.update_matching(id, ports);
    }

    /// Neighbours have told what matches the entity.
    pub(crate) fn interest_final(&mut self, id: u32, ports: &mut dyn Ports) {
        match self.entities.senders.get(&id).map(Sender::kind) {
            Some(Kind::Queryable) => ports.event(NodeEvent::QueryablesKnown { querier: id }),
            Some(_) => {}
            None => self.token_query_final(id, ports),
        }
    }

    /// The queryables that match a querier now: their key expressions, and whether they are complete.
    /// Those of neighbours may stand for several with the same expression.
    pub fn matching_queryables(&self, id: u32) -> Vec<(KeyExpr, bool)> {
        let Some(sender) = self.entities.senders.get(&id) else { return Vec::new() };
        let mut found = Vec::new();
        if sender.destination.allows_remote() {
            let remote = self.routing.remote_queryables(&sender.key).into_iter();
            found.extend(remote.map(|(key, info)| (key, info.complete)));
        }
        if sender.destination.allows_local() {
            let queryables = &self.entities.queryables;
            queryables.for_each_intersecting(sender.key.as_ke(), |key, entry| {
                let own = entry.iter().filter(|receiver| receiver.origin.allows_local());
                found.extend(own.map(|receiver| (key.clone(), receiver.complete)));
            });
        }
        found
    }

    /// Withdraws a publisher or querier.
    pub fn undeclare_sender(&mut self, now_us: u64, id: u32, ports: &mut dyn Ports) {
        if self.entities.senders.remove(&id).is_some_and(|it| it.destination.allows_remote()) {
            self.with_routing(now_us, ports, |routing, out| routing.undeclare_interest(id, out));
        }
    }

    /// Gives a key a number at the neighbours, so that its samples carry no text.
    pub fn declare_key(&mut self, now_us: u64, key: &KeyExpr, ports: &mut dyn Ports) {
        self.with_routing(now_us, ports, |routing, out| routing.name_key(key, out));
    }

    /// New neighbours learn the numbers of the publishers' keys.
    pub(crate) fn name_keys(&mut self, now_us: u64, ports: &mut dyn Ports) {
        let keys: Vec<KeyExpr> = self
            .entities
            .senders
            .values()
            .filter(|sender| sender.destination.allows_remote())
            .map(|sender| sender.key.clone())
            .collect();
        for key in keys {
            self.declare_key(now_us, &key, ports);
        }
    }

    /// Whether anything matches a publisher or querier now.
    pub fn is_matching(&self, id: u32) -> bool {
        self.entities.senders.get(&id).is_some_and(|sender| self.matches(sender))
    }

    fn matches(&self, sender: &Sender) -> bool {
        let complete = sender.of == MatchOf::Queryables(QueryTarget::AllComplete);
        let kind = sender.kind();
        if sender.destination.allows_remote()
            && self.routing.has_remote_match(kind, &sender.key, complete)
        {
            return true;
        }
        let receivers = match kind {
            Kind::Subscriber => &self.entities.subscribers,
            _ => &self.entities.queryables,
        };
        let mut found = false;
        if sender.destination.allows_local() {
            receivers.for_each_intersecting(sender.key.as_ke(), |key, entry| {
                found |= entry.iter().any(|receiver| {
                    receiver.origin.allows_local()
                        && (!complete || receiver.complete && key.includes(sender.key.as_ke()))
                });
            });
        }
        found
    }

    pub(crate) fn update_matching(&mut self, id: u32, ports: &mut dyn Ports) {
        let matching = self.is_matching(id);
        if let Some(sender) = self.entities.senders.get_mut(&id)
            && sender.matching != matching
        {
            sender.matching = matching;
            ports.event(NodeEvent::Matching { id, matching });
        }
    }

    /// Declares a liveliness token.
    pub fn declare_token(&mut self, now_us: u64, id: u32, key: &KeyExpr, ports: &mut dyn Ports) {
        let info = QueryableInfo::default();
        self.with_routing(now_us, ports, |routing, out| {
            routing.declare(Kind::Token, id, key, info, out);
        });
    }

    /// Withdraws a liveliness token.
    pub fn undeclare_token(&mut self, now_us: u64, id: u32, ports: &mut dyn Ports) {
        self.with_routing(now_us, ports, |routing, out| routing.undeclare(Kind::Token, id, out));
    }

    /// Declares a liveliness subscriber; with `history` it is told of the tokens that exist.
    pub fn declare_token_subscriber(
        &mut self,
        now_us: u64,
        id: u32,
        key: &KeyExpr,
        history: bool,
        ports: &mut dyn Ports,
    ) {
        let mode =
            if history { LocalInterestMode::CurrentFuture } else { LocalInterestMode::Future };
        let interest = LocalInterest { id, key, kinds: KindSet::only(Kind::Token), mode };
        self.with_routing(now_us, ports, |routing, out| {
            routing.declare_interest(now_us, interest, out);
        });
    }

    /// Withdraws a liveliness subscriber.
    pub fn undeclare_token_subscriber(&mut self, now_us: u64, id: u32, ports: &mut dyn Ports) {
        self.with_routing(now_us, ports, |routing, out| routing.undeclare_interest(id, out));
    }

    /// Asks for the tokens that exist. Ends in [`NodeEvent::TokenQueryFinal`], after
    /// [`NodeEvent::QueryTimeout`] if that came first.
    pub fn query_tokens(
        &mut self,
        now_us: u64,
        id: u32,
        key: &KeyExpr,
        timeout_us: u64,
        ports: &mut dyn Ports,
    ) {
        self.entities.token_queries.insert(id);
        self.timers.set(now_us.saturating_add(timeout_us), Timer::TokenQuery(id));
        let kinds = KindSet::only(Kind::Token);
        let interest = LocalInterest { id, key, kinds, mode: LocalInterestMode::Current };
        self.with_routing(now_us, ports, |routing, out| {
            routing.declare_interest(now_us, interest, out);
        });
    }

    /// Forgets a liveliness query.
    pub fn cancel_token_query(&mut self, id: u32) {
        if self.entities.token_queries.remove(&id) {
            self.timers.clear(Timer::TokenQuery(id));
            self.routing.cancel_snapshot(id);
        }
    }

    pub(crate) fn token_query_final(&mut self, id: u32, ports: &mut dyn Ports) {
        if self.entities.token_queries.remove(&id) {
            self.timers.clear(Timer::TokenQuery(id));
            ports.event(NodeEvent::TokenQueryFinal { query: id });
        }
    }

    pub(crate) fn token_query_expired(&mut self, id: u32, ports: &mut dyn Ports) {
        if self.entities.token_queries.contains(&id) {
            self.routing.cancel_snapshot(id);
            ports.event(NodeEvent::QueryTimeout { query: id });
            self.token_query_final(id, ports);
        }
    }

    /// All that the session waits for has ended.
    pub(crate) fn end_token_queries(&mut self, ports: &mut dyn Ports) {
        while let Some(id) = self.entities.token_queries.first().copied() {
            self.token_query_final(id, ports);
        }
    }

    pub(crate) fn is_token_query(&self, id: u32) -> bool {
        self.entities.token_queries.contains(&id)
    }

    pub(crate) fn token_query_count(&self) -> usize {
        self.entities.token_queries.len()
    }

    /// The subscribers that get samples of `key` from `source`.
    pub(crate) fn local_subscribers(&self, source: FaceId, key: &KeyExpr) -> Vec<u32> {
        let own = source == FaceId::LOCAL;
        let mut found = Vec::new();
        self.entities.subscribers.for_each_intersecting(key.as_ke(), |_, entry| {
            let admitted = entry.iter().filter(|receiver| admits(receiver.origin, own));
            found.extend(admitted.map(|receiver| receiver.id));
        });
        found.sort_unstable();
        found
    }

    /// The queryables of this session that answer a query from `source`.
    pub fn local_queryables(&self, source: FaceId, key: &KeyExpr, target: QueryTarget) -> Vec<u32> {
        let own = source == FaceId::LOCAL;
        let complete_only = target == QueryTarget::AllComplete;
        let mut found = Vec::new();
        self.entities.queryables.for_each_intersecting(key.as_ke(), |_, entry| {
            let admitted = entry.iter().filter(|receiver| {
                admits(receiver.origin, own) && (receiver.complete || !complete_only)
            });
            found.extend(admitted.map(|receiver| receiver.id));
        });
        found.sort_unstable();
        found
    }
}

impl Node {
    /// What the session's queryables that answer a query from `source` have to offer together.
    pub(crate) fn own_offer(&self, source: FaceId, asked: &KeyExpr) -> Option<QueryableInfo> {
        let own = source == FaceId::LOCAL;
        let mut offer: Option<QueryableInfo> = None;
        self.entities.queryables.for_each_intersecting(asked.as_ke(), |key, entry| {
            let covers = key.includes(asked.as_ke());
            for receiver in entry.iter().filter(|receiver| admits(receiver.origin, own)) {
                let complete = receiver.complete && covers;
                offer.get_or_insert_default().complete |= complete;
            }
        });
        offer
    }
}

impl Sender {
    const fn kind(&self) -> Kind {
        match self.of {
            MatchOf::Subscribers => Kind::Subscriber,
            MatchOf::Queryables(_) => Kind::Queryable,
        }
    }
}

const fn admits(origin: Locality, own: bool) -> bool {
    if own { origin.allows_local() } else { origin.allows_remote() }
}
