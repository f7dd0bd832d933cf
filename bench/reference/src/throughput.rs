//! As many messages as pass: one publisher in a loop, one subscriber that counts in its callback.

use crate::session;
use bench_limits::{Arguments, Failure, Outcome, Window, ready};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};
use zenoh::Wait as _;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;

const KEY: &str = "test/thr";

/// How long after the window should have closed a subscriber still waits for messages.
const GRACE: Duration = Duration::from_secs(30);

/// Puts between two reads of the publisher's clock.
const PUTS_PER_CLOCK: u64 = 64;

/// Counts messages from the first one on, and reports the rate inside the window.
pub(crate) fn subscribe(mut arguments: Arguments) -> Outcome {
    let config = session::config(&mut arguments, "peer")?;
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    arguments.finish()?;

    let session = session::open(config)?;
    let (report, reports) = mpsc::channel();
    let window = Mutex::new(Window::new(warmup, duration));
    let count = AtomicU64::new(0);
    let subscriber = session
        .declare_subscriber(KEY)
        .callback(move |_sample| {
            // One link, so one caller at a time: no read-modify-write needed.
            let received = count.load(Ordering::Relaxed) + 1;
            count.store(received, Ordering::Relaxed);
            if received.is_multiple_of(Window::MARK_EVERY)
                && let Ok(mut window) = window.lock()
                && let Some(rate) = window.mark(received, Instant::now())
            {
                // Nobody waits for it after the deadline below.
                let _ = report.send(rate);
            }
        })
        .wait()?;
    ready();
    let rate = reports
        .recv_timeout(warmup + duration + GRACE)
        .map_err(|_| Failure::Run("too few messages came to fill the window".to_owned()))?;
    drop(subscriber);
    Ok(format!(
        r#"{{"role":"sub-thr","msgs_per_s":{:.0},"count":{},"seconds":{:.6}}}"#,
        rate.per_second(),
        rate.count,
        rate.seconds
    ))
}

/// Publishes the same payload for `--duration`, as fast as back-pressure lets it.
pub(crate) fn publish(mut arguments: Arguments) -> Outcome {
    let config = session::config(&mut arguments, "peer")?;
    let size: usize = arguments.required("--size")?;
    let duration = arguments.seconds("--duration", 5.0)?;
    let express = arguments.switch("--express");
    arguments.finish()?;

    let session = session::open(config)?;
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .express(express)
        .wait()?;
    let payload = ZBytes::from(vec![7; size]);
    let mut count: u64 = 0;
    let start = Instant::now();
    while start.elapsed() < duration {
        for _ in 0..PUTS_PER_CLOCK {
            publisher.put(payload.clone()).wait()?;
        }
        count += PUTS_PER_CLOCK;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!(r#"{{"role":"pub-thr","size":{size},"count":{count},"seconds":{seconds:.6}}}"#))
}
