//! Who stamps samples, and when.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weft::{Query, SampleKind, Session, Timestamp};

use crate::support::{
    Node, alone, await_queryable, brokered, listener, matched_publisher, next, pair,
};

fn unix(timestamp: Timestamp) -> Duration {
    Duration::from_nanos(timestamp.unix_ns())
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// Peers stamp nothing by themselves.
#[test]
fn peers_do_not_stamp() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("t").wait().unwrap();
    drop(matched_publisher(&b, "t"));
    b.put("t", "x").wait().unwrap();
    b.delete("t").wait().unwrap();
    assert_eq!(next(&subscriber).timestamp(), None);
    assert_eq!(next(&subscriber).timestamp(), None);
}

/// A router stamps puts that have no stamp, deletions and replies never.
#[test]
fn a_router_stamps_puts() {
    let (router, a, b) = brokered();
    let subscriber = a.declare_subscriber("t").wait().unwrap();
    drop(matched_publisher(&b, "t"));
    let before = now();
    b.put("t", "1").wait().unwrap();
    b.put("t", "2").wait().unwrap();
    let own = b.new_timestamp();
    b.put("t", "3").timestamp(own).wait().unwrap();
    b.delete("t").wait().unwrap();
    let first = next(&subscriber).timestamp().unwrap();
    let second = next(&subscriber).timestamp().unwrap();
    assert_eq!((first.id, second.id), (router.zid(), router.zid()));
    assert!(second > first);
    let slack = Duration::from_secs(2);
    assert!(unix(first) + slack > before && unix(second) < now() + slack);
    assert_eq!(next(&subscriber).timestamp(), Some(own));
    let deletion = next(&subscriber);
    assert_eq!((deletion.kind(), deletion.timestamp()), (SampleKind::Delete, None));

    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    await_queryable(&b, "q");
    assert_eq!(next(&b.get("q").wait().unwrap()).result().unwrap().timestamp(), None);
}

/// A session that is told to stamps its puts and deletions, local delivery included.
#[test]
fn a_session_stamps_if_told_to() {
    let a = listener();
    let b = Node::new("peer").connect(&a).set("timestamping/enabled", "true").open();
    let subscriber = a.declare_subscriber("t").wait().unwrap();
    let own = b.declare_subscriber("t").wait().unwrap();
    let publisher = matched_publisher(&b, "t");
    let explicit = a.new_timestamp();
    b.put("t", "x").wait().unwrap();
    b.delete("t").wait().unwrap();
    publisher.put("x").wait().unwrap();
    publisher.put_bytes(b"x").unwrap();
    publisher.delete().wait().unwrap();
    b.put("t", "x").timestamp(explicit).wait().unwrap();
    let mut last = None;
    for _ in 0..5 {
        let (remote, local) = (next(&subscriber), next(&own));
        assert_eq!(remote.timestamp(), local.timestamp());
        let stamp = remote.timestamp().unwrap();
        assert_eq!(stamp.id, b.zid());
        assert!(Some(stamp) > last);
        last = Some(stamp);
    }
    assert_eq!(next(&subscriber).timestamp(), Some(explicit));
}

/// A router told not to stamp leaves samples as they are.
#[test]
fn a_router_leaves_samples_alone_if_told_to() {
    let router = Node::new("router").listen("tcp/127.0.0.1:0").set("timestamping/enabled", "false");
    let router = router.open();
    let client = || Node::new("client").connect(&router).open();
    let (a, b) = (client(), client());
    let subscriber = a.declare_subscriber("t").wait().unwrap();
    matched_publisher(&b, "t").put("x").wait().unwrap();
    assert_eq!(next(&subscriber).timestamp(), None);
}

/// A stamp from the future is replaced by a router, or its sample dropped.
#[test]
fn stamps_from_the_future_are_not_believed() {
    for drop_them in [false, true] {
        let router = Node::new("router").listen("tcp/127.0.0.1:0");
        let router =
            router.set("timestamping/drop_future_timestamp", &drop_them.to_string()).open();
        let client = || Node::new("client").connect(&router).open();
        let (a, b) = (client(), client());
        let subscriber = a.declare_subscriber("t").wait().unwrap();
        drop(matched_publisher(&b, "t"));
        let far = Timestamp::new(u64::MAX / 2 + u64::MAX / 4, b.zid());
        b.put("t", "future").timestamp(far).wait().unwrap();
        b.put("t", "now").wait().unwrap();
        if !drop_them {
            let sample = next(&subscriber);
            assert_eq!(*sample.payload(), "future");
            assert_eq!(sample.timestamp().unwrap().id, router.zid());
        }
        assert_eq!(*next(&subscriber).payload(), "now");
    }
}

/// A session's timestamps grow, carry its id, and tell the time.
#[test]
fn new_timestamps_grow() {
    let stamping = Node::new("peer").set("timestamping/enabled", "true").open();
    let check = |session: &Session| {
        let stamps: Vec<_> = (0..1000).map(|_| session.new_timestamp()).collect();
        assert!(stamps.is_sorted_by(|a, b| a < b));
        assert_eq!(stamps[0].id, session.zid());
        assert!(unix(stamps[0]).abs_diff(now()) < Duration::from_secs(5));
    };
    check(&alone());
    check(&stamping);
}
