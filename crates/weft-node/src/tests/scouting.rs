//! Questions, answers, and when to ask.

use super::*;
use WhatAmI::{Client, Peer, Router};
use weft_wire::{Scout, ScoutingMessage, WhatAmIMatcher};

fn scouting(whatami: WhatAmI) -> Bench {
    let mut bench = Bench::with(whatami, |config| config.scouting.enabled = true);
    bench.start();
    bench
}

fn datagram(message: &ScoutingMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

fn scout(what: WhatAmIMatcher, of: Option<ZenohId>) -> Vec<u8> {
    datagram(&ScoutingMessage::Scout(Scout { version: weft_wire::VERSION, what, zid: of }))
}

impl Bench {
    /// The locators in the answer to a question from this address, if there is one.
    fn answer_to(&mut self, question: &[u8], from: &str) -> Option<Vec<String>> {
        let from: SocketAddr = from.parse().unwrap();
        self.world.scouted.clear();
        self.node.handle_scouting(self.now_us, question, from, &mut self.world);
        let (bytes, to) = self.world.scouted.pop()?;
        assert_eq!(to, ScoutTo::Asker(from));
        let Ok(ScoutingMessage::Hello(hello)) = ScoutingMessage::decode(&mut Reader::new(&bytes))
        else {
            panic!("no HELLO")
        };
        assert_eq!((hello.zid, hello.whatami), (zid("a1"), self.node.config().whatami));
        Some(hello.locators.iter().map(ToString::to_string).collect())
    }
}

#[test]
fn peers_ask_for_ever_with_growing_pauses() {
    let mut peer = scouting(Peer);
    let mut asked = Vec::new();
    for second in 0..40 {
        for (bytes, to) in core::mem::take(&mut peer.world.scouted) {
            assert_eq!(to, ScoutTo::Group);
            assert_eq!(bytes, scout(WhatAmIMatcher::ALL, None));
            asked.push(second);
        }
        peer.advance(1_000_000);
    }
    assert_eq!(asked, [0, 1, 3, 7, 15, 23, 31, 39]);
}

#[test]
fn routers_and_connected_clients_do_not_ask() {
    let mut router = scouting(Router);
    router.advance(20_000_000);
    assert!(router.world.scouted.is_empty());
    let mut client = Bench::with(Client, |config| {
        config.scouting.enabled = true;
        config.dial.push(target(&["r:1"]));
    });
    client.start();
    client.answer_dial(0, "b1", Router);
    client.advance(5_000_000);
    assert!(client.world.scouted.is_empty());
}

#[test]
fn answers_fit_the_asker() {
    let mut peer = scouting(Peer);
    let question = scout(WhatAmIMatcher::from(Peer), None);
    assert_eq!(peer.answer_to(&question, "10.0.0.2:9"), None, "it listens nowhere");
    let (public, loopback) = ("tcp/10.0.0.1:7447", "tcp/127.0.0.1:7447");
    let locators =
        [(public, false), (loopback, true)].map(|(text, local)| (text.parse().unwrap(), local));
    peer.node.set_locators(locators.to_vec());
    assert_eq!(peer.answer_to(&question, "10.0.0.2:9"), Some(Vec::from([public.into()])));
    let both = Vec::from([public.to_string(), loopback.to_string()]);
    assert_eq!(peer.answer_to(&question, "127.0.0.1:9"), Some(both));
    let for_routers = scout(WhatAmIMatcher::from(Router), None);
    assert_eq!(peer.answer_to(&for_routers, "10.0.0.2:9"), None);
    let own = scout(WhatAmIMatcher::ALL, Some(zid("a1")));
    assert_eq!(peer.answer_to(&own, "10.0.0.2:9"), None);
    peer.node.set_locators(Vec::from([(loopback.parse().unwrap(), true)]));
    let alone = Some(Vec::from([loopback.to_string()]));
    assert_eq!(peer.answer_to(&question, "10.0.0.2:9"), alone, "better than none");
    assert_eq!(peer.answer_to(&[0xff, 0, 1], "10.0.0.2:9"), None, "garbage");
}

#[test]
fn an_answer_that_is_too_long_loses_locators_and_not_itself() {
    let mut peer = scouting(Peer);
    let long = "x".repeat(240);
    let locators =
        (0..200).map(|i| (format!("tcp/{long}{i}:7447").parse().unwrap(), false)).collect();
    peer.node.set_locators(locators);
    let question = scout(WhatAmIMatcher::ALL, None);
    let count = peer.answer_to(&question, "10.0.0.2:9").unwrap().len();
    assert!((20..32).contains(&count), "{count}");
}

/// A client that found its router asks around again when it has lost it.
#[test]
fn a_client_looks_for_another_router_when_it_has_lost_the_one_it_found() {
    let mut client = scouting(Client);
    assert_eq!(client.world.scouted.len(), 1);
    let hello = weft_wire::Hello {
        version: weft_wire::VERSION,
        whatami: Router,
        zid: zid("b1"),
        locators: Vec::from(["tcp/r:1".parse().unwrap()]),
    };
    let from: SocketAddr = "10.0.0.2:9".parse().unwrap();
    let bytes = datagram(&ScoutingMessage::Hello(hello));
    client.node.handle_scouting(client.now_us, &bytes, from, &mut client.world);
    let link = client.answer_dial(0, "b1", Router);
    client.advance(10_000);
    client.world.scouted.clear();
    client.down(link);
    assert_eq!(client.world.scouted.len(), 1);
    client.advance(1_000_000);
    assert_eq!(client.world.scouted.len(), 2, "one question at a time");
}
