//! The side that accepted the link: answers, and keeps nothing until the cookie is back.
//!
//! A connection costs no memory before its OPEN Syn. The cookie carries what INIT agreed on, when,
//! and with whom, under a key that only this node has.
//!
//! Replay: a cookie opens a transport only within the accept timeout and for the same `peer_tag`.
//! With a tag that names the connection it opens nothing but that connection, and the owner hands a
//! connection to this module only until it is admitted or refused. With a tag that names only the
//! peer's address, as on datagram links, who has seen a handshake may repeat it from there within
//! the accept timeout; it opens a transport that looks like the first one, to a peer that is not
//! there, and ends by its lease.

use super::{
    BATCH_SIZE_MIN, HandshakeConfig, HandshakeError, LinkParams, Negotiated, SN_INITIAL,
    first_message, has_qos, name, write, write_close, write_close_for,
};
use crate::cookie::{self, CookieKey};
use alloc::vec::Vec;
use weft_wire::{
    Bound, CloseReason, InitAck, InitExts, InitSyn, OpenAck, OpenExts, OpenSyn, Resolution,
    TransportMessage, VERSION,
};

/// How long a peer may take from INIT to OPEN, in microseconds, unless configured otherwise.
pub const ACCEPT_TIMEOUT_US: u64 = 10_000_000;

/// Answers the handshakes of all incoming connections of a node.
#[derive(Clone, Debug)]
pub struct Responder {
    config: HandshakeConfig,
    key: CookieKey,
    accept_timeout_us: u64,
}

/// The circumstances of a batch.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeArrival<'a> {
    /// The link that it came on.
    pub link: LinkParams,
    /// When, in microseconds of the owner's origin.
    pub now_us: u64,
    /// The connection, or at least the peer's address: what no one else can use.
    pub peer_tag: &'a [u8],
}

/// What to do after a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ResponderStep {
    /// Send what was written, and hand in the next batch of this connection.
    Reply,
    /// The peer is who it says, and waits: accept or refuse.
    Admit(Admission),
}

/// A peer that may be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// What the transport will be.
    pub negotiated: Negotiated,
    /// On which side of this node, as a gateway, the peer is told to be: to be decided before it is
    /// accepted, by what `negotiated` says about it. As the configuration says, unless set.
    pub remote_bound: Option<Bound>,
    lease_ms: u64,
}

impl Admission {
    /// Appends the batch that opens the transport to `out`. Other batches may follow it.
    pub fn accept(&self, out: &mut Vec<u8>) {
        let exts = OpenExts { remote_bound: self.remote_bound, ..OpenExts::default() };
        write(&OpenAck { lease_ms: self.lease_ms, initial_sn: SN_INITIAL, exts }, out);
    }

    /// Appends the batch that turns the peer away to `out`: MAX_LINKS for one link too many of a
    /// known node, INVALID for one session too many.
    pub fn refuse(&self, reason: CloseReason, out: &mut Vec<u8>) {
        write_close(reason, out);
    }
}

impl Responder {
    /// A responder that signs its cookies with `key`, which must not be guessable.
    #[must_use]
    pub fn new(config: HandshakeConfig, key: CookieKey) -> Self {
        Self { config, key, accept_timeout_us: ACCEPT_TIMEOUT_US }
    }

    /// The same with another age limit for cookies, in microseconds.
    #[must_use]
    pub fn with_accept_timeout(self, accept_timeout_us: u64) -> Self {
        Self { accept_timeout_us, ..self }
    }

    /// Takes a batch of a connection that is not admitted yet, and appends the batch to send to
    /// `out`, if there is one: after an error, the CLOSE that it calls for.
    ///
    /// # Errors
    /// [`HandshakeError`] if the connection is to be closed.
    pub fn handle_batch(
        &self,
        batch: &[u8],
        arrival: &HandshakeArrival<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ResponderStep, HandshakeError> {
        let step = match first_message(batch) {
            Ok(TransportMessage::InitSyn(syn)) => self.init(&syn, arrival, out),
            Ok(TransportMessage::OpenSyn(syn)) => self.open(&syn, arrival),
            Ok(message) => Err(HandshakeError::Unexpected { message: name(&message) }),
            Err(error) => Err(error),
        };
        step.inspect_err(|error| write_close_for(error, out))
    }

    fn init(
        &self,
        syn: &InitSyn<'_>,
        arrival: &HandshakeArrival<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ResponderStep, HandshakeError> {
        let offer = self.config.offer(arrival.link);
        let agreed = agree(&offer, syn)?;
        let cookie = cookie::seal(&self.key, arrival.peer_tag, arrival.now_us, &agreed);
        let qos_link = syn.exts.qos_link.filter(|_| agreed.exts.qos);
        let ack = InitAck {
            version: VERSION,
            whatami: offer.whatami,
            zid: offer.zid,
            resolution: agreed.resolution,
            batch_size: agreed.batch_size,
            cookie: &cookie,
            exts: InitExts {
                qos: agreed.exts.qos && qos_link.is_none(),
                qos_link,
                compression: agreed.exts.compression,
                patch: agreed.exts.patch,
                region_name: offer.exts.region_name,
                capabilities: offer.exts.capabilities,
                ..InitExts::default()
            },
        };
        write(&ack, out);
        Ok(ResponderStep::Reply)
    }

    fn open(
        &self,
        syn: &OpenSyn<'_>,
        arrival: &HandshakeArrival<'_>,
    ) -> Result<ResponderStep, HandshakeError> {
        let HandshakeArrival { link, now_us, peer_tag } = *arrival;
        let (agreed, issued_us) = cookie::open(&self.key, peer_tag, syn.cookie)?;
        // A cookie from the future was not issued in this run of the clock.
        if now_us.checked_sub(issued_us).is_none_or(|age_us| age_us > self.accept_timeout_us) {
            return Err(HandshakeError::CookieExpired);
        }
        if agreed.zid == self.config.zid {
            return Err(HandshakeError::ConnectionToSelf);
        }
        let negotiated = Negotiated::after_init(&agreed, link).after_open(
            syn.lease_ms,
            syn.initial_sn,
            &syn.exts,
        )?;
        Ok(ResponderStep::Admit(Admission {
            negotiated,
            lease_ms: self.config.lease_ms,
            remote_bound: self.config.remote_bound,
        }))
    }
}

/// What both sides can do: the initiator's message, lowered to the responder's `offer`.
fn agree<'a>(offer: &InitSyn<'_>, syn: &InitSyn<'a>) -> Result<InitSyn<'a>, HandshakeError> {
    if syn.version != VERSION {
        return Err(HandshakeError::Version { version: syn.version });
    }
    if syn.batch_size < BATCH_SIZE_MIN {
        return Err(HandshakeError::BatchSize { batch_size: syn.batch_size });
    }
    Ok(InitSyn {
        resolution: Resolution {
            fsn: syn.resolution.fsn.min(offer.resolution.fsn),
            rid: syn.resolution.rid.min(offer.resolution.rid),
        },
        batch_size: syn.batch_size.min(offer.batch_size),
        exts: InitExts {
            qos: has_qos(&syn.exts)? && offer.exts.qos,
            compression: syn.exts.compression && offer.exts.compression,
            patch: syn.exts.patch.min(offer.exts.patch),
            region_name: syn.exts.region_name,
            capabilities: syn.exts.capabilities & offer.exts.capabilities,
            ..InitExts::default()
        },
        ..*syn
    })
}
