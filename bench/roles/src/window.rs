//! A rate over a window of time, measured where the items arrive.
//!
//! Not here: the clock and the counting. The caller hands in both, as seldom as it likes: a clock read costs as much as
//! receiving a small message, so a counting callback reads it only at each [`Window::MARK_EVERY`]-th message.
//!
//! ```text
//! first mark         first mark after `warmup`         first mark after `duration`
//!     |------ warmup ------|------------ measured ------------|
//! ```

use std::time::{Duration, Instant};

/// Finds the first and the last item of the measured window.
#[derive(Debug)]
pub struct Window {
    warmup: Duration,
    duration: Duration,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Waiting,
    Warmup { since: Instant },
    Measuring { since: Instant, count: u64 },
    Over,
}

/// What passed inside the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Items between the first and the last mark.
    pub count: u64,
    /// Time between them; never zero for a `duration` above zero.
    pub seconds: f64,
}

impl Window {
    /// How many messages may pass between two marks: few enough for a tenth of a percent, and a clock read among that
    /// many costs nothing.
    pub const MARK_EVERY: u64 = 256;

    /// A window that opens `warmup` after the first mark and stays open for `duration`.
    pub fn new(warmup: Duration, duration: Duration) -> Self {
        Self { warmup, duration, phase: Phase::Waiting }
    }

    /// Says that `count` items have arrived since the start. Returns the rate at the mark that closes the window, once.
    pub fn mark(&mut self, count: u64, now: Instant) -> Option<Rate> {
        match self.phase {
            Phase::Waiting => self.phase = Phase::Warmup { since: now },
            Phase::Warmup { since } if now - since >= self.warmup => {
                self.phase = Phase::Measuring { since: now, count };
            }
            Phase::Measuring { since, count: first } if now - since >= self.duration => {
                self.phase = Phase::Over;
                return Some(Rate { count: count - first, seconds: (now - since).as_secs_f64() });
            }
            Phase::Warmup { .. } | Phase::Measuring { .. } | Phase::Over => {}
        }
        None
    }
}

impl Rate {
    /// Items per second.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub fn per_second(&self) -> f64 {
        self.count as f64 / self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_first_and_the_last_mark_of_the_window_counts() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut window = Window::new(Duration::from_secs(1), Duration::from_secs(2));
        for (count, ms) in [(256, 5_000), (512, 5_999), (1_000, 6_100), (2_000, 8_099)] {
            assert_eq!(window.mark(count, at(ms)), None);
        }
        let rate = window.mark(3_000, at(8_600)).expect("two seconds have passed in the window");
        assert_eq!(rate, Rate { count: 2_000, seconds: 2.5 });
        assert!((rate.per_second() - 800.0).abs() < 1e-9);
        assert_eq!(window.mark(9_000, at(20_000)), None);
    }
}
