//! Puts that several storages or subscribers are to have.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use weft::{
    Error, ErrorKind, Query, QueryTarget, Queryable, QuorumEnd, QuorumError, Sample, SampleKind,
    Session, Subscriber, Timestamp,
};

use crate::support::{
    Node, SOON, alone, await_queryable, block_on, brokered, listener, next, pair, router, until,
};

/// A storage of one key.
struct Storage {
    _subscriber: Subscriber<()>,
    _queryable: Queryable<()>,
}

impl Storage {
    /// Stores what comes, after `stores` has let it.
    fn new(session: &Session, stores: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let stored = Arc::new(Mutex::new(None::<Sample>));
        let values = Arc::clone(&stored);
        let store = move |sample: Sample| *stored.lock().unwrap() = Some(sample);
        let answer = move |query: Query| {
            if let Some(sample) = values.lock().unwrap().clone().filter(|_| stores()) {
                let reply = query.reply(sample.key_expr(), sample.payload());
                reply.timestamp(sample.timestamp().unwrap()).wait().unwrap();
            }
        };
        Self {
            _subscriber: session.declare_subscriber("p/k").with(store).wait().unwrap(),
            _queryable: session.declare_queryable("p/k").callback(answer).wait().unwrap(),
        }
    }
}

fn missed<T: std::fmt::Debug>(result: weft::Result<T>) -> QuorumError {
    match result {
        Err(Error::Quorum(error)) => error,
        other => panic!("not a missed quorum: {other:?}"),
    }
}

/// Puts until so many have it: declarations need their time.
fn await_holders(session: &Session, count: usize) {
    until("all holders", || {
        let put = session.put("p/k", "").quorum(count).timeout(Duration::from_millis(200));
        put.wait().is_ok()
    });
}

const SHORT: Duration = Duration::from_millis(100);

#[test]
fn storages_have_what_was_put() {
    let router = router();
    let clients = [0; 2].map(|_| Node::new("client").connect(&router).open());
    let storages = clients.each_ref().map(|it| Storage::new(it, || true));
    let session = Node::new("client").connect(&router).open();
    await_holders(&session, 2);
    let stamp = session.put("p/k", "value").quorum(2).wait().unwrap();
    assert_eq!(stamp.id, session.zid());
    let agreed = session.get("p/k").quorum(2).wait().unwrap();
    assert_eq!(*agreed.samples[0].payload(), "value");
    assert_eq!(agreed.samples[0].timestamp(), Some(stamp));
    let error = missed(session.put("p/k", "more").quorum(3).timeout(SHORT).wait());
    assert_eq!((error.wanted, error.got, error.repliers), (3, 2, 2));
    assert_eq!(error.end, QuorumEnd::TimedOut);
    drop(storages);
}

/// Asks again until a storage has stored.
#[test]
fn a_storage_may_take_its_time() {
    let (_router, a, b) = brokered();
    let rounds = Mutex::new(0);
    let _storage = Storage::new(&a, move || {
        let mut rounds = rounds.lock().unwrap();
        *rounds += 1;
        *rounds > 3
    });
    await_queryable(&b, "p/k");
    let publisher = b.declare_publisher("p/k").wait().unwrap();
    assert!(next(&publisher.matching_listener().wait().unwrap()).matching());
    publisher.put("value").quorum(1).timeout(SOON).wait().unwrap();
}

/// One that does not answer costs time, and no quorum that others make.
#[test]
fn a_mute_replier_does_not_hide_a_late_one() {
    let hub = listener();
    let (a, b) = (Node::new("peer").connect(&hub).open(), Node::new("peer").connect(&hub).open());
    let mute = a.declare_queryable("p/k").wait().unwrap();
    let rounds = Mutex::new(0);
    let _storage = Storage::new(&b, move || {
        let mut rounds = rounds.lock().unwrap();
        *rounds += 1;
        *rounds > 1
    });
    await_queryable(&hub, "p/k");
    await_holders(&hub, 1);
    assert!(hub.put("p/k", "value").quorum(1).timeout(SOON).wait().is_ok());
    assert!(mute.try_recv().is_ok());
    let error = missed(hub.put("p/k", "value").quorum(2).timeout(SHORT).wait());
    assert_eq!((error.got, error.end), (1, QuorumEnd::TimedOut));
}

/// What is older does not count, and what is newer does.
#[test]
fn stamps_tell_what_is_there() {
    let (a, b) = pair();
    let told = Arc::new(Mutex::new(None::<Timestamp>));
    let telling = Arc::clone(&told);
    let answer = move |query: Query| {
        let reply = query.reply("p/k", "other");
        match *telling.lock().unwrap() {
            Some(stamp) => reply.timestamp(stamp).wait().unwrap(),
            None => reply.wait().unwrap(),
        }
    };
    let _queryable = a.declare_queryable("p/k").callback(answer).wait().unwrap();
    await_queryable(&b, "p/k");
    let put = || b.put("p/k", "value").quorum(1).timeout(SHORT).wait();
    let error = missed(put());
    assert_eq!((error.got, error.repliers), (0, 1), "a reply without a stamp");
    *told.lock().unwrap() = Some(b.new_timestamp());
    assert_eq!(missed(put()).got, 0, "an older one");
    let stamp = b.new_timestamp();
    *told.lock().unwrap() = Some(stamp);
    let put = b.put("p/k", "value").timestamp(stamp).quorum(1).wait();
    assert_eq!(put.unwrap(), stamp);
}

#[test]
fn subscribers_acknowledge() {
    let (_router, a, b) = brokered();
    let subscriber = a.declare_subscriber("p/**").acknowledging().wait().unwrap();
    let (seen, seeing) = mpsc::channel();
    let seen = Mutex::new(seen);
    let view = a.declare_subscriber("p/k").acknowledging().callback(move |sample| {
        seen.lock().unwrap().send(sample.payload().to_vec()).unwrap();
    });
    let view = view.wait().unwrap();
    await_holders(&b, 2);
    b.put("p/k", "value").quorum(2).wait().unwrap();
    assert_eq!(subscriber.drain().last().unwrap().payload(), "value");
    assert_eq!(seeing.try_iter().last().unwrap(), b"value");
    let stamp = block_on(b.delete("p/k").quorum(2).into_future()).unwrap();
    let deleted = subscriber.drain().last().unwrap();
    assert_eq!((deleted.kind(), deleted.timestamp()), (SampleKind::Delete, Some(stamp)));
    // Other queries get nothing from them.
    assert_eq!(b.get("p/k").target(QueryTarget::All).wait().unwrap().into_iter().count(), 0);
    view.undeclare();
    assert_eq!(missed(b.put("p/k", "value").quorum(2).timeout(SHORT).wait()).got, 1);
    subscriber.background();
    b.put("p/k", "value").quorum(1).wait().unwrap();
}

/// What a subscriber does not get, it does not acknowledge.
#[test]
fn only_what_is_delivered_is_acknowledged() {
    let session = alone();
    let filtered = session.declare_subscriber("p/k").filter("t>1").acknowledging().wait().unwrap();
    let put = |value: &str| {
        let put = session.put("p/k", value).encoding(weft::Encoding::APPLICATION_JSON);
        put.quorum(1).timeout(SHORT).wait()
    };
    assert_eq!(missed(put(r#"{"t":1}"#)).repliers, 0);
    put(r#"{"t":2}"#).unwrap();
    assert_eq!(filtered.drain().count(), 1);
}

#[test]
fn namespaces_and_publishers_are_no_obstacle() {
    let router = router();
    let client = || Node::new("client").connect(&router).set("namespace", "\"n/s\"").open();
    let (a, b) = (client(), client());
    let _subscriber = a.declare_subscriber("p/*").acknowledging().wait().unwrap();
    await_holders(&b, 1);
    let publisher = b.declare_publisher("p/k").wait().unwrap();
    let stamp = b.new_timestamp();
    assert_eq!(publisher.put("value").timestamp(stamp).quorum(1).wait().unwrap(), stamp);
    publisher.delete().quorum(1).wait().unwrap();
}

#[test]
fn what_cannot_be_a_quorum_is_refused_before_it_is_put() {
    let session = alone();
    let subscriber = session.declare_subscriber("p/**").wait().unwrap();
    let refused = [
        session.put("p/*", "x").quorum(1).wait(),
        session.put("p/k", "x").quorum(0).wait(),
        session.declare_publisher("p/**").wait().unwrap().put("x").quorum(1).wait(),
    ];
    for result in refused {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Argument);
    }
    assert!(subscriber.try_recv().is_ok_and(|it| it.is_none()));
}

#[test]
fn closing_ends_it() {
    let session = alone();
    let waiting = session.put("p/k", "x").quorum(1).timeout(SOON * 10).into_future();
    session.close().wait();
    assert!(matches!(block_on(waiting), Err(Error::SessionClosed)));
    assert!(matches!(session.put("p/k", "x").quorum(1).wait(), Err(Error::SessionClosed)));
}
