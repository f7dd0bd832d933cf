//! The timestamp stack: what nodes on the way of a message have recorded about it.
//!
//! Not here: clocks. A stack that cannot be read is passed on as it is; it is a diagnostic.
//!
//! Spec: 02 §1.1.3.
//!
//! ```text
//! |     |     |R|T|S|   points that are recorded: send, route, receive; not none
//! %     count     %     at most 255
//! |C|         |R|T|S|   one point; C: the stamp is bytes of an application
//! ~ <u8;z64> stamp ~    otherwise a timestamp
//! ```

use alloc::vec::Vec;

use crate::{DecodeError, Reader, Sink, Timestamp};

/// Records of one stack.
const RECORDS_MAX: u64 = 255;
/// The stamp is of a format of an application.
const CUSTOM: u8 = 0x80;

/// Where on the way of a message something is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InterceptionPoint {
    /// A session sends it.
    Send = 1,
    /// A node passes it on, or in or out of its own session.
    Route = 2,
    /// A session receives it.
    Receive = 4,
}

/// A set of points; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InterceptionPoints(u8);

impl InterceptionPoints {
    /// No point.
    pub const NONE: Self = Self(0);
    const ALL: u8 = 7;

    /// The set with `point`, too.
    #[must_use]
    pub const fn with(self, point: InterceptionPoint) -> Self {
        Self(self.0 | point as u8)
    }

    /// Whether `point` is in the set.
    #[must_use]
    pub const fn contains(self, point: InterceptionPoint) -> bool {
        self.0 & point as u8 != 0
    }

    /// Whether there is none in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 & Self::ALL == 0
    }
}

/// What was recorded at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp<'a> {
    /// By a clock of the protocol.
    Time(Timestamp),
    /// By an application.
    Custom(&'a [u8]),
}

/// One record of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TsRecord<'a> {
    /// Where.
    pub point: InterceptionPoint,
    /// What.
    pub stamp: Stamp<'a>,
}

/// A stack as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TsStack<'a> {
    points: InterceptionPoints,
    count: u64,
    records: &'a [u8],
}

impl<'a> TsStack<'a> {
    /// A stack that has no records yet.
    #[must_use]
    pub const fn empty(points: InterceptionPoints) -> Self {
        Self { points, count: 0, records: &[] }
    }

    /// Reads the beginning; the records are read by [`TsStack::records`].
    ///
    /// # Errors
    /// If it ends too early, asks for no point, or has more than 255 records.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let points = InterceptionPoints(r.byte("timestamp stack")?);
        if points.is_empty() {
            return Err(DecodeError::OutOfRange { field: "timestamp stack", offset: 0 });
        }
        let count = r.zint_max(RECORDS_MAX, "timestamp stack")?;
        Ok(Self { points, count, records: r.rest() })
    }

    /// The points that are recorded.
    #[must_use]
    pub const fn points(&self) -> InterceptionPoints {
        self.points
    }

    /// The records in their order. Ends after the first one that cannot be read.
    pub fn records(&self) -> impl Iterator<Item = Result<TsRecord<'a>, DecodeError>> {
        let mut r = Reader::new(self.records);
        let mut left = self.count;
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let record = TsRecord::decode(&mut r);
            if record.is_err() {
                left = 0;
            }
            Some(record)
        })
    }

    /// The stack with one more record, if `record.point` is recorded and there is room.
    ///
    /// Cost: one allocation and a copy.
    #[must_use]
    pub fn with(&self, record: &TsRecord<'_>) -> Option<Vec<u8>> {
        if !self.points.contains(record.point) || self.count == RECORDS_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.records.len() + 40);
        bytes.push(self.points.0);
        // A vector takes everything.
        let _ = bytes.zint(self.count + 1);
        bytes.extend_from_slice(self.records);
        record.encode(&mut bytes);
        Some(bytes)
    }

    /// The stack as it is on the wire.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.records.len() + 3);
        bytes.push(self.points.0);
        let _ = bytes.zint(self.count);
        bytes.extend_from_slice(self.records);
        bytes
    }
}

impl<'a> TsRecord<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let flags = r.byte("timestamp record")?;
        let point = match flags & InterceptionPoints::ALL {
            1 => InterceptionPoint::Send,
            2 => InterceptionPoint::Route,
            4 => InterceptionPoint::Receive,
            _ => return Err(DecodeError::OutOfRange { field: "timestamp record", offset }),
        };
        let bytes = r.zslice(u64::MAX, "timestamp record")?;
        let stamp = match flags & CUSTOM {
            0 => Stamp::Time(Timestamp::decode(&mut Reader::new(bytes))?),
            _ => Stamp::Custom(bytes),
        };
        Ok(Self { point, stamp })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        match &self.stamp {
            Stamp::Time(timestamp) => {
                bytes.push(self.point as u8);
                let _ = bytes.zint(timestamp.wire_len() as u64);
                let _ = timestamp.encode(bytes);
            }
            Stamp::Custom(stamp) => {
                bytes.push(self.point as u8 | CUSTOM);
                let _ = bytes.zint(stamp.len() as u64);
                bytes.extend_from_slice(stamp);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const ALL: InterceptionPoints = InterceptionPoints(7);

    fn from_hex(hex: &str) -> Vec<u8> {
        let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(octet).collect()
    }

    /// Captured from a session of the reference with a timestamp callback, and one without.
    #[test]
    fn captured_stacks_are_read_and_written() {
        let custom = from_hex("07028106637573746f6d8206637573746f6d");
        let record = |point| TsRecord { point, stamp: Stamp::Custom(b"custom") };
        let [send, route] = [InterceptionPoint::Send, InterceptionPoint::Route].map(record);
        let read = TsStack::decode(&custom).unwrap();
        assert_eq!(read.records().collect::<Vec<_>>(), [Ok(send), Ok(route)]);
        let first = TsStack::empty(ALL).with(&send).unwrap();
        assert_eq!(TsStack::decode(&first).unwrap().with(&route).unwrap(), custom);
        assert_eq!(read.to_bytes(), custom);

        let plain = from_hex("0101011ac0b983c0b4eff7806b10aae860ca2d50f9bc807692b1d369d5de");
        let read = TsStack::decode(&plain).unwrap();
        let Some(Ok(TsRecord { point: InterceptionPoint::Send, stamp: Stamp::Time(stamp) })) =
            read.records().next()
        else {
            panic!("one record");
        };
        let id = crate::ZenohId::from_le_bytes(&plain[14..]).unwrap();
        assert_eq!(stamp, Timestamp::new(7710689757616987328, id));
        let points = InterceptionPoints::default().with(InterceptionPoint::Send);
        let send = TsRecord { point: InterceptionPoint::Send, stamp: Stamp::Time(stamp) };
        assert_eq!(TsStack::empty(points).with(&send).unwrap(), plain);
        assert!(read.with(&route).is_none(), "routes are not recorded");
    }

    #[test]
    fn malformed_stacks_are_errors() {
        assert!(TsStack::decode(&[]).is_err());
        assert!(TsStack::decode(&[0, 0]).is_err(), "no point");
        assert!(TsStack::decode(&[0x80, 0]).is_err(), "no point of this protocol");
        assert!(TsStack::decode(&[1, 0x80, 2]).is_err(), "256 records");
        for records in [&[3, 0][..], &[1, 5, 1], &[1, 1, 1], &[]] {
            let bytes = [&[7, 2], records].concat();
            let found: Vec<_> = TsStack::decode(&bytes).unwrap().records().collect();
            assert_eq!(found.iter().map(Result::is_err).collect::<Vec<_>>(), [true], "{records:?}");
        }
    }

    #[test]
    fn a_full_stack_takes_nothing_more() {
        let record = TsRecord { point: InterceptionPoint::Send, stamp: Stamp::Custom(b"") };
        let mut bytes = vec![1, 0];
        for count in 1..=RECORDS_MAX {
            bytes = TsStack::decode(&bytes).unwrap().with(&record).unwrap();
            assert_eq!(TsStack::decode(&bytes).unwrap().records().count() as u64, count);
        }
        assert!(TsStack::decode(&bytes).unwrap().with(&record).is_none());
    }
}
