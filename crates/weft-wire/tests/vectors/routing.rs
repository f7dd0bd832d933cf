//! `routing.json`: batches of frames (in a notation of their own), and a few handshake messages.

use serde_json::Value;
use weft_wire::{
    Bound, Declaration, Decode, FrameHeader, Interest, InterestMode, LINKSTATE, LinkState,
    LinkStateList, Mapping, NetworkMessage, Oam, OamBody, Priority, PushBody, Qos, QueryableInfo,
    Reader, Reliability, RequestBody, ResponseBody, TransportMessage, WireExpr,
};

use crate::{decode_exactly, hex, load, text, unhex};

/// Vectors that are not bytes of the wire: hash values of links.
fn is_computed(vector: &Value) -> bool {
    text(vector, "name").starts_with("edge-weight-")
}

#[test]
fn frames_decode_to_the_stated_fields_and_encode_back() {
    let mut frames = 0;
    for vector in load("routing.json").iter().filter(|vector| !is_computed(vector)) {
        let stated = text(vector, "decoded");
        if !stated.starts_with("FRAME") {
            continue;
        }
        frames += 1;
        assert_eq!(describe_frame(text(vector, "name"), &unhex(text(vector, "hex"))), stated);
    }
    assert_eq!(frames, 85);
}

#[test]
fn handshakes_with_regions_decode_and_encode_back() {
    let vectors = load("routing.json");
    let decode = |name: &str, check: &dyn Fn(&TransportMessage<'_>) -> bool| {
        let vector = vectors.iter().find(|vector| text(vector, "name") == name).unwrap();
        let bytes = unhex(text(vector, "hex"));
        let mut r = Reader::new(&bytes);
        let message = decode_exactly::<TransportMessage<'_>>(name, &mut r);
        assert!(r.is_empty() && check(&message), "{message:?}");
    };
    decode("regions-initsyn-name", &|message| {
        matches!(message, TransportMessage::InitSyn(syn) if syn.exts.patch == 1
            && syn.exts.region_name == Some("main"))
    });
    decode("regions-opensyn-north", &|message| {
        matches!(message, TransportMessage::OpenSyn(syn)
            if syn.exts.remote_bound == Some(Bound::North))
    });
    decode("regions-openack-north", &|message| {
        matches!(message, TransportMessage::OpenAck(ack)
            if ack.exts.remote_bound == Some(Bound::North))
    });
    decode("regions-openack-south", &|message| {
        matches!(message, TransportMessage::OpenAck(ack)
            if ack.exts.remote_bound == Some(Bound::South))
    });
}

fn describe_frame(name: &str, batch: &[u8]) -> String {
    let mut r = Reader::new(batch);
    let TransportMessage::Frame(FrameHeader { reliability, sn, priority }) =
        decode_exactly(name, &mut r)
    else {
        panic!("{name}: not a frame");
    };
    assert_eq!(reliability, Reliability::Reliable, "{name}");
    let priority = match priority {
        Priority::Data => String::new(),
        other => format!("'prio': {}", other as u8),
    };
    let mut messages = vec![];
    while !r.is_empty() {
        messages.push(describe(&decode_exactly::<NetworkMessage<'_>>(name, &mut r)));
    }
    format!("FRAME R sn={sn} {{{priority}}} | {}", messages.join(" ; "))
}

fn describe(message: &NetworkMessage<'_>) -> String {
    match message {
        NetworkMessage::Push(push) => {
            let exts = exts(push.qos, &[("nodeid", Some(push.node_id).filter(|id| *id != 0))]);
            format!("PUSH {} {exts} {}", expr(&push.wire_expr), sample(&push.body))
        }
        NetworkMessage::Request(request) => {
            let node_id = Some(u64::from(request.node_id)).filter(|id| *id != 0);
            let exts = exts(request.qos, &[("timeout", request.timeout_ms), ("nodeid", node_id)]);
            let RequestBody::Query(query) = &request.body else {
                panic!("{request:?}");
            };
            let consolidation = query.consolidation.unwrap() as u8;
            let key = expr(&request.wire_expr);
            format!("REQUEST id={} {key} {exts} QUERY consolidation={consolidation}", request.id)
        }
        NetworkMessage::Response(response) => {
            let responder = response.responder.unwrap();
            let zid = responder.zid.as_le_slice();
            let raw = [&[(zid.len() as u8 - 1) << 4], zid, &[responder.eid as u8]].concat();
            let exts = exts(response.qos, &[("respid", Some(format!("'{}'", hex(&raw))))]);
            let ResponseBody::Reply(reply) = &response.body else {
                panic!("{response:?}");
            };
            let key = expr(&response.wire_expr);
            format!("RESPONSE id={} {key} {exts} REPLY {}", response.id, sample(&reply.body))
        }
        NetworkMessage::ResponseFinal(end) => {
            format!("RESPONSE_FINAL id={} {}", end.id, exts::<u8>(end.qos, &[]))
        }
        NetworkMessage::Declare(declare) => {
            let id = declare.interest_id.map_or("None".to_owned(), |id| id.to_string());
            let node_id = Some(declare.node_id).filter(|id| *id != 0);
            let exts = exts(declare.qos, &[("nodeid", node_id)]);
            format!("DECLARE interest_id={id} {exts} {}", declaration(&declare.body))
        }
        NetworkMessage::Interest(message) => interest(message),
        NetworkMessage::Oam(oam) => link_states(oam),
    }
}

fn sample(body: &PushBody<'_>) -> String {
    let PushBody::Put(put) = body else {
        panic!("{body:?}");
    };
    let timestamp = put
        .timestamp
        .map_or(String::new(), |timestamp| format!("ts={:#x}/{} ", timestamp.time, timestamp.id));
    format!("PUT {timestamp}payload=b'{}'", put.payload.escape_ascii())
}

fn interest(interest: &Interest<'_>) -> String {
    let Interest { id, mode, options, wire_expr, qos, .. } = interest;
    let exts = exts::<u8>(*qos, &[]);
    if *mode == InterestMode::Final {
        return format!("INTEREST id={id} {mode:?} {exts}");
    }
    let key = wire_expr.unwrap();
    let letters: String = [
        (options.key_exprs, 'K'),
        (options.subscribers, 'S'),
        (options.queryables, 'Q'),
        (options.tokens, 'T'),
        (true, 'R'),
        (!key.suffix.is_empty(), 'N'),
        (key.mapping == Mapping::Sender, 'M'),
        (options.aggregate, 'A'),
    ]
    .iter()
    .filter(|(set, _)| *set)
    .map(|(_, letter)| letter)
    .collect();
    format!("INTEREST id={id} {mode:?} opts={letters} key={} {exts}", expr(&key))
}

fn declaration(body: &Declaration<'_>) -> String {
    let entity = |kind: &str, id: u32, key: &WireExpr<'_>, info: &str| {
        format!("{kind}{{'id': {id}, 'key': \"{}\"{info}}}", expr(key))
    };
    let gone = |kind: &str, id: u32, key: &Option<WireExpr<'_>>| match key {
        None => format!("{kind}{{'id': {id}}}"),
        Some(key) => format!("{kind}{{'id': {id}, 'wexpr': \"{}\"}}", scoped(key)),
    };
    match body {
        Declaration::KeyExpr { id, wire_expr } => {
            entity("D_KEYEXPR", u32::from(*id), wire_expr, "")
        }
        Declaration::Subscriber { id, wire_expr } => entity("D_SUB", *id, wire_expr, ""),
        Declaration::Queryable { id, wire_expr, info } => {
            let QueryableInfo { complete, distance } = *info;
            let complete = u8::from(complete);
            let info = if *info == QueryableInfo::default() {
                String::new()
            } else {
                format!(", 'info': 'complete={complete} distance={distance}'")
            };
            entity("D_QABL", *id, wire_expr, &info)
        }
        Declaration::Token { id, wire_expr } => entity("D_TOKEN", *id, wire_expr, ""),
        Declaration::UndeclareSubscriber { id, wire_expr } => gone("U_SUB", *id, wire_expr),
        Declaration::UndeclareToken { id, wire_expr } => gone("U_TOKEN", *id, wire_expr),
        Declaration::Final => "D_FINAL".to_owned(),
        other => panic!("no vector has {other:?}"),
    }
}

fn link_states(oam: &Oam<'_>) -> String {
    let OamBody::ZBuf(body) = oam.body else {
        panic!("{oam:?}");
    };
    assert_eq!(oam.id, LINKSTATE);
    let mut r = Reader::new(body);
    let list = LinkStateList::decode(&mut r).unwrap();
    assert!(r.is_empty());
    assert_eq!(hex(&list.to_vec()), hex(body));
    assert_eq!(*oam, Oam::link_states(body));
    let states: Vec<_> = list.0.iter().map(link_state).collect();
    let exts = exts::<u8>(oam.qos, &[]);
    format!("OAM id={} {exts} LinkStateList=[{}]", oam.id, states.join(", "))
}

fn link_state(state: &LinkState) -> String {
    let LinkState { psid, sn, zid, whatami, locators, links, weights, gateway } = state;
    let options = u8::from(zid.is_some())
        | u8::from(whatami.is_some()) << 1
        | u8::from(locators.is_some()) << 2
        | u8::from(weights.is_some()) << 3
        | u8::from(*gateway) << 4;
    let locators = locators.as_ref().map(|locators| {
        let quoted: Vec<_> = locators.iter().map(|locator| format!("'{locator}'")).collect();
        quoted.join(", ")
    });
    let fields = [
        Some(format!("'opt': '{options:#x}', 'psid': {psid}, 'sn': {sn}")),
        zid.map(|zid| format!("'zid': '{zid}'")),
        whatami.map(|whatami| format!("'whatami': '{whatami}'")),
        locators.map(|locators| format!("'locators': [{locators}]")),
        Some(format!("'links': {links:?}")),
        weights.as_ref().map(|weights| format!("'weights': {weights:?}")),
        Some(format!("'gw': {}", if *gateway { "True" } else { "False" })),
    ];
    format!("{{{}}}", fields.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// `'whole'`, or `S:1+'/rest'` with the side whose scope it is.
fn expr(expr: &WireExpr<'_>) -> String {
    if expr.scope == 0 { format!("'{}'", expr.suffix) } else { scoped(expr) }
}

fn scoped(expr: &WireExpr<'_>) -> String {
    let side = if expr.mapping == Mapping::Sender { 'S' } else { 'R' };
    format!("{side}:{}+'{}'", expr.scope, expr.suffix)
}

fn exts<T: ToString>(qos: Qos, others: &[(&str, Option<T>)]) -> String {
    let qos = (qos != Qos::DEFAULT).then(|| format!("'qos': {}", qos.raw()));
    let others = others.iter().filter_map(|(name, value)| {
        value.as_ref().map(|value| format!("'{name}': {}", value.to_string()))
    });
    format!("{{{}}}", qos.into_iter().chain(others).collect::<Vec<_>>().join(", "))
}
