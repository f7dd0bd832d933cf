//! The `weft` command: a router, the everyday tools, a demonstration and a quick benchmark.
//!
//! Not here: anything that an application could not do itself; all of it but `dissect` is built on the crate
//! `weft`.
//!
//! Invariants of every command:
//! - Standard output has results only; with `--json` that is one JSON object a line. What a command says about itself goes
//!   to standard error.
//! - It ends with 0; with 1 and a line on standard error if something went wrong; with 2 and a line if the command line or
//!   the configuration is wrong; with 128 + the signal's number if a signal ends what was not finished.

#![forbid(unsafe_code)]

mod arguments;
mod cli;
mod commands;
mod context;
mod ending;
mod failure;
mod flood;
mod logging;
mod measure;
mod output;
mod rally;
mod render;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
