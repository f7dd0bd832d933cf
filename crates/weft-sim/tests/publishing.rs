//! Publishers: what leaves the node, and when something matches. Scenarios 20 and 21 of 03 §12.

use weft_node::Locality;
use weft_sim::{NodeRef, PutOutcome, Sim};
use weft_wire::Priority;

/// A client on each side of a router.
fn two_clients(sim: &mut Sim) -> (NodeRef, NodeRef, NodeRef) {
    let router = sim.router("r").start();
    let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
    sim.settle();
    (router, c1, c2)
}

fn sorted(mut payloads: Vec<String>) -> Vec<String> {
    payloads.sort();
    payloads
}

#[test]
fn nothing_leaves_the_node_while_nobody_subscribes() {
    Sim::seeds(0..20).run(|sim| {
        let (router, writer, reader) = two_clients(sim);
        let publisher = sim.publisher(writer, "k/1");
        sim.settle();
        assert!(!sim.is_matching(publisher));
        let before = sim.received_by(router);
        sim.publish(publisher, b"unwanted");
        sim.run_for(10_000);
        assert_eq!(sim.received_by(router), before);

        let sub = sim.subscribe(reader, "k/*");
        sim.settle();
        assert!(sim.is_matching(publisher));
        sim.publish(publisher, b"wanted");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["wanted"]);

        sim.unsubscribe(sub);
        sim.settle();
        assert!(!sim.is_matching(publisher));
        let before = sim.received_by(router);
        sim.publish(publisher, b"unwanted again");
        sim.run_for(10_000);
        assert_eq!(sim.received_by(router), before);
    });
}

/// Right after its declaration, a publisher does not know who is interested, and loses nothing.
#[test]
fn a_put_right_after_the_declaration_is_not_lost() {
    Sim::seeds(0..20).run(|sim| {
        let (_, writer, reader) = two_clients(sim);
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        let publisher = sim.publisher(writer, "k");
        sim.publish(publisher, b"first");
        sim.settle();
        sim.publish(publisher, b"second");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["first", "second"]);
    });
}

#[test]
fn a_late_subscriber_gets_what_is_published_after_it() {
    Sim::seeds(0..20).run(|sim| {
        let (_, writer, reader) = two_clients(sim);
        let publisher = sim.publisher(writer, "k");
        sim.settle();
        sim.publish(publisher, b"too early");
        let sub = sim.subscribe(reader, "**");
        sim.settle();
        sim.publish(publisher, b"in time");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["in time"]);
    });
}

/// A publisher of a client, a subscriber behind a peer: the client learns of it through two hops.
#[test]
fn matching_is_known_across_a_router_and_a_peer() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let peer = sim.peer("p").connect([router]).start();
        let writer = sim.client("c1").connect([router]).start();
        let reader = sim.client("c2").connect([peer]).start();
        let upwards = sim.publisher(reader, "up");
        let downwards = sim.publisher(writer, "down");
        sim.settle();
        assert!(!sim.is_matching(upwards) && !sim.is_matching(downwards));
        let (up, down) = (sim.subscribe(writer, "up"), sim.subscribe(reader, "down"));
        sim.settle();
        assert!(sim.is_matching(upwards) && sim.is_matching(downwards));
        sim.publish(upwards, b"u");
        sim.publish(downwards, b"d");
        sim.settle();
        assert_eq!((sim.payloads(up), sim.payloads(down)), (vec!["u".into()], vec!["d".into()]));
        sim.kill(reader);
        sim.settle();
        assert!(!sim.is_matching(downwards));
    });
}

#[test]
fn localities_are_kept() {
    Sim::seeds(0..20).run(|sim| {
        let (_, here, there) = two_clients(sim);
        let own = sim.subscribe_to(here, "k", Locality::SessionLocal);
        let foreign = sim.subscribe_to(here, "k", Locality::Remote);
        let far = sim.subscribe(there, "k");
        let to_session = sim.publisher_to(here, "k", Locality::SessionLocal);
        let to_others = sim.publisher_to(here, "k", Locality::Remote);
        sim.settle();
        assert!(sim.is_matching(to_session) && sim.is_matching(to_others));
        sim.publish(to_session, b"inside");
        sim.publish(to_others, b"outside");
        sim.put(there, "k", b"from outside");
        sim.settle();
        assert_eq!(sim.payloads(own), ["inside"]);
        assert_eq!(sim.payloads(foreign), ["from outside"]);
        assert_eq!(sorted(sim.payloads(far)), ["from outside", "outside"]);
        sim.unsubscribe(far);
        sim.settle();
        assert!(!sim.is_matching(to_others), "the session's own subscribers don't count");
    });
}

/// Each priority and each reliability is a channel of its own; each keeps its order.
#[test]
fn all_channels_deliver_in_order() {
    Sim::seeds(0..20).run(|sim| {
        let (_, writer, reader) = two_clients(sim);
        let sub = sim.subscribe(reader, "**");
        let mut publishers: Vec<_> = Priority::ALL[1..]
            .iter()
            .map(|priority| {
                let key = format!("k/{}", *priority as u8);
                sim.publisher_with(writer, &key, *priority, weft_wire::CongestionControl::Block)
            })
            .collect();
        publishers.push(sim.best_effort_publisher(writer, "k/best_effort"));
        sim.settle();
        for round in 0..20 {
            for publisher in &publishers {
                assert_eq!(sim.publish(*publisher, &[round]), PutOutcome::Sent);
            }
        }
        sim.settle();
        assert_eq!(sim.samples(sub).len(), 20 * publishers.len());
        let best_effort = sim
            .samples(sub)
            .iter()
            .filter(|sample| sample.reliability == weft_wire::Reliability::BestEffort);
        assert_eq!(best_effort.count(), 20);
    });
}

/// Payloads larger than a batch, on a link whose batches are tiny.
#[test]
fn large_payloads_are_put_together_again() {
    Sim::seeds(0..10).run(|sim| {
        let batch_size = 64 + sim.seed() as u16 * 50;
        let router = sim.router("r").batch_size(batch_size).start();
        let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
        let sub = sim.subscribe(c2, "k");
        sim.settle();
        let publisher =
            sim.publisher_with(c1, "k", Priority::Data, weft_wire::CongestionControl::Block);
        sim.settle();
        let payload: Vec<u8> = (0..100_000_u32).map(|i| i as u8).collect();
        sim.publish(publisher, &payload);
        sim.publish(publisher, b"small");
        sim.settle();
        let got = sim.samples(sub);
        assert_eq!(got.len(), 2);
        assert_eq!(got[0].payload.as_deref(), Some(&payload[..]));
    });
}

/// Declared keys travel as numbers; when those run out, as text, and nothing is lost.
#[test]
fn expression_ids_run_out_without_harm() {
    Sim::seeds(0..1).run(|sim| {
        let (_, writer, reader) = two_clients(sim);
        let sub = sim.subscribe(reader, "k/**");
        sim.settle();
        for i in 0..65_600 {
            sim.name_key(writer, &format!("k/{i}"));
        }
        sim.settle();
        for i in [0, 65_000, 65_599] {
            sim.put_expected(writer, &format!("k/{i}"), b"x");
        }
        sim.settle();
        assert_eq!(sim.samples(sub).len(), 3);
    });
}
