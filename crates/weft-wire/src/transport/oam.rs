//! OAM of the transport: defined, but not in use.
//!
//! Spec: 01 §4.6.
//!
//! ```text
//! |Z|ENC|   OAM   |   ENC: nothing, integer, bytes, reserved
//! %    oam id     %
//! ~  extensions   ~   if Z
//! ~ zint | <u8;z> ~   as ENC says
//! ```

use super::{
    frame::{QOS, decode_priority, priority_value},
    message_id,
};
use crate::{
    DecodeError, Encode, NoSpace, OamBody, Priority, Reader, Sink,
    ext::{self, ChainWriter},
};

/// A message between the two ends of a transport; to be ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportOam<'a> {
    /// What the body is.
    pub id: u16,
    /// How urgent it is.
    pub priority: Priority,
    /// The content.
    pub body: OamBody<'a>,
}

impl<'a> TransportOam<'a> {
    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos() - 1;
        let id = r.zint_u16_truncated("oam id")?;
        let mut priority = Priority::default();
        ext::read_chain(header, r, |key, r| match key {
            QOS => {
                priority = decode_priority(r)?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        let body = OamBody::decode(header, offset, r)?;
        Ok(Self { id, priority, body })
    }
}

impl Encode for TransportOam<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let priority = priority_value(self.priority);
        let exts = usize::from(priority.is_some());
        sink.byte(message_id::OAM | self.body.enc() | ext::flag(exts))?;
        sink.zint(u64::from(self.id))?;
        ChainWriter::new(exts).z64(QOS, priority, sink)?;
        self.body.encode(sink)
    }
}
