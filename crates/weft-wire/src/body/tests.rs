//! What the captured vectors do not show of data bodies: mostly extensions that nobody knows.

use super::*;
use crate::{
    Encoding, UnknownExts,
    testing::{decoded, encoded},
};

/// Three unknown extensions: an integer, bytes, a unit.
const UNKNOWN: [(u8, &[u8]); 3] = [(0x2a, b"\xac\x02"), (0x4b, b"\x02xy"), (0x0c, b"")];

/// A chain of extensions.
fn chain(exts: &[(u8, &[u8])]) -> std::vec::Vec<u8> {
    let mut bytes = std::vec![];
    for (index, (key, value)) in exts.iter().enumerate() {
        bytes.push(if index + 1 < exts.len() { key | 0x80 } else { *key });
        bytes.extend(*value);
    }
    bytes
}

/// Decodes a body of the given start, extensions and end; the unknown extensions have to come back behind the
/// known ones.
fn forward<'a, B>(
    head: &[u8],
    known: &[(u8, &[u8])],
    tail: &[u8],
    bytes: &'a mut std::vec::Vec<u8>,
) -> B
where
    B: Decode<'a> + Encode + Copy + core::fmt::Debug + PartialEq,
{
    let [first, second, third] = UNKNOWN;
    let mixed = [&[first], known, &[second, third]].concat();
    *bytes = [head, &chain(&mixed), tail].concat();
    let body: B = decoded(bytes).unwrap();
    let ordered = [known, &UNKNOWN].concat();
    assert_eq!(encoded(&body), [head, &chain(&ordered), tail].concat());
    body
}

fn assert_unknown(unknown: &UnknownExts<'_>) {
    assert!(!unknown.is_empty());
    assert!(unknown.iter().eq(UNKNOWN));
}

#[test]
fn unknown_extensions_are_forwarded_after_the_known_ones() {
    let source: (u8, &[u8]) = (0x41, b"\x04\x00\x77\x06\x07");
    let (tail, mut bytes) = (b"\x02hi", std::vec![]);

    let put = forward(b"\x81", &[source, (0x43, b"\x01A")], tail, &mut bytes);
    let PushBody::Put(put) = put else { panic!() };
    assert_unknown(&put.unknown);
    assert_eq!((put.attachment, put.payload), (Some(&b"A"[..]), &b"hi"[..]));

    let source_info = put.source_info;
    assert_eq!(source_info.unwrap().sn, 7);

    let del = forward(b"\x82", &[source, (0x42, b"\x01A")], b"", &mut bytes);
    let PushBody::Del(del) = del else { panic!() };
    assert_unknown(&del.unknown);
    assert_eq!((del.attachment, del.source_info), (Some(&b"A"[..]), source_info));

    let known = [source, (0x43, &b"\x02\x08p"[..]), (0x45, b"\x01A")];
    let RequestBody::Query(query) = forward(b"\xa3\x01", &known, b"", &mut bytes) else { panic!() };
    assert_unknown(&query.unknown);
    assert_eq!(query.body.unwrap().payload, b"p");

    let reply = forward(b"\x84", &[], b"\x02", &mut bytes);
    let ResponseBody::Reply(reply) = reply else { panic!() };
    assert_unknown(&reply.unknown);

    let error = forward(b"\x85", &[source], tail, &mut bytes);
    let ResponseBody::Err(error) = error else { panic!() };
    assert_unknown(&error.unknown);
    assert_eq!(error.payload, b"hi");
}

#[test]
fn unknown_extensions_compare_by_what_is_forwarded() {
    let put = |bytes| match decoded(bytes) {
        Ok(PushBody::Put(put)) => put,
        other => panic!("{other:?}"),
    };
    let plain = put(b"\x81\x43\x01A\x00");
    assert_eq!(plain.unknown, UnknownExts::EMPTY);
    let before = put(b"\x81\x8c\x43\x01A\x00");
    let after = put(b"\x81\xc3\x01A\x0c\x00");
    assert_eq!(before, after);
    assert_ne!(before, plain);
    assert_ne!(before, put(b"\x81\xc3\x01A\x0d\x00"));
}

#[test]
fn unknown_mandatory_extensions_are_refused() {
    let mandatory = |id| DecodeError::UnknownMandatoryExtension { id, offset: 1 };
    // The marker of shared memory, which is never offered.
    assert_eq!(decoded::<PushBody<'_>>(b"\x81\x12\x00"), Err(mandatory(0x12)));
    assert_eq!(decoded::<ResponseBody<'_>>(b"\x85\x12\x00"), Err(mandatory(0x12)));
    assert_eq!(decoded::<PushBody<'_>>(b"\x82\x3a\x00"), Err(mandatory(0x3a)));
    assert_eq!(decoded::<RequestBody<'_>>(b"\x83\x5a\x00"), Err(mandatory(0x5a)));
    assert_eq!(decoded::<ResponseBody<'_>>(b"\x84\x1a\x02"), Err(mandatory(0x1a)));
}

#[test]
fn the_attachment_has_another_key_in_each_body() {
    let PushBody::Put(put) = decoded(b"\x81\x42\x01A\x00").unwrap() else { panic!() };
    assert_eq!(put.attachment, None);
    assert!(put.unknown.iter().eq([(0x42, &b"\x01A"[..])]));
    let PushBody::Del(del) = decoded(b"\x82\x42\x01A").unwrap() else { panic!() };
    assert_eq!(del.attachment, Some(&b"A"[..]));
    assert!(del.unknown.is_empty());
}

#[test]
fn consolidation_numbers_beyond_the_known_mean_auto() {
    let consolidation = |bytes| match decoded(bytes) {
        Ok(RequestBody::Query(query)) => query.consolidation,
        other => panic!("{other:?}"),
    };
    assert_eq!(consolidation(b"\x03"), None);
    assert_eq!(consolidation(b"\x23\x00"), Some(Consolidation::Auto));
    assert_eq!(consolidation(b"\x23\x01"), Some(Consolidation::None));
    assert_eq!(consolidation(b"\x23\x02"), Some(Consolidation::Monotonic));
    assert_eq!(consolidation(b"\x23\x03"), Some(Consolidation::Latest));
    assert_eq!(consolidation(b"\x23\x04"), Some(Consolidation::Auto));
    let reply = Reply::new(PushBody::Del(Del::default()));
    let reply = Reply { consolidation: Some(Consolidation::Latest), ..reply };
    assert_eq!(encoded(&reply), b"\x24\x03\x02");
    assert_eq!(decoded(b"\x24\x03\x02"), Ok(ResponseBody::Reply(reply)));
}

#[test]
fn an_explicit_default_encoding_is_not_written_again() {
    let PushBody::Put(put) = decoded(b"\x41\x00\x01x").unwrap() else { panic!() };
    assert_eq!(put.encoding, Encoding::DEFAULT);
    assert_eq!(encoded(&put), b"\x01\x01x");
}

#[test]
fn bytes_of_a_known_extension_beyond_its_layout_are_ignored() {
    let PushBody::Del(del) = decoded(b"\x82\x41\x05\x00\x77\x06\x07\xff").unwrap() else {
        panic!()
    };
    assert_eq!(del.source_info.unwrap().sn, 7);
    assert_eq!(encoded(&del), b"\x82\x41\x04\x00\x77\x06\x07");
}

#[test]
fn a_length_beyond_the_input_is_truncated_and_reserves_nothing() {
    let truncated = DecodeError::Truncated { field: "payload", offset: 6 };
    assert_eq!(decoded::<PushBody<'_>>(b"\x01\xff\xff\xff\xff\x0f"), Err(truncated));
    let out_of_range = DecodeError::OutOfRange { field: "payload", offset: 1 };
    assert_eq!(decoded::<PushBody<'_>>(b"\x01\xff\xff\xff\xff\x1f"), Err(out_of_range));
}
