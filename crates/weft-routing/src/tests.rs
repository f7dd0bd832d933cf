//! Tests of the whole engine, by concern, and what they share.

mod aggregation;
mod brokering;
mod captures;
mod explore;
mod gossip;
mod interests;
mod limits;
mod model;
mod networks;
mod probing;
mod queries;
mod resending;
mod tokens;
mod views;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::format;

use weft_keyexpr::KeyExpr;
use weft_wire::{
    Declaration, Decode, Encode, Interest, InterestMode, InterestOptions, NetworkMessage, Qos,
    QueryTarget, QueryableInfo, Reader, WhatAmI, WhatAmIMatcher, WireExpr, ZenohId,
};

use crate::{
    Event, FaceId, FaceInit, Kind, KindSet, LocalInterest, LocalInterestMode, NodeIx, Outbox,
    QueryPlan, QueryRequest, QueryScope, RefusedFace, Routing, RoutingConfig,
};

/// Takes what routing says, each message as its bytes.
#[derive(Default)]
pub(super) struct Recorder {
    sent: Vec<(FaceId, Vec<u8>)>,
    events: Vec<Event>,
}

impl Outbox for Recorder {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).expect("a vector is never full");
        self.sent.push((face, bytes));
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// An engine under test with its recorder.
pub(super) struct Bench {
    pub(super) routing: Routing,
    pub(super) out: Recorder,
    pub(super) now_us: u64,
}

/// That of [`RoutingConfig::new`].
pub(super) const INTERESTS_TIMEOUT_US: u64 = 10_000_000;
pub(super) const NONE: QueryableInfo = QueryableInfo { complete: false, distance: 0 };

impl Bench {
    pub(super) fn new(whatami: WhatAmI) -> Self {
        Self::with(whatami, |_| {})
    }

    pub(super) fn with(whatami: WhatAmI, change: impl FnOnce(&mut RoutingConfig)) -> Self {
        let mut config = RoutingConfig::new(zid("a1"), whatami);
        config.gossip.target = WhatAmIMatcher::from(WhatAmI::Router) | WhatAmI::Peer;
        change(&mut config);
        Self { routing: Routing::new(config), out: Recorder::default(), now_us: 0 }
    }

    /// A neighbour arrives; what it is sent at once is forgotten.
    pub(super) fn neighbour(&mut self, whatami: WhatAmI) -> FaceId {
        let face = self.arrival(whatami).unwrap();
        self.out = Recorder::default();
        face
    }

    pub(super) fn arrival(&mut self, whatami: WhatAmI) -> Result<FaceId, RefusedFace> {
        let face = self.routing.next_face();
        let init = FaceInit::new(zid(&format!("b{}", face.0)), whatami);
        self.arrives(face, init).map(|()| face)
    }

    pub(super) fn arrives(&mut self, face: FaceId, init: FaceInit) -> Result<(), RefusedFace> {
        self.routing.face_up(self.now_us, face, init, &mut self.out)
    }

    pub(super) fn departure(&mut self, face: FaceId) {
        self.routing.face_down(self.now_us, face, &mut self.out);
    }

    /// The neighbour sends a message.
    pub(super) fn receive(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let now_us = self.now_us;
        match message {
            NetworkMessage::Declare(declare) => {
                self.routing.handle_declare(now_us, face, declare, &mut self.out);
            }
            NetworkMessage::Interest(interest) => {
                self.routing.handle_interest(now_us, face, interest, &mut self.out);
            }
            NetworkMessage::Oam(oam) => {
                let weft_wire::OamBody::ZBuf(body) = oam.body else { panic!("{oam:?}") };
                self.routing.handle_oam(now_us, face, (oam.id, body), &mut self.out);
            }
            other => panic!("not for routing: {other:?}"),
        }
    }

    pub(super) fn receive_bytes(&mut self, face: FaceId, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let message = NetworkMessage::decode(&mut reader).unwrap();
            self.receive(face, &message);
        }
    }

    pub(super) fn declares(&mut self, face: FaceId, kind: Kind, id: u32, key: &str) {
        self.declares_info(face, kind, id, key, NONE);
    }

    pub(super) fn declares_info(
        &mut self,
        face: FaceId,
        kind: Kind,
        id: u32,
        key: &str,
        info: QueryableInfo,
    ) {
        let body = crate::message::declaration(kind, id, WireExpr::full(key), info);
        self.receive(face, &crate::message::declare(None, body));
    }

    pub(super) fn answers(&mut self, face: FaceId, interest: u32, kind: Kind, id: u32, key: &str) {
        let body = crate::message::declaration(kind, id, WireExpr::full(key), NONE);
        self.receive(face, &crate::message::declare(Some(interest), body));
    }

    pub(super) fn finishes(&mut self, face: FaceId, interest: u32) {
        self.receive(face, &crate::message::declare(Some(interest), Declaration::Final));
    }

    pub(super) fn undeclares(&mut self, face: FaceId, kind: Kind, id: u32) {
        self.receive(face, &crate::message::undeclare(kind, id));
    }

    pub(super) fn asks(
        &mut self,
        face: FaceId,
        id: u32,
        mode: InterestMode,
        kind: Kind,
        key: &str,
    ) {
        let options = KindSet::only(kind).to_options(false, false);
        self.asks_options(face, id, mode, options, key);
    }

    pub(super) fn asks_options(
        &mut self,
        face: FaceId,
        id: u32,
        mode: InterestMode,
        options: InterestOptions,
        key: &str,
    ) {
        let wire_expr = (mode != InterestMode::Final).then_some(WireExpr::full(key));
        let qos = Qos::DECLARE;
        let message = Interest { id, mode, options, wire_expr, qos, timestamp: None, node_id: 0 };
        self.receive(face, &NetworkMessage::Interest(message));
    }

    /// The session declares.
    pub(super) fn declare(&mut self, kind: Kind, id: u32, text: &str) {
        self.routing.declare(kind, id, &key(text), NONE, &mut self.out);
    }

    pub(super) fn undeclare(&mut self, kind: Kind, id: u32) {
        self.routing.undeclare(kind, id, &mut self.out);
    }

    /// The session is interested.
    pub(super) fn wants(&mut self, id: u32, kind: Kind, text: &str, mode: LocalInterestMode) {
        let key = key(text);
        let interest = LocalInterest { id, key: &key, kinds: KindSet::only(kind), mode };
        self.routing.declare_interest(self.now_us, interest, &mut self.out);
    }

    pub(super) fn wants_no_more(&mut self, id: u32) {
        self.routing.undeclare_interest(id, &mut self.out);
    }

    pub(super) fn query(&mut self, source: FaceId, text: &str, target: QueryTarget) -> QueryPlan {
        self.query_own(source, text, target, None)
    }

    pub(super) fn query_own(
        &mut self,
        source: FaceId,
        text: &str,
        target: QueryTarget,
        own: Option<QueryableInfo>,
    ) -> QueryPlan {
        let request = QueryRequest {
            source,
            node_id: 0,
            source_id: 7,
            key: &key(text),
            target,
            qos: Qos::REQUEST,
            timeout_us: 1_000_000,
            scope: QueryScope::Any,
        };
        self.routing.open_query(self.now_us, request, own)
    }

    /// The faces that a sample reaches.
    pub(super) fn route(&mut self, source: FaceId, text: &str) -> Vec<u32> {
        let route = self.routing.data_route(source, 0, &key(text));
        let local = route.local.then_some(FaceId::LOCAL.0);
        local.into_iter().chain(route.hops.iter().map(|hop| hop.face.0)).collect()
    }

    pub(super) fn advance(&mut self, by_us: u64) {
        self.now_us += by_us;
        self.routing.handle_timeout(self.now_us, &mut self.out);
    }

    /// What was sent since the last call, each message in words.
    pub(super) fn sent(&mut self) -> Vec<String> {
        core::mem::take(&mut self.out.sent)
            .iter()
            .map(|(face, bytes)| {
                let message = NetworkMessage::decode(&mut Reader::new(bytes)).unwrap();
                format!("{} {}", face.0, words(&message))
            })
            .collect()
    }

    /// The bytes sent to `face` since the last call of this or [`Self::sent`].
    pub(super) fn sent_to(&mut self, face: FaceId) -> Vec<u8> {
        let sent = core::mem::take(&mut self.out.sent);
        sent.into_iter().filter(|(to, _)| *to == face).flat_map(|(_, bytes)| bytes).collect()
    }

    pub(super) fn events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.out.events)
    }

    /// The events of liveliness since the last call: each interest that is told, the token with a
    /// sign, or a `?` for a reply.
    pub(super) fn token_events(&mut self) -> Vec<(u32, String)> {
        let mut told = Vec::new();
        for event in self.events() {
            match event {
                Event::Token { interests, key, alive } => {
                    let sign = if alive { '+' } else { '-' };
                    told.extend(interests.iter().map(|id| (*id, format!("{sign}{key}"))));
                }
                Event::TokenReply { interest, key } => told.push((interest, format!("?{key}"))),
                Event::InterestFinal { interest } => told.push((interest, "final".to_string())),
                _ => {}
            }
        }
        told
    }
}

pub(super) fn key(text: &str) -> KeyExpr {
    KeyExpr::new(text).unwrap()
}

pub(super) fn zid(text: &str) -> ZenohId {
    text.parse().unwrap()
}

pub(super) fn words_of(told: &[(u32, &str)]) -> Vec<(u32, String)> {
    told.iter().map(|(id, text)| (*id, (*text).to_string())).collect()
}

/// A message in words: `sub 1 a/b`, `~sub 1`, `answer 3: tok 0 a/b`, `interest 4 Current T a/**`.
/// Expressions are `id>suffix` for the sender's ids and `id<suffix` for the receiver's.
fn words(message: &NetworkMessage<'_>) -> String {
    match message {
        NetworkMessage::Declare(declare) => {
            let answer = declare.interest_id.map_or(String::new(), |id| format!("answer {id}: "));
            let source = match declare.node_id {
                0 => String::new(),
                node_id => format!(" for {node_id}"),
            };
            format!("{answer}{}{source}", declaration_words(&declare.body))
        }
        NetworkMessage::Interest(it) => {
            let kinds = [(it.options.subscribers, 'S'), (it.options.queryables, 'Q')];
            let kinds = kinds.into_iter().chain([(it.options.tokens, 'T')]);
            let kinds: String = kinds.filter(|(set, _)| *set).map(|(_, kind)| kind).collect();
            let key = it.wire_expr.map_or(String::new(), |expr| format!(" {}", expr_words(expr)));
            format!("interest {} {:?} {kinds}{key}", it.id, it.mode).trim_end().to_string()
        }
        NetworkMessage::Response(it) => format!("response {} {:?}", it.id, it.responder),
        NetworkMessage::ResponseFinal(it) => format!("end {}", it.id),
        NetworkMessage::Oam(_) => "gossip".to_string(),
        other => format!("{other:?}"),
    }
}

fn declaration_words(body: &Declaration<'_>) -> String {
    let gone = |name: &str, id: u32, expr: Option<WireExpr<'_>>| {
        let expr = expr.filter(|expr| !expr.is_empty());
        let expr = expr.map_or(String::new(), |expr| format!(" {}", expr_words(expr)));
        format!("~{name} {id}{expr}")
    };
    match *body {
        Declaration::KeyExpr { id, wire_expr } => format!("expr {id} {}", expr_words(wire_expr)),
        Declaration::UndeclareKeyExpr { id } => format!("~expr {id}"),
        Declaration::Subscriber { id, wire_expr } => format!("sub {id} {}", expr_words(wire_expr)),
        Declaration::Token { id, wire_expr } => format!("tok {id} {}", expr_words(wire_expr)),
        Declaration::Queryable { id, wire_expr, info } => {
            let complete = if info.complete { " complete" } else { "" };
            let distance = match info.distance {
                0 => String::new(),
                distance => format!(" at {distance}"),
            };
            format!("qbl {id} {}{complete}{distance}", expr_words(wire_expr))
        }
        Declaration::UndeclareSubscriber { id, wire_expr } => gone("sub", id, wire_expr),
        Declaration::UndeclareQueryable { id, wire_expr } => gone("qbl", id, wire_expr),
        Declaration::UndeclareToken { id, wire_expr } => gone("tok", id, wire_expr),
        Declaration::Final => "final".to_string(),
    }
}

fn expr_words(expr: WireExpr<'_>) -> String {
    match (expr.scope, expr.mapping) {
        (0, _) => expr.suffix.to_string(),
        (scope, weft_wire::Mapping::Sender) => format!("{scope}>{}", expr.suffix),
        (scope, weft_wire::Mapping::Receiver) => format!("{scope}<{}", expr.suffix),
    }
}
