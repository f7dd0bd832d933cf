//! Rules between a node and its neighbours: what is let in, and what is let out.
//!
//! Routing knows nothing of rules. Here are the calls around it: a neighbour's message is judged before
//! routing hears of it, a message for a neighbour after routing has decided to send it. Samples are
//! judged by gates that their routes carry, so that a data plane finds them where it looks anyway.
//!
//! Spec: 03 §8. Beyond it:
//! - an error reply with an empty key belongs to the key of its query; if that is not known, because the
//!   query is older than the rules, it passes. What this node itself says of a query (that it timed
//!   out, or was one too many) tells nobody's secrets and passes, too;
//! - a refused interest that asks for more than tokens goes on without them;
//! - an interest or query that may not go out ends at once, as if the neighbour had nothing;
//! - the end of what was let through is always let through, whatever the rules have become since.
//!
//! Cost for a node without rules: a look into an empty map per control message, query and reply; nothing
//! per sample but the branches on a route's gates. With rules, a query, reply or declaration pays for one
//! lookup in the rules per direction, and a sample for what its gate has to ask. Control messages to a
//! neighbour that may not be told everything are encoded once more.

mod control;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use weft_intercept::{Chain, Drops, Flow, Message, MessageKind, PushGate, RuleSet, TransportFacts};
use weft_keyexpr::KeyExpr;
use weft_routing::{
    DataRoute, FaceId, PendingReply, QueryRequest, ResolveError, RouteExpr, Routing,
};
use weft_wire::{Qos, Query, Response, ResponseBody};

pub(crate) use self::control::Held;
use self::control::Withheld;
use crate::node::Node;
use crate::ports::Ports;

/// A route with the session's own subscribers resolved, and what rules say about it.
#[derive(Clone, Debug)]
pub struct NodeRoute {
    /// Key, neighbours and validity.
    pub route: DataRoute,
    /// The session's subscribers that get the sample.
    pub subscribers: Vec<u32>,
    /// What samples have to pass before anything is done with them; `None` where all pass.
    pub ingress: Option<Box<PushGate>>,
    /// What samples have to pass on their way to each neighbour of the route, in its order.
    pub egress: Vec<Option<Box<PushGate>>>,
}

/// One neighbour that gets a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryHop {
    /// The neighbour's face.
    pub face: FaceId,
    /// The request id on that face.
    pub id: u32,
    /// The key as that neighbour knows it.
    pub expr: RouteExpr,
    /// Where the query entered the neighbour's network; 0 if it does here, or there is none.
    pub node_id: u16,
    /// The QoS that the query travels with.
    pub qos: Qos,
}

/// Where a query goes. Without any destination it has ended already: tell the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPlan {
    /// Nobody is asked, because the source has too many queries pending.
    pub refused: bool,
    /// The id under which this node's session answers, if its queryables are asked.
    pub local: Option<u32>,
    /// The neighbours.
    pub hops: Vec<QueryHop>,
}

impl QueryPlan {
    /// Nobody is asked.
    pub fn is_empty(&self) -> bool {
        self.local.is_none() && self.hops.is_empty()
    }
}

/// A reply that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedReply {
    /// Where it goes.
    pub to: PendingReply,
    /// The key expression that it carries; `None` for an error without one.
    pub key: Option<KeyExpr>,
}

/// The rules of a node, and what they come to for each neighbour.
#[derive(Debug, Default)]
pub(crate) struct Interception {
    rules: Option<Arc<RuleSet>>,
    /// Of the neighbours that are or were subject to rules.
    guards: BTreeMap<FaceId, Guard>,
    /// Keys of queries in flight, by branch, while there are rules.
    pub(crate) query_keys: BTreeMap<(FaceId, u32), KeyExpr>,
    /// How many keys there may be before those of ended queries are dropped.
    prune_at: usize,
    /// The sizes of refused payloads count, too.
    counts_sizes: bool,
    /// What was refused of the neighbours that left last, the earliest first.
    departed: VecDeque<(FaceId, [Arc<Drops>; 2])>,
}

/// Neighbours that left of which a node knows what was refused, at most.
pub const DEPARTED_MAX: usize = 64;

/// The rules for one neighbour.
#[derive(Debug, Default)]
struct Guard {
    ingress: Option<Chain>,
    egress: Option<Chain>,
    drops: [Arc<Drops>; 2],
    /// What the neighbour was not told of, so that it is not told of its end either.
    withheld: BTreeSet<Withheld>,
}

impl Guard {
    fn new(counts_sizes: bool) -> Self {
        let drops = || if counts_sizes { Drops::with_sizes() } else { Drops::default() };
        Self { drops: [Arc::new(drops()), Arc::new(drops())], ..Self::default() }
    }

    const fn chain(&self, flow: Flow) -> Option<&Chain> {
        match flow {
            Flow::Ingress => self.ingress.as_ref(),
            Flow::Egress => self.egress.as_ref(),
        }
    }
}

impl Interception {
    /// Keys of queries below which none is dropped.
    const PRUNE_MIN: usize = 64;

    pub(crate) fn new(rules: Option<Arc<RuleSet>>, counts_sizes: bool) -> Self {
        let rules = rules.filter(|rules| !rules.is_empty());
        Self { rules, counts_sizes, ..Self::default() }
    }

    fn chain(&self, face: FaceId, flow: Flow) -> Option<&Chain> {
        self.guards.get(&face)?.chain(flow)
    }

    pub(crate) fn face_down(&mut self, face: FaceId) {
        if let Some(guard) = self.guards.remove(&face) {
            if self.departed.len() == DEPARTED_MAX {
                self.departed.pop_front();
            }
            self.departed.push_back((face, guard.drops));
        }
    }

    /// Judges a message with a known key. Returns the QoS that it goes on with.
    fn admit(
        &self,
        face: FaceId,
        flow: Flow,
        kind: MessageKind,
        key: &KeyExpr,
        now_us: u64,
        message: &Message,
    ) -> Option<Qos> {
        let gate = self.chain(face, flow).and_then(|chain| chain.gate(kind, key.as_ke()));
        gate.map_or(Some(message.qos), |gate| gate.admit(message, || now_us))
    }

    /// Remembers the key of a query, for replies without one. Those of ended queries are dropped when
    /// there are twice as many as were alive at the last look.
    fn remember(&mut self, routing: &Routing, branch: (FaceId, u32), key: &KeyExpr) {
        if self.query_keys.len() >= self.prune_at.max(Self::PRUNE_MIN) {
            self.query_keys.retain(|(face, id), _| routing.reply_route(*face, *id).is_some());
            self.prune_at = self.query_keys.len() * 2;
        }
        self.query_keys.insert(branch, key.clone());
    }
}

impl Node {
    /// Puts other rules into force, or none. Those of live neighbours are made anew, every rate begins
    /// anew, and cached routes turn stale; the counts of refused messages go on.
    ///
    /// The rules are for messages from here on: what was declared under the old ones stays until it
    /// is undeclared, and what was refused is not asked for again.
    pub fn set_rules(&mut self, rules: Option<Arc<RuleSet>>, ports: &dyn Ports) {
        self.interception.rules = rules.filter(|rules| !rules.is_empty());
        if self.interception.rules.is_none() {
            self.interception.query_keys.clear();
        }
        let faces: Vec<FaceId> = self.links.transports.values().map(|it| it.face).collect();
        for face in faces {
            self.make_guard(face, ports);
        }
        self.routing.invalidate_all();
    }

    /// The rules in force.
    pub const fn rules(&self) -> Option<&Arc<RuleSet>> {
        self.interception.rules.as_ref()
    }

    /// What was refused of each neighbour, by [`Flow`], and of the last [`DEPARTED_MAX`] that left.
    /// Neighbours that no rule was about are not among them.
    pub fn drops(&self) -> impl Iterator<Item = (FaceId, &[Arc<Drops>; Flow::ALL.len()])> + '_ {
        let present = self.interception.guards.iter().map(|(face, guard)| (*face, &guard.drops));
        let departed = self.interception.departed.iter().map(|(face, drops)| (*face, drops));
        present.chain(departed)
    }

    /// A transport has opened or has one more link.
    pub(crate) fn guard(&mut self, face: FaceId, ports: &dyn Ports) {
        if self.interception.rules.is_some() {
            self.make_guard(face, ports);
            self.routing.invalidate_all();
        }
    }

    fn make_guard(&mut self, face: FaceId, ports: &dyn Ports) {
        let Some((zid, transport)) = self.links.by_face(face) else { return };
        let known = self.interception.guards.entry(face);
        let Some(rules) = &self.interception.rules else {
            known.and_modify(|guard| (guard.ingress, guard.egress) = (None, None));
            return;
        };
        let guard = known.or_insert_with(|| Guard::new(self.interception.counts_sizes));
        let links = transport.links.iter().map(|link| ports.link_facts(*link)).collect();
        let facts = TransportFacts { zid, links, username: None, multicast: false };
        let chain =
            |flow: Flow| Chain::new(rules, &facts, flow, Arc::clone(&guard.drops[flow as usize]));
        (guard.ingress, guard.egress) = (chain(Flow::Ingress), chain(Flow::Egress));
    }

    /// Where samples on `key` from `source` go.
    pub fn data_route(&mut self, source: FaceId, node_id: u16, key: &KeyExpr) -> NodeRoute {
        let route = self.routing.data_route(source, node_id, key);
        let subscribers =
            if route.accepted { self.local_subscribers(source, key) } else { Vec::new() };
        let gate = |face: FaceId, flow: Flow| {
            self.interception.chain(face, flow).and_then(|chain| chain.push_gate(key.as_ke()))
        };
        let egress = route.hops.iter().map(|hop| gate(hop.face, Flow::Egress)).collect();
        NodeRoute { ingress: gate(source, Flow::Ingress), egress, route, subscribers }
    }

    /// Chooses who is asked, see [`Routing::open_query`]. A query that may not come in, or go out to
    /// anybody, has an empty plan.
    pub fn open_query(
        &mut self,
        now_us: u64,
        request: QueryRequest<'_>,
        body: &Query<'_>,
    ) -> QueryPlan {
        let (source, key) = (request.source, request.key);
        let message = Message::query(body, request.qos);
        let kind = MessageKind::Query;
        let admitted = self.interception.admit(source, Flow::Ingress, kind, key, now_us, &message);
        let Some(qos) = admitted else { return QueryPlan::default() };
        let own = self.own_offer(source, key);
        let plan = self.routing.open_query(now_us, QueryRequest { qos, ..request }, own);
        let mut hops = Vec::with_capacity(plan.hops.len());
        for hop in plan.hops {
            let message = Message { qos, ..message };
            match self.interception.admit(hop.face, Flow::Egress, kind, key, now_us, &message) {
                Some(qos) => {
                    let weft_routing::QueryHop { face, id, expr, node_id } = hop;
                    hops.push(QueryHop { face, id, expr, node_id, qos });
                }
                None => drop(self.routing.end_branch(hop.face, hop.id)),
            }
        }
        if self.interception.rules.is_some() {
            let asked = hops.iter().map(|hop| (hop.face, hop.id));
            for branch in asked.chain(plan.local.map(|id| (FaceId::LOCAL, id))) {
                self.interception.remember(&self.routing, branch, key);
            }
        }
        QueryPlan { refused: plan.refused, local: plan.local, hops }
    }

    /// Takes a neighbour's reply: `None` if nobody waits for it, or rules are against it.
    ///
    /// # Errors
    /// If its wire expression stands for no key expression.
    pub fn accept_reply(
        &self,
        now_us: u64,
        face: FaceId,
        response: &Response<'_>,
    ) -> Result<Option<AcceptedReply>, ResolveError> {
        let Some(to) = self.routing.reply_route(face, response.id) else { return Ok(None) };
        let key = match response.body {
            ResponseBody::Err(_) if response.wire_expr.is_empty() => None,
            _ => Some(self.routing.resolve(face, response.wire_expr)?),
        };
        let branch = (face, response.id);
        let passes = self.passes_reply(now_us, branch, to, key.as_ref(), &response.body);
        Ok(passes.then_some(AcceptedReply { to, key }))
    }

    /// Where a reply of this session to the query with this id goes: `None` if nobody waits for it, or
    /// rules are against it. An error has no key.
    pub fn accept_own_reply(
        &self,
        now_us: u64,
        id: u32,
        key: Option<&KeyExpr>,
        body: &ResponseBody<'_>,
    ) -> Option<PendingReply> {
        let to = self.routing.reply_route(FaceId::LOCAL, id)?;
        self.passes_reply(now_us, (FaceId::LOCAL, id), to, key, body).then_some(to)
    }

    fn passes_reply(
        &self,
        now_us: u64,
        branch: (FaceId, u32),
        to: PendingReply,
        key: Option<&KeyExpr>,
        body: &ResponseBody<'_>,
    ) -> bool {
        if self.interception.rules.is_none() {
            return true;
        }
        let Some(key) = key.or_else(|| self.interception.query_keys.get(&branch)) else {
            return true;
        };
        let message = Message::reply(body, to.qos);
        let admits = |face: FaceId, flow: Flow| {
            let kind = MessageKind::Reply;
            self.interception.admit(face, flow, kind, key, now_us, &message).is_some()
        };
        admits(branch.0, Flow::Ingress) && admits(to.source, Flow::Egress)
    }
}
