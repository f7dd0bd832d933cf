//! Sequence numbers: the arithmetic that both halves share.
//!
//! Not here: who holds the counters (`tx`, `rx`). A sequence number (SN) has 7 bits for every byte
//! of the negotiated resolution; `mask` is the greatest one. Spec: 01 §5.3.

/// The SN after `sn`.
#[inline]
pub(crate) fn next(sn: u64, mask: u64) -> u64 {
    sn.wrapping_add(1) & mask
}

/// How far `sn` lies ahead of `last`, if it is acceptable: neither a repetition nor in the older
/// half of the circle. Gaps are acceptable: the peer may drop what it could not send.
#[inline]
pub(crate) fn advance(last: u64, sn: u64, mask: u64) -> Option<u64> {
    let gap = sn.wrapping_sub(last) & mask;
    (gap != 0 && gap <= mask >> 1).then_some(gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: u64 = 0x7f;

    #[test]
    fn the_circle_closes() {
        assert_eq!(next(0x7f, MASK), 0);
        assert_eq!(next(u64::MAX >> 1, u64::MAX >> 1), 0);
        assert_eq!(advance(0x7f, 0, MASK), Some(1));
    }

    #[test]
    fn only_the_newer_half_is_acceptable() {
        for last in 0..=MASK {
            let accepted = (0..=MASK).filter(|&sn| advance(last, sn, MASK).is_some()).count();
            assert_eq!(accepted, 63);
            assert_eq!(advance(last, last, MASK), None, "a repetition");
            assert_eq!(advance(last, (last + 63) & MASK, MASK), Some(63));
            assert_eq!(advance(last, (last + 64) & MASK, MASK), None, "too far ahead or old");
        }
    }
}
