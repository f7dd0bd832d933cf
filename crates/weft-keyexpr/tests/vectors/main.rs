//! The golden vectors, obtained from the reference or required by the specification.

mod keformat;
mod keyexpr;
mod parameters;
mod time_range;

use serde_json::Value;

/// The rows of one section of one vector file.
fn rows(file: &str, section: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let content = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut document: Value = serde_json::from_str(&content).unwrap();
    match document[section].take() {
        Value::Array(rows) => rows,
        other => panic!("{path}: section {section} is {other}"),
    }
}

/// A field that is text.
fn text<'r>(row: &'r Value, field: &str) -> &'r str {
    row[field].as_str().unwrap_or_else(|| panic!("{row}: no text `{field}`"))
}
