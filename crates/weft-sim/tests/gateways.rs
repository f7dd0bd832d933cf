//! Regions and gateways: scenarios 17, 30 and 31 of 03 §12, several regions of a node, and several
//! gateways of a region.

use std::ops::Range;

use weft_node::{Gateway, NeighbourFilter, SouthRegion};
use weft_sim::{Answer, Get, NodeBuilder, NodeRef, Sim, Sub};
use weft_wire::{WhatAmI, WhatAmIMatcher};

/// Runs a scenario with peers that are members of networks, and with peers that are not.
fn with_and_without_mesh(seeds: Range<u64>, scenario: impl Fn(&mut Sim, Peers)) {
    for mesh in [true, false] {
        Sim::seeds(seeds.clone()).run(|sim| scenario(sim, Peers { mesh }));
    }
}

/// How the peers of a scenario are made.
#[derive(Clone, Copy)]
struct Peers {
    mesh: bool,
}

impl Peers {
    fn peer<'a>(self, sim: &'a mut Sim, name: &str) -> NodeBuilder<'a> {
        sim.peer(name).configure(|config| config.handshake.mesh = self.mesh)
    }
}

/// In the region `name`, serving one region of all that do not say that they are in `name`.
fn serving_others<'a>(builder: NodeBuilder<'a>, name: &str) -> NodeBuilder<'a> {
    let others = NeighbourFilter {
        region_names: Some(vec![name.into()]),
        negated: true,
        ..NeighbourFilter::default()
    };
    serving(in_region(builder, name), [others])
}

/// Serving a region for each of these.
fn serving<const N: usize>(
    builder: NodeBuilder<'_>,
    filters: [NeighbourFilter; N],
) -> NodeBuilder<'_> {
    let south = filters.map(|filter| SouthRegion { filters: Some(vec![filter]) }).into();
    builder.configure(|config| config.serve(Gateway { south }))
}

fn in_region<'a>(builder: NodeBuilder<'a>, name: &str) -> NodeBuilder<'a> {
    builder.configure(|config| config.handshake.region_name = Some(name.into()))
}

fn named(name: &str) -> NeighbourFilter {
    NeighbourFilter { region_names: Some(vec![name.into()]), ..NeighbourFilter::default() }
}

fn modes(modes: impl Into<WhatAmIMatcher>) -> NeighbourFilter {
    NeighbourFilter { modes: Some(modes.into()), ..NeighbourFilter::default() }
}

/// Each node publishes and asks once: each node gets each sample and each answer once.
fn everybody_hears_everybody(sim: &mut Sim, nodes: &[NodeRef]) {
    let subs: Vec<Sub> = nodes.iter().map(|node| sim.subscribe(*node, "k/**")).collect();
    let (mut queryables, mut tokens) = (Vec::new(), Vec::new());
    for (number, node) in nodes.iter().enumerate() {
        let answer = Answer::Reply { payload: b"x".into(), after_us: 0 };
        queryables.push(sim.queryable(*node, &format!("q/{number}"), false, answer));
        tokens.push(sim.token(*node, &format!("t/{number}")));
    }
    let watchers: Vec<_> = nodes.iter().map(|node| sim.watch_tokens(*node, "t/*", true)).collect();
    sim.settle();
    for (number, node) in nodes.iter().enumerate() {
        sim.put(*node, &format!("k/{number}"), number.to_string().as_bytes());
    }
    sim.settle();
    let mut all: Vec<String> = (0..nodes.len()).map(|number| number.to_string()).collect();
    all.sort();
    for (node, sub) in nodes.iter().zip(&subs) {
        let mut got = sim.payloads(*sub);
        got.sort();
        assert_eq!(got, all, "samples at {}", sim.name(*node));
    }
    for (node, watcher) in nodes.iter().zip(&watchers) {
        assert_eq!(sim.alive(*watcher).len(), all.len(), "tokens at {}", sim.name(*node));
    }
    for node in nodes {
        let before: u32 = queryables.iter().map(|it| sim.asked(*it)).sum();
        let get = sim.get(*node, "q/*", Get::default());
        sim.settle();
        assert_eq!(sim.answers(get).len(), all.len(), "answers at {}", sim.name(*node));
        let after: u32 = queryables.iter().map(|it| sim.asked(*it)).sum();
        assert_eq!(after - before, nodes.len() as u32, "asked by {}", sim.name(*node));
    }
    for sub in subs {
        sim.unsubscribe(sub);
    }
    for queryable in queryables {
        sim.undeclare_queryable(queryable);
    }
    for token in tokens {
        sim.undeclare_token(token);
    }
    sim.settle();
    for (node, watcher) in nodes.iter().zip(watchers) {
        assert!(sim.alive(watcher).is_empty(), "tokens at {}", sim.name(*node));
        sim.unwatch_tokens(watcher);
    }
    sim.settle();
}

/// Scenario 30. Peers that are served do not find those of another region.
#[test]
fn two_regions_of_peers_meet_through_their_gateways() {
    with_and_without_mesh(0..20, |sim, peers| {
        let g1 = serving_others(peers.peer(sim, "g1"), "main").start();
        let g2 = serving_others(peers.peer(sim, "g2"), "main").connect([g1]).start();
        let c = peers.peer(sim, "c").connect([g1]).start();
        let d = in_region(peers.peer(sim, "d").connect([g2]), "leaves").start();
        let e = sim.client("e").connect([g2]).start();
        sim.settle();
        everybody_hears_everybody(sim, &[g1, g2, c, d, e]);
        for (a, b) in [(c, g2), (d, g1), (c, d)] {
            assert!(!sim.are_connected(a, b), "{} and {}", sim.name(a), sim.name(b));
        }
        assert!(sim.are_connected(g1, g2));
    });
}

/// Peers of one served region find each other, and the gateway stays out of what is between them.
#[test]
fn peers_of_a_served_region_link_with_each_other() {
    with_and_without_mesh(0..20, |sim, peers| {
        let gateway = serving_others(peers.peer(sim, "g"), "main").start();
        let other = in_region(peers.peer(sim, "o"), "main").connect([gateway]).start();
        let inner = ["a", "b", "c"].map(|name| peers.peer(sim, name).connect([gateway]).start());
        sim.settle();
        let [a, b, c] = inner;
        assert!(sim.are_connected(a, b) && sim.are_connected(b, c) && sim.are_connected(a, c));
        assert!(!sim.are_connected(a, other));
        everybody_hears_everybody(sim, &[gateway, other, a, b, c]);
    });
}

/// Scenario 31: the gateway is a client towards its router.
#[test]
fn a_client_serves_peers_and_clients() {
    with_and_without_mesh(0..20, |sim, peers| {
        let router = sim.router("r").start();
        let south = [modes(WhatAmIMatcher::from(WhatAmI::Peer) | WhatAmI::Client)];
        let gateway = serving(sim.client("g").connect([router]).listening(), south).start();
        let peer = peers.peer(sim, "p").connect([gateway]).start();
        let inner = sim.client("i").connect([gateway]).start();
        let outer = sim.client("o").connect([router]).start();
        sim.settle();
        everybody_hears_everybody(sim, &[router, gateway, peer, inner, outer]);
        // The router is gone: those whom the gateway serves still have each other.
        sim.kill(router);
        sim.settle();
        everybody_hears_everybody(sim, &[gateway, peer, inner]);
        sim.restart(router);
        sim.run_for(10_000_000);
        everybody_hears_everybody(sim, &[router, gateway, peer, inner, outer]);
    });
}

/// All regions of a node exchange what they have, and each neighbour is in the first that takes it.
#[test]
fn several_regions_of_one_gateway() {
    with_and_without_mesh(0..20, |sim, peers| {
        let filters = [named("red"), named("blue"), modes(WhatAmI::Client)];
        for router in [false, true] {
            let suffix = if router { "r" } else { "p" };
            let name = |text: &str| format!("{text}{suffix}");
            let builder = if router { sim.router(&name("g")) } else { peers.peer(sim, &name("g")) };
            let gateway = serving(builder, filters.clone()).start();
            let member = |sim: &mut Sim, text: &str, region: &str| {
                let peer = in_region(peers.peer(sim, &name(text)), region).no_autoconnect();
                peer.connect([gateway]).start()
            };
            let red = [member(sim, "red1", "red"), member(sim, "red2", "red")];
            let blue = member(sim, "blue", "blue");
            let client = sim.client(&name("c")).connect([gateway]).start();
            let upper = if router {
                sim.router(&name("n")).connect([gateway]).start()
            } else {
                peers.peer(sim, &name("n")).connect([gateway]).start()
            };
            sim.settle();
            everybody_hears_everybody(sim, &[gateway, red[0], red[1], blue, client, upper]);
        }
    });
}

/// Two gateways of one region: everything crosses once, also when one of them dies, whichever was
/// elected, and when it is back.
#[test]
fn two_gateways_of_one_region() {
    with_and_without_mesh(0..40, |sim, peers| {
        let g1 = serving_others(peers.peer(sim, "g1"), "main").start();
        let g2 = serving_others(peers.peer(sim, "g2"), "main").connect([g1]).start();
        let other = in_region(peers.peer(sim, "o"), "main").connect([g1]).connect([g2]).start();
        let p = peers.peer(sim, "p").connect([g1]).connect([g2]).start();
        let q = peers.peer(sim, "q").connect([g1]).connect([g2]).start();
        let clients = [g1, g2, p].map(|of| {
            let name = format!("client-of-{}", sim.name(of));
            sim.client(&name).connect([of]).start()
        });
        sim.run_for(5_000_000);
        sim.settle();
        assert!(sim.are_connected(g1, g2) && sim.are_connected(p, q));
        everybody_hears_everybody(sim, &[g1, g2, other, p, q, clients[0], clients[1], clients[2]]);
        let (dies, stays) = if sim.seed() % 2 == 0 { (0, 1) } else { (1, 0) };
        let gateways = [g1, g2];
        sim.kill(gateways[dies]);
        sim.run_for(15_000_000);
        sim.settle();
        everybody_hears_everybody(sim, &[gateways[stays], other, p, q, clients[stays], clients[2]]);
        sim.restart(gateways[dies]);
        sim.run_for(15_000_000);
        sim.settle();
        everybody_hears_everybody(sim, &[g1, g2, other, p, q, clients[0], clients[1], clients[2]]);
    });
}

/// Both say that they serve the other one: neither has it, and both say why, once.
#[test]
fn two_that_want_to_serve_each_other_do_not_link() {
    with_and_without_mesh(0..5, |sim, peers| {
        let all = || [NeighbourFilter::default()];
        let a = serving(peers.peer(sim, "a"), all()).start();
        let b = serving(peers.peer(sim, "b"), all()).connect([a]).start();
        sim.run_for(30_000_000);
        assert!(!sim.are_connected(a, b));
        let said: Vec<&String> = sim.warnings(a).iter().chain(sim.warnings(b)).collect();
        let contradictions = said.iter().filter(|text| text.contains("gateway/south")).count();
        assert!(matches!(contradictions, 1 | 2), "{said:?}");
    });
}

/// A network of routers under another one: `south` is served, `north` is not.
fn networks(sim: &mut Sim, gateways: usize) -> Vec<NodeRef> {
    let north = sim.router("north").start();
    let far = sim.router("far").connect([north]).start();
    let mut nodes = vec![north, far];
    let mut before: Option<NodeRef> = None;
    for number in 0..gateways {
        let builder = in_region(sim.router(&format!("g{number}")), "north").connect([north]);
        let gateway = serving(builder, [named("south"), modes(WhatAmI::Client)]).start();
        let router = in_region(sim.router(&format!("south{number}")), "south");
        let router = router.connect([gateway]).connect(before).start();
        before = Some(router);
        nodes.extend([gateway, router]);
        nodes.push(sim.client(&format!("cg{number}")).connect([gateway]).start());
        nodes.push(sim.client(&format!("cs{number}")).connect([router]).start());
    }
    nodes.push(sim.client("cn").connect([far]).start());
    nodes
}

/// A router serves a network of routers.
#[test]
fn a_router_serves_a_network_of_routers() {
    Sim::seeds(0..20).run(|sim| {
        let nodes = networks(sim, 1);
        sim.run_for(1_000_000);
        sim.settle();
        everybody_hears_everybody(sim, &nodes);
    });
}

/// Two routers join the same two networks: what crosses does so at one of them, at the other one
/// when that dies, and again at one when it is back.
#[test]
fn two_routers_serve_a_network_of_routers() {
    Sim::seeds(0..20).run(|sim| {
        let nodes = networks(sim, 2);
        sim.run_for(1_000_000);
        sim.settle();
        everybody_hears_everybody(sim, &nodes);
        // The gateway, and its client.
        let dies = if sim.seed() % 2 == 0 { [2, 4] } else { [6, 8] };
        sim.kill(nodes[dies[0]]);
        sim.run_for(15_000_000);
        sim.settle();
        let alive = nodes.iter().enumerate().filter(|(at, _)| !dies.contains(at));
        let alive: Vec<NodeRef> = alive.map(|(_, node)| *node).collect();
        everybody_hears_everybody(sim, &alive);
        sim.restart(nodes[dies[0]]);
        sim.run_for(15_000_000);
        sim.settle();
        everybody_hears_everybody(sim, &nodes);
    });
}
