//! Liveliness tokens and those who watch them.

use std::collections::BTreeSet;
use std::time::Duration;

use weft::handlers::Receiver;
use weft::{Encoding, LivelinessSubscriber, Reply, Sample, SampleKind, Session};

use crate::support::{
    Node, alone, assert_ends, brokered, listener, matched_publisher, next, pair, router, until,
};

fn assert_token(sample: &Sample, key: &str, kind: SampleKind) {
    assert_eq!((sample.key_expr().as_str(), sample.kind()), (key, kind));
    assert!(sample.payload().is_empty());
    assert_eq!(*sample.encoding(), Encoding::ZENOH_BYTES);
    assert_eq!(sample.timestamp(), None);
    assert_eq!(sample.attachment(), None);
}

fn keys(replies: Receiver<Reply>) -> BTreeSet<String> {
    let key = |reply: Reply| {
        assert_eq!(reply.replier_id(), None);
        let sample = reply.into_result().unwrap();
        assert_token(&sample, sample.key_expr().as_str(), SampleKind::Put);
        sample.key_expr().to_string()
    };
    let keys: Vec<_> = replies.into_iter().map(key).collect();
    let set: BTreeSet<_> = keys.iter().cloned().collect();
    assert_eq!(keys.len(), set.len(), "each key once");
    set
}

fn alive(session: &Session, key: &str) -> BTreeSet<String> {
    keys(session.liveliness().get(key).wait().unwrap())
}

/// Watches a key from now on: what asks its neighbours for changes is on its way before the fence.
fn watch(session: &Session, key: &str) -> LivelinessSubscriber {
    let changes = session.liveliness().declare_subscriber(key).wait().unwrap();
    alive(session, "a/fence");
    changes
}

/// Sessions in every relation that a token crosses: those between, watcher and owner.
fn relations() -> Vec<(&'static str, Vec<Session>, Session, Session)> {
    let clients = |hub: Session| {
        let client = || Node::new("client").connect(&hub).open();
        let (watcher, owner) = (client(), client());
        (vec![hub], watcher, owner)
    };
    let client_of = |hub: Session| (Node::new("client").connect(&hub).open(), hub);
    let mut all = Vec::new();
    let (a, b) = pair();
    all.push(("peer and peer", vec![], a, b));
    let (hub, watcher, owner) = clients(router());
    all.push(("clients of a router", hub, watcher, owner));
    let (hub, watcher, owner) = clients(listener());
    all.push(("clients of a peer", hub, watcher, owner));
    let (client, hub) = client_of(router());
    all.push(("client and router", vec![], client, hub));
    let (client, hub) = client_of(router());
    all.push(("router and client", vec![], hub, client));
    let (client, hub) = client_of(listener());
    all.push(("client and peer", vec![], client, hub));
    let own = alone();
    all.push(("a session itself", vec![], own.clone(), own));
    all
}

/// A token is seen to appear and to disappear, and can be asked for while it is alive.
#[test]
fn tokens_come_and_go() {
    for (relation, _others, watcher, owner) in relations() {
        let key = "alive/one";
        let changes = watch(&watcher, "alive/*");
        let token = owner.liveliness().declare_token(key).wait().unwrap();
        assert_eq!(token.key_expr().as_str(), key);
        assert_token(&next(&changes), key, SampleKind::Put);
        assert_eq!(alive(&watcher, "alive/**"), BTreeSet::from([key.to_owned()]), "{relation}");
        assert_eq!(alive(&watcher, "dead/**"), BTreeSet::new(), "{relation}");
        token.undeclare();
        assert_token(&next(&changes), key, SampleKind::Delete);
        assert_eq!(alive(&watcher, "alive/**"), BTreeSet::new(), "{relation}");
        assert_eq!(changes.try_recv().unwrap(), None, "{relation}");
    }
}

/// With history, tokens that exist come first; without, only changes do, their ends included.
#[test]
fn history_tells_what_exists() {
    for (relation, _others, watcher, owner) in relations() {
        let old = owner.liveliness().declare_token("h/old").wait().unwrap();
        until(relation, || alive(&watcher, "h/*").len() == 1);
        let with = watcher.liveliness().declare_subscriber("h/*").history(true).wait().unwrap();
        let without = watch(&watcher, "h/*");
        assert_token(&next(&with), "h/old", SampleKind::Put);
        let _new = owner.liveliness().declare_token("h/new").wait().unwrap();
        for changes in [&*with, &*without] {
            assert_token(&next(changes), "h/new", SampleKind::Put);
        }
        drop(old);
        for changes in [&*with, &*without] {
            assert_token(&next(changes), "h/old", SampleKind::Delete);
        }
    }
}

/// Several tokens of one session on one key are one: PUT with the first, DELETE with the last.
#[test]
fn tokens_on_one_key_are_one() {
    for (relation, _others, watcher, owner) in relations() {
        let changes = watch(&watcher, "one");
        let fence = watch(&watcher, "fence");
        let first = owner.liveliness().declare_token("one").wait().unwrap();
        let second = owner.liveliness().declare_token("one").wait().unwrap();
        drop(first);
        let _fence = owner.liveliness().declare_token("fence").wait().unwrap();
        next(&fence);
        assert_eq!(alive(&watcher, "one").len(), 1, "{relation}");
        assert_token(&next(&changes), "one", SampleKind::Put);
        drop(second);
        assert_token(&next(&changes), "one", SampleKind::Delete);
        let third = owner.liveliness().declare_token("one").wait().unwrap();
        assert_token(&next(&changes), "one", SampleKind::Put);
        drop(third);
        assert_token(&next(&changes), "one", SampleKind::Delete);
    }
}

/// Tokens of several sessions on one key are one for those who watch.
#[test]
fn tokens_of_several_sessions_on_one_key_are_one() {
    let router = router();
    let client = || Node::new("client").connect(&router).open();
    let (watcher, a, b) = (client(), client(), client());
    let changes = watch(&watcher, "one");
    let fence = watch(&watcher, "fence");
    let of_a = a.liveliness().declare_token("one").wait().unwrap();
    assert_token(&next(&changes), "one", SampleKind::Put);
    let of_b = b.liveliness().declare_token("one").wait().unwrap();
    let _fence = b.liveliness().declare_token("fence").wait().unwrap();
    next(&fence);
    drop(of_a);
    let _again = a.liveliness().declare_token("fence").wait().unwrap();
    until("one token", || alive(&watcher, "**").len() == 2);
    drop(of_b);
    assert_token(&next(&changes), "one", SampleKind::Delete);
    assert_eq!(changes.try_recv().unwrap(), None);
}

/// A token ends with its session, closed or dropped.
#[test]
fn tokens_end_with_their_session() {
    let router = router();
    let client = || Node::new("client").connect(&router).open();
    let watcher = client();
    let changes = watch(&watcher, "s/*");
    let closed = client();
    let _token = closed.liveliness().declare_token("s/closed").wait().unwrap();
    assert_token(&next(&changes), "s/closed", SampleKind::Put);
    closed.close().wait();
    assert_token(&next(&changes), "s/closed", SampleKind::Delete);
    let dropped = client();
    let _token = dropped.liveliness().declare_token("s/dropped").wait().unwrap();
    assert_token(&next(&changes), "s/dropped", SampleKind::Put);
    drop(dropped);
    assert_token(&next(&changes), "s/dropped", SampleKind::Delete);
}

/// Ordinary subscribers see no tokens, and watchers see no samples.
#[test]
fn tokens_are_no_samples() {
    let (a, b) = pair();
    let samples = a.declare_subscriber("**").wait().unwrap();
    let changes = watch(&a, "**");
    let _token = b.liveliness().declare_token("x").wait().unwrap();
    next(&changes);
    matched_publisher(&b, "x").put("sample").wait().unwrap();
    assert_eq!(*next(&samples).payload(), "sample");
    assert_eq!(changes.try_recv().unwrap(), None);
}

/// A subscriber that is undeclared hears nothing more; the others do.
#[test]
fn an_undeclared_watcher_hears_nothing() {
    let (a, b) = pair();
    let (heard, hears) = std::sync::mpsc::channel();
    let callback = move |sample: Sample| heard.send(sample.key_expr().to_string()).unwrap();
    let first = a.liveliness().declare_subscriber("u/*").callback(callback).wait().unwrap();
    let second = watch(&a, "u/*");
    let _one = b.liveliness().declare_token("u/1").wait().unwrap();
    assert_eq!(crate::support::soon(&hears), "u/1");
    first.undeclare();
    let _two = b.liveliness().declare_token("u/2").wait().unwrap();
    assert_token(&next(&second), "u/1", SampleKind::Put);
    assert_token(&next(&second), "u/2", SampleKind::Put);
    assert!(hears.recv().is_err(), "dropped without another call");
}

/// A liveliness get whose answer does not come ends in a timeout.
#[test]
fn a_get_times_out() {
    let router = router();
    let client = Node::new("client").connect(&router).open();
    let (leave, leaving) = std::sync::mpsc::channel::<()>();
    let leaving = std::sync::Mutex::new(leaving);
    let (entered, entering) = std::sync::mpsc::channel();
    // The client's only reader is kept in a callback, so the router's answer is not read.
    let callback = move |_: &weft::SampleView<'_>| {
        entered.send(()).unwrap();
        let _ = leaving.lock().unwrap().recv();
    };
    client.declare_subscriber("keep").callback(callback).wait().unwrap().background();
    matched_publisher(&router, "keep").put("x").wait().unwrap();
    crate::support::soon(&entering);
    let replies = client.liveliness().get("**").timeout(Duration::from_millis(100)).wait().unwrap();
    let reply = next(&replies);
    assert!(reply.result().unwrap_err().is_timeout());
    assert_eq!(*reply.result().unwrap_err().payload(), "Timeout");
    assert_ends(&replies);
    leave.send(()).unwrap();
}

/// A thousand tokens are counted right, whoever declares them when.
#[test]
fn a_thousand_tokens() {
    let (_router, watcher, owner) = brokered();
    let declare = |range: std::ops::Range<usize>| -> Vec<_> {
        range.map(|i| owner.liveliness().declare_token(format!("k/{i}")).wait().unwrap()).collect()
    };
    let first = declare(0..500);
    let changes = watcher.liveliness().declare_subscriber("k/*").history(true).wait().unwrap();
    let _second = declare(500..1000);
    let seen: BTreeSet<_> = (0..1000).map(|_| next(&changes).key_expr().to_string()).collect();
    assert_eq!(seen.len(), 1000);
    assert_eq!(alive(&watcher, "k/*").len(), 1000);
    drop(first);
    for _ in 0..500 {
        assert_eq!(next(&changes).kind(), SampleKind::Delete);
    }
    assert_eq!(alive(&watcher, "k/*").len(), 500);
}
