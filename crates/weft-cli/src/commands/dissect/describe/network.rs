//! Network messages in words.

use serde_json::{Value, json};
use weft::timestamp::TimestampText as _;
use weft_wire::{
    Consolidation, Declaration, Declare, Decode as _, Encoding, EntityGlobalId, Interest,
    InterestMode, LINKSTATE, LinkState, LinkStateList, NetworkMessage, Oam, OamBody, Push,
    PushBody, Qos, Query, QueryTarget, QueryableInfo, Reader, Request, RequestBody, Response,
    ResponseBody, SourceInfo, Timestamp, UnknownExts, WireExpr,
};

use super::super::record::{Kind, Record};
use super::oam_body;
use crate::render;

/// Gives the name of a key expression of a message.
type Naming<'n> = &'n dyn Fn(&WireExpr<'_>) -> String;

/// A network message of `len` bytes.
pub(crate) fn network(message: &NetworkMessage<'_>, len: usize, naming: Naming<'_>) -> Record {
    let record = match message {
        NetworkMessage::Push(message) => push(message, naming),
        NetworkMessage::Request(message) => request(message, naming),
        NetworkMessage::Response(message) => response(message, naming),
        NetworkMessage::ResponseFinal(message) => common(
            Record::new(Kind::ResponseFinal, "response_final").number("id", u64::from(message.id)),
            message.qos,
            message.timestamp,
        ),
        NetworkMessage::Declare(message) => declare(message, naming),
        NetworkMessage::Interest(message) => interest(message, naming),
        NetworkMessage::Oam(message) => oam(message),
    };
    record.json_only("message_len", len.into())
}

fn push(push: &Push<'_>, naming: Naming<'_>) -> Record {
    let record = keyed(Record::new(Kind::Push, "push"), &push.wire_expr, naming);
    let record = common(record, push.qos, push.timestamp);
    sample(routed(record, push.node_id).length_of("ts_stack", push.ts_stack), &push.body)
}

fn request(request: &Request<'_>, naming: Naming<'_>) -> Record {
    let record = Record::new(Kind::Request, "request").number("id", u64::from(request.id));
    let record = keyed(record, &request.wire_expr, naming);
    let record = routed(common(record, request.qos, request.timestamp), request.node_id)
        .length_of("ts_stack", request.ts_stack)
        .text("target", target_word(request.target))
        .optional_number("budget", request.budget.map(|budget| budget.get().into()))
        .optional_number("timeout_ms", request.timeout_ms);
    match &request.body {
        RequestBody::Query(body) => query(record, body),
        // Only for encoding.
        RequestBody::Raw(_) => record,
    }
}

fn query(record: Record, query: &Query<'_>) -> Record {
    let mut record = match query.consolidation {
        Some(consolidation) => record.text("consolidation", consolidation_word(consolidation)),
        None => record,
    };
    if !query.parameters.is_empty() {
        record = record.text("parameters", query.parameters);
    }
    let record = attached(record, query.source_info, query.attachment, &query.unknown);
    match &query.body {
        Some(body) => payload(record, &body.encoding, body.payload),
        None => record,
    }
}

fn response(response: &Response<'_>, naming: Naming<'_>) -> Record {
    let mut record = Record::new(Kind::Response, "response").number("id", u64::from(response.id));
    if !response.wire_expr.is_empty() {
        record = keyed(record, &response.wire_expr, naming);
    }
    let record =
        common(record, response.qos, response.timestamp).length_of("ts_stack", response.ts_stack);
    let record = match response.responder {
        Some(id) => record.value("responder", entity_text(id), render::entity(id)),
        None => record,
    };
    match &response.body {
        ResponseBody::Reply(reply) => {
            let record = match reply.consolidation {
                Some(word) => record.text("consolidation", consolidation_word(word)),
                None => record,
            };
            sample(unknown(record, &reply.unknown), &reply.body)
        }
        ResponseBody::Err(error) => {
            let record = record.text("kind", "error");
            let record = attached(record, error.source_info, None, &error.unknown);
            payload(record, &error.encoding, error.payload)
        }
        ResponseBody::Raw(_) => record,
    }
}

fn declare(declare: &Declare<'_>, naming: Naming<'_>) -> Record {
    let record = Record::new(Kind::Declare, "declare");
    let named = |what, id: u32| record.clone().text("what", what).number("id", u64::from(id));
    let record = match &declare.body {
        Declaration::KeyExpr { id, wire_expr } => {
            keyed(named("key_expr", (*id).into()), wire_expr, naming)
        }
        Declaration::UndeclareKeyExpr { id } => named("undeclare_key_expr", (*id).into()),
        Declaration::Subscriber { id, wire_expr } => {
            keyed(named("subscriber", *id), wire_expr, naming)
        }
        Declaration::Queryable { id, wire_expr, info } => {
            let QueryableInfo { complete, distance } = *info;
            keyed(named("queryable", *id), wire_expr, naming)
                .flag("complete", complete)
                .number("distance", u64::from(distance))
        }
        Declaration::Token { id, wire_expr } => keyed(named("token", *id), wire_expr, naming),
        Declaration::UndeclareSubscriber { id, wire_expr } => {
            maybe_keyed(named("undeclare_subscriber", *id), wire_expr.as_ref(), naming)
        }
        Declaration::UndeclareQueryable { id, wire_expr } => {
            maybe_keyed(named("undeclare_queryable", *id), wire_expr.as_ref(), naming)
        }
        Declaration::UndeclareToken { id, wire_expr } => {
            maybe_keyed(named("undeclare_token", *id), wire_expr.as_ref(), naming)
        }
        Declaration::Final => record.text("what", "final"),
    };
    let record = record.optional_number("interest_id", declare.interest_id.map(u64::from));
    routed(common(record, declare.qos, declare.timestamp), declare.node_id)
}

fn interest(interest: &Interest<'_>, naming: Naming<'_>) -> Record {
    let mode = match interest.mode {
        InterestMode::Final => "final",
        InterestMode::Current => "current",
        InterestMode::Future => "future",
        InterestMode::CurrentFuture => "current_future",
    };
    let options = interest.options;
    let record = Record::new(Kind::Interest, "interest")
        .number("id", u64::from(interest.id))
        .text("mode", mode);
    let record = maybe_keyed(record, interest.wire_expr.as_ref(), naming)
        .flag("key_exprs", options.key_exprs)
        .flag("subscribers", options.subscribers)
        .flag("queryables", options.queryables)
        .flag("tokens", options.tokens)
        .flag("aggregate", options.aggregate);
    routed(common(record, interest.qos, interest.timestamp), interest.node_id)
}

fn oam(oam: &Oam<'_>) -> Record {
    let record = Record::new(Kind::Oam, "oam").number("id", u64::from(oam.id));
    let record = common(record, oam.qos, oam.timestamp);
    if let (LINKSTATE, OamBody::ZBuf(bytes)) = (oam.id, &oam.body)
        && let Ok(LinkStateList(states)) = LinkStateList::decode(&mut Reader::new(bytes))
    {
        let texts: Vec<String> = states.iter().map(link_state_text).collect();
        let all: Vec<Value> = states.iter().map(link_state).collect();
        return record.value("link_states", format!("[{}]", texts.join("; ")), all.into());
    }
    oam_body(record, &oam.body)
}

fn link_state_text(state: &LinkState) -> String {
    let zid = state.zid.map_or_else(String::new, |zid| format!(" zid={zid}"));
    let mode = state.whatami.map_or_else(String::new, |mode| format!(" {mode}"));
    let gateway = if state.gateway { " gateway" } else { "" };
    let LinkState { psid, sn, links, .. } = state;
    format!("psid={psid} sn={sn}{zid}{mode}{gateway} links={links:?}")
}

fn link_state(state: &LinkState) -> Value {
    json!({
        "psid": state.psid,
        "sn": state.sn,
        "zid": state.zid.map(|zid| zid.to_string()),
        "whatami": state.whatami.map(weft::WhatAmI::as_str),
        "locators": state.locators.as_deref().map(render::locators),
        "links": state.links,
        "weights": state.weights,
        "gateway": state.gateway,
    })
}

fn keyed(record: Record, wire_expr: &WireExpr<'_>, naming: Naming<'_>) -> Record {
    record.keyed(naming(wire_expr))
}

fn maybe_keyed(record: Record, wire_expr: Option<&WireExpr<'_>>, naming: Naming<'_>) -> Record {
    match wire_expr {
        Some(wire_expr) if !wire_expr.is_empty() => keyed(record, wire_expr, naming),
        _ => record,
    }
}

/// The extensions that all network messages have.
fn common(record: Record, qos: Qos, timestamp: Option<Timestamp>) -> Record {
    let record = record
        .text("priority", render::priority_word(qos.priority()))
        .text("congestion", render::congestion_word(qos.congestion_control()))
        .flag("express", qos.express());
    match timestamp {
        Some(timestamp) => record.text("sent", timestamp.to_rfc3339()),
        None => record,
    }
}

fn routed(record: Record, node_id: u16) -> Record {
    if node_id == 0 { record } else { record.number("node_id", u64::from(node_id)) }
}

fn sample(record: Record, body: &PushBody<'_>) -> Record {
    let stamped = |record: Record, timestamp: Option<Timestamp>| match timestamp {
        Some(timestamp) => record.text("timestamp", timestamp.to_rfc3339()),
        None => record,
    };
    match body {
        PushBody::Put(put) => {
            let record = stamped(record.text("kind", "put"), put.timestamp);
            let record = attached(record, put.source_info, put.attachment, &put.unknown);
            payload(record, &put.encoding, put.payload)
        }
        PushBody::Del(del) => {
            let record = stamped(record.text("kind", "delete"), del.timestamp);
            attached(record, del.source_info, del.attachment, &del.unknown)
        }
    }
}

fn attached(
    record: Record,
    source: Option<SourceInfo>,
    attachment: Option<&[u8]>,
    unknowns: &UnknownExts<'_>,
) -> Record {
    let record = match source {
        Some(SourceInfo { id, sn }) => {
            let mut json = render::entity(id);
            json["sn"] = sn.into();
            record.value("source_info", format!("{}#{sn}", entity_text(id)), json)
        }
        None => record,
    };
    let record = unknown(record, unknowns);
    match attachment {
        Some(bytes) => record.bytes("attachment", bytes),
        None => record,
    }
}

/// Extensions that have no name here.
fn unknown(record: Record, unknowns: &UnknownExts<'_>) -> Record {
    if unknowns.is_empty() {
        return record;
    }
    let texts: Vec<String> =
        unknowns.iter().map(|(key, value)| format!("{key:#04x}:{}B", value.len())).collect();
    let all: Vec<Value> = unknowns
        .iter()
        .map(|(key, value)| json!({ "key": key, "value_hex": render::hex(value) }))
        .collect();
    record.value("unknown_extensions", texts.join(","), all.into())
}

fn payload(record: Record, encoding: &Encoding<'_>, payload: &[u8]) -> Record {
    let text = weft::Encoding::from_wire(encoding.id, encoding.schema)
        .map_or_else(|error| error.to_string(), |encoding| encoding.to_string());
    let record = if encoding.is_default() {
        record.json_only("encoding", text.into())
    } else {
        record.text("encoding", text)
    };
    record.number("size", payload.len() as u64).bytes("payload", payload)
}

fn entity_text(id: EntityGlobalId) -> String {
    format!("{}:{}", id.zid, id.eid)
}

const fn target_word(target: QueryTarget) -> &'static str {
    match target {
        QueryTarget::BestMatching => "best_matching",
        QueryTarget::All => "all",
        QueryTarget::AllComplete => "all_complete",
    }
}

const fn consolidation_word(consolidation: Consolidation) -> &'static str {
    match consolidation {
        Consolidation::Auto => "auto",
        Consolidation::None => "none",
        Consolidation::Monotonic => "monotonic",
        Consolidation::Latest => "latest",
    }
}
