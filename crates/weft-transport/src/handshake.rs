//! Two nodes agree on a transport: INIT and OPEN, each asked by the initiator and acknowledged by
//! the responder.
//!
//! Not here: timeouts (the owner drops a connection that takes too long), which neighbours and how
//! many (`weft-node` admits or refuses), authentication, several links for one transport, shared
//! memory and low latency: these are neither offered nor accepted.
//! Spec: 01 §3.2, §4.1 to §4.4, §10.
//!
//! ```text
//!  initiator                                responder
//!      | --- INIT Syn: what I can do ----------> |
//!      | <-- INIT Ack: what we agree, cookie --- |   keeps nothing: all is in the cookie
//!      | --- OPEN Syn: lease, SN, cookie ------> |   verifies the cookie, then decides
//!      | <-- OPEN Ack: lease, SN --------------- |
//! ```
//!
//! Either side answers with CLOSE instead, if it does not agree: GENERIC if the content of an
//! extension is the reason, INVALID if the message is. Only the first message of a batch counts.
//! Batches have no stream prefix here, neither in nor out; see [`framing`](crate::framing).

mod error;
mod initiator;
mod responder;

pub use error::HandshakeError;
pub use initiator::{Initiator, Step};
pub use responder::{ACCEPT_TIMEOUT_US, Admission, HandshakeArrival, Responder, ResponderStep};

use crate::compression::{HEADER_LEN, write_plain_header};
use crate::framing::PREFIX_LEN;
use alloc::string::String;
use alloc::vec::Vec;
use weft_wire::{
    Bits, Bound, Close, CloseReason, Decode, Encode, InitExts, InitSyn, OpenExts, Reader,
    Resolution, TransportMessage, VERSION, WhatAmI, ZenohId,
};

/// The smallest batch size that works: one byte of a fragmented message behind the longest header.
pub const BATCH_SIZE_MIN: u16 = 16;

/// The highest patch level of the protocol that this crate implements: markers on FRAGMENTs.
pub const PATCH: u8 = 1;

/// The first SN of every channel that this side sends on. The shortest integer, and the same on
/// every link, as the protocol wants it.
pub const SN_INITIAL: u64 = 0;

/// What a node brings to its handshakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeConfig {
    /// Who this is.
    pub zid: ZenohId,
    /// In which mode.
    pub whatami: WhatAmI,
    /// Widths of SNs and request ids, at most. SNs of 64 bits are proposed as 32, because
    /// implementations disagree about them.
    pub resolution: Resolution,
    /// The largest batch to receive, in bytes with the stream prefix. Anything less than
    /// [`BATCH_SIZE_MIN`] counts as that.
    pub batch_size: u16,
    /// After how much silence of this side, in milliseconds, the peer gives it up.
    pub lease_ms: u64,
    /// Whether to have a channel for each priority.
    pub qos: bool,
    /// Whether to compress batches, if the peer does, too.
    pub compression: bool,
    /// Patch level, at most [`PATCH`].
    pub patch: u8,
    /// Whether to route as a member of a network of peers and routers, where the other side does,
    /// too.
    pub mesh: bool,
    /// Whether this node joins regions, where the other side does, too.
    pub gateway: bool,
    /// The region that this node is in, 1 to 32 bytes.
    pub region_name: Option<String>,
    /// On which side of this node, as a gateway, every peer is, unless that is decided peer by peer:
    /// see [`Initiator::handle_batch_placing`] and [`Admission::remote_bound`]. Only gateways say so.
    pub remote_bound: Option<Bound>,
}

impl HandshakeConfig {
    /// The protocol's defaults for a node: 32 bit, 65,535 bytes, 10 s, QoS, no
    /// compression, patch 1.
    #[must_use]
    pub fn new(zid: ZenohId, whatami: WhatAmI) -> Self {
        Self {
            zid,
            whatami,
            resolution: Resolution::DEFAULT,
            batch_size: u16::MAX,
            lease_ms: 10_000,
            qos: true,
            compression: false,
            patch: PATCH,
            mesh: false,
            gateway: false,
            region_name: None,
            remote_bound: None,
        }
    }

    /// What this node can do on `link`.
    fn offer(&self, link: LinkParams) -> InitSyn<'_> {
        let Resolution { fsn, rid } = self.resolution;
        InitSyn {
            version: VERSION,
            whatami: self.whatami,
            zid: self.zid,
            resolution: Resolution { fsn: fsn.min(Bits::U32), rid },
            batch_size: self.batch_size.min(link.mtu).max(BATCH_SIZE_MIN),
            exts: InitExts {
                qos: self.qos,
                compression: self.compression,
                patch: self.patch.min(PATCH),
                region_name: self.region_name.as_deref(),
                capabilities: self.capabilities(),
                ..InitExts::default()
            },
        }
    }

    const fn capabilities(&self) -> u64 {
        let mesh = if self.mesh { InitExts::CAPABILITY_MESH } else { 0 };
        let gateway = if self.gateway { InitExts::CAPABILITY_GATEWAY } else { 0 };
        mesh | gateway
    }
}

/// What the handshake needs to know about a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParams {
    /// The largest batch that the link carries, in bytes, stream prefix included.
    pub mtu: u16,
    /// Whether batches need a prefix to be told apart.
    pub streamed: bool,
}

impl LinkParams {
    /// Bytes of the largest batch, without its prefix, if `size` counts one where there is one.
    fn batch_len_max(self, size: u16) -> u16 {
        if self.streamed { size.saturating_sub(PREFIX_LEN as u16) } else { size }
    }
}

/// What two nodes agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// The peer.
    pub zid: ZenohId,
    /// Its mode.
    pub whatami: WhatAmI,
    /// Whether every priority has its own channels.
    pub qos: bool,
    /// The greatest SN.
    pub sn_mask: u64,
    /// Whether every batch has a header and may be compressed.
    pub compression: bool,
    /// The largest batch to send, in bytes, without the stream prefix and without the header that
    /// comes with compression.
    pub batch_size: u16,
    /// Silence, in milliseconds, after which the peer is gone. 0 is at once.
    pub lease_remote_ms: u64,
    /// The SN that the peer's channels start with.
    pub sn_rx_initial: u64,
    /// The SN that this side's channels start with: [`SN_INITIAL`].
    pub sn_tx_initial: u64,
    /// Patch level of both.
    pub patch: u8,
    /// Both sides route as members of a network.
    pub mesh: bool,
    /// Both sides join regions.
    pub gateway: bool,
    /// The region that the peer is in, if it says.
    pub region_name: Option<String>,
    /// On which side of the peer, as a gateway, this node is, if it says.
    pub remote_bound: Option<Bound>,
}

impl Negotiated {
    /// What INIT agreed on: the peer's message, lowered to what both sides can do. What OPEN adds
    /// is still missing.
    fn after_init(agreed: &InitSyn<'_>, link: LinkParams) -> Self {
        let compression = agreed.exts.compression;
        let header_len = if compression { HEADER_LEN as u16 } else { 0 };
        Self {
            zid: agreed.zid,
            whatami: agreed.whatami,
            qos: agreed.exts.qos,
            compression,
            sn_mask: agreed.resolution.sn_mask(),
            batch_size: link.batch_len_max(agreed.batch_size) - header_len,
            lease_remote_ms: 0,
            sn_rx_initial: 0,
            sn_tx_initial: SN_INITIAL,
            patch: agreed.exts.patch,
            mesh: agreed.exts.capabilities & InitExts::CAPABILITY_MESH != 0,
            gateway: agreed.exts.capabilities & InitExts::CAPABILITY_GATEWAY != 0,
            region_name: agreed.exts.region_name.map(String::from),
            remote_bound: None,
        }
    }

    /// The same with what the peer says in OPEN.
    fn after_open(
        self,
        lease_ms: u64,
        initial_sn: u64,
        exts: &OpenExts<'_>,
    ) -> Result<Self, HandshakeError> {
        if initial_sn > self.sn_mask {
            return Err(HandshakeError::InitialSn { sn: initial_sn });
        }
        let remote_bound = exts.remote_bound;
        Ok(Self { lease_remote_ms: lease_ms, sn_rx_initial: initial_sn, remote_bound, ..self })
    }

    /// With compression, the most that the content of a batch of the peer may be, in bytes. Peers that
    /// follow the rule stay at [`batch_size`](Self::batch_size), a few bytes below; others are still
    /// understood.
    #[must_use]
    pub fn content_max(&self) -> Option<u16> {
        let overhead = (PREFIX_LEN + HEADER_LEN) as u16;
        self.compression.then(|| self.batch_size.saturating_add(overhead))
    }

    /// Appends the batch that closes a link of this agreement to `out`: for one that gets no
    /// [`TxHalf`](crate::TxHalf) although its handshake is over.
    pub fn write_close(&self, reason: CloseReason, out: &mut Vec<u8>) {
        if self.compression {
            write_plain_header(out);
        }
        write_close(reason, out);
    }
}

/// Whether `own`'s connection to `remote` survives when both connect to each other at the same
/// time and only one link is wanted. Exactly one side gets true: it refuses the other's OPEN with
/// CLOSE MAX_LINKS while its own handshake is under way; the other side admits, and closes its own
/// connection should that open too.
#[must_use]
pub fn prevails(own: ZenohId, remote: ZenohId) -> bool {
    own > remote
}

/// The first message of a batch. CLOSE is an error.
fn first_message(batch: &[u8]) -> Result<TransportMessage<'_>, HandshakeError> {
    match TransportMessage::decode(&mut Reader::new(batch))? {
        TransportMessage::Close(Close { reason, .. }) => Err(HandshakeError::Closed { reason }),
        message => Ok(message),
    }
}

/// The name of a message, for errors.
fn name(message: &TransportMessage<'_>) -> &'static str {
    match message {
        TransportMessage::InitSyn(_) => "INIT Syn",
        TransportMessage::InitAck(_) => "INIT Ack",
        TransportMessage::OpenSyn(_) => "OPEN Syn",
        TransportMessage::OpenAck(_) => "OPEN Ack",
        TransportMessage::Close(_) => "CLOSE",
        TransportMessage::KeepAlive => "KEEP_ALIVE",
        TransportMessage::Frame(_) => "FRAME",
        TransportMessage::Fragment(_) => "FRAGMENT",
        TransportMessage::Join(_) => "JOIN",
        TransportMessage::Oam(_) => "OAM",
    }
}

/// Whether an INIT has QoS, alone or with parameters of the link.
fn has_qos(exts: &InitExts<'_>) -> Result<bool, HandshakeError> {
    match exts.qos_link {
        None => Ok(exts.qos),
        Some(_) if exts.qos => Err(HandshakeError::QosTwice),
        Some(link) if qos_link_is_valid(link) => Ok(link != 0),
        Some(value) => Err(HandshakeError::QosLink { value }),
    }
}

/// ```text
/// bit 0: no parameters   bit 1: there are priorities   bit 2: there is a reliability
/// bits 3 to 10: first priority   bits 11 to 18: last priority   bit 19: reliable
/// ```
fn qos_link_is_valid(value: u64) -> bool {
    let (first, last) = (value >> 3 & 0xff, value >> 11 & 0xff);
    value & 0b10 == 0 || (first <= last && last <= 7)
}

/// Appends the wire form of `message` to `out`.
fn write(message: &impl Encode, out: &mut Vec<u8>) {
    message.encode(out).expect("a vector is never full");
}

/// Appends the batch that closes a link to `out`: for a link that has no [`TxHalf`](crate::TxHalf),
/// in or before its handshake.
pub fn write_close(reason: CloseReason, out: &mut Vec<u8>) {
    write(&Close { session: false, reason }, out);
}

/// Appends the CLOSE that `error` calls for, if any.
fn write_close_for(error: &HandshakeError, out: &mut Vec<u8>) {
    if let Some(reason) = error.close_reason() {
        write_close(reason, out);
    }
}
