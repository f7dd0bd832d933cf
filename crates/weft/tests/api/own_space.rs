//! What a session tells itself of its neighbours, at `@/<zid>/session`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weft::{Locality, QueryTarget, SampleKind, Session};

use crate::support::{Node, alone, await_queryable, brokered, next, pair, router};

/// The answers to a query: objects by key.
fn ask(session: &Session, selector: &str) -> BTreeMap<String, Value> {
    let replies = session.get(selector).target(QueryTarget::All).wait().unwrap();
    let told = replies.iter().map(|reply| {
        let sample = reply.result().unwrap();
        assert_eq!(sample.encoding().to_string(), "application/json");
        let object = serde_json::from_slice(&sample.payload().to_bytes()).unwrap();
        (sample.key_expr().to_string(), object)
    });
    told.collect()
}

#[test]
fn every_session_tells_itself_of_its_transports_and_links() {
    for (session, other) in [pair(), {
        let (router, client, _) = brokered();
        (client, router)
    }] {
        let root = format!("@/{}/session/transport", session.zid());
        let transport = format!("{root}/unicast/{}", other.zid());
        let all = ask(&session, "@/*/session/**");
        assert_eq!(all.len(), 2, "{all:?}");
        let mode = other.info();
        let whatami = if mode.clients_zid().contains(&session.zid()) { "router" } else { "peer" };
        assert_eq!(
            all[&transport],
            json!({
                "zid": other.zid().to_string(),
                "whatami": whatami,
                "is_qos": true,
                "is_shm": false,
            })
        );
        let (key, link) = all.iter().find(|(key, _)| key.contains("/link/")).unwrap();
        let hash = key.strip_prefix(&format!("{transport}/link/")).expect("below its transport");
        assert!(hash.parse::<u64>().is_ok(), "{key}");
        let known = &session.info().links()[0];
        assert_eq!(
            *link,
            json!({
                "src": known.src(),
                "dst": known.dst(),
                "group": null,
                "mtu": known.mtu(),
                "is_streamed": true,
                "interfaces": known.interfaces(),
                "auth_identifier": null,
                "priorities": { "start": "Control", "end": "Background" },
                "reliability": "Reliable",
            })
        );
        assert_eq!(ask(&session, &format!("{root}/**")), all);
        assert_eq!(ask(&session, "@/**"), all);
        assert_eq!(ask(&session, &format!("{root}/unicast/*")).len(), 1);
        assert_eq!(ask(&session, "@/*/session/transport/*/*/link/*").len(), 1);
        assert_eq!(ask(&session, &format!("@/{}/session", session.zid())).len(), 0);
    }
}

#[test]
fn a_link_without_priorities_of_its_own_says_nothing_of_them() {
    let node = |mode| Node::new(mode).set("transport/unicast/qos/enabled", "false");
    let router = node("router").listen("tcp/127.0.0.1:0").open();
    let client = node("client").connect(&router).open();
    let all = ask(&client, "@/*/session/**");
    let (link, transport): (Vec<_>, Vec<_>) =
        all.iter().partition(|(key, _)| key.contains("/link/"));
    assert_eq!(transport[0].1["is_qos"], false);
    assert_eq!(link[0].1.get("priorities"), None);
    assert_eq!(link[0].1.get("reliability"), None);
}

#[test]
fn nobody_else_is_told() {
    let (router, client, other) = brokered();
    let watching = other.declare_subscriber(format!("@/{}/**", router.zid())).wait().unwrap();
    let replies = other.get(format!("@/{}/session/**", client.zid())).wait().unwrap();
    assert!(replies.iter().next().is_none());
    let of_others: Vec<String> = ask(&other, "@/*/session/**").into_keys().collect();
    assert!(of_others.iter().all(|key| key.contains(&other.zid().to_string())), "{of_others:?}");
    let remote = client.get("@/*/session/**").allowed_destination(Locality::Remote).wait().unwrap();
    assert!(remote.iter().next().is_none());

    // The router listens, too, and is told first of the end; then comes what was put behind it.
    let own = router.declare_subscriber("@/*/session/**").wait().unwrap();
    client.close().wait();
    assert_eq!(next(&own).kind(), SampleKind::Delete);
    assert_eq!(next(&own).kind(), SampleKind::Delete);
    let end = format!("@/{}/end", router.zid());
    router.put(&end, "").wait().unwrap();
    assert_eq!(next(&watching).key_expr().as_str(), end);
}

#[test]
fn what_opens_and_closes_is_told_with_the_keys_that_are_answered() {
    let router = router();
    let watching = router.declare_subscriber("@/*/session/**").wait().unwrap();
    let outside = router.declare_subscriber("@/*/session/**").allowed_origin(Locality::Remote);
    let outside = outside.wait().unwrap();
    let client = Node::new("client").connect(&router).open();
    let opened = [next(&watching), next(&watching)];
    assert!(opened.iter().all(|it| it.kind() == SampleKind::Put && it.timestamp().is_some()));
    let told: BTreeMap<String, Value> = opened
        .iter()
        .map(|it| {
            assert_eq!(it.encoding().to_string(), "application/json");
            let object = serde_json::from_slice(&it.payload().to_bytes()).unwrap();
            (it.key_expr().to_string(), object)
        })
        .collect();
    assert_eq!(ask(&router, "@/*/session/**"), told);
    client.close().wait();
    let closed = [next(&watching), next(&watching)];
    let ended: BTreeMap<String, SampleKind> =
        closed.iter().map(|it| (it.key_expr().to_string(), it.kind())).collect();
    assert!(ended.values().all(|kind| *kind == SampleKind::Delete));
    assert!(ended.keys().eq(told.keys()), "{ended:?} {told:?}");
    assert!(ask(&router, "@/*/session/**").is_empty());
    assert!(outside.try_recv().unwrap().is_none());
}

/// A subscriber that takes nothing keeps neither transports from opening nor listeners from hearing of it.
#[test]
fn a_subscriber_that_blocks_keeps_nobody_waiting() {
    let router = router();
    let stuck = router.declare_subscriber("@/*/session/**");
    let stuck = stuck.with(weft::handlers::FifoChannel::new(1)).wait().unwrap();
    let events = router.info().transport_events_listener().wait().unwrap();
    for _ in 0..3 {
        let client = Node::new("client").connect(&router).open();
        assert_eq!(next(&events).object.zid(), client.zid());
        client.close().wait();
        assert_eq!(next(&events).object.zid(), client.zid());
    }
    for _ in 0..12 {
        next(&stuck);
    }
}

#[test]
fn it_is_beside_the_admin_space_and_empty_without_neighbours() {
    assert!(ask(&alone(), "@/*/session/**").is_empty());
    let router =
        Node::new("router").listen("tcp/127.0.0.1:0").set("adminspace/enabled", "true").open();
    let client = Node::new("client").connect(&router).open();
    let keys = |session: &Session| -> Vec<String> {
        let replies = session.get("@/**").target(QueryTarget::All).wait().unwrap();
        replies.iter().map(|it| it.result().unwrap().key_expr().to_string()).collect()
    };
    await_queryable(&client, &format!("@/{}/router/**", router.zid()));
    for (session, other) in [(&router, &client), (&client, &router)] {
        let all = keys(session);
        let has = |key: String| all.contains(&key);
        assert!(has(format!("@/{}/router", router.zid())), "{all:?}");
        let (own, other) = (session.zid(), other.zid());
        assert!(has(format!("@/{own}/session/transport/unicast/{other}")), "{all:?}");
        assert!(!has(format!("@/{other}/session/transport/unicast/{own}")), "{all:?}");
    }
}
