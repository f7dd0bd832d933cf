//! `cargo xtask check`: what a change must pass before anybody reads it.

use crate::command::Program;
use crate::report::Report;
use crate::{refuse, tidy};
use std::process::ExitCode;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if let Some(argument) = arguments.first() {
        return refuse("check", &format!("unexpected argument `{argument}`"));
    }
    let mut report = Report::new("check");
    steps(&mut report);
    report.finish()
}

/// The steps of the verb, which `cargo xtask test` starts with.
pub(crate) fn steps(report: &mut Report) {
    report.step("tidy", "cargo xtask tidy", tidy::check);
    report.step("fmt", "cargo fmt --all", || {
        Program::cargo().args(["fmt", "--all", "--check"]).run()?;
        // The fuzz shell is not a member of the workspace.
        Program::cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]).run()
    });
    let clippy =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    report.step("clippy", &Program::cargo().args(clippy).to_string(), || {
        Program::cargo().args(clippy).run()
    });
    // The licence and advisory check is a tool of its own, which a newcomer does not need to have.
    if Program::cargo().args(["deny", "--version"]).read().is_ok() {
        report.step("deny", "cargo deny check", || Program::cargo().args(["deny", "check"]).run());
    } else {
        report.skip("deny", "cargo deny check", "cargo-deny is not installed");
    }
}
