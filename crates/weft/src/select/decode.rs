//! From payload and encoding to a value, and back.
//!
//! Spec: 04 §12.3. The schema of an encoding is ignored.

use crate::encoding::Encoding;
use crate::value::{Shape, Value};

/// How payloads of an encoding are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Json5,
    Cbor,
    /// A scalar in JSON notation, or a string.
    Text,
    /// A JSON object or list, or nothing.
    Bytes,
}

impl Format {
    fn of(encoding: &Encoding) -> Option<Self> {
        const JSON: u16 = Encoding::APPLICATION_JSON.id();
        const TEXT_JSON: u16 = Encoding::TEXT_JSON.id();
        const JSON_PATCH: u16 = Encoding::APPLICATION_JSON_PATCH_JSON.id();
        const JSON5: u16 = Encoding::TEXT_JSON5.id();
        const CBOR: u16 = Encoding::APPLICATION_CBOR.id();
        const TEXT: u16 = Encoding::TEXT_PLAIN.id();
        const STRING: u16 = Encoding::ZENOH_STRING.id();
        const BYTES: u16 = Encoding::ZENOH_BYTES.id();
        const OCTETS: u16 = Encoding::APPLICATION_OCTET_STREAM.id();
        Some(match encoding.id() {
            JSON | TEXT_JSON | JSON_PATCH => Self::Json,
            JSON5 => Self::Json5,
            CBOR => Self::Cbor,
            TEXT | STRING => Self::Text,
            BYTES | OCTETS => Self::Bytes,
            _ => return None,
        })
    }
}

/// The wanted parts of a payload; `None` if it cannot be decoded or is longer than `len_max`.
pub(super) fn decode(
    payload: &[u8],
    encoding: &Encoding,
    shape: &Shape,
    len_max: usize,
) -> Option<Value> {
    let format = Format::of(encoding).filter(|_| payload.len() <= len_max)?;
    if format == Format::Cbor {
        return Value::from_cbor(payload, shape);
    }
    let text = core::str::from_utf8(payload).ok()?;
    match format {
        Format::Json5 => Value::from_json5(text, shape).ok(),
        Format::Text => Some(text_value(text)),
        Format::Bytes if !text.trim_ascii_start().starts_with(['{', '[']) => None,
        _ => Value::from_json(text, shape).ok(),
    }
}

/// Writes a value in the family of the encoding that it was decoded with, and names the encoding of the result.
pub(super) fn encode(value: &Value, encoding: &Encoding) -> (Vec<u8>, Encoding) {
    match Format::of(encoding) {
        Some(Format::Cbor) => (value.to_cbor(), encoding.clone()),
        Some(Format::Json5) => {
            (value.to_json().into_bytes(), encoding.with_id_of(&Encoding::TEXT_JSON))
        }
        _ => (value.to_json().into_bytes(), encoding.clone()),
    }
}

fn text_value(text: &str) -> Value {
    match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::from_number(text).unwrap_or_else(|| Value::from(text)),
    }
}
