//! What the program prints.

use std::fmt::{self, Write as _};

use weft_sim::{Outcome, Profile, Swarm};

/// All seeds together.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    seeds: u64,
    events: u64,
    virtual_us: u64,
    pub(crate) failures: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.events += outcome.events;
        self.virtual_us += outcome.virtual_us;
        self.failures += u64::from(outcome.failure.is_some());
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, events, virtual_us, failures } = self;
        let hours = *virtual_us as f64 / 3.6e9;
        write!(f, "{seeds} seeds, {events} events, {hours:.1} virtual hours: {failures} failures")
    }
}

/// A failing seed, and how to see it again.
pub(crate) fn failure(outcome: &Outcome, swarm: &Swarm) -> String {
    let default = Swarm::default();
    let reason = outcome.failure.as_deref().unwrap_or_default();
    let mut text = format!("seed {} ({}): {reason}\n", outcome.seed, outcome.profile);
    let _ = match swarm.profile {
        None => write!(text, "to repeat: cargo xtask sim replay {}", outcome.seed),
        Some(it) => {
            write!(text, "to repeat: cargo xtask sim run {} --seed {}", it.name, outcome.seed)
        }
    };
    if swarm.nodes != default.nodes {
        let _ = write!(text, " --nodes {}", swarm.nodes);
    }
    if swarm.steps != default.steps {
        let _ = write!(text, " --steps {}", swarm.steps);
    }
    text
}

pub(crate) fn profile(profile: &Profile, json: bool) -> String {
    let Profile { name, about, .. } = profile;
    if json {
        format!("{{\"name\":{},\"about\":{}}}", quoted(name), quoted(about))
    } else {
        format!("{name:<12} {about}")
    }
}

pub(crate) fn outcome_json(outcome: &Outcome) -> String {
    let Outcome { seed, profile, events, virtual_us, failure } = outcome;
    let failure = failure.as_deref().map_or("null".to_string(), quoted);
    format!(
        "{{\"seed\":{seed},\"scenario\":{},\"events\":{events},\"virtual_us\":{virtual_us},\"failure\":{failure}}}",
        quoted(profile)
    )
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        let failure = Some("two \"words\"\nand more".to_string());
        Outcome { seed: 7, profile: "calm", events: 5, virtual_us: 9, failure }
    }

    #[test]
    fn a_failure_comes_with_the_command_that_repeats_it() {
        let swarm = Swarm { steps: 9, ..Swarm::default() };
        let text = failure(&outcome(), &swarm);
        assert!(text.ends_with("to repeat: cargo xtask sim replay 7 --steps 9"), "{text}");
        let named = Swarm { profile: Some(&weft_sim::PROFILES[0]), ..Swarm::default() };
        let text = failure(&outcome(), &named);
        assert!(text.ends_with("to repeat: cargo xtask sim run calm --seed 7"), "{text}");
    }

    #[test]
    fn json_is_one_line_with_everything_escaped() {
        assert_eq!(
            outcome_json(&outcome()),
            r#"{"seed":7,"scenario":"calm","events":5,"virtual_us":9,"failure":"two \"words\"\nand more"}"#
        );
    }

    #[test]
    fn totals_add_up() {
        let mut totals = Totals::default();
        totals.add(&outcome());
        totals.add(&Outcome { failure: None, ..outcome() });
        assert_eq!(totals.to_string(), "2 seeds, 10 events, 0.0 virtual hours: 1 failures");
    }
}
