//! What was captured from the reference, round trips, and what must not get through.

use super::*;
use crate::Negotiated;
use crate::framing::{next_batch, write_batch};
use alloc::vec;
use proptest::collection::vec;
use proptest::prelude::*;
use weft_wire::{Bits, CloseReason, WhatAmI, ZenohId};

/// The batches of a stream, with their headers.
fn batches(stream: &[u8]) -> Vec<&[u8]> {
    let mut rest = stream;
    let mut batches = Vec::new();
    while let Some((range, consumed)) = next_batch(rest, u16::MAX).unwrap() {
        batches.push(&rest[range]);
        rest = &rest[consumed..];
    }
    assert!(rest.is_empty());
    batches
}

fn framed(batches: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for batch in batches {
        write_batch(batch, &mut stream);
    }
    stream
}

fn read(batch: &[u8], content_max: u16) -> Result<Vec<u8>, CompressionError> {
    Decompressor::new().batch(batch, content_max).map(<[u8]>::to_vec)
}

/// A block of 20 literals, and one of them again `matched` times.
fn bomb(matched: usize) -> Vec<u8> {
    let mut block = vec![BLOCK, 0xff, 5];
    block.extend([7; 20]);
    block.extend([1, 0]);
    let mut rest = matched - 19;
    while rest >= 255 {
        block.push(255);
        rest -= 255;
    }
    block.extend([rest as u8, 0]);
    block
}

/// A FRAME with a put of 300 times `A`, as the reference compresses it.
const CAPTURED: &[u8] =
    b"\x20\x00\x01\xff\x03\x25\x9c\xb9\xd4\x25\x7d\x00\x06demo/z\x01\xac\x02A\x01\x00\xff\x13\x60AAAAAA";

fn captured_content() -> Vec<u8> {
    [b"\x25\x9c\xb9\xd4\x25\x7d\x00\x06demo/z\x01\xac\x02", &[b'A'; 300][..]].concat()
}

#[test]
fn what_the_reference_compresses_is_read() {
    let [batch] = batches(CAPTURED)[..] else { panic!("one batch") };
    assert_eq!(read(batch, 317), Ok(captured_content()));
    assert_eq!(read(batch, 316), Err(CompressionError::ContentTooLong { max: 316 }));
}

#[test]
fn what_gets_no_shorter_stays_plain_as_with_the_reference() {
    let mut compressor = Compressor::default();
    let stream = compressor.stream(&[1, 0, 0x04, 2, 0, 0x03, 0x00]);
    assert_eq!(stream, [2, 0, 0, 0x04, 3, 0, 0, 0x03, 0x00], "KEEP_ALIVE, CLOSE");
    let mut out = Vec::new();
    write_plain_batch(&[0x04], &mut out);
    assert_eq!(out, [2, 0, 0, 0x04]);
}

#[test]
fn what_is_compressed_gets_as_short_as_with_the_reference() {
    let mut compressor = Compressor::default();
    let ours = compressor.stream(&framed(&[captured_content()])).to_vec();
    assert!(ours.len() <= CAPTURED.len() + 4, "{} bytes", ours.len());
    assert_eq!(read(batches(&ours)[0], u16::MAX), Ok(captured_content()));
}

#[test]
fn a_chunk_is_compressed_once_and_its_buffer_used_again() {
    let mut compressor = Compressor::default();
    let stream = framed(&[vec![7; 60_000], vec![8; 10]]);
    let first = compressor.stream(&stream).to_vec();
    let buffered = compressor.buffered();
    assert_eq!(compressor.stream(&stream), first);
    for _ in 0..3 {
        compressor.reset();
        assert_eq!(compressor.stream(&stream), first);
    }
    assert_eq!(compressor.buffered(), buffered);
}

#[test]
fn a_batch_has_a_header_without_unknown_bits() {
    assert_eq!(read(&[], 100), Err(CompressionError::NoHeader));
    assert_eq!(read(&[PLAIN], 100), Ok(vec![]), "a sign of life, as without compression");
    assert_eq!(read(&[PLAIN, 1, 2], 1), Ok(vec![1, 2]), "a plain batch is limited by its prefix");
    for header in 2..=255 {
        assert_eq!(read(&[header, 1], 100), Err(CompressionError::ReservedBits { header }));
    }
}

#[test]
fn no_block_gets_longer_than_agreed() {
    for content_max in [13, 300, 2048, u16::MAX] {
        let mut decompressor = Decompressor::new();
        let matched = 60_000 * 255;
        let refused = Err(CompressionError::ContentTooLong { max: content_max });
        assert_eq!(decompressor.batch(&bomb(matched), content_max), refused);
        assert!(decompressor.buf.capacity() <= usize::from(content_max));
    }
    assert_eq!(read(&bomb(280), 300), Ok(vec![7; 300]));
    assert_eq!(read(&bomb(281), 300), Err(CompressionError::ContentTooLong { max: 300 }));
}

#[test]
fn what_is_no_block_is_refused() {
    let malformed: [&[u8]; 7] = [
        &[],                       // not even a token
        &[0x10],                   // no literal
        &[0xf0],                   // no length
        &[0xf0, 255, 255],         // a length without end
        &[0x10, 7, 1],             // half an offset
        &[0x10, 7, 0, 0],          // an offset of 0
        &[0x10, 7, 2, 0, 0x10, 7], // an offset to before the start
    ];
    for payload in malformed {
        let batch = [&[BLOCK], payload].concat();
        assert_eq!(read(&batch, 1000), Err(CompressionError::Malformed), "{payload:?}");
    }
}

#[test]
fn a_captured_batch_that_was_cut_off_is_refused_or_shorter() {
    let [batch] = batches(CAPTURED)[..] else { panic!("one batch") };
    for len in 1..batch.len() {
        if let Ok(content) = read(&batch[..len], 317) {
            assert!(content.len() < 317 && captured_content().starts_with(&content), "{len}");
        }
    }
}

fn negotiated(compression: bool) -> Negotiated {
    Negotiated {
        zid: ZenohId::from_le_bytes(&[1]).unwrap(),
        whatami: WhatAmI::Peer,
        qos: true,
        compression,
        sn_mask: Bits::U32.sn_mask(),
        batch_size: 297,
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

#[test]
fn an_agreement_tells_how_batches_look() {
    let mut close = Vec::new();
    negotiated(true).write_close(CloseReason::MAX_LINKS, &mut close);
    assert_eq!(close, [PLAIN, 0x03, 0x04]);
    assert_eq!(negotiated(true).content_max(), Some(300), "with prefix and header: what INIT said");
    close.clear();
    negotiated(false).write_close(CloseReason::MAX_LINKS, &mut close);
    assert_eq!(close, [0x03, 0x04]);
    assert_eq!(negotiated(false).content_max(), None);
}

/// Batches of all kinds: random, of few values, of one value.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let len = prop_oneof![4 => 1..40_usize, 3 => 40..2000_usize, 1 => 60_000..65_533_usize];
    (len, prop_oneof![Just(0_u8), Just(1), Just(3), Just(0xff)], any::<u64>()).prop_map(
        |(len, mask, seed)| {
            let mut state = seed | 1;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8 & mask
            };
            (0..len).map(|_| next()).collect()
        },
    )
}

proptest! {
    #[test]
    fn what_is_compressed_is_read_and_never_grows_by_more_than_the_header(
        contents in vec(content(), 1..6),
    ) {
        let mut compressor = Compressor::default();
        let mut decompressor = Decompressor::new();
        let plain = framed(&contents);
        let stream = compressor.stream(&plain);
        prop_assert!(stream.len() <= plain.len() + contents.len() * HEADER_LEN);
        let batches = batches(stream);
        prop_assert_eq!(batches.len(), contents.len());
        for (batch, content) in batches.into_iter().zip(&contents) {
            let max = content.len() as u16;
            prop_assert_eq!(decompressor.batch(batch, max), Ok(&content[..]));
            if batch[0] == BLOCK {
                let too_long = Err(CompressionError::ContentTooLong { max: max - 1 });
                prop_assert_eq!(decompressor.batch(batch, max - 1), too_long);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(payload in vec(any::<u8>(), 0..200), max in 13..300_u16) {
        let batch = [&[BLOCK][..], &payload].concat();
        if let Ok(content) = read(&batch, max) {
            prop_assert!(content.len() <= usize::from(max));
        }
    }

    #[test]
    fn a_damaged_block_is_read_or_refused(
        content in content(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut compressor = Compressor::default();
        let mut stream = compressor.stream(&framed(&[content])).to_vec();
        let batch = &mut stream[PREFIX_LEN..];
        let at = at.index(batch.len());
        batch[at] = byte;
        if let Ok(content) = read(batch, 1000) {
            prop_assert!(content.len() <= 1000 || batch[0] == PLAIN);
        }
    }
}
