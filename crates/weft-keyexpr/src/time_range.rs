//! The language of the `_time` parameter: `[now(-1h)..now(-30m)[`.
//!
//! Not here: a clock. Where a range is applied, the caller says what time it is.
//! Spec: 04 §11.

mod civil;
mod parse;

use core::fmt;
use core::ops::{Bound, RangeBounds};
use core::time::Duration;

/// A range of time, part of which may be relative to the moment when it is applied.
///
/// A range whose start is after its end is valid and contains nothing.
///
/// ```
/// use weft_keyexpr::TimeRange;
///
/// let last_hour = TimeRange::parse("[now(-1h)..]")?;
/// let now_unix_ns = 1_700_000_000_000_000_000;
/// assert!(last_hour.contains(now_unix_ns - 5, now_unix_ns));
/// assert!(!last_hour.contains(0, now_unix_ns));
/// assert_eq!(last_hour.to_string(), "[now(-3600s)..]");
/// # Ok::<(), weft_keyexpr::TimeRangeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeRange {
    /// Where it starts.
    pub start: TimeBound,
    /// Where it ends.
    pub end: TimeBound,
}

/// One end of a time range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeBound {
    /// No limit on this side.
    Unbounded,
    /// The instant belongs to the range.
    Inclusive(TimeExpr),
    /// The instant does not belong to the range.
    Exclusive(TimeExpr),
}

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeExpr {
    /// A fixed one. The language writes 1970 to 9999; what lies outside prints as a date that
    /// cannot be read back.
    Fixed {
        /// In nanoseconds since the Unix epoch.
        unix_ns: i128,
    },
    /// One relative to the moment when the range is applied.
    Now {
        /// In seconds; negative for the past.
        offset_s: f64,
    },
}

/// A text is not a time range. Offsets are in bytes and point at the start of the part that was
/// refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRangeError {
    /// The text does not start or does not end with `[` or `]`.
    Delimiter {
        /// Where the delimiter is missing.
        offset: usize,
    },
    /// There is no `..` between two instants, nor `;` or `,` between an instant and a duration.
    Separator,
    /// Neither `now(…)` with a valid duration nor a date and time in UTC.
    Instant {
        /// Where it starts.
        offset: usize,
    },
    /// Not a number with an optional unit `u`, `ms`, `s`, `m`, `h`, `d` or `w`.
    Duration {
        /// Where it starts.
        offset: usize,
    },
}

impl TimeRange {
    /// Reads a range: `[start..end]`, `[start;duration]` or `[start,duration]`, with `]` and `[`
    /// for excluded ends.
    ///
    /// Only the comma can be used inside parameters, where `;` separates entries.
    pub fn parse(text: &str) -> Result<Self, TimeRangeError> {
        parse::range(text)
    }

    /// The two ends, in nanoseconds since the Unix epoch, at the moment `now_unix_ns`.
    ///
    /// An end that no clock can show is unbounded.
    pub fn resolve(&self, now_unix_ns: i128) -> (Bound<i128>, Bound<i128>) {
        (self.start.resolve(now_unix_ns), self.end.resolve(now_unix_ns))
    }

    /// Whether the instant `unix_ns` belongs to the range at the moment `now_unix_ns`.
    pub fn contains(&self, unix_ns: i128, now_unix_ns: i128) -> bool {
        self.resolve(now_unix_ns).contains(&unix_ns)
    }
}

impl TimeBound {
    fn resolve(self, now_unix_ns: i128) -> Bound<i128> {
        match self {
            Self::Unbounded => Bound::Unbounded,
            Self::Inclusive(instant) => {
                instant.resolve(now_unix_ns).map_or(Bound::Unbounded, Bound::Included)
            }
            Self::Exclusive(instant) => {
                instant.resolve(now_unix_ns).map_or(Bound::Unbounded, Bound::Excluded)
            }
        }
    }

    fn instant(self) -> Option<TimeExpr> {
        match self {
            Self::Unbounded => None,
            Self::Inclusive(instant) | Self::Exclusive(instant) => Some(instant),
        }
    }
}

impl TimeExpr {
    /// In nanoseconds since the Unix epoch, at the moment `now_unix_ns`; `None` if no clock can
    /// show it.
    pub fn resolve(self, now_unix_ns: i128) -> Option<i128> {
        match self {
            Self::Fixed { unix_ns } => Some(unix_ns),
            Self::Now { offset_s } => shift(now_unix_ns, offset_s),
        }
    }
}

/// `unix_ns` moved by a number of seconds, rounded to nanoseconds; `None` if the seconds do not fit
/// in 64 bits.
fn shift(unix_ns: i128, offset_s: f64) -> Option<i128> {
    let distance_ns = Duration::try_from_secs_f64(offset_s.abs()).ok()?.as_nanos() as i128;
    let shifted = if offset_s < 0.0 {
        unix_ns.checked_sub(distance_ns)
    } else {
        unix_ns.checked_add(distance_ns)
    }?;
    i64::try_from(shifted.div_euclid(NS_PER_S)).is_ok().then_some(shifted)
}

const NS_PER_S: i128 = 1_000_000_000;

impl core::str::FromStr for TimeRange {
    type Err = TimeRangeError;

    fn from_str(text: &str) -> Result<Self, TimeRangeError> {
        Self::parse(text)
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self.start, TimeBound::Exclusive(_)) { "]" } else { "[" })?;
        if let Some(start) = self.start.instant() {
            write!(f, "{start}")?;
        }
        f.write_str("..")?;
        if let Some(end) = self.end.instant() {
            write!(f, "{end}")?;
        }
        f.write_str(if matches!(self.end, TimeBound::Exclusive(_)) { "[" } else { "]" })
    }
}

impl fmt::Display for TimeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed { unix_ns } => civil::write(f, unix_ns),
            Self::Now { offset_s: 0.0 } => f.write_str("now()"),
            Self::Now { offset_s } => write!(f, "now({offset_s}s)"),
        }
    }
}

impl fmt::Display for TimeRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delimiter { offset } => {
                write!(f, "a time range lacks `[` or `]` at byte {offset}")
            }
            Self::Separator => write!(f, "a time range needs `..` between its ends"),
            Self::Instant { offset } => {
                write!(f, "neither `now(…)` nor a time like 2023-11-14T22:13:20Z at byte {offset}")
            }
            Self::Duration { offset } => {
                write!(f, "not a number with a unit (u, ms, s, m, h, d, w) at byte {offset}")
            }
        }
    }
}

impl core::error::Error for TimeRangeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const NOW: i128 = 1_700_000_000 * NS_PER_S;

    fn range(text: &str) -> TimeRange {
        TimeRange::parse(text).unwrap()
    }

    #[test]
    fn ends_are_compared_at_nanoseconds() {
        let half_open = range("[2023-11-14T22:13:20Z..2023-11-14T22:13:21Z[");
        assert!(half_open.contains(NOW, 0) && half_open.contains(NOW + NS_PER_S - 1, 0));
        assert!(!half_open.contains(NOW - 1, 0) && !half_open.contains(NOW + NS_PER_S, 0));
        assert!(!range("[now(1s)..now(-1s)]").contains(NOW, NOW));
    }

    #[test]
    fn an_end_that_no_clock_can_show_is_unbounded() {
        assert_eq!(
            range("[now(1e19)..now(-1e19)]").resolve(NOW),
            (Bound::Unbounded, Bound::Unbounded)
        );
        assert_eq!(range("[now(1e300)..]").resolve(NOW).0, Bound::Unbounded);
        let far = range("[now(1e12)..]");
        assert!(!far.contains(NOW, NOW), "the year 33,658 is far, but a clock can show it");
        let endless = TimeExpr::Now { offset_s: f64::NAN };
        assert_eq!(endless.resolve(NOW), None);
    }

    #[test]
    fn printing_and_reading_agree() {
        for text in [
            "[now(-0.00025s)..now(5400s)[",
            "]1970-01-01T00:00:00.000000001Z..]",
            "[..9999-12-31T23:59:59Z]",
        ] {
            assert_eq!(range(text).to_string(), text);
        }
    }
}
