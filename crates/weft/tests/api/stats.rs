//! Metrics and statistics of the admin space beyond plain counters: sizes, links, keys, who has left.

use serde_json::{Value, json};
use weft::{Query, Session};

use crate::support::{Node, await_queryable, matched_publisher, next, until};

/// Metrics of a node that its session is asked for by a client of it, or by itself.
struct Metrics(Vec<String>);

impl Metrics {
    fn of(asking: &Session, node: &Session, parameters: &str) -> Self {
        let selector = format!("@/{}/router/metrics?compression=false{parameters}", node.zid());
        let reply = next(&asking.get(selector).wait().unwrap());
        let text = reply.result().unwrap().payload().try_to_str().unwrap().into_owned();
        Self(text.lines().map(str::to_owned).collect())
    }

    /// The sum of the values of a name whose labels have all of these.
    fn sum(&self, name: &str, labels: &[&str]) -> u64 {
        let of_name = self.0.iter().filter_map(|line| line.strip_prefix(name));
        let values = of_name.filter_map(|rest| {
            let (own, value) = rest.strip_prefix('{')?.rsplit_once("} ")?;
            labels.iter().all(|label| own.contains(label)).then(|| value.parse::<f64>().unwrap())
        });
        values.sum::<f64>() as u64
    }

    fn has(&self, text: &str) -> bool {
        self.0.iter().any(|line| line.contains(text))
    }
}

fn router(settings: &[(&str, &str)]) -> Session {
    let node = Node::new("router").listen("tcp/127.0.0.1:0").set("adminspace/enabled", "true");
    settings.iter().fold(node, |node, (path, value)| node.set(path, value)).open()
}

fn client(router: &Session) -> Session {
    let client = Node::new("client").connect(router).open();
    await_queryable(&client, &format!("@/{}/router/**", router.zid()));
    client
}

fn root(asking: &Session, node: &Session, parameters: &str) -> Value {
    let selector = format!("@/{}/router{parameters}", node.zid());
    let reply = next(&asking.get(selector).wait().unwrap());
    serde_json::from_slice(&reply.result().unwrap().payload().to_bytes()).unwrap()
}

/// Puts of 0, 10 and 100 bytes, a deletion, a question of 3 bytes and its answer of 40, through a router.
fn talk(from: &Session, to: &Session, key: &str) {
    let subscriber = to.declare_subscriber(key).wait().unwrap();
    let answer = |query: Query| query.reply(query.key_expr(), vec![1; 40]).wait().unwrap();
    let _queryable = to.declare_queryable(key).callback(answer).wait().unwrap();
    let publisher = matched_publisher(from, key);
    for len in [0, 10, 100] {
        publisher.put(vec![0; len]).wait().unwrap();
    }
    publisher.delete().wait().unwrap();
    for _ in 0..4 {
        next(&subscriber);
    }
    await_queryable(from, key);
    let replies = from.get(key).payload("ask").wait().unwrap();
    assert_eq!(next(&replies).result().unwrap().payload().len(), 40);
}

#[test]
fn sizes_of_payloads_are_counted_where_that_is_configured() {
    let router = router(&[("stats/enabled", "true")]);
    let (from, to) = (client(&router), client(&router));
    talk(&from, &to, "demo/a");
    let remote = |session: &Session| format!("remote_zid=\"{}\"", session.zid());
    let user = "space=\"user\"";
    // What was read last is in the figures once its reader has nothing more to handle.
    let metrics = Metrics::of(&router, &router, "");
    for (flow, session) in [("rx", &from), ("tx", &to)] {
        let name = format!("zenoh_{flow}_network_message_payload_bytes");
        let sum = |part: &str, labels: &[&str]| {
            let remote = remote(session);
            let all: Vec<&str> = labels.iter().copied().chain([&*remote, user]).collect();
            metrics.sum(&format!("{name}{part}"), &all)
        };
        let put = ["message=\"put\"", "priority=\"data\"", "shm=\"false\""];
        assert_eq!((sum("_count", &put), sum("_sum", &put)), (3, 110), "{flow}: {:#?}", metrics.0);
        let bucket = |limit: &str| {
            let le = format!("le=\"{limit}\"");
            sum("_bucket", &[put[0], &le])
        };
        assert_eq!(["0.0", "32.0", "1024.0", "+Inf"].map(bucket), [1, 2, 3, 3]);
        assert_eq!(sum("_count", &["message=\"delete\""]), 1);
        assert_eq!(sum("_sum", &["message=\"query\""]), 3);
        let back = if flow == "rx" { ("tx", &from) } else { ("rx", &to) };
        let name = format!("zenoh_{}_network_message_payload_bytes_sum", back.0);
        assert_eq!(metrics.sum(&name, &["message=\"reply\"", &remote(back.1), user]), 40);
    }
    assert!(!metrics.has("per_key"));

    // What is asked about the node is apart.
    let asked = Metrics::of(&from, &router, "");
    let name = "zenoh_rx_network_message_payload_bytes_count";
    let labels = ["space=\"admin\"", "message=\"query\"", &remote(&from)];
    assert_eq!(asked.sum(name, &labels), 1, "{:#?}", asked.0);
    assert_eq!(asked.sum(name, &["space=\"admin\"", "message=\"put\""]), 0);

    let plain = self::router(&[]);
    let other = client(&plain);
    talk(&other, &plain, "demo/a");
    assert!(!Metrics::of(&other, &plain, "").has("payload_bytes"));
}

#[test]
fn filters_count_for_themselves() {
    let filters = "[{key: 'demo/**'}, {key: 'other'}]";
    let router = router(&[("stats/filters", filters)]);
    let (from, to) = (client(&router), client(&router));
    talk(&from, &to, "demo/a");
    talk(&from, &to, "none/of/these");
    let name = "zenoh_rx_network_message_payload_per_key_bytes_sum";
    let metrics = Metrics::of(&router, &router, "");
    assert_eq!(metrics.sum(name, &["key=\"demo/**\"", "message=\"put\""]), 110);
    assert!(!metrics.has("key=\"other\""));
    let all = metrics.sum("zenoh_rx_network_message_payload_bytes_sum", &["message=\"put\""]);
    assert_eq!(all, 220);
    assert!(!Metrics::of(&router, &router, ";per_key=false").has("per_key"));

    let object = root(&router, &router, "?_stats=true");
    let filtered = object["stats_filtered"].as_array().unwrap();
    assert_eq!((&filtered[0]["key"], &filtered[1]["key"]), (&json!("demo/**"), &json!("other")));
    let stats = &filtered[0]["stats"];
    assert_eq!(stats["rx_z_put_msgs"], json!({ "admin": 0, "user": 3 }), "{stats}");
    assert_eq!(stats["tx_z_put_pl_bytes"], json!({ "admin": 0, "user": 110 }));
    assert_eq!(stats["tx_z_del_msgs"]["user"], 1);
    assert_eq!(stats["rx_z_query_pl_bytes"]["user"], 3);
    assert_eq!(stats["tx_z_reply_pl_bytes"]["user"], 40);
    assert_eq!(filtered[1]["stats"]["rx_z_put_msgs"]["user"], 0);
}

#[test]
fn the_root_object_has_statistics_if_asked() {
    let router = router(&[("stats/enabled", "true")]);
    let (from, to) = (client(&router), client(&router));
    talk(&from, &to, "demo/a");
    let object = root(&router, &router, "");
    assert!(object.get("stats").is_none() && object.get("stats_filtered").is_none());
    assert!(object["sessions"][0].get("stats").is_none());

    let object = root(&router, &router, "?_stats=true");
    assert_eq!(object["stats_filtered"], json!([]));
    let of = |session: &Session| {
        let zid = session.zid().to_string();
        object["sessions"].as_array().unwrap().iter().find(|it| it["peer"] == *zid).unwrap()
    };
    let stats = &of(&from)["stats"];
    assert_eq!(stats["rx_z_put_msgs"], json!({ "admin": 0, "user": 3 }), "{stats}");
    assert_eq!(stats["rx_z_put_pl_bytes"]["user"], 110);
    assert_eq!(of(&to)["stats"]["tx_z_put_pl_bytes"]["user"], 110);
    assert_eq!(object["stats"]["rx_z_put_pl_bytes"]["user"], 110);
    for field in ["rx_t_msgs", "tx_t_msgs", "rx_bytes", "tx_bytes"] {
        let both = [&from, &to].map(|it| of(it)["stats"][field].as_u64().unwrap());
        assert!(both.iter().all(|count| *count > 0), "{field}");
        assert_eq!(object["stats"][field].as_u64().unwrap(), both.iter().sum::<u64>(), "{field}");
    }
    assert!(stats["rx_n_msgs"]["net"].as_u64().unwrap() >= 5);
    assert_eq!(stats["tx_n_dropped"], 0);
    let link = &of(&from)["links"][0]["stats"];
    assert_eq!((&link["rx_bytes"], &link["tx_bytes"]), (&stats["rx_bytes"], &stats["tx_bytes"]));
}

#[test]
fn links_are_told_apart() {
    let router = router(&[]);
    let client = client(&router);
    let dst = client.info().links()[0].src().to_owned();
    let labels = [&*format!("dst_locator=\"{dst}\""), "src_locator=\"tcp/127.0.0.1:"];
    for name in ["zenoh_rx_bytes_total", "zenoh_tx_bytes_total", "weft_rx_batches_total"] {
        let metrics = Metrics::of(&router, &router, "");
        assert!(metrics.sum(name, &labels) > 0, "{name}: {:#?}", metrics.0);
        assert_eq!(metrics.sum(name, &labels), metrics.sum(name, &[]), "nothing besides");
    }
    assert!(Metrics::of(&router, &router, ";per_link=true").has("src_locator"));
    for parameter in [";per_link=false", ";per_transport=false"] {
        let metrics = Metrics::of(&router, &router, parameter);
        assert!(!metrics.has("src_locator") && metrics.sum("zenoh_rx_bytes_total", &[]) > 0);
    }
}

/// The last that left are told on request, and no more than a number of them.
#[test]
fn neighbours_that_left_are_told_on_request() {
    const DEPARTED_MAX: usize = 64;
    let router = router(&[("stats/enabled", "true")]);
    let first = client(&router);
    talk(&first, &router, "demo/a");
    let remote = format!("remote_zid=\"{}\"", first.zid());
    let sum = "zenoh_rx_network_message_payload_bytes_sum";
    first.close().wait();
    until("its end", || router.info().clients_zid().is_empty());
    assert!(!Metrics::of(&router, &router, "").has(&remote));
    let metrics = Metrics::of(&router, &router, ";disconnected=true");
    assert_eq!(metrics.sum(sum, &[&remote, "message=\"put\""]), 110, "{:#?}", metrics.0);
    assert!(metrics.sum("zenoh_rx_bytes_total", &[&remote, "src_locator"]) > 0);
    assert_eq!(metrics.sum("zenoh_transports_opened", &[]), 0);
    assert_eq!(root(&router, &router, "?_stats=true")["stats"]["rx_z_put_pl_bytes"]["user"], 110);

    for _ in 0..DEPARTED_MAX {
        drop(Node::new("client").connect(&router).open());
    }
    let left = || {
        let metrics = Metrics::of(&router, &router, ";disconnected=true;per_link=false");
        let bytes = |line: &&String| line.starts_with("zenoh_rx_bytes_total");
        (metrics.has(&remote), metrics.0.iter().filter(bytes).count())
    };
    until("the last of them", || left() == (false, DEPARTED_MAX));
}

#[test]
fn sizes_of_what_rules_drop_are_counted_with_the_reason() {
    let rules =
        "[{id: 'small', messages: ['put', 'reply'], key_exprs: ['limited'], size_limit: 5}]";
    let router = router(&[("stats/enabled", "true"), ("low_pass_filter", rules)]);
    let client = client(&router);
    let subscriber = router.declare_subscriber("limited").wait().unwrap();
    let publisher = matched_publisher(&client, "limited");
    for text in ["too long", "far too long", "fits"] {
        publisher.put(text).wait().unwrap();
    }
    assert_eq!(*next(&subscriber).payload(), "fits");
    let name = "zenoh_rx_network_message_dropped_payload_bytes";
    let labels =
        ["reason=\"low-pass\"", "message=\"put\"", "priority=\"data\"", "protocol=\"tcp\""];
    let metrics = Metrics::of(&router, &router, "");
    assert_eq!(metrics.sum(&format!("{name}_count"), &labels), 2, "{:#?}", metrics.0);
    assert_eq!(metrics.sum(&format!("{name}_sum"), &labels), 20);
    let stats = &root(&router, &router, "?_stats=true")["stats"];
    assert_eq!(stats["rx_low_pass_dropped_msgs"], 2);
    assert_eq!(stats["rx_low_pass_dropped_bytes"], 20);
    assert_eq!(stats["rx_n_dropped"], 2);
}

/// A neighbour that takes nothing: what is dropped on the way to it has a size and a reason.
#[test]
fn sizes_of_what_finds_no_room_are_counted() {
    const LEN: usize = 20_000;
    let router = router(&[("stats/enabled", "true")]);
    let client = client(&router);
    let stuck = client.declare_subscriber("f").with(weft::handlers::FifoChannel::new(1));
    let stuck = stuck.wait().unwrap();
    drop(matched_publisher(&router, "f"));
    let publisher = router.declare_publisher("f").wait().unwrap();
    let payload = vec![0; LEN];
    for _ in 0..3000 {
        publisher.put_bytes(&payload).unwrap();
    }
    let metrics = Metrics::of(&router, &router, "");
    let labels = ["reason=\"congestion\"", "message=\"put\"", "priority=\"data\""];
    let of = |part: &str| {
        metrics.sum(&format!("zenoh_tx_network_message_dropped_payload_bytes_{part}"), &labels)
    };
    let dropped = of("count");
    assert!(dropped > 0 && of("sum") == dropped * LEN as u64, "{:#?}", metrics.0);
    let counted = metrics.sum("weft_tx_network_message_dropped_total", &["reason=\"congestion\""]);
    let sent = metrics.sum("zenoh_tx_network_message_payload_bytes_count", &["message=\"put\""]);
    assert_eq!((dropped, dropped + sent), (counted, 3000));
    drop(stuck);
}

#[test]
fn offences_of_neighbours_are_counted() {
    let router = router(&[("limits/declarations_per_session", "3")]);
    let offences = |kind: &str| {
        let metrics = Metrics::of(&router, &router, "");
        metrics.sum("weft_neighbour_offences_total", &[&format!("offence=\"{kind}\"")])
    };
    assert_eq!(["over-limit", "ignored-declaration", "broken-protocol"].map(offences), [0; 3]);
    let client = Node::new("client").connect(&router).open();
    let many: Vec<_> =
        (0..5).map(|at| client.declare_subscriber(format!("k/{at}")).wait()).collect();
    until("its end", || offences("over-limit") > 0);
    drop(many);
}
