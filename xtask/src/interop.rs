//! `cargo xtask interop`: Weft against Eclipse Zenoh on the loopback interface, by pytest; `interop swarm`: random networks
//! of both with nodes that fail; `interop weaknesses`: what the reference does wrong, and what Weft does there.
//!
//! The Python packages live in `.venv` at the repository's root.

use crate::command::{Program, Result, root, target_dir};
use crate::report::Report;
use crate::venv;
use std::process::ExitCode;

const REQUIREMENTS: &str = "tests/interop/requirements.txt";
/// Modules of `tests/interop` that are run by their name instead of pytest.
const PROGRAMS: &[&str] = &["swarm", "weaknesses"];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut report = Report::new("interop");
    steps(&mut report, arguments);
    report.finish()
}

/// The steps of the verb. `arguments` go to pytest, or to the program that the first one names.
pub(crate) fn steps(report: &mut Report, arguments: &[String]) {
    let repeat = Program::cargo().args(["xtask", "interop"]).args(arguments).to_string();
    let ready = report.step("python packages", &repeat, || venv::ready(".venv", REQUIREMENTS));
    let build = ["build", "--release", "--package", "weft-cli", "--package", "weft-driver"];
    let built = report.step("release build", &Program::cargo().args(build).to_string(), || {
        // The command and the driver that the tests steer.
        Program::cargo().args(build).run()
    });
    if ready && built {
        report.step("interop", &repeat, || tests(arguments));
    } else {
        report.skip("interop", &repeat, "a step before it failed");
    }
}

fn tests(arguments: &[String]) -> Result {
    let python = Program::at(root().join(".venv/bin/python"))
        .env("WEFT_BIN_DIR", target_dir().join("release").to_string_lossy());
    let Some(program) = arguments.first().filter(|name| PROGRAMS.contains(&name.as_str())) else {
        return python.args(["-m", "pytest", "tests/interop"]).args(arguments).run();
    };
    let python = python.env("PYTHONPATH", root().join("tests/interop").to_string_lossy());
    python.args(["-m", program]).args(&arguments[1..]).run()
}
