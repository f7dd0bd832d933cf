//! Matching status: whether anybody wants what is published, or answers what is asked.

use std::sync::mpsc;

use weft::handlers::{FifoChannel, Receiver};
use weft::{Locality, MatchingStatus, Query, QueryTarget, Session};

use crate::support::{
    Node, alone, assert_ends, brokered, ends, listener, next, pair, router, soon, until,
};

fn assert_next(status: &Receiver<MatchingStatus>, matching: bool) {
    assert_eq!(next(status).matching(), matching);
}

/// The sender's session and the receiver's, in every relation.
fn relations() -> Vec<(&'static str, Vec<Session>, Session, Session)> {
    let mut all = Vec::new();
    let (a, b) = pair();
    all.push(("peer and peer", vec![], a, b));
    let (hub, a, b) = brokered();
    all.push(("clients of a router", vec![hub], a, b));
    let hub = router();
    all.push(("client and router", vec![], Node::new("client").connect(&hub).open(), hub));
    let hub = router();
    let client = Node::new("client").connect(&hub).open();
    all.push(("router and client", vec![], hub, client));
    let hub = listener();
    all.push(("client and peer", vec![], Node::new("client").connect(&hub).open(), hub));
    let own = alone();
    all.push(("a session itself", vec![], own.clone(), own));
    all
}

/// A publisher is told of the first subscriber that appears, and when the last one goes.
#[test]
fn publishers_hear_of_subscribers() {
    for (relation, _hub, sender, receiver) in relations() {
        let publisher = sender.declare_publisher("m/1").wait().unwrap();
        let status = publisher.matching_listener().wait().unwrap();
        assert!(!publisher.matching_status().unwrap().matching(), "{relation}");
        let other = receiver.declare_subscriber("m/2").wait().unwrap();
        let first = receiver.declare_subscriber("m/*").wait().unwrap();
        assert_next(&status, true);
        assert!(publisher.matching_status().unwrap().matching(), "{relation}");
        let second = receiver.declare_subscriber("m/1").wait().unwrap();
        drop(first);
        let late = publisher.matching_listener().wait().unwrap();
        assert_next(&late, true);
        drop(second);
        assert_next(&status, false);
        assert_next(&late, false);
        assert!(!publisher.matching_status().unwrap().matching(), "{relation}");
        let _third = receiver.declare_subscriber("**").wait().unwrap();
        assert_next(&status, true);
        assert_eq!(status.try_recv().unwrap(), None, "{relation}");
        drop(other);
    }
}

/// A querier is told of queryables in the same way.
#[test]
fn queriers_hear_of_queryables() {
    for (relation, _hub, sender, receiver) in relations() {
        let querier = sender.declare_querier("m/1").wait().unwrap();
        let status = querier.matching_listener().wait().unwrap();
        assert!(!querier.matching_status().unwrap().matching(), "{relation}");
        let first = receiver.declare_queryable("m/*").wait().unwrap();
        assert_next(&status, true);
        assert!(querier.matching_status().unwrap().matching(), "{relation}");
        drop(first);
        assert_next(&status, false);
        assert!(!querier.matching_status().unwrap().matching(), "{relation}");
    }
}

/// A querier of all complete queryables is told of those that cover its key.
#[test]
fn a_querier_of_complete_queryables_hears_of_those() {
    for (relation, _hub, sender, receiver) in relations() {
        let querier =
            sender.declare_querier("m/*").target(QueryTarget::AllComplete).wait().unwrap();
        let any = sender.declare_querier("m/*").wait().unwrap();
        let of_any = any.matching_listener().wait().unwrap();
        let status = querier.matching_listener().wait().unwrap();
        let _incomplete = receiver.declare_queryable("m/**").wait().unwrap();
        assert_next(&of_any, true);
        let _partial = receiver.declare_queryable("m/1").complete(true).wait().unwrap();
        let complete = receiver.declare_queryable("m/**").complete(true).wait().unwrap();
        assert_next(&status, true);
        drop(complete);
        assert_next(&status, false);
        assert_eq!(status.try_recv().unwrap(), None, "{relation}");
    }
}

/// Only what the sender may reach counts, and only what may be reached from there.
#[test]
fn locality_counts() {
    let (a, b) = pair();
    let publisher =
        |destination| a.declare_publisher("l").allowed_destination(destination).wait().unwrap();
    let querier =
        |destination| a.declare_querier("l").allowed_destination(destination).wait().unwrap();
    let all = [Locality::Any, Locality::Remote, Locality::SessionLocal];
    let publishers = all.map(publisher);
    let queriers = all.map(querier);
    let matching = || {
        let publishers = publishers.each_ref().map(|it| it.matching_status().unwrap().matching());
        let queriers = queriers.each_ref().map(|it| it.matching_status().unwrap().matching());
        assert_eq!(publishers, queriers);
        publishers
    };
    assert_eq!(matching(), [false, false, false]);
    let declare = |session: &Session, origin| {
        let subscriber = session.declare_subscriber("l").allowed_origin(origin).wait().unwrap();
        let queryable = session.declare_queryable("l").allowed_origin(origin);
        let queryable = queryable.callback(|_: Query| {}).wait().unwrap();
        (subscriber, queryable)
    };
    let own = declare(&a, Locality::Remote);
    assert_eq!(matching(), [false, false, false]);
    let local = declare(&a, Locality::SessionLocal);
    assert_eq!(matching(), [true, false, true]);
    drop(local);
    assert_eq!(matching(), [false, false, false]);
    let any = declare(&a, Locality::Any);
    assert_eq!(matching(), [true, false, true]);
    drop((own, any));
    let remote = declare(&b, Locality::Any);
    until("the remote match", || matching_of_both(&publishers[0], &queriers[0]));
    assert_eq!(matching(), [true, true, false]);
    let _hidden = declare(&b, Locality::SessionLocal);
    drop(remote);
    until("its end", || !matching_of_any(&publishers[0], &queriers[0]));
    assert_eq!(matching(), [false, false, false]);
}

fn matching_of_both(publisher: &weft::Publisher, querier: &weft::Querier) -> bool {
    publisher.matching_status().unwrap().matching() && querier.matching_status().unwrap().matching()
}

fn matching_of_any(publisher: &weft::Publisher, querier: &weft::Querier) -> bool {
    publisher.matching_status().unwrap().matching() || querier.matching_status().unwrap().matching()
}

/// A neighbour that leaves is no match any more.
#[test]
fn a_neighbour_that_leaves_matches_no_more() {
    for close in [true, false] {
        let (hub, a, b) = brokered();
        let publisher = a.declare_publisher("n").wait().unwrap();
        let status = publisher.matching_listener().wait().unwrap();
        let _subscriber = b.declare_subscriber("n").wait().unwrap();
        assert_next(&status, true);
        if close {
            b.close().wait();
        } else {
            hub.close().wait();
        }
        assert_next(&status, false);
    }
}

/// A listener ends with its publisher or querier, and only with it or by itself.
#[test]
fn listeners_end_with_their_sender() {
    let (a, b) = pair();
    let publisher = a.declare_publisher("e").wait().unwrap();
    let querier = a.declare_querier("e").wait().unwrap();
    let of_publisher = publisher.matching_listener().wait().unwrap();
    let of_querier = querier.matching_listener().wait().unwrap();
    let (told, tells) = mpsc::channel();
    let callback = move |status: MatchingStatus| told.send(status.matching()).unwrap();
    publisher.matching_listener().callback(callback).wait().unwrap().background();
    let one_of_two = publisher.matching_listener().wait().unwrap();
    drop(one_of_two);
    let _subscriber = b.declare_subscriber("e").wait().unwrap();
    assert!(soon(&tells));
    assert_next(&of_publisher, true);
    publisher.undeclare();
    querier.undeclare();
    assert_ends(&of_publisher);
    assert_ends(&of_querier);
    assert!(tells.recv().is_err());
}

/// A listener without room for its first news does not keep the declaration from returning.
#[test]
fn a_rendez_vous_listener_is_declared() {
    let session = alone();
    let _subscriber = session.declare_subscriber("r").wait().unwrap();
    ends("a declaration", move || {
        let publisher = session.declare_publisher("r").wait().unwrap();
        let listener = publisher.matching_listener().with(FifoChannel::new(0)).wait().unwrap();
        assert_next(&listener, true);
    });
}

/// However the changes and the declarations of listeners interleave, each listener hears true and
/// false in turn, true first, and in the end what is the case.
#[test]
fn listeners_hear_changes_in_turn() {
    let (a, b) = pair();
    let publisher = a.declare_publisher("t").wait().unwrap();
    std::thread::scope(|scope| {
        let flapping = scope.spawn(|| {
            for _ in 0..200 {
                drop(b.declare_subscriber("t").wait().unwrap());
                drop(a.declare_subscriber("t").wait().unwrap());
            }
            b.declare_subscriber("t").wait().unwrap()
        });
        let mut listeners = Vec::new();
        while !flapping.is_finished() {
            let listener = publisher.matching_listener().with(FifoChannel::new(10_000));
            listeners.push((listener.wait().unwrap(), false));
        }
        let _subscriber = flapping.join().unwrap();
        for (listener, matching) in &mut listeners {
            until("the last change", || {
                for status in listener.drain() {
                    assert_ne!(status.matching(), *matching, "only changes are told");
                    *matching = status.matching();
                }
                *matching && publisher.matching_status().unwrap().matching()
            });
        }
    });
}
