//! When to send a KEEP_ALIVE and when a silent peer is gone: deadlines as pure functions.
//!
//! Not here: clocks and timers. The owner remembers when it last wrote and last read on a link,
//! asks for the two deadlines, and comes back then. Each side enforces the lease that the *other*
//! announced, and keeps its own alive. Spec: 01 §5.4.

use crate::US_PER_MS;

/// KEEP_ALIVEs per own lease on an otherwise silent link.
pub const KEEP_ALIVES_PER_LEASE: u8 = 4;

/// The lease arithmetic of one link. Times are microseconds from the owner's origin; sums saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    keep_alive_period_us: u64,
    remote_us: u64,
}

impl Lease {
    /// `own_ms` is the lease that this side announced, `remote_ms` the one that the peer announced.
    /// `keep_alives` is how many KEEP_ALIVEs fit in the own lease; 0 counts as 1.
    #[must_use]
    pub fn new(own_ms: u64, remote_ms: u64, keep_alives: u8) -> Self {
        Self {
            keep_alive_period_us: own_ms.saturating_mul(US_PER_MS) / u64::from(keep_alives.max(1)),
            remote_us: remote_ms.saturating_mul(US_PER_MS),
        }
    }

    /// When a KEEP_ALIVE is due, if nothing else is written on the link before.
    #[must_use]
    pub fn next_keep_alive(&self, last_tx_us: u64) -> u64 {
        last_tx_us.saturating_add(self.keep_alive_period_us)
    }

    /// When the peer counts as gone, if nothing is read from the link before.
    #[must_use]
    pub fn expiry(&self, last_rx_us: u64) -> u64 {
        last_rx_us.saturating_add(self.remote_us)
    }

    /// Whether the peer counts as gone. A peer that announced a lease of 0 always does.
    #[must_use]
    pub fn expired(&self, last_rx_us: u64, now_us: u64) -> bool {
        now_us >= self.expiry(last_rx_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_alive_is_due_every_quarter_of_the_own_lease() {
        let lease = Lease::new(10_000, 1_000, KEEP_ALIVES_PER_LEASE);
        assert_eq!(lease.next_keep_alive(7), 2_500_007);
        assert_eq!(Lease::new(9_000, 1_000, 3).next_keep_alive(0), 3_000_000);
        assert_eq!(Lease::new(9_000, 1_000, 0).next_keep_alive(0), 9_000_000);
    }

    #[test]
    fn silence_for_the_whole_remote_lease_expires_the_peer() {
        let lease = Lease::new(10_000, 1_000, KEEP_ALIVES_PER_LEASE);
        assert!(!lease.expired(5, 1_000_004));
        assert!(lease.expired(5, 1_000_005));
        assert_eq!(lease.expiry(5), 1_000_005);
    }

    #[test]
    fn a_lease_of_zero_expires_at_once_and_a_huge_one_never() {
        assert!(Lease::new(10_000, 0, 4).expired(3, 3));
        assert!(!Lease::new(10_000, u64::MAX, 4).expired(3, u64::MAX - 1));
    }
}
