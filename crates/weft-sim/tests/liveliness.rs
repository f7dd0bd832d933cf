//! Liveliness: tokens appear once and go once. Scenarios 16 and 29 of 03 §12.

use weft_sim::{NodeRef, Sim};

fn network(sim: &mut Sim) -> (NodeRef, NodeRef, NodeRef, NodeRef) {
    let router = sim.router("r").start();
    let peer = sim.peer("p").connect([router]).start();
    let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
    sim.settle();
    (router, peer, c1, c2)
}

#[test]
fn a_token_of_several_owners_goes_with_the_last() {
    Sim::seeds(0..20).run(|sim| {
        let (router, peer, c1, c2) = network(sim);
        let watchers = [router, peer, c2].map(|node| sim.watch_tokens(node, "t/**", true));
        sim.settle();
        let [first, second] = [0; 2].map(|_| sim.token(c1, "t/x"));
        let third = sim.token(peer, "t/x");
        sim.settle();
        sim.undeclare_token(first);
        sim.undeclare_token(third);
        sim.settle();
        for watcher in watchers {
            assert_eq!(sim.token_changes_of(watcher), ["+t/x"]);
        }
        sim.undeclare_token(second);
        sim.settle();
        for watcher in watchers {
            assert_eq!(sim.token_changes_of(watcher), ["+t/x", "-t/x"]);
        }
    });
}

#[test]
fn history_decides_whether_existing_tokens_are_told() {
    Sim::seeds(0..20).run(|sim| {
        let (_, peer, c1, c2) = network(sim);
        let old = sim.token(c1, "t/old");
        sim.token(c2, "t/own");
        sim.settle();
        for node in [peer, c2] {
            let with = sim.watch_tokens(node, "t/*", true);
            let without = sim.watch_tokens(node, "t/*", false);
            sim.settle();
            let mut told = sim.token_changes_of(with);
            told.sort();
            assert_eq!(told, ["+t/old", "+t/own"]);
            assert_eq!(sim.token_changes_of(without), [""; 0]);
            sim.unwatch_tokens(with);
            if node == c2 {
                sim.undeclare_token(old);
                sim.settle();
                assert_eq!(sim.token_changes_of(without), ["-t/old"], "its end is told");
            }
        }
    });
}

#[test]
fn a_get_lists_what_is_alive_once() {
    Sim::seeds(0..20).run(|sim| {
        let (router, peer, c1, c2) = network(sim);
        for (node, key) in [(c1, "t/1"), (peer, "t/2"), (c2, "t/2"), (router, "t/3")] {
            sim.token(node, key);
        }
        sim.settle();
        for node in [router, peer, c1, c2] {
            let get = sim.get_tokens(node, "t/*", 1_000);
            sim.settle();
            assert_eq!(sim.answers(get), ["t/1=", "t/2=", "t/3="], "at {}", sim.name(node));
            assert!(!sim.timed_out(get));
        }
        let none = sim.get_tokens(c1, "elsewhere/**", 1_000);
        sim.settle();
        assert!(sim.answers(none).is_empty() && sim.took_us(none).unwrap() < 10_000);
    });
}

#[test]
fn a_token_dies_with_its_node_however_that_ends() {
    Sim::seeds(0..20).run(|sim| {
        let (router, _, c1, c2) = network(sim);
        let watcher = sim.watch_tokens(c2, "t/*", true);
        sim.token(c1, "t/1");
        sim.settle();
        match sim.seed() % 3 {
            0 => sim.close(c1),
            1 => sim.kill(c1),
            _ => {
                sim.power_off(c1);
                sim.run_for(9_000_000);
                assert_eq!(sim.token_changes_of(watcher), ["+t/1"], "nobody knows yet");
                sim.run_for(2_000_000);
            }
        }
        sim.settle();
        assert_eq!(sim.token_changes_of(watcher), ["+t/1", "-t/1"]);
        assert!(!sim.are_connected(router, c1));
    });
}

/// A watcher whose router restarts: what was far goes and comes again, what is its own stays.
#[test]
fn tokens_come_back_with_the_connection() {
    Sim::seeds(0..20).run(|sim| {
        let (router, _, c1, c2) = network(sim);
        sim.token(c1, "t/far");
        sim.token(c2, "t/own");
        sim.settle();
        let watcher = sim.watch_tokens(c2, "t/*", true);
        sim.settle();
        sim.kill(router);
        sim.settle();
        sim.restart(router);
        sim.run_for(5_000_000);
        sim.settle();
        let mut told = sim.token_changes_of(watcher);
        told[..2].sort();
        assert_eq!(told, ["+t/far", "+t/own", "-t/far", "+t/far"]);
    });
}

/// A get at a peer whose fellow peer is still telling what it has.
#[test]
fn a_get_during_the_first_exchange_misses_nothing() {
    Sim::seeds(0..20).run(|sim| {
        let a = sim.peer("a").start();
        sim.token(a, "t/1");
        let b = sim.peer("b").connect([a]).start();
        assert!(sim.run_until(1_000_000, |sim| sim.neighbours(b).contains(&a)));
        let get = sim.get_tokens(b, "t/*", 1_000);
        sim.settle();
        assert_eq!(sim.answers(get), ["t/1="]);
    });
}

#[test]
fn a_get_ends_when_nobody_answers() {
    Sim::seeds(0..20).run(|sim| {
        let (router, _, c1, _) = network(sim);
        sim.cut(router, c1);
        let get = sim.get_tokens(c1, "t/*", 700);
        let cancelled = sim.get_tokens(c1, "t/*", 700);
        sim.cancel(cancelled);
        sim.run_for(710_000);
        assert!(sim.timed_out(get));
        assert_eq!(sim.took_us(get), Some(700_000));
        sim.heal(router, c1);
        sim.run_for(1_000_000);
        assert_eq!(sim.footprint(c1).token_queries, 0);
    });
}
