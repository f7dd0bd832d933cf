//! Finding each other: gossip, scouting, and which of two nodes dials.

use weft_sim::{DatagramFaults, NodeRef, Opening, Sim};

fn clique(sim: &Sim, nodes: &[NodeRef]) -> bool {
    nodes.iter().all(|a| nodes.iter().all(|b| a == b || sim.are_connected(*a, *b)))
}

/// Peers that know only the first one find all the others through it.
#[test]
fn gossip_makes_a_clique_of_peers() {
    Sim::seeds(0..20).run(|sim| {
        let first = sim.peer("p0").start();
        let mut peers = vec![first];
        for i in 1..6 {
            peers.push(sim.peer(&format!("p{i}")).connect([first]).start());
        }
        sim.settle();
        assert!(clique(sim, &peers));
        for peer in peers {
            assert_eq!(sim.opening(peer), Opening::Started);
        }
    });
}

#[test]
fn gossip_through_a_router_makes_a_clique_of_its_peers() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let peers: Vec<_> =
            (0..4).map(|i| sim.peer(&format!("p{i}")).connect([router]).start()).collect();
        let silent = sim.peer("silent").no_gossip().connect([router]).start();
        sim.settle();
        assert!(clique(sim, &peers));
        assert_eq!(sim.neighbours(silent).len(), 1, "who does not gossip is not found");
    });
}

/// Of two peers that find each other, one dials; otherwise both do, and share the transport.
#[test]
fn the_strategy_decides_who_dials() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let [a, b] = ["a", "b"].map(|name| sim.peer(name).greater_zid().connect([router]).start());
        sim.settle();
        assert!(sim.are_connected(a, b));
        assert_eq!((sim.link_count(a, b), sim.link_count(b, a)), (1, 1));
        let shy = sim.peer("shy").no_autoconnect().connect([router]).start();
        let eager = sim.peer("eager").connect([router]).start();
        sim.settle();
        assert!(sim.are_connected(shy, eager), "the eager one dials it");
    });
}

#[test]
fn scouting_finds_peers_and_routers() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").scouting().start();
        let peers: Vec<_> =
            (0..4).map(|i| sim.peer(&format!("p{i}")).no_gossip().scouting().start()).collect();
        let outside = sim.peer("outside").start();
        sim.run_for(2_000_000);
        sim.settle();
        assert!(clique(sim, &peers));
        assert!(peers.iter().all(|peer| sim.are_connected(*peer, router)));
        assert!(sim.neighbours(outside).is_empty());
        let sub = sim.subscribe(peers[3], "k");
        sim.settle();
        sim.put_expected(peers[0], "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

#[test]
fn scouting_works_through_bad_datagrams() {
    Sim::seeds(0..20).run(|sim| {
        sim.set_datagram_faults(DatagramFaults { loss: 40, duplicate: 20, delay: 20 });
        let peers: Vec<_> =
            (0..3).map(|i| sim.peer(&format!("p{i}")).no_gossip().scouting().start()).collect();
        sim.run_for(60_000_000);
        assert!(clique(sim, &peers));
    });
}

#[test]
fn a_client_finds_a_router_and_finds_another_when_that_is_gone() {
    Sim::seeds(0..20).run(|sim| {
        let routers = ["r1", "r2"].map(|name| sim.router(name).scouting().start());
        let client = sim.client("c").scouting().start();
        sim.settle();
        assert_eq!(sim.opening(client), Opening::Started);
        let found = *sim.neighbours(client).first().unwrap();
        assert_eq!(sim.neighbours(client).len(), 1, "one upstream");
        let sub = sim.subscribe(client, "k");
        sim.kill(found);
        sim.run_for(15_000_000);
        let other = *routers.iter().find(|router| **router != found).unwrap();
        assert!(sim.are_connected(client, other));
        sim.settle();
        sim.put(other, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
    });
}

#[test]
fn a_client_that_finds_nobody_says_so() {
    Sim::seeds(0..5).run(|sim| {
        let client = sim.client("c").scouting().start();
        sim.run_for(2_999_000);
        assert_eq!(sim.opening(client), Opening::Pending);
        sim.run_for(2_000);
        let Opening::Failed(reason) = sim.opening(client) else { panic!() };
        assert!(reason.contains("no node found"), "{reason}");
        let blind = sim.client("blind").start();
        let Opening::Failed(reason) = sim.opening(blind) else { panic!() };
        assert!(reason.contains("scouting is off"), "{reason}");
    });
}

/// A peer that left and came back under another address book is found again.
#[test]
fn a_restarted_peer_is_found_again() {
    Sim::seeds(0..20).run(|sim| {
        let first = sim.peer("p0").start();
        let others = [1, 2].map(|i| sim.peer(&format!("p{i}")).connect([first]).start());
        sim.settle();
        sim.kill(others[0]);
        sim.settle();
        if sim.seed() % 2 == 0 {
            sim.restart(others[0]);
        } else {
            sim.restart_as_another(others[0]);
        }
        sim.settle();
        assert!(clique(sim, &[first, others[0], others[1]]));
    });
}
