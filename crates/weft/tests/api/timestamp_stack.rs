//! What is recorded of messages on their way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft::InterceptionPoint::{self, Receive, Route, Send};
use weft::ext::{MissDetectionConfig, declare_advanced_publisher};
use weft::timestamp::{RecordedStamp, TimestampInstrumentation, TimestampStack};
use weft::{Query, Session, WhatAmI, ZenohId};

use crate::support::{
    Node, alone, await_queryable, brokered, listener, matched_publisher, next, pair, soon,
};

const ALL: TimestampInstrumentation = TimestampInstrumentation::all();

fn at(points: &[InterceptionPoint]) -> TimestampInstrumentation {
    TimestampInstrumentation::new(points.iter().copied()).unwrap()
}

/// Points and nodes of the records, whose times do not go back on any node.
fn records(stack: Option<&TimestampStack>) -> Vec<(InterceptionPoint, ZenohId)> {
    let records = stack.expect("a stack").records().iter();
    let found: Vec<_> = records
        .map(|record| match &record.stamp {
            RecordedStamp::Time(stamp) => (record.point, *stamp),
            RecordedStamp::Custom(bytes) => panic!("{bytes:?}"),
        })
        .collect();
    for (index, (_, stamp)) in found.iter().enumerate() {
        assert!(found[..index].iter().all(|(_, before)| before.id != stamp.id || before < stamp));
    }
    found.into_iter().map(|(point, stamp)| (point, stamp.id)).collect()
}

#[test]
fn the_way_of_samples_between_peers() {
    let (a, b) = pair();
    let subscriber = b.declare_subscriber("k").wait().unwrap();
    let publisher = matched_publisher(&a, "k");
    let advanced = declare_advanced_publisher(&a, "k");
    let advanced = advanced.sample_miss_detection(MissDetectionConfig::default()).wait().unwrap();
    publisher.put("x").timestamp_instrumentation(ALL).wait().unwrap();
    publisher.delete().timestamp_instrumentation(ALL).wait().unwrap();
    a.put("k", "x").timestamp_instrumentation(ALL).wait().unwrap();
    advanced.put("x").timestamp_instrumentation(ALL).wait().unwrap();
    let whole = [(Send, a.zid()), (Route, a.zid()), (Route, b.zid()), (Receive, b.zid())];
    for _ in 0..4 {
        let sample = next(&subscriber);
        assert_eq!(records(sample.timestamp_stack()), whole);
        assert_eq!(sample.timestamp_stack().unwrap().instrumentation(), ALL);
    }
    for (points, expected) in [
        (&[Send][..], &[(Send, a.zid())][..]),
        (&[Route], &[(Route, a.zid()), (Route, b.zid())]),
        (&[Receive], &[(Receive, b.zid())]),
    ] {
        publisher.put("x").timestamp_instrumentation(at(points)).wait().unwrap();
        assert_eq!(records(next(&subscriber).timestamp_stack()), expected);
    }
    publisher.put("x").wait().unwrap();
    publisher.put_bytes(b"x").unwrap();
    assert_eq!(next(&subscriber).timestamp_stack(), None);
    assert_eq!(next(&subscriber).timestamp_stack(), None);
}

#[test]
fn the_way_through_a_router_and_within_a_session() {
    let (router, a, b) = brokered();
    let (seen, sees) = std::sync::mpsc::channel();
    let _subscriber = b
        .declare_subscriber("k")
        .callback(move |sample| seen.send(sample.timestamp_stack()).unwrap())
        .wait()
        .unwrap();
    let own = a.declare_subscriber("k").wait().unwrap();
    let publisher = matched_publisher(&a, "k");
    publisher.put("x").timestamp_instrumentation(ALL).wait().unwrap();
    let [a, b, router] = [&a, &b, &router].map(Session::zid);
    let whole = [(Send, a), (Route, a), (Route, router), (Route, b), (Receive, b)];
    assert_eq!(records(soon(&sees).as_ref()), whole);
    assert_eq!(records(next(&own).timestamp_stack()), [(Send, a), (Receive, a)]);
}

#[test]
fn the_way_of_queries_and_replies() {
    let (router, a, b) = brokered();
    let [a_zid, b_zid, router] = [&a, &b, &router].map(Session::zid);
    let asked = [(Send, b_zid), (Route, b_zid), (Route, router), (Route, a_zid), (Receive, a_zid)];
    let (seen, sees) = std::sync::mpsc::channel();
    let answer = move |query: Query| {
        seen.send(query.timestamp_stack()).unwrap();
        query.reply("q", "x").wait().unwrap();
        query.reply_err("no").wait().unwrap();
    };
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    await_queryable(&b, "q");
    let replies = b.get("q").timestamp_instrumentation(ALL);
    let replies = replies.consolidation(weft::Consolidation::None).wait().unwrap();
    assert_eq!(records(soon(&sees).as_ref()), asked);
    let answered =
        [(Send, a_zid), (Route, a_zid), (Route, router), (Route, b_zid), (Receive, b_zid)];
    let whole = [asked, answered].concat();
    let reply = next(&replies).into_result().unwrap();
    assert_eq!(records(reply.timestamp_stack()), whole);
    let error = next(&replies).into_result().unwrap_err();
    assert_eq!(records(error.timestamp_stack()), whole);

    let querier = b.declare_querier("q").wait().unwrap();
    let ends = querier.get().timestamp_instrumentation(at(&[Send, Receive])).wait().unwrap();
    let whole = [(Send, b_zid), (Receive, a_zid), (Send, a_zid), (Receive, b_zid)];
    assert_eq!(records(soon(&sees).as_ref()), whole[..2]);
    let replies: Vec<_> = ends.into_iter().collect();
    let stacks = replies.iter().map(|reply| match reply.result() {
        Ok(sample) => sample.timestamp_stack(),
        Err(error) => error.timestamp_stack(),
    });
    assert!(stacks.map(records).eq([whole, whole]));
    next(&b.get("q").wait().unwrap());
    assert_eq!(soon(&sees), None);
}

#[test]
fn a_session_may_ask_itself() {
    let session = alone();
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = session.declare_queryable("q").callback(answer).wait().unwrap();
    let replies = session.get("q").timestamp_instrumentation(ALL).wait().unwrap();
    let reply = next(&replies).into_result().unwrap();
    let points = records(reply.timestamp_stack()).into_iter().map(|(point, _)| point);
    assert!(points.eq([Send, Receive, Send, Receive]));
}

/// An application stamps with its own bytes; it is asked once for each record.
#[test]
fn stamps_of_an_application() {
    let a = listener();
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let b = weft::open(Node::new("peer").connect(&a).0)
        .timestamp_callback(move |context| {
            assert_eq!(context.whatami, WhatAmI::Peer);
            let call = called.fetch_add(1, Ordering::Relaxed);
            format!("{} {call}", context.zid).into_bytes()
        })
        .wait()
        .unwrap();
    let subscriber = a.declare_subscriber("k").wait().unwrap();
    let publisher = matched_publisher(&b, "k");
    publisher.put("x").wait().unwrap();
    publisher.put("x").timestamp_instrumentation(ALL).wait().unwrap();
    assert_eq!(next(&subscriber).timestamp_stack(), None);
    let sample = next(&subscriber);
    let records = sample.timestamp_stack().unwrap().records();
    let custom = |call| RecordedStamp::Custom(format!("{} {call}", b.zid()).into());
    assert_eq!((records[0].point, &records[0].stamp), (Send, &custom(0)));
    assert_eq!((records[1].point, &records[1].stamp), (Route, &custom(1)));
    assert!(matches!(records[2..], [_, _]));
    assert!(records[2..].iter().all(|it| matches!(it.stamp, RecordedStamp::Time(_))));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}
