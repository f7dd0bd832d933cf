//! The project's verbs, behind the cargo alias `cargo xtask`.
//!
//! Not here: anything that ships. Each verb is one file named for it; `report` times the steps of a verb and says how
//! to repeat the one that failed, `command` starts programs, `tidy` holds the house rules.

mod bench;
mod check;
mod command;
mod doc;
mod fuzz;
mod interop;
mod python;
mod report;
mod sim;
mod size;
mod test;
mod tidy;
mod venv;

use std::fmt::Write as _;
use std::process::ExitCode;

/// One word that `cargo xtask` understands.
struct Verb {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> ExitCode,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "check",
        arguments: "",
        about: "format, lints, house rules, licences (cargo-deny, if installed)",
        run: check::run,
    },
    Verb {
        name: "test",
        arguments: "[--json] [--fuzz-seconds N]",
        about: "every test of the project: what CI runs",
        run: test::run,
    },
    Verb { name: "tidy", arguments: "", about: "the house rules alone", run: tidy::run },
    Verb {
        name: "sim",
        arguments: "swarm [--seeds A..B] | replay SEED | run SCENARIO | list",
        about: "the network simulator",
        run: sim::run,
    },
    Verb {
        name: "fuzz",
        arguments: "[TARGET..] [--seconds N] | TARGET --replay FILE | [TARGET..] --merge",
        about: "fuzz from the kept corpus, replay one input, or refresh the corpus",
        run: fuzz::run,
    },
    Verb {
        name: "bench",
        arguments: "[--case NAME] [--quick | --full] [--publish] [ARGS..] | --micro [FILTER] | --instructions [--accept] | --shared-writes [--json]",
        about: "Weft beside its peers, micro-benchmarks, instruction counts, or what all messages write",
        run: bench::run,
    },
    Verb {
        name: "interop",
        arguments: "[PYTEST ARGS..] | swarm [--topologies N] [--seed N] [--json] | weaknesses [--json]",
        about: "tests against Eclipse Zenoh, random networks of both, the reference's weaknesses",
        run: interop::run,
    },
    Verb {
        name: "python",
        arguments: "[PYTEST ARGS..]",
        about: "the Python module: wheel, tests, types",
        run: python::run,
    },
    Verb {
        name: "size",
        arguments: "",
        about: "size and dependency count of what ships",
        run: size::run,
    },
    Verb {
        name: "doc",
        arguments: "[--open]",
        about: "API documentation, warnings denied",
        run: doc::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", usage());
        return ExitCode::SUCCESS;
    };
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => {
            eprint!("unknown verb `{name}`\n\n{}", usage());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    let mut text = String::from("cargo xtask VERB\n\n");
    for verb in VERBS {
        let _ = writeln!(text, "  {:<8} {}", verb.name, verb.about);
        if !verb.arguments.is_empty() {
            let _ = writeln!(text, "           {}", verb.arguments);
        }
    }
    text
}

/// Refuses a verb's arguments: one line on stderr and the exit status of a wrong command line.
fn refuse(verb: &str, problem: &str) -> ExitCode {
    eprintln!("cargo xtask {verb}: {problem}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_lists_every_verb_once() {
        let text = usage();
        for verb in VERBS {
            let lines =
                text.lines().filter(|line| line.split_whitespace().next() == Some(verb.name));
            assert_eq!(lines.count(), 1, "{}", verb.name);
        }
    }
}
