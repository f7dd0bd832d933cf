//! Reads what libFuzzer printed.

use std::fmt;

/// Figures of a run that found nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    coverage: u64,
    features: u64,
    inputs: u64,
    executions: u64,
    per_second: u64,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { coverage, features, inputs, executions, per_second } = self;
        write!(
            f,
            "{executions} runs at {per_second}/s, coverage {coverage}, features {features}, corpus {inputs}"
        )
    }
}

/// The figures, or nothing if the run had no coverage feedback: a fuzzer without it tests next to nothing.
pub(super) fn read(log: &str) -> Option<Run> {
    let done = log.lines().rev().find(|line| line.starts_with('#') && line.contains("DONE"))?;
    let run = Run {
        coverage: after(done, "cov:")?,
        features: after(done, "ft:")?,
        inputs: after(done, "corp:")?,
        executions: after(log, "stat::number_of_executed_units:")?,
        per_second: after(log, "stat::average_exec_per_sec:")?,
    };
    (run.coverage > 0 && run.executions > 0).then_some(run)
}

/// The number that follows `label`.
fn after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    let rest = rest.trim_start();
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// The file that holds the input that ended the run.
pub(super) fn finding(log: &str) -> Option<&str> {
    log.lines()
        .find_map(|line| line.split_once("Test unit written to "))
        .map(|(_, path)| path.trim())
}

/// What a person needs of the log of a failed run: from the panic on, or else the last lines.
pub(super) fn tail(log: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = log.lines().collect();
    let panic = lines.iter().rposition(|line| line.contains("panicked at"));
    let from = panic.unwrap_or(lines.len().saturating_sub(LINES));
    lines[from..].iter().take(LINES).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
INFO: Loaded 1 modules   (2107 inline 8-bit counters): 2107 [0x1, 0x2),
#2      INITED cov: 3 ft: 4 corp: 1/1b exec/s: 0 rss: 27Mb
#524288 DONE   cov: 412 ft: 1033 corp: 211/4321b lim: 48 exec/s: 87381 rss: 41Mb
Done 524288 runs in 6 second(s)
stat::number_of_executed_units: 524288
stat::average_exec_per_sec:     87381
stat::new_units_added:          300
";

    #[test]
    fn figures_of_a_finished_run() {
        let expected = Run {
            coverage: 412,
            features: 1033,
            inputs: 211,
            executions: 524_288,
            per_second: 87_381,
        };
        assert_eq!(read(LOG), Some(expected));
    }

    #[test]
    fn a_run_without_coverage_is_not_a_run() {
        assert_eq!(read(&LOG.replace("cov: 412", "cov: 0")), None);
        assert_eq!(read(&LOG.replace("cov: 412 ft: 1033 ", "")), None);
        assert_eq!(read(&LOG.replace("units: 524288", "units: 0")), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_finding_names_its_file_and_starts_at_the_panic() {
        let log = "#1 NEW\nthread 'x' panicked at a.rs:4:34:\nboom\nartifact_prefix='a/'; Test unit written to a/crash-1\n";
        assert_eq!(finding(log), Some("a/crash-1"));
        assert!(tail(log).starts_with("thread 'x' panicked"));
        assert_eq!(finding(LOG), None);
    }
}
