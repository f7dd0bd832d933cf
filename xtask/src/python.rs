//! `cargo xtask python`: the Python module: its wheel, its tests, its types.

use crate::command::{Program, Result, root, target_dir};
use crate::report::Report;
use crate::venv;
use std::env;
use std::fs;
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

const VENV: &str = ".venv-python";
const REQUIREMENTS: &str = "bindings/python/requirements-test.txt";

/// For the wheel of the stable ABI: the versions that it is tested with if one of them is there, the first found.
const OTHER_VERSIONS: &[&str] = &["3.9", "3.10", "3.13", "3.12"];
const OTHER_VENV: &str = ".venv-abi3";
const OTHER_REQUIREMENTS: &str = "bindings/python/requirements-abi3.txt";
/// What another version and the other kind of build may break: buffers, classes, calls, signatures. Seconds.
const OTHER_TESTS: &[&str] = &["zbytes", "values", "surface", "session", "handlers", "ext"];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut report = Report::new("python");
    steps(&mut report, arguments);
    report.finish()
}

/// The steps of the verb. `arguments` go to pytest; who gives some wants the tests of the wheel for one version only.
pub(crate) fn steps(report: &mut Report, arguments: &[String]) {
    let repeat = Program::cargo().args(["xtask", "python"]).args(arguments).to_string();
    let ready = report.step("python packages", &repeat, || venv::ready(VENV, REQUIREMENTS))
        && report.step("wheel", &repeat, || wheel(VENV, &[]));
    if !ready {
        return report.skip("python", &repeat, "a step before it failed");
    }
    report
        .step("python", &repeat, || tests(VENV).arg("bindings/python/tests").args(arguments).run());
    report.step("python types", &repeat, types);
    if arguments.is_empty() {
        other_version(report, &repeat);
    }
}

/// The wheel of the stable ABI, with an interpreter of another version than it was built with.
fn other_version(report: &mut Report, repeat: &str) {
    let Some(interpreter) = OTHER_VERSIONS.iter().find_map(|version| find(version)) else {
        let versions = OTHER_VERSIONS.join(", ");
        let why = format!("no CPython {versions} in PATH or pyenv");
        return report.skip("python abi3", repeat, &why);
    };
    report.step("python abi3", repeat, || {
        venv::ready_for(&interpreter, OTHER_VENV, OTHER_REQUIREMENTS)?;
        wheel(OTHER_VENV, &["--features", "abi3"])?;
        let files = OTHER_TESTS.iter().map(|name| format!("bindings/python/tests/test_{name}.py"));
        tests(OTHER_VENV).args(files).run()
    });
}

/// An interpreter of this version from `PATH`, or else one of pyenv's.
fn find(version: &str) -> Option<PathBuf> {
    let pyenv = env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pyenv")));
    let installed = pyenv.and_then(|it| fs::read_dir(it.join("versions")).ok());
    let patches = installed.into_iter().flatten().flatten().filter(|entry| {
        entry.file_name().to_string_lossy().rsplit_once('.').is_some_and(|(it, _)| it == version)
    });
    let in_path = PathBuf::from(format!("python{version}"));
    let mut found = iter::once(in_path).chain(patches.map(|it| it.path().join("bin/python")));
    // pyenv has a program of this name in `PATH` that only starts where it is told to.
    found.find(|it| Program::at(it).args(["-c", "import venv, ensurepip"]).read().is_ok())
}

fn python_in(venv: &str) -> Program {
    Program::at(root().join(venv).join("bin/python"))
}

fn python() -> Program {
    python_in(VENV)
}

fn tests(venv: &str) -> Program {
    python_in(venv).args(["-m", "pytest", "-c", "bindings/python/pyproject.toml"])
}

/// Builds the wheel, in the profile of the other tests, and installs it in `venv`.
fn wheel(venv: &str, options: &[&str]) -> Result {
    let out = target_dir().join("wheels");
    // What was built before has the same version.
    let _ = fs::remove_dir_all(&out);
    Program::at(root().join(VENV).join("bin/maturin"))
        .args(["build", "--profile", "dev", "--manifest-path", "bindings/python/Cargo.toml"])
        .args(options)
        .arg("--interpreter")
        .path(&root().join(VENV).join("bin/python"))
        .arg("--out")
        .path(&out)
        .run()?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    python_in(venv).args(install).args(["--no-deps", "--force-reinstall"]).path(&built(&out)?).run()
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
