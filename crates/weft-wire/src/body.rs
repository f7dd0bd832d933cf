//! Data bodies: what PUSH, REQUEST and RESPONSE carry.
//!
//! Not here: the network messages around them. Spec: 02 §3.
//!
//! Bodies have no outer length; they are self-delimiting and the next message follows directly. `Raw` bodies
//! are for encoding only: a body that was received is forwarded as the bytes it came in.

mod put;
mod query;
mod reply;

pub(crate) use put::put_timestamped;
pub use put::{Del, Put};
pub use query::{Consolidation, Query, QueryBody};
pub use reply::{ErrReply, Reply};

use crate::{
    Decode, DecodeError, Encode, EntityGlobalId, NoSpace, Reader, Sink, ext::ChainWriter,
    network::ID_MASK, zint,
};

/// Body ids: the low five bits of a body's header.
pub(crate) mod body_id {
    pub(crate) const PUT: u8 = 0x01;
    pub(crate) const DEL: u8 = 0x02;
    pub(crate) const QUERY: u8 = 0x03;
    pub(crate) const REPLY: u8 = 0x04;
    pub(crate) const ERR: u8 = 0x05;
}

/// Which entity published something, and which of its publications it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// Without gaps in an `Option`, which is copied with every sample: copies of 28 bytes overlap, and stall.
#[repr(align(8))]
pub struct SourceInfo {
    /// The publishing entity.
    pub id: EntityGlobalId,
    /// Sequence number of the publication, chosen by the application layer.
    pub sn: u32,
}

/// What a PUSH or a REPLY carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushBody<'a> {
    /// A value for the key.
    Put(Put<'a>),
    /// The key is gone.
    Del(Del<'a>),
}

/// What a REQUEST carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBody<'a> {
    /// A query.
    Query(Query<'a>),
    /// A body in its wire form. Never decoded, only encoded.
    Raw(&'a [u8]),
}

/// What a RESPONSE carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseBody<'a> {
    /// A sample that answers the query.
    Reply(Reply<'a>),
    /// The query failed.
    Err(ErrReply<'a>),
    /// A body in its wire form. Never decoded, only encoded.
    Raw(&'a [u8]),
}

impl<'a> PushBody<'a> {
    /// Decodes a body; of a PUT, stores what lies between timestamp and payload, where the caller may not
    /// need it.
    #[expect(
        clippy::inline_always,
        reason = "hot path: a sixth of the time when the message is used where it is decoded"
    )]
    #[inline(always)]
    pub(crate) fn decode_with(
        r: &mut Reader<'a>,
        middle: &mut &'a [u8],
    ) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("body header")?;
        match header & ID_MASK {
            body_id::PUT => Ok(Self::Put(Put::decode(header, r, middle)?)),
            body_id::DEL => Ok(Self::Del(Del::decode(header, r)?)),
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }
}

impl<'a> Decode<'a> for PushBody<'a> {
    #[inline]
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::decode_with(r, &mut &[][..])
    }
}

impl Encode for PushBody<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::Put(put) => put.encode(sink),
            Self::Del(del) => del.encode(sink),
        }
    }
}

impl<'a> Decode<'a> for RequestBody<'a> {
    #[inline]
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("body header")?;
        match header & ID_MASK {
            body_id::QUERY => Ok(Self::Query(Query::decode(header, r)?)),
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }
}

impl Encode for RequestBody<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::Query(query) => query.encode(sink),
            Self::Raw(bytes) => sink.payload(bytes),
        }
    }
}

impl<'a> Decode<'a> for ResponseBody<'a> {
    #[inline]
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("body header")?;
        match header & ID_MASK {
            body_id::REPLY => Ok(Self::Reply(Reply::decode(header, r)?)),
            body_id::ERR => Ok(Self::Err(ErrReply::decode(header, r)?)),
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }
}

impl Encode for ResponseBody<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::Reply(reply) => reply.encode(sink),
            Self::Err(error) => error.encode(sink),
            Self::Raw(bytes) => sink.payload(bytes),
        }
    }
}

impl SourceInfo {
    /// The extension that carries it in PUT, DEL, QUERY and ERR.
    const KEY: u8 = 0x41;

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut r = r.zbuf("source info")?;
        let id = EntityGlobalId::decode(&mut r)?;
        let sn = r.zint_u32_truncated("source sn")?;
        Ok(Self { id, sn })
    }

    /// Writes the extension, if there is a source info.
    fn encode<'s, S: Sink<'s> + ?Sized>(
        this: Option<&Self>,
        chain: &mut ChainWriter,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let Some(Self { id, sn }) = this else {
            return Ok(());
        };
        chain.zbuf_header(Self::KEY, id.wire_len() + zint::len(u64::from(*sn)), sink)?;
        id.encode(sink)?;
        sink.zint(u64::from(*sn))
    }
}

/// Writes a payload behind its length.
#[inline]
fn encode_payload<'s, S: Sink<'s> + ?Sized>(
    payload: &'s [u8],
    sink: &mut S,
) -> Result<(), NoSpace> {
    debug_assert!(u32::try_from(payload.len()).is_ok(), "payload too long");
    sink.zint(payload.len() as u64)?;
    sink.payload(payload)
}

/// The payload behind its length.
#[inline]
fn decode_payload<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    r.zslice(u64::from(u32::MAX), "payload")
}

#[cfg(test)]
mod tests;
