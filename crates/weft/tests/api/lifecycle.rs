//! Opening, closing, and what is left of a closed session.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use weft::handlers::{FifoChannel, RingChannel};
use weft::info::EventKind;
use weft::{CancellationToken, Error, ErrorKind, Query, Sample, SampleView};

use crate::support::{
    Node, SOON, alone, assert_ends, await_queryable, ends, matched_publisher, next, pair, soon,
    until,
};

/// A session closes once, whoever asks how often.
#[test]
fn closing_is_idempotent() {
    let session = alone();
    assert!(!session.is_closed());
    session.close().wait();
    assert!(session.is_closed());
    session.close().wait();
    session.clone().close().wait();
    assert!(session.is_closed());
}

/// Several threads may close the same session at once.
#[test]
fn threads_may_close_together() {
    let (a, _b) = pair();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| a.close().wait());
        }
    });
    assert!(a.is_closed());
}

/// After closing, every operation fails with the same error, and what needs no network works.
#[test]
fn a_closed_session_refuses_everything() {
    fn refused<T>(result: weft::Result<T>) {
        let error = result.err().expect("an error");
        assert_eq!(error.kind(), ErrorKind::SessionClosed);
        assert_eq!(error.to_string(), "session closed");
    }
    let session = alone();
    let (zid, before) = (session.zid(), session.new_timestamp());
    let publisher = session.declare_publisher("a").wait().unwrap();
    let querier = session.declare_querier("a").wait().unwrap();
    let subscriber = session.declare_subscriber("a").wait().unwrap();
    let queryable = session.declare_queryable("a").wait().unwrap();
    let token = session.liveliness().declare_token("a").wait().unwrap();
    let watcher = session.liveliness().declare_subscriber("a").wait().unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    let declared = session.declare_keyexpr("a").unwrap();
    session.close().wait();

    refused(session.put("a", "x").wait());
    refused(session.delete("a").wait());
    refused(session.get("a").wait());
    refused(session.declare_publisher("a").wait());
    refused(session.declare_subscriber("a").wait());
    refused(session.declare_subscriber("a").callback(|_: &SampleView<'_>| {}).wait());
    refused(session.declare_queryable("a").wait());
    refused(session.declare_querier("a").wait());
    refused(session.declare_keyexpr("a"));
    refused(session.liveliness().declare_token("a").wait());
    refused(session.liveliness().declare_subscriber("a").wait());
    refused(session.liveliness().get("a").wait());
    refused(session.info().transport_events_listener().wait());
    refused(session.info().link_events_listener().wait());
    refused(publisher.put("x").wait());
    refused(publisher.put_bytes(b"x"));
    refused(publisher.delete().wait());
    refused(publisher.matching_status());
    refused(publisher.matching_listener().wait());
    refused(querier.get().wait());
    refused(querier.matching_status());

    assert_ends(&subscriber);
    assert_ends(&queryable);
    assert_ends(&watcher);
    assert!(status.iter().count() <= 1, "its own subscriber matched");

    assert_eq!((session.zid(), session.info().zid()), (zid, zid));
    assert!(session.new_timestamp() > before);
    assert!(session.info().neighbours().is_empty());
    session.undeclare_keyexpr(&declared).unwrap();
    publisher.undeclare();
    querier.undeclare();
    subscriber.undeclare();
    queryable.undeclare();
    token.undeclare();
    watcher.undeclare();
    status.undeclare();
}

/// The last handle closes the session, no other does.
#[test]
fn the_last_handle_closes() {
    let (a, b) = pair();
    let publisher = b.declare_publisher("x").wait().unwrap();
    let second = b.clone();
    drop(b);
    assert!(!second.is_closed());
    let gone = a.info().transport_events_listener().wait().unwrap();
    drop(second);
    assert!(matches!(publisher.put("y").wait(), Err(Error::SessionClosed)));
    while next(&gone).kind != EventKind::Closed {}
}

/// What was queued before closing can still be read; then every way of receiving says so.
#[test]
fn what_was_received_before_closing_can_be_read() {
    let session = alone();
    let fifo = session.declare_subscriber("a").wait().unwrap();
    let ring = session.declare_subscriber("a").with(RingChannel::new(1)).wait().unwrap();
    for value in ["1", "2"] {
        session.put("a", value).wait().unwrap();
    }
    session.close().wait();
    assert_eq!(*next(&fifo).payload(), "1");
    assert_eq!(*fifo.try_recv().unwrap().unwrap().payload(), "2");
    assert!(fifo.try_recv().is_err() && fifo.recv().is_err());
    assert!(fifo.recv_timeout(Duration::ZERO).is_err());
    assert_eq!(fifo.iter().count(), 0);
    assert_eq!(ring.iter().map(|it| it.payload().clone()).collect::<Vec<_>>(), ["2"]);
}

/// Whoever waits in a receiver returns when the session closes.
#[test]
fn closing_wakes_receivers() {
    let session = alone();
    let subscriber = session.declare_subscriber("a").wait().unwrap();
    let queryable = session.declare_queryable("q").with(FifoChannel::new(0)).wait().unwrap();
    let replies = session.get("q").timeout(SOON).wait().unwrap();
    let query = next(&queryable);
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(subscriber.recv().is_err()));
        scope.spawn(|| assert!(queryable.recv().is_err()));
        scope.spawn(|| assert_eq!(replies.iter().count(), 0));
        session.close().wait();
    });
    query.reply("q", "late").wait().unwrap();
}

/// Closing returns when the callbacks that run have returned, and none runs after that.
#[test]
fn closing_waits_for_callbacks() {
    let (a, b) = pair();
    let (entered, entering) = mpsc::channel();
    let (leave, leaving) = mpsc::sync_channel::<()>(0);
    let leaving = std::sync::Mutex::new(leaving);
    let callback = move |_: &SampleView<'_>| {
        entered.send(()).unwrap();
        leaving.lock().unwrap().recv().unwrap();
    };
    a.declare_subscriber("a").callback(callback).wait().unwrap().background();
    let publisher = matched_publisher(&b, "a");
    publisher.put("x").wait().unwrap();
    soon(&entering);
    let (closed, closing) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            a.close().wait();
            closed.send(Instant::now()).unwrap();
        });
        crate::support::until("closing", || a.is_closed());
        let left = Instant::now();
        leave.send(()).unwrap();
        assert!(soon(&closing) > left);
    });
    assert!(entering.try_recv().is_err());
}

/// A receiver that nobody reads keeps neither closing nor the session's drop waiting.
#[test]
fn a_full_channel_does_not_keep_closing_waiting() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("a").with(FifoChannel::new(1)).wait().unwrap();
    let publisher = matched_publisher(&b, "a");
    for _ in 0..10 {
        publisher.put("x").wait().unwrap();
    }
    // The second item is queued by the reader that it blocks.
    crate::support::until("a full channel", || subscriber.len() == 2);
    ends("closing", move || {
        let started = Instant::now();
        a.close().wait();
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(subscriber.iter().count(), 2);
    });
}

/// A session may be closed from any of its callbacks.
#[test]
fn a_callback_may_close_its_session() {
    let (done, is_done) = mpsc::channel();
    let close = |session: &weft::Session| {
        let (session, done) = (session.clone(), done.clone());
        move || {
            session.close().wait();
            done.send(session.is_closed()).unwrap();
        }
    };

    let (a, b) = pair();
    let closes = close(&a);
    let subscriber = a.declare_subscriber("s").callback(move |_: &SampleView<'_>| closes());
    subscriber.wait().unwrap().background();
    matched_publisher(&b, "s").put("x").wait().unwrap();
    assert!(soon(&is_done), "from a subscriber");

    let (a, b) = pair();
    let closes = close(&a);
    let queryable = a.declare_queryable("q").callback(move |_: Query| closes());
    queryable.wait().unwrap().background();
    await_queryable(&b, "q");
    let replies = b.get("q").wait().unwrap();
    assert!(soon(&is_done), "from a queryable");
    // The neighbour is gone, and with it what was asked of it.
    assert_ends(&replies);

    let (a, b) = pair();
    let closes = close(&a);
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = b.declare_queryable("q").callback(answer).wait().unwrap();
    await_queryable(&a, "q");
    a.get("q").callback(move |_| closes()).wait().unwrap();
    assert!(soon(&is_done), "from a get");

    let (a, b) = pair();
    let closes = close(&a);
    let watcher = a.liveliness().declare_subscriber("t").callback(move |_: Sample| closes());
    watcher.wait().unwrap().background();
    let _token = b.liveliness().declare_token("t").wait().unwrap();
    assert!(soon(&is_done), "from a liveliness subscriber");

    let (a, b) = pair();
    let closes = close(&a);
    let publisher = a.declare_publisher("m").wait().unwrap();
    publisher.matching_listener().callback(move |_| closes()).wait().unwrap().background();
    let _subscriber = b.declare_subscriber("m").wait().unwrap();
    assert!(soon(&is_done), "from a matching listener");

    let (a, b) = pair();
    let closes = close(&a);
    let listener = a.info().transport_events_listener().callback(move |_| closes());
    listener.wait().unwrap().background();
    b.close().wait();
    assert!(soon(&is_done), "from a transport listener");

    let a = alone();
    let closes = close(&a);
    a.declare_subscriber("l")
        .callback(move |_: &SampleView<'_>| closes())
        .wait()
        .unwrap()
        .background();
    a.put("l", "x").wait().unwrap();
    assert!(soon(&is_done), "from a local delivery");
}

/// The last handle of a session may be dropped in one of its callbacks.
#[test]
fn a_callback_may_drop_the_last_handle() {
    let (a, b) = pair();
    let gone = b.info().transport_events_listener().wait().unwrap();
    let handle = std::sync::Mutex::new(Some(a.clone()));
    let drops = move |_: &SampleView<'_>| drop(handle.lock().unwrap().take());
    a.declare_subscriber("s").callback(drops).wait().unwrap().background();
    drop(a);
    matched_publisher(&b, "s").put("x").wait().unwrap();
    while next(&gone).kind != EventKind::Closed {}
}

/// Everything that was put before closing arrives.
#[test]
fn what_was_put_before_closing_arrives() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("a").with(FifoChannel::new(20_000)).wait().unwrap();
    let publisher = matched_publisher(&b, "a");
    for number in 0..10_000_u32 {
        publisher.put_bytes(&number.to_le_bytes()).unwrap();
    }
    b.close().wait();
    for number in 0..10_000_u32 {
        assert_eq!(*next(&subscriber).payload(), number.to_le_bytes());
    }
}

/// Two peers that found each other through a router have dialed each other, and write to different
/// links: the end of one comes long before the other is read to its end.
#[test]
fn what_was_put_before_closing_arrives_over_two_links() {
    let gossip = |node: Node| node.set("scouting/gossip/enabled", "true");
    let router = gossip(Node::new("router").listen("tcp/127.0.0.1:0")).open();
    let peer = || gossip(Node::new("peer").listen("tcp/127.0.0.1:0").connect(&router)).open();
    let mut with_two_links = 0;
    for _ in 0..10 {
        let (reads, closes) = (peer(), peer());
        let (count, counted) = mpsc::channel();
        let callback = move |sample: &SampleView<'_>| {
            // Slower than who publishes.
            if sample.payload().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            count.send(()).unwrap();
        };
        let _subscriber = reads.declare_subscriber("a").callback(callback).wait().unwrap();
        until("the peers are connected", || closes.info().peers_zid().contains(&reads.zid()));
        let links = closes.info().links();
        with_two_links +=
            usize::from(links.iter().filter(|link| link.zid() == reads.zid()).count() == 2);
        let publisher = matched_publisher(&closes, "a");
        for number in 0..5_000 {
            publisher.put(if number % 100 == 0 { "" } else { "x" }).wait().unwrap();
        }
        closes.close().wait();
        for _ in 0..5_000 {
            soon(&counted);
        }
    }
    assert!(with_two_links > 0, "never two links in ten rounds");
}

/// A token that was cancelled, or a session that was closed, leaves no handler behind.
#[test]
fn refused_operations_drop_their_handlers() {
    struct Tell(mpsc::Sender<()>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (dropped, drops) = mpsc::channel();
    let tell = || {
        let tell = Tell(dropped.clone());
        move |_| {
            let _ = &tell;
        }
    };
    let session = Node::new("peer").open();
    let token = CancellationToken::new();
    token.cancel();
    let refused = session.get("a").cancellation_token(&token).callback(tell()).wait();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Cancelled);
    soon(&drops);
    session.close().wait();
    assert!(session.get("a").callback(tell()).wait().is_err());
    soon(&drops);
}
