//! With `transport/link/rx/busy_poll_us` a thread that has read something stays awake; without, it sleeps.
//!
//! Its own test binary, because it looks at the processor time of this process's reading threads.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use weft::{Config, Session};

/// How long an event may take before the test fails.
const SOON: Duration = Duration::from_secs(30);
/// One unit of processor time in `/proc`.
const TICK: Duration = Duration::from_millis(10);

fn open(settings: &[(&str, &str)]) -> Session {
    let mut config = Config::default();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    for (key, value) in settings {
        config.insert_json5(key, value).unwrap();
    }
    weft::open(config).wait().unwrap()
}

/// Processor time so far of all threads that read links.
fn reading_time() -> Duration {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        // A thread may end meanwhile.
        let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
        let (name, rest) = stat.split_once(") ").unwrap();
        if name.ends_with("(weft-rx") {
            let times = rest.split(' ').enumerate().filter(|(at, _)| [11, 12].contains(at));
            ticks += times.map(|(_, time)| time.parse::<u32>().unwrap()).sum::<u32>();
        }
    }
    TICK * ticks
}

/// Processor time of the reading threads after one sample, until `enough` or for a while.
fn time_after_a_sample(busy_poll_us: &str, enough: Duration, while_: Duration) -> Duration {
    let listening = open(&[
        ("listen/endpoints", "['tcp/127.0.0.1:0']"),
        ("transport/link/rx/busy_poll_us", busy_poll_us),
    ]);
    let subscriber = listening.declare_subscriber("test/busy").wait().unwrap();
    let locator = listening.info().locators()[0].to_string();
    let publishing =
        open(&[("mode", "'client'"), ("connect/endpoints", &format!("['{locator}']"))]);
    publishing.put("test/busy", "1").wait().unwrap();
    subscriber.recv_timeout(SOON).unwrap().expect("a sample");
    let (before, started) = (reading_time(), Instant::now());
    let passed = || reading_time().saturating_sub(before);
    while passed() < enough && started.elapsed() < while_ {
        std::thread::sleep(TICK);
    }
    passed()
}

#[test]
fn a_reader_stays_awake_only_if_it_is_told_to() {
    let asleep = time_after_a_sample("0", SOON, Duration::from_millis(300));
    assert!(asleep <= 5 * TICK, "{asleep:?}");
    let enough = 20 * TICK;
    let awake = time_after_a_sample("1000000", enough, SOON);
    assert!(awake >= enough, "{awake:?}");
}
