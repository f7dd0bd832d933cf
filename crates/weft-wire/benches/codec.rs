//! How long messages take to encode and decode. Targets: a small push decodes in 25 ns and encodes in 20 ns.

use divan::{Bencher, black_box};
use weft_wire::{
    Declaration, Declare, Decode, Encode, Encoding, EntityGlobalId, Mapping, NetworkMessage, Push,
    PushBody, Put, Qos, Query, Reader, Reply, Request, RequestBody, Response, ResponseBody,
    SourceInfo, Timestamp, WireExpr, Writer, ZenohId,
};

fn main() {
    divan::main();
}

/// What is measured, by name.
const MESSAGES: [&str; 7] = [
    "push id 8 B",
    "push stamped 8 B",
    "push key 8 B",
    "push everything",
    "declare",
    "request",
    "response",
];

fn message(name: &str) -> NetworkMessage<'static> {
    let scoped = |suffix| WireExpr { scope: 2, mapping: Mapping::Receiver, suffix };
    match name {
        "push id 8 B" => NetworkMessage::Push(Push::put(scoped(""), b"12345678")),
        "push stamped 8 B" => {
            let timestamp = Some(Timestamp::new(0x6b01_39c8_4eff_0650, zid()));
            let put = Put { timestamp, payload: b"12345678", ..Put::default() };
            NetworkMessage::Push(Push::new(scoped(""), PushBody::Put(put)))
        }
        "push key 8 B" => {
            NetworkMessage::Push(Push::put(WireExpr::full("demo/example/zenoh"), b"12345678"))
        }
        "push everything" => NetworkMessage::Push(push_with_everything()),
        "declare" => {
            let wire_expr = scoped("/**");
            NetworkMessage::Declare(Declare::new(Declaration::Subscriber { id: 7, wire_expr }))
        }
        "request" => {
            let query = Query { parameters: "_max=2", ..Query::default() };
            let mut request = Request::new(300, scoped("/a"), RequestBody::Query(query));
            request.timeout_ms = Some(10_000);
            NetworkMessage::Request(request)
        }
        "response" => {
            let put = Put { payload: b"12345678", ..Put::default() };
            let reply = ResponseBody::Reply(Reply::new(PushBody::Put(put)));
            let mut response = Response::new(300, WireExpr::full("demo/example"), reply);
            response.responder = Some(EntityGlobalId { zid: zid(), eid: 8 });
            NetworkMessage::Response(response)
        }
        other => panic!("no message {other}"),
    }
}

fn push_with_everything() -> Push<'static> {
    let timestamp = Timestamp::new(0x6b01_39c8_4eff_0650, zid());
    let put = Put {
        timestamp: Some(timestamp),
        encoding: Encoding { id: 5, schema: Some(b"schema") },
        source_info: Some(SourceInfo { id: EntityGlobalId { zid: zid(), eid: 6 }, sn: 7 }),
        attachment: Some(b"attachment"),
        payload: b"12345678",
        ..Put::default()
    };
    let mut push = Push::new(WireExpr::full("demo/example/zenoh"), PushBody::Put(put));
    push.qos = Qos::DECLARE;
    push.timestamp = Some(timestamp);
    push.node_id = 3;
    push.ts_stack = Some(b"\x01\x00");
    push
}

fn zid() -> ZenohId {
    "a1b2c3d4e5f60718293a4b5c6d7e8f90".parse().expect("a valid zid")
}

#[divan::bench(args = MESSAGES)]
fn encode(bencher: Bencher<'_, '_>, name: &str) {
    let message = message(name);
    let mut buf = [0; 512];
    bencher.bench_local(|| {
        let mut writer = Writer::new(black_box(&mut buf));
        black_box(&message).encode(&mut writer).expect("it fits");
        writer.pos()
    });
}

#[divan::bench(args = MESSAGES)]
fn decode(bencher: Bencher<'_, '_>, name: &str) {
    let mut bytes = Vec::new();
    message(name).encode(&mut bytes).expect("vectors grow");
    bencher.bench_local(|| {
        let message = NetworkMessage::decode(&mut Reader::new(black_box(&bytes)));
        black_box(&message);
    });
}

/// The receive path: one message after another, each consumed where it is decoded.
#[divan::bench(args = ["push id 8 B", "push stamped 8 B"])]
fn decode_and_consume_100(bencher: Bencher<'_, '_>, name: &str) {
    let mut bytes = Vec::new();
    for _ in 0..100 {
        message(name).encode(&mut bytes).expect("vectors grow");
    }
    bencher.bench_local(|| {
        let mut r = Reader::new(black_box(&bytes));
        while let Ok(NetworkMessage::Push(push)) = NetworkMessage::decode(&mut r) {
            let PushBody::Put(put) = push.body else {
                break;
            };
            black_box((push.wire_expr.scope, put.timestamp, put.payload));
        }
        assert!(r.is_empty());
    });
}

/// The whole way of the publish path: the message is built, then encoded.
#[divan::bench]
fn build_and_encode_push(bencher: Bencher<'_, '_>) {
    let mut buf = [0; 512];
    bencher.bench_local(|| {
        let scope = black_box(2);
        let wire_expr = WireExpr { scope, mapping: Mapping::Receiver, suffix: "" };
        let mut writer = Writer::new(black_box(&mut buf));
        Push::put(wire_expr, black_box(b"12345678")).encode(&mut writer).expect("it fits");
        writer.pos()
    });
}
