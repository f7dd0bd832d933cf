//! How payloads, samples and the like are shown: in a line for people, as JSON for scripts.
//!
//! In JSON bytes are `payload` if they are text, else `payload_hex`; those of an attachment likewise.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use weft::timestamp::TimestampText as _;
use weft::{
    CongestionControl, Encoding, EntityGlobalId, Ke, Locator, Priority, Reliability, Reply, Sample,
    SampleKind, SampleView, SourceInfo, Timestamp, WhatAmI, ZenohId,
};

/// Bytes of a payload that are shown to people.
const SHOWN_LEN_MAX: usize = 1024;

/// A sample to show, borrowed from a view or from a sample.
#[derive(Clone, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) key: Ke<'a>,
    pub(crate) kind: SampleKind,
    pub(crate) payload: Cow<'a, [u8]>,
    pub(crate) encoding: Cow<'a, Encoding>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) attachment: Option<Cow<'a, [u8]>>,
    priority: Priority,
    congestion: CongestionControl,
    is_express: bool,
    reliability: Reliability,
    source: Option<SourceInfo>,
}

impl<'a> From<&SampleView<'a>> for Shown<'a> {
    fn from(view: &SampleView<'a>) -> Self {
        Self {
            key: view.key_expr(),
            kind: view.kind(),
            payload: view.payload().into(),
            encoding: Cow::Owned(view.encoding()),
            timestamp: view.timestamp(),
            attachment: view.attachment().map(Cow::Borrowed),
            priority: view.priority(),
            congestion: view.congestion_control(),
            is_express: view.express(),
            reliability: view.reliability(),
            source: view.source_info(),
        }
    }
}

impl<'a> From<&'a Sample> for Shown<'a> {
    fn from(sample: &'a Sample) -> Self {
        Self {
            key: sample.key_expr().as_ke(),
            kind: sample.kind(),
            payload: sample.payload().to_bytes(),
            encoding: Cow::Borrowed(sample.encoding()),
            timestamp: sample.timestamp(),
            attachment: sample.attachment().map(weft::ZBytes::to_bytes),
            priority: sample.priority(),
            congestion: sample.congestion_control(),
            is_express: sample.express(),
            reliability: sample.reliability(),
            source: sample.source_info(),
        }
    }
}

impl Shown<'_> {
    /// `PUT key: payload [encoding] (attachment)`; the encoding unless it is the default.
    pub(crate) fn line(&self) -> String {
        let mut line = match self.kind {
            SampleKind::Put => format!("PUT {}: {}", self.key, text(&self.payload)),
            SampleKind::Delete => format!("DELETE {}", self.key),
        };
        if !self.encoding.is_default() {
            let _ = write!(line, " [{}]", self.encoding);
        }
        if let Some(attachment) = &self.attachment {
            let _ = write!(line, " ({})", text(attachment));
        }
        line
    }

    /// Everything about it.
    pub(crate) fn json(&self, kind: &'static str) -> Value {
        let mut fields = record(kind);
        fields.insert("kind".into(), kind_word(self.kind).into());
        fields.insert("key".into(), self.key.as_ref().into());
        if self.kind == SampleKind::Put {
            insert_bytes(&mut fields, "payload", &self.payload);
            fields.insert("encoding".into(), self.encoding.to_string().into());
        }
        if let Some(attachment) = &self.attachment {
            insert_bytes(&mut fields, "attachment", attachment);
        }
        if let Some(timestamp) = self.timestamp {
            fields.insert("timestamp".into(), timestamp.to_rfc3339().into());
        }
        if let Some(source) = self.source {
            let mut id = entity(source.id);
            id["sn"] = source.sn.into();
            fields.insert("source_info".into(), id);
        }
        fields.insert("priority".into(), priority_word(self.priority).into());
        fields.insert("congestion".into(), congestion_word(self.congestion).into());
        fields.insert("express".into(), self.is_express.into());
        fields.insert("reliability".into(), reliability_word(self.reliability).into());
        fields.into()
    }
}

/// A reply with a sample for scripts.
pub(crate) fn reply(reply: &Reply, sample: &Sample) -> Value {
    let mut json = Shown::from(sample).json("reply");
    json["replier"] = reply.replier_id().map(entity).into();
    json
}

/// A liveliness token that appears or is there, or disappears, for people and for scripts.
pub(crate) fn token(sample: &Sample) -> (String, Value) {
    let (key, is_alive) = (sample.key_expr(), sample.kind() == SampleKind::Put);
    let line = format!("{} {key}", if is_alive { "ALIVE" } else { "GONE" });
    (line, json!({ "type": "token", "alive": is_alive, "key": key.as_str() }))
}

/// A node for people.
pub(crate) fn node(mode: WhatAmI, zid: ZenohId, locators: &[Locator]) -> String {
    let mut lines = vec![format!("{mode} {zid}")];
    lines.extend(locators.iter().map(|locator| format!("listening on {locator}")));
    lines.join("\n")
}

/// The beginning of a record for scripts.
pub(crate) fn record(kind: &'static str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), kind.into())])
}

/// Bytes as a field for scripts.
pub(crate) fn insert_bytes(fields: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => fields.insert(name.to_owned(), text.into()),
        Err(_) => fields.insert(format!("{name}_hex"), hex(bytes).into()),
    };
}

/// An entity for scripts.
pub(crate) fn entity(id: EntityGlobalId) -> Value {
    json!({ "zid": id.zid.to_string(), "eid": id.eid })
}

/// Locators for scripts.
pub(crate) fn locators(locators: &[Locator]) -> Value {
    locators.iter().map(Locator::as_str).collect()
}

/// Bytes for people: text with its control characters escaped, or hexadecimal digits; the beginning if it is long.
pub(crate) fn text(bytes: &[u8]) -> String {
    text_within(bytes, SHOWN_LEN_MAX)
}

/// The same with another limit, in bytes.
pub(crate) fn text_within(bytes: &[u8], len_max: usize) -> String {
    let shown = &bytes[..bytes.len().min(len_max)];
    let is_cut = shown.len() < bytes.len();
    // A character that the limit cuts in two does not make the rest binary.
    let valid = match std::str::from_utf8(shown) {
        Ok(text) => Some(text),
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&shown[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let mut text = match valid {
        Some(valid) => escaped(valid),
        None => format!("0x{}", hex(shown)),
    };
    if is_cut {
        let _ = write!(text, "… ({} bytes)", bytes.len());
    }
    text
}

/// Text with its control characters escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

const fn kind_word(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Put => "put",
        SampleKind::Delete => "delete",
    }
}

pub(crate) const fn congestion_word(congestion: CongestionControl) -> &'static str {
    match congestion {
        CongestionControl::Drop => "drop",
        CongestionControl::Block => "block",
        CongestionControl::BlockFirst => "block_first",
    }
}

/// As JSON has it.
pub(crate) const fn reliability_word(reliability: Reliability) -> &'static str {
    match reliability {
        Reliability::Reliable => "reliable",
        Reliability::BestEffort => "best_effort",
    }
}

pub(crate) const fn priority_word(priority: Priority) -> &'static str {
    match priority {
        Priority::Control => "control",
        Priority::RealTime => "real_time",
        Priority::InteractiveHigh => "interactive_high",
        Priority::InteractiveLow => "interactive_low",
        Priority::DataHigh => "data_high",
        Priority::Data => "data",
        Priority::DataLow => "data_low",
        Priority::Background => "background",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_on_one_line() {
        assert_eq!(text(b"plain, \"quoted\""), "plain, \"quoted\"");
        assert_eq!(text("Grüße\n\t\u{1b}[1m".as_bytes()), "Grüße\\n\\t\\u{1b}[1m");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn what_is_no_text_is_shown_in_digits() {
        assert_eq!(text(b"\x00\xff"), "0x00ff");
        let mut fields = record("x");
        insert_bytes(&mut fields, "payload", b"\xff\x01");
        insert_bytes(&mut fields, "attachment", b"a\n");
        let expected = json!({ "type": "x", "payload_hex": "ff01", "attachment": "a\n" });
        assert_eq!(Value::from(fields), expected);
    }

    #[test]
    fn long_payloads_are_cut_between_characters() {
        let long = format!("x{}", "é".repeat(1000));
        let shown = text(long.as_bytes());
        assert!(shown.starts_with("xéé") && shown.ends_with("é… (2001 bytes)"), "{shown}");
        assert!(text(&[0xff; 2000]).ends_with("ff… (2000 bytes)"));
    }
}
