//! Links on their way to becoming transports: who is let in, who is not, and what it costs.

use super::*;
use WhatAmI::{Client, Peer, Router};
use alloc::vec;

#[test]
fn an_accepted_link_becomes_a_transport_when_its_cookie_comes_back() {
    let mut router = Bench::new(Router);
    router.accept("c1", Client);
    assert_eq!(router.done(), ["transmit 1 InitAck", "transmit 1 OpenAck", "open 1 as 1"]);
    let up = NodeEvent::NeighbourUp { face: FaceId(1), zid: zid("c1"), whatami: Client, qos: true };
    assert_eq!(router.events(), [up]);
    assert_eq!(router.neighbours(), ["c1"]);
}

#[test]
fn a_dialed_link_becomes_a_transport_when_its_open_is_answered() {
    let mut client = Bench::with(Client, |config| config.dial.push(target(&["r:1"])));
    client.start();
    client.answer_dial(0, "b1", Router);
    assert_eq!(
        client.done(),
        ["dial 0 r:1", "transmit 1 InitSyn", "transmit 1 OpenSyn", "open 1 as 1"]
    );
    assert!(client.events().contains(&NodeEvent::Started));
}

#[test]
fn those_who_cannot_be_neighbours_are_told_why() {
    let mut router = Bench::with(Router, |config| config.sessions_max = 2);
    router.accept("c1", Client);
    router.accept("c1", Client);
    assert_eq!(last_close(&router), Some(CloseReason::MAX_LINKS));
    router.accept("c2", Client);
    router.accept("c3", Client);
    assert_eq!(last_close(&router), Some(CloseReason::MAX_SESSIONS));
    assert_eq!(router.neighbours(), ["c1", "c2"]);
    assert_eq!(router.node.footprint().links, 2, "the others are closed");
}

#[test]
fn a_second_link_must_be_like_the_first() {
    let mut peer = Bench::with(Peer, |config| config.dial.push(target(&["b:1"])));
    peer.start();
    peer.answer_dial(0, "b1", Peer);
    peer.done();
    let other = HandshakeConfig { lease_ms: 77, ..HandshakeConfig::new(zid("b1"), Peer) };
    peer.accept_config(&other);
    assert_eq!(last_close(&peer), Some(CloseReason::INVALID));
    peer.done();
    peer.accept("b1", Peer);
    assert_eq!(peer.done().last().unwrap(), "attach 3 to 1");
    assert_eq!(peer.node.neighbours().next().unwrap().links.len(), 2);
}

/// One link that compresses and one that does not make no transport. A link that was dialed is refused
/// after its handshake, and then its batches have headers.
#[test]
fn a_second_link_compresses_if_the_first_does() {
    let plain = || HandshakeConfig::new(zid("b1"), Peer);
    let compressing = || HandshakeConfig { compression: true, ..plain() };
    for (first, second, close) in
        [(plain(), compressing(), vec![0, 3, 2]), (compressing(), plain(), vec![3, 2])]
    {
        let mut peer = Bench::with(Peer, |config| {
            config.handshake.compression = true;
            config.dial.push(target(&["b:1"]));
        });
        peer.start();
        peer.accept_config(&first);
        peer.answer_dial_config(0, second);
        assert_eq!(peer.last_batch(), close);
        assert_eq!(peer.done().last().unwrap(), "close link 2");
        peer.accept_config(&first);
        assert_eq!(last_close(&peer), Some(CloseReason::MAX_LINKS), "the first one stands");
    }
}

/// The neighbour may have closed, and what it said last be unread on the other link.
#[test]
fn a_transport_that_loses_a_link_reads_the_other_to_its_end() {
    let mut peer = Bench::with(Peer, |config| config.dial.push(target(&["b:1"])));
    peer.start();
    let dialed = peer.answer_dial(0, "b1", Peer);
    let accepted = peer.accept("b1", Peer);
    peer.done();
    peer.down(dialed);
    assert_eq!(peer.done(), [format!("finish 1 {:?}", CloseReason::GENERIC)]);
    assert_eq!(peer.neighbours(), ["b1"]);
    peer.accept("b1", Peer);
    assert_eq!(last_close(&peer), Some(CloseReason::MAX_LINKS), "not before the end of the old");
    peer.done();
    peer.down(accepted);
    let done = peer.done();
    assert_eq!(done[0], "close transport 1 None");
    assert!(peer.neighbours().is_empty());
    assert_eq!(peer.node.footprint().links, 0);
    peer.accept("b1", Peer);
    assert_eq!(peer.neighbours(), ["b1"]);
}

/// The other link is silent: nobody finishes for longer than a lease.
#[test]
fn a_transport_that_finishes_says_nothing_and_ends_with_its_lease() {
    let mut peer = Bench::with(Peer, |config| config.dial.push(target(&["b:1"])));
    peer.start();
    let dialed = peer.answer_dial(0, "b1", Peer);
    let accepted = peer.accept("b1", Peer);
    peer.down(dialed);
    peer.done();
    peer.advance(9_000_000);
    assert_eq!(peer.neighbours(), ["b1"]);
    assert!(!peer.done().iter().any(|it| it.starts_with("keep alive")));
    peer.advance(1_000_001);
    assert!(peer.neighbours().is_empty());
    assert!(peer.done().contains(&format!("close link {}", accepted.0)));
}

#[test]
fn handshakes_that_do_not_end_are_ended() {
    let mut router = Bench::new(Router);
    let silent = router.link(LinkOrigin::Accepted);
    router.advance(9_999_999);
    assert_eq!(router.done(), [""; 0]);
    router.advance(1);
    assert_eq!(router.done(), [format!("close link {}", silent.0)]);
    assert_eq!(router.node.footprint(), crate::NodeFootprint::default());

    let mut client = Bench::with(Client, |config| config.dial.push(target(&["r:1"])));
    client.start();
    client.link(LinkOrigin::Dialed(DialId(0)));
    client.done();
    client.advance(10_000_000);
    assert_eq!(client.done(), ["close link 1"]);
}

#[test]
fn one_of_too_many_handshakes_gives_way() {
    let mut router = Bench::with(Router, |config| config.accept_pending_max = 3);
    for _ in 0..3 {
        router.link(LinkOrigin::Accepted);
    }
    router.accept("c1", Client);
    assert!(router.done()[0].starts_with("close link "));
    assert_eq!(router.neighbours(), ["c1"]);
    router.link(LinkOrigin::Accepted);
    assert_eq!(router.done(), [""; 0], "the open one is not counted");
    for _ in 0..10_000 {
        router.link(LinkOrigin::Accepted);
    }
    let footprint = router.node.footprint();
    assert_eq!((footprint.pending, footprint.links, footprint.timers), (3, 4, 4));
}

/// However long it takes to say its first word.
#[test]
fn a_flood_of_one_host_keeps_nobody_else_out() {
    let mut router = Bench::with(Router, |config| config.accept_pending_max = 100);
    let honest = router.link_of(LinkOrigin::Accepted, "tcp/10.0.0.2:4000");
    for _ in 0..10_000 {
        router.link(LinkOrigin::Accepted);
    }
    let closed = router.done();
    assert_eq!(closed.len(), 10_001 - 100);
    assert!(!closed.contains(&format!("close link {}", honest.0)));
}

/// It has the chance that 100 places for 150 newcomers give, about 22 %: from the flood's own host, and
/// from one of as many hosts as there are links.
#[test]
fn a_flood_that_hides_no_host_keeps_nobody_out_for_certain() {
    let gets_in = |seed: u64, hosts: usize| {
        let mut router = Bench::with(Router, |config| config.hash_seed = seed);
        let knock = |router: &mut Bench, number: usize| {
            let address = format!("tcp/10.0.0.{}:{number}", number % hosts);
            router.link_of(LinkOrigin::Accepted, &address)
        };
        for number in 0..100 {
            knock(&mut router, number);
        }
        let honest = knock(&mut router, 100);
        for number in 101..251 {
            knock(&mut router, number);
        }
        !router.done().contains(&format!("close link {}", honest.0))
    };
    for hosts in [1, 1000] {
        let count = (0..200).filter(|seed| gets_in(*seed, hosts)).count();
        assert!((20..80).contains(&count), "{count} of 200");
    }
}

#[test]
fn garbage_and_forged_cookies_end_the_link() {
    let mut router = Bench::new(Router);
    let link = router.link(LinkOrigin::Accepted);
    router.batch(link, &[0xff, 0xff]);
    assert_eq!(router.done().last().unwrap(), "close link 1");
    // A cookie that another link got.
    let config = HandshakeConfig::new(zid("c1"), Client);
    let first = router.link(LinkOrigin::Accepted);
    let mut batch = Vec::new();
    let mut initiator = Initiator::new(&config, PARAMS, None, &mut batch);
    router.batch(first, &batch);
    let mut open = Vec::new();
    let _ = initiator.handle_batch(&router.last_batch(), &mut open);
    let second = router.link(LinkOrigin::Accepted);
    router.batch(second, &open);
    assert_eq!(last_close(&router), Some(CloseReason::INVALID));
    router.batch(first, &open);
    assert_eq!(router.neighbours(), ["c1"], "where it belongs it is good");
}

#[test]
fn batches_for_links_that_are_gone_are_ignored() {
    let mut router = Bench::new(Router);
    let link = router.link(LinkOrigin::Accepted);
    router.down(link);
    router.batch(link, &[1, 2, 3]);
    router.down(link);
    assert_eq!(router.done(), [""; 0]);
}

/// What the transport is made of.
#[test]
fn negotiation_is_passed_on() {
    let config = HandshakeConfig { qos: false, ..HandshakeConfig::new(zid("c1"), Client) };
    let mut router = Bench::new(Router);
    router.accept_config(&config);
    let neighbour = router.node.neighbours().next().unwrap();
    assert!(!neighbour.qos);
    assert_eq!((neighbour.whatami, neighbour.face), (Client, FaceId(1)));
}
