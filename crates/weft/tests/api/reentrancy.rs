//! Any call of the API may be made from any callback, of any kind.

use std::sync::mpsc;

use weft::handlers::FifoChannel;
use weft::{CancellationToken, Query, Sample, SampleView, Session};

use crate::support::{
    Node, SOON, assert_ends, await_queryable, listener, matched_publisher, next, soon,
};

/// A session in the middle: what happens at `trigger` reaches its callbacks over one link, and what
/// they ask of `answering` goes over another one.
struct Middle {
    own: Session,
    trigger: Session,
    answering: Session,
    _entities: (weft::Queryable<()>, weft::Subscriber<()>, weft::LivelinessToken),
}

fn middle() -> Middle {
    let own = listener();
    let neighbour = || Node::new("peer").connect(&own).open();
    let (trigger, answering) = (neighbour(), neighbour());
    let answer = |query: Query| query.reply(query.key_expr(), "answer").wait().unwrap();
    let queryable = answering.declare_queryable("ask").callback(answer).wait().unwrap();
    let own_answer = |query: Query| query.reply(query.key_expr(), "answer").wait().unwrap();
    own.declare_queryable("ask/own").callback(own_answer).wait().unwrap().background();
    let subscriber = answering.declare_subscriber("far").callback(|_: &SampleView<'_>| {});
    let subscriber = subscriber.wait().unwrap();
    own.declare_subscriber("near").callback(|_: &SampleView<'_>| {}).wait().unwrap().background();
    let token = answering.liveliness().declare_token("token").wait().unwrap();
    await_queryable(&own, "ask");
    drop(matched_publisher(&own, "far"));
    let watcher = own.liveliness().declare_subscriber("token").history(true).wait().unwrap();
    next(&watcher);
    Middle { own, trigger, answering, _entities: (queryable, subscriber, token) }
}

/// Makes every call that there is, and checks what comes of it.
fn every_call(session: &Session) {
    session.put("near", "x").wait().unwrap();
    session.put("far", "x").wait().unwrap();
    session.delete("near").wait().unwrap();
    session.delete("far").wait().unwrap();
    session.new_timestamp();
    let key = session.declare_keyexpr("declared/here").unwrap();
    session.undeclare_keyexpr(key).unwrap();

    let publisher = session.declare_publisher("here").wait().unwrap();
    let subscriber = session.declare_subscriber("here").with(FifoChannel::new(4)).wait().unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    assert!(next(&status).matching());
    assert!(publisher.matching_status().unwrap().matching());
    publisher.put("1").wait().unwrap();
    publisher.put_bytes(b"2").unwrap();
    publisher.delete().wait().unwrap();
    for _ in 0..3 {
        next(&subscriber);
    }
    subscriber.undeclare();
    assert!(!next(&status).matching());
    status.undeclare();
    publisher.undeclare();

    // Replies over another link, waited for in a channel.
    let replies = session.get("ask").timeout(SOON).wait().unwrap();
    assert!(next(&replies).result().is_ok());
    assert_ends(&replies);
    let querier = session.declare_querier("ask").timeout(SOON).wait().unwrap();
    assert!(querier.matching_status().unwrap().matching());
    let replies = querier.get().wait().unwrap();
    assert!(next(&replies).result().is_ok());
    querier.undeclare();
    // Replies of this very session.
    let replies = session.get("ask/own").timeout(SOON).wait().unwrap();
    assert!(next(&replies).result().is_ok());
    assert_ends(&replies);
    // A query that ends in a timeout, and one that is cancelled.
    let mute = session.declare_queryable("mute/here").wait().unwrap();
    let timeout = std::time::Duration::from_millis(10);
    let replies = session.get("mute/here").timeout(timeout).wait().unwrap();
    let _kept = next(&mute);
    assert!(next(&replies).result().unwrap_err().is_timeout());
    let token = CancellationToken::new();
    let replies = session.get("mute/here").cancellation_token(&token).wait().unwrap();
    token.cancel();
    assert_ends(&replies);
    mute.undeclare();

    let alive = session.liveliness().get("token").timeout(SOON).wait().unwrap();
    assert!(next(&alive).result().is_ok());
    let watcher = session.liveliness().declare_subscriber("here/*").history(true).wait().unwrap();
    let token = session.liveliness().declare_token("here/token").wait().unwrap();
    next(&watcher);
    token.undeclare();
    next(&watcher);
    watcher.undeclare();

    let events = session.info().transport_events_listener().history(true).wait().unwrap();
    next(&events);
    events.undeclare();
    let events = session.info().link_events_listener().history(true).wait().unwrap();
    next(&events);
    events.undeclare();
    assert!(session.info().neighbours().len() >= 2);
    assert!(!session.info().locators().is_empty());
    assert!(!session.is_closed());

    // Another session, connected to this very one, opened and closed.
    let other = Node::new("peer").connect(session).open();
    assert_eq!(other.info().peers_zid(), [session.zid()]);
    other.close().wait();
}

/// Runs `every_call` in a callback and waits for its end; a panic in it is a failure here.
fn in_callback(kind: &str, start: impl FnOnce(&Middle, Box<dyn Fn() + Send + Sync>)) {
    let middle = middle();
    let (done, is_done) = mpsc::channel();
    let session = middle.own.clone();
    let once = std::sync::Once::new();
    let call = move || {
        once.call_once(|| {
            let work = std::panic::AssertUnwindSafe(|| every_call(&session));
            let _ = done.send(std::panic::catch_unwind(work).is_ok());
        });
    };
    start(&middle, Box::new(call));
    assert!(soon(&is_done), "{kind}");
    // The session is in order.
    middle.own.put("far", "x").wait().unwrap();
    assert!(next(&middle.own.get("ask").wait().unwrap()).result().is_ok(), "{kind}");
    middle.answering.close().wait();
}

#[test]
fn from_a_subscriber() {
    in_callback("subscriber", |middle, call| {
        let callback = move |_: &SampleView<'_>| call();
        middle.own.declare_subscriber("start").callback(callback).wait().unwrap().background();
        matched_publisher(&middle.trigger, "start").put("x").wait().unwrap();
    });
}

#[test]
fn from_a_subscriber_that_owns_samples() {
    in_callback("subscriber", |middle, call| {
        let handler = move |_: Sample| call();
        middle.own.declare_subscriber("start").with(handler).wait().unwrap().background();
        matched_publisher(&middle.trigger, "start").put("x").wait().unwrap();
    });
}

#[test]
fn from_a_local_delivery() {
    in_callback("local delivery", |middle, call| {
        let callback = move |_: &SampleView<'_>| call();
        middle.own.declare_subscriber("start").callback(callback).wait().unwrap().background();
        middle.own.put("start", "x").wait().unwrap();
    });
}

#[test]
fn from_a_queryable() {
    in_callback("queryable", |middle, call| {
        let callback = move |_: Query| call();
        middle.own.declare_queryable("start").callback(callback).wait().unwrap().background();
        await_queryable(&middle.trigger, "start");
        let _replies = middle.trigger.get("start").timeout(SOON).wait().unwrap();
    });
}

#[test]
fn from_a_queryable_of_the_session_itself() {
    in_callback("own queryable", |middle, call| {
        let callback = move |_: Query| call();
        middle.own.declare_queryable("start").callback(callback).wait().unwrap().background();
        let _replies = middle.own.get("start").timeout(SOON).wait().unwrap();
    });
}

#[test]
fn from_a_reply() {
    in_callback("reply", |middle, call| {
        let answer = |query: Query| query.reply("start", "x").wait().unwrap();
        middle.trigger.declare_queryable("start").callback(answer).wait().unwrap().background();
        await_queryable(&middle.own, "start");
        let get = middle.own.get("start").consolidation(weft::Consolidation::None);
        get.callback(move |_| call()).wait().unwrap();
    });
}

#[test]
fn from_a_reply_that_was_held_back() {
    in_callback("held reply", |middle, call| {
        let answer = |query: Query| query.reply("start", "x").wait().unwrap();
        middle.trigger.declare_queryable("start").callback(answer).wait().unwrap().background();
        await_queryable(&middle.own, "start");
        middle.own.get("start").callback(move |_| call()).wait().unwrap();
    });
}

#[test]
fn from_a_timeout() {
    in_callback("timeout", |middle, call| {
        let kept = std::sync::Mutex::new(Vec::new());
        let keep = move |query: Query| kept.lock().unwrap().push(query);
        middle.trigger.declare_queryable("start").callback(keep).wait().unwrap().background();
        await_queryable(&middle.own, "start");
        let get = middle.own.get("start").timeout(std::time::Duration::from_millis(50));
        get.callback(move |_| call()).wait().unwrap();
    });
}

#[test]
fn from_the_end_of_a_query() {
    struct Ends<F: Fn()>(F);
    impl<F: Fn()> Drop for Ends<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    in_callback("drop hook", |middle, call| {
        let answer = |query: Query| query.reply("start", "x").wait().unwrap();
        middle.trigger.declare_queryable("start").callback(answer).wait().unwrap().background();
        await_queryable(&middle.own, "start");
        let ends = Ends(call);
        let callback = move |_| {
            let _ = &ends;
        };
        middle.own.get("start").callback(callback).wait().unwrap();
    });
}

#[test]
fn from_a_liveliness_subscriber() {
    in_callback("liveliness subscriber", |middle, call| {
        let watcher = middle.own.liveliness().declare_subscriber("start");
        watcher.callback(move |_| call()).wait().unwrap().background();
        drop(middle.trigger.liveliness().declare_token("start").wait().unwrap());
    });
}

#[test]
fn from_a_liveliness_reply() {
    in_callback("liveliness reply", |middle, call| {
        middle.own.liveliness().get("token").callback(move |_| call()).wait().unwrap();
    });
}

#[test]
fn from_a_matching_listener() {
    in_callback("matching listener", |middle, call| {
        let publisher = middle.own.declare_publisher("start").wait().unwrap();
        publisher.matching_listener().callback(move |_| call()).wait().unwrap().background();
        let subscriber =
            middle.trigger.declare_subscriber("start").callback(|_: &SampleView<'_>| {});
        subscriber.wait().unwrap().background();
        // A listener lives as long as its publisher.
        std::mem::forget(publisher);
    });
}

#[test]
fn from_a_transport_listener() {
    in_callback("transport listener", |middle, call| {
        let listener = middle.own.info().transport_events_listener().callback(move |_| call());
        listener.wait().unwrap().background();
        drop(Node::new("peer").connect(&middle.own).open());
    });
}

#[test]
fn from_a_link_listener() {
    in_callback("link listener", |middle, call| {
        let listener = middle.own.info().link_events_listener().callback(move |_| call());
        listener.wait().unwrap().background();
        drop(Node::new("peer").connect(&middle.own).open());
    });
}

/// A put to the very key of its subscriber is delivered within its callback.
#[test]
fn a_callback_may_put_to_itself() {
    let session = crate::support::alone();
    let (seen, samples) = mpsc::channel();
    let own = session.clone();
    let callback = move |sample: &SampleView<'_>| {
        let number = sample.payload()[0];
        if number > 0 {
            own.put("self", [number - 1]).wait().unwrap();
        }
        seen.send(number).unwrap();
    };
    session.declare_subscriber("self").callback(callback).wait().unwrap().background();
    session.put("self", [10]).wait().unwrap();
    assert_eq!(samples.try_iter().collect::<Vec<_>>(), (0..=10).collect::<Vec<_>>());
    session.close().wait();
}

/// A queryable may ask itself; a query may be asked in the reply of another one.
#[test]
fn queries_may_nest() {
    let session = crate::support::alone();
    let own = session.clone();
    let answer = move |query: Query| {
        let depth: u32 = query.parameters().get("n").unwrap().parse().unwrap();
        let below = match depth {
            0 => String::from("."),
            _ => {
                let replies =
                    own.get(format!("nest?n={}", depth - 1)).timeout(SOON).wait().unwrap();
                next(&replies).into_result().unwrap().payload().try_to_str().unwrap().into_owned()
            }
        };
        query.reply("nest", format!("{depth}{below}")).wait().unwrap();
    };
    session.declare_queryable("nest").callback(answer).wait().unwrap().background();
    let replies = session.get("nest?n=5").timeout(SOON).wait().unwrap();
    assert_eq!(*next(&replies).result().unwrap().payload(), "543210.");
    session.close().wait();
}
