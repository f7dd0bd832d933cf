//! CBOR (RFC 8949), as far as a [`Value`] can hold it.
//!
//! Tags are stripped and `undefined` is null. Integers and floats keep their type; floats are written in 4 bytes if that
//! loses nothing, else in 8.
//!
//! ```text
//! |7 6 5|4 3 2 1 0|   5: major type
//! |major|  info   |   0..=23 is the argument; 24..=27: it follows in 1, 2, 4, 8 bytes; 31: none, ended by a break
//! ```

use core::str;

use super::{DEPTH_MAX, NODE_COUNT_MAX, Shape, Value};

const UINT: u8 = 0;
const NINT: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;

const FALSE: u8 = 0xf4; // true is the next one
const NULL: u8 = 0xf6;
const FLOAT_32: u8 = 0xfa;
const FLOAT_64: u8 = 0xfb;
const BREAK: u8 = 0xff;

/// Decodes the whole input as one item.
pub(super) fn decode(bytes: &[u8], shape: &Shape) -> Option<Value> {
    let mut decoder = Decoder { rest: bytes, kept: 0 };
    let value = decoder.item(Some(shape), 0)?;
    decoder.rest.is_empty().then_some(value)
}

pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, value);
    out
}

struct Decoder<'a> {
    rest: &'a [u8],
    /// Values kept so far.
    kept: usize,
}

/// The first byte of an item, and its argument; for floats the argument is their bits.
struct Head {
    major: u8,
    info: u8,
    /// `None`: indefinite length.
    argument: Option<u64>,
}

impl<'a> Decoder<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn head(&mut self) -> Option<Head> {
        let first = self.take(1)?[0];
        let (major, info) = (first >> 5, first & 31);
        let argument = match info {
            0..=23 => Some(u64::from(info)),
            24..=27 => {
                let bytes = self.take(1 << (info - 24))?;
                Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
            31 if matches!(major, BYTES | TEXT | LIST | MAP) => None,
            _ => return None,
        };
        Some(Head { major, info, argument })
    }

    /// One item. Of what is not wanted (`None`), only the syntax and the depth count.
    fn item(&mut self, shape: Option<&Shape>, depth: usize) -> Option<Value> {
        let mut head = self.head()?;
        while head.major == TAG {
            head = self.head()?;
        }
        if shape.is_some() {
            self.kept += 1;
            (self.kept <= NODE_COUNT_MAX).then_some(())?;
        }
        match head.major {
            LIST | MAP if depth == DEPTH_MAX => None,
            LIST => self.list(head.argument, shape.and_then(Shape::elements), depth + 1),
            MAP => self.map(head.argument, shape, depth + 1),
            _ => {
                let scalar = self.scalar(&head)?;
                Some(if shape.is_some_and(Shape::is_whole) { scalar } else { Value::Null })
            }
        }
    }

    fn scalar(&mut self, head: &Head) -> Option<Value> {
        Some(match (head.major, head.argument) {
            (UINT, Some(value)) => Value::Uint(value),
            (NINT, Some(value)) => Value::Nint(value),
            (BYTES, len) => {
                let mut bytes = Vec::new();
                self.chunks(BYTES, len, |chunk| {
                    bytes.extend_from_slice(chunk);
                    Some(())
                })?;
                Value::Bytes(bytes)
            }
            (TEXT, len) => {
                let mut text = String::new();
                self.chunks(TEXT, len, |chunk| {
                    text.push_str(str::from_utf8(chunk).ok()?);
                    Some(())
                })?;
                Value::Text(text)
            }
            (SIMPLE, Some(value)) => match (head.info, value) {
                (20, _) => Value::Bool(false),
                (21, _) => Value::Bool(true),
                (22 | 23, _) => Value::Null,
                (25, bits) => Value::Float(half(bits as u16)),
                (26, bits) => Value::Float(f64::from(f32::from_bits(bits as u32))),
                (27, bits) => Value::Float(f64::from_bits(bits)),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Calls `each` with the content of a string: at once, or chunk by chunk until the break.
    fn chunks(
        &mut self,
        major: u8,
        len: Option<u64>,
        mut each: impl FnMut(&[u8]) -> Option<()>,
    ) -> Option<()> {
        if let Some(len) = len {
            return each(self.take(usize::try_from(len).ok()?)?);
        }
        while !self.at_break()? {
            let head = self.head().filter(|head| head.major == major)?;
            each(self.take(usize::try_from(head.argument?).ok()?)?)?;
        }
        Some(())
    }

    fn list(&mut self, count: Option<u64>, shape: Option<&Shape>, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        let mut left = count;
        while self.has_next(&mut left)? {
            let item = self.item(shape, depth)?;
            if shape.is_some() {
                items.push(item);
            }
        }
        Some(Value::List(items))
    }

    fn map(&mut self, count: Option<u64>, shape: Option<&Shape>, depth: usize) -> Option<Value> {
        let mut members = Vec::new();
        let mut left = count;
        while self.has_next(&mut left)? {
            let key = self.item(shape.map(|_| Shape::whole()), depth)?;
            let wanted = shape.and_then(|shape| shape.member_of(&key));
            let value = self.item(wanted, depth)?;
            if wanted.is_some() {
                members.push((key, value));
            }
        }
        Some(Value::Map(members))
    }

    /// Whether another entry follows: counts down a definite number, else looks for the break.
    fn has_next(&mut self, left: &mut Option<u64>) -> Option<bool> {
        match left {
            None => self.at_break().map(|ended| !ended),
            Some(0) => Some(false),
            Some(left) => {
                *left -= 1;
                Some(true)
            }
        }
    }

    /// Consumes a break if one is next. `None` at the end of the input.
    fn at_break(&mut self) -> Option<bool> {
        let ended = *self.rest.first()? == BREAK;
        if ended {
            self.rest = &self.rest[1..];
        }
        Some(ended)
    }
}

/// The value of a half-precision float.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match i32::from(bits >> 10 & 31) {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    sign * magnitude
}

fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(value) => out.push(FALSE + u8::from(*value)),
        Value::Uint(value) => write_head(out, UINT, *value),
        Value::Nint(value) => write_head(out, NINT, *value),
        Value::Float(value) => write_float(out, *value),
        Value::Text(text) => {
            write_head(out, TEXT, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            write_head(out, BYTES, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        Value::List(items) => {
            write_head(out, LIST, items.len() as u64);
            for item in items {
                write(out, item);
            }
        }
        Value::Map(members) => {
            write_head(out, MAP, members.len() as u64);
            for (key, value) in members {
                write(out, key);
                write(out, value);
            }
        }
    }
}

fn write_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let bytes = argument.to_be_bytes();
    let (info, len) = match argument {
        0..=23 => (argument as u8, 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(major << 5 | info);
    out.extend_from_slice(&bytes[8 - len..]);
}

fn write_float(out: &mut Vec<u8>, value: f64) {
    let short = value as f32;
    if f64::from(short).to_bits() == value.to_bits() {
        out.push(FLOAT_32);
        out.extend_from_slice(&short.to_be_bytes());
    } else {
        out.push(FLOAT_64);
        out.extend_from_slice(&value.to_be_bytes());
    }
}
