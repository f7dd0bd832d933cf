//! Timestamps: NTP64 time and the node whose clock made them.
//!
//! Not here: the hybrid logical clock itself. Spec: 01 §1.6, 02 §3.3.

use core::{fmt, num::ParseIntError, str::FromStr};

use crate::{DecodeError, InvalidZid, NoSpace, Reader, Sink, ZenohId, zint};

const NS_PER_S: u64 = 1_000_000_000;

/// When something happened, by the clock of which node. Ordered by time, then by id.
///
/// The text form, `<time in decimal>/<id>`, loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// NTP64: seconds since 1970-01-01 UTC in the upper 32 bits, fractions of 2^-32 s in the lower. The
    /// lowest four bits are a logical counter.
    pub time: u64,
    /// The node whose clock this is.
    pub id: ZenohId,
}

impl Timestamp {
    /// A timestamp of its parts.
    #[must_use]
    pub const fn new(time: u64, id: ZenohId) -> Self {
        Self { time, id }
    }

    /// NTP64 of nanoseconds since 1970-01-01 UTC, rounded down. Saturates in 2106.
    #[must_use]
    pub const fn ntp64_from_unix_ns(ns: u64) -> u64 {
        let s = ns / NS_PER_S;
        if s > u32::MAX as u64 {
            return u64::MAX;
        }
        (s << 32) | (((ns % NS_PER_S) << 32) / NS_PER_S)
    }

    /// Nanoseconds since 1970-01-01 UTC of NTP64, rounded up: the inverse of
    /// [`ntp64_from_unix_ns`](Self::ntp64_from_unix_ns).
    #[must_use]
    pub const fn unix_ns_from_ntp64(time: u64) -> u64 {
        let fraction = time & u32::MAX as u64;
        (time >> 32) * NS_PER_S + (fraction * NS_PER_S).div_ceil(1 << 32)
    }

    /// Nanoseconds since 1970-01-01 UTC, rounded up.
    #[must_use]
    pub const fn unix_ns(&self) -> u64 {
        Self::unix_ns_from_ntp64(self.time)
    }

    /// Bytes on the wire.
    #[inline]
    pub(crate) fn wire_len(&self) -> usize {
        zint::len(self.time) + 1 + self.id.wire_len()
    }

    #[inline]
    pub(crate) fn encode<'s, S: Sink<'s> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        sink.zint(self.time)?;
        self.id.encode_with_len(sink)
    }

    #[inline]
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let time = r.zint("timestamp")?;
        let id = ZenohId::decode_with_len(r)?;
        Ok(Self { time, id })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.time, self.id)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// The form that `Display` writes.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let (time, id) = text.split_once('/').ok_or(InvalidTimestamp::NoSlash)?;
        let time = time.parse().map_err(InvalidTimestamp::Time)?;
        let id = id.parse().map_err(InvalidTimestamp::Id)?;
        Ok(Self { time, id })
    }
}

/// Why text is not a [`Timestamp`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidTimestamp {
    /// Nothing separates the time from the id.
    NoSlash,
    /// The part before the slash is not a decimal `u64`.
    Time(ParseIntError),
    /// The part after the slash is not an id.
    Id(InvalidZid),
}

impl fmt::Display for InvalidTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlash => f.write_str("a timestamp is `<time>/<zid>`"),
            Self::Time(error) => write!(f, "the time of a timestamp is decimal: {error}"),
            Self::Id(error) => write!(f, "the id of a timestamp is invalid: {error}"),
        }
    }
}

impl core::error::Error for InvalidTimestamp {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn zid(text: &str) -> ZenohId {
        text.parse().unwrap()
    }

    #[test]
    fn nanoseconds_survive_ntp64() {
        for ns in [0, 1, 999_999_999, NS_PER_S, 1_721_000_000_123_456_789, (NS_PER_S << 32) - 1] {
            let time = Timestamp::ntp64_from_unix_ns(ns);
            assert_eq!(Timestamp::unix_ns_from_ntp64(time), ns, "{ns}");
        }
        assert_eq!(Timestamp::ntp64_from_unix_ns(NS_PER_S / 2), 1 << 31);
        assert_eq!(Timestamp::ntp64_from_unix_ns(u64::MAX), u64::MAX);
        assert_eq!(Timestamp::new(3 << 32 | 1, zid("1")).unix_ns(), 3_000_000_001);
    }

    #[test]
    fn time_orders_before_id() {
        assert!(Timestamp::new(1, zid("ff")) < Timestamp::new(2, zid("1")));
        assert!(Timestamp::new(1, zid("1")) < Timestamp::new(1, zid("2")));
    }

    #[test]
    fn text_round_trips() {
        let timestamp = Timestamp::new(7_710_446_842_512_463_440, zid("bb00bb"));
        assert_eq!(timestamp.to_string(), "7710446842512463440/bb00bb");
        assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
        assert_eq!("7".parse::<Timestamp>(), Err(InvalidTimestamp::NoSlash));
        assert!(matches!("x/1".parse::<Timestamp>(), Err(InvalidTimestamp::Time(_))));
        assert_eq!("7/".parse::<Timestamp>(), Err(InvalidTimestamp::Id(InvalidZid::Length(0))));
    }

    #[test]
    fn an_empty_or_zero_id_is_refused() {
        let invalid = Err(DecodeError::InvalidZid { offset: 2 });
        assert_eq!(Timestamp::decode(&mut Reader::new(&[1, 0])), invalid);
        assert_eq!(Timestamp::decode(&mut Reader::new(&[1, 1, 0])), invalid);
        assert_eq!(
            Timestamp::decode(&mut Reader::new(&[[1, 17].as_slice(), &[1; 17]].concat())),
            invalid
        );
    }
}
