//! A session with a namespace: its keys have a prefix that it does not see.

use std::collections::BTreeSet;

use weft::{ErrorKind, Query, ReplyKeyExpr, SampleKind, Session};

use crate::support::{Node, await_queryable, matched_publisher, next, router, until};

/// A router, a session in the namespace `ns/1`, and one without.
fn sessions() -> (Session, Session, Session) {
    let router = router();
    let inside = Node::new("client").connect(&router).set("namespace", "'ns/1'").open();
    let outside = Node::new("client").connect(&router).open();
    (router, inside, outside)
}

#[test]
fn samples_get_and_lose_the_prefix() {
    let (_router, inside, outside) = sessions();
    let out = outside.declare_subscriber("**").wait().unwrap();
    let own = inside.declare_subscriber("**").wait().unwrap();
    let publisher = matched_publisher(&inside, "a/b");
    assert_eq!(publisher.key_expr().as_str(), "a/b");
    assert_eq!(own.key_expr().as_str(), "**");
    publisher.put("1").wait().unwrap();
    inside.put("c", "2").wait().unwrap();
    inside.delete("d/*").wait().unwrap();
    for (receiver, prefix) in [(&*out, "ns/1/"), (&*own, "")] {
        for (key, kind) in
            [("a/b", SampleKind::Put), ("c", SampleKind::Put), ("d/*", SampleKind::Delete)]
        {
            let sample = next(receiver);
            assert_eq!(sample.key_expr().as_str(), format!("{prefix}{key}"));
            assert_eq!(sample.kind(), kind);
        }
    }
    drop(matched_publisher(&outside, "ns/1/x"));
    outside.put("elsewhere", "not for it").wait().unwrap();
    outside.put("ns/1", "nothing is left").wait().unwrap();
    outside.put("ns/1/x", "3").wait().unwrap();
    outside.put("ns/*/y", "4").wait().unwrap();
    outside.put("**/z", "5").wait().unwrap();
    for (key, value) in [("x", "3"), ("y", "4"), ("**/z", "5")] {
        let sample = next(&own);
        assert_eq!(
            (sample.key_expr().as_str(), sample.payload().try_to_str().unwrap().as_ref()),
            (key, value)
        );
    }
}

#[test]
fn queries_and_replies_get_and_lose_the_prefix() {
    let (_router, inside, outside) = sessions();
    let answer = |query: Query| query.reply(query.key_expr(), "inside").wait().unwrap();
    let _inside = inside.declare_queryable("q/in").callback(answer).wait().unwrap();
    let answer = |query: Query| {
        query.reply(query.key_expr(), query.parameters().as_str()).wait().unwrap();
    };
    let _outside = outside.declare_queryable("ns/1/q/out").callback(answer).wait().unwrap();
    let text = |session: &Session, selector: &str| {
        let replies = session.get(selector).wait().unwrap();
        let reply = next(&replies);
        let sample = reply.result().unwrap();
        format!("{}={}", sample.key_expr(), sample.payload().try_to_str().unwrap())
    };
    await_queryable(&inside, "q/out");
    await_queryable(&outside, "ns/1/q/in");
    assert_eq!(text(&inside, "q/in"), "q/in=inside");
    assert_eq!(text(&inside, "q/out?x=1"), "q/out=x=1");
    assert_eq!(text(&outside, "ns/1/q/in"), "ns/1/q/in=inside");
    let querier = inside.declare_querier("q/out").wait().unwrap();
    let reply = next(&querier.get().wait().unwrap());
    assert_eq!(reply.result().unwrap().key_expr().as_str(), "q/out");
}

/// A reply from outside of the namespace is not for the session, even if any key is accepted.
#[test]
fn replies_from_elsewhere_are_ignored() {
    let (_router, inside, outside) = sessions();
    let answer = |query: Query| {
        query.reply("elsewhere", "x").wait().unwrap();
        query.reply("ns/1/other", "y").wait().unwrap();
    };
    let _outside = outside.declare_queryable("ns/1/q").callback(answer).wait().unwrap();
    await_queryable(&inside, "q");
    let replies = inside.get("q").accept_replies(ReplyKeyExpr::Any).wait().unwrap();
    let keys: Vec<_> =
        replies.into_iter().map(|it| it.into_result().unwrap().key_expr().to_string()).collect();
    assert_eq!(keys, ["other"]);
}

#[test]
fn tokens_get_and_lose_the_prefix() {
    let (_router, inside, outside) = sessions();
    let _out = outside.liveliness().declare_token("ns/1/t/out").wait().unwrap();
    let _elsewhere = outside.liveliness().declare_token("t/elsewhere").wait().unwrap();
    let _in = inside.liveliness().declare_token("t/in").wait().unwrap();
    let keys = |session: &Session| -> BTreeSet<String> {
        let replies = session.liveliness().get("**").wait().unwrap();
        replies.into_iter().map(|it| it.result().unwrap().key_expr().to_string()).collect()
    };
    until("all tokens", || keys(&outside).len() == 3 && keys(&inside).len() == 2);
    assert_eq!(keys(&inside), BTreeSet::from(["t/in".into(), "t/out".into()]));
    let watcher = inside.liveliness().declare_subscriber("t/*").history(true).wait().unwrap();
    let seen: BTreeSet<_> = [next(&watcher), next(&watcher)]
        .iter()
        .map(|sample| sample.key_expr().to_string())
        .collect();
    assert_eq!(seen, BTreeSet::from(["t/in".into(), "t/out".into()]));
}

/// Two sessions of one namespace meet, those of different ones do not.
#[test]
fn namespaces_keep_sessions_apart() {
    let router = router();
    let session = |namespace: &str| {
        Node::new("client").connect(&router).set("namespace", &format!("{namespace:?}")).open()
    };
    let (a, same, other) = (session("x"), session("x"), session("y"));
    let received = a.declare_subscriber("k").wait().unwrap();
    let publisher = other.declare_publisher("k").wait().unwrap();
    drop(matched_publisher(&same, "k"));
    assert!(!publisher.matching_status().unwrap().matching());
    other.put("k", "other").wait().unwrap();
    same.put("k", "same").wait().unwrap();
    assert_eq!(*next(&received).payload(), "same");
}

/// A session with a namespace asks the admin space, and writes it, like any other.
#[test]
fn a_namespace_does_not_apply_to_the_admin_space() {
    let router = Node::new("router")
        .listen("tcp/127.0.0.1:0")
        .set("adminspace/enabled", "true")
        .set("adminspace/permissions/write", "true")
        .open();
    let inside = Node::new("client").connect(&router).set("namespace", "'ns/1'").open();
    let root = format!("@/{}/router", router.zid());
    await_queryable(&inside, &format!("{root}/**"));
    let ask = |selector: &str| -> Vec<(String, String)> {
        let replies = inside.get(selector).wait().unwrap();
        let text = |sample: &weft::Sample| sample.payload().try_to_str().unwrap().into_owned();
        let told = replies.iter().map(|reply| {
            let sample = reply.result().unwrap();
            (sample.key_expr().to_string(), text(sample))
        });
        told.collect()
    };
    let objects = ask("@/*/router");
    assert_eq!(objects.len(), 1, "{objects:?}");
    assert_eq!(objects[0].0, root);
    assert!(objects[0].1.contains(&inside.zid().to_string()), "{objects:?}");
    assert_eq!(ask("@/*/session/**").len(), 2, "its own neighbours, too");

    let written = format!("{root}/config/adminspace/permissions/write");
    inside.put(&written, "false").wait().unwrap();
    until("the write", || ask(&written) == [(written.clone(), "false".to_owned())]);

    let watching = inside.declare_subscriber("@/*/session/**").wait().unwrap();
    let other = Node::new("peer").listen("tcp/127.0.0.1:0").open();
    drop(router);
    assert_eq!(next(&watching).kind(), SampleKind::Delete);

    // `@` anywhere else is a chunk like others.
    let beside = Node::new("peer").connect(&other).set("namespace", "'ns/1'").open();
    let outside = other.declare_subscriber("ns/1/a/@/b").wait().unwrap();
    matched_publisher(&beside, "a/@/b").put("1").wait().unwrap();
    assert_eq!(next(&outside).key_expr().as_str(), "ns/1/a/@/b");
}

/// A namespace is a key without wildcards.
#[test]
fn a_namespace_has_no_wildcards() {
    let mut config = weft::Config::default();
    let set = config.insert_json5("namespace", "'a/*'");
    let refused = match set {
        Err(error) => weft::Error::from(error),
        Ok(()) => weft::open(config).wait().unwrap_err(),
    };
    assert_eq!(refused.kind(), ErrorKind::Config);
}
