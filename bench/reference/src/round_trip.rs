//! One message there and one back, at a time.
//!
//! The answer is taken in one of two ways. In the subscriber's callback, which sends the next ping itself: what it costs
//! to react where one receives. Or from the subscriber's channel by another thread, as the reference's example does:
//! that adds the waking of a thread.

use crate::session;
use bench_limits::{Arguments, Failure, Outcome, RoundTrips, ready, wait_for_end_of_stdin};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait as _};

const PING_KEY: &str = "test/ping";
const PONG_KEY: &str = "test/pong";

/// How long the other side may take to be reachable, and a single answer to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends every ping back from the callback that received it, until standard input ends.
pub(crate) fn pong(mut arguments: Arguments) -> Outcome {
    let config = session::config(&mut arguments, "peer")?;
    let express = arguments.switch("--express");
    arguments.finish()?;
    let session = session::open(config)?;
    let publisher = declare_publisher(&session, PONG_KEY, express)?;
    let subscriber = session
        .declare_subscriber(PING_KEY)
        .callback(move |sample| {
            // It fails only while the session closes, and then the other side notices by itself.
            let _ = publisher.put(sample.payload().clone()).wait();
        })
        .wait()?;
    ready();
    wait_for_end_of_stdin();
    drop(subscriber);
    Ok(r#"{"role":"pong"}"#.to_owned())
}

/// Measures `--count` round trips after `--warmup` others.
pub(crate) fn ping(mut arguments: Arguments) -> Outcome {
    let config = session::config(&mut arguments, "peer")?;
    let size: usize = arguments.required("--size")?;
    let count = arguments.value("--count")?.unwrap_or(10_000_usize).max(1);
    let warmup = arguments.value("--warmup")?.unwrap_or(1_000);
    let express = arguments.switch("--express");
    let answers: String = arguments.value("--answers")?.unwrap_or_else(|| "callback".to_owned());
    arguments.finish()?;
    let in_callback = match answers.as_str() {
        "callback" => true,
        "channel" => false,
        _ => return Err(Failure::Usage(format!("--answers {answers}: not callback or channel"))),
    };

    let session = session::open(config)?;
    let publisher = declare_publisher(&session, PING_KEY, express)?;
    let payload = ZBytes::from(vec![7; size]);
    let round_trips = RoundTrips::new(warmup, count);
    let round_trips = if in_callback {
        answered_in_callback(&session, publisher, payload, round_trips)?
    } else {
        answered_in_channel(&session, &publisher, &payload, round_trips)?
    };
    Ok(format!(
        r#"{{"role":"ping","size":{size},"answers":"{answers}",{}}}"#,
        round_trips.json_fields()
    ))
}

fn declare_publisher(
    session: &Session,
    key: &'static str,
    express: bool,
) -> Result<Publisher<'static>, Failure> {
    let publisher = session
        .declare_publisher(key)
        .congestion_control(CongestionControl::Block)
        .express(express)
        .wait()?;
    Ok(publisher)
}

fn answered_in_channel(
    session: &Session,
    publisher: &Publisher<'_>,
    payload: &ZBytes,
    mut round_trips: RoundTrips,
) -> Result<RoundTrips, Failure> {
    let subscriber = session.declare_subscriber(PONG_KEY).wait()?;
    let ping = || publisher.put(payload.clone()).wait();
    make_contact(ping, |timeout| matches!(subscriber.recv_timeout(timeout), Ok(Some(_))))?;
    loop {
        round_trips.depart();
        ping()?;
        subscriber.recv_timeout(PATIENCE)?.ok_or("an answer is missing")?;
        if !round_trips.arrive() {
            return Ok(round_trips);
        }
    }
}

fn answered_in_callback(
    session: &Session,
    publisher: Publisher<'static>,
    payload: ZBytes,
    round_trips: RoundTrips,
) -> Result<RoundTrips, Failure> {
    let (rally, answers) = Rally::new(publisher, payload);
    let rally = Arc::new(rally);
    let player = Arc::clone(&rally);
    let subscriber =
        session.declare_subscriber(PONG_KEY).callback(move |_sample| player.answered()).wait()?;
    make_contact(|| rally.ping(), |timeout| answers.recv_timeout(timeout).is_ok())?;
    let time_max = PATIENCE + round_trips.time_max();
    rally.start(round_trips)?;
    let round_trips = answers
        .recv_timeout(time_max)
        .ok()
        .flatten()
        .ok_or("the answers stopped, or came too slowly")?;
    drop(subscriber);
    Ok(round_trips)
}

/// Round trips that keep themselves going: each answer sends the next ping.
struct Rally {
    publisher: Publisher<'static>,
    payload: ZBytes,
    /// While it is empty, an answer sends nothing.
    round_trips: Mutex<Option<RoundTrips>>,
    /// Answers that sent nothing; the last one brings all that was measured.
    answers: Sender<Option<RoundTrips>>,
}

impl Rally {
    fn new(publisher: Publisher<'static>, payload: ZBytes) -> (Self, Receiver<Option<RoundTrips>>) {
        let (answers, receiver) = mpsc::channel();
        (Self { publisher, payload, round_trips: Mutex::new(None), answers }, receiver)
    }

    fn ping(&self) -> zenoh::Result<()> {
        self.publisher.put(self.payload.clone()).wait()
    }

    fn start(&self, mut round_trips: RoundTrips) -> zenoh::Result<()> {
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
            // A ping that is not sent is an answer that does not come: the deadline reports it.
            let _ = self.ping();
            return;
        }
        // Nobody waits for it after the deadline.
        let _ = self.answers.send(running.take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<RoundTrips>> {
        self.round_trips.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pings until an answer comes, then waits until none is on its way any more.
fn make_contact(
    ping: impl Fn() -> zenoh::Result<()>,
    answered_within: impl Fn(Duration) -> bool,
) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        ping()?;
        if answered_within(Duration::from_millis(100)) {
            break;
        }
        if Instant::now() > deadline {
            return Err(Failure::Run("nobody answers".to_owned()));
        }
    }
    while answered_within(Duration::from_millis(200)) {}
    Ok(())
}
