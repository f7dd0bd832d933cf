//! Starts programs in the repository's root and says what it starts.

use std::env;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a step ends with; the error is one sentence for the person at the terminal.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`, so a moved checkout with an old build still finds itself.
    let xtask =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().expect("xtask is a folder of the repository").to_path_buf()
}

/// Cargo's target folder, as set by whoever runs the verb: this program was built in it.
///
/// # Panics
/// When the program was copied out of a target folder.
pub(crate) fn target_dir() -> PathBuf {
    let program = env::current_exe().expect("a running program has a path");
    program.ancestors().nth(2).expect("cargo builds into TARGET/PROFILE/").to_path_buf()
}

static STDOUT_IS_RESERVED: AtomicBool = AtomicBool::new(false);

/// From here on, what programs write to their standard output goes to our standard error: ours is for a summary that
/// a machine reads.
pub(crate) fn reserve_stdout() {
    STDOUT_IS_RESERVED.store(true, Ordering::Relaxed);
}

/// A program to run in the repository's root.
pub(crate) struct Program {
    command: Command,
    /// The words of the command line as a person would type them in the root.
    shown: Vec<String>,
}

impl Program {
    /// `program`, which prints as `shown` in messages.
    fn new(program: &Path, shown: &str) -> Self {
        let mut command = Command::new(program);
        command.current_dir(root());
        Self { command, shown: vec![shown.to_owned()] }
    }

    /// The cargo that runs this verb.
    pub(crate) fn cargo() -> Self {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::new(Path::new(&cargo), "cargo")
    }

    /// A program from `PATH`, or a path. Paths inside the repository print relative to its root.
    pub(crate) fn at(program: impl AsRef<Path>) -> Self {
        let program = program.as_ref();
        Self::new(program, &relative(program))
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<str>) -> Self {
        let argument = argument.as_ref();
        self.command.arg(argument);
        let plain =
            |character: char| character.is_alphanumeric() || "-_./=:,@%+".contains(character);
        let plain = !argument.is_empty() && argument.chars().all(plain);
        self.shown.push(if plain { argument.to_owned() } else { format!("'{argument}'") });
        self
    }

    pub(crate) fn args<S: AsRef<str>>(self, arguments: impl IntoIterator<Item = S>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// An argument that is a path: it prints relative to the root, so that the line can be pasted there.
    pub(crate) fn path(mut self, path: &Path) -> Self {
        self.command.arg(path);
        self.shown.push(relative(path));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.command.env(name, value.as_ref());
        self
    }

    /// Runs it to its end with our terminal.
    ///
    /// # Errors
    /// When it does not start, or ends with another status than 0.
    pub(crate) fn run(mut self) -> Result {
        eprintln!("$ {self}");
        if STDOUT_IS_RESERVED.load(Ordering::Relaxed) {
            self.command.stdout(Stdio::from(io::stderr()));
        }
        match self.command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{self}` ended with {status}")),
            Err(error) => Err(format!("`{self}` did not start: {error}")),
        }
    }

    /// Runs it without a word and returns its standard output.
    ///
    /// # Errors
    /// As [`Program::run`]; what it wrote to standard error is lost.
    pub(crate) fn read(mut self) -> Result<String> {
        let output = self
            .command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`{self}` did not start: {error}"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("`{self}` ended with {}", output.status))
        }
    }

    /// Runs it to its end, with what it prints in the file `log`, and returns how it ended.
    ///
    /// # Errors
    /// When it does not start, or the file cannot be written.
    pub(crate) fn run_into(mut self, log: &Path) -> Result<ExitStatus> {
        eprintln!("$ {self}");
        let say = |error: io::Error| format!("{}: {error}", log.display());
        let output = File::create(log).map_err(say)?;
        let errors = output.try_clone().map_err(say)?;
        self.command.stdin(Stdio::null()).stdout(output).stderr(errors);
        self.command.status().map_err(|error| format!("`{self}` did not start: {error}"))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown.join(" "))
    }
}

/// `path` as seen from the repository's root, if it is inside.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_prints_as_it_would_be_typed_in_the_root() {
        let program = Program::at(root().join(".venv/bin/python"))
            .arg("-c")
            .arg("print(1) ")
            .path(&root().join("a/b"));
        assert_eq!(program.to_string(), ".venv/bin/python -c 'print(1) ' a/b");
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        let error = Program::at("false").arg("x").run().unwrap_err();
        assert!(error.starts_with("`false x` ended with"), "{error}");
        let error = Program::at("no-such-program").run().unwrap_err();
        assert!(error.starts_with("`no-such-program` did not start"), "{error}");
    }

    #[test]
    fn read_returns_standard_output() {
        assert_eq!(Program::at("echo").arg("a b").read().as_deref(), Ok("a b\n"));
    }
}
