//! `weft pub`, `weft put`, `weft delete` and `weft sub`.

use serde_json::json;

use crate::process::{Weft, router};

#[test]
fn a_subscriber_shows_what_is_published_and_ends_with_its_count() {
    let (_router, client) = router();
    let sub = Weft::start(&format!("sub -k a/* --count 5 {client}"));
    sub.wait_for_error("subscribed to 'a/*'");
    let published =
        Weft::run(&format!("pub -k a/1 -p one+two --wait --interval 0 --count 2 {client}")).ok();
    let puts = published.iter().filter(|line| *line == "PUT a/1: one two").count();
    assert_eq!(puts, 2, "{published:?}");
    // By now the router knows the subscriber.
    let put = Weft::run(&format!(
        "put -k a/2 -p - --encoding text/csv --attachment beside --priority 1 --express {client}"
    ));
    assert_eq!(put.ok(), ["PUT a/2: "]);
    assert_eq!(Weft::run(&format!("delete -k a/2 {client}")).ok(), ["DELETE a/2"]);
    let put = Weft::run_with(&format!("put -k a/3 -p - {client}"), b"\xff\n");
    assert_eq!(put.ok(), [r"PUT a/3: 0xff0a"]);
    assert_eq!(
        sub.ended().ok(),
        [
            "PUT a/1: one two",
            "PUT a/1: one two",
            "PUT a/2:  [text/csv] (beside)",
            "DELETE a/2",
            "PUT a/3: 0xff0a",
        ]
    );
}

#[test]
fn json_tells_everything_about_a_sample_and_people_read_standard_error() {
    let (_router, client) = router();
    let sub = Weft::start(&format!("sub -k a --count 1 --json {client}"));
    sub.wait_for_error("subscribed to 'a'");
    let flags = "--encoding application/json --attachment b --priority background --congestion drop \
                 --reliability best-effort --express";
    let published =
        Weft::run_with(&format!("pub -k a -p - --wait --count 1 --json {flags} {client}"), b"{}\n");
    assert_eq!(published.json(), [json!({ "type": "put", "key": "a", "payload": "{}" })]);
    let mut sample = sub.ended().json().remove(0);
    // Routers give timestamps.
    assert!(sample["timestamp"].take().as_str().unwrap().contains("Z/"));
    let expected = json!({
        "type": "sample",
        "kind": "put",
        "key": "a",
        "payload": "{}",
        "encoding": "application/json",
        "attachment": "b",
        "timestamp": null,
        "priority": "background",
        "congestion": "drop",
        "express": true,
        "reliability": "best_effort",
    });
    assert_eq!(sample, expected);
}

#[test]
fn timestamps_are_shown_on_demand() {
    let (_router, client) = router();
    let sub = Weft::start(&format!("sub -k a -t --count 1 {client}"));
    sub.wait_for_error("subscribed");
    Weft::run(&format!("pub -k a -p x --wait --count 1 {client}")).ok();
    let line = sub.wait_for("PUT a: x at ");
    assert!(line.starts_with("20") && line.contains("Z/"), "{line}");
}

#[test]
fn two_peers_need_no_router_and_matching_is_told() {
    let peer = "-l tcp/127.0.0.1:0 --no-multicast-scouting";
    let publisher =
        Weft::start(&format!("pub -k a --interval 0.01 --matching --wait --json {peer}"));
    let locator = publisher.wait_for_error("session ");
    let (_, locator) = locator.split_once("listens on ").unwrap();
    let sub = Weft::run(&format!("sub -k a --count 3 -e {locator} {peer}")).ok();
    assert_eq!(sub.iter().filter(|line| line.starts_with("PUT a: [")).count(), 3, "{sub:?}");
    assert_eq!(publisher.wait_for_json(), json!({ "type": "matching", "matching": true }));
    let put = publisher.wait_for_json();
    assert_eq!(put, json!({ "type": "put", "key": "a", "payload": "[   0] Pub from Weft!" }));
    publisher.wait_for(r#"{"matching":false,"#);
    assert_eq!(publisher.interrupt().code, Some(0));
}

#[test]
fn lines_of_standard_input_are_publications() {
    let (_router, client) = router();
    let sub = Weft::start(&format!("sub -k log {client}"));
    sub.wait_for_error("subscribed");
    let lines = b"first\nsecond\n\nlast";
    let published = Weft::run_with(&format!("pub -k log -p - --wait --json {client}"), lines);
    assert_eq!(published.json().len(), 4);
    for text in ["first", "second", "", "last"] {
        assert_eq!(sub.wait_for("PUT log: "), text);
    }
}

#[test]
fn ctrl_c_and_time_end_what_is_endless() {
    let (_router, client) = router();
    for (command, begun) in [
        ("sub", "subscribed"),
        ("pub -p x", "publishing"),
        ("queryable", "answering"),
        ("storage", "storing"),
        ("pong", "answering"),
        ("liveliness token", "token"),
        ("liveliness sub", "watching"),
    ] {
        let weft = Weft::start(&format!("{command} {client}"));
        weft.wait_for_error(begun);
        let ended = weft.interrupt();
        assert_eq!((ended.code, ended.stderr.len()), (Some(0), 0), "{command}: {ended:?}");
        let ended = Weft::run(&format!("{command} {client} --duration 0.05"));
        assert_eq!((ended.code, ended.complaints().len()), (Some(0), 0), "{command}: {ended:?}");
    }
}

#[test]
fn ctrl_c_while_standard_input_is_awaited_is_clean() {
    let (_router, client) = router();
    let weft = Weft::start(&format!("pub -p - {client}"));
    weft.wait_for_error("publishing on");
    let mut weft = weft;
    weft.write(b"one\n");
    weft.wait_for("PUT demo/example/weft-pub: one");
    assert_eq!(weft.interrupt().code, Some(0));
}

#[test]
fn a_subscriber_whose_output_nobody_reads_ends() {
    let (_router, client) = router();
    let mut sub = Weft::start(&format!("sub -k a {client}"));
    sub.wait_for_error("subscribed");
    sub.close_stdout();
    // It notices when it writes.
    let publisher = Weft::start(&format!("pub -k a --interval 0.01 {client}"));
    assert_eq!(sub.ended().code, Some(0));
    assert_eq!(publisher.interrupt().code, Some(0));
}
