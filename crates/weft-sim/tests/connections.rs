//! Connections: two at a time, too many, too slow, silent, cut and restored.

use weft_sim::{Knock, NodeRef, Opening, Sim};
use weft_transport::{HandshakeConfig, Initiator, LinkParams, write_batch};
use weft_wire::WhatAmI;

/// Two peers that connect to each other at about the same moment, and then have two links, unless one
/// is quicker: the first tries again after a second, and finds the other starting.
fn at_once(sim: &mut Sim) -> (NodeRef, NodeRef) {
    let a = sim.peer("a").connect_names(["b"]).start();
    sim.run_for(999_900 + sim.seed() * 10);
    (a, sim.peer("b").connect([a]).start())
}

#[test]
fn a_simultaneous_open_ends_in_one_transport() {
    Sim::seeds(0..50).run(|sim| {
        let (a, b) = at_once(sim);
        let sub = sim.subscribe(b, "k");
        sim.settle();
        assert_eq!(sim.neighbours(a).len(), 1);
        assert!(sim.are_connected(a, b));
        assert!((1..=2).contains(&sim.link_count(a, b)));
        for i in 0..50 {
            sim.put_expected(a, "k", &[i]);
        }
        sim.settle();
        assert_eq!(sim.samples(sub).len(), 50);
        sim.run_for(60_000_000);
        assert!(sim.are_connected(a, b), "both links are kept alive");
    });
}

/// Either of the two links breaks: what was on its way is not missed for ever.
#[test]
fn a_transport_over_two_links_starts_anew_when_one_breaks() {
    Sim::seeds(0..50).run(|sim| {
        let (a, b) = at_once(sim);
        sim.settle();
        let sub = sim.subscribe(b, "k/**");
        sim.reset(a, b);
        sim.run_for(10_000_000);
        sim.settle();
        assert!(sim.are_connected(a, b));
        sim.verify();
        sim.put_expected(a, "k/1", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

/// The two sides write to different links: the end of one comes before what is left on the other.
#[test]
fn what_was_put_before_closing_arrives_over_two_links() {
    let with_two_links = std::cell::Cell::new(0);
    Sim::seeds(0..50).run(|sim| {
        let (a, b) = at_once(sim);
        let (to_a, to_b) = (sim.subscribe(a, "a"), sim.subscribe(b, "b"));
        sim.settle();
        with_two_links.set(with_two_links.get() + usize::from(sim.link_count(a, b) == 2));
        let (closes, key, reads) =
            if sim.seed() % 2 == 0 { (a, "b", to_b) } else { (b, "a", to_a) };
        for i in 0..200 {
            sim.put(closes, key, &[i; 100]);
        }
        sim.close(closes);
        sim.settle();
        assert_eq!(sim.samples(reads).len(), 200);
        assert_eq!(sim.neighbours(if closes == a { b } else { a }).len(), 0);
    });
    assert!(with_two_links.get() > 5, "{} of 50 seeds", with_two_links.get());
}

#[test]
fn a_reconnection_restores_everything() {
    Sim::seeds(0..30).run(|sim| {
        let router = sim.router("r").start();
        let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
        let sub = sim.subscribe(c1, "k");
        let publisher = sim.publisher(c2, "k");
        let watcher = sim.watch_tokens(c2, "t", true);
        sim.token(c1, "t");
        sim.settle();
        match sim.seed() % 3 {
            0 => sim.reset(router, c1),
            1 => {
                sim.kill(router);
                sim.run_for(3_000_000);
                sim.restart_as_another(router);
            }
            _ => {
                sim.cut(router, c1);
                sim.run_for(30_000_000);
                sim.heal_all();
            }
        }
        sim.run_for(15_000_000);
        sim.settle();
        sim.verify();
        assert!(sim.is_matching(publisher));
        sim.publish(publisher, b"again");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["again"]);
        assert_eq!(sim.alive(watcher).len(), 1);
    });
}

/// Nothing is heard for a whole lease: the neighbour is gone, not sooner and not much later.
#[test]
fn silence_for_a_lease_is_the_end() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").lease_ms(4_000).start();
        let client = sim.client("c").lease_ms(2_000).connect([router]).start();
        sim.settle();
        sim.run_for(20_000_000);
        assert!(sim.are_connected(router, client), "keep-alives do their duty");
        sim.cut(router, client);
        sim.run_for(1_400_000);
        assert!(sim.neighbours(router).contains(&client));
        sim.run_for(700_000);
        assert!(!sim.neighbours(router).contains(&client), "the client's lease");
        assert!(sim.neighbours(client).contains(&router));
        sim.run_for(2_000_000);
        assert!(sim.neighbours(client).is_empty(), "the router's lease");
    });
}

#[test]
fn a_one_way_cut_ends_both_sides() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let client = sim.client("c").connect([router]).start();
        sim.settle();
        if sim.seed() % 2 == 0 {
            sim.cut_one_way(router, client);
        } else {
            sim.cut_one_way(client, router);
        }
        sim.run_for(25_000_000);
        assert!(!sim.are_connected(router, client));
        sim.heal_all();
        sim.run_for(15_000_000);
        assert!(sim.are_connected(router, client));
    });
}

/// A node that comes back with its old identity before its neighbours have noticed that it was gone.
#[test]
fn a_node_that_restarts_unnoticed_is_let_in() {
    Sim::seeds(0..30).run(|sim| {
        let router = sim.router("r").start();
        let client = sim.client("c").connect([router]).start();
        let reader = sim.client("reader").connect([router]).start();
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        sim.subscribe(client, "old/**");
        sim.settle();
        sim.power_off(client);
        sim.run_for(1_000_000 * (sim.seed() % 10));
        sim.restart(client);
        let back = sim.now_us();
        let connected = sim.run_until(15_000_000, |sim| sim.are_connected(router, client));
        assert!(connected, "within the lease of its old life");
        assert!(sim.now_us() - back < 12_000_000);
        sim.settle();
        sim.verify();
        sim.put(client, "k", b"back");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["back"]);
    });
}

/// The same between two peers of which the other one had dialed: its side still believes in the old
/// transport when the restarted one connects.
#[test]
fn a_restarted_peer_does_not_inherit_the_transport_of_its_old_life() {
    Sim::seeds(0..30).run(|sim| {
        let a = sim.peer("a").connect_names(["b"]).start();
        let b = sim.peer("b").connect_names(["a"]).start();
        sim.settle();
        sim.run_for(5_000_000);
        sim.power_off(b);
        sim.run_for(100_000 * (sim.seed() + 1));
        sim.restart(b);
        let sub = sim.subscribe(b, "k");
        sim.run_for(25_000_000);
        sim.settle();
        assert!(sim.are_connected(a, b));
        sim.verify();
        sim.put_expected(a, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

#[test]
fn a_client_uses_its_other_endpoint_when_the_first_is_gone() {
    Sim::seeds(0..20).run(|sim| {
        let [r1, r2] = ["r1", "r2"].map(|name| sim.router(name).start());
        let client = sim.client("c").connect([r1, r2]).start();
        let sub = sim.subscribe(client, "k");
        sim.settle();
        let used = *sim.neighbours(client).first().unwrap();
        let other = if used == r1 { r2 } else { r1 };
        assert!(sim.neighbours(other).is_empty());
        sim.kill(used);
        sim.run_for(5_000_000);
        sim.settle();
        assert!(sim.are_connected(client, other));
        sim.put_expected(other, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

/// The first endpoint accepts connections and says nothing: it must not win every race.
#[test]
fn an_endpoint_that_accepts_and_is_silent_does_not_keep_a_client_from_the_other() {
    Sim::seeds(0..20).run(|sim| {
        let mute = sim.router("mute").start();
        let good = sim.router("good").start();
        sim.slow_down(mute, 0);
        let client = sim.client("c").connect([mute, good]).start();
        sim.run_for(60_000_000);
        assert!(sim.are_connected(client, good));
        sim.speed_up(mute);
        sim.run_for(1_000_000);
    });
}

/// Configured neighbours of a client one by one: it stays with the first and does not nag the rest.
#[test]
fn a_client_with_several_neighbours_configured_keeps_to_one() {
    Sim::seeds(0..20).run(|sim| {
        let [r1, r2] = ["r1", "r2"].map(|name| sim.router(name).start());
        let client = sim.client("c").connect([r1]).connect([r2]).start();
        sim.settle();
        let used = *sim.neighbours(client).first().unwrap();
        let other = if used == r1 { r2 } else { r1 };
        sim.run_for(10_000_000);
        let before = sim.received_by(other);
        sim.run_for(60_000_000);
        assert_eq!(sim.received_by(other), before);
        sim.kill(used);
        sim.run_for(10_000_000);
        assert!(sim.are_connected(client, other));
    });
}

#[test]
fn sessions_beyond_the_limit_are_refused_and_get_in_when_there_is_room() {
    Sim::seeds(0..10).run(|sim| {
        let router = sim.router("r").configure(|config| config.sessions_max = 3).start();
        let clients: Vec<_> =
            (0..5).map(|i| sim.client(&format!("c{i}")).connect([router]).start()).collect();
        sim.run_for(20_000_000);
        assert_eq!(sim.neighbours(router).len(), 3);
        let out: Vec<_> =
            clients.iter().filter(|client| sim.neighbours(**client).is_empty()).collect();
        assert_eq!(out.len(), 2);
        let inside = *sim.neighbours(router).first().unwrap();
        sim.close(inside);
        sim.run_for(10_000_000);
        assert_eq!(sim.neighbours(router).len(), 3);
    });
}

/// A neighbour that closes each transport as soon as it is open is not dialed in a frenzy.
#[test]
fn transports_that_do_not_last_are_retried_with_growing_pauses() {
    Sim::seeds(0..10).run(|sim| {
        let router = sim.router("r").configure(|config| config.limits.declarations_max = 3).start();
        let client = sim.client("c").connect([router]).start();
        let other = sim.client("other").connect([router]).start();
        let sub = sim.subscribe(other, "k");
        for i in 0..5 {
            sim.token(client, &format!("t/{i}"));
        }
        let before = sim.steps();
        sim.run_for(60_000_000);
        assert!(sim.steps() - before < 3_000, "{} steps", sim.steps() - before);
        assert!(!sim.warnings(router).is_empty());
        sim.put(router, "k", b"not disturbed");
        sim.run_for(100_000);
        assert_eq!(sim.payloads(sub), ["not disturbed"]);
        sim.close(client);
    });
}

#[test]
fn a_client_opens_as_configured() {
    Sim::seeds(0..10).run(|sim| {
        let once = sim.client("once").connect_names(["nobody"]).start();
        let patient = sim
            .client("patient")
            .connect_names(["late"])
            .configure(|config| config.connect_timeout_us = Some(5_000_000))
            .start();
        let hopeless = sim
            .client("hopeless")
            .connect_names(["nobody"])
            .configure(|config| config.connect_timeout_us = Some(5_000_000))
            .start();
        sim.run_for(2_000_000);
        assert!(matches!(sim.opening(once), Opening::Failed(_)));
        assert_eq!(sim.opening(patient), Opening::Pending);
        let late = sim.router("late").start();
        assert_eq!(sim.opening(late), Opening::Started);
        sim.run_for(4_000_000);
        assert_eq!(sim.opening(patient), Opening::Started);
        assert!(matches!(sim.opening(hopeless), Opening::Failed(_)));
        for client in [once, hopeless] {
            sim.close(client);
        }
    });
}

#[test]
fn a_peer_opens_without_those_that_do_not_answer() {
    Sim::seeds(0..10).run(|sim| {
        let good = sim.peer("good").start();
        let peer = sim.peer("p").connect([good]).connect_names(["nobody"]).start();
        assert_eq!(sim.opening(peer), Opening::Pending);
        sim.settle();
        assert_eq!(sim.opening(peer), Opening::Started);
        assert!(sim.are_connected(peer, good));
        assert_eq!(sim.warnings(peer).len(), 1);
    });
}

/// Half-open handshakes by the thousand: some say nothing, some say INIT and then nothing.
#[test]
fn a_flood_of_half_open_handshakes_costs_the_flood() {
    Sim::seeds(0..2).run(|sim| {
        let router = sim.router("r").start();
        let client = sim.client("c").connect([router]).start();
        let sub = sim.subscribe(client, "k");
        sim.settle();
        let mut knocks: Vec<Knock> = Vec::new();
        for i in 0..10_000 {
            let knock = sim.knock(router);
            if i % 2 == 0 {
                sim.knock_write(knock, &init());
            }
            knocks.push(knock);
            if i % 10 == 0 {
                sim.run_for(1_000);
            }
            if i == 5_000 {
                let late = sim.client("late").connect([router]).start();
                knock_around(sim, router, &mut knocks);
                assert!(sim.are_connected(late, router), "a good client gets in meanwhile");
            }
        }
        let footprint = sim.footprint(router);
        assert!(footprint.pending <= 100 && footprint.timers < 200, "{footprint:?}");
        sim.put_expected(router, "k", b"x");
        sim.run_for(100_000);
        assert_eq!(sim.payloads(sub), ["x"]);
        sim.run_for(11_000_000);
        assert_eq!(sim.footprint(router).pending, 0);
        for knock in knocks {
            sim.knock_close(knock);
        }
    });
}

/// The flood goes on, one connection in 0.1 ms, while a good client shakes hands.
fn knock_around(sim: &mut Sim, router: NodeRef, knocks: &mut Vec<Knock>) {
    for i in 0..100 {
        let knock = sim.knock(router);
        if i % 2 == 0 {
            sim.knock_write(knock, &init());
        }
        knocks.push(knock);
        sim.run_for(100);
    }
}

/// An INIT as a client would send it.
fn init() -> Vec<u8> {
    let config = HandshakeConfig::new("beef".parse().unwrap(), WhatAmI::Client);
    let params = LinkParams { mtu: u16::MAX, streamed: true };
    let mut batch = Vec::new();
    let _ = Initiator::new(&config, params, None, &mut batch);
    let mut bytes = Vec::new();
    write_batch(&batch, &mut bytes);
    bytes
}

#[test]
fn garbage_ends_its_link_and_nothing_else() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let client = sim.client("c").connect([router]).start();
        sim.settle();
        for i in 0..20_u8 {
            let knock = sim.knock(router);
            let len = 1 + usize::from(i) * 3;
            let garbage: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(i) ^ i).collect();
            let mut bytes = Vec::new();
            write_batch(&garbage, &mut bytes);
            sim.knock_write(knock, &bytes);
            sim.run_for(50_000);
            assert!(sim.knock_read(knock).is_none_or(|last| last.len() < 10), "{i}");
            sim.knock_close(knock);
        }
        sim.settle();
        assert!(sim.are_connected(router, client));
        assert_eq!(sim.footprint(router).links, 1);
    });
}
