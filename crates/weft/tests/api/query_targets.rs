//! Which queryables a query reaches.

use weft::{Locality, Query, QueryTarget, Session};

use crate::support::{Node, alone, brokered, listener, next, router};

/// Declares a queryable that answers with its name.
fn queryable(
    session: &Session,
    key: &str,
    name: &'static str,
    complete: bool,
) -> weft::Queryable<()> {
    let answer = move |query: Query| query.reply(format!("t/{name}"), name).wait().unwrap();
    session.declare_queryable(key).complete(complete).callback(answer).wait().unwrap()
}

/// The names of those who answer.
fn asked(session: &Session, target: QueryTarget) -> Vec<String> {
    let replies = session.get("t/**").target(target).wait().unwrap();
    let mut names: Vec<String> = replies
        .into_iter()
        .map(|it| it.result().unwrap().payload().try_to_str().unwrap().into_owned())
        .collect();
    names.sort();
    names
}

/// Waits until a session knows of so many queryables, by asking.
fn await_all(session: &Session, count: usize) {
    crate::support::until("all queryables", || asked(session, QueryTarget::All).len() == count);
}

const BEST: QueryTarget = QueryTarget::BestMatching;
const ALL: QueryTarget = QueryTarget::All;
const ALL_COMPLETE: QueryTarget = QueryTarget::AllComplete;

/// Without a complete queryable, the best matching ones are all.
#[test]
fn incomplete_queryables_are_all_asked() {
    let (_router, a, b) = brokered();
    let _x = queryable(&a, "t/x", "x", false);
    let _y = queryable(&a, "t/y/*", "y", false);
    await_all(&b, 2);
    assert_eq!(asked(&b, BEST), ["x", "y"]);
    assert_eq!(asked(&b, ALL), ["x", "y"]);
    assert_eq!(asked(&b, ALL_COMPLETE), [""; 0]);
}

/// Of the neighbours with a complete queryable that covers the query, the nearest is asked.
#[test]
fn the_nearest_complete_queryable_is_asked() {
    let router = router();
    let client = || Node::new("client").connect(&router).open();
    let (a, b, c) = (client(), client(), client());
    let _complete = queryable(&a, "t/**", "complete", true);
    let _partial = queryable(&b, "t/*", "partial", true);
    let _incomplete = queryable(&b, "t/**", "incomplete", false);
    await_all(&c, 3);
    assert_eq!(asked(&c, BEST), ["complete"]);
    assert_eq!(asked(&c, ALL), ["complete", "incomplete", "partial"]);
    let own = queryable(&c, "t/**", "own", true);
    assert_eq!(asked(&c, BEST), ["own"], "nearer than any neighbour's");
    drop(own);
    let remote = c.get("t/**").allowed_destination(Locality::Remote).wait().unwrap();
    assert_eq!(remote.into_iter().count(), 1);
}

/// Every complete queryable that covers the query is asked, wherever it is.
#[test]
fn all_complete_queryables_are_asked() {
    let hub = listener();
    let neighbour = || Node::new("peer").connect(&hub).open();
    let (b, c) = (neighbour(), neighbour());
    let _b = queryable(&b, "t/**", "b", true);
    let _c = queryable(&c, "t/**", "c", true);
    let _d = queryable(&c, "t/**", "d", false);
    let _own = queryable(&hub, "**", "own", true);
    await_all(&hub, 4);
    assert_eq!(asked(&hub, ALL_COMPLETE), ["b", "c", "own"]);
    assert_eq!(asked(&hub, BEST), ["own"]);
}

/// Within the session that is asked, every queryable that matches answers.
#[test]
fn all_queryables_of_a_session_answer() {
    let session = alone();
    let _x = queryable(&session, "t/**", "x", true);
    let _y = queryable(&session, "t/*", "y", false);
    let _z = queryable(&session, "t/**", "z", false);
    assert_eq!(asked(&session, BEST), ["x", "y", "z"]);
    assert_eq!(asked(&session, ALL_COMPLETE), ["x"]);
}

/// A queryable that goes is asked no more, and one that becomes complete is preferred.
#[test]
fn changes_are_followed() {
    let (_router, a, b) = brokered();
    let first = queryable(&a, "t/**", "first", false);
    let querier = b.declare_querier("t/**").target(ALL_COMPLETE).wait().unwrap();
    let status = querier.matching_listener().wait().unwrap();
    await_all(&b, 1);
    assert!(!querier.matching_status().unwrap().matching());
    let second = queryable(&a, "t/**", "second", true);
    assert!(next(&status).matching());
    assert_eq!(asked(&b, ALL_COMPLETE), ["second"]);
    drop(second);
    assert!(!next(&status).matching());
    drop(first);
    await_all(&b, 0);
}
