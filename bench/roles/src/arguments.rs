//! The flags of a role: `--name value`, and switches without a value.
//!
//! Not here: which flags there are; each role takes its own and then calls [`Arguments::finish`].

use crate::Failure;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// The words after the role that nobody has taken yet.
#[derive(Debug)]
pub struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    /// The first argument of this process, and all that follow.
    ///
    /// # Errors
    /// When there is no argument.
    pub fn of_process() -> Result<(String, Self), Failure> {
        let mut words = std::env::args().skip(1);
        let role = words.next().ok_or_else(|| Failure::Usage("no role is given".to_owned()))?;
        Ok((role, Self { words: words.collect() }))
    }

    /// Takes `--name VALUE`.
    ///
    /// # Errors
    /// When there is no value behind it, or one that does not parse.
    pub fn value<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        self.words.remove(at);
        if at == self.words.len() {
            return Err(Failure::Usage(format!("{name} needs a value")));
        }
        let value = self.words.remove(at);
        value.parse().map(Some).map_err(|error| Failure::Usage(format!("{name} {value}: {error}")))
    }

    /// Takes `--name VALUE`, which must be there.
    ///
    /// # Errors
    /// As [`Arguments::value`], and when it is missing.
    pub fn required<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<T, Failure> {
        self.value(name)?.ok_or_else(|| Failure::Usage(format!("{name} is missing")))
    }

    /// Takes `--name SECONDS`, a decimal number.
    ///
    /// # Errors
    /// As [`Arguments::value`], and when it is no length of time.
    pub fn seconds(&mut self, name: &str, default: f64) -> Result<Duration, Failure> {
        let seconds = self.value(name)?.unwrap_or(default);
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| Failure::Usage(format!("{name} {seconds}: {error}")))
    }

    /// Takes `--name`; whether it was there.
    pub fn switch(&mut self, name: &str) -> bool {
        let at = self.words.iter().position(|word| word == name);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// Ends the reading of flags.
    ///
    /// # Errors
    /// When a word is left that nobody has taken.
    pub fn finish(self) -> Result<(), Failure> {
        match self.words.first() {
            Some(word) => Err(Failure::Usage(format!("unexpected argument `{word}`"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments { words: line.split_whitespace().map(str::to_owned).collect() }
    }

    #[test]
    fn flags_are_taken_in_any_order() {
        let mut some = arguments("--size 64 --express --duration 0.5");
        assert_eq!(some.seconds("--duration", 3.0).unwrap(), Duration::from_millis(500));
        assert!(some.switch("--express"));
        assert!(!some.switch("--express"));
        assert_eq!(some.required::<usize>("--size").unwrap(), 64);
        assert_eq!(some.value::<usize>("--size").unwrap(), None);
        assert!(some.finish().is_ok());
    }

    #[test]
    fn mistakes_are_named() {
        let problem = |failure: Failure| match failure {
            Failure::Usage(text) => text,
            Failure::Run(text) => panic!("not a mistake in usage: {text}"),
        };
        assert_eq!(
            problem(arguments("--sise 1").finish().unwrap_err()),
            "unexpected argument `--sise`"
        );
        let required = |line| problem(arguments(line).required::<usize>("--size").unwrap_err());
        assert_eq!(required(""), "--size is missing");
        assert_eq!(required("--size"), "--size needs a value");
        assert!(required("--size x").starts_with("--size x: "));
        assert!(arguments("--duration -1").seconds("--duration", 3.0).is_err());
    }
}
