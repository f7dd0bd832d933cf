//! Running `weft`, and reading what it prints.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take, on a machine that is very busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `weft`; killed when dropped.
pub(crate) struct Weft {
    name: String,
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

/// How a `weft` ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// Lines that nobody has taken before.
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
}

impl Ended {
    /// What was said on standard error but for where the session is and what the command does.
    pub(crate) fn complaints(&self) -> Vec<&String> {
        let is_complaint = |line: &&String| line.contains("error") || line.contains("warning");
        self.stderr.iter().filter(is_complaint).collect()
    }
}

impl Weft {
    /// Starts it with words that are separated by spaces; in a word, `+` stands for a space.
    pub(crate) fn start(line: &str) -> Self {
        Self::start_in(&[], line)
    }

    /// As [`Weft::start`], with these environment variables.
    pub(crate) fn start_in(variables: &[(&str, &str)], line: &str) -> Self {
        let words: Vec<String> =
            line.split_whitespace().map(|word| word.replace('+', " ")).collect();
        let mut child = Command::new(env!("CARGO_BIN_EXE_weft"))
            .args(&words)
            .env_remove("WEFT_CONFIG")
            .env_remove("ZENOH_CONFIG")
            .env_remove("RUST_LOG")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = Lines::of(child.stdout.take().unwrap());
        let stderr = Lines::of(child.stderr.take().unwrap());
        Self { name: line.to_owned(), child, stdout, stderr }
    }

    /// Runs it to its end.
    pub(crate) fn run(line: &str) -> Ended {
        Self::start(line).ended()
    }

    /// As [`Weft::run`], with `input` on its standard input.
    pub(crate) fn run_with(line: &str, input: &[u8]) -> Ended {
        let mut weft = Self::start(line);
        weft.write(input);
        weft.ended()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The rest of the first line on standard output that begins like this.
    pub(crate) fn wait_for(&self, beginning: &str) -> String {
        self.stdout.wait_for(beginning, &self.name)
    }

    /// The same on standard error.
    pub(crate) fn wait_for_error(&self, beginning: &str) -> String {
        self.stderr.wait_for(beginning, &self.name)
    }

    /// The next line on standard output, which must be a JSON object.
    pub(crate) fn wait_for_json(&self) -> Value {
        let line = self.stdout.wait_for("", &self.name);
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{}: {line}: {error}", self.name))
    }

    /// The JSON object that it ends with, while its standard input is open.
    pub(crate) fn result(self) -> Value {
        let result = self.wait_for_json();
        assert_eq!(self.ended().json(), [Value::Null; 0]);
        result
    }

    /// Nobody reads its standard output any more.
    pub(crate) fn close_stdout(&mut self) {
        self.stdout = Lines::of(std::io::empty());
    }

    /// Ctrl-C; the way it ended.
    pub(crate) fn interrupt(self) -> Ended {
        // The shell's own `kill`: the command of that name is not on every machine.
        let kill = format!("kill -INT {}", self.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        self.ended()
    }

    /// Closes its standard input and waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        drop(self.child.stdin.take());
        let (stdout, stderr) = (self.stdout.rest(&self.name), self.stderr.rest(&self.name));
        Ended { code: self.status().code(), stdout, stderr }
    }

    fn status(&mut self) -> ExitStatus {
        // Both pipes are closed: the process is ending.
        self.child.wait().unwrap()
    }
}

impl Drop for Weft {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Its standard output, where it ended well.
    pub(crate) fn ok(self) -> Vec<String> {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The same, every line a JSON object.
    pub(crate) fn json(self) -> Vec<Value> {
        let parse = |line: &String| -> Value { serde_json::from_str(line).expect(line) };
        let all: Vec<Value> = self.ok().iter().map(parse).collect();
        assert!(all.iter().all(Value::is_object), "{all:?}");
        all
    }
}

/// The lines of a pipe, as they come.
struct Lines(Receiver<String>);

impl Lines {
    /// Reads on a thread of its own, which ends when nobody takes lines any more.
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    fn wait_for(&self, beginning: &str, name: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut others = Vec::new();
        loop {
            match self.0.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => match line.strip_prefix(beginning) {
                    Some(rest) => return rest.to_owned(),
                    None => others.push(line),
                },
                Err(why) => panic!("`weft {name}`: no line `{beginning}…` ({why}), but {others:?}"),
            }
        }
    }

    fn rest(&self, name: &str) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut rest = Vec::new();
        loop {
            match self.0.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("`weft {name}` does not end; {rest:?}"),
            }
        }
    }
}

/// A router on the loopback interface, and what a client of it says on its command line.
pub(crate) fn router() -> (Weft, String) {
    let router = Weft::start("router -l tcp/127.0.0.1:0 --no-multicast-scouting");
    let locator = router.wait_for("listening on ");
    let client = format!("-m client -e {locator}");
    (router, client)
}

/// Runs `line`, again and again, until its output satisfies.
pub(crate) fn run_until(line: &str, satisfies: impl Fn(&[String]) -> bool) -> Vec<String> {
    let succeeded = |ended: &Ended| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        satisfies(&ended.stdout)
    };
    run_until_ended(line, succeeded).stdout
}

/// Runs `line`, again and again, until its end satisfies.
pub(crate) fn run_until_ended(line: &str, satisfies: impl Fn(&Ended) -> bool) -> Ended {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ended = Weft::run(line);
        if satisfies(&ended) {
            return ended;
        }
        assert!(Instant::now() < deadline, "`weft {line}`: {ended:?}");
    }
}
