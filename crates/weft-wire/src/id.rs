//! Node and entity identities.
//!
//! Spec: 01 §1.4, 02 §1.1.2. The text form is big-endian hexadecimal, the wire form little-endian bytes.

use core::{fmt, str::FromStr};

use crate::{DecodeError, NoSpace, Reader, Sink, zint};

/// The identity of a node: a non-zero 128-bit integer, kept little-endian as on the wire.
///
/// The order is that of the protocol (strategy `greater-zid`, timestamps): the sixteen little-endian bytes
/// compared from the first, which is *not* the numerical order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZenohId([u8; ZenohId::LEN_MAX]);

impl ZenohId {
    /// The longest identity, in bytes.
    pub const LEN_MAX: usize = 16;

    /// An identity from 1 to 16 little-endian bytes; zero bytes at the end mean the shorter identity.
    ///
    /// # Errors
    /// [`InvalidZid`] if there are no bytes, more than sixteen, or all are zero.
    pub fn from_le_bytes(bytes: &[u8]) -> Result<Self, InvalidZid> {
        let mut padded = [0; Self::LEN_MAX];
        padded
            .get_mut(..bytes.len())
            .ok_or(InvalidZid::Length(bytes.len()))?
            .copy_from_slice(bytes);
        match bytes {
            [] => Err(InvalidZid::Length(0)),
            _ if padded == [0; Self::LEN_MAX] => Err(InvalidZid::Zero),
            _ => Ok(Self(padded)),
        }
    }

    /// The sixteen little-endian bytes, zero-padded.
    #[inline]
    #[must_use]
    pub const fn to_le_bytes(self) -> [u8; Self::LEN_MAX] {
        self.0
    }

    /// The 1 to 16 significant bytes, little-endian: the wire form.
    #[inline]
    #[must_use]
    pub fn as_le_slice(&self) -> &[u8] {
        &self.0[..self.wire_len()]
    }

    /// Number of significant bytes, 1 to 16.
    #[inline]
    pub(crate) fn wire_len(&self) -> usize {
        Self::LEN_MAX - u128::from_le_bytes(self.0).leading_zeros() as usize / 8
    }

    /// The upper half of the flags byte that precedes an identity without a length of its own.
    #[inline]
    pub(crate) fn len_nibble(&self) -> u8 {
        (self.wire_len() as u8 - 1) << 4
    }

    /// Reads the bytes whose number the upper half of `flags` tells.
    pub(crate) fn decode_by_nibble(flags: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let bytes = r.slice(usize::from(flags >> 4) + 1, "zid")?;
        Self::from_le_bytes(bytes).map_err(|_| DecodeError::InvalidZid { offset })
    }

    /// Reads the bytes behind an explicit length.
    #[inline]
    pub(crate) fn decode_with_len(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = r.zslice(u64::MAX, "zid")?;
        let offset = r.pos() - bytes.len();
        Self::from_le_bytes(bytes).map_err(|_| DecodeError::InvalidZid { offset })
    }

    /// Writes an explicit length and the bytes.
    #[inline]
    pub(crate) fn encode_with_len<'a, S: Sink<'a> + ?Sized>(
        &self,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let bytes = self.as_le_slice();
        sink.byte(bytes.len() as u8)?;
        sink.bytes(bytes)
    }
}

impl fmt::Display for ZenohId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", u128::from_le_bytes(self.0))
    }
}

impl fmt::Debug for ZenohId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ZenohId {
    type Err = InvalidZid;

    /// 1 to 32 lower-case hexadecimal digits, most significant first, no leading zero.
    fn from_str(text: &str) -> Result<Self, InvalidZid> {
        let digits = text.as_bytes();
        match digits {
            [] => return Err(InvalidZid::Length(0)),
            [b'0'] => return Err(InvalidZid::Zero),
            [b'0', ..] => return Err(InvalidZid::LeadingZero),
            _ if digits.len() > 2 * Self::LEN_MAX => {
                return Err(InvalidZid::Length(digits.len().div_ceil(2)));
            }
            _ => {}
        }
        let mut value: u128 = 0;
        for (index, &digit) in digits.iter().enumerate() {
            let digit = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return Err(InvalidZid::NotLowerHex { index }),
            };
            value = value << 4 | u128::from(digit);
        }
        Ok(Self(value.to_le_bytes()))
    }
}

/// Why bytes or text are not a [`ZenohId`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidZid {
    /// This many bytes, where 1 to 16 are needed.
    Length(usize),
    /// The identity zero, which nobody may have.
    Zero,
    /// Text that starts with a zero.
    LeadingZero,
    /// Text with something else than `0`-`9` and `a`-`f`.
    NotLowerHex {
        /// Byte offset of the offender.
        index: usize,
    },
}

impl fmt::Display for InvalidZid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(len) => write!(f, "a zid has 1 to 16 bytes, not {len}"),
            Self::Zero => f.write_str("a zid is not zero"),
            Self::LeadingZero => f.write_str("a zid has no leading zeros"),
            Self::NotLowerHex { index } => {
                write!(f, "a zid is lower-case hexadecimal, unlike byte {index}")
            }
        }
    }
}

impl core::error::Error for InvalidZid {}

/// The identity of an entity (publisher, queryable, …): its node and a number that is unique in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityGlobalId {
    /// The node.
    pub zid: ZenohId,
    /// The entity within the session.
    pub eid: u32,
}

impl EntityGlobalId {
    /// Bytes on the wire.
    pub(crate) fn wire_len(&self) -> usize {
        1 + self.zid.wire_len() + zint::len(u64::from(self.eid))
    }

    pub(crate) fn encode<'a, S: Sink<'a> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        sink.byte(self.zid.len_nibble())?;
        sink.bytes(self.zid.as_le_slice())?;
        sink.zint(u64::from(self.eid))
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let flags = r.byte("entity id flags")?;
        let zid = ZenohId::decode_by_nibble(flags, r)?;
        let eid = r.zint_u32_truncated("entity id")?;
        Ok(Self { zid, eid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn text_is_the_reverse_of_the_wire() {
        let zid: ZenohId = "1122334455667788".parse().unwrap();
        assert_eq!(zid.as_le_slice(), [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!(zid.to_string(), "1122334455667788");
        assert_eq!(ZenohId::from_le_bytes(&[0x41, 0]), "41".parse());
        assert_eq!("f".parse::<ZenohId>().unwrap().to_string(), "f");
    }

    #[test]
    fn sixteen_bytes_are_the_most() {
        let text = "f".repeat(32);
        assert_eq!(text.parse::<ZenohId>().unwrap().as_le_slice(), [0xff; 16]);
        assert_eq!("f".repeat(33).parse::<ZenohId>(), Err(InvalidZid::Length(17)));
        assert_eq!(ZenohId::from_le_bytes(&[1; 17]), Err(InvalidZid::Length(17)));
    }

    #[test]
    fn zero_and_other_spellings_are_refused() {
        assert_eq!(ZenohId::from_le_bytes(&[]), Err(InvalidZid::Length(0)));
        assert_eq!(ZenohId::from_le_bytes(&[0; 16]), Err(InvalidZid::Zero));
        assert_eq!("".parse::<ZenohId>(), Err(InvalidZid::Length(0)));
        assert_eq!("0".parse::<ZenohId>(), Err(InvalidZid::Zero));
        assert_eq!("0a".parse::<ZenohId>(), Err(InvalidZid::LeadingZero));
        assert_eq!("aA".parse::<ZenohId>(), Err(InvalidZid::NotLowerHex { index: 1 }));
    }

    #[test]
    fn the_least_significant_byte_decides_the_order() {
        let zid = |text: &str| text.parse::<ZenohId>().unwrap();
        assert!(zid("100") < zid("1"));
        assert!(zid("201") > zid("101"));
    }
}
