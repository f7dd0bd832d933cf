//! Round trips to the members of a network, and the weights that come of them.

use super::*;
use crate::LatencyWeighted;
use crate::probe::{ECHO, PERIOD_US, PROBE};
use WhatAmI::Router;
use std::sync::Arc;
use weft_wire::{Oam, OamBody};

impl Bench {
    /// The bodies of OAM messages of one id that were sent since the last call, and to whom.
    fn bodies(&mut self, wanted: u16) -> Vec<(FaceId, [u8; 8])> {
        let mut bodies = Vec::new();
        for (face, bytes) in core::mem::take(&mut self.out.sent) {
            let message = NetworkMessage::decode(&mut Reader::new(&bytes)).unwrap();
            if let NetworkMessage::Oam(Oam { id, body: OamBody::ZBuf(body), .. }) = message
                && id == wanted
            {
                bodies.push((face, body.try_into().unwrap()));
            }
        }
        bodies
    }

    /// Time passes, and what is due is done.
    fn later(&mut self, us: u64) {
        self.now_us += us;
        self.routing.handle_timeout(self.now_us, &mut self.out);
    }

    fn oam(&mut self, face: FaceId, id: u16, body: &[u8]) {
        self.routing.handle_oam(self.now_us, face, (id, body), &mut self.out);
    }

    /// A question is asked and answered after a time.
    fn round_trip(&mut self, us: u64) {
        let asked = self.bodies(PROBE);
        let [(face, number)] = asked[..] else { panic!("{asked:?}") };
        self.now_us += us;
        self.oam(face, ECHO, &number);
    }

    fn announced(&self, face: FaceId) -> Option<u16> {
        self.routing.link_weights(face).unwrap().own
    }
}

fn by_latency() -> Bench {
    Bench::with(Router, |config| config.computation = Arc::new(LatencyWeighted))
}

#[test]
fn the_shortest_of_the_last_round_trips_is_the_weight() {
    let mut bench = by_latency();
    let b = bench.member("b2", Router, true);
    assert_eq!(bench.announced(b), Some(100));
    bench.later(0);
    bench.round_trip(20_000);
    assert_eq!(bench.announced(b), Some(200));
    bench.later(PERIOD_US);
    bench.round_trip(4_000);
    assert_eq!(bench.announced(b), Some(40));
    // It was shorter just now, and then it was not.
    for expected in [40, 40, 40, 900] {
        bench.later(PERIOD_US);
        bench.round_trip(90_000);
        assert_eq!(bench.announced(b), Some(expected));
    }
}

#[test]
fn nobody_is_asked_who_would_not_answer_and_nobody_twice() {
    let mut bench = by_latency();
    let [b, _] = [("b2", true), ("c3", false)].map(|(id, mesh)| bench.member(id, Router, mesh));
    bench.later(0);
    let asked = bench.bodies(PROBE);
    let [(face, number)] = asked[..] else { panic!("{asked:?}") };
    assert_eq!(face, b);
    bench.later(PERIOD_US);
    assert_eq!(bench.bodies(PROBE), [], "the first answer is still due");
    let mut wrong = number;
    wrong[0] ^= 1;
    bench.oam(b, ECHO, &wrong);
    bench.oam(b, ECHO, &number[..7]);
    bench.oam(b, ECHO, &[]);
    assert_eq!(bench.announced(b), Some(100), "nothing that was asked was answered");
    bench.departure(b);
    bench.oam(b, ECHO, &number);
    bench.later(PERIOD_US);
    assert_eq!(bench.routing.next_timeout().map(|(_, what)| what), None);
}

#[test]
fn everybody_answers_and_only_those_ask_who_go_by_it() {
    let mut bench = Bench::new(Router);
    let b = bench.member("b2", Router, true);
    let client = bench.neighbour(WhatAmI::Client);
    bench.later(PERIOD_US);
    assert_eq!(bench.bodies(PROBE), []);
    bench.oam(b, PROBE, &[7; 8]);
    assert_eq!(bench.bodies(ECHO), [(b, [7; 8])]);
    bench.oam(b, PROBE, &[7; 9]);
    bench.oam(client, PROBE, &[7; 8]);
    assert_eq!(bench.bodies(ECHO), []);
}
