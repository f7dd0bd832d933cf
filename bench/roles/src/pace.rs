//! So many messages a second, evenly.

use std::time::{Duration, Instant};

/// Tells when the next message is due.
#[derive(Debug)]
pub struct Pace {
    due: Instant,
    gap: Duration,
}

/// Messages that follow closer than this are waited for awake, for a sleep takes some of it to begin and to end. Others are
/// not: a thread that spins takes the core from one that receives.
const SLEEP_MIN: Duration = Duration::from_micros(50);

/// The nanoseconds by which Linux may prolong the sleeps of the main thread, and of those that it starts from then on.
const SLACK_FILE: &str = "/proc/self/timerslack_ns";

impl Pace {
    /// `rate` messages a second, from now on. Without a rate, or with 0, every message is due at once.
    ///
    /// To be called on the main thread, or after such a call there, for sleeps to end in time.
    pub fn new(rate: f64) -> Self {
        let gap = if rate > 0.0 { Duration::from_secs_f64(1.0 / rate) } else { Duration::ZERO };
        if !gap.is_zero() {
            // Without it, sleeps end some 50 us late, and what is late catches up.
            let _ = std::fs::write(SLACK_FILE, "1");
        }
        Self { due: Instant::now(), gap }
    }

    /// Whether messages are to wait for each other at all.
    pub fn is_set(&self) -> bool {
        !self.gap.is_zero()
    }

    /// Waits until the next message is due. Who comes late is not waited for, and catches up.
    pub fn wait(&mut self) {
        if !self.is_set() {
            return;
        }
        loop {
            let left = self.due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if self.gap >= SLEEP_MIN {
                std::thread::sleep(left);
            } else {
                std::hint::spin_loop();
            }
        }
        self.due += self.gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_due_at_even_distances_and_late_ones_at_once() {
        let start = Instant::now();
        let mut pace = Pace::new(1000.0);
        for _ in 0..11 {
            pace.wait();
        }
        assert!(start.elapsed() >= Duration::from_millis(10));
        assert_eq!(pace.due, start.max(pace.due));
        let mut late = Pace { due: start, gap: Duration::from_nanos(1) };
        late.wait();
        assert_eq!(late.due, start + Duration::from_nanos(1));
        assert!(!Pace::new(0.0).is_set());
    }
}
