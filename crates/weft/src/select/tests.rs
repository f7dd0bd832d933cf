use proptest::prelude::*;

use ciborium::cbor;

use super::*;

const V: &str = r#"{"temp":26,"hum":40,"name":"Bob","tags":["a","b"],"pos":{"x":1.0,"y":-2},"ok":true,"n":null,"items":[{"id":1,"q":2},{"id":3}]}"#;

fn encoding(text: &str) -> Encoding {
    text.parse().unwrap()
}

/// Whether a filter matches V.
fn matches(filter: &str) -> bool {
    let filter = Filter::parse(filter).unwrap();
    filter.matches(V.as_bytes(), &Encoding::APPLICATION_JSON, SampleKind::Put)
}

/// The projection of a JSON text.
fn project(projection: &str, json: &str) -> String {
    let projection = Projection::parse(projection).unwrap();
    let projected = projection.apply(json.as_bytes(), &Encoding::APPLICATION_JSON, SampleKind::Put);
    String::from_utf8(projected.unwrap().payload).unwrap()
}

/// The error of a filter, as kind and offset.
fn filter_error(filter: &str) -> (SelectErrorKind, usize) {
    let error = Filter::parse(filter).unwrap_err();
    (error.kind(), error.offset())
}

#[test]
fn comparisons_join_exactness_and_type() {
    assert!(matches("temp == 26.0 & temp >= 26 && temp <= 26"));
    assert!(!matches("temp == '26'"));
    assert!(!matches("ok < true"));
    assert!(matches("name > 'Bo' and name >= Bob and name <= Bob"));
    assert!(
        !matches("pos != pos and missing != 1"),
        "an object differs from every literal, but `missing` is missing"
    );
    assert!(matches("pos != x"));
}

#[test]
fn large_numbers_are_not_rounded() {
    let filter = Filter::parse("$.n == 9007199254740993").unwrap();
    let payload =
        |text: &str| filter.matches(text.as_bytes(), &Encoding::APPLICATION_JSON, SampleKind::Put);
    assert!(payload(r#"{"n":9007199254740993}"#));
    assert!(!payload(r#"{"n":9007199254740992}"#));
    assert!(!payload(r#"{"n":9007199254740992.0}"#));
}

#[test]
fn names_and_strings() {
    let json = r#"{"é-1":{"a b":"\"'\n😀","not":1,"exists":2,"in":3,"true":4}}"#;
    let check = |filter: &str| {
        let filter = Filter::parse(filter).unwrap();
        filter.matches(json.as_bytes(), &Encoding::APPLICATION_JSON, SampleKind::Put)
    };
    assert!(check(r#"é-1["a b"] == "\"\'\n\ud83d\ude00""#));
    assert!(check(r#"$["é-1"]['a b'] == '"\'\u000a😀'"#));
    assert!(check("é-1.exists == 2 and é-1.in in [3] and é-1.not==1 and é-1.true == 4"));
    assert!(check("exists ( é-1.not )"));
    assert!(!check("exists == 2"));
    assert!(!check("true"));
}

#[test]
fn boolean_operators_bind_as_usual() {
    assert!(matches("ok or missing and missing"));
    assert!(!matches("(ok or missing) and missing"));
    assert!(matches("not missing and ok"));
    assert!(matches("!ok or ! not not ok==false"));
    assert!(matches("not not (not (not ok))"));
}

#[test]
fn elements_match_if_one_does() {
    assert!(matches("items[*].id == 1 and items[*].id == 3"));
    assert!(matches("tags[*] != a"));
    assert!(!matches("not tags[*] != a"));
    assert!(matches("exists(items[*].q) and items[-1].id == 3 and items[-2].q == 2"));
    assert!(!matches(
        "exists(items[2]) or exists(items[-3]) or exists(items[-9223372036854775808])"
    ));
    assert!(!matches("exists(pos[*]) or exists(tags.a) or exists(tags[*][*])"));
}

#[test]
fn cbor_payloads_are_looked_into() {
    let sample: ciborium::Value = cbor!({
        "temp" => 26, "f" => 1.5, 7 => "seven", "raw" => ciborium::Value::Bytes(vec![1]), "hum" => 40,
        "stamp" => ciborium::Value::Tag(1, Box::new(5.into())),
    })
    .unwrap();
    let mut payload = Vec::new();
    ciborium::into_writer(&sample, &mut payload).unwrap();
    let cbor = encoding("application/cbor;schema");
    let check =
        |filter: &str| Filter::parse(filter).unwrap().matches(&payload, &cbor, SampleKind::Put);
    assert!(check("temp == 26.0 and f > 1 and $['7'] == seven and stamp == 5"));
    assert!(check("exists(raw) and raw != 1 and raw != 'x'"));
    assert!(!check("raw == 1 or raw < 'x' or raw in ['x', 1]"));

    let projection = Projection::parse(r#"temp,x["7"],f"#).unwrap().with(vec![]).unwrap();
    let projected = projection.apply(&payload, &cbor, SampleKind::Put).unwrap();
    let kept: ciborium::Value = ciborium::from_reader(projected.payload.as_slice()).unwrap();
    assert_eq!(kept, cbor!({ "temp" => 26, "f" => 1.5 }).unwrap());
    assert_eq!(projected.encoding, cbor);
}

#[test]
fn each_encoding_decodes_as_specified() {
    let cases = [
        ("text/json", r#"{"t":1}"#, true),
        ("application/json-patch+json;x", r#"{"t":1}"#, true),
        ("application/json", "{t:1}", false),
        ("text/json5", "{t:+1,} // JSON5", true),
        ("application/octet-stream", r#" {"t":1}"#, true),
        ("zenoh/bytes", "1", false),
        ("text/plain", r#"{"t":1}"#, false),
        ("application/yaml", "t: 1", false),
        ("my/type", r#"{"t":1}"#, false),
        ("application/json", r#"{"t":1} 2"#, false),
        ("application/json", "{\"t\":1,\"x\":\"\u{0}\"}", false),
    ];
    let filter = Filter::parse("t==1").unwrap();
    for (name, payload, expected) in cases {
        let matched = filter.matches(payload.as_bytes(), &encoding(name), SampleKind::Put);
        assert_eq!(matched, expected, "{name} {payload}");
    }
    assert!(!filter.matches(
        b"{\"t\":1,\"x\":\"\xff\"}",
        &Encoding::APPLICATION_JSON,
        SampleKind::Put
    ));
}

#[test]
fn plain_text_is_a_scalar_only_if_all_of_it_is() {
    let check = |filter: &str, text: &str| {
        let filter = Filter::parse(filter).unwrap();
        filter.matches(text.as_bytes(), &Encoding::TEXT_PLAIN, SampleKind::Put)
    };
    assert!(check("$ == 26", "26") && check("$ == '26 '", "26 ") && check("$ == '026'", "026"));
    assert!(check("$", "true") && check("$ == null", "null") && check("$ like 'tru*'", "true!"));
}

#[test]
fn a_projection_keeps_exactly_the_selected_paths() {
    let json = r#"{"a":{"b":[{"c":1,"d":2},{"d":3},4,[5]],"e":{}},"f":{"g":1},"h":[[{"i":1}],2]}"#;
    assert_eq!(project("a.b[*].c", json), r#"{"a":{"b":[{"c":1},{}]}}"#);
    assert_eq!(project("a.e, f.x", json), r#"{"a":{"e":{}}}"#);
    assert_eq!(project("a.e.x|f.g", json), r#"{"f":{"g":1}}"#);
    assert_eq!(project("h[*][*].i", json), r#"{"h":[[{"i":1}]]}"#);
    assert_eq!(project("h[*].i", json), r#"{"h":[]}"#);
    assert_eq!(project("a[\"e\"] , f", json), r#"{"a":{"e":{}},"f":{"g":1}}"#);
    assert_eq!(project("a", "[1,2]"), "[]");
    assert_eq!(project("zz", json), "{}");
}

#[test]
fn json5_becomes_json_and_keeps_its_schema() {
    let projection = Projection::parse("a").unwrap();
    let projected =
        projection.apply(b"{a: +.5, b: 'x',}", &encoding("text/json5;s"), SampleKind::Put).unwrap();
    assert_eq!(projected.payload, br#"{"a":0.5}"#);
    assert_eq!(projected.encoding, encoding("text/json;s"));
}

#[test]
fn what_cannot_be_projected_passes_unchanged() {
    let projection = Projection::parse("a").unwrap();
    for (payload, name, kind) in [
        ("26", "application/json", SampleKind::Put),
        ("not json", "zenoh/bytes", SampleKind::Put),
        (r#"{"a":1}"#, "application/json", SampleKind::Delete),
        (r#"{"a":1}"#, "image/png", SampleKind::Put),
    ] {
        assert_eq!(projection.apply(payload.as_bytes(), &encoding(name), kind), None);
    }
}

#[test]
fn filter_then_projection() {
    let select =
        Select::from_parameters("x=1;_project=hum;_filter=temp>25 and name==Bob;_time=[..]");
    let select = select.unwrap().unwrap();
    let json = Encoding::APPLICATION_JSON;
    let apply = |payload: &str, kind| select.apply(payload.as_bytes(), &json, kind);
    let projected = Projected { payload: br#"{"hum":40}"#.to_vec(), encoding: json.clone() };
    assert_eq!(apply(V, SampleKind::Put), Selected::Projected(projected));
    assert_eq!(apply(&V.replace("26", "25"), SampleKind::Put), Selected::No);
    assert_eq!(apply(V, SampleKind::Delete), Selected::No);
    assert!(Select::from_parameters("x=1;filter=a").unwrap().is_none());

    let projection_only = Select::from_parameters("_project=hum").unwrap().unwrap();
    assert_eq!(projection_only.apply(b"", &json, SampleKind::Delete), Selected::Unchanged);
    assert_eq!(projection_only.apply(b"26", &json, SampleKind::Put), Selected::Unchanged);
    assert!(projection_only.filter().is_none() && projection_only.projection().is_some());
}

#[test]
fn a_payload_beyond_the_limit_is_undecodable() {
    let json = Encoding::APPLICATION_JSON;
    let payload = V.as_bytes();
    let limited = |parameters: &str, len| {
        let select = Select::from_parameters(parameters).unwrap().unwrap();
        select.payload_len_max(len).apply(payload, &json, SampleKind::Put)
    };
    assert_eq!(limited("_filter=temp>25", payload.len()), Selected::Unchanged);
    assert_eq!(limited("_filter=temp>25", payload.len() - 1), Selected::No);
    assert_eq!(limited("_project=hum", payload.len() - 1), Selected::Unchanged);

    let default = Select::from_parameters("_filter=exists(a)").unwrap().unwrap();
    let mut long = br#"{"a":1}"#.to_vec();
    long.resize(PAYLOAD_LEN_MAX, b' ');
    assert_eq!(default.apply(&long, &json, SampleKind::Put), Selected::Unchanged);
    long.push(b' ');
    assert_eq!(default.apply(&long, &json, SampleKind::Put), Selected::No);
    assert!(!default.filter().unwrap().matches(&long, &json, SampleKind::Put));
}

#[test]
fn what_is_pushed_down_keeps_what_the_filter_needs() {
    let pushdown = |parameters: &str| {
        let select = Select::from_parameters(parameters).unwrap().unwrap();
        select.pushdown().map(|projection| projection.to_string())
    };
    assert_eq!(pushdown("_filter=temp>25"), None);
    assert_eq!(pushdown("_project=hum"), Some("hum".into()));
    assert_eq!(
        pushdown("_project=hum;_filter=temp>25 or not a.b[*].c=='x'"),
        Some("hum,temp,a.b[*].c".into())
    );
    assert_eq!(pushdown("_project=a.b;_filter=tags[0].x==1 and a"), Some("tags,a".into()));
    assert_eq!(pushdown(r#"_project=hum;_filter=a["b c"].d"#), Some(r#"hum,a["b c"].d"#.into()));
    assert_eq!(pushdown("_project=hum;_filter=$==1"), None);
    assert_eq!(pushdown("_project=hum;_filter=$[0]==1"), None);
    assert_eq!(pushdown(r#"_project=hum;_filter=$["b c"]==1"#), None);
}

#[test]
fn errors_tell_the_place() {
    use SelectErrorKind::{BadFilter, TooComplex};
    assert_eq!(filter_error("temp>"), (BadFilter, 5));
    assert_eq!(filter_error("temp ~ 5"), (BadFilter, 5));
    assert_eq!(filter_error("é > 01"), (BadFilter, 5));
    assert_eq!(filter_error("a > 5x"), (BadFilter, 4));
    assert_eq!(filter_error("a > 1e999"), (BadFilter, 4));
    assert_eq!(filter_error("a == 'x"), (BadFilter, 7));
    assert_eq!(filter_error(r"a == 'x\q'"), (BadFilter, 7));
    assert_eq!(filter_error(r"a == '\ud800x'"), (BadFilter, 6));
    assert_eq!(filter_error(r"a == '\udc00'"), (BadFilter, 6));
    assert_eq!(filter_error("a[+1]"), (BadFilter, 2));
    assert_eq!(filter_error("a[99999999999999999999]"), (BadFilter, 2));
    assert_eq!(filter_error("a in 5"), (BadFilter, 5));
    assert_eq!(filter_error("a in [5 6]"), (BadFilter, 8));
    assert_eq!(filter_error("a like b"), (BadFilter, 7));
    assert_eq!(filter_error(r"a like '\\'"), (BadFilter, 11));
    assert_eq!(filter_error("a b"), (BadFilter, 2));
    assert_eq!(filter_error("a | b"), (BadFilter, 2));
    assert_eq!(filter_error("not > 5"), (BadFilter, 4));
    assert_eq!(filter_error(&"(".repeat(100)), (TooComplex, 33));
}

#[test]
fn the_text_of_an_error_is_one_line_that_shows_the_place() {
    let error = Filter::parse("temp ~ 5").unwrap_err();
    let message = "expected an operator or the end, found `~`";
    let shown = format!("bad_filter: {message} at byte 5 of _filter, between `temp ` and `~ 5`");
    assert_eq!(error.to_string(), shown);
    let json = r#"{"argument":"_filter","error":"bad_filter","message":"expected an operator or the end, found `~`","offset":5}"#;
    assert_eq!(error.to_json(), json);
    let shown = |filter: &str| Filter::parse(filter).unwrap_err().to_string();
    assert!(shown(">5").ends_with("at byte 0 of _filter, before `>5`"), "{}", shown(">5"));
    assert!(shown("a >").ends_with("at byte 3 of _filter, after `a >`"), "{}", shown("a >"));
    let long = shown(&format!("{}\t~{}", "é".repeat(100), "x".repeat(100)));
    let place = format!("between `…{} ` and `~{}…`", "é".repeat(39), "x".repeat(19));
    assert!(long.ends_with(&place), "{long}");
}

#[test]
fn arguments_are_found_once_and_decoded() {
    let kind = |parameters: &str| Select::from_parameters(parameters).unwrap_err().kind();
    assert_eq!(kind("_filter=a;_filter=a"), SelectErrorKind::DuplicateArgument);
    assert_eq!(kind("_filter"), SelectErrorKind::EmptyArgument);
    assert_eq!(kind("a=1;_project=;b"), SelectErrorKind::EmptyArgument);
    assert_eq!(kind(r#"_filter="";b"#), SelectErrorKind::EmptyArgument);
    assert_eq!(kind("_filter=%"), SelectErrorKind::BadEscape);
    assert_eq!(kind("_filter=%+1"), SelectErrorKind::BadEscape);
    let error = Select::from_parameters("_filter=\"%61é%ff>1\"").unwrap_err();
    assert_eq!((error.kind(), error.offset()), (SelectErrorKind::BadEscape, 5));
    // One quote is no pair, and what the parameter code trims is gone before.
    assert_eq!(kind("_filter=\""), SelectErrorKind::BadFilter);
    assert!(Select::from_parameters("_filter=ok;=|").unwrap().is_some());
}

#[test]
fn limits_are_exact() {
    let kind = |filter: &str| Filter::parse(filter).err().map(|error| error.kind());
    let too_complex = Some(SelectErrorKind::TooComplex);
    let padded = |len: usize| format!("a{}", " ".repeat(len - 1));
    assert_eq!(kind(&padded(EXPRESSION_LEN_MAX)), None);
    assert_eq!(kind(&padded(EXPRESSION_LEN_MAX + 1)), too_complex);
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(kind(&nested(NESTING_MAX)), None);
    assert_eq!(kind(&nested(NESTING_MAX + 1)), too_complex);
    assert_eq!(kind(&format!("{}a", "!".repeat(NESTING_MAX + 1))), too_complex);
    let steps = |count: usize| format!("${}", ".a".repeat(count));
    assert_eq!(kind(&steps(NESTING_MAX)), None);
    assert_eq!(kind(&steps(NESTING_MAX + 1)), too_complex);
    // One test and its literals; tests and the operator between them.
    let list = |count: usize| format!("a in [{}1]", "1,".repeat(count - 1));
    assert_eq!(kind(&list(NODE_COUNT_MAX - 1)), None);
    assert_eq!(kind(&list(NODE_COUNT_MAX)), too_complex);
    let tests = |count: usize| vec!["a"; count].join("|| ");
    assert_eq!(kind(&tests(NODE_COUNT_MAX - 1)), None);
    assert_eq!(kind(&tests(NODE_COUNT_MAX)), too_complex);
    let paths = |count: usize| {
        Projection::parse(&vec!["a"; count].join(",")).err().map(|error| error.kind())
    };
    assert_eq!(paths(NODE_COUNT_MAX), None);
    assert_eq!(paths(NODE_COUNT_MAX + 1), too_complex);
}

/// Small JSON objects over few names, so that random paths often hit.
fn json() -> impl Strategy<Value = String> {
    let scalar =
        prop_oneof![Just("1".to_owned()), Just("null".to_owned()), Just("\"x\"".to_owned())];
    let inner = scalar.prop_recursive(4, 32, 4, |inner| {
        let member = (prop::sample::select(vec!["a", "b", "c"]), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..4).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    });
    ("[abc]", inner).prop_map(|(name, value)| format!("{{\"{name}\":{value}}}"))
}

fn projection() -> impl Strategy<Value = String> {
    let path = r#"[abc](\.[abc]|\[\*\]|\["[abc]"\]){0,3}"#;
    prop::collection::vec(path, 1..4).prop_map(|paths| paths.join(","))
}

proptest! {
    #[test]
    fn projecting_twice_is_projecting_once(projection in projection(), json in json()) {
        let once = project(&projection, &json);
        prop_assert_eq!(project(&projection, &once), once);
    }

    #[test]
    fn a_projection_is_what_it_prints(projection in projection(), json in json()) {
        let printed = Projection::parse(&projection).unwrap().to_string();
        prop_assert_eq!(project(&printed, &json), project(&projection, &json));
    }

    /// What a responder leaves out for a querier does not change what the querier selects.
    #[test]
    fn pushing_down_changes_nothing(
        projection in projection(),
        path in r"[abc](\.[abc]|\[\*\]|\[-?[01]\]){0,3}",
        test in prop::sample::select(vec!["", "==1", "!=x", "==null"]),
        json in json(),
    ) {
        let select = Select::from_parameters(&format!("_project={projection};_filter={path}{test}")).unwrap().unwrap();
        let apply = |payload: &str| select.apply(payload.as_bytes(), &Encoding::APPLICATION_JSON, SampleKind::Put);
        let sent = select.pushdown().unwrap().to_string();
        prop_assert_eq!(apply(&project(&sent, &json)), apply(&json));
    }

    /// Any text is an expression or an error whose excerpt can be shown.
    #[test]
    fn any_text_is_harmless(text in r#"([ab$.*\[\]()'"\\<>=!&|?%;,~1-]|in|not|é| ){0,20}"#) {
        if let Err(error) = Filter::parse(&text) {
            prop_assert!(error.offset() <= text.len() && !error.to_string().is_empty());
        }
        let _ = Projection::parse(&text).map_err(|error| error.to_string());
        let _ = Select::from_parameters(&text).map_err(|error| error.to_string());
    }

    /// An escaped argument is found again as it was.
    #[test]
    fn escaped_arguments_come_back(name in r#"[a;%="|]{1,12}"#) {
        let found = argument::find(&format!("x;_filter={};y", escape_argument(&name)), "_filter");
        prop_assert_eq!(found, Ok(Some(name.clone())));
        let last = argument::find(&format!("_filter={}", escape_argument(&name)), "_filter");
        prop_assert_eq!(last, Ok(Some(name)));
    }
}
