//! The coverage page, `docs/coverage.md`, names for each feature the tests that show it. They must exist.
//!
//! Its tables have a column headed `test` or `tests`. A cell holds one or more tests in backticks, each a file or
//! `file::name`, where the name is a Rust or Python function; or a dash, for a feature that has none.

use super::tree::Tree;
use super::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[coverage];

const PAGE: &str = "docs/coverage.md";

fn coverage(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding::error(PAGE, 0, "the coverage page is missing")];
    };
    let (mut findings, mut column, mut rows) = (Vec::new(), None, 0);
    for (at, line) in page.text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            column = None;
            continue;
        };
        let Some(column) = column else {
            column = Some(
                cells
                    .iter()
                    .position(|cell| matches!(cell.to_lowercase().as_str(), "test" | "tests")),
            );
            continue;
        };
        let Some(cell) = column.and_then(|column: usize| cells.get(column)) else {
            continue;
        };
        if cell.chars().all(|character| "-:—– ".contains(character)) && !cell.is_empty() {
            continue;
        }
        rows += 1;
        findings.extend(
            problems(tree, cell).into_iter().map(|text| Finding::error(PAGE, at + 1, text)),
        );
    }
    if rows == 0 {
        findings.push(Finding::error(PAGE, 0, "no table names a test"));
    }
    findings
}

/// The cells of a table's line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    Some(row.trim_end_matches('|').split('|').map(str::trim).collect())
}

fn problems(tree: &Tree, cell: &str) -> Vec<String> {
    let tests: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if tests.is_empty() {
        return vec!["a row without a test in backticks".to_owned()];
    }
    tests.into_iter().filter_map(|test| problem(tree, test)).collect()
}

fn problem(tree: &Tree, test: &str) -> Option<String> {
    let (path, name) =
        test.split_once("::").map_or((test, None), |(path, name)| (path, name.rsplit("::").next()));
    let Some(file) = tree.file(path) else {
        return Some(format!("`{path}` does not exist"));
    };
    let name = name?;
    let defined = ["fn ", "def "].iter().any(|keyword| {
        let definition = format!("{keyword}{name}");
        file.text
            .match_indices(&definition)
            .any(|(at, _)| file.text[at + definition.len()..].starts_with(['(', '<']))
    });
    (!defined).then(|| format!("no test `{name}` in `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample::found;

    const TESTS: [(&str, &str); 2] = [
        ("crates/weft/tests/put.rs", "#[test]\nfn a_put_arrives() {}\n"),
        ("tests/interop/test_put.py", "class TestPut:\n    def test_put(self):\n"),
    ];

    fn page(rows: &str) -> Vec<String> {
        let page =
            format!("# Coverage\n\n| Feature | Tests | Note |\n|---|:-:|---|\n{rows}\n\nEnd.\n");
        found(coverage, &[TESTS[0], TESTS[1], (PAGE, &page)])
    }

    #[test]
    fn tests_that_exist() {
        let none: [&str; 0] = [];
        assert_eq!(
            page(
                "| put | `crates/weft/tests/put.rs::a_put_arrives`, `tests/interop/test_put.py` | x |"
            ),
            none
        );
        assert_eq!(
            page(
                "| put | `tests/interop/test_put.py::TestPut::test_put` | |\n| quic | — | later |"
            ),
            none
        );
    }

    #[test]
    fn tests_that_do_not_exist() {
        for (row, expected) in [
            (
                "| put | `crates/weft/tests/gone.rs` | |",
                "`crates/weft/tests/gone.rs` does not exist",
            ),
            ("| put | `crates/weft/tests/put.rs::a_put` | |", "no test `a_put` in"),
            ("| put | everywhere | |", "a row without a test in backticks"),
            ("| put |  | |", "a row without a test in backticks"),
        ] {
            let findings = page(row);
            assert!(findings.len() == 1 && findings[0].contains(expected), "{row}: {findings:?}");
        }
    }

    #[test]
    fn a_page_that_names_no_test() {
        assert_eq!(page("| quic | — | |").len(), 1);
        assert_eq!(
            found(coverage, &[("a.md", "")]),
            ["error: docs/coverage.md: the coverage page is missing"]
        );
    }
}
