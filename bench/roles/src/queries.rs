//! Questions and answers: one at a time, or so many in flight.

use crate::{
    Arguments, Failure, Mode, Network, Outcome, Place, Rate, Window, end_with_stdin, ready,
    wait_for_end_of_stdin,
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const KEY: &str = "test/get";

/// How long somebody who answers may take to be known.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers every question until standard input ends.
pub(crate) fn answer<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    let size = arguments.value("--size")?.unwrap_or(8_usize);
    arguments.finish()?;
    let session = N::open(&place)?;
    let held = session.answer(KEY, size)?;
    ready();
    wait_for_end_of_stdin();
    drop(held);
    Ok(r#"{"role":"queryable"}"#.to_owned())
}

/// Asks for `--duration` after `--warmup`, with up to `--in-flight` questions open, and reports how many were answered.
pub(crate) fn ask<N: Network>(mut arguments: Arguments) -> Outcome {
    let place = Place::take(&mut arguments, Mode::Peer)?;
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    let in_flight = arguments.value("--in-flight")?.unwrap_or(1_usize).max(1);
    arguments.finish()?;
    end_with_stdin();
    let session = N::open(&place)?;
    make_contact(&session)?;
    let window = Window::new(warmup, duration);
    let rate = if in_flight == 1 {
        one_by_one(&session, window)?
    } else {
        many(&session, window, in_flight)?
    };
    Ok(format!(
        r#"{{"role":"get","in_flight":{in_flight},"gets_per_s":{:.3},"count":{}}}"#,
        rate.per_second(),
        rate.count
    ))
}

/// Asks until somebody answers.
pub(crate) fn make_contact<N: Network>(session: &N) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !session.ask(KEY)? {
        if Instant::now() > deadline {
            return Err(Failure::Run("nobody answers".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn one_by_one<N: Network>(session: &N, mut window: Window) -> Result<Rate, Failure> {
    let mut count = 0;
    loop {
        if !session.ask(KEY)? {
            return Err(Failure::Run("an answer is missing".to_owned()));
        }
        count += 1;
        if let Some(rate) = window.mark(count, Instant::now()) {
            return Ok(rate);
        }
    }
}

fn many<N: Network>(session: &N, mut window: Window, in_flight: usize) -> Result<Rate, Failure> {
    let open = Arc::new(Open::default());
    let mut asked: u64 = 0;
    loop {
        let closed = Arc::clone(&open);
        open.wait_for_room(in_flight)?;
        session.ask_then(KEY, move || closed.close(in_flight))?;
        asked += 1;
        if asked.is_multiple_of(16) {
            let answered = asked - open.count() as u64;
            if let Some(rate) = window.mark(answered, Instant::now()) {
                return Ok(rate);
            }
        }
    }
}

/// How many questions are open.
#[derive(Default)]
struct Open {
    count: Mutex<usize>,
    room: Condvar,
}

impl Open {
    fn wait_for_room(&self, max: usize) -> Result<(), Failure> {
        let (mut count, waited) = self
            .room
            .wait_timeout_while(self.lock(), PATIENCE, |count| *count >= max)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(Failure::Run("the answers stopped".to_owned()));
        }
        *count += 1;
        Ok(())
    }

    fn close(&self, max: usize) {
        let mut count = self.lock();
        *count -= 1;
        // One wake-up for a sixteenth of them, as an application would that cares.
        if *count == max - max.div_ceil(16) {
            self.room.notify_one();
        }
    }

    fn count(&self) -> usize {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_room_gets_it_when_a_sixteenth_is_closed() {
        let open = Arc::new(Open::default());
        for _ in 0..32 {
            open.wait_for_room(32).unwrap();
        }
        let closing = Arc::clone(&open);
        let closer = std::thread::spawn(move || (0..2).for_each(|_| closing.close(32)));
        open.wait_for_room(32).unwrap();
        closer.join().unwrap();
        assert_eq!(open.count(), 31);
    }
}
