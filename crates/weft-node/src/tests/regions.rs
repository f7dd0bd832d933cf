//! Gateways: what is said of regions in the handshake, and who is refused.

use super::*;
use crate::{Gateway, NeighbourFilter, Region, SouthRegion};
use WhatAmI::{Client, Peer, Router};
use weft_wire::{Bound, OpenAck, OpenSyn};

/// A peer that serves those of the region `leaf`, and clients.
fn gateway(change: impl FnOnce(&mut NodeConfig)) -> Bench {
    let leaf = NeighbourFilter {
        region_names: Some(Vec::from(["leaf".into()])),
        ..NeighbourFilter::default()
    };
    let clients = NeighbourFilter { modes: Some(Client.into()), ..NeighbourFilter::default() };
    let south = [leaf, clients].map(|filter| SouthRegion { filters: Some(Vec::from([filter])) });
    Bench::with(Peer, |config| {
        config.serve(Gateway { south: south.into() });
        change(config);
    })
}

fn neighbour(whatami: WhatAmI, region: Option<&str>, bound: Option<Bound>) -> HandshakeConfig {
    HandshakeConfig {
        region_name: region.map(Into::into),
        remote_bound: bound,
        ..HandshakeConfig::new(zid("b1"), whatami)
    }
}

/// The bound in the OPEN that was transmitted last.
fn told(bench: &Bench) -> Option<Bound> {
    match TransportMessage::decode(&mut Reader::new(&bench.last_batch())) {
        Ok(TransportMessage::OpenAck(OpenAck { exts, .. })) => exts.remote_bound,
        Ok(TransportMessage::OpenSyn(OpenSyn { exts, .. })) => exts.remote_bound,
        other => panic!("{other:?}"),
    }
}

fn regions(bench: &Bench) -> Vec<Region> {
    bench.node.routing().face_views().skip(1).map(|face| face.region).collect()
}

#[test]
fn a_neighbour_is_told_where_it_is_and_put_there() {
    for (whatami, region, bound, place) in [
        (Peer, Some("leaf"), Bound::South, Region::South(0, Peer)),
        (Client, Some("leaf"), Bound::South, Region::South(0, Client)),
        (Client, None, Bound::South, Region::South(1, Client)),
        (Peer, Some("main"), Bound::North, Region::North),
        (Router, None, Bound::North, Region::North),
    ] {
        let mut bench = gateway(|_| {});
        bench.accept_config(&neighbour(whatami, region, None));
        assert_eq!((told(&bench), regions(&bench)), (Some(bound), Vec::from([place])), "{whatami}");
    }
    let mut silent = Bench::new(Peer);
    silent.accept_config(&neighbour(Peer, Some("leaf"), None));
    assert_eq!(told(&silent), None, "where nothing is configured, nothing is said");
}

#[test]
fn whoever_dials_says_it_before_it_has_heard_the_others_opinion() {
    let mut bench = gateway(|config| config.dial.push(target(&["b:1"])));
    bench.start();
    bench.answer_dial_config(0, neighbour(Peer, Some("leaf"), Some(Bound::North)));
    assert_eq!(
        (told(&bench), regions(&bench)),
        (Some(Bound::South), [Region::South(0, Peer)].into())
    );
}

#[test]
fn settings_that_contradict_each_other_close_the_link_and_are_reported_once() {
    let refused = [
        // It would serve this node, which serves it.
        neighbour(Peer, Some("leaf"), Some(Bound::South)),
        // A peer serves no router.
        neighbour(Router, Some("leaf"), None),
        // In the north of both, and of different modes.
        neighbour(Router, None, Some(Bound::North)),
    ];
    for config in refused {
        let mut bench = gateway(|_| {});
        for _ in 0..3 {
            bench.accept_config(&config);
            assert_eq!(last_close(&bench), Some(CloseReason::GENERIC));
        }
        assert!(bench.neighbours().is_empty());
        let events = bench.events();
        assert!(
            matches!(&events[..], [NodeEvent::Warning { text }] if text.contains("gateway/south")),
            "{events:?}"
        );
    }
}

#[test]
fn a_client_that_serves_others_is_open_when_it_is_served_itself() {
    let mut client = Bench::with(Client, |config| {
        config.serve(Gateway {
            south: Vec::from([SouthRegion {
                filters: Some(Vec::from([NeighbourFilter {
                    modes: Some(Peer.into()),
                    ..NeighbourFilter::default()
                }])),
            }]),
        });
        config.dial.push(target(&["r:1"]));
    });
    client.start();
    client.accept("b1", Peer);
    assert!(!client.events().contains(&NodeEvent::Started));
    client.answer_dial(0, "b2", Router);
    assert!(client.events().contains(&NodeEvent::Started));
    client.accept("b3", Peer);
    assert_eq!(client.neighbours(), ["b1", "b2", "b3"]);
    client.accept("b4", Router);
    assert_eq!(last_close(&client), Some(CloseReason::GENERIC), "one upstream is all it has");
}
