//! Two nodes shake hands in memory: every combination, every refusal.

use weft_transport::handshake::{ACCEPT_TIMEOUT_US, BATCH_SIZE_MIN, SN_INITIAL, prevails};
use weft_transport::{
    Admission, CookieKey, HandshakeArrival, HandshakeConfig, HandshakeError, Initiator, LinkParams,
    Negotiated, Responder, ResponderStep, Step,
};
use weft_wire::{
    Bits, Bound, CloseReason, Decode, DecodeError, Encode, InitExts, InitSyn, OpenExts, OpenSyn,
    Reader, Resolution, TransportMessage, WhatAmI, ZenohId,
};

const TCP: LinkParams = LinkParams { mtu: u16::MAX, streamed: true };
const KEY: [u8; 16] = *b"a key of a test!";

fn zid(n: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[n]).unwrap()
}

fn config(n: u8) -> HandshakeConfig {
    HandshakeConfig::new(zid(n), WhatAmI::Peer)
}

fn responder(config: &HandshakeConfig) -> Responder {
    Responder::new(config.clone(), CookieKey::new(KEY))
}

fn arrival(link: LinkParams) -> HandshakeArrival<'static> {
    HandshakeArrival { link, now_us: 5_000_000, peer_tag: b"192.0.2.1:49152" }
}

fn encode(message: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

fn decode(bytes: &[u8]) -> TransportMessage<'_> {
    let mut reader = Reader::new(bytes);
    let message = TransportMessage::decode(&mut reader).unwrap();
    assert!(reader.is_empty(), "more than one message");
    message
}

fn close(reason: CloseReason) -> Vec<u8> {
    vec![0x03, reason.0]
}

/// A whole handshake: what each side makes of it.
fn shake(
    ours: &HandshakeConfig,
    theirs: &HandshakeConfig,
    link: LinkParams,
) -> (Negotiated, Negotiated) {
    let responder = responder(theirs);
    let mut wire = Vec::new();
    let mut initiator = Initiator::new(ours, link, Some(theirs.zid), &mut wire);
    let mut answer = Vec::new();
    let step = responder.handle_batch(&wire, &arrival(link), &mut answer).unwrap();
    assert_eq!(step, ResponderStep::Reply);
    wire.clear();
    assert_eq!(initiator.handle_batch(&answer, &mut wire), Ok(Step::Continue));
    answer.clear();
    let admission = admit(responder.handle_batch(&wire, &arrival(link), &mut answer));
    assert!(answer.is_empty(), "nothing is said before the admission");
    admission.accept(&mut answer);
    wire.clear();
    let Ok(Step::Established(negotiated)) = initiator.handle_batch(&answer, &mut wire) else {
        panic!("not established")
    };
    assert!(wire.is_empty());
    (negotiated, admission.negotiated)
}

fn admit(step: Result<ResponderStep, HandshakeError>) -> Admission {
    match step {
        Ok(ResponderStep::Admit(admission)) => admission,
        other => panic!("not admitted: {other:?}"),
    }
}

#[test]
fn every_combination_ends_in_what_both_can_do() {
    let batch_sizes = [BATCH_SIZE_MIN, 2048, 49_152, u16::MAX];
    let widths = [Bits::U8, Bits::U16, Bits::U32];
    for (a_size, b_size) in pairs(&batch_sizes) {
        for (a_bits, b_bits) in pairs(&widths) {
            for (a_qos, b_qos) in pairs(&[true, false]) {
                for (a_patch, b_patch) in pairs(&[0, 1]) {
                    for streamed in [true, false] {
                        let with = |n, batch_size, bits, qos, patch| HandshakeConfig {
                            batch_size,
                            resolution: Resolution { fsn: bits, rid: bits },
                            qos,
                            patch,
                            ..config(n)
                        };
                        let a = with(1, a_size, a_bits, a_qos, a_patch);
                        let b = with(2, b_size, b_bits, b_qos, b_patch);
                        let link = LinkParams { mtu: 60_000, streamed };
                        for (a_compresses, b_compresses) in pairs(&[true, false]) {
                            let a = HandshakeConfig { compression: a_compresses, ..a.clone() };
                            let b = HandshakeConfig { compression: b_compresses, ..b.clone() };
                            check(&a, &b, link);
                        }
                    }
                }
            }
        }
    }
}

fn pairs<T: Copy>(values: &[T]) -> Vec<(T, T)> {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect()
}

fn check(a: &HandshakeConfig, b: &HandshakeConfig, link: LinkParams) {
    let (by_a, by_b) = shake(a, b, link);
    let compression = a.compression && b.compression;
    let overhead = if link.streamed { 2 } else { 0 } + u16::from(compression);
    let expected = |peer: &HandshakeConfig| Negotiated {
        zid: peer.zid,
        whatami: peer.whatami,
        qos: a.qos && b.qos,
        compression,
        sn_mask: a.resolution.fsn.min(b.resolution.fsn).sn_mask(),
        batch_size: a.batch_size.min(b.batch_size).min(link.mtu) - overhead,
        lease_remote_ms: peer.lease_ms,
        sn_rx_initial: SN_INITIAL,
        sn_tx_initial: SN_INITIAL,
        patch: a.patch.min(b.patch),
        mesh: a.mesh && b.mesh,
        gateway: a.gateway && b.gateway,
        region_name: peer.region_name.clone(),
        remote_bound: peer.remote_bound,
    };
    assert_eq!(by_a, expected(b));
    assert_eq!(by_b, expected(a));
}

#[test]
fn what_only_one_side_says_reaches_the_other() {
    let a = HandshakeConfig {
        mesh: true,
        gateway: true,
        whatami: WhatAmI::Client,
        lease_ms: 1500,
        region_name: Some("north".into()),
        ..config(1)
    };
    let b = HandshakeConfig {
        whatami: WhatAmI::Router,
        lease_ms: 0,
        remote_bound: Some(Bound::South),
        ..config(2)
    };
    check(&a, &b, TCP);
    check(&b, &a, TCP);
    check(&a, &HandshakeConfig { mesh: true, gateway: true, ..b }, TCP);
}

#[test]
fn sns_of_64_bits_are_not_proposed() {
    let wide = Resolution { fsn: Bits::U64, rid: Bits::U64 };
    let a = HandshakeConfig { resolution: wide, ..config(1) };
    let b = HandshakeConfig { resolution: wide, ..config(2) };
    assert_eq!(shake(&a, &b, TCP).0.sn_mask, Bits::U32.sn_mask());
    let mut wire = Vec::new();
    let _ = Initiator::new(&a, TCP, None, &mut wire);
    let TransportMessage::InitSyn(syn) = decode(&wire) else { panic!() };
    assert_eq!(syn.resolution, Resolution { fsn: Bits::U32, rid: Bits::U64 });
}

#[test]
fn of_two_simultaneous_connections_one_prevails() {
    let (a, b) = (zid(1), zid(2));
    assert_ne!(prevails(a, b), prevails(b, a));
}

fn syn() -> InitSyn<'static> {
    InitSyn {
        version: weft_wire::VERSION,
        whatami: WhatAmI::Client,
        zid: zid(1),
        resolution: Resolution::DEFAULT,
        batch_size: u16::MAX,
        exts: InitExts { qos: true, patch: 1, ..InitExts::default() },
    }
}

/// What a responder answers to a batch.
fn answer(batch: &[u8]) -> (Result<ResponderStep, HandshakeError>, Vec<u8>) {
    let mut out = Vec::new();
    let step = responder(&config(2)).handle_batch(batch, &arrival(TCP), &mut out);
    (step, out)
}

fn refusal(batch: &[u8]) -> HandshakeError {
    let (step, out) = answer(batch);
    let error = step.unwrap_err();
    assert_eq!(out, error.close_reason().map_or(Vec::new(), close));
    error
}

#[test]
fn a_responder_refuses_what_it_cannot_agree_to() {
    use HandshakeError::{BatchSize, QosLink, QosTwice, Version};
    let init = |change: fn(&mut InitSyn<'_>)| {
        let mut syn = syn();
        change(&mut syn);
        refusal(&encode(&syn))
    };
    assert_eq!(init(|syn| syn.version = 8), Version { version: 8 });
    assert_eq!(init(|syn| syn.batch_size = 15), BatchSize { batch_size: 15 });
    assert_eq!(init(|syn| syn.exts.qos_link = Some(1)), QosTwice);
    let bad_range = 0b10 | 8 << 11;
    let refused = init(|syn| {
        syn.exts.qos = false;
        syn.exts.qos_link = Some(0b10 | 8 << 11);
    });
    assert_eq!(refused, QosLink { value: bad_range });
    for error in [QosTwice, QosLink { value: bad_range }] {
        assert_eq!(error.close_reason(), Some(CloseReason::GENERIC));
    }
    assert_eq!(Version { version: 8 }.close_reason(), Some(CloseReason::INVALID));
}

#[test]
fn a_responder_refuses_what_it_cannot_read() {
    let malformed = |batch: &[u8]| match refusal(batch) {
        HandshakeError::Malformed(error) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(malformed(&[0x1f]), DecodeError::UnknownMessage { id: 0x1f, offset: 0 });
    assert!(matches!(malformed(&[]), DecodeError::Truncated { .. }));
    let zid_zero = [0x01, 9, 0x02, 0];
    assert!(matches!(malformed(&zid_zero), DecodeError::InvalidZid { .. }));
    let reserved_mode = [0x01, 9, 0x03, 1];
    malformed(&reserved_mode);
    let mandatory = [0x81, 9, 0x02, 1, 0x1e];
    assert!(matches!(malformed(&mandatory), DecodeError::UnknownMandatoryExtension { .. }));
    let reserved_encoding = [0x81, 9, 0x02, 1, 0x6e];
    assert!(matches!(malformed(&reserved_encoding), DecodeError::ReservedEncoding { .. }));
    for batch in [&zid_zero[..], &reserved_mode, &mandatory, &reserved_encoding] {
        assert_eq!(answer(batch).1, close(CloseReason::INVALID));
    }
    let empty_region = [0x81, 9, 0x02, 1, 0x48, 0];
    assert!(matches!(malformed(&empty_region), DecodeError::InvalidExtension { .. }));
    assert_eq!(answer(&empty_region).1, close(CloseReason::GENERIC));
}

#[test]
fn a_responder_expects_nothing_else() {
    for batch in [&[0x04][..], &[0x25, 0], &[0x62, 10, 0], &[0x07, 9, 2, 1, 1, 0, 0], &[0x20, 0, 0]]
    {
        assert!(matches!(refusal(batch), HandshakeError::Unexpected { .. }), "{batch:?}");
    }
    let reason = CloseReason::MAX_LINKS;
    assert_eq!(refusal(&close(reason)), HandshakeError::Closed { reason });
    assert!(answer(&close(reason)).1.is_empty());
}

#[test]
fn what_follows_the_first_message_is_ignored() {
    let batch = [encode(&syn()), vec![0xff; 9]].concat();
    assert_eq!(answer(&batch).0, Ok(ResponderStep::Reply));
}

#[test]
fn qos_with_parameters_of_the_link_is_answered_in_kind() {
    for (value, qos) in [(0x8180e, true), (1, true), (0, false)] {
        let mut syn = syn();
        syn.exts.qos = false;
        syn.exts.qos_link = Some(value);
        let out = answer(&encode(&syn)).1;
        let TransportMessage::InitAck(ack) = decode(&out) else { panic!() };
        assert_eq!(ack.exts.qos_link, qos.then_some(value));
        assert!(!ack.exts.qos);
        let open = open_syn(ack.cookie);
        let admission = admit(answer(&encode(&open)).0);
        assert_eq!(admission.negotiated.qos, qos);
    }
}

#[test]
fn only_what_was_offered_is_answered() {
    let mut syn = syn();
    syn.exts = InitExts {
        shm: Some(&[1, 2]),
        auth: Some(&[2]),
        multilink: Some(&[3]),
        low_latency: true,
        compression: true,
        patch: 5,
        ..InitExts::default()
    };
    let out = answer(&encode(&syn)).1;
    let TransportMessage::InitAck(ack) = decode(&out) else { panic!() };
    assert_eq!(ack.exts, InitExts { patch: 1, ..InitExts::default() });
}

/// The extensions of INIT are those of the reference (01 §9.7).
#[test]
fn compression_is_asked_for_and_answered_by_an_extension_without_content() {
    let mut out = Vec::new();
    let compressing = |n| HandshakeConfig { compression: true, ..config(n) };
    let _ = Initiator::new(&compressing(1), TCP, None, &mut out);
    assert!(out.ends_with(&[0x81, 0x86, 0x27, 0x01]), "{out:02x?}");
    let mut ack = Vec::new();
    let step = responder(&compressing(2)).handle_batch(&out, &arrival(TCP), &mut ack);
    assert_eq!(step, Ok(ResponderStep::Reply));
    assert!(ack.ends_with(&[0x81, 0x86, 0x27, 0x01]), "{ack:02x?}");
    ack.clear();
    let _ = responder(&config(2)).handle_batch(&out, &arrival(TCP), &mut ack);
    assert!(ack.ends_with(&[0x81, 0x27, 0x01]), "{ack:02x?}");
}

#[test]
fn compression_that_was_not_offered_is_not_taken_from_an_answer() {
    let mut out = Vec::new();
    let mut initiator = Initiator::new(&config(1), TCP, None, &mut out);
    let mut ack = Vec::new();
    let _ = responder(&config(2)).handle_batch(&out, &arrival(TCP), &mut ack);
    let TransportMessage::InitAck(mut answer) = decode(&ack) else { panic!() };
    answer.exts.compression = true;
    out.clear();
    assert_eq!(initiator.handle_batch(&encode(&answer), &mut out), Ok(Step::Continue));
    let admission = admit(responder(&config(2)).handle_batch(&out, &arrival(TCP), &mut Vec::new()));
    let mut open_ack = Vec::new();
    admission.accept(&mut open_ack);
    let Ok(Step::Established(negotiated)) = initiator.handle_batch(&open_ack, &mut out) else {
        panic!("not established")
    };
    assert!(!negotiated.compression);
    assert_eq!(negotiated.content_max(), None);
}

fn open_syn(cookie: &[u8]) -> OpenSyn<'_> {
    OpenSyn { lease_ms: 10_000, initial_sn: 7, cookie, exts: OpenExts::default() }
}

/// A cookie for the node `syn` describes.
fn cookie_for(syn: &InitSyn<'_>) -> Vec<u8> {
    let out = answer(&encode(syn)).1;
    let TransportMessage::InitAck(ack) = decode(&out) else { panic!() };
    ack.cookie.to_vec()
}

#[test]
fn a_cookie_opens_for_its_peer_and_in_time_only() {
    let cookie = cookie_for(&syn());
    let open = encode(&open_syn(&cookie));
    let issued = arrival(TCP);
    let mut out = Vec::new();
    let mut open_at = |responder: &Responder, arrival: HandshakeArrival<'_>| {
        out.clear();
        let step = responder.handle_batch(&open, &arrival, &mut out);
        let reply = step.as_ref().err().map_or(Vec::new(), |_| close(CloseReason::INVALID));
        assert_eq!(out, reply);
        step
    };
    let here = responder(&config(2));
    admit(open_at(&here, issued));
    admit(open_at(&here, HandshakeArrival { now_us: issued.now_us + ACCEPT_TIMEOUT_US, ..issued }));

    let late = HandshakeArrival { now_us: issued.now_us + ACCEPT_TIMEOUT_US + 1, ..issued };
    assert_eq!(open_at(&here, late), Err(HandshakeError::CookieExpired));
    admit(open_at(&here.clone().with_accept_timeout(ACCEPT_TIMEOUT_US + 1), late));
    let early = HandshakeArrival { now_us: issued.now_us - 1, ..issued };
    assert_eq!(open_at(&here, early), Err(HandshakeError::CookieExpired));
    let elsewhere = HandshakeArrival { peer_tag: b"192.0.2.1:49153", ..issued };
    assert_eq!(open_at(&here, elsewhere), Err(HandshakeError::CookieForged));
    let restarted = Responder::new(config(2), CookieKey::new([0; 16]));
    assert_eq!(open_at(&restarted, issued), Err(HandshakeError::CookieForged));
}

#[test]
fn a_cookie_with_any_bit_changed_is_forged() {
    let cookie = cookie_for(&syn());
    for bit in 0..8 * cookie.len() {
        let mut forged = cookie.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(refusal(&encode(&open_syn(&forged))), HandshakeError::CookieForged);
    }
    for len in 0..cookie.len() {
        assert_eq!(refusal(&encode(&open_syn(&cookie[..len]))), HandshakeError::CookieForged);
    }
}

#[test]
fn a_peer_with_our_own_zid_is_ourselves() {
    let cookie = cookie_for(&InitSyn { zid: zid(2), ..syn() });
    assert_eq!(refusal(&encode(&open_syn(&cookie))), HandshakeError::ConnectionToSelf);
    assert_eq!(answer(&encode(&open_syn(&cookie))).1, close(CloseReason::CONNECTION_TO_SELF));
}

#[test]
fn an_initial_sn_beyond_the_resolution_is_refused() {
    let narrow = Resolution { fsn: Bits::U8, rid: Bits::U32 };
    let cookie = cookie_for(&InitSyn { resolution: narrow, ..syn() });
    let open = |initial_sn| encode(&OpenSyn { initial_sn, ..open_syn(&cookie) });
    assert_eq!(admit(answer(&open(0x7f)).0).negotiated.sn_rx_initial, 0x7f);
    assert_eq!(refusal(&open(0x80)), HandshakeError::InitialSn { sn: 0x80 });
}

#[test]
fn an_unknown_bound_is_refused_as_content() {
    let cookie = cookie_for(&syn());
    let mut open = encode(&open_syn(&cookie));
    open[0] |= 0x80;
    open.extend([0x27, 5]);
    refusal(&open);
    assert_eq!(answer(&open).1, close(CloseReason::GENERIC));
}

#[test]
fn whoever_is_not_admitted_is_told_why() {
    let cookie = cookie_for(&syn());
    let admission = admit(answer(&encode(&open_syn(&cookie))).0);
    let mut out = Vec::new();
    admission.refuse(CloseReason::MAX_LINKS, &mut out);
    assert_eq!(out, [0x03, 0x04]);
}

/// Ten thousand who stop half-way leave nothing behind: the responder is not even borrowed mutably.
#[test]
fn half_open_handshakes_do_not_accumulate() {
    let responder = responder(&config(2));
    let mut out = Vec::new();
    for n in 0..10_000_u32 {
        out.clear();
        let tag = n.to_le_bytes();
        let arrival = HandshakeArrival { link: TCP, now_us: u64::from(n), peer_tag: &tag };
        let step = responder.handle_batch(&encode(&syn()), &arrival, &mut out);
        assert_eq!(step, Ok(ResponderStep::Reply));
    }
    assert!(out.len() < 128, "an answer of {} bytes", out.len());
}

/// What an initiator makes of an answer, and what it sends then.
fn outcome(answer: &[u8]) -> (Result<Step, HandshakeError>, Vec<u8>) {
    let mut wire = Vec::new();
    let small = HandshakeConfig { batch_size: 2048, ..config(1) };
    let mut initiator = Initiator::new(&small, TCP, Some(zid(2)), &mut wire);
    wire.clear();
    let step = initiator.handle_batch(answer, &mut wire);
    if step.is_err() {
        let mut nothing = Vec::new();
        let after = initiator.handle_batch(&[0x04], &mut nothing);
        assert_eq!((after, nothing), (Err(HandshakeError::Finished), Vec::new()));
    }
    (step, wire)
}

#[test]
fn an_initiator_refuses_more_than_it_offered() {
    use HandshakeError::{BatchSize, CookieTooLong, Patch, ZidMismatch};
    let ack = weft_wire::InitAck {
        version: weft_wire::VERSION,
        whatami: WhatAmI::Router,
        zid: zid(2),
        resolution: Resolution::DEFAULT,
        batch_size: 49_152,
        cookie: b"anything",
        exts: InitExts { patch: 1, ..InitExts::default() },
    };
    let (step, open) = outcome(&encode(&ack));
    assert_eq!(step, Ok(Step::Continue));
    let TransportMessage::OpenSyn(open) = decode(&open) else { panic!() };
    assert_eq!((open.cookie, open.initial_sn, open.lease_ms), (&b"anything"[..], 0, 10_000));

    let (step, open) = outcome(&encode(&weft_wire::InitAck { cookie: &[], ..ack }));
    assert_eq!((step, open), (Ok(Step::Continue), vec![0x42, 10, 0, 0]), "no cookie is a cookie");

    let refused = |change: fn(&mut weft_wire::InitAck<'_>)| {
        let mut ack = ack;
        change(&mut ack);
        let (step, out) = outcome(&encode(&ack));
        let error = step.unwrap_err();
        assert_eq!(out, close(error.close_reason().unwrap()));
        error
    };
    let width = HandshakeError::Resolution { accepted: Bits::U64, proposed: Bits::U32 };
    assert_eq!(refused(|ack| ack.resolution.fsn = Bits::U64), width);
    assert_eq!(refused(|ack| ack.resolution.rid = Bits::U64), width);
    assert_eq!(refused(|ack| ack.batch_size = 1), BatchSize { batch_size: 1 });
    assert_eq!(refused(|ack| ack.exts.patch = 2), Patch { patch: 2 });
    let mismatch = ZidMismatch { expected: zid(2), found: zid(3) };
    assert_eq!(refused(|ack| ack.zid = zid(3)), mismatch);
    assert_eq!(Patch { patch: 2 }.close_reason(), Some(CloseReason::GENERIC));
    assert_eq!(mismatch.close_reason(), Some(CloseReason::INVALID));
    let long = vec![0; 65_535];
    let (step, _) = outcome(&encode(&weft_wire::InitAck { cookie: &long, ..ack }));
    assert_eq!(step, Err(CookieTooLong { len: 65_535 }));
}

#[test]
fn an_initiator_that_meets_itself_says_so() {
    let mut wire = Vec::new();
    let mut initiator = Initiator::new(&config(1), TCP, None, &mut wire);
    let mut ack = Vec::new();
    let _ = responder(&config(1)).handle_batch(&wire, &arrival(TCP), &mut ack).unwrap();
    wire.clear();
    let met = initiator.handle_batch(&ack, &mut wire);
    assert_eq!(met, Err(HandshakeError::ConnectionToSelf));
    assert_eq!(wire, close(CloseReason::CONNECTION_TO_SELF));
}

#[test]
fn close_may_come_instead_of_either_answer() {
    let reason = CloseReason::INVALID;
    let (step, out) = outcome(&[0x23, 2]);
    assert_eq!((step, out), (Err(HandshakeError::Closed { reason }), vec![]));
    let (step, out) = outcome(&[0x62, 10, 0]);
    let unexpected = HandshakeError::Unexpected { message: "OPEN Ack" };
    assert_eq!((step, out), (Err(unexpected), close(CloseReason::INVALID)));
}
