//! Cancellation tokens: get, get of a querier, and liveliness get.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use weft::handlers::{Callback, Receiver};
use weft::{CancellationToken, ErrorKind, Query, Reply, Session};

use crate::support::{Node, SOON, assert_ends, await_queryable, ends, next, pair, soon, until};

/// A session whose neighbour never ends a query on `mute`.
fn muted() -> (Session, Session, weft::Queryable) {
    let (a, b) = pair();
    let queryable = a.declare_queryable("mute").wait().unwrap();
    await_queryable(&b, "mute");
    (a, b, queryable)
}

/// A liveliness query that stays open: its router never hears from a peer that it must ask.
///
/// Nothing on loopback is that slow, so the query is one of a client whose link is held up: its own
/// reader is kept in a callback.
struct Kept {
    _router: Session,
    client: Session,
    leave: mpsc::Sender<()>,
}

fn kept() -> Kept {
    let router = crate::support::router();
    let client = Node::new("client").connect(&router).open();
    let (entered, entering) = mpsc::channel();
    let (leave, leaving) = mpsc::channel::<()>();
    let leaving = Mutex::new(leaving);
    let callback = move |_: &weft::SampleView<'_>| {
        entered.send(()).unwrap();
        let _ = leaving.lock().unwrap().recv();
    };
    client.declare_subscriber("keep").callback(callback).wait().unwrap().background();
    crate::support::matched_publisher(&router, "keep").put("x").wait().unwrap();
    soon(&entering);
    Kept { _router: router, client, leave }
}

fn assert_cancelled(token: &CancellationToken, replies: &Receiver<Reply>) {
    assert!(!token.is_cancelled());
    assert_eq!(replies.try_recv().unwrap(), None);
    token.cancel();
    assert!(token.is_cancelled());
    assert!(replies.try_recv().is_err());
    token.cancel();
}

#[test]
fn cancelling_ends_a_get() {
    let (_a, b, queryable) = muted();
    let token = CancellationToken::new();
    let replies = b.get("mute").timeout(SOON).cancellation_token(&token).wait().unwrap();
    assert_cancelled(&token, &replies);
    // A reply that comes too late harms nobody.
    let query = next(&queryable);
    query.reply("mute", "late").wait().unwrap();
    drop(query);
    let again = b.get("mute").timeout(SOON).wait().unwrap();
    next(&queryable).reply("mute", "x").wait().unwrap();
    assert!(next(&again).result().is_ok());
}

#[test]
fn cancelling_ends_a_get_of_a_querier() {
    let (_a, b, _queryable) = muted();
    let token = CancellationToken::new();
    let querier = b.declare_querier("mute").timeout(SOON).wait().unwrap();
    let replies = querier.get().cancellation_token(&token).wait().unwrap();
    assert_cancelled(&token, &replies);
}

#[test]
fn cancelling_ends_a_liveliness_get() {
    let kept = kept();
    let token = CancellationToken::new();
    let get = kept.client.liveliness().get("**").timeout(SOON).cancellation_token(&token);
    let replies = get.wait().unwrap();
    assert_cancelled(&token, &replies);
    kept.leave.send(()).unwrap();
}

/// One token ends any number of queries of any number of sessions.
#[test]
fn one_token_ends_many() {
    let (_a, b, _queryable) = muted();
    let (_c, d, _other) = muted();
    let token = CancellationToken::new();
    let ask = |session: &Session| {
        session.get("mute").timeout(SOON).cancellation_token(&token).wait().unwrap()
    };
    let pending: Vec<_> = (0..100).map(|_| ask(&b)).chain((0..100).map(|_| ask(&d))).collect();
    token.clone().cancel();
    for replies in &pending {
        assert!(replies.try_recv().is_err());
    }
}

/// A token that was cancelled lets no further query begin.
#[test]
fn a_cancelled_token_refuses() {
    let (_a, b, queryable) = muted();
    let token = CancellationToken::new();
    token.cancel();
    let refused = [
        b.get("mute").cancellation_token(&token).wait().map(drop),
        b.declare_querier("mute").wait().unwrap().get().cancellation_token(&token).wait().map(drop),
        b.liveliness().get("**").cancellation_token(&token).wait().map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(error.to_string(), "query was cancelled");
    }
    assert_eq!(queryable.try_recv().unwrap().map(|query| query.to_string()), None);
}

/// Dropping a token cancels nothing.
#[test]
fn dropping_a_token_cancels_nothing() {
    let (_a, b, queryable) = muted();
    let replies =
        b.get("mute").cancellation_token(&CancellationToken::new()).timeout(SOON).wait().unwrap();
    next(&queryable).reply("mute", "x").wait().unwrap();
    assert!(next(&replies).result().is_ok());
    assert_ends(&replies);
}

/// `cancel` returns when the callback that runs has returned, and its drop hook has run.
fn waits_for_the_callback(
    start: impl FnOnce(Callback<Reply>, &CancellationToken),
    leave_at_end: impl FnOnce(),
) {
    let (entered, entering) = mpsc::channel();
    let (leave, leaving) = mpsc::channel::<()>();
    let leaving = Mutex::new(leaving);
    let (left, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_left, is_dropped) = (Arc::clone(&left), Arc::clone(&dropped));
    let callback = Callback::with_drop(
        move |_| {
            entered.send(()).unwrap();
            leaving.lock().unwrap().recv().unwrap();
            is_left.store(true, Ordering::SeqCst);
        },
        move || is_dropped.store(true, Ordering::SeqCst),
    );
    let token = CancellationToken::new();
    start(callback, &token);
    soon(&entering);
    std::thread::scope(|scope| {
        let cancelling = scope.spawn(|| {
            token.cancel();
            assert!(left.load(Ordering::SeqCst), "the callback has returned");
            assert!(dropped.load(Ordering::SeqCst), "the drop hook has run");
        });
        until("cancelling", || token.is_cancelled());
        for _ in 0..1000 {
            std::thread::yield_now();
        }
        leave.send(()).unwrap();
        cancelling.join().unwrap();
    });
    assert!(entering.try_recv().is_err(), "no further call");
    leave_at_end();
}

#[test]
fn cancelling_waits_for_the_callback_of_a_get() {
    let (a, b) = pair();
    let answer = |query: Query| {
        for _ in 0..3 {
            query.reply("q", "x").wait().unwrap();
        }
    };
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    await_queryable(&b, "q");
    let start = |callback, token: &CancellationToken| {
        let get = b.get("q").consolidation(weft::Consolidation::None).timeout(SOON);
        get.cancellation_token(token).with(callback).wait().unwrap();
    };
    waits_for_the_callback(start, || ());
    let querier = b.declare_querier("q").wait().unwrap();
    let start = |callback, token: &CancellationToken| {
        querier.get().cancellation_token(token).with(callback).wait().unwrap();
    };
    waits_for_the_callback(start, || ());
}

#[test]
fn cancelling_waits_for_the_callback_of_a_local_get() {
    let session = crate::support::alone();
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = session.declare_queryable("q").callback(answer).wait().unwrap();
    let start = |callback, token: &CancellationToken| {
        session.get("q").cancellation_token(token).with(callback).wait().unwrap();
    };
    waits_for_the_callback(start, || ());
}

#[test]
fn cancelling_waits_for_the_callback_of_a_liveliness_get() {
    let (a, b) = pair();
    let _tokens: Vec<_> =
        (0..3).map(|i| a.liveliness().declare_token(format!("l/{i}")).wait().unwrap()).collect();
    until("the tokens", || b.liveliness().get("l/*").wait().unwrap().into_iter().count() == 3);
    let start = |callback, token: &CancellationToken| {
        b.liveliness().get("l/*").cancellation_token(token).with(callback).wait().unwrap();
    };
    waits_for_the_callback(start, || ());
}

/// A query may be cancelled by its own callback, and two queries by each other's.
#[test]
fn callbacks_may_cancel() {
    let (a, b) = pair();
    let answer = |query: Query| {
        for _ in 0..3 {
            query.reply("q", "x").wait().unwrap();
        }
    };
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    await_queryable(&b, "q");
    let (done, is_done) = mpsc::channel();
    let token = CancellationToken::new();
    let own = token.clone();
    let callback = move |_| {
        own.cancel();
        done.send(()).unwrap();
    };
    let get = b.get("q").consolidation(weft::Consolidation::None).cancellation_token(&token);
    get.callback(callback).wait().unwrap();
    soon(&is_done);
    assert!(is_done.recv_timeout(SOON).is_err(), "called once, then dropped");
}

/// A getter that waits in a full channel is let go.
#[test]
fn cancelling_frees_a_full_channel() {
    let (a, b) = pair();
    let answer = |query: Query| {
        for _ in 0..10 {
            query.reply("q", "x").wait().unwrap();
        }
    };
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    let subscriber = b.declare_subscriber("after").wait().unwrap();
    await_queryable(&b, "q");
    let token = CancellationToken::new();
    let get = b.get("q").consolidation(weft::Consolidation::None).cancellation_token(&token);
    let replies = get.with(weft::handlers::FifoChannel::new(1)).wait().unwrap();
    until("a full channel", || replies.len() == 2);
    ends("cancelling", move || token.cancel());
    crate::support::matched_publisher(&a, "after").put("x").wait().unwrap();
    next(&subscriber);
    assert_eq!(replies.into_iter().count(), 2);
}
