//! The end of an entity: who waits for whom, and that nothing is called after it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use weft::{Query, Reply, Sample, SampleView, Session};

use crate::support::{alone, await_queryable, ends, matched_publisher, next, pair, soon, until};

/// A handler that reports when it is entered and stays until it is let go.
struct Gate {
    entering: mpsc::Receiver<()>,
    leave: mpsc::Sender<()>,
}

fn gate<T>() -> (Gate, impl Fn(T) + Send + Sync + 'static) {
    let (entered, entering) = mpsc::channel();
    let (leave, leaving) = mpsc::channel::<()>();
    let leaving = Mutex::new(leaving);
    let handler = move |_: T| {
        entered.send(()).unwrap();
        leaving.lock().unwrap().recv().unwrap();
    };
    (Gate { entering, leave }, handler)
}

impl Gate {
    /// Asserts that `undeclare` returns only after the handler that is running has returned.
    fn assert_waited_for(self, undeclare: impl FnOnce() + Send) {
        soon(&self.entering);
        let left = AtomicBool::new(false);
        let began = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let ending = scope.spawn(|| {
                began.store(true, Ordering::SeqCst);
                undeclare();
                assert!(left.load(Ordering::SeqCst), "undeclared while its callback runs");
            });
            until("undeclaring", || began.load(Ordering::SeqCst));
            // Time for a wrong implementation to return.
            for _ in 0..1000 {
                std::thread::yield_now();
            }
            left.store(true, Ordering::SeqCst);
            self.leave.send(()).unwrap();
            ending.join().unwrap();
        });
    }
}

#[test]
fn undeclaring_a_subscriber_waits_for_its_callback() {
    let (a, b) = pair();
    let (gate, handler) = gate();
    let subscriber = a.declare_subscriber("s").with(handler).wait().unwrap();
    matched_publisher(&b, "s").put("x").wait().unwrap();
    gate.assert_waited_for(|| subscriber.undeclare());
}

#[test]
fn undeclaring_a_subscriber_waits_for_a_local_delivery() {
    let session = alone();
    let (gate, handler) = gate();
    let subscriber = session.declare_subscriber("s").with(handler).wait().unwrap();
    let publishing = std::thread::spawn(move || session.put("s", "x").wait().unwrap());
    gate.assert_waited_for(|| subscriber.undeclare());
    publishing.join().unwrap();
}

#[test]
fn undeclaring_a_queryable_waits_for_its_callback() {
    let (a, b) = pair();
    let (gate, handler) = gate::<Query>();
    let queryable = a.declare_queryable("q").callback(handler).wait().unwrap();
    await_queryable(&b, "q");
    let _replies = b.get("q").wait().unwrap();
    gate.assert_waited_for(|| queryable.undeclare());
}

#[test]
fn undeclaring_a_queryable_waits_for_a_local_query() {
    let session = alone();
    let (gate, handler) = gate::<Query>();
    let queryable = session.declare_queryable("q").callback(handler).wait().unwrap();
    let _replies = session.get("q").wait().unwrap();
    gate.assert_waited_for(|| queryable.undeclare());
}

#[test]
fn undeclaring_a_liveliness_subscriber_waits_for_its_callback() {
    let (a, b) = pair();
    let (gate, handler) = gate::<Sample>();
    let watcher = a.liveliness().declare_subscriber("t").callback(handler).wait().unwrap();
    let _token = b.liveliness().declare_token("t").wait().unwrap();
    gate.assert_waited_for(|| watcher.undeclare());
}

#[test]
fn undeclaring_a_matching_listener_waits_for_its_callback() {
    let (a, b) = pair();
    let (gate, handler) = gate();
    let publisher = a.declare_publisher("m").wait().unwrap();
    let listener = publisher.matching_listener().callback(handler).wait().unwrap();
    let _subscriber = b.declare_subscriber("m").wait().unwrap();
    gate.assert_waited_for(|| listener.undeclare());
}

#[test]
fn undeclaring_a_publisher_waits_for_its_matching_callback() {
    let (a, b) = pair();
    let (gate, handler) = gate();
    let publisher = a.declare_publisher("m").wait().unwrap();
    let _listener = publisher.matching_listener().callback(handler).wait().unwrap();
    let _subscriber = b.declare_subscriber("m").wait().unwrap();
    gate.assert_waited_for(|| publisher.undeclare());
}

#[test]
fn undeclaring_a_transport_listener_waits_for_its_callback() {
    let (a, b) = pair();
    let (gate, handler) = gate();
    let listener = a.info().transport_events_listener().callback(handler).wait().unwrap();
    b.close().wait();
    gate.assert_waited_for(|| listener.undeclare());
}

/// Under load, no callback runs after its undeclaration has returned.
#[test]
fn no_callback_after_undeclaring() {
    let (a, b) = pair();
    let anchor = a.declare_subscriber("u").callback(|_: &SampleView<'_>| {}).wait().unwrap();
    let publisher = matched_publisher(&b, "u");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                publisher.put_bytes(b"12345678").unwrap();
                a.put("u", "local").wait().unwrap();
            }
        });
        for _ in 0..300 {
            let (ended, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let (is_ended, counted) = (Arc::clone(&ended), Arc::clone(&calls));
            let callback = move |_: &SampleView<'_>| {
                assert!(!is_ended.load(Ordering::SeqCst), "called after undeclaring");
                counted.fetch_add(1, Ordering::SeqCst);
            };
            let subscriber = a.declare_subscriber("u").callback(callback).wait().unwrap();
            until("a call", || calls.load(Ordering::SeqCst) > 0);
            subscriber.undeclare();
            ended.store(true, Ordering::SeqCst);
            let after = calls.load(Ordering::SeqCst);
            std::thread::yield_now();
            assert_eq!(calls.load(Ordering::SeqCst), after);
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(anchor);
}

/// An entity that is undeclared by its own callback.
type Own<T> = Arc<Mutex<Option<T>>>;

fn undeclares<T: Send + 'static>(done: mpsc::Sender<()>) -> (Own<T>, impl Fn() + Send + Sync) {
    let own: Own<T> = Arc::default();
    let taken = Arc::clone(&own);
    let undeclare = move || {
        let entity = loop {
            // The callback may come before the declaration has returned.
            if let Some(entity) = taken.lock().unwrap().take() {
                break entity;
            }
            std::thread::yield_now();
        };
        drop(entity);
        let _ = done.send(());
    };
    (own, undeclare)
}

/// Every entity may be undeclared by its own callback, which returns and is not called again.
#[test]
fn callbacks_may_undeclare_themselves() {
    let (done, is_done) = mpsc::channel();
    let (a, b) = pair();

    let (own, undeclare) = undeclares(done.clone());
    let subscriber = a.declare_subscriber("s").callback(move |_: &SampleView<'_>| undeclare());
    *own.lock().unwrap() = Some(subscriber.wait().unwrap());
    let publisher = matched_publisher(&b, "s");
    publisher.put("1").wait().unwrap();
    soon(&is_done);

    let (own, undeclare) = undeclares(done.clone());
    let subscriber = a.declare_subscriber("l").callback(move |_: &SampleView<'_>| undeclare());
    *own.lock().unwrap() = Some(subscriber.wait().unwrap());
    ends("a put to a subscriber that ends", {
        let a = a.clone();
        move || {
            for _ in 0..3 {
                a.put("l", "1").wait().unwrap();
            }
        }
    });
    soon(&is_done);

    let (own, undeclare) = undeclares(done.clone());
    let queryable = a.declare_queryable("q").callback(move |_: Query| undeclare());
    *own.lock().unwrap() = Some(queryable.wait().unwrap());
    await_queryable(&b, "q");
    assert_eq!(b.get("q").wait().unwrap().into_iter().count(), 0);
    soon(&is_done);

    let (own, undeclare) = undeclares(done.clone());
    let watcher = a.liveliness().declare_subscriber("t").callback(move |_: Sample| undeclare());
    *own.lock().unwrap() = Some(watcher.wait().unwrap());
    let token = b.liveliness().declare_token("t").wait().unwrap();
    soon(&is_done);
    drop(token);

    let (own, undeclare) = undeclares(done.clone());
    let publisher = a.declare_publisher("m").wait().unwrap();
    let listener = publisher.matching_listener().callback(move |_| undeclare());
    *own.lock().unwrap() = Some(listener.wait().unwrap());
    let matching = b.declare_subscriber("m").wait().unwrap();
    soon(&is_done);

    let (own, undeclare) = undeclares(done.clone());
    let publisher = a.declare_publisher("m").wait().unwrap();
    let listener = publisher.matching_listener().callback(move |_| undeclare()).wait().unwrap();
    *own.lock().unwrap() = Some((publisher, listener));
    soon(&is_done);
    drop(matching);

    let (own, undeclare) = undeclares(done.clone());
    let listener = a.info().link_events_listener().callback(move |_| undeclare());
    *own.lock().unwrap() = Some(listener.wait().unwrap());
    b.close().wait();
    soon(&is_done);
    assert!(is_done.try_recv().is_err());
}

/// Two callbacks may undeclare each other's entities at the same time.
#[test]
fn callbacks_may_undeclare_each_other() {
    let hub = crate::support::listener();
    let neighbour = || crate::support::Node::new("peer").connect(&hub).open();
    let (b, c) = (neighbour(), neighbour());
    let (done, is_done) = mpsc::channel();
    let together = Arc::new(std::sync::Barrier::new(2));
    let declare = |session: &Session, key: &str| {
        let (own, undeclare) = undeclares(done.clone());
        let together = Arc::clone(&together);
        let callback = move |_: &SampleView<'_>| {
            together.wait();
            undeclare();
        };
        (own, session.declare_subscriber(key).callback(callback).wait().unwrap())
    };
    let (of_x, x) = declare(&hub, "x");
    let (of_y, y) = declare(&hub, "y");
    *of_x.lock().unwrap() = Some(y);
    *of_y.lock().unwrap() = Some(x);
    let (to_x, to_y) = (matched_publisher(&b, "x"), matched_publisher(&c, "y"));
    to_x.put("1").wait().unwrap();
    to_y.put("1").wait().unwrap();
    soon(&is_done);
    soon(&is_done);
}

/// What a callback captured is dropped with it.
#[test]
fn captures_are_dropped() {
    struct Tell(&'static str, mpsc::Sender<&'static str>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.1.send(self.0).unwrap();
        }
    }
    let (dropped, drops) = mpsc::channel();
    let (a, b) = pair();
    let tell = |name| Tell(name, dropped.clone());

    let captured = tell("subscriber");
    let callback = move |_: &SampleView<'_>| {
        let _ = &captured;
    };
    let subscriber = a.declare_subscriber("s").callback(callback).wait().unwrap();
    let publisher = matched_publisher(&b, "s");
    let own = a.declare_publisher("s").wait().unwrap();
    publisher.put("1").wait().unwrap();
    own.put("2").wait().unwrap();
    a.put("s", "3").wait().unwrap();
    drop(subscriber);
    assert_eq!(soon(&drops), "subscriber");

    let captured = tell("queryable");
    let callback = move |_: Query| {
        let _ = &captured;
    };
    drop(a.declare_queryable("q").callback(callback).wait().unwrap());
    assert_eq!(drops.try_recv(), Ok("queryable"));

    let captured = tell("watcher");
    let callback = move |_: Sample| {
        let _ = &captured;
    };
    drop(a.liveliness().declare_subscriber("t").callback(callback).wait().unwrap());
    assert_eq!(drops.try_recv(), Ok("watcher"));

    let captured = tell("get");
    let callback = move |_: Reply| {
        let _ = &captured;
    };
    a.get("nobody").callback(callback).wait().unwrap();
    assert_eq!(soon(&drops), "get");

    let captured = tell("background");
    let callback = move |_: &SampleView<'_>| {
        let _ = &captured;
    };
    a.declare_subscriber("s").callback(callback).wait().unwrap().background();
    publisher.put("1").wait().unwrap();
    own.put("2").wait().unwrap();
    a.put("s", "3").wait().unwrap();
    assert!(drops.try_recv().is_err());
    a.close().wait();
    assert_eq!(soon(&drops), "background");
}

/// A destructor of something captured may use the session.
#[test]
fn captures_may_call_back_when_they_are_dropped() {
    struct Put(Session);
    impl Drop for Put {
        fn drop(&mut self) {
            let _ = self.0.put("log", "gone").wait();
            let _ = self.0.declare_subscriber("tmp").wait();
            let _ = self.0.get("nobody").wait();
        }
    }
    let session = alone();
    let log = session.declare_subscriber("log").wait().unwrap();
    let captured = |session: &Session| {
        let put = Put(session.clone());
        move || {
            let _ = &put;
        }
    };
    let keep = captured(&session);
    let subscriber = session.declare_subscriber("x").callback(move |_: &SampleView<'_>| keep());
    let subscriber = subscriber.wait().unwrap();
    session.put("x", "1").wait().unwrap();
    ends("dropping the subscriber", move || drop(subscriber));
    assert_eq!(*next(&log).payload(), "gone");
    let keep = captured(&session);
    let queryable = session.declare_queryable("x").callback(move |_: Query| keep()).wait().unwrap();
    ends("dropping the queryable", move || drop(queryable));
    assert_eq!(*next(&log).payload(), "gone");
    let keep = captured(&session);
    session.get("nobody").callback(move |_: Reply| keep()).wait().unwrap();
    assert_eq!(*next(&log).payload(), "gone");
    let keep = captured(&session);
    session
        .declare_subscriber("x")
        .callback(move |_: &SampleView<'_>| keep())
        .wait()
        .unwrap()
        .background();
    session.put("x", "1").wait().unwrap();
    ends("closing", move || session.close().wait());
}

/// A subscriber in the background lives until the session closes, without a handle.
#[test]
fn background_entities_stay() {
    let (a, b) = pair();
    let (seen, samples) = mpsc::channel();
    let callback = move |sample: &SampleView<'_>| seen.send(sample.payload().len()).unwrap();
    a.declare_subscriber("s").callback(callback).wait().unwrap().background();
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    a.declare_queryable("q").callback(answer).wait().unwrap().background();
    matched_publisher(&b, "s").put("12").wait().unwrap();
    assert_eq!(soon(&samples), 2);
    await_queryable(&b, "q");
    assert_eq!(b.get("q").wait().unwrap().into_iter().count(), 1);
    a.close().wait();
    assert!(samples.recv().is_err());
}
