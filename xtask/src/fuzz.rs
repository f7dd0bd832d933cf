//! `cargo xtask fuzz`: the fuzz targets of `fuzz/`, driven by libFuzzer on the stable compiler.
//!
//! A target is one file of `fuzz/src/bin/`; what it calls lives in the crate that it tests. Three folders matter:
//!
//! ```text
//! fuzz/corpus/TARGET/      kept and committed: what every run starts from
//! TARGET_DIR/fuzz/grown/   what runs have found since; `--merge` moves the useful part into the kept corpus
//! fuzz/artifacts/TARGET/   inputs that crashed, hung or ate memory; ignored by git
//! ```

use crate::command::{Program, Result, relative, root, target_dir};
use crate::refuse;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

mod corpus;
mod log;

/// Targets that run side by side.
const JOBS: usize = 2;

/// One input may take this long, in seconds, and a target this much memory, in MiB, before it counts as a finding.
const INPUT_SECONDS_MAX: u32 = 10;
const MEMORY_MIB_MAX: u32 = 1024;

/// Coverage feedback as libFuzzer reads it. These are options of the code generator that the stable compiler passes on;
/// together they are what the unstable sanitizer options of `cargo fuzz` stand for.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Job {
    Campaign { targets: Vec<String>, seconds: u64 },
    Replay { target: String, input: PathBuf },
    Merge { targets: Vec<String> },
}

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let repeat = Program::cargo().args(["xtask", "fuzz"]).args(arguments).to_string();
    match parse(arguments) {
        Ok(job) => Report::single("fuzz", &repeat, || match &job {
            Job::Campaign { targets, seconds } => campaign(targets, *seconds),
            Job::Replay { target, input } => replay(target, input),
            Job::Merge { targets } => merge(targets),
        }),
        Err(problem) => refuse("fuzz", &problem),
    }
}

fn parse(arguments: &[String]) -> Result<Job> {
    let (mut targets, mut limit, mut input, mut merge) = (Vec::new(), None, None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => limit = Some(seconds(rest.next())?),
            "--replay" => input = Some(PathBuf::from(rest.next().ok_or("--replay needs a file")?)),
            "--merge" => merge = true,
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            target => targets.push(target.to_owned()),
        }
    }
    match (input, merge, limit) {
        (None, false, limit) => Ok(Job::Campaign { targets, seconds: limit.unwrap_or(60) }),
        (None, true, None) => Ok(Job::Merge { targets }),
        (Some(input), false, None) => match <[String; 1]>::try_from(targets) {
            Ok([target]) => Ok(Job::Replay { target, input }),
            Err(_) => Err("--replay takes one target".to_owned()),
        },
        _ => Err("--seconds, --replay and --merge exclude each other".to_owned()),
    }
}

/// The value of an option that counts seconds.
pub(crate) fn seconds(value: Option<&String>) -> Result<u64> {
    match value.and_then(|value| value.parse().ok()) {
        Some(count @ 1..) => Ok(count),
        _ => Err("the number of seconds must be 1 or more".to_owned()),
    }
}

/// Fuzzes each target (none named: all) for `seconds`, starting with its kept corpus.
///
/// # Errors
/// Names each target that has a finding and the command that replays it.
pub(crate) fn campaign(targets: &[String], seconds: u64) -> Result {
    let targets = Targets::build(targets)?;
    let waiting = Mutex::new(targets.names.iter());
    let findings = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("no worker panics").next();
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(name) = next() {
                    match targets.fuzz(name, seconds) {
                        Ok(line) => eprintln!("{line}"),
                        Err(finding) => findings.lock().expect("no worker panics").push(finding),
                    }
                }
            });
        }
    });
    let findings = findings.into_inner().expect("no worker panics");
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) }
}

fn replay(target: &str, input: &Path) -> Result {
    // The person's shell is not necessarily in the root, where programs run.
    let input = input.canonicalize().map_err(|error| format!("{}: {error}", input.display()))?;
    Targets::build(&[target.to_owned()])?.program(target).path(&input).run()
}

fn merge(targets: &[String]) -> Result {
    let targets = Targets::build(targets)?;
    for name in &targets.names {
        corpus::merge(&kept(name), &grown(name), |scratch, sources| {
            // Without counters an input is kept for a branch that no other reaches, not for how often it takes one.
            let options = ["-set_cover_merge=1", "-use_counters=0", "-rss_limit_mb=4096"];
            let program = targets.program(name).args(options).path(scratch);
            sources.iter().fold(program, |program, source| program.path(source)).run()
        })?;
    }
    Ok(())
}

/// Built fuzz targets.
struct Targets {
    names: Vec<String>,
    programs: PathBuf,
}

impl Targets {
    /// Builds the named targets, or all of them.
    fn build(chosen: &[String]) -> Result<Self> {
        let known = names()?;
        if let Some(unknown) = chosen.iter().find(|target| !known.contains(target)) {
            return Err(format!("no fuzz target `{unknown}`; there are: {}", known.join(", ")));
        }
        let names = if chosen.is_empty() { known } else { chosen.to_vec() };
        let host = host()?;
        let folder = target_dir().join("fuzz");
        Program::cargo()
            .args([
                "build",
                "--release",
                "--manifest-path",
                "fuzz/Cargo.toml",
                "--target",
                &host,
                "--target-dir",
            ])
            .path(&folder)
            .args(names.iter().flat_map(|name| ["--bin", name]))
            .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"))
            .run()
            .map_err(|error| {
                format!("{error}; libFuzzer needs a C++ compiler, on Debian the package g++")
            })?;
        Ok(Self { names, programs: folder.join(host).join("release") })
    }

    fn program(&self, name: &str) -> Program {
        Program::at(self.programs.join(name))
    }

    /// Runs one target and returns the line that sums it up.
    fn fuzz(&self, name: &str, seconds: u64) -> Result<String> {
        let artifacts = root().join("fuzz/artifacts").join(name);
        let grown = grown(name);
        let log_path = target_dir().join("fuzz").join(format!("{name}.log"));
        for folder in [&artifacts, &grown, &kept(name)] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        // libFuzzer writes what it finds to the first folder, and only reads the second.
        let program = self
            .program(name)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
            .arg("-print_final_stats=1")
            .arg(format!("-artifact_prefix={}/", relative(&artifacts)))
            .path(&grown)
            .path(&kept(name));
        let status = program.run_into(&log_path)?;
        let log =
            fs::read(&log_path).map_err(|error| format!("{}: {error}", log_path.display()))?;
        let log = String::from_utf8_lossy(&log);
        if status.success() {
            let run = log::read(&log).ok_or_else(|| {
                format!("{name} ran without coverage feedback, see {}", relative(&log_path))
            })?;
            return Ok(format!("{name:<20} {run}"));
        }
        eprintln!("{}", log::tail(&log));
        let next = match log::finding(&log) {
            Some(input) => format!(
                "replay with: cargo xtask fuzz {name} --replay {}",
                relative(Path::new(input))
            ),
            None => format!("see {}", relative(&log_path)),
        };
        Err(format!("{name} ended with {status}; {next}"))
    }
}

fn kept(name: &str) -> PathBuf {
    root().join("fuzz/corpus").join(name)
}

fn grown(name: &str) -> PathBuf {
    target_dir().join("fuzz/grown").join(name)
}

/// The fuzz targets, sorted: the files of `fuzz/src/bin/`.
fn names() -> Result<Vec<String>> {
    let folder = root().join("fuzz/src/bin");
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = files
        .filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// This machine's target triple. Building for it by name keeps the coverage options away from build scripts.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Program::at(rustc).arg("-vV").read()?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| "rustc does not tell its host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Job> {
        parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn without_arguments_all_targets_run_a_minute() {
        assert_eq!(parsed(&[]), Ok(Job::Campaign { targets: vec![], seconds: 60 }));
        let expected = Job::Campaign { targets: vec!["keyexpr".to_owned()], seconds: 3600 };
        assert_eq!(parsed(&["keyexpr", "--seconds", "3600"]), Ok(expected));
    }

    #[test]
    fn replay_takes_one_target_and_one_file() {
        let expected = Job::Replay { target: "keyexpr".to_owned(), input: "x".into() };
        assert_eq!(parsed(&["keyexpr", "--replay", "x"]), Ok(expected));
        assert!(parsed(&["--replay", "x"]).is_err());
        assert!(parsed(&["a", "b", "--replay", "x"]).is_err());
        assert!(parsed(&["a", "--replay"]).is_err());
    }

    #[test]
    fn options_that_contradict_or_do_not_exist_are_refused() {
        for arguments in [
            &["--merge", "--seconds", "1"][..],
            &["--seconds", "0"],
            &["--seconds", "x"],
            &["--fast"],
        ] {
            assert!(parsed(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn an_unknown_target_is_named_together_with_the_known_ones() {
        let error = campaign(&["no_such_target".to_owned()], 1).unwrap_err();
        assert!(error.contains("no_such_target") && error.contains("keyexpr"), "{error}");
    }
}
