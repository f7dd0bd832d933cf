//! A set of positions in a question.

use alloc::boxed::Box;

/// A set of numbers below a bound. Up to 64 of them need no allocation.
pub(super) struct Positions {
    low: u64,
    /// The positions from 64 on; empty if the bound is 64 or less.
    high: Box<[u64]>,
}

impl Positions {
    /// The empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        let high = if bound <= 64 {
            Box::default()
        } else {
            alloc::vec![0; (bound - 1) / 64].into_boxed_slice()
        };
        Self { low: 0, high }
    }

    pub(super) fn insert(&mut self, position: usize) {
        let word = if position < 64 { &mut self.low } else { &mut self.high[position / 64 - 1] };
        *word |= 1 << (position % 64);
    }

    pub(super) fn contains(&self, position: usize) -> bool {
        self.word(position / 64).is_some_and(|word| word >> (position % 64) & 1 != 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.low == 0 && self.high.iter().all(|&word| word == 0)
    }

    /// The smallest position that is not below `from`.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let mut word = self.word(from / 64)? & u64::MAX << (from % 64);
        let mut index = from / 64;
        while word == 0 {
            index += 1;
            word = self.word(index)?;
        }
        Some(index * 64 + word.trailing_zeros() as usize)
    }

    /// All positions, in increasing order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        core::iter::successors(self.next(0), |&position| self.next(position + 1))
    }

    fn word(&self, index: usize) -> Option<u64> {
        if index == 0 { Some(self.low) } else { self.high.get(index - 1).copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn holds_any_position_below_its_bound() {
        for bound in [1, 63, 64, 65, 128, 129, 1000] {
            let mut set = Positions::new(bound);
            assert!(set.is_empty());
            let members: Vec<usize> =
                (0..bound).filter(|position| position % 7 == 0 || *position == bound - 1).collect();
            for &position in &members {
                set.insert(position);
            }
            assert!(!set.is_empty());
            assert_eq!(set.iter().collect::<Vec<_>>(), members);
            assert!(
                (0..bound + 100)
                    .all(|position| set.contains(position) == members.contains(&position))
            );
            assert_eq!(set.next(bound), None);
        }
    }
}
