//! Expressions that are declared instead of what they include.

use super::*;
use crate::Aggregation;
use crate::schedule::GRACE_US;
use WhatAmI::{Client, Peer, Router};
use weft_wire::{LinkState, LinkStateList, Oam};

fn covering(whatami: WhatAmI) -> Bench {
    Bench::with(whatami, |config| {
        config.aggregation =
            Aggregation { subscribers: [key("a/**")].into(), publishers: [key("p/**")].into() };
        config.gossip.enabled = true;
    })
}

#[test]
fn subscribers_of_a_session_are_declared_as_one() {
    let mut client = covering(Client);
    client.neighbour(Router);
    client.declare(Kind::Subscriber, 1, "a/1");
    assert_eq!(client.sent(), ["1 expr 1 a", "1 sub 1 1>/**"]);
    client.declare(Kind::Subscriber, 2, "a/2");
    client.declare(Kind::Subscriber, 3, "a/**");
    client.undeclare(Kind::Subscriber, 1);
    client.undeclare(Kind::Subscriber, 3);
    assert_eq!(client.sent(), [""; 0], "a/2 is left");
    client.undeclare(Kind::Subscriber, 2);
    assert_eq!(client.sent(), ["1 ~sub 1"]);
    assert_eq!(client.routing.footprint().keys, 0);

    client.declare(Kind::Subscriber, 4, "b/1");
    client.declare(Kind::Queryable, 5, "a/1");
    client.declare(Kind::Token, 6, "a/1");
    let told = ["1 expr 2 b/1", "1 sub 2 2>", "1 expr 3 a/1", "1 qbl 3 3>", "1 tok 4 3>"];
    assert_eq!(client.sent(), told, "only subscribers, and only what is included");
}

#[test]
fn a_new_upstream_hears_the_cover_and_not_the_keys() {
    let mut client = covering(Client);
    client.declare(Kind::Subscriber, 1, "a/1");
    client.declare(Kind::Subscriber, 2, "a/2");
    client.arrival(Router).unwrap();
    assert_eq!(client.sent(), ["1 expr 1 a", "1 sub 1 1>/**"]);
}

#[test]
fn publishers_of_a_session_ask_as_one() {
    let mut client = covering(Client);
    let router = client.neighbour(Router);
    client.wants(1, Kind::Subscriber, "p/1", LocalInterestMode::CurrentFuture);
    client.wants(2, Kind::Subscriber, "p/2", LocalInterestMode::CurrentFuture);
    assert_eq!(client.sent(), ["1 expr 1 p", "1 interest 1 CurrentFuture S 1>/**"]);
    assert_eq!(client.route(FaceId::LOCAL, "p/1"), [1], "nobody has said what is wanted");
    client.answers(router, 1, Kind::Subscriber, 7, "p/2");
    client.finishes(router, 1);
    assert_eq!(client.route(FaceId::LOCAL, "p/1"), [0; 0]);
    assert_eq!(client.route(FaceId::LOCAL, "p/2"), [1]);
    assert!(client.routing.has_remote_match(Kind::Subscriber, &key("p/2"), false));
    assert!(!client.routing.has_remote_match(Kind::Subscriber, &key("p/1"), false));
    client.sent();
    client.wants_no_more(1);
    assert_eq!(client.sent(), [""; 0]);
    client.wants_no_more(2);
    assert_eq!(client.sent(), ["1 interest 1 Final"]);

    client.wants(3, Kind::Queryable, "p/1", LocalInterestMode::CurrentFuture);
    assert_eq!(client.sent(), ["1 expr 2 p/1", "1 interest 2 CurrentFuture Q 2>"]);
}

/// A router with the member `e2`, behind which is `e3`.
fn router() -> (Bench, FaceId) {
    let mut router = covering(Router);
    let b = router.member("e2", Router, false);
    router.states(b, &[(0, "e2", 5, &[1, 2]), (1, "a1", 0, &[]), (2, "e3", 5, &[0])]);
    router.advance(1_000_000);
    router.sent();
    (router, b)
}

#[test]
fn what_clients_of_a_router_subscribe_to_is_one_for_the_other_routers() {
    let (mut router, b) = router();
    let [one, two] = [Client; 2].map(|whatami| router.neighbour(whatami));
    router.declares(one, Kind::Subscriber, 1, "a/1");
    assert_eq!(router.sent(), ["1 expr 1 a", "1 sub 0 1>/**"]);
    router.declares(two, Kind::Subscriber, 1, "a/2");
    router.declares(two, Kind::Subscriber, 2, "a/**");
    assert_eq!(router.sent(), [""; 0]);
    assert_eq!(router.route(b, "a/1"), [one.0, two.0]);
    router.undeclares(two, Kind::Subscriber, 2);
    assert_eq!(router.route(b, "a/1"), [one.0], "nothing that nobody asked for");
    assert_eq!(router.route(b, "a/3"), [0; 0]);
    router.sent();

    let d = router.member("e4", Router, false);
    router.states(d, &[(0, "e4", 5, &[1]), (1, "a1", 0, &[])]);
    router.advance(1_000_000);
    let told = router.sent();
    let told: Vec<&String> = told.iter().filter(|it| it.contains("sub")).collect();
    assert_eq!(told, ["4 sub 0 1>/**"], "a new child hears it as well");

    router.departure(one);
    assert_eq!(router.sent(), [""; 0]);
    router.departure(two);
    assert_eq!(router.sent(), ["1 ~sub 0 1>/**", "4 ~sub 0 1>/**"]);
}

#[test]
fn what_other_routers_own_passes_as_it_is() {
    let (mut router, b) = router();
    let d = router.member("e4", Router, false);
    router.states(d, &[(0, "e4", 5, &[1]), (1, "a1", 0, &[])]);
    router.advance(2 * GRACE_US);
    router.sent();
    router.sourced(b, 2, Kind::Subscriber, "a/1");
    assert_eq!(router.sent(), ["2 expr 1 a/1", "2 sub 0 1> for 2"]);
    let client = router.neighbour(Client);
    router.declares(client, Kind::Subscriber, 1, "a/1");
    assert_eq!(router.sent(), ["1 expr 1 a", "1 sub 0 1>/**", "2 expr 2 a", "2 sub 0 2>/**"]);
    assert_eq!(router.hops(FaceId::LOCAL, 0, "a/1").len(), 2, "e2, and the client");
}

#[test]
fn a_hosted_peer_has_a_cover_of_its_own() {
    let (mut router, _) = router();
    let peer = router.member("e4", Peer, false);
    let states = Vec::from([
        LinkState {
            zid: Some(zid("e4")),
            whatami: Some(Peer),
            sn: 2,
            links: Vec::from([1]),
            ..LinkState::default()
        },
        LinkState { psid: 1, zid: Some(zid("a1")), gateway: true, ..LinkState::default() },
    ]);
    let body = LinkStateList(states).to_vec();
    router.receive(peer, &NetworkMessage::Oam(Oam::link_states(&body)));
    router.advance(1_000_000);
    router.sent();
    router.declares(peer, Kind::Subscriber, 1, "a/1");
    assert_eq!(router.sent(), ["1 expr 1 a", "1 sub 0 1>/** for 3"]);
    router.declares(peer, Kind::Subscriber, 2, "a/2");
    router.undeclares(peer, Kind::Subscriber, 1);
    assert_eq!(router.sent(), [""; 0]);
    router.undeclares(peer, Kind::Subscriber, 2);
    assert_eq!(router.sent(), ["1 ~sub 0 1>/** for 3"]);
}
