//! `cargo xtask size`: how big the shipped binary is, and how many packages stand behind it.

use crate::command::{Program, Result, relative, target_dir};
use crate::refuse;
use crate::report::Report;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if let Some(argument) = arguments.first() {
        return refuse("size", &format!("unexpected argument `{argument}`"));
    }
    Report::single("size", "cargo xtask size", measure)
}

fn measure() -> Result {
    Program::cargo().args(["build", "--release", "--package", "weft-cli"]).run()?;
    let built = target_dir().join("release/weft");
    let stripped = target_dir().join("release/weft.stripped");
    Program::at("strip").arg("-o").path(&stripped).path(&built).run()?;
    println!("{}: {}", relative(&built), kib(&built)?);
    println!("{}: {}", relative(&stripped), kib(&stripped)?);
    for package in ["weft", "weft-cli"] {
        println!("{package}: {} packages, itself included", dependency_count(package)?);
    }
    Ok(())
}

fn kib(file: &Path) -> Result<String> {
    let len =
        std::fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len();
    Ok(format!("{} KiB", len.div_ceil(1024)))
}

/// Packages in the normal dependency tree, for this platform.
fn dependency_count(package: &str) -> Result<usize> {
    let tree = Program::cargo()
        .args([
            "tree",
            "--package",
            package,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .read()?;
    // A package that occurs more than once is marked with a trailing `(*)`.
    let packages: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    Ok(packages.len())
}
