use proptest::prelude::*;

use super::*;

fn text(text: &str) -> Value {
    Value::from(text)
}

fn json(text: &str) -> Value {
    Value::from_json(text, Shape::whole()).unwrap()
}

fn shape(paths: &[&[Step]]) -> Shape {
    let mut shape = Shape::default();
    for path in paths {
        shape.add(path);
    }
    shape
}

fn member(name: &str) -> Step {
    Step::Member(name.to_owned())
}

/// Values that every format can hold: text keys, no bytes, finite floats that are not whole.
fn portable() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<u64>().prop_map(Value::Uint),
        (0..1u64 << 63).prop_map(Value::Nint),
        (-1e30..1e30f64).prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
    ];
    scalar.prop_recursive(4, 64, 6, |inner| {
        let key = ".{0,4}".prop_map(Value::Text);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::vec((key, inner), 0..6).prop_map(Value::Map),
        ]
    })
}

/// The same value for the CBOR crate that checks ours.
fn oracle(value: &Value) -> ciborium::Value {
    match value {
        Value::Null => ciborium::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Uint(_) | Value::Nint(_) => {
            let integer = ciborium::value::Integer::try_from(value.as_integer().unwrap()).unwrap();
            ciborium::Value::Integer(integer)
        }
        Value::Float(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
        Value::Bytes(value) => value.as_slice().into(),
        Value::List(items) => ciborium::Value::Array(items.iter().map(oracle).collect()),
        Value::Map(members) => {
            let members = members.iter().map(|(key, value)| (oracle(key), oracle(value)));
            ciborium::Value::Map(members.collect())
        }
    }
}

#[test]
fn the_type_is_small() {
    assert_eq!(size_of::<Value>(), 32);
}

#[test]
fn json_and_json5_decode_to_the_same_tree() {
    let expected = Value::Map(vec![
        (text("b"), Value::List(vec![Value::Uint(1), Value::Nint(1), Value::Float(0.5)])),
        (text("a"), Value::Map(vec![(text("é"), Value::Null), (text("t"), Value::Bool(true))])),
    ]);
    assert_eq!(json(r#"{"b":[1,-2,0.5],"a":{"é":null,"t":true}}"#), expected);
    let json5 = "{b: [+1, -0x2, .5,], /* c */ 'a': {é: null, t: true}} // end";
    assert_eq!(Value::from_json5(json5, Shape::whole()), Ok(expected.clone()));
    assert_eq!(expected.to_json(), r#"{"b":[1,-2,0.5],"a":{"é":null,"t":true}}"#);
}

#[test]
fn malformed_text_tells_the_place() {
    let place = |error: Malformed| error.position.map(|at| (at.line, at.column));
    let json = |text| Value::from_json(text, Shape::whole()).unwrap_err();
    let json5 = |text| Value::from_json5(text, Shape::whole()).unwrap_err();
    assert_eq!(place(json("{\n  \"a\": x}")), Some((2, 8)));
    assert_eq!(place(json("[1] 2")), Some((1, 5)));
    assert_eq!(place(json5("{\n  a: x}")), Some((2, 6)));
    assert_eq!(place(json5("[1]\n 2")), Some((2, 2)));
    assert_eq!(json5("[1] ]").message, "trailing characters");
    assert_eq!(json5("{a: x}").message, "expected value");
    assert_eq!(place(json5("\n[1")), Some((2, 1)));
}

#[test]
fn positions_of_values_are_found_by_path() {
    let text = "{\n  a: 1,\n  list: [true, {b: 'x'}],\n}";
    let place = |path: &[&str]| json5_position(text, path).map(|at| (at.line, at.column));
    assert_eq!(place(&[]), Some((1, 1)));
    assert_eq!(place(&["a"]), Some((2, 6)));
    assert_eq!(place(&["list", "0"]), Some((3, 10)));
    assert_eq!(place(&["list", "1", "b"]), Some((3, 20)));
    assert_eq!(place(&["list", "2"]), None);
    assert_eq!(place(&["c"]), None);
}

#[test]
fn only_the_wanted_parts_are_kept() {
    let wanted = shape(&[
        &[member("a"), member("x")],
        &[member("list"), Step::Elements, member("id")],
        &[member("tags"), Step::Index(-1)],
        &[member("all")],
        &[member("all"), member("part")],
    ]);
    let text = r#"{"a":{"x":1,"y":2},"list":[{"id":1,"q":2},7],"tags":["a","b"],"all":{"part":1,"rest":[2]},"no":[[[]]]}"#;
    let kept =
        r#"{"a":{"x":1},"list":[{"id":1},null],"tags":["a","b"],"all":{"part":1,"rest":[2]}}"#;
    assert_eq!(Value::from_json(text, &wanted).unwrap().to_json(), kept);
    assert_eq!(Value::from_json5(text, &wanted).unwrap().to_json(), kept);
    let cbor = json(text).to_cbor();
    assert_eq!(Value::from_cbor(&cbor, &wanted).unwrap().to_json(), kept);
}

#[test]
fn what_is_not_wanted_is_checked_all_the_same() {
    let wanted = shape(&[&[member("a")]]);
    for text in [r#"{"a":1,"b":[1}"#, r#"{"a":1,"b":1e999}"#, r#"{"a":1,"b":"\x"}"#] {
        assert!(Value::from_json(text, &wanted).is_err(), "{text}");
    }
    assert_eq!(Value::from_cbor(&[0xa2, 0x61, b'a', 1, 0x61, b'b', 0x61, 0xff], &wanted), None);
}

#[test]
fn every_format_nests_to_the_same_depth() {
    let skip = shape(&[]);
    for wanted in [Shape::whole(), &skip] {
        for (depth, allowed) in [(DEPTH_MAX, true), (DEPTH_MAX + 1, false), (1_000_000, false)] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(Value::from_json(&text, wanted).is_ok(), allowed);
            assert_eq!(Value::from_json5(&text, wanted).is_ok(), allowed);
            let cbor = [vec![0x81; depth - 1], vec![0x80]].concat();
            assert_eq!(Value::from_cbor(&cbor, wanted).is_some(), allowed);
        }
    }
}

#[test]
fn the_number_of_values_is_limited() {
    for (count, allowed) in [(NODE_COUNT_MAX - 1, true), (NODE_COUNT_MAX, false)] {
        let text = format!("[{}1]", "1,".repeat(count - 1));
        assert_eq!(Value::from_json(&text, Shape::whole()).is_ok(), allowed);
        assert!(
            Value::from_json(&text, &Shape::default()).is_ok(),
            "what is not kept is not counted"
        );
        let head = [0x9a, 0, (count >> 16) as u8, (count >> 8) as u8, count as u8];
        let cbor = [&head[..], &vec![1; count]].concat();
        assert_eq!(Value::from_cbor(&cbor, Shape::whole()).is_some(), allowed);
    }
}

#[test]
fn cbor_of_the_standard_decodes() {
    // From RFC 8949, appendix A.
    let cases: &[(&[u8], Value)] = &[
        (&[0x00], Value::Uint(0)),
        (&[0x18, 0x64], Value::Uint(100)),
        (&[0x1b, 255, 255, 255, 255, 255, 255, 255, 255], Value::Uint(u64::MAX)),
        (&[0x3b, 255, 255, 255, 255, 255, 255, 255, 255], Value::Nint(u64::MAX)),
        (&[0xf9, 0x3e, 0x00], Value::Float(1.5)),
        (&[0xf9, 0x00, 0x01], Value::Float(5.960_464_477_539_063e-8)),
        (&[0xf9, 0xc4, 0x00], Value::Float(-4.0)),
        (&[0xf9, 0x7c, 0x00], Value::Float(f64::INFINITY)),
        (&[0xfa, 0x47, 0xc3, 0x50, 0x00], Value::Float(100_000.0)),
        (&[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a], Value::Float(1.1)),
        (&[0xf7], Value::Null),
        (&[0xc1, 0x1a, 0x51, 0x4b, 0x67, 0xb0], Value::Uint(1_363_896_240)),
        (&[0x5f, 0x42, 1, 2, 0x41, 3, 0xff], Value::Bytes(vec![1, 2, 3])),
        (&[0x7f, 0x61, b'a', 0x60, 0x62, b'b', b'c', 0xff], text("abc")),
        (&[0x9f, 0x01, 0x80, 0xff], Value::List(vec![Value::Uint(1), Value::List(vec![])])),
        (&[0xbf, 0x01, 0xf5, 0xff], Value::Map(vec![(Value::Uint(1), Value::Bool(true))])),
    ];
    for (bytes, value) in cases {
        assert_eq!(Value::from_cbor(bytes, Shape::whole()).as_ref(), Some(value), "{bytes:x?}");
    }
    let nan = Value::from_cbor(&[0xf9, 0x7e, 0x00], Shape::whole());
    assert!(matches!(nan, Some(Value::Float(value)) if value.is_nan()));
}

#[test]
fn malformed_cbor_is_refused() {
    let cases: &[&[u8]] = &[
        &[],
        &[0x18],                                            // argument missing
        &[0x1c],                                            // reserved
        &[0x1f],                                            // an integer without length
        &[0x00, 0x00],                                      // two items
        &[0x42, 0x01],                                      // bytes missing
        &[0x5b, 255, 255, 255, 255, 255, 255, 255, 255],    // more bytes than there are
        &[0x9b, 255, 255, 255, 255, 255, 255, 255, 255, 0], // more elements than there are
        &[0x61, 0xff],                                      // not UTF-8
        &[0x7f, 0x41, 0x00, 0xff],                          // bytes in text
        &[0x7f, 0x7f, 0xff, 0xff],                          // chunks within chunks
        &[0x9f, 0x00],                                      // no break
        &[0xff],                                            // a break alone
        &[0xbf, 0x00, 0xff],                                // a key without a value
        &[0xf8, 0x20],                                      // unassigned simple value
        &[0xc1],                                            // a tag without an item
    ];
    for bytes in cases {
        assert_eq!(Value::from_cbor(bytes, Shape::whole()), None, "{bytes:x?}");
    }
}

#[test]
fn integer_keys_are_called_by_their_decimal_text() {
    let map = Value::Map(vec![
        (Value::Uint(7), text("seven")),
        (Value::Nint(0), text("minus one")),
        (Value::Float(1.5), text("unreachable")),
        (text("x"), Value::Uint(1)),
        (text("x"), Value::Uint(2)),
    ]);
    assert_eq!(map.member("7"), Some(&text("seven")));
    assert_eq!(map.member("-1"), Some(&text("minus one")));
    assert_eq!((map.member("07"), map.member("+7"), map.member("1.5")), (None, None, None));
    assert_eq!(map.member("x"), Some(&Value::Uint(2)), "the last of equal keys counts");
    let wanted = shape(&[&[member("7")], &[member("-1")]]);
    let kept = Value::from_cbor(&map.to_cbor(), &wanted).unwrap();
    assert!(matches!(kept, Value::Map(members) if members.len() == 2));
}

#[test]
fn numbers_compare_by_exact_value() {
    use Ordering::{Equal, Greater, Less};
    let two_53 = 9_007_199_254_740_992;
    let cases = [
        (Value::Uint(1), Value::Float(1.0), Some(Equal)),
        (Value::Uint(two_53 + 1), Value::Float(two_53 as f64), Some(Greater)),
        (Value::Uint(two_53), Value::Float(two_53 as f64), Some(Equal)),
        (Value::Nint(1), Value::Float(-1.5), Some(Less)),
        (Value::Nint(1), Value::Float(-2.5), Some(Greater)),
        (Value::Uint(u64::MAX), Value::Float(18_446_744_073_709_551_616.0), Some(Less)),
        (Value::Nint(u64::MAX), Value::Float(f64::NEG_INFINITY), Some(Greater)),
        (Value::Nint(u64::MAX), Value::Uint(0), Some(Less)),
        (Value::Uint(0), Value::Float(f64::NAN), None),
        (Value::Uint(0), text("0"), None),
        (text("a"), text("b"), Some(Less)),
        (Value::Bool(false), Value::Bool(true), None),
    ];
    for (a, b, order) in cases {
        assert_eq!(a.compare(&b), order, "{a:?} {b:?}");
        assert_eq!(b.compare(&a), order.map(Ordering::reverse), "{b:?} {a:?}");
    }
}

#[test]
fn only_json_numbers_are_numbers() {
    let numbers = [
        ("0", Value::Uint(0)),
        ("-1", Value::Nint(0)),
        ("18446744073709551615", Value::Uint(u64::MAX)),
        ("-18446744073709551616", Value::Nint(u64::MAX)),
        ("18446744073709551616", Value::Float(18_446_744_073_709_551_616.0)),
        ("1.50", Value::Float(1.5)),
        ("-2e+1", Value::Float(-20.0)),
        ("1E2", Value::Float(100.0)),
    ];
    for (text, number) in numbers {
        assert_eq!(Value::from_number(text), Some(number), "{text}");
    }
    for text in
        ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1 ", "1e999", "inf", "NaN", "1_0"]
    {
        assert_eq!(Value::from_number(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn json_round_trips(value in portable()) {
        prop_assert_eq!(json(&value.to_json()), value);
    }

    #[test]
    fn cbor_round_trips(value in portable()) {
        prop_assert_eq!(Value::from_cbor(&value.to_cbor(), Shape::whole()), Some(value));
    }

    /// Another implementation reads what ours writes, and ours reads what that one writes.
    #[test]
    fn cbor_agrees_with_another_implementation(value in portable()) {
        let expected = oracle(&value);
        let theirs: ciborium::Value = ciborium::from_reader(value.to_cbor().as_slice()).unwrap();
        prop_assert_eq!(&theirs, &expected);
        let mut bytes = Vec::new();
        ciborium::into_writer(&expected, &mut bytes).unwrap();
        prop_assert_eq!(Value::from_cbor(&bytes, Shape::whole()), Some(value));
    }

    /// Any bytes decode or are refused.
    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let wanted = shape(&[&[member("a"), Step::Elements]]);
        for shape in [Shape::whole(), &wanted] {
            if let Some(value) = Value::from_cbor(&bytes, shape) {
                let again = Value::from_cbor(&value.to_cbor(), shape);
                prop_assert_eq!(again.map(|value| value.to_cbor()), Some(value.to_cbor()));
            }
            if let Ok(text) = str::from_utf8(&bytes) {
                let _ = Value::from_json(text, shape);
                let _ = Value::from_json5(text, shape);
            }
        }
    }
}
