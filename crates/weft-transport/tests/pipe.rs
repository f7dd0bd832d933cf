//! Whatever goes into a sending half comes out of a receiving half: once, whole, in order.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};
use weft_transport::{
    Decompressor, FragmentCursor, FragmentStep, Negotiated, PushError, RxHalf, RxItem, RxLimits,
    TxConfig, TxHalf, next_batch,
};
use weft_wire::{
    Bits, CloseReason, Priority, Push, PushBody, Reliability, WhatAmI, WireExpr, ZenohId,
};

/// One transport in one direction, with all that was sent and has not arrived yet.
struct Pipe {
    negotiated: Negotiated,
    tx: TxHalf,
    rx: RxHalf,
    decompressor: Decompressor,
    /// Bytes on the way; they arrive in pieces of `piece`.
    stream: VecDeque<u8>,
    received: Vec<u8>,
    piece: usize,
    expected: HashMap<(Priority, Reliability), VecDeque<Vec<u8>>>,
    sent: u8,
    arrived: usize,
    keep_alives: usize,
}

impl Pipe {
    fn new(negotiated: Negotiated, config: &TxConfig, piece: usize) -> Self {
        Self {
            tx: TxHalf::new(&negotiated, config),
            rx: RxHalf::new(&negotiated, RxLimits::default()),
            decompressor: Decompressor::new(),
            negotiated,
            stream: VecDeque::new(),
            received: Vec::new(),
            piece,
            expected: HashMap::new(),
            sent: 0,
            arrived: 0,
            keep_alives: 0,
        }
    }

    /// The next payload; each differs from those before it.
    fn payload(&mut self, len: usize) -> Vec<u8> {
        self.sent = self.sent.wrapping_add(1);
        (0..len).map(|at| self.sent.wrapping_mul(31).wrapping_add(at as u8)).collect()
    }

    fn send(&mut self, priority: Priority, reliability: Reliability, len: usize) {
        let payload = self.payload(len);
        let message = put(&payload);
        loop {
            match self.tx.push(priority, reliability, &message) {
                Ok(()) => break,
                Err(PushError::Full) => self.deliver(),
                Err(PushError::TooBig) => {
                    self.send_fragments(priority, reliability, &message, None);
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        let channel = self.channel(priority, reliability);
        self.expected.entry(channel).or_default().push_back(payload);
    }

    /// Sends a message in FRAGMENTs; with `give_up`, abandons it after so many calls at most.
    fn send_fragments(
        &mut self,
        priority: Priority,
        reliability: Reliability,
        message: &Push<'_>,
        give_up: Option<usize>,
    ) {
        let mut cursor = FragmentCursor::new(priority, reliability, message);
        let mut calls = 0;
        while self.tx.push_fragments(&mut cursor) == Ok(FragmentStep::Full) {
            calls += 1;
            if give_up.is_some_and(|most| calls >= most) {
                self.tx.abort_fragments(cursor);
                return;
            }
            self.put_on_wire(); // read later: the caller has not said yet that it expects this one
        }
        assert_eq!(cursor.remaining(), 0);
    }

    fn channel(&self, priority: Priority, reliability: Reliability) -> (Priority, Reliability) {
        (if self.negotiated.qos { priority } else { Priority::Data }, reliability)
    }

    fn put_on_wire(&mut self) {
        if let Some(mut chunk) = self.tx.take() {
            self.stream.extend(chunk.bytes());
            self.tx.recycle(chunk);
        }
    }

    /// Writes one chunk and reads all that is on the way.
    fn deliver(&mut self) {
        self.put_on_wire();
        while !self.stream.is_empty() {
            let piece = self.piece.min(self.stream.len());
            self.received.extend(self.stream.drain(..piece));
            self.read();
        }
    }

    fn read(&mut self) {
        let received = std::mem::take(&mut self.received);
        let mut rest = &received[..];
        let batch_max = self.negotiated.batch_size + u16::from(self.negotiated.compression);
        while let Some((range, consumed)) =
            next_batch(rest, batch_max).expect("no batch is too long")
        {
            self.read_batch(&rest[range]);
            rest = &rest[consumed..];
        }
        self.received = rest.to_vec();
    }

    fn read_batch<'a>(&'a mut self, mut batch: &'a [u8]) {
        if let Some(content_max) = self.negotiated.content_max() {
            batch = self.decompressor.batch(batch, content_max).expect("what we compress is read");
        }
        let mut items = self.rx.batch(batch);
        while let Some(item) = items.next().expect("what we send is well-formed") {
            match item {
                RxItem::Sample { reliability, priority, .. }
                | RxItem::Assembled { reliability, priority, .. } => {
                    let push = item.to_push().expect("only samples were sent");
                    let PushBody::Put(put) = push.body else { panic!("{push:?}") };
                    let expected = self
                        .expected
                        .get_mut(&(priority, reliability))
                        .and_then(VecDeque::pop_front)
                        .expect("something arrived that was not sent");
                    assert_eq!(put.payload, expected);
                    self.arrived += 1;
                }
                RxItem::KeepAlive => self.keep_alives += 1,
                RxItem::Message { .. } | RxItem::Close { .. } => panic!("{item:?} was not sent"),
            }
        }
    }

    fn outstanding(&self) -> usize {
        self.expected.values().map(VecDeque::len).sum()
    }

    fn finish(mut self) {
        while !self.tx.is_empty() || !self.stream.is_empty() {
            self.deliver();
        }
        assert_eq!(self.outstanding(), 0, "something got lost");
        assert!(self.received.is_empty());
        assert_eq!(self.tx.stats().messages, self.arrived as u64);
    }
}

fn put(payload: &[u8]) -> Push<'_> {
    Push::put(WireExpr { scope: 3, ..WireExpr::full("") }, payload)
}

fn negotiated(batch_size: u16, bits: Bits, qos: bool, patch: u8) -> Negotiated {
    Negotiated {
        zid: ZenohId::from_le_bytes(&[1]).unwrap(),
        whatami: WhatAmI::Peer,
        qos,
        compression: false,
        sn_mask: bits.sn_mask(),
        batch_size,
        lease_remote_ms: 10_000,
        sn_rx_initial: 0,
        sn_tx_initial: 0,
        patch,
        mesh: false,
        gateway: false,
        region_name: None,
        remote_bound: None,
    }
}

#[derive(Clone, Debug)]
enum Op {
    Send(Priority, Reliability, usize),
    Abandon(Priority, Reliability, usize, usize),
    Deliver,
    KeepAlive,
    ReleaseIdle,
}

fn op() -> impl Strategy<Value = Op> {
    let priority = (0..8_u8).prop_map(Priority::from_bits);
    let reliability =
        prop_oneof![4 => Just(Reliability::Reliable), 1 => Just(Reliability::BestEffort)];
    let len = prop_oneof![8 => 0..40_usize, 2 => 40..600_usize, 1 => 600..6000_usize];
    prop_oneof![
        12 => (priority.clone(), reliability.clone(), len)
            .prop_map(|(priority, reliability, len)| Op::Send(priority, reliability, len)),
        2 => (priority, reliability, 2000..9000_usize, 1..5_usize)
            .prop_map(|(priority, reliability, len, calls)| {
                Op::Abandon(priority, reliability, len, calls)
            }),
        3 => Just(Op::Deliver),
        1 => Just(Op::KeepAlive),
        1 => Just(Op::ReleaseIdle),
    ]
}

fn setting() -> impl Strategy<Value = (Negotiated, TxConfig, usize)> {
    let batch_size = prop_oneof![14..20_u16, 20..200_u16, 200..3000_u16];
    let bits = prop_oneof![Just(Bits::U8), Just(Bits::U16), Just(Bits::U32), Just(Bits::U64)];
    let queue = 1..5_u8;
    let backlog = prop_oneof![Just(0_usize), 0..5000_usize];
    let transport = (batch_size, bits, any::<bool>(), 0..2_u8, any::<bool>()).prop_map(
        |(batch_size, bits, qos, patch, compression)| Negotiated {
            compression,
            ..negotiated(batch_size, bits, qos, patch)
        },
    );
    (transport, queue, any::<bool>(), backlog, 1..5000_usize).prop_map(
        |(negotiated, queue, batching, backlog, piece)| {
            let config =
                TxConfig { queue_batches: [queue; 8], batching, control_backlog_max: backlog };
            (negotiated, config, piece)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once_and_in_order(
        (negotiated, config, piece) in setting(),
        ops in vec(op(), 1..80),
    ) {
        let mut pipe = Pipe::new(negotiated, &config, piece);
        for op in ops {
            match op {
                Op::Send(priority, reliability, len) => pipe.send(priority, reliability, len),
                Op::Abandon(priority, reliability, len, calls) => {
                    // Whether it is abandoned depends on the room; only if so, it must not arrive.
                    while !pipe.tx.is_empty() {
                        pipe.deliver();
                    }
                    let before = pipe.tx.stats().messages;
                    let payload = pipe.payload(len);
                    let message = put(&payload);
                    pipe.send_fragments(priority, reliability, &message, Some(calls));
                    if pipe.tx.stats().messages > before {
                        let channel = pipe.channel(priority, reliability);
                        pipe.expected.entry(channel).or_default().push_back(payload);
                    }
                }
                Op::Deliver => pipe.deliver(),
                Op::KeepAlive => pipe.tx.keep_alive(),
                Op::ReleaseIdle => {
                    pipe.tx.release_idle();
                    pipe.rx.release_unused();
                }
            }
        }
        pipe.finish();
    }

    #[test]
    fn any_bytes_are_read_or_refused(batches in vec(vec(any::<u8>(), 0..80), 1..20)) {
        let limits = RxLimits { message_size_max: 200, total_size_max: 300 };
        for qos in [true, false] {
            let mut rx = RxHalf::new(&negotiated(100, Bits::U8, qos, 1), limits);
            for batch in &batches {
                let mut items = rx.batch(batch);
                while let Ok(Some(_)) = items.next() {}
            }
        }
    }
}

#[test]
fn a_mebibyte_goes_through_the_smallest_batches() {
    let settings = [
        (14, true, false),
        (14, false, false),
        (65_533, true, false),
        (13, true, true),
        (65_532, true, true),
    ];
    for (batch_size, qos, compression) in settings {
        let negotiated = Negotiated { compression, ..negotiated(batch_size, Bits::U8, qos, 1) };
        let mut pipe = Pipe::new(negotiated, &TxConfig::default(), 10_000);
        for len in [1 << 20, 3, (1 << 20) + 1] {
            pipe.send(Priority::Background, Reliability::Reliable, len);
        }
        pipe.finish();
    }
}

#[test]
fn keep_alive_and_close_arrive() {
    let mut pipe = Pipe::new(negotiated(100, Bits::U32, true, 1), &TxConfig::default(), usize::MAX);
    pipe.tx.keep_alive();
    pipe.deliver();
    assert_eq!(pipe.keep_alives, 1);
    pipe.tx.close(CloseReason::GENERIC);
    let mut chunk = pipe.tx.take().unwrap();
    let mut items = pipe.rx.batch(chunk.batches().next().unwrap());
    let close = RxItem::Close { session: false, reason: CloseReason::GENERIC };
    assert_eq!(items.next(), Ok(Some(close)));
}

#[test]
fn compressed_batches_are_short_and_their_buffers_used_again() {
    let negotiated = Negotiated { compression: true, ..negotiated(60_000, Bits::U32, true, 1) };
    let mut tx = TxHalf::new(&negotiated, &TxConfig::default());
    let payload = vec![7; 50_000];
    let mut buffers = Vec::new();
    for _ in 0..10 {
        tx.push(Priority::Data, Reliability::Reliable, &put(&payload)).unwrap();
        let mut chunk = tx.take().unwrap();
        assert!(chunk.bytes().len() < 500, "{} bytes", chunk.bytes().len());
        buffers.push(chunk.bytes().as_ptr());
        tx.recycle(chunk);
    }
    buffers.dedup();
    assert_eq!(buffers.len(), 1);
}
