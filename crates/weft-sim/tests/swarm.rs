//! Random networks, applications and faults, for as many seeds as an ordinary test run can afford.
//! Thousands run with `cargo xtask sim swarm --seeds 0..5000`.

use weft_sim::Swarm;

#[test]
fn two_hundred_seeds_come_through() {
    let swarm = Swarm::default();
    for seed in 0..200 {
        let outcome = swarm.run(seed);
        if let Some(failure) = outcome.failure {
            panic!(
                "profile {}: {failure}\nto repeat: cargo xtask sim replay {seed}",
                outcome.profile
            );
        }
    }
}
