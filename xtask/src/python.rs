//! `cargo xtask python`: the Python module: its wheel, its tests, its types.

use crate::command::{Program, Result, root, target_dir};
use crate::report::Report;
use crate::venv;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

const VENV: &str = ".venv-python";
const REQUIREMENTS: &str = "bindings/python/requirements-test.txt";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut report = Report::new("python");
    steps(&mut report, arguments);
    report.finish()
}

/// The steps of the verb. `arguments` go to pytest.
pub(crate) fn steps(report: &mut Report, arguments: &[String]) {
    let repeat = Program::cargo().args(["xtask", "python"]).args(arguments).to_string();
    let ready = report.step("python packages", &repeat, || venv::ready(VENV, REQUIREMENTS))
        && report.step("wheel", &repeat, wheel);
    if !ready {
        return report.skip("python", &repeat, "a step before it failed");
    }
    report.step("python", &repeat, || {
        let tests =
            ["-m", "pytest", "-c", "bindings/python/pyproject.toml", "bindings/python/tests"];
        python().args(tests).args(arguments).run()
    });
    report.step("python types", &repeat, types);
}

fn python() -> Program {
    Program::at(root().join(VENV).join("bin/python"))
}

/// Builds the wheel, in the profile of the other tests, and installs it.
fn wheel() -> Result {
    let out = target_dir().join("wheels");
    // What was built before has the same version.
    let _ = fs::remove_dir_all(&out);
    Program::at(root().join(VENV).join("bin/maturin"))
        .args(["build", "--profile", "dev", "--manifest-path", "bindings/python/Cargo.toml"])
        .arg("--interpreter")
        .path(&root().join(VENV).join("bin/python"))
        .arg("--out")
        .path(&out)
        .run()?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    python().args(install).args(["--no-deps", "--force-reinstall"]).path(&built(&out)?).run()
}

fn built(out: &PathBuf) -> Result<PathBuf> {
    let folder = fs::read_dir(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut wheels = folder.filter_map(|entry| Some(entry.ok()?.path()));
    wheels
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("{} has no wheel", out.display()))
}

/// The stubs have the texts of the module, agree with it, and are used right.
fn types() -> Result {
    let config = ["--config-file", "bindings/python/pyproject.toml"];
    python().args(["bindings/python/tools/stub_docs.py", "--check"]).run()?;
    python().args(["-m", "mypy"]).args(config).args(["--package", "weft"]).run()?;
    python()
        .args(["-m", "mypy.stubtest", "--mypy-config-file"])
        .args([config[1], "weft", "--allowlist", "bindings/python/stubtest-allowlist.txt"])
        .run()
}
