//! Sessions leave nothing behind: no descriptor, no thread, no memory.
//!
//! Its own test binary with one test, because it counts what the process has.

#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use weft::{Config, Session};

/// Sessions are opened and closed in pairs.
const PAIRS: usize = 500;
/// Pairs before what is there is counted: allocators and the system keep some memory for reuse.
const PAIRS_BEFORE: usize = 50;
/// Kibibytes that the process may grow by. A leak of 4 KiB a session would show.
const GROWTH_KIB_MAX: u64 = 4 * 1024;
/// How long anything may take before the test fails.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_thousand_sessions_leave_nothing() {
    for _ in 0..PAIRS_BEFORE {
        open_and_close();
    }
    let (descriptors, threads, kib) = (count("fd"), count("task"), resident_kib());
    for pair in 0..PAIRS {
        open_and_close();
        assert!(count("fd") <= descriptors, "descriptors leak with pair {pair}");
        // The system takes a moment to remove a thread that was waited for.
        until("the end of all threads", || count("task") <= threads);
    }
    let growth_kib = resident_kib().saturating_sub(kib);
    assert!(growth_kib <= GROWTH_KIB_MAX, "{growth_kib} KiB more than before");
}

/// A peer and a client that have exchanged a sample and a query, closed in either order.
fn open_and_close() {
    let peer = open("peer", "['tcp/127.0.0.1:0']", "[]");
    let client = open("client", "[]", &format!("['{}']", peer.info().locators()[0]));
    let subscriber = peer.declare_subscriber("a").wait().unwrap();
    let publisher = client.declare_publisher("a").wait().unwrap();
    let matching = publisher.matching_listener().wait().unwrap();
    assert!(matching.recv_timeout(SOON).unwrap().unwrap().matching());
    publisher.put(vec![0; 10_000]).wait().unwrap();
    assert_eq!(subscriber.recv_timeout(SOON).unwrap().unwrap().payload().len(), 10_000);
    let answer = |query: weft::Query| query.reply("q", "x").wait().unwrap();
    let _queryable = client.declare_queryable("q").callback(answer).wait().unwrap();
    until("a reply", || peer.get("q").wait().unwrap().iter().count() == 1);
    client.close().wait();
    drop(peer);
}

fn open(mode: &str, listen: &str, connect: &str) -> Session {
    let mode = format!("'{mode}'");
    let mut config = Config::default();
    for (path, value) in [
        ("mode", mode.as_str()),
        ("scouting/multicast/enabled", "false"),
        ("listen/endpoints", listen),
        ("connect/endpoints", connect),
    ] {
        config.insert_json5(path, value).unwrap();
    }
    weft::open(config).wait().unwrap()
}

/// Entries of a directory of `/proc/self`.
fn count(directory: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{directory}")).unwrap().count()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Waits until a condition holds that has no event of its own.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} comes soon");
        std::thread::sleep(Duration::from_millis(1));
    }
}
