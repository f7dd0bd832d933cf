//! Logs on standard error, if the program asks for them.

use std::io::IsTerminal;

use pyo3::prelude::*;
use tracing_subscriber::EnvFilter;

use crate::error::refuse;

/// Logs to standard error what the environment variable `RUST_LOG` says, if it is set: `info`, or
/// `weft_runtime=debug,warn`. Further calls do nothing.
#[pyfunction]
pub(crate) fn try_init_log_from_env() -> PyResult<()> {
    match std::env::var("RUST_LOG") {
        Ok(filter) => init(&filter),
        Err(_) => Ok(()),
    }
}

/// As `try_init_log_from_env`, with `level` where the variable is not set.
#[pyfunction]
pub(crate) fn init_log_from_env_or(level: &str) -> PyResult<()> {
    init(&std::env::var("RUST_LOG").unwrap_or_else(|_| level.to_owned()))
}

fn init(filter: &str) -> PyResult<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| refuse("argument", &format!("invalid log filter `{filter}`: {error}")))?;
    // The first one stays.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
    Ok(())
}
