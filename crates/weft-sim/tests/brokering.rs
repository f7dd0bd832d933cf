//! Who gets a sample, by topology: scenarios 1 to 8 of 03 §12 as far as they have one router.

use weft_sim::Sim;

/// Two clients of a router: once, and stamped by the router.
#[test]
fn a_router_brokers_between_its_clients() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
        let sub = sim.subscribe(c2, "k/**");
        sim.settle();
        sim.put_expected(c1, "k/1", b"x");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x"]);
        assert!(sim.samples(sub)[0].timestamp.is_some());
        sim.verify();
    });
}

/// Two clients of a peer: once, and not stamped.
#[test]
fn a_peer_brokers_between_its_clients() {
    Sim::seeds(0..20).run(|sim| {
        let peer = sim.peer("p").start();
        let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([peer]).start());
        let sub = sim.subscribe(c2, "k/**");
        sim.settle();
        sim.put_expected(c1, "k/1", b"x");
        sim.delete(c1, "k/2");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["x", "-"]);
        assert_eq!(sim.samples(sub)[0].timestamp, None);
    });
}

/// Clients on two peers that are linked, and the peers themselves: once each.
#[test]
fn samples_pass_from_client_to_client_over_two_peers() {
    Sim::seeds(0..20).run(|sim| {
        let pa = sim.peer("pa").start();
        let pb = sim.peer("pb").connect([pa]).start();
        let c1 = sim.client("c1").connect([pa]).start();
        let c2 = sim.client("c2").connect([pb]).start();
        let at_client = sim.subscribe(c2, "k/**");
        let at_peer = sim.subscribe(pb, "k/*");
        sim.settle();
        sim.verify();
        sim.put_expected(c1, "k/1", b"client");
        sim.put_expected(pa, "k/1", b"peer");
        sim.settle();
        for sub in [at_client, at_peer] {
            let mut got = sim.payloads(sub);
            got.sort();
            assert_eq!(got, ["client", "peer"]);
        }
    });
}

/// A clique of peers: everyone once, directly.
#[test]
fn every_peer_of_a_clique_gets_a_sample_once() {
    Sim::seeds(0..20).run(|sim| {
        let a = sim.peer("a").start();
        let b = sim.peer("b").connect([a]).start();
        let c = sim.peer("c").connect([a]).connect([b]).start();
        let subs = [a, b, c].map(|node| sim.subscribe(node, "k"));
        sim.settle();
        sim.verify();
        for node in [a, b, c] {
            sim.put_expected(node, "k", sim.name(node).to_string().as_bytes());
        }
        sim.settle();
        for sub in subs {
            assert_eq!(sim.samples(sub).len(), 3);
        }
    });
}

/// Peers in a line, without the third side: outside of a mesh, a peer does not forward between peers.
#[test]
fn a_peer_does_not_forward_between_peers_that_are_no_mesh() {
    Sim::seeds(0..20).run(|sim| {
        let b = sim.peer("b").no_gossip().start();
        let [a, c] =
            ["a", "c"].map(|name| sim.peer(name).no_mesh().no_gossip().connect([b]).start());
        let (at_b, at_c) = (sim.subscribe(b, "k"), sim.subscribe(c, "k"));
        sim.settle();
        sim.put_expected(a, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(at_b), ["x"]);
        assert_eq!(sim.payloads(at_c), [""; 0]);
    });
}

/// Peers on one router that do not say with whom they are linked: nothing, rather than twice.
#[test]
fn a_router_does_not_forward_between_peers_that_may_be_linked() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let [p1, p2] =
            ["p1", "p2"].map(|name| sim.peer(name).no_mesh().no_gossip().connect([router]).start());
        let client = sim.client("c").connect([router]).start();
        let (at_peer, at_client) = (sim.subscribe(p2, "k"), sim.subscribe(client, "k"));
        sim.settle();
        assert!(!sim.are_connected(p1, p2));
        sim.put_expected(p1, "k", b"x");
        sim.settle();
        assert_eq!(sim.payloads(at_peer), [""; 0]);
        assert_eq!(sim.payloads(at_client), ["x"]);
    });
}

/// Peers and a client on one router, the peers linked by what the router's gossip told them.
#[test]
fn linked_peers_and_clients_of_a_router_get_each_sample_once() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let [p1, p2] = ["p1", "p2"].map(|name| sim.peer(name).connect([router]).start());
        let client = sim.client("c").connect([router]).start();
        let subs = [sim.subscribe(p2, "k"), sim.subscribe(client, "k")];
        sim.settle();
        assert!(sim.are_connected(p1, p2), "through gossip");
        sim.verify();
        sim.put_expected(p1, "k", b"from peer");
        sim.put_expected(client, "k", b"from client");
        sim.settle();
        for sub in subs {
            let mut got = sim.payloads(sub);
            got.sort();
            assert_eq!(got, ["from client", "from peer"]);
        }
    });
}

/// Three overlapping subscribers of one client: each once, whatever crosses the link.
#[test]
fn overlapping_subscribers_get_one_sample_each() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let client = sim.client("c").connect([router]).start();
        let subs = ["k/**", "k/*", "k/1"].map(|key| sim.subscribe(client, key));
        sim.settle();
        sim.put_expected(router, "k/1", b"x");
        sim.settle();
        assert!(subs.iter().all(|sub| sim.payloads(*sub) == ["x"]));
    });
}

/// A publication on a key with wildcards reaches whoever it intersects, under its own key.
#[test]
fn a_wild_publication_intersects() {
    Sim::seeds(0..20).run(|sim| {
        let router = sim.router("r").start();
        let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
        let (hit, miss) = (sim.subscribe(c2, "k/1"), sim.subscribe(c2, "other"));
        let publisher = sim.publisher(c1, "k/**");
        sim.settle();
        assert!(sim.is_matching(publisher));
        sim.publish(publisher, b"x");
        sim.settle();
        assert_eq!(sim.samples(hit)[0].key.as_str(), "k/**");
        assert_eq!(sim.payloads(miss), [""; 0]);
    });
}
