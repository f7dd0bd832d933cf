//! FRAME and FRAGMENT: the sequence-numbered envelopes of network messages.
//!
//! Not here: sequence-number checks and reassembly (`weft-transport`), the messages inside
//! ([`network`](crate::network)). Spec: 01 §5.1, §5.2.
//!
//! ```text
//! |Z|_|R|  FRAME  |         |Z|M|R|FRAGMENT |   R: reliable   M: more fragments follow
//! %      SN       %         %      SN       %   zint, 1 to 9 bytes
//! ~  extensions   ~ if Z    ~  extensions   ~   if Z
//! ~   messages    ~         ~     bytes     ~   to the end of the batch
//! ```

use super::message_id;
use crate::{
    DecodeError, Encode, NoSpace, Priority, Reader, Reliability, Sink,
    ext::{self, ChainWriter},
};

const R: u8 = 0x20;
const M: u8 = 0x40;

/// Priority, mandatory. Also the extension of the transport's OAM.
pub(super) const QOS: u8 = 0x31;
const FIRST: u8 = 0x02;
const DROP: u8 = 0x03;

/// The head of a frame. The messages follow it in the batch, until the next header is not one of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The channel, with `priority`.
    pub reliability: Reliability,
    /// Sequence number in the channel.
    pub sn: u64,
    /// The channel, with `reliability`. Never other than `Data` on a transport without QoS.
    pub priority: Priority,
}

impl FrameHeader {
    #[inline]
    pub(super) fn decode(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let sn = r.zint("frame sn")?;
        let mut priority = Priority::default();
        ext::read_chain(header, r, |key, r| match key {
            QOS => {
                priority = decode_priority(r)?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        Ok(Self { reliability: reliability(header), sn, priority })
    }
}

impl Encode for FrameHeader {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let priority = priority_value(self.priority);
        let exts = usize::from(priority.is_some());
        sink.byte(message_id::FRAME | flag(self.reliability) | ext::flag(exts))?;
        sink.zint(self.sn)?;
        ChainWriter::new(exts).z64(QOS, priority, sink)
    }
}

/// The head of a fragment. The piece of the message is all the rest of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentHeader {
    /// The channel, with `priority`.
    pub reliability: Reliability,
    /// True unless this is the last fragment of its message.
    pub more: bool,
    /// Sequence number in the channel.
    pub sn: u64,
    /// The channel, with `reliability`. Never other than `Data` on a transport without QoS.
    pub priority: Priority,
    /// This is the first fragment of its message. Only with patch 1 and above.
    pub first: bool,
    /// The message is abandoned. Only with patch 1 and above.
    pub drop: bool,
}

impl FragmentHeader {
    #[inline]
    pub(super) fn decode(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let sn = r.zint("fragment sn")?;
        let mut fragment = Self {
            reliability: reliability(header),
            more: header & M != 0,
            sn,
            priority: Priority::default(),
            first: false,
            drop: false,
        };
        ext::read_chain(header, r, |key, r| {
            match key {
                QOS => fragment.priority = decode_priority(r)?,
                FIRST => fragment.first = true,
                DROP => fragment.drop = true,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(fragment)
    }
}

impl Encode for FragmentHeader {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let priority = priority_value(self.priority);
        let exts =
            usize::from(priority.is_some()) + usize::from(self.first) + usize::from(self.drop);
        let more = if self.more { M } else { 0 };
        sink.byte(message_id::FRAGMENT | flag(self.reliability) | more | ext::flag(exts))?;
        sink.zint(self.sn)?;
        let mut chain = ChainWriter::new(exts);
        chain.z64(QOS, priority, sink)?;
        chain.unit(FIRST, self.first, sink)?;
        chain.unit(DROP, self.drop, sink)
    }
}

#[inline]
fn reliability(header: u8) -> Reliability {
    if header & R == 0 { Reliability::BestEffort } else { Reliability::Reliable }
}

#[inline]
fn flag(reliability: Reliability) -> u8 {
    match reliability {
        Reliability::BestEffort => 0,
        Reliability::Reliable => R,
    }
}

/// Reads the value of the QoS extension.
#[inline]
pub(super) fn decode_priority(r: &mut Reader<'_>) -> Result<Priority, DecodeError> {
    Ok(Priority::from_bits(r.zint("priority")? as u8))
}

/// The value of the QoS extension, if it is to be written.
#[inline]
pub(super) fn priority_value(priority: Priority) -> Option<u64> {
    (priority != Priority::default()).then_some(priority as u64)
}
