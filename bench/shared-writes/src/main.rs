//! Looks for what every message of a node writes, whichever link it belongs to: `shared-writes --help`.
//!
//! Two flows of messages go through one node, one after the other, each with links and threads of its own. The node
//! runs under valgrind, which tells every load and store. A cache line that one flow writes and the other one touches,
//! both with every message, would go back and forth between the processors that run them.
//!
//! Not here: how long that takes.

mod cases;
mod finding;
mod stage;
mod subject;
mod symbols;
mod trace;

use cases::{CASES, Case};
use finding::Finding;
use stage::Subject;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use subject::{Failure, Role};

/// Messages of each flow before the trace counts.
const WARM_UP: u32 = 100;
/// What fewer than one message in so many touches is not written per message,
const SELDOM: u64 = 10;
/// nor is what is touched so many times a second at most beyond that: timers, looks at busy threads.
const PER_SECOND: f64 = 25.0;
/// How often a case is traced that takes too long to tell messages from timers: another program may be busy.
const ATTEMPTS: u32 = 4;

const HELP: &str = "\
Which cache lines two flows of messages through one node write both, under valgrind.

usage: shared-writes [--case NAME].. [--messages N] [--json]

  --case NAME    only cases whose name contains NAME
  --messages N   of each flow (300)
  --json         an object a case on standard output

It ends with 1 if there are any where there is to be none, or if the ones that were planted are not found.";

/// What the command line asks for.
struct Options {
    cases: Vec<String>,
    messages: u64,
    json: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *words {
        ["subject", role, endpoint, control] => match Role::of(role) {
            Some(role) => subject::play(role, endpoint, control).map(|()| true),
            None => Err(format!("there is no role `{role}`").into()),
        },
        ["--help" | "-h"] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => match parse(&words) {
            Ok(options) => look(&options),
            Err(problem) => {
                eprintln!("error: {problem}\n\n{HELP}");
                return ExitCode::from(2);
            }
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[&str]) -> Result<Options, String> {
    let mut options = Options { cases: Vec::new(), messages: 300, json: false };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or(format!("`{word}` needs a value"));
        match *word {
            "--json" => options.json = true,
            "--case" => options.cases.push((*value()?).to_owned()),
            "--messages" => {
                let messages = value()?.parse().ok().filter(|messages| *messages >= SELDOM);
                options.messages = messages.ok_or("`--messages` needs a number from 10 on")?;
            }
            other => return Err(format!("unexpected argument `{other}`")),
        }
    }
    Ok(options)
}

/// Traces the cases that are asked for. Returns whether all are as they are to be.
fn look(options: &Options) -> Result<bool, Failure> {
    if std::thread::available_parallelism()?.get() < 2 {
        return Err("it needs two processors: a node has a reading thread for each".into());
    }
    let is_asked = |case: &Case| {
        options.cases.is_empty() || options.cases.iter().any(|part| case.name.contains(part))
    };
    let cases: Vec<&Case> = CASES.iter().filter(|case| is_asked(case)).collect();
    if cases.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("there is no such case; there are {}", names.join(", ")).into());
    }
    let mut is_well = true;
    for case in cases {
        let finding =
            trace(case, options.messages).map_err(|error| format!("{}: {error}", case.name))?;
        is_well &= finding.is_well();
        if options.json {
            println!("{}", finding.json());
        } else {
            print!("{}", finding.text());
        }
    }
    Ok(is_well)
}

fn trace(case: &'static Case, messages: u64) -> Result<Finding, Failure> {
    for _ in 0..ATTEMPTS {
        let mut subject = Subject::start(case.role)?;
        let took = walk(case, &mut subject, messages)?;
        let (trace, symbols) = subject.end()?;
        if let Some(often) = often(messages, took) {
            return Ok(Finding::new(case, messages, often, &trace, &symbols));
        }
        eprintln!("{}: {messages} messages took {took:.1?}: once more", case.name);
    }
    Err("the machine is too busy to tell messages from timers".into())
}

/// Walks both flows, one after the other. Returns how long the longer one took.
fn walk(case: &Case, subject: &mut Subject, messages: u64) -> Result<Duration, Failure> {
    let mut flows = (case.flows)(subject)?;
    for flow in &mut flows.flows {
        flow.begin()?;
    }
    for _ in 0..WARM_UP {
        for flow in &mut flows.flows {
            flow.walk()?;
        }
    }
    let mut longest = Duration::ZERO;
    for (mark, flow) in (0..).zip(&mut flows.flows) {
        subject.mark(mark)?;
        let began = Instant::now();
        for _ in 0..messages {
            flow.walk()?;
        }
        longest = longest.max(began.elapsed());
    }
    subject.mark(2)?;
    Ok(longest)
}

/// How often at least something is touched that every message touches; nothing if timers are as often.
fn often(messages: u64, took: Duration) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
    let by_time = (took.as_secs_f64() * PER_SECOND) as u64;
    let often = messages / SELDOM + by_time;
    (often <= messages * 3 / 4).then_some(often)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults_and_typos_are_refused() {
        let options = parse(&["--case", "route", "--json"]).unwrap();
        assert_eq!(
            (options.cases, options.messages, options.json),
            (vec!["route".to_owned()], 300, true)
        );
        assert!(parse(&["--jsno"]).is_err());
        assert!(parse(&["--case"]).is_err());
        assert!(parse(&["--messages", "9"]).is_err());
    }

    #[test]
    fn what_timers_may_touch_depends_on_the_time() {
        assert_eq!(often(300, Duration::from_millis(500)), Some(42));
        assert_eq!(often(300, Duration::from_secs(8)), None);
    }
}
