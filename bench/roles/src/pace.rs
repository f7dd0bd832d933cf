//! So many messages a second, evenly.

use std::time::{Duration, Instant};

/// Tells when the next message is due.
#[derive(Debug)]
pub struct Pace {
    due: Instant,
    gap: Duration,
}

/// What a sleep may take longer than it should; the rest of a wait is spent awake.
const SLEEP_SLACK: Duration = Duration::from_micros(120);

impl Pace {
    /// `rate` messages a second, from now on. Without a rate, or with 0, every message is due at once.
    pub fn new(rate: f64) -> Self {
        let gap = if rate > 0.0 { Duration::from_secs_f64(1.0 / rate) } else { Duration::ZERO };
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
            if left > SLEEP_SLACK {
                std::thread::sleep(left.checked_sub(SLEEP_SLACK).unwrap_or_default());
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
