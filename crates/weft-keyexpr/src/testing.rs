//! Random key expressions for tests, from a seed.

use alloc::string::String;
use alloc::vec::Vec;

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// A canonical key expression of up to `count_max` chunks over an alphabet that makes relations
    /// frequent.
    pub(crate) fn key_expr(&mut self, count_max: usize) -> String {
        const CHUNKS: [&str; 20] = [
            "a", "a", "b", "b", "ab", "abab", "aé", "*", "*", "**", "**", "**", "a$*", "$*b",
            "a$*b", "$*a$*b$*", "@a", "@b", "@a$*", "@",
        ];
        let count = 1 + self.below(count_max);
        let text: Vec<_> = (0..count).map(|_| self.pick(&CHUNKS)).collect();
        crate::canon::autocanonize(&text.join("/"))
            .expect("valid chunks make a repairable key expression")
    }
}
