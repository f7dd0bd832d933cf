//! The hot paths: a message into a batch, a batch into messages. `cargo bench -p weft-transport`.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use weft_transport::{
    Decompressor, FragmentCursor, FragmentStep, Negotiated, PushError, RxHalf, RxLimits, TxConfig,
    TxHalf,
};
use weft_wire::{Bits, Mapping, Priority, Push, Qos, Reliability, WhatAmI, WireExpr, ZenohId};

fn main() {
    divan::main();
}

fn negotiated() -> Negotiated {
    Negotiated {
        zid: ZenohId::from_le_bytes(&[1]).unwrap(),
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

fn push(payload: &[u8]) -> Push<'_> {
    Push::put(WireExpr { scope: 7, mapping: Mapping::Sender, suffix: "" }, payload)
}

/// Messages in each sample.
const BURST: usize = 1000;

/// Appends to an open batch; the full lane is taken and given back, as a writer would.
#[divan::bench(args = [8, 64, 1024])]
fn push_burst(bencher: Bencher, len: usize) {
    let payload = vec![0; len];
    let mut tx = TxHalf::new(&negotiated(), &TxConfig::default());
    bencher.counter(ItemsCount::new(BURST)).bench_local(|| {
        for _ in 0..BURST {
            let message = push(black_box(&payload));
            while tx.push(Priority::Data, Reliability::Reliable, &message).is_err() {
                let mut chunk = tx.take().unwrap();
                black_box(chunk.bytes());
                tx.recycle(chunk);
            }
        }
    });
}

/// One message a batch, taken at once: an idle link.
#[divan::bench(args = [8, 64, 1024])]
fn push_alone(bencher: Bencher, len: usize) {
    let payload = vec![0; len];
    let mut tx = TxHalf::new(&negotiated(), &TxConfig::default());
    bencher.counter(ItemsCount::new(BURST)).bench_local(|| {
        for _ in 0..BURST {
            let message = push(black_box(&payload));
            tx.push(Priority::Data, Reliability::Reliable, &message).unwrap();
            let mut chunk = tx.take().unwrap();
            black_box(chunk.bytes());
            tx.recycle(chunk);
        }
    });
}

/// Refused messages on a congested lane.
#[divan::bench]
fn push_full(bencher: Bencher) {
    let mut tx = TxHalf::new(&negotiated(), &TxConfig::default());
    let message = push(&[0; 8]);
    while tx.push(Priority::Data, Reliability::Reliable, &message).is_ok() {}
    bencher.counter(ItemsCount::new(BURST)).bench_local(|| {
        for _ in 0..BURST {
            let refused = tx.push(Priority::Data, Reliability::Reliable, black_box(&message));
            assert_eq!(refused, Err(PushError::Full));
        }
    });
}

#[divan::bench]
fn push_1_mib_in_fragments(bencher: Bencher) {
    let payload = vec![0; 1 << 20];
    let mut tx = TxHalf::new(&negotiated(), &TxConfig::default());
    let message = push(&payload);
    bencher.counter(BytesCount::new(payload.len())).bench_local(|| {
        let mut cursor = FragmentCursor::new(Priority::Data, Reliability::Reliable, &message);
        while tx.push_fragments(&mut cursor) == Ok(FragmentStep::Full) {
            let chunk = tx.take().unwrap();
            tx.recycle(chunk);
        }
        let chunk = tx.take().unwrap();
        tx.recycle(chunk);
    });
}

/// A full batch of small messages, every one looked at.
#[divan::bench(args = [8, 64, 1024])]
fn read_batch(bencher: Bencher, len: usize) {
    let payload = vec![0; len];
    let mut tx = TxHalf::new(&negotiated(), &TxConfig::default());
    for _ in 0..BURST {
        let message = push(&payload);
        let _ = tx.push(Priority::Data, Reliability::Reliable, &message);
    }
    let mut chunk = tx.take().unwrap();
    let batch = chunk.batches().next().unwrap();
    let count = count_messages(&mut RxHalf::new(&negotiated(), RxLimits::default()), batch);
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| RxHalf::new(&negotiated(), RxLimits::default()))
        .bench_local_refs(|rx| count_messages(rx, black_box(batch)));
}

/// Payloads of 60 KiB, from what LZ4 likes to what it cannot shorten.
#[derive(Clone, Copy, Debug)]
enum Content {
    Zeros,
    Readings,
    Noise,
}

const CONTENTS: [Content; 3] = [Content::Zeros, Content::Readings, Content::Noise];
const CONTENT_LEN: usize = 60 << 10;

impl Content {
    fn bytes(self) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let mut bytes = Vec::new();
        while bytes.len() < CONTENT_LEN {
            match self {
                Self::Zeros => bytes.push(0),
                Self::Readings => {
                    let text = format!("{{\"sensor\":{},\"value\":{}.5}},", next() % 16, next());
                    bytes.extend(text.into_bytes());
                }
                Self::Noise => bytes.push(next()),
            }
        }
        bytes.truncate(CONTENT_LEN);
        bytes
    }
}

/// What a batch costs more on a link that compresses, for the sender.
#[divan::bench(args = CONTENTS)]
fn compress(bencher: Bencher, content: Content) {
    let payload = content.bytes();
    let agreed = Negotiated { compression: true, ..negotiated() };
    let mut tx = TxHalf::new(&agreed, &TxConfig::default());
    bencher.counter(BytesCount::new(CONTENT_LEN)).bench_local(|| {
        tx.push(Priority::Data, Reliability::Reliable, &push(&payload)).unwrap();
        let mut chunk = tx.take().unwrap();
        black_box(chunk.bytes());
        tx.recycle(chunk);
    });
}

/// The same for the receiver.
#[divan::bench(args = CONTENTS)]
fn decompress(bencher: Bencher, content: Content) {
    let agreed = Negotiated { compression: true, ..negotiated() };
    let payload = content.bytes();
    let mut tx = TxHalf::new(&agreed, &TxConfig::default());
    tx.push(Priority::Data, Reliability::Reliable, &push(&payload)).unwrap();
    let mut chunk = tx.take().unwrap();
    let batch = chunk.batches().next().unwrap();
    let mut decompressor = Decompressor::new();
    bencher.counter(BytesCount::new(CONTENT_LEN)).bench_local(|| {
        black_box(decompressor.batch(black_box(batch), u16::MAX).unwrap().len());
    });
}

fn count_messages(rx: &mut RxHalf, batch: &[u8]) -> usize {
    let mut items = rx.batch(batch);
    let mut count = 0;
    while let Some(item) = items.next().unwrap() {
        if let Some(push) = item.to_push() {
            assert_eq!(push.qos, Qos::DEFAULT);
            count += 1;
        }
    }
    count
}
