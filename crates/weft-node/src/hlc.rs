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
        Timestamp { time: self.reserve(wall_ntp64, 1), id: self.id }
    }

    /// The times of `count` stamps in a row, greater than all before: returns the first.
    fn reserve(&self, wall_ntp64: u64, count: u64) -> u64 {
        let now = wall_ntp64 & !COUNTER_MASK;
        let first = |last: u64| if now > (last & !COUNTER_MASK) { now } else { last + 1 };
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let time = first(last);
            let end = time + count - 1;
            match self.last.compare_exchange_weak(last, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return time,
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

/// Stamps for what one batch brings: one reading of the wall clock, and one compare-and-swap for many.
///
/// A stamp stays greater than those of whatever came before the batch, because nothing is reserved
/// earlier, and after [`BatchStamps::observe`] nothing that was reserved before is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchStamps {
    wall_ntp64: Option<u64>,
    /// The next reserved time; none is left if it is `end`.
    next: u64,
    end: u64,
}

impl BatchStamps {
    /// Stamps that are reserved at once.
    const RESERVED: u64 = 64;

    fn wall(&mut self, wall_ntp64: impl FnOnce() -> u64) -> u64 {
        *self.wall_ntp64.get_or_insert_with(wall_ntp64)
    }

    /// The next stamp.
    #[inline]
    pub fn stamp(&mut self, hlc: &Hlc, wall_ntp64: impl FnOnce() -> u64) -> Timestamp {
        if self.next == self.end {
            self.next = hlc.reserve(self.wall(wall_ntp64), Self::RESERVED);
            self.end = self.next + Self::RESERVED;
        }
        let time = self.next;
        self.next += 1;
        Timestamp { time, id: hlc.id }
    }

    /// As [`Hlc::observe`].
    pub fn observe(
        &mut self,
        hlc: &Hlc,
        wall_ntp64: impl FnOnce() -> u64,
        stamp: Timestamp,
    ) -> Result<(), TooFarAhead> {
        self.next = self.end;
        hlc.observe(self.wall(wall_ntp64), stamp)
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
    fn stamps_of_a_batch_grow_beside_others_and_follow_what_is_received() {
        let hlc = clock();
        let now = || 100 << 32;
        let (mut one, mut other) = (BatchStamps::default(), BatchStamps::default());
        let mut all = std::collections::BTreeSet::new();
        let mut last = [0; 2];
        for _ in 0..200 {
            for (stamps, last) in [&mut one, &mut other].into_iter().zip(&mut last) {
                let time = stamps.stamp(&hlc, now).time;
                assert!(time > *last && all.insert(time), "{time}");
                *last = time;
            }
        }
        let near = Timestamp { time: (100 << 32) + (1 << 30), id: hlc.id };
        assert_eq!(one.observe(&hlc, now, near), Ok(()));
        assert!(one.stamp(&hlc, now).time > near.time);
        assert!(BatchStamps::default().stamp(&hlc, now).time > near.time);
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
