//! OAM: messages between neighbours about the network itself.
//!
//! Spec: 02 §1.8. The only one in use carries link states ([`linkstate`](crate::linkstate)).
//!
//! ```text
//! |Z|ENC|   OAM   |   ENC: nothing, integer, bytes, reserved
//! %    oam id     %
//! ~  extensions   ~   if Z
//! ~ zint | <u8;z64> ~ as ENC says
//! ```

use super::{common::Common, message_id};
use crate::{
    DecodeError, Encode, LINKSTATE, NoSpace, Qos, Reader, Sink, Timestamp,
    ext::{self, ChainWriter, ENC, ENC_UNIT, ENC_Z64, ENC_ZBUF},
};

/// A message between neighbours about the network itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oam<'a> {
    /// What the body is.
    pub id: u16,
    /// How it is to be treated.
    pub qos: Qos,
    /// When the message was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
    /// The content.
    pub body: OamBody<'a>,
}

impl<'a> Oam<'a> {
    /// Link states, as [`LinkStateList::to_vec`](crate::LinkStateList::to_vec) writes them.
    #[must_use]
    pub const fn link_states(body: &'a [u8]) -> Self {
        Self { id: LINKSTATE, qos: Qos::DECLARE, timestamp: None, body: OamBody::ZBuf(body) }
    }

    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos() - 1;
        let id = r.zint_u16_truncated("oam id")?;
        let mut common = Common::default();
        ext::read_chain(header, r, |key, r| common.read(key, r))?;
        let body = OamBody::decode(header, offset, r)?;
        Ok(Self { id, qos: common.qos, timestamp: common.timestamp, body })
    }
}

impl Encode for Oam<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let exts = common.count();
        sink.byte(message_id::OAM | self.body.enc() | ext::flag(exts))?;
        sink.zint(u64::from(self.id))?;
        common.write(&mut ChainWriter::new(exts), sink)?;
        self.body.encode(sink)
    }
}

/// The content of an OAM message of the network or the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OamBody<'a> {
    /// Nothing.
    Unit,
    /// An integer.
    Z64(u64),
    /// Bytes.
    ZBuf(&'a [u8]),
}

impl<'a> OamBody<'a> {
    /// Reads what the ENC bits of `header`, which is at `offset`, tell.
    pub(crate) fn decode(
        header: u8,
        offset: usize,
        r: &mut Reader<'a>,
    ) -> Result<Self, DecodeError> {
        match header & ENC {
            ENC_UNIT => Ok(Self::Unit),
            ENC_Z64 => Ok(Self::Z64(r.zint("oam value")?)),
            ENC_ZBUF => Ok(Self::ZBuf(r.zslice(u64::MAX, "oam body")?)),
            _ => Err(DecodeError::ReservedEncoding { offset }),
        }
    }

    /// The ENC bits for the header.
    pub(crate) fn enc(&self) -> u8 {
        match self {
            Self::Unit => ENC_UNIT,
            Self::Z64(_) => ENC_Z64,
            Self::ZBuf(_) => ENC_ZBUF,
        }
    }

    pub(crate) fn encode<'s, S: Sink<'s> + ?Sized>(&'s self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::Unit => Ok(()),
            Self::Z64(value) => sink.zint(*value),
            Self::ZBuf(bytes) => {
                sink.zint(bytes.len() as u64)?;
                sink.payload(bytes)
            }
        }
    }
}
