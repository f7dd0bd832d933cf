//! Liveliness: each token appears once and goes once, for those who asked.

use super::*;
use InterestMode::{Current, CurrentFuture, Future};
use WhatAmI::{Client, Peer, Router};

#[test]
fn history_decides_whether_existing_tokens_are_told() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.declare(Kind::Token, 1, "t/own");
    client.wants(2, Kind::Token, "t/*", LocalInterestMode::CurrentFuture);
    client.wants(3, Kind::Token, "t/*", LocalInterestMode::Future);
    assert_eq!(client.token_events(), words_of(&[(2, "+t/own")]), "own tokens are told as well");
    client.declares(router, Kind::Token, 1, "t/new");
    client.undeclares(router, Kind::Token, 1);
    client.undeclare(Kind::Token, 1);
    assert_eq!(
        client.token_events(),
        words_of(&[
            (2, "+t/new"),
            (3, "+t/new"),
            (2, "-t/new"),
            (3, "-t/new"),
            (2, "-t/own"),
            (3, "-t/own")
        ]),
        "the end of a token that was not told is told"
    );
}

#[test]
fn a_token_of_several_owners_goes_with_the_last() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.wants(1, Kind::Token, "t", LocalInterestMode::CurrentFuture);
    router.token_events();
    router.declares(a, Kind::Token, 1, "t");
    router.declares(a, Kind::Token, 2, "t");
    router.declares(b, Kind::Token, 1, "t");
    router.undeclares(a, Kind::Token, 1);
    router.departure(b);
    assert_eq!(router.token_events(), words_of(&[(1, "+t")]));
    router.departure(a);
    assert_eq!(router.token_events(), words_of(&[(1, "-t")]));
}

/// The id is what tells tokens apart at the receiver; 0 for all of them would merge them.
#[test]
fn tokens_told_after_they_were_only_remembered_have_ids_of_their_own() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Token, 1, "t/1");
    router.declares(b, Kind::Token, 2, "t/2");
    router.asks(a, 1, Future, Kind::Token, "t/*");
    router.asks(a, 2, CurrentFuture, Kind::Token, "t/*");
    let told = router.sent();
    assert_eq!(told[0], "1 answer 1: final");
    assert_eq!(told[1..], ["1 answer 2: tok 1 t/1", "1 answer 2: tok 2 t/2", "1 answer 2: final"]);
    router.undeclares(b, Kind::Token, 2);
    assert_eq!(router.sent(), ["1 ~tok 2"]);
}

/// Two history subscribers whose answers overlap: the upstream repeats the token for each.
#[test]
fn each_history_subscriber_hears_of_a_token_once() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Token, "t/**", LocalInterestMode::CurrentFuture);
    client.wants(2, Kind::Token, "t/x", LocalInterestMode::CurrentFuture);
    client.wants(3, Kind::Token, "t/x", LocalInterestMode::Future);
    client.events();
    client.answers(router, 1, Kind::Token, 9, "t/x");
    client.finishes(router, 1);
    client.answers(router, 2, Kind::Token, 9, "t/x");
    client.finishes(router, 2);
    client.finishes(router, 3);
    assert_eq!(
        client.token_events(),
        words_of(&[(1, "+t/x"), (1, "final"), (2, "+t/x"), (2, "final"), (3, "final")])
    );
    client.undeclares(router, Kind::Token, 9);
    let mut told = client.token_events();
    told.sort();
    assert_eq!(told, words_of(&[(1, "-t/x"), (2, "-t/x"), (3, "-t/x")]));
}

#[test]
fn a_token_that_two_upstreams_know_is_told_once() {
    let mut peer = Bench::new(Peer);
    let (r1, r2) = (peer.neighbour(Router), peer.neighbour(Router));
    peer.wants(1, Kind::Token, "t", LocalInterestMode::CurrentFuture);
    peer.answers(r1, 1, Kind::Token, 5, "t");
    peer.answers(r2, 1, Kind::Token, 5, "t");
    assert_eq!(peer.token_events(), words_of(&[(1, "+t")]));
    peer.finishes(r1, 1);
    peer.finishes(r2, 1);
    peer.departure(r1);
    assert_eq!(peer.token_events(), words_of(&[(1, "final")]));
    peer.departure(r2);
    assert_eq!(peer.token_events(), words_of(&[(1, "-t")]));
}

#[test]
fn a_snapshot_tells_each_token_once_though_two_sources_know_it() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.declare(Kind::Token, 1, "t/own");
    client.sent();
    client.wants(2, Kind::Token, "t/*", LocalInterestMode::Current);
    assert_eq!(client.sent(), ["1 expr 2 t", "1 interest 2 Current T 2>/*"]);
    client.answers(router, 2, Kind::Token, 0, "t/own");
    client.answers(router, 2, Kind::Token, 0, "t/far");
    client.finishes(router, 2);
    assert_eq!(client.token_events(), words_of(&[(2, "?t/own"), (2, "?t/far"), (2, "final")]));
    let left = client.routing.footprint();
    assert_eq!((left.interests, left.asked, left.open_interests), (0, 0, 0));
    assert_eq!(left.declarations, 1, "snapshots are not kept");
}

#[test]
fn a_snapshot_is_taken_at_every_upstream() {
    let mut peer = Bench::new(Peer);
    let (r1, r2) = (peer.neighbour(Router), peer.neighbour(Router));
    peer.wants(1, Kind::Token, "t/*", LocalInterestMode::Current);
    peer.answers(r1, 1, Kind::Token, 0, "t/both");
    peer.finishes(r1, 1);
    peer.answers(r2, 1, Kind::Token, 0, "t/both");
    peer.answers(r2, 1, Kind::Token, 0, "t/second");
    peer.finishes(r2, 1);
    assert_eq!(peer.token_events(), words_of(&[(1, "?t/both"), (1, "?t/second"), (1, "final")]));
}

#[test]
fn answers_to_a_withdrawn_snapshot_are_ignored() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Token, "t/*", LocalInterestMode::Current);
    client.wants_no_more(1);
    assert_eq!(client.routing.footprint().asked, 0);
    client.answers(router, 1, Kind::Token, 0, "t/1");
    client.answers(router, 1, Kind::Token, 0, "t/2");
    client.finishes(router, 1);
    assert_eq!(client.token_events(), []);
    assert_eq!(client.routing.footprint().declarations, 0);
}

/// The rest of an answer keeps its ids: their ends must be told to whoever has asked for changes.
#[test]
fn the_rest_of_an_answer_to_a_withdrawn_interest_is_remembered_without_a_word() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Token, "t/*", LocalInterestMode::Future);
    client.wants(2, Kind::Token, "t/*", LocalInterestMode::CurrentFuture);
    client.wants_no_more(2);
    client.answers(router, 2, Kind::Token, 6, "t/1");
    assert_eq!(client.token_events(), []);
    client.undeclares(router, Kind::Token, 6);
    assert_eq!(client.token_events(), words_of(&[(1, "-t/1")]));
}

#[test]
fn a_snapshot_waits_for_a_fellow_peer_that_is_still_telling() {
    let mut peer = Bench::new(Peer);
    let other = peer.neighbour(Peer);
    peer.wants(1, Kind::Token, "t/*", LocalInterestMode::Current);
    assert_eq!(peer.token_events(), []);
    peer.declares(other, Kind::Token, 1, "t/1");
    assert_eq!(peer.token_events(), []);
    peer.finishes(other, 0);
    assert_eq!(peer.token_events(), words_of(&[(1, "?t/1"), (1, "final")]));
    peer.wants(2, Kind::Token, "t/*", LocalInterestMode::Current);
    assert_eq!(peer.token_events(), words_of(&[(2, "?t/1"), (2, "final")]));
    let third = peer.neighbour(Peer);
    peer.wants(3, Kind::Token, "t/*", LocalInterestMode::Current);
    peer.departure(third);
    assert_eq!(peer.token_events(), words_of(&[(3, "?t/1"), (3, "final")]));
}

/// The session's own token keeps the key alive when the upstream that had told of it leaves, before
/// it could repeat it in the answer that one subscriber still waited for.
#[test]
fn an_answer_that_does_not_come_is_made_up_for() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Token, "t/**", LocalInterestMode::CurrentFuture);
    client.wants(2, Kind::Token, "t/x", LocalInterestMode::CurrentFuture);
    client.answers(router, 1, Kind::Token, 5, "t/x");
    client.declare(Kind::Token, 3, "t/x");
    assert_eq!(client.token_events(), words_of(&[(1, "+t/x")]));
    client.departure(router);
    let mut told = client.token_events();
    told.sort();
    assert_eq!(told, words_of(&[(1, "final"), (2, "+t/x"), (2, "final")]));
}

#[test]
fn a_token_that_died_and_came_back_while_an_answer_was_open_is_told_again() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Token, "t", LocalInterestMode::CurrentFuture);
    client.declare(Kind::Token, 2, "t");
    client.undeclare(Kind::Token, 2);
    client.answers(router, 1, Kind::Token, 5, "t");
    assert_eq!(client.token_events(), words_of(&[(1, "+t"), (1, "-t"), (1, "+t")]));
}

#[test]
fn the_end_of_an_unseen_token_is_passed_on_by_its_key() {
    let mut peer = Bench::new(Peer);
    let (router, client) = (peer.neighbour(Router), peer.neighbour(Client));
    peer.asks(client, 1, Future, Kind::Token, "t/*");
    peer.wants(2, Kind::Token, "t/old", LocalInterestMode::Future);
    peer.sent();
    let gone = crate::message::undeclare_unseen_token(WireExpr::full("t/old"));
    peer.receive(router, &gone);
    assert_eq!(peer.sent(), ["2 ~tok 0 t/old"]);
    assert_eq!(peer.token_events(), words_of(&[(2, "-t/old")]));
    peer.receive(client, &gone);
    assert_eq!(peer.token_events(), [], "only who serves this node may say so");
}

#[test]
fn reconnecting_tells_of_tokens_again_but_not_of_those_that_stayed() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.declare(Kind::Token, 1, "t/own");
    client.wants(2, Kind::Token, "t/*", LocalInterestMode::CurrentFuture);
    client.answers(router, 3, Kind::Token, 1, "t/far");
    client.token_events();
    client.departure(router);
    assert_eq!(client.token_events(), words_of(&[(2, "-t/far"), (2, "final")]));
    let router = client.arrival(Router).unwrap();
    client.answers(router, 2, Kind::Token, 1, "t/own");
    client.answers(router, 2, Kind::Token, 2, "t/far");
    client.finishes(router, 2);
    assert_eq!(client.token_events(), words_of(&[(2, "+t/far")]));
}

#[test]
fn a_remote_snapshot_is_answered_from_here_and_from_upstream() {
    let mut peer = Bench::new(Peer);
    let (router, client) = (peer.neighbour(Router), peer.neighbour(Client));
    peer.declare(Kind::Token, 1, "t/here");
    peer.sent();
    peer.asks(client, 7, Current, Kind::Token, "t/*");
    peer.answers(router, 2, Kind::Token, 0, "t/far");
    peer.answers(router, 2, Kind::Token, 0, "t/here");
    peer.finishes(router, 2);
    assert_eq!(
        peer.sent(),
        [
            "1 expr 2 t",
            "1 interest 2 Current T 2>/*",
            "2 answer 7: tok 0 t/here",
            "2 answer 7: tok 0 t/far",
            "2 answer 7: final"
        ]
    );
}

/// A snapshot leaves nothing behind, but until it ends each token in it is told once.
#[test]
fn the_memory_of_a_snapshot_under_way_is_bounded() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Token, "**", LocalInterestMode::Current);
    let long = "x".repeat(60_000);
    let number = Declaration::KeyExpr { id: 1, wire_expr: WireExpr::full(&long) };
    client.receive(router, &crate::message::declare(None, number));
    for n in 0..1000 {
        let suffix = format!("/{n}");
        let wire_expr = WireExpr { scope: 1, mapping: weft_wire::Mapping::Sender, suffix: &suffix };
        let body = Declaration::Token { id: 0, wire_expr };
        client.receive(router, &crate::message::declare(Some(1), body));
        client.receive(router, &crate::message::declare(Some(1), body));
    }
    let told = client.events();
    assert!((1000..2000).contains(&told.len()), "{} told, the first once each", told.len());
    assert!(client.routing.footprint().heard_memory <= crate::interest::HEARD_MEMORY_MAX);
    client.finishes(router, 1);
    assert_eq!(client.routing.footprint().heard_memory, 0);
}
