//! The roles of the benchmark, written once: flags, the `ready` line, and how a rate and a round trip are measured.
//!
//! Not here: any protocol. A program implements [`Network`] and hands its command line to [`play`]. The contract of a role
//! is in `bench/README.md`.
#![warn(unreachable_pub)]

mod arguments;
mod network;
mod pace;
mod place;
mod queries;
mod round_trip;
mod round_trips;
mod sessions;
mod throughput;
mod window;

pub use arguments::Arguments;
pub use network::{Message, Network, Publish};
pub use pace::Pace;
pub use place::{How, Mode, Place, Priority};
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

/// Plays the role that the command line names, over `N`.
pub fn play<N: Network>() -> ExitCode {
    run_role(|role, arguments| match role {
        "sub-thr" => throughput::subscribe::<N>(arguments),
        "sub-first" => throughput::subscribe_first::<N>(arguments),
        "pub-thr" => throughput::publish::<N>(arguments),
        "ping" => round_trip::ping::<N>(arguments),
        "pong" => round_trip::pong::<N>(arguments),
        "queryable" => queries::answer::<N>(arguments),
        "get" => queries::ask::<N>(arguments),
        "declare" => sessions::declare::<N>(arguments),
        "sessions" => sessions::open::<N>(arguments),
        "exchange" => sessions::exchange::<N>(arguments),
        "router" => sessions::route::<N>(arguments),
        _ => Err(no_role(role)),
    })
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

/// The failure of a program that has no such role.
pub fn no_role(role: &str) -> Failure {
    Failure::Usage(format!("no role `{role}`"))
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

/// Ends the process, with 0, when standard input ends: for roles that are not done by then, whose figures nobody wants.
fn end_with_stdin() {
    std::thread::spawn(|| {
        wait_for_end_of_stdin();
        std::process::exit(0);
    });
}
