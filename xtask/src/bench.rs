//! `cargo xtask bench`: Weft beside its peers, the micro-benchmarks of the crates, or the instructions of the hot paths.
//!
//! The first and the last are the Python package `bench/weftbench`; their manual is `bench/README.md`.

use crate::command::{Program, Result, root};
use crate::report::Report;
use crate::venv;
use std::path::Path;
use std::process::ExitCode;

const VENV: &str = ".venv-bench";
const REQUIREMENTS: &str = "bench/requirements.txt";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let repeat = Program::cargo().args(["xtask", "bench"]).args(arguments).to_string();
    Report::single("bench", &repeat, || match arguments.split_first() {
        Some((first, rest)) if first == "--micro" => micro(rest),
        Some((first, rest)) if first == "--instructions" => instructions(rest),
        _ => beside_peers(arguments),
    })
}

/// What `cargo xtask test` takes of it: the harness without its peers, and the figures that do not depend on how busy
/// the machine is.
pub(crate) fn steps(report: &mut Report) {
    let tests = ["-m", "unittest", "discover", "-t", "bench", "-s", "bench/tests"];
    let repeat = Program::at("python3").args(tests).to_string();
    report.step("bench harness", &repeat, || {
        Program::at("python3").args(tests).run()?;
        package_tests("bench/roles")?;
        package_tests("bench/limits")
    });
    let repeat = "cargo xtask bench --instructions";
    if Program::at("valgrind").arg("--version").read().is_ok() {
        report.step("instructions", repeat, || instructions(&[]));
    } else {
        report.skip("instructions", repeat, "valgrind is not installed");
    }
}

fn package_tests(folder: &str) -> Result {
    let manifest = format!("{folder}/Cargo.toml");
    Program::cargo().args(["test", "--quiet", "--locked", "--manifest-path", &manifest]).run()
}

/// Every program of the bench is a package of its own, which the harness builds: no library of a peer is a dependency of
/// the workspace.
fn beside_peers(arguments: &[String]) -> Result {
    venv::ready(VENV, REQUIREMENTS)?;
    harness(&root().join(VENV).join("bin/python"), "weftbench", arguments)
}

/// Counts the instructions of the hot paths and compares them with what is written down.
fn instructions(arguments: &[String]) -> Result {
    harness(Path::new("python3"), "weftbench.instructions", arguments)
}

fn harness(python: &Path, module: &str, arguments: &[String]) -> Result {
    Program::at(python).args(["-m", module]).args(arguments).env("PYTHONPATH", "bench").run()
}

/// Every `benches/*.rs` of every crate; the arguments filter and tune as the benchmark harness says.
fn micro(arguments: &[String]) -> Result {
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
