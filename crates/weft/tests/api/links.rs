//! The links there are: TCP over both IP versions, and Unix sockets.

use std::path::PathBuf;

use weft::Query;

use crate::support::{Node, await_queryable, matched_publisher, next};

/// Samples and queries go over a link to this endpoint, in both directions.
fn works_over(endpoint: &str) {
    let a = Node::new("peer").listen(endpoint).open();
    let b = Node::new("peer").connect(&a).open();
    let subscriber = a.declare_subscriber("x").wait().unwrap();
    let back = b.declare_subscriber("y").wait().unwrap();
    for (session, receiver, key) in [(&b, &*subscriber, "x"), (&a, &*back, "y")] {
        let publisher = matched_publisher(session, key);
        for len in [0, 1, 1000, 65_535, 3_000_000] {
            publisher.put(vec![9; len]).wait().unwrap();
            assert_eq!(next(receiver).payload().len(), len);
        }
    }
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    await_queryable(&b, "q");
    assert_eq!(b.get("q").wait().unwrap().into_iter().count(), 1);
    let links = b.info().links();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0].zid(), a.zid());
    assert_eq!(links[0].dst(), a.info().locators()[0].to_string());
    assert!(links[0].is_streamed() && links[0].is_reliable());
}

#[test]
fn tcp_over_ipv4() {
    works_over("tcp/127.0.0.1:0");
}

#[test]
fn tcp_over_ipv6() {
    works_over("tcp/[::1]:0");
}

/// A node without priorities and one with them meet without.
#[test]
fn priorities_may_be_turned_off() {
    for own in [true, false] {
        let a = Node::new("peer")
            .set("transport/unicast/qos/enabled", if own { "true" } else { "false" })
            .listen("tcp/127.0.0.1:0")
            .open();
        let b = Node::new("peer").connect(&a).open();
        assert_eq!(b.info().transports()[0].is_qos(), own);
        let subscriber = a.declare_subscriber("x").wait().unwrap();
        matched_publisher(&b, "x").put("y").wait().unwrap();
        assert_eq!(*next(&subscriber).payload(), "y");
    }
}

/// A path in the directory of temporary files that is removed with the value.
struct TemporaryPath(PathBuf);

impl TemporaryPath {
    fn new(name: &str) -> Self {
        let name = format!("weft-test-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn unix_sockets() {
    let path = TemporaryPath::new("socket");
    works_over(&format!("unixsock-stream/{}", path.0.display()));
}

/// A node may listen in several places at once, and be reached by each.
#[test]
fn several_listeners() {
    let path = TemporaryPath::new("several");
    let endpoints =
        format!("['tcp/127.0.0.1:0', 'tcp/[::1]:0', 'unixsock-stream/{}']", path.0.display());
    let a = Node::new("router").set("listen/endpoints", &endpoints).open();
    let locators = a.info().locators();
    assert_eq!(locators.len(), 3);
    let subscriber = a.declare_subscriber("x").wait().unwrap();
    for locator in &locators {
        let b = Node::new("client").connect_to(&[&locator.to_string()]).open();
        matched_publisher(&b, "x").put(locator.to_string()).wait().unwrap();
        assert_eq!(*next(&subscriber).payload(), *locator.to_string());
    }
}
