//! The extensions that several network messages share.
//!
//! Spec: 02 §1.1.

use crate::{DecodeError, NoSpace, Qos, Reader, Sink, Timestamp, ext::ChainWriter};

const QOS: u8 = 0x21;
const TIMESTAMP: u8 = 0x42;
/// Routing context of PUSH, REQUEST, DECLARE and INTEREST.
pub(super) const NODE_ID: u8 = 0x33;
/// Diagnostic time stamps of PUSH, REQUEST and RESPONSE.
pub(super) const TS_STACK: u8 = 0x47;

/// QoS and timestamp, the extensions of all seven messages.
#[derive(Default)]
pub(super) struct Common {
    pub(super) qos: Qos,
    pub(super) timestamp: Option<Timestamp>,
}

impl Common {
    /// Takes the extension `key` if it is one of the two.
    #[inline]
    pub(super) fn read(&mut self, key: u8, r: &mut Reader<'_>) -> Result<bool, DecodeError> {
        match key {
            QOS => self.qos = Qos::from_raw(r.zint("qos")? as u8),
            TIMESTAMP => self.timestamp = Some(Timestamp::decode(&mut r.zbuf("timestamp")?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How many of the two are to be written.
    #[inline]
    pub(super) fn count(&self) -> usize {
        usize::from(self.qos != Qos::DEFAULT) + usize::from(self.timestamp.is_some())
    }

    /// Whether there is a QoS to be written and no timestamp.
    #[inline]
    pub(super) fn is_qos_alone(&self) -> bool {
        self.qos != Qos::DEFAULT && self.timestamp.is_none()
    }

    /// [`write`](Self::write) of a QoS that is the only extension of its message.
    #[inline]
    pub(super) fn write_qos_alone<'s, S: Sink<'s> + ?Sized>(
        &self,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        sink.byte(QOS)?;
        sink.zint(u64::from(self.qos.raw()))
    }

    #[inline]
    pub(super) fn write<'s, S: Sink<'s> + ?Sized>(
        &self,
        chain: &mut ChainWriter,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        if self.qos != Qos::DEFAULT {
            chain.z64(QOS, Some(u64::from(self.qos.raw())), sink)?;
        }
        if let Some(timestamp) = &self.timestamp {
            chain.zbuf_header(TIMESTAMP, timestamp.wire_len(), sink)?;
            timestamp.encode(sink)?;
        }
        Ok(())
    }
}

/// The value of the node id extension, if it is to be written.
#[inline]
pub(super) fn node_id_value(node_id: u16) -> Option<u64> {
    (node_id != 0).then_some(u64::from(node_id))
}
