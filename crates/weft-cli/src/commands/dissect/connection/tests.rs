//! Both directions of one connection in, records out.

use weft_wire::{Encode as _, Push};

use super::super::testing::{captured, captured_message, captured_messages, frame, stream};
use super::Direction::{Back, Forth};
use super::*;
use crate::commands::dissect::limits::HELD_MAX;
use crate::commands::dissect::record::Place;

/// A connection from its beginning, and what it shows.
struct Harness {
    connection: Connection,
    records: Vec<Record>,
}

impl Harness {
    fn new() -> Self {
        let mut connection = Connection::new(&Budget::new(HELD_MAX));
        connection.begin(Forth);
        connection.begin(Back);
        Self { connection, records: vec![] }
    }

    fn open() -> Self {
        let mut harness = Self::new();
        for (direction, bytes) in [captured("plain_no_shm/I"), captured("plain_no_shm/O")].concat()
        {
            harness.bytes(direction, &bytes);
        }
        harness.records.clear();
        harness
    }

    fn bytes(&mut self, direction: Direction, bytes: &[u8]) {
        self.connection.bytes(direction, bytes, &mut |record| self.records.push(record));
    }

    /// The lines so far, without time and place.
    fn lines(&mut self) -> Vec<String> {
        let here = std::net::SocketAddr::from(([1, 1, 1, 1], 1));
        let place = Place { unix_ns: 0, connection: None, from: here, to: here };
        let prefix = "00:00:00.000000 1.1.1.1:1 > 1.1.1.1:1 ".len();
        let line = |record: Record| record.line(&place)[prefix..].to_owned();
        std::mem::take(&mut self.records).into_iter().map(line).collect()
    }
}

#[test]
fn batches_may_come_in_any_pieces() {
    let all: Vec<u8> = captured("plain_no_shm/I").remove(0).1;
    let mut whole = Harness::new();
    whole.bytes(Forth, &all);
    let expected = whole.lines();
    let mut pieces = Harness::new();
    for byte in all {
        pieces.bytes(Forth, &[byte]);
    }
    assert_eq!(pieces.lines(), expected);
}

#[test]
fn every_captured_message_is_shown_without_an_error() {
    let mut shown = 0;
    for (name, direction, message) in captured_messages() {
        let mut harness = Harness::open();
        let direction = if direction.starts_with("router") { Back } else { Forth };
        harness.bytes(direction, &frame(0, &[&message]));
        let lines = harness.lines();
        let is_broken = name.contains("unknown-mandatory");
        assert!(
            lines.len() == 1 && lines[0].starts_with("ERROR") == is_broken,
            "{name}: {lines:?}"
        );
        shown += 1;
    }
    assert!(shown > 100, "{shown}");
}

#[test]
fn secrets_are_shown_as_their_length() {
    let handshakes = ["usrpwd/", "multilink/", "init_syn/shm", "open_syn/shm", "plain_no_shm/"];
    let mut shown = String::new();
    for (direction, bytes) in handshakes.map(captured).concat() {
        // Broken ones, too.
        let batch = &bytes[2..];
        for len in [batch.len(), batch.len().saturating_sub(5)] {
            let mut harness = Harness::new();
            harness.bytes(direction, &stream(&batch[..len]));
            harness.lines().iter().for_each(|line| shown.push_str(line));
        }
    }
    assert!(shown.contains("auth=") && shown.contains("cookie=33B") && shown.contains("shm="));
    assert!(shown.contains("ERROR") && shown.contains("handshake="));
    assert!(!shown.contains("hex="), "{shown}");
    let cookie = captured("plain_no_shm/OpenSyn").remove(0).1[9..].to_vec();
    assert!(!shown.contains(&render::hex(&cookie[..4])), "{shown}");
}

#[test]
fn what_is_broken_is_shown_and_the_next_batch_is_read() {
    let put = captured_message("client-router/a-put-string-default-encoding/push-put");
    let mut harness = Harness::open();
    harness.bytes(Forth, &frame(1, &[&put, b"\x1d\x00\x1f\xee"]));
    harness.bytes(Forth, &frame(2, &[&put]));
    let push = "PUSH key=demo/s/a priority=data congestion=drop kind=put size=5 payload=hello";
    assert_eq!(
        harness.lines(),
        [
            format!("FRAME sn=1 reliable data: {push}"),
            "ERROR unknown message 0x1f at byte 22 offset=20 batch_len=24 hex=1d001fee".to_owned(),
            format!("FRAME sn=2 reliable data: {push}"),
        ]
    );
    // What is no batch at all is passed over.
    harness.bytes(Forth, &[3, 0, 0xff, 0xff, 0xff].repeat(3));
    harness.bytes(Forth, &[0xaa; 100]);
    harness.bytes(Forth, &frame(3, &[&put]));
    let lines = harness.lines();
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[..3].iter().all(|line| line.starts_with("ERROR ")), "{lines:?}");
    assert!(lines[3].contains("3 broken batches in a row"));
    assert!(lines[4].contains("100 bytes passed over"));
    assert_eq!(lines[5], format!("FRAME sn=3 reliable data: {push}"));
}

#[test]
fn fragments_are_shown_and_then_what_they_make() {
    let payload = vec![b'x'; 1000];
    let mut message = vec![];
    Push::put(WireExpr::full("a/b"), &payload).encode(&mut message).unwrap();
    let mut harness = Harness::open();
    let half = message.len() / 2;
    // Z and M and R with the extension First, then R only.
    harness.bytes(Forth, &stream(&[b"\xe6\x05\x02", &message[..half]].concat()));
    harness.bytes(Back, &stream(b"\x04"));
    harness.bytes(Forth, &stream(&[b"\x26\x06", &message[half..]].concat()));
    let lines = harness.lines();
    let channel = "reliability=reliable priority=data";
    assert_eq!(
        lines[..3],
        [
            format!("FRAGMENT sn=5 {channel} first more size={half}"),
            "KEEP_ALIVE".to_owned(),
            format!("FRAGMENT sn=6 {channel} size={}", message.len() - half),
        ]
    );
    let push = "FRAGMENT sn=6 reliable data fragments=2: PUSH key=a/b priority=data congestion=drop kind=put";
    assert!(lines[3].starts_with(push) && lines[3].ends_with("x… (1000 bytes)"), "{}", lines[3]);
    // The same without its first half, and overtaken.
    harness.bytes(Forth, &stream(&[b"\x26\x08", &message[half..]].concat()));
    harness.bytes(Forth, &stream(&[b"\xe6\x09\x02", &message[..half]].concat()));
    harness.bytes(Forth, &stream(b"\x25\x0a"));
    let notes: Vec<String> =
        harness.lines().into_iter().filter(|line| line.starts_with("NOTE")).collect();
    assert_eq!(
        notes,
        [
            "NOTE the beginning of the message is not there",
            "NOTE a fragmented message was given up",
        ]
    );
}

#[test]
fn a_new_handshake_forgets_what_was_declared() {
    let declare = captured_message("client-router/c-declare-subscriber-demo-s/declare-d_keyexpr");
    let push = b"\x3d\x01\x02/a\x02";
    let mut harness = Harness::open();
    harness.bytes(Forth, &frame(0, &[&declare]));
    harness.bytes(Back, &frame(0, &[push]));
    assert!(harness.lines()[1].contains("key=demo/s/a"));
    harness.bytes(Forth, &captured("plain_no_shm/InitSyn").remove(0).1);
    harness.bytes(Back, &frame(0, &[push]));
    assert!(harness.lines()[2].contains("key=<id 1>/a"));
}
