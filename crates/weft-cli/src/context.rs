//! What every command gets.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use weft::{Config, Session};

use crate::ending::{Ending, Limits};
use crate::failure::Failure;
use crate::output::{Output, say};
use crate::session::{DefaultMode, SessionArgs};

/// What a session may take to open, whatever ends the command: so much that one which is about to open is not left
/// half open, and so little that nobody who wants to go has to wait.
const OPENING_MIN: Duration = Duration::from_secs(1);

/// From one look at the end of the command to the next while a session opens.
const TICK: Duration = Duration::from_millis(20);

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
    /// If the configuration is wrong, or the session does not open in time.
    pub(crate) fn open(&self, args: &SessionArgs, limits: Limits) -> Result<Session, Failure> {
        let session = self.open_with(args.config(DefaultMode::Peer)?, limits)?;
        let locators: Vec<String> =
            session.info().locators().iter().map(ToString::to_string).collect();
        let listens = if locators.is_empty() { "" } else { " listens on " };
        say(&format_args!("session {}{listens}{}", session.zid(), locators.join(", ")));
        Ok(session)
    }

    /// Opens the session of a command that is soon over.
    ///
    /// # Errors
    /// As [`Context::open`].
    pub(crate) fn open_for_once(
        &self,
        args: &SessionArgs,
        limits: Limits,
    ) -> Result<Session, Failure> {
        self.open_with(args.config(DefaultMode::ClientIfConnecting)?, limits)
    }

    /// Opens a session. The time of `limits` counts from here, and from here on a signal ends the command in order.
    ///
    /// # Errors
    /// If values contradict each other, or the session does not open, or not before the end of the command.
    pub(crate) fn open_with(&self, config: Config, limits: Limits) -> Result<Session, Failure> {
        self.ending.on_signals()?;
        self.ending.limit(limits);
        let begin = Instant::now();
        // Opening cannot be interrupted. If it is given up, the end of the process is its end.
        let (opened, outcomes) = mpsc::channel();
        let open = move || opened.send(weft::open(config).wait());
        std::thread::Builder::new().name("open".into()).spawn(open)?;
        loop {
            match outcomes.recv_timeout(TICK) {
                Ok(outcome) => return self.opened(outcome?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(why @ RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Run(format!("the session did not open: {why}")));
                }
            }
            if begin.elapsed() >= OPENING_MIN && self.ending.is_here() {
                self.ending.check_signal()?;
                let seconds = begin.elapsed().as_secs_f64();
                return Err(Failure::Run(format!("no session within {seconds:.1} s")));
            }
        }
    }

    /// The session, unless a signal came while it was being opened.
    fn opened(&self, session: Session) -> Result<Session, Failure> {
        let outcome = self.ending.check_signal();
        if outcome.is_err() {
            session.close().wait();
        }
        outcome.map(|()| session)
    }
}
