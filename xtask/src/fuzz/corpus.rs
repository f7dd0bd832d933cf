//! The kept corpus: few small inputs that together reach every branch that the fuzzer has ever reached.
//!
//! libFuzzer names an input by its SHA-1. Inputs with another name were put there by a person, a seed from a capture
//! or a finding that was fixed, and stay whatever their coverage.

use crate::command::Result;
use std::fs;
use std::io;
use std::path::Path;

/// Replaces the generated part of `kept` by a minimal set that covers what `kept` and `grown` cover together.
///
/// `merge(scratch, sources)` runs libFuzzer: it copies from the sources what adds to the coverage of `scratch`.
pub(super) fn merge(
    kept: &Path,
    grown: &Path,
    merge: impl FnOnce(&Path, &[&Path]) -> Result,
) -> Result {
    let scratch = grown.with_extension("merged");
    let say = |error: io::Error| format!("{}: {error}", kept.display());
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(say)?;
    }
    for folder in [kept, grown, &scratch] {
        fs::create_dir_all(folder).map_err(say)?;
    }
    copy(kept, &scratch, |name| !is_generated(name)).map_err(say)?;
    merge(&scratch, &[kept, grown])?;
    for name in files(kept).map_err(say)?.iter().filter(|name| is_generated(name)) {
        fs::remove_file(kept.join(name)).map_err(say)?;
    }
    copy(&scratch, kept, is_generated).map_err(say)?;
    fs::remove_dir_all(&scratch).map_err(say)
}

fn is_generated(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn copy(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    for name in files(from)?.iter().filter(|name| wanted(name)) {
        fs::copy(from.join(name), to.join(name))?;
    }
    Ok(())
}

fn files(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample::SampleTree;

    const USEFUL: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const USELESS: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn generated_inputs_are_replaced_and_named_ones_stay() {
        let tree = SampleTree::with(&[
            ("kept/seed-open-syn", "s"),
            (&format!("kept/{USELESS}"), "u"),
            (&format!("grown/{USEFUL}"), "n"),
        ]);
        let (kept, grown) = (tree.root().join("kept"), tree.root().join("grown"));
        merge(&kept, &grown, |scratch, sources| {
            assert_eq!(files(scratch).unwrap(), ["seed-open-syn"], "named inputs count as covered");
            assert_eq!(sources, [kept.as_path(), grown.as_path()]);
            copy(&grown, scratch, |_| true).map_err(|error| error.to_string())
        })
        .unwrap();
        let mut left = files(&kept).unwrap();
        left.sort();
        assert_eq!(left, [USEFUL, "seed-open-syn"]);
    }

    #[test]
    fn a_failed_merge_leaves_the_corpus_alone() {
        let tree = SampleTree::with(&[(&format!("kept/{USELESS}"), "u")]);
        let (kept, grown) = (tree.root().join("kept"), tree.root().join("grown"));
        merge(&kept, &grown, |_, _| Err("crashed".to_owned())).unwrap_err();
        assert_eq!(files(&kept).unwrap(), [USELESS]);
    }
}
