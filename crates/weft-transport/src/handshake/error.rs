//! [`HandshakeError`] and the CLOSE that each leads to. Spec: 01 §4.3, §4.4, §9.6, §10 item 24.

use core::fmt;
use weft_wire::{Bits, CloseReason, DecodeError, ZenohId};

/// Why a handshake failed. The link is to be closed, after the CLOSE that was written, if any.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// The peer sent CLOSE.
    Closed {
        /// Why.
        reason: CloseReason,
    },
    /// The batch is not a message.
    Malformed(DecodeError),
    /// A message that is not expected here: its name.
    Unexpected {
        /// The name.
        message: &'static str,
    },
    /// The initiator speaks another version of the protocol.
    Version {
        /// Its version.
        version: u8,
    },
    /// The responder wants wider SNs or request ids than proposed.
    Resolution {
        /// What it wants.
        accepted: Bits,
        /// What was proposed.
        proposed: Bits,
    },
    /// The agreed batch size is under [`BATCH_SIZE_MIN`](super::BATCH_SIZE_MIN).
    BatchSize {
        /// Bytes.
        batch_size: u16,
    },
    /// QoS and QoSLink in one INIT.
    QosTwice,
    /// A QoSLink with priorities that do not exist.
    QosLink {
        /// The bit field.
        value: u64,
    },
    /// The responder has a higher patch level than was offered.
    Patch {
        /// Its level.
        patch: u8,
    },
    /// The responder is not who was expected, for instance because an address was reused.
    ZidMismatch {
        /// Who was expected.
        expected: ZenohId,
        /// Who answered.
        found: ZenohId,
    },
    /// The peer is this node.
    ConnectionToSelf,
    /// The cookie was not issued to this peer by this node.
    CookieForged,
    /// The cookie is too old.
    CookieExpired,
    /// The responder's cookie does not fit the OPEN that must carry it over this link.
    CookieTooLong {
        /// Bytes.
        len: usize,
    },
    /// The peer starts with an SN that the agreed resolution cannot express.
    InitialSn {
        /// The SN.
        sn: u64,
    },
    /// The handshake is over.
    Finished,
}

impl HandshakeError {
    /// The CLOSE that tells the peer; `None` if it closed or is told already.
    #[must_use]
    pub fn close_reason(&self) -> Option<CloseReason> {
        match self {
            Self::Closed { .. } | Self::Finished => None,
            Self::Malformed(DecodeError::InvalidExtension { .. })
            | Self::QosTwice
            | Self::QosLink { .. }
            | Self::Patch { .. } => Some(CloseReason::GENERIC),
            Self::ConnectionToSelf => Some(CloseReason::CONNECTION_TO_SELF),
            Self::Malformed(_)
            | Self::Unexpected { .. }
            | Self::Version { .. }
            | Self::Resolution { .. }
            | Self::BatchSize { .. }
            | Self::ZidMismatch { .. }
            | Self::CookieForged
            | Self::CookieExpired
            | Self::CookieTooLong { .. }
            | Self::InitialSn { .. } => Some(CloseReason::INVALID),
        }
    }
}

impl From<DecodeError> for HandshakeError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { reason } => write!(f, "the peer closed the handshake: {reason}"),
            Self::Malformed(error) => write!(f, "malformed handshake message: {error}"),
            Self::Unexpected { message } => write!(f, "unexpected {message} in the handshake"),
            Self::Version { version } => write!(f, "the peer speaks version {version}"),
            Self::Resolution { accepted, proposed } => {
                write!(f, "the peer wants a resolution of {accepted:?}, offered was {proposed:?}")
            }
            Self::BatchSize { batch_size } => {
                write!(f, "a batch size of {batch_size} bytes is too small")
            }
            Self::QosTwice => f.write_str("QoS and QoSLink exclude each other"),
            Self::QosLink { value } => write!(f, "invalid QoSLink {value:#x}"),
            Self::Patch { patch } => write!(f, "the peer wants patch level {patch}"),
            Self::ZidMismatch { expected, found } => write!(f, "{found} answers for {expected}"),
            Self::ConnectionToSelf => f.write_str("the peer is this node"),
            Self::CookieForged => f.write_str("the cookie was not issued to this peer"),
            Self::CookieExpired => f.write_str("the cookie is too old"),
            Self::CookieTooLong { len } => write!(f, "a cookie of {len} bytes is too long"),
            Self::InitialSn { sn } => write!(f, "initial SN {sn} exceeds the resolution"),
            Self::Finished => f.write_str("the handshake is over"),
        }
    }
}

impl core::error::Error for HandshakeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}
