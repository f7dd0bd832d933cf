use super::*;
use crate::testing::encoded;
use crate::{
    Del, EntityGlobalId, Mapping, NetworkMessage, Priority, Put, Qos, SourceInfo, Timestamp,
    ZenohId,
};
use proptest::prelude::*;
use std::vec::Vec;

/// Messages that differ in one respect or another, by number.
fn message(kind: u8, tick: u64, payload: &[u8]) -> Vec<u8> {
    let id = ZenohId::from_le_bytes(&[1, 2, 3]).unwrap();
    let exprs = [
        WireExpr { scope: 7, mapping: Mapping::Sender, suffix: "" },
        WireExpr { scope: 700, mapping: Mapping::Sender, suffix: "" },
        WireExpr::full("demo/example"),
    ];
    let source_info = SourceInfo { id: EntityGlobalId { zid: id, eid: 3 }, sn: 9 };
    let put = Put {
        timestamp: (kind & 1 != 0).then(|| Timestamp::new(tick, id)),
        source_info: (kind & 2 != 0).then_some(source_info),
        attachment: (kind & 4 != 0).then_some(b"attached"),
        payload,
        ..Put::default()
    };
    let qos = Qos::new(Priority::RealTime, crate::CongestionControl::Block, false);
    let body = match kind & 8 {
        0 => PushBody::Put(put),
        _ => PushBody::Del(Del { timestamp: put.timestamp, ..Del::default() }),
    };
    encoded(&Push {
        qos: if kind & 16 == 0 { Qos::DEFAULT } else { qos },
        node_id: u16::from(kind >> 7),
        ..Push::new(exprs[usize::from(kind >> 5) % exprs.len()], body)
    })
}

/// Reads `bytes` with a decoder and one by one, and compares.
fn agree(bytes: &[u8]) -> Vec<bool> {
    let mut decoder = PushDecoder::new();
    let (mut one, mut other) = (Reader::new(bytes), Reader::new(bytes));
    let mut similar = Vec::new();
    while one.peek().is_some_and(crate::is_push_id) {
        let before = *decoder.push();
        let expected = NetworkMessage::decode_raw(&mut other);
        let Ok((NetworkMessage::Push(push), raw_body)) = expected else {
            assert!(decoder.next(&mut one).is_err(), "{expected:?}");
            return similar;
        };
        let is_similar = decoder.next(&mut one).unwrap();
        assert_eq!((decoder.push(), decoder.raw_body()), (&push, raw_body));
        assert_eq!(one.pos(), other.pos());
        let same = (before.wire_expr, before.node_id, before.qos);
        assert!(!is_similar || same == (push.wire_expr, push.node_id, push.qos));
        similar.push(is_similar);
    }
    similar
}

#[test]
fn what_repeats_is_recognised_with_and_without_timestamps() {
    for kind in [0, 1, 2, 3, 7, 16, 32, 64, 64 + 17, 128 + 7] {
        let payloads = [&b"a"[..], b"", &[7; 300], b"b"];
        let ticks = (1..).map(|tick| tick << 40);
        let bytes: Vec<u8> =
            payloads.iter().zip(ticks).flat_map(|(it, tick)| message(kind, tick, it)).collect();
        assert_eq!(agree(&bytes), [false, true, true, true], "{kind}");
    }
}

#[test]
fn a_length_in_more_bytes_than_needed_is_read_as_such() {
    // The payload has no byte, then 128: its length begins with the byte that the first one had too many.
    let mut bytes = std::vec![0x1d, 1, 0x01, 0x80, 0x00, 0x1d, 1, 0x01, 0x80, 0x01];
    bytes.extend([9; 128]);
    assert_eq!(agree(&bytes), [false, true]);
}

#[test]
fn a_truncated_message_is_an_error() {
    let whole = [message(1, 1 << 50, b"first"), message(1, 1 << 51, b"second")].concat();
    for len in 0..whole.len() {
        agree(&whole[..len]);
    }
}

proptest! {
    #[test]
    fn any_sequence_is_decoded_as_message_by_message(
        kinds in prop::collection::vec((any::<u8>(), any::<u64>(), 0..200_usize), 1..20),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut bytes = Vec::new();
        for (kind, tick, len) in kinds {
            // Rows of the same kind are what it is about.
            for repeat in 0..3 {
                bytes.extend(message(kind, tick.wrapping_add(repeat), &[kind; 200][..len]));
            }
        }
        for (at, byte) in damage {
            *at.get_mut(&mut bytes) = byte;
        }
        agree(&bytes);
    }
}
