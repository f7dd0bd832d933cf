//! From the crate's values to the fields of events.

use serde_json::{Map, Value, json};
use weft::ext::Miss;
use weft::timestamp::{RecordedStamp, TimestampStack};
use weft::{
    CongestionControl, Encoding, EntityGlobalId, Hello, Query, Reliability, Reply, Sample,
    SampleKind, SourceInfo, ZBytes,
};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// Longer payloads are told by length and CRC-32 only.
const PAYLOAD_HEX_LEN_MAX: usize = 65_536;

/// The members of `value`.
///
/// # Panics
/// If it is no object.
pub(crate) fn object(value: Value) -> Object {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn sample(sample: &Sample) -> Object {
    let mut fields = payload(&sample.payload().to_bytes());
    fields.append(&mut object(json!({
        "key": sample.key_expr().as_str(),
        "kind": kind(sample.kind()),
        "encoding": sample.encoding().to_string(),
        "priority": sample.priority() as u8,
        "congestion": congestion(sample.congestion_control()),
        "express": sample.express(),
        "reliability": reliability(sample.reliability()),
        "attachment_hex": sample.attachment().map(hex_of),
        "timestamp": sample.timestamp().map(|timestamp| timestamp.to_string()),
        "source_info": sample.source_info().map(source_info),
        "stack": sample.timestamp_stack().map(stack),
    })));
    fields
}

pub(crate) fn query(query: &Query) -> Object {
    let mut fields = query.payload().map(|it| payload(&it.to_bytes())).unwrap_or_default();
    fields.append(&mut object(json!({
        "key": query.key_expr().as_str(),
        "parameters": query.parameters().as_str(),
        "encoding": query.encoding().map(Encoding::to_string),
        "attachment_hex": query.attachment().map(hex_of),
        "source_info": query.source_info().map(source_info),
        "stack": query.timestamp_stack().as_ref().map(stack),
    })));
    fields
}

pub(crate) fn reply(reply: &Reply) -> Object {
    let mut fields = match reply.result() {
        Ok(data) => sample(data),
        Err(error) => {
            let mut fields = payload(&error.payload().to_bytes());
            fields.insert("encoding".into(), error.encoding().to_string().into());
            fields.insert("stack".into(), error.timestamp_stack().map(stack).into());
            fields
        }
    };
    fields.insert("ok".into(), reply.result().is_ok().into());
    fields.insert("replier".into(), reply.replier_id().map(entity).into());
    fields
}

pub(crate) fn miss(miss: &Miss) -> Object {
    object(json!({"source": entity(miss.source), "count": miss.count}))
}

pub(crate) fn hello(hello: &Hello) -> Object {
    let locators: Vec<String> = hello.locators.iter().map(ToString::to_string).collect();
    object(json!({
        "zid": hello.zid.to_string(),
        "whatami": hello.whatami.to_string(),
        "locators": locators,
    }))
}

fn payload(bytes: &[u8]) -> Object {
    let content = if bytes.len() <= PAYLOAD_HEX_LEN_MAX {
        json!({"payload_len": bytes.len(), "payload_hex": hex(bytes)})
    } else {
        json!({"payload_len": bytes.len(), "payload_crc32": crc32(bytes)})
    };
    object(content)
}

pub(crate) fn hex_of(bytes: &ZBytes) -> String {
    hex(&bytes.to_bytes())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn entity(id: EntityGlobalId) -> Value {
    json!({"zid": id.zid.to_string(), "eid": id.eid})
}

fn source_info(info: SourceInfo) -> Value {
    json!({"zid": info.id.zid.to_string(), "eid": info.id.eid, "sn": info.sn})
}

/// Point and node of each record, or the bytes of an application.
fn stack(stack: &TimestampStack) -> Value {
    let records = stack.records().iter().map(|record| {
        let point = format!("{:?}", record.point).to_lowercase();
        match &record.stamp {
            RecordedStamp::Time(timestamp) => json!([point, timestamp.id.to_string()]),
            RecordedStamp::Custom(bytes) => json!([point, hex_of(bytes)]),
        }
    });
    records.collect()
}

const fn kind(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Put => "put",
        SampleKind::Delete => "delete",
    }
}

const fn congestion(congestion: CongestionControl) -> &'static str {
    match congestion {
        CongestionControl::Drop => "drop",
        CongestionControl::Block => "block",
        CongestionControl::BlockFirst => "block_first",
    }
}

const fn reliability(reliability: Reliability) -> &'static str {
    match reliability {
        Reliability::Reliable => "reliable",
        Reliability::BestEffort => "best_effort",
    }
}

/// CRC-32 as in zlib: reflected, polynomial 0xEDB88320.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < table.len() {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    let step = |crc: u32, byte: &u8| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8;
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
