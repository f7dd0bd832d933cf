//! `cargo xtask test`: everything that must hold, in the order in which it is cheap to learn that it does not.

use crate::command::{Program, reserve_stdout};
use crate::report::Report;
use crate::{bench, check, doc, fuzz, interop, python, refuse};
use std::process::ExitCode;

/// How long each fuzz target runs in CI. On two cores, two targets run side by side.
const FUZZ_SECONDS: u64 = 60;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let (json, fuzz_seconds) = match parse(arguments) {
        Ok(options) => options,
        Err(problem) => return refuse("test", &problem),
    };
    if json {
        reserve_stdout();
    }
    let mut report = Report::new("test");
    check::steps(&mut report);
    report.step("doc", "cargo xtask doc", || doc::build(&[]));
    // Unit, vector, property, simulation and black-box tests, and every example of the documentation.
    let tests = ["test", "--workspace", "--no-fail-fast"];
    report.step("cargo test", &Program::cargo().args(tests).to_string(), || {
        Program::cargo().args(tests).run()
    });
    let repeat = format!("cargo xtask fuzz --seconds {fuzz_seconds}");
    report.step("fuzz", &repeat, || fuzz::campaign(&[], fuzz_seconds));
    python::steps(&mut report, &[]);
    interop::steps(&mut report, &[]);
    bench::steps(&mut report);
    let code = report.finish();
    if json {
        println!("{}", report.json());
    }
    code
}

fn parse(arguments: &[String]) -> Result<(bool, u64), String> {
    let (mut json, mut fuzz_seconds) = (false, FUZZ_SECONDS);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--fuzz-seconds" => fuzz_seconds = fuzz::seconds(rest.next())?,
            other => return Err(format!("unexpected argument `{other}`")),
        }
    }
    Ok((json, fuzz_seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<(bool, u64), String> {
        parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_defaults_and_typos_are_refused() {
        assert_eq!(parsed(&[]), Ok((false, 60)));
        assert_eq!(parsed(&["--fuzz-seconds", "5", "--json"]), Ok((true, 5)));
        assert!(parsed(&["--jsno"]).is_err());
        assert!(parsed(&["--fuzz-seconds"]).is_err());
    }
}
