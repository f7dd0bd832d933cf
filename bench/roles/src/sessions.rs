//! What comes with sessions: routers, many sessions at once, and what they declare.

use crate::{
    Arguments, Failure, Mode, Network, Outcome, Place, Publish as _, Rate, Window, end_with_stdin,
    ready, wait_for_end_of_stdin,
};
use crate::{How, queries};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Forwards for others until standard input ends.
pub(crate) fn route<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Router)?;
    arguments.finish()?;
    let session = N::open(&place)?;
    ready();
    wait_for_end_of_stdin();
    drop(session);
    Ok(r#"{"role":"router"}"#.to_owned())
}

/// Messages that a busy session has received before it counts as busy.
const BUSY_MESSAGES: usize = 16;

/// How often a session is opened again that could not be.
const OPENED_AGAIN: usize = 5;

/// The longest that messages of busy sessions may take altogether.
const BUSY_MAX: Duration = Duration::from_secs(60);

/// Holds `--sessions` open until standard input ends. With `--busy`, each has a subscriber, and a publisher to the
/// subscriber of the next one, and messages have gone round.
pub(crate) fn open<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Client)?;
    let count = arguments.value("--sessions")?.unwrap_or(1_usize);
    let is_busy = arguments.switch("--busy");
    arguments.finish()?;
    end_with_stdin();
    let sessions = (0..count).map(|_| open_patiently(&place)).collect::<Result<Vec<N>, _>>()?;
    let arrived = Arc::new(AtomicUsize::new(0));
    let ring = if is_busy { in_a_ring(&sessions, &arrived)? } else { Vec::new() };
    let payload = N::payload(vec![7; 64]);
    let deadline = Instant::now() + BUSY_MAX;
    while arrived.load(Ordering::Relaxed) < ring.len() * BUSY_MESSAGES {
        for (_, publisher) in &ring {
            publisher.put(&payload)?;
        }
        if Instant::now() > deadline {
            return Err("the messages of busy sessions did not come".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    ready();
    wait_for_end_of_stdin();
    // Closing thousands of sessions in order is not measured.
    std::process::exit(0);
}

/// Messages of `--size` bytes from each of `--sessions` to the next, as fast as back-pressure lets one thread publish them
/// all in turn. Is ready when some have arrived; reports the rate inside the window, and how many came altogether.
pub(crate) fn exchange<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Client)?;
    let count = arguments.value("--sessions")?.unwrap_or(2_usize);
    let size = arguments.value("--size")?.unwrap_or(64_usize);
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    arguments.finish()?;
    end_with_stdin();
    let sessions = (0..count).map(|_| open_patiently(&place)).collect::<Result<Vec<N>, _>>()?;
    let arrived = Arc::new(AtomicUsize::new(0));
    let ring = in_a_ring(&sessions, &arrived)?;
    let payload = N::payload(vec![7; size]);
    let deadline = Instant::now() + warmup + duration + BUSY_MAX;
    let mut window = Window::new(warmup, duration);
    let mut is_ready = false;
    loop {
        for (_, publisher) in &ring {
            publisher.put(&payload)?;
        }
        let (count, now) = (arrived.load(Ordering::Relaxed), Instant::now());
        if count == 0 {
            if now > deadline {
                return Err("the messages of busy sessions did not come".into());
            }
            continue;
        }
        if !std::mem::replace(&mut is_ready, true) {
            ready();
        }
        if let Some(rate) = window.mark(count as u64, now) {
            let rate = rate.per_second();
            return Ok(format!(r#"{{"role":"exchange","msgs_per_s":{rate:.3},"arrived":{count}}}"#));
        }
    }
}

/// Lets each session publish to a subscriber of the next. What arrives is counted.
fn in_a_ring<N: Network>(
    sessions: &[N],
    arrived: &Arc<AtomicUsize>,
) -> Result<Vec<(N::Held, N::Publisher)>, Failure> {
    // Keys differ between processes, too.
    let key = |at: usize| format!("test/busy/{}/{}", std::process::id(), at % sessions.len());
    let mut ring = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let arrived = Arc::clone(arrived);
        let subscriber = session.subscribe(&key(at), move |_message| {
            arrived.fetch_add(1, Ordering::Relaxed);
        })?;
        ring.push((subscriber, session.publisher(&key(at + 1), How::default())?));
    }
    Ok(ring)
}

/// Opens a session, again if a router that thousands knock at was too busy.
fn open_patiently<N: Network>(place: &Place) -> Result<N, Failure> {
    for _ in 0..OPENED_AGAIN {
        if let Ok(session) = N::open(place) {
            return Ok(session);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    N::open(place)
}

/// Subscribers that are declared and undeclared between two questions.
const DECLARATIONS: usize = 1000;

/// Declares subscribers on keys of their own and undeclares them for `--duration`, and reports how many of either the
/// other nodes have taken in a second: between two bursts, a question has to be answered, which travels behind them.
pub(crate) fn declare<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Client)?;
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    arguments.finish()?;
    end_with_stdin();
    let session = N::open(&place)?;
    queries::make_contact(&session)?;
    let mut window = Window::new(warmup, duration);
    let mut count = 0;
    let rate: Rate = loop {
        let declare = |at| session.subscribe(&format!("test/declare/{at}"), |_message| ());
        let held = (0..DECLARATIONS).map(declare).collect::<Result<Vec<_>, _>>()?;
        drop(held);
        if !session.ask(queries::KEY)? {
            return Err("an answer is missing".into());
        }
        count += 2 * DECLARATIONS as u64;
        if let Some(rate) = window.mark(count, Instant::now()) {
            break rate;
        }
    };
    Ok(format!(
        r#"{{"role":"declare","declarations_per_s":{:.3},"count":{}}}"#,
        rate.per_second(),
        rate.count
    ))
}
