//! The cases of `vectors/filter_project.json`: the definition of the two languages by example.

use serde_json::Value;
use weft::encoding::Encoding;
use weft::select::{SampleKind, Select, Selected};

fn cases(section: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/filter_project.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = vectors[section].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

fn encoding(case: &Value) -> Encoding {
    text(case, "encoding").parse().unwrap()
}

#[test]
fn filters() {
    for case in cases("filter") {
        let select = Select::from_parameters(&format!("_filter={}", text(&case, "filter")));
        let select = select.unwrap().unwrap();
        let kind = match text(&case, "kind") {
            "PUT" => SampleKind::Put,
            "DELETE" => SampleKind::Delete,
            other => panic!("unknown kind {other}"),
        };
        let payload = text(&case, "payload").as_bytes();
        let matched = select.apply(payload, &encoding(&case), kind) == Selected::Unchanged;
        assert_eq!(matched, case["match"].as_bool().unwrap(), "{case}");
        assert_eq!(select.filter().unwrap().matches(payload, &encoding(&case), kind), matched);
    }
}

#[test]
fn projections() {
    for case in cases("project") {
        let select = Select::from_parameters(&format!("_project={}", text(&case, "project")));
        let payload = text(&case, "payload");
        let selected =
            select.unwrap().unwrap().apply(payload.as_bytes(), &encoding(&case), SampleKind::Put);
        let out = match selected {
            Selected::No => panic!("a projection refuses nothing"),
            Selected::Unchanged => payload.to_owned(),
            Selected::Projected(projected) => {
                assert_eq!(projected.encoding, encoding(&case));
                String::from_utf8(projected.payload).unwrap()
            }
        };
        assert_eq!(out, text(&case, "out"), "{case}");
    }
}

#[test]
fn errors() {
    for case in cases("errors") {
        let argument =
            ["filter", "project"].into_iter().find(|name| case[*name].is_string()).unwrap();
        let error =
            Select::from_parameters(&format!("_{argument}={}", text(&case, argument))).unwrap_err();
        assert_eq!(error.kind().as_str(), text(&case, "error"), "{case}");
        assert_eq!(error.argument(), format!("_{argument}"));
    }
}
