//! Several routers, and peers that are linked only through others: scenarios 7 to 24 of 03 §12, as far
//! as they are about routing between nodes, and what the reference does not do.

use weft_sim::{Answer, Get, Medium, NodeRef, Sim};

/// Routers of which each is connected to the one before.
fn line<const N: usize>(sim: &mut Sim) -> [NodeRef; N] {
    let mut before: Option<NodeRef> = None;
    std::array::from_fn(|at| {
        let router = sim.router(&format!("r{at}")).connect(before).start();
        before = Some(router);
        router
    })
}

/// A ring: r0 and r3 are opposite each other.
fn diamond(sim: &mut Sim) -> [NodeRef; 4] {
    let r0 = sim.router("r0").start();
    let [r1, r2] = ["r1", "r2"].map(|name| sim.router(name).connect([r0]).start());
    let r3 = sim.router("r3").connect([r1]).connect([r2]).start();
    [r0, r1, r2, r3]
}

fn client(sim: &mut Sim, name: &str, of: NodeRef) -> NodeRef {
    sim.client(name).connect([of]).start()
}

/// Scenarios 8 and 9.
#[test]
fn samples_cross_a_line_of_routers_once() {
    Sim::seeds(0..20).run(|sim| {
        let [r0, _, r2] = line(sim);
        let (c0, p2) = (client(sim, "c0", r0), sim.peer("p2").no_mesh().connect([r2]).start());
        let subs = ["k/**", "k/*"].map(|key| sim.subscribe(p2, key));
        sim.settle();
        sim.verify();
        sim.put_expected(c0, "k/1", b"x");
        sim.put_expected(c0, "k/**", b"wild");
        sim.settle();
        for sub in subs {
            assert_eq!(sim.payloads(sub), ["x", "wild"]);
            assert!(sim.samples(sub)[0].timestamp.is_some());
        }
    });
}

/// Scenario 11: while a publisher goes on, a router on the way is killed.
#[test]
fn a_dead_router_is_gone_around() {
    Sim::seeds(0..50).run(|sim| {
        let [r0, r1, r2, r3] = diamond(sim);
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r3));
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        let killed = if sim.seed() % 2 == 0 { r1 } else { r2 };
        for number in 0..100_u8 {
            if number == 50 {
                sim.kill(killed);
            }
            sim.put(publisher, "k", &[number]);
            sim.run_for(10_000);
        }
        sim.settle();
        let got = sim.samples(sub).len();
        assert!(got >= 97, "{got} of 100 with the kill in the middle");
        sim.verify();
        sim.put_expected(publisher, "k", b"after");
        sim.settle();
    });
}

/// Of two ways the faster one is taken, though it has more links; and the other one once that has become faster.
#[test]
fn samples_take_the_way_that_was_measured_to_be_faster() {
    Sim::seeds(0..20).run(|sim| {
        let fast = Medium { latency_us: 500, jitter_us: 50, ..Medium::default() };
        let slow = Medium { latency_us: 20_000, ..fast };
        sim.set_medium(fast);
        let r0 = sim.router("r0").by_latency().start();
        let r1 = sim.router("r1").by_latency().connect([r0]).start();
        let r2 = sim.router("r2").by_latency().connect([r0]).connect([r1]).start();
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r2));
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        let takes = |sim: &mut Sim, us: u64| {
            let (before, begin_us) = (sim.samples(sub).len(), sim.now_us());
            sim.put(publisher, "k", b"x");
            assert!(sim.run_until(1_000_000, |sim| sim.samples(sub).len() > before));
            let took_us = sim.now_us() - begin_us;
            assert!((us / 2..us * 2).contains(&took_us), "{took_us} instead of {us} us");
        };
        takes(sim, 1_500);
        sim.set_medium(slow);
        sim.reset(r0, r2);
        sim.run_for(20_000_000);
        sim.settle();
        // Through r1, and not over the one link that there is now.
        takes(sim, 2_000);
        sim.reset(r0, r1);
        sim.reset(r1, r2);
        sim.run_for(20_000_000);
        sim.settle();
        takes(sim, 21_000);
        sim.verify();
    });
}

/// Scenario 15: two halves, each with declarations of its own that the other has not heard of.
#[test]
fn two_halves_that_meet_again_know_everything() {
    Sim::seeds(0..20).run(|sim| {
        let [r0, r1, r2, r3] = line(sim);
        let (c0, c3) = (client(sim, "c0", r0), client(sim, "c3", r3));
        sim.settle();
        sim.cut(r1, r2);
        sim.run_for(30_000_000);
        let subs = [sim.subscribe(c0, "k"), sim.subscribe(c3, "k")];
        let token = sim.token(c3, "t");
        let watcher = sim.watch_tokens(c0, "t", true);
        sim.settle();
        sim.verify();
        sim.heal(r1, r2);
        sim.run_for(10_000_000);
        sim.settle();
        sim.verify();
        sim.put_expected(c0, "k", b"0");
        sim.put_expected(r2, "k", b"2");
        sim.settle();
        assert!(subs.iter().all(|sub| sim.samples(*sub).len() == 2));
        sim.undeclare_token(token);
        sim.settle();
        assert_eq!(sim.token_changes_of(watcher), ["+t", "-t"]);
    });
}

/// The same, and the far end of one half is a router that does not know of offers.
#[test]
fn a_half_with_a_router_of_another_kind_knows_everything_when_they_meet_again() {
    Sim::seeds(0..50).run(|sim| {
        let r0 = sim.router("r0").start();
        let r1 = sim.router("r1").connect([r0]).start();
        let r2 = sim.router("r2").no_mesh().connect([r1]).start();
        let (c0, c2) = (client(sim, "c0", r0), client(sim, "c2", r2));
        sim.settle();
        sim.cut(r0, r1);
        sim.run_for(30_000_000);
        let subs = [sim.subscribe(c0, "k/**"), sim.subscribe(c2, "k/**")];
        sim.settle();
        sim.reset(r0, r1);
        sim.heal(r0, r1);
        sim.run_for(10_000_000);
        sim.settle();
        sim.verify();
        sim.put_expected(c0, "k/0", b"0");
        sim.put_expected(c2, "k/2", b"2");
        sim.settle();
        assert!(subs.iter().all(|sub| sim.samples(*sub).len() == 2));
    });
}

/// Scenario 40: a router of a ring is back, with the same identity, before anybody has missed it.
#[test]
fn a_router_that_restarts_at_once_is_believed() {
    Sim::seeds(0..50).run(|sim| {
        let [r0, r1, _, r3] = diamond(sim);
        let (publisher, reader) = (client(sim, "p", r0), client(sim, "s", r3));
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        sim.kill(r1);
        sim.restart(r1);
        sim.run_for(10_000_000);
        sim.settle();
        sim.verify();
        sim.put_expected(publisher, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

/// Scenario 7, and the literature's Mesh: peers hear each other through peers.
#[test]
fn peers_of_a_mesh_hear_each_other_through_others() {
    Sim::seeds(0..20).run(|sim| {
        let a = sim.peer("a").no_autoconnect().start();
        let b = sim.peer("b").no_autoconnect().connect([a]).start();
        let c = sim.peer("c").no_autoconnect().connect([b]).start();
        let d = sim.peer("d").no_autoconnect().connect([a]).connect([c]).start();
        let (ca, cc) = (client(sim, "ca", a), client(sim, "cc", c));
        let subs = [a, b, c, d, cc].map(|node| sim.subscribe(node, "k/**"));
        sim.settle();
        sim.verify();
        for node in [a, b, c, d, ca] {
            sim.put_expected(node, "k/1", sim.name(node).to_string().as_bytes());
        }
        sim.settle();
        for sub in subs {
            assert_eq!(sim.samples(sub).len(), 5);
        }
        assert!(!sim.are_connected(a, c));
    });
}

/// Scenario 6, better than the reference: the router stands in for a link that peers do not have.
#[test]
fn a_router_brokers_between_peers_that_cannot_reach_each_other() {
    for mesh in [true, false] {
        Sim::seeds(0..20).run(|sim| {
            let router = sim.router("r").start();
            let peers = ["p1", "p2", "p3"].map(|name| {
                let peer = sim.peer(name).deaf().no_autoconnect().connect([router]);
                if mesh { peer.start() } else { peer.no_mesh().start() }
            });
            let subs = peers.map(|peer| sim.subscribe(peer, "k"));
            sim.settle();
            sim.verify();
            for peer in peers {
                sim.put_expected(peer, "k", b"x");
            }
            sim.settle();
            assert!(subs.iter().all(|sub| sim.samples(*sub).len() == 3), "mesh: {mesh}");
        });
    }
}

/// Scenarios 17 and 18, better than the reference: a peer on two linked routers.
#[test]
fn a_peer_on_two_routers_is_heard_and_hears_once() {
    for mesh in [true, false] {
        Sim::seeds(0..20).run(|sim| {
            let [r0, r1] = line(sim);
            let peer = sim.peer("p").connect([r0]).connect([r1]);
            let peer = if mesh { peer.start() } else { peer.no_mesh().start() };
            let clients = [client(sim, "c0", r0), client(sim, "c1", r1)];
            let subs = [peer, clients[0], clients[1]].map(|node| sim.subscribe(node, "k"));
            sim.settle();
            sim.verify();
            for node in [peer, clients[0], clients[1], r0, r1] {
                sim.put_expected(node, "k", b"x");
            }
            sim.settle();
            assert!(subs.iter().all(|sub| sim.samples(*sub).len() == 5), "mesh: {mesh}");
        });
    }
}

/// What the reference loses in about half of the cases (03 §13, 8): peers without listeners and
/// clients on a random connected graph of three to five routers.
#[test]
fn everybody_hears_everybody_in_any_graph_of_routers() {
    Sim::seeds(0..200).run(|sim| {
        let seed = sim.seed();
        let mut rng = weft_sim::Rng::new(seed);
        let mut routers: Vec<NodeRef> = Vec::new();
        for at in 0..3 + seed % 3 {
            let mut builder = sim.router(&format!("r{at}"));
            let mut linked = Vec::new();
            for other in &routers {
                if rng.chance(40) {
                    linked.push(*other);
                }
            }
            if linked.is_empty() && !routers.is_empty() {
                linked.push(*rng.pick(&routers));
            }
            for other in linked {
                builder = builder.connect([other]);
            }
            routers.push(builder.start());
        }
        let mut nodes = routers.clone();
        for at in 0..6 {
            let router = *rng.pick(&routers);
            let builder = match at % 3 {
                0 => sim.client(&format!("n{at}")),
                1 => sim.peer(&format!("n{at}")).deaf(),
                _ => sim.peer(&format!("n{at}")).deaf().no_mesh(),
            };
            let builder = builder.connect([router]);
            // Some peers are on two routers.
            let other = *rng.pick(&routers);
            let both = at % 3 != 0 && other != router && rng.chance(30);
            nodes.push(if both { builder.connect([other]).start() } else { builder.start() });
        }
        let subs: Vec<_> = nodes.iter().map(|node| sim.subscribe(*node, "k/**")).collect();
        sim.settle();
        sim.verify();
        for node in &nodes {
            sim.put_expected(*node, "k/1", b"x");
        }
        sim.settle();
        for sub in subs {
            assert_eq!(sim.samples(sub).len(), nodes.len());
        }
    });
}

/// Scenario 24, better than the reference: only the nearest complete queryable is asked.
#[test]
fn a_best_matching_query_reaches_one_complete_queryable() {
    Sim::seeds(0..20).run(|sim| {
        let routers: [NodeRef; 3] = line(sim);
        let clients = [0, 1, 2].map(|at| client(sim, &format!("c{at}"), routers[at]));
        let far = [clients[1], clients[2]];
        let answer = Answer::Reply { payload: b"x".into(), after_us: 0 };
        let asked = far.map(|node| sim.queryable(node, "q/**", true, answer.clone()));
        sim.settle();
        let get = sim.get(clients[0], "q/1", Get::default());
        sim.settle();
        assert_eq!(sim.answers(get), ["q/**=x"]);
        assert_eq!(asked.map(|queryable| sim.asked(queryable)), [1, 0]);
    });
}
