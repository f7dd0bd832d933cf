//! Interests: what is answered, what is passed on, and when an answer is closed.

use super::*;
use InterestMode::{Current, CurrentFuture, Final, Future};
use WhatAmI::{Client, Peer, Router};

#[test]
fn current_future_is_answered_with_ids_that_later_changes_use() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Subscriber, 5, "k/1");
    router.declares(a, Kind::Subscriber, 6, "k/own");
    router.asks(a, 3, CurrentFuture, Kind::Subscriber, "k/*");
    assert_eq!(router.sent(), ["1 answer 3: sub 1 k/1", "1 answer 3: final"]);
    router.declares(b, Kind::Subscriber, 7, "k/2");
    router.undeclares(b, Kind::Subscriber, 5);
    assert_eq!(router.sent(), ["1 sub 2 k/2", "1 ~sub 1"]);
    router.asks(a, 3, Final, Kind::Subscriber, "");
    router.declares(b, Kind::Subscriber, 8, "k/3");
    router.undeclares(b, Kind::Subscriber, 7);
    assert_eq!(router.sent(), ["1 ~sub 2"], "what was told is withdrawn, the rest not told");
}

#[test]
fn current_is_a_snapshot_under_id_zero() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Subscriber, 5, "k/1");
    router.asks(a, 3, Current, Kind::Subscriber, "k/*");
    assert_eq!(router.sent(), ["1 answer 3: sub 0 k/1", "1 answer 3: final"]);
    router.undeclares(b, Kind::Subscriber, 5);
    assert_eq!(router.sent(), [""; 0]);
    assert_eq!(router.routing.footprint().interests, 0);
}

#[test]
fn future_is_closed_at_once_and_told_only_what_comes() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Queryable, 5, "k/1");
    router.asks(a, 3, Future, Kind::Queryable, "k/*");
    assert_eq!(router.sent(), ["1 answer 3: final"]);
    router.declares(b, Kind::Queryable, 6, "k/2");
    assert_eq!(router.sent(), ["1 qbl 1 k/2"]);
}

#[test]
fn overlapping_interests_tell_under_one_id() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Subscriber, 5, "k/1");
    router.asks(a, 3, CurrentFuture, Kind::Subscriber, "k/*");
    router.asks(a, 4, CurrentFuture, Kind::Subscriber, "**");
    router.undeclares(b, Kind::Subscriber, 5);
    assert_eq!(
        router.sent(),
        [
            "1 answer 3: sub 1 k/1",
            "1 answer 3: final",
            "1 answer 4: sub 1 k/1",
            "1 answer 4: final",
            "1 ~sub 1"
        ]
    );
}

#[test]
fn an_interest_without_a_key_is_in_everything() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Token, 5, "any/where");
    let options = InterestOptions { tokens: true, ..InterestOptions::default() };
    let message = Interest {
        id: 4,
        mode: CurrentFuture,
        options,
        wire_expr: None,
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
    };
    router.receive(a, &NetworkMessage::Interest(message));
    router.declares(b, Kind::Token, 6, "else/where");
    router.asks(a, 4, Final, Kind::Token, "");
    router.declares(b, Kind::Token, 7, "no/where");
    assert_eq!(
        router.sent(),
        ["1 answer 4: tok 1 any/where", "1 answer 4: final", "1 tok 2 else/where"]
    );
    assert_eq!(router.routing.footprint().standing_interests, 0);
}

#[test]
fn an_aggregate_stands_for_all_matches_under_one_id() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    let queryables =
        |aggregate| InterestOptions { queryables: true, aggregate, ..InterestOptions::default() };
    router.asks_options(a, 1, CurrentFuture, queryables(true), "ag/*");
    let complete = QueryableInfo { complete: true, distance: 0 };
    router.declares_info(b, Kind::Queryable, 1, "ag/1", complete);
    router.declares_info(b, Kind::Queryable, 2, "ag/**", complete);
    router.undeclares(b, Kind::Queryable, 2);
    router.undeclares(b, Kind::Queryable, 1);
    router.declares(b, Kind::Queryable, 3, "ag/2");
    assert_eq!(
        router.sent(),
        [
            "1 answer 1: final",
            "1 qbl 1 ag/*",
            "1 qbl 1 ag/* complete",
            "1 qbl 1 ag/*",
            "1 ~qbl 1",
            "1 qbl 1 ag/*",
        ],
        "complete only while one covers all of it; the id comes back"
    );
    let peer = router.neighbour(Peer);
    router.asks_options(peer, 1, CurrentFuture, queryables(true), "ag/*");
    assert_eq!(
        router.sent(),
        ["3 answer 1: qbl 1 ag/2", "3 answer 1: final"],
        "peers get no aggregates"
    );
}

#[test]
fn an_answer_is_closed_when_every_upstream_has_closed_its_own() {
    let mut peer = Bench::new(Peer);
    let (r1, r2, client) = (peer.neighbour(Router), peer.neighbour(Router), peer.neighbour(Client));
    peer.asks(client, 8, CurrentFuture, Kind::Subscriber, "k");
    assert_eq!(
        peer.sent(),
        [
            "1 expr 1 k",
            "1 interest 1 CurrentFuture S 1>",
            "2 expr 1 k",
            "2 interest 1 CurrentFuture S 1>"
        ]
    );
    peer.answers(r1, 1, Kind::Subscriber, 40, "k");
    peer.finishes(r1, 1);
    assert_eq!(peer.sent(), ["3 sub 1 k"]);
    peer.finishes(r1, 1);
    peer.finishes(r2, 99);
    assert_eq!(peer.sent(), [""; 0]);
    peer.finishes(r2, 1);
    assert_eq!(peer.sent(), ["3 answer 8: final"]);
    assert_eq!(peer.routing.footprint().open_interests, 0);
}

#[test]
fn an_answer_is_closed_when_the_upstream_leaves_or_stays_silent() {
    let mut peer = Bench::new(Peer);
    let (router, client) = (peer.neighbour(Router), peer.neighbour(Client));
    peer.asks(client, 8, CurrentFuture, Kind::Subscriber, "k");
    peer.sent();
    peer.departure(router);
    assert_eq!(peer.sent(), ["2 answer 8: final"]);
    let router = peer.neighbour(Router);
    peer.asks(client, 9, CurrentFuture, Kind::Queryable, "q");
    peer.sent();
    peer.advance(INTERESTS_TIMEOUT_US - 1);
    assert_eq!(peer.sent(), [""; 0]);
    assert_eq!(peer.routing.next_timeout(), Some((INTERESTS_TIMEOUT_US, "interest timeout")));
    peer.advance(1);
    assert_eq!(peer.sent(), ["2 answer 9: final"]);
    peer.finishes(router, 2);
    assert_eq!(peer.sent(), [""; 0], "closed once");
}

#[test]
fn equal_interests_share_one_upstream() {
    let mut peer = Bench::new(Peer);
    let (router, a, b) = (peer.neighbour(Router), peer.neighbour(Client), peer.neighbour(Client));
    peer.asks(a, 1, CurrentFuture, Kind::Subscriber, "k");
    peer.asks(b, 1, CurrentFuture, Kind::Subscriber, "k");
    peer.finishes(router, 1);
    peer.asks(b, 2, CurrentFuture, Kind::Subscriber, "k");
    assert_eq!(
        peer.sent(),
        [
            "1 expr 1 k",
            "1 interest 1 CurrentFuture S 1>",
            "2 answer 1: final",
            "3 answer 1: final",
            "3 answer 2: final"
        ]
    );
    peer.departure(a);
    peer.asks(b, 1, Final, Kind::Subscriber, "");
    assert_eq!(peer.sent(), [""; 0]);
    peer.asks(b, 2, Final, Kind::Subscriber, "");
    assert_eq!(peer.sent(), ["1 interest 1 Final"]);
    let left = peer.routing.footprint();
    assert_eq!((left.asked, left.interests, left.standing_interests), (0, 0, 0));
}

#[test]
fn writing_is_filtered_once_the_upstream_has_answered_for_exactly_that_key() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    assert_eq!(client.route(FaceId::LOCAL, "k"), [1], "nobody asked: it may be wanted");
    client.wants(1, Kind::Subscriber, "k", LocalInterestMode::CurrentFuture);
    let unfiltered = client.routing.data_route(FaceId::LOCAL, 0, &key("k"));
    assert_eq!(unfiltered.hops.len(), 1);
    client.finishes(router, 1);
    assert!(unfiltered.validity.is_stale());
    assert_eq!(client.route(FaceId::LOCAL, "k"), [0; 0]);
    assert_eq!(client.route(FaceId::LOCAL, "k/x"), [1], "another key");
    client.declares(router, Kind::Subscriber, 1, "**");
    assert_eq!(client.route(FaceId::LOCAL, "k"), [1]);
    client.undeclares(router, Kind::Subscriber, 1);
    assert_eq!(client.route(FaceId::LOCAL, "k"), [0; 0]);
    client.wants_no_more(1);
    assert_eq!(client.route(FaceId::LOCAL, "k"), [1]);
}

#[test]
fn matching_is_told_to_the_interests_that_it_concerns() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Subscriber, "k/1", LocalInterestMode::CurrentFuture);
    client.wants(2, Kind::Queryable, "k/1", LocalInterestMode::CurrentFuture);
    client.wants(3, Kind::Subscriber, "other", LocalInterestMode::CurrentFuture);
    for id in 1..=4 {
        client.finishes(router, id);
    }
    client.events();
    client.declares(router, Kind::Subscriber, 1, "k/*");
    assert_eq!(client.events(), [Event::MatchingChanged { interest: 1 }]);
    assert!(client.routing.has_remote_match(Kind::Subscriber, &key("k/1"), false));
    assert!(!client.routing.has_remote_match(Kind::Queryable, &key("k/1"), false));
    client.departure(router);
    assert_eq!(client.events(), [Event::MatchingChanged { interest: 1 }]);
    assert!(!client.routing.has_remote_match(Kind::Subscriber, &key("k/1"), false));
}

#[test]
fn those_who_serve_are_not_answered_and_answer_only_what_was_asked() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.declare(Kind::Token, 1, "t");
    client.sent();
    client.asks(router, 1, CurrentFuture, Kind::Token, "**");
    assert_eq!(client.sent(), [""; 0]);
    let mut broker = Bench::new(Router);
    let south = broker.neighbour(Client);
    broker.answers(south, 3, Kind::Token, 1, "t");
    assert_eq!(broker.routing.footprint().declarations, 0);
}

/// Its deadline, left behind, would close the answer to the next interest of that id too early.
#[test]
fn an_interest_that_ends_takes_its_deadline_along() {
    let mut peer = Bench::new(Peer);
    let (router, client) = (peer.neighbour(Router), peer.neighbour(Client));
    peer.asks(client, 8, CurrentFuture, Kind::Subscriber, "k");
    peer.asks(client, 8, Final, Kind::Subscriber, "");
    assert_eq!(peer.routing.next_timeout(), None);
    peer.advance(INTERESTS_TIMEOUT_US / 2);
    peer.asks(client, 8, CurrentFuture, Kind::Subscriber, "k");
    peer.sent();
    peer.advance(INTERESTS_TIMEOUT_US / 2);
    assert_eq!(peer.sent(), [""; 0]);
    peer.finishes(router, 2);
    assert_eq!(peer.sent(), ["2 answer 8: final"]);
}

#[test]
fn an_unknown_expression_closes_the_answer_and_an_id_in_use_is_ignored() {
    let mut router = Bench::new(Router);
    let a = router.neighbour(Client);
    router.asks(a, 1, CurrentFuture, Kind::Subscriber, "not//canonical");
    router.asks(a, 2, CurrentFuture, Kind::Subscriber, "k");
    router.asks(a, 2, CurrentFuture, Kind::Subscriber, "other");
    assert_eq!(router.sent(), ["1 answer 1: final", "1 answer 2: final"]);
    assert_eq!(router.routing.footprint().interests, 1);
}

#[test]
fn a_second_session_interest_under_an_id_replaces_the_first() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Subscriber, "a", LocalInterestMode::CurrentFuture);
    client.wants(1, Kind::Subscriber, "b", LocalInterestMode::CurrentFuture);
    client.wants_no_more(1);
    client.declares(router, Kind::Subscriber, 1, "**");
    let left = client.routing.footprint();
    assert_eq!((left.asked, left.interests, left.standing_interests), (0, 0, 0));
}
