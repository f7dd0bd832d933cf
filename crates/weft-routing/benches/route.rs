//! Where a sample goes: by a route that is kept, by one computed anew, and what a declaration costs.
//! Targets of the data path: a kept route costs a few nanoseconds, a new one a few microseconds however
//! much is declared.

use divan::{Bencher, black_box};
use weft_keyexpr::KeyExpr;
use weft_routing::{Event, FaceId, FaceInit, Outbox, Routing, RoutingConfig};
use weft_wire::{Declaration, Declare, NetworkMessage, WhatAmI, WireExpr, ZenohId};

fn main() {
    divan::main();
}

/// Subscribers, spread over this many neighbours.
const FACES: u32 = 10;
/// The source of all samples: a neighbour that declares nothing.
const SOURCE: FaceId = FaceId(FACES + 1);
/// Matches exactly one expression of each kind.
const KEY: &str = "site-0/hall-0/line-0/sensor-0";

/// Declared expressions: how many, and whether they have wildcards.
const CASES: [(usize, bool); 6] =
    [(1, false), (100, false), (10_000, false), (1, true), (100, true), (10_000, true)];

/// Takes what routing says for granted.
struct Nobody;

impl Outbox for Nobody {
    fn send(&mut self, _face: FaceId, message: &NetworkMessage<'_>) {
        black_box(message);
    }

    fn event(&mut self, event: Event) {
        assert!(!matches!(event, Event::Refuse { .. }), "{event:?}");
    }
}

fn expression(n: usize, wild: bool) -> String {
    let hall = n / 10 % 10;
    match (wild, n % 3) {
        (false, _) => format!("site-{}/hall-{hall}/line-{}/sensor-{n}", n % 10, n / 100 % 10),
        (true, 0) => format!("site-{}/*/line-{}/sensor-{n}", n % 10, n / 100 % 10),
        (true, 1) => format!("site-{}/**/sensor-{n}", n % 10),
        (true, _) => format!("*/hall-{hall}/*/sensor-{n}"),
    }
}

/// A router that `FACES` clients have declared `count` subscribers to.
fn router(count: usize, wild: bool) -> Routing {
    let mut routing = Routing::new(RoutingConfig::new(zid(0xff), WhatAmI::Router));
    for _ in 0..=FACES {
        let face = routing.next_face();
        let init = FaceInit::new(zid(face.0 as u8), WhatAmI::Client);
        routing.face_up(0, face, init, &mut Nobody).expect("a router admits clients");
    }
    for n in 0..count {
        let face = FaceId(1 + n as u32 % FACES);
        declare(&mut routing, face, n as u32, &expression(n, wild));
    }
    routing
}

fn declare(routing: &mut Routing, face: FaceId, id: u32, text: &str) {
    let body = Declaration::Subscriber { id, wire_expr: WireExpr::full(text) };
    routing.handle_declare(0, face, &Declare::new(body), &mut Nobody);
}

fn undeclare(routing: &mut Routing, face: FaceId, id: u32) {
    let body = Declaration::UndeclareSubscriber { id, wire_expr: None };
    routing.handle_declare(0, face, &Declare::new(body), &mut Nobody);
}

/// What a sample costs on a route that is kept: whether it is stale, and how each hop writes the key.
#[divan::bench]
fn kept_route(bencher: Bencher<'_, '_>) {
    let mut routing = router(1, false);
    let route = routing.data_route(SOURCE, 0, &KeyExpr::new(KEY).unwrap());
    assert_eq!(route.hops.len(), 1);
    bencher.bench_local(|| {
        let route = black_box(&route);
        assert!(!route.validity.is_stale());
        for hop in &route.hops {
            black_box((hop.face, hop.expr.as_wire()));
        }
    });
}

#[divan::bench(args = CASES)]
fn new_route(bencher: Bencher<'_, '_>, (count, wild): (usize, bool)) {
    let mut routing = router(count, wild);
    let key = KeyExpr::new(KEY).unwrap();
    assert_eq!(routing.data_route(SOURCE, 0, &key).hops.len(), 1);
    bencher.bench_local(|| routing.data_route(SOURCE, 0, black_box(&key)));
}

/// A subscriber comes and goes; nobody has to be told, but one route turns stale and is computed anew.
#[divan::bench(args = CASES)]
fn declare_and_undeclare(bencher: Bencher<'_, '_>, (count, wild): (usize, bool)) {
    let mut routing = router(count, wild);
    let key = KeyExpr::new(KEY).unwrap();
    bencher.bench_local(|| {
        let route = routing.data_route(SOURCE, 0, &key);
        declare(&mut routing, FaceId(1), u32::MAX, black_box(KEY));
        undeclare(&mut routing, FaceId(1), u32::MAX);
        assert!(route.validity.is_stale());
    });
}

fn zid(byte: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[byte]).expect("one byte that is not zero")
}
