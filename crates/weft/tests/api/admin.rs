//! The admin space, read and written by a client of the node.

use std::io::Read as _;

use weft::{Consolidation, QueryTarget, Reply, Session};

use crate::support::{Node, await_queryable, matched_publisher, next, until};

/// The replies to a query: their key without `@/<zid>/`, encoding, payload.
fn ask(session: &Session, selector: &str) -> Vec<(String, String, Vec<u8>)> {
    let get = session.get(selector).target(QueryTarget::All).consolidation(Consolidation::None);
    let replies = get.wait().unwrap();
    let told = |reply: Reply| {
        let sample = reply.result().unwrap();
        let key = sample.key_expr().as_str().splitn(3, '/').nth(2).unwrap().to_owned();
        (key, sample.encoding().to_string(), sample.payload().to_bytes().to_vec())
    };
    let mut all: Vec<_> = replies.iter().map(told).collect();
    all.sort();
    all
}

fn json(session: &Session, selector: &str) -> serde_json::Value {
    let replies = ask(session, selector);
    assert_eq!(replies.len(), 1, "{selector}: {replies:?}");
    assert_eq!(replies[0].1, "application/json");
    serde_json::from_slice(&replies[0].2).unwrap()
}

fn keys(session: &Session, selector: &str) -> Vec<String> {
    ask(session, selector).into_iter().map(|(key, ..)| key).collect()
}

fn open_router() -> Node {
    Node::new("router").listen("tcp/127.0.0.1:0").set("adminspace/enabled", "true")
}

/// A router with an admin space that may be written, a client of it, and where the space is.
fn administered() -> (Session, Session, String) {
    let router = open_router().set("adminspace/permissions/write", "true").open();
    let client = Node::new("client").connect(&router).open();
    let root = format!("@/{}/router", router.zid());
    await_queryable(&client, &format!("{root}/**"));
    (router, client, root)
}

#[test]
fn the_root_tells_of_the_node_and_its_neighbours() {
    let router = open_router().set("metadata", "{place: 'lab'}").open();
    let client = Node::new("client").connect(&router).open();
    let other = Node::new("router").connect(&router).open();
    let root = format!("@/{}/router", router.zid());
    until("both", || router.info().neighbours().len() == 2);
    let object = json(&client, &root);
    assert_eq!(object["zid"], router.zid().to_string());
    assert_eq!(object["metadata"]["place"], "lab");
    assert_eq!(object["locators"][0], router.info().locators()[0].to_string());
    assert!(object["version"].as_str().unwrap().starts_with("weft "), "{object}");
    let sessions = object["sessions"].as_array().unwrap();
    let of = |session: &Session| {
        let zid = session.zid().to_string();
        sessions.iter().find(|it| it["peer"] == *zid).unwrap_or_else(|| panic!("{object}"))
    };
    assert_eq!(of(&client)["region"], "south:0:client");
    assert_eq!(of(&client)["weight"], serde_json::Value::Null);
    assert_eq!(of(&client)["links"][0]["dst"], client.info().links()[0].src());
    assert_eq!(of(&other)["region"], "north");
    assert_eq!(of(&other)["weight"]["actual_weight"], 100);
    assert_eq!(json(&client, "@/*/router"), object, "found under a wildcard, too");
    assert_eq!(keys(&client, "**"), [""; 0], "@ is only matched by itself");
}

#[test]
fn declarations_are_listed_with_their_owners() {
    let (router, client, root) = administered();
    let _subscriber = client.declare_subscriber("a/b").wait().unwrap();
    let _own = router.declare_subscriber("a/b").wait().unwrap();
    let _queryable = client.declare_queryable("q/*").wait().unwrap();
    let _token = client.liveliness().declare_token("t").wait().unwrap();
    let _publisher = client.declare_publisher("p").wait().unwrap();
    let _querier = client.declare_querier("r").wait().unwrap();
    let find = |what: &str| ask(&client, &format!("{root}/{what}/**"));
    until("all", || !find("querier").is_empty());
    let (client_zid, router_zid) = (client.zid().to_string(), router.zid().to_string());
    let owners = json(&client, &format!("{root}/subscriber/a/b"));
    assert_eq!(owners["routers"], serde_json::json!([router_zid]));
    assert_eq!(owners["peers"], serde_json::json!([]));
    let mut clients = vec![client_zid.clone(), router_zid];
    clients.sort();
    let mut told: Vec<String> = serde_json::from_value(owners["clients"].clone()).unwrap();
    told.sort();
    assert_eq!(told, clients, "the session of a node counts as a client of it");
    assert_eq!(keys(&client, &format!("{root}/queryable/q/1")), ["router/queryable/q/*"]);
    assert_eq!(keys(&client, &format!("{root}/token/**")), ["router/token/t"]);
    let publishers = json(&client, &format!("{root}/publisher/p"));
    assert_eq!(publishers["clients"], serde_json::json!([client_zid]));
    assert_eq!(publishers["routers"], serde_json::json!([]));
}

#[test]
fn more_declarations_than_fit_one_look_are_all_told() {
    let (_router, client, root) = administered();
    let many: Vec<_> = (0..2500)
        .map(|at| client.declare_subscriber(format!("many/{at}")).callback(|_| ()).wait().unwrap())
        .collect();
    until("all", || keys(&client, &format!("{root}/subscriber/many/*")).len() == many.len());
}

#[test]
fn graphs_and_ways_are_told_by_every_router() {
    let first = open_router().open();
    let second = open_router().connect(&first).open();
    let client = Node::new("client").connect(&first).open();
    let (a, b) = (first.zid().to_string(), second.zid().to_string());
    let successor = |at: &str, from: &str, to: &str| {
        ask(&client, &format!("@/{at}/router/route/successor/src/{from}/dst/{to}"))
    };
    until("the network", || !successor(&b, &b, &a).is_empty() && !successor(&a, &a, &b).is_empty());
    assert_eq!(successor(&a, &a, &b)[0].2, format!("{b:?}").as_bytes());
    let graphs = ask(&client, "@/*/router/linkstate/north");
    assert_eq!(graphs.len(), 2);
    for (_, encoding, text) in graphs {
        let text = String::from_utf8(text).unwrap();
        assert_eq!(encoding, "text/plain");
        assert!(text.starts_with("graph {\n    0 [ label = \""), "{text}");
        assert!(text.contains(&a) && text.contains(&b), "{text}");
        assert!(text.contains("1 -- 0 [ label = \"100."), "{text}");
    }
}

#[test]
fn a_route_is_explained_by_the_subscriptions_behind_it() {
    let (router, client, root) = administered();
    let subscriber = client.declare_subscriber("k/**").callback(|_| ()).wait().unwrap();
    let _own = router.declare_subscriber("k/1").callback(|_| ()).wait().unwrap();
    let _publisher = matched_publisher(&router, "k/1");
    let why = json(&client, &format!("{root}/route/explain/k/1"));
    let zid = client.zid().to_string();
    assert_eq!((&why["local"], &why["more"]), (&true.into(), &0.into()));
    assert_eq!(why["hops"][0]["peer"], *zid, "{why}");
    let of_client = why["because"].as_array().unwrap().iter().find(|it| it["owner"] == *zid);
    assert_eq!(of_client.unwrap()["subscriber"], "k/**");
    assert_eq!(of_client.unwrap()["next"], *zid);
    let back = json(&client, &format!("{root}/route/explain/k/1?from={zid}"));
    assert_eq!(back["hops"], serde_json::json!([]), "nothing comes back to its source");
    let unknown = json(&client, &format!("{root}/route/explain/k/1?from=1"));
    assert_eq!(unknown["error"], "1 is no neighbour of this node");
    drop(subscriber);
}

#[test]
fn metrics_count_what_comes_and_goes() {
    let (router, client, root) = administered();
    let subscriber = router.declare_subscriber("m").wait().unwrap();
    let publisher = matched_publisher(&client, "m");
    let text = |parameters: &str| {
        let selector = format!("{root}/metrics?compression=false{parameters}");
        let (_, encoding, text) = ask(&client, &selector).remove(0);
        assert_eq!(encoding, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        String::from_utf8(text).unwrap()
    };
    let puts = |text: &str| -> u64 {
        let of_puts = text.lines().find(|line| {
            line.starts_with("zenoh_rx_network_message_total") && line.contains("message=\"put\"")
        });
        of_puts.unwrap_or_else(|| panic!("{text}")).rsplit(' ').next().unwrap().parse().unwrap()
    };
    let before = puts(&text(""));
    for _ in 0..10 {
        publisher.put("x").wait().unwrap();
        next(&subscriber);
    }
    until("all that was read", || puts(&text("")) == before + 10);
    let all = text(";per_transport=false;descriptors=false");
    assert!(!all.contains("remote_zid") && all.ends_with("\n# EOF\n"), "{all}");
    assert!(all.contains("zenoh_transports_opened{") && !all.contains("# TYPE"), "{all}");
    assert!(text("").contains(&format!("remote_zid=\"{}\"", client.zid())));

    let (_, encoding, compressed) = ask(&client, &format!("{root}/metrics")).remove(0);
    assert!(encoding.ends_with(";content-encoding=gzip"), "{encoding}");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&compressed[..]).read_to_string(&mut text).unwrap();
    assert!(text.contains("# TYPE zenoh_tx_bytes counter"), "{text}");
    let faces = json(&client, &format!("{root}/faces"));
    assert_eq!(faces["faces"][0]["peer"], client.zid().to_string());
    assert!(faces["faces"][0]["rx"]["by_kind"]["put"].as_u64().unwrap() >= 10, "{faces}");
    let queues = json(&client, &format!("{root}/queues"));
    assert_eq!(queues["sessions"][0]["queues"][5]["priority"], "data");
    assert!(queues["sessions"][0]["queues"][5]["capacity"].as_u64().unwrap() > 65_535);
}

#[test]
fn rules_that_are_written_act_at_once() {
    let (router, client, root) = administered();
    let subscriber = router.declare_subscriber("limited").wait().unwrap();
    let publisher = matched_publisher(&client, "limited");
    publisher.put("short").wait().unwrap();
    assert_eq!(next(&subscriber).payload().to_bytes(), &b"short"[..]);
    let read = |path: &str| json(&client, &format!("{root}/config/{path}"));
    let rule = "{id: 'small', messages: ['put'], key_exprs: ['limited'], size_limit: 5}";
    client.put(format!("{root}/config/low_pass_filter/id=small"), rule).wait().unwrap();
    until("the rule", || read("low_pass_filter")[0]["id"] == "small");
    publisher.put("too long").wait().unwrap();
    publisher.put("fits").wait().unwrap();
    assert_eq!(next(&subscriber).payload().to_bytes(), &b"fits"[..]);
    let faces = json(&client, &format!("{root}/faces"));
    assert_eq!(faces["faces"][0]["rx"]["dropped"]["low-pass"], 1, "{faces}");

    // What does not fit changes nothing; the writes are taken in order.
    client.put(format!("{root}/config/downsampling"), "[{").wait().unwrap();
    client.put(format!("{root}/config/scouting/delay"), "5").wait().unwrap();
    client.delete(format!("{root}/config/low_pass_filter/id=small")).wait().unwrap();
    until("the end of the rule", || read("low_pass_filter") == serde_json::json!([]));
    assert_eq!(read("downsampling"), serde_json::json!([]));
    publisher.put("long again").wait().unwrap();
    assert_eq!(next(&subscriber).payload().to_bytes(), &b"long again"[..]);
}

#[test]
fn endpoints_that_are_written_are_connected_to_at_once() {
    let (router, client, root) = administered();
    let other = Node::new("router").listen("tcp/127.0.0.1:0").open();
    let endpoints = format!("[{:?}]", other.info().locators()[0].to_string());
    let key = format!("{root}/config/connect/endpoints");
    client.put(&key, endpoints).wait().unwrap();
    until("the neighbour", || router.info().routers_zid() == [other.zid()]);
    client.put(&key, "[]").wait().unwrap();
    until("no endpoint", || json(&client, &key) == serde_json::json!([]));
    assert_eq!(router.info().routers_zid(), [other.zid()], "what is connected stays");
    other.close().wait();
    until("its end", || router.info().routers_zid().is_empty());
    assert_eq!(json(&client, &root)["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn permissions_are_kept_and_can_be_written() {
    let (_router, client, root) = administered();
    let put = |path: &str, value: &str| {
        client.put(format!("{root}/config/{path}"), value).wait().unwrap();
    };
    put("adminspace/permissions", "{write: false}");
    put("downsampling", "[{messages: ['put'], rules: [{key_expr: 'x', freq: 1}]}]");
    let read = |path: &str| json(&client, &format!("{root}/config/{path}"));
    until("no permission", || read("adminspace/permissions/write") == false);
    // Behind the write in the same queue.
    assert_eq!(read("downsampling"), serde_json::json!([]));

    let silent = open_router().set("adminspace/permissions/read", "false").open();
    let asking = Node::new("client").connect(&silent).open();
    await_queryable(&asking, &format!("@/{}/router/**", silent.zid()));
    assert_eq!(ask(&asking, &format!("@/{}/**", silent.zid())), []);
}

#[test]
fn a_node_without_an_admin_space_says_nothing_and_a_namespace_does_not_hide_one() {
    let peer = Node::new("peer").listen("tcp/127.0.0.1:0").open();
    let spaced = Node::new("peer")
        .set("adminspace/enabled", "true")
        .set("namespace", "'n'")
        .connect(&peer)
        .open();
    await_queryable(&peer, "@/*/peer/**");
    let object = json(&peer, "@/*/peer");
    assert_eq!(object["zid"], spaced.zid().to_string());
    spaced.close().wait();
    until("its end", || ask(&peer, "@/*/peer").is_empty());
}
