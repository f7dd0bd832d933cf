//! The configuration as text for people, without its secrets.

use std::fmt::Write;

use super::table::{KEYS, Key, Status};
use super::{Config, Value, tree};

/// What is shown instead of a secret.
const MASK: &str = "***";

/// The effective configuration as JSON5 with a comment at each key.
pub(super) fn commented(config: &Config) -> String {
    let mode = config.mode();
    let mut out = format!("// The effective configuration of a node in mode {mode}.\n{{\n");
    let mut open: Vec<&str> = Vec::new();
    for key in KEYS {
        let mut branches: Vec<&str> = key.path.split('/').collect();
        let name = branches.pop().unwrap_or_default();
        let common = open.iter().zip(&branches).take_while(|(a, b)| a == b).count();
        while open.len() > common {
            open.pop();
            line(&mut out, open.len(), "},");
        }
        for branch in &branches[common..] {
            line(&mut out, open.len(), &format!("{branch}: {{"));
            open.push(branch);
        }
        line(&mut out, open.len(), &comment(key));
        let value = masked(key, config.resolve(key, mode));
        line(&mut out, open.len(), &format!("{name}: {},", value.to_json()));
    }
    while open.pop().is_some() {
        line(&mut out, open.len(), "},");
    }
    out.push_str("}\n");
    out
}

/// The effective configuration as a line of JSON.
pub(super) fn json(config: &Config) -> String {
    let mode = config.mode();
    let mut line = tree("", |key| masked(key, config.resolve(key, mode))).to_json();
    line.push('\n');
    line
}

/// `value` without what must not be displayed: secrets, and what plugins keep under `private`.
pub(super) fn masked(key: &Key, value: Value) -> Value {
    match value {
        Value::Null => Value::Null,
        _ if key.is_secret() => Value::from(MASK),
        value if key.kind.is_open() => without_private(value),
        value => value,
    }
}

fn without_private(value: Value) -> Value {
    match value {
        Value::Map(members) => {
            let masked = members.into_iter().map(|(name, value)| match name.as_text() {
                Some("private") => (name, Value::from(MASK)),
                _ => (name, without_private(value)),
            });
            Value::Map(masked.collect())
        }
        Value::List(items) => Value::List(items.into_iter().map(without_private).collect()),
        value => value,
    }
}

fn comment(key: &Key) -> String {
    let note = match key.status {
        Status::Acted => "",
        Status::Known => " (No effect yet.)",
    };
    format!("// {}{note}", key.doc)
}

fn line(out: &mut String, depth: usize, text: &str) {
    // Writing to a string cannot fail. The outermost object is one level itself.
    let _ = writeln!(out, "{:indent$}{text}", "", indent = 2 * (depth + 1));
}
