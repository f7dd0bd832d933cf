//! Why bytes from the network are not a message.
//!
//! What a decode error leads to (CLOSE with INVALID, CLOSE with GENERIC, a dropped link) is for
//! `weft-transport` to say. Spec: 01 §1.8, §10 item 24; 02 §0.

use core::fmt;

/// A message that cannot be decoded. Offsets count bytes from the start of the [`Reader`](crate::Reader).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The input ended inside `field`.
    Truncated {
        /// What was being read.
        field: &'static str,
        /// Where the field starts, or if it has a length, its content.
        offset: usize,
    },
    /// `field` holds a number or a length outside of what the protocol or a limit of this crate permits.
    OutOfRange {
        /// What was being read.
        field: &'static str,
        /// Where the field starts.
        offset: usize,
    },
    /// `field` is text, but not UTF-8.
    NotUtf8 {
        /// What was being read.
        field: &'static str,
        /// Where the text starts.
        offset: usize,
    },
    /// A header byte whose id means nothing here.
    UnknownMessage {
        /// The low five bits of the header.
        id: u8,
        /// Where the header is.
        offset: usize,
    },
    /// A mandatory extension that this version does not know.
    UnknownMandatoryExtension {
        /// The header of the extension without its top bit: encoding, mandatory bit and id.
        id: u8,
        /// Where the extension starts.
        offset: usize,
    },
    /// An extension or an OAM body with the reserved encoding `11`.
    ReservedEncoding {
        /// Where its header is.
        offset: usize,
    },
    /// A known extension of INIT or OPEN whose content is not permitted. The others are about layout; this
    /// one answers with CLOSE GENERIC instead of INVALID.
    InvalidExtension {
        /// The header of the extension without its top bit.
        id: u8,
        /// Where its content starts.
        offset: usize,
    },
    /// A node identity of zero, or of no or more than sixteen bytes.
    InvalidZid {
        /// Where the identity starts.
        offset: usize,
    },
    /// Text that is not a [`Locator`](crate::Locator).
    InvalidLocator {
        /// Where the locator starts.
        offset: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { field, offset } => {
                write!(f, "the input ends inside {field} at byte {offset}")
            }
            Self::OutOfRange { field, offset } => {
                write!(f, "{field} at byte {offset} is out of range")
            }
            Self::NotUtf8 { field, offset } => {
                write!(f, "{field} at byte {offset} is not UTF-8")
            }
            Self::UnknownMessage { id, offset } => {
                write!(f, "unknown message {id:#04x} at byte {offset}")
            }
            Self::UnknownMandatoryExtension { id, offset } => {
                write!(f, "unknown mandatory extension {id:#04x} at byte {offset}")
            }
            Self::ReservedEncoding { offset } => {
                write!(f, "reserved encoding at byte {offset}")
            }
            Self::InvalidExtension { id, offset } => {
                write!(f, "invalid content of extension {id:#04x} at byte {offset}")
            }
            Self::InvalidZid { offset } => write!(f, "invalid zid at byte {offset}"),
            Self::InvalidLocator { offset } => write!(f, "invalid locator at byte {offset}"),
        }
    }
}

impl core::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_error_says_what_and_where() {
        let (field, offset) = ("payload", 17);
        let cases = [
            (DecodeError::Truncated { field, offset }, "the input ends inside payload at byte 17"),
            (DecodeError::OutOfRange { field, offset }, "payload at byte 17 is out of range"),
            (DecodeError::NotUtf8 { field, offset }, "payload at byte 17 is not UTF-8"),
            (DecodeError::UnknownMessage { id: 9, offset }, "unknown message 0x09 at byte 17"),
            (
                DecodeError::UnknownMandatoryExtension { id: 0x39, offset },
                "unknown mandatory extension 0x39 at byte 17",
            ),
            (DecodeError::ReservedEncoding { offset }, "reserved encoding at byte 17"),
            (
                DecodeError::InvalidExtension { id: 0x48, offset },
                "invalid content of extension 0x48 at byte 17",
            ),
            (DecodeError::InvalidZid { offset }, "invalid zid at byte 17"),
            (DecodeError::InvalidLocator { offset }, "invalid locator at byte 17"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
