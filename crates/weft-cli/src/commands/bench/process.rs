//! The processes of a measurement: each is this binary in a role, and gone, its session closed, when its value is dropped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::commands::bench_role;
use crate::ending::Ending;
use crate::failure::Failure;

/// How long a role may take to be ready.
const READY_MAX: Duration = Duration::from_secs(15);

/// How long a role may take to close its session, and how often one looks whether it has.
const CLOSING_MAX: Duration = Duration::from_secs(5);
const CLOSING_TICK: Duration = Duration::from_millis(2);

/// From one look at the end of the command to the next.
const TICK: Duration = Duration::from_millis(50);

/// A process in a role.
pub(super) struct RoleProcess {
    name: String,
    child: Child,
    events: Receiver<Event>,
    /// The last line on standard error that was not `ready`.
    said: String,
}

enum Event {
    Ready,
    Said(String),
    /// Standard output has ended; what was in it.
    Output(String),
}

impl RoleProcess {
    /// Starts one; `flags` are separated by spaces.
    pub(super) fn start(role: &str, flags: &str) -> Result<Self, Failure> {
        let name = format!("{} {role} {flags}", bench_role::NAME);
        let mut child = Command::new(std::env::current_exe()?)
            .args(name.split(' '))
            // Held open: its end, even by our own sudden death, ends the role.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::Run(format!("`{name}` did not start: {error}")))?;
        let (sender, events) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            let sender = sender.clone();
            std::thread::spawn(move || read_errors(stderr, &sender));
        }
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || read_output(stdout, &sender));
        }
        Ok(Self { name, child, events, said: String::new() })
    }

    /// Waits until others may start.
    pub(super) fn wait_ready(&mut self, ending: &Ending) -> Result<(), Failure> {
        match self.next(READY_MAX, ending, |event| matches!(event, Event::Ready))? {
            Event::Ready => Ok(()),
            _ => Err(self.failure("ended before it was ready")),
        }
    }

    /// Waits for the object that it prints at its end.
    pub(super) fn output(&mut self, time_max: Duration, ending: &Ending) -> Result<Value, Failure> {
        let text = match self.next(time_max, ending, |_| false)? {
            Event::Output(text) => text,
            Event::Ready | Event::Said(_) => String::new(),
        };
        if !self.child.wait()?.success() {
            return Err(self.failure("failed"));
        }
        serde_json::from_str(text.trim()).map_err(|_| self.failure("printed no JSON object"))
    }

    /// The next event that is `wanted` or the end of its output.
    fn next(
        &mut self,
        time_max: Duration,
        ending: &Ending,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Event, Failure> {
        let deadline = Instant::now() + time_max;
        loop {
            match self.events.recv_timeout(TICK) {
                Ok(event) if wanted(&event) => return Ok(event),
                Ok(output @ Event::Output(_)) => {
                    // What it says at last may come a little later.
                    while let Ok(Event::Said(line)) = self.events.recv_timeout(TICK) {
                        self.said = line;
                    }
                    return Ok(output);
                }
                Ok(Event::Said(line)) => self.said = line,
                Ok(Event::Ready) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.failure("is gone")),
                Err(RecvTimeoutError::Timeout) => {}
            }
            ending.check_signal()?;
            if Instant::now() > deadline {
                return Err(self.failure("took too long"));
            }
        }
    }

    fn failure(&self, what: &str) -> Failure {
        let said = if self.said.is_empty() { "" } else { ": " };
        Failure::Run(format!("`{}` {what}{said}{}", self.name, self.said))
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // The end of its standard input is its end.
        drop(self.child.stdin.take());
        let deadline = Instant::now() + CLOSING_MAX;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(CLOSING_TICK);
        }
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_errors(stderr: ChildStderr, sender: &Sender<Event>) {
    for line in BufReader::new(stderr).lines() {
        let Ok(line) = line else { break };
        let event = if line == "ready" { Event::Ready } else { Event::Said(line) };
        if sender.send(event).is_err() {
            break;
        }
    }
}

fn read_output(mut stdout: ChildStdout, sender: &Sender<Event>) {
    let mut text = String::new();
    // What is no text is no JSON either; both are noticed where it is parsed.
    let _ = stdout.read_to_string(&mut text);
    let _ = sender.send(Event::Output(text));
}
