//! The command line.

use std::ops::Range;

use weft_sim::scale::{SHAPES, Shape};
use weft_sim::{PROFILES, Profile, Swarm};

pub(crate) const USAGE: &str = "\
weft-sim swarm [--seeds A..B] [OPTIONS]    run random networks (default: seeds 0..1000)
weft-sim replay SEED [OPTIONS] [--trace]   run one seed again; --trace writes each event to stderr
weft-sim run SCENARIO [--seed S | --seeds A..B] [OPTIONS]   run one scenario of the list
weft-sim list                              the scenarios, of which each seed chooses one
weft-sim scale [NETWORK] [OPTIONS]         what large networks cost, each key told and generalised

options:
  --nodes N   nodes of a network at most (default 7)
  --steps N   what applications and chance do, in steps (default 120)
  --json      one JSON object a line
  --quick     scale: small networks only
  --publish   scale: writes the table into docs/design/scale.md
";

/// Seeds that run if none are named.
const SEEDS_DEFAULT: Range<u64> = 0..1000;

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    List { json: bool },
    Swarm { seeds: Range<u64>, swarm: Swarm, json: bool },
    Scale { shapes: &'static [Shape], json: bool, publish: bool },
}

/// What the options say, as far as they are given.
#[derive(Default)]
struct Options {
    words: Vec<String>,
    seeds: Option<Range<u64>>,
    nodes: Option<usize>,
    steps: Option<usize>,
    json: bool,
    trace: bool,
    quick: bool,
    publish: bool,
}

/// How many of the networks are small.
const QUICK: usize = 2;

pub(crate) fn parse(arguments: &[String]) -> Result<Command, String> {
    let options = options(arguments)?;
    let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
    let (verb, rest) = words.split_first().unwrap_or((&"swarm", &[]));
    let unexpected = |word: &str| Err(format!("unexpected argument `{word}`"));
    let (seeds, profile) = match (*verb, rest) {
        ("help", []) => return Ok(Command::Help),
        ("list", []) => return Ok(Command::List { json: options.json }),
        ("scale", rest @ ([] | [_])) => {
            let shapes = match rest {
                [name, ..] => shape_named(name)?,
                [] if options.quick => &SHAPES[..QUICK],
                [] => SHAPES,
            };
            let Options { json, publish, .. } = options;
            return Ok(Command::Scale { shapes, json, publish });
        }
        ("swarm", []) => (options.seeds.clone().unwrap_or(SEEDS_DEFAULT), None),
        ("replay", [seed]) => {
            let seed = number(seed, "seed")?;
            (seed..seed + 1, None)
        }
        ("run", [name]) => {
            (options.seeds.clone().unwrap_or(SEEDS_DEFAULT), Some(profile_named(name)?))
        }
        ("replay", []) => return Err("replay which seed?".into()),
        ("run", []) => return Err("run which scenario? `weft-sim list` names them".into()),
        ("help" | "list" | "swarm", [word, ..]) | ("replay" | "run" | "scale", [_, word, ..]) => {
            return unexpected(word);
        }
        (verb, _) => return unexpected(verb),
    };
    let default = Swarm::default();
    let swarm = Swarm {
        nodes: options.nodes.unwrap_or(default.nodes),
        steps: options.steps.unwrap_or(default.steps),
        profile,
        trace: options.trace,
    };
    Ok(Command::Swarm { seeds, swarm, json: options.json })
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--seeds" => options.seeds = Some(range(value()?)?),
            "--seed" => {
                let seed = number(value()?, "seed")?;
                options.seeds = Some(seed..seed + 1);
            }
            "--nodes" => options.nodes = Some(number(value()?, "number of nodes")? as usize),
            "--steps" => options.steps = Some(number(value()?, "number of steps")? as usize),
            "--json" => options.json = true,
            "--trace" => options.trace = true,
            "--quick" => options.quick = true,
            "--publish" => options.publish = true,
            "--help" | "-h" => options.words = vec!["help".into()],
            word if word.starts_with('-') => return Err(format!("unknown option `{word}`")),
            word => options.words.push(word.into()),
        }
    }
    Ok(options)
}

fn number(text: &str, what: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no {what}"))
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or(format!("`{text}` is no range A..B"))?;
    let range = number(from, "seed")?..number(to, "seed")?;
    if range.is_empty() { Err(format!("`{text}` holds no seed")) } else { Ok(range) }
}

fn profile_named(name: &str) -> Result<&'static Profile, String> {
    let names = || PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
    let found = PROFILES.iter().find(|profile| profile.name == name);
    found.ok_or_else(|| format!("no scenario `{name}`; there are {}", names()))
}

fn shape_named(name: &str) -> Result<&'static [Shape], String> {
    let names = || SHAPES.iter().map(|shape| shape.name).collect::<Vec<_>>().join(", ");
    let found = SHAPES.iter().position(|shape| shape.name == name);
    let at = found.ok_or_else(|| format!("no network `{name}`; there are {}", names()))?;
    Ok(&SHAPES[at..=at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn commands_mean_what_the_usage_says() {
        let swarm = Swarm::default();
        let json = false;
        assert_eq!(parsed(""), Ok(Command::Swarm { seeds: 0..1000, swarm, json }));
        assert_eq!(
            parsed("swarm --seeds 3..9 --nodes 4 --steps 50 --json"),
            Ok(Command::Swarm {
                seeds: 3..9,
                swarm: Swarm { nodes: 4, steps: 50, ..swarm },
                json: true
            })
        );
        let traced = Swarm { trace: true, ..swarm };
        assert_eq!(
            parsed("replay 17 --trace"),
            Ok(Command::Swarm { seeds: 17..18, swarm: traced, json })
        );
        let calm = Swarm { profile: Some(&PROFILES[0]), ..swarm };
        assert_eq!(
            parsed("run calm --seed 5"),
            Ok(Command::Swarm { seeds: 5..6, swarm: calm, json })
        );
        assert_eq!(parsed("list --json"), Ok(Command::List { json: true }));
        assert_eq!(parsed("swarm --help"), Ok(Command::Help));
        let scale = |line, shapes, publish| {
            assert_eq!(parsed(line), Ok(Command::Scale { shapes, json, publish }));
        };
        scale("scale --publish", SHAPES, true);
        scale("scale --quick", &SHAPES[..QUICK], false);
        scale("scale 10r-1M", &SHAPES[4..5], false);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, problem) in [
            ("swram", "unexpected argument `swram`"),
            ("swarm 5", "unexpected argument `5`"),
            ("replay", "replay which seed?"),
            ("replay x", "`x` is no seed"),
            ("run clam", "no scenario `clam`; there are calm"),
            ("scale 3r", "no network `3r`; there are 10r-10k"),
            ("swarm --seeds 5", "`5` is no range A..B"),
            ("swarm --seeds 5..5", "`5..5` holds no seed"),
            ("swarm --seeds", "`--seeds` needs a value"),
            ("swarm --sedes 1..2", "unknown option `--sedes`"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
