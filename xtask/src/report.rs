//! The steps of one verb: narrated, timed and summed up on standard error.
//!
//! Standard output belongs to the programs that the steps run, or to the JSON summary.

use crate::command::Result;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Collects what the steps of a verb came to.
pub(crate) struct Report {
    verb: &'static str,
    started: Instant,
    steps: Vec<Step>,
}

struct Step {
    name: &'static str,
    /// What a person types to run this step alone.
    repeat: String,
    outcome: Outcome,
    took: Duration,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
        }
    }

    fn detail(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Failed(why) | Self::Skipped(why) => why,
        }
    }
}

impl Report {
    pub(crate) fn new(verb: &'static str) -> Self {
        Self { verb, started: Instant::now(), steps: Vec::new() }
    }

    /// A report of a verb that is one step, run and closed.
    pub(crate) fn single(
        verb: &'static str,
        repeat: &str,
        body: impl FnOnce() -> Result,
    ) -> ExitCode {
        let mut report = Self::new(verb);
        report.step(verb, repeat, body);
        report.finish()
    }

    /// Runs one step. `repeat` is the command that runs it alone. Tells whether it passed; later steps run either way
    /// unless the caller decides otherwise, so that one run shows everything that is wrong.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        repeat: &str,
        body: impl FnOnce() -> Result,
    ) -> bool {
        eprintln!("\n== {name}");
        let started = Instant::now();
        let outcome = match body() {
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        };
        let took = started.elapsed();
        eprintln!(
            "== {name}: {} in {:.1} s {}",
            outcome.word(),
            took.as_secs_f64(),
            outcome.detail()
        );
        let passed = matches!(outcome, Outcome::Passed);
        self.steps.push(Step { name, repeat: repeat.to_owned(), outcome, took });
        passed
    }

    /// Notes a step that cannot run, and why.
    pub(crate) fn skip(&mut self, name: &'static str, repeat: &str, why: &str) {
        eprintln!("\n== {name}: skipped, {why}");
        let outcome = Outcome::Skipped(why.to_owned());
        self.steps.push(Step { name, repeat: repeat.to_owned(), outcome, took: Duration::ZERO });
    }

    /// Prints the summary and gives the verb's exit status: 1 if a step failed.
    pub(crate) fn finish(&self) -> ExitCode {
        eprint!("\n{}", self.summary());
        if self.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn passed(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed(_)))
    }

    fn summary(&self) -> String {
        let mut text =
            format!("cargo xtask {}: {:.1} s\n", self.verb, self.started.elapsed().as_secs_f64());
        for step in &self.steps {
            let _ = write!(
                text,
                "  {:<8} {:<16} {:>7.1} s",
                step.outcome.word(),
                step.name,
                step.took.as_secs_f64()
            );
            let _ = match &step.outcome {
                Outcome::Passed => writeln!(text),
                Outcome::Failed(_) => writeln!(text, "   repeat with: {}", step.repeat),
                Outcome::Skipped(why) => writeln!(text, "   {why}"),
            };
        }
        text
    }

    /// The summary as one JSON object, for `--json`.
    pub(crate) fn json(&self) -> String {
        let steps: Vec<String> = self
            .steps
            .iter()
            .map(|step| {
                format!(
                    r#"{{"name":{},"outcome":"{}","seconds":{:.3},"detail":{},"repeat":{}}}"#,
                    json_text(step.name),
                    step.outcome.word(),
                    step.took.as_secs_f64(),
                    json_text(step.outcome.detail()),
                    json_text(&step.repeat),
                )
            })
            .collect();
        format!(
            r#"{{"verb":"{}","ok":{},"seconds":{:.3},"steps":[{}]}}"#,
            self.verb,
            self.passed(),
            self.started.elapsed().as_secs_f64(),
            steps.join(","),
        )
    }
}

fn json_text(text: &str) -> String {
    let mut json = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Report {
        let mut report = Report::new("test");
        assert!(report.step("good", "cargo good", || Ok(())));
        assert!(!report.step("bad", "cargo bad", || Err("it \"broke\"\n".to_owned())));
        report.skip("later", "cargo later", "bad failed");
        report
    }

    #[test]
    fn the_summary_names_the_command_that_repeats_a_failure() {
        let summary = sample().summary();
        let line =
            |name: &str| summary.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(
            line("bad ").contains("failed") && line("bad ").ends_with("repeat with: cargo bad"),
            "{summary}"
        );
        assert!(line("good").contains("passed") && !line("good").contains("repeat"), "{summary}");
        assert!(
            line("later").contains("skipped") && line("later").ends_with("bad failed"),
            "{summary}"
        );
    }

    #[test]
    fn one_failed_step_fails_the_verb_and_a_skipped_one_does_not() {
        assert!(!sample().passed());
        let mut report = Report::new("check");
        report.step("good", "", || Ok(()));
        report.skip("deny", "", "not installed");
        assert!(report.passed());
    }

    #[test]
    fn json_escapes_what_a_tool_printed() {
        let json = sample().json();
        assert!(json.starts_with(r#"{"verb":"test","ok":false,"seconds":"#), "{json}");
        assert!(json.contains(r#""name":"bad","outcome":"failed""#), "{json}");
        assert!(json.contains(r#""detail":"it \"broke\"\u000a""#), "{json}");
    }
}
