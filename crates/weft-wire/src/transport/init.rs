//! INIT: who is there, and what both sides can do.
//!
//! Not here: what is negotiated, and the content of the raw extensions. Spec: 01 §4.1.
//!
//! ```text
//! |Z|S|A|  INIT   |
//! |    version    |
//! |zidlen-1|_|wai |
//! ~      zid      ~
//! |_|_|_|_|rid|fsn|   if S: also a 16-bit little-endian batch size
//! ~ <u8;z16> cookie ~ if A
//! ~  extensions   ~   if Z
//! ```
//!
//! S is set when resolution or batch size differ from their defaults.

use super::{
    Resolution, TransportMessage, message_id,
    parts::{Sizes, patch},
};
use crate::{
    DecodeError, Encode, NoSpace, Reader, Sink, WhatAmI, ZenohId,
    ext::{self, ChainWriter},
    sender::Sender,
};

const A: u8 = 0x20;
const SIZES: u8 = 0x40;

const QOS: u8 = 0x01;
const QOS_LINK: u8 = 0x21;
const SHM: u8 = 0x42;
const AUTH: u8 = 0x43;
const MULTI_LINK: u8 = 0x44;
const LOW_LATENCY: u8 = 0x05;
const COMPRESSION: u8 = 0x06;
const REGION_NAME: u8 = 0x48;
/// Not of the protocol: other implementations skip it.
const CAPABILITIES: u8 = 0x2e;

/// First message of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitSyn<'a> {
    /// The sender's protocol version. Not checked by the decoder: another one is refused by the handshake.
    pub version: u8,
    /// The sender's mode.
    pub whatami: WhatAmI,
    /// The sender.
    pub zid: ZenohId,
    /// Widths of sequence numbers and request ids that the sender proposes.
    pub resolution: Resolution,
    /// The largest batch that the sender accepts, in bytes.
    pub batch_size: u16,
    /// What else the sender offers.
    pub exts: InitExts<'a>,
}

/// Answer to [`InitSyn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitAck<'a> {
    /// The sender's protocol version. Not checked by the decoder.
    pub version: u8,
    /// The sender's mode.
    pub whatami: WhatAmI,
    /// The sender.
    pub zid: ZenohId,
    /// The agreed widths of sequence numbers and request ids.
    pub resolution: Resolution,
    /// The largest batch that the sender accepts, in bytes.
    pub batch_size: u16,
    /// To be returned unchanged; at most 65,535 bytes.
    pub cookie: &'a [u8],
    /// What of the offer the sender accepts.
    pub exts: InitExts<'a>,
}

/// The extensions of INIT. The raw ones are handed over as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitExts<'a> {
    /// Eight priorities.
    pub qos: bool,
    /// Eight priorities with the range and reliability of this link: the bit field of 01 §4.1.1.
    pub qos_link: Option<u64>,
    /// Shared memory, raw.
    pub shm: Option<&'a [u8]>,
    /// Authentication, raw.
    pub auth: Option<&'a [u8]>,
    /// Several links per transport, raw.
    pub multilink: Option<&'a [u8]>,
    /// Low-latency transport.
    pub low_latency: bool,
    /// Compressed batches.
    pub compression: bool,
    /// Patch level of the protocol; 0 is not written. Greater values than 255 are read as 255.
    pub patch: u8,
    /// The sender's region, 1 to [`REGION_NAME_LEN_MAX`](Self::REGION_NAME_LEN_MAX) bytes.
    pub region_name: Option<&'a str>,
    /// What the sender can do beyond the protocol: bits that only this implementation knows, see
    /// [`CAPABILITY_MESH`](Self::CAPABILITY_MESH) and
    /// [`CAPABILITY_GATEWAY`](Self::CAPABILITY_GATEWAY). 0 is not written.
    pub capabilities: u64,
}

impl<'a> InitExts<'a> {
    /// The longest region name, in bytes.
    pub const REGION_NAME_LEN_MAX: usize = 32;

    /// The sender routes as a member of a network of peers and routers.
    pub const CAPABILITY_MESH: u64 = 1;

    /// The sender joins regions, and leaves out of a region who is linked with the receiver as well.
    pub const CAPABILITY_GATEWAY: u64 = 2;

    fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut exts = Self::default();
        ext::read_chain(header, r, |key, r| {
            match key {
                QOS => exts.qos = true,
                QOS_LINK => exts.qos_link = Some(r.zint("qos of the link")?),
                SHM => exts.shm = Some(ext::read_bytes(r)?),
                AUTH => exts.auth = Some(ext::read_bytes(r)?),
                MULTI_LINK => exts.multilink = Some(ext::read_bytes(r)?),
                LOW_LATENCY => exts.low_latency = true,
                COMPRESSION => exts.compression = true,
                patch::KEY => exts.patch = patch::decode(r)?,
                REGION_NAME => exts.region_name = Some(decode_region_name(r)?),
                CAPABILITIES => exts.capabilities = r.zint("capabilities")?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(exts)
    }

    fn count(&self) -> usize {
        [
            self.qos,
            self.qos_link.is_some(),
            self.shm.is_some(),
            self.auth.is_some(),
            self.multilink.is_some(),
            self.low_latency,
            self.compression,
            self.patch != 0,
            self.region_name.is_some(),
            self.capabilities != 0,
        ]
        .into_iter()
        .filter(|present| *present)
        .count()
    }

    fn encode<'s, S: Sink<'s> + ?Sized>(
        &'s self,
        count: usize,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let mut chain = ChainWriter::new(count);
        chain.unit(QOS, self.qos, sink)?;
        chain.z64(QOS_LINK, self.qos_link, sink)?;
        chain.zbuf(SHM, self.shm, sink)?;
        chain.zbuf(AUTH, self.auth, sink)?;
        chain.zbuf(MULTI_LINK, self.multilink, sink)?;
        chain.unit(LOW_LATENCY, self.low_latency, sink)?;
        chain.unit(COMPRESSION, self.compression, sink)?;
        chain.z64(patch::KEY, patch::value(self.patch), sink)?;
        chain.zbuf(REGION_NAME, self.region_name.map(str::as_bytes), sink)?;
        chain.z64(CAPABILITIES, Some(self.capabilities).filter(|bits| *bits != 0), sink)
    }
}

fn decode_region_name<'a>(r: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let bytes = ext::read_bytes(r)?;
    let invalid = DecodeError::InvalidExtension { id: REGION_NAME, offset: r.pos() - bytes.len() };
    if !(1..=InitExts::REGION_NAME_LEN_MAX).contains(&bytes.len()) {
        return Err(invalid);
    }
    core::str::from_utf8(bytes).map_err(|_| invalid)
}

/// Reads an INIT of either kind.
pub(super) fn decode<'a>(
    header: u8,
    r: &mut Reader<'a>,
) -> Result<TransportMessage<'a>, DecodeError> {
    let Sender { version, whatami, zid } = Sender::decode(r)?;
    let sizes = Sizes::decode(header & SIZES != 0, InitSyn::BATCH_SIZE_DEFAULT, r)?;
    let Sizes { resolution, batch_size } = sizes;
    if header & A == 0 {
        let exts = InitExts::decode(header, r)?;
        let syn = InitSyn { version, whatami, zid, resolution, batch_size, exts };
        return Ok(TransportMessage::InitSyn(syn));
    }
    let cookie = r.zslice(u64::from(u16::MAX), "cookie")?;
    let exts = InitExts::decode(header, r)?;
    let ack = InitAck { version, whatami, zid, resolution, batch_size, cookie, exts };
    Ok(TransportMessage::InitAck(ack))
}

/// Writes an INIT; it is an acknowledgement if it has a cookie.
fn encode<'s, S: Sink<'s> + ?Sized>(
    sender: &Sender,
    sizes: Sizes,
    cookie: Option<&'s [u8]>,
    exts: &'s InitExts<'_>,
    sink: &mut S,
) -> Result<(), NoSpace> {
    let ack_flag = if cookie.is_some() { A } else { 0 };
    let has_sizes = sizes != Sizes::of_default(InitSyn::BATCH_SIZE_DEFAULT);
    let sizes_flag = if has_sizes { SIZES } else { 0 };
    let ext_count = exts.count();
    sink.byte(message_id::INIT | ack_flag | sizes_flag | ext::flag(ext_count))?;
    sender.encode(sink)?;
    if has_sizes {
        sizes.encode(sink)?;
    }
    if let Some(cookie) = cookie {
        sink.zint(cookie.len() as u64)?;
        sink.payload(cookie)?;
    }
    exts.encode(ext_count, sink)
}

impl InitSyn<'_> {
    /// The batch size that an INIT without sizes means, in bytes.
    pub const BATCH_SIZE_DEFAULT: u16 = u16::MAX;
}

impl Encode for InitSyn<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let Self { version, whatami, zid, resolution, batch_size, exts } = self;
        let sender = Sender { version: *version, whatami: *whatami, zid: *zid };
        let sizes = Sizes { resolution: *resolution, batch_size: *batch_size };
        encode(&sender, sizes, None, exts, sink)
    }
}

impl Encode for InitAck<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let Self { version, whatami, zid, resolution, batch_size, cookie, exts } = self;
        let sender = Sender { version: *version, whatami: *whatami, zid: *zid };
        let sizes = Sizes { resolution: *resolution, batch_size: *batch_size };
        encode(&sender, sizes, Some(cookie), exts, sink)
    }
}
