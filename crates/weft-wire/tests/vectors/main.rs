//! The captured vectors decode to the fields they state, and encode back byte for byte.

mod lz4;
mod network;
mod routing;
mod transport;

use std::{fmt::Write, fs, path::Path};

use serde_json::Value;
use weft_wire::{Decode, Encode, Reader};

/// The entries of a vector file.
fn load(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text field of an entry.
fn text<'v>(vector: &'v Value, field: &str) -> &'v str {
    vector[field].as_str().unwrap_or_else(|| panic!("no text {field} in {vector}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Decodes one message, which has to encode back to what it was decoded from.
fn decode_exactly<'a, M: Decode<'a> + Encode>(name: &str, r: &mut Reader<'a>) -> M {
    let start = r.pos();
    let message = M::decode(r).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut encoded = Vec::new();
    message.encode(&mut encoded).unwrap();
    assert_eq!(hex(&encoded), hex(r.since(start)), "{name}");
    assert_eq!(message.encoded_len(), encoded.len(), "{name}");
    message
}
