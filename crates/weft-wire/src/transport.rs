//! Transport messages: what a batch is made of.
//!
//! Not here: framing of batches, the handshake, sequence numbers, reassembly (`weft-transport`).
//! Spec: 01 §4, §5.1, §5.2, §6.1.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! |Z|F|F|    ID   |   ID: 0x00 to 0x07   F: flags of the message   Z: extensions follow
//! ```
//!
//! Unknown extensions are skipped and not kept: nobody forwards a transport message.

mod close;
mod frame;
mod init;
mod join;
mod oam;
mod open;
mod parts;
mod resolution;

pub use close::{Close, CloseReason};
pub use frame::{FragmentHeader, FrameHeader};
pub use init::{InitAck, InitExts, InitSyn};
pub use join::{Join, NextSn};
pub use oam::TransportOam;
pub use open::{Bound, OpenAck, OpenExts, OpenSyn};
pub use resolution::{Bits, Resolution};

use crate::{Decode, DecodeError, Encode, NoSpace, Reader, Sink, ext, network::ID_MASK};

/// Message ids.
pub(crate) mod message_id {
    pub(crate) const OAM: u8 = 0x00;
    pub(crate) const INIT: u8 = 0x01;
    pub(crate) const OPEN: u8 = 0x02;
    pub(crate) const CLOSE: u8 = 0x03;
    pub(crate) const KEEP_ALIVE: u8 = 0x04;
    pub(crate) const FRAME: u8 = 0x05;
    pub(crate) const FRAGMENT: u8 = 0x06;
    pub(crate) const JOIN: u8 = 0x07;
}

/// Any transport message. Of frames and fragments only the header: what they hold follows in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportMessage<'a> {
    /// First message of the initiator.
    InitSyn(InitSyn<'a>),
    /// Answer to [`InitSyn`](Self::InitSyn).
    InitAck(InitAck<'a>),
    /// Second message of the initiator.
    OpenSyn(OpenSyn<'a>),
    /// Answer to [`OpenSyn`](Self::OpenSyn): the transport is open.
    OpenAck(OpenAck<'a>),
    /// The end of a link or transport.
    Close(Close),
    /// A sign of life.
    KeepAlive,
    /// Network messages follow, until the next header is not one of theirs.
    Frame(FrameHeader),
    /// A piece of a network message follows, to the end of the batch.
    Fragment(FragmentHeader),
    /// Presence on a multicast group.
    Join(Join<'a>),
    /// Anything else; unused.
    Oam(TransportOam<'a>),
}

impl<'a> Decode<'a> for TransportMessage<'a> {
    #[inline]
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("transport header")?;
        match header & ID_MASK {
            message_id::FRAME => Ok(Self::Frame(FrameHeader::decode(header, r)?)),
            message_id::FRAGMENT => Ok(Self::Fragment(FragmentHeader::decode(header, r)?)),
            message_id::KEEP_ALIVE => {
                ext::skip_optional(header, r)?;
                Ok(Self::KeepAlive)
            }
            message_id::CLOSE => Ok(Self::Close(Close::decode(header, r)?)),
            message_id::INIT => init::decode(header, r),
            message_id::OPEN => open::decode(header, r),
            message_id::JOIN => Ok(Self::Join(Join::decode(header, r)?)),
            message_id::OAM => Ok(Self::Oam(TransportOam::decode(header, r)?)),
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }
}

impl Encode for TransportMessage<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::InitSyn(message) => message.encode(sink),
            Self::InitAck(message) => message.encode(sink),
            Self::OpenSyn(message) => message.encode(sink),
            Self::OpenAck(message) => message.encode(sink),
            Self::Close(message) => message.encode(sink),
            Self::KeepAlive => sink.byte(message_id::KEEP_ALIVE),
            Self::Frame(header) => header.encode(sink),
            Self::Fragment(header) => header.encode(sink),
            Self::Join(message) => message.encode(sink),
            Self::Oam(message) => message.encode(sink),
        }
    }
}

#[cfg(test)]
mod tests;
