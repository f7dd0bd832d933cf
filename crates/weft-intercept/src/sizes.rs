//! Sizes of payloads, counted in powers of 32.

use core::ops::AddAssign;
use core::sync::atomic::{AtomicU64, Ordering};

/// Upper limits of all buckets but the last, in bytes: a payload counts for the first that it fits.
pub const SIZE_LIMITS: [u64; SIZE_BUCKETS - 1] =
    [0, 1 << 5, 1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30];

/// How many buckets there are.
pub const SIZE_BUCKETS: usize = 8;

/// How many payloads were of which size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Payloads by size, each counted once; the last bucket has no limit.
    pub buckets: [u64; SIZE_BUCKETS],
    /// Bytes of all.
    pub bytes: u64,
}

impl Sizes {
    /// Payloads of any size.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += more;
        }
        self.bytes += other.bytes;
    }
}

/// Counts payloads; read by others at any time.
#[derive(Debug, Default)]
pub struct SizeCells {
    buckets: [AtomicU64; SIZE_BUCKETS],
    bytes: AtomicU64,
}

impl SizeCells {
    /// Counts a payload where one thread at a time counts: two loads and two stores.
    #[inline]
    pub fn add(&self, len: usize) {
        let plus = |cell: &AtomicU64, count: u64| {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
        };
        plus(&self.buckets[bucket(len)], 1);
        plus(&self.bytes, len as u64);
    }

    /// Counts a payload where several threads may: two atomic additions.
    pub fn add_shared(&self, len: usize) {
        self.buckets[bucket(len)].fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn load(&self) -> Sizes {
        Sizes {
            buckets: core::array::from_fn(|index| self.buckets[index].load(Ordering::Relaxed)),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// The bucket of a payload.
#[inline]
const fn bucket(len: usize) -> usize {
    if len == 0 {
        return 0;
    }
    let bits = usize::BITS - (len - 1).leading_zeros();
    match bits.div_ceil(5) as usize {
        0 => 1,
        bucket if bucket < SIZE_BUCKETS => bucket,
        _ => SIZE_BUCKETS - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_counts_for_the_first_bucket_that_it_fits() {
        for (index, limit) in SIZE_LIMITS.into_iter().enumerate() {
            assert_eq!(bucket(limit as usize), index, "{limit}");
            assert_eq!(bucket(limit as usize + 1), index + 1, "{limit} and one");
        }
        assert_eq!(bucket(usize::MAX), SIZE_BUCKETS - 1);
    }

    #[test]
    fn both_ways_to_count_are_the_same() {
        let (one, many) = (SizeCells::default(), SizeCells::default());
        for len in [0, 1, 32, 33, 5_000_000] {
            one.add(len);
            many.add_shared(len);
        }
        assert_eq!(one.load(), many.load());
        let mut twice = one.load();
        twice += many.load();
        assert_eq!((twice.count(), twice.bytes), (10, 2 * 5_000_066));
        assert_eq!(twice.buckets, [2, 4, 2, 0, 0, 2, 0, 0]);
    }
}
