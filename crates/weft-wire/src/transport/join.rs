//! JOIN: presence on a multicast group.
//!
//! Spec: 01 §6.1.
//!
//! ```text
//! |Z|S|T|  JOIN   |
//! |    version    |
//! |zidlen-1|_|wai |
//! ~      zid      ~
//! |_|_|_|_|rid|fsn|   if S: also a 16-bit little-endian batch size
//! %     lease     %   in seconds if T, else milliseconds
//! %   next SN     %   reliable, then best effort
//! ~  extensions   ~   if Z
//! ```
//!
//! T is bit 5 here, but bit 6 in OPEN. S and T are set as in INIT and OPEN.

use super::{
    Resolution, message_id,
    parts::{Sizes, lease, patch},
};
use crate::{
    DecodeError, Encode, NoSpace, Priority, Reader, Sink, WhatAmI, ZenohId,
    ext::{self, ChainWriter},
    sender::Sender,
    zint,
};

const T: u8 = 0x20;
const SIZES: u8 = 0x40;

const QOS: u8 = 0x51;
const SHM: u8 = 0x52;

/// Presence on a multicast group; repeated, so that it is the sign of life there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join<'a> {
    /// The sender's protocol version. Not checked by the decoder.
    pub version: u8,
    /// The sender's mode.
    pub whatami: WhatAmI,
    /// The sender.
    pub zid: ZenohId,
    /// Widths of the sender's sequence numbers and request ids.
    pub resolution: Resolution,
    /// The largest batch that the sender accepts, in bytes.
    pub batch_size: u16,
    /// How long the sender may be silent before it counts as gone, in milliseconds.
    pub lease_ms: u64,
    /// The sender's next sequence numbers without QoS; zeros with it.
    pub next_sn: NextSn,
    /// The sender's next sequence numbers of each priority, with QoS.
    pub qos: Option<[NextSn; Priority::ALL.len()]>,
    /// Shared memory, raw.
    pub shm: Option<&'a [u8]>,
    /// Patch level of the protocol; 0 is not written. Greater values than 255 are read as 255.
    pub patch: u8,
}

/// The sequence numbers that the sender of a JOIN uses next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextSn {
    /// On the reliable channel.
    pub reliable: u64,
    /// On the best-effort channel.
    pub best_effort: u64,
}

impl<'a> Join<'a> {
    /// The batch size that a JOIN without sizes means, in bytes.
    pub const BATCH_SIZE_DEFAULT: u16 = 8192;

    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let Sender { version, whatami, zid } = Sender::decode(r)?;
        let sizes = Sizes::decode(header & SIZES != 0, Self::BATCH_SIZE_DEFAULT, r)?;
        let lease_ms = lease::decode(header & T != 0, r)?;
        let mut join = Self {
            version,
            whatami,
            zid,
            resolution: sizes.resolution,
            batch_size: sizes.batch_size,
            lease_ms,
            next_sn: NextSn::decode(r)?,
            qos: None,
            shm: None,
            patch: 0,
        };
        ext::read_chain(header, r, |key, r| {
            match key {
                QOS => join.qos = Some(decode_qos(&mut r.zbuf("next sns")?)?),
                SHM => join.shm = Some(ext::read_bytes(r)?),
                patch::KEY => join.patch = patch::decode(r)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(join)
    }
}

impl Encode for Join<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let sender = Sender { version: self.version, whatami: self.whatami, zid: self.zid };
        let sizes = Sizes { resolution: self.resolution, batch_size: self.batch_size };
        let has_sizes = sizes != Sizes::of_default(Self::BATCH_SIZE_DEFAULT);
        let sizes_flag = if has_sizes { SIZES } else { 0 };
        let seconds_flag = if lease::in_seconds(self.lease_ms) { T } else { 0 };
        let exts = usize::from(self.qos.is_some())
            + usize::from(self.shm.is_some())
            + usize::from(self.patch != 0);
        sink.byte(message_id::JOIN | sizes_flag | seconds_flag | ext::flag(exts))?;
        sender.encode(sink)?;
        if has_sizes {
            sizes.encode(sink)?;
        }
        lease::encode(self.lease_ms, sink)?;
        self.next_sn.encode(sink)?;
        let mut chain = ChainWriter::new(exts);
        if let Some(qos) = &self.qos {
            let len = qos.iter().map(NextSn::wire_len).sum();
            chain.zbuf_header(QOS, len, sink)?;
            qos.iter().try_for_each(|next_sn| next_sn.encode(sink))?;
        }
        chain.zbuf(SHM, self.shm, sink)?;
        chain.z64(patch::KEY, patch::value(self.patch), sink)
    }
}

fn decode_qos(r: &mut Reader<'_>) -> Result<[NextSn; Priority::ALL.len()], DecodeError> {
    let mut qos = [NextSn::default(); Priority::ALL.len()];
    for next_sn in &mut qos {
        *next_sn = NextSn::decode(r)?;
    }
    Ok(qos)
}

impl NextSn {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let reliable = r.zint("next reliable sn")?;
        let best_effort = r.zint("next best-effort sn")?;
        Ok(Self { reliable, best_effort })
    }

    fn wire_len(&self) -> usize {
        zint::len(self.reliable) + zint::len(self.best_effort)
    }

    fn encode<'s, S: Sink<'s> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        sink.zint(self.reliable)?;
        sink.zint(self.best_effort)
    }
}
