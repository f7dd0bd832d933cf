//! Who sends a HELLO, INIT or JOIN: the same three fields at their start.
//!
//! Spec: 01 §2.3, §4.1, §6.1.

use crate::{DecodeError, NoSpace, Reader, Sink, WhatAmI, ZenohId};

/// Protocol version, mode and identity of a sender.
pub(crate) struct Sender {
    pub(crate) version: u8,
    pub(crate) whatami: WhatAmI,
    pub(crate) zid: ZenohId,
}

impl Sender {
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let version = r.byte("version")?;
        let offset = r.pos();
        let flags = r.byte("zid length and mode")?;
        let whatami = WhatAmI::from_code(flags & 0b11)
            .ok_or(DecodeError::OutOfRange { field: "mode", offset })?;
        let zid = ZenohId::decode_by_nibble(flags, r)?;
        Ok(Self { version, whatami, zid })
    }

    pub(crate) fn encode<'s, S: Sink<'s> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        sink.byte(self.version)?;
        sink.byte(self.zid.len_nibble() | self.whatami.code())?;
        sink.bytes(self.zid.as_le_slice())
    }
}
