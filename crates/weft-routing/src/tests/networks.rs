//! Several routers: link states, trees, whose declarations go where, and what a change of the graph does.

use super::captures::Capture;
use super::*;
use crate::schedule::GRACE_US;
use crate::{Owner, Region, Violation};
use WhatAmI::{Client, Peer, Router};
use weft_wire::{LinkState, LinkStateList, Oam};

impl Bench {
    /// A neighbour of a given identity arrives.
    pub(super) fn member(&mut self, text: &str, whatami: WhatAmI, mesh: bool) -> FaceId {
        let face = self.routing.next_face();
        let init = FaceInit { mesh, ..FaceInit::new(zid(text), whatami) };
        self.arrives(face, init).unwrap();
        face
    }

    /// A neighbour tells about nodes: number, identity, sequence number, links.
    pub(super) fn states(&mut self, face: FaceId, states: &[(u64, &str, u64, &[u64])]) {
        let state = |&(psid, text, sn, links): &(u64, &str, u64, &[u64])| LinkState {
            psid,
            sn,
            zid: Some(zid(text)),
            whatami: Some(Router),
            links: links.to_vec(),
            ..LinkState::default()
        };
        let body = LinkStateList(states.iter().map(state).collect()).to_vec();
        self.receive(face, &NetworkMessage::Oam(Oam::link_states(&body)));
    }

    /// A member declares on behalf of the node that it calls `node_id`.
    pub(super) fn sourced(&mut self, face: FaceId, node_id: u16, kind: Kind, text: &str) {
        let body = crate::message::declaration(kind, 0, WireExpr::full(text), NONE);
        self.receive(face, &crate::message::declare_for(NodeIx(node_id), body));
    }

    pub(super) fn unsourced(&mut self, face: FaceId, node_id: u16, kind: Kind, text: &str) {
        let expr = WireExpr::full(text);
        self.receive(face, &crate::message::undeclare_for(NodeIx(node_id), kind, expr));
    }

    /// The hops of samples from `source`: face and node id.
    pub(super) fn hops(&mut self, source: FaceId, node_id: u16, text: &str) -> Vec<(u32, u16)> {
        let route = self.routing.data_route(source, node_id, &key(text));
        route.hops.iter().map(|hop| (hop.face.0, hop.node_id)).collect()
    }

    fn owners(&self, kind: Kind, text: &str) -> Vec<Owner> {
        let mut declared = self.routing.declarations(kind);
        declared.find(|(owned, _)| owned.as_str() == text).map_or(Vec::new(), |(_, owners)| owners)
    }
}

/// This node (`a1`) with the neighbours `b2` and `c3`, which are linked, too.
pub(super) fn triangle() -> (Bench, FaceId, FaceId) {
    let mut bench = Bench::new(Router);
    let b = bench.member("b2", Router, false);
    let c = bench.member("c3", Router, false);
    bench.states(b, &[(0, "b2", 5, &[1, 2]), (1, "a1", 0, &[]), (2, "c3", 5, &[0, 1])]);
    bench.states(c, &[(0, "c3", 6, &[1, 2]), (1, "a1", 0, &[]), (2, "b2", 5, &[0, 1])]);
    bench.advance(1_000_000);
    bench.sent();
    (bench, b, c)
}

/// The middle of a line of routers of the reference, played by this implementation with what those
/// at the ends said (captures `line3-*`).
#[test]
fn the_middle_of_a_line_passes_everything_on_under_its_owners_name() {
    let capture = Capture::routing();
    let mut middle = Bench::with(Router, |config| config.zid = zid("b2"));
    let a = middle.member("a1", Router, false);
    for name in ["line3-b2-a1-00", "line3-b2-a1-03", "line3-b2-a1-04", "line3-b2-a1-05"] {
        middle.receive_bytes(a, &capture.bytes(name));
    }
    middle.sent();
    let c = middle.member("c3", Router, false);
    middle.receive_bytes(c, &capture.bytes("line3-c3-b2-01"));
    middle.advance(1_000_000);
    let told: Vec<String> = middle
        .sent()
        .into_iter()
        .filter(|it| it.starts_with("2 ") && !it.contains("gossip"))
        .collect();
    let expected = [
        "2 expr 1 k",
        "2 sub 0 1>/** for 1",
        "2 expr 2 q",
        "2 qbl 0 2>/** complete for 1",
        "2 expr 3 t/1",
        "2 tok 0 3> for 1",
    ];
    assert_eq!(told, expected, "as in line3-c3-b2-04");

    middle.receive_bytes(c, &capture.bytes("line3-c3-b2-05"));
    assert_eq!(middle.sent(), ["1 sub 0 1</** for 2"], "as in line3-b2-a1-10");
    assert_eq!(middle.hops(c, 0, "k/1"), [(1, 2)], "as in line3-b2-a1-11");
    assert_eq!(middle.hops(a, 0, "k/2"), [(2, 1)], "as in line3-c3-b2-07");
    assert_eq!(middle.hops(FaceId::LOCAL, 0, "k/3"), [(1, 0), (2, 0)]);

    middle.departure(c);
    assert_eq!(middle.hops(a, 0, "k/2"), []);
    assert!(middle.owners(Kind::Subscriber, "k/**").len() == 1, "what c3 owned is gone with it");
}

#[test]
fn a_declaration_goes_down_its_owners_tree_and_no_further() {
    let (mut bench, b, c) = triangle();
    bench.sourced(b, 0, Kind::Subscriber, "k");
    assert_eq!(bench.sent(), [""; 0], "c3 hears of it from b2 itself");
    let client = bench.neighbour(Client);
    bench.sent();
    bench.declares(client, Kind::Subscriber, 1, "k");
    assert_eq!(bench.sent(), ["1 expr 1 k", "1 sub 0 1>", "2 expr 1 k", "2 sub 0 1>"]);
    assert_eq!(bench.hops(client, 0, "k"), [(b.0, 0)]);
    assert_eq!(bench.route(b, "k"), [client.0]);
    bench.undeclares(client, Kind::Subscriber, 1);
    assert_eq!(bench.sent(), ["1 ~sub 0 1>", "2 ~sub 0 1>"]);
    bench.unsourced(b, 0, Kind::Subscriber, "k");
    assert_eq!(bench.hops(client, 0, "k"), []);
    assert_eq!(bench.hops(c, 0, "k"), []);
}

#[test]
fn when_a_link_breaks_the_other_way_is_taken_and_nothing_is_withdrawn_meanwhile() {
    let (mut bench, b, c) = triangle();
    let client = bench.neighbour(Client);
    bench.sourced(b, 0, Kind::Subscriber, "k");
    bench.declare(Kind::Subscriber, 1, "own");
    bench.sent();
    bench.departure(b);
    assert_eq!(bench.hops(client, 0, "k"), [(c.0, 0)], "by the way that is left");
    bench.states(c, &[(2, "b2", 6, &[0])]);
    bench.advance(1_000_000);
    assert_eq!(bench.hops(client, 0, "k"), [(c.0, 0)]);
    // The new parent tells what b2 owns; had it not, the declaration would end now.
    bench.sourced(c, 2, Kind::Subscriber, "k");
    bench.advance(2 * GRACE_US);
    assert_eq!(bench.hops(client, 0, "k"), [(c.0, 0)]);
    bench.unsourced(c, 2, Kind::Subscriber, "k");
    assert_eq!(bench.hops(client, 0, "k"), []);
}

#[test]
fn what_a_new_parent_does_not_confirm_ends_after_a_while() {
    let (mut bench, b, c) = triangle();
    bench.sourced(b, 0, Kind::Subscriber, "k");
    bench.departure(b);
    bench.states(c, &[(2, "b2", 6, &[0])]);
    bench.advance(GRACE_US / 2);
    assert_eq!(bench.owners(Kind::Subscriber, "k").len(), 1);
    bench.advance(GRACE_US);
    assert_eq!(bench.owners(Kind::Subscriber, "k"), []);
    assert_eq!(bench.routing.footprint().sourced, 0);
}

#[test]
fn a_node_that_nobody_links_any_more_is_gone_with_what_it_owned() {
    let (mut bench, b, _) = triangle();
    bench.states(b, &[(0, "b2", 7, &[1, 2, 3]), (3, "d4", 1, &[0])]);
    bench.sourced(b, 3, Kind::Token, "t");
    bench.sent();
    bench.wants(9, Kind::Token, "t", LocalInterestMode::CurrentFuture);
    assert_eq!(bench.token_events(), words_of(&[(9, "+t"), (9, "final")]));
    bench.states(b, &[(0, "b2", 8, &[1, 2])]);
    assert_eq!(bench.token_events(), words_of(&[(9, "-t")]));
    assert_eq!(bench.routing.network(Region::North).len(), 3);
}

#[test]
fn declarations_of_nodes_that_are_introduced_later_are_kept_for_them() {
    let (mut bench, b, _) = triangle();
    bench.sourced(b, 3, Kind::Subscriber, "k");
    assert_eq!(bench.owners(Kind::Subscriber, "k"), []);
    bench.states(b, &[(0, "b2", 7, &[1, 2, 3]), (3, "d4", 1, &[0])]);
    assert_eq!(bench.owners(Kind::Subscriber, "k").len(), 1);
}

#[test]
fn a_query_goes_to_the_nearest_complete_queryable_wherever_it_is() {
    let (mut bench, b, c) = triangle();
    let client = bench.neighbour(Client);
    let info = QueryableInfo { complete: true, distance: 0 };
    for (face, node_id) in [(b, 0), (c, 0)] {
        let body = crate::message::declaration(Kind::Queryable, 0, WireExpr::full("q/**"), info);
        bench.receive(face, &crate::message::declare_for(NodeIx(node_id), body));
    }
    // Both are at distance 100: parts of a weight do not count.
    let plan = bench.query(client, "q/1", QueryTarget::BestMatching);
    assert_eq!(plan.hops.iter().map(|hop| hop.face).collect::<Vec<_>>(), [b]);
    bench.declares_info(client, Kind::Queryable, 1, "q/**", info);
    let other = bench.neighbour(Client);
    let plan = bench.query(other, "q/1", QueryTarget::BestMatching);
    assert_eq!(plan.hops.iter().map(|hop| hop.face).collect::<Vec<_>>(), [client]);
    let plan = bench.query(other, "q/1", QueryTarget::All);
    assert_eq!(plan.hops.len(), 3);
}

#[test]
fn members_of_a_mesh_take_messages_only_along_the_tree() {
    let mut bench = Bench::new(Peer);
    let b = bench.member("b2", Peer, true);
    let c = bench.member("c3", Peer, true);
    bench.states(b, &[(0, "b2", 5, &[1, 2]), (1, "a1", 0, &[]), (2, "c3", 5, &[0, 1])]);
    bench.states(c, &[(0, "c3", 6, &[1, 2]), (1, "a1", 0, &[]), (2, "b2", 5, &[0, 1])]);
    bench.declare(Kind::Subscriber, 1, "k");
    assert_eq!(bench.route(b, "k"), [FaceId::LOCAL.0]);
    assert!(bench.routing.data_route(b, 0, &key("k")).accepted);
    assert!(!bench.routing.data_route(b, 2, &key("k")).accepted, "c3 has a way of its own");
    assert!(!bench.routing.data_route(b, 1, &key("k")).accepted, "this node's own");
    assert!(!bench.routing.data_route(b, 9, &key("k")).accepted, "nobody");
}

#[test]
fn a_served_peer_is_a_node_of_the_network_under_its_own_name() {
    let mut bench = Bench::with(Router, |config| config.gossip.enabled = true);
    let b = bench.member("b2", Router, false);
    bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
    let peer = bench.member("d4", Peer, false);
    bench.advance(1_000_000);
    bench.sent();
    let linked = |gateway| {
        let mut states = Vec::from([LinkState {
            zid: Some(zid("d4")),
            whatami: Some(Peer),
            sn: 2,
            links: Vec::from([1]),
            ..LinkState::default()
        }]);
        states.push(LinkState { psid: 1, zid: Some(zid("a1")), gateway, ..LinkState::default() });
        LinkStateList(states).to_vec()
    };
    let body = linked(true);
    bench.receive(peer, &NetworkMessage::Oam(Oam::link_states(&body)));
    bench.states(b, &[(0, "b2", 6, &[1])]);
    bench.advance(1_000_000);
    bench.sent();
    bench.declares(peer, Kind::Subscriber, 1, "k");
    assert_eq!(bench.sent(), ["1 expr 1 k", "1 sub 0 1> for 2"]);
    bench.sourced(b, 0, Kind::Subscriber, "s");
    assert_eq!(bench.hops(peer, 0, "s"), [(b.0, 2)], "under its own name");
    bench.departure(peer);
    assert_eq!(bench.routing.network(Region::North).len(), 2);
}

/// A router that announced the peer until it met this one knows it as a name without links, and says so.
#[test]
fn a_peer_is_announced_on_when_another_one_has_ceased_to() {
    let mut bench = Bench::with(Router, |config| config.gossip.enabled = true);
    let b = bench.member("b2", Router, false);
    bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
    let peer = bench.member("d4", Peer, false);
    let mut states = Vec::from([LinkState { zid: Some(zid("d4")), sn: 2, ..LinkState::default() }]);
    states[0].whatami = Some(Peer);
    states[0].links.push(1);
    states.push(LinkState { psid: 1, zid: Some(zid("a1")), gateway: true, ..LinkState::default() });
    let body = LinkStateList(states).to_vec();
    bench.receive(peer, &NetworkMessage::Oam(Oam::link_states(&body)));
    bench.states(b, &[(0, "b2", 6, &[1])]);
    bench.advance(1_000_000);
    bench.sourced(b, 0, Kind::Subscriber, "s");
    for sn in [0, 1_000] {
        bench.states(b, &[(2, "d4", sn, &[])]);
        bench.advance(1_000_000);
        assert_eq!(bench.hops(peer, 0, "s"), [(b.0, 2)], "with {sn}");
    }
    bench.departure(peer);
    assert_eq!(bench.routing.network(Region::North).len(), 2);
}

/// A state without number does not make a member, however many links it has.
#[test]
fn a_peer_whose_links_a_liar_has_invented_is_announced_all_the_same() {
    let mut bench = Bench::with(Router, |config| config.gossip.enabled = true);
    let b = bench.member("b2", Router, false);
    bench.states(b, &[(0, "b2", 7, &[1, 2, 3]), (1, "a1", 0, &[]), (2, "c3", 1, &[0])]);
    bench.states(b, &[(3, "d4", 0, &[0, 1, 2]), (0, "b2", 8, &[1, 2, 3])]);
    let peer = bench.member("d4", Peer, false);
    let states = Vec::from([
        LinkState {
            zid: Some(zid("d4")),
            whatami: Some(Peer),
            sn: 2,
            links: Vec::from([1]),
            ..LinkState::default()
        },
        LinkState { psid: 1, zid: Some(zid("a1")), gateway: true, ..LinkState::default() },
    ]);
    bench.routing.handle_oam(
        bench.now_us,
        peer,
        (weft_wire::linkstate::LINKSTATE, &LinkStateList(states).to_vec()),
        &mut bench.out,
    );
    bench.advance(1_000_000);
    let announced = bench.routing.network(Region::North);
    let leaf = announced.iter().find(|node| node.zid == zid("d4")).unwrap();
    assert_eq!(leaf.weights.keys().collect::<Vec<_>>(), [&zid("a1")]);
    bench.departure(peer);
    bench.departure(b);
}

/// Who is announced by this node would otherwise be a gateway in its north because it is announced, and not be announced
/// because there is a gateway: without end.
#[test]
fn peers_that_claim_each_other_for_gateways_are_announced_all_the_same() {
    for claims in [&[("d4", "d4")][..], &[("d4", "e5"), ("e5", "f6"), ("f6", "d4")]] {
        let mut bench = Bench::with(Router, |config| config.gossip.enabled = true);
        let b = bench.member("b2", Router, false);
        bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
        for (text, gateway) in claims {
            let peer = bench.member(text, Peer, false);
            let own = LinkState {
                zid: Some(zid(text)),
                whatami: Some(Peer),
                sn: 2,
                gateway: text == gateway,
                links: Vec::from([1, if text == gateway { 0 } else { 2 }]),
                ..LinkState::default()
            };
            let gateways = [(1, "a1"), (2, gateway)].map(|(psid, text)| LinkState {
                psid,
                zid: Some(zid(text)),
                gateway: true,
                ..LinkState::default()
            });
            let states = [own].into_iter().chain(gateways).collect();
            let body = LinkStateList(states).to_vec();
            bench.receive(peer, &NetworkMessage::Oam(Oam::link_states(&body)));
        }
        bench.advance(1_000_000);
        assert_eq!(bench.routing.network(Region::North).len(), 2 + claims.len());
    }
}

#[test]
fn routers_that_lie_are_sent_away() {
    let refused = |bench: &mut Bench| {
        bench.events().into_iter().find_map(|event| match event {
            Event::Refuse { violation, .. } => Some(violation),
            _ => None,
        })
    };
    let (mut bench, b, _) = triangle();
    bench.states(b, &[(0, "b2", u64::MAX, &[1])]);
    assert_eq!(refused(&mut bench), Some(Violation::LinkState { sn: u64::MAX }));

    let (mut bench, b, _) = triangle();
    bench.routing.handle_oam(0, b, (weft_wire::linkstate::LINKSTATE, &[9, 9]), &mut bench.out);
    assert_eq!(refused(&mut bench), Some(Violation::Garbled));

    let mut bench = Bench::with(Router, |config| config.limits.network_nodes_max = 10);
    let b = bench.member("b2", Router, false);
    let names: Vec<String> = (0..20).map(|number| format!("{:x}", 0x100 + number)).collect();
    let states: Vec<(u64, &str, u64, &[u64])> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (at as u64 + 2, name.as_str(), 1, &[0][..]))
        .collect();
    bench.states(b, &states);
    assert_eq!(refused(&mut bench), Some(Violation::Network { max: 10 }));

    let mut bench = Bench::with(Router, |config| config.limits.sourced_max = 2);
    let b = bench.member("b2", Router, false);
    bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
    for text in ["a", "b", "c"] {
        bench.sourced(b, 0, Kind::Subscriber, text);
    }
    assert_eq!(refused(&mut bench), Some(Violation::Declarations { max: 2 }));
}

#[test]
fn what_others_say_of_this_node_is_contradicted() {
    let (mut bench, b, c) = triangle();
    bench.states(b, &[(1, "a1", 1_000, &[])]);
    bench.advance(1_000_000);
    let own = |bench: &mut Bench, face| {
        let bytes = bench.sent_to(face);
        let NetworkMessage::Oam(oam) = NetworkMessage::decode(&mut Reader::new(&bytes)).unwrap()
        else {
            panic!()
        };
        let weft_wire::OamBody::ZBuf(body) = oam.body else { panic!() };
        let LinkStateList(states) = LinkStateList::decode(&mut Reader::new(body)).unwrap();
        (states[0].psid, states[0].sn, states[0].links.len())
    };
    assert_eq!(own(&mut bench, c), (0, 1_001, 2));
    // Announced as a leaf of `b2`, which others believe rather than this node: they count alike.
    let leaf = LinkState {
        psid: 1,
        sn: 1_001,
        links: Vec::from([0]),
        weights: Some(Vec::from([1])),
        ..LinkState::default()
    };
    let body = LinkStateList(Vec::from([leaf])).to_vec();
    bench.receive(b, &NetworkMessage::Oam(Oam::link_states(&body)));
    bench.advance(1_000_000);
    assert_eq!(own(&mut bench, c), (0, 1_002, 2));
    // What this node has said itself, it need not say again.
    let told = LinkState { psid: 1, links: Vec::from([0, 2]), sn: 1_002, ..LinkState::default() };
    let body = LinkStateList(Vec::from([told])).to_vec();
    bench.receive(b, &NetworkMessage::Oam(Oam::link_states(&body)));
    bench.advance(1_000_000);
    assert_eq!(bench.sent_to(c), [0_u8; 0]);
}
