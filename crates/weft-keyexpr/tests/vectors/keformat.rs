//! The golden vectors of key formats and of namespaces.

use crate::{rows, text};
use serde_json::{Map, Value};
use weft_keyexpr::{FormatBuildError, FormatSetError, Ke, KeFormat, KeyExpr};

#[test]
fn templates() {
    let rows = rows("keformat", "parse_format");
    assert_eq!(rows.len(), 33);
    for row in &rows {
        match KeFormat::new(text(row, "format")) {
            Ok(format) => assert_eq!(format.to_string(), text(row, "display"), "{row}"),
            Err(_) => assert_eq!(row["valid"], false, "{row}"),
        }
    }
}

/// The outcome of setting the values and building, in the words of the vectors: stage and error.
fn build(row: &Value) -> Result<KeyExpr, (&'static str, &'static str)> {
    let format = KeFormat::new(text(row, "format")).unwrap();
    let mut formatter = format.formatter();
    for pair in row["set"].as_array().unwrap() {
        formatter.set(pair[0].as_str().unwrap(), pair[1].as_str().unwrap()).map_err(|error| {
            match error {
                FormatSetError::UnknownId { .. } => ("set", "unknown_id"),
                FormatSetError::PatternNotMatched { .. } => ("set", "pattern_not_matched"),
                other => panic!("{other}"),
            }
        })?;
    }
    formatter.build().map_err(|error| match error {
        FormatBuildError::MissingField { .. } => ("build", "missing_field"),
        FormatBuildError::EmptyKeyExpr => ("build", "empty_key_expr"),
        other => panic!("{other}"),
    })
}

#[test]
fn building() {
    let rows = rows("keformat", "build");
    assert_eq!(rows.len(), 24);
    for row in &rows {
        match build(row) {
            Ok(built) => assert_eq!(built.as_str(), row["out"], "{row}"),
            Err((stage, error)) => {
                assert_eq!((stage, error), (text(row, "error_stage"), text(row, "error")), "{row}");
            }
        }
    }
}

#[test]
fn taking_apart() {
    let rows = rows("keformat", "parse_key");
    assert_eq!(rows.len(), 23);
    for row in &rows {
        let format = KeFormat::new(text(row, "format")).unwrap();
        match format.parse(Ke::new(text(row, "key")).unwrap()) {
            Some(fields) => {
                let fields: Map<_, _> =
                    fields.iter().map(|(id, value)| (id.into(), value.into())).collect();
                assert_eq!(Value::Object(fields), row["fields"], "{row}");
            }
            None => assert_eq!(row["error"], "no_match", "{row}"),
        }
    }
}

#[test]
fn namespaces() {
    let rows = rows("keformat", "strip_namespace");
    assert_eq!(rows.len(), 24);
    for row in &rows {
        let namespace = Ke::new(text(row, "namespace")).unwrap();
        let stripped = Ke::new(text(row, "key_expr")).unwrap().strip_namespace(namespace);
        assert_eq!(stripped.map(Ke::as_str), row["stripped"].as_str(), "{row}");
    }
}
