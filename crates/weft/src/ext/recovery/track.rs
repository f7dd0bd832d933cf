//! One source: how far it was delivered, and what is held back.

use std::collections::VecDeque;

use weft_wire::Timestamp;

use crate::sample::Sample;

/// Where a sample stands among those of its source.
pub(super) trait Position: Copy + PartialEq {
    fn is_after(self, other: Self) -> bool;

    /// How many are known to lie between it and `before`.
    fn between(self, before: Self) -> u32;
}

/// Numbers wrap around: one is after another if it is less than 2^31 ahead of it.
impl Position for u32 {
    fn is_after(self, other: Self) -> bool {
        (1..1 << 31).contains(&self.wrapping_sub(other))
    }

    fn between(self, before: Self) -> u32 {
        self.wrapping_sub(before).wrapping_sub(1)
    }
}

impl Position for Timestamp {
    fn is_after(self, other: Self) -> bool {
        self > other
    }

    fn between(self, _before: Self) -> u32 {
        0
    }
}

#[derive(Debug)]
pub(super) struct Track<P> {
    /// The last one that was delivered.
    pub(super) last: Option<P>,
    /// In order, all after `last`.
    pub(super) pending: VecDeque<(P, Sample)>,
    /// Questions about this source that have no end yet.
    pub(super) questions: usize,
    /// Its token exists.
    pub(super) is_alive: bool,
    pub(super) used_us: u64,
    /// When it is asked for what came after `last`, if that is done from time to time.
    pub(super) asks_at_us: u64,
}

impl<P: Position> Track<P> {
    pub(super) const fn new(used_us: u64, asks_at_us: u64) -> Self {
        Self {
            last: None,
            pending: VecDeque::new(),
            questions: 0,
            is_alive: false,
            used_us,
            asks_at_us,
        }
    }

    /// Holds a sample back; returns false if it is held back already.
    ///
    /// Cost: the number of those behind it, which is nothing for samples that come in order.
    pub(super) fn hold(&mut self, position: P, sample: Sample) -> bool {
        let behind = self.pending.iter().rev().take_while(|(it, _)| it.is_after(position)).count();
        let at = self.pending.len() - behind;
        if at > 0 && self.pending[at - 1].0 == position {
            return false;
        }
        self.pending.insert(at, (position, sample));
        true
    }

    pub(super) fn is_forgettable(&self, now_us: u64, retention_us: u64) -> bool {
        let is_idle = !self.is_alive && self.questions == 0 && self.pending.is_empty();
        is_idle && self.used_us.saturating_add(retention_us) <= now_us
    }
}
