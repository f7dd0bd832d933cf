//! One message there and one back: one at a time, each answer sending the next one, or so many a second.

use crate::throughput::{drain, saturate};
use crate::{
    Arguments, Failure, How, Mode, Network, Outcome, Pace, Place, Publish, RoundTrips, ready,
    wait_for_end_of_stdin,
};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const PING_KEY: &str = "test/ping";
const PONG_KEY: &str = "test/pong";

/// How long the other side may take to be reachable, and a single answer to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends every ping back from the callback that received it, until standard input ends. With `--bulk`, it receives the
/// bulk that `ping` publishes beside.
pub(crate) fn pong<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    let how = How::take(&mut arguments)?;
    let is_bulk = arguments.switch("--bulk");
    arguments.finish()?;
    let session = N::open(&place)?;
    let bulk = if is_bulk { Some(drain(&session)?) } else { None };
    let echo = session.echo(PING_KEY, PONG_KEY, how)?;
    ready();
    wait_for_end_of_stdin();
    drop((echo, bulk));
    Ok(r#"{"role":"pong"}"#.to_owned())
}

/// Measures `--count` round trips after `--warmup` others: back to back, or `--rate` a second. With `--bulk SIZE`, the
/// same session publishes as many messages of that size as pass.
pub(crate) fn ping<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    let size: usize = arguments.required("--size")?;
    let count = arguments.value("--count")?.unwrap_or(10_000_usize).max(1);
    let warmup = arguments.value("--warmup")?.unwrap_or(1_000);
    let rate: f64 = arguments.value("--rate")?.unwrap_or(0.0);
    let bulk: Option<usize> = arguments.value("--bulk")?;
    let how = How::take(&mut arguments)?;
    arguments.finish()?;

    let session = N::open(&place)?;
    let publisher = session.publisher(PING_KEY, how)?;
    let (answer, answers) = mpsc::channel();
    let game = Arc::new(Game { publisher, start: Instant::now(), state: Mutex::default(), answer });
    let counting = Arc::clone(&game);
    let payload = N::payload(vec![7; size]);
    let serve = N::payload(vec![7; size]);
    let held =
        session.subscribe(PONG_KEY, move |message| counting.answered(message.stamp(), &payload))?;
    game.make_contact(&serve, &answers)?;
    if let Some(size) = bulk {
        saturate(&session, size)?;
    }
    let round_trips = RoundTrips::new(warmup, count);
    let time_max = PATIENCE + round_trips.time_max() + round_trips.time_at(rate);
    if rate > 0.0 {
        game.serve_at::<N>(Pace::new(rate), size, round_trips, time_max)?;
    } else {
        game.serve_once(&serve, round_trips)?;
    }
    let round_trips = measured(&answers, time_max)?;
    drop(held);
    Ok(format!(r#"{{"role":"ping","size":{size},{}}}"#, round_trips.json_fields()))
}

/// Waits for all that was measured; late answers from before may come first.
fn measured(
    answers: &Receiver<Option<RoundTrips>>,
    time_max: Duration,
) -> Result<RoundTrips, Failure> {
    let deadline = Instant::now() + time_max;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match answers.recv_timeout(left) {
            Ok(Some(round_trips)) => return Ok(round_trips),
            Ok(None) => {}
            Err(_) => return Err("the answers stopped, or came too slowly".into()),
        }
    }
}

/// Round trips, counted where the answers arrive.
struct Game<P> {
    publisher: P,
    /// The origin of the stamps.
    start: Instant,
    state: Mutex<State>,
    /// Answers outside of a measurement; the last one brings all that was measured.
    answer: Sender<Option<RoundTrips>>,
}

#[derive(Default)]
enum State {
    /// Nothing is measured.
    #[default]
    Idle,
    /// Each answer sends the next ping.
    BackToBack(RoundTrips),
    /// Pings are sent by the clock, and carry the time.
    Paced(RoundTrips),
}

impl<P: Publish> Game<P> {
    /// Pings until an answer comes, then waits until none is on its way any more.
    fn make_contact(
        &self,
        payload: &P::Payload,
        answers: &Receiver<Option<RoundTrips>>,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.publisher.put(payload)?;
            if answers.recv_timeout(Duration::from_millis(100)).is_ok() {
                break;
            }
            if Instant::now() > deadline {
                return Err(Failure::Run("nobody answers".to_owned()));
            }
        }
        while answers.recv_timeout(Duration::from_millis(200)).is_ok() {}
        Ok(())
    }

    fn serve_once(&self, payload: &P::Payload, mut round_trips: RoundTrips) -> Result<(), Failure> {
        round_trips.depart();
        *self.lock() = State::BackToBack(round_trips);
        self.publisher.put(payload)
    }

    /// Sends by the clock until all are measured, or it takes too long.
    fn serve_at<N: Network<Payload = P::Payload>>(
        &self,
        mut pace: Pace,
        size: usize,
        round_trips: RoundTrips,
        time_max: Duration,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + time_max;
        *self.lock() = State::Paced(round_trips);
        let mut bytes = vec![7; size.max(8)];
        while !matches!(*self.lock(), State::Idle) && Instant::now() < deadline {
            pace.wait();
            bytes[..8].copy_from_slice(&self.now().to_le_bytes());
            self.publisher.put(&N::payload(bytes.clone()))?;
        }
        Ok(())
    }

    fn answered(&self, stamp: u64, payload: &P::Payload) {
        let mut state = self.lock();
        let more = match &mut *state {
            State::Idle => false,
            State::BackToBack(round_trips) => {
                let more = round_trips.arrive();
                if more {
                    round_trips.depart();
                    drop(state);
                    // A ping that is not sent is an answer that does not come: the deadline reports it.
                    let _ = self.publisher.put(payload);
                    return;
                }
                more
            }
            State::Paced(round_trips) => {
                round_trips.record(Duration::from_nanos(self.now().saturating_sub(stamp)))
            }
        };
        if !more {
            let measured = match std::mem::take(&mut *state) {
                State::Idle => None,
                State::BackToBack(round_trips) | State::Paced(round_trips) => Some(round_trips),
            };
            // Nobody waits for it after the deadline.
            let _ = self.answer.send(measured);
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
