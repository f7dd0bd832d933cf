//! What an application does with a session: subscribe, publish, declare.

use std::collections::BTreeSet;
use std::rc::Rc;

use weft_keyexpr::KeyExpr;
use weft_node::{FaceId, Locality, MatchOf, PushGate};
use weft_wire::{
    CongestionControl, Del, Priority, Push, PushBody, Put, Qos, QueryTarget, Reliability,
};

use crate::check::order::Stream;
use crate::driver::Route;
use crate::fact::{Fact, PutId, Sample};
use crate::network::HostId;
use crate::outbound::Pushed;
use crate::plane;
use crate::session::{
    Answer, QueryableState, SenderState, Sending, SubscriberState, TokenSubscriberState,
};
use crate::sim::{NodeRef, PutOrigin, Sim, TokenChange};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name {
                pub(crate) host: HostId,
                pub(crate) life: u32,
                pub(crate) id: u32,
                pub(crate) handle: usize,
            }
        )*
    };
}

handles! {
    /// A subscriber.
    Sub;
    /// A publisher.
    Publisher;
    /// A querier.
    Querier;
    /// A queryable.
    Qbl;
    /// A liveliness token.
    Token;
    /// A liveliness subscriber.
    TokenSub;
}

/// What became of a publication at its own node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is on its way to all who want it.
    Sent,
    /// A full queue made it be dropped for at least one neighbour.
    Dropped,
    /// A full queue makes its publisher wait.
    Waiting,
}

/// How a plain put goes: priority Data, dropped in a full queue, on the reliable channel.
pub(crate) const PLAIN: Sending =
    Sending { qos: Qos::DEFAULT, reliability: Reliability::Reliable, destination: Locality::Any };

impl Sim {
    /// Parses a key expression.
    ///
    /// # Panics
    /// If it is not canonical.
    pub(crate) fn key(text: &str) -> KeyExpr {
        KeyExpr::new(text).unwrap_or_else(|error| panic!("`{text}`: {error}"))
    }

    /// Declares a subscriber.
    pub fn subscribe(&mut self, node: NodeRef, key: &str) -> Sub {
        self.subscribe_to(node, key, Locality::Any)
    }

    /// Declares a subscriber for samples of certain origin.
    pub fn subscribe_to(&mut self, node: NodeRef, key: &str, origin: Locality) -> Sub {
        let key = Self::key(key);
        let handle = self.logs.samples.len();
        self.logs.samples.push(Vec::new());
        let id = self.declare(node, |session, id| {
            session.subscribers.insert(id, SubscriberState { handle, key: key.clone(), origin });
        });
        self.call(node.0, |node, driver| {
            node.declare_subscriber(driver.now_us, id, &key, origin, driver);
        });
        let life = self.hosts[node.0].life;
        Sub { host: node.0, life, id, handle }
    }

    /// Withdraws a subscriber.
    pub fn unsubscribe(&mut self, sub: Sub) {
        if self.lives(sub.host, sub.life) {
            self.session(sub.host).subscribers.remove(&sub.id);
            self.call(sub.host, |node, driver| {
                node.undeclare_subscriber(driver.now_us, sub.id, driver);
            });
        }
    }

    /// What a subscriber has got so far.
    #[must_use]
    pub fn samples(&self, sub: Sub) -> &[Sample] {
        &self.logs.samples[sub.handle]
    }

    /// The payloads that a subscriber has got so far, as text; a deletion is `-`.
    #[must_use]
    pub fn payloads(&self, sub: Sub) -> Vec<String> {
        let text = |sample: &Sample| match &sample.payload {
            Some(payload) => String::from_utf8_lossy(payload).into_owned(),
            None => "-".to_string(),
        };
        self.samples(sub).iter().map(text).collect()
    }

    /// Declares a publisher with the default QoS.
    pub fn publisher(&mut self, node: NodeRef, key: &str) -> Publisher {
        self.publisher_with(node, key, Priority::Data, CongestionControl::Drop)
    }

    /// Declares a publisher.
    pub fn publisher_with(
        &mut self,
        node: NodeRef,
        key: &str,
        priority: Priority,
        congestion: CongestionControl,
    ) -> Publisher {
        let qos = Qos::new(priority, congestion, false);
        self.publisher_of(node, key, Sending { qos, ..PLAIN })
    }

    /// Declares a publisher on the best-effort channel.
    pub fn best_effort_publisher(&mut self, node: NodeRef, key: &str) -> Publisher {
        let reliability = Reliability::BestEffort;
        self.publisher_of(node, key, Sending { reliability, ..PLAIN })
    }

    /// Declares a publisher for subscribers in certain places.
    pub fn publisher_to(&mut self, node: NodeRef, key: &str, destination: Locality) -> Publisher {
        self.publisher_of(node, key, Sending { destination, ..PLAIN })
    }

    fn publisher_of(&mut self, node: NodeRef, key: &str, sending: Sending) -> Publisher {
        let id = self.declare_sender(node, key, sending, None);
        Publisher { host: node.0, life: self.hosts[node.0].life, id, handle: 0 }
    }

    /// Declares a querier.
    pub fn querier(&mut self, node: NodeRef, key: &str, target: QueryTarget) -> Querier {
        let id = self.declare_sender(node, key, PLAIN, Some(target));
        Querier { host: node.0, life: self.hosts[node.0].life, id, handle: 0 }
    }

    fn declare_sender(
        &mut self,
        node: NodeRef,
        key: &str,
        sending: Sending,
        asks: Option<QueryTarget>,
    ) -> u32 {
        let key = Self::key(key);
        let state = SenderState { key: key.clone(), sending, asks, matching: false };
        let id = self.declare(node, |session, id| {
            session.senders.insert(id, state);
        });
        self.call(node.0, |node, driver| {
            let of = asks.map_or(MatchOf::Subscribers, MatchOf::Queryables);
            node.declare_sender(driver.now_us, id, &key, of, sending.destination, driver);
        });
        id
    }

    /// Withdraws a publisher.
    pub fn unpublish(&mut self, publisher: Publisher) {
        self.undeclare_sender(publisher.host, publisher.life, publisher.id);
    }

    /// Withdraws a querier.
    pub fn undeclare_querier(&mut self, querier: Querier) {
        self.undeclare_sender(querier.host, querier.life, querier.id);
    }

    fn undeclare_sender(&mut self, host: HostId, life: u32, id: u32) {
        if self.lives(host, life) {
            self.session(host).senders.remove(&id);
            self.call(host, |node, driver| node.undeclare_sender(driver.now_us, id, driver));
        }
    }

    /// Whether anything matches a publisher, as it was told last.
    #[must_use]
    pub fn is_matching(&self, publisher: Publisher) -> bool {
        self.told_matching(publisher.host, publisher.id)
    }

    /// Whether anything matches a querier, as it was told last.
    #[must_use]
    pub fn is_querier_matching(&self, querier: Querier) -> bool {
        self.told_matching(querier.host, querier.id)
    }

    fn told_matching(&self, host: HostId, id: u32) -> bool {
        let running = self.hosts[host].running.as_ref();
        let sender = running.and_then(|running| running.session.senders.get(&id));
        let told = sender.is_some_and(|sender| sender.matching);
        let is = running.is_some_and(|running| running.node.is_matching(id));
        assert_eq!(told, is, "the matching status that was told is not the one that is");
        told
    }

    /// Publishes.
    pub fn publish(&mut self, publisher: Publisher, payload: &[u8]) -> PutOutcome {
        self.publish_on(publisher, Some(payload))
    }

    /// Publishes a deletion.
    pub fn publish_delete(&mut self, publisher: Publisher) -> PutOutcome {
        self.publish_on(publisher, None)
    }

    fn publish_on(&mut self, publisher: Publisher, payload: Option<&[u8]>) -> PutOutcome {
        assert!(self.lives(publisher.host, publisher.life), "the publisher's node is gone");
        let sender = &self.session(publisher.host).senders[&publisher.id];
        let (key, sending) = (sender.key.clone(), sender.sending);
        self.send_sample(publisher.host, &key, payload, sending)
    }

    /// Publishes without a publisher.
    pub fn put(&mut self, node: NodeRef, key: &str, payload: &[u8]) -> PutOutcome {
        self.send_sample(node.0, &Self::key(key), Some(payload), PLAIN)
    }

    /// Publishes a deletion without a publisher.
    pub fn delete(&mut self, node: NodeRef, key: &str) -> PutOutcome {
        self.send_sample(node.0, &Self::key(key), None, PLAIN)
    }

    /// What a runtime does for a put: the route from a cache, the message into the lane of each
    /// neighbour, the sample to the session's own subscribers.
    pub(crate) fn send_sample(
        &mut self,
        host: HostId,
        key: &KeyExpr,
        payload: Option<&[u8]>,
        sending: Sending,
    ) -> PutOutcome {
        let put = self.number_put(host, sending);
        self.activity += 1;
        let attachment = put.to_bytes();
        let attachment = Some(&attachment[..]);
        let now_us = self.now_us;
        let running = self.hosts[host].running.as_mut().expect("the publishing node runs");
        let driver = &mut running.driver;
        driver.now_us = now_us;
        let cached = running.publishing.get(key);
        let route = match cached.filter(|route| !weft_node::CachedRoute::is_stale(*route)) {
            Some(route) => route.clone(),
            None => Route(Rc::new(running.node.data_route(FaceId::LOCAL, 0, key))),
        };
        running.publishing.insert(key.clone(), route.clone());
        let body = match payload {
            Some(payload) => PushBody::Put(Put { payload, attachment, ..Put::default() }),
            None => PushBody::Del(Del { attachment, ..Del::default() }),
        };
        let mut outcome = PutOutcome::Sent;
        let hops = route.0.route.hops.iter().zip(&route.0.egress);
        for (hop, gate) in hops.filter(|_| sending.destination.allows_remote()) {
            let mut push = Push { qos: sending.qos, ..Push::new(hop.expr.as_wire(), body) };
            let reliability = sending.reliability;
            match PushGate::admit_at(gate.as_deref(), &push, reliability, || now_us) {
                Some(qos) => push.qos = qos,
                None => continue,
            }
            match driver.push(hop.face, &push, plane::class(push.qos, reliability)) {
                Pushed::Queued | Pushed::Closed => {}
                Pushed::Dropped => outcome = PutOutcome::Dropped,
                Pushed::Waiting => outcome = PutOutcome::Waiting,
            }
            driver.facts.push(Fact::Sent { put, face: hop.face });
        }
        let push = Push { qos: sending.qos, ..Push::new(weft_wire::WireExpr::full(""), body) };
        if sending.destination.allows_local() {
            let own = &route.0.subscribers;
            driver.facts.extend(plane::delivery(&route, &push, sending.reliability, own));
        }
        self.after(host);
        outcome
    }

    fn number_put(&mut self, host: HostId, sending: Sending) -> PutId {
        self.logs.put_count += 1;
        let put = PutId(self.logs.put_count);
        let running = self.hosts[host].running.as_ref().expect("the publishing node runs");
        let stream = Stream {
            host,
            life: self.hosts[host].life,
            epoch: running.epoch,
            priority: sending.qos.priority() as u8,
            reliable: sending.reliability == Reliability::Reliable,
        };
        self.logs.puts.insert(put, PutOrigin { stream });
        self.checks.rerouting.published(self.now_us, put);
        put
    }

    /// Gives a key a number at the neighbours, as an application may wish.
    pub fn name_key(&mut self, node: NodeRef, key: &str) {
        let key = Self::key(key);
        self.call(node.0, |node, driver| node.declare_key(driver.now_us, &key, driver));
    }

    /// The number of the publication that was made last.
    pub(crate) fn last_put(&self) -> PutId {
        PutId(self.logs.put_count)
    }

    /// Declares a queryable.
    pub fn queryable(&mut self, node: NodeRef, key: &str, complete: bool, answer: Answer) -> Qbl {
        self.queryable_for(node, key, complete, answer, Locality::Any)
    }

    /// Declares a queryable for queries of certain origin.
    pub fn queryable_for(
        &mut self,
        node: NodeRef,
        key: &str,
        complete: bool,
        answer: Answer,
        origin: Locality,
    ) -> Qbl {
        let key = Self::key(key);
        let id = self.declare(node, |session, id| {
            let state = QueryableState { key: key.clone(), origin, answer, asked: 0 };
            session.queryables.insert(id, state);
        });
        self.call(node.0, |node, driver| {
            node.declare_queryable(driver.now_us, id, &key, complete, origin, driver);
        });
        Qbl { host: node.0, life: self.hosts[node.0].life, id, handle: 0 }
    }

    /// Withdraws a queryable.
    pub fn undeclare_queryable(&mut self, queryable: Qbl) {
        if self.lives(queryable.host, queryable.life) {
            self.session(queryable.host).queryables.remove(&queryable.id);
            self.call(queryable.host, |node, driver| {
                node.undeclare_queryable(driver.now_us, queryable.id, driver);
            });
        }
    }

    /// How often a queryable was asked.
    #[must_use]
    pub fn asked(&self, queryable: Qbl) -> u32 {
        let running = self.hosts[queryable.host].running.as_ref();
        let state = running.and_then(|running| running.session.queryables.get(&queryable.id));
        state.map_or(0, |state| state.asked)
    }

    /// Declares a liveliness token.
    pub fn token(&mut self, node: NodeRef, key: &str) -> Token {
        let key = Self::key(key);
        let id = self.declare(node, |session, id| {
            session.tokens.insert(id, key.clone());
        });
        self.call(node.0, |node, driver| node.declare_token(driver.now_us, id, &key, driver));
        Token { host: node.0, life: self.hosts[node.0].life, id, handle: 0 }
    }

    /// Withdraws a liveliness token.
    pub fn undeclare_token(&mut self, token: Token) {
        if self.lives(token.host, token.life) {
            self.session(token.host).tokens.remove(&token.id);
            self.call(token.host, |node, driver| {
                node.undeclare_token(driver.now_us, token.id, driver);
            });
        }
    }

    /// Declares a liveliness subscriber; with `history` it is told of the tokens that exist.
    pub fn watch_tokens(&mut self, node: NodeRef, key: &str, history: bool) -> TokenSub {
        let key = Self::key(key);
        let handle = self.logs.tokens.len();
        self.logs.tokens.push(Vec::new());
        let id = self.declare(node, |session, id| {
            let state = TokenSubscriberState { handle, key: key.clone(), history };
            session.token_subscribers.insert(id, state);
        });
        self.call(node.0, |node, driver| {
            node.declare_token_subscriber(driver.now_us, id, &key, history, driver);
        });
        TokenSub { host: node.0, life: self.hosts[node.0].life, id, handle }
    }

    /// Withdraws a liveliness subscriber.
    pub fn unwatch_tokens(&mut self, sub: TokenSub) {
        if self.lives(sub.host, sub.life) {
            self.session(sub.host).token_subscribers.remove(&sub.id);
            self.call(sub.host, |node, driver| {
                node.undeclare_token_subscriber(driver.now_us, sub.id, driver);
            });
        }
    }

    /// What a liveliness subscriber was told, as `+key` and `-key`.
    #[must_use]
    pub fn token_changes_of(&self, sub: TokenSub) -> Vec<String> {
        let sign = |change: &TokenChange| if change.alive { '+' } else { '-' };
        let changes = self.logs.tokens[sub.handle].iter();
        changes.map(|change| format!("{}{}", sign(change), change.key)).collect()
    }

    /// The tokens that a liveliness subscriber believes to be alive.
    #[must_use]
    pub fn alive(&self, sub: TokenSub) -> BTreeSet<String> {
        let mut alive = BTreeSet::new();
        for change in &self.logs.tokens[sub.handle] {
            if change.alive {
                alive.insert(change.key.clone());
            } else {
                alive.remove(&change.key);
            }
        }
        alive
    }

    /// A liveliness subscriber is told something. A token that is alive does not appear again.
    pub(crate) fn token_changes(&mut self, handle: usize, change: TokenChange) {
        let last = self.logs.tokens[handle].iter().rev().find(|last| last.key == change.key);
        if change.alive && last.is_some_and(|last| last.alive) {
            self.fail(&format!("liveliness subscriber {handle} is told of {} twice", change.key));
        }
        self.logs.tokens[handle].push(change);
    }

    fn declare(
        &mut self,
        node: NodeRef,
        record: impl FnOnce(&mut crate::session::Session, u32),
    ) -> u32 {
        let host = &mut self.hosts[node.0];
        let running = host.running.as_mut().unwrap_or_else(|| panic!("{} is down", host.name));
        let id = running.node.next_entity();
        record(&mut running.session, id);
        id
    }

    pub(crate) fn lives(&self, host: HostId, life: u32) -> bool {
        self.hosts[host].life == life && self.hosts[host].running.is_some()
    }

    pub(crate) fn session(&mut self, host: HostId) -> &mut crate::session::Session {
        let host = &mut self.hosts[host];
        let running = host.running.as_mut().unwrap_or_else(|| panic!("{} is down", host.name));
        &mut running.session
    }
}
