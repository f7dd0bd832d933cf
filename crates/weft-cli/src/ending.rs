//! When a command ends: by a signal, after a number of results, after some time, or because it is done.
//!
//! Not here: what is done then. The main thread waits here and then closes its session; callbacks of other threads count
//! their results here.
//!
//! The first SIGINT or SIGTERM ends the command in order, and the second one the process.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments::seconds;
use crate::failure::Failure;

/// When a command ends by itself.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "End")]
pub(crate) struct Limits {
    /// Ends after this many results
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) time: TimeLimit,
}

/// When a command without results ends by itself.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "End")]
pub(crate) struct TimeLimit {
    /// Ends after this time, in which the session opens, too
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: Option<Duration>,
}

impl Limits {
    /// A limit of time only.
    pub(crate) const fn of_time(duration: Option<Duration>) -> Self {
        Self { count: None, time: TimeLimit { duration } }
    }
}

/// Why a command ends before its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A signal came.
    Signal(i32),
    /// It has done all it has to do, or as much as it may.
    Done,
    /// Nobody reads its results.
    OutputClosed,
}

/// The end of a command; clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Ending(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Results that may still be shown; `u64::MAX` is without end.
    remaining: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    reason: Option<Reason>,
    deadline: Option<Instant>,
}

impl Ending {
    /// An end that is not in sight.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            remaining: AtomicU64::new(u64::MAX),
        }))
    }

    /// From here on the first signal ends what waits here, and the second one the process.
    ///
    /// # Errors
    /// If the system allows no handler or no thread.
    pub(crate) fn on_signals(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let ending = self.clone();
        let wait = move || {
            let mut signals = signals.forever();
            if let Some(first) = signals.next() {
                ending.end(Reason::Signal(first));
            }
            if let Some(second) = signals.next() {
                std::process::exit(128 + second);
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait)?;
        Ok(())
    }

    /// Sets the limits; the time counts from here.
    pub(crate) fn limit(&self, limits: Limits) {
        self.0.remaining.store(limits.count.unwrap_or(u64::MAX), Ordering::Release);
        let deadline = limits.time.duration.and_then(|it| Instant::now().checked_add(it));
        self.lock().deadline = deadline;
    }

    /// Ends the command. The first reason counts.
    pub(crate) fn end(&self, reason: Reason) {
        self.lock().reason.get_or_insert(reason);
        self.0.changed.notify_all();
    }

    /// Shows one result, unless there were enough; ends the command with the last one.
    pub(crate) fn counted(&self, show: impl FnOnce()) {
        let less = |left: u64| match left {
            u64::MAX => Some(left),
            _ => left.checked_sub(1),
        };
        let remaining = &self.0.remaining;
        let Ok(left) = remaining.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) else {
            return;
        };
        show();
        if left == 1 {
            self.end(Reason::Done);
        }
    }

    /// An error if a signal came.
    pub(crate) fn check_signal(&self) -> Result<(), Failure> {
        match self.lock().reason {
            Some(Reason::Signal(signal)) => Err(Failure::Signal(signal)),
            _ => Ok(()),
        }
    }

    /// The outcome of a command; if it failed after a signal came, that is why.
    pub(crate) fn explain<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        outcome.or_else(|failure| self.check_signal().and(Err(failure)))
    }

    /// Whether it is the end.
    pub(crate) fn is_here(&self) -> bool {
        let state = self.lock();
        state.reason.is_some() || state.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Waits for the end.
    pub(crate) fn wait(&self) {
        let mut state = self.lock();
        while state.reason.is_none() {
            state = match state.deadline.map(|it| it.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return,
                Some(left) => self.wait_for_change(state, left),
                None => self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Waits for `time` or for the end; whether it was not the end.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            if state.reason.is_some() || state.deadline.is_some_and(|deadline| deadline <= now) {
                return false;
            }
            if until <= now {
                return true;
            }
            let until = state.deadline.map_or(until, |deadline| deadline.min(until));
            state = self.wait_for_change(state, until - now);
        }
    }

    fn wait_for_change<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> MutexGuard<'a, State> {
        self.0.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(count: Option<u64>, duration: Option<Duration>) -> Limits {
        Limits { count, time: TimeLimit { duration } }
    }

    #[test]
    fn the_last_result_is_the_end_and_no_further_one_is_shown() {
        let ending = Ending::new();
        ending.limit(limits(Some(2), None));
        let mut shown = 0;
        ending.counted(|| shown += 1);
        assert!(!ending.is_here());
        ending.counted(|| shown += 1);
        ending.counted(|| shown += 1);
        ending.wait();
        assert_eq!(shown, 2);
    }

    #[test]
    fn without_a_limit_results_go_on() {
        let ending = Ending::new();
        ending.limit(Limits::default());
        for _ in 0..1000 {
            ending.counted(|| ());
        }
        assert!(!ending.is_here());
        assert!(ending.pause(Duration::ZERO));
    }

    #[test]
    fn time_ends_it_and_pauses_in_it() {
        let ending = Ending::new();
        ending.limit(limits(None, Some(Duration::from_millis(5))));
        assert!(!ending.pause(Duration::from_secs(60)));
        assert!(ending.is_here());
        ending.wait();
        assert!(ending.check_signal().is_ok());
    }

    #[test]
    fn the_first_reason_counts() {
        let ending = Ending::new();
        ending.end(Reason::Signal(2));
        ending.end(Reason::Done);
        ending.wait();
        assert!(matches!(ending.check_signal(), Err(Failure::Signal(2))));
        assert!(!ending.pause(Duration::from_secs(60)));

        let ending = Ending::new();
        ending.end(Reason::OutputClosed);
        ending.end(Reason::Signal(2));
        assert!(ending.is_here() && ending.check_signal().is_ok());
    }
}
