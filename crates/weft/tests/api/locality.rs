//! Who reaches whom: this session, other sessions, or both.

use std::sync::Mutex;

use weft::handlers::Receiver;
use weft::{Locality, Query, QueryTarget, Sample, Session};

use crate::support::{await_queryable, next, pair};

const LOCALITIES: [Locality; 3] = [Locality::Any, Locality::Remote, Locality::SessionLocal];

fn local(locality: Locality) -> bool {
    locality.allows_local()
}

fn remote(locality: Locality) -> bool {
    locality.allows_remote()
}

/// What a receiver has got before the fence.
fn before_fence(receiver: &Receiver<Sample>) -> Vec<String> {
    let mut got = Vec::new();
    loop {
        let sample = next(receiver);
        let text = sample.payload().try_to_str().unwrap().into_owned();
        if text == "fence" {
            return got;
        }
        got.push(text);
    }
}

/// Declares a subscriber of every origin at a session.
fn subscribers(session: &Session) -> Vec<(Locality, weft::Subscriber)> {
    let declare = |origin| session.declare_subscriber("s").allowed_origin(origin).wait().unwrap();
    LOCALITIES.map(|origin| (origin, declare(origin))).into()
}

/// Waits until `a`'s samples reach `b`.
fn await_subscriber(a: &Session) {
    let publisher = a.declare_publisher("s").allowed_destination(Locality::Remote).wait().unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    assert!(next(&status).matching());
}

/// A sample arrives where both its destination and the subscriber's origin allow it.
#[test]
fn samples_go_where_both_sides_allow() {
    let (a, b) = pair();
    let (at_a, at_b) = (subscribers(&a), subscribers(&b));
    await_subscriber(&a);
    await_subscriber(&b);
    for destination in LOCALITIES {
        let value = format!("{destination:?}");
        a.put("s", &value).allowed_destination(destination).wait().unwrap();
        let publisher = a.declare_publisher("s").allowed_destination(destination);
        publisher.wait().unwrap().put(&value).wait().unwrap();
    }
    // A fence from each side, so that every subscriber gets one, whatever its origin.
    a.put("s", "fence").wait().unwrap();
    for (origin, subscriber) in at_a.iter().filter(|(origin, _)| local(*origin)) {
        let expected = LOCALITIES.iter().filter(|it| local(**it)).map(|it| format!("{it:?}"));
        let expected: Vec<_> = expected.flat_map(|it| [it.clone(), it]).collect();
        assert_eq!(before_fence(subscriber), expected, "own samples at origin {origin:?}");
    }
    for (origin, subscriber) in at_b.iter().filter(|(origin, _)| remote(*origin)) {
        let expected = LOCALITIES.iter().filter(|it| remote(**it)).map(|it| format!("{it:?}"));
        let expected: Vec<_> = expected.flat_map(|it| [it.clone(), it]).collect();
        assert_eq!(before_fence(subscriber), expected, "others' samples at origin {origin:?}");
    }
    b.put("s", "fence").wait().unwrap();
    let remote_only_at_a = &at_a[1].1;
    assert_eq!(before_fence(remote_only_at_a), [""; 0], "own samples at origin Remote");
    let local_only_at_b = &at_b[2].1;
    assert_eq!(before_fence(local_only_at_b), [""; 0], "others' samples at origin SessionLocal");
}

/// Declares a queryable of every origin at a session; each answers with its name.
fn queryables(session: &Session, at: &'static str) -> Vec<weft::Queryable<()>> {
    let declare = |origin: Locality| {
        let answer = move |query: Query| {
            query.reply(format!("q/{at}/{origin:?}"), "x").wait().unwrap();
        };
        session.declare_queryable("q/**").allowed_origin(origin).callback(answer).wait().unwrap()
    };
    LOCALITIES.map(declare).into()
}

/// A query arrives where both its destination and the queryable's origin allow it.
#[test]
fn queries_go_where_both_sides_allow() {
    let (a, b) = pair();
    let _at_a = queryables(&a, "a");
    let _at_b = queryables(&b, "b");
    let querier = a.declare_querier("q/**").allowed_destination(Locality::Remote).wait().unwrap();
    assert!(next(&querier.matching_listener().wait().unwrap()).matching());
    for destination in LOCALITIES {
        let mut expected = Vec::new();
        for origin in LOCALITIES {
            if local(destination) && local(origin) {
                expected.push(format!("q/a/{origin:?}"));
            }
            if remote(destination) && remote(origin) {
                expected.push(format!("q/b/{origin:?}"));
            }
        }
        expected.sort();
        let get = a.get("q/**").target(QueryTarget::All).allowed_destination(destination);
        let querier = a.declare_querier("q/**").target(QueryTarget::All);
        let querier = querier.allowed_destination(destination).wait().unwrap();
        for replies in [get.wait().unwrap(), querier.get().wait().unwrap()] {
            let keys = Mutex::new(Vec::new());
            for reply in &replies {
                keys.lock().unwrap().push(reply.result().unwrap().key_expr().to_string());
            }
            let mut keys = keys.into_inner().unwrap();
            keys.sort();
            assert_eq!(keys, expected, "destination {destination:?}");
        }
    }
}

/// Local delivery happens on the publishing thread, before the put returns.
#[test]
fn local_delivery_is_synchronous() {
    let (a, _b) = pair();
    let seen = std::sync::Arc::new(Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&seen);
    let callback = move |sample: &weft::SampleView<'_>| {
        noted.lock().unwrap().push((std::thread::current().id(), sample.payload().to_vec()));
    };
    let _subscriber = a.declare_subscriber("l").callback(callback).wait().unwrap();
    let publisher = a.declare_publisher("l").wait().unwrap();
    a.put("l", "1").wait().unwrap();
    publisher.put("2").wait().unwrap();
    publisher.put_bytes(b"3").unwrap();
    a.delete("l").wait().unwrap();
    let own = std::thread::current().id();
    let expected = [b"1".to_vec(), b"2".to_vec(), b"3".to_vec(), Vec::new()];
    assert_eq!(*seen.lock().unwrap(), expected.map(|payload| (own, payload)));
}

/// A session's own sample does not come back to it from its neighbours.
#[test]
fn samples_do_not_come_back() {
    let (_router, a, b) = crate::support::brokered();
    let own = a.declare_subscriber("e").wait().unwrap();
    let other = b.declare_subscriber("e").wait().unwrap();
    let publisher = a.declare_publisher("e").allowed_destination(Locality::Remote).wait().unwrap();
    assert!(next(&publisher.matching_listener().wait().unwrap()).matching());
    let back = b.declare_publisher("e").allowed_destination(Locality::Remote).wait().unwrap();
    assert!(next(&back.matching_listener().wait().unwrap()).matching());
    a.put("e", "out").wait().unwrap();
    assert_eq!(*next(&other).payload(), "out");
    b.put("e", "back").wait().unwrap();
    assert_eq!(*next(&own).payload(), "out");
    assert_eq!(*next(&own).payload(), "back");
}

/// A session without neighbours talks to itself.
#[test]
fn a_session_answers_itself() {
    let session = crate::support::alone();
    let answer = |query: Query| query.reply(query.key_expr(), "own").wait().unwrap();
    let _queryable = session.declare_queryable("own").callback(answer).wait().unwrap();
    await_queryable(&session, "own");
    let replies: Vec<_> = session.get("own").wait().unwrap().into_iter().collect();
    assert_eq!(*replies[0].result().unwrap().payload(), "own");
    assert_eq!(replies[0].replier_id().unwrap().zid, session.zid());
}
