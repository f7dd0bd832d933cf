//! REPLY and ERR: the answers to a query.
//!
//! Spec: 02 §3, §3.1.
//!
//! ```text
//! |Z|_|C|  REPLY  |         |Z|E|_|   ERR   |
//! % consolidation % if C    ~   encoding    ~   if E
//! ~  extensions   ~ if Z    ~  extensions   ~   if Z
//! ~  PUT or DEL   ~         ~ <u8;z32> payload ~
//! ```

use super::{Consolidation, PushBody, SourceInfo, body_id, decode_payload, encode_payload};
use crate::{
    Decode, DecodeError, Encode, Encoding, NoSpace, Reader, Sink, UnknownExts,
    ext::{self, ChainWriter},
};

const E: u8 = 0x40;

/// A sample that answers a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Never sent by Eclipse Zenoh.
    pub consolidation: Option<Consolidation>,
    /// Extensions to be forwarded as they are. Never add any: zenoh-pico refuses all of them here.
    pub unknown: UnknownExts<'a>,
    /// The sample.
    pub body: PushBody<'a>,
}

impl<'a> Reply<'a> {
    /// A reply with nothing but its sample.
    #[must_use]
    pub const fn new(body: PushBody<'a>) -> Self {
        Self { consolidation: None, unknown: UnknownExts::EMPTY, body }
    }

    #[inline]
    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let consolidation = Consolidation::decode(header, r)?;
        let unknown = UnknownExts::new(ext::read_chain(header, r, |_, _| Ok(false))?, [0; 4]);
        let body = PushBody::decode(r)?;
        Ok(Self { consolidation, unknown, body })
    }
}

impl Encode for Reply<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let exts = self.unknown.count();
        sink.byte(body_id::REPLY | Consolidation::flag(self.consolidation) | ext::flag(exts))?;
        if let Some(consolidation) = self.consolidation {
            sink.zint(consolidation as u64)?;
        }
        self.unknown.encode(&mut ChainWriter::new(exts), sink)?;
        self.body.encode(sink)
    }
}

/// Why a query has no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrReply<'a> {
    /// What the payload is.
    pub encoding: Encoding<'a>,
    /// Who answers.
    pub source_info: Option<SourceInfo>,
    /// Extensions to be forwarded as they are.
    pub unknown: UnknownExts<'a>,
    /// What went wrong, at most 2^32 - 1 bytes.
    pub payload: &'a [u8],
}

impl<'a> ErrReply<'a> {
    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut error = Self::default();
        if header & E != 0 {
            error.encoding = Encoding::decode(r)?;
        }
        let chain = ext::read_chain(header, r, |key, r| match key {
            SourceInfo::KEY => {
                error.source_info = Some(SourceInfo::decode(r)?);
                Ok(true)
            }
            _ => Ok(false),
        })?;
        error.unknown = UnknownExts::new(chain, [SourceInfo::KEY, 0, 0, 0]);
        error.payload = decode_payload(r)?;
        Ok(error)
    }
}

impl Encode for ErrReply<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let exts = usize::from(self.source_info.is_some()) + self.unknown.count();
        let encoding_flag = if self.encoding.is_default() { 0 } else { E };
        sink.byte(body_id::ERR | encoding_flag | ext::flag(exts))?;
        if encoding_flag != 0 {
            self.encoding.encode(sink)?;
        }
        let mut chain = ChainWriter::new(exts);
        SourceInfo::encode(self.source_info.as_ref(), &mut chain, sink)?;
        self.unknown.encode(&mut chain, sink)?;
        encode_payload(self.payload, sink)
    }
}
