//! `cargo xtask sim`: the network simulator, in release mode. Its arguments are its own.

use crate::command::Program;
use crate::report::Report;
use std::process::ExitCode;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let repeat = Program::cargo().args(["xtask", "sim"]).args(arguments).to_string();
    Report::single("sim", &repeat, || {
        Program::cargo()
            .args(["run", "--quiet", "--package", "weft-sim", "--release", "--"])
            .args(arguments)
            .run()
    })
}
