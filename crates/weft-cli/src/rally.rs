//! One message there and one back, at a time: what `ping`, `pong`, `demo` and `bench` share.
//!
//! The answer is taken in one of two ways. In the subscriber's callback, which sends the next ping itself: what it costs
//! to react where one receives. Or from the subscriber's channel by another thread: that adds the waking of a thread.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use weft::{CongestionControl, Publisher, Session, Subscriber};

use crate::failure::Failure;
use crate::measure::RoundTrips;

const PING_KEY: &str = "test/ping";
const PONG_KEY: &str = "test/pong";

/// How long the other side may take to be reachable, and a single answer to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// From one ping to the next while nobody has answered, and from one look at the progress to the next.
const CONTACT_INTERVAL: Duration = Duration::from_millis(100);

/// How long it must be silent before pings are counted.
const SILENCE: Duration = Duration::from_millis(200);

/// Where answers are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answers {
    /// In the callback that receives them
    Callback,
    /// On the main thread, from a channel
    Channel,
}

/// What is sent, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pings {
    /// Bytes of payload.
    pub(crate) size: usize,
    pub(crate) is_express: bool,
    pub(crate) answers: Answers,
}

/// Answers every ping from the callback that receives it, for as long as the result lives. Calls `answered` after each.
pub(crate) fn pong(
    session: &Session,
    is_express: bool,
    answered: impl Fn() + Send + Sync + 'static,
) -> Result<Subscriber<()>, Failure> {
    let publisher = publisher(session, PONG_KEY, is_express)?;
    let subscriber = session.declare_subscriber(PING_KEY).callback(move |ping| {
        // It fails only while the session closes, and then the other side notices by itself.
        let _ = publisher.put_bytes(ping.payload());
        answered();
    });
    Ok(subscriber.wait()?)
}

/// Measures round trips until there are enough or `is_over`.
///
/// # Errors
/// If nobody answers, or an answer is missing.
pub(crate) fn ping(
    session: &Session,
    pings: Pings,
    round_trips: RoundTrips,
    is_over: impl Fn() -> bool,
) -> Result<RoundTrips, Failure> {
    let publisher = publisher(session, PING_KEY, pings.is_express)?;
    let payload = vec![7; pings.size];
    match pings.answers {
        Answers::Callback => in_callback(session, publisher, payload, round_trips, &is_over),
        Answers::Channel => in_channel(session, &publisher, &payload, round_trips, &is_over),
    }
}

fn publisher(session: &Session, key: &'static str, is_express: bool) -> Result<Publisher, Failure> {
    let publisher = session.declare_publisher(key).express(is_express);
    Ok(publisher.congestion_control(CongestionControl::Block).wait()?)
}

fn in_channel(
    session: &Session,
    publisher: &Publisher,
    payload: &[u8],
    mut round_trips: RoundTrips,
    is_over: &impl Fn() -> bool,
) -> Result<RoundTrips, Failure> {
    let subscriber = session.declare_subscriber(PONG_KEY).wait()?;
    let answer = |timeout| matches!(subscriber.recv_timeout(timeout), Ok(Some(_)));
    make_contact(|| publisher.put_bytes(payload), answer, is_over)?;
    while !is_over() {
        round_trips.depart();
        publisher.put_bytes(payload)?;
        let deadline = Instant::now() + PATIENCE;
        while !answer(CONTACT_INTERVAL) {
            if is_over() {
                return Ok(round_trips);
            }
            if Instant::now() > deadline {
                return Err(missing());
            }
        }
        if !round_trips.arrive() {
            break;
        }
    }
    Ok(round_trips)
}

fn in_callback(
    session: &Session,
    publisher: Publisher,
    payload: Vec<u8>,
    round_trips: RoundTrips,
    is_over: &impl Fn() -> bool,
) -> Result<RoundTrips, Failure> {
    let (rally, answers) = Rally::new(publisher, payload);
    let rally = Arc::new(rally);
    let player = Arc::clone(&rally);
    let subscriber =
        session.declare_subscriber(PONG_KEY).callback(move |_answer| player.answered()).wait()?;
    make_contact(|| rally.ping(), |timeout| answers.recv_timeout(timeout).is_ok(), is_over)?;
    if is_over() {
        return Ok(round_trips);
    }
    rally.start(round_trips)?;
    let round_trips = rally.wait(&answers, is_over);
    drop(subscriber);
    round_trips
}

/// Round trips that keep themselves going: each answer sends the next ping.
struct Rally {
    publisher: Publisher,
    payload: Vec<u8>,
    /// While it is empty, an answer sends nothing.
    round_trips: Mutex<Option<RoundTrips>>,
    /// Answers that sent nothing; the last one brings all that was measured.
    answers: Sender<Option<RoundTrips>>,
}

impl Rally {
    fn new(publisher: Publisher, payload: Vec<u8>) -> (Self, Receiver<Option<RoundTrips>>) {
        let (answers, receiver) = mpsc::channel();
        (Self { publisher, payload, round_trips: Mutex::new(None), answers }, receiver)
    }

    fn ping(&self) -> weft::Result<()> {
        self.publisher.put_bytes(&self.payload)
    }

    fn start(&self, mut round_trips: RoundTrips) -> weft::Result<()> {
        round_trips.depart();
        *self.lock() = Some(round_trips);
        self.ping()
    }

    fn answered(&self) {
        let mut running = self.lock();
        if let Some(round_trips) = running.as_mut()
            && round_trips.arrive()
        {
            round_trips.depart();
            drop(running);
            // A ping that is not sent is an answer that does not come, and that is noticed.
            let _ = self.ping();
            return;
        }
        // Nobody waits for it after the end.
        let _ = self.answers.send(running.take());
    }

    /// Waits until all is measured, or for what is measured when it `is_over`.
    fn wait(
        &self,
        answers: &Receiver<Option<RoundTrips>>,
        is_over: &impl Fn() -> bool,
    ) -> Result<RoundTrips, Failure> {
        let mut progress = (0, Instant::now());
        loop {
            if let Ok(Some(all)) = answers.recv_timeout(CONTACT_INTERVAL) {
                return Ok(all);
            }
            let mut running = self.lock();
            // Between its last answer and here it may have ended by itself.
            let Some(arrived) = running.as_ref().map(RoundTrips::arrived) else { continue };
            if is_over() {
                return running.take().ok_or_else(missing);
            }
            if arrived != progress.0 {
                progress = (arrived, Instant::now());
            } else if progress.1.elapsed() > PATIENCE {
                return Err(missing());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<RoundTrips>> {
        self.round_trips.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing() -> Failure {
    Failure::Run(format!("no answer for {} s", PATIENCE.as_secs()))
}

/// Pings until an answer comes, then waits until none is on its way any more.
///
/// # Errors
/// If nobody answers.
fn make_contact(
    ping: impl Fn() -> weft::Result<()>,
    answered_within: impl Fn(Duration) -> bool,
    is_over: &impl Fn() -> bool,
) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        ping()?;
        if answered_within(CONTACT_INTERVAL) || is_over() {
            break;
        }
        if Instant::now() > deadline {
            return Err(Failure::Run(format!("nobody answers on `{PONG_KEY}`")));
        }
    }
    while answered_within(SILENCE) {}
    Ok(())
}
