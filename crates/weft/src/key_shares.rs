//! Keys for samples that another thread will own.

use std::cell::RefCell;
use std::iter::repeat_n;

use weft_keyexpr::KeyExpr;

/// How many references to a key are counted in one go at the most.
const SHARES_MAX: usize = 32;

thread_local! {
    static SHARES: RefCell<Shares> = RefCell::default();
}

/// The key of one more sample. Costs a push and a pop; atomic increments come by the dozen.
///
/// Whoever owns a sample in the end lets go of its key while the delivering thread gives out the same key with the next
/// sample. If both counted the references at each sample, their cores would pull the counter to and fro, which costs more
/// than the rest of the delivery. So the delivering thread counts many at once and gives them out one by one.
#[inline]
pub(crate) fn take(key: &KeyExpr) -> KeyExpr {
    SHARES.with_borrow_mut(|shares| shares.take(key))
}

/// References to the key of the samples that a thread delivers.
#[derive(Default)]
struct Shares {
    /// All to the same key. One always stays, to tell a change of keys.
    keys: Vec<KeyExpr>,
    /// How many were counted last: twice as many next time, if the key is still the same.
    counted: usize,
}

impl Shares {
    #[inline]
    fn take(&mut self, key: &KeyExpr) -> KeyExpr {
        if !self.keys.last().is_some_and(|last| is_same(last, key)) {
            self.keys.clear();
            self.keys.push(key.clone());
            self.counted = 0;
        }
        if self.keys.len() == 1 {
            self.counted = (2 * self.counted).clamp(1, SHARES_MAX);
            self.keys.extend(repeat_n(key, self.counted).cloned());
        }
        self.keys.pop().unwrap_or_else(|| key.clone())
    }
}

/// Whether they are the same text in memory.
fn is_same(one: &KeyExpr, other: &KeyExpr) -> bool {
    std::ptr::eq(one.as_str(), other.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_given_out_as_they_come_and_not_hoarded() {
        let keys = ["a", "b/c"].map(|text| KeyExpr::new(text).unwrap());
        let mut shares = Shares::default();
        for (number, run) in [1, 1, 2, 100, 1, 3, 1000, 1].into_iter().enumerate() {
            let key = &keys[number % 2];
            for _ in 0..run {
                assert!(is_same(&shares.take(key), key));
                assert!(shares.keys.len() <= run.min(SHARES_MAX));
                assert!(shares.keys.iter().all(|it| is_same(it, key)));
            }
        }
    }
}
