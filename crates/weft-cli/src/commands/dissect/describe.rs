//! Scouting and transport messages in words.
//!
//! What authenticates somebody (cookies, authentication, keys of links, shared memory) is shown as its length only.

mod network;

pub(super) use network::network;

use serde_json::{Value, json};
use weft_wire::{
    Bits, Bound, Hello, InitExts, Join, OamBody, OpenExts, Resolution, Scout, ScoutingMessage,
    TransportMessage, WhatAmI, ZenohId,
};

use super::record::{Kind, Record};
use crate::render;

/// A message of scouting.
pub(super) fn scouting(message: &ScoutingMessage) -> Record {
    match message {
        ScoutingMessage::Scout(Scout { version, what, zid }) => {
            let record = Record::new(Kind::Scout, "scout")
                .number("version", u64::from(*version))
                .text("what", what.to_string());
            match zid {
                Some(zid) => record.text("zid", zid.to_string()),
                None => record,
            }
        }
        ScoutingMessage::Hello(Hello { version, whatami, zid, locators }) => {
            let texts: Vec<&str> = locators.iter().map(weft_wire::Locator::as_str).collect();
            node(Record::new(Kind::Hello, "hello"), *version, *whatami, *zid).value(
                "locators",
                texts.join(","),
                render::locators(locators),
            )
        }
    }
}

/// A transport message; of frames and fragments only the header.
pub(super) fn transport(message: &TransportMessage<'_>) -> Record {
    match message {
        TransportMessage::InitSyn(syn) => {
            let record = Record::new(Kind::Init, "init_syn");
            let record = node(record, syn.version, syn.whatami, syn.zid);
            init_exts(sizes(record, syn.resolution, syn.batch_size), &syn.exts)
        }
        TransportMessage::InitAck(ack) => {
            let record = Record::new(Kind::Init, "init_ack");
            let record = node(record, ack.version, ack.whatami, ack.zid);
            let record = sizes(record, ack.resolution, ack.batch_size);
            init_exts(record.length_of("cookie", Some(ack.cookie)), &ack.exts)
        }
        TransportMessage::OpenSyn(syn) => {
            let record = Record::new(Kind::Open, "open_syn")
                .number("lease_ms", syn.lease_ms)
                .number("initial_sn", syn.initial_sn)
                .length_of("cookie", Some(syn.cookie));
            open_exts(record, &syn.exts)
        }
        TransportMessage::OpenAck(ack) => {
            let record = Record::new(Kind::Open, "open_ack")
                .number("lease_ms", ack.lease_ms)
                .number("initial_sn", ack.initial_sn);
            open_exts(record, &ack.exts)
        }
        TransportMessage::Close(close) => Record::new(Kind::Close, "close")
            .text("reason", close.reason.to_string())
            .flag("session", close.session),
        TransportMessage::KeepAlive => Record::new(Kind::KeepAlive, "keep_alive"),
        TransportMessage::Frame(frame) => Record::new(Kind::Frame, "frame")
            .number("sn", frame.sn)
            .text("reliability", render::reliability_word(frame.reliability))
            .text("priority", render::priority_word(frame.priority)),
        TransportMessage::Fragment(fragment) => Record::new(Kind::Fragment, "fragment")
            .number("sn", fragment.sn)
            .text("reliability", render::reliability_word(fragment.reliability))
            .text("priority", render::priority_word(fragment.priority))
            .flag("first", fragment.first)
            .flag("more", fragment.more)
            .flag("drop", fragment.drop),
        TransportMessage::Join(message) => join(message),
        TransportMessage::Oam(oam) => {
            let record = Record::new(Kind::TransportOam, "transport_oam")
                .number("id", u64::from(oam.id))
                .text("priority", render::priority_word(oam.priority));
            oam_body(record, &oam.body)
        }
    }
}

fn join(join: &Join<'_>) -> Record {
    let record = node(Record::new(Kind::Join, "join"), join.version, join.whatami, join.zid);
    let record = sizes(record, join.resolution, join.batch_size).number("lease_ms", join.lease_ms);
    let record = match &join.qos {
        None => record
            .number("next_sn_reliable", join.next_sn.reliable)
            .number("next_sn_best_effort", join.next_sn.best_effort),
        Some(channels) => {
            let sns: Vec<Value> =
                channels.iter().map(|sn| json!([sn.reliable, sn.best_effort])).collect();
            record.flag("qos", true).json_only("next_sns", sns.into())
        }
    };
    record.length_of("shm", join.shm).number("patch", u64::from(join.patch))
}

fn node(record: Record, version: u8, whatami: WhatAmI, zid: ZenohId) -> Record {
    record
        .number("version", u64::from(version))
        .text("whatami", whatami.as_str())
        .text("zid", zid.to_string())
}

fn sizes(record: Record, resolution: Resolution, batch_size: u16) -> Record {
    let bits = |bits: Bits| 8 << bits.code();
    record
        .number("sn_bits", bits(resolution.fsn))
        .number("request_id_bits", bits(resolution.rid))
        .number("batch_size", u64::from(batch_size))
}

fn init_exts(record: Record, exts: &InitExts<'_>) -> Record {
    let record = record
        .flag("qos", exts.qos)
        .optional_number("qos_link", exts.qos_link)
        .length_of("shm", exts.shm)
        .length_of("auth", exts.auth)
        .length_of("multilink", exts.multilink)
        .flag("low_latency", exts.low_latency)
        .flag("compression", exts.compression)
        .number("patch", u64::from(exts.patch));
    match exts.region_name {
        Some(region) => record.text("region", region),
        None => record,
    }
}

fn open_exts(record: Record, exts: &OpenExts<'_>) -> Record {
    let record = record
        .length_of("shm", exts.shm)
        .length_of("auth", exts.auth)
        .length_of("multilink", exts.multilink)
        .flag("multilink", exts.multilink_ack);
    match exts.remote_bound {
        Some(Bound::North) => record.text("remote_bound", "north"),
        Some(Bound::South) => record.text("remote_bound", "south"),
        None => record,
    }
}

fn oam_body(record: Record, body: &OamBody<'_>) -> Record {
    match body {
        OamBody::Unit => record,
        OamBody::Z64(value) => record.number("value", *value),
        OamBody::ZBuf(bytes) => record.number("size", bytes.len() as u64).bytes("body", bytes),
    }
}
