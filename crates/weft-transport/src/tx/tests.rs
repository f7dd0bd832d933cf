//! What a sender puts where: batches, FRAMEs, limits, fragments, close.

use super::*;
use crate::framing::next_batch;
use alloc::vec;
use std::string::String;
use weft_wire::{Bits, Push, WhatAmI, WireExpr, ZenohId};

const BATCH: usize = 40;

fn negotiated(qos: bool) -> Negotiated {
    Negotiated {
        zid: ZenohId::from_le_bytes(&[1]).unwrap(),
        whatami: WhatAmI::Peer,
        qos,
        compression: false,
        sn_mask: Bits::U8.sn_mask(),
        batch_size: BATCH as u16,
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

fn half() -> TxHalf {
    half_with(TxConfig { control_backlog_max: 0, ..TxConfig::default() })
}

fn half_with(config: TxConfig) -> TxHalf {
    TxHalf::new(&negotiated(true), &config)
}

fn put(payload: &[u8]) -> Push<'_> {
    Push::put(WireExpr::full("k"), payload)
}

fn encoded(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(payload).encode(&mut bytes).unwrap();
    bytes
}

/// Bytes of a put besides its payload, if that is short.
const PUT_LEN: usize = 6;

fn push(tx: &mut TxHalf, priority: Priority, payload: &[u8]) -> Result<(), PushError> {
    tx.push(priority, Reliability::Reliable, &put(payload))
}

fn data(tx: &mut TxHalf, payload: &[u8]) -> Result<(), PushError> {
    push(tx, Priority::Data, payload)
}

/// Takes the most urgent lane and returns its batches.
fn batches(tx: &mut TxHalf) -> Vec<Vec<u8>> {
    let Some(mut chunk) = tx.take() else { return Vec::new() };
    let batches: Vec<_> = chunk.batches().map(<[u8]>::to_vec).collect();
    let mut stream = chunk.bytes();
    for batch in &batches {
        let (range, consumed) = next_batch(stream, BATCH as u16).unwrap().unwrap();
        assert_eq!(&stream[range], batch);
        stream = &stream[consumed..];
    }
    assert!(stream.is_empty());
    tx.recycle(chunk);
    batches
}

fn only_batch(tx: &mut TxHalf) -> Vec<u8> {
    let mut batches = batches(tx);
    assert_eq!(batches.len(), 1);
    batches.pop().unwrap()
}

#[test]
fn messages_share_a_frame_and_a_batch() {
    let mut tx = half();
    data(&mut tx, b"a").unwrap();
    data(&mut tx, b"b").unwrap();
    assert!(!tx.is_empty());
    assert_eq!(tx.pending_bytes(), PREFIX_LEN + 2 + 2 * (PUT_LEN + 1));
    assert_eq!(only_batch(&mut tx), [vec![0x25, 0], encoded(b"a"), encoded(b"b")].concat());
    assert!(tx.is_empty());
    data(&mut tx, b"c").unwrap();
    assert_eq!(only_batch(&mut tx), [vec![0x25, 1], encoded(b"c")].concat());
    let bytes = 2 * (PREFIX_LEN + 2) + 3 * (PUT_LEN + 1);
    assert_eq!(
        tx.stats(),
        TxStats { messages: 3, transport_messages: 2, batches: 2, bytes: bytes as u64 }
    );
}

#[test]
fn queues_tell_what_waits_in_them() {
    let mut tx = half();
    let long = [0; BATCH - 20];
    for _ in 0..2 {
        data(&mut tx, &long).unwrap();
    }
    push(&mut tx, Priority::RealTime, b"a").unwrap();
    let queues = tx.queues();
    let (urgent, data_queue) =
        (queues[Priority::RealTime as usize], queues[Priority::Data as usize]);
    assert_eq!((data_queue.batches, data_queue.messages), (2, 2));
    assert_eq!((urgent.batches, urgent.messages), (1, 1));
    assert_eq!(urgent.bytes + data_queue.bytes, tx.pending_bytes());
    while !batches(&mut tx).is_empty() {}
    let empty = tx.queues()[Priority::Data as usize];
    assert_eq!((empty.bytes, empty.batches, empty.messages), (0, 0, 2));
    assert!(empty.capacity > BATCH);
}

#[test]
fn only_priorities_other_than_data_are_stated() {
    let mut tx = half();
    push(&mut tx, Priority::RealTime, b"a").unwrap();
    assert_eq!(only_batch(&mut tx), [vec![0xa5, 0, 0x31, 1], encoded(b"a")].concat());
}

#[test]
fn another_reliability_is_another_frame_of_the_batch() {
    let mut tx = half();
    for (reliability, payload) in [
        (Reliability::Reliable, b"a"),
        (Reliability::BestEffort, b"b"),
        (Reliability::Reliable, b"c"),
    ] {
        tx.push(Priority::Data, reliability, &put(payload)).unwrap();
    }
    let expected =
        [&[0x25, 0][..], &encoded(b"a"), &[0x05, 0], &encoded(b"b"), &[0x25, 1], &encoded(b"c")];
    assert_eq!(only_batch(&mut tx), expected.concat());
}

#[test]
fn without_qos_there_is_one_lane_and_one_frame_a_batch() {
    let mut tx = TxHalf::new(&negotiated(false), &TxConfig::default());
    push(&mut tx, Priority::RealTime, b"a").unwrap();
    push(&mut tx, Priority::Background, b"b").unwrap();
    tx.push(Priority::Data, Reliability::BestEffort, &put(b"c")).unwrap();
    let expected = [
        [vec![0x25, 0], encoded(b"a"), encoded(b"b")].concat(),
        [vec![0x05, 0], encoded(b"c")].concat(),
    ];
    assert_eq!(batches(&mut tx), expected);
}

#[test]
fn without_batching_every_message_has_a_batch() {
    let mut tx = half_with(TxConfig { batching: false, ..TxConfig::default() });
    data(&mut tx, b"a").unwrap();
    data(&mut tx, b"b").unwrap();
    let expected =
        [[vec![0x25, 0], encoded(b"a")].concat(), [vec![0x25, 1], encoded(b"b")].concat()];
    assert_eq!(batches(&mut tx), expected);
}

#[test]
fn a_batch_is_filled_to_its_last_byte() {
    for excess in [0, 1] {
        let mut tx = half();
        data(&mut tx, b"first").unwrap();
        let rest = BATCH - 2 - (PUT_LEN + 5) - PUT_LEN + excess;
        data(&mut tx, &vec![0; rest]).unwrap();
        let lens: Vec<_> = batches(&mut tx).iter().map(Vec::len).collect();
        if excess == 0 {
            assert_eq!(lens, [BATCH]);
        } else {
            assert_eq!(lens, [2 + PUT_LEN + 5, 2 + PUT_LEN + rest]);
        }
    }
}

#[test]
fn what_fits_no_batch_is_too_big() {
    let mut tx = half();
    let fits = BATCH - 2 - PUT_LEN;
    assert_eq!(data(&mut tx, &vec![0; fits + 1]), Err(PushError::TooBig));
    assert!(tx.is_empty());
    data(&mut tx, &vec![0; fits]).unwrap();
    assert_eq!(only_batch(&mut tx).len(), BATCH);
    assert!(!tx.has_room(Priority::Data, BATCH));
}

#[test]
fn a_full_lane_refuses_and_leaves_no_trace() {
    let mut tx = half();
    let whole = vec![0; BATCH - 2 - PUT_LEN];
    data(&mut tx, &whole).unwrap();
    data(&mut tx, &whole).unwrap();
    assert!(!tx.has_room(Priority::Data, 1));
    assert_eq!(data(&mut tx, b""), Err(PushError::Full));
    assert_eq!(tx.stats().messages, 2);
    push(&mut tx, Priority::DataHigh, &whole[2..]).unwrap();
    assert_eq!(only_batch(&mut tx)[..4], [0xa5, 0, 0x31, 4]);
    assert_eq!(batches(&mut tx).len(), 2);
    assert!(tx.has_room(Priority::Data, 1));
    data(&mut tx, b"").unwrap();
    assert_eq!(only_batch(&mut tx)[..2], [0x25, 2], "the refused message took no SN");
}

#[test]
fn a_message_that_is_refused_leaves_the_open_batch_open() {
    let mut tx = half_with(TxConfig { queue_batches: [1; 8], ..TxConfig::default() });
    data(&mut tx, b"a").unwrap();
    assert_eq!(data(&mut tx, &[0; 30]), Err(PushError::Full));
    data(&mut tx, b"b").unwrap();
    assert_eq!(only_batch(&mut tx), [vec![0x25, 0], encoded(b"a"), encoded(b"b")].concat());
}

#[test]
fn queue_sizes_are_clamped() {
    let whole = vec![0; BATCH - 2 - PUT_LEN];
    for (queue, capacity) in [(0, 1), (3, 3), (200, usize::from(QUEUE_BATCHES_MAX))] {
        let mut tx = half_with(TxConfig { queue_batches: [queue; 8], ..TxConfig::default() });
        let accepted = (0..1000).take_while(|_| data(&mut tx, &whole).is_ok()).count();
        assert_eq!(accepted, capacity);
    }
}

#[test]
fn lanes_leave_by_urgency() {
    let mut tx = half();
    for priority in Priority::ALL.iter().rev() {
        push(&mut tx, *priority, b"x").unwrap();
    }
    for priority in Priority::ALL {
        let chunk = tx.take().unwrap();
        assert_eq!(chunk.priority(), priority);
        tx.recycle(chunk);
    }
    assert!(tx.take().is_none());
}

#[test]
fn control_messages_have_a_backlog_of_their_own() {
    for qos in [true, false] {
        let backlog = 100 * (PREFIX_LEN + BATCH);
        let config = TxConfig { control_backlog_max: backlog, ..TxConfig::default() };
        let mut tx = TxHalf::new(&negotiated(qos), &config);
        let whole = vec![0; BATCH - 4 - PUT_LEN];
        let accepted = (0..1000).take_while(|_| push(&mut tx, Priority::Control, &whole).is_ok());
        let expected = if qos { 100 } else { backlog / (PREFIX_LEN + BATCH - 2) };
        assert_eq!(accepted.count(), expected);
        if !qos {
            assert_eq!(data(&mut tx, b""), Err(PushError::Full));
        }
        let mut chunk = tx.take().unwrap();
        assert_eq!(chunk.batches().count(), expected);
        tx.recycle(chunk);
        assert!(tx.spare.capacity() <= 2 * (PREFIX_LEN + BATCH), "the long buffer is freed");
    }
}

#[test]
fn an_idle_half_that_compresses_holds_no_buffer() {
    let negotiated = Negotiated { compression: true, ..negotiated(true) };
    let mut tx = TxHalf::new(&negotiated, &TxConfig::default());
    for _ in 0..2 {
        data(&mut tx, b"a").unwrap();
        let mut chunk = tx.take().unwrap();
        assert_eq!(chunk.batches().next().unwrap()[..2], [0, 0x25], "a header, then the FRAME");
        tx.recycle(chunk);
        assert!(tx.compressor.is_some());
        tx.release_idle();
        assert_eq!(tx.buffered(), 0);
        assert!(tx.compressor.is_none());
    }
}

#[test]
fn keep_alive_is_a_batch_of_its_own_if_nothing_else_is_in_line() {
    let mut tx = half();
    tx.keep_alive();
    assert_eq!(only_batch(&mut tx), [0x04]);
    data(&mut tx, b"a").unwrap();
    tx.keep_alive();
    assert_eq!(only_batch(&mut tx), [vec![0x25, 0], encoded(b"a")].concat());
    assert!(tx.is_empty());
}

#[test]
fn close_comes_last_and_nothing_after_it() {
    let mut tx = half();
    push(&mut tx, Priority::Background, b"a").unwrap();
    tx.close(CloseReason::UNRESPONSIVE);
    tx.close(CloseReason::GENERIC);
    assert_eq!(data(&mut tx, b"b"), Err(PushError::Closed));
    assert_eq!(push(&mut tx, Priority::Background, b"b"), Err(PushError::Closed));
    tx.keep_alive();
    let background = [vec![0xa5, 0, 0x31, 7], encoded(b"a")].concat();
    assert_eq!(batches(&mut tx), [background, vec![0x03, 6]]);
    assert!(tx.take().is_none());
}

#[test]
fn close_has_room_in_a_full_lane() {
    let mut tx = TxHalf::new(&negotiated(false), &TxConfig::default());
    while data(&mut tx, b"").is_ok() {}
    tx.close(CloseReason::GENERIC);
    assert_eq!(batches(&mut tx).last().unwrap(), &[0x03, 0]);
}

#[test]
fn buffers_are_used_again() {
    let mut tx = half();
    let mut seen = Vec::new();
    for _ in 0..10 {
        data(&mut tx, b"a").unwrap();
        let mut chunk = tx.take().unwrap();
        data(&mut tx, b"b").unwrap();
        seen.push(chunk.bytes().as_ptr());
        tx.recycle(chunk);
        let mut chunk = tx.take().unwrap();
        seen.push(chunk.bytes().as_ptr());
        tx.recycle(chunk);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 2);
}

#[test]
fn an_idle_half_is_small_and_holds_no_buffer() {
    assert!(size_of::<TxHalf>() <= 704, "{} bytes", size_of::<TxHalf>());
    assert_eq!(size_of::<Lane>(), 64, "one cache line");
    let mut tx = half();
    assert_eq!(tx.buffered(), 0);
    data(&mut tx, b"a").unwrap();
    assert_eq!(tx.buffered(), 2 * (PREFIX_LEN + BATCH));
    let chunk = tx.take().unwrap();
    data(&mut tx, b"b").unwrap();
    tx.recycle(chunk);
    tx.release_idle();
    assert_eq!(tx.buffered(), 2 * (PREFIX_LEN + BATCH), "the lane in use keeps its buffer");
    batches(&mut tx);
    tx.release_idle();
    assert_eq!(tx.buffered(), 0);
}

#[test]
fn clear_forgets_everything_but_the_sns() {
    let mut tx = half();
    data(&mut tx, b"a").unwrap();
    let big = vec![0; 200];
    let message = put(&big);
    let mut cursor = FragmentCursor::new(Priority::RealTime, Reliability::Reliable, &message);
    assert_eq!(tx.push_fragments(&mut cursor), Ok(FragmentStep::Full));
    tx.clear();
    assert!(tx.take().is_none());
    assert_eq!((tx.pending_bytes(), tx.buffered()), (0, 0));
    assert_eq!(tx.push_fragments(&mut cursor), Err(PushError::Closed));
    push(&mut tx, Priority::RealTime, b"b").unwrap();
    tx.abort_fragments(cursor);
    batches(&mut tx);
    data(&mut tx, b"b").unwrap();
    assert_eq!(only_batch(&mut tx)[..2], [0x25, 1]);
}

#[test]
#[should_panic(expected = "no FRAGMENT fits")]
fn a_batch_size_that_cannot_work_is_a_bug() {
    let _ = TxHalf::new(&Negotiated { batch_size: 13, ..negotiated(true) }, &TxConfig::default());
}

/// Flags, SN, extensions and payload of a reliable FRAGMENT of priority Data.
fn fragment(batch: &[u8]) -> (u8, u8, &[u8], &[u8]) {
    let (header, sn) = (batch[0], batch[1]);
    assert_eq!(header & 0x3f, 0x26);
    let exts = usize::from(header >> 7);
    (header & 0x40, sn, &batch[2..2 + exts], &batch[2 + exts..])
}

#[test]
fn fragments_fill_their_batches_and_mark_the_first() {
    let mut tx = half();
    let payload: Vec<u8> = (0..50).collect();
    let message = put(&payload);
    let mut cursor = FragmentCursor::new(Priority::Data, Reliability::Reliable, &message);
    assert_eq!(tx.push_fragments(&mut cursor), Ok(FragmentStep::Done));
    assert_eq!(cursor.remaining(), 0);
    let batches = batches(&mut tx);
    let (more, sn, exts, first) = fragment(&batches[0]);
    assert_eq!((more, sn, exts, batches[0].len()), (0x40, 0, &[0x02][..], BATCH));
    let (more, sn, exts, last) = fragment(&batches[1]);
    assert_eq!((more, sn, exts, batches.len()), (0, 1, &[][..], 2));
    assert_eq!([first, last].concat(), encoded(&payload));
    assert_eq!(tx.stats().messages, 1);
}

#[test]
fn without_patch_there_are_no_markers() {
    let mut tx = TxHalf::new(&Negotiated { patch: 0, ..negotiated(true) }, &TxConfig::default());
    let message = put(&[7; 100]);
    let mut cursor = FragmentCursor::new(Priority::Data, Reliability::Reliable, &message);
    assert_eq!(tx.push_fragments(&mut cursor), Ok(FragmentStep::Full));
    assert_eq!(fragment(&batches(&mut tx)[0]).2, []);
    tx.abort_fragments(cursor);
    assert_eq!(only_batch(&mut tx), [0x26, 2], "an end that the message does not have");
}

#[test]
fn a_fragmented_message_owns_its_lane_until_done() {
    let mut tx = half();
    data(&mut tx, b"before").unwrap();
    let message = put(&[7; 200]);
    let other = put(&[8; 200]);
    let mut cursor = FragmentCursor::new(Priority::Data, Reliability::Reliable, &message);
    let mut waiting = FragmentCursor::new(Priority::Data, Reliability::BestEffort, &other);
    let mut all = Vec::new();
    while tx.push_fragments(&mut cursor) == Ok(FragmentStep::Full) {
        assert_eq!(data(&mut tx, b"x"), Err(PushError::Full));
        assert!(!tx.has_room(Priority::Data, 1));
        assert_eq!(tx.push_fragments(&mut waiting), Err(PushError::Full));
        push(&mut tx, Priority::DataLow, b"x").unwrap();
        all.extend(batches(&mut tx));
    }
    data(&mut tx, b"after").unwrap();
    all.extend(batches(&mut tx));
    assert_eq!(all[0], [vec![0x25, 0], encoded(b"before")].concat());
    let sns: Vec<_> = all.iter().map(|batch| batch[1]).collect();
    assert_eq!(sns, (0..all.len() as u8).collect::<Vec<_>>());
    assert!(all[1..all.len() - 2].iter().all(|batch| batch.len() == BATCH));
    assert_eq!(tx.push_fragments(&mut waiting), Ok(FragmentStep::Full));
}

#[test]
fn an_abandoned_message_is_dropped_at_the_peer_too() {
    let mut tx = half();
    let message = put(&[7; 200]);
    let mut cursor = FragmentCursor::new(Priority::Data, Reliability::Reliable, &message);
    assert_eq!(tx.push_fragments(&mut cursor), Ok(FragmentStep::Full));
    tx.abort_fragments(cursor);
    let sent = batches(&mut tx);
    assert_eq!(sent.last().unwrap(), &[0xa6, sent.len() as u8 - 1, 0x03]);
    data(&mut tx, b"next").unwrap();
    assert_eq!(tx.stats().messages, 1);
}

#[test]
fn a_message_abandoned_before_its_first_fragment_leaves_no_trace() {
    let mut tx = half();
    while data(&mut tx, &[0; 20]).is_ok() {}
    let batches_before = tx.stats().batches;
    let message = put(&[7; 200]);
    let mut cursor = FragmentCursor::new(Priority::Data, Reliability::Reliable, &message);
    assert_eq!(tx.push_fragments(&mut cursor), Ok(FragmentStep::Full));
    assert_eq!(cursor.remaining(), encoded(&[7; 200]).len());
    tx.abort_fragments(cursor);
    let sent = batches(&mut tx);
    assert_eq!(tx.stats().batches - batches_before, 1, "only the open batch was sealed");
    data(&mut tx, b"next").unwrap();
    assert_eq!(usize::from(only_batch(&mut tx)[1]), sent.len());
}

#[test]
fn closing_ends_a_fragmented_message() {
    let mut tx = half();
    let message = put(&[7; 200]);
    let mut cursor = FragmentCursor::new(Priority::Background, Reliability::Reliable, &message);
    assert_eq!(tx.push_fragments(&mut cursor), Ok(FragmentStep::Full));
    tx.close(CloseReason::GENERIC);
    assert_eq!(tx.push_fragments(&mut cursor), Err(PushError::Closed));
    tx.abort_fragments(cursor);
    assert_eq!(batches(&mut tx).last().unwrap(), &[0x03, 0]);
}

#[test]
fn a_gather_refers_to_payloads_and_copies_the_rest() {
    let payload = vec![9; 100];
    let message = put(&payload);
    let gather = Gather::of(&message);
    let parts: Vec<_> = gather.parts().collect();
    assert_eq!(parts.concat(), encoded(&payload));
    assert_eq!(gather.len(), encoded(&payload).len());
    assert_eq!(parts.last().unwrap().as_ptr(), payload.as_ptr());
    assert!(Gather::default().is_empty());
}

#[test]
fn errors_read_well() {
    let text = |error: PushError| -> String { std::format!("{error}") };
    assert_eq!(text(PushError::TooBig), "the message does not fit one batch");
}
