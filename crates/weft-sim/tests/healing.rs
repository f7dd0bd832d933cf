//! Networks of routers that lose nodes and links and get them back: scenarios 10, 12 to 14, 19, 22, 27
//! and 38 of 03 §12; 11, 15 and 40 are in `networks.rs`.

use weft_sim::{Answer, Get, NodeRef, Sim};
use weft_wire::QueryTarget;

const SECOND_US: u64 = 1_000_000;

fn client(sim: &mut Sim, name: &str, of: NodeRef) -> NodeRef {
    sim.client(name).connect([of]).start()
}

/// Three routers, all linked.
fn triangle(sim: &mut Sim) -> [NodeRef; 3] {
    let r0 = sim.router("r0").lease_ms(2_000).start();
    let r1 = sim.router("r1").lease_ms(2_000).connect([r0]).start();
    let r2 = sim.router("r2").lease_ms(2_000).connect([r0]).connect([r1]).start();
    [r0, r1, r2]
}

fn line(sim: &mut Sim) -> [NodeRef; 3] {
    let r0 = sim.router("r0").start();
    let r1 = sim.router("r1").connect([r0]).start();
    let r2 = sim.router("r2").connect([r1]).start();
    [r0, r1, r2]
}

/// Scenario 10: a corner says goodbye, and twenty samples follow at once.
#[test]
fn a_corner_that_closes_takes_nothing_along() {
    Sim::seeds(0..20).run(|sim| {
        let [r0, r1, r2] = triangle(sim);
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r2));
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        for _ in 0..5 {
            sim.put_expected(publisher, "k", b"before");
        }
        sim.settle();
        sim.close(r1);
        for _ in 0..20 {
            sim.put(publisher, "k", b"after");
        }
        sim.settle();
        assert_eq!(sim.samples(sub).len(), 25);
    });
}

/// Scenario 12: both ways of a diamond are gone, and one comes back.
#[test]
fn the_flow_resumes_with_the_first_way_that_is_back() {
    Sim::seeds(0..20).run(|sim| {
        let r0 = sim.router("r0").start();
        let middle = ["r1", "r2"].map(|name| sim.router(name).connect([r0]).start());
        let r3 = sim.router("r3").connect([middle[0]]).connect([middle[1]]).start();
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r3));
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        for node in middle {
            sim.kill(node);
        }
        sim.run_for(SECOND_US);
        sim.put(publisher, "k", b"nobody");
        sim.run_for(SECOND_US);
        assert!(sim.samples(sub).is_empty());
        sim.restart(middle[1]);
        // A period of the retries, which grows to 4 s, and one more second.
        let back = |sim: &Sim| [r0, r3].iter().all(|end| sim.are_connected(middle[1], *end));
        assert!(sim.run_until(5 * SECOND_US, back));
        sim.settle();
        sim.verify();
        sim.put_expected(publisher, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

/// Scenario 13: one link of a triangle falls silent, and its lease of 2 s runs out.
#[test]
fn a_frozen_link_is_gone_around_after_its_lease() {
    Sim::seeds(0..20).run(|sim| {
        let [r0, _, r2] = triangle(sim);
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r2));
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        sim.cut(r0, r2);
        let mut last = sim.samples(sub).len();
        let mut silent = 0;
        let mut longest = 0;
        for number in 0..200_u8 {
            sim.put(publisher, "k", &[number]);
            sim.run_for(SECOND_US / 50);
            let now = sim.samples(sub).len();
            silent = if now == last { silent + 1 } else { 0 };
            (last, longest) = (now, longest.max(silent));
        }
        assert!(longest <= 110, "{longest} samples in a row did not come, at 50 in a second");
        assert!(last >= 80, "{last} came of 200");
        sim.settle();
        sim.verify();
        sim.put_expected(publisher, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub).last().map(String::as_str), Some("x"));
    });
}

/// Scenario 14: a client's router is back under another identity.
#[test]
fn a_client_goes_on_when_its_router_is_back_as_another() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let (one, other) = (client(sim, "c1", router), client(sim, "c2", router));
        let sub = sim.subscribe(one, "k");
        let publisher = sim.publisher(other, "k");
        sim.settle();
        sim.kill(router);
        sim.run_for(SECOND_US);
        sim.restart_as_another(router);
        sim.run_for(10 * SECOND_US);
        sim.settle();
        sim.verify();
        assert!(sim.is_matching(publisher));
        sim.put_expected(other, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

/// Scenario 19: three overlapping subscribers behind two routers cost one message on the link between.
#[test]
fn overlapping_subscribers_cost_the_link_between_routers_one_message() {
    Sim::seeds(0..20).run(|sim| {
        let r0 = sim.router("r0").start();
        let r1 = sim.router("r1").connect([r0]).start();
        let reader = client(sim, "c", r0);
        let subs = ["k/a", "k/*", "k/**"].map(|key| sim.subscribe(reader, key));
        sim.settle();
        let payload = [b'x'; 1_000];
        let before = sim.received_by(r0);
        sim.put_expected(r1, "k/a", &payload);
        sim.settle();
        let bytes = sim.received_by(r0) - before;
        assert!((1_000..2_000).contains(&bytes), "{bytes} bytes for a payload of 1,000");
        assert!(subs.iter().all(|sub| sim.samples(*sub).len() == 1));
    });
}

/// Scenario 22: incomplete queryables behind two routers of three.
#[test]
fn incomplete_queryables_behind_routers_are_all_asked_or_none() {
    Sim::seeds(0..20).run(|sim| {
        let routers = line(sim);
        let [asker, one, other] = [0, 1, 2].map(|at| client(sim, &format!("c{at}"), routers[at]));
        for (node, key) in [(one, "q/1"), (other, "q/2")] {
            let answer = Answer::Reply { payload: b"x".into(), after_us: 0 };
            sim.queryable(node, key, false, answer);
        }
        sim.settle();
        let best = sim.get(asker, "q/*", Get::default());
        let complete =
            sim.get(asker, "q/*", Get { target: QueryTarget::AllComplete, ..Get::default() });
        sim.settle();
        assert_eq!(sim.answers(best), ["q/1=x", "q/2=x"]);
        assert!(sim.answers(complete).is_empty());
    });
}

/// Scenario 27, over two hops: whichever timer fires first, there is one error and one end.
#[test]
fn a_mute_queryable_behind_two_routers_ends_in_one_timeout() {
    Sim::seeds(0..20).run(|sim| {
        let [r0, r1, _] = line(sim);
        let (asker, mute) = (client(sim, "a", r0), client(sim, "m", r1));
        sim.queryable(mute, "q", false, Answer::Mute);
        sim.settle();
        let query = sim.get(asker, "q", Get { timeout_ms: 1_000, ..Get::default() });
        sim.run_for(SECOND_US - 1_000);
        assert_eq!(sim.took_us(query), None);
        sim.run_for(10_000);
        assert!(sim.took_us(query).is_some());
        assert!(sim.timed_out(query) || sim.answers(query) == ["Timeout"]);
        sim.run_for(SECOND_US);
        assert!(sim.replies(query).len() <= 1);
    });
}

/// Scenario 38: routers that dial each other.
#[test]
fn routers_that_dial_each_other_have_one_transport() {
    Sim::seeds(0..50).run(|sim| {
        let r0 = sim.router("r0").connect_names(["r1"]).start();
        let r1 = sim.router("r1").connect([r0]).start();
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r1));
        let sub = sim.subscribe(reader, "k");
        sim.run_for(5 * SECOND_US);
        sim.settle();
        sim.verify();
        assert!(sim.are_connected(r0, r1));
        for _ in 0..5 {
            sim.put_expected(publisher, "k", b"x");
        }
        sim.settle();
        assert_eq!(sim.samples(sub).len(), 5);
    });
}
