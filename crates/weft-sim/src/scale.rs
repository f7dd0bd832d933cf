//! Large networks: what it costs to know what everybody declares.
//!
//! The routers are real [`weft_routing::Routing`] engines. They are driven directly, without transports,
//! sessions and checkers, which is what makes a thousand of them fit: every link is a FIFO queue of
//! encoded messages with a delay of its own, all that an engine says in one turn is one batch, and each
//! byte of it is counted. Clients are faces that declare and that nobody runs.
//!
//! After each phase every router must know exactly what exists, and samples are followed from router to
//! router: each must reach its one subscriber once, and nobody else.

mod phases;
mod shape;
mod world;

use std::time::Duration;

pub use shape::{SHAPES, Shape};

/// What measures a run from outside.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// Time since some moment.
    pub clock: fn() -> Duration,
    /// Bytes that are allocated now.
    pub allocated: fn() -> u64,
}

/// What one phase of a run cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// What happened, in words.
    pub phase: &'static str,
    /// Encoded messages between routers, in bytes.
    pub bytes: u64,
    /// Messages between routers.
    pub messages: u64,
    /// Virtual time from the change to the last message that it caused, in microseconds.
    pub converged_us: u64,
    /// Time of one processor, all routers together.
    pub cpu: Duration,
    /// Memory that the engines hold afterwards, in bytes per router.
    pub memory: u64,
}

impl Shape {
    /// Runs all phases. With `generalised`, each router tells the others of one expression that covers
    /// what its clients declare, instead of each key. `progress` is told what is done next.
    ///
    /// # Panics
    /// If a router does not know what exists, or a sample does not come exactly once.
    #[must_use]
    pub fn run(
        &self,
        generalised: bool,
        gauges: Gauges,
        progress: &mut dyn FnMut(&str),
    ) -> Vec<Measurement> {
        phases::run(self, generalised, gauges, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOPPED: Gauges = Gauges { clock: || Duration::ZERO, allocated: || 0 };

    fn run(generalised: bool) -> Vec<Measurement> {
        let shape = Shape { name: "small", routers: 12, clients: 24, keys: 240 };
        shape.run(generalised, STOPPED, &mut |_| {})
    }

    #[test]
    fn a_small_network_knows_everything_after_each_phase_and_repeats() {
        let measured = run(false);
        assert_eq!(measured, run(false));
        assert_eq!(measured.len(), 7);
        assert!(measured.iter().all(|it| it.messages > 0 && it.converged_us > 0), "{measured:?}");
    }

    #[test]
    fn one_declaration_crosses_each_link_of_its_tree_once() {
        let measured = run(false);
        for phase in ["a declaration comes", "a declaration goes"] {
            let it = measured.iter().find(|it| it.phase == phase).unwrap();
            // A number for the key and the declaration itself, to each of the other twelve.
            assert!((12..=24).contains(&it.messages), "{it:?}");
        }
    }

    #[test]
    fn a_covering_expression_spares_the_network_the_keys() {
        let (each, covered) = (run(false), run(true));
        for (each, covered) in each.iter().zip(&covered).filter(|(each, _)| each.phase == "start") {
            assert!(covered.messages * 3 < each.messages, "{covered:?} after {each:?}");
        }
        let comes = |of: &[Measurement]| of.iter().find(|it| it.phase.ends_with("comes")).cloned();
        assert_eq!(comes(&covered).map(|it| it.messages), Some(0));
    }

    /// Each of the 780 links is two changes, which 40 members hear of over 780 links.
    #[test]
    fn a_clique_that_starts_at_once_is_told_of_many_changes_together() {
        const MEMBERS: usize = 40;
        let mut world = world::World::new(1);
        let mut rng = crate::rng::Rng::new(1);
        for _ in 0..MEMBERS {
            world.add_router(None);
        }
        let mut pairs: Vec<(u64, (usize, usize))> = (0..MEMBERS)
            .flat_map(|a| (0..a).map(move |b| (b, a)))
            .map(|pair| (rng.below(100_000), pair))
            .collect();
        pairs.sort_unstable();
        for (at_us, pair) in pairs {
            world.run_until(at_us);
            world.now_us = at_us;
            world.connect(pair);
        }
        world.settle();
        let world::Counts { bytes, messages } = world.counts;
        assert!(bytes < 10_000_000 && messages < 20_000, "{bytes} bytes, {messages} messages");
    }

    #[test]
    fn a_link_that_fails_moves_no_declarations() {
        let measured = run(false);
        let [start, fails] = [&measured[0], &measured[1]];
        assert!(fails.phase == "a link fails" && fails.bytes * 10 < start.bytes, "{fails:?}");
    }
}
