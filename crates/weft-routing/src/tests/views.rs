//! What an operator sees.

use super::networks::triangle;
use super::*;
use crate::{Entity, NodeIx, Owner, Region};
use WhatAmI::{Client, Peer, Router};

/// All that an owner has, in pieces of `len`.
fn owned(bench: &Bench, owner: Owner, entity: Entity, len: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = None;
    loop {
        let piece = bench.routing.owned(owner, entity, rest.as_ref(), len);
        assert!(piece.keys.len() <= len);
        all.extend(piece.keys.iter().map(ToString::to_string));
        rest = piece.rest;
        if rest.is_none() {
            return all;
        }
    }
}

#[test]
fn what_an_owner_has_comes_whole_in_pieces_of_any_length() {
    let (mut bench, b, _) = triangle();
    let client = bench.neighbour(Client);
    let keys = ["k/1", "k/2", "k/3", "k/4", "k/5"];
    for (id, key) in (1..).zip(keys) {
        bench.declares(client, Kind::Subscriber, id, key);
        bench.sourced(b, 2, Kind::Subscriber, key);
    }
    let sourced = bench.routing.owners().into_iter().find(|it| matches!(it, Owner::Node(..)));
    for owner in [Owner::Face(client), sourced.unwrap()] {
        for len in 1..7 {
            assert_eq!(owned(&bench, owner, Entity::Subscriber, len), keys, "{owner:?} by {len}");
        }
        assert_eq!(owned(&bench, owner, Entity::Queryable, 2), [""; 0]);
    }
    assert_eq!(bench.routing.sourced_count(Kind::Subscriber), 5);
    assert_eq!(bench.routing.identity(Owner::Face(client)).unwrap().1, Client);
}

#[test]
fn publishers_and_queriers_are_interests_that_stand() {
    let mut bench = Bench::new(Router);
    let client = bench.neighbour(Client);
    let ask = |id, mode, options, key: &'static str| Interest {
        id,
        mode,
        options,
        wire_expr: Some(WireExpr::full(key)),
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
    };
    let of = |kind| KindSet::only(kind).to_options(true, false);
    let (both, once) = (InterestMode::CurrentFuture, InterestMode::Current);
    for interest in [
        ask(1, both, of(Kind::Subscriber), "p"),
        ask(2, both, of(Kind::Queryable), "q"),
        ask(3, once, of(Kind::Subscriber), "once"),
        ask(4, both, of(Kind::Token), "t"),
    ] {
        bench.receive(client, &NetworkMessage::Interest(interest));
    }
    let owner = Owner::Face(client);
    assert_eq!(owned(&bench, owner, Entity::Publisher, 1), ["p"]);
    assert_eq!(owned(&bench, owner, Entity::Querier, 1), ["q"]);
    let view = bench.routing.face_views().find(|view| view.face == client).unwrap();
    assert_eq!((view.region, view.declared), (Region::South(0, Client), [0; 3]));
}

#[test]
fn the_graph_and_the_ways_through_it() {
    let (mut bench, ..) = triangle();
    let graph = bench.routing.region_graph(Region::North);
    let ends: Vec<(u16, u16)> = graph.edges.iter().map(|(a, b, _)| (*a, *b)).collect();
    assert_eq!(ends, [(1, 0), (2, 0), (2, 1)]);
    assert!(graph.edges.iter().all(|(_, _, weight)| weight.is_some_and(|it| it >= 100.0)));
    let (a, b, c) = (zid("a1"), zid("b2"), zid("c3"));
    assert_eq!(bench.routing.successors(a), [(b, b), (c, c)]);
    assert_eq!(bench.routing.successors(b), [(b, b), (c, b)], "c3 is not reached through a1");
    assert_eq!(bench.routing.successors(zid("d4")), []);
    assert_eq!(bench.routing.network_nodes().into_iter().collect::<Vec<_>>(), [a, b, c]);
}

#[test]
fn peers_make_a_graph_of_what_they_say() {
    let mut bench = Bench::with(Router, |config| config.gossip.enabled = true);
    let peers = [bench.neighbour(Peer), bench.neighbour(Peer), bench.neighbour(Peer)];
    let region = Region::South(0, Peer);
    assert_eq!(bench.routing.graph_regions(), [region]);
    let edges = |bench: &Bench| bench.routing.region_graph(region).edges;
    assert_eq!(edges(&bench), [(1, 0, None), (2, 0, None), (3, 0, None)]);
    bench.states(peers[0], &[(0, "b1", 1, &[1, 2]), (1, "b2", 0, &[]), (2, "a1", 0, &[])]);
    assert_eq!(edges(&bench).len(), 3, "a link counts when both ends tell of it");
    bench.states(peers[1], &[(0, "b2", 1, &[1, 2]), (1, "b1", 0, &[]), (2, "a1", 0, &[])]);
    assert_eq!(edges(&bench)[2], (2, 1, None), "{:?}", edges(&bench));
}

#[test]
fn an_explanation_agrees_with_the_route() {
    let (mut bench, b, _) = triangle();
    let client = bench.neighbour(Client);
    bench.declares(client, Kind::Subscriber, 1, "k/**");
    bench.declares(client, Kind::Subscriber, 2, "other");
    bench.sourced(b, 0, Kind::Subscriber, "k/1");
    let peer = bench.neighbour(Peer);
    bench.declares(peer, Kind::Subscriber, 1, "k/*");
    let text = key("k/1");
    for source in [FaceId::LOCAL, client, peer] {
        let why = bench.routing.explain(source, &text, 10);
        let mut faces: Vec<FaceId> =
            why.reasons.iter().filter_map(|it| it.next).map(|(face, _)| face).collect();
        faces.sort();
        let route = bench.routing.data_route(source, 0, &text);
        let hops: Vec<FaceId> = route.hops.iter().map(|hop| hop.face).collect();
        assert_eq!(faces, hops, "from {source:?}");
        assert_eq!((why.reasons.len(), why.more), (3, 0));
    }
    let why = bench.routing.explain(peer, &text, 10);
    let own = why.reasons.iter().find(|it| it.owner == Owner::Face(peer)).unwrap();
    assert_eq!(own.next, None, "nothing comes back to where it came from");
    let towards_b = why.reasons.iter().find(|it| matches!(it.owner, Owner::Node(..))).unwrap();
    assert_eq!(towards_b.next, Some((b, NodeIx::SELF)));
    let why = bench.routing.explain(FaceId::LOCAL, &text, 1);
    assert_eq!((why.reasons.len(), why.more), (1, 2));
    assert_eq!(bench.routing.explain(FaceId(99), &text, 9), crate::Explanation::default());
}

#[test]
fn a_neighbour_that_has_not_told_what_it_wants_is_named() {
    let mut bench = Bench::new(Client);
    let router = bench.neighbour(Router);
    let why = bench.routing.explain(FaceId::LOCAL, &key("k"), 9);
    assert_eq!((why.reasons.len(), why.unsure), (0, Vec::from([router])));
}
