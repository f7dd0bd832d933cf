//! `cargo xtask doc`: the API documentation, where a broken link is an error.

use crate::command::{Program, Result};
use crate::report::Report;
use std::process::ExitCode;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    Report::single("doc", "cargo xtask doc", || build(arguments))
}

/// Builds the documentation of the libraries. The binary `weft` would overwrite the pages of the library of that name.
pub(crate) fn build(arguments: &[String]) -> Result {
    Program::cargo()
        .args(["doc", "--workspace", "--no-deps", "--lib"])
        .args(arguments)
        // A module may point its reader to a private neighbour: in the public pages that is text, not a link.
        .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")
        .run()
}
