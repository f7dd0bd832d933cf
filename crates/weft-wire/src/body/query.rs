//! QUERY: a question to queryables.
//!
//! Spec: 02 §3, §3.1, §3.5.
//!
//! ```text
//! |Z|P|C|  QUERY  |
//! % consolidation %   if C
//! ~ <utf8;z64> parameters ~ if P
//! ~  extensions   ~   if Z
//! ```

use super::{SourceInfo, body_id};
use crate::{
    DecodeError, Encode, Encoding, NoSpace, Reader, Sink, UnknownExts,
    ext::{self, ChainWriter},
};

const C: u8 = 0x20;
const P: u8 = 0x40;

const BODY: u8 = 0x43;
const ATTACHMENT: u8 = 0x45;

/// Which of several replies for one key the querier wants. Informative: only the querier acts on it, and
/// zenoh-pico uses other numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Consolidation {
    /// As the querier sees fit. Unknown numbers mean this, too.
    #[default]
    Auto,
    /// All.
    None,
    /// Each that is newer than those delivered before.
    Monotonic,
    /// The newest, at the end.
    Latest,
}

impl Consolidation {
    /// Reads the number that flag C announces.
    #[inline]
    pub(super) fn decode(header: u8, r: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if header & C == 0 {
            return Ok(None);
        }
        Ok(Some(match r.zint("consolidation")? {
            1 => Self::None,
            2 => Self::Monotonic,
            3 => Self::Latest,
            _ => Self::Auto,
        }))
    }

    /// Flag C, if there is a consolidation.
    #[inline]
    pub(super) fn flag(this: Option<Self>) -> u8 {
        if this.is_some() { C } else { 0 }
    }
}

/// A question to queryables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<'a> {
    /// Which replies the querier wants, if it says so.
    pub consolidation: Option<Consolidation>,
    /// The part of the selector after the `?`; may be empty.
    pub parameters: &'a str,
    /// Who asks.
    pub source_info: Option<SourceInfo>,
    /// A payload.
    pub body: Option<QueryBody<'a>>,
    /// Bytes that travel along, opaque to the protocol.
    pub attachment: Option<&'a [u8]>,
    /// Extensions to be forwarded as they are.
    pub unknown: UnknownExts<'a>,
}

impl<'a> Query<'a> {
    #[inline]
    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut query =
            Self { consolidation: Consolidation::decode(header, r)?, ..Self::default() };
        if header & P != 0 {
            query.parameters = r.zstr(u64::MAX, "parameters")?;
        }
        let chain = ext::read_chain(header, r, |key, r| {
            match key {
                SourceInfo::KEY => query.source_info = Some(SourceInfo::decode(r)?),
                BODY => query.body = Some(QueryBody::decode(r)?),
                ATTACHMENT => query.attachment = Some(ext::read_bytes(r)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        query.unknown = UnknownExts::new(chain, [SourceInfo::KEY, BODY, ATTACHMENT, 0]);
        Ok(query)
    }
}

impl Encode for Query<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let exts = usize::from(self.source_info.is_some())
            + usize::from(self.body.is_some())
            + usize::from(self.attachment.is_some())
            + self.unknown.count();
        let parameters_flag = if self.parameters.is_empty() { 0 } else { P };
        let consolidation_flag = Consolidation::flag(self.consolidation);
        sink.byte(body_id::QUERY | parameters_flag | consolidation_flag | ext::flag(exts))?;
        if let Some(consolidation) = self.consolidation {
            sink.zint(consolidation as u64)?;
        }
        if parameters_flag != 0 {
            sink.zint(self.parameters.len() as u64)?;
            sink.bytes(self.parameters.as_bytes())?;
        }
        let mut chain = ChainWriter::new(exts);
        SourceInfo::encode(self.source_info.as_ref(), &mut chain, sink)?;
        if let Some(body) = &self.body {
            body.encode(&mut chain, sink)?;
        }
        chain.zbuf(ATTACHMENT, self.attachment, sink)?;
        self.unknown.encode(&mut chain, sink)
    }
}

/// The payload of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryBody<'a> {
    /// What the payload is.
    pub encoding: Encoding<'a>,
    /// The payload; together with the encoding at most 2^32 - 1 bytes.
    pub payload: &'a [u8],
}

impl<'a> QueryBody<'a> {
    /// Reads the extension: an encoding, and a payload without a length.
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut r = r.zbuf("query body")?;
        let encoding = Encoding::decode(&mut r)?;
        let payload = r.take_rest();
        Ok(Self { encoding, payload })
    }

    fn encode<'s, S: Sink<'s> + ?Sized>(
        &'s self,
        chain: &mut ChainWriter,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        chain.zbuf_header(BODY, self.encoding.wire_len() + self.payload.len(), sink)?;
        self.encoding.encode(sink)?;
        sink.payload(self.payload)
    }
}
