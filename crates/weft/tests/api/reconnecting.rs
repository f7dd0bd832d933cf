//! A router that goes and comes back: everything that was declared is there again.

use weft::{Query, SampleKind, Session};

use crate::support::{Node, await_queryable, next, until};

/// A router on a given endpoint.
fn router_on(endpoint: &str) -> Session {
    Node::new("router").listen(endpoint).open()
}

fn client_of(endpoint: &str) -> Session {
    let retry = "{ period_init_ms: 50, period_max_ms: 200, period_increase_factor: 2 }";
    Node::new("client").connect_to(&[endpoint]).set("connect/retry", retry).open()
}

/// Closes the router and opens another one in its place.
fn restart(router: Session, endpoint: &str) -> Session {
    router.close().wait();
    drop(router);
    router_on(endpoint)
}

#[test]
fn declarations_are_restored() {
    let first = router_on("tcp/127.0.0.1:0");
    let endpoint = first.info().locators()[0].to_string();
    let (a, b) = (client_of(&endpoint), client_of(&endpoint));

    let subscriber = a.declare_subscriber("s/*").wait().unwrap();
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    let _token = a.liveliness().declare_token("t").wait().unwrap();
    let publisher = b.declare_publisher("s/1").wait().unwrap();
    let querier = b.declare_querier("q").wait().unwrap();
    let watcher = b.liveliness().declare_subscriber("t").history(true).wait().unwrap();
    let of_publisher = publisher.matching_listener().wait().unwrap();
    let of_querier = querier.matching_listener().wait().unwrap();

    let check = |round: &str| {
        assert!(next(&of_publisher).matching(), "{round}");
        assert!(next(&of_querier).matching(), "{round}");
        assert_eq!(next(&watcher).kind(), SampleKind::Put, "{round}");
        publisher.put(round).wait().unwrap();
        let sample = next(&subscriber);
        assert_eq!((sample.key_expr().as_str(), sample.payload()), ("s/1", &round.into()));
        let replies = querier.get().wait().unwrap();
        assert!(next(&replies).result().is_ok(), "{round}");
        let alive = b.liveliness().get("*").wait().unwrap();
        assert_eq!(next(&alive).result().unwrap().key_expr().as_str(), "t", "{round}");
    };
    check("before");
    let mut router = first;
    for round in ["once", "twice"] {
        router = restart(router, &endpoint);
        assert!(!next(&of_publisher).matching());
        assert!(!next(&of_querier).matching());
        assert_eq!(next(&watcher).kind(), SampleKind::Delete);
        check(round);
    }
}

/// What is declared while there is no router is declared when there is one.
#[test]
fn declarations_without_a_router_are_made_later() {
    let first = router_on("tcp/127.0.0.1:0");
    let endpoint = first.info().locators()[0].to_string();
    let (a, b) = (client_of(&endpoint), client_of(&endpoint));
    first.close().wait();
    until("the loss", || a.info().neighbours().is_empty() && b.info().neighbours().is_empty());
    let subscriber = a.declare_subscriber("s").wait().unwrap();
    let answer = |query: Query| query.reply("q", "x").wait().unwrap();
    let _queryable = a.declare_queryable("q").callback(answer).wait().unwrap();
    let publisher = b.declare_publisher("s").wait().unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    publisher.put("lost").wait().unwrap();
    assert_eq!(b.get("q").wait().unwrap().into_iter().count(), 0, "nobody to ask");
    let _second = router_on(&endpoint);
    assert!(next(&status).matching());
    publisher.put("found").wait().unwrap();
    assert_eq!(*next(&subscriber).payload(), "found");
    await_queryable(&b, "q");
    assert_eq!(b.get("q").wait().unwrap().into_iter().count(), 1);
}

/// A query that is under way when the router goes ends.
#[test]
fn a_query_ends_when_the_router_goes() {
    let router = router_on("tcp/127.0.0.1:0");
    let endpoint = router.info().locators()[0].to_string();
    let (a, b) = (client_of(&endpoint), client_of(&endpoint));
    let queryable = a.declare_queryable("q").wait().unwrap();
    await_queryable(&b, "q");
    let replies = b.get("q").timeout(crate::support::SOON).wait().unwrap();
    let query = next(&queryable);
    router.close().wait();
    assert_eq!(replies.into_iter().count(), 0);
    query.reply("q", "nobody hears it").wait().unwrap();
}

/// Transport and link events tell of the loss and the return.
#[test]
fn events_tell_of_it() {
    use weft::info::EventKind::{Closed, Opened};
    let router = router_on("tcp/127.0.0.1:0");
    let endpoint = router.info().locators()[0].to_string();
    let client = client_of(&endpoint);
    let transports = client.info().transport_events_listener().history(true).wait().unwrap();
    let links = client.info().link_events_listener().history(true).wait().unwrap();
    let old = router.zid();
    assert_eq!((next(&transports).kind, next(&links).kind), (Opened, Opened));
    let router = restart(router, &endpoint);
    let (gone, lost) = (next(&transports), next(&links));
    assert_eq!((gone.kind, gone.object.zid()), (Closed, old));
    assert_eq!((lost.kind, lost.object.zid()), (Closed, old));
    assert_eq!(lost.object.dst(), endpoint);
    let (back, found) = (next(&transports), next(&links));
    assert_eq!((back.kind, back.object.zid()), (Opened, router.zid()));
    assert_eq!((found.kind, found.object.zid()), (Opened, router.zid()));
}
