//! What the captured vectors do not show of network messages.

use core::num::NonZeroU32;

use super::*;
use crate::{
    DecodeError, ErrReply, Mapping, PushBody, Put, Query, RequestBody, Timestamp, WireExpr,
    ZenohId,
    testing::{decoded, encoded},
};

fn timestamp() -> Timestamp {
    Timestamp::new(5, "a1".parse().unwrap())
}

#[test]
fn a_request_orders_its_extensions_as_eclipse_does() {
    let mut request = Request::query(1, WireExpr { scope: 3, ..WireExpr::EMPTY });
    request.timestamp = Some(timestamp());
    request.target = QueryTarget::AllComplete;
    request.budget = NonZeroU32::new(9);
    request.timeout_ms = Some(10_000);
    request.node_id = 4;
    request.ts_stack = Some(b"\x01\x00");
    let bytes = b"\x9c\x01\x03\xa1\x0d\xc2\x03\x05\x01\xa1\xb4\x02\xa5\x09\xa6\x90\x4e\xb3\x04\
        \x47\x02\x01\x00\x03";
    assert_eq!(encoded(&request), bytes);
    assert_eq!(decoded(bytes), Ok(NetworkMessage::Request(request)));
}

#[test]
fn a_push_carries_all_its_extensions() {
    let mut push = Push::del(WireExpr::full("a"));
    push.qos = Qos::DECLARE;
    push.timestamp = Some(timestamp());
    push.node_id = 300;
    push.ts_stack = Some(b"\x02");
    let bytes = b"\xfd\x00\x01a\xa1\x08\xc2\x03\x05\x01\xa1\xb3\xac\x02\x47\x01\x02\x02";
    assert_eq!(encoded(&push), bytes);
    assert_eq!(decoded(bytes), Ok(NetworkMessage::Push(push)));
}

#[test]
fn extensions_come_in_any_order_and_the_last_of_a_kind_counts() {
    let bytes = b"\x9d\x02\xb3\x07\xa1\x08\x21\x0d\x02";
    let push = Push {
        qos: Qos::REQUEST,
        node_id: 7,
        ..Push::del(WireExpr { scope: 2, ..WireExpr::EMPTY })
    };
    assert_eq!(decoded(bytes), Ok(NetworkMessage::Push(push)));
}

#[test]
fn unknown_extensions_are_skipped_and_not_forwarded() {
    // A unit, an integer and bytes that nobody knows, around the QoS.
    let exts = b"\x8d\xad\x05\xa1\x08\x4d\x02xy";
    let heads_and_tails: [(&[u8], &[u8]); 7] = [
        (b"\x9d\x02", b"\x02"),
        (b"\x9c\x01\x02", b"\x03"),
        (b"\x9b\x01\x02", b"\x04\x02"),
        (b"\x9a\x01", b""),
        (b"\x9e", b"\x1a"),
        (b"\x99\x01", b""),
        (b"\x9f\x01", b""),
    ];
    for (head, tail) in heads_and_tails {
        let bytes = [head, exts, tail].concat();
        let message: NetworkMessage<'_> = decoded(&bytes).unwrap();
        assert_eq!(message.qos(), Qos::DECLARE);
        assert_eq!(encoded(&message), [head, b"\x21\x08", tail].concat());
        let mandatory = [head, b"\x1d", tail].concat();
        assert_eq!(
            decoded::<NetworkMessage<'_>>(&mandatory),
            Err(DecodeError::UnknownMandatoryExtension { id: 0x1d, offset: head.len() })
        );
        let reserved = [head, b"\x6d", tail].concat();
        assert_eq!(
            decoded::<NetworkMessage<'_>>(&reserved),
            Err(DecodeError::ReservedEncoding { offset: head.len() })
        );
    }
}

#[test]
fn an_id_with_another_encoding_is_another_extension() {
    // 0x41 has the id of the QoS, but is of bytes; 0x23 the one of the node id, but is not mandatory.
    let bytes = b"\x9d\x02\xc1\x01\x08\x23\x07\x02";
    let push = Push::del(WireExpr { scope: 2, ..WireExpr::EMPTY });
    assert_eq!(decoded(bytes), Ok(NetworkMessage::Push(push)));
}

#[test]
fn query_targets_are_bounded_and_no_budget_is_zero() {
    let out_of_range = DecodeError::OutOfRange { field: "query target", offset: 4 };
    assert_eq!(decoded::<NetworkMessage<'_>>(b"\x9c\x01\x02\x34\x03\x03"), Err(out_of_range));
    let request = Request {
        qos: Qos::DEFAULT,
        ..Request::query(1, WireExpr { scope: 2, ..WireExpr::EMPTY })
    };
    let decoded = decoded(b"\x9c\x01\x02\x25\x00\x03");
    assert_eq!(decoded, Ok(NetworkMessage::Request(request)));
}

#[test]
fn request_ids_are_bounded_but_declared_ids_wrap() {
    let out_of_range = DecodeError::OutOfRange { field: "request id", offset: 1 };
    let wide = b"\x1a\x80\x80\x80\x80\x10";
    assert_eq!(decoded::<NetworkMessage<'_>>(wide), Err(out_of_range));
    let wide = b"\x1e\x03\x85\x80\x80\x80\x10";
    let gone = Declaration::UndeclareSubscriber { id: 5, wire_expr: None };
    let declare = Declare { qos: Qos::DEFAULT, ..Declare::new(gone) };
    assert_eq!(decoded(wide), Ok(NetworkMessage::Declare(declare)));
}

#[test]
fn queryable_info_packs_both_values() {
    let bytes_of = |complete, distance| {
        let info = QueryableInfo { complete, distance };
        let wire_expr = WireExpr { scope: 4, ..WireExpr::EMPTY };
        let declare = Declare::new(Declaration::Queryable { id: 4, wire_expr, info });
        let bytes = encoded(&declare);
        assert_eq!(decoded(&bytes), Ok(NetworkMessage::Declare(declare)));
        bytes[3..].to_vec()
    };
    assert_eq!(bytes_of(false, 0), b"\x04\x04\x04");
    assert_eq!(bytes_of(true, 0), b"\x84\x04\x04\x21\x01");
    assert_eq!(bytes_of(true, 1), b"\x84\x04\x04\x21\x81\x02");
    assert_eq!(bytes_of(false, 2), b"\x84\x04\x04\x21\x80\x04");
}

#[test]
fn a_declared_key_expression_is_the_senders_unless_it_has_a_scope() {
    let mapping = |bytes: &'static [u8]| match decoded(bytes) {
        Ok(NetworkMessage::Declare(Declare {
            body: Declaration::KeyExpr { id: 7, wire_expr },
            ..
        })) => wire_expr.mapping,
        other => panic!("{other:?}"),
    };
    assert_eq!(mapping(b"\x1e\x20\x07\x00\x01a"), Mapping::Sender);
    assert_eq!(mapping(b"\x1e\x20\x07\x03\x02/a"), Mapping::Receiver);
}

#[test]
fn undeclarations_check_their_key_expression() {
    let bytes = b"\x1e\x87\x05\x5f\x03\x01\x00\xff";
    let not_utf8 = DecodeError::NotUtf8 { field: "key suffix", offset: 7 };
    assert_eq!(decoded::<NetworkMessage<'_>>(bytes), Err(not_utf8));
    let mut long = b"\x1e\x87\x05\x5f\x82\x80\x04\x01\x00".to_vec();
    long.resize(long.len() + 0x1_0000, b'a');
    let too_long = DecodeError::OutOfRange { field: "key suffix", offset: 9 };
    assert_eq!(decoded::<NetworkMessage<'_>>(&long), Err(too_long));
}

#[test]
fn interests_have_every_mode_and_option() {
    let wire_expr = WireExpr { scope: 3, mapping: Mapping::Sender, suffix: "/x" };
    for mode in [InterestMode::Current, InterestMode::Future, InterestMode::CurrentFuture] {
        for bit in 0..5 {
            let options = InterestOptions {
                key_exprs: bit == 0,
                subscribers: bit == 1,
                queryables: bit == 2,
                tokens: bit == 3,
                aggregate: bit == 4,
            };
            for wire_expr in [None, Some(wire_expr)] {
                let interest = Interest::new(1, mode, options, wire_expr);
                let bytes = encoded(&interest);
                let restriction = if wire_expr.is_some() { 0x70 } else { 0 };
                assert_eq!(bytes[2], [0x01, 0x02, 0x04, 0x08, 0x80][bit] | restriction);
                assert_eq!(decoded(&bytes), Ok(NetworkMessage::Interest(interest)));
            }
        }
    }
    assert!(InterestMode::Current.is_current() && !InterestMode::Current.is_future());
    assert!(InterestMode::CurrentFuture.is_current() && InterestMode::CurrentFuture.is_future());
    assert!(!InterestMode::Final.is_current() && !InterestMode::Final.is_future());
}

#[test]
fn what_ends_an_interest_has_no_options() {
    let options = InterestOptions { tokens: true, ..InterestOptions::default() };
    let ends = Interest::new(9, InterestMode::Final, options, Some(WireExpr::full("a")));
    assert_eq!(encoded(&ends), b"\x99\x09\x21\x08");
    assert_eq!(decoded(b"\x99\x09\x21\x08"), Ok(NetworkMessage::Interest(Interest::end(9))));
}

#[test]
fn oam_has_three_kinds_of_bodies() {
    let cases: [(&[u8], OamBody<'_>); 3] = [
        (b"\x1f\x05", OamBody::Unit),
        (b"\x3f\x05\xac\x02", OamBody::Z64(300)),
        (b"\x5f\x05\x02hi", OamBody::ZBuf(b"hi")),
    ];
    for (bytes, body) in cases {
        let oam = Oam { id: 5, qos: Qos::DEFAULT, timestamp: None, body };
        assert_eq!(decoded(bytes), Ok(NetworkMessage::Oam(oam)));
        assert_eq!(encoded(&oam), bytes);
    }
    let reserved = Err(DecodeError::ReservedEncoding { offset: 0 });
    assert_eq!(decoded::<NetworkMessage<'_>>(b"\x7f\x05"), reserved);
}

#[test]
fn ids_tell_network_messages_from_all_others() {
    for header in 0..=u8::MAX {
        let network = header & 0x1f >= 0x19;
        assert_eq!(is_network_id(header), network);
        let error = decoded::<NetworkMessage<'_>>(&[header]).unwrap_err();
        let unknown = DecodeError::UnknownMessage { id: header & 0x1f, offset: 0 };
        assert_eq!(error == unknown, !network, "{header:#x}");
    }
    let error = decoded::<NetworkMessage<'_>>(b"\x1d\x02\x03").unwrap_err();
    assert_eq!(error, DecodeError::UnknownMessage { id: 3, offset: 2 });
    let error = decoded::<NetworkMessage<'_>>(b"\x1e\x08").unwrap_err();
    assert_eq!(error, DecodeError::UnknownMessage { id: 8, offset: 1 });
}

#[test]
fn constructors_use_the_usual_qos() {
    let expr = WireExpr::full("a");
    assert_eq!(NetworkMessage::Push(Push::put(expr, b"")).qos(), Qos::DEFAULT);
    assert_eq!(NetworkMessage::Request(Request::query(1, expr)).qos(), Qos::REQUEST);
    assert_eq!(NetworkMessage::ResponseFinal(ResponseFinal::new(1)).qos(), Qos::REQUEST);
    assert_eq!(NetworkMessage::Declare(Declare::new(Declaration::Final)).qos(), Qos::DECLARE);
    assert_eq!(Declare::answer(3, Declaration::Final).interest_id, Some(3));
    assert_eq!(NetworkMessage::Interest(Interest::end(1)).qos(), Qos::DECLARE);
    assert_eq!(NetworkMessage::Oam(Oam::link_states(b"")).qos(), Qos::DECLARE);
    assert_eq!(NetworkMessage::Response(Response::err(1, ErrReply::default())).qos(), Qos::REQUEST);
}

#[test]
fn a_raw_body_is_written_as_it_is() {
    let query = Query { parameters: "x=1", ..Query::default() };
    let request = Request::new(1, WireExpr::full("a"), RequestBody::Query(query));
    let raw = Request { body: RequestBody::Raw(b"\x43\x03x=1"), ..request };
    assert_eq!(encoded(&raw), encoded(&request));
    let push = Push::put(WireExpr::full("a"), b"hi");
    let forwarded = forwarded(&push, b"\x01\x02hi");
    assert_eq!(encoded(&forwarded), encoded(&push));
}

fn forwarded<'a>(push: &'a Push<'a>, raw_body: &'a [u8]) -> RoutedPush<'a> {
    let Push { wire_expr, qos, node_id, .. } = *push;
    let raw_body = Some(raw_body);
    RoutedPush { push, raw_body, wire_expr, qos, node_id, timestamp: None }
}

#[test]
fn a_forwarded_put_gets_a_timestamp_or_another_one() {
    let id = ZenohId::from_le_bytes(&[1, 2]).unwrap();
    let body = |time: Option<u64>| {
        let timestamp = time.map(|time| Timestamp::new(time, id));
        let attachment = Some(&b"beside"[..]);
        PushBody::Put(Put { timestamp, attachment, payload: b"value", ..Put::default() })
    };
    let expected = Push::new(WireExpr::full("a"), body(Some(1 << 40)));
    for before in [None, Some(7)] {
        let push = Push { body: body(before), ..expected };
        let raw_body = encoded(&push.body);
        let timestamp = Some(Timestamp::new(1 << 40, id));
        let forwarded = RoutedPush { timestamp, ..forwarded(&push, &raw_body) };
        assert_eq!(encoded(&forwarded), encoded(&expected));
    }
    // A deletion keeps what it has.
    let push = Push::del(WireExpr::full("a"));
    let raw_body = encoded(&push.body);
    let timestamp = Some(Timestamp::new(1, id));
    assert_eq!(encoded(&RoutedPush { timestamp, ..forwarded(&push, &raw_body) }), encoded(&push));
}
