//! An engine, its neighbours as far as they notice what it does, and what it may never do.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{
    Bound, Declaration, Declare, Decode, Encode, Mapping, NetworkMessage, Qos, QueryTarget,
    QueryableInfo, Reader, WhatAmI, WhatAmIMatcher, WireExpr, ZenohId,
};

use crate::{
    DataRoute, Event, FaceId, FaceInit, Footprint, Kind, KindSet, Limits, LocalInterest,
    LocalInterestMode, Outbox, QueryRequest, QueryScope, RouteExpr, Routing, RoutingConfig, Side,
};

/// So small that a short input exceeds each of them.
const LIMITS: Limits = Limits {
    declarations_max: 3,
    interests_max: 2,
    queries_max: 2,
    key_expr_len_max: 64,
    key_expr_chunks_max: 10,
    key_memory_max: 8_000,
    sourced_max: 3,
    network_key_memory_max: 8_000,
    network_nodes_max: 8,
    network_links_max: 40,
};
const FACES_MAX: usize = 6;
const ROUTES_HELD: usize = 4;
/// More than what one key expression within the limits counts.
const KEY_MEMORY_MAX: usize = 2_000;

pub(super) struct World {
    routing: Routing,
    out: Neighbours,
    pub(super) now_us: u64,
    /// Routes in use at some reader or publisher, with their source.
    held: VecDeque<((FaceId, u16), DataRoute)>,
    /// The session's declarations.
    declared: BTreeSet<(Kind, u32)>,
    /// The session's interests; true for standing ones.
    wanted: BTreeMap<u32, bool>,
}

impl World {
    pub(super) fn new(whatami: WhatAmI, gossip: bool) -> Self {
        let mut config = RoutingConfig::new(zid(0xa0), whatami);
        config.limits = LIMITS;
        config.gossip.enabled = gossip;
        config.gossip.target = WhatAmIMatcher::ALL;
        Self {
            routing: Routing::new(config),
            out: Neighbours::default(),
            now_us: 0,
            held: VecDeque::new(),
            declared: BTreeSet::new(),
            wanted: BTreeMap::new(),
        }
    }

    pub(super) fn neighbours(&self) -> Vec<FaceId> {
        self.out.up.iter().copied().collect()
    }

    /// The requests that nobody has answered in full.
    pub(super) fn branches(&self) -> Vec<(FaceId, u32)> {
        self.out.branches.iter().copied().collect()
    }

    /// A call into routing. Whoever is refused in it is sent away.
    pub(super) fn call(&mut self, call: impl FnOnce(&mut Routing, &mut dyn Outbox)) {
        call(&mut self.routing, &mut self.out);
        while let Some(face) = self.out.refused.pop() {
            self.depart(face);
        }
    }

    pub(super) fn arrive(&mut self, whatami: WhatAmI) {
        let face = self.routing.next_face();
        // Every other peer is a member of the network.
        let mesh = face.0.is_multiple_of(2) && whatami != WhatAmI::Client;
        // Some are placed by configuration, on this side, on the other one, or on both.
        let sides = [None, None, Some(Side::North), Some(Side::South(0)), Some(Side::South(1))];
        let bounds = [None, Some(Bound::South), None, Some(Bound::North)];
        let init = FaceInit {
            mesh,
            gateway: face.0.is_multiple_of(3),
            own_side: sides[face.0 as usize % sides.len()],
            remote_bound: bounds[face.0 as usize / 2 % bounds.len()],
            ..FaceInit::new(zid(1 + face.0 as u8 % 100), whatami)
        };
        if self.out.up.len() >= FACES_MAX || self.routing.admits(&init).is_err() {
            return;
        }
        self.out.up.insert(face);
        let now_us = self.now_us;
        self.call(|routing, out| {
            routing.face_up(now_us, face, init, out).expect("it was admitted");
        });
        let known = self.routing.neighbour(face);
        assert!(known.is_some_and(|it| (it.zid, it.whatami) == (init.zid, init.whatami)));
    }

    /// From here on nothing may be sent to the neighbour.
    pub(super) fn depart(&mut self, face: FaceId) {
        if self.out.forget(face) {
            let now_us = self.now_us;
            self.call(|routing, out| routing.face_down(now_us, face, out));
        }
    }

    pub(super) fn declare(&mut self, kind: Kind, id: u32, key: &KeyExpr, complete: bool) {
        self.declared.insert((kind, id));
        let complete = complete && kind == Kind::Queryable;
        let info = QueryableInfo { complete, distance: 0 };
        self.call(|routing, out| routing.declare(kind, id, key, info, out));
    }

    pub(super) fn undeclare(&mut self, kind: Kind, id: u32) {
        self.declared.remove(&(kind, id));
        self.call(|routing, out| routing.undeclare(kind, id, out));
    }

    pub(super) fn want(&mut self, id: u32, kind: Kind, key: &KeyExpr, choice: u8) {
        let mode = match choice % 3 {
            0 => LocalInterestMode::Current,
            1 => LocalInterestMode::Future,
            _ => LocalInterestMode::CurrentFuture,
        };
        self.wanted.insert(id, mode != LocalInterestMode::Current);
        self.out.unanswered.insert(id);
        let now_us = self.now_us;
        let interest = LocalInterest { id, key, kinds: KindSet::only(kind), mode };
        self.call(|routing, out| routing.declare_interest(now_us, interest, out));
    }

    pub(super) fn want_no_more(&mut self, id: u32) {
        self.out.unanswered.remove(&id);
        match self.wanted.remove(&id) {
            Some(false) => self.call(|routing, _| routing.cancel_snapshot(id)),
            _ => self.call(|routing, out| routing.undeclare_interest(id, out)),
        }
    }

    pub(super) fn query(
        &mut self,
        (source, source_id): (FaceId, u32),
        key: &KeyExpr,
        target: QueryTarget,
        timeout_us: u64,
        bits: u8,
    ) {
        let scope = match bits & 3 {
            0 => QueryScope::Local,
            1 => QueryScope::Remote,
            _ => QueryScope::Any,
        };
        let qos = Qos::REQUEST;
        let request = QueryRequest {
            source,
            node_id: u16::from(bits >> 4),
            source_id,
            key,
            target,
            qos,
            timeout_us,
            scope,
        };
        let own = (bits & 4 != 0).then_some(QueryableInfo { complete: bits & 8 != 0, distance: 0 });
        let plan = self.routing.open_query(self.now_us, request, own);
        if !plan.is_empty() {
            *self.out.queries.entry((source, source_id)).or_default() += 1;
        }
        for hop in &plan.hops {
            assert!(hop.face != source && self.out.up.contains(&hop.face));
            self.check_expr(hop.face, &hop.expr, key);
            assert!(self.out.branches.insert((hop.face, hop.id)), "an id is used once");
        }
        if let Some(id) = plan.local {
            assert!(own.is_some() && scope != QueryScope::Remote);
            assert!(self.out.branches.insert((FaceId::LOCAL, id)), "an id is used once");
        }
    }

    pub(super) fn end_branch(&mut self, (face, id): (FaceId, u32)) {
        let known = self.routing.reply_route(face, id);
        let ended = self.routing.end_branch(face, id);
        assert!(ended.is_none() || ended == known);
        assert!(known.is_none() || self.out.branches.remove(&(face, id)));
        if let Some(reply) = ended {
            self.out.query_ended(reply.source, reply.source_id);
        }
    }

    pub(super) fn cancel(&mut self, id: u32) {
        self.out.queries.remove(&(FaceId::LOCAL, id));
        self.routing.cancel_query(id);
    }

    pub(super) fn pass_time(&mut self, by_us: u64) {
        self.now_us = self.now_us.saturating_add(by_us);
        let now_us = self.now_us;
        self.call(|routing, out| routing.handle_timeout(now_us, out));
        assert!(self.routing.next_timeout().is_none_or(|(at_us, _)| at_us > now_us));
    }

    /// A reader or publisher asks for a route and keeps it for a while.
    pub(super) fn route(&mut self, source: FaceId, node_id: u16, key: &KeyExpr) {
        let route = self.routing.data_route(source, node_id, key);
        assert!(!route.local || source != FaceId::LOCAL);
        assert!(route.hops.is_sorted_by(|a, b| a.face < b.face), "each face once");
        for hop in &route.hops {
            assert!(hop.face != source && self.out.up.contains(&hop.face));
        }
        self.held.push_back(((source, node_id), route));
        if self.held.len() > ROUTES_HELD {
            self.held.pop_front();
        }
    }

    /// What a neighbour reads is the key that was meant.
    fn check_expr(&self, face: FaceId, expr: &RouteExpr, key: &KeyExpr) {
        let wire = expr.as_wire();
        let mapping = match wire.mapping {
            Mapping::Sender => Mapping::Receiver,
            Mapping::Receiver => Mapping::Sender,
        };
        match self.routing.resolve(face, WireExpr { mapping, ..wire }) {
            Ok(read) => assert_eq!(read, *key),
            Err(error) => assert!(key.chunks().count() > LIMITS.key_expr_chunks_max, "{error}"),
        }
    }

    /// What holds after every step.
    pub(super) fn check(&mut self) {
        let footprint = self.routing.footprint();
        let faces = self.out.up.len();
        assert_eq!(footprint.faces, faces);
        assert_eq!(footprint.queries, self.out.queries.values().sum::<usize>());
        assert!(footprint.sourced <= faces * LIMITS.sourced_max);
        assert!(footprint.nodes <= 3 * LIMITS.network_nodes_max + faces + 1);
        assert!(footprint.declarations <= faces * LIMITS.declarations_max + self.declared.len());
        assert!(footprint.interests <= faces * LIMITS.interests_max + self.wanted.len());
        assert!(footprint.open_interests <= footprint.interests, "{footprint:?}");
        let own_key_memory = self.wanted.len() * KEY_MEMORY_MAX;
        let key_memory_max = faces * LIMITS.key_memory_max + own_key_memory;
        assert!(footprint.key_memory <= key_memory_max, "{footprint:?}");
        let waits = footprint.queries + footprint.open_interests > 0;
        assert!(!waits || self.routing.next_timeout().is_some(), "nothing waits for ever");
        let held = core::mem::take(&mut self.held);
        for (source, route) in held.into_iter().filter(|(_, route)| !route.validity.is_stale()) {
            let anew = self.routing.data_route(source.0, source.1, &route.key);
            let faces = |route: &DataRoute| route.hops.iter().map(|hop| hop.face).collect();
            let (before, now): (Vec<FaceId>, Vec<FaceId>) = (faces(&route), faces(&anew));
            assert_eq!((before, route.local), (now, anew.local), "{} from {source:?}", route.key);
            for hop in route.hops.iter().chain(&anew.hops) {
                self.check_expr(hop.face, &hop.expr, &route.key);
            }
            self.held.push_back((source, route));
        }
    }

    /// Everybody leaves, time ends, and the session withdraws everything: nothing is left.
    pub(super) fn finish(mut self) {
        for face in self.neighbours() {
            self.depart(face);
            self.check();
        }
        assert!(self.out.branches.iter().all(|(face, _)| *face == FaceId::LOCAL));
        self.pass_time(u64::MAX);
        self.check();
        assert!(self.out.queries.is_empty() && self.out.unanswered.is_empty());
        assert_eq!(self.routing.next_timeout(), None);
        for (kind, id) in core::mem::take(&mut self.declared) {
            self.undeclare(kind, id);
        }
        for id in core::mem::take(&mut self.wanted).into_keys() {
            self.call(|routing, out| routing.undeclare_interest(id, out));
        }
        let left = self.routing.footprint();
        assert_eq!(left, Footprint { routes: left.routes, ..Footprint::default() });
    }
}

/// What the neighbours and the session have heard.
#[derive(Default)]
struct Neighbours {
    up: BTreeSet<FaceId>,
    /// Those that went beyond a limit.
    refused: Vec<FaceId>,
    /// How many queries have not ended, by their source and its id for them.
    queries: BTreeMap<(FaceId, u32), usize>,
    /// Requests by the face that has to answer.
    branches: BTreeSet<(FaceId, u32)>,
    /// The session's interests whose answer is not complete.
    unanswered: BTreeSet<u32>,
    /// The entities that a neighbour was told of, by its face.
    told: BTreeSet<(FaceId, Kind, u32)>,
    /// The ids of this node that a neighbour knows, by its face.
    named: BTreeSet<(FaceId, u16)>,
    bytes: Vec<u8>,
}

impl Neighbours {
    /// Returns whether the neighbour was there.
    fn forget(&mut self, gone: FaceId) -> bool {
        self.queries.retain(|(face, _), _| *face != gone);
        self.branches.retain(|(face, _)| *face != gone);
        self.told.retain(|(face, _, _)| *face != gone);
        self.named.retain(|(face, _)| *face != gone);
        self.up.remove(&gone)
    }

    fn query_ended(&mut self, source: FaceId, id: u32) {
        let open = self.queries.get_mut(&(source, id)).expect("a query ends once");
        *open -= 1;
        if *open == 0 {
            self.queries.remove(&(source, id));
        }
    }

    fn hears(&mut self, face: FaceId, declare: &Declare<'_>) {
        let mut tells = |kind, id, expr: WireExpr<'_>| {
            assert!(
                expr.scope == 0 || expr.mapping == Mapping::Receiver || {
                    self.named.contains(&(face, expr.scope))
                }
            );
            // Parts of a snapshot carry no id.
            if id != 0 {
                self.told.insert((face, kind, id));
            }
        };
        match declare.body {
            Declaration::KeyExpr { id, wire_expr } => {
                assert!(id != 0 && wire_expr.scope == 0);
                assert!(self.named.insert((face, id)), "an id has one meaning");
            }
            Declaration::UndeclareKeyExpr { .. } => panic!("ids are kept"),
            Declaration::Subscriber { id, wire_expr } => tells(Kind::Subscriber, id, wire_expr),
            Declaration::Queryable { id, wire_expr, .. } => tells(Kind::Queryable, id, wire_expr),
            Declaration::Token { id, wire_expr } => tells(Kind::Token, id, wire_expr),
            Declaration::UndeclareSubscriber { id, .. } => {
                assert!(self.told.remove(&(face, Kind::Subscriber, id)));
            }
            Declaration::UndeclareQueryable { id, .. } => {
                assert!(self.told.remove(&(face, Kind::Queryable, id)));
            }
            Declaration::UndeclareToken { id: 0, wire_expr } => {
                assert!(wire_expr.is_some_and(|expr| !expr.is_empty()), "one that was not told");
            }
            Declaration::UndeclareToken { id, .. } => {
                assert!(self.told.remove(&(face, Kind::Token, id)));
            }
            Declaration::Final => assert!(declare.interest_id.is_some()),
        }
    }
}

impl Outbox for Neighbours {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        assert!(self.up.contains(&face), "{message:?} to {face:?}, which is not there");
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.clear();
        message.encode(&mut bytes).expect("a vector is never full");
        let read = NetworkMessage::decode(&mut Reader::new(&bytes));
        match read.expect("what we write can be read") {
            NetworkMessage::Declare(declare) => self.hears(face, &declare),
            NetworkMessage::Response(response) => {
                assert!(self.queries.contains_key(&(face, response.id)));
            }
            NetworkMessage::ResponseFinal(end) => self.query_ended(face, end.id),
            NetworkMessage::Interest(_) | NetworkMessage::Oam(_) => {}
            other => panic!("not for routing to send: {other:?}"),
        }
        self.bytes = bytes;
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Refuse { face, violation } => {
                assert!(self.up.contains(&face), "{violation}");
                self.refused.push(face);
            }
            Event::QueryFinal { query } => self.query_ended(FaceId::LOCAL, query),
            Event::QueryTimeout { query, .. } => {
                assert!(self.queries.contains_key(&(FaceId::LOCAL, query)));
            }
            Event::InterestFinal { interest } => {
                assert!(self.unanswered.remove(&interest), "an answer is closed once");
            }
            Event::NeighbourReady { face } => assert!(self.up.contains(&face)),
            Event::Discovered { zid, locators, .. } => {
                assert!(!locators.is_empty() && !zid.to_string().is_empty());
            }
            Event::Ignored { .. }
            | Event::MatchingChanged { .. }
            | Event::Token { .. }
            | Event::TokenReply { .. } => {}
        }
    }
}

fn zid(byte: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[byte]).expect("one byte that is not zero")
}
