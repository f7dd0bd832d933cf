//! `cargo xtask interop`: Weft against Eclipse Zenoh on the loopback interface, by pytest.
//!
//! The Python packages live in `.venv` at the repository's root.

use crate::command::{Program, Result, root, target_dir};
use crate::report::Report;
use crate::venv;
use std::process::ExitCode;

const REQUIREMENTS: &str = "tests/interop/requirements.txt";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut report = Report::new("interop");
    steps(&mut report, arguments);
    report.finish()
}

/// The steps of the verb. `arguments` go to pytest.
pub(crate) fn steps(report: &mut Report, arguments: &[String]) {
    let repeat = Program::cargo().args(["xtask", "interop"]).args(arguments).to_string();
    let ready = report.step("python packages", &repeat, || venv::ready(".venv", REQUIREMENTS));
    let build = ["build", "--release", "--package", "weft-cli", "--package", "weft-driver"];
    let built = report.step("release build", &Program::cargo().args(build).to_string(), || {
        // The command and the driver that the tests steer.
        Program::cargo().args(build).run()
    });
    if ready && built {
        report.step("interop", &repeat, || pytest(arguments));
    } else {
        report.skip("interop", &repeat, "a step before it failed");
    }
}

fn pytest(arguments: &[String]) -> Result {
    Program::at(root().join(".venv/bin/python"))
        .args(["-m", "pytest", "tests/interop"])
        .args(arguments)
        .env("WEFT_BIN_DIR", target_dir().join("release").to_string_lossy())
        .run()
}
