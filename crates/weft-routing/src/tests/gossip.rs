//! Gossip beyond the captures: what is believed, and who is told.

use super::*;
use WhatAmI::{Client, Peer, Router};
use weft_wire::{LinkState, LinkStateList, Locator, Oam};

fn gossiping(whatami: WhatAmI) -> Bench {
    Bench::with(whatami, |config| config.gossip.enabled = true)
}

fn state(psid: u64, sn: u64, of: Option<&str>, locator: &str) -> LinkState {
    LinkState {
        psid,
        sn,
        zid: of.map(zid),
        whatami: Some(Peer),
        locators: Some(Vec::from([locator.parse().unwrap()])),
        ..LinkState::default()
    }
}

fn hears(bench: &mut Bench, face: FaceId, states: Vec<LinkState>) {
    let body = LinkStateList(states).to_vec();
    bench.receive(face, &NetworkMessage::Oam(Oam::link_states(&body)));
}

fn discovered(bench: &mut Bench) -> Vec<(String, Vec<Locator>)> {
    let events = bench.events().into_iter();
    events
        .filter_map(|event| match event {
            Event::Discovered { zid, locators, .. } => Some((zid.to_string(), locators)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_neighbour_s_news_about_itself_is_passed_on_once() {
    let mut peer = gossiping(Peer);
    let (a, b) = (peer.neighbour(Peer), peer.neighbour(Peer));
    let introduction = state(0, 2, Some("b1"), "tcp/a:1");
    hears(&mut peer, a, Vec::from([introduction.clone()]));
    assert_eq!(peer.sent(), [format!("{} gossip", b.0)]);
    hears(&mut peer, a, Vec::from([introduction]));
    hears(&mut peer, a, Vec::from([state(0, 1, Some("b1"), "tcp/old:1")]));
    hears(&mut peer, a, Vec::from([state(0, 3, Some("b1"), "tcp/a:1")]));
    assert_eq!(peer.sent(), [""; 0], "known, old, unchanged");
    // Once introduced, a node may leave its identity out.
    hears(&mut peer, a, Vec::from([state(0, 4, None, "tcp/a:2")]));
    assert_eq!(peer.sent(), [format!("{} gossip", b.0)]);
    assert_eq!(discovered(&mut peer), [], "neighbours are known already");
}

#[test]
fn third_nodes_are_discovered_if_they_can_be_reached() {
    let mut peer = gossiping(Peer);
    let a = peer.neighbour(Peer);
    let unreachable =
        LinkState { locators: Some(Vec::new()), ..state(3, 1, Some("c3"), "tcp/x:1") };
    let unknown = state(9, 1, None, "tcp/x:1");
    let myself = state(2, 1, Some("a1"), "tcp/x:1");
    let third = state(4, 1, Some("c4"), "tcp/c4:1");
    hears(&mut peer, a, Vec::from([unreachable, unknown, myself, third]));
    assert_eq!(
        discovered(&mut peer),
        [("c4".to_string(), Vec::from(["tcp/c4:1".parse().unwrap()]))]
    );
    assert_eq!(peer.sent(), [""; 0], "others are told by their own neighbours");
}

#[test]
fn clients_and_switched_off_nodes_take_no_part() {
    let mut router = gossiping(Router);
    let client = router.arrival(Client).unwrap();
    hears(&mut router, client, Vec::from([state(3, 1, Some("c3"), "tcp/x:1")]));
    let mut silent = Bench::new(Peer);
    let peer = silent.arrival(Peer).unwrap();
    hears(&mut silent, peer, Vec::from([state(3, 1, Some("c3"), "tcp/x:1")]));
    assert_eq!(router.sent(), [""; 0]);
    assert_eq!(silent.sent(), ["1 answer 0: final"]);
    assert_eq!((discovered(&mut router), discovered(&mut silent)), (Vec::new(), Vec::new()));
}

#[test]
fn readiness_without_gossip_does_not_wait_for_any() {
    let mut silent = Bench::new(Peer);
    let router = silent.arrival(Router).unwrap();
    assert!(silent.routing.is_ready(router));
    let mut client = gossiping(Client);
    let router = client.arrival(Router).unwrap();
    assert!(client.routing.is_ready(router));
    let mut broker = gossiping(Router);
    for whatami in [Client, Peer] {
        let face = broker.arrival(whatami).unwrap();
        assert!(broker.routing.is_ready(face));
    }
}

#[test]
fn numbers_of_neighbours_that_left_are_used_again() {
    let mut peer = gossiping(Peer);
    let (first, _second) = (peer.neighbour(Peer), peer.neighbour(Peer));
    peer.departure(first);
    let third = peer.arrival(Peer).unwrap();
    let bytes = peer.sent_to(third);
    let message = NetworkMessage::decode(&mut Reader::new(&bytes)).unwrap();
    let NetworkMessage::Oam(oam) = message else { panic!() };
    let weft_wire::OamBody::ZBuf(body) = oam.body else { panic!() };
    let LinkStateList(states) = LinkStateList::decode(&mut Reader::new(body)).unwrap();
    let told: Vec<_> = states.iter().map(|it| (it.psid, it.zid.unwrap().to_string())).collect();
    assert_eq!(told, [(0, "a1".into()), (2, "b2".into()), (1, "b3".into())]);
}
