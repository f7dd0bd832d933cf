//! A tree of JSON-like values: what payloads and configuration files decode to.
//!
//! Not here: which payload has which format (`select`), what a configuration may contain (`config`).
//!
//! Decoding takes a [`Shape`], the parts that the caller is going to look at; the others are checked and thrown away on the
//! fly. Whatever the input, it never nests deeper than [`DEPTH_MAX`] and never makes more than [`NODE_COUNT_MAX`] values.

mod cbor;
mod decode;
mod shape;
#[cfg(test)]
mod tests;

use core::cmp::Ordering;
use core::fmt;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

pub(crate) use decode::json5_position;
pub(crate) use shape::{Shape, Step};

/// Deepest nesting of lists and maps.
pub(crate) const DEPTH_MAX: usize = 127;

/// Most values that one decoding keeps; 32 bytes each, and text besides.
pub(crate) const NODE_COUNT_MAX: usize = 1 << 20;

/// A value. Integers have the range of CBOR: −2⁶⁴ to 2⁶⁴−1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A non-negative integer.
    Uint(u64),
    /// The integer `-1 - n`.
    Nint(u64),
    Float(f64),
    Text(String),
    /// Only in CBOR.
    Bytes(Vec<u8>),
    List(Vec<Value>),
    /// Members in their order. Keys are text except in CBOR; of equal keys the last one counts.
    Map(Vec<(Value, Value)>),
}

/// A decoding failure, with the place if the parser knows one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) message: String,
    pub(crate) position: Option<Position>,
}

/// A place in a text, for people: the first line and column are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Value {
    pub(crate) fn from_json(text: &str, shape: &Shape) -> Result<Self, Malformed> {
        decode::json(text, shape)
    }

    pub(crate) fn from_json5(text: &str, shape: &Shape) -> Result<Self, Malformed> {
        decode::json5(text, shape)
    }

    /// One CBOR item, the whole input; tags are stripped. `None` if it is malformed or beyond the limits.
    pub(crate) fn from_cbor(bytes: &[u8], shape: &Shape) -> Option<Self> {
        cbor::decode(bytes, shape)
    }

    pub(crate) fn to_cbor(&self) -> Vec<u8> {
        cbor::encode(self)
    }

    /// Compact JSON. Numbers that JSON cannot express become `null`.
    pub(crate) fn to_json(&self) -> String {
        // Serialising to memory fails only for keys that are neither text nor numbers; those exist only in CBOR.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A JSON number, nothing around it. `None` also if it is too large for a float.
    pub(crate) fn from_number(text: &str) -> Option<Self> {
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let integer = digits(unsigned);
        if integer == 0 || (integer > 1 && unsigned.starts_with('0')) {
            return None;
        }
        let mut rest = &unsigned[integer..];
        if rest.is_empty()
            && let Some(value) = text.parse().ok().and_then(Self::from_integer)
        {
            return Some(value);
        }
        if let Some(fraction) = rest.strip_prefix('.') {
            let len = digits(fraction);
            (len > 0).then_some(())?;
            rest = &fraction[len..];
        }
        if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let len = digits(exponent);
            (len > 0).then_some(())?;
            rest = &exponent[len..];
        }
        let number = rest.is_empty().then(|| text.parse::<f64>().ok())??;
        number.is_finite().then_some(Self::Float(number))
    }

    /// The integer `number` if it is in range.
    pub(crate) fn from_integer(number: i128) -> Option<Self> {
        match u64::try_from(number) {
            Ok(number) => Some(Self::Uint(number)),
            Err(_) => u64::try_from(-1 - number).ok().map(Self::Nint),
        }
    }

    /// The value of an integer; `None` for anything else.
    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Uint(number) => Some(i128::from(*number)),
            Self::Nint(number) => Some(-1 - i128::from(*number)),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The member called `name`; a CBOR integer key is called by its decimal text.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Map(members) = self else {
            return None;
        };
        let found = members.iter().rev().find(|(key, _)| key.is_called(name));
        found.map(|(_, value)| value)
    }

    /// The elements of a list.
    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Order by mathematical value between numbers, by code points between texts; otherwise `None`.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Float(a), _) => compare_exactly(other.as_integer()?, *a).map(Ordering::reverse),
            (_, Self::Float(b)) => compare_exactly(self.as_integer()?, *b),
            _ => Some(self.as_integer()?.cmp(&other.as_integer()?)),
        }
    }

    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Uint(_) | Self::Nint(_) => "an integer",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "a string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Text(key) => key == name,
            _ => self
                .as_integer()
                .is_some_and(|key| name.parse() == Ok(key) && key.to_string() == name),
        }
    }
}

/// Order of an integer within ±2⁶⁴ and a float, without rounding either; `None` for NaN.
fn compare_exactly(integer: i128, float: f64) -> Option<Ordering> {
    const BEYOND: f64 = (1u128 << 65) as f64;
    if float.is_nan() {
        return None;
    }
    if float.abs() >= BEYOND {
        return 0.0.partial_cmp(&float);
    }
    // Below 2⁶⁵ the whole part of a float converts exactly; the rest decides between equals.
    let whole = float.trunc() as i128;
    let fraction = 0.0.partial_cmp(&float.fract());
    Some(integer.cmp(&whole).then(fraction?))
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Uint(value) => serializer.serialize_u64(*value),
            Self::Nint(value) => serializer.serialize_i128(-1 - i128::from(*value)),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Bytes(value) => serializer.serialize_bytes(value),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
