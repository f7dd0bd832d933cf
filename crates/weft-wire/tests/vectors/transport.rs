//! `transport.json`: one batch a vector, stated by its first message.

use serde_json::{Value, json};
use weft_wire::{
    Bits, Close, Decode, Encode, FragmentHeader, FrameHeader, Hello, InitExts, Join,
    NetworkMessage, OpenExts, Priority, Reader, Reliability, Resolution, Scout, ScoutingMessage,
    Sink, TransportMessage, WhatAmI, ZenohId,
};

use crate::{decode_exactly, hex, load, lz4, text, unhex};

#[test]
fn vectors_decode_to_the_stated_fields_and_encode_back() {
    let vectors = load("transport.json");
    assert_eq!(vectors.len(), 119);
    for vector in &vectors {
        let name = text(vector, "name");
        let Some(batch) = batch(vector) else {
            continue;
        };
        let mut stated = vector["decoded"].clone();
        let mut r = Reader::new(&batch);
        match text(vector, "name").split('/').next() {
            Some("scout" | "hello") => {
                let message: ScoutingMessage = decode_exactly(name, &mut r);
                assert_eq!(scouting(&message), stated, "{name}");
            }
            _ if stated["header"].is_null() => {
                decode_exactly::<NetworkMessage<'_>>(name, &mut r);
                assert_eq!(text(&stated, "payload"), hex(&batch), "{name}");
            }
            _ if text(vector, "link") == "serial" => {
                decode_exactly::<TransportMessage<'_>>(name, &mut r);
            }
            _ => {
                let message: TransportMessage<'_> = decode_exactly(name, &mut r);
                let payload = stated.as_object_mut().unwrap().remove("payload");
                let payload_len = stated.as_object_mut().unwrap().remove("payload_len");
                assert_eq!(describe(&message, batch[0]), stated, "{name}");
                check_payload(vector, &message, &mut r, payload, payload_len);
            }
        }
        assert!(r.is_empty(), "{name}");
    }
}

#[test]
fn no_proper_prefix_of_a_handshake_decodes() {
    for vector in load("transport.json") {
        let Some(batch) = batch(&vector) else {
            continue;
        };
        let Ok(message) = TransportMessage::decode(&mut Reader::new(&batch)) else {
            continue;
        };
        let len = message.encoded_len();
        for len in 0..len {
            let prefix = TransportMessage::decode(&mut Reader::new(&batch[..len]));
            assert!(prefix.is_err(), "{} cut to {len} bytes", text(&vector, "name"));
        }
    }
}

/// The batch of a vector without its framing; `None` for a frame of the serial link itself.
fn batch(vector: &Value) -> Option<Vec<u8>> {
    let bytes = unhex(text(vector, "hex"));
    let framing = text(vector, "framing");
    if framing.starts_with("COBS") {
        return Some(unhex(text(&vector["decoded"], "data"))).filter(|data| !data.is_empty());
    }
    let prefix = match framing.split(' ').next().unwrap() {
        "none" => 0,
        "u16le" => 2,
        "u32le" => 4,
        other => panic!("unknown framing {other}"),
    };
    let batch = &bytes[prefix..];
    if !framing.contains("LZ4") {
        return Some(batch.to_vec());
    }
    Some(match batch[0] {
        0 => batch[1..].to_vec(),
        1 => lz4::decompress(&batch[1..]),
        other => panic!("unknown batch header {other}"),
    })
}

/// What follows the first message is what the vector says; of truncated vectors, as far as it goes.
fn check_payload(
    vector: &Value,
    message: &TransportMessage<'_>,
    r: &mut Reader<'_>,
    payload: Option<Value>,
    payload_len: Option<Value>,
) {
    let name = text(vector, "name");
    let header_len = r.pos();
    if let Some(stated) = payload {
        let stated = stated.as_str().unwrap().trim_end_matches('.');
        assert!(hex(r.rest()).starts_with(stated), "{name}");
    }
    if let Some(payload_len) = payload_len {
        let total_len = vector["total_len"].as_u64().unwrap();
        assert_eq!(payload_len, json!(total_len - 2 - header_len as u64), "{name}");
    }
    match message {
        TransportMessage::Frame(_) => {
            while !r.is_empty() {
                decode_exactly::<NetworkMessage<'_>>(name, r);
            }
        }
        TransportMessage::Fragment(_) => assert!(!r.take_rest().is_empty(), "{name}"),
        _ => {}
    }
}

/// The message in the notation of the vector file.
fn describe(message: &TransportMessage<'_>, header: u8) -> Value {
    let mut fields = json!({"header": format!("{header:#04x}")});
    let bit = |bit: u8| json!(header >> bit & 1);
    let mut add = |key: &str, value: Value| fields[key] = value;
    let exts = match message {
        TransportMessage::InitSyn(syn) => {
            add("msg", json!("InitSyn"));
            add("batch_size", json!(syn.batch_size));
            add_identity(&mut add, syn.version, syn.whatami, &syn.zid);
            add_resolution(&mut add, syn.resolution);
            init_exts(&syn.exts)
        }
        TransportMessage::InitAck(ack) => {
            add("msg", json!("InitAck"));
            add("batch_size", json!(ack.batch_size));
            add("cookie", json!(hex(ack.cookie)));
            add_identity(&mut add, ack.version, ack.whatami, &ack.zid);
            add_resolution(&mut add, ack.resolution);
            init_exts(&ack.exts)
        }
        TransportMessage::OpenSyn(syn) => {
            add("msg", json!("OpenSyn"));
            add("lease_ms", json!(syn.lease_ms));
            add("initial_sn", json!(syn.initial_sn));
            add("cookie", json!(hex(syn.cookie)));
            open_exts(&syn.exts)
        }
        TransportMessage::OpenAck(ack) => {
            add("msg", json!("OpenAck"));
            add("lease_ms", json!(ack.lease_ms));
            add("initial_sn", json!(ack.initial_sn));
            open_exts(&ack.exts)
        }
        TransportMessage::Close(Close { session, reason }) => {
            add("msg", json!("Close"));
            add("S", json!(u8::from(*session)));
            add("reason", json!(reason.0));
            vec![]
        }
        TransportMessage::KeepAlive => {
            add("msg", json!("KeepAlive"));
            vec![]
        }
        TransportMessage::Frame(FrameHeader { reliability, sn, priority }) => {
            add("msg", json!("Frame"));
            add("R", json!(u8::from(*reliability == Reliability::Reliable)));
            add("sn", json!(sn));
            add("priority", json!(*priority as u8));
            priority_ext(*priority)
        }
        TransportMessage::Fragment(fragment) => {
            let FragmentHeader { reliability, more, sn, priority, first, drop } = *fragment;
            add("msg", json!("Fragment"));
            add("R", json!(u8::from(reliability == Reliability::Reliable)));
            add("M", json!(u8::from(more)));
            add("sn", json!(sn));
            add("priority", json!(priority as u8));
            assert!(!drop);
            let mut exts = priority_ext(priority);
            exts.extend(first.then_some((0x02, "First", Value::Null)));
            exts
        }
        TransportMessage::Join(join) => {
            add("msg", json!("Join"));
            add("batch_size", json!(join.batch_size));
            add("lease_ms", json!(join.lease_ms));
            add("next_sn_reliable", json!(join.next_sn.reliable));
            add("next_sn_best_effort", json!(join.next_sn.best_effort));
            add_identity(&mut add, join.version, join.whatami, &join.zid);
            add_resolution(&mut add, join.resolution);
            join_exts(join)
        }
        TransportMessage::Oam(oam) => panic!("no vector has an {oam:?}"),
    };
    mark_flags_and_defaults(&mut fields, &bit);
    if !exts.is_empty() {
        fields["ext"] = describe_exts(&exts);
    }
    fields
}

fn add_identity(add: &mut impl FnMut(&str, Value), version: u8, whatami: WhatAmI, zid: &ZenohId) {
    add("version", json!(version));
    add("whatami", json!(whatami.to_string()));
    add("zid_len", json!(zid.as_le_slice().len()));
    add("zid", json!(zid.to_string()));
}

fn add_resolution(add: &mut impl FnMut(&str, Value), resolution: Resolution) {
    let bits = |bits: Bits| json!(8 << bits.code());
    let byte = resolution.fsn.code() | resolution.rid.code() << 2;
    add("resolution", json!(format!("{byte:#04x}")));
    add("fsn_bits", bits(resolution.fsn));
    add("rid_bits", bits(resolution.rid));
}

/// The vectors of some messages also state header flags, and mark absent sizes as defaults.
fn mark_flags_and_defaults(fields: &mut Value, bit: &impl Fn(u8) -> Value) {
    let message = fields["msg"].as_str().unwrap().to_owned();
    let flags: &[(&str, u8)] = match message.as_str() {
        "InitSyn" | "InitAck" => &[("A", 5), ("S", 6), ("Z", 7)],
        "OpenSyn" | "OpenAck" => &[("A", 5), ("T", 6), ("Z", 7)],
        "Join" => &[("T", 5), ("S", 6), ("Z", 7)],
        _ => &[],
    };
    for (flag, number) in flags {
        fields[flag] = bit(*number);
    }
    if fields["S"] == 0 && message != "Close" {
        fields["batch_size"] = json!(format!("{} (default)", fields["batch_size"]));
        fields["resolution"] = json!(format!("{} (default)", text(fields, "resolution")));
        fields.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_bits"));
    }
    if message == "Join" {
        fields.as_object_mut().unwrap().retain(|key, _| key != "zid_len");
    }
}

/// An extension: its key, its name, its value.
type Ext = (u8, &'static str, Value);

fn init_exts(exts: &InitExts<'_>) -> Vec<Ext> {
    let InitExts {
        qos,
        qos_link,
        shm,
        auth,
        multilink,
        low_latency,
        compression,
        patch,
        region_name,
        capabilities,
    } = *exts;
    assert_eq!(capabilities, 0, "other implementations send none");
    let patch = Some(patch).filter(|patch| *patch != 0);
    [
        qos.then_some((0x01, "QoS", Value::Null)),
        qos_link.map(|value| (0x21, "QoSLink", json!(value))),
        shm.map(|body| (0x42, "Shm", json!(hex(body)))),
        auth.map(|body| (0x43, "Auth", json!(hex(body)))),
        multilink.map(|body| (0x44, "MultiLink", json!(hex(body)))),
        low_latency.then_some((0x05, "LowLatency", Value::Null)),
        compression.then_some((0x06, "Compression", Value::Null)),
        patch.map(|patch| (0x27, "Patch", json!(patch))),
        region_name.map(|name| (0x48, "RegionName", json!(hex(name.as_bytes())))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn open_exts(exts: &OpenExts<'_>) -> Vec<Ext> {
    let OpenExts { shm, auth, multilink, multilink_ack, remote_bound } = *exts;
    assert_eq!(remote_bound, None);
    [
        shm.map(|body| (0x42, "Shm", json!(hex(body)))),
        auth.map(|body| (0x43, "Auth", json!(hex(body)))),
        multilink.map(|body| (0x44, "MultiLink", json!(hex(body)))),
        multilink_ack.then_some((0x04, "MultiLink", Value::Null)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn join_exts(join: &Join<'_>) -> Vec<Ext> {
    let mut exts = vec![];
    if let Some(qos) = &join.qos {
        let pairs: Vec<_> = qos.iter().map(|next| [next.reliable, next.best_effort]).collect();
        exts.push((0x51, "QoS", json!(pairs)));
    }
    assert_eq!(join.shm, None);
    exts.push((0x27, "Patch", json!(join.patch)));
    exts
}

fn priority_ext(priority: Priority) -> Vec<Ext> {
    match priority {
        Priority::Data => vec![],
        other => vec![(0x31, "QoS", json!(other as u8))],
    }
}

fn describe_exts(exts: &[Ext]) -> Value {
    let describe = |(index, (key, name, value)): (usize, &Ext)| {
        let more = if index + 1 < exts.len() { 0x80 } else { 0 };
        let mut ext = json!({
            "header": format!("{:#04x}", key | more),
            "id": key & 0x0f,
            "mandatory": key & 0x10 != 0,
            "enc": (["unit", "z64", "zbuf"][usize::from(key >> 5)]),
            "name": name,
        });
        match value {
            Value::Null => {}
            Value::Array(pairs) => {
                let mut body = Vec::new();
                for sn in pairs.iter().flat_map(|pair| pair.as_array().unwrap()) {
                    body.zint(sn.as_u64().unwrap()).unwrap();
                }
                ext["value"] = json!(hex(&body));
                ext["priorities"] = value.clone();
            }
            _ => ext["value"] = value.clone(),
        }
        ext
    };
    exts.iter().enumerate().map(describe).collect::<Vec<_>>().into()
}

fn scouting(message: &ScoutingMessage) -> Value {
    match message {
        ScoutingMessage::Scout(Scout { version, what, zid }) => {
            let mut fields = json!({
                "header": "0x01",
                "version": version,
                "msg": "Scout",
                "what": what.bits(),
                "I": u8::from(zid.is_some()),
                "trailing": "",
            });
            if let Some(zid) = zid {
                fields["zid"] = json!(zid.to_string());
            }
            fields
        }
        ScoutingMessage::Hello(Hello { version, whatami, zid, locators }) => json!({
            "header": "0x22",
            "version": version,
            "msg": "Hello",
            "L": 1,
            "whatami": whatami.to_string(),
            "zid": zid.to_string(),
            "locators": locators.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "trailing": "",
        }),
    }
}
