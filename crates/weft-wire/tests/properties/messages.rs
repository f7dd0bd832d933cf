//! Random messages of every kind, with every extension.

use std::num::NonZeroU32;

use weft_wire::{
    Bits, Bound, Close, CloseReason, Consolidation, Declaration, Declare, Del, Encoding,
    EntityGlobalId, ErrReply, FragmentHeader, FrameHeader, Hello, InitAck, InitExts, InitSyn,
    Interest, InterestMode, InterestOptions, Join, LinkState, LinkStateList, Locator, Mapping,
    NetworkMessage, NextSn, Oam, OamBody, OpenAck, OpenExts, OpenSyn, Priority, Push, PushBody,
    Put, Qos, Query, QueryBody, QueryTarget, QueryableInfo, Reliability, Reply, Request,
    RequestBody, Resolution, Response, ResponseBody, ResponseFinal, Scout, ScoutingMessage,
    SourceInfo, Timestamp, TransportMessage, TransportOam, UnknownExts, WhatAmI, WhatAmIMatcher,
    WireExpr, ZenohId,
};

use crate::Entropy;

pub(crate) fn network<'a>(e: &mut Entropy<'a>) -> NetworkMessage<'a> {
    match e.below(7) {
        0 => NetworkMessage::Push(Push {
            wire_expr: wire_expr(e),
            qos: Qos::from_raw(e.byte()),
            timestamp: e.option(timestamp),
            node_id: e.integer() as u16,
            ts_stack: e.option(|e| e.slice(8)),
            body: push_body(e),
        }),
        1 => NetworkMessage::Request(request(e)),
        2 => NetworkMessage::Response(response(e)),
        3 => NetworkMessage::ResponseFinal(ResponseFinal {
            id: e.integer() as u32,
            qos: Qos::from_raw(e.byte()),
            timestamp: e.option(timestamp),
        }),
        4 => NetworkMessage::Declare(Declare {
            interest_id: e.option(|e| e.integer() as u32),
            qos: Qos::from_raw(e.byte()),
            timestamp: e.option(timestamp),
            node_id: e.integer() as u16,
            body: declaration(e),
        }),
        5 => NetworkMessage::Interest(interest(e)),
        _ => NetworkMessage::Oam(Oam {
            id: e.integer() as u16,
            qos: Qos::from_raw(e.byte()),
            timestamp: e.option(timestamp),
            body: oam_body(e),
        }),
    }
}

fn request<'a>(e: &mut Entropy<'a>) -> Request<'a> {
    let query = Query {
        consolidation: e.option(consolidation),
        parameters: e.text(),
        source_info: e.option(source_info),
        body: e.option(|e| QueryBody { encoding: encoding(e), payload: e.slice(16) }),
        attachment: e.option(|e| e.slice(8)),
        unknown: UnknownExts::EMPTY,
    };
    let targets = [QueryTarget::BestMatching, QueryTarget::All, QueryTarget::AllComplete];
    Request {
        id: e.integer() as u32,
        wire_expr: wire_expr(e),
        qos: Qos::from_raw(e.byte()),
        timestamp: e.option(timestamp),
        ts_stack: e.option(|e| e.slice(8)),
        target: e.pick(&targets),
        budget: NonZeroU32::new(e.integer() as u32),
        timeout_ms: e.option(Entropy::integer),
        node_id: e.integer() as u16,
        body: RequestBody::Query(query),
    }
}

fn response<'a>(e: &mut Entropy<'a>) -> Response<'a> {
    let body = if e.flag() {
        ResponseBody::Reply(Reply {
            consolidation: e.option(consolidation),
            unknown: UnknownExts::EMPTY,
            body: push_body(e),
        })
    } else {
        ResponseBody::Err(ErrReply {
            encoding: encoding(e),
            source_info: e.option(source_info),
            unknown: UnknownExts::EMPTY,
            payload: e.slice(16),
        })
    };
    Response {
        id: e.integer() as u32,
        wire_expr: wire_expr(e),
        qos: Qos::from_raw(e.byte()),
        timestamp: e.option(timestamp),
        ts_stack: e.option(|e| e.slice(8)),
        responder: e.option(entity_id),
        body,
    }
}

fn declaration<'a>(e: &mut Entropy<'a>) -> Declaration<'a> {
    let id = e.integer() as u32;
    match e.below(9) {
        0 => {
            let mut wire_expr = wire_expr(e);
            let whole = wire_expr.scope == 0;
            wire_expr.mapping = if whole { Mapping::Sender } else { Mapping::Receiver };
            Declaration::KeyExpr { id: id as u16, wire_expr }
        }
        1 => Declaration::UndeclareKeyExpr { id: id as u16 },
        2 => Declaration::Subscriber { id, wire_expr: wire_expr(e) },
        3 => Declaration::UndeclareSubscriber { id, wire_expr: e.option(wire_expr) },
        4 => {
            let info = QueryableInfo { complete: e.flag(), distance: e.integer() as u16 };
            Declaration::Queryable { id, wire_expr: wire_expr(e), info }
        }
        5 => Declaration::UndeclareQueryable { id, wire_expr: e.option(wire_expr) },
        6 => Declaration::Token { id, wire_expr: wire_expr(e) },
        7 => Declaration::UndeclareToken { id, wire_expr: e.option(wire_expr) },
        _ => Declaration::Final,
    }
}

fn interest<'a>(e: &mut Entropy<'a>) -> Interest<'a> {
    let id = e.integer() as u32;
    let mode = e.pick(&[
        InterestMode::Final,
        InterestMode::Current,
        InterestMode::Future,
        InterestMode::CurrentFuture,
    ]);
    let mut interest = Interest { mode, ..Interest::end(id) };
    if mode != InterestMode::Final {
        interest.options = InterestOptions {
            key_exprs: e.flag(),
            subscribers: e.flag(),
            queryables: e.flag(),
            tokens: e.flag(),
            aggregate: e.flag(),
        };
        interest.wire_expr = e.option(wire_expr);
    }
    interest.qos = Qos::from_raw(e.byte());
    interest.timestamp = e.option(timestamp);
    interest.node_id = e.integer() as u16;
    interest
}

fn push_body<'a>(e: &mut Entropy<'a>) -> PushBody<'a> {
    if e.flag() {
        return PushBody::Del(Del {
            timestamp: e.option(timestamp),
            source_info: e.option(source_info),
            attachment: e.option(|e| e.slice(8)),
            unknown: UnknownExts::EMPTY,
        });
    }
    PushBody::Put(Put {
        timestamp: e.option(timestamp),
        encoding: encoding(e),
        source_info: e.option(source_info),
        attachment: e.option(|e| e.slice(8)),
        unknown: UnknownExts::EMPTY,
        payload: e.slice(200),
    })
}

fn oam_body<'a>(e: &mut Entropy<'a>) -> OamBody<'a> {
    match e.below(3) {
        0 => OamBody::Unit,
        1 => OamBody::Z64(e.integer()),
        _ => OamBody::ZBuf(e.slice(32)),
    }
}

pub(crate) fn transport<'a>(e: &mut Entropy<'a>) -> TransportMessage<'a> {
    match e.below(10) {
        0 => TransportMessage::InitSyn(InitSyn {
            version: e.byte(),
            whatami: e.pick(&WhatAmI::ALL),
            zid: zid(e),
            resolution: resolution(e),
            batch_size: batch_size(e),
            exts: init_exts(e),
        }),
        1 => TransportMessage::InitAck(InitAck {
            version: e.byte(),
            whatami: e.pick(&WhatAmI::ALL),
            zid: zid(e),
            resolution: resolution(e),
            batch_size: batch_size(e),
            cookie: e.slice(200),
            exts: init_exts(e),
        }),
        2 => TransportMessage::OpenSyn(OpenSyn {
            lease_ms: lease_ms(e),
            initial_sn: e.integer(),
            cookie: e.slice(200),
            exts: open_exts(e),
        }),
        3 => TransportMessage::OpenAck(OpenAck {
            lease_ms: lease_ms(e),
            initial_sn: e.integer(),
            exts: open_exts(e),
        }),
        4 => {
            let close = Close { session: e.flag(), reason: CloseReason(e.byte()) };
            TransportMessage::Close(close)
        }
        5 => TransportMessage::KeepAlive,
        6 => TransportMessage::Frame(FrameHeader {
            reliability: e.pick(&[Reliability::BestEffort, Reliability::Reliable]),
            sn: e.integer(),
            priority: e.pick(&Priority::ALL),
        }),
        7 => TransportMessage::Fragment(FragmentHeader {
            reliability: e.pick(&[Reliability::BestEffort, Reliability::Reliable]),
            more: e.flag(),
            sn: e.integer(),
            priority: e.pick(&Priority::ALL),
            first: e.flag(),
            drop: e.flag(),
        }),
        8 => TransportMessage::Join(Join {
            version: e.byte(),
            whatami: e.pick(&WhatAmI::ALL),
            zid: zid(e),
            resolution: resolution(e),
            batch_size: batch_size(e),
            lease_ms: lease_ms(e),
            next_sn: next_sn(e),
            qos: e.option(|e| std::array::from_fn(|_| next_sn(e))),
            shm: e.option(|e| e.slice(8)),
            patch: e.byte(),
        }),
        _ => TransportMessage::Oam(TransportOam {
            id: e.integer() as u16,
            priority: e.pick(&Priority::ALL),
            body: oam_body(e),
        }),
    }
}

fn init_exts<'a>(e: &mut Entropy<'a>) -> InitExts<'a> {
    InitExts {
        qos: e.flag(),
        qos_link: e.option(Entropy::integer),
        shm: e.option(|e| e.slice(8)),
        auth: e.option(|e| e.slice(8)),
        multilink: e.option(|e| e.slice(80)),
        low_latency: e.flag(),
        compression: e.flag(),
        patch: e.byte(),
        region_name: Some(e.text()).filter(|name| !name.is_empty()),
        capabilities: e.integer(),
    }
}

fn open_exts<'a>(e: &mut Entropy<'a>) -> OpenExts<'a> {
    OpenExts {
        shm: e.option(|e| e.slice(8)),
        auth: e.option(|e| e.slice(8)),
        multilink: e.option(|e| e.slice(80)),
        multilink_ack: e.flag(),
        remote_bound: e.option(|e| e.pick(&[Bound::North, Bound::South])),
    }
}

fn resolution(e: &mut Entropy<'_>) -> Resolution {
    Resolution { fsn: Bits::from_code(e.byte()), rid: Bits::from_code(e.byte()) }
}

fn batch_size(e: &mut Entropy<'_>) -> u16 {
    let any = e.integer() as u16;
    e.pick(&[any, Join::BATCH_SIZE_DEFAULT, InitSyn::BATCH_SIZE_DEFAULT])
}

fn lease_ms(e: &mut Entropy<'_>) -> u64 {
    let any = e.integer();
    e.pick(&[any, 10_000, 0])
}

fn next_sn(e: &mut Entropy<'_>) -> NextSn {
    NextSn { reliable: e.integer(), best_effort: e.integer() }
}

pub(crate) fn scouting(e: &mut Entropy<'_>) -> ScoutingMessage {
    if e.flag() {
        return ScoutingMessage::Scout(Scout {
            version: e.byte(),
            what: WhatAmIMatcher::from_bits_truncated(e.byte()),
            zid: e.option(zid),
        });
    }
    ScoutingMessage::Hello(Hello {
        version: e.byte(),
        whatami: e.pick(&WhatAmI::ALL),
        zid: zid(e),
        locators: e.many(4, locator),
    })
}

pub(crate) fn link_states(e: &mut Entropy<'_>) -> LinkStateList {
    LinkStateList(e.many(5, |e| {
        let links = e.many(5, Entropy::integer);
        LinkState {
            psid: u64::from(e.integer() as u16),
            sn: e.integer(),
            zid: e.option(zid),
            whatami: e.option(|e| e.pick(&WhatAmI::ALL)),
            locators: e.option(|e| e.many(3, locator)),
            weights: e.option(|e| links.iter().map(|_| e.integer() as u16).collect()),
            links,
            gateway: e.flag(),
        }
    }))
}

fn locator(e: &mut Entropy<'_>) -> Locator {
    let metadata = ["", "?rel=0", "?prio=1-3;rel=1"];
    let (port, metadata) = (e.byte(), e.pick(&metadata));
    format!("tcp/127.0.0.1:{port}{metadata}").parse().unwrap()
}

fn wire_expr<'a>(e: &mut Entropy<'a>) -> WireExpr<'a> {
    WireExpr {
        scope: e.integer() as u16,
        mapping: e.pick(&[Mapping::Receiver, Mapping::Sender]),
        suffix: e.text(),
    }
}

fn encoding<'a>(e: &mut Entropy<'a>) -> Encoding<'a> {
    Encoding { id: e.integer() as u16, schema: e.option(|e| e.slice(8)) }
}

fn consolidation(e: &mut Entropy<'_>) -> Consolidation {
    use Consolidation::{Auto, Latest, Monotonic, None};
    e.pick(&[Auto, None, Monotonic, Latest])
}

fn timestamp(e: &mut Entropy<'_>) -> Timestamp {
    Timestamp::new(e.integer(), zid(e))
}

fn source_info(e: &mut Entropy<'_>) -> SourceInfo {
    SourceInfo { id: entity_id(e), sn: e.integer() as u32 }
}

fn entity_id(e: &mut Entropy<'_>) -> EntityGlobalId {
    EntityGlobalId { zid: zid(e), eid: e.integer() as u32 }
}

fn zid(e: &mut Entropy<'_>) -> ZenohId {
    let bytes = e.slice(16);
    ZenohId::from_le_bytes(bytes).unwrap_or_else(|_| "1".parse().unwrap())
}
