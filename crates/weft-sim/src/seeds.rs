//! Running one scenario for many seeds.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sim::Sim;

/// Seeds to be tried one after the other.
#[derive(Clone, Debug)]
pub struct Seeds {
    seeds: Range<u64>,
}

/// Names a single seed, instead of all that a test would try.
const SEED_VARIABLE: &str = "WEFT_SIM_SEED";
/// If set, every event is written to stderr.
const TRACE_VARIABLE: &str = "WEFT_SIM_TRACE";

impl Sim {
    /// The scenario that follows runs once for each of these seeds.
    #[must_use]
    pub fn seeds(seeds: Range<u64>) -> Seeds {
        match std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()) {
            Some(seed) => Seeds { seeds: seed..seed + 1 },
            None => Seeds { seeds },
        }
    }
}

impl Seeds {
    /// Runs a scenario, then takes the network down and sees to it that nothing is left of it.
    ///
    /// # Panics
    /// With the first seed that fails, after the command that repeats it.
    pub fn run(self, scenario: impl Fn(&mut Sim)) {
        self.run_without_finish(|sim| {
            scenario(sim);
            sim.finish();
        });
    }

    /// As [`Seeds::run`], for scenarios whose end the usual checks do not suit.
    ///
    /// # Panics
    /// With the first seed that fails, after the command that repeats it.
    pub fn run_without_finish(self, scenario: impl Fn(&mut Sim)) {
        for seed in self.seeds {
            let mut sim = Sim::new(seed);
            sim.trace.on = std::env::var_os(TRACE_VARIABLE).is_some();
            let run = catch_unwind(AssertUnwindSafe(|| scenario(&mut sim)));
            if let Err(panic) = run {
                eprintln!("\nto repeat: {SEED_VARIABLE}={seed} cargo test -p weft-sim {}", test());
                resume_unwind(panic);
            }
        }
    }
}

/// The name of the running test: the test harness gives it to its thread.
fn test() -> String {
    std::thread::current().name().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn every_seed_runs_until_one_fails() {
        let ran = Cell::new(0);
        let run = catch_unwind(AssertUnwindSafe(|| {
            Seeds { seeds: 0..10 }.run(|sim| {
                ran.set(ran.get() + 1);
                assert!(sim.seed() < 3, "the fourth one fails");
            });
        }));
        assert!(run.is_err());
        assert_eq!(ran.get(), 4);
    }
}
