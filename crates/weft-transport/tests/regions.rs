//! Region names and bounds in the handshake (03 §1.3), against captures of the reference.

use serde_json::Value;
use weft_transport::{
    CookieKey, HandshakeArrival, HandshakeConfig, HandshakeError, Initiator, LinkParams,
    Negotiated, Responder, ResponderStep, Step,
};
use weft_wire::{Bound, CloseReason, WhatAmI, ZenohId};

/// That of the link on which the captures were made.
const LINK: LinkParams = LinkParams { mtu: 0xffc8, streamed: true };
const ARRIVAL: HandshakeArrival<'_> = HandshakeArrival { link: LINK, now_us: 0, peer_tag: b"tag" };

fn captured(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/routing.json");
    let entries: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let entry = entries.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap();
    let hex = entry["hex"].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn config(zid: &str, region: Option<&str>) -> HandshakeConfig {
    let zid: ZenohId = zid.parse().unwrap();
    let region_name = region.map(str::to_owned);
    HandshakeConfig { region_name, ..HandshakeConfig::new(zid, WhatAmI::Peer) }
}

fn responder(config: HandshakeConfig) -> Responder {
    Responder::new(config, CookieKey::new([7; 16]))
}

/// All but the extension about shared memory, which this implementation does not offer.
fn without_shared_memory(init: &[u8]) -> Vec<u8> {
    let at = init.windows(2).position(|pair| pair == [0xc2, 0x05]).unwrap();
    [&init[..at], &init[at + 7..]].concat()
}

#[test]
fn a_region_is_named_as_the_reference_names_it() {
    let capture = captured("regions-initsyn-name");
    let mut ours = Vec::new();
    let _ = Initiator::new(&config("b2", Some("main")), LINK, None, &mut ours);
    assert_eq!(ours, without_shared_memory(&capture));
    let mut unnamed = Vec::new();
    let _ = Initiator::new(&config("b2", None), LINK, None, &mut unnamed);
    assert!(!unnamed.windows(4).any(|bytes| bytes == b"main") && unnamed.len() < ours.len());

    let negotiated = admitted(&responder(config("a1", None)), &capture);
    assert_eq!(negotiated.region_name.as_deref(), Some("main"));
}

/// What a responder makes of a peer that begins with this INIT.
fn admitted(responder: &Responder, init: &[u8]) -> Negotiated {
    let mut ack = Vec::new();
    let step = responder.handle_batch(init, &ARRIVAL, &mut ack).unwrap();
    assert_eq!(step, ResponderStep::Reply);
    let (mut initiator, _) = asking(&config("b2", None));
    let mut open = Vec::new();
    assert_eq!(initiator.handle_batch(&ack, &mut open), Ok(Step::Continue));
    match responder.handle_batch(&open, &ARRIVAL, &mut Vec::new()) {
        Ok(ResponderStep::Admit(admission)) => admission.negotiated,
        other => panic!("{other:?}"),
    }
}

fn asking(config: &HandshakeConfig) -> (Initiator, Vec<u8>) {
    let mut init = Vec::new();
    (Initiator::new(config, LINK, None, &mut init), init)
}

#[test]
fn each_side_places_the_other_once_it_knows_it() {
    let gateway = responder(config("a1", Some("main")));
    for (dialer, listener) in [(None, None), (Some(Bound::North), Some(Bound::South))] {
        let (mut initiator, init) = asking(&config("b2", Some("leaf")));
        let (mut ack, mut open) = (Vec::new(), Vec::new());
        let _ = gateway.handle_batch(&init, &ARRIVAL, &mut ack).unwrap();
        let place = |peer: &Negotiated| {
            assert_eq!(peer.region_name.as_deref(), Some("main"));
            dialer
        };
        let step = initiator.handle_batch_placing(&ack, place, &mut open);
        assert_eq!(step, Ok(Step::Continue));
        assert_eq!(open.ends_with(&[0x27, 0x00]), dialer.is_some(), "as in the captures");
        let Ok(ResponderStep::Admit(mut admission)) =
            gateway.handle_batch(&open, &ARRIVAL, &mut Vec::new())
        else {
            panic!("not admitted")
        };
        assert_eq!(admission.negotiated.remote_bound, dialer);
        assert_eq!(admission.negotiated.region_name.as_deref(), Some("leaf"));
        admission.remote_bound = listener;
        let mut open_ack = Vec::new();
        admission.accept(&mut open_ack);
        assert_eq!(open_ack.ends_with(&[0x27, 0x01]), listener.is_some(), "as in the captures");
        let Ok(Step::Established(negotiated)) = initiator.handle_batch(&open_ack, &mut Vec::new())
        else {
            panic!("not established")
        };
        assert_eq!(negotiated.remote_bound, listener);
    }
}

/// An initiator that has sent its OPEN to a node without regions.
fn opening() -> Initiator {
    let (mut initiator, init) = asking(&config("b2", None));
    let mut ack = Vec::new();
    let _ = responder(config("a1", None)).handle_batch(&init, &ARRIVAL, &mut ack).unwrap();
    assert_eq!(initiator.handle_batch(&ack, &mut Vec::new()), Ok(Step::Continue));
    initiator
}

#[test]
fn bounds_of_the_reference_are_understood_and_others_refused() {
    for (name, bound) in
        [("regions-openack-north", Bound::North), ("regions-openack-south", Bound::South)]
    {
        let capture = captured(name);
        let Ok(Step::Established(negotiated)) = opening().handle_batch(&capture, &mut Vec::new())
        else {
            panic!("{name}")
        };
        assert_eq!(negotiated.remote_bound, Some(bound), "{name}");

        let mut wrong = capture;
        *wrong.last_mut().unwrap() = 2;
        let mut out = Vec::new();
        let error = opening().handle_batch(&wrong, &mut out).unwrap_err();
        assert!(matches!(error, HandshakeError::Malformed(_)), "{error:?}");
        assert_eq!(out, [0x03, CloseReason::GENERIC.0]);
    }
}

#[test]
fn names_without_a_byte_or_with_too_many_are_refused() {
    let capture = captured("regions-initsyn-name");
    let stem = &capture[..capture.len() - 5];
    for name in [String::new(), "n".repeat(33)] {
        let init = [stem, &[name.len() as u8], name.as_bytes()].concat();
        let mut out = Vec::new();
        let step = responder(config("a1", None)).handle_batch(&init, &ARRIVAL, &mut out);
        assert!(matches!(step, Err(HandshakeError::Malformed(_))), "{step:?}");
        assert_eq!(out, [0x03, CloseReason::GENERIC.0], "{name}");
    }
    let init = [stem, &[32], &[b'n'; 32]].concat();
    let negotiated = admitted(&responder(config("a1", None)), &init);
    assert_eq!(negotiated.region_name.map(|name| name.len()), Some(32));
}
