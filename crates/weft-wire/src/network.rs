//! Network messages: what travels inside frames.
//!
//! Not here: the data bodies ([`body`](crate::body)), frames ([`transport`](crate::transport)), what a
//! message leads to (`weft-routing`). Spec: 02 §1.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! |Z|F|F|    ID   |   ID: 0x19 to 0x1f   F: flags of the message   Z: extensions follow
//! ```

mod common;
mod declare;
mod interest;
mod oam;
mod push;
mod request;
mod response;

pub use declare::{Declaration, Declare, QueryableInfo};
pub use interest::{Interest, InterestMode, InterestOptions};
pub use oam::{Oam, OamBody};
pub use push::{Push, PushDecoder, RoutedPush};
pub use request::{QueryTarget, Request};
pub use response::{Response, ResponseFinal};

use crate::{Decode, DecodeError, Encode, NoSpace, Qos, Reader, Sink};

/// The low five bits of every header: the id.
pub(crate) const ID_MASK: u8 = 0x1f;

/// Message ids.
pub(crate) mod message_id {
    pub(crate) const INTEREST: u8 = 0x19;
    pub(crate) const RESPONSE_FINAL: u8 = 0x1a;
    pub(crate) const RESPONSE: u8 = 0x1b;
    pub(crate) const REQUEST: u8 = 0x1c;
    pub(crate) const PUSH: u8 = 0x1d;
    pub(crate) const DECLARE: u8 = 0x1e;
    pub(crate) const OAM: u8 = 0x1f;
}

/// True if `header`, the first byte of a message, is that of a network message and not of a transport one.
#[inline]
#[must_use]
pub const fn is_network_id(header: u8) -> bool {
    header & ID_MASK >= message_id::INTEREST
}

/// True if `header`, the first byte of a network message, is that of a PUSH.
#[inline]
#[must_use]
pub const fn is_push_id(header: u8) -> bool {
    header & ID_MASK == message_id::PUSH
}

/// Any network message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkMessage<'a> {
    /// A sample on its way to subscribers.
    Push(Push<'a>),
    /// A query on its way to queryables.
    Request(Request<'a>),
    /// One answer to a request.
    Response(Response<'a>),
    /// There are no more answers.
    ResponseFinal(ResponseFinal),
    /// A declaration or the withdrawal of one.
    Declare(Declare<'a>),
    /// A wish to be told declarations.
    Interest(Interest<'a>),
    /// Anything else between neighbours: link states.
    Oam(Oam<'a>),
}

impl<'a> NetworkMessage<'a> {
    /// Decodes one message and also tells where its body is: the second value is the wire form of the body
    /// of a push, request or response, for forwarding without encoding it again; empty for all others.
    ///
    /// No allocation; the message borrows from the reader's bytes.
    #[inline]
    pub fn decode_raw(r: &mut Reader<'a>) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut raw_body: &[u8] = &[];
        Self::decode_with(r, &mut raw_body).map(|message| (message, raw_body))
    }

    /// The one decoder of both forms; stores the body where the caller may not need it.
    #[expect(
        clippy::inline_always,
        reason = "hot path: a sixth of the time when the message is used where it is decoded"
    )]
    #[inline(always)]
    fn decode_with(r: &mut Reader<'a>, raw_body: &mut &'a [u8]) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("network header")?;
        match header & ID_MASK {
            message_id::PUSH => {
                let mut parts = push::Parts::default();
                let push = Push::decode(header, r, &mut parts)?;
                *raw_body = parts.body;
                Ok(Self::Push(push))
            }
            message_id::REQUEST => Request::decode(header, r, raw_body).map(Self::Request),
            message_id::RESPONSE => Response::decode(header, r, raw_body).map(Self::Response),
            message_id::RESPONSE_FINAL => ResponseFinal::decode(header, r).map(Self::ResponseFinal),
            message_id::DECLARE => Declare::decode(header, r).map(Self::Declare),
            message_id::INTEREST => Interest::decode(header, r).map(Self::Interest),
            message_id::OAM => Oam::decode(header, r).map(Self::Oam),
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }

    /// The QoS of the message.
    #[must_use]
    pub const fn qos(&self) -> Qos {
        match self {
            Self::Push(message) => message.qos,
            Self::Request(message) => message.qos,
            Self::Response(message) => message.qos,
            Self::ResponseFinal(message) => message.qos,
            Self::Declare(message) => message.qos,
            Self::Interest(message) => message.qos,
            Self::Oam(message) => message.qos,
        }
    }
}

impl<'a> Decode<'a> for NetworkMessage<'a> {
    #[inline]
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::decode_with(r, &mut &[][..])
    }
}

impl Encode for NetworkMessage<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::Push(message) => message.encode(sink),
            Self::Request(message) => message.encode(sink),
            Self::Response(message) => message.encode(sink),
            Self::ResponseFinal(message) => message.encode(sink),
            Self::Declare(message) => message.encode(sink),
            Self::Interest(message) => message.encode(sink),
            Self::Oam(message) => message.encode(sink),
        }
    }
}

#[cfg(test)]
mod tests;
