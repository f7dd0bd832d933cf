//! A seed tells the whole story.

use weft_sim::{Sim, Swarm};

#[test]
fn the_same_seed_gives_the_same_history() {
    let history = |seed| {
        let mut sim = Sim::new(seed);
        let router = sim.router("r").start();
        let peers = ["a", "b", "c"].map(|name| sim.peer(name).connect([router]).start());
        let subs = peers.map(|peer| sim.subscribe(peer, "**"));
        sim.settle();
        for i in 0..50 {
            sim.put(peers[i % 3], "k", &[i as u8]);
            sim.run_for(100);
        }
        sim.reset(router, peers[0]);
        sim.settle();
        let samples = subs.map(|sub| sim.samples(sub).to_vec());
        (sim.now_us(), sim.steps(), samples)
    };
    assert_eq!(history(5), history(5));
    assert_ne!(history(5), history(6), "another seed, another network");
}

#[test]
fn swarms_repeat_to_the_last_event() {
    let swarm = Swarm { steps: 60, ..Swarm::default() };
    for seed in [8, 17, 26] {
        assert_eq!(swarm.run(seed), swarm.run(seed));
    }
}
