//! CLOSE: the end of a link or of the whole transport.
//!
//! Spec: 01 §4.4.
//!
//! ```text
//! |Z|_|S|  CLOSE  |   S: the whole transport
//! |    reason     |
//! ~  extensions   ~   if Z
//! ```

use core::fmt;

use super::message_id;
use crate::{DecodeError, Encode, NoSpace, Reader, Sink, ext};

const WHOLE: u8 = 0x20;

/// The end of a link or of the whole transport. There is no answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    /// True if the whole transport ends, not just the link that this arrives on. Eclipse Zenoh always
    /// sends false, on every link.
    pub session: bool,
    /// Why.
    pub reason: CloseReason,
}

impl Close {
    pub(super) fn decode(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let reason = CloseReason(r.byte("close reason")?);
        ext::skip_optional(header, r)?;
        Ok(Self { session: header & WHOLE != 0, reason })
    }
}

impl Encode for Close {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.byte(message_id::CLOSE | if self.session { WHOLE } else { 0 })?;
        sink.byte(self.reason.0)
    }
}

/// Why a link or transport ends. Any number is legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseReason(pub u8);

impl CloseReason {
    /// The normal end; also a failed negotiation of extensions.
    pub const GENERIC: Self = Self(0);
    /// Unused.
    pub const UNSUPPORTED: Self = Self(1);
    /// A bad message, version, cookie or parameter.
    pub const INVALID: Self = Self(2);
    /// Too many sessions; Eclipse Zenoh says `INVALID` instead.
    pub const MAX_SESSIONS: Self = Self(3);
    /// Too many links of one transport.
    pub const MAX_LINKS: Self = Self(4);
    /// The lease expired; never on the wire from Eclipse Zenoh.
    pub const EXPIRED: Self = Self(5);
    /// A message that must not be dropped could not be queued in time.
    pub const UNRESPONSIVE: Self = Self(6);
    /// The initiator connected to itself.
    pub const CONNECTION_TO_SELF: Self = Self(7);
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::GENERIC => "generic",
            Self::UNSUPPORTED => "unsupported",
            Self::INVALID => "invalid",
            Self::MAX_SESSIONS => "max sessions",
            Self::MAX_LINKS => "max links",
            Self::EXPIRED => "expired",
            Self::UNRESPONSIVE => "unresponsive",
            Self::CONNECTION_TO_SELF => "connection to self",
            Self(reason) => return write!(f, "reason {reason}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reasons_have_names_or_numbers() {
        assert_eq!(CloseReason::MAX_LINKS.to_string(), "max links");
        assert_eq!(CloseReason(200).to_string(), "reason 200");
    }
}
