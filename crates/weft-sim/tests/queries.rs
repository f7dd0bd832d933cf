//! Queries: who is asked, what comes back, and that it always ends. Scenarios 23 and 25 to 28 of
//! 03 §12.

use weft_node::{Locality, QueryScope};
use weft_sim::{Answer, Get, NodeRef, Sim};
use weft_wire::{Consolidation, QueryTarget};

fn says(payload: &str) -> Answer {
    Answer::Reply { payload: payload.into(), after_us: 0 }
}

fn target(target: QueryTarget) -> Get {
    Get { target, ..Get::default() }
}

/// Clients of one router.
fn clients<const N: usize>(sim: &mut Sim) -> (NodeRef, [NodeRef; N]) {
    let router = sim.router("r").start();
    let clients = std::array::from_fn(|i| sim.client(&format!("c{i}")).connect([router]).start());
    sim.settle();
    (router, clients)
}

#[test]
fn a_query_finds_its_queryables_and_ends() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, one, other]) = clients(sim);
        sim.queryable(one, "q/1", false, says("one"));
        sim.queryable(other, "q/*", false, says("other"));
        sim.queryable(other, "elsewhere", false, says("never"));
        sim.settle();
        let query = sim.get(asker, "q/**", target(QueryTarget::All));
        sim.settle();
        assert_eq!(sim.answers(query), ["q/*=other", "q/1=one"]);
        assert!(sim.took_us(query).unwrap() < 10_000);
    });
}

#[test]
fn a_query_without_a_queryable_ends_at_once() {
    Sim::seeds(0..20).run(|sim| {
        let (router, [asker]) = clients(sim);
        let alone = sim.peer("alone").start();
        let queries = [asker, router, alone].map(|node| sim.get(node, "q", Get::default()));
        sim.run_for(5_000);
        for query in queries {
            assert!(sim.took_us(query).unwrap() < 5_000);
            assert!(sim.answers(query).is_empty() && !sim.timed_out(query));
        }
    });
}

/// Two complete queryables in different places: exactly one is asked, the nearer one.
#[test]
fn the_best_match_is_one() {
    Sim::seeds(0..20).run(|sim| {
        let a = sim.peer("a").start();
        let b = sim.peer("b").connect([a]).start();
        let c = sim.peer("c").connect([a]).start();
        let client = sim.client("d").connect([b]).start();
        sim.queryable(b, "q/**", true, says("b"));
        sim.queryable(c, "q/**", true, says("c"));
        sim.queryable(client, "q/**", true, says("client"));
        sim.settle();
        let best = sim.get(a, "q/1", target(QueryTarget::BestMatching));
        let all = sim.get(a, "q/1", target(QueryTarget::All));
        let own = sim.get(b, "q/1", target(QueryTarget::BestMatching));
        sim.settle();
        assert_eq!(sim.replies(best).len(), 1);
        assert_eq!(sim.answers(all), ["q/**=b", "q/**=c", "q/**=client"]);
        assert_eq!(sim.answers(own), ["q/**=b"], "the session's own is the nearest");
    });
}

#[test]
fn completeness_covers_only_what_the_key_includes() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, answerer]) = clients(sim);
        sim.queryable(answerer, "m/*", true, says("x"));
        sim.settle();
        let wide = sim.get(asker, "m/**", target(QueryTarget::BestMatching));
        let wide_complete = sim.get(asker, "m/**", target(QueryTarget::AllComplete));
        let narrow = sim.get(asker, "m/1", target(QueryTarget::AllComplete));
        sim.settle();
        assert_eq!(sim.answers(wide), ["m/*=x"]);
        assert!(sim.answers(wide_complete).is_empty());
        assert_eq!(sim.answers(narrow), ["m/*=x"]);
    });
}

/// The asker and each hop run the same timer; whichever fires first, there is one error and one end.
#[test]
fn a_mute_queryable_ends_in_one_timeout() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, mute]) = clients(sim);
        sim.queryable(mute, "q", false, Answer::Mute);
        sim.settle();
        let query = sim.get(asker, "q", Get { timeout_ms: 1_000, ..Get::default() });
        sim.run_for(999_000);
        assert_eq!(sim.took_us(query), None);
        sim.run_for(2_000);
        assert!(sim.took_us(query).is_some());
        assert!(sim.timed_out(query) || sim.answers(query) == ["Timeout"]);
        sim.run_for(1_000_000);
        assert!(sim.replies(query).len() <= 1);
    });
}

#[test]
fn a_late_answer_comes_to_nobody() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, slow]) = clients(sim);
        let payload = b"late".to_vec();
        sim.queryable(slow, "q", false, Answer::Reply { payload, after_us: 700_000 });
        sim.settle();
        let query = sim.get(asker, "q", Get { timeout_ms: 500, ..Get::default() });
        let patient = sim.get(asker, "q", Get { timeout_ms: 5_000, ..Get::default() });
        sim.run_for(2_000_000);
        assert!(!sim.answers(query).contains(&"q=late".to_string()));
        assert_eq!(sim.answers(patient), ["q=late"]);
    });
}

/// The node of the only queryable goes while the query is under way: the end, and no error.
#[test]
fn a_queryable_that_dies_ends_the_query() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, mute, other]) = clients(sim);
        sim.queryable(mute, "q", false, Answer::Mute);
        sim.queryable(other, "q", false, says("still here"));
        sim.settle();
        let query = sim.get(asker, "q", target(QueryTarget::All));
        sim.run_for(100_000);
        assert_eq!(sim.took_us(query), None);
        if sim.seed() % 2 == 0 {
            sim.kill(mute);
        } else {
            sim.close(mute);
        }
        sim.run_for(100_000);
        assert_eq!(sim.answers(query), ["q=still here"]);
        assert!(sim.took_us(query).is_some() && !sim.timed_out(query));
    });
}

#[test]
fn a_broker_that_dies_ends_the_queries_that_went_through_it() {
    Sim::seeds(0..20).run(|sim| {
        let (router, [asker, mute]) = clients(sim);
        sim.queryable(mute, "q", false, Answer::Mute);
        sim.settle();
        let query = sim.get(asker, "q", Get::default());
        sim.run_for(100_000);
        sim.kill(router);
        sim.run_for(100_000);
        assert!(sim.took_us(query).is_some());
    });
}

#[test]
fn errors_and_silence_are_answers() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, one, other]) = clients(sim);
        sim.queryable(one, "q", false, Answer::Error { payload: b"bad".to_vec() });
        sim.queryable(other, "q", false, Answer::Nothing);
        sim.settle();
        let query = sim.get(asker, "q", target(QueryTarget::All));
        sim.settle();
        assert_eq!(sim.answers(query), ["bad"]);
        assert!(!sim.timed_out(query));
    });
}

#[test]
fn localities_and_scopes_are_kept() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [here, there]) = clients(sim);
        let inside = sim.queryable_for(here, "q", true, says("inside"), Locality::SessionLocal);
        sim.queryable_for(here, "q", true, says("outside"), Locality::Remote);
        sim.queryable(there, "q", false, says("there"));
        sim.settle();
        let own = sim.get(here, "q", target(QueryTarget::BestMatching));
        let foreign = sim.get(there, "q", target(QueryTarget::BestMatching));
        let remote = Get { scope: QueryScope::Remote, ..target(QueryTarget::All) };
        let local = Get { scope: QueryScope::Local, ..target(QueryTarget::All) };
        let remote = sim.get(here, "q", remote);
        let local = sim.get(here, "q", local);
        sim.settle();
        assert_eq!(sim.answers(own), ["q=inside"], "complete, and the only one that may answer");
        // Its own is no complete one, and it has not asked what its router has.
        assert_eq!(sim.answers(foreign), ["q=outside", "q=there"]);
        assert_eq!(sim.answers(remote), ["q=there"]);
        assert_eq!(sim.answers(local), ["q=inside"]);
        assert_eq!(sim.asked(inside), 2);
    });
}

#[test]
fn a_cancelled_query_is_over() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, slow]) = clients(sim);
        let payload = b"late".to_vec();
        sim.queryable(slow, "q", false, Answer::Reply { payload, after_us: 100_000 });
        sim.settle();
        let query = sim.get(asker, "q", Get::default());
        sim.run_for(10_000);
        sim.cancel(query);
        sim.run_for(1_000_000);
        assert!(sim.answers(query).is_empty());
        assert_eq!(sim.tables(asker).queries, 0);
    });
}

#[test]
fn the_latest_reply_per_key_is_enough_if_so_asked() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, one, other]) = clients(sim);
        sim.queryable(one, "q", false, says("one"));
        sim.queryable(other, "q", false, says("other"));
        sim.settle();
        let latest = Get { consolidation: Consolidation::Latest, ..target(QueryTarget::All) };
        let query = sim.get(asker, "q", latest);
        sim.settle();
        assert_eq!(sim.replies(query).len(), 1);
    });
}

#[test]
fn queriers_match_what_they_ask_for() {
    Sim::seeds(0..20).run(|sim| {
        let (_, [asker, answerer]) = clients(sim);
        let any = sim.querier(asker, "q/1", QueryTarget::All);
        let complete = sim.querier(asker, "q/1", QueryTarget::AllComplete);
        let partial = sim.queryable(answerer, "q/*", false, says("partial"));
        sim.settle();
        assert!(sim.is_querier_matching(any) && !sim.is_querier_matching(complete));
        let query = sim.get(asker, "q/1", target(QueryTarget::AllComplete));
        sim.settle();
        assert!(sim.answers(query).is_empty());
        sim.undeclare_queryable(partial);
        sim.queryable(answerer, "q/**", true, says("complete"));
        sim.settle();
        assert!(sim.is_querier_matching(any) && sim.is_querier_matching(complete));
        sim.undeclare_querier(any);
    });
}
