//! How fast it is, on this machine, now.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use weft::Session;

use super::stage::{PATIENCE, Stage, late, pair_of_peers};
use crate::commands::bench::grouped;
use crate::failure::Failure;
use crate::flood;
use crate::measure::{RoundTrips, Summary, Window};
use crate::rally::{self, Answers, Pings};

/// Bytes of payload.
const SIZE: usize = 64;

const WARMUP: Duration = Duration::from_millis(200);
const DURATION: Duration = Duration::from_secs(1);
const ROUND_TRIPS: usize = 2000;

/// Measures and shows message rates and round trips, through the router and between two peers.
pub(super) fn measure(stage: &Stage) -> Result<(), Failure> {
    stage.step(
        "speed",
        "Speed",
        "measured here and now, over TCP on this machine, 64 bytes of payload",
    )?;
    if cfg!(debug_assertions) {
        stage.tell("(this is a debug build: the real figures come with --release)");
    }
    let clients = [stage.join()?, stage.join()?];
    let peers = pair_of_peers()?;
    for (case, words, sessions) in
        [("brokered", "through the router", &clients), ("p2p", "between two peers", &peers)]
    {
        let rate = rate(stage, sessions)?;
        stage.show(
            || format!("{:>9} messages/s {words}", grouped(rate)),
            || json!({ "type": "measure", "case": case, "size": SIZE, "value": rate, "unit": "msg/s" }),
        );
    }
    for (case, words, sessions) in
        [("ping-brokered", "through the router", &clients), ("ping", "between two peers", &peers)]
    {
        let Summary { p50_us, p99_us, .. } = round_trip(stage, sessions)?;
        stage.show(
            || format!("{p50_us:>9.1} µs median round trip {words} (99 %: {p99_us:.1} µs)"),
            || json!({ "type": "measure", "case": case, "size": SIZE, "value": p50_us, "unit": "us" }),
        );
    }
    Ok(())
}

/// Messages per second from the second session to the first.
fn rate(stage: &Stage, [subscriber, publisher]: &[Session; 2]) -> Result<f64, Failure> {
    let counting = flood::count(subscriber, Window::new(WARMUP, DURATION))?;
    let publisher = flood::publisher(publisher, false)?;
    let is_over = AtomicBool::new(false);
    let rate = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // It fails only when the session is closed, and then the deadline below tells.
                let _ = publisher.put_bytes(&[7; SIZE]);
            }
        });
        let rate = counting.rate(WARMUP + DURATION + PATIENCE, &stage.context.ending);
        is_over.store(true, Ordering::Relaxed);
        rate
    });
    Ok(rate?.per_second().round())
}

fn round_trip(stage: &Stage, [answering, asking]: &[Session; 2]) -> Result<Summary, Failure> {
    let _pong = rally::pong(answering, true, || ())?;
    let pings = Pings { size: SIZE, is_express: true, answers: Answers::Callback };
    let round_trips = RoundTrips::new(ROUND_TRIPS / 10, ROUND_TRIPS);
    let is_over = || stage.context.ending.is_here();
    let round_trips = rally::ping(asking, pings, round_trips, is_over)?;
    round_trips.summary().ok_or_else(|| late("no round trip ended"))
}
