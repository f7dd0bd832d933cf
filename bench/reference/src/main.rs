//! The reference implementation behind the roles of the benchmark, used as its own examples use it.
//!
//! Not here: Weft; `weft bench-role` has the same roles, flags and output. The contract is in `bench/README.md`.

mod round_trip;
mod session;
mod throughput;

use bench_limits::{Arguments, Failure, Outcome, ready, run_role, wait_for_end_of_stdin};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Says nothing unless RUST_LOG asks: its log goes to standard output, like our one line.
    zenoh::try_init_log_from_env();
    run_role(|role, arguments| match role {
        "sub-thr" => throughput::subscribe(arguments),
        "pub-thr" => throughput::publish(arguments),
        "ping" => round_trip::ping(arguments),
        "pong" => round_trip::pong(arguments),
        "router" => router(arguments),
        _ => Err(Failure::Usage(format!("no role `{role}`"))),
    })
}

/// Forwards for others until standard input ends.
fn router(mut arguments: Arguments) -> Outcome {
    let config = session::config(&mut arguments, "router")?;
    arguments.finish()?;
    let session = session::open(config)?;
    ready();
    wait_for_end_of_stdin();
    drop(session);
    Ok(r#"{"role":"router"}"#.to_owned())
}
