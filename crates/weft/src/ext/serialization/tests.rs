use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Debug;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn fails<T: Deserialize + Debug>(bytes: &[u8], fault: DeserializeFault, offset: usize) {
    let error = deserialize::<T>(&bytes.into()).unwrap_err();
    assert_eq!(error, DeserializeError { fault, offset });
}

/// What the reference's own package serializes.
#[test]
fn vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/zext-serialize.json");
    let text = std::fs::read_to_string(path).unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    for case in &cases {
        let value = case["value"].as_str().unwrap();
        let hex = case["hex"].as_str().unwrap();
        let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let expected: Vec<u8> = (0..hex.len()).step_by(2).map(octet).collect();
        assert_eq!(check(value), expected, "{value}");
    }
    assert_eq!(cases.len(), 32);
}

/// Serializes what a vector names, and reads it back.
fn check(value: &str) -> ZBytes {
    fn both<T: Serialize + Deserialize + PartialEq + Debug>(value: T) -> ZBytes {
        let bytes = serialize(&value);
        assert_eq!(deserialize::<T>(&bytes).unwrap(), value);
        bytes
    }
    match value {
        "UInt8(7)" => both(7_u8),
        "UInt16(0x1234)" => both(0x1234_u16),
        "UInt32(42)" => both(42_u32),
        "UInt64(1<<40)" => both(1_u64 << 40),
        "UInt128(1)" => both(1_u128),
        "Int8(-1)" => both(-1_i8),
        "Int16(-2)" => both(-2_i16),
        "Int32(-42)" => both(-42_i32),
        "Int64(-1)" => both(-1_i64),
        "Int128(-1)" => both(-1_i128),
        "int 42 (plain python int)" => both(42_i32),
        "Float32(1.5)" => both(1.5_f32),
        "Float64(3.14)" | "float 3.14" => both(f64::from_bits(0x40091eb851eb851f)),
        "True" => both(true),
        "False" => both(false),
        "str \"\"" => both(String::new()),
        "str \"abc\"" => both("abc".to_owned()),
        "str é" => both("é".to_owned()),
        "bytes b\"\\x01\\x02\"" => both(vec![1_u8, 2]),
        "bytearray" => both(ZBytes::from([0xff])),
        "list[UInt8] [1,2,3]" => both([1_u8, 2, 3]),
        "list[UInt32] [1,2,3]" => both(vec![1_u32, 2, 3]),
        "empty list" => both(Vec::<u8>::new()),
        "list[str]" => both(vec!["a".to_owned(), "bc".to_owned()]),
        "tuple(UInt32 1,\"a\",True)" => both((1_u32, "a".to_owned(), true)),
        "dict{str:UInt32}" => both(HashMap::from([("k".to_owned(), 5_u32)])),
        "dict2" => both(BTreeMap::from([("a".to_owned(), 1_u8), ("b".to_owned(), 2)])),
        "list of tuples" => both(vec![(1_u16, "x".to_owned()), (2, "y".to_owned())]),
        "nested list" => both(vec![vec![1_u8], vec![]]),
        "empty tuple" => both(()),
        "set" => both(HashSet::from([9_u8])),
        other => panic!("unknown value {other}"),
    }
}

#[test]
fn lengths_are_leb128() {
    for (len, bytes) in [
        (0, &[0][..]),
        (127, &[0x7f]),
        (128, &[0x80, 1]),
        (300, &[0xac, 2]),
        (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
    ] {
        let mut serializer = Serializer::new();
        serializer.write_len(len);
        assert_eq!(serializer.finish(), bytes);
        assert_eq!(Deserializer::new(bytes).read_len(), Ok(len));
    }
    fails::<String>(&[0xff; 11], DeserializeFault::LongLength, 0);
    fails::<(u8, Vec<u8>)>(
        &[7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
        DeserializeFault::LongLength,
        1,
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    fails::<(u8, u32)>(&[1, 2, 3], DeserializeFault::Truncated { missing: 2 }, 1);
    fails::<Vec<u16>>(&[2, 1, 0, 2], DeserializeFault::Truncated { missing: 1 }, 3);
    fails::<u8>(&[1, 2, 3], DeserializeFault::Trailing { count: 2 }, 1);
    fails::<(u8, bool)>(&[1, 2], DeserializeFault::Bool { found: 2 }, 1);
    fails::<String>(&[3, b'a', 0xff, b'b'], DeserializeFault::NotUtf8, 2);
    fails::<[u8; 2]>(&[3, 1, 2, 3], DeserializeFault::ArrayLen { expected: 2, found: 3 }, 0);
    let error = deserialize::<u16>(&[1].into()).unwrap_err();
    assert_eq!(error.to_string(), "1 bytes are missing at byte 0");
}

/// A length of 2^63 with nothing behind it costs neither memory nor time.
#[test]
fn lengths_are_not_believed() {
    let mut serializer = Serializer::new();
    serializer.write_len(1 << 63);
    let bytes = serializer.finish();
    let missing = |missing| DeserializeFault::Truncated { missing };
    fails::<Vec<u8>>(&bytes.to_bytes(), missing(1 << 63), 10);
    fails::<String>(&bytes.to_bytes(), missing(1 << 63), 10);
    fails::<ZBytes>(&bytes.to_bytes(), missing(1 << 63), 10);
    fails::<Vec<u128>>(&bytes.to_bytes(), missing(16), 10);
    fails::<Vec<Vec<()>>>(&bytes.to_bytes(), missing(1), 10);
    fails::<HashMap<u8, u8>>(&bytes.to_bytes(), missing(1), 10);
    fails::<BTreeSet<u32>>(&bytes.to_bytes(), missing(4), 10);
    let empty = DeserializeFault::EmptyItems { count: 1 << 63 };
    fails::<Vec<()>>(&bytes.to_bytes(), empty, 10);
    fails::<HashSet<((), ())>>(&bytes.to_bytes(), empty, 10);
    let count = EMPTY_ITEMS_MAX as usize;
    assert_eq!(deserialize::<Vec<()>>(&serialize(&vec![(); count])).unwrap().len(), count);
}

#[test]
fn borrowed_and_owned_forms_are_the_same_bytes() {
    let text = serialize("abc");
    assert_eq!(text, serialize(&"abc".to_owned()));
    assert_eq!(text, serialize(&Cow::Borrowed("abc")));
    assert_eq!(text, serialize(&ZBytes::from("abc")));
    assert_eq!(text, serialize(b"abc".as_slice()));
    assert_eq!(deserialize::<Cow<'_, str>>(&text).unwrap(), "abc");
    assert_eq!(deserialize::<Cow<'_, [u8]>>(&text).unwrap(), &b"abc"[..]);
}

#[test]
fn fragmented_bytes_are_read_as_one() {
    let mut writer = ZBytes::writer();
    writer.append(serialize(&vec![7_u8; 100]));
    writer.append(serialize(&vec![8_u8; 100]));
    let bytes = writer.finish();
    assert!(bytes.as_slice().is_none());
    let read = deserialize::<(ZBytes, Vec<u8>)>(&bytes).unwrap();
    assert_eq!(read, (vec![7; 100].into(), vec![8; 100]));
    assert_eq!(serialize(&bytes).len(), 2 + bytes.len());
}

type Anything = (i64, f64, Vec<(String, BTreeMap<u8, [bool; 2]>)>, BTreeSet<i128>);

proptest! {
    #[test]
    fn round_trip(value: Anything) {
        let back: Anything = deserialize(&serialize(&value)).unwrap();
        prop_assert_eq!(back.1.to_bits(), value.1.to_bits());
        prop_assert_eq!((back.0, back.2, back.3), (value.0, value.2, value.3));
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes: Vec<u8>) {
        if let Ok(value) = deserialize::<Anything>(&bytes.clone().into()) {
            // Sets and maps are read in any order, so only the length is the same.
            prop_assert!(serialize(&value).len() <= bytes.len());
        }
    }
}
