//! The parts of the way of a message, without threads and sockets: exactly the same number every time.

use std::hint::black_box;
use weft_keyexpr::{Ke, KeyExpr};
use weft_node::forwarded;
use weft_routing::{Event, FaceId, FaceInit, Outbox, Routing, RoutingConfig};
use weft_transport::{Negotiated, RxHalf, RxItem, RxLimits, TxConfig, TxHalf};
use weft_wire::{
    Bits, Declaration, Declare, Decode as _, Encode, Mapping, NetworkMessage, Priority, Push,
    Reader, Reliability, WhatAmI, WireExpr, ZenohId,
};

/// Five chunks, 50 bytes.
const LITERAL: &str = "factory/hall-0001/line-0042/sensor-17/temperature1";
const OTHER: &str = "factory/hall-0001/line-0042/sensor-17/temperature2";
const WILD: &str = "factory/*/line-$*/**/temperature1";

pub(crate) fn match_literal(times: u64) {
    matched(times, OTHER);
}

pub(crate) fn match_wild(times: u64) {
    matched(times, WILD);
}

fn matched(times: u64, other: &str) {
    let [a, b] = [LITERAL, other].map(|text| Ke::new(text).expect("it is canonical"));
    for _ in 0..times {
        black_box(black_box(a).intersects(black_box(b)));
    }
}

pub(crate) fn decode(times: u64) {
    let mut bytes = Vec::new();
    NetworkMessage::Push(push(&[7; 64])).encode(&mut bytes).expect("vectors grow");
    for _ in 0..times {
        let message = NetworkMessage::decode(&mut Reader::new(black_box(&bytes)));
        assert!(matches!(black_box(&message), Ok(NetworkMessage::Push(_))));
    }
}

fn push(payload: &[u8]) -> Push<'_> {
    Push::put(WireExpr { scope: 7, mapping: Mapping::Sender, suffix: "" }, payload)
}

fn negotiated() -> Negotiated {
    Negotiated {
        zid: zid(1),
        whatami: WhatAmI::Peer,
        qos: true,
        compression: false,
        sn_mask: Bits::U32.sn_mask(),
        batch_size: 65_533,
        lease_remote_ms: 10_000,
        sn_rx_initial: 0,
        sn_tx_initial: 0,
        patch: 1,
        mesh: false,
        gateway: false,
        region_name: None,
        remote_bound: None,
    }
}

fn zid(byte: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[byte]).expect("one byte that is not zero")
}

fn tx() -> TxHalf {
    TxHalf::new(&negotiated(), &TxConfig::default())
}

/// Appends to the open batch; what is full is taken and given back, as a writer would.
fn put(tx: &mut TxHalf, message: &impl Encode) {
    while tx.push(Priority::Data, Reliability::Reliable, message).is_err() {
        let mut chunk = tx.take().expect("what is full can be taken");
        black_box(chunk.bytes());
        tx.recycle(chunk);
    }
}

pub(crate) fn append(times: u64, len: usize) {
    let payload = vec![7; len];
    let mut tx = tx();
    for _ in 0..times {
        put(&mut tx, &push(black_box(&payload)));
    }
}

/// Walks over a batch of messages again and again, `times` messages in all.
fn over_batches(times: u64, mut each: impl FnMut(&Push<'_>)) {
    const PER_BATCH: u64 = 500;
    let mut tx = tx();
    for _ in 0..PER_BATCH {
        put(&mut tx, &push(&[7; 64]));
    }
    let mut chunk = tx.take().expect("the batch is not empty");
    let batch = chunk.batches().next().expect("a chunk has a batch");
    for _ in 0..times / PER_BATCH {
        let mut rx = RxHalf::new(&negotiated(), RxLimits::default());
        let mut items = rx.batch(black_box(batch));
        while let Some(item) = items.next().expect("the batch is whole") {
            if let RxItem::Sample { push, .. } = item {
                each(black_box(push));
            }
        }
    }
}

pub(crate) fn receive(times: u64) {
    let mut count = 0;
    over_batches(times, |_push| count += 1);
    assert_eq!(count, times / 500 * 500);
}

/// Subscribers of the router, spread over this many neighbours.
const FACES: u32 = 10;
const SUBSCRIBERS: u32 = 1000;
/// Where the samples come from: a neighbour that declares nothing.
const SOURCE: FaceId = FaceId(FACES + 1);

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

fn router() -> Routing {
    let mut routing = Routing::new(RoutingConfig::new(zid(0xff), WhatAmI::Router));
    for _ in 0..=FACES {
        let face = routing.next_face();
        let init = FaceInit::new(zid(face.0 as u8), WhatAmI::Client);
        routing.face_up(0, face, init, &mut Nobody).expect("a router admits clients");
    }
    for n in 0..SUBSCRIBERS {
        let text = if n % 10 == 9 {
            format!("site/*/line-{n}/**")
        } else {
            format!("site/hall-{}/line-{n}/a", n % 10)
        };
        let body = Declaration::Subscriber { id: n, wire_expr: WireExpr::full(&text) };
        let face = FaceId(1 + n % FACES);
        routing.handle_declare(0, face, &Declare::new(body), &mut Nobody);
    }
    routing
}

fn key() -> KeyExpr {
    KeyExpr::new("site/hall-0/line-0/a").expect("it is canonical")
}

pub(crate) fn kept_route(times: u64) {
    let route = router().data_route(SOURCE, 0, &key());
    for _ in 0..times {
        let route = black_box(&route);
        assert!(!route.validity.is_stale());
        for hop in &route.hops {
            black_box((hop.face, hop.expr.as_wire()));
        }
    }
}

pub(crate) fn new_route(times: u64) {
    let (mut routing, key) = (router(), key());
    for _ in 0..times {
        black_box(routing.data_route(SOURCE, 0, black_box(&key)));
    }
}

/// What a router does for a message of one neighbour that another one wants: read, written anew, appended.
pub(crate) fn forward(times: u64) {
    let route = router().data_route(SOURCE, 0, &key());
    let hop = &route.hops[0];
    let mut tx = tx();
    over_batches(times, |push| {
        assert!(!route.validity.is_stale());
        put(&mut tx, &forwarded(push, black_box(&[7; 64]), hop));
    });
}
