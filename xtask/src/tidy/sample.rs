//! Small trees in the temporary folder, for the tests of the rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own, removed when dropped.
pub(crate) struct SampleTree {
    root: PathBuf,
}

impl SampleTree {
    /// A tree of the given (path, text).
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("weft-tidy-{}-{number}", process::id()));
        fs::create_dir_all(&root).unwrap();
        let tree = Self { root };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    /// A tree that keeps every rule.
    pub(crate) fn house() -> Self {
        let manifest = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\n{rest}\n[lints]\nworkspace = true\n")
        };
        Self::with(&[
            ("crates/weft-wire/Cargo.toml", &manifest("weft-wire", "")),
            ("crates/weft-wire/src/lib.rs", "#![no_std]\n#![forbid(unsafe_code)]\n"),
            (
                "crates/weft-link/Cargo.toml",
                &manifest("weft-link", "[dependencies]\nweft-wire.workspace = true\n"),
            ),
            ("crates/weft-link/src/lib.rs", "//! Links.\n"),
            ("fuzz/src/bin/wire.rs", "#![no_main]\n"),
            ("fuzz/corpus/wire/seed", "x"),
            (
                "docs/coverage.md",
                "| feature | test |\n|---|---|\n| links | `crates/weft-link/src/lib.rs` |\n",
            ),
        ])
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for SampleTree {
    fn drop(&mut self) {
        // A leftover in the temporary folder is not worth a panic while another one may be in flight.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// What `rule` finds in a tree of `files`, as `path:line text`.
pub(super) fn found(rule: super::Rule, files: &[(&str, &str)]) -> Vec<String> {
    let sample = SampleTree::with(files);
    let tree = super::Tree::read(sample.root()).unwrap();
    rule(&tree).iter().map(ToString::to_string).collect()
}
