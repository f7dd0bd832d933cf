//! OPEN: the end of the handshake.
//!
//! Not here: what is negotiated, and the content of the raw extensions. Spec: 01 §4.3.
//!
//! ```text
//! |Z|T|A|  OPEN   |
//! %     lease     %   in seconds if T, else milliseconds
//! %  initial SN   %
//! ~ <u8;z> cookie ~   unless A
//! ~  extensions   ~   if Z
//! ```
//!
//! T is set when the lease is a whole number of seconds.

use super::{TransportMessage, message_id, parts::lease};
use crate::{
    DecodeError, Encode, NoSpace, Reader, Sink,
    ext::{self, ChainWriter},
};

const A: u8 = 0x20;
const T: u8 = 0x40;

const SHM: u8 = 0x42;
const AUTH: u8 = 0x43;
const MULTI_LINK_SYN: u8 = 0x44;
const MULTI_LINK_ACK: u8 = 0x04;
const REMOTE_BOUND: u8 = 0x27;

/// Second message of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSyn<'a> {
    /// How long the sender may be silent before it counts as gone, in milliseconds.
    pub lease_ms: u64,
    /// The first sequence number of the sender, on every channel.
    pub initial_sn: u64,
    /// The cookie of the INIT acknowledgement, unchanged.
    pub cookie: &'a [u8],
    /// Extensions.
    pub exts: OpenExts<'a>,
}

/// Answer to [`OpenSyn`]: the transport is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAck<'a> {
    /// How long the sender may be silent before it counts as gone, in milliseconds.
    pub lease_ms: u64,
    /// The first sequence number of the sender, on every channel.
    pub initial_sn: u64,
    /// Extensions.
    pub exts: OpenExts<'a>,
}

/// On which side of a gateway the receiver of an OPEN is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The receiver is on the sender's north side.
    North,
    /// The receiver is on the sender's south side.
    South,
}

/// The extensions of OPEN. The raw ones are handed over as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenExts<'a> {
    /// Shared memory, raw; the form of Zenoh 1.10.
    pub shm: Option<&'a [u8]>,
    /// Authentication, raw.
    pub auth: Option<&'a [u8]>,
    /// Several links per transport, raw; only in [`OpenSyn`].
    pub multilink: Option<&'a [u8]>,
    /// Several links per transport; only in [`OpenAck`].
    pub multilink_ack: bool,
    /// Where the receiver is, seen from the sender; absent unless gateways are configured.
    pub remote_bound: Option<Bound>,
}

impl<'a> OpenExts<'a> {
    fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut exts = Self::default();
        ext::read_chain(header, r, |key, r| {
            match key {
                SHM => exts.shm = Some(ext::read_bytes(r)?),
                AUTH => exts.auth = Some(ext::read_bytes(r)?),
                MULTI_LINK_SYN => exts.multilink = Some(ext::read_bytes(r)?),
                MULTI_LINK_ACK => exts.multilink_ack = true,
                REMOTE_BOUND => exts.remote_bound = Some(decode_bound(r)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(exts)
    }

    fn count(&self) -> usize {
        usize::from(self.shm.is_some())
            + usize::from(self.auth.is_some())
            + usize::from(self.multilink.is_some())
            + usize::from(self.multilink_ack)
            + usize::from(self.remote_bound.is_some())
    }

    fn encode<'s, S: Sink<'s> + ?Sized>(
        &'s self,
        count: usize,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let mut chain = ChainWriter::new(count);
        chain.zbuf(SHM, self.shm, sink)?;
        chain.zbuf(AUTH, self.auth, sink)?;
        chain.zbuf(MULTI_LINK_SYN, self.multilink, sink)?;
        chain.unit(MULTI_LINK_ACK, self.multilink_ack, sink)?;
        chain.z64(REMOTE_BOUND, self.remote_bound.map(|bound| bound as u64), sink)
    }
}

fn decode_bound(r: &mut Reader<'_>) -> Result<Bound, DecodeError> {
    let offset = r.pos();
    match r.zint("remote bound")? {
        0 => Ok(Bound::North),
        1 => Ok(Bound::South),
        _ => Err(DecodeError::InvalidExtension { id: REMOTE_BOUND, offset }),
    }
}

/// Reads an OPEN of either kind.
pub(super) fn decode<'a>(
    header: u8,
    r: &mut Reader<'a>,
) -> Result<TransportMessage<'a>, DecodeError> {
    let lease_ms = lease::decode(header & T != 0, r)?;
    let initial_sn = r.zint("initial sn")?;
    if header & A != 0 {
        let exts = OpenExts::decode(header, r)?;
        return Ok(TransportMessage::OpenAck(OpenAck { lease_ms, initial_sn, exts }));
    }
    let cookie = r.zslice(u64::MAX, "cookie")?;
    let exts = OpenExts::decode(header, r)?;
    Ok(TransportMessage::OpenSyn(OpenSyn { lease_ms, initial_sn, cookie, exts }))
}

/// Writes an OPEN; it is an acknowledgement if it has no cookie.
fn encode<'s, S: Sink<'s> + ?Sized>(
    lease_ms: u64,
    initial_sn: u64,
    cookie: Option<&'s [u8]>,
    exts: &'s OpenExts<'_>,
    sink: &mut S,
) -> Result<(), NoSpace> {
    let ack_flag = if cookie.is_none() { A } else { 0 };
    let seconds_flag = if lease::in_seconds(lease_ms) { T } else { 0 };
    let ext_count = exts.count();
    sink.byte(message_id::OPEN | ack_flag | seconds_flag | ext::flag(ext_count))?;
    lease::encode(lease_ms, sink)?;
    sink.zint(initial_sn)?;
    if let Some(cookie) = cookie {
        sink.zint(cookie.len() as u64)?;
        sink.payload(cookie)?;
    }
    exts.encode(ext_count, sink)
}

impl Encode for OpenSyn<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        encode(self.lease_ms, self.initial_sn, Some(self.cookie), &self.exts, sink)
    }
}

impl Encode for OpenAck<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        encode(self.lease_ms, self.initial_sn, None, &self.exts, sink)
    }
}
