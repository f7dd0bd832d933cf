//! Small networks in every order in which messages can arrive.
//!
//! Engines with a queue for each direction of each link; a script of what applications and links do.
//! Whichever message arrives next, and whenever the next step of the script happens, is tried; states
//! that were met before are not followed again. Wherever nothing is under way, everybody must know
//! exactly what exists (`oracle`), a sample must reach each subscriber once, and of the gateways that
//! see each other exactly one must be elected.

mod oracle;
mod world;

use std::collections::HashSet;

use super::*;
use WhatAmI::{Client, Peer, Router};
use world::{Graph, Step, World};

/// Tries every order of the script's steps and of the messages that they lead to, after a setup that
/// runs in one order. Returns the number of different states.
fn explore(graph: &Graph, setup: &[Step], script: &[Step]) -> usize {
    let mut start = World::new(graph);
    for step in setup {
        start.take(*step);
        start.settle();
    }
    start.check();
    let mut visited = HashSet::from([start.digest(0)]);
    let mut open = Vec::from([(start, 0)]);
    while let Some((world, at)) = open.pop() {
        if world.is_quiet() {
            let mut settled = world.clone();
            settled.settle();
            settled.check();
        }
        let mut next = Vec::new();
        if let Some(step) = script.get(at) {
            let mut then = world.clone();
            then.take(*step);
            next.push((then, at + 1));
        }
        for link in world.pending() {
            let mut then = world.clone();
            then.deliver(link);
            next.push((then, at));
        }
        next.retain(|(world, at)| visited.insert(world.digest(*at)));
        open.extend(next);
        assert!(visited.len() < 200_000, "the network is not small");
    }
    visited.len()
}

/// A peer that is a gateway, one that it serves, and a fellow, in a line.
fn line() -> Graph {
    Graph::new(&[("a1", Peer, true), ("b2", Peer, false), ("c3", Peer, false)])
        .serves(0, 1)
        .links(0, 2)
}

#[test]
fn a_gateway_between_two_peers() {
    let graph = line();
    let setup = [Step::Watch(2), Step::Want(2), Step::Want(1), Step::Watch(1)];
    let script = [Step::Up(0), Step::Up(1), Step::Token(1)];
    let first = explore(&graph, &setup, &script);
    let setup = [Step::Up(0), Step::Up(1), Step::Watch(2), Step::Want(2), Step::Want(1)];
    let script = [
        Step::Sub(1),
        Step::Token(1),
        Step::Sub(2),
        Step::Unsub(1),
        Step::Untoken(1),
        Step::Sub(1),
        Step::Down(0),
        Step::Up(0),
    ];
    let states = first + explore(&graph, &setup, &script);
    assert!(states > 4_000, "{states} states");
}

/// Scenario 30: two gateways, each with a peer or client of its own.
#[test]
fn two_gateways_with_a_region_each() {
    let mut states = 0;
    for leaf in [Peer, Client] {
        let nodes =
            [("a1", Peer, true), ("b2", Peer, true), ("c3", leaf, false), ("d4", leaf, false)];
        let graph = Graph::new(&nodes).links(0, 1).serves(0, 2).serves(1, 3);
        let setup = [Step::Up(1), Step::Up(2), Step::Watch(3), Step::Want(3), Step::Want(2)];
        states +=
            explore(&graph, &setup, &[Step::Sub(2), Step::Token(2), Step::Up(0), Step::Sub(3)]);
        let setup = [Step::Up(0), Step::Up(1), Step::Up(2), Step::Watch(3), Step::Want(3)];
        let script = [
            Step::Sub(2),
            Step::Token(2),
            Step::Sub(3),
            Step::Down(1),
            Step::Up(1),
            Step::Unsub(2),
        ];
        states += explore(&graph, &setup, &script);
    }
    assert!(states > 15_000, "{states} states");
}

/// A peer on two gateways that are linked: links come and go, everybody declares.
#[test]
fn two_gateways_of_one_peer() {
    let mut states = 0;
    let nodes =
        [("a1", Peer, true), ("b2", Peer, true), ("c3", Peer, false), ("d4", Client, false)];
    let graph = Graph::new(&nodes).links(0, 1).serves(0, 2).serves(1, 2).serves(0, 3);
    let all = [Step::Up(0), Step::Up(1), Step::Up(2), Step::Up(3)];
    let watching = [Step::Watch(2), Step::Watch(3), Step::Want(2), Step::Want(3)];
    let setup = [&all[..], &watching[..]].concat();
    states +=
        explore(&graph, &setup, &[Step::Sub(2), Step::Token(2), Step::Unsub(2), Step::Untoken(2)]);
    states += explore(&graph, &setup, &[Step::Sub(3), Step::Token(3), Step::Sub(1)]);
    for link in [0, 1, 2] {
        let setup = [&setup[..], &[Step::Sub(2), Step::Token(3), Step::Sub(0)]].concat();
        states += explore(&graph, &setup, &[Step::Down(link)]);
        states += explore(&graph, &setup, &[Step::Down(link), Step::Up(link)]);
    }
    let setup = [&all[1..], &watching[..], &[Step::Sub(2), Step::Sub(3)]].concat();
    states += explore(&graph, &setup, &[Step::Up(0), Step::Unsub(2)]);
    assert!(states > 1_500, "{states} states");
}

/// A peer with clients and a fellow: no configuration, the declaration protocol alone.
#[test]
fn a_peer_between_clients_and_a_fellow() {
    let nodes =
        [("a1", Peer, false), ("b2", Client, false), ("c3", Client, false), ("d4", Peer, false)];
    let graph = Graph::new(&nodes).links(0, 1).links(0, 2).links(0, 3);
    let setup = [Step::Up(0), Step::Up(1), Step::Up(2), Step::Watch(1), Step::Want(3)];
    let script =
        [Step::Want(1), Step::Sub(2), Step::Token(2), Step::Sub(3), Step::Unsub(2), Step::Down(2)];
    let states = explore(&graph, &setup, &script);
    assert!(states > 3_500, "{states} states");
}

/// Two linked routers with a peer on both: the elected one announces it in their network.
#[test]
fn a_peer_on_two_routers() {
    let mut states = 0;
    let nodes = [("a1", Router, false), ("b2", Router, false), ("c3", Peer, false)];
    let graph = Graph::new(&nodes).links(0, 1).links(0, 2).links(1, 2);
    let setup = [Step::Up(0), Step::Up(1), Step::Up(2), Step::Watch(2), Step::Watch(0)];
    states += explore(&graph, &setup, &[Step::Sub(2), Step::Token(2), Step::Unsub(2)]);
    states += explore(&graph, &setup, &[Step::Sub(0), Step::Token(1)]);
    let setup = [&setup[..], &[Step::Sub(2), Step::Sub(0), Step::Sub(1)]].concat();
    for link in [1, 2] {
        states += explore(&graph, &setup, &[Step::Down(link)]);
    }
    assert!(states > 200, "{states} states");
}
