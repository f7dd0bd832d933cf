//! `network.json`: network messages, one a vector.

use serde_json::{Map, Value, json};
use weft_wire::{
    CongestionControl, Declaration, Declare, Decode, DecodeError, Encode, Encoding, EntityGlobalId,
    FrameHeader, Interest, InterestMode, InterestOptions, Mapping, NetworkMessage, OamBody,
    Priority, Push, PushBody, Put, Qos, Query, QueryTarget, QueryableInfo, Reader, Reliability,
    Request, RequestBody, Response, ResponseBody, RoutedPush, SourceInfo, Timestamp,
    TransportMessage, UnknownExts, WireExpr,
};

use crate::{decode_exactly, hex, load, text, unhex};

/// The one vector that receivers refuse.
const REFUSED: &str = "raw/push-with-unknown-mandatory-ext (router closes)";

#[test]
fn vectors_decode_to_the_stated_fields_and_encode_back() {
    let vectors = load("network.json");
    assert_eq!(vectors.len(), 267);
    for vector in vectors.iter().filter(|vector| text(vector, "name") != REFUSED) {
        let name = text(vector, "name");
        let bytes = unhex(text(vector, "hex"));
        let mut r = Reader::new(&bytes);
        let message: NetworkMessage<'_> = decode_exactly(name, &mut r);
        assert!(r.is_empty(), "{name}");
        assert_eq!(describe(&message), vector["decoded"], "{name}");
    }
}

#[test]
fn an_unknown_mandatory_extension_is_refused() {
    let vectors = load("network.json");
    let refused = vectors.iter().find(|vector| text(vector, "name") == REFUSED).unwrap();
    let bytes = unhex(text(refused, "hex"));
    assert_eq!(
        NetworkMessage::decode(&mut Reader::new(&bytes)),
        Err(DecodeError::UnknownMandatoryExtension { id: 0x39, offset: 7 })
    );
}

#[test]
fn vectors_decode_behind_one_another_in_a_frame() {
    let header =
        FrameHeader { reliability: Reliability::Reliable, sn: 7, priority: Priority::Control };
    let mut batch = Vec::new();
    header.encode(&mut batch).unwrap();
    let vectors = load("network.json");
    let messages: Vec<_> =
        vectors.iter().filter(|vector| text(vector, "name") != REFUSED).collect();
    for vector in &messages {
        batch.extend(unhex(text(vector, "hex")));
    }
    let mut r = Reader::new(&batch);
    assert_eq!(TransportMessage::decode(&mut r), Ok(TransportMessage::Frame(header)));
    for vector in &messages {
        assert!(r.peek().is_some_and(weft_wire::is_network_id));
        let message = NetworkMessage::decode(&mut r).unwrap();
        assert_eq!(describe(&message), vector["decoded"], "{}", text(vector, "name"));
    }
    assert!(r.is_empty());
}

#[test]
fn raw_bodies_forward_to_the_same_bytes() {
    let mut forwarded = 0;
    for vector in load("network.json") {
        let bytes = unhex(text(&vector, "hex"));
        let Ok((message, raw)) = NetworkMessage::decode_raw(&mut Reader::new(&bytes)) else {
            continue;
        };
        let mut encoded = Vec::new();
        let message = match message {
            NetworkMessage::Push(push) => {
                let Push { wire_expr, qos, node_id, .. } = push;
                let (push, raw_body, timestamp) = (&push, Some(raw), None);
                RoutedPush { push, raw_body, wire_expr, qos, node_id, timestamp }
                    .encode(&mut encoded)
                    .unwrap();
                NetworkMessage::Push(*push)
            }
            NetworkMessage::Request(mut request) => {
                request.body = RequestBody::Raw(raw);
                NetworkMessage::Request(request)
            }
            NetworkMessage::Response(mut response) => {
                response.body = ResponseBody::Raw(raw);
                NetworkMessage::Response(response)
            }
            other => {
                assert!(raw.is_empty());
                other
            }
        };
        forwarded += usize::from(!raw.is_empty());
        if encoded.is_empty() {
            message.encode(&mut encoded).unwrap();
        }
        assert_eq!(hex(&encoded), hex(&bytes), "{}", text(&vector, "name"));
    }
    assert!(forwarded > 100);
}

#[test]
fn no_proper_prefix_of_a_message_decodes() {
    for vector in load("network.json") {
        let bytes = unhex(text(&vector, "hex"));
        for len in 0..bytes.len() {
            let prefix = NetworkMessage::decode(&mut Reader::new(&bytes[..len]));
            assert!(prefix.is_err(), "{} cut to {len} bytes", text(&vector, "name"));
        }
    }
}

/// The message in the notation of the vector file.
fn describe(message: &NetworkMessage<'_>) -> Value {
    match message {
        NetworkMessage::Push(push) => {
            let ext = common_ext(push.qos, push.timestamp);
            assert_eq!((push.node_id, push.ts_stack), (0, None));
            object([
                ("msg", json!("PUSH")),
                ("wire_expr", wire_expr(&push.wire_expr)),
                ("ext", exts(ext)),
                ("body", push_body(&push.body)),
            ])
        }
        NetworkMessage::Request(request) => request_object(request),
        NetworkMessage::Response(response) => response_object(response),
        NetworkMessage::ResponseFinal(end) => object([
            ("msg", json!("RESPONSE_FINAL")),
            ("rid", json!(end.id)),
            ("ext", exts(common_ext(end.qos, end.timestamp))),
        ]),
        NetworkMessage::Declare(declare) => declare_object(declare),
        NetworkMessage::Interest(interest) => interest_object(interest),
        NetworkMessage::Oam(oam) => {
            let OamBody::ZBuf(body) = oam.body else {
                panic!("{oam:?}");
            };
            object([
                ("msg", json!("OAM")),
                ("id", json!(oam.id)),
                ("ext", exts(common_ext(oam.qos, oam.timestamp))),
                ("zbuf", json!(hex(body))),
            ])
        }
    }
}

fn request_object(request: &Request<'_>) -> Value {
    let mut ext = common_ext(request.qos, request.timestamp);
    if request.target != QueryTarget::BestMatching {
        ext.insert("target".into(), json!(format!("{:?}", request.target)));
        ext.insert("target.mandatory".into(), json!(true));
    }
    if let Some(timeout_ms) = request.timeout_ms {
        ext.insert("timeout_ms".into(), json!(timeout_ms));
    }
    assert_eq!((request.budget, request.node_id, request.ts_stack), (None, 0, None));
    let RequestBody::Query(query) = &request.body else {
        panic!("{request:?}");
    };
    object([
        ("msg", json!("REQUEST")),
        ("rid", json!(request.id)),
        ("wire_expr", wire_expr(&request.wire_expr)),
        ("ext", exts(ext)),
        ("body", query_object(query)),
    ])
}

fn query_object(query: &Query<'_>) -> Value {
    let mut ext = body_ext(query.source_info, query.attachment, &query.unknown);
    if let Some(body) = query.body {
        let body = json!({"encoding": encoding(&body.encoding), "payload": hex(body.payload)});
        ext.insert("query_body".into(), body);
    }
    object([
        ("msg", json!("QUERY")),
        ("consolidation", query.consolidation.map_or(Value::Null, |c| json!(format!("{c:?}")))),
        ("parameters", text_or_null(query.parameters)),
        ("ext", exts(ext)),
    ])
}

fn response_object(response: &Response<'_>) -> Value {
    let mut ext = common_ext(response.qos, response.timestamp);
    if let Some(EntityGlobalId { zid, eid }) = response.responder {
        ext.insert("responder_id".into(), json!({"zid": hex(zid.as_le_slice()), "eid": eid}));
    }
    let body = match &response.body {
        ResponseBody::Reply(reply) => {
            assert!(reply.consolidation.is_none() && reply.unknown.is_empty());
            json!({"msg": "REPLY", "body": push_body(&reply.body)})
        }
        ResponseBody::Err(error) => object([
            ("msg", json!("ERR")),
            ("encoding", encoding_or_null(&error.encoding)),
            ("ext", exts(body_ext(error.source_info, None, &error.unknown))),
            ("payload", json!(hex(error.payload))),
        ]),
        ResponseBody::Raw(_) => unreachable!("never decoded"),
    };
    object([
        ("msg", json!("RESPONSE")),
        ("rid", json!(response.id)),
        ("wire_expr", wire_expr(&response.wire_expr)),
        ("ext", exts(ext)),
        ("body", body),
    ])
}

fn declare_object(declare: &Declare<'_>) -> Value {
    assert_eq!(declare.node_id, 0);
    object([
        ("msg", json!("DECLARE")),
        ("interest_id", json!(declare.interest_id)),
        ("ext", exts(common_ext(declare.qos, declare.timestamp))),
        ("body", declaration(&declare.body)),
    ])
}

fn declaration(body: &Declaration<'_>) -> Value {
    match body {
        Declaration::KeyExpr { id, wire_expr } => {
            assert_eq!(wire_expr.mapping, Mapping::Sender);
            let expr = json!({"scope": wire_expr.scope, "suffix": wire_expr.suffix});
            json!({"decl": "D_KEYEXPR", "id": id, "wire_expr": expr})
        }
        Declaration::UndeclareKeyExpr { id } => json!({"decl": "U_KEYEXPR", "id": id}),
        Declaration::Subscriber { id, wire_expr: expr } => {
            json!({"decl": "D_SUBSCRIBER", "id": id, "wire_expr": wire_expr(expr)})
        }
        Declaration::Queryable { id, wire_expr: expr, info } => {
            let QueryableInfo { complete, distance } = *info;
            let ext = json!({"complete": complete, "distance": distance});
            object([
                ("decl", json!("D_QUERYABLE")),
                ("id", json!(id)),
                ("wire_expr", wire_expr(expr)),
                (
                    "ext",
                    if *info == QueryableInfo::default() {
                        Value::Null
                    } else {
                        json!({"queryable_info": ext})
                    },
                ),
            ])
        }
        Declaration::Token { id, wire_expr: expr } => {
            json!({"decl": "D_TOKEN", "id": id, "wire_expr": wire_expr(expr)})
        }
        Declaration::UndeclareSubscriber { id, wire_expr } => {
            undeclared("U_SUBSCRIBER", *id, wire_expr.as_ref())
        }
        Declaration::UndeclareQueryable { id, wire_expr } => {
            undeclared("U_QUERYABLE", *id, wire_expr.as_ref())
        }
        Declaration::UndeclareToken { id, wire_expr } => {
            undeclared("U_TOKEN", *id, wire_expr.as_ref())
        }
        Declaration::Final => json!({"decl": "D_FINAL"}),
    }
}

fn undeclared(kind: &str, id: u32, expr: Option<&WireExpr<'_>>) -> Value {
    let Some(expr) = expr else {
        return json!({"decl": kind, "id": id});
    };
    let sender = expr.mapping == Mapping::Sender;
    let expr = json!({
        "flags": u8::from(!expr.suffix.is_empty()) | u8::from(sender) << 1,
        "scope": expr.scope,
        "suffix": expr.suffix,
        "mapping": if sender { "sender" } else { "receiver" },
    });
    json!({"decl": kind, "id": id, "ext": {"wire_expr": expr, "wire_expr.mandatory": true}})
}

fn interest_object(interest: &Interest<'_>) -> Value {
    let Interest { id, mode, options, wire_expr: expr, qos, timestamp, node_id } = *interest;
    assert_eq!(node_id, 0);
    let InterestOptions { key_exprs, subscribers, queryables, tokens, aggregate } = options;
    let flags = [
        (key_exprs, 'K'),
        (subscribers, 'S'),
        (queryables, 'Q'),
        (tokens, 'T'),
        (expr.is_some(), 'R'),
        (expr.is_some_and(|expr| !expr.suffix.is_empty()), 'N'),
        (expr.is_some_and(|expr| expr.mapping == Mapping::Sender), 'M'),
        (aggregate, 'A'),
    ];
    let bits = (0..8).fold(0, |bits, i| bits | u8::from(flags[i].0) << i);
    let letters: String = flags.iter().filter(|(set, _)| *set).map(|(_, letter)| letter).collect();
    let is_final = mode == InterestMode::Final;
    object([
        ("msg", json!("INTEREST")),
        ("mode", json!(format!("{mode:?}"))),
        ("id", json!(id)),
        ("options", if is_final { Value::Null } else { json!(format!("{bits:#04x}")) }),
        ("opt_flags", if is_final { Value::Null } else { json!(letters) }),
        ("wire_expr", expr.map_or(Value::Null, |expr| wire_expr(&expr))),
        ("ext", exts(common_ext(qos, timestamp))),
    ])
}

fn push_body(body: &PushBody<'_>) -> Value {
    match body {
        PushBody::Put(put) => {
            let Put { source_info, attachment, unknown, .. } = put;
            object([
                ("msg", json!("PUT")),
                ("timestamp", timestamp(put.timestamp)),
                ("encoding", encoding_or_null(&put.encoding)),
                ("ext", exts(body_ext(*source_info, *attachment, unknown))),
                ("payload", json!(hex(put.payload))),
            ])
        }
        PushBody::Del(del) => object([
            ("msg", json!("DEL")),
            ("timestamp", timestamp(del.timestamp)),
            ("ext", exts(body_ext(del.source_info, del.attachment, &del.unknown))),
        ]),
    }
}

fn common_ext(qos: Qos, timestamp: Option<Timestamp>) -> Map<String, Value> {
    assert_eq!(timestamp, None, "no vector has one");
    let mut ext = Map::new();
    if qos != Qos::DEFAULT {
        let congestion = match qos.congestion_control() {
            CongestionControl::Drop => "Drop",
            CongestionControl::Block => "Block",
            CongestionControl::BlockFirst => "BlockFirst",
        };
        let qos = json!({
            "raw": format!("{:#04x}", qos.raw()),
            "priority": format!("{:?}", qos.priority()),
            "congestion": congestion,
            "express": qos.express(),
        });
        ext.insert("qos".into(), qos);
    }
    ext
}

fn body_ext(
    source_info: Option<SourceInfo>,
    attachment: Option<&[u8]>,
    unknown: &UnknownExts<'_>,
) -> Map<String, Value> {
    let mut ext = Map::new();
    if let Some(SourceInfo { id: EntityGlobalId { zid, eid }, sn }) = source_info {
        let info = json!({"zid": hex(zid.as_le_slice()), "eid": eid, "sn": sn});
        ext.insert("source_info".into(), info);
    }
    if let Some(attachment) = attachment {
        ext.insert("attachment".into(), json!(hex(attachment)));
    }
    for (key, value) in unknown.iter() {
        assert_eq!(key & 0xf0, 0x40, "the only one is of bytes");
        ext.insert(format!("unknown_{}", key & 0x0f), json!(hex(&value[1..])));
    }
    ext
}

fn wire_expr(expr: &WireExpr<'_>) -> Value {
    object([
        ("scope", json!(expr.scope)),
        ("suffix", text_or_null(expr.suffix)),
        ("mapping", json!(if expr.mapping == Mapping::Sender { "sender" } else { "receiver" })),
    ])
}

fn timestamp(timestamp: Option<Timestamp>) -> Value {
    timestamp.map_or(Value::Null, |timestamp| {
        let id = hex(timestamp.id.as_le_slice());
        json!({"ntp64": format!("{:#018x}", timestamp.time), "id": id})
    })
}

fn encoding(encoding: &Encoding<'_>) -> Value {
    let schema = encoding.schema.map_or(Value::Null, |s| json!(str::from_utf8(s).unwrap()));
    object([("id", json!(encoding.id)), ("schema", schema)])
}

fn encoding_or_null(value: &Encoding<'_>) -> Value {
    if value.is_default() { Value::Null } else { encoding(value) }
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

/// The fields that are not null.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.to_owned(), value))
        .collect::<Map<_, _>>()
        .into()
}

/// The extensions, or null if there are none.
fn exts(exts: Map<String, Value>) -> Value {
    if exts.is_empty() { Value::Null } else { exts.into() }
}
