//! What was captured from the reference goes through the state machines.

use serde_json::Value;
use weft_transport::{
    CookieKey, Decompressor, HandshakeArrival, HandshakeConfig, HandshakeError, Initiator,
    LinkParams, Negotiated, Responder, ResponderStep, RxHalf, RxItem, RxLimits, Step, next_batch,
};
use weft_wire::{CloseReason, Decode, PushBody, Reader, TransportMessage, WhatAmI, ZenohId};

/// A captured batch, without its prefix.
struct Capture {
    name: String,
    link: LinkParams,
    batch: Vec<u8>,
    truncated: bool,
}

fn captures() -> Vec<Capture> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/transport.json");
    let entries: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    entries.as_array().unwrap().iter().filter_map(capture).collect()
}

/// The entry, if it is a batch on a unicast link without low latency. One that has the header of
/// compression is returned without.
fn capture(entry: &Value) -> Option<Capture> {
    let text = |field: &str| entry[field].as_str().unwrap().to_owned();
    let name = text("name");
    if name.starts_with("lowlatency/") {
        return None;
    }
    let bytes = unhex(&text("hex"));
    let truncated = entry["truncated"].as_bool().unwrap();
    let streamed = match text("link").as_str() {
        "tcp" => true,
        "udp" if !name.starts_with("hello") => false,
        _ => return None,
    };
    let batch = match (streamed, truncated) {
        (false, _) => bytes,
        (true, true) => bytes[2..].to_vec(),
        (true, false) => {
            let (range, consumed) = next_batch(&bytes, u16::MAX).unwrap().unwrap();
            assert_eq!(consumed, bytes.len(), "{name}");
            match entry["framing"].as_str() {
                Some(framing) if framing.contains("batch header") => {
                    let mut decompressor = Decompressor::new();
                    decompressor.batch(&bytes[range], 49_152).unwrap().to_vec()
                }
                _ => bytes[range].to_vec(),
            }
        }
    };
    let link = LinkParams { mtu: 65_480, streamed };
    Some(Capture { name, link, batch, truncated })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn config() -> HandshakeConfig {
    let zid = "a1b2c3d4e5f60718293a4b5c6d7e8f91".parse().unwrap();
    HandshakeConfig::new(zid, WhatAmI::Router)
}

fn message(batch: &[u8]) -> TransportMessage<'_> {
    TransportMessage::decode(&mut Reader::new(batch)).unwrap()
}

#[test]
fn every_captured_init_syn_is_answered() {
    let mut answered = 0;
    for Capture { name, link, batch, .. } in captures() {
        let TransportMessage::InitSyn(syn) = message(&batch) else { continue };
        let responder = Responder::new(config(), CookieKey::new([7; 16]));
        let arrival = HandshakeArrival { link, now_us: 0, peer_tag: b"tag" };
        let mut out = Vec::new();
        let step = responder.handle_batch(&batch, &arrival, &mut out);
        assert_eq!(step, Ok(ResponderStep::Reply), "{name}");
        let TransportMessage::InitAck(ack) = message(&out) else { panic!("{name}") };
        assert_eq!(ack.resolution, syn.resolution, "{name}");
        assert_eq!(ack.batch_size, syn.batch_size.min(65_480), "{name}");
        assert_eq!(ack.exts.qos, syn.exts.qos, "{name}");
        assert_eq!(ack.exts.qos_link, syn.exts.qos_link, "{name}");
        assert_eq!(ack.exts.patch, syn.exts.patch, "{name}");
        answered += 1;
    }
    assert!(answered >= 14, "only {answered}");
}

#[test]
fn every_captured_init_ack_is_opened_with_its_cookie() {
    let mut opened = 0;
    for Capture { name, link, batch, .. } in captures() {
        let TransportMessage::InitAck(ack) = message(&batch) else { continue };
        let (_, mut out) = initiator(link);
        let mut initiator = initiator(link).0;
        out.clear();
        assert_eq!(initiator.handle_batch(&batch, &mut out), Ok(Step::Continue), "{name}");
        let TransportMessage::OpenSyn(open) = message(&out) else { panic!("{name}") };
        assert_eq!(open.cookie, ack.cookie, "{name}");

        out.clear();
        let open_ack = [0x62, 0x0a, 0x0e];
        let Ok(Step::Established(negotiated)) = initiator.handle_batch(&open_ack, &mut out) else {
            panic!("{name}")
        };
        let prefix = if link.streamed { 2 } else { 0 };
        assert_eq!(negotiated.zid, ack.zid, "{name}");
        assert_eq!(negotiated.batch_size, ack.batch_size.min(65_480) - prefix, "{name}");
        assert_eq!(negotiated.sn_mask, ack.resolution.sn_mask(), "{name}");
        assert_eq!(negotiated.qos, ack.exts.qos || ack.exts.qos_link.is_some(), "{name}");
        assert_eq!(negotiated.region_name.as_deref(), ack.exts.region_name, "{name}");
        opened += 1;
    }
    assert!(opened >= 14, "only {opened}");
}

fn initiator(link: LinkParams) -> (Initiator, Vec<u8>) {
    let mut out = Vec::new();
    let initiator = Initiator::new(&config(), link, None, &mut out);
    (initiator, out)
}

/// The default INIT of the reference and ours differ in the node and the link only.
#[test]
fn our_init_syn_is_that_of_the_reference() {
    let captured = find("plain_no_shm/InitSyn_0");
    let zid: ZenohId = "1122334455667788".parse().unwrap();
    let link = LinkParams { mtu: 0xffc8, streamed: true };
    let mut out = Vec::new();
    let _ = Initiator::new(&HandshakeConfig::new(zid, WhatAmI::Client), link, None, &mut out);
    assert_eq!(out, captured);
}

fn find(name: &str) -> Vec<u8> {
    captures().into_iter().find(|capture| capture.name == name).expect(name).batch
}

#[test]
fn every_captured_open_ack_establishes() {
    let mut established = 0;
    let init_ack = find("plain_no_shm/InitAck_1");
    for Capture { name, link, batch, .. } in captures() {
        let TransportMessage::OpenAck(ack) = message(&batch) else { continue };
        let (mut initiator, mut out) = initiator(link);
        let _ = initiator.handle_batch(&init_ack, &mut out).unwrap();
        let Ok(Step::Established(negotiated)) = initiator.handle_batch(&batch, &mut out) else {
            panic!("{name}")
        };
        assert_eq!(negotiated.sn_rx_initial, ack.initial_sn, "{name}");
        assert_eq!(negotiated.lease_remote_ms, 10_000, "{name}");
        established += 1;
    }
    assert!(established >= 12, "only {established}");
}

#[test]
fn a_cookie_of_the_reference_is_not_ours() {
    let mut refused = 0;
    for Capture { name, link, batch, .. } in captures() {
        let TransportMessage::OpenSyn(_) = message(&batch) else { continue };
        let responder = Responder::new(config(), CookieKey::new([7; 16]));
        let arrival = HandshakeArrival { link, now_us: 0, peer_tag: b"tag" };
        let mut out = Vec::new();
        let step = responder.handle_batch(&batch, &arrival, &mut out);
        assert_eq!(step, Err(HandshakeError::CookieForged), "{name}");
        assert_eq!(out, find("close/reject_version"), "{name}");
        refused += 1;
    }
    assert!(refused >= 12, "only {refused}");
}

/// A transport as the reference's node had it when it sent `sn`.
fn transport(sn: u64, qos: bool) -> RxHalf {
    let negotiated = Negotiated {
        zid: "1122334455667788".parse().unwrap(),
        whatami: WhatAmI::Client,
        qos,
        compression: false,
        sn_mask: 0x0fff_ffff,
        batch_size: 49_150,
        lease_remote_ms: 10_000,
        sn_rx_initial: sn,
        sn_tx_initial: 0,
        patch: 1,
        mesh: false,
        gateway: false,
        region_name: None,
        remote_bound: None,
    };
    RxHalf::new(&negotiated, RxLimits::default())
}

#[test]
fn every_captured_frame_keep_alive_and_close_is_read() {
    let (mut frames, mut others) = (0, 0);
    for Capture { name, batch, .. } in captures() {
        let sn = match message(&batch) {
            TransportMessage::Frame(header) => header.sn,
            TransportMessage::KeepAlive | TransportMessage::Close(_) => 0,
            _ => continue,
        };
        let mut rx = transport(sn, true);
        let mut items = rx.batch(&batch);
        let mut messages = 0;
        while let Some(item) = items.next().unwrap_or_else(|error| panic!("{name}: {error}")) {
            match item {
                RxItem::Sample { .. } | RxItem::Message { .. } => messages += 1,
                RxItem::Assembled { .. } => panic!("{name}: no capture has all fragments"),
                RxItem::KeepAlive => {
                    assert!(name.contains("keep_alive") || name.contains("KeepAlive"), "{name}");
                }
                RxItem::Close { session, reason } => {
                    assert!(!session, "{name}");
                    assert_eq!(reason, CloseReason(*batch.last().unwrap()), "{name}");
                }
            }
        }
        assert_eq!(rx.discarded(), 0, "{name}");
        if batch.len() > 2 {
            assert!(messages > 0, "{name}");
            frames += 1;
        } else {
            others += 1;
        }
    }
    assert!(frames >= 12 && others >= 12, "{frames} frames, {others} others");
}

/// The put of 204,800 bytes that the reference sent in five pieces, and the one after it. The
/// captures hold the start of each piece; the payload is `0 1 2 …`, so the rest can be made up.
#[test]
fn the_fragments_of_the_reference_make_its_message() {
    let pieces = ["first", "middle1", "middle2", "middle3", "last"];
    let mut rx = transport(0x4b5_1c9d, true);
    let mut sent: usize = 0;
    for (index, piece) in pieces.into_iter().enumerate() {
        let name = format!("fragment/{piece}");
        let capture = captures().into_iter().find(|capture| capture.name == name).unwrap();
        assert!(capture.truncated);
        let mut batch = capture.batch;
        let len = if piece == "last" { 8241 } else { 49_150 };
        // The first piece starts with extension First and 15 bytes of message before the payload.
        let header = if index == 0 { 6 + 15 } else { 5 };
        for (at, byte) in batch.iter().enumerate().skip(header) {
            assert_eq!(*byte, (sent + at - header) as u8, "{name}");
        }
        batch.extend((batch.len()..len).map(|at| (sent + at - header) as u8));
        sent += len - header;
        let mut items = rx.batch(&batch);
        let item = items.next().unwrap();
        if piece == "last" {
            let push = item.as_ref().and_then(RxItem::to_push).expect("a push");
            let PushBody::Put(put) = push.body else { panic!("no put") };
            assert_eq!(put.payload.len(), 204_800);
            assert!(put.payload.iter().enumerate().all(|(at, byte)| *byte == at as u8));
        } else {
            assert_eq!(item, None);
        }
    }
    let after = find("frame/after_fragment");
    assert!(matches!(rx.batch(&after).next(), Ok(Some(RxItem::Sample { .. }))));
}
