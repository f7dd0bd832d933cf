//! `cargo xtask interop`: Weft against Eclipse Zenoh on the loopback interface, by pytest.
//!
//! The Python packages live in `.venv` at the repository's root and nowhere else.

use crate::command::{Program, Result, root, target_dir};
use crate::report::Report;
use std::fs;
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
    let ready = report.step("python packages", &repeat, environment);
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

/// Creates `.venv`, or takes the one there is if it was made from the same requirements and still runs.
fn environment() -> Result {
    let venv = root().join(".venv");
    let stamp = venv.join("requirements.txt");
    let python = venv.join("bin/python");
    let wanted = fs::read_to_string(root().join(REQUIREMENTS))
        .map_err(|error| format!("{REQUIREMENTS}: {error}"))?;
    let runs = || Program::at(&python).arg("--version").read().is_ok();
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) && runs() {
        eprintln!(".venv matches {REQUIREMENTS}");
        return Ok(());
    }
    Program::at("python3")
        .args(["-m", "venv", "--clear", ".venv"])
        .run()
        .map_err(|error| format!("{error}; the module venv is Debian's package python3-venv"))?;
    Program::at(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
            REQUIREMENTS,
        ])
        .run()?;
    // Written last: an interrupted installation is made anew.
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}

fn pytest(arguments: &[String]) -> Result {
    Program::at(root().join(".venv/bin/python"))
        .args(["-m", "pytest", "tests/interop"])
        .args(arguments)
        .env("WEFT_BIN_DIR", target_dir().join("release").to_string_lossy())
        .run()
}
