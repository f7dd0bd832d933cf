//! Handlers that panic: the session goes on.

use std::sync::mpsc;

use weft::{Query, SampleView};

use crate::support::{alone, await_queryable, matched_publisher, next, pair, soon};

/// A panic in any handler ends in that handler; the same handler is called again.
#[test]
fn a_panic_stops_nothing() {
    let (a, b) = pair();
    let (called, calls) = mpsc::channel();
    let tell = called.clone();
    let callback = move |sample: &SampleView<'_>| {
        tell.send("sample").unwrap();
        assert!(sample.payload() != b"panic", "on purpose");
    };
    let subscriber = a.declare_subscriber("s").callback(callback).wait().unwrap();
    let publisher = matched_publisher(&b, "s");
    for payload in ["panic", "fine"] {
        publisher.put(payload).wait().unwrap();
        assert_eq!(soon(&calls), "sample");
    }

    let tell = called.clone();
    let callback = move |query: Query| {
        tell.send("query").unwrap();
        assert!(query.parameters().is_empty(), "on purpose");
        query.reply("q", "x").wait().unwrap();
    };
    let queryable = a.declare_queryable("q").callback(callback).wait().unwrap();
    await_queryable(&b, "q");
    // The query is dropped while its callback unwinds, and so it ends.
    assert_eq!(b.get("q?panic").wait().unwrap().into_iter().count(), 0);
    assert_eq!(b.get("q").wait().unwrap().into_iter().count(), 1);
    assert_eq!((soon(&calls), soon(&calls)), ("query", "query"));

    let tell = called.clone();
    let callback = move |_| {
        tell.send("reply").unwrap();
        panic!("on purpose");
    };
    b.get("q").callback(callback).wait().unwrap();
    assert_eq!((soon(&calls), soon(&calls)), ("query", "reply"));

    let tell = called.clone();
    let callback = move |_| {
        tell.send("token").unwrap();
        panic!("on purpose");
    };
    let watcher = a.liveliness().declare_subscriber("t").callback(callback).wait().unwrap();
    drop(b.liveliness().declare_token("t").wait().unwrap());
    assert_eq!((soon(&calls), soon(&calls)), ("token", "token"));

    let callback = move |_| {
        called.send("status").unwrap();
        panic!("on purpose");
    };
    let publisher = a.declare_publisher("m").wait().unwrap();
    let listener = publisher.matching_listener().callback(callback).wait().unwrap();
    drop(b.declare_subscriber("m").wait().unwrap());
    assert_eq!((soon(&calls), soon(&calls)), ("status", "status"));

    // Undeclaring and closing do not wait for a call that ended in a panic.
    drop((subscriber, queryable, watcher, listener, publisher));
    a.close().wait();
}

/// A subscriber's panic is not its local publisher's.
#[test]
fn a_local_publisher_does_not_panic() {
    let session = alone();
    let panics = |_: &SampleView<'_>| panic!("on purpose");
    let _first = session.declare_subscriber("x").callback(panics).wait().unwrap();
    let second = session.declare_subscriber("x").wait().unwrap();
    session.put("x", "1").wait().unwrap();
    assert_eq!(*next(&second).payload(), "1");
}
