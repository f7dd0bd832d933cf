//! Timestamps as text, with the time as a number or as a date; and what is recorded of messages on their way.
//!
//! `7710446842512463440/bb00bb` is exact; `2023-11-14T22:13:20.000000000Z/bb00bb` loses what is finer than a nanosecond.
//! Both are read.
//!
//! Not here: the clock that makes timestamps (the node), and their bytes (`weft-wire`).
//!
//! Spec: 05 §A.8, 02 §3.3.

mod stack;

use core::fmt;

use weft_keyexpr::{TimeBound, TimeExpr, TimeRange};
use weft_wire::{InvalidZid, Timestamp};

pub use stack::{
    RecordedStamp, TimestampContext, TimestampInstrumentation, TimestampRecord, TimestampStack,
};

/// The text forms of a [`Timestamp`]; the exact one is also its `Display`.
///
/// ```
/// use weft::timestamp::TimestampText;
/// use weft_wire::Timestamp;
///
/// let timestamp = Timestamp::from_text("2023-11-14T22:13:20.5Z/bb00bb")?;
/// assert_eq!(timestamp.to_string(), "7301444405347483648/bb00bb");
/// assert_eq!(timestamp.to_rfc3339(), "2023-11-14T22:13:20.500000000Z/bb00bb");
/// # Ok::<(), weft::timestamp::TimestampTextError>(())
/// ```
pub trait TimestampText: Sized {
    /// RFC 3339 in UTC with nanoseconds, `/`, and the id.
    fn to_rfc3339(&self) -> String;

    /// Reads `<NTP64 in decimal>/<id>` or `<RFC 3339 in UTC>/<id>`. Digits beyond nanoseconds are ignored.
    ///
    /// # Errors
    /// If it is neither, or the time is not within 1970 to 2106.
    fn from_text(text: &str) -> Result<Self, TimestampTextError>;
}

impl TimestampText for Timestamp {
    fn to_rfc3339(&self) -> String {
        let date = TimeExpr::Fixed { unix_ns: self.unix_ns().into() }.to_string();
        let fraction = if date.contains('.') { "" } else { ".000000000" };
        format!("{}{fraction}Z/{}", date.trim_end_matches('Z'), self.id)
    }

    fn from_text(text: &str) -> Result<Self, TimestampTextError> {
        let (time, id) = text.split_once('/').ok_or(TimestampTextError::NoSlash)?;
        let time = time.parse().ok().or_else(|| ntp64(time)).ok_or(TimestampTextError::Time)?;
        let id = id.parse().map_err(TimestampTextError::Id)?;
        Ok(Self::new(time, id))
    }
}

/// The NTP64 time of a date.
fn ntp64(date: &str) -> Option<u64> {
    // The range language reads dates as the ends of ranges.
    let range = TimeRange::parse(&format!("[{date}..]")).ok()?;
    let TimeBound::Inclusive(TimeExpr::Fixed { unix_ns }) = range.start else {
        return None;
    };
    let unix_ns = u64::try_from(unix_ns).ok()?;
    let time = Timestamp::ntp64_from_unix_ns(unix_ns);
    (time < u64::MAX).then_some(time)
}

/// Why a text is not a timestamp.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampTextError {
    /// Nothing separates the time from the id.
    NoSlash,
    /// The time is neither a number nor a date in UTC between 1970 and 2106.
    Time,
    /// The id is not 1 to 32 lower-case hexadecimal digits without leading zeros.
    Id(InvalidZid),
}

impl fmt::Display for TimestampTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlash => f.write_str("a timestamp is `<time>/<id>`"),
            Self::Time => f.write_str(
                "the time of a timestamp is a decimal number or a date such as 2023-11-14T22:13:20Z",
            ),
            Self::Id(error) => write!(f, "the id of a timestamp is invalid: {error}"),
        }
    }
}

impl core::error::Error for TimestampTextError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weft_wire::ZenohId;

    use super::*;

    fn time(text: &str) -> Result<u64, TimestampTextError> {
        Timestamp::from_text(&format!("{text}/1")).map(|timestamp| timestamp.time)
    }

    #[test]
    fn numbers_and_dates_are_read() {
        assert_eq!(time("0"), Ok(0));
        assert_eq!(time("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(time("1970-01-01T00:00:00Z"), Ok(0));
        assert_eq!(time("1970-01-01T00:00:01.5Z"), Ok((1 << 32) + (1 << 31)));
        assert_eq!(time("2106-02-07T06:28:15Z"), Ok(u64::from(u32::MAX) << 32));
    }

    #[test]
    fn dates_always_show_nanoseconds() {
        let id: ZenohId = "bb00bb".parse().unwrap();
        let shown = |time| Timestamp::new(time, id).to_rfc3339();
        assert_eq!(shown(0), "1970-01-01T00:00:00.000000000Z/bb00bb");
        assert_eq!(shown(1 << 31), "1970-01-01T00:00:00.500000000Z/bb00bb");
        assert_eq!(shown(1), "1970-01-01T00:00:00.000000001Z/bb00bb");
    }

    #[test]
    fn what_is_no_timestamp_is_refused() {
        assert_eq!(Timestamp::from_text("5"), Err(TimestampTextError::NoSlash));
        for text in
            ["", "-1", "x", "1969-12-31T23:59:59Z", "2106-02-07T06:28:16Z", "2023-02-29T00:00:00Z"]
        {
            assert_eq!(time(text), Err(TimestampTextError::Time), "{text}");
        }
        for text in ["now()", "..", "1970-01-01T00:00:00Z..now()", "2023-11-14T22:13:20+01:00"] {
            assert_eq!(time(text), Err(TimestampTextError::Time), "{text}");
        }
        let zero = Timestamp::from_text("5/0");
        assert_eq!(zero, Err(TimestampTextError::Id(InvalidZid::Zero)));
        assert!(Timestamp::from_text("5/").is_err() && Timestamp::from_text("5/1/2").is_err());
    }

    proptest! {
        #[test]
        fn both_forms_come_back(time: u64, id in 1u128..) {
            let id = ZenohId::from_le_bytes(&id.to_le_bytes()).unwrap();
            let timestamp = Timestamp::new(time, id);
            prop_assert_eq!(Timestamp::from_text(&timestamp.to_string()), Ok(timestamp));
            // The end of the last second rounds up to one that is out of range.
            prop_assume!(timestamp.unix_ns() < 1_000_000_000 << 32);
            let lossy = Timestamp::from_text(&timestamp.to_rfc3339()).unwrap();
            prop_assert_eq!(lossy.unix_ns(), timestamp.unix_ns());
            prop_assert_eq!(lossy.id, timestamp.id);
        }
    }
}
