//! The two clocks of a node: monotonic microseconds for the engine, wall time for stamps.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The origin of all monotonic times of this process.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Microseconds since the process's origin. Cost: one clock read without a system call.
#[inline]
pub(crate) fn now_us() -> u64 {
    ORIGIN.elapsed().as_micros() as u64
}

/// Nanoseconds since the process's origin.
#[inline]
pub(crate) fn now_ns() -> u64 {
    ORIGIN.elapsed().as_nanos() as u64
}

/// Wall-clock time as NTP64 since the Unix epoch.
#[inline]
pub fn wall_ntp64() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let fraction = (u64::from(since_epoch.subsec_nanos()) << 32) / 1_000_000_000;
    (since_epoch.as_secs() << 32) | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_ntp64_since_the_epoch() {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert!((wall_ntp64() >> 32).abs_diff(seconds) <= 1);
        assert!(wall_ntp64() <= wall_ntp64());
    }
}
