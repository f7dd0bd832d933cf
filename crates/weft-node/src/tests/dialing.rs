//! Connecting, and staying connected.

use super::*;
use WhatAmI::{Client, Peer, Router};
use weft_wire::{Encode, Hello, ScoutingMessage};

fn peer(addresses: &[&str]) -> Bench {
    let mut bench = Bench::with(Peer, |config| config.dial.push(target(addresses)));
    bench.start();
    bench
}

/// How long after now the next dial comes, and whom it calls.
fn next_dial(bench: &mut Bench) -> (u64, String) {
    bench.done();
    let start_us = bench.now_us;
    for _ in 0..1_000 {
        let (at_us, _) = bench.node.next_timeout().expect("something is planned");
        bench.now_us = bench.now_us.max(at_us);
        bench.node.handle_timeout(bench.now_us, &mut bench.world);
        if let Some(dial) = bench.done().into_iter().find(|it| it.starts_with("dial")) {
            return (bench.now_us - start_us, dial);
        }
    }
    panic!("nobody is dialed");
}

#[test]
fn a_configured_neighbour_is_dialed_with_growing_pauses_for_ever() {
    let mut bench = peer(&["b:1"]);
    let mut pauses = Vec::new();
    for _ in 0..6 {
        bench.dial_fails(0);
        pauses.push(next_dial(&mut bench).0);
    }
    assert_eq!(pauses, [1_000_000, 2_000_000, 4_000_000, 4_000_000, 4_000_000, 4_000_000]);
    let warnings = bench.events().into_iter().filter(|it| matches!(it, NodeEvent::Warning { .. }));
    assert_eq!(warnings.count(), 1, "said once");
}

#[test]
fn a_transport_that_lasted_is_dialed_again_at_once_and_one_that_did_not_later() {
    let mut bench = peer(&["b:1"]);
    let link = bench.answer_dial(0, "b1", Peer);
    bench.advance(2_000_000);
    bench.hears(link);
    bench.down(link);
    assert_eq!(next_dial(&mut bench).0, 0);
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let link = bench.answer_dial(0, "b1", Peer);
        bench.advance(1_000);
        bench.down(link);
        pauses.push(next_dial(&mut bench).0);
    }
    assert_eq!(pauses, [1_000_000, 2_000_000, 4_000_000, 4_000_000]);
}

#[test]
fn an_endpoint_that_answers_and_fails_does_not_win_every_race() {
    let mut bench = peer(&["bad:1", "good:1", "gone:1"]);
    assert_eq!(bench.done(), ["dial 0 bad:1 good:1 gone:1"]);
    let dial = |bench: &mut Bench| {
        let link = bench.link(LinkOrigin::Dialed(DialId(0)));
        bench.down(link);
        bench.done().pop().unwrap()
    };
    assert_eq!(dial(&mut bench), "dial 0 bad:1", "at once, each in its turn");
    assert_eq!(dial(&mut bench), "dial 0 good:1");
    bench.dial_fails(0);
    assert_eq!(bench.done(), ["dial 0 gone:1"]);
    bench.dial_fails(0);
    assert_eq!(next_dial(&mut bench).1, "dial 0 bad:1 good:1 gone:1", "and all over again");
    bench.dial_fails(0);
    assert_eq!(next_dial(&mut bench).1, "dial 0 bad:1 good:1 gone:1", "nobody answered");
}

#[test]
fn a_neighbour_that_does_not_answer_does_not_keep_a_client_from_one_that_does() {
    let mut client = Bench::with(Client, |config| config.dial.push(target(&["mute:1", "good:1"])));
    client.start();
    let mute = client.link(LinkOrigin::Dialed(DialId(0)));
    assert!(client.node.wants_another_link(DialId(0)));
    client.done();
    client.answer_dial(0, "b1", Router);
    assert_eq!(client.neighbours(), ["b1"]);
    assert!(client.done().contains(&format!("close link {}", mute.0)));
    assert!(!client.node.wants_another_link(DialId(0)));
    // A third one comes too late.
    let late = client.link(LinkOrigin::Dialed(DialId(0)));
    assert_eq!(client.done(), [format!("close link {}", late.0)]);
}

#[test]
fn a_neighbour_that_hangs_up_does_not_keep_a_client_from_one_that_answers() {
    for (first, then) in [("one link", 1), ("two links", 2)] {
        let mut client =
            Bench::with(Client, |config| config.dial.push(target(&["bad:1", "good:1"])));
        client.start();
        let links: Vec<LinkId> =
            (0..then).map(|_| client.link(LinkOrigin::Dialed(DialId(0)))).collect();
        for link in links {
            client.down(link);
        }
        client.dial_fails(0);
        client.answer_dial(0, "b1", Router);
        assert!(client.events().contains(&NodeEvent::Started), "{first}");
    }
}

#[test]
fn one_unreachable_neighbour_does_not_hurry_when_another_is_lost() {
    let mut bench = Bench::with(Peer, |config| {
        config.dial = Vec::from([target(&["dead:1"]), target(&["b:1"])]);
    });
    bench.start();
    bench.dial_fails(0);
    let link = bench.answer_dial(1, "b1", Peer);
    bench.advance(900_000);
    bench.done();
    bench.down(link);
    bench.advance(50_000);
    assert_eq!(bench.done(), ["close transport 1 None"], "both wait for their time");
    bench.advance(50_000);
    assert_eq!(bench.done(), ["dial 0 dead:1"]);
}

#[test]
fn a_neighbour_that_is_connected_already_is_not_dialed_until_it_is_gone() {
    let mut bench = peer(&["b:1"]);
    let accepted = bench.accept("b1", Peer);
    let link = bench.link(LinkOrigin::Dialed(DialId(0)));
    let mut refusal = Vec::new();
    weft_transport::write_close(CloseReason::MAX_LINKS, &mut refusal);
    // The neighbour introduces itself, then refuses.
    let config = HandshakeConfig::new(zid("b1"), Peer);
    let responder = Responder::new(config, CookieKey::new([9; 16]));
    let mut ack = Vec::new();
    let arrival = HandshakeArrival { link: PARAMS, now_us: bench.now_us, peer_tag: &[1] };
    let _ = responder.handle_batch(&bench.last_batch(), &arrival, &mut ack);
    bench.batch(link, &ack);
    bench.batch(link, &refusal);
    bench.done();
    bench.advance(2_000_000);
    assert!(!bench.done().iter().any(|it| it.starts_with("dial")));
    bench.down(accepted);
    assert_eq!(next_dial(&mut bench).0, 0);
}

#[test]
fn dialing_oneself_is_found_out_and_left_alone() {
    let mut bench = peer(&["me:1"]);
    let link = bench.link(LinkOrigin::Dialed(DialId(0)));
    let config = HandshakeConfig::new(zid("a1"), Peer);
    let responder = Responder::new(config, CookieKey::new([9; 16]));
    let mut ack = Vec::new();
    let arrival = HandshakeArrival { link: PARAMS, now_us: bench.now_us, peer_tag: &[1] };
    let _ = responder.handle_batch(&bench.last_batch(), &arrival, &mut ack);
    if ack.is_empty() {
        weft_transport::write_close(CloseReason::CONNECTION_TO_SELF, &mut ack);
    }
    bench.batch(link, &ack);
    bench.done();
    bench.advance(60_000_000);
    assert!(!bench.done().iter().any(|it| it.starts_with("dial")));
}

fn hello(of: &str, address: &str) -> Vec<u8> {
    let hello = Hello {
        version: weft_wire::VERSION,
        whatami: Peer,
        zid: zid(of),
        locators: Vec::from([format!("tcp/{address}").parse().unwrap()]),
    };
    let mut bytes = Vec::new();
    ScoutingMessage::Hello(hello).encode(&mut bytes).unwrap();
    bytes
}

fn scouting_peer(change: impl FnOnce(&mut NodeConfig)) -> Bench {
    let mut bench = Bench::with(Peer, |config| {
        config.scouting.enabled = true;
        change(config);
    });
    bench.start();
    bench.done();
    bench
}

impl Bench {
    fn finds(&mut self, of: &str, address: &str) {
        let from: SocketAddr = "10.0.0.9:4000".parse().unwrap();
        let now_us = self.now_us;
        self.node.handle_scouting(now_us, &hello(of, address), from, &mut self.world);
    }
}

#[test]
fn a_found_neighbour_is_tried_a_few_times_and_again_when_it_is_found_again() {
    let mut bench = scouting_peer(|_| {});
    bench.finds("b1", "b:1");
    bench.finds("b1", "b:1");
    assert_eq!(bench.done(), ["dial 0 b:1"], "one attempt at a time");
    let mut tries = 0;
    while bench.node.footprint().dials > 0 {
        bench.dial_fails(0);
        bench.advance(5_000_000);
        tries += 1;
    }
    assert_eq!(tries, 6);
    bench.done();
    bench.finds("b1", "b:2");
    assert_eq!(bench.done(), ["dial 1 b:2"]);
    bench.dial_fails(1);
    bench.finds("b1", "b:3");
    assert_eq!(bench.done(), ["dial 1 b:3"], "its turn comes at once, at its new address");
}

#[test]
fn a_found_neighbour_that_broke_off_is_dialed_again_and_one_that_left_is_not() {
    let mut bench = scouting_peer(|_| {});
    bench.finds("b1", "b:1");
    let link = bench.answer_dial(0, "b1", Peer);
    bench.advance(1_500_000);
    bench.down(link);
    assert_eq!(next_dial(&mut bench).0, 0);
    let link = bench.answer_dial(0, "b1", Peer);
    bench.node.neighbour_closed(bench.now_us, link, &mut bench.world);
    assert_eq!(bench.node.footprint().dials, 0);
}

#[test]
fn lies_about_neighbours_are_bounded() {
    let mut bench = scouting_peer(|config| config.sessions_max = 10);
    for i in 1..1_000 {
        bench.finds(&format!("{i:x}"), &format!("host{i}:1"));
    }
    assert_eq!(bench.node.footprint().dials, 10);
}

#[test]
fn someone_else_at_a_found_address_is_not_taken_for_the_one_who_was_found() {
    let mut bench = scouting_peer(|_| {});
    bench.finds("b1", "b:1");
    let link = bench.link(LinkOrigin::Dialed(DialId(0)));
    let config = HandshakeConfig::new(zid("b2"), Peer);
    let responder = Responder::new(config, CookieKey::new([9; 16]));
    let mut ack = Vec::new();
    let arrival = HandshakeArrival { link: PARAMS, now_us: bench.now_us, peer_tag: &[1] };
    let _ = responder.handle_batch(&bench.last_batch(), &arrival, &mut ack);
    bench.batch(link, &ack);
    assert!(bench.neighbours().is_empty());
    assert_eq!(last_close(&bench), Some(CloseReason::INVALID));
}

#[test]
fn a_client_dials_its_other_neighbours_only_when_it_has_none() {
    let mut bench = Bench::with(Client, |config| {
        config.dial = Vec::from([target(&["r1:1"]), target(&["r2:1"])]);
    });
    bench.start();
    let link = bench.answer_dial(0, "b1", Router);
    bench.done();
    bench.answer_dial(1, "b2", Router);
    assert!(last_close(&bench).is_some(), "one upstream is enough");
    bench.advance(1_000_000);
    bench.done();
    assert!(!bench.done().iter().any(|it| it.starts_with("dial")));
    bench.down(link);
    bench.advance(1);
    let dials: Vec<String> = bench.done().into_iter().filter(|it| it.starts_with("dial")).collect();
    assert_eq!(dials, ["dial 0 r1:1", "dial 1 r2:1"]);
}
