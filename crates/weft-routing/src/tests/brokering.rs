//! Who hears of declarations, and where samples go, by mode.

use super::*;
use WhatAmI::{Client, Peer, Router};

#[test]
fn a_router_forwards_between_its_clients_and_never_back() {
    let mut router = Bench::new(Router);
    let (a, b, c) = (router.neighbour(Client), router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Subscriber, 1, "k/**");
    router.declares(b, Kind::Subscriber, 2, "k/*");
    assert_eq!(router.route(a, "k/1"), [b.0], "one copy for two subscriptions");
    assert_eq!(router.route(b, "k/1"), [0; 0], "no echo");
    assert_eq!(router.route(c, "other"), [0; 0]);
    assert_eq!(router.sent(), [""; 0], "clients hear of nothing that they did not ask for");
}

#[test]
fn a_router_does_not_forward_between_peers() {
    let mut router = Bench::new(Router);
    let (p, q, c) = (router.neighbour(Peer), router.neighbour(Peer), router.neighbour(Client));
    router.declares(q, Kind::Subscriber, 1, "k");
    assert_eq!(router.route(p, "k"), [0; 0]);
    assert_eq!(router.route(c, "k"), [q.0]);
}

#[test]
fn a_peer_stands_for_its_clients_towards_peers_and_routers() {
    let mut peer = Bench::new(Peer);
    let (other, router, client) =
        (peer.neighbour(Peer), peer.neighbour(Router), peer.neighbour(Client));
    peer.declares(client, Kind::Subscriber, 9, "k/*");
    assert_eq!(peer.sent(), ["1 expr 1 k", "1 sub 1 1>/*", "2 expr 1 k", "2 sub 1 1>/*"]);
    peer.finishes(other, 0);
    assert_eq!(peer.route(other, "k/1"), [client.0]);
    assert_eq!(peer.route(router, "k/1"), [client.0]);
    peer.declares(other, Kind::Subscriber, 1, "k/1");
    peer.declares(router, Kind::Subscriber, 1, "k/1");
    assert_eq!(peer.route(client, "k/1"), [other.0, router.0]);
    assert_eq!(peer.route(other, "k/1"), [client.0], "not on within the region of peers");
    assert_eq!(peer.sent(), [""; 0]);
    peer.undeclares(client, Kind::Subscriber, 9);
    assert_eq!(peer.sent(), ["1 ~sub 1", "2 ~sub 1"]);
}

#[test]
fn an_entity_with_several_owners_is_told_once_and_withdrawn_with_the_last() {
    let mut peer = Bench::new(Peer);
    let (other, client) = (peer.neighbour(Peer), peer.neighbour(Client));
    peer.declare(Kind::Subscriber, 1, "k");
    peer.declares(client, Kind::Subscriber, 1, "k");
    peer.declare(Kind::Subscriber, 2, "k");
    assert_eq!(peer.sent(), [format!("{} expr 1 k", other.0), format!("{} sub 1 1>", other.0)]);
    peer.undeclare(Kind::Subscriber, 1);
    peer.departure(client);
    assert_eq!(peer.sent(), [""; 0]);
    peer.undeclare(Kind::Subscriber, 2);
    assert_eq!(peer.sent(), [format!("{} ~sub 1", other.0)]);
}

#[test]
fn a_changed_queryable_is_told_again_under_its_id() {
    let mut peer = Bench::new(Peer);
    let other = peer.neighbour(Peer);
    let client = peer.neighbour(Client);
    let (near, far) = (
        QueryableInfo { complete: true, distance: 1 },
        QueryableInfo { complete: true, distance: 4 },
    );
    peer.declares_info(client, Kind::Queryable, 1, "q", far);
    peer.declares_info(client, Kind::Queryable, 2, "q", near);
    peer.declares_info(client, Kind::Queryable, 2, "q", near);
    peer.undeclares(client, Kind::Queryable, 2);
    let face = other.0;
    assert_eq!(
        peer.sent(),
        [
            format!("{face} expr 1 q"),
            format!("{face} qbl 1 1> complete at 4"),
            format!("{face} qbl 1 1> complete at 1"),
            format!("{face} qbl 1 1> complete at 4"),
        ]
    );
}

#[test]
fn a_fellow_peer_gets_everything_until_it_has_told_what_it_wants() {
    let mut peer = Bench::new(Peer);
    let other = peer.neighbour(Peer);
    let client = peer.neighbour(Client);
    let before = peer.routing.data_route(FaceId::LOCAL, 0, &key("k"));
    assert_eq!(peer.route(FaceId::LOCAL, "k"), [other.0]);
    assert_eq!(peer.route(client, "k"), [other.0]);
    peer.finishes(other, 0);
    assert!(before.validity.is_stale());
    assert_eq!(peer.route(FaceId::LOCAL, "k"), [0; 0]);
    assert_eq!(peer.events(), [Event::NeighbourReady { face: other }]);
    peer.finishes(other, 0);
    assert_eq!(peer.events(), [], "ready once");
}

#[test]
fn a_reconnected_neighbour_is_told_everything_again() {
    let mut client = Bench::new(Client);
    client.declare(Kind::Subscriber, 1, "a/*");
    client.declare(Kind::Token, 2, "t");
    client.wants(3, Kind::Subscriber, "p", LocalInterestMode::CurrentFuture);
    for life in 1..3 {
        let router = client.arrival(Router).unwrap();
        assert_eq!(
            client.sent(),
            [
                "expr 1 a",
                "sub 1 1>/*",
                "expr 2 t",
                "tok 2 2>",
                "expr 3 p",
                "interest 3 CurrentFuture S 3>"
            ]
            .map(|text| format!("{life} {text}"))
        );
        client.departure(router);
        assert_eq!(client.sent(), [""; 0]);
    }
    assert_eq!(client.routing.footprint().asked, 0);
}

#[test]
fn modes_that_do_not_link_are_refused() {
    let mut client = Bench::new(Client);
    assert_eq!(client.arrival(Client), Err(RefusedFace::TwoClients));
    client.arrival(Peer).unwrap();
    assert_eq!(client.arrival(Router), Err(RefusedFace::SecondUpstream));
    assert_eq!(client.routing.footprint().faces, 1);
}

#[test]
fn a_route_is_stale_before_the_declaration_that_changes_it_returns() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    let route = router.routing.data_route(a, 0, &key("k/1"));
    let unrelated = router.routing.data_route(a, 0, &key("other"));
    router.declares(b, Kind::Queryable, 1, "k/*");
    assert!(!route.validity.is_stale());
    router.declares(b, Kind::Subscriber, 1, "k/*");
    assert!(route.validity.is_stale());
    assert!(!unrelated.validity.is_stale());
    let route = router.routing.data_route(a, 0, &key("k/1"));
    router.undeclares(b, Kind::Subscriber, 1);
    assert!(route.validity.is_stale());
    let route = router.routing.data_route(a, 0, &key("k/1"));
    router.departure(b);
    assert!(route.validity.is_stale());
}

#[test]
fn samples_travel_under_the_receivers_own_numbers_as_long_as_it_keeps_them() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    let number = Declaration::KeyExpr { id: 4, wire_expr: WireExpr::full("k") };
    router.receive(b, &crate::message::declare(None, number));
    router.declares(b, Kind::Subscriber, 1, "k/**");
    let route = router.routing.data_route(a, 0, &key("k/1"));
    assert_eq!(expr_words(route.hops[0].expr.as_wire()), "4</1");
    let end = crate::message::declare(None, Declaration::UndeclareKeyExpr { id: 4 });
    let NetworkMessage::Declare(end) = end else { panic!() };
    assert!(router.routing.handle_declare(0, b, &end, &mut router.out), "an id lost its meaning");
    assert!(route.validity.is_stale());
    let route = router.routing.data_route(a, 0, &key("k/1"));
    assert_eq!(expr_words(route.hops[0].expr.as_wire()), "k/1");
    assert_eq!(router.route(a, "k/1"), [b.0], "the subscriber outlives the number");
}
