//! As many messages as pass, or so many a second: publishers in a loop, subscribers that count in their callbacks.

use crate::{
    Arguments, Failure, How, Mode, Network, Outcome, Pace, Place, Publish as _, Rate, Window,
    end_with_stdin, ready,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const KEY: &str = "test/thr";

/// How long after the window should have closed a subscriber still waits for messages.
const GRACE: Duration = Duration::from_secs(30);

/// The longest a subscriber waits for its first message.
const FIRST_MAX: Duration = Duration::from_secs(30);

/// Puts between two reads of the publisher's clock, of messages that take no time.
const PUTS_PER_CLOCK: u64 = 64;

/// Counts messages from the first one on, over all sessions, and reports the rate inside the window.
pub(crate) fn subscribe<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    let size: u64 = arguments.value("--size")?.unwrap_or(0);
    let sessions = arguments.value("--sessions")?.unwrap_or(1_u64).max(1);
    let keys = arguments.value("--keys")?.unwrap_or(1_usize);
    arguments.finish()?;
    end_with_stdin();

    let key = if keys > 1 { format!("{KEY}/**") } else { KEY.to_owned() };
    let (report, reports) = mpsc::channel();
    let total =
        Arc::new(Mutex::new(Total { count: 0, window: Window::new(warmup, duration), report }));
    let every = mark_every(size, sessions);
    let mut held = Vec::new();
    for _ in 0..sessions {
        let session = N::open(&place)?;
        let total = Arc::clone(&total);
        let count = AtomicU64::new(0);
        let subscriber = session.subscribe(&key, move |_message| {
            // One link, so one caller at a time: no read-modify-write needed.
            let received = count.load(Ordering::Relaxed) + 1;
            count.store(received, Ordering::Relaxed);
            if received.is_multiple_of(every) {
                total.lock().unwrap_or_else(PoisonError::into_inner).add(every);
            }
        })?;
        held.push((subscriber, session));
    }
    ready();
    let rate = reports
        .recv_timeout(warmup + duration + GRACE)
        .map_err(|_| Failure::Run("too few messages came to fill the window".to_owned()))?;
    Ok(format!(
        r#"{{"role":"sub-thr","msgs_per_s":{:.3},"count":{},"seconds":{:.6}}}"#,
        rate.per_second(),
        rate.count,
        rate.seconds
    ))
}

/// What all sessions of a subscriber have counted together.
struct Total {
    count: u64,
    window: Window,
    report: Sender<Rate>,
}

impl Total {
    fn add(&mut self, count: u64) {
        self.count += count;
        if let Some(rate) = self.window.mark(self.count, Instant::now()) {
            // Nobody waits for it after the deadline.
            let _ = self.report.send(rate);
        }
    }
}

/// Messages of one session from one look at the clock to the next: a clock read costs as much as receiving a small
/// message, and nothing beside a large one. Many sessions share the window, each gets few of the messages.
fn mark_every(size: u64, sessions: u64) -> u64 {
    const BYTES: u64 = 1 << 20;
    let alone = (BYTES / size.max(1)).clamp(1, Window::MARK_EVERY);
    if sessions == 1 { alone } else { alone.min((Window::MARK_EVERY / sessions).max(8)) }
}

/// Is ready when it has received a message, and ends.
pub(crate) fn subscribe_first<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    arguments.finish()?;
    let session = N::open(&place)?;
    let (first, firsts) = mpsc::channel();
    let subscriber = session.subscribe(KEY, move |_message| {
        // All but the first one are for nobody.
        let _ = first.send(());
    })?;
    firsts.recv_timeout(FIRST_MAX).map_err(|_| Failure::Run("no message came".to_owned()))?;
    ready();
    drop(subscriber);
    Ok(r#"{"role":"sub-first"}"#.to_owned())
}

/// Publishes the same payload for `--duration`: as fast as back-pressure lets it, or `--rate` a second.
pub(crate) fn publish<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    let size: usize = arguments.required("--size")?;
    let duration = arguments.seconds("--duration", 5.0)?;
    let rate: f64 = arguments.value("--rate")?.unwrap_or(0.0);
    let sessions = arguments.value("--sessions")?.unwrap_or(1_usize).max(1);
    let keys = arguments.value("--keys")?.unwrap_or(1_usize).max(1);
    let how = How::take(&mut arguments)?;
    arguments.finish()?;
    end_with_stdin();

    let flood = Flood { size, duration, rate: rate / sessions as f64 };
    let mut threads = Vec::new();
    for _ in 0..sessions {
        let evenly = Pace::new(flood.rate);
        let session = N::open(&place)?;
        let publishers = declare(&session, keys, how)?;
        threads.push(std::thread::spawn(move || {
            let count = flood.run::<N>(&publishers, evenly);
            drop(session);
            count
        }));
    }
    ready();
    let start = Instant::now();
    let mut count = 0;
    for thread in threads {
        count += thread.join().map_err(|_| Failure::Run("a publisher panicked".to_owned()))??;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!(r#"{{"role":"pub-thr","size":{size},"count":{count},"seconds":{seconds:.6}}}"#))
}

fn declare<N: Network>(session: &N, keys: usize, how: How) -> Result<Vec<N::Publisher>, Failure> {
    if keys == 1 {
        return Ok(vec![session.publisher(KEY, how)?]);
    }
    (0..keys).map(|key| session.publisher(&format!("{KEY}/{key}"), how)).collect()
}

/// Publishes bulk on the key of the subscribers until the process ends.
pub(crate) fn saturate<N: Network>(session: &N, size: usize) -> Result<(), Failure> {
    let publisher = session.publisher(KEY, How::default())?;
    let payload = N::payload(vec![7; size]);
    // It fails when the session closes, and then it is done.
    std::thread::spawn(move || while publisher.put(&payload).is_ok() {});
    Ok(())
}

/// Receives what [`saturate`] publishes.
pub(crate) fn drain<N: Network>(session: &N) -> Result<N::Held, Failure> {
    session.subscribe(KEY, |_message| ())
}

/// What one publishing session does.
#[derive(Clone, Copy)]
struct Flood {
    size: usize,
    duration: Duration,
    rate: f64,
}

impl Flood {
    /// Returns the number of messages.
    fn run<N: Network>(self, publishers: &[N::Publisher], mut pace: Pace) -> Result<u64, Failure> {
        let payload = N::payload(vec![7; self.size]);
        // One put of a large message takes longer than the clock.
        let burst = if pace.is_set() || self.size > 1 << 16 { 1 } else { PUTS_PER_CLOCK };
        let mut next = publishers.iter().cycle();
        let mut count: u64 = 0;
        let start = Instant::now();
        while start.elapsed() < self.duration {
            pace.wait();
            for publisher in next.by_ref().take(burst as usize) {
                publisher.put(&payload)?;
            }
            count += burst;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_read_seldom_enough_to_cost_nothing_and_often_enough_to_be_exact() {
        assert_eq!((mark_every(8, 1), mark_every(0, 1)), (256, 256));
        assert_eq!((mark_every(8 << 10, 1), mark_every(512 << 20, 1)), (128, 1));
        assert_eq!(
            (mark_every(64, 10), mark_every(64, 1000), mark_every(1 << 20, 100)),
            (25, 8, 1)
        );
    }
}
