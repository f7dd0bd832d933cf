//! Queries and their replies.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use weft::handlers::Receiver;
use weft::{
    CongestionControl, Consolidation, Encoding, EntityGlobalId, ErrorKind, Parameters, Priority,
    Query, Reply, ReplyKeyExpr, SampleKind, Selector, Session, SourceInfo, Timestamp, ZBytes,
};

use crate::support::{SOON, alone, assert_ends, await_queryable, brokered, next, pair, soon};

/// The payloads of all replies, in order; an error as `error: …`.
fn texts(replies: Receiver<Reply>) -> Vec<String> {
    let text = |reply: Reply| match reply.into_result() {
        Ok(sample) => format!("{}={}", sample.key_expr(), sample.payload().try_to_str().unwrap()),
        Err(error) => format!("error: {error}"),
    };
    replies.into_iter().map(text).collect()
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// One thousand gets in sequence, each with one reply of this size.
fn a_thousand_round_trips(len: usize) {
    let (a, b) = pair();
    let payload = ZBytes::from(vec![7; len]);
    let answered = payload.clone();
    let requests = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&requests);
    let answer = move |query: Query| {
        *counted.lock().unwrap() += 1;
        query.reply("test/session", &answered).wait().unwrap();
    };
    let _queryable = a.declare_queryable("test/session").callback(answer).wait().unwrap();
    await_queryable(&b, "test/session");
    let querier = b.declare_querier("test/session").wait().unwrap();
    let mut count = 0;
    for round in 0..1000 {
        let replies = match round % 2 {
            0 => b.get("test/session").timeout(SOON).wait().unwrap(),
            _ => querier.get().wait().unwrap(),
        };
        for reply in replies {
            assert!(*reply.result().expect("no error reply").payload() == payload);
            count += 1;
        }
    }
    assert_eq!((count, *requests.lock().unwrap()), (1000, 1000));
}

#[test]
fn a_thousand_queries_are_answered() {
    a_thousand_round_trips(1024);
}

#[test]
fn a_thousand_large_replies_arrive() {
    a_thousand_round_trips(131_072);
}

/// Everything that a query carries is seen by the queryable.
#[test]
fn what_a_query_carries_arrives() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("c/**").wait().unwrap();
    await_queryable(&b, "c/x");
    let source = SourceInfo { id: EntityGlobalId { zid: b.zid(), eid: 5 }, sn: 9 };
    let querier = b.declare_querier("c/x").wait().unwrap();
    let get = b.get("c/x?k=v;l=1|2;empty").payload("body").encoding(Encoding::TEXT_PLAIN);
    let get = get.attachment("more").source_info(source).wait().unwrap();
    let from_querier = querier.get().parameters("k=v;l=1|2;empty").payload("body");
    let from_querier = from_querier.encoding(Encoding::TEXT_PLAIN).attachment("more");
    let from_querier = from_querier.source_info(source).wait().unwrap();
    for _ in 0..2 {
        let query = next(&queryable);
        assert_eq!(query.key_expr().as_str(), "c/x");
        assert_eq!(query.selector().to_string(), "c/x?k=v;l=1|2;empty");
        assert_eq!(query.to_string(), "c/x?k=v;l=1|2;empty");
        assert_eq!(query.parameters().get("k"), Some("v"));
        assert_eq!(query.parameters().values("l").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.parameters().get("empty"), Some(""));
        assert_eq!(*query.payload().unwrap(), "body");
        assert_eq!(*query.encoding().unwrap(), Encoding::TEXT_PLAIN);
        assert_eq!(*query.attachment().unwrap(), "more");
        assert_eq!(query.source_info(), Some(source));
        assert_eq!(query.accepts_replies(), ReplyKeyExpr::MatchingQuery);
    }
    assert_ends(&get);
    assert_ends(&from_querier);
}

/// A payload has an encoding, an encoding brings a payload, and a query needs neither.
#[test]
fn payload_and_encoding_come_together() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("p").wait().unwrap();
    await_queryable(&b, "p");
    let replies = [
        b.get("p").wait().unwrap(),
        b.get("p").payload("x").wait().unwrap(),
        b.get("p").encoding(Encoding::APPLICATION_JSON).wait().unwrap(),
        b.get("p").payload("").wait().unwrap(),
        b.get(Selector::new(weft::KeyExpr::new("p").unwrap(), Parameters::default()))
            .wait()
            .unwrap(),
    ];
    let expected: [Option<(&str, Encoding)>; 5] = [
        None,
        Some(("x", Encoding::ZENOH_BYTES)),
        Some(("", Encoding::APPLICATION_JSON)),
        Some(("", Encoding::ZENOH_BYTES)),
        None,
    ];
    for expected in expected {
        let query = next(&queryable);
        let got = query.payload().map(|it| it.try_to_str().unwrap().into_owned());
        let got = got.zip(query.encoding().cloned());
        assert_eq!(got, expected.map(|(payload, encoding)| (payload.to_owned(), encoding)));
        assert_eq!(query.attachment(), None);
    }
    drop(replies);
}

/// Everything that a reply carries is seen by the querier; its QoS is that of the query.
#[test]
fn what_a_reply_carries_arrives() {
    let (a, b) = pair();
    let stamp = a.new_timestamp();
    let source = SourceInfo { id: EntityGlobalId { zid: a.zid(), eid: 3 }, sn: 4 };
    let answer = move |query: Query| {
        let put = query.reply("r/1", "value").encoding(Encoding::TEXT_PLAIN).attachment("more");
        put.timestamp(stamp).source_info(source).wait().unwrap();
        let delete = query.reply_del("r/2").attachment("gone").timestamp(stamp).express(false);
        delete.wait().unwrap();
        query.reply_err("wrong").encoding(Encoding::ZENOH_STRING).wait().unwrap();
    };
    let queryable = a.declare_queryable("r/*").callback(answer).wait().unwrap();
    await_queryable(&b, "r/*");
    let get = b.get("r/*").priority(Priority::InteractiveHigh).express(true);
    let get = get.congestion_control(CongestionControl::Block).consolidation(Consolidation::None);
    let replies = get.wait().unwrap();

    let reply = next(&replies);
    assert_eq!(reply.replier_id(), Some(queryable.id().unwrap()));
    let sample = reply.result().unwrap();
    assert_eq!((sample.key_expr().as_str(), sample.kind()), ("r/1", SampleKind::Put));
    assert_eq!(*sample.payload(), "value");
    assert_eq!(*sample.encoding(), Encoding::TEXT_PLAIN);
    assert_eq!(*sample.attachment().unwrap(), "more");
    assert_eq!(sample.timestamp(), Some(stamp));
    assert_eq!(sample.source_info(), Some(source));
    assert_eq!(sample.priority(), Priority::InteractiveHigh);
    assert_eq!(sample.congestion_control(), CongestionControl::Block);
    assert!(sample.express());

    let reply = next(&replies);
    let sample = reply.result().unwrap();
    assert_eq!((sample.key_expr().as_str(), sample.kind()), ("r/2", SampleKind::Delete));
    assert!(sample.payload().is_empty() && !sample.express());
    assert_eq!(*sample.encoding(), Encoding::ZENOH_BYTES);
    assert_eq!(*sample.attachment().unwrap(), "gone");
    assert_eq!(sample.timestamp(), Some(stamp));

    let reply = next(&replies);
    let error = reply.result().unwrap_err();
    assert_eq!((error.to_string().as_str(), error.is_timeout()), ("wrong", false));
    assert_eq!(*error.encoding(), Encoding::ZENOH_STRING);
    assert_eq!(reply.replier_id(), Some(queryable.id().unwrap()));
    assert_ends(&replies);
}

/// A query that nobody answers ends at once, without a reply.
#[test]
fn a_query_without_queryable_ends_at_once() {
    let (a, b) = pair();
    let (_router, c, _d) = brokered();
    for session in [&a, &b, &c, &alone()] {
        let started = Instant::now();
        assert_eq!(texts(session.get("nobody/**").wait().unwrap()), [""; 0]);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

/// Replies with or without stamps, as one of a queryable: key, time, value.
type Stamped = (&'static str, Option<u64>, &'static str);

/// The replies that a get with this consolidation delivers, and whether the first came before the
/// query had ended.
fn consolidated(
    replies: &[Stamped],
    consolidation: Consolidation,
    parameters: &str,
) -> Vec<String> {
    let (a, b) = pair();
    let replies = replies.to_vec();
    let zid = a.zid();
    let answer = move |query: Query| {
        for (key, time, value) in &replies {
            let reply = query.reply(*key, *value);
            match time {
                Some(time) => reply.timestamp(Timestamp::new(*time, zid)).wait().unwrap(),
                None => reply.wait().unwrap(),
            }
        }
        query.reply_err("oops").wait().unwrap();
    };
    let _queryable = a.declare_queryable("k/*").callback(answer).wait().unwrap();
    await_queryable(&b, "k/*");
    let get = b.get(format!("k/*{parameters}")).consolidation(consolidation);
    texts(get.wait().unwrap())
}

const REPLIES: [Stamped; 8] = [
    ("k/a", Some(2), "2"),
    ("k/a", Some(1), "1"),
    ("k/a", None, "none"),
    ("k/a", Some(2), "2 again"),
    ("k/b", None, "first"),
    ("k/b", None, "second"),
    ("k/c", None, "none"),
    ("k/c", Some(1), "1"),
];

#[test]
fn without_consolidation_every_reply_is_delivered() {
    let all = ["k/a=2", "k/a=1", "k/a=none", "k/a=2 again", "k/b=first", "k/b=second", "k/c=none"];
    let mut all: Vec<_> = all.map(String::from).into();
    all.extend(["k/c=1".into(), "error: oops".into()]);
    assert_eq!(consolidated(&REPLIES, Consolidation::None, ""), all);
    assert_eq!(consolidated(&REPLIES, Consolidation::Auto, "?_time=[now(-1h)..]"), all);
}

#[test]
fn monotonic_consolidation_delivers_nothing_older() {
    let newer =
        ["k/a=2", "k/a=2 again", "k/b=first", "k/b=second", "k/c=none", "k/c=1", "error: oops"];
    assert_eq!(consolidated(&REPLIES, Consolidation::Monotonic, ""), newer);
}

#[test]
fn latest_consolidation_delivers_one_per_key_at_the_end() {
    for consolidation in [Consolidation::Latest, Consolidation::Auto] {
        let got = consolidated(&REPLIES, consolidation, "");
        assert_eq!(got[0], "error: oops", "errors are not held back");
        let expected = ["error: oops", "k/a=2 again", "k/b=second", "k/c=1"];
        assert_eq!(sorted(got), expected);
    }
}

/// Without consolidation a reply is delivered while the query goes on; with Latest it is not.
#[test]
fn replies_are_held_back_only_by_latest() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("h").wait().unwrap();
    await_queryable(&b, "h");
    for consolidation in [Consolidation::None, Consolidation::Monotonic] {
        let replies = b.get("h").consolidation(consolidation).timeout(SOON).wait().unwrap();
        let query = next(&queryable);
        query.reply("h", "1").wait().unwrap();
        assert!(next(&replies).result().is_ok());
        assert_eq!(replies.try_recv().unwrap(), None);
        drop(query);
        assert_ends(&replies);
    }
    let replies = b.get("h").consolidation(Consolidation::Latest).timeout(SOON).wait().unwrap();
    let query = next(&queryable);
    query.reply("h", "1").wait().unwrap();
    query.reply_err("fence").wait().unwrap();
    assert!(next(&replies).result().is_err());
    assert_eq!(replies.try_recv().unwrap(), None);
    drop(query);
    assert!(next(&replies).result().is_ok());
    assert_ends(&replies);
}

/// When the time is over: what was held back, the error, the end; and nothing that comes later.
#[test]
fn a_timeout_ends_a_query() {
    for consolidation in [Consolidation::Latest, Consolidation::None] {
        let (a, b) = pair();
        let queryable = a.declare_queryable("t").wait().unwrap();
        await_queryable(&b, "t");
        let get = b.get("t").consolidation(consolidation).timeout(Duration::from_millis(300));
        let started = Instant::now();
        let replies = get.wait().unwrap();
        let query = next(&queryable);
        assert!(query.is_awaited());
        query.reply("t", "in time").wait().unwrap();
        assert_eq!(*next(&replies).result().unwrap().payload(), "in time");
        let reply = next(&replies);
        let error = reply.result().unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(*error.payload(), "Timeout");
        assert_eq!(*error.encoding(), Encoding::ZENOH_STRING);
        assert_eq!(reply.replier_id(), None);
        assert!(started.elapsed() >= Duration::from_millis(300));
        assert_ends(&replies);
        query.reply("t", "too late").wait().unwrap();
        query.reply_err("too late").wait().unwrap();
        drop(query);
        // The session is none the worse for it.
        let replies = b.get("t").timeout(SOON).wait().unwrap();
        next(&queryable).reply("t", "next").wait().unwrap();
        assert_eq!(texts(replies), ["t=next"]);
    }
}

/// A router's word that the time is over is a timeout, too; it comes once.
#[test]
fn a_timeout_over_a_router_is_one_error() {
    let (_router, a, b) = brokered();
    let queryable = a.declare_queryable("t").wait().unwrap();
    await_queryable(&b, "t");
    let replies = b.get("t").timeout(Duration::from_millis(200)).wait().unwrap();
    let query = next(&queryable);
    let errors: Vec<_> = replies.into_iter().map(|it| it.into_result().unwrap_err()).collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].is_timeout());
    assert_eq!(*errors[0].payload(), "Timeout");
    drop(query);
}

/// The session's configured timeout is the default.
#[test]
fn the_default_timeout_is_configured() {
    let a = crate::support::listener();
    let b = crate::support::Node::new("peer").connect(&a).set("queries_default_timeout", "100");
    let b = b.open();
    let _mute = a.declare_queryable("m").wait().unwrap();
    await_queryable(&b, "m");
    let started = Instant::now();
    assert_eq!(texts(b.get("m").wait().unwrap()), ["error: Timeout"]);
    let querier = b.declare_querier("m").wait().unwrap();
    assert_eq!(texts(querier.get().wait().unwrap()), ["error: Timeout"]);
    assert!(started.elapsed() < Duration::from_secs(8));
}

/// Replies on other keys need the querier's permission.
#[test]
fn replies_must_match_unless_any_key_is_accepted() {
    let (a, b) = pair();
    let (refused, refusals) = mpsc::channel();
    let answer = move |query: Query| {
        let outcome = query.reply("elsewhere", "x").wait();
        refused.send(outcome.map_err(|error| (error.kind(), error.to_string()))).unwrap();
        query.reply("m/1", "y").wait().unwrap();
    };
    let _queryable = a.declare_queryable("m/*").callback(answer).wait().unwrap();
    await_queryable(&b, "m/1");
    assert_eq!(texts(b.get("m/1").wait().unwrap()), ["m/1=y"]);
    let (kind, text) = soon(&refusals).unwrap_err();
    assert_eq!(kind, ErrorKind::ReplyKey);
    assert!(text.contains("`elsewhere`") && text.contains("`m/1`"), "{text}");

    let any = b.get("m/1").accept_replies(ReplyKeyExpr::Any).wait().unwrap();
    assert_eq!(sorted(texts(any)), ["elsewhere=x", "m/1=y"]);
    assert!(soon(&refusals).is_ok());
    // The parameter alone is as good, whatever its value.
    let any = b.get("m/1?_anyke=false").wait().unwrap();
    assert_eq!(sorted(texts(any)), ["elsewhere=x", "m/1=y"]);
    let querier = b.declare_querier("m/1").accept_replies(ReplyKeyExpr::Any).wait().unwrap();
    assert_eq!(querier.accept_replies(), ReplyKeyExpr::Any);
    assert_eq!(sorted(texts(querier.get().parameters("a=1").wait().unwrap())).len(), 2);
}

#[test]
fn a_query_tells_whether_any_key_is_accepted() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("m").wait().unwrap();
    await_queryable(&b, "m");
    let _any = b.get("m?a=1").accept_replies(ReplyKeyExpr::Any).wait().unwrap();
    let query = next(&queryable);
    assert_eq!(query.accepts_replies(), ReplyKeyExpr::Any);
    assert_eq!(query.parameters().as_str(), "a=1;_anyke");
}

/// A query ends with the last clone of it, whichever thread drops it.
#[test]
fn a_query_ends_with_its_last_clone() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("c").wait().unwrap();
    await_queryable(&b, "c");
    let replies = b.get("c").consolidation(Consolidation::None).timeout(SOON).wait().unwrap();
    let query = next(&queryable);
    let clones: Vec<_> = (0..4).map(|_| query.clone()).collect();
    drop(query);
    let threads = clones
        .into_iter()
        .map(|query| std::thread::spawn(move || query.reply("c", "from a thread").wait().unwrap()));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(texts(replies), ["c=from a thread"; 4]);
}

/// A query may outlive its callback, its queryable, and be answered by another thread.
#[test]
fn a_query_outlives_its_queryable() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("o").wait().unwrap();
    await_queryable(&b, "o");
    let replies = b.get("o").timeout(SOON).wait().unwrap();
    let query = next(&queryable);
    drop(queryable);
    query.reply("o", "still").wait().unwrap();
    drop(query);
    assert_eq!(texts(replies), ["o=still"]);
}

/// Queries that wait in the channel of a queryable end when it is dropped.
#[test]
fn queries_that_nobody_took_end_with_their_queryable() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("w").wait().unwrap();
    await_queryable(&b, "w");
    let pending: Vec<_> = (0..3).map(|_| b.get("w").timeout(SOON).wait().unwrap()).collect();
    crate::support::until("the queries", || queryable.len() == 3);
    drop(queryable);
    for replies in pending {
        assert_eq!(texts(replies), [""; 0]);
    }
}

/// A neighbour that leaves ends the queries that it was asked.
#[test]
fn a_neighbour_that_leaves_ends_its_queries() {
    let (_router, a, b) = brokered();
    let queryable = a.declare_queryable("l").wait().unwrap();
    await_queryable(&b, "l");
    let replies = b.get("l").timeout(SOON).wait().unwrap();
    let query = next(&queryable);
    query.reply("l", "before").wait().unwrap();
    a.close().wait();
    assert_eq!(texts(replies), ["l=before"]);
}

/// Ten thousand replies of one query arrive, in order, through a channel of 256.
#[test]
fn many_replies_arrive_in_order() {
    const COUNT: u32 = 10_000;
    let (_router, a, b) = brokered();
    let answer = |query: Query| {
        for number in 0..COUNT {
            query.reply("many", number.to_le_bytes()).wait().unwrap();
        }
    };
    let _queryable = a.declare_queryable("many").callback(answer).wait().unwrap();
    await_queryable(&b, "many");
    let get = b.get("many").consolidation(Consolidation::None).timeout(SOON);
    let mut expected = 0;
    for reply in get.wait().unwrap() {
        assert_eq!(*reply.result().unwrap().payload(), u32::to_le_bytes(expected));
        expected += 1;
    }
    assert_eq!(expected, COUNT);
}

/// Many threads may ask at once; each gets its own answer.
#[test]
fn threads_ask_side_by_side() {
    let (_router, a, b) = brokered();
    let answer = |query: Query| {
        let number = query.parameters().get("n").unwrap().to_owned();
        query.reply("n", number).wait().unwrap();
    };
    let _queryable = a.declare_queryable("n").callback(answer).wait().unwrap();
    await_queryable(&b, "n");
    let ask = |session: &Session, thread: usize| {
        for round in 0..100 {
            let number = format!("{thread}.{round}");
            let replies = session.get(format!("n?n={number}")).timeout(SOON).wait().unwrap();
            assert_eq!(texts(replies), [format!("n={number}")]);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let session = &b;
            scope.spawn(move || ask(session, thread));
        }
    });
}

/// What cannot be asked is refused at once.
#[test]
fn malformed_queries_are_refused() {
    let session = alone();
    let kind = |selector: &str| session.get(selector).wait().unwrap_err().kind();
    assert_eq!(kind("a//b"), ErrorKind::KeyExpr);
    assert_eq!(kind("?x=1"), ErrorKind::KeyExpr);
    assert_eq!(kind("a?_time=yesterday"), ErrorKind::Argument);
    let querier = session.declare_querier("a").wait().unwrap();
    let refused = querier.get().parameters("_time=[..").wait();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Argument);
    assert!(session.get("a?_time=[now(-1h)..]").wait().is_ok());
}

/// The parameters of a time range arrive as they were written.
#[test]
fn a_time_range_arrives() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("t").wait().unwrap();
    await_queryable(&b, "t");
    let _replies = b.get("t?_time=[now(-1h)..now()];x=1").wait().unwrap();
    let query = next(&queryable);
    assert_eq!(query.parameters().as_str(), "_time=[now(-1h)..now()];x=1");
    assert!(query.parameters().time_range().unwrap().is_ok());
}
