//! Random networks, random applications, random faults: whatever happens, the checkers must agree.
//!
//! A seed chooses a [`Profile`], a topology, what the nodes are like, and every step. From time to
//! time all faults end; then every configured connection must come back, every node must know what
//! it should, and nothing may be lost any more.

mod apps;
mod profile;
mod rules;
mod topology;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::faults::Later;
use crate::rng::Rng;
use crate::sim::{NodeRef, Sim};
use apps::Apps;
pub use profile::{PROFILES, Profile};

/// How large a swarm is and how long it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// Nodes at most; at least two.
    pub nodes: usize,
    /// Steps: each declares, publishes, asks, or breaks something.
    pub steps: usize,
    /// Only this profile, instead of the one that the seed chooses.
    pub profile: Option<&'static Profile>,
    /// Whether every event is written to stderr.
    pub trace: bool,
}

impl Default for Swarm {
    fn default() -> Self {
        Self { nodes: 7, steps: 120, profile: None, trace: false }
    }
}

/// What a seed did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The profile that it ran.
    pub profile: &'static str,
    /// Events handled.
    pub events: u64,
    /// Virtual time, in microseconds.
    pub virtual_us: u64,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// How long everything may take to recover, in microseconds: the longest lease, the longest pauses
/// between attempts, and a round of scouting.
const RECOVERY_US: u64 = 45_000_000;
/// Steps between two rests at least, and how many more at most.
const STEPS_BETWEEN_RESTS: u64 = 25;

impl Swarm {
    /// Lets a seed run to its end, or to its failure.
    #[must_use]
    pub fn run(&self, seed: u64) -> Outcome {
        let chosen = &PROFILES[seed as usize % PROFILES.len()];
        let profile = self.profile.unwrap_or(chosen);
        let mut sim = Sim::new(seed);
        sim.trace.on = self.trace;
        let run = catch_unwind(AssertUnwindSafe(|| self.live(profile, &mut sim)));
        let failure = run.err().map(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_else(|| "a panic without words".into())
        });
        Outcome {
            seed,
            profile: profile.name,
            events: sim.steps(),
            virtual_us: sim.now_us(),
            failure,
        }
    }

    fn live(&self, profile: &'static Profile, sim: &mut Sim) {
        let mut rng = Rng::new(sim.seed() ^ 0xA5A5_5A5A_F00D_CAFE);
        let nodes = topology::build(sim, &mut rng, profile, self.nodes.max(2));
        let mut swarm = Living { profile, rng, nodes, apps: Apps::default() };
        swarm.rest(sim);
        let mut until_rest = 0;
        for _ in 0..self.steps {
            swarm.step(sim);
            if until_rest == 0 {
                swarm.rest(sim);
                until_rest = swarm.rng.between(STEPS_BETWEEN_RESTS, 2 * STEPS_BETWEEN_RESTS);
            }
            until_rest -= 1;
        }
        swarm.rest(sim);
        sim.finish();
    }
}

/// A swarm in the middle of its life.
struct Living {
    profile: &'static Profile,
    rng: Rng,
    nodes: Vec<NodeRef>,
    apps: Apps,
}

impl Living {
    fn step(&mut self, sim: &mut Sim) {
        if self.rng.chance(self.profile.fault_percent) {
            self.break_something(sim);
        } else if let Some(node) = self.running(sim) {
            if self.profile.rules && self.rng.chance(20) {
                sim.set_rules(node, Some(rules::any(&mut self.rng)));
            }
            self.apps.act(sim, &mut self.rng, self.profile, node);
        }
        let pause_us = self.rng.below(self.profile.pause_us_max);
        sim.run_for(pause_us);
    }

    fn running(&mut self, sim: &Sim) -> Option<NodeRef> {
        let running: Vec<NodeRef> =
            self.nodes.iter().copied().filter(|node| sim.is_running(*node)).collect();
        (!running.is_empty()).then(|| *self.rng.pick(&running))
    }

    fn break_something(&mut self, sim: &mut Sim) {
        let Some(node) = self.running(sim) else { return };
        let other = *self.rng.pick(&self.nodes);
        let long_us = self.rng.between(1_000, 25_000_000);
        let faults = self.profile.faults;
        let mut choice = self.rng.below(faults.sum().max(1));
        let mut next = |weight: u64| {
            let chosen = choice < weight;
            choice = choice.wrapping_sub(weight);
            chosen
        };
        if next(faults.reset) {
            sim.reset(node, other);
        } else if next(faults.cut) {
            sim.cut(node, other);
            sim.plan_fault(long_us, Later::Heal(node.0, other.0));
        } else if next(faults.cut_one_way) {
            sim.cut_one_way(node, other);
            sim.plan_fault(long_us, Later::Heal(node.0, other.0));
        } else if next(faults.kill) {
            sim.kill(node);
            sim.plan_fault(long_us, Later::Restart(node.0));
        } else if next(faults.power_off) {
            sim.power_off(node);
            sim.plan_fault(long_us, Later::Restart(node.0));
        } else if next(faults.close) {
            sim.close(node);
            if self.rng.chance(50) {
                sim.restart_as_another(node);
            } else {
                sim.plan_fault(long_us, Later::Restart(node.0));
            }
        } else if next(faults.slow) {
            let bytes_per_s = *self.rng.pick(&[0, 1_000, 100_000]);
            sim.slow_down(node, bytes_per_s);
            sim.plan_fault(long_us / 4, Later::ReadFast(node.0));
        }
    }

    /// All faults end. When everything has had the time to recover, it must have.
    fn rest(&mut self, sim: &mut Sim) {
        sim.heal_all();
        for &node in &self.nodes {
            sim.speed_up(node);
            if !sim.is_running(node) {
                sim.restart(node);
            }
        }
        self.apps.forget_dead(sim);
        sim.run_for(if sim.disturbed { RECOVERY_US } else { 5_000_000 });
        sim.settle();
        sim.disturbed = false;
        self.check_connections(sim);
        sim.verify();
        self.apps.check(sim, &mut self.rng, &self.nodes);
    }

    /// Whoever is configured to be connected is connected.
    fn check_connections(&self, sim: &Sim) {
        for &node in &self.nodes {
            let neighbours = sim.neighbours(node);
            for target in sim.configured(node) {
                let reached = target.iter().any(|other| neighbours.contains(other));
                let is_client = sim.is_client(node);
                let served = is_client && neighbours.len() == 1;
                if !reached && !served {
                    sim.fail(&format!("{node:?} is not connected to any of {target:?}"));
                }
            }
            if sim.is_client(node) && neighbours.len() > 1 {
                sim.fail(&format!("client {node:?} is connected to {neighbours:?}"));
            }
        }
        if self.profile.scouting {
            let found = self.nodes.iter().filter(|node| sim.is_scouting_peer(**node));
            let found: Vec<NodeRef> = found.copied().collect();
            for a in &found {
                for b in found.iter().filter(|b| *b != a) {
                    if !sim.are_connected(*a, *b) {
                        sim.fail(&format!("{a:?} and {b:?} have not found each other"));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each profile is reached by some seed, and the same seed does the same twice.
    #[test]
    fn seeds_choose_profiles_and_repeat() {
        let swarm = Swarm { nodes: 3, steps: 10, ..Swarm::default() };
        for (seed, profile) in PROFILES.iter().enumerate() {
            let outcome = swarm.run(seed as u64);
            assert_eq!(outcome.profile, profile.name);
            assert_eq!(outcome.failure, None);
            assert_eq!(swarm.run(seed as u64), outcome);
        }
    }

    #[test]
    fn a_failure_names_its_seed() {
        let sim = Sim::new(77);
        let run = catch_unwind(AssertUnwindSafe(|| sim.fail("on purpose")));
        let panic = run.unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("seed 77") && text.contains("on purpose"), "{text}");
    }
}
