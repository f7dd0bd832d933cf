//! What the fuzz targets run: arbitrary bytes from a peer, and what must hold whatever they are.

use crate::{
    CookieKey, Decompressor, HandshakeArrival, HandshakeConfig, Initiator, LinkParams, Negotiated,
    Responder, ResponderStep, RxHalf, RxLimits, Step, next_batch,
};
use alloc::vec::Vec;
use weft_wire::{
    Bits, Close, CloseReason, Decode, Encode, OpenExts, OpenSyn, Reader, TransportMessage, WhatAmI,
    ZenohId,
};

const LINK: LinkParams = LinkParams { mtu: 2048, streamed: true };

/// Both sides of a handshake read the batches of a stream. Neither may panic; an error leaves
/// nothing but its CLOSE; and whoever was answered gets in with the cookie of the answer.
pub fn handshake(stream: &[u8]) {
    let config =
        HandshakeConfig { compression: true, ..HandshakeConfig::new(zid(1), WhatAmI::Peer) };
    let mut out = Vec::new();
    let mut initiator = Initiator::new(&config, LINK, None, &mut out);
    for batch in batches(stream) {
        out.clear();
        match initiator.handle_batch(batch, &mut out) {
            Ok(Step::Continue) => assert!(matches!(decode(&out), TransportMessage::OpenSyn(_))),
            Ok(Step::Established(negotiated)) => check(&negotiated),
            Err(error) => check_close(error.close_reason(), &out),
        }
    }
    let responder = Responder::new(config, CookieKey::new([1; 16]));
    for batch in batches(stream) {
        out.clear();
        match responder.handle_batch(batch, &arrival(), &mut out) {
            Ok(ResponderStep::Reply) => open_with_cookie(&responder, &out),
            Ok(ResponderStep::Admit(_)) => panic!("a cookie was guessed"),
            Err(error) => check_close(error.close_reason(), &out),
        }
    }
}

fn open_with_cookie(responder: &Responder, init_ack: &[u8]) {
    let TransportMessage::InitAck(ack) = decode(init_ack) else { panic!("not an answer") };
    let open =
        OpenSyn { lease_ms: 1, initial_sn: 1, cookie: ack.cookie, exts: OpenExts::default() };
    let (mut batch, mut out) = (Vec::new(), Vec::new());
    open.encode(&mut batch).expect("a vector is never full");
    match responder.handle_batch(&batch, &arrival(), &mut out) {
        Ok(ResponderStep::Admit(admission)) => check(&admission.negotiated),
        Ok(ResponderStep::Reply) => panic!("OPEN is not INIT"),
        Err(error) => assert_eq!(error.close_reason(), Some(CloseReason::CONNECTION_TO_SELF)),
    }
}

/// What any agreement with a node that offers the defaults and compression over [`LINK`] satisfies.
fn check(negotiated: &Negotiated) {
    let header_len = u16::from(negotiated.compression);
    assert!((14..=2046).contains(&(negotiated.batch_size + header_len)));
    assert!(negotiated.content_max().is_none_or(|max| max <= LINK.mtu));
    assert!(negotiated.sn_mask <= Bits::U32.sn_mask());
    assert!(negotiated.sn_rx_initial <= negotiated.sn_mask);
    assert!(negotiated.patch <= 1);
}

fn check_close(reason: Option<CloseReason>, out: &[u8]) {
    match reason {
        None => assert!(out.is_empty()),
        Some(reason) => {
            let close = TransportMessage::Close(Close { session: false, reason });
            assert_eq!(decode(out), close);
        }
    }
}

/// The first byte chooses the transport, the others are a stream: everything in it is read until
/// something is refused. What is held never exceeds the limit, nor what a batch decompresses to.
pub fn rx(input: &[u8]) {
    let Some((&choice, stream)) = input.split_first() else { return };
    let limits = RxLimits { message_size_max: 1000, total_size_max: 1500 };
    let negotiated = Negotiated {
        zid: zid(2),
        whatami: WhatAmI::Router,
        qos: choice & 1 != 0,
        compression: choice & 0x10 != 0,
        sn_mask: Bits::from_code(choice >> 2).sn_mask(),
        batch_size: 2045,
        lease_remote_ms: 1000,
        sn_rx_initial: 0,
        sn_tx_initial: 0,
        patch: choice >> 1 & 1,
        mesh: false,
        gateway: false,
        region_name: None,
        remote_bound: None,
    };
    let mut half = RxHalf::new(&negotiated, limits);
    let mut decompressor = Decompressor::new();
    for mut batch in batches(stream) {
        if let Some(content_max) = negotiated.content_max() {
            match decompressor.batch(batch, content_max) {
                Ok(content) => batch = content,
                Err(_) => return,
            }
            assert!(batch.len() <= usize::from(LINK.mtu));
        }
        let mut items = half.batch(batch);
        loop {
            match items.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(half.held() <= limits.total_size_max);
    }
}

fn zid(n: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[n]).expect("one byte that is not zero")
}

fn arrival() -> HandshakeArrival<'static> {
    HandshakeArrival { link: LINK, now_us: 7, peer_tag: b"peer" }
}

fn batches(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = stream;
    core::iter::from_fn(move || {
        let (range, consumed) = next_batch(rest, LINK.mtu).ok()??;
        let batch = &rest[range];
        rest = &rest[consumed..];
        Some(batch)
    })
}

fn decode(batch: &[u8]) -> TransportMessage<'_> {
    TransportMessage::decode(&mut Reader::new(batch)).expect("what we write can be read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_batch;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A stream whose batches begin like messages, so that some of them are.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let init = vec(any::<u8>(), 0..20)
            .prop_map(|tail| [&[0xc1, 9, 0x02, 0x77, 0x0a, 0, 9][..], &tail].concat());
        let fragment = (any::<u8>(), any::<u8>(), vec(any::<u8>(), 0..20))
            .prop_map(|(flags, sn, tail)| [&[0x06 | flags & 0xe0, sn & 15], &tail[..]].concat());
        let frame = any::<u8>().prop_map(|sn| [0x25, sn & 15, 0x7d, 0, 1, b'k', 1, 1, 9].to_vec());
        let batch = prop_oneof![init, fragment, frame, vec(any::<u8>(), 0..40)];
        vec(batch, 0..12).prop_map(|batches| {
            let mut stream = Vec::new();
            for batch in batches {
                write_batch(&batch, &mut stream);
            }
            stream
        })
    }

    proptest! {
        #[test]
        fn the_bodies_hold_for_random_input(choice in any::<u8>(), stream in stream()) {
            handshake(&stream);
            rx(&[&[choice][..], &stream].concat());
        }
    }
}
