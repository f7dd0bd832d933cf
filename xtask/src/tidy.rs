//! `cargo xtask tidy`: the house rules that a compiler does not check.
//!
//! Each rule is a function from the tree to findings; each has a test with a sample tree that breaks it.

mod coverage;
mod files;
mod manifests;
mod rust_text;
#[cfg(test)]
pub(crate) mod sample;
mod sources;
mod tree;

use crate::command::{Result, root};
use crate::refuse;
use crate::report::Report;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use tree::Tree;

/// The crates that never touch the operating system.
const SANS_IO: &[&str] =
    &["weft-keyexpr", "weft-wire", "weft-transport", "weft-routing", "weft-intercept", "weft-node"];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if let Some(argument) = arguments.first() {
        return refuse("tidy", &format!("unexpected argument `{argument}`"));
    }
    Report::single("tidy", "cargo xtask tidy", check)
}

/// Prints what the rules find in the repository.
///
/// # Errors
/// When a finding is more than a warning.
pub(crate) fn check() -> Result {
    let findings = findings(&root())?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.iter().filter(|finding| finding.level == Level::Error).count() {
        0 => Ok(()),
        count => Err(format!("{count} broken house rules")),
    }
}

/// What all rules find in the tree at `root`, sorted by place.
fn findings(root: &Path) -> Result<Vec<Finding>> {
    let tree = Tree::read(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let rules = [files::RULES, manifests::RULES, sources::RULES, coverage::RULES].concat();
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

/// A house rule.
type Rule = fn(&Tree) -> Vec<Finding>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    /// Shown, and left to the author.
    Warning,
}

/// One place where a rule does not hold.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    level: Level,
    path: String,
    /// From 1; 0 for the whole file.
    line: usize,
    text: String,
}

impl Finding {
    fn error(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { level: Level::Error, path: path.to_owned(), line, text: text.into() }
    }

    fn warning(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(path, line, text) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.level == Level::Error { "error" } else { "warning" };
        if self.line == 0 {
            write!(f, "{level}: {}: {}", self.path, self.text)
        } else {
            write!(f, "{level}: {}:{}: {}", self.path, self.line, self.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_run_over_a_whole_tree() {
        let tree = sample::SampleTree::house();
        assert_eq!(findings(tree.root()).unwrap(), []);
        tree.write("crates/weft-link/src/a.rs", "fn f() { todo!() }\n");
        tree.write("crates/weft-link/src/sub/mod.rs", "");
        let places: Vec<String> = findings(tree.root())
            .unwrap()
            .iter()
            .map(|finding| format!("{}:{}", finding.path, finding.line))
            .collect();
        assert_eq!(places, ["crates/weft-link/src/a.rs:1", "crates/weft-link/src/sub/mod.rs:0"]);
    }

    #[test]
    fn a_finding_prints_as_a_place_that_editors_open() {
        assert_eq!(Finding::error("a.rs", 3, "bad").to_string(), "error: a.rs:3: bad");
        assert_eq!(Finding::warning("a.rs", 0, "long").to_string(), "warning: a.rs: long");
    }
}
