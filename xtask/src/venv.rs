//! Folders of Python packages for the verbs that run Python.

use crate::command::{Program, Result, root};
use std::fs;
use std::path::Path;

/// Creates the folder `name` at the repository's root for the `python3` in `PATH`, or takes the one there is if it was made
/// from the same `requirements` and still runs.
///
/// # Errors
/// If the requirements cannot be read or installed.
pub(crate) fn ready(name: &str, requirements: &str) -> Result {
    ready_for(Path::new("python3"), name, requirements)
}

/// The same for another `interpreter`.
///
/// # Errors
/// As [`ready`].
pub(crate) fn ready_for(interpreter: &Path, name: &str, requirements: &str) -> Result {
    let venv = root().join(name);
    let stamp = venv.join("requirements.txt");
    let python = venv.join("bin/python");
    let packages = fs::read_to_string(root().join(requirements))
        .map_err(|error| format!("{requirements}: {error}"))?;
    let wanted = format!("# {}\n{packages}", interpreter.display());
    let runs = || Program::at(&python).arg("--version").read().is_ok();
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) && runs() {
        eprintln!("{name} matches {requirements}");
        return Ok(());
    }
    Program::at(interpreter)
        .args(["-m", "venv", "--clear", name])
        .run()
        .map_err(|error| format!("{error}; the module venv is Debian's package python3-venv"))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    Program::at(&python).args(install).args(["--requirement", requirements]).run()?;
    // Written last: an interrupted installation is made anew.
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}
