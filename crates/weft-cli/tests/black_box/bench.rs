//! `weft ping`, `weft pong`, `weft bench` and its roles.

use serde_json::Value;

use crate::process::Weft;

#[test]
fn a_ping_is_answered_and_measured() {
    let pong = Weft::start("pong -l tcp/127.0.0.1:0 --no-multicast-scouting --express");
    let session = pong.wait_for_error("session ");
    let (_, locator) = session.split_once("listens on ").unwrap();
    pong.wait_for_error("answering pings");
    let place = format!("-e {locator} -l tcp/127.0.0.1:0 --no-multicast-scouting");
    let lines = Weft::run(&format!("ping 16 -n 3 -w 2 {place}")).ok();
    let trips = lines.iter().filter(|line| line.starts_with("16 bytes: seq="));
    assert_eq!(trips.count(), 3, "{lines:?}");
    assert!(lines.last().unwrap().starts_with("3 round trips: min "), "{lines:?}");
    let lines = Weft::run(&format!("ping -n 5 --answers channel --json {place}")).json();
    let us = |at: usize, field: &str| lines[at][field].as_f64().unwrap();
    assert_eq!(lines.len(), 6);
    assert!(us(0, "us") > 0.0);
    assert_eq!((&lines[5]["type"], &lines[5]["count"]), (&"round_trips".into(), &5.into()));
    assert!(us(5, "min_us") <= us(5, "p50_us") && us(5, "p50_us") <= us(5, "p99_us"), "{lines:?}");
    assert_eq!(pong.interrupt().code, Some(0));
}

#[test]
fn the_bench_measures_what_it_is_asked_for() {
    let lines = Weft::run(
        "bench --rounds 1 --seconds 0.05 --case p2p/8 --case brokered/64 --case ping --json",
    );
    let lines = lines.json();
    let field = |name: &str| -> Vec<&Value> { lines.iter().map(|line| &line[name]).collect() };
    assert_eq!(field("case"), ["p2p", "brokered", "ping"]);
    assert_eq!(field("size"), [8, 64, 64]);
    assert_eq!(field("unit"), ["msg/s", "msg/s", "us"]);
    assert!(field("value").iter().all(|value| value.as_f64().unwrap() > 0.0), "{lines:?}");
    assert!(field("spread").iter().all(|spread| spread.as_f64() == Some(0.0)), "{lines:?}");
}

#[test]
fn the_bench_prints_a_table_and_its_progress_beside_it() {
    let ended = Weft::run("bench --rounds 2 --seconds 0.05 --case ping");
    assert_eq!(ended.stderr.len(), 2, "{ended:?}");
    let lines = ended.ok();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("case") && lines[1].starts_with("ping"), "{lines:?}");
}

/// What `weft bench` builds upon.
#[test]
fn the_roles_of_the_bench_say_when_they_are_ready_and_what_they_measured() {
    let router = Weft::start("bench-role router --listen tcp/127.0.0.1:0");
    router.wait_for_error("ready");
    let lines = router.ended().json();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["role"], "router");

    let endpoint = format!("tcp/127.0.0.1:{}", free_port());
    let flags = "--warmup 0.01 --duration 0.05";
    let subscriber = Weft::start(&format!("bench-role sub-thr --listen {endpoint} {flags}"));
    subscriber.wait_for_error("ready");
    let publisher = Weft::start(&format!(
        "bench-role pub-thr --connect {endpoint} --size 8 --duration 1 --express"
    ));
    let counted = subscriber.result();
    assert_eq!(counted["role"], "sub-thr");
    assert!(counted["msgs_per_s"].as_u64().unwrap() > 0, "{counted}");
    assert!(counted["seconds"].as_f64().unwrap() >= 0.05, "{counted}");
    let published = publisher.result();
    assert_eq!((&published["role"], &published["size"]), (&"pub-thr".into(), &8.into()));
    assert!(published["count"].as_u64() >= counted["count"].as_u64(), "{published} {counted}");

    let pong = Weft::start(&format!("bench-role pong --listen {endpoint}"));
    pong.wait_for_error("ready");
    for answers in ["callback", "channel"] {
        let flags = format!("--size 8 --count 10 --warmup 5 --answers {answers} --express");
        let ping = Weft::start(&format!("bench-role ping --connect {endpoint} {flags}")).result();
        assert_eq!((&ping["answers"], &ping["count"]), (&answers.into(), &10.into()), "{ping}");
        assert!(ping["p50_us"].as_f64().unwrap() > 0.0, "{ping}");
    }
    assert_eq!(pong.ended().json()[0]["role"], "pong");
}

/// The roles take ports and do not tell which one they got.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
