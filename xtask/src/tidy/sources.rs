//! Rules about Rust sources.

use super::rust_text::{RustText, is_word};
use super::tree::{File, Tree};
use super::{Finding, Rule, SANS_IO};

pub(super) const RULES: &[Rule] = &[
    sans_io,
    sans_io_forbids_unsafe,
    unsafe_has_a_reason,
    nothing_unfinished,
    no_ignored_tests,
    present_tense,
];

/// What the sans-IO crates may not name: each reads a clock, draws entropy, blocks, or talks to the outside.
const OUTSIDE: &[&str] = &[
    "std::net",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "rand::",
    "tokio",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
];
/// The same for modules that are imported in a group.
const OUTSIDE_MODULES: &[&str] = &["net", "thread"];

fn sans_io(tree: &Tree) -> Vec<Finding> {
    let sources = tree.with_extension("rs").filter(|file| {
        file.package().is_some_and(|package| SANS_IO.contains(&package))
            && file.path.contains("/src/")
    });
    each_code_line(sources, |line| {
        let named = OUTSIDE.iter().find(|name| mentions(line, name)).map(|name| (*name).to_owned());
        let named = named.or_else(|| Some(format!("std::{}", imported_from_std(line)?)));
        named.map(|name| format!("`{name}` in a crate without I/O"))
    })
}

/// The forbidden module that a line like `use std::{mem, net::TcpStream};` imports.
fn imported_from_std(line: &str) -> Option<&'static str> {
    let (_, group) = line.split_once("std::{")?;
    OUTSIDE_MODULES.iter().copied().find(|module| mentions(group, module))
}

fn sans_io_forbids_unsafe(tree: &Tree) -> Vec<Finding> {
    let roots = tree.files.iter().filter(|file| {
        SANS_IO.iter().any(|package| file.path == format!("crates/{package}/src/lib.rs"))
    });
    roots
        .filter(|file| !RustText::split(&file.text).code.contains("#![forbid(unsafe_code)]"))
        .map(|file| Finding::error(&file.path, 1, "`#![forbid(unsafe_code)]` is missing"))
        .collect()
}

fn unsafe_has_a_reason(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        let text = RustText::split(&file.text);
        let code: Vec<&str> = text.code.lines().collect();
        let comments: Vec<&str> = text.comments.lines().collect();
        for (at, line) in code.iter().enumerate() {
            if mentions(line, "unsafe") && !is_argued(&code, &comments, at) {
                findings.push(Finding::error(
                    &file.path,
                    at + 1,
                    "`unsafe` without a SAFETY comment above it",
                ));
            }
        }
    }
    findings
}

/// Whether a SAFETY comment stands on line `at`, or above the statement or item that the line belongs to.
fn is_argued(code: &[&str], comments: &[&str], at: usize) -> bool {
    let argues = |line: &str| line.contains("SAFETY:") || line.contains("# Safety");
    let is_boundary = |line: &str| line.trim_end().ends_with([';', '{', '}', ',']);
    if argues(comments[at]) {
        return true;
    }
    let above = code[..at].iter().zip(comments).rev();
    let mut own = above.take_while(|(code, _)| !is_boundary(code));
    own.any(|(_, comment)| argues(comment))
}

fn nothing_unfinished(tree: &Tree) -> Vec<Finding> {
    let mut findings = each_code_line(tree.with_extension("rs"), |line| {
        let name =
            ["todo!", "unimplemented!", "dbg!"].into_iter().find(|name| mentions(line, name))?;
        Some(format!("`{name}` is left"))
    });
    findings.extend(each_comment_line(tree, |line| {
        let mark = [concat!("FIX", "ME"), concat!("XX", "X")]
            .into_iter()
            .find(|mark| mentions(line, mark));
        let mark = mark.or_else(|| {
            let task = concat!("TO", "DO");
            (mentions(line, task) && !line.contains(&format!("{task}(#"))).then_some(task)
        });
        mark.map(|mark| format!("a {mark} without an issue is work that is not done"))
    }));
    findings
}

fn no_ignored_tests(tree: &Tree) -> Vec<Finding> {
    each_code_line(tree.with_extension("rs"), |line| {
        let attribute: String = line.split_whitespace().collect();
        let ignored = attribute.contains("#[ignore")
            || (attribute.contains("cfg_attr(") && attribute.contains(",ignore"));
        ignored.then(|| "an ignored test: a test runs, or it is deleted".to_owned())
    })
}

/// Comments describe the code, never how it came to be.
fn present_tense(tree: &Tree) -> Vec<Finding> {
    let warn = |finding: Finding| Finding::warning(&finding.path, finding.line, finding.text);
    let findings = each_comment_line(tree, |line| {
        let words = ["no longer", "previously"]
            .into_iter()
            .find(|words| mentions(&line.to_lowercase(), words))?;
        Some(format!("`{words}` tells history"))
    });
    findings.into_iter().map(warn).collect()
}

fn each_code_line<'a>(
    files: impl Iterator<Item = &'a File>,
    problem: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    each_line(files, |text| text.code, problem)
}

fn each_comment_line(tree: &Tree, problem: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    each_line(tree.with_extension("rs"), |text| text.comments, problem)
}

fn each_line<'a>(
    files: impl Iterator<Item = &'a File>,
    part: impl Fn(RustText) -> String,
    problem: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (at, line) in part(RustText::split(&file.text)).lines().enumerate() {
            findings.extend(problem(line).map(|text| Finding::error(&file.path, at + 1, text)));
        }
    }
    findings
}

/// Whether `line` holds `name` as words of its own, not as part of longer ones.
fn mentions(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        let joins = |outer: Option<char>, inner: Option<char>| {
            outer.is_some_and(is_word) && inner.is_some_and(is_word)
        };
        !joins(before, name.chars().next()) && !joins(after, name.chars().next_back())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample::found;

    const NONE: [&str; 0] = [];

    #[test]
    fn sans_io_crates_do_not_name_the_outside() {
        for code in [
            "use std::net::TcpStream;",
            "use std::{mem, thread};",
            "let now = Instant::now();",
            "let x = SystemTime::UNIX_EPOCH;",
            "let x = rand::random();",
            "println!(\"x\");",
            "#[tokio::main]",
        ] {
            let findings = found(sans_io, &[("crates/weft-node/src/a.rs", code)]);
            assert_eq!(findings.len(), 1, "{code}: {findings:?}");
            assert_eq!(found(sans_io, &[("crates/weft-link/src/a.rs", code)]), NONE, "{code}");
            assert_eq!(found(sans_io, &[("crates/weft-node/tests/a.rs", code)]), NONE, "{code}");
        }
        let fine =
            "// std::net\nlet s = \"println!\"; let operand = grand::x(); use std::{mem, vec};";
        assert_eq!(found(sans_io, &[("crates/weft-node/src/a.rs", fine)]), NONE);
    }

    #[test]
    fn sans_io_crates_forbid_unsafe() {
        let path = "crates/weft-wire/src/lib.rs";
        assert_eq!(found(sans_io_forbids_unsafe, &[(path, "#![forbid(unsafe_code)]\n")]), NONE);
        assert_eq!(
            found(sans_io_forbids_unsafe, &[(path, "// #![forbid(unsafe_code)]\n")]).len(),
            1
        );
        assert_eq!(found(sans_io_forbids_unsafe, &[("crates/weft-link/src/lib.rs", "")]), NONE);
    }

    #[test]
    fn unsafe_is_argued_for() {
        let argued = "\
// SAFETY: the slot is ours.
let x = unsafe { f() };
// SAFETY: and so is this one.
#[inline]
let y =
    unsafe { g() };
/// # Safety
/// Once.
pub unsafe fn h() {}
let z = unsafe { i() }; // SAFETY: read only
#![forbid(unsafe_code)]
";
        assert_eq!(found(unsafe_has_a_reason, &[("crates/weft-link/src/a.rs", argued)]), NONE);
        for bare in [
            "let x = unsafe { f() };",
            "// SAFETY: of another one\nf();\nunsafe { g() }",
            "unsafe impl Send for X {}",
        ] {
            assert_eq!(
                found(unsafe_has_a_reason, &[("crates/weft-link/src/a.rs", bare)]).len(),
                1,
                "{bare}"
            );
        }
    }

    #[test]
    fn unfinished_code_and_marks_of_it_are_found() {
        for code in [
            "todo!()".to_owned(),
            "unimplemented!(\"x\")".to_owned(),
            "let x = dbg!(y);".to_owned(),
            format!("// {}: x", concat!("FIX", "ME")),
            format!("/// {} later", concat!("TO", "DO")),
        ] {
            assert_eq!(found(nothing_unfinished, &[("a.rs", &code)]).len(), 1, "{code}");
        }
        let fine = format!("let s = \"todo!\"; // {}(#12): x", concat!("TO", "DO"));
        assert_eq!(found(nothing_unfinished, &[("a.rs", &fine)]), NONE);
    }

    #[test]
    fn tests_are_not_ignored() {
        for code in ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(miri, ignore)]"] {
            assert_eq!(found(no_ignored_tests, &[("a.rs", code)]).len(), 1, "{code}");
        }
        assert_eq!(found(no_ignored_tests, &[("a.rs", "// #[ignore]\nlet ignored = 1;")]), NONE);
    }

    #[test]
    fn history_in_comments_is_a_warning() {
        let findings =
            found(present_tense, &[("a.rs", "// It No Longer blocks.\nlet previously = 1;\n")]);
        assert_eq!(findings, ["warning: a.rs:1: `no longer` tells history"]);
    }
}
