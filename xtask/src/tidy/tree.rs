//! The files that the rules look at, read once.

use std::fs;
use std::io;
use std::path::Path;

/// Folders that hold nothing of ours: version control, installed packages, findings. Relative to the root.
const SKIPPED: &[&str] = &[
    ".git",
    ".venv",
    ".venv-abi3",
    ".venv-bench",
    ".venv-python",
    "bench/report",
    "fuzz/artifacts",
];
/// Folders to skip wherever they are.
const SKIPPED_ANYWHERE: &[&str] = &["__pycache__", ".pytest_cache"];
/// No text is read from a longer file: its length is the finding.
pub(super) const FILE_LEN_MAX: u64 = 1 << 20;

pub(super) struct Tree {
    /// Sorted by path.
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    /// Relative to the root, with `/` between the parts.
    pub(super) path: String,
    /// In bytes.
    pub(super) len: u64,
    /// Empty for what is not UTF-8 or too long.
    pub(super) text: String,
}

impl Tree {
    /// Reads the tree at `root`.
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self { files: Vec::new() };
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let is_build_output = name == "target" && folder.join("Cargo.toml").exists();
                let is_skipped = SKIPPED.contains(&path.as_str())
                    || SKIPPED_ANYWHERE.contains(&name.as_str())
                    || is_build_output;
                if !is_skipped {
                    self.read_folder(&entry.path(), &path)?;
                }
            } else if kind.is_file() {
                let len = entry.metadata()?.len();
                let bytes = if len > FILE_LEN_MAX { Vec::new() } else { fs::read(entry.path())? };
                self.files.push(File {
                    path,
                    len,
                    text: String::from_utf8(bytes).unwrap_or_default(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(super) fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.extension() == Some(extension))
    }
}

impl File {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(super) fn extension(&self) -> Option<&str> {
        self.name().rsplit_once('.').map(|(_, extension)| extension)
    }

    /// The folder below `crates/` that the file is in.
    pub(super) fn package(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample::SampleTree;

    #[test]
    fn build_output_is_not_part_of_the_tree() {
        let sample = SampleTree::with(&[
            ("bench/limits/Cargo.toml", ""),
            ("bench/limits/target/debug/a.rs", ""),
            (".venv/x.py", ""),
            ("tests/interop/__pycache__/c.py", ""),
            ("crates/weft/src/target/b.rs", ""),
            (".ci/run", ""),
        ]);
        let tree = Tree::read(sample.root()).unwrap();
        let paths: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", "bench/limits/Cargo.toml", "crates/weft/src/target/b.rs"]);
        assert_eq!(tree.files[2].package(), Some("weft"));
        assert_eq!((tree.files[0].extension(), tree.files[2].extension()), (None, Some("rs")));
    }
}
