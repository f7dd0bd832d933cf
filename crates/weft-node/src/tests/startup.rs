//! When a node counts as open.

use super::*;
use WhatAmI::{Client, Peer, Router};
use weft_wire::Declaration;

fn is_started(bench: &mut Bench) -> bool {
    bench.events().contains(&NodeEvent::Started)
}

fn required(addresses: &[&str]) -> DialTarget {
    DialTarget { required: true, ..target(addresses) }
}

fn failure(bench: &mut Bench) -> Option<String> {
    bench.events().into_iter().find_map(|event| match event {
        NodeEvent::StartFailed { reason } => Some(reason),
        _ => None,
    })
}

#[test]
fn a_router_is_open_at_once() {
    let mut router = Bench::with(Router, |config| config.dial.push(target(&["p:1"])));
    router.start();
    assert!(is_started(&mut router));
    router.start();
    assert!(!is_started(&mut router), "started once");
}

#[test]
fn a_peer_waits_for_what_its_neighbours_have_to_tell() {
    let mut peer = Bench::with(Peer, |config| config.dial.push(target(&["b:1"])));
    peer.start();
    peer.answer_dial(0, "b1", Peer);
    assert!(!is_started(&mut peer));
    let declare = weft_wire::Declare::answer(0, Declaration::Final);
    let message = NetworkMessage::Declare(declare);
    peer.node.handle_message(peer.now_us, FaceId(1), &message, &mut peer.world);
    assert!(is_started(&mut peer));
}

/// Without `declares`, a peer waits for gossip only, and where there is none, for the connection.
#[test]
fn a_peer_that_need_not_know_what_is_declared_opens_earlier() {
    let open = |gossip| {
        let mut peer = Bench::with(Peer, |config| {
            config.dial.push(target(&["b:1"]));
            config.wait_for_declares = false;
            config.gossip.enabled = gossip;
        });
        peer.start();
        assert!(!is_started(&mut peer), "the connection is waited for in any case");
        peer.answer_dial(0, "b1", Peer);
        peer
    };
    assert!(is_started(&mut open(false)));
    let mut peer = open(true);
    assert!(!is_started(&mut peer));
    let told = NetworkMessage::Oam(weft_wire::Oam::link_states(&[0]));
    peer.node.handle_message(peer.now_us, FaceId(1), &told, &mut peer.world);
    assert!(is_started(&mut peer));
}

#[test]
fn a_peer_does_not_wait_for_ever() {
    let mut peer = Bench::with(Peer, |config| config.dial.push(target(&["b:1"])));
    peer.start();
    peer.answer_dial(0, "b1", Peer);
    peer.advance(499_999);
    assert!(!is_started(&mut peer));
    peer.advance(1);
    assert!(is_started(&mut peer));
    let mut alone = Bench::new(Peer);
    alone.start();
    assert!(is_started(&mut alone), "nobody to wait for");
}

/// A neighbour that is waited for and leaves keeps nobody waiting.
#[test]
fn a_neighbour_that_leaves_is_not_waited_for() {
    let mut peer = Bench::with(Peer, |config| {
        config.dial = Vec::from([target(&["b:1"]), target(&["c:1"])]);
    });
    peer.start();
    let link = peer.answer_dial(0, "b1", Peer);
    peer.dial_fails(1);
    assert!(!is_started(&mut peer));
    peer.down(link);
    assert!(is_started(&mut peer));
}

#[test]
fn a_peer_that_must_connect_fails_when_it_cannot() {
    let mut peer = Bench::with(Peer, |config| {
        config.dial = Vec::from([target(&["z:1"]), required(&["b:1"])]);
        config.connect_timeout_us = Some(3_000_000);
    });
    peer.start();
    peer.answer_dial(0, "c1", Peer);
    peer.dial_fails(1);
    peer.advance(2_999_999);
    assert_eq!(failure(&mut peer), None);
    peer.advance(1);
    assert_eq!(failure(&mut peer).as_deref(), Some("unable to connect: nobody"));
}

/// What is required of its own decides: neither others that fail nor others that are connected do.
#[test]
fn each_required_neighbour_counts() {
    let open = |timeout_us| {
        let mut peer = Bench::with(Peer, |config| {
            config.dial = Vec::from([required(&["b:1"]), target(&["c:1"]), required(&["d:1"])]);
            config.connect_timeout_us = timeout_us;
            config.scouting.enabled = true;
        });
        peer.start();
        peer.dial_fails(1);
        peer.answer_dial(0, "b1", Peer);
        assert!(!is_started(&mut peer));
        peer
    };
    let mut once = open(Some(0));
    once.dial_fails(2);
    assert_eq!(failure(&mut once).as_deref(), Some("unable to connect: nobody"));
    let mut forever = open(None);
    forever.dial_fails(2);
    forever.advance(5_000_000);
    let warned = forever.events();
    assert!(matches!(&warned[..], [NodeEvent::Warning { .. }]), "{warned:?}");
    forever.answer_dial(2, "d1", Peer);
    assert!(is_started(&mut forever));
}

#[test]
fn a_client_tries_once_unless_told_otherwise() {
    let mut once = Bench::with(Client, |config| config.dial.push(target(&["r:1"])));
    once.start();
    once.dial_fails(0);
    assert_eq!(failure(&mut once).as_deref(), Some("unable to connect: nobody"));
    let mut forever = Bench::with(Client, |config| {
        config.dial.push(target(&["r:1"]));
        config.connect_timeout_us = None;
    });
    forever.start();
    forever.dial_fails(0);
    let warned = forever.events();
    assert!(matches!(&warned[..], [NodeEvent::Warning { .. }]), "{warned:?}");
    for _ in 0..100 {
        forever.advance(5_000_000);
        forever.dial_fails(0);
    }
    assert!(forever.events().is_empty());
    forever.advance(5_000_000);
    forever.answer_dial(0, "b1", Router);
    assert!(is_started(&mut forever));
}

#[test]
fn a_client_that_may_stay_alone_opens_alone() {
    let mut client = Bench::with(Client, |config| {
        config.dial.push(target(&["r:1"]));
        config.connect_required = false;
    });
    client.start();
    client.dial_fails(0);
    assert!(is_started(&mut client));
}

#[test]
fn closing_ends_everything() {
    let mut client = Bench::with(Client, |config| config.dial.push(target(&["r:1"])));
    client.start();
    client.answer_dial(0, "b1", Router);
    let pending = client.link(LinkOrigin::Accepted);
    client.events();
    let now_us = client.now_us;
    client.node.query_tokens(now_us, 9, &key("t"), 5_000_000, &mut client.world);
    client.done();
    client.node.close(&mut client.world);
    let done = client.done();
    let told = format!("close transport 1 {:?}", Some(CloseReason::GENERIC));
    assert!(done.contains(&told) && done.contains(&format!("close link {}", pending.0)));
    assert_eq!(client.events(), [NodeEvent::TokenQueryFinal { query: 9 }]);
    assert_eq!(client.node.footprint(), crate::NodeFootprint::default());
    assert_eq!(client.node.next_timeout(), None);
}
