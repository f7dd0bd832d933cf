//! Gets that know whether whom they ask covers what they ask for.

use std::time::Duration;

use weft::handlers::Receiver;
use weft::{
    CancellationToken, Consolidation, Cover, Covered, Error, ErrorKind, Query, Queryable, Reply,
    Session,
};

use crate::support::{
    Node, SOON, alone, assert_ends, await_queryable, block_on, brokered, next, pair, router, until,
};

/// Declares a queryable that answers with its name.
fn queryable(session: &Session, key: &str, name: &'static str, complete: bool) -> Queryable<()> {
    let answer = move |query: Query| query.reply(format!("c/{name}"), name).wait().unwrap();
    session.declare_queryable(key).complete(complete).callback(answer).wait().unwrap()
}

type Replies = weft::Result<Covered<Receiver<Reply>>>;

fn ask(session: &Session, key: &str, cover: Cover) -> Replies {
    session.get(key).consolidation(Consolidation::None).cover(cover).wait()
}

/// Who answered, and whether that was covered and complete.
fn outcome(replies: Replies) -> (Vec<String>, bool, bool) {
    let replies = replies.unwrap();
    let text = |it: Reply| it.into_result().unwrap().payload().try_to_str().unwrap().into_owned();
    let mut names: Vec<String> = replies.iter().map(text).collect();
    names.sort();
    (names, replies.is_covered(), replies.is_complete())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn the_nearest_cover_or_all_are_asked() {
    let router = router();
    let client = || Node::new("client").connect(&router).open();
    let (a, b, c) = (client(), client(), client());
    let _covers = [queryable(&a, "c/**", "a", true), queryable(&b, "c/*", "b", true)];
    let _part = queryable(&b, "c/p", "p", true);
    let _incomplete = queryable(&a, "c/**", "i", false);
    until("all queryables", || {
        ask(&c, "c/*", Cover::ALL).is_ok_and(|it| outcome(Ok(it)).0.len() == 4)
    });
    let (nearest, is_covered, is_complete) = outcome(ask(&c, "c/*", Cover::NEAREST));
    assert!(nearest == names(&["a", "i"]) || nearest == names(&["b", "p"]), "{nearest:?}");
    assert!(is_covered && is_complete);
    let all = (names(&["a", "b", "i", "p"]), true, true);
    assert_eq!(outcome(ask(&c, "c/*", Cover::ALL)), all);
    assert_eq!(outcome(ask(&c, "c/*", Cover::ALL.or_partial())), all);
    // Only one of them covers this.
    assert_eq!(outcome(ask(&c, "c/**", Cover::NEAREST)), (names(&["a", "i"]), true, true));
}

#[test]
fn a_partial_cover_is_refused_or_taken() {
    let (_router, a, b) = brokered();
    let _part = queryable(&a, "c/p", "p", true);
    let _incomplete = queryable(&a, "c/**", "i", false);
    await_queryable(&b, "c/p");
    until("both queryables", || {
        let Err(Error::Cover(error)) = ask(&b, "c/*", Cover::ALL) else { panic!("not refused") };
        assert_eq!(error.key.as_str(), "c/*");
        let keys =
            |keys: &[weft::KeyExpr]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        (keys(&error.complete), keys(&error.incomplete)) == (names(&["c/p"]), names(&["c/**"]))
    });
    let error = ask(&b, "c/*", Cover::NEAREST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cover);
    let text = "no complete queryable covers `c/*`: 1 cover a part of it, 1 are not complete";
    assert_eq!(error.to_string(), text);
    for cover in [Cover::NEAREST.or_partial(), Cover::ALL.or_partial()] {
        assert_eq!(outcome(ask(&b, "c/*", cover)), (names(&["i", "p"]), false, false));
    }
    // It has an answer for this one, and that one is covered.
    assert!(ask(&b, "c/p", Cover::NEAREST).is_ok());
    assert!(matches!(ask(&b, "other", Cover::ALL), Err(Error::Cover(_))));
}

#[test]
fn peers_and_the_session_itself_cover() {
    let (a, b) = pair();
    let _covering = queryable(&a, "c/**", "a", true);
    await_queryable(&b, "c/x");
    let get = b.get("c/x?_anyke").cover(Cover::NEAREST).into_future();
    assert_eq!(outcome(block_on(get)), (names(&["a"]), true, true));
    let _own = queryable(&b, "c/**", "own", true);
    let own = b.get("c/**").allowed_destination(weft::Locality::SessionLocal);
    assert_eq!(outcome(own.cover(Cover::ALL).wait()), (names(&["own"]), true, true));
    assert_eq!(outcome(ask(&b, "c/**", Cover::ALL)), (names(&["a", "own"]), true, true));
}

/// Replies are complete only when the last one has come, and nothing went wrong.
#[test]
fn what_goes_wrong_makes_the_cover_incomplete() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("c/**").complete(true).wait().unwrap();
    await_queryable(&b, "c/x");
    let begin = |timeout| b.get("c/x").timeout(timeout).cover(Cover::NEAREST).wait().unwrap();

    let fine = begin(SOON);
    let query = next(&queryable);
    query.reply("c/x", "").wait().unwrap();
    assert!(fine.is_covered() && !fine.is_complete());
    drop(query);
    assert!(next(&fine).result().is_ok());
    assert_ends(&fine);
    assert!(fine.is_complete());

    let wrong = begin(SOON);
    next(&queryable).reply_err("no").wait().unwrap();
    assert!(next(&wrong).result().is_err());
    assert_ends(&wrong);
    assert!(!wrong.is_complete());

    let mute = begin(Duration::from_millis(50));
    let held = next(&queryable);
    assert!(next(&mute).result().unwrap_err().is_timeout());
    assert_ends(&mute);
    assert!(!mute.is_complete());
    drop(held);

    let left = begin(SOON);
    let held = next(&queryable);
    a.close().wait();
    assert_ends(&left);
    assert!(left.is_covered() && !left.is_complete(), "who leaves does not answer");
    drop(held);
}

#[test]
fn cancelling_and_closing_end_it() {
    let session = alone();
    let queryable = session.declare_queryable("c").complete(true).wait().unwrap();
    let token = CancellationToken::new();
    let get = || session.get("c").timeout(SOON).cancellation_token(&token).cover(Cover::ALL);
    let replies = get().wait().unwrap();
    let _held = next(&queryable);
    token.cancel();
    assert_ends(&replies);
    assert!(!replies.is_complete());
    assert!(matches!(get().wait(), Err(Error::Cancelled)));
    session.close().wait();
    assert!(matches!(get().wait(), Err(Error::SessionClosed)));
}
