//! The hybrid logical clock that stamps samples.
//!
//! Spec: 02 §3.3, §5. The time is the wall clock's, in NTP64 with the four lowest bits cleared for a
//! counter, and never goes back. One atomic word holds it, so that any thread may stamp.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use weft_wire::{Timestamp, ZenohId};

/// Low bits of the time that count events of the same instant.
const COUNTER_MASK: u64 = 0xF;

/// How far ahead of this node's clock a received stamp may be, by default: 500 ms in NTP64.
const DELTA_MAX: u64 = 1 << 31;

/// A stamp from the future: its clock is ahead by more than is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFarAhead {
    /// By how much, in NTP64 units (2^-32 s).
    pub ahead: u64,
}

impl fmt::Display for TooFarAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the timestamp is {} ms ahead of this clock", (self.ahead * 1000) >> 32)
    }
}

impl core::error::Error for TooFarAhead {}

/// A hybrid logical clock. Time is given as NTP64 wall-clock time since the Unix epoch.
#[derive(Debug)]
pub struct Hlc {
    id: ZenohId,
    last: AtomicU64,
}

impl Hlc {
    /// A clock whose stamps carry `id`.
    pub const fn new(id: ZenohId) -> Self {
        Self { id, last: AtomicU64::new(0) }
    }

    /// A stamp greater than all before. Cost: one compare-and-swap.
    pub fn stamp(&self, wall_ntp64: u64) -> Timestamp {
        let now = wall_ntp64 & !COUNTER_MASK;
        let next = |last: u64| if now > (last & !COUNTER_MASK) { now } else { last + 1 };
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let time = next(last);
            match self.last.compare_exchange_weak(last, time, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Timestamp { time, id: self.id },
                Err(seen) => last = seen,
            }
        }
    }

    /// Takes note of a received stamp, so that later stamps of this clock are greater.
    pub fn observe(&self, wall_ntp64: u64, stamp: Timestamp) -> Result<(), TooFarAhead> {
        let now = wall_ntp64 & !COUNTER_MASK;
        let ahead = stamp.time.saturating_sub(now);
        if ahead > DELTA_MAX {
            return Err(TooFarAhead { ahead });
        }
        self.last.fetch_max(stamp.time, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Hlc {
        Hlc::new(ZenohId::from_le_bytes(&[1]).unwrap())
    }

    #[test]
    fn stamps_grow_even_when_the_wall_clock_stands_or_goes_back() {
        let hlc = clock();
        let mut last = 0;
        for wall in [1 << 32, 1 << 32, 1 << 31, (1 << 32) + 1, 3 << 32] {
            let stamp = hlc.stamp(wall).time;
            assert!(stamp > last);
            last = stamp;
        }
        assert_eq!(last, 3 << 32);
    }

    #[test]
    fn a_received_stamp_is_followed_and_one_from_the_future_refused() {
        let hlc = clock();
        let now = 100 << 32;
        let near = Timestamp { time: now + (1 << 30), id: hlc.id };
        assert_eq!(hlc.observe(now, near), Ok(()));
        assert!(hlc.stamp(now).time > near.time);
        let far = Timestamp { time: now + (2 << 32), id: hlc.id };
        assert!(hlc.observe(now, far).is_err());
    }
}
