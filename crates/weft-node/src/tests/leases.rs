//! Keep-alives and leases, and neighbours that come back before theirs has run out.

use super::*;
use WhatAmI::{Client, Peer, Router};

#[test]
fn keep_alives_go_out_every_quarter_of_the_lease_on_a_silent_link() {
    let mut router = Bench::new(Router);
    let link = router.accept("c1", Client);
    router.done();
    let mut said = 0;
    for _ in 0..20 {
        router.advance(500_000);
        router.hears(link);
        said += router.done().iter().filter(|it| *it == "keep alive 1 1").count();
    }
    assert_eq!(said, 4, "in 10 s, with a lease of 10 s");
    assert_eq!(router.neighbours(), ["c1"]);
}

#[test]
fn a_neighbour_that_is_silent_for_its_lease_is_gone() {
    let mut router = Bench::new(Router);
    let link = router.accept_config(&HandshakeConfig {
        lease_ms: 1_000,
        ..HandshakeConfig::new(zid("c1"), Client)
    });
    router.events();
    router.advance(500_000);
    router.hears(link);
    router.advance(999_999);
    assert_eq!(router.neighbours(), ["c1"]);
    router.advance(1);
    assert!(router.neighbours().is_empty());
    let done = router.done();
    assert!(done.contains(&"close link 1".to_string()), "{done:?}");
    assert!(done.contains(&"close transport 1 None".to_string()), "{done:?}");
    let down = NodeEvent::NeighbourDown { face: FaceId(1), zid: zid("c1"), why: "lease expired" };
    assert_eq!(router.events(), [down]);
    assert_eq!(router.node.footprint().timers, 0);
}

/// A crash that nobody noticed: its transport has been silent for long enough to be given up.
#[test]
fn a_neighbour_that_comes_back_replaces_its_silent_transport() {
    let mut router = Bench::new(Router);
    router.accept("c1", Client);
    router.done();
    router.advance(5_000_000);
    router.accept("c1", Client);
    assert_eq!(last_close(&router), Some(CloseReason::MAX_LINKS), "it may live yet");
    router.done();
    router.advance(1);
    router.accept("c1", Client);
    assert_eq!(router.neighbours(), ["c1"]);
    let done = router.done();
    assert!(done.contains(&format!("close transport 1 {:?}", Some(CloseReason::GENERIC))));
    assert!(done.contains(&"open 3 as 2".to_string()), "{done:?}");
}

/// The old transport was dialed by this side, so that a second link would be let in.
#[test]
fn a_restarted_peer_does_not_join_the_transport_of_its_old_life() {
    let mut peer = Bench::with(Peer, |config| config.dial.push(target(&["b:1"])));
    peer.start();
    peer.answer_dial(0, "b1", Peer);
    peer.advance(5_000_001);
    peer.done();
    peer.accept("b1", Peer);
    let done = peer.done();
    assert!(done.contains(&"open 2 as 2".to_string()), "{done:?}");
    assert!(!done.iter().any(|it| it.starts_with("attach")), "{done:?}");
}

#[test]
fn a_neighbour_that_closes_is_gone_at_once() {
    let mut router = Bench::new(Router);
    let link = router.accept("c1", Client);
    router.events();
    router.node.neighbour_closed(router.now_us, link, &mut router.world);
    let down = NodeEvent::NeighbourDown {
        face: FaceId(1),
        zid: zid("c1"),
        why: "closed by the neighbour",
    };
    assert_eq!(router.events(), [down]);
    assert_eq!(router.node.footprint(), crate::NodeFootprint::default());
}
