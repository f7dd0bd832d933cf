//! The literal children of one node, by the hash of their chunk.
//!
//! ```text
//! up to 8 children   [slot slot slot]           dense, searched from the front
//! more               [slot  -  slot  -  -  slot …]   2^n places, at most 3/4 full, searched from
//!                                                    `hash & mask` up to the first gap
//! ```
//!
//! Invariant of the second form: between a slot's place and the place its hash asks for there is no
//! gap.

use super::node::{NodeId, ROOT};
use alloc::vec::Vec;

/// A child and its hash; `ROOT` marks a gap.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    id: NodeId,
}

const GAP: Slot = Slot { hash: 0, id: ROOT };

/// Up to this number of children, one cache line of slots is searched from the front.
const DENSE_COUNT_MAX: usize = 8;

#[derive(Clone, Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    count: usize,
}

impl Table {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// What is at a place: a child, or `ROOT` for a gap. `None` behind the last place.
    pub(super) fn at(&self, place: usize) -> Option<NodeId> {
        self.slots.get(place).map(|slot| slot.id)
    }

    pub(super) fn find(&self, hash: u32, is_wanted: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let wanted = |slot: &&Slot| slot.hash == hash && is_wanted(slot.id);
        if self.is_dense() {
            return self.slots.iter().find(wanted).map(|slot| slot.id);
        }
        self.probe(hash)
            .map(|place| &self.slots[place])
            .take_while(|slot| slot.id != ROOT)
            .find(wanted)
            .map(|slot| slot.id)
    }

    /// Adds a child that is not there yet.
    pub(super) fn insert(&mut self, hash: u32, id: NodeId) {
        let slot = Slot { hash, id };
        self.count += 1;
        if self.is_dense() && self.count <= DENSE_COUNT_MAX {
            self.slots.push(slot);
            return;
        }
        if self.is_dense() || self.count > self.slots.len() / 4 * 3 {
            self.rebuild();
        }
        self.fill_gap(slot);
    }

    /// Removes a child that is there.
    pub(super) fn remove(&mut self, hash: u32, id: NodeId) {
        let is_it = |slot: &Slot| slot.id == id;
        self.count -= 1;
        if self.is_dense() {
            let place = self.slots.iter().position(is_it).expect("the child is in the table");
            self.slots.swap_remove(place);
            return;
        }
        let place = self
            .probe(hash)
            .find(|&place| is_it(&self.slots[place]))
            .expect("the child is in the table");
        self.slots[place] = GAP;
        self.close_gap(place);
        if self.count * 8 < self.slots.len() {
            self.rebuild();
        }
    }

    fn is_dense(&self) -> bool {
        self.slots.len() <= DENSE_COUNT_MAX
    }

    /// All places, beginning with the one that `hash` asks for.
    fn probe(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        (0..=mask).map(move |step| (hash as usize + step) & mask)
    }

    fn fill_gap(&mut self, slot: Slot) {
        let place = self.probe(slot.hash).find(|&place| self.slots[place].id == ROOT);
        self.slots[place.expect("a table is at most 3/4 full")] = slot;
    }

    /// Moves the slots behind a new gap into it as long as that brings them closer to where their
    /// hash asks for.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut place = gap;
        loop {
            place = (place + 1) & mask;
            let slot = self.slots[place];
            if slot.id == ROOT {
                return;
            }
            let distance = place.wrapping_sub(slot.hash as usize) & mask;
            if distance >= place.wrapping_sub(gap) & mask {
                self.slots[gap] = slot;
                self.slots[place] = GAP;
                gap = place;
            }
        }
    }

    /// Fits the number of places to `count`, which may be ahead of the slots by one.
    fn rebuild(&mut self) {
        let old = core::mem::take(&mut self.slots);
        let slots = old.into_iter().filter(|slot| slot.id != ROOT);
        if self.count <= DENSE_COUNT_MAX {
            self.slots = slots.collect();
            return;
        }
        self.slots = alloc::vec![GAP; (self.count * 2).next_power_of_two()];
        slots.for_each(|slot| self.fill_gap(slot));
    }
}

/// A keyed hash of chunk text: one multiplication per 8 bytes.
///
/// Whoever does not know the seed cannot choose chunks that collide; the quality is that of a hash
/// table, no more.
#[derive(Clone, Copy)]
pub(super) struct Hasher {
    start: u64,
    factor: u64,
}

impl Hasher {
    pub(super) const fn new(seed: u64) -> Self {
        // Fractional digits of pi; the factor is odd.
        let start = seed ^ 0x243f_6a88_85a3_08d3;
        Self { start, factor: fold(start, 0x1319_8a2e_0370_7345) | 1 }
    }

    pub(super) fn hash(&self, text: &[u8]) -> u32 {
        let mut state = self.start ^ text.len() as u64;
        let mut words = text.chunks_exact(8);
        for word in &mut words {
            state =
                fold(state ^ u64::from_le_bytes(word.try_into().expect("8 bytes")), self.factor);
        }
        let tail =
            words.remainder().iter().rev().fold(0, |tail, &byte| tail << 8 | u64::from(byte));
        state = fold(state ^ tail, self.factor);
        (state ^ state >> 32) as u32
    }
}

/// Both halves of the 128-bit product.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    /// Hashes that collide on purpose: all in a few neighbouring places, across the end of the
    /// array.
    fn hash_of(id: NodeId) -> u32 {
        u32::MAX - id % 3
    }

    #[test]
    fn behaves_as_a_set_in_both_forms() {
        let mut table = Table::default();
        let mut model = BTreeSet::new();
        let mut random = crate::testing::Random::new(1);
        for _ in 0..20_000 {
            let id = 1 + random.below(64) as NodeId;
            match random.below(2) {
                0 if model.insert(id) => table.insert(hash_of(id), id),
                1 if model.remove(&id) => table.remove(hash_of(id), id),
                _ => {}
            }
            assert_eq!(table.find(hash_of(id), |found| found == id).is_some(), model.contains(&id));
            assert_eq!(table.count, model.len());
        }
        let found: BTreeSet<_> =
            (0..).map_while(|place| table.at(place)).filter(|&id| id != ROOT).collect();
        assert_eq!(found, model);
    }

    #[test]
    fn shrinks_with_its_content() {
        let mut table = Table::default();
        (1..=10_000).for_each(|id| table.insert(id, id));
        assert!(table.slots.len() <= 32_768);
        (5..=10_000).for_each(|id| table.remove(id, id));
        assert!(table.slots.len() <= 64);
        (1..5).for_each(|id| assert_eq!(table.find(id, |_| true), Some(id)));
    }

    #[test]
    fn hashes_spread_and_depend_on_the_seed() {
        let spread = |seed| -> BTreeSet<u32> {
            let hasher = Hasher::new(seed);
            (0..10_000).map(|n: u32| hasher.hash(n.to_string().as_bytes()) & 0xffff).collect()
        };
        // 10,000 balls in 65,536 bins fill 9,274 of them on average.
        assert!(spread(0).len() > 9_000 && spread(1).len() > 9_000);
        assert_ne!(Hasher::new(0).hash(b"a"), Hasher::new(1).hash(b"a"));
        assert_ne!(Hasher::new(0).hash(b"a"), Hasher::new(0).hash(b"a\0"));
    }
}
