//! Rules about files of any kind: their size, their names, what may not be written in them.

use super::tree::{FILE_LEN_MAX, File, Tree};
use super::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[
    file_len,
    line_count,
    no_mod_rs,
    no_machine_paths,
    no_leftovers,
    no_skipped_python_tests,
    fuzz_corpora,
];

/// Lines of a source file that make it worth a look, and that are too many.
const LINES_GOOD: usize = 500;
const LINES_MAX: usize = 700;

fn file_len(tree: &Tree) -> Vec<Finding> {
    let long = tree.files.iter().filter(|file| file.len > FILE_LEN_MAX);
    long.map(|file| Finding::error(&file.path, 0, "a file over 1 MiB")).collect()
}

fn line_count(tree: &Tree) -> Vec<Finding> {
    let sources =
        tree.files.iter().filter(|file| matches!(file.extension(), Some("rs" | "py" | "sh")));
    sources
        .filter_map(|file| match file.text.lines().count() {
            0..=LINES_GOOD => None,
            count @ ..=LINES_MAX => Some(Finding::warning(&file.path, 0, format!("{count} lines"))),
            count => Some(Finding::error(
                &file.path,
                0,
                format!("{count} lines, over {LINES_MAX}: split it by concern"),
            )),
        })
        .collect()
}

fn no_mod_rs(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| file.name() == "mod.rs");
    files
        .map(|file| Finding::error(&file.path, 0, "foo.rs beside foo/ instead of foo/mod.rs"))
        .collect()
}

/// A path of somebody's machine works nowhere else.
fn no_machine_paths(tree: &Tree) -> Vec<Finding> {
    // Put together here, so that this file keeps the rule.
    let homes = ["root", "home", "work"].map(|name| format!("/{name}/"));
    lines(tree.files.iter(), |line| {
        let home = homes.iter().find(|home| {
            line.match_indices(home.as_str()).any(|(at, _)| starts_a_path(line, at))
        })?;
        Some(format!("a path below {home}"))
    })
}

/// Whether the slash at `at` starts a path. In a key expression such as `demo/home/1` it does not.
fn starts_a_path(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|before| !before.is_alphanumeric() && !"*-_.}>)@$/".contains(before))
}

/// Marks of unfinished work in what is not Rust; `sources` looks at comments of Rust.
fn no_leftovers(tree: &Tree) -> Vec<Finding> {
    let marks = [concat!("FIX", "ME"), concat!("XX", "X")];
    let files = tree
        .files
        .iter()
        .filter(|file| matches!(file.extension(), Some("py" | "toml" | "md" | "ini")));
    lines(files, |line| {
        let mark = marks
            .iter()
            .find(|mark| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == **mark))?;
        Some(format!("a {mark} is work that is not done"))
    })
}

fn no_skipped_python_tests(tree: &Tree) -> Vec<Finding> {
    let marks = ["pytest.skip", "mark.skip", "xfail", "importorskip", "unittest.skip"];
    lines(tree.with_extension("py"), |line| {
        let mark = marks.iter().find(|mark| line.contains(**mark))?;
        Some(format!("`{mark}`: a test runs, or it is deleted"))
    })
}

/// Each fuzz target starts from a kept corpus.
fn fuzz_corpora(tree: &Tree) -> Vec<Finding> {
    let targets = tree.files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("fuzz/src/bin/")?.strip_suffix(".rs")?;
        Some((file, format!("fuzz/corpus/{name}/")))
    });
    targets
        .filter(|(_, corpus)| !tree.files.iter().any(|file| file.path.starts_with(corpus)))
        .map(|(target, corpus)| Finding::error(&target.path, 0, format!("nothing in {corpus}")))
        .collect()
}

/// A finding for each line of `files` that `problem` objects to.
fn lines<'a>(
    files: impl Iterator<Item = &'a File>,
    problem: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    files
        .flat_map(|file| file.text.lines().enumerate().map(move |(at, line)| (file, at + 1, line)))
        .filter_map(|(file, number, line)| Some(Finding::error(&file.path, number, problem(line)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample::found;

    #[test]
    fn a_file_over_a_mebibyte() {
        let fits = "x".repeat(1 << 20);
        assert_eq!(found(file_len, &[("a.json", &fits)]), [""; 0]);
        assert_eq!(
            found(file_len, &[("a.json", &(fits + "x"))]),
            ["error: a.json: a file over 1 MiB"]
        );
    }

    #[test]
    fn a_source_file_may_have_500_lines_and_must_not_have_701() {
        let lines = |count| "x\n".repeat(count);
        assert_eq!(found(line_count, &[("a.rs", &lines(500)), ("b.md", &lines(900))]), [""; 0]);
        assert_eq!(found(line_count, &[("a.py", &lines(501))]), ["warning: a.py: 501 lines"]);
        assert_eq!(found(line_count, &[("a.rs", &lines(700))]), ["warning: a.rs: 700 lines"]);
        let found = found(line_count, &[("a.rs", &lines(701))]);
        assert!(found[0].starts_with("error: a.rs: 701 lines"), "{found:?}");
    }

    #[test]
    fn mod_rs_is_not_used() {
        assert_eq!(found(no_mod_rs, &[("a/mod.rs", ""), ("a/model.rs", "")]).len(), 1);
    }

    #[test]
    fn paths_of_a_machine_are_found_and_keys_are_not() {
        let home = ["", "home", ""].join("/");
        let text = format!("ok\ncp \"{home}someone/x\" .\n");
        let findings = found(no_machine_paths, &[("docs/a.md", &text)]);
        assert_eq!(findings, [format!("error: docs/a.md:2: a path below {home}")]);
        assert_eq!(found(no_machine_paths, &[("a.rs", "\"demo/home/1\" \"*/work/**\"")]), [""; 0]);
    }

    #[test]
    fn unfinished_work_is_marked_nowhere() {
        let text = format!("# {}: later\n", concat!("FIX", "ME"));
        assert_eq!(found(no_leftovers, &[("a.py", &text)]).len(), 1);
        assert_eq!(found(no_leftovers, &[("a.py", "# FIXMEUP AXXXB\n")]), [""; 0]);
    }

    #[test]
    fn python_tests_are_not_skipped() {
        for line in [
            "@pytest.mark.skip(reason='x')",
            "pytest.skip('x')",
            "@pytest.mark.xfail",
            "pytest.importorskip('x')",
        ] {
            assert_eq!(
                found(no_skipped_python_tests, &[("tests/test_a.py", line)]).len(),
                1,
                "{line}"
            );
        }
        assert_eq!(found(no_skipped_python_tests, &[("tests/test_a.py", "skipped = 1")]), [""; 0]);
    }

    #[test]
    fn a_fuzz_target_has_a_corpus() {
        let target = ("fuzz/src/bin/wire.rs", "");
        assert_eq!(found(fuzz_corpora, &[target, ("fuzz/corpus/wire/seed", "x")]), [""; 0]);
        assert_eq!(found(fuzz_corpora, &[target, ("fuzz/corpus/wire_2/seed", "x")]).len(), 1);
    }
}
