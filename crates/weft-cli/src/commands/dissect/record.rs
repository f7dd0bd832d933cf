//! One line of output: its fields, from which both the line for people and the JSON object are made.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::SocketAddr;

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use weft::keyexpr::TimeExpr;
use weft_wire::{Priority, Reliability};

use super::limits::SHOWN_LEN_MAX;
use crate::render;

/// What a line is about, for `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The question for nodes
    Scout,
    /// An answer to it
    Hello,
    /// First message of a handshake, and its answer
    Init,
    /// Second message of a handshake, and its answer
    Open,
    /// The end of a link
    Close,
    /// A sign of life
    #[value(alias = "keep_alive")]
    KeepAlive,
    /// A frame without messages
    Frame,
    /// A piece of a message
    Fragment,
    /// Presence on a multicast group
    Join,
    /// Anything else between the ends of a link
    #[value(alias = "transport_oam")]
    TransportOam,
    /// A sample
    Push,
    /// A query
    Request,
    /// An answer to a query
    Response,
    /// The end of the answers
    #[value(alias = "response_final")]
    ResponseFinal,
    /// A declaration, or its end
    Declare,
    /// A wish to be told declarations
    Interest,
    /// Link states, and anything else between neighbours
    Oam,
    /// What has to be known to understand the rest, such as missing packets
    Note,
    /// What cannot be decoded
    Error,
}

/// Where and when something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Nanoseconds since 1970-01-01 UTC.
    pub(super) unix_ns: u64,
    /// The number of the connection; datagrams of scouting have none.
    pub(super) connection: Option<u64>,
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
}

/// What carries a network message: a frame, or the fragments that it was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) name: &'static str,
    /// Of the last fragment, if there are several.
    pub(super) sn: u64,
    pub(super) reliability: Reliability,
    pub(super) priority: Priority,
    /// How many fragments.
    pub(super) fragments: Option<u64>,
}

/// One thing to show.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// The `type` of the JSON object, and in capital letters the name in the line.
    pub(super) name: &'static str,
    pub(super) envelope: Option<Envelope>,
    /// The key expression that it is about, as far as known.
    pub(super) key: Option<String>,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: Cow<'static, str>,
    /// What people read, if they do.
    text: Option<String>,
    json: Value,
}

impl Record {
    pub(super) fn new(kind: Kind, name: &'static str) -> Self {
        Self { kind, name, envelope: None, key: None, fields: Vec::new() }
    }

    /// Something that people have to know.
    pub(super) fn note(text: String) -> Self {
        Self::new(Kind::Note, "note").words("text", text)
    }

    /// Something that cannot be decoded.
    pub(super) fn error(text: String) -> Self {
        Self::new(Kind::Error, "error").words("error", text)
    }

    /// Text of this program, which speaks for itself.
    fn words(self, name: &'static str, text: String) -> Self {
        self.field(name, Some(text.clone()), text.into())
    }

    /// Text that may come from a peer.
    pub(super) fn text(self, name: &'static str, text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        self.field(name, Some(format!("{name}={}", render::escaped(text))), text.into())
    }

    pub(super) fn number(self, name: &'static str, number: u64) -> Self {
        self.field(name, Some(format!("{name}={number}")), number.into())
    }

    pub(super) fn optional_number(self, name: &'static str, number: Option<u64>) -> Self {
        match number {
            Some(number) => self.number(name, number),
            None => self,
        }
    }

    /// A word of its own, if it is so.
    pub(super) fn flag(self, name: &'static str, is_so: bool) -> Self {
        if is_so { self.field(name, Some(name.to_owned()), true.into()) } else { self }
    }

    /// Bytes whose content is nobody's business, or has no meaning here.
    pub(super) fn length_of(self, name: &'static str, bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else { return self };
        let text = Some(format!("{name}={}B", bytes.len()));
        self.field(format!("{name}_len"), text, bytes.len().into())
    }

    /// Bytes of which people see the beginning.
    pub(super) fn bytes(mut self, name: &'static str, bytes: &[u8]) -> Self {
        let mut fields = Map::new();
        render::insert_bytes(&mut fields, name, bytes);
        let text = format!("{name}={}", preview(bytes));
        for (name, json) in fields {
            self.fields.push(Field { name: name.into(), text: Some(text.clone()), json });
        }
        self
    }

    /// Something with its own form in JSON.
    pub(super) fn value(self, name: &'static str, text: impl AsRef<str>, json: Value) -> Self {
        self.field(name, Some(format!("{name}={}", render::escaped(text.as_ref()))), json)
    }

    /// Something of which people can do without.
    pub(super) fn json_only(self, name: &'static str, json: Value) -> Self {
        self.field(name, None, json)
    }

    /// The key expression that it is about.
    pub(super) fn keyed(mut self, key: String) -> Self {
        self = self.text("key", &key);
        self.key = Some(key);
        self
    }

    fn field(
        mut self,
        name: impl Into<Cow<'static, str>>,
        text: Option<String>,
        json: Value,
    ) -> Self {
        self.fields.push(Field { name: name.into(), text, json });
        self
    }

    /// For people: when, which connection, who to whom, in what, and what.
    pub(super) fn line(&self, place: &Place) -> String {
        let time = rfc3339(place.unix_ns);
        // Microseconds are enough for people, and the date is that of the capture.
        let mut line = time.get(11..26).unwrap_or(&time).to_owned();
        if let Some(connection) = place.connection {
            let _ = write!(line, " c{connection}");
        }
        let _ = write!(line, " {} > {}", place.from, place.to);
        if let Some(Envelope { name, sn, reliability, priority, fragments }) = &self.envelope {
            let channel =
                (render::reliability_word(*reliability), render::priority_word(*priority));
            let _ = write!(line, " {} sn={sn} {} {}", name.to_uppercase(), channel.0, channel.1);
            if let Some(fragments) = fragments {
                let _ = write!(line, " fragments={fragments}");
            }
            line.push(':');
        }
        let _ = write!(line, " {}", self.name.to_uppercase());
        for text in self.fields.iter().filter_map(|field| field.text.as_deref()) {
            let _ = write!(line, " {text}");
        }
        line
    }

    /// For scripts.
    pub(super) fn json(&self, place: &Place) -> Value {
        let mut fields = render::record(self.name);
        fields.insert("time".into(), rfc3339(place.unix_ns).into());
        if let Some(connection) = place.connection {
            fields.insert("connection".into(), format!("c{connection}").into());
        }
        fields.insert("from".into(), place.from.to_string().into());
        fields.insert("to".into(), place.to.to_string().into());
        if let Some(Envelope { name, sn, reliability, priority, fragments }) = &self.envelope {
            let mut envelope = json!({
                "sn": sn,
                "reliability": render::reliability_word(*reliability),
                "priority": render::priority_word(*priority),
            });
            if let Some(fragments) = fragments {
                envelope["fragments"] = (*fragments).into();
            }
            fields.insert((*name).to_owned(), envelope);
        }
        fields.extend(
            self.fields.iter().map(|field| (field.name.clone().into_owned(), field.json.clone())),
        );
        fields.into()
    }
}

/// The beginning of bytes: as text, or as digits if that would be mostly escapes.
fn preview(bytes: &[u8]) -> String {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let shown = &bytes[..bytes.len().min(SHOWN_LEN_MAX)];
    if !shown.iter().any(is_odd) {
        return render::text_within(bytes, SHOWN_LEN_MAX);
    }
    let rest = if shown.len() < bytes.len() { "…" } else { "" };
    format!("0x{}{rest}", render::hex(shown))
}

/// RFC 3339 in UTC with nanoseconds.
fn rfc3339(unix_ns: u64) -> String {
    let date = TimeExpr::Fixed { unix_ns: unix_ns.into() }.to_string();
    let fraction = if date.contains('.') { "" } else { ".000000000" };
    format!("{}{fraction}Z", date.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            unix_ns: 1_700_000_000_000_001_000,
            connection: Some(3),
            from: "10.0.0.1:5".parse().unwrap(),
            to: "[::1]:7447".parse().unwrap(),
        }
    }

    #[test]
    fn bytes_are_previewed_as_text_or_as_digits() {
        assert_eq!(preview("grün\n".as_bytes()), "grün\\n");
        assert_eq!(preview(b"a\0"), "0x6100");
        assert_eq!(preview(&[0xff; 65]), format!("0x{}… (65 bytes)", "ff".repeat(64)));
        assert_eq!(preview(&[0; 65]), format!("0x{}…", "00".repeat(64)));
    }

    #[test]
    fn people_and_scripts_are_told_the_same() {
        let mut record = Record::new(Kind::Push, "push")
            .keyed("a/\u{1b}b".into())
            .flag("express", true)
            .flag("absent", false)
            .length_of("cookie", Some(&[1, 2]))
            .json_only("more", 1.into())
            .bytes("payload", b"\xff");
        record.envelope = Some(Envelope {
            name: "fragment",
            sn: 7,
            reliability: Reliability::BestEffort,
            priority: Priority::DataLow,
            fragments: Some(2),
        });
        assert_eq!(
            record.line(&place()),
            "22:13:20.000001 c3 10.0.0.1:5 > [::1]:7447 FRAGMENT sn=7 best_effort data_low fragments=2: \
             PUSH key=a/\\u{1b}b express cookie=2B payload=0xff"
        );
        let expected = json!({
            "type": "push",
            "time": "2023-11-14T22:13:20.000001000Z",
            "connection": "c3",
            "from": "10.0.0.1:5",
            "to": "[::1]:7447",
            "fragment": { "sn": 7, "reliability": "best_effort", "priority": "data_low", "fragments": 2 },
            "key": "a/\u{1b}b",
            "express": true,
            "cookie_len": 2,
            "more": 1,
            "payload_hex": "ff",
        });
        assert_eq!(record.json(&place()), expected);
    }
}
