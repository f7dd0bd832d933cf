//! Rules around routing: what it hears of, and what neighbours do.

use super::*;
use crate::{Flow, Locality, QueryRequest, QueryScope, RuleSet};
use WhatAmI::{Client, Router};
use alloc::sync::Arc;
use weft_intercept::{
    AccessControl, AccessRule, LowPass, MessageKind, MessageSet, Overwrite, Permission,
    PriorityChange, QosFilter, QosOverwrite, Rate, Rules,
};
use weft_wire::{
    Declaration, Declare, ErrReply, Interest, InterestMode, InterestOptions, Priority, Push, Qos,
    Query, QueryTarget, QueryableInfo, Reliability, Response, ResponseBody, WireExpr,
};

const C1: FaceId = FaceId(1);
const C2: FaceId = FaceId(2);

/// Everything is allowed but this.
fn all_but(kind: MessageKind, text: &str, flow: Flow) -> Arc<RuleSet> {
    let all = AccessRule::new("all", Permission::Allow, MessageSet::ALL, [key("**")]);
    let no = AccessRule::new("no", Permission::Deny, MessageSet::only(kind), [key(text)]);
    let rules = Vec::from([all, no.one_way(flow)]);
    let access = AccessControl::for_everybody(Permission::Deny, rules);
    set(Rules { access, ..Rules::default() })
}

fn set(rules: Rules) -> Arc<RuleSet> {
    Arc::new(RuleSet::new(rules).unwrap())
}

/// A router with these rules and two clients.
fn router(rules: impl Into<Option<Arc<RuleSet>>>) -> Bench {
    let mut router = Bench::with(Router, |config| config.rules = rules.into());
    router.accept("c1", Client);
    router.accept("c2", Client);
    router.world.sent.clear();
    router
}

/// A client of a router, which is face 1.
fn client(rules: impl Into<Option<Arc<RuleSet>>>) -> Bench {
    let mut client = Bench::with(Client, |config| {
        config.rules = rules.into();
        config.dial.push(target(&["r:1"]));
    });
    client.start();
    client.answer_dial(0, "b1", Router);
    client.events();
    client.world.sent.clear();
    client
}

impl Bench {
    fn set_rules(&mut self, rules: impl Into<Option<Arc<RuleSet>>>) {
        self.node.set_rules(rules.into(), &self.world);
    }

    fn hear(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        self.node.handle_message(self.now_us, face, message, &mut self.world);
    }

    fn hear_declare(&mut self, face: FaceId, body: Declaration<'_>) {
        self.hear(face, &NetworkMessage::Declare(Declare::new(body)));
    }

    fn hear_interest(
        &mut self,
        face: FaceId,
        id: u32,
        mode: InterestMode,
        options: InterestOptions,
    ) {
        let interest = Interest::new(id, mode, options, Some(WireExpr::full("t/**")));
        self.hear(face, &NetworkMessage::Interest(interest));
    }

    /// What was sent since the last call, in words, but for the numbers of key expressions: those are
    /// never judged.
    fn sent(&mut self) -> Vec<String> {
        let text = |bytes: Vec<u8>| {
            let message = NetworkMessage::decode(&mut Reader::new(&bytes)).unwrap();
            match message {
                NetworkMessage::Declare(declare) => match declare.interest_id {
                    None => format!("{:?}", declare.body),
                    Some(id) => format!("{id}: {:?}", declare.body),
                },
                message => format!("{message:?}"),
            }
        };
        let sent = core::mem::take(&mut self.world.sent).into_iter().map(text);
        sent.filter(|text| !text.starts_with("KeyExpr")).collect()
    }

    /// Samples that `c1` sends on this key and the priority that they reach `c2` with.
    fn put(&mut self, text: &str, payload: &[u8]) -> Option<Priority> {
        let route = self.node.data_route(C1, 0, &key(text));
        let push = Push::put(WireExpr::full(text), payload);
        let admit = |gate: &Option<_>, push: &Push<'_>| {
            let gate = Option::as_deref(gate);
            weft_intercept::PushGate::admit_at(gate, push, Reliability::Reliable, || self.now_us)
        };
        let qos = admit(&route.ingress, &push)?;
        let hop = route.route.hops.iter().position(|hop| hop.face == C2)?;
        Some(admit(&route.egress[hop], &Push { qos, ..push })?.priority())
    }

    fn query(&mut self, source: FaceId, id: u32, text: &str) -> crate::QueryPlan {
        let request = QueryRequest {
            node_id: 0,
            source,
            source_id: id,
            key: &key(text),
            target: QueryTarget::All,
            qos: Qos::REQUEST,
            timeout_us: 1_000_000,
            scope: QueryScope::Any,
        };
        self.node.open_query(self.now_us, request, &Query::default())
    }

    fn refused(&self, face: FaceId, flow: Flow) -> u64 {
        let counts = self.node.drops().find(|it| it.0 == face).unwrap().1[flow as usize].counts();
        counts.access_control + counts.downsampling + counts.low_pass
    }
}

fn subscriber(id: u32, text: &str) -> Declaration<'_> {
    Declaration::Subscriber { id, wire_expr: WireExpr::full(text) }
}

#[test]
fn routing_does_not_hear_of_what_may_not_be_declared() {
    let rules = all_but(MessageKind::DeclareSubscriber, "secret/**", Flow::Ingress);
    let mut router = router(rules);
    router.hear_declare(C2, subscriber(1, "secret/1"));
    router.hear_declare(C2, subscriber(2, "*/1"));
    router.hear_declare(C2, subscriber(3, "ok/1"));
    router.hear_declare(C2, Declaration::KeyExpr { id: 1, wire_expr: WireExpr::full("secret") });
    let by_number = WireExpr { scope: 1, suffix: "/2", ..WireExpr::full("") };
    router.hear_declare(C2, Declaration::Subscriber { id: 4, wire_expr: by_number });
    assert_eq!(router.node.routing().footprint().declarations, 1);
    assert_eq!(router.refused(C2, Flow::Ingress), 3);
    assert_eq!(router.refused(C1, Flow::Ingress), 0);
}

/// Whatever the rules have become: nothing stays for ever that was let through.
#[test]
fn the_end_of_what_was_let_through_is_let_through() {
    let mut router = router(None);
    router.hear_declare(C2, subscriber(1, "secret/1"));
    router.hear_declare(C2, Declaration::Token { id: 2, wire_expr: WireExpr::full("secret/1") });
    let all = Rules {
        access: AccessControl::for_everybody(Permission::Deny, Vec::new()),
        ..Rules::default()
    };
    router.set_rules(set(all));
    let wire_expr = Some(WireExpr::full("secret/1"));
    router.hear_declare(C2, Declaration::UndeclareSubscriber { id: 1, wire_expr });
    router.hear_declare(C2, Declaration::UndeclareToken { id: 2, wire_expr });
    assert_eq!(router.node.routing().footprint().declarations, 0);
}

#[test]
fn a_refused_interest_is_answered_and_one_in_more_goes_on_without_tokens() {
    let rules = all_but(MessageKind::LivelinessQuery, "t/1", Flow::Ingress);
    let mut router = router(rules);
    router.node.declare_token(router.now_us, 1, &key("t/1"), &mut router.world);
    router.node.declare_subscriber(router.now_us, 2, &key("t/1"), Locality::Any, &mut router.world);
    let tokens = InterestOptions { tokens: true, ..InterestOptions::default() };
    router.hear_interest(C1, 1, InterestMode::Current, tokens);
    assert_eq!(router.sent(), ["1: Final"]);
    let more = InterestOptions { subscribers: true, ..tokens };
    router.hear_interest(C1, 2, InterestMode::Current, more);
    let sent = router.sent();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[0].starts_with("2: Subscriber") && sent[1] == "2: Final", "{sent:?}");
    // Another kind of message.
    router.hear_interest(C1, 3, InterestMode::CurrentFuture, tokens);
    assert!(router.sent()[0].starts_with("3: Token"));
    assert_eq!(router.refused(C1, Flow::Ingress), 2);
}

#[test]
fn a_neighbour_is_not_told_of_what_is_not_for_it_nor_of_its_end() {
    let rules = all_but(MessageKind::DeclareSubscriber, "secret/**", Flow::Egress);
    let mut client = client(rules);
    let now_us = client.now_us;
    // Its declaration is written with this number.
    client.node.declare_key(now_us, &key("secret"), &mut client.world);
    client.node.declare_subscriber(now_us, 1, &key("secret/1"), Locality::Any, &mut client.world);
    client.node.undeclare_subscriber(now_us, 1, &mut client.world);
    assert_eq!(client.sent(), [""; 0]);
    assert_eq!(client.refused(C1, Flow::Egress), 1);

    // What was told before the rules changed ends, what was not does not.
    client.node.declare_subscriber(now_us, 2, &key("secret/2"), Locality::Any, &mut client.world);
    client.set_rules(None);
    client.node.declare_subscriber(now_us, 3, &key("secret/3"), Locality::Any, &mut client.world);
    let rules = all_but(MessageKind::DeclareSubscriber, "secret/**", Flow::Egress);
    client.set_rules(rules);
    client.node.undeclare_subscriber(now_us, 2, &mut client.world);
    client.node.undeclare_subscriber(now_us, 3, &mut client.world);
    let sent = client.sent();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[0].starts_with("Subscriber"), "{sent:?}");
    assert!(sent[1].starts_with("UndeclareSubscriber"), "{sent:?}");
    assert_eq!(client.refused(C1, Flow::Egress), 2, "the counts go on");
}

#[test]
fn an_interest_that_may_not_go_out_ends_at_once() {
    let rules = all_but(MessageKind::LivelinessQuery, "t/**", Flow::Egress);
    let mut client = client(rules);
    let now_us = client.now_us;
    client.node.query_tokens(now_us, 1, &key("t/*"), 60_000_000, &mut client.world);
    assert_eq!(client.events(), [NodeEvent::TokenQueryFinal { query: 1 }]);
    assert_eq!(client.sent(), [""; 0]);

    let rules = all_but(MessageKind::DeclareLivelinessSubscriber, "t/**", Flow::Egress);
    client.set_rules(rules);
    client.node.declare_token_subscriber(now_us, 2, &key("t/1"), false, &mut client.world);
    client.node.declare_token_subscriber(now_us, 3, &key("u/1"), false, &mut client.world);
    client.node.undeclare_token_subscriber(now_us, 2, &mut client.world);
    client.node.undeclare_token_subscriber(now_us, 3, &mut client.world);
    let sent = client.sent();
    let interests = sent.iter().filter(|it| it.starts_with("Interest")).count();
    assert_eq!(interests, 2, "that in `u/1` and its end: {sent:?}");
}

#[test]
fn samples_are_judged_where_they_come_in_and_go_out() {
    let mut router = router(all_but(MessageKind::Put, "secret/**", Flow::Ingress));
    router.hear_declare(C2, subscriber(1, "**"));
    let passed = ["ok/1", "secret/1", "*/1"].map(|text| router.put(text, b"x").is_some());
    assert_eq!(passed, [true, false, false]);
    assert_eq!(router.refused(C1, Flow::Ingress), 2);
    let route = router.node.data_route(C1, 0, &key("ok/1"));
    assert!(route.ingress.is_none() && route.egress[0].is_none(), "an open way costs nothing");

    router.set_rules(all_but(MessageKind::Put, "ok/**", Flow::Egress));
    assert!(route.route.validity.is_stale());
    let passed = ["ok/1", "secret/1", "*/1"].map(|text| router.put(text, b"x").is_some());
    assert_eq!(passed, [false, true, false]);
    assert_eq!((router.refused(C1, Flow::Ingress), router.refused(C2, Flow::Egress)), (2, 2));

    router.set_rules(None);
    assert!(router.put("ok/1", b"x").is_some());
    assert!(router.node.rules().is_none());
}

#[test]
fn samples_are_shaped() {
    let priority = |change| QosOverwrite {
        id: None,
        zids: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages: MessageSet::PUSHES,
        key_exprs: None,
        qos: QosFilter::default(),
        payload_size: None,
        overwrite: Overwrite { priority: Some(change), ..Overwrite::default() },
    };
    let low_pass = LowPass {
        id: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages: MessageSet::PUSHES,
        key_exprs: Vec::from([key("small/**")]),
        size_limit: 4,
    };
    let downsampling = weft_intercept::Downsampling {
        id: None,
        interfaces: None,
        link_protocols: None,
        flows: Some(Vec::from([Flow::Egress])),
        messages: MessageSet::PUSHES,
        rules: Vec::from([Rate { key_expr: key("slow/**"), freq: 5.0 }]),
    };
    let mut router = router(set(Rules {
        downsampling: Vec::from([downsampling]),
        qos: Vec::from([priority(PriorityChange::By(-1))]),
        low_pass: Vec::from([low_pass]),
        ..Rules::default()
    }));
    router.hear_declare(C2, subscriber(1, "**"));
    assert_eq!(router.put("small/1", b"1234"), Some(Priority::InteractiveLow), "both ways");
    assert_eq!(router.put("small/1", b"12345"), None);
    let mut passed = 0;
    for _ in 0..20 {
        passed += u32::from(router.put("slow/1", b"").is_some());
        passed += u32::from(router.put("slow/2", b"").is_some());
        router.advance(50_000);
    }
    assert_eq!(passed, 5, "the rule's keys count together");
    assert_eq!((router.refused(C1, Flow::Ingress), router.refused(C2, Flow::Egress)), (1, 35));
}

fn queryable(id: u32, text: &str) -> Declaration<'_> {
    let info = QueryableInfo::default();
    Declaration::Queryable { id, wire_expr: WireExpr::full(text), info }
}

#[test]
fn a_query_that_may_not_pass_ends_at_once() {
    let mut router = router(all_but(MessageKind::Query, "in/**", Flow::Ingress));
    router.hear_declare(C2, queryable(1, "**"));
    assert!(router.query(C1, 1, "in/1").is_empty());
    assert_eq!(router.query(C1, 2, "out/1").hops.len(), 1);
    router.set_rules(all_but(MessageKind::Query, "out/**", Flow::Egress));
    assert_eq!(router.query(C1, 3, "in/1").hops.len(), 1);
    assert!(router.query(C1, 4, "out/1").is_empty());
    assert_eq!(router.node.routing().footprint().queries, 2, "the refused ones are over");
}

#[test]
fn an_error_without_a_key_belongs_to_the_key_of_its_query() {
    let mut router = router(all_but(MessageKind::Reply, "secret/**", Flow::Ingress));
    router.hear_declare(C2, queryable(1, "**"));
    let body = ResponseBody::Err(ErrReply { payload: b"no", ..ErrReply::default() });
    let answered = |router: &mut Bench, id: u32, text: &str| {
        let hop = router.query(C1, id, text).hops.remove(0);
        let response = Response::new(hop.id, WireExpr::full(""), body);
        router.node.accept_reply(router.now_us, C2, &response).unwrap().is_some()
    };
    assert!(answered(&mut router, 1, "ok/1"));
    assert!(!answered(&mut router, 2, "secret/1"));
    assert!(!answered(&mut router, 3, "*/1"));
    let hop = router.query(C1, 4, "secret/1").hops.remove(0);
    let rules = router.node.rules().cloned();
    router.set_rules(None);
    router.set_rules(rules);
    let response = Response::new(hop.id, WireExpr::full(""), body);
    let accepted = router.node.accept_reply(router.now_us, C2, &response);
    assert!(accepted.unwrap().is_some(), "the query is older than the rules");
}

#[test]
fn own_replies_are_judged_on_their_way_out() {
    let mut router = router(all_but(MessageKind::Reply, "secret/**", Flow::Egress));
    let now_us = router.now_us;
    router.node.declare_queryable(now_us, 1, &key("**"), false, Locality::Any, &mut router.world);
    let error = ResponseBody::Err(ErrReply::default());
    for (id, text, passes) in [(1, "ok/1", true), (2, "secret/1", false)] {
        let branch = router.query(C1, id, text).local.unwrap();
        let reply = router.node.accept_own_reply(now_us, branch, Some(&key(text)), &error);
        assert_eq!(reply.is_some(), passes, "{text}");
        let reply = router.node.accept_own_reply(now_us, branch, None, &error);
        assert_eq!(reply.is_some(), passes, "an error about {text}");
    }
    // The session's own question is nobody else's business.
    let branch = router.query(FaceId::LOCAL, 3, "secret/1").local.unwrap();
    let reply = router.node.accept_own_reply(now_us, branch, Some(&key("secret/1")), &error);
    assert!(reply.is_some());
}

/// Keys of queries that have ended are not remembered for ever.
#[test]
fn the_keys_of_ten_thousand_queries_are_forgotten() {
    let mut router = router(all_but(MessageKind::Reply, "secret/**", Flow::Egress));
    router.hear_declare(C2, queryable(1, "**"));
    for id in 0..10_000 {
        let hop = router.query(C1, id, "ok/1").hops.remove(0);
        assert!(router.node.end_branch(C2, hop.id).is_some());
    }
    assert!(
        router.node.interception.query_keys.len() <= 128,
        "{}",
        router.node.interception.query_keys.len()
    );
}
