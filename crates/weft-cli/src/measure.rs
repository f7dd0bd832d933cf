//! Rates and round trips, as `demo`, `ping` and `bench` measure them.
//!
//! Not here: who counts, and the clock: the caller hands in both, as seldom as it likes.

use std::time::{Duration, Instant};

/// Finds the first and the last message of a window of time.
///
/// ```text
/// first mark         first mark after `warmup`         first mark after `duration`
///     |------ warmup ------|------------ measured ------------|
/// ```
#[derive(Debug)]
pub(crate) struct Window {
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

/// What passed inside of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Messages between its first and its last mark.
    pub(crate) count: u64,
    /// Time between them.
    pub(crate) seconds: f64,
}

impl Window {
    /// Messages from one mark to the next: a clock read costs as much as receiving a small message.
    pub(crate) const MARK_EVERY: u64 = 256;

    /// A window that opens `warmup` after the first mark and stays open for `duration`.
    pub(crate) const fn new(warmup: Duration, duration: Duration) -> Self {
        Self { warmup, duration, phase: Phase::Waiting }
    }

    /// Says that `count` messages have come since the start. Gives the rate at the mark that closes the window, once.
    pub(crate) fn mark(&mut self, count: u64, now: Instant) -> Option<Rate> {
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
    /// Messages per second.
    pub(crate) fn per_second(self) -> f64 {
        self.count as f64 / self.seconds
    }
}

/// Times round trips, one at a time.
#[derive(Debug)]
pub(crate) struct RoundTrips {
    warmup: usize,
    count: usize,
    arrived: usize,
    sent: Instant,
    samples: Vec<Duration>,
}

impl RoundTrips {
    /// Will measure `count` round trips after `warmup` that do not count. Allocates all that it needs.
    pub(crate) fn new(warmup: usize, count: usize) -> Self {
        Self { warmup, count, arrived: 0, sent: Instant::now(), samples: Vec::with_capacity(count) }
    }

    /// To be called right before a ping is sent.
    pub(crate) fn depart(&mut self) {
        self.sent = Instant::now();
    }

    /// To be called right after its answer came. Whether there is another one to send.
    pub(crate) fn arrive(&mut self) -> bool {
        let sample = self.sent.elapsed();
        self.arrived += 1;
        if self.arrived > self.warmup && self.samples.len() < self.count {
            self.samples.push(sample);
        }
        self.samples.len() < self.count
    }

    /// Answers so far, with those that do not count.
    pub(crate) const fn arrived(&self) -> usize {
        self.arrived
    }

    /// What was measured, in order.
    pub(crate) fn samples(&self) -> &[Duration] {
        &self.samples
    }

    /// What was measured; `None` if nothing was.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().map(us)
        };
        Some(Summary {
            count: sorted.len(),
            min_us: percentile(0)?,
            p50_us: percentile(50)?,
            p90_us: percentile(90)?,
            p99_us: percentile(99)?,
        })
    }
}

/// Percentiles of round trips by nearest rank, in microseconds to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) count: usize,
    pub(crate) min_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
}

/// Microseconds to the nanosecond.
pub(crate) fn us(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1000.0
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
        let rate = window.mark(3_000, at(8_600)).unwrap();
        assert_eq!(rate, Rate { count: 2_000, seconds: 2.5 });
        assert!((rate.per_second() - 800.0).abs() < 1e-9);
        assert_eq!(window.mark(9_000, at(20_000)), None);
    }

    #[test]
    fn the_warm_up_is_not_among_the_round_trips() {
        let mut round_trips = RoundTrips::new(2, 3);
        let mut sent = 1;
        while round_trips.arrive() {
            sent += 1;
        }
        assert_eq!((sent, round_trips.samples().len()), (5, 3));
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut round_trips = RoundTrips::new(0, 200);
        assert_eq!(round_trips.summary(), None);
        round_trips.samples = (1..=200).rev().map(Duration::from_micros).collect();
        let summary =
            Summary { count: 200, min_us: 1.0, p50_us: 100.0, p90_us: 180.0, p99_us: 198.0 };
        assert_eq!(round_trips.summary(), Some(summary));
    }
}
