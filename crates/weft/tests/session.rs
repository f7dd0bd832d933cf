//! Two sessions on loopback: every kind of entity, through the public API.

use std::time::Duration;

use weft::handlers::RingChannel;
use weft::{Config, SampleKind, Session};

/// How long anything may take before a test fails.
const SOON: Duration = Duration::from_secs(10);

/// A peer that listens on a free loopback port, and a peer connected to it.
fn pair() -> (Session, Session) {
    let listener = open("peer", &["tcp/127.0.0.1:0"], &[]);
    let locator = listener.info().locators()[0].to_string();
    let dialer = open("peer", &[], &[&locator]);
    (listener, dialer)
}

fn open(mode: &str, listen: &[&str], connect: &[&str]) -> Session {
    let mut config = Config::default();
    config.insert_json5("mode", &format!("{mode:?}")).unwrap();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    config.insert_json5("listen/endpoints", &format!("{listen:?}")).unwrap();
    config.insert_json5("connect/endpoints", &format!("{connect:?}")).unwrap();
    weft::open(config).wait().unwrap()
}

/// Waits until `session` knows of a queryable on `key`: a declaration takes its time to arrive.
fn await_queryable(session: &Session, key: &str) {
    let querier = session.declare_querier(key).wait().unwrap();
    let matching = querier.matching_listener().wait().unwrap();
    assert!(matching.recv_timeout(SOON).unwrap().unwrap().matching());
}

#[test]
fn a_put_arrives_with_everything_that_was_set() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("demo/*").wait().unwrap();
    let publisher = b.declare_publisher("demo/a").wait().unwrap();
    let matching = publisher.matching_listener().wait().unwrap();
    assert!(matching.recv_timeout(SOON).unwrap().unwrap().matching());
    publisher
        .put("hello")
        .encoding(weft::Encoding::TEXT_PLAIN)
        .attachment(b"more".as_slice())
        .wait()
        .unwrap();
    let sample = subscriber.recv_timeout(SOON).unwrap().unwrap();
    assert_eq!(sample.key_expr().as_str(), "demo/a");
    assert_eq!(sample.payload().try_to_str().unwrap(), "hello");
    assert_eq!(*sample.encoding(), weft::Encoding::TEXT_PLAIN);
    assert_eq!(sample.attachment().unwrap().to_bytes(), b"more".as_slice());
    publisher.delete().wait().unwrap();
    assert_eq!(subscriber.recv_timeout(SOON).unwrap().unwrap().kind(), SampleKind::Delete);
}

#[test]
fn a_query_gets_its_replies_and_ends() {
    let (a, b) = pair();
    let _queryable = a
        .declare_queryable("q/**")
        .callback(|query: weft::Query| {
            query.reply(query.key_expr(), "answer").wait().unwrap();
            query.reply_err("but").wait().unwrap();
        })
        .wait()
        .unwrap();
    await_queryable(&b, "q/x");
    let replies = b.get("q/x?p=1").timeout(SOON).wait().unwrap();
    let replies: Vec<_> = replies.into_iter().collect();
    assert_eq!(replies.len(), 2);
    let data = replies.iter().find_map(|reply| reply.result().ok()).unwrap();
    assert_eq!(data.payload().try_to_str().unwrap(), "answer");
    let error = replies.iter().find_map(|reply| reply.result().err()).unwrap();
    assert_eq!(error.to_string(), "but");
    assert_eq!(b.get("nobody/here").wait().unwrap().into_iter().count(), 0);
}

#[test]
fn a_silent_queryable_ends_in_a_timeout() {
    let (a, b) = pair();
    let _queryable = a.declare_queryable("mute").with(RingChannel::new(1)).wait().unwrap();
    await_queryable(&b, "mute");
    let replies = b.get("mute").timeout(Duration::from_millis(200)).wait().unwrap();
    let replies: Vec<_> = replies.into_iter().collect();
    assert!(replies[0].result().unwrap_err().is_timeout());
}

#[test]
fn tokens_come_and_go() {
    let (a, b) = pair();
    let watcher = a.liveliness().declare_subscriber("alive/*").history(true).wait().unwrap();
    let token = b.liveliness().declare_token("alive/b").wait().unwrap();
    assert_eq!(watcher.recv_timeout(SOON).unwrap().unwrap().kind(), SampleKind::Put);
    let alive: Vec<_> = a.liveliness().get("alive/**").wait().unwrap().into_iter().collect();
    assert_eq!(alive[0].result().unwrap().key_expr().as_str(), "alive/b");
    drop(token);
    assert_eq!(watcher.recv_timeout(SOON).unwrap().unwrap().kind(), SampleKind::Delete);
}

#[test]
fn closing_ends_what_waits() {
    let (a, _b) = pair();
    let subscriber = a.declare_subscriber("never").wait().unwrap();
    let waiting = std::thread::spawn(move || subscriber.recv());
    a.close().wait();
    assert!(waiting.join().unwrap().is_err());
    assert!(a.put("x", "y").wait().is_err());
}
