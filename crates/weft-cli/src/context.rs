//! What every command gets.

use weft::{Config, Session};

use crate::ending::{Ending, Limits};
use crate::failure::Failure;
use crate::output::{Output, say};
use crate::session::{DefaultMode, SessionArgs};

/// What every command gets: where its results go, and when it ends.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) ending: Ending,
}

impl Context {
    /// The context of a process.
    pub(crate) fn new(is_json: bool) -> Self {
        let ending = Ending::new();
        Self { output: Output::new(is_json, ending.clone()), ending }
    }

    /// Opens the session of a command that goes on until something ends it, and says where it can be reached.
    ///
    /// # Errors
    /// If the configuration is wrong, or the session does not open.
    pub(crate) fn open(&self, args: &SessionArgs, limits: Limits) -> Result<Session, Failure> {
        let session = self.open_with(args.config(DefaultMode::Peer)?)?;
        let locators: Vec<String> =
            session.info().locators().iter().map(ToString::to_string).collect();
        let listens = if locators.is_empty() { "" } else { " listens on " };
        say(&format_args!("session {}{listens}{}", session.zid(), locators.join(", ")));
        self.ending.limit(limits);
        Ok(session)
    }

    /// Opens the session of a command that is soon over.
    ///
    /// # Errors
    /// As [`Context::open`].
    pub(crate) fn open_for_once(&self, args: &SessionArgs) -> Result<Session, Failure> {
        self.open_with(args.config(DefaultMode::ClientIfConnecting)?)
    }

    /// Opens a session. Until then a signal ends the process, afterwards the command.
    ///
    /// # Errors
    /// If values contradict each other, or the session does not open.
    pub(crate) fn open_with(&self, config: Config) -> Result<Session, Failure> {
        self.ending.on_signals()?;
        let session = weft::open(config).wait()?;
        self.ending.close_in_order();
        Ok(session)
    }
}
