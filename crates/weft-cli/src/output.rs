//! Where results go, and what is said to people.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::ending::{Ending, Reason};
use crate::failure::Failure;
use crate::logging;

/// The output of a command; clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    is_json: bool,
    ending: Ending,
    /// Why results could not be written, though somebody reads them.
    error: Arc<OnceLock<io::Error>>,
}

impl Output {
    /// Results for scripts, or for people. If nobody reads them, that is the end of the command.
    pub(crate) fn new(is_json: bool, ending: Ending) -> Self {
        Self { is_json, ending, error: Arc::default() }
    }

    /// Whether results are for scripts.
    pub(crate) const fn is_json(&self) -> bool {
        self.is_json
    }

    /// Writes one result, as a line of text or as a JSON object.
    pub(crate) fn result(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) {
        if self.is_json {
            self.write(format_args!("{}", json()));
        } else {
            self.write(format_args!("{}", text()));
        }
    }

    /// Writes what belongs to the results for people, and is nothing for scripts.
    pub(crate) fn heading(&self, text: impl fmt::Display) {
        if !self.is_json {
            self.write(format_args!("{text}"));
        }
    }

    /// An error if results are to be JSON, for a command that writes a document.
    pub(crate) fn refuse_json(&self) -> Result<(), Failure> {
        let text = "this command writes a document, which has no JSON; leave out --json";
        if self.is_json { Err(Failure::Usage(text.to_owned())) } else { Ok(()) }
    }

    /// An error if results were lost.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.error.get() {
            Some(error) => Err(Failure::Run(format!("cannot write to standard output: {error}"))),
            None => Ok(()),
        }
    }

    fn write(&self, line: fmt::Arguments<'_>) {
        // Standard output is flushed at every line break.
        if let Err(error) = writeln!(io::stdout(), "{line}") {
            if error.kind() != io::ErrorKind::BrokenPipe {
                // The first one is what is told.
                let _ = self.error.set(error);
            }
            self.ending.end(Reason::OutputClosed);
        }
    }
}

/// Says something on standard error, if anybody listens there.
pub(crate) fn say(text: &dyn fmt::Display) {
    let _ = match logging::as_json(text) {
        Some(line) => writeln!(io::stderr(), "{line}"),
        None => writeln!(io::stderr(), "{text}"),
    };
}
