//! Exchanges captured between two nodes of the reference, replayed with one side ours: what we send
//! must be what that side sent, byte for byte.
//!
//! Captures: `vectors/routing.json`, `vectors/network.json`.

use super::*;
use serde_json::Value;
use weft_wire::{LinkStateList, Oam, OamBody, TransportMessage};

pub(super) struct Capture(Vec<Value>);

impl Capture {
    pub(super) fn routing() -> Self {
        Self::parse(include_str!("../../../../vectors/routing.json"))
    }

    fn network() -> Self {
        Self::parse(include_str!("../../../../vectors/network.json"))
    }

    fn parse(text: &str) -> Self {
        let Value::Array(entries) = serde_json::from_str(text).unwrap() else { panic!() };
        Self(entries)
    }

    /// The network messages of an entry, without the FRAME header that routing has no part in.
    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        let entry = self.0.iter().find(|entry| entry["name"] == name);
        let hex = entry.unwrap_or_else(|| panic!("no vector {name}"))["hex"].as_str().unwrap();
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let mut reader = Reader::new(&bytes);
        match TransportMessage::decode(&mut reader) {
            Ok(TransportMessage::Frame(_)) => bytes[reader.pos()..].to_vec(),
            _ => bytes,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

macro_rules! assert_sends {
    ($bench:expr, $face:expr, $capture:expr, [$($name:expr),*]) => {
        let expected: Vec<u8> = [$($capture.bytes($name)),*].concat();
        assert_eq!(hex(&$bench.sent_to($face)), hex(&expected), "{:?}", [$($name),*]);
    };
}

#[test]
fn a_client_sends_what_the_reference_sends() {
    let capture = Capture::routing();
    let mut client = Bench::new(WhatAmI::Client);
    let router = client.arrival(WhatAmI::Router).unwrap();
    assert_eq!(client.sent(), [""; 0], "nothing is due when a client connects");

    client.declare(Kind::Subscriber, 100, "demo/**");
    assert_sends!(client, router, capture, ["client-router-00"]);
    client.routing.name_key(&key("demo/a"), &mut client.out);
    client.wants(101, Kind::Subscriber, "demo/a", LocalInterestMode::CurrentFuture);
    assert_sends!(client, router, capture, ["client-router-01"]);
    client.receive_bytes(router, &capture.bytes("client-router-02"));

    let complete = QueryableInfo { complete: true, distance: 0 };
    client.routing.declare(Kind::Queryable, 102, &key("q/x"), complete, &mut client.out);
    assert_sends!(client, router, capture, ["client-router-03"]);
    client.wants(103, Kind::Queryable, "q/**", LocalInterestMode::CurrentFuture);
    assert_sends!(client, router, capture, ["client-router-04"]);
    client.receive_bytes(router, &capture.bytes("client-router-05"));

    client.declare(Kind::Token, 104, "tok/1");
    assert_sends!(client, router, capture, ["client-router-06"]);
    client.events();
    client.wants(105, Kind::Token, "tok/**", LocalInterestMode::CurrentFuture);
    assert_sends!(client, router, capture, ["client-router-07"]);
    client.receive_bytes(router, &capture.bytes("client-router-08"));
    client.receive_bytes(router, &capture.bytes("client-router-09"));
    assert_eq!(client.token_events(), words_of(&[(105, "+tok/1"), (105, "final")]));

    client.wants(106, Kind::Token, "tok/*", LocalInterestMode::Current);
    assert_sends!(client, router, capture, ["client-router-10"]);
    client.receive_bytes(router, &capture.bytes("client-router-11"));
    client.receive_bytes(router, &capture.bytes("client-router-12"));
    assert_eq!(client.token_events(), words_of(&[(106, "?tok/1"), (106, "final")]));

    client.wants_no_more(101);
    assert_sends!(client, router, capture, ["client-router-15"]);
    client.undeclare(Kind::Subscriber, 100);
    assert_sends!(client, router, capture, ["client-router-16"]);
    client.undeclare(Kind::Token, 104);
    assert_sends!(client, router, capture, ["client-router-17"]);
    client.receive_bytes(router, &capture.bytes("client-router-18"));
    assert_eq!(client.token_events(), words_of(&[(105, "-tok/1")]));
    client.wants_no_more(105);
    assert_sends!(client, router, capture, ["client-router-19"]);
}

#[test]
fn a_router_answers_a_client_as_the_reference_answers() {
    let capture = Capture::routing();
    let mut router = Bench::new(WhatAmI::Router);
    let client = router.arrival(WhatAmI::Client).unwrap();
    for (received, sent) in [
        (0, &[][..]),
        (1, &["client-router-02"]),
        (3, &[]),
        (4, &["client-router-05"]),
        (6, &[]),
        (7, &["client-router-08", "client-router-09"]),
        (10, &["client-router-11", "client-router-12"]),
        (15, &[]),
        (16, &[]),
        (17, &["client-router-18"]),
        (19, &[]),
    ] {
        router.receive_bytes(client, &capture.bytes(&format!("client-router-{received:02}")));
        let expected: Vec<u8> = sent.iter().flat_map(|name| capture.bytes(name)).collect();
        assert_eq!(hex(&router.sent_to(client)), hex(&expected), "after {received}");
    }
}

#[test]
fn a_router_serves_a_publisher_as_the_reference_serves_it() {
    let capture = Capture::network();
    let mut router = Bench::new(WhatAmI::Router);
    let (a, c) = (router.neighbour(WhatAmI::Client), router.neighbour(WhatAmI::Client));
    let name = |rest: &str| format!("client-router/{rest}");
    let feed = |router: &mut Bench, face, rest: &str| {
        router.receive_bytes(face, &capture.bytes(&name(rest)));
    };
    feed(&mut router, c, "c-declare-subscriber-demo-s/declare-d_keyexpr");
    feed(&mut router, c, "c-declare-subscriber-demo-s/declare-d_subscriber");
    assert_eq!(router.sent(), [""; 0]);
    feed(&mut router, a, "a-declare-publisher-demo-s-p/declare-d_keyexpr");
    feed(&mut router, a, "a-declare-publisher-demo-s-p/interest");
    assert_sends!(
        router,
        a,
        capture,
        [
            "client-router/a-declare-publisher-demo-s-p/declare-d_subscriber",
            "client-router/a-declare-publisher-demo-s-p/declare-d_final"
        ]
    );
    feed(&mut router, a, "a-pub-undeclare/interest");
    feed(&mut router, a, "a-declare-publisher-demo-nomatch/declare-d_keyexpr");
    feed(&mut router, a, "a-declare-publisher-demo-nomatch/interest");
    assert_sends!(
        router,
        a,
        capture,
        ["client-router/a-declare-publisher-demo-nomatch/declare-d_final"]
    );
    feed(&mut router, c, "c-declare-subscriber-demo-nomatch/declare-d_keyexpr");
    feed(&mut router, c, "c-declare-subscriber-demo-nomatch/declare-d_subscriber");
    assert_sends!(
        router,
        a,
        capture,
        ["client-router/c-declare-subscriber-demo-nomatch/declare-d_subscriber-2"]
    );
}

/// Aggregate interests and the token that a node never heard of, as a hand-made client saw them.
#[test]
fn a_router_answers_raw_interests_as_the_reference_answers() {
    let capture = Capture::network();
    let mut router = Bench::new(WhatAmI::Router);
    let (a, c) = (router.neighbour(WhatAmI::Client), router.neighbour(WhatAmI::Client));
    router.declares(c, Kind::Subscriber, 1, "ag/a");
    router.declares(c, Kind::Subscriber, 2, "ag/b");
    // The reference had used two ids of its one counter towards this client before.
    for id in [90, 91] {
        router.asks(a, id, InterestMode::CurrentFuture, Kind::Token, "other/*");
        router.declares(c, Kind::Token, id, &format!("other/{id}"));
        router.asks(a, id, InterestMode::Final, Kind::Token, "");
    }
    router.sent();
    router.receive_bytes(a, &capture.bytes("raw/interest-aggregate-subscribers"));
    let finished =
        [&capture.bytes("raw/declare-aggregated-subscriber")[..], &[0xbe, 1, 0x21, 8, 0x1a]];
    assert_eq!(hex(&router.sent_to(a)), hex(&finished.concat()));
    router.asks(a, 1, InterestMode::Final, Kind::Subscriber, "");

    router.declares(c, Kind::Token, 3, "lt/old");
    router.receive_bytes(a, &capture.bytes("raw/interest-future-tokens"));
    assert_eq!(router.sent(), [format!("{} answer 1: final", a.0)]);
    router.undeclares(c, Kind::Token, 3);
    assert_sends!(router, a, capture, ["raw/undeclare-token-unknown-id-with-expression"]);
}

fn peer(own: &str, locator: &str) -> Bench {
    Bench::with(WhatAmI::Peer, |config| {
        config.zid = zid(own);
        config.gossip.enabled = true;
        config.gossip.locators = Vec::from([locator.parse().unwrap()]);
    })
}

fn up(bench: &mut Bench, remote: &str, whatami: WhatAmI) -> FaceId {
    let face = bench.routing.next_face();
    let init = FaceInit::new(zid(remote), whatami);
    bench.routing.face_up(0, face, init, &mut bench.out).unwrap();
    face
}

#[test]
fn a_peer_greets_a_peer_as_the_reference_greets() {
    let capture = Capture::routing();
    let mut ours = peer("a3", "tcp/127.0.0.1:17503");
    ours.declare(Kind::Subscriber, 1, "pp/**");
    let b4 = up(&mut ours, "b4", WhatAmI::Peer);
    assert_sends!(ours, b4, capture, ["peer-peer-00", "peer-peer-01", "peer-peer-02"]);
    assert!(!ours.routing.is_ready(b4));
    ours.receive_bytes(b4, &capture.bytes("peer-peer-03"));
    assert!(ours.routing.is_ready(b4));

    let mut theirs = peer("b4", "tcp/127.0.0.1:17504");
    let a3 = up(&mut theirs, "a3", WhatAmI::Peer);
    assert_sends!(theirs, a3, capture, ["peer-peer-03"]);
    theirs.receive_bytes(a3, &capture.bytes("peer-peer-00"));
    theirs.receive_bytes(a3, &capture.bytes("peer-peer-01"));
    theirs.receive_bytes(a3, &capture.bytes("peer-peer-02"));
    theirs.declare(Kind::Subscriber, 1, "pb/x");
    assert_sends!(theirs, a3, capture, ["peer-peer-04"]);
    let route = theirs.routing.data_route(FaceId::LOCAL, 0, &key("pp/1"));
    let expr = route.hops[0].expr.as_wire();
    assert_eq!((expr.scope, expr.suffix), (1, "/1"), "as peer-peer-05 addresses it");
}

#[test]
fn a_peer_and_a_router_meet_as_in_the_reference() {
    let capture = Capture::routing();
    let mut router = Bench::with(WhatAmI::Router, |config| {
        config.zid = zid("a5");
        config.gossip.enabled = true;
    });
    let b6 = up(&mut router, "b6", WhatAmI::Peer);
    assert_sends!(router, b6, capture, ["peer-router-00"]);

    let mut ours = peer("b6", "tcp/127.0.0.1:17506");
    let a5 = up(&mut ours, "a5", WhatAmI::Router);
    assert_sends!(ours, a5, capture, ["peer-router-01"]);
    assert!(!ours.routing.is_ready(a5));
    ours.receive_bytes(a5, &capture.bytes("peer-router-00"));
    assert!(ours.routing.is_ready(a5), "its first gossip is all that a router tells unasked");

    ours.declare(Kind::Subscriber, 1, "pb/x");
    assert_sends!(ours, a5, capture, ["peer-router-02"]);
    ours.routing.name_key(&key("rp/1"), &mut ours.out);
    ours.wants(2, Kind::Subscriber, "rp/1", LocalInterestMode::CurrentFuture);
    assert_sends!(ours, a5, capture, ["peer-router-03"]);

    router.declare(Kind::Subscriber, 1, "rp/**");
    for name in ["peer-router-01", "peer-router-02", "peer-router-03"] {
        router.receive_bytes(b6, &capture.bytes(name));
    }
    assert_sends!(router, b6, capture, ["peer-router-04"]);
    ours.receive_bytes(a5, &capture.bytes("peer-router-04"));
    let route = ours.routing.data_route(FaceId::LOCAL, 0, &key("rp/1"));
    assert_eq!(route.hops[0].expr.as_wire().scope, 2, "as peer-router-05 addresses it");
    ours.wants_no_more(2);
    assert_sends!(ours, a5, capture, ["peer-router-06"]);
}

/// The list in an OAM message.
fn states(bytes: &[u8]) -> LinkStateList {
    let message = NetworkMessage::decode(&mut Reader::new(bytes)).unwrap();
    let NetworkMessage::Oam(Oam { body: OamBody::ZBuf(body), .. }) = message else { panic!() };
    LinkStateList::decode(&mut Reader::new(body)).unwrap()
}

#[test]
fn gossip_about_a_third_node_is_that_of_the_reference() {
    let capture = Capture::routing();
    // A peer b2 joins a router a1 that knows the peer b1, and meets b1 then.
    let mut router = Bench::with(WhatAmI::Router, |config| config.gossip.enabled = true);
    let b1 = up(&mut router, "b1", WhatAmI::Peer);
    let mut told = peer("b1", "tcp/127.0.0.1:19012");
    let a1 = up(&mut told, "a1", WhatAmI::Router);
    let introduction = told.sent_to(a1);
    router.receive_bytes(b1, &introduction);
    router.sent();
    let b2 = up(&mut router, "b2", WhatAmI::Peer);
    assert_sends!(router, b2, capture, ["peer-joins-router-00"]);

    let mut ours = peer("b2", "tcp/127.0.0.1:19013");
    let a1 = up(&mut ours, "a1", WhatAmI::Router);
    assert_sends!(ours, a1, capture, ["peer-joins-router-01"]);
    let b1 = up(&mut ours, "b1", WhatAmI::Peer);
    assert_sends!(ours, a1, capture, ["peer-joins-router-02"]);
    // What b1 says of itself is passed on; the reference's b1 was at its third state.
    let mut told = peer("b1", "tcp/127.0.0.1:19012");
    up(&mut told, "a1", WhatAmI::Router);
    let b2 = up(&mut told, "b2", WhatAmI::Peer);
    let introduction = told.sent_to(b2);
    ours.sent();
    ours.receive_bytes(b1, &introduction);
    assert_sends!(ours, a1, capture, ["peer-joins-router-03"]);

    // Among peers alone, links are nobody's business.
    let mut ours = peer("a1", "tcp/127.0.0.1:19021");
    let b1 = up(&mut ours, "b1", WhatAmI::Peer);
    let mut told = peer("b1", "tcp/127.0.0.1:19022");
    let a1 = up(&mut told, "a1", WhatAmI::Peer);
    let introduction = told.sent_to(a1);
    ours.receive_bytes(b1, &introduction);
    ours.sent();
    let b2 = up(&mut ours, "b2", WhatAmI::Peer);
    assert_sends!(ours, b2, capture, ["peer-joins-clique-01"]);
    let relayed = states(&capture.bytes("peer-joins-clique-02"));
    ours.receive_bytes(b2, &capture.bytes("peer-joins-clique-02"));
    let discovered = ours.events().into_iter().find_map(|event| match event {
        Event::Discovered { zid, locators, .. } => Some((Some(zid), Some(locators))),
        _ => None,
    });
    let [state] = &relayed.0[..] else { panic!() };
    assert_eq!(discovered, Some((state.zid, state.locators.clone())));
}
