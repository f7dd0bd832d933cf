//! `cargo xtask bench`: Weft beside its peers, the micro-benchmarks of the crates, the instructions of the hot paths, or
//! what every message writes.
//!
//! The first and the third are the Python package `bench/weftbench`, the last is `bench/shared-writes`; their manual is
//! `bench/README.md`.

use crate::command::{Program, Result, root};
use crate::report::Report;
use crate::venv;
use std::path::Path;
use std::process::ExitCode;

const VENV: &str = ".venv-bench";
const REQUIREMENTS: &str = "bench/requirements.txt";
const SHARED_WRITES: &str = "bench/shared-writes/Cargo.toml";
const NO_VALGRIND: &str = "valgrind is not installed";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let repeat = Program::cargo().args(["xtask", "bench"]).args(arguments).to_string();
    Report::single("bench", &repeat, || match arguments.split_first() {
        Some((first, rest)) if first == "--micro" => micro(rest),
        Some((first, rest)) if first == "--instructions" => instructions(rest),
        Some((first, rest)) if first == "--shared-writes" => shared_writes(rest),
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
    let has_valgrind = Program::at("valgrind").arg("--version").read().is_ok();
    let repeat = "cargo xtask bench --instructions";
    if has_valgrind {
        report.step("instructions", repeat, || instructions(&[]));
    } else {
        report.skip("instructions", repeat, NO_VALGRIND);
    }
    let repeat = "cargo xtask bench --shared-writes";
    if !has_valgrind {
        report.skip("shared writes", repeat, NO_VALGRIND);
    } else if std::thread::available_parallelism().is_ok_and(|count| count.get() == 1) {
        report.skip(
            "shared writes",
            repeat,
            "there is one processor, so a node has one reading thread",
        );
    } else {
        report.step("shared writes", repeat, || {
            let words = ["test", "--release", "--quiet", "--locked", "--manifest-path"];
            Program::cargo().args(words).arg(SHARED_WRITES).run()?;
            shared_writes(&[])
        });
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

/// Traces what messages of different links write both.
fn shared_writes(arguments: &[String]) -> Result {
    let words = ["run", "--release", "--quiet", "--locked", "--manifest-path", SHARED_WRITES, "--"];
    Program::cargo().args(words).args(arguments).run()
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
