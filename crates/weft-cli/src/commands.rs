//! The commands: a file and a type for each, which carries its flags and their documentation.

pub(crate) mod admin;
pub(crate) mod bench;
pub(crate) mod bench_role;
pub(crate) mod check_config;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod dissect;
pub(crate) mod get;
pub(crate) mod info;
pub(crate) mod liveliness;
pub(crate) mod man;
pub(crate) mod ping;
pub(crate) mod pong;
pub(crate) mod publish;
pub(crate) mod put;
pub(crate) mod queryable;
mod quorum;
pub(crate) mod router;
pub(crate) mod scout;
pub(crate) mod storage;
pub(crate) mod subscribe;

use std::io::{self, Write as _};

use crate::failure::Failure;

/// Writes a document to standard output. It is no failure if nobody reads it to the end.
fn write_all(document: &[u8]) -> Result<(), Failure> {
    match io::stdout().write_all(document) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
