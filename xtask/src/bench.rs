//! `cargo xtask bench`: the micro-benchmarks of the crates, or with `--reference` the comparison with the reference.

use crate::command::{Program, Result, root};
use crate::report::Report;
use std::process::ExitCode;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let repeat = Program::cargo().args(["xtask", "bench"]).args(arguments).to_string();
    let (reference, passed_on): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| *argument == "--reference");
    Report::single("bench", &repeat, || {
        if reference.is_empty() { micro(&passed_on) } else { against_the_reference(&passed_on) }
    })
}

/// Every `benches/*.rs` of every crate; the arguments filter and tune as the benchmark harness says.
fn micro(arguments: &[&String]) -> Result {
    let crates = root().join("crates");
    let folders =
        std::fs::read_dir(&crates).map_err(|error| format!("{}: {error}", crates.display()))?;
    let mut packages: Vec<String> = folders
        .filter_map(std::result::Result::ok)
        .filter(|folder| folder.path().join("benches").is_dir())
        .map(|folder| folder.file_name().to_string_lossy().into_owned())
        .collect();
    packages.sort();
    if packages.is_empty() {
        return Err("no crate has a benches/ folder".to_owned());
    }
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    // Only bench targets: the unit-test harness does not know their arguments.
    Program::cargo().arg("bench").args(packages).args(["--bench", "*", "--"]).args(arguments).run()
}

/// The comparison builds the reference in a package of its own, so that its library is no dependency of
/// the workspace.
fn against_the_reference(arguments: &[&String]) -> Result {
    Program::at("python3").arg("bench/compare.py").args(arguments).run()
}
