//! The session's entities, as far as the node keeps them itself.

use super::*;
use crate::{Locality, MatchOf, QueryRequest, QueryScope};
use WhatAmI::{Client, Router};
use weft_wire::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, Qos, Query, QueryTarget,
    WireExpr,
};

impl Bench {
    fn subscribe(&mut self, id: u32, text: &str, origin: Locality) {
        self.node.declare_subscriber(self.now_us, id, &key(text), origin, &mut self.world);
    }

    fn publisher(&mut self, id: u32, text: &str, destination: Locality) {
        let (now_us, of) = (self.now_us, MatchOf::Subscribers);
        self.node.declare_sender(now_us, id, &key(text), of, destination, &mut self.world);
    }

    fn queryable(&mut self, id: u32, text: &str, complete: bool, origin: Locality) {
        let now_us = self.now_us;
        self.node.declare_queryable(now_us, id, &key(text), complete, origin, &mut self.world);
    }

    fn matching(&mut self) -> Vec<(u32, bool)> {
        let events = self.events().into_iter();
        events
            .filter_map(|event| match event {
                NodeEvent::Matching { id, matching } => Some((id, matching)),
                _ => None,
            })
            .collect()
    }

    fn subscribers(&mut self, source: FaceId, text: &str) -> Vec<u32> {
        self.node.data_route(source, 0, &key(text)).subscribers
    }
}

#[test]
fn ids_are_never_used_twice() {
    let router = Bench::new(Router);
    let ids = [0; 3].map(|_| router.node.next_entity());
    assert_eq!(ids, [1, 2, 3]);
}

#[test]
fn matching_is_told_when_it_changes_and_only_then() {
    let mut router = Bench::new(Router);
    router.accept("c1", Client);
    router.publisher(1, "k/1", Locality::Any);
    router.publisher(2, "k/1", Locality::Remote);
    router.publisher(3, "k/1", Locality::SessionLocal);
    router.subscribe(4, "k/*", Locality::Any);
    router.subscribe(5, "k/**", Locality::Any);
    assert_eq!(router.matching(), [(1, true), (3, true)]);
    let declared = Declaration::Subscriber { id: 1, wire_expr: WireExpr::full("**") };
    let message = NetworkMessage::Declare(Declare::new(declared));
    router.node.handle_message(router.now_us, FaceId(1), &message, &mut router.world);
    assert_eq!(router.matching(), [(2, true)]);
    for id in [4, 5] {
        router.node.undeclare_subscriber(router.now_us, id, &mut router.world);
    }
    assert_eq!(router.matching(), [(3, false)]);
    assert!(router.node.is_matching(1) && !router.node.is_matching(3));
}

#[test]
fn subscribers_get_samples_of_the_origins_that_they_want() {
    let mut router = Bench::new(Router);
    router.accept("c1", Client);
    router.subscribe(1, "k", Locality::SessionLocal);
    router.subscribe(2, "k", Locality::Remote);
    router.subscribe(3, "*", Locality::Any);
    assert_eq!(router.subscribers(FaceId::LOCAL, "k"), [1, 3]);
    assert_eq!(router.subscribers(FaceId(1), "k"), [2, 3]);
    let route = router.node.data_route(FaceId::LOCAL, 0, &key("k"));
    router.subscribe(4, "k", Locality::SessionLocal);
    assert!(route.route.validity.is_stale(), "though no neighbour hears of it");
}

#[test]
fn queryables_are_chosen_by_origin_and_completeness() {
    let mut router = Bench::new(Router);
    router.accept("c1", Client);
    router.queryable(1, "q/*", true, Locality::SessionLocal);
    router.queryable(2, "q/1", false, Locality::Any);
    let mut asked = |source, target| {
        let request = QueryRequest {
            node_id: 0,
            source,
            source_id: 1,
            key: &key("q/1"),
            target,
            qos: Qos::REQUEST,
            timeout_us: 1_000,
            scope: QueryScope::Any,
        };
        let plan = router.node.open_query(1, request, &Query::default());
        plan.local.map(|_| router.node.local_queryables(source, &key("q/1"), target))
    };
    assert_eq!(asked(FaceId::LOCAL, QueryTarget::All), Some(Vec::from([1, 2])));
    assert_eq!(asked(FaceId::LOCAL, QueryTarget::AllComplete), Some(Vec::from([1])));
    assert_eq!(asked(FaceId(1), QueryTarget::All), Some(Vec::from([2])));
    assert_eq!(asked(FaceId(1), QueryTarget::AllComplete), None);
}

#[test]
fn a_token_query_ends_once_by_its_time_or_before() {
    let mut client = Bench::with(Client, |config| config.dial.push(target(&["r:1"])));
    client.start();
    client.answer_dial(0, "b1", Router);
    client.events();
    let now_us = client.now_us;
    for id in [1, 2] {
        client.node.query_tokens(now_us, id, &key("t/*"), 700_000, &mut client.world);
    }
    client.node.cancel_token_query(2);
    assert_eq!(client.node.footprint().token_queries, 1);
    client.advance(700_000);
    let ended = [NodeEvent::QueryTimeout { query: 1 }, NodeEvent::TokenQueryFinal { query: 1 }];
    assert_eq!(client.events(), ended);
    assert_eq!(client.node.routing().footprint().asked, 0, "nobody waits for the answer");
    client.advance(20_000_000);
    assert_eq!(client.node.footprint().token_queries, 0);
}

/// Timers of what is over do not pile up until their time would have come.
#[test]
fn a_thousand_short_queries_leave_no_timer_behind() {
    let mut router = Bench::new(Router);
    for id in 0..1_000 {
        router.node.query_tokens(router.now_us, id, &key("t"), 60_000_000, &mut router.world);
    }
    let finals = router
        .events()
        .into_iter()
        .filter(|event| matches!(event, NodeEvent::TokenQueryFinal { .. }));
    assert_eq!(finals.count(), 1_000);
    assert_eq!(router.node.footprint(), crate::NodeFootprint::default());
}

#[test]
fn a_neighbour_over_a_limit_is_closed_and_reported() {
    let mut router = Bench::with(Router, |config| config.limits.declarations_max = 1);
    router.accept("c1", Client);
    router.done();
    for id in 1..3 {
        let declared = Declaration::Token { id, wire_expr: WireExpr::full("t") };
        let message = NetworkMessage::Declare(Declare::new(declared));
        router.node.handle_message(router.now_us, FaceId(1), &message, &mut router.world);
    }
    let closed = format!("close transport 1 {:?}", Some(CloseReason::GENERIC));
    assert!(router.done().contains(&closed));
    let events = router.events();
    let why = "over a limit";
    assert!(events.contains(&NodeEvent::NeighbourDown { face: FaceId(1), zid: zid("c1"), why }));
    let warned = events.iter().any(|event| match event {
        NodeEvent::Warning { text } => text.contains("more than 1 declarations"),
        _ => false,
    });
    assert!(warned, "{events:?}");
}

/// What a client that asks for everything is told by a router with this seed.
fn tokens_told(hash_seed: u64) -> Vec<Vec<u8>> {
    let mut router = Bench::with(Router, |config| config.hash_seed = hash_seed);
    for id in 0..50 {
        let text = format!("t/{id}");
        router.node.declare_token(router.now_us, id, &key(&text), &mut router.world);
    }
    router.accept("c1", Client);
    let options = InterestOptions { tokens: true, ..InterestOptions::default() };
    let asked = Some(WireExpr::full("t/*"));
    let message = NetworkMessage::Interest(Interest::new(1, InterestMode::Current, options, asked));
    router.node.handle_message(router.now_us, FaceId(1), &message, &mut router.world);
    router.world.sent
}

#[test]
fn the_hash_seed_reaches_the_tables_of_neighbours_keys() {
    let (first, other) = (tokens_told(1), tokens_told(2));
    assert_eq!(first.len(), 51);
    assert_eq!(first, tokens_told(1), "one seed, one order");
    assert_ne!(first, other);
}
