//! What one neighbour may cost, and that others do not pay for it.

use weft_sim::{Answer, Get, NodeRef, Sim};
use weft_wire::QueryTarget;

/// A router with narrow limits, a good client and a greedy one.
fn network(
    sim: &mut Sim,
    narrow: impl FnOnce(&mut weft_node::Limits),
) -> (NodeRef, NodeRef, NodeRef) {
    let router = sim.router("r").configure(|config| narrow(&mut config.limits)).start();
    let [good, greedy] = ["good", "greedy"].map(|name| sim.client(name).connect([router]).start());
    sim.settle();
    (router, good, greedy)
}

fn greedy_is_out(sim: &mut Sim, router: NodeRef, good: NodeRef, greedy: NodeRef) {
    let sub = sim.subscribe(good, "fine");
    sim.run_for(100_000);
    assert!(!sim.neighbours(router).contains(&greedy));
    assert!(!sim.warnings(router).is_empty(), "the operator is told");
    sim.put(router, "fine", b"x");
    sim.run_for(100_000);
    assert_eq!(sim.payloads(sub), ["x"]);
    assert!(sim.tables(router).declarations < 50);
    sim.close(greedy);
}

#[test]
fn too_many_declarations_end_the_session_that_made_them() {
    Sim::seeds(0..10).run(|sim| {
        let (router, good, greedy) = network(sim, |limits| limits.declarations_max = 20);
        for i in 0..21 {
            match i % 3 {
                0 => drop(sim.subscribe(greedy, &format!("k/{i}"))),
                1 => drop(sim.token(greedy, &format!("k/{i}"))),
                _ => drop(sim.queryable(greedy, &format!("k/{i}"), false, Answer::Nothing)),
            }
        }
        sim.run_for(100_000);
        greedy_is_out(sim, router, good, greedy);
    });
}

#[test]
fn too_many_interests_end_the_session_that_has_them() {
    Sim::seeds(0..10).run(|sim| {
        let (router, good, greedy) = network(sim, |limits| limits.interests_max = 10);
        for i in 0..11 {
            sim.publisher(greedy, &format!("k/{i}"));
        }
        sim.run_for(100_000);
        greedy_is_out(sim, router, good, greedy);
    });
}

#[test]
fn keys_that_take_too_much_memory_end_the_session_that_declares_them() {
    Sim::seeds(0..10).run(|sim| {
        let (router, good, greedy) = network(sim, |limits| limits.key_memory_max = 100_000);
        for i in 0..10 {
            let key = format!("{}/{i}", "x".repeat(10_000));
            sim.subscribe(greedy, &key);
        }
        sim.run_for(100_000);
        greedy_is_out(sim, router, good, greedy);
    });
}

/// Queries beyond the limit end at once, without an answer; the others go on.
#[test]
fn too_many_queries_at_once_find_nobody() {
    Sim::seeds(0..10).run(|sim| {
        let (_, good, greedy) = network(sim, |limits| limits.queries_max = 5);
        let payload = b"x".to_vec();
        sim.queryable(good, "q", false, Answer::Reply { payload, after_us: 50_000 });
        sim.settle();
        let all = Get { target: QueryTarget::All, ..Get::default() };
        let queries: Vec<_> = (0..8).map(|_| sim.get(greedy, "q", all)).collect();
        sim.settle();
        let answered = queries.iter().filter(|query| !sim.answers(**query).is_empty());
        assert_eq!(answered.count(), 5);
        let later = sim.get(greedy, "q", all);
        sim.settle();
        assert_eq!(sim.answers(later), ["q=x"]);
    });
}
