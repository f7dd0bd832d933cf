//! What the captured vectors do not show of transport messages.

use super::*;
use crate::{
    OamBody, Priority, Reliability, WhatAmI, ZenohId,
    testing::{decoded, encoded},
};

fn zid() -> ZenohId {
    "77".parse().unwrap()
}

fn init_syn<'a>() -> InitSyn<'a> {
    InitSyn {
        version: crate::VERSION,
        whatami: WhatAmI::Client,
        zid: zid(),
        resolution: Resolution::DEFAULT,
        batch_size: InitSyn::BATCH_SIZE_DEFAULT,
        exts: InitExts::default(),
    }
}

fn join<'a>() -> Join<'a> {
    Join {
        version: crate::VERSION,
        whatami: WhatAmI::Peer,
        zid: zid(),
        resolution: Resolution::DEFAULT,
        batch_size: Join::BATCH_SIZE_DEFAULT,
        lease_ms: 10_000,
        next_sn: NextSn { reliable: 1, best_effort: 2 },
        qos: None,
        shm: None,
        patch: 0,
    }
}

#[test]
fn sizes_are_written_when_one_differs_from_its_default() {
    assert_eq!(encoded(&init_syn()), b"\x01\x09\x02\x77");
    let smaller = InitSyn { batch_size: 2048, ..init_syn() };
    assert_eq!(encoded(&smaller), b"\x41\x09\x02\x77\x0a\x00\x08");
    let narrower = Resolution { fsn: Bits::U8, rid: Bits::U32 };
    let narrower = InitSyn { resolution: narrower, ..init_syn() };
    assert_eq!(encoded(&narrower), b"\x41\x09\x02\x77\x08\xff\xff");
    assert_eq!(encoded(&join()), b"\x27\x09\x01\x77\x0a\x01\x02");
    let smaller = Join { batch_size: 2048, lease_ms: 1500, patch: 1, ..join() };
    let bytes = b"\xc7\x09\x01\x77\x0a\x00\x08\xdc\x0b\x01\x02\x27\x01";
    assert_eq!(encoded(&smaller), bytes);
    assert_eq!(decoded(bytes), Ok(TransportMessage::Join(smaller)));
}

#[test]
fn all_extensions_of_init_are_written_in_order() {
    let exts = InitExts {
        qos: true,
        qos_link: Some(5),
        shm: Some(b"s"),
        auth: Some(b"a"),
        multilink: Some(b"m"),
        low_latency: true,
        compression: true,
        patch: 1,
        region_name: Some("r"),
        capabilities: 3,
    };
    let syn = InitSyn { exts, ..init_syn() };
    let bytes =
        b"\x81\x09\x02\x77\x81\xa1\x05\xc2\x01s\xc3\x01a\xc4\x01m\x85\x86\xa7\x01\xc8\x01r\x2e\x03";
    assert_eq!(encoded(&syn), bytes);
    assert_eq!(decoded(bytes), Ok(TransportMessage::InitSyn(syn)));
}

#[test]
fn every_extension_of_open_round_trips() {
    let exts = OpenExts {
        shm: Some(b"s"),
        auth: Some(b"a"),
        multilink: Some(b"m"),
        multilink_ack: true,
        remote_bound: Some(Bound::South),
    };
    let ack = OpenAck { lease_ms: 1, initial_sn: 2, exts };
    let bytes = b"\xa2\x01\x02\xc2\x01s\xc3\x01a\xc4\x01m\x84\x27\x01";
    assert_eq!(encoded(&ack), bytes);
    assert_eq!(decoded(bytes), Ok(TransportMessage::OpenAck(ack)));
    let syn = OpenSyn { lease_ms: 2000, initial_sn: 2, cookie: b"c", exts: OpenExts::default() };
    assert_eq!(encoded(&syn), b"\x42\x02\x02\x01c");
    assert_eq!(decoded(b"\x42\x02\x02\x01c"), Ok(TransportMessage::OpenSyn(syn)));
}

#[test]
fn a_wrong_content_of_an_extension_is_told_from_a_wrong_layout() {
    let invalid = |id, offset| Err(DecodeError::InvalidExtension { id, offset });
    let syn = |exts: &[u8]| {
        let bytes = [b"\x81\x09\x02\x77", exts].concat();
        decoded::<TransportMessage<'_>>(&bytes).map(|_| ())
    };
    assert_eq!(syn(b"\x48\x00"), invalid(0x48, 6));
    assert_eq!(syn(b"\x48\x01\xff"), invalid(0x48, 6));
    assert_eq!(syn(&[b"\x48\x20", [b'r'; 32].as_slice()].concat()), Ok(()));
    assert_eq!(syn(&[b"\x48\x21", [b'r'; 33].as_slice()].concat()), invalid(0x48, 6));
    let open = decoded::<TransportMessage<'_>>(b"\xe2\x0a\x00\x27\x05");
    assert_eq!(open.map(|_| ()), invalid(0x27, 4));
}

#[test]
fn who_sends_is_checked() {
    let mode = DecodeError::OutOfRange { field: "mode", offset: 2 };
    assert_eq!(decoded::<TransportMessage<'_>>(b"\x01\x09\x03\x77"), Err(mode));
    let zero = DecodeError::InvalidZid { offset: 3 };
    assert_eq!(decoded::<TransportMessage<'_>>(b"\x01\x09\x12\x00\x00"), Err(zero));
    let padded = TransportMessage::InitSyn(init_syn());
    assert_eq!(decoded(b"\x01\x09\x12\x77\x00"), Ok(padded));
    // The two bits between length and mode mean nothing.
    assert_eq!(decoded(b"\x01\x09\x0e\x77"), Ok(padded));
    // Another version is for the handshake to refuse.
    let old = TransportMessage::InitSyn(InitSyn { version: 8, ..init_syn() });
    assert_eq!(decoded(b"\x01\x08\x02\x77"), Ok(old));
}

#[test]
fn leases_and_patches_beyond_their_range_saturate() {
    let forever = b"\x62\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00";
    let Ok(TransportMessage::OpenAck(ack)) = decoded(forever) else { panic!() };
    assert_eq!(ack.lease_ms, u64::MAX);
    assert_eq!(decoded(&encoded(&ack)), Ok(TransportMessage::OpenAck(ack)));
    let none = b"\x62\x00\x00";
    let Ok(TransportMessage::OpenAck(ack)) = decoded(none) else { panic!() };
    assert_eq!((ack.lease_ms, encoded(&ack)), (0, none.to_vec()));
    let patch = b"\x81\x09\x02\x77\x27\x80\x02";
    let Ok(TransportMessage::InitSyn(syn)) = decoded(patch) else { panic!() };
    assert_eq!(syn.exts.patch, 255);
}

#[test]
fn cookies_are_bounded_in_init_only() {
    let mut long = [b"\x21\x09\x00\x77\x80\x80\x04", std::vec![7; 0x1_0000].as_slice()].concat();
    let out_of_range = DecodeError::OutOfRange { field: "cookie", offset: 4 };
    assert_eq!(decoded::<TransportMessage<'_>>(&long), Err(out_of_range));
    long.splice(..4, *b"\x02\x01\x00");
    assert!(decoded::<TransportMessage<'_>>(&long).is_ok());
}

#[test]
fn fragments_carry_their_markers() {
    let fragment = FragmentHeader {
        reliability: Reliability::BestEffort,
        more: false,
        sn: 300,
        priority: Priority::Background,
        first: true,
        drop: true,
    };
    let bytes = b"\x86\xac\x02\xb1\x07\x82\x03";
    assert_eq!(encoded(&fragment), bytes);
    assert_eq!(decoded(bytes), Ok(TransportMessage::Fragment(fragment)));
    let plain = FragmentHeader {
        more: true,
        priority: Priority::Data,
        first: false,
        drop: false,
        ..fragment
    };
    assert_eq!(encoded(&plain), b"\x46\xac\x02");
}

#[test]
fn frames_of_the_default_priority_have_no_extension() {
    let frame =
        FrameHeader { reliability: Reliability::BestEffort, sn: 5, priority: Priority::Data };
    assert_eq!(encoded(&frame), b"\x05\x05");
    assert_eq!(decoded(b"\x05\x05"), Ok(TransportMessage::Frame(frame)));
    assert_eq!(decoded(b"\x85\x05\x31\x0d"), Ok(TransportMessage::Frame(frame)));
    let control = FrameHeader { priority: Priority::Control, ..frame };
    assert_eq!(encoded(&control), b"\x85\x05\x31\x00");
}

#[test]
fn join_announces_sixteen_channels() {
    let mut qos = [NextSn::default(); 8];
    for (index, next_sn) in qos.iter_mut().enumerate() {
        *next_sn = NextSn { reliable: 100 * index as u64, best_effort: index as u64 };
    }
    let join = Join { qos: Some(qos), shm: Some(b"s"), patch: 1, ..join() };
    let bytes = encoded(&join);
    assert_eq!(decoded(&bytes), Ok(TransportMessage::Join(join)));
    let short = b"\xa7\x09\x01\x77\x0a\x01\x02\x51\x01\x00";
    let truncated = DecodeError::Truncated { field: "next best-effort sn", offset: 10 };
    assert_eq!(decoded::<TransportMessage<'_>>(short), Err(truncated));
}

#[test]
fn oam_of_the_transport_has_a_priority() {
    let oam = TransportOam { id: 9, priority: Priority::Control, body: OamBody::Z64(7) };
    assert_eq!(encoded(&oam), b"\xa0\x09\x31\x00\x07");
    assert_eq!(decoded(b"\xa0\x09\x31\x00\x07"), Ok(TransportMessage::Oam(oam)));
    let unit = TransportOam { id: 9, priority: Priority::Data, body: OamBody::Unit };
    assert_eq!(decoded(b"\x00\x09"), Ok(TransportMessage::Oam(unit)));
    let reserved = Err(DecodeError::ReservedEncoding { offset: 0 });
    assert_eq!(decoded::<TransportMessage<'_>>(b"\x60\x09"), reserved);
}

#[test]
fn unknown_extensions_are_skipped_unless_mandatory() {
    let heads: [&[u8]; 10] = [
        b"\x80\x09",
        b"\x81\x09\x02\x77",
        b"\xa1\x09\x02\x77\x00",
        b"\x82\x0a\x00\x00",
        b"\xa2\x0a\x00",
        b"\x83\x00",
        b"\x84",
        b"\x85\x05",
        b"\x86\x05",
        b"\x87\x09\x01\x77\x0a\x01\x02",
    ];
    for head in heads {
        let bytes = [head, b"\xaf\x05\x4f\x01x"].concat();
        let message: TransportMessage<'_> = decoded(&bytes).unwrap();
        let without = [&[head[0] & 0x7f], &head[1..]].concat();
        assert_eq!(decoded(&without), Ok(message));
        let mandatory = [head, b"\x1f"].concat();
        let refused = DecodeError::UnknownMandatoryExtension { id: 0x1f, offset: head.len() };
        assert_eq!(decoded::<TransportMessage<'_>>(&mandatory), Err(refused));
        let reserved = [head, b"\x6f"].concat();
        let refused = DecodeError::ReservedEncoding { offset: head.len() };
        assert_eq!(decoded::<TransportMessage<'_>>(&reserved), Err(refused));
    }
}

#[test]
fn close_reasons_need_not_be_known() {
    let close = Close { session: true, reason: CloseReason(99) };
    assert_eq!(encoded(&close), b"\x23\x63");
    assert_eq!(decoded(b"\x23\x63"), Ok(TransportMessage::Close(close)));
}

#[test]
fn other_ids_are_not_transport_messages() {
    for header in 0x08..0x20 {
        let unknown = DecodeError::UnknownMessage { id: header, offset: 0 };
        assert_eq!(decoded::<TransportMessage<'_>>(&[header]), Err(unknown));
    }
}
