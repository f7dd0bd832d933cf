//! The golden vectors of key expressions: relations, canonization, joins.

use crate::{rows, text};
use serde_json::Value;
use weft_keyexpr::{Ke, KeTree, KeyExpr, KeyExprError, SetIntersectionLevel};

fn level(name: &str) -> SetIntersectionLevel {
    match name {
        "DISJOINT" => SetIntersectionLevel::Disjoint,
        "INTERSECTS" => SetIntersectionLevel::Intersects,
        "INCLUDES" => SetIntersectionLevel::Includes,
        "EQUALS" => SetIntersectionLevel::Equals,
        other => panic!("unknown level {other}"),
    }
}

#[test]
fn relations() {
    let rows = rows("keyexpr", "relations");
    assert_eq!(rows.len(), 2174);
    for row in &rows {
        let (a, b) = (Ke::new(text(row, "a")).unwrap(), Ke::new(text(row, "b")).unwrap());
        assert_eq!(a.intersects(b), row["intersects"], "{row}");
        assert_eq!(b.intersects(a), row["intersects"], "{row}");
        assert_eq!(a.includes(b), row["includes_ab"], "{row}");
        assert_eq!(b.includes(a), row["includes_ba"], "{row}");
        assert_eq!(a.relation_to(b), level(text(row, "relation")), "{row}");
    }
}

#[test]
fn relations_through_a_tree() {
    for row in &rows("keyexpr", "relations") {
        let (a, b) = (Ke::new(text(row, "a")).unwrap(), Ke::new(text(row, "b")).unwrap());
        let mut tree = KeTree::new();
        tree.insert(a, ());
        let mut found = [false; 3];
        tree.for_each_intersecting(b, |_, ()| found[0] = true);
        tree.for_each_including(b, |_, ()| found[1] = true);
        tree.for_each_included_by(b, |_, ()| found[2] = true);
        assert_eq!(
            Value::from(found.to_vec()),
            serde_json::json!([row["intersects"], row["includes_ab"], row["includes_ba"]]),
            "{row}"
        );
    }
}

fn assert_outcome(row: &Value, outcome: &Result<KeyExpr, KeyExprError>) {
    match (outcome, row.get("out"), row.get("error")) {
        (Ok(made), Some(expected), None) => assert_eq!(made.as_str(), expected, "{row}"),
        (Err(error), None, Some(expected)) => assert_eq!(error.kind.as_str(), expected, "{row}"),
        _ => panic!("{row}: {outcome:?}"),
    }
}

#[test]
fn canonization() {
    let rows = rows("keyexpr", "canonization");
    assert_eq!(rows.len(), 108);
    for row in &rows {
        let input = text(row, "in");
        assert_outcome(row, &KeyExpr::autocanonize(input));
        match Ke::new(input) {
            Ok(ke) => assert!(row["valid_as_is"] == true && ke == input, "{row}"),
            Err(error) => {
                assert_eq!(error.kind.as_str(), row["strict_error"], "{row}");
                assert_eq!(error.hint.as_deref(), row.get("out").and_then(Value::as_str), "{row}");
                assert!(error.to_string().contains(input), "{row}");
            }
        }
    }
}

#[test]
fn joins_and_concatenations() {
    let rows = rows("keyexpr", "join_concat");
    assert_eq!(rows.len(), 36);
    for row in &rows {
        let (a, b) = (Ke::new(text(row, "a")).unwrap(), text(row, "b"));
        let outcome = match text(row, "op") {
            "join" => a.join(b),
            "concat" => a.concat(b),
            "div" => Ok(a / Ke::new(b).unwrap()),
            other => panic!("unknown operation {other}"),
        };
        assert_outcome(row, &outcome);
    }
}
