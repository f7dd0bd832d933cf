//! PUT and DEL: the two kinds of samples.
//!
//! Spec: 02 §3, §3.1. The hot path: straight-line code for a body without extensions.
//!
//! ```text
//! |Z|E|T|   PUT   |         |Z|_|T|   DEL   |
//! ~   timestamp   ~ if T    ~   timestamp   ~   if T
//! ~   encoding    ~ if E    ~  extensions   ~   if Z
//! ~  extensions   ~ if Z
//! ~ <u8;z32> payload ~
//! ```

use super::{SourceInfo, body_id, decode_payload, encode_payload};
use crate::{
    DecodeError, Encode, Encoding, NoSpace, Reader, Sink, Timestamp, UnknownExts,
    ext::{self, ChainWriter, Z},
};

const T: u8 = 0x20;
const E: u8 = 0x40;

const PUT_ATTACHMENT: u8 = 0x43;
const DEL_ATTACHMENT: u8 = 0x42;

/// A value for a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put<'a> {
    /// When it was made.
    pub timestamp: Option<Timestamp>,
    /// What the payload is.
    pub encoding: Encoding<'a>,
    /// Who published it.
    pub source_info: Option<SourceInfo>,
    /// Bytes that travel with the payload, opaque to the protocol.
    pub attachment: Option<&'a [u8]>,
    /// Extensions to be forwarded as they are.
    pub unknown: UnknownExts<'a>,
    /// The value, at most 2^32 - 1 bytes.
    pub payload: &'a [u8],
}

impl<'a> Put<'a> {
    /// Decodes the rest of a body whose header was read; stores what lies between timestamp and payload,
    /// where the caller may not need it.
    #[expect(
        clippy::inline_always,
        reason = "hot path: a sixth of the time when the message is used where it is decoded"
    )]
    #[inline(always)]
    pub(super) fn decode(
        header: u8,
        r: &mut Reader<'a>,
        middle: &mut &'a [u8],
    ) -> Result<Self, DecodeError> {
        let timestamp = decode_timestamp(header, r)?;
        let start = r.pos();
        let encoding = if header & E == 0 { Encoding::DEFAULT } else { Encoding::decode(r)? };
        let exts = SampleExts::decode(header, PUT_ATTACHMENT, r)?;
        let SampleExts { source_info, attachment, unknown } = exts;
        *middle = r.since(start);
        let payload = decode_payload(r)?;
        Ok(Self { timestamp, encoding, source_info, attachment, unknown, payload })
    }
}

impl Encode for Put<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let exts = usize::from(self.source_info.is_some())
            + usize::from(self.attachment.is_some())
            + self.unknown.count();
        let encoding_flag = if self.encoding.is_default() { 0 } else { E };
        let timestamp_flag = if self.timestamp.is_some() { T } else { 0 };
        sink.byte(body_id::PUT | encoding_flag | timestamp_flag | ext::flag(exts))?;
        if let Some(timestamp) = &self.timestamp {
            timestamp.encode(sink)?;
        }
        if encoding_flag != 0 {
            self.encoding.encode(sink)?;
        }
        if exts > 0 {
            let mut chain = ChainWriter::new(exts);
            SourceInfo::encode(self.source_info.as_ref(), &mut chain, sink)?;
            chain.zbuf(PUT_ATTACHMENT, self.attachment, sink)?;
            self.unknown.encode(&mut chain, sink)?;
        }
        encode_payload(self.payload, sink)
    }
}

/// The end of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Del<'a> {
    /// When it was deleted.
    pub timestamp: Option<Timestamp>,
    /// Who deleted it.
    pub source_info: Option<SourceInfo>,
    /// Bytes that travel along, opaque to the protocol.
    pub attachment: Option<&'a [u8]>,
    /// Extensions to be forwarded as they are.
    pub unknown: UnknownExts<'a>,
}

impl<'a> Put<'a> {
    /// Decodes another PUT into this one, whose header and `middle` it shares: only timestamp and payload are
    /// read. Returns false if the middle is another one; then the body is to be decoded as a whole.
    #[inline]
    pub(crate) fn decode_similar(
        &mut self,
        header: u8,
        r: &mut Reader<'a>,
        middle: &[u8],
    ) -> Result<bool, DecodeError> {
        if header & T != 0 {
            self.timestamp = Some(Timestamp::decode(r)?);
        }
        if !middle.is_empty() && !r.skip(middle) {
            return Ok(false);
        }
        self.payload = decode_payload(r)?;
        Ok(true)
    }
}

impl<'a> Del<'a> {
    #[inline]
    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let timestamp = decode_timestamp(header, r)?;
        let exts = SampleExts::decode(header, DEL_ATTACHMENT, r)?;
        let SampleExts { source_info, attachment, unknown } = exts;
        Ok(Self { timestamp, source_info, attachment, unknown })
    }
}

impl Encode for Del<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let exts = usize::from(self.source_info.is_some())
            + usize::from(self.attachment.is_some())
            + self.unknown.count();
        let timestamp_flag = if self.timestamp.is_some() { T } else { 0 };
        sink.byte(body_id::DEL | timestamp_flag | ext::flag(exts))?;
        if let Some(timestamp) = &self.timestamp {
            timestamp.encode(sink)?;
        }
        let mut chain = ChainWriter::new(exts);
        SourceInfo::encode(self.source_info.as_ref(), &mut chain, sink)?;
        chain.zbuf(DEL_ATTACHMENT, self.attachment, sink)?;
        self.unknown.encode(&mut chain, sink)
    }
}

/// The header of a PUT that gets a timestamp.
#[inline]
pub(crate) const fn put_timestamped(header: u8) -> u8 {
    header | T
}

#[inline]
fn decode_timestamp(header: u8, r: &mut Reader<'_>) -> Result<Option<Timestamp>, DecodeError> {
    if header & T == 0 { Ok(None) } else { Timestamp::decode(r).map(Some) }
}

/// The extensions of PUT and DEL, which differ only in the key of the attachment.
#[derive(Default)]
struct SampleExts<'a> {
    source_info: Option<SourceInfo>,
    attachment: Option<&'a [u8]>,
    unknown: UnknownExts<'a>,
}

impl<'a> SampleExts<'a> {
    #[inline]
    fn decode(header: u8, attachment: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        if header & Z == 0 {
            Ok(Self::default())
        } else {
            Self::decode_chain(header, attachment, r)
        }
    }

    #[inline(never)]
    fn decode_chain(header: u8, attachment: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut exts = Self::default();
        let chain = ext::read_chain(header, r, |key, r| {
            match key {
                SourceInfo::KEY => exts.source_info = Some(SourceInfo::decode(r)?),
                key if key == attachment => exts.attachment = Some(ext::read_bytes(r)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        exts.unknown = UnknownExts::new(chain, [SourceInfo::KEY, attachment, 0, 0]);
        Ok(exts)
    }
}
