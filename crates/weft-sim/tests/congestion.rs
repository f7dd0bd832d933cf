//! Readers that are too slow: whoever may be dropped is dropped, whoever blocks waits, and nobody
//! else notices.

use weft_sim::{Medium, NodeRef, PutOutcome, Sim};
use weft_wire::{CongestionControl, Priority};

const PAYLOAD: [u8; 1_000] = [7; 1_000];

/// A router with small queues and pipes between a writer, a slow reader and a fast one.
fn network(sim: &mut Sim) -> (NodeRef, NodeRef, NodeRef, NodeRef) {
    sim.set_medium(Medium { capacity: 16 << 10, ..Medium::default() });
    let small =
        |builder: weft_sim::NodeBuilder<'_>| builder.batch_size(4_096).queue_batches(1).start();
    let builder = sim.router("r");
    let router = small(builder);
    let [writer, slow, fast] = ["writer", "slow", "fast"].map(|name| {
        let builder = sim.client(name).connect([router]);
        small(builder)
    });
    sim.settle();
    (router, writer, slow, fast)
}

#[test]
fn dropping_for_a_slow_reader_does_not_slow_others() {
    Sim::seeds(0..10).run(|sim| {
        let (router, writer, slow, fast) = network(sim);
        let (at_slow, at_fast) = (sim.subscribe(slow, "k"), sim.subscribe(fast, "k"));
        sim.settle();
        sim.slow_down(slow, 0);
        for _ in 0..500 {
            assert_eq!(sim.put(writer, "k", &PAYLOAD), PutOutcome::Sent);
            sim.run_for(1_000);
        }
        assert_eq!(sim.samples(at_fast).len(), 500);
        assert!(sim.samples(at_slow).len() < 30);
        assert!(sim.dropped(router) > 400);
        let (queued, limit) = sim.queued(router);
        assert!(queued <= limit);
        sim.speed_up(slow);
        sim.run_for(100_000);
        sim.put(writer, "k", b"after");
        sim.settle();
        assert_eq!(sim.payloads(at_slow).last().unwrap(), "after");
    });
}

/// A blocking publisher waits for the slow reader behind the router, and loses nothing.
#[test]
fn blocking_publications_wait_and_all_arrive() {
    Sim::seeds(0..10).run(|sim| {
        let (_, writer, slow, _) = network(sim);
        let sub = sim.subscribe(slow, "k");
        sim.settle();
        let publisher = sim.publisher_with(writer, "k", Priority::Data, CongestionControl::Block);
        sim.settle();
        sim.slow_down(slow, 200_000);
        let mut waited = 0;
        for _ in 0..300 {
            while sim.is_held_up(writer) {
                waited += 1;
                sim.run_for(1_000);
            }
            sim.publish(publisher, &PAYLOAD);
        }
        assert!(waited > 100, "waited {waited} ms");
        sim.speed_up(slow);
        sim.run_for(1_000_000);
        assert_eq!(sim.samples(sub).len(), 300);
    });
}

/// A reader that takes nothing for five seconds is given up; its writer and all others live on.
#[test]
fn a_blocked_neighbour_is_given_up_after_five_seconds() {
    Sim::seeds(0..10).run(|sim| {
        let (router, writer, slow, fast) = network(sim);
        let (at_slow, at_fast) = (sim.subscribe(slow, "k"), sim.subscribe(fast, "k"));
        sim.settle();
        let publisher = sim.publisher_with(writer, "k", Priority::Data, CongestionControl::Block);
        sim.settle();
        sim.slow_down(slow, 0);
        for _ in 0..60 {
            sim.publish(publisher, &PAYLOAD);
            sim.run_for(1_000);
        }
        sim.run_for(4_800_000);
        assert!(sim.neighbours(router).contains(&slow));
        sim.run_for(300_000);
        assert!(!sim.neighbours(router).contains(&slow));
        sim.run_for(1_000_000);
        assert_eq!(sim.samples(at_fast).len(), 60, "nobody else lost anything");
        assert!(sim.samples(at_slow).len() < 60);
        sim.speed_up(slow);
        sim.run_for(15_000_000);
    });
}

#[test]
fn urgent_samples_overtake_a_backlog() {
    Sim::seeds(0..10).run(|sim| {
        let (_, writer, slow, _) = network(sim);
        let sub = sim.subscribe(slow, "**");
        sim.settle();
        sim.slow_down(slow, 50_000);
        for _ in 0..100 {
            sim.put(writer, "bulk", &PAYLOAD);
            sim.run_for(100);
        }
        let urgent =
            sim.publisher_with(writer, "urgent", Priority::RealTime, CongestionControl::Drop);
        sim.publish(urgent, b"!");
        sim.run_for(3_000_000);
        let keys: Vec<_> = sim.samples(sub).iter().map(|sample| sample.key.to_string()).collect();
        let at = keys.iter().position(|key| key == "urgent").unwrap();
        assert!(at < keys.len() - 1, "it overtook what was queued: {at} of {}", keys.len());
    });
}

/// More declarations than a neighbour takes: its transport is closed, the rest is not touched.
#[test]
fn a_backlog_of_declarations_is_bounded() {
    Sim::seeds(0..5).run(|sim| {
        sim.set_medium(Medium { capacity: 4 << 10, ..Medium::default() });
        let a = sim.peer("a").control_backlog(32 << 10).start();
        let b = sim.peer("b").connect([a]).start();
        sim.settle();
        sim.slow_down(b, 0);
        for i in 0..5_000 {
            sim.subscribe(a, &format!("some/long/key/{i}"));
        }
        assert!(sim.neighbours(a).is_empty());
        sim.speed_up(b);
    });
}
