//! The hybrid logical clock that stamps samples.
//!
//! Spec: 02 §3.3, §5. The time is the wall clock's, in NTP64, and never goes back. Its lowest bits are a
//! counter's in the spec; here they say in which *lane* a stamp was made. Lane 0 belongs to all: one
//! atomic word, so that any thread may stamp. Each of the others belongs to one thread, which stamps
//! there without writing anything that other threads read: it notes in the common word how far it is only
//! once a second, and when it is ahead of the wall clock.
//!
//! Invariants: no two stamps of a clock are equal. A stamp is greater than all that its lane has made or
//! observed. It is also greater than those of other lanes that it can know of, because what was known
//! lies behind the wall clock, which both read, or was noted; after the wall clock was set back, this
//! holds for what was made up to a second before only once it was noted.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use weft_wire::{Timestamp, ZenohId};

/// Low bits of the time: the lane.
const LANE_MASK: u64 = 0x3F;
/// From one stamp of a lane to the next at least: 15 ns, less than a message takes.
const STEP: u64 = LANE_MASK + 1;
/// How far a lane may go on without a note of it: 1 s.
const NOTE_AFTER: u64 = 1 << 32;
/// What a lane that is so far ahead of the wall clock does is noted at once: 1 ms, more than the stamps
/// of one batch need.
const AHEAD_MAX: u64 = 1 << 22;

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
///
/// Every stamp reads it, so it keeps away from what others write.
#[derive(Debug)]
#[repr(align(128))]
pub struct Hlc {
    id: ZenohId,
    /// The greatest time of lane 0, and of all that was noted.
    last: AtomicU64,
    /// The lanes that have an owner, a bit each.
    taken: AtomicU64,
}

impl Hlc {
    /// A clock whose stamps carry `id`.
    pub const fn new(id: ZenohId) -> Self {
        Self { id, last: AtomicU64::new(0), taken: AtomicU64::new(1) }
    }

    /// A stamp greater than all before. Cost: one compare-and-swap.
    pub fn stamp(&self, wall_ntp64: u64) -> Timestamp {
        let now = wall_ntp64 & !LANE_MASK;
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let time = later(now, last);
            match self.last.compare_exchange_weak(last, time, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Timestamp { time, id: self.id },
                Err(seen) => last = seen,
            }
        }
    }

    /// Takes note of a received stamp, so that later stamps of this clock are greater.
    pub fn observe(&self, wall_ntp64: u64, stamp: Timestamp) -> Result<(), TooFarAhead> {
        refuse_future(wall_ntp64, stamp)?;
        self.last.fetch_max(stamp.time, Ordering::Relaxed);
        Ok(())
    }

    /// A lane for one thread: one that nobody has, or lane 0 if there is none left.
    pub fn lane(&self) -> Lane<'_> {
        let free = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
        let taken = self.taken.fetch_update(Ordering::Acquire, Ordering::Relaxed, free);
        let number = taken.map_or(0, |taken| u64::from(taken.trailing_ones()));
        Lane { hlc: self, number, last: 0, wall_ntp64: None }
    }

    fn note(&self, time: u64) {
        self.last.fetch_max(time, Ordering::Relaxed);
    }
}

/// The stamps of one thread, with one reading of the wall clock for all that a batch brings.
///
/// Cost of a stamp: a load of a word that is written once a second. In lane 0, which is for threads
/// beyond the 63rd: a compare-and-swap of that word.
#[derive(Debug)]
pub struct Lane<'a> {
    hlc: &'a Hlc,
    number: u64,
    /// The greatest time that it has made or observed.
    last: u64,
    wall_ntp64: Option<u64>,
}

impl Lane<'_> {
    /// The wall clock is read again for what follows.
    pub fn begin_batch(&mut self) {
        self.wall_ntp64 = None;
    }

    fn wall(&mut self, wall_ntp64: impl FnOnce() -> u64) -> u64 {
        *self.wall_ntp64.get_or_insert_with(wall_ntp64)
    }

    /// The first time of this lane at `wall` that is not in the future, which keeps it behind what any
    /// other lane makes later.
    fn earliest(&self, wall: u64) -> u64 {
        (wall & !LANE_MASK).saturating_sub(STEP) | self.number
    }

    /// The next stamp.
    #[inline]
    pub fn stamp(&mut self, wall_ntp64: impl FnOnce() -> u64) -> Timestamp {
        let wall = self.wall(wall_ntp64);
        if self.number == 0 {
            return self.hlc.stamp(wall);
        }
        let (now, noted) = (self.earliest(wall), self.hlc.last.load(Ordering::Relaxed));
        let time = later(now, noted.max(self.last));
        self.last = time;
        if noted >= now || time - now >= AHEAD_MAX || time - noted >= NOTE_AFTER {
            self.hlc.note(time);
        }
        Timestamp { time, id: self.hlc.id }
    }

    /// As [`Hlc::observe`].
    #[inline]
    pub fn observe(
        &mut self,
        wall_ntp64: impl FnOnce() -> u64,
        stamp: Timestamp,
    ) -> Result<(), TooFarAhead> {
        let wall = self.wall(wall_ntp64);
        if self.number == 0 {
            return self.hlc.observe(wall, stamp);
        }
        refuse_future(wall, stamp)?;
        self.last = self.last.max(stamp.time);
        let noted = self.hlc.last.load(Ordering::Relaxed);
        if stamp.time >= self.earliest(wall) || stamp.time.saturating_sub(noted) >= NOTE_AFTER {
            self.hlc.note(stamp.time);
        }
        Ok(())
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        if self.number != 0 {
            // The next owner begins after it.
            self.hlc.note(self.last);
            self.hlc.taken.fetch_and(!(1 << self.number), Ordering::Release);
        }
    }
}

/// The first time after `last` that is at or after `now`, in the lane of `now`.
fn later(now: u64, last: u64) -> u64 {
    if now > last {
        return now;
    }
    let time = (last & !LANE_MASK) | (now & LANE_MASK);
    if time > last { time } else { time + STEP }
}

fn refuse_future(wall_ntp64: u64, stamp: Timestamp) -> Result<(), TooFarAhead> {
    let ahead = stamp.time.saturating_sub(wall_ntp64 & !LANE_MASK);
    if ahead > DELTA_MAX { Err(TooFarAhead { ahead }) } else { Ok(()) }
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
    fn stamps_of_lanes_grow_and_differ_and_follow_what_is_received() {
        let hlc = clock();
        let now = || 100 << 32;
        let mut lanes = [hlc.lane(), hlc.lane()];
        let mut all = std::collections::BTreeSet::new();
        let mut last = [0; 2];
        for _ in 0..200 {
            for (lane, last) in lanes.iter_mut().zip(&mut last) {
                let time = lane.stamp(now).time;
                assert!(time > *last && all.insert(time), "{time}");
                *last = time;
            }
        }
        assert!(all.insert(hlc.stamp(now()).time));
        let near = Timestamp { time: (100 << 32) + (1 << 30), id: hlc.id };
        assert_eq!(lanes[0].observe(now, near), Ok(()));
        for lane in &mut lanes {
            assert!(lane.stamp(now).time > near.time);
        }
        assert!(hlc.stamp(now()).time > near.time);
    }

    /// Each of three lanes stamps in turn, and the wall clock moves on by as little as a thread needs to
    /// learn of another one's stamp.
    #[test]
    fn a_stamp_is_greater_than_those_of_other_lanes_before() {
        let hlc = clock();
        let (mut one, mut other) = (hlc.lane(), hlc.lane());
        let (mut wall, mut last) = (100 << 32, 0);
        for round in 0..300_u64 {
            // A received stamp may be ahead of the wall clock for a while.
            if round == 100 {
                let ahead = Timestamp { time: wall + (1 << 12), id: hlc.id };
                assert_eq!(other.observe(|| wall, ahead), Ok(()));
                last = ahead.time;
            }
            let stamps = [
                &mut |wall| one.stamp(|| wall).time,
                &mut |wall| hlc.stamp(wall).time,
                &mut |wall| other.stamp(|| wall).time,
            ] as [&mut dyn FnMut(u64) -> u64; 3];
            for stamp in stamps {
                wall += STEP;
                let time = stamp(wall);
                assert!(time > last, "{round}: {time} after {last}");
                last = time;
            }
            one.begin_batch();
            other.begin_batch();
        }
    }

    #[test]
    fn a_lane_notes_once_a_second_how_far_it_is_and_more_often_only_ahead_of_the_wall_clock() {
        let hlc = clock();
        let mut lane = hlc.lane();
        let noted = || hlc.last.load(Ordering::Relaxed);
        let mut notes = 0;
        for message in 0..4000_u64 {
            lane.begin_batch();
            let (before, wall) = (noted(), (100 << 32) + (message << 22));
            let old = Timestamp { time: wall - (1 << 20), id: hlc.id };
            assert_eq!(lane.observe(|| wall, old), Ok(()));
            lane.stamp(|| wall);
            notes += u64::from(noted() != before);
        }
        assert_eq!(notes, 4, "4000 messages in four seconds");
        lane.begin_batch();
        let back = lane.stamp(|| 90 << 32).time;
        assert_eq!(noted(), back, "the wall clock was set back, and all are to know");
    }

    #[test]
    fn a_lane_is_given_to_one_owner_at_a_time_and_goes_on_where_it_ended() {
        let hlc = clock();
        let mut lanes: std::vec::Vec<Lane<'_>> = (0..70).map(|_| hlc.lane()).collect();
        let mut numbers: std::vec::Vec<u64> = lanes.iter().map(|lane| lane.number).collect();
        assert_eq!(numbers[62..], [63, 0, 0, 0, 0, 0, 0, 0]);
        numbers.truncate(63);
        assert!(numbers.into_iter().eq(1..=63));
        let last = lanes[4].stamp(|| 100 << 32).time;
        lanes.remove(4);
        let mut next = hlc.lane();
        assert_eq!(next.number, 5);
        assert!(next.stamp(|| 100 << 32).time > last);
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
