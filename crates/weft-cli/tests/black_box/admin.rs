//! `weft admin`.

use crate::process::{Ended, Weft, router, run_until};

/// A router that may be written, and what a client of it says on its command line.
fn writable() -> (Weft, String) {
    let flags = "-l tcp/127.0.0.1:0 --no-multicast-scouting -i a1 --adminspace-permissions rw";
    let router = Weft::start(&format!("router {flags}"));
    let locator = router.wait_for("listening on ");
    (router, format!("-e {locator}"))
}

/// The line on standard error of what went wrong.
fn complaint(ended: Ended, code: i32) -> String {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let complaints = ended.complaints();
    assert_eq!(complaints.len(), 1, "{ended:?}");
    complaints[0].clone()
}

#[test]
fn a_router_tells_what_it_is_and_what_it_counts() {
    let (_router, client) = writable();
    let lines = Weft::run(&format!("admin get {client}")).ok();
    assert_eq!(lines[0], "@/a1/router");
    assert!(lines.iter().any(|line| line == r#"  "zid": "a1""#), "{lines:?}");
    let lines = Weft::run(&format!("admin get faces --node a1 {client} --json")).json();
    assert_eq!(
        (lines.len(), &lines[0]["type"], &lines[0]["zid"]),
        (1, &"admin".into(), &"a1".into())
    );
    assert_eq!(lines[0]["value"]["faces"][0]["whatami"], "client");
    let lines = Weft::run(&format!("admin get @/*/*/metrics {client}")).ok();
    assert!(lines.iter().any(|line| line.starts_with("zenoh_build_info{")), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "# EOF");
    let nobody = Weft::run(&format!("admin get --node b2 {client}"));
    assert!(complaint(nobody, 1).contains("b2 is not there or does not answer"));
    let alone = Weft::run("admin get -l tcp/127.0.0.1:0 --no-multicast-scouting");
    assert!(complaint(alone, 1).contains("no node is connected"));
}

#[test]
fn a_rule_is_written_and_refused_ones_are_explained() {
    let (_router, client) = writable();
    let rule = "{id:'x',messages:['put'],rules:[{key_expr:'a',freq:1}]}";
    let lines = Weft::run(&format!("admin put downsampling/id=x {rule} {client} --json")).json();
    assert_eq!(lines[0]["changed"]["downsampling"][0]["id"], "x", "{lines:?}");
    let same = format!("admin put downsampling [{rule}] {client}");
    let lines = Weft::run(&same).ok();
    assert_eq!(lines, ["downsampling of a1 is so already"]);
    let lines = Weft::run(&format!("admin put --delete downsampling {client}")).ok();
    assert_eq!(lines, ["downsampling: []"]);
    let fixed = Weft::run(&format!("admin put scouting/delay 5 {client}"));
    assert!(complaint(fixed, 1).contains("can be changed while it runs"));
    let unknown = Weft::run(&format!("admin put downsamplings [] {client}"));
    assert!(complaint(unknown, 2).contains("did you mean `downsampling`?"));

    let (_other, client) = router();
    let refused = Weft::run(&format!("admin put downsampling [{rule}] {client}"));
    assert!(complaint(refused, 1).contains("--adminspace-permissions rw"));
}

#[test]
fn a_route_is_explained() {
    let (_router, client) = writable();
    let subscriber = Weft::start(&format!("sub -k demo/** -m client -i c3 {client}"));
    subscriber.wait_for_error("session ");
    let lines = run_until(&format!("admin explain demo/a {client}"), |lines| {
        lines.len() > 2 && lines[1].starts_with("  go to c3 ")
    });
    assert_eq!(lines[0], "samples on demo/a put at a1");
    assert!(lines[1].starts_with("  go to c3 (client, south:0:client) as "), "{lines:?}");
    assert_eq!(lines[2], "    because of subscriber demo/** of c3 (client)");
    let back = Weft::run(&format!("admin explain demo/a --from c3 {client}")).ok();
    assert_eq!(back[0], "samples on demo/a that come to a1 from c3");
    assert_eq!(back[1], "  go to no neighbour");
    let unknown = Weft::run(&format!("admin explain demo/a --from d4 {client}"));
    assert!(complaint(unknown, 1).contains("d4 is no neighbour of this node"));
}

#[test]
fn the_network_is_drawn_without_the_node_that_asks() {
    let (_router, client) = writable();
    let second =
        Weft::start(&format!("router -l tcp/127.0.0.1:0 --no-multicast-scouting -i b2 {client}"));
    second.wait_for("router ");
    let lines = run_until(&format!("admin graph {client}"), |lines| lines.len() == 5);
    assert_eq!(lines[1], "  - router b2, weight 100", "{lines:?}");
    assert_eq!(lines[4], "2 nodes, 1 pairs of neighbours");
    let dot = Weft::run(&format!("admin graph --format dot {client}")).ok();
    assert!(dot.contains(&r#"    "a1" -- "b2" [ label = "100" ]"#.to_owned()), "{dot:?}");
    let svg = Weft::run(&format!("admin graph --format svg {client}")).ok();
    assert!(svg[0].starts_with("<svg ") && svg.last().unwrap() == "</svg>", "{svg:?}");
    let json = Weft::run(&format!("admin graph --json {client}")).json();
    assert_eq!(
        (&json[0]["links"][0]["a"], &json[0]["links"][0]["b"]),
        (&"a1".into(), &"b2".into())
    );
    assert_eq!(Weft::run(&format!("admin graph --json --format svg {client}")).code, Some(2));
}

#[test]
fn top_tells_rates_interval_by_interval() {
    let (_router, client) = writable();
    let flags = format!("-m client {client}");
    let publisher = Weft::start(&format!("pub -k busy -p x --interval 0.001 -i c3 {flags}"));
    let subscriber = Weft::start(&format!("sub -k busy -i d4 {flags}"));
    subscriber.wait_for("PUT busy: x");
    let lines =
        Weft::run(&format!("admin top --interval 0.2 --count 2 --keys --json {client}")).json();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let face = |zid: &str| {
        let faces = lines[1]["nodes"][0]["faces"].as_array().unwrap();
        faces.iter().find(|face| face["peer"] == zid).unwrap_or_else(|| panic!("{lines:?}")).clone()
    };
    assert!(face("c3")["rx_messages_per_s"].as_f64().unwrap() > 1.0, "{lines:?}");
    assert!(face("d4")["tx_messages_per_s"].as_f64().unwrap() > 1.0, "{lines:?}");
    assert_eq!(lines[1]["keys"][0]["key"], "busy");
    let table = Weft::run(&format!("admin top --interval 0.05 --count 1 {client}")).ok();
    assert!(table[0].starts_with("node  neighbour"), "{table:?}");
    drop((publisher, subscriber));
}
