//! What a session tells of itself and its neighbours.

use weft::WhatAmI;
use weft::info::EventKind::{Closed, Opened};

use crate::support::{Node, alone, listener, matched_publisher, next, router, until};

#[test]
fn neighbours_are_listed_by_mode() {
    let router = router();
    let client = Node::new("client").connect(&router).open();
    let peer = Node::new("peer").connect(&router).open();
    until("both", || router.info().neighbours().len() == 2);
    let info = router.info();
    assert_eq!(info.zid(), router.zid());
    assert_eq!(info.routers_zid(), []);
    assert_eq!(info.peers_zid(), [peer.zid()]);
    assert_eq!(info.clients_zid(), [client.zid()]);
    assert_eq!(client.info().routers_zid(), [router.zid()]);
    assert_eq!(peer.info().routers_zid(), [router.zid()]);
    let transports = client.info().transports();
    assert_eq!(transports.len(), 1);
    assert_eq!((transports[0].zid(), transports[0].whatami()), (router.zid(), WhatAmI::Router));
    assert!(transports[0].is_qos());
    assert!(!transports[0].is_shm() && !transports[0].is_multicast());
    assert_eq!(client.id().zid, client.zid());
    assert!(alone().info().neighbours().is_empty());
}

#[test]
fn both_ends_describe_the_same_link() {
    let a = listener();
    let b = Node::new("peer").connect(&a).open();
    until("the link", || a.info().links().len() == 1);
    let (of_a, of_b) = (a.info().links().remove(0), b.info().links().remove(0));
    assert_eq!((of_a.zid(), of_b.zid()), (b.zid(), a.zid()));
    assert_eq!((of_a.src(), of_a.dst()), (of_b.dst(), of_b.src()));
    assert_eq!(of_a.src(), a.info().locators()[0].to_string());
    assert!(of_a.mtu() > 1000);
    for link in [of_a, of_b] {
        assert!(link.is_streamed() && link.is_reliable());
        assert_eq!((link.group(), link.auth_identifier()), (None, None));
        assert_eq!((link.priorities(), link.reliability()), (None, None));
        assert!(!link.interfaces().is_empty());
    }
}

#[test]
fn counters_count() {
    let a = listener();
    let b = Node::new("peer").connect(&a).open();
    let subscriber = a.declare_subscriber("x").wait().unwrap();
    let publisher = matched_publisher(&b, "x");
    let before = b.info().neighbours()[0].sent;
    for _ in 0..100 {
        publisher.put(vec![0; 100]).wait().unwrap();
    }
    for _ in 0..100 {
        next(&subscriber);
    }
    let neighbour = b.info().neighbours().remove(0);
    assert_eq!(neighbour.sent.0 - before.0, 100);
    assert!(neighbour.sent.2 - before.2 > 10_000);
    assert_eq!(neighbour.dropped, 0);
}

/// Listeners are told of what comes and goes, with history of what is there.
#[test]
fn listeners_hear_of_neighbours() {
    let a = listener();
    let transports = a.info().transport_events_listener().wait().unwrap();
    let links = a.info().link_events_listener().wait().unwrap();
    let b = Node::new("peer").connect(&a).open();
    let (came, linked) = (next(&transports), next(&links));
    assert_eq!(
        (came.kind, came.object.zid(), came.object.whatami()),
        (Opened, b.zid(), WhatAmI::Peer)
    );
    assert_eq!((linked.kind, linked.object.zid()), (Opened, b.zid()));
    let with = a.info().transport_events_listener().history(true).wait().unwrap();
    let without = a.info().transport_events_listener().wait().unwrap();
    assert_eq!(next(&with), came);
    b.close().wait();
    let (gone, unlinked) = (next(&transports), next(&links));
    assert_eq!((gone.kind, &gone.object), (Closed, &came.object));
    assert_eq!((unlinked.kind, &unlinked.object), (Closed, &linked.object));
    assert_eq!(next(&with), gone);
    assert_eq!(next(&without), gone);
}
