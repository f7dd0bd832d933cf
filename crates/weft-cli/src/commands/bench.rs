//! `weft bench`: message rates and round trips over loopback, at a quick look.
//!
//! Not here: what the processes do (`bench_role`), and the comparison with other implementations (`bench/` in the
//! repository). Rounds are interleaved, so that whatever else the machine does meets all figures alike.

mod case;
mod process;

use std::time::Duration;

use clap::Args;
use serde_json::json;

use self::case::{CASES, Case};
use crate::arguments::some_seconds;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::say;

/// Measure message rates and round trips over loopback, in processes of their own
///
/// Peer to peer and through a router. The figures are medians over the rounds; the spread is (max - min) / median. JSON:
/// {"type":"bench","case":"p2p","size":8,"value":…,"unit":"msg/s","spread":…,"rounds":[…]}.
#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// Measures only what has this in its name/size, such as p2p or ping/64; may be repeated
    #[arg(long, value_name = "TEXT")]
    case: Vec<String>,
    /// How often each is measured
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long one measurement takes, without its warm-up
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = some_seconds, allow_negative_numbers = true)]
    seconds: Duration,
}

/// A case and what was measured, a figure a round.
struct Figures {
    case: &'static Case,
    rounds: Vec<f64>,
}

impl Bench {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let mut all = self.chosen()?;
        context.ending.on_signals()?;
        for round in 1..=self.rounds {
            for figures in &mut all {
                let figure = figures.case.measure(self.seconds, &context.ending)?;
                let (label, unit) = (figures.case.label(), figures.case.unit());
                let figure_text = grouped(figure);
                say(&format_args!(
                    "round {round} of {}: {label} {figure_text} {unit}",
                    self.rounds
                ));
                figures.rounds.push(figure);
            }
        }
        context.output.heading(format_args!(
            "{:<10} {:>5} {:>12}       {:>7}",
            "case", "bytes", "median", "spread"
        ));
        for figures in &all {
            context.output.result(|| figures.line(), || figures.json());
        }
        Ok(())
    }

    fn chosen(&self) -> Result<Vec<Figures>, Failure> {
        let is_chosen = |case: &&Case| {
            let label = case.label();
            self.case.is_empty() || self.case.iter().any(|part| label.contains(part))
        };
        let chosen = CASES.iter().filter(is_chosen);
        let all: Vec<Figures> = chosen.map(|case| Figures { case, rounds: Vec::new() }).collect();
        if all.is_empty() {
            let labels: Vec<String> = CASES.iter().map(Case::label).collect();
            return Err(Failure::Usage(format!("no such --case; there are {}", labels.join(", "))));
        }
        Ok(all)
    }
}

impl Figures {
    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    fn median(&self) -> f64 {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        }
    }

    /// (max - min) / median.
    fn spread(&self) -> f64 {
        let sorted = self.sorted();
        (sorted[sorted.len() - 1] - sorted[0]) / self.median()
    }

    fn line(&self) -> String {
        let Case { name, size, .. } = self.case;
        let (median, unit) = (grouped(self.median()), self.case.unit());
        let spread = 100.0 * self.spread();
        format!("{name:<10} {size:>5} {median:>12} {unit:<5} {spread:>5.0} %")
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "type": "bench",
            "case": self.case.name,
            "size": self.case.size,
            "value": self.median(),
            "unit": self.case.unit(),
            "spread": self.spread(),
            "rounds": self.rounds,
        })
    }
}

/// A figure for people: thousands are separated, and small ones have a decimal.
pub(super) fn grouped(figure: f64) -> String {
    if figure < 1000.0 {
        return format!("{figure:.1}");
    }
    let digits = format!("{figure:.0}");
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        let figures = |rounds: &[f64]| Figures { case: &CASES[0], rounds: rounds.to_vec() };
        assert!((figures(&[4.0, 1.0, 2.0]).median() - 2.0).abs() < 1e-9);
        assert!((figures(&[4.0, 1.0, 2.0, 3.0]).median() - 2.5).abs() < 1e-9);
        assert!((figures(&[4.0, 1.0, 2.0]).spread() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(1000.0), "1,000");
        assert_eq!(grouped(31.26), "31.3");
    }
}
