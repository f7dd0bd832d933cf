//! What the programs of the comparison share: flags, the `ready` line, and how a rate and a round trip are measured.
//!
//! Not here: any protocol. The roles of bare TCP are in the binary `limits`, those of the reference implementation in
//! `bench/reference`. The contract of a role is in `bench/README.md`.
#![warn(unreachable_pub)]

mod arguments;
mod round_trips;
mod window;

pub use arguments::Arguments;
pub use round_trips::RoundTrips;
pub use window::{Rate, Window};

use std::error::Error;
use std::fmt;
use std::io::Read as _;
use std::process::ExitCode;

/// How a role ends: with the one line of JSON that it prints.
pub type Outcome = Result<String, Failure>;

/// Why a role has nothing to print.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The command line is wrong; the process ends with 2.
    Usage(String),
    /// The run went wrong; the process ends with 1.
    Run(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(text) | Self::Run(text)) = self;
        f.write_str(text)
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Run(error.into().to_string())
    }
}

/// Runs one role of a program and turns its outcome into output and exit status.
pub fn run_role(role: impl FnOnce(&str, Arguments) -> Outcome) -> ExitCode {
    let outcome = Arguments::of_process().and_then(|(name, arguments)| role(&name, arguments));
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(if matches!(failure, Failure::Usage(_)) { 2 } else { 1 })
        }
    }
}

/// Tells whoever started this process that the other side may start: the socket listens, everything is declared.
pub fn ready() {
    eprintln!("ready");
}

/// Blocks until standard input ends, so that a role never outlives whoever started it.
pub fn wait_for_end_of_stdin() {
    let mut bytes = std::io::stdin().lock();
    let mut buffer = [0; 64];
    while bytes.read(&mut buffer).is_ok_and(|len| len > 0) {}
}
