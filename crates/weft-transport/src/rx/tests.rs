//! What a receiver accepts, discards and refuses: the rows of 01 §5.3 to §5.6.

use super::*;
use alloc::vec;
use std::string::{String, ToString};
use weft_wire::{Bits, Encode, Push, PushBody, WhatAmI, WireExpr, ZenohId};

fn negotiated(qos: bool, patch: u8) -> Negotiated {
    Negotiated {
        zid: ZenohId::from_le_bytes(&[1]).unwrap(),
        whatami: WhatAmI::Peer,
        qos,
        compression: false,
        sn_mask: Bits::U8.sn_mask(),
        batch_size: 1000,
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

fn half() -> RxHalf {
    RxHalf::new(&negotiated(true, 1), RxLimits::default())
}

fn half_with(patch: u8, limits: RxLimits) -> RxHalf {
    RxHalf::new(&negotiated(true, patch), limits)
}

fn push(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Push::put(WireExpr::full("k"), text.as_bytes()).encode(&mut bytes).unwrap();
    bytes
}

/// A reliable FRAME of priority Data with one message.
fn frame(sn: u8, text: &str) -> Vec<u8> {
    [vec![0x25, sn], push(text)].concat()
}

const MORE: u8 = 0x40;
const FIRST: &[u8] = &[0x02];
const DROP: &[u8] = &[0x03];

/// A reliable FRAGMENT of priority Data: flags, SN, at most one extension, payload.
fn fragment(flags: u8, sn: u8, ext: &[u8], payload: &[u8]) -> Vec<u8> {
    let z = if ext.is_empty() { 0 } else { 0x80 };
    [&[0x26 | flags | z, sn], ext, payload].concat()
}

/// The payloads of the samples in a batch; `keep-alive`, `close` for the other items.
fn read(half: &mut RxHalf, batch: &[u8]) -> Result<Vec<String>, RxError> {
    let mut seen = Vec::new();
    let mut items = half.batch(batch);
    while let Some(item) = items.next()? {
        seen.push(match item {
            RxItem::Sample { .. } | RxItem::Assembled { .. } => {
                let push = item.to_push().expect("only samples are sent here");
                let PushBody::Put(put) = push.body else { panic!("not a put") };
                if let RxItem::Sample { raw_body, .. } = item {
                    assert!(raw_body.ends_with(put.payload));
                }
                String::from_utf8(put.payload.to_vec()).unwrap()
            }
            RxItem::KeepAlive => "keep-alive".to_string(),
            RxItem::Close { .. } => "close".to_string(),
            item @ RxItem::Message { .. } => panic!("unexpected {item:?}"),
        });
    }
    Ok(seen)
}

fn text_of(half: &mut RxHalf, batch: &[u8]) -> String {
    read(half, batch).unwrap().join(" ")
}

#[test]
fn repeated_old_and_far_ahead_frames_are_discarded_whole() {
    let mut half = half();
    assert_eq!(text_of(&mut half, &frame(0, "a")), "a");
    assert_eq!(text_of(&mut half, &frame(0, "again")), "");
    assert_eq!(text_of(&mut half, &frame(0x7f, "old")), "");
    assert_eq!(text_of(&mut half, &frame(64, "far")), "");
    let two_messages = [frame(0, "again"), push("too"), frame(1, "b")].concat();
    assert_eq!(text_of(&mut half, &two_messages), "b");
    assert_eq!(half.discarded(), 4);
}

#[test]
fn gaps_are_accepted_and_the_circle_closes() {
    let mut half = half();
    for sn in [0, 2, 63, 64, 127, 0, 1, 64] {
        assert_eq!(text_of(&mut half, &frame(sn, "x")), "x", "SN {sn}");
    }
    assert_eq!(half.discarded(), 0);
}

#[test]
fn channels_count_by_themselves() {
    let mut half = half();
    for priority in 0..8 {
        for header in [0x85, 0xa5] {
            let batch = [vec![header, 0, 0x31, priority], push("x")].concat();
            assert_eq!(text_of(&mut half, &batch), "x");
            assert_eq!(text_of(&mut half, &batch), "");
        }
    }
}

#[test]
fn the_channel_of_a_message_is_told() {
    let mut half = half();
    let batch = [vec![0x85, 0, 0x31, 1], push("x")].concat();
    let mut items = half.batch(&batch);
    let Ok(Some(RxItem::Sample { reliability, priority, .. })) = items.next() else {
        panic!("no message")
    };
    assert_eq!((reliability, priority), (Reliability::BestEffort, Priority::RealTime));
}

#[test]
fn an_sn_beyond_the_resolution_ends_the_link() {
    let batch = [vec![0x25, 0x80, 0x01], push("x")].concat();
    assert_eq!(read(&mut half(), &batch), Err(RxError::SnOutOfRange { sn: 128 }));
    let fragment = [0x26, 0x80, 0x01, 0];
    assert_eq!(read(&mut half(), &fragment), Err(RxError::SnOutOfRange { sn: 128 }));
}

#[test]
fn without_qos_there_is_only_one_priority() {
    let mut half = RxHalf::new(&negotiated(false, 1), RxLimits::default());
    assert_eq!(text_of(&mut half, &frame(0, "a")), "a");
    let data = [vec![0xa5, 1, 0x31, 5], push("b")].concat();
    assert_eq!(text_of(&mut half, &data), "b");
    let real_time = [vec![0xa5, 2, 0x31, 1], push("c")].concat();
    let priority = Priority::RealTime;
    assert_eq!(read(&mut half, &real_time), Err(RxError::PriorityWithoutQos { priority }));
}

#[test]
fn a_batch_may_mix_everything() {
    let best_effort = [vec![0x05, 0], push("b")].concat();
    let batch =
        [frame(0, "a"), push("aa"), best_effort, vec![0x04], frame(1, "c"), vec![0x03, 0]].concat();
    assert_eq!(text_of(&mut half(), &batch), "a aa b keep-alive c close");
}

#[test]
fn close_tells_reason_and_extent_and_nothing_follows() {
    for (header, session) in [(0x03, false), (0x23, true)] {
        let mut half = half();
        let batch = [vec![header, 9], frame(0, "never")].concat();
        let mut items = half.batch(&batch);
        let close = RxItem::Close { session, reason: CloseReason(9) };
        assert_eq!(items.next(), Ok(Some(close)));
        assert_eq!(items.next(), Ok(None));
    }
}

#[test]
fn messages_without_a_meaning_here_are_skipped() {
    let init = [0x01, 9, 0x02, 0x77];
    let open = [0x62, 10, 0];
    let join = [0x07, 9, 0x02, 0x77, 10, 0, 0];
    let oam = [0x20, 1, 5];
    let keep_alive_with_extension = [0x84, 0x45, 1, 7];
    let batch = [&init[..], &open, &join, &oam, &keep_alive_with_extension, &frame(0, "a")];
    assert_eq!(text_of(&mut half(), &batch.concat()), "keep-alive a");
}

#[test]
fn what_cannot_be_decoded_ends_the_link() {
    let malformed = |batch: &[u8]| match read(&mut half(), batch) {
        Err(RxError::Malformed(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(malformed(&[0x08]), DecodeError::UnknownMessage { id: 8, offset: 0 });
    assert_eq!(malformed(&[4, 0x18]), DecodeError::UnknownMessage { id: 0x18, offset: 1 });
    let mandatory = DecodeError::UnknownMandatoryExtension { id: 0x1f, offset: 1 };
    assert_eq!(malformed(&[0x84, 0x1f]), mandatory);
    let mut cut = frame(0, "a");
    cut.pop();
    assert!(matches!(malformed(&cut), DecodeError::Truncated { .. }));
    // A network message is only known inside of a FRAME.
    assert_eq!(malformed(&push("a")), DecodeError::UnknownMessage { id: 0x1d, offset: 0 });
    // Its bytes must decode even in a FRAME that is discarded: how else to find the end.
    let mut half = half();
    text_of(&mut half, &frame(0, "a"));
    assert!(read(&mut half, &cut).is_err());
}

#[test]
fn a_batch_may_be_empty_and_a_frame_too() {
    assert_eq!(text_of(&mut half(), &[]), "");
    assert_eq!(text_of(&mut half(), &[0x25, 0, 0x25, 1]), "");
}

#[test]
fn fragments_make_a_message() {
    let mut half = half();
    let message = push("hello");
    let (head, tail) = message.split_at(3);
    let (middle, last) = tail.split_at(2);
    assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, head)), "");
    assert_eq!(text_of(&mut half, &fragment(MORE, 1, &[], middle)), "");
    assert_eq!(text_of(&mut half, &fragment(0, 2, &[], last)), "hello");
    // The reference leaves out one SN after each fragmented message.
    assert_eq!(text_of(&mut half, &frame(4, "next")), "next");
    assert_eq!(half.discarded(), 0);
}

#[test]
fn a_fragment_may_be_first_and_last_and_follow_a_frame() {
    let mut half = half();
    let batch = [frame(0, "a"), fragment(0, 1, FIRST, &push("b"))].concat();
    assert_eq!(text_of(&mut half, &batch), "a b");
}

#[test]
fn a_fragment_takes_the_rest_of_its_batch() {
    let mut half = half();
    let message = push("hello");
    let (head, tail) = message.split_at(3);
    let swallowed = [fragment(MORE, 0, FIRST, head), fragment(0, 1, &[], tail)].concat();
    assert_eq!(text_of(&mut half, &swallowed), "");
    // What was put together is no message any more; the link stays.
    assert_eq!(text_of(&mut half, &fragment(0, 1, &[], tail)), "");
    assert_eq!((half.discarded(), half.held(), half.assembled.as_ref()), (1, 0, None));
    assert_eq!(text_of(&mut half, &frame(2, "next")), "next");
}

#[test]
fn channels_reassemble_by_themselves() {
    let mut half = half();
    let (a, b) = (push("a"), push("b"));
    let best_effort = |flags: u8, sn: u8, ext: &[u8], payload: &[u8]| {
        let mut bytes = fragment(flags, sn, ext, payload);
        bytes[0] &= !0x20;
        bytes
    };
    assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &a[..2])), "");
    assert_eq!(text_of(&mut half, &best_effort(MORE, 0, FIRST, &b[..2])), "");
    assert_eq!(text_of(&mut half, &fragment(0, 1, &[], &a[2..])), "a");
    assert_eq!(text_of(&mut half, &best_effort(0, 1, &[], &b[2..])), "b");
}

#[test]
fn a_lost_fragment_loses_its_message_only() {
    for patch in [0, 1] {
        let mut half = half_with(patch, RxLimits::default());
        let message = push("hello");
        assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &message[..2])), "");
        assert_eq!(text_of(&mut half, &fragment(MORE, 2, &[], &message[4..6])), "");
        assert_eq!(text_of(&mut half, &fragment(0, 3, &[], &message[6..])), "");
        assert_eq!(half.discarded(), 2);
        assert_eq!(text_of(&mut half, &fragment(MORE, 4, FIRST, &message[..2])), "");
        assert_eq!(text_of(&mut half, &fragment(0, 5, &[], &message[2..])), "hello");
    }
}

#[test]
fn the_rest_of_a_lost_message_is_not_taken_for_a_message() {
    for patch in [0, 1] {
        let mut half = half_with(patch, RxLimits::default());
        assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, b"whatever")), "");
        assert_eq!(text_of(&mut half, &fragment(MORE, 2, &[], b"whatever")), "");
        assert_eq!(text_of(&mut half, &fragment(0, 3, &[], &push("smuggled"))), "");
    }
}

#[test]
fn a_discarded_fragment_changes_nothing() {
    let mut half = half();
    let message = push("hello");
    assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &message[..2])), "");
    assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, b"repeated")), "");
    assert_eq!(text_of(&mut half, &fragment(0, 1, &[], &message[2..])), "hello");
    assert_eq!(half.discarded(), 1);
}

#[test]
fn first_begins_anew() {
    let mut half = half();
    let message = push("hello");
    assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, b"given up")), "");
    assert_eq!(text_of(&mut half, &fragment(MORE, 1, FIRST, &message[..2])), "");
    assert_eq!(text_of(&mut half, &fragment(0, 2, &[], &message[2..])), "hello");
}

#[test]
fn without_first_there_is_nothing_to_continue() {
    let mut half = half();
    assert_eq!(text_of(&mut half, &fragment(0, 0, &[], &push("x"))), "");
    assert_eq!(half.discarded(), 1);
    let mut half = half_with(0, RxLimits::default());
    assert_eq!(text_of(&mut half, &fragment(0, 0, &[], &push("x"))), "x");
}

#[test]
fn drop_forgets_what_came_before() {
    let mut half = half();
    let message = push("hello");
    assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &message[..2])), "");
    assert_eq!(text_of(&mut half, &fragment(0, 1, DROP, &[])), "");
    assert_eq!(text_of(&mut half, &fragment(0, 2, &[], &message[2..])), "");
    assert!(half.reassembly.is_empty());
    assert_eq!(text_of(&mut half, &frame(3, "next")), "next");
}

#[test]
fn a_frame_in_between_is_delivered_and_breaks_the_reassembly() {
    for patch in [0, 1] {
        let mut half = half_with(patch, RxLimits::default());
        let message = push("hello");
        assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &message[..2])), "");
        assert_eq!(text_of(&mut half, &frame(1, "between")), "between");
        assert_eq!(text_of(&mut half, &fragment(0, 2, &[], &message[2..])), "");
        // Without markers, this is how a peer gives up a message: the next one is complete.
        assert_eq!(text_of(&mut half, &fragment(MORE, 3, FIRST, &message[..2])), "");
        assert_eq!(text_of(&mut half, &fragment(0, 4, &[], &message[2..])), "hello");
    }
}

#[test]
fn a_message_over_the_limit_is_discarded() {
    let message = push("hello");
    for patch in [0, 1] {
        let limit = |message_size_max| RxLimits { message_size_max, total_size_max: 1000 };
        let mut half = half_with(patch, limit(message.len()));
        assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &message[..4])), "");
        assert_eq!(text_of(&mut half, &fragment(0, 1, &[], &message[4..])), "hello");
        let mut half = half_with(patch, limit(message.len() - 1));
        assert_eq!(text_of(&mut half, &fragment(MORE, 0, FIRST, &message[..4])), "");
        assert_eq!(text_of(&mut half, &fragment(0, 1, &[], &message[4..])), "");
        assert_eq!(text_of(&mut half, &frame(2, "next")), "next");
        assert_eq!(half.discarded(), 1);
    }
}

#[test]
fn all_channels_share_a_limit() {
    let limits = RxLimits { message_size_max: 100, total_size_max: 100 };
    let mut half = half_with(1, limits);
    let start =
        |priority: u8, len: usize| [vec![0xe6, 0, 0xb1, priority, 0x02], vec![0; len]].concat();
    for priority in 0..4 {
        assert_eq!(text_of(&mut half, &start(priority, 25)), "");
    }
    assert_eq!(half.discarded(), 0);
    assert_eq!(text_of(&mut half, &start(4, 1)), "");
    assert_eq!(half.discarded(), 1, "the hundred-and-first byte");
    let give_up = [0xa6, 1, 0xb1, 0, 0x03];
    assert_eq!(text_of(&mut half, &give_up), "");
    let message = push("x");
    assert_eq!(text_of(&mut half, &[&[0xa6, 1, 0xb1, 4, 0x02][..], &message].concat()), "x");
}

/// Sends a sample of `len` bytes in two fragments from `sn` on; returns the buffer it came in.
fn large(half: &mut RxHalf, sn: u8, len: usize) -> Arc<Vec<u8>> {
    let message = push(&"x".repeat(len));
    let (head, tail) = message.split_at(len / 2);
    assert_eq!(text_of(half, &fragment(MORE, sn, FIRST, head)), "");
    let batch = fragment(0, sn + 1, &[], tail);
    let mut items = half.batch(&batch);
    let Ok(Some(RxItem::Assembled { bytes, .. })) = items.next() else { panic!("no message") };
    assert_eq!(**bytes, message);
    let bytes = Arc::clone(bytes);
    assert_eq!(items.next(), Ok(None));
    bytes
}

#[test]
fn a_buffer_is_used_again_when_everybody_has_let_go_of_it() {
    const LEN: usize = 1 << 20;
    let mut half = half();
    let first = large(&mut half, 0, LEN);
    let (first_at, second) = (first.as_ptr(), large(&mut half, 2, LEN));
    assert_ne!(second.as_ptr(), first_at, "the first one is still in use");
    drop(first);
    assert_eq!(large(&mut half, 4, LEN).as_ptr(), first_at);
}

#[test]
fn buffers_go_when_there_are_no_large_messages_any_more() {
    const LEN: usize = 9 << 20;
    let mut half = half();
    large(&mut half, 0, LEN);
    let kept = half.reassembly.kept();
    assert!(kept >= LEN, "one is kept, however large");
    large(&mut half, 2, LEN);
    assert_eq!(half.reassembly.kept(), kept, "and not another one");
    half.release_unused();
    assert_eq!(half.reassembly.kept(), kept, "it was in use until now");
    half.release_unused();
    assert_eq!(half.reassembly.kept(), 0);

    large(&mut half, 4, LEN);
    large(&mut half, 6, 1000);
    assert!(half.reassembly.kept() < LEN, "too large for what comes now");

    large(&mut half, 8, LEN);
    for sn in 0..4096_u32 {
        assert!(half.reassembly.kept() > 0);
        assert_eq!(text_of(&mut half, &frame(10 + (sn % 100) as u8, "x")), "x");
    }
    assert_eq!(half.reassembly.kept(), 0);
}

#[test]
fn an_idle_half_is_small() {
    assert!(size_of::<RxHalf>() <= 512, "{} bytes", size_of::<RxHalf>());
    assert_eq!(half().reassembly.kept(), 0);
}

/// Whether each sample of a batch is given as similar to the one before.
fn similar_of(half: &mut RxHalf, batch: &[u8]) -> Vec<bool> {
    let mut seen = Vec::new();
    let mut items = half.batch(batch);
    while let Some(item) = items.next().unwrap() {
        let RxItem::Sample { similar, .. } = item else { panic!("unexpected {item:?}") };
        seen.push(similar);
    }
    seen
}

#[test]
fn a_sample_is_like_the_one_that_was_given_before() {
    let mut half = half();
    let batch = [frame(0, "a"), push("b"), frame(1, "c")].concat();
    assert_eq!(similar_of(&mut half, &batch), [false, true, true]);
    // What an old FRAME holds is not given, so nothing is like it.
    let batch = [frame(2, "a"), frame(1, "old"), frame(3, "b"), push("c")].concat();
    assert_eq!(similar_of(&mut half, &batch), [false, false, true]);
}
