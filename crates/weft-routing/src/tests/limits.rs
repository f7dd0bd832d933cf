//! What one neighbour may make this node remember.

use super::*;
use crate::limits::{AGGREGATES_MAX, SAME_KEY_MAX};
use crate::{Limits, ResolveError, Violation};
use WhatAmI::{Client, Router};

fn router(change: impl FnOnce(&mut Limits)) -> (Bench, FaceId) {
    let mut bench = Bench::with(Router, |config| change(&mut config.limits));
    let client = bench.neighbour(Client);
    bench.events();
    (bench, client)
}

fn refused(bench: &mut Bench) -> Vec<Violation> {
    let events = bench.events().into_iter();
    events
        .filter_map(|event| match event {
            Event::Refuse { violation, .. } => Some(violation),
            _ => None,
        })
        .collect()
}

#[test]
fn declarations_of_all_kinds_are_counted_and_withdrawn_ones_are_not() {
    let (mut router, client) = router(|limits| limits.declarations_max = 3);
    router.declares(client, Kind::Subscriber, 1, "a");
    router.declares(client, Kind::Queryable, 1, "a");
    router.declares(client, Kind::Token, 1, "a");
    router.declares(client, Kind::Token, 1, "a");
    router.undeclares(client, Kind::Token, 1);
    router.declares(client, Kind::Token, 2, "b");
    assert_eq!(refused(&mut router), []);
    router.declares(client, Kind::Subscriber, 2, "b");
    assert_eq!(refused(&mut router), [Violation::Declarations { max: 3 }]);
    assert_eq!(router.routing.footprint().declarations, 3);
}

#[test]
fn declarations_on_one_key_are_bounded() {
    let (mut router, client) = router(|_| {});
    for id in 0..SAME_KEY_MAX as u32 {
        router.declares(client, Kind::Subscriber, id, "same");
    }
    assert_eq!(refused(&mut router), []);
    router.declares(client, Kind::Subscriber, u32::MAX, "same");
    assert_eq!(refused(&mut router), [Violation::Declarations { max: SAME_KEY_MAX }]);
}

#[test]
fn interests_are_counted_while_they_last() {
    let (mut router, client) = router(|limits| limits.interests_max = 2);
    let mode = InterestMode::CurrentFuture;
    router.asks(client, 1, mode, Kind::Subscriber, "a");
    router.asks(client, 2, mode, Kind::Subscriber, "b");
    router.asks(client, 2, InterestMode::Final, Kind::Subscriber, "");
    router.asks(client, 3, mode, Kind::Subscriber, "b");
    assert_eq!(refused(&mut router), []);
    router.asks(client, 4, mode, Kind::Subscriber, "b");
    assert_eq!(refused(&mut router), [Violation::Interests { max: 2 }]);
}

#[test]
fn queries_beyond_the_limit_end_at_once() {
    let (mut router, client) = router(|limits| limits.queries_max = 2);
    let other = router.neighbour(Client);
    router.declares(other, Kind::Queryable, 1, "q");
    let plans = [0; 3].map(|_| router.query(client, "q", QueryTarget::All));
    assert_eq!(plans.each_ref().map(QueryPlan::is_empty), [false, false, true]);
    assert_eq!(plans.each_ref().map(|plan| plan.refused), [false, false, true]);
    router.routing.end_branch(other, plans[0].hops[0].id);
    assert!(!router.query(client, "q", QueryTarget::All).is_empty());
}

/// Ten bytes on the wire may stand for 64 KiB of key expression here.
#[test]
fn long_keys_by_short_messages_are_bounded() {
    let (mut router, client) = router(|limits| limits.key_memory_max = 1 << 20);
    let long = "x".repeat(60_000);
    let number = Declaration::KeyExpr { id: 1, wire_expr: WireExpr::full(&long) };
    router.receive(client, &crate::message::declare(None, number));
    let mut accepted = 0;
    for id in 0..1000 {
        let suffix = format!("/{id}");
        let mapping = weft_wire::Mapping::Sender;
        let wire_expr = WireExpr { scope: 1, mapping, suffix: &suffix };
        router.receive(
            client,
            &crate::message::declare(None, Declaration::Subscriber { id, wire_expr }),
        );
        if refused(&mut router) == [Violation::KeyMemory { max: 1 << 20 }] {
            break;
        }
        accepted += 1;
    }
    assert_eq!(accepted, 16);
    router.departure(client);
    assert_eq!(router.routing.footprint().key_memory, 0);
}

/// As with one that is too long, what refers to it has no effect, and the neighbour stays.
#[test]
fn key_expressions_of_too_many_chunks_are_ignored() {
    let (mut router, client) = router(|limits| limits.key_expr_chunks_max = 4);
    let number = Declaration::KeyExpr { id: 1, wire_expr: WireExpr::full("a/**/b/**") };
    router.receive(client, &crate::message::declare(None, number));
    let too_many = WireExpr { scope: 1, mapping: weft_wire::Mapping::Sender, suffix: "/c" };
    let body = Declaration::Subscriber { id: 1, wire_expr: too_many };
    router.receive(client, &crate::message::declare(None, body));
    router.declares(client, Kind::Queryable, 1, "a/**/b/**/c");
    router.declares(client, Kind::Token, 1, "a/**/b/c");
    router.asks(client, 1, InterestMode::CurrentFuture, Kind::Token, "*/*/*/*/**");
    assert_eq!(router.sent(), ["1 answer 1: final"], "whoever asks is not kept waiting");
    let said = [Event::Ignored { face: client, error: ResolveError::TooManyChunks { max: 4 } }];
    assert_eq!(router.events(), said, "once");
    let left = router.routing.footprint();
    assert_eq!((left.declarations, left.interests, left.exprs), (1, 0, 1));
}

#[test]
fn what_is_withdrawn_is_not_held_against_a_neighbour() {
    let (mut router, client) = router(|_| {});
    let number = Declaration::KeyExpr { id: 1, wire_expr: WireExpr::full("a/b") };
    router.receive(client, &crate::message::declare(None, number));
    router.declares(client, Kind::Queryable, 1, "q/*");
    let complete = QueryableInfo { complete: true, distance: 0 };
    router.declares_info(client, Kind::Queryable, 1, "q/*", complete);
    router.declares(client, Kind::Queryable, 1, "conflict");
    router.asks(client, 1, InterestMode::CurrentFuture, Kind::Token, "t/*");
    router.asks(client, 2, InterestMode::Current, Kind::Token, "t/*");
    assert!(router.routing.footprint().key_memory > 0);
    router.asks(client, 1, InterestMode::Final, Kind::Token, "");
    router.undeclares(client, Kind::Queryable, 1);
    let end = Declaration::UndeclareKeyExpr { id: 1 };
    router.receive(client, &crate::message::declare(None, end));
    let left = router.routing.footprint();
    assert_eq!((left.key_memory, left.keys, left.told, left.exprs), (0, 0, 0, 0));
}

/// Each aggregate is computed from all that it matches whenever one of these changes.
#[test]
fn aggregate_interests_beyond_the_limit_are_answered_one_by_one() {
    let (mut router, client) = router(|_| {});
    let other = router.neighbour(Client);
    let options = InterestOptions { subscribers: true, aggregate: true, ..Default::default() };
    for id in 0..AGGREGATES_MAX as u32 {
        router.asks_options(client, id, InterestMode::CurrentFuture, options, &format!("{id}/*"));
    }
    router.sent();
    router.asks_options(client, u32::MAX, InterestMode::CurrentFuture, options, "a/*");
    router.declares(other, Kind::Subscriber, 1, "0/1");
    router.declares(other, Kind::Subscriber, 2, "a/1");
    let told = router.sent();
    assert_eq!(told, ["1 answer 4294967295: final", "1 sub 1 0/*", "1 sub 2 a/1"]);
    assert_eq!(refused(&mut router), []);
}

/// The tokens of a router with this seed, in the order in which it tells them.
fn told_with_seed(hash_seed: u64) -> Vec<String> {
    let mut router = Bench::with(Router, |config| config.hash_seed = hash_seed);
    for id in 0..50 {
        router.declare(Kind::Token, id, &format!("t/{id}"));
    }
    let client = router.neighbour(Client);
    router.asks(client, 1, InterestMode::Current, Kind::Token, "t/*");
    router.sent()
}

#[test]
fn the_hash_seed_decides_an_order_and_nothing_else() {
    let (first, mut other) = (told_with_seed(1), told_with_seed(2));
    assert_eq!(first, told_with_seed(1), "one seed, one order");
    assert_ne!(first, other, "neighbours do not know where a chunk is kept");
    let mut first = first;
    first.sort();
    other.sort();
    assert_eq!(first, other);
}
