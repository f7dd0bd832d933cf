//! Gets that want several repliers to agree.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use weft::{
    Agreement, CancellationToken, Error, ErrorKind, Query, QueryTarget, Queryable, QuorumEnd,
    QuorumError, Session,
};

use crate::support::{
    Node, SOON, alone, await_queryable, block_on, brokered, listener, next, pair, router, soon,
    until,
};

type Answer = fn(&Query);

/// Declares a queryable that answers, and ends each query at once.
fn replier(session: &Session, key: &str, answer: Answer) -> Queryable<()> {
    session.declare_queryable(key).callback(move |query| answer(&query)).wait().unwrap()
}

/// Waits until a get of all brings so many replies.
fn await_replies(session: &Session, key: &str, count: usize) {
    until("all replies", || {
        let replies = session.get(key).target(QueryTarget::All);
        replies.consolidation(weft::Consolidation::None).wait().unwrap().into_iter().count()
            == count
    });
}

fn say(query: &Query, key: &str, payload: &str) {
    query.reply(key, payload).wait().unwrap();
}

/// `key=payload` of all samples.
fn texts(agreement: &Agreement) -> Vec<String> {
    let text = |sample: &weft::Sample| {
        format!("{}={}", sample.key_expr(), sample.payload().try_to_str().unwrap())
    };
    agreement.samples.iter().map(text).collect()
}

fn missed(result: weft::Result<Agreement>) -> QuorumError {
    match result {
        Err(Error::Quorum(error)) => error,
        other => panic!("not a missed quorum: {other:?}"),
    }
}

/// Three repliers, of whom two agree, and a session that asks.
struct Three {
    session: Session,
    repliers: [(Session, Queryable<()>); 3],
}

impl Three {
    fn new(at: &Session) -> Self {
        let answers: [Answer; 3] =
            [|it| say(it, "q/k", "a"), |it| say(it, "q/k", "b"), |it| say(it, "q/k", "a")];
        let repliers = answers.map(|answer| {
            let session = Node::new("client").connect(at).open();
            let queryable = replier(&session, "q/k", answer);
            (session, queryable)
        });
        let session = Node::new("client").connect(at).open();
        await_replies(&session, "q/k", 3);
        Self { session, repliers }
    }
}

#[test]
fn so_many_repliers_agree_and_no_more() {
    let router = router();
    let Three { session, repliers: _repliers } = Three::new(&router);
    for wanted in [1, 2] {
        let agreement = session.get("q/k").quorum(wanted).wait().unwrap();
        assert_eq!(agreement.samples.len(), 1);
        assert!(agreement.repliers >= wanted);
        assert!(wanted == 1 || texts(&agreement) == ["q/k=a"]);
    }
    for wanted in [3, 4] {
        let error = missed(session.get("q/k").quorum(wanted).wait());
        assert_eq!((error.wanted, error.got, error.repliers), (wanted, 2, 3));
        assert_eq!((error.errors, error.end), (0, QuorumEnd::Answered));
    }
    let error = session.get("q/k").quorum(4).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Quorum);
    let text = "no quorum: 2 of 4 repliers agree, 3 answered, and all have answered";
    assert_eq!(error.to_string(), text);
}

/// Futures need no executor of their own.
#[test]
fn a_quorum_can_be_awaited() {
    let router = router();
    let Three { session, repliers: _repliers } = Three::new(&router);
    let agreement = block_on(session.get("q/k").quorum(2).into_future()).unwrap();
    assert_eq!(texts(&agreement), ["q/k=a"]);
    assert_eq!(missed(block_on(session.get("q/k").quorum(3).into_future())).got, 2);
    let error = block_on(session.get("q//k").quorum(1).into_future()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyExpr);
}

#[test]
fn peers_agree_and_so_do_queryables_of_one_session() {
    let hub = listener();
    let peers = [0; 2].map(|_| Node::new("peer").connect(&hub).open());
    let queryables = peers.each_ref().map(|it| replier(it, "q/*", |it| say(it, "q/k", "a")));
    let own = replier(&hub, "q/*", |it| say(it, "q/k", "a"));
    await_replies(&hub, "q/k", 3);
    let agreement = hub.get("q/k").quorum(3).wait().unwrap();
    assert_eq!((texts(&agreement), agreement.repliers), (vec!["q/k=a".to_owned()], 3));
    drop((queryables, own));
    let session = alone();
    let _both = [0; 2].map(|_| replier(&session, "q/*", |it| say(it, "q/k", "a")));
    assert!(session.get("q/k").quorum(2).wait().is_ok());
}

#[test]
fn what_one_replier_repeats_counts_once() {
    let (a, b) = pair();
    let _queryable = replier(&a, "q/k", |query| {
        for _ in 0..3 {
            say(query, "q/k", "a");
        }
    });
    await_queryable(&b, "q/k");
    let error = missed(b.get("q/k").quorum(2).wait());
    assert_eq!((error.got, error.repliers), (1, 1));
}

#[test]
fn nobody_and_errors_are_no_quorum() {
    let (a, b) = pair();
    let error = missed(b.get("q/k").quorum(1).wait());
    assert_eq!((error.got, error.repliers, error.errors), (0, 0, 0));
    let _queryable = replier(&a, "q/k", |query| query.reply_err("no").wait().unwrap());
    await_queryable(&b, "q/k");
    let error = missed(b.get("q/k").quorum(1).wait());
    assert_eq!((error.got, error.errors, error.end), (0, 1, QuorumEnd::Answered));
}

/// A quorum does not wait for who is late; without one, whoever is late is waited for.
#[test]
fn a_late_replier_is_waited_for_only_if_it_is_needed() {
    let (_router, a, b) = brokered();
    let (held, holding) = mpsc::channel();
    let hold = move |query: Query| held.send(query).unwrap();
    // Declared first, it is known when the others are.
    let _late = a.declare_queryable("q/k").callback(hold).wait().unwrap();
    let _early = replier(&a, "q/k", |it| say(it, "q/k", "a"));
    let _other = replier(&a, "q/k", |it| say(it, "q/k", "a"));
    let short = Duration::from_millis(100);
    until("the early ones", || b.get("q/k").timeout(short).quorum(2).wait().is_ok());
    // Nobody lets go of the third query, and it does not matter.
    let agreement = b.get("q/k").timeout(SOON * 10).quorum(2).wait().unwrap();
    assert_eq!(agreement.repliers, 2);
    let asking = std::thread::spawn(move || b.get("q/k?last").timeout(SOON).quorum(3).wait());
    let mut query = soon(&holding);
    while !query.parameters().contains("last") {
        query = soon(&holding);
    }
    assert!(!asking.is_finished());
    say(&query, "q/k", "a");
    assert_eq!(asking.join().unwrap().unwrap().repliers, 3);
}

#[test]
fn the_end_of_the_time_is_told_with_what_there_was() {
    let (a, b) = pair();
    let held = Mutex::new(Vec::new());
    let hold = move |query: Query| {
        say(&query, "q/k", "a");
        held.lock().unwrap().push(query);
    };
    let _mute = a.declare_queryable("q/k").callback(hold).wait().unwrap();
    let _error = replier(&b, "q/k", |query| query.reply_err("no").wait().unwrap());
    await_queryable(&b, "q/k");
    let short = Duration::from_millis(100);
    until("both queryables", || {
        let error = missed(b.get("q/k").timeout(short).quorum(2).wait());
        (error.got, error.repliers, error.errors) == (1, 1, 1) && error.end == QuorumEnd::TimedOut
    });
}

/// Keys with a quorum are in the result once, the others are named.
#[test]
fn each_key_of_an_expression_has_a_quorum_or_not() {
    let (_router, a, b) = brokered();
    let _one = replier(&a, "q/*", |query| {
        say(query, "q/b", "same");
        say(query, "q/a", "same");
        say(query, "q/c", "mine");
        say(query, "q/d", "lonely");
    });
    let _other = replier(&a, "q/*", |query| {
        say(query, "q/a", "same");
        say(query, "q/b", "same");
        say(query, "q/c", "yours");
    });
    await_replies(&b, "q/*", 7);
    let agreement = b.get("q/*").quorum(2).wait().unwrap();
    assert_eq!(texts(&agreement), ["q/a=same", "q/b=same"]);
    let short: Vec<_> = agreement.short.iter().map(|(key, got)| (key.as_str(), *got)).collect();
    assert_eq!(short, [("q/c", 1), ("q/d", 1)]);
    assert_eq!(agreement.repliers, 2);
    assert_eq!(missed(b.get("q/*").quorum(3).wait()).got, 2);
}

#[test]
fn a_filter_decides_before_the_count() {
    let (_router, a, b) = brokered();
    let json: Answer = |query| {
        let reply = query.reply("q/k", r#"{"t":1,"who":1}"#);
        reply.encoding(weft::Encoding::APPLICATION_JSON).wait().unwrap();
    };
    let other: Answer = |query| {
        let reply = query.reply("q/k", r#"{"t":1,"who":2}"#);
        reply.encoding(weft::Encoding::APPLICATION_JSON).wait().unwrap();
    };
    let (_one, _other) = (replier(&a, "q/k", json), replier(&a, "q/k", other));
    await_replies(&b, "q/k", 2);
    assert_eq!(missed(b.get("q/k").quorum(2).wait()).got, 1);
    assert!(b.get("q/k?_project=t").quorum(2).wait().is_ok());
    assert_eq!(missed(b.get("q/k?_filter=t>1").quorum(1).wait()).repliers, 0);
}

#[test]
fn cancelling_and_closing_end_it() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("q/k").wait().unwrap();
    await_queryable(&b, "q/k");
    let token = CancellationToken::new();
    let waiting = b.get("q/k").timeout(SOON).cancellation_token(&token).quorum(1).into_future();
    let _held = next(&queryable);
    token.cancel();
    assert!(matches!(block_on(waiting), Err(Error::Cancelled)));
    let again = b.get("q/k").cancellation_token(&token).quorum(1).wait();
    assert!(matches!(again, Err(Error::Cancelled)));
    let waiting = b.get("q/k").timeout(SOON).quorum(1).into_future();
    let _held = next(&queryable);
    b.close().wait();
    assert!(matches!(block_on(waiting), Err(Error::SessionClosed)));
    assert!(matches!(b.get("q/k").quorum(1).wait(), Err(Error::SessionClosed)));
}

#[test]
fn the_size_of_a_quorum_is_checked() {
    let session = alone();
    for wanted in [0, weft::quorum::REPLIERS_MAX + 1] {
        let error = session.get("q/k").quorum(wanted).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
    }
}
