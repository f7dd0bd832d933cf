//! Round trips, one at a time: the warm-up, the samples and their percentiles.

use std::time::{Duration, Instant};

/// Counts and times round trips.
#[derive(Debug)]
pub struct RoundTrips {
    warmup: usize,
    count: usize,
    sent: Instant,
    samples: Vec<Duration>,
}

impl RoundTrips {
    /// Will measure `count` round trips after `warmup` that are not looked at. Allocates all it ever needs.
    pub fn new(warmup: usize, count: usize) -> Self {
        Self { warmup, count, sent: Instant::now(), samples: Vec::with_capacity(count) }
    }

    /// How long all of them may take together, on a machine that is very busy.
    pub fn time_max(&self) -> Duration {
        Duration::from_millis(5) * u32::try_from(self.warmup + self.count).unwrap_or(u32::MAX)
    }

    /// How long all of them take when so many a second are sent; nothing for 0.
    pub fn time_at(&self, rate: f64) -> Duration {
        if rate > 0.0 {
            Duration::from_secs_f64((self.warmup + self.count) as f64 / rate)
        } else {
            Duration::ZERO
        }
    }

    /// Call right before a request is sent.
    pub fn depart(&mut self) {
        self.sent = Instant::now();
    }

    /// Call right after its answer came; whether there is another one to send.
    pub fn arrive(&mut self) -> bool {
        self.record(self.sent.elapsed())
    }

    /// Takes one that was timed elsewhere; whether there is another one to send.
    pub fn record(&mut self, sample: Duration) -> bool {
        if self.warmup > 0 {
            self.warmup -= 1;
        } else if self.samples.len() < self.count {
            self.samples.push(sample);
        }
        self.samples.len() < self.count
    }

    /// Percentiles in microseconds by nearest rank, as the fields of a JSON object.
    ///
    /// # Panics
    /// When nothing was measured.
    pub fn json_fields(mut self) -> String {
        self.samples.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (self.samples.len() * percent).div_ceil(100).max(1);
            self.samples[rank - 1].as_secs_f64() * 1e6
        };
        format!(
            r#""count":{},"min_us":{:.3},"p50_us":{:.3},"p90_us":{:.3},"p99_us":{:.3}"#,
            self.samples.len(),
            percentile(0),
            percentile(50),
            percentile(90),
            percentile(99),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_is_not_among_the_samples() {
        let mut round_trips = RoundTrips::new(2, 3);
        let mut sent = 0;
        loop {
            round_trips.depart();
            sent += 1;
            if !round_trips.arrive() {
                break;
            }
        }
        assert_eq!((sent, round_trips.samples.len()), (5, 3));
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut round_trips = RoundTrips::new(0, 200);
        round_trips.samples = (1..=200).rev().map(Duration::from_micros).collect();
        assert_eq!(
            round_trips.json_fields(),
            r#""count":200,"min_us":1.000,"p50_us":100.000,"p90_us":180.000,"p99_us":198.000"#
        );
    }
}
