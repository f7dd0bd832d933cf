//! One direction of a virtual connection: bytes in order, late, through a bottleneck.
//!
//! As a TCP stream does, a pipe never loses or reorders bytes; what a network does to it shows as
//! delay. A cut holds everything back until it heals, a reset ends the connection for both sides and
//! takes what is on its way along. What is not read fills the pipe, and a full pipe takes no more.

use std::collections::VecDeque;

/// What a pipe is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Shortest time on the way, in microseconds.
    pub latency_us: u64,
    /// What chance may add to it, in microseconds.
    pub jitter_us: u64,
    /// Bytes that enter per second.
    pub bytes_per_s: u64,
    /// Bytes that a pipe holds, on their way or unread.
    pub capacity: usize,
}

impl Default for Medium {
    /// A local network: 0.2 ms, a jitter of 0.1 ms, 100 MB/s, 256 KiB.
    fn default() -> Self {
        Self { latency_us: 200, jitter_us: 100, bytes_per_s: 100_000_000, capacity: 256 << 10 }
    }
}

/// A keep-alive with the length before it, without and with the header of compression.
const KEEP_ALIVES: [&[u8]; 2] = [&[1, 0, 4], &[2, 0, 0, 4]];

/// What comes out of a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Bytes(Vec<u8>),
    /// The other side has closed; all that it wrote has arrived.
    End,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    medium: Medium,
    /// With the time of arrival; in order.
    on_the_way: VecDeque<(u64, Arrival)>,
    /// When the bottleneck is free again.
    free_us: u64,
    held: usize,
    cut: bool,
    /// The writer has closed.
    ended: bool,
}

impl Pipe {
    pub(crate) fn new(medium: Medium) -> Self {
        let on_the_way = VecDeque::new();
        Self { medium, on_the_way, free_us: 0, held: 0, cut: false, ended: false }
    }

    /// Bytes that may be written now.
    pub(crate) fn room(&self) -> usize {
        if self.ended { 0 } else { self.medium.capacity.saturating_sub(self.held) }
    }

    /// Bytes on their way or unread.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Writes bytes, whether there is room or not; `jitter_us` is what chance adds. Returns when they
    /// arrive.
    pub(crate) fn write(&mut self, now_us: u64, bytes: &[u8], jitter_us: u64) -> u64 {
        let entering_us = bytes.len() as u64 * 1_000_000 / self.medium.bytes_per_s.max(1);
        self.free_us = self.free_us.max(now_us) + entering_us;
        self.held += bytes.len();
        self.enqueue(self.free_us + jitter_us, Arrival::Bytes(bytes.to_vec()))
    }

    /// Closes the writing end behind all that was written. Returns when the reader notices.
    pub(crate) fn end(&mut self, now_us: u64) -> u64 {
        self.ended = true;
        self.enqueue(self.free_us.max(now_us), Arrival::End)
    }

    /// The connection breaks: what is on its way is lost.
    pub(crate) fn reset(&mut self, now_us: u64) -> u64 {
        self.on_the_way.clear();
        self.held = 0;
        self.free_us = now_us;
        self.end(now_us)
    }

    fn enqueue(&mut self, left_us: u64, arrival: Arrival) -> u64 {
        let last_us = self.on_the_way.back().map_or(0, |(at_us, _)| *at_us);
        let at_us = last_us.max(left_us + self.medium.latency_us);
        self.on_the_way.push_back((at_us, arrival));
        at_us
    }

    /// What has arrived by now and is next.
    pub(crate) fn read(&mut self, now_us: u64) -> Option<Arrival> {
        let (at_us, _) = self.on_the_way.front()?;
        if self.cut || *at_us > now_us {
            return None;
        }
        let (_, arrival) = self.on_the_way.pop_front()?;
        if let Arrival::Bytes(bytes) = &arrival {
            self.held -= bytes.len();
        }
        Some(arrival)
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Nothing arrives from now on.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// What was held back arrives a while after `now_us`. Returns when the first of it does.
    pub(crate) fn heal(&mut self, now_us: u64) -> Option<u64> {
        self.cut = false;
        for (at_us, _) in &mut self.on_the_way {
            *at_us = (*at_us).max(now_us + self.medium.latency_us);
        }
        self.on_the_way.front().map(|(at_us, _)| *at_us)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.on_the_way.is_empty()
    }

    /// Nothing is on its way but keep-alives.
    pub(crate) fn is_quiet(&self) -> bool {
        self.on_the_way
            .iter()
            .all(|(_, it)| matches!(it, Arrival::Bytes(bytes) if KEEP_ALIVES.contains(&&bytes[..])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIUM: Medium =
        Medium { latency_us: 100, jitter_us: 0, bytes_per_s: 1_000_000, capacity: 10 };

    fn bytes(bytes: &[u8]) -> Arrival {
        Arrival::Bytes(bytes.to_vec())
    }

    #[test]
    fn bytes_arrive_late_and_in_order_whatever_chance_does() {
        let mut pipe = Pipe::new(MEDIUM);
        assert_eq!(pipe.write(0, &[1, 2], 50), 152, "2 us to enter, 50 of jitter, 100 on the way");
        assert_eq!(pipe.write(0, &[3], 0), 152, "not before those ahead");
        assert_eq!(pipe.end(0), 152);
        assert_eq!(pipe.read(151), None);
        assert_eq!(pipe.read(152), Some(bytes(&[1, 2])));
        assert_eq!(pipe.read(152), Some(bytes(&[3])));
        assert_eq!(pipe.read(152), Some(Arrival::End));
        assert!(pipe.is_empty());
    }

    #[test]
    fn what_is_not_read_takes_room() {
        let mut pipe = Pipe::new(MEDIUM);
        pipe.write(0, &[0; 8], 0);
        assert_eq!(pipe.room(), 2);
        pipe.write(0, &[0; 4], 0);
        assert_eq!(pipe.room(), 0);
        pipe.read(1_000);
        assert_eq!(pipe.room(), 6);
    }

    #[test]
    fn a_cut_holds_back_and_a_reset_loses() {
        let mut pipe = Pipe::new(MEDIUM);
        pipe.write(0, &[1], 0);
        pipe.cut();
        assert_eq!(pipe.read(10_000), None);
        assert_eq!(pipe.heal(20_000), Some(20_100));
        assert_eq!(pipe.read(20_100), Some(bytes(&[1])));
        pipe.write(30_000, &[2], 0);
        pipe.reset(30_001);
        assert_eq!(pipe.read(40_000), Some(Arrival::End));
        assert_eq!(pipe.read(40_000), None);
    }
}
