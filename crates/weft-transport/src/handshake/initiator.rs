//! The side that opened the link: asks, and asks again with the cookie.

use super::{
    BATCH_SIZE_MIN, HandshakeConfig, HandshakeError, LinkParams, Negotiated, SN_INITIAL,
    first_message, has_qos, name, write, write_close_for,
};
use alloc::vec::Vec;
use core::mem;
use weft_wire::{
    Bits, Bound, Encode, InitAck, InitExts, InitSyn, OpenExts, OpenSyn, TransportMessage, VERSION,
    ZenohId,
};

/// The handshake of one outgoing connection.
#[derive(Debug)]
pub struct Initiator {
    config: HandshakeConfig,
    link: LinkParams,
    expected_zid: Option<ZenohId>,
    peer: Option<ZenohId>,
    state: State,
}

#[derive(Debug)]
enum State {
    AwaitingInitAck,
    AwaitingOpenAck(Negotiated),
    Finished,
}

/// Where a handshake stands after a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Send what was written, and hand in the next batch.
    Continue,
    /// Done, and nothing is to be sent. Messages of the peer may follow at once.
    Established(Negotiated),
}

impl Initiator {
    /// Starts a handshake: appends the first batch to send to `out`. With `expected_zid`, anyone
    /// else who answers is refused.
    #[must_use]
    pub fn new(
        config: &HandshakeConfig,
        link: LinkParams,
        expected_zid: Option<ZenohId>,
        out: &mut Vec<u8>,
    ) -> Self {
        write(&config.offer(link), out);
        Self {
            config: config.clone(),
            link,
            expected_zid,
            peer: None,
            state: State::AwaitingInitAck,
        }
    }

    /// Who answered, once somebody has.
    pub const fn peer(&self) -> Option<ZenohId> {
        self.peer
    }

    /// Takes a batch of the peer, and appends the batch to send to `out`, if there is one: after an
    /// error, the CLOSE that it calls for.
    ///
    /// # Errors
    /// [`HandshakeError`] if the handshake failed; it is then over.
    pub fn handle_batch(
        &mut self,
        batch: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, HandshakeError> {
        let remote_bound = self.config.remote_bound;
        self.handle_batch_placing(batch, |_| remote_bound, out)
    }

    /// As [`Initiator::handle_batch`], for a gateway: once the peer has answered INIT, `place` decides
    /// on which side of this node it is, and OPEN says so. The lease and the first SN of the peer are
    /// not known by then.
    ///
    /// # Errors
    /// [`HandshakeError`] if the handshake failed; it is then over.
    pub fn handle_batch_placing(
        &mut self,
        batch: &[u8],
        place: impl FnOnce(&Negotiated) -> Option<Bound>,
        out: &mut Vec<u8>,
    ) -> Result<Step, HandshakeError> {
        self.advance(batch, place, out).inspect_err(|error| write_close_for(error, out))
    }

    fn advance(
        &mut self,
        batch: &[u8],
        place: impl FnOnce(&Negotiated) -> Option<Bound>,
        out: &mut Vec<u8>,
    ) -> Result<Step, HandshakeError> {
        match (mem::replace(&mut self.state, State::Finished), first_message(batch)?) {
            (State::AwaitingInitAck, TransportMessage::InitAck(ack)) => {
                self.peer = Some(ack.zid);
                let agreed = self.agree(&ack)?;
                let negotiated = Negotiated::after_init(&agreed, self.link);
                self.write_open(ack.cookie, place(&negotiated), out)?;
                self.state = State::AwaitingOpenAck(negotiated);
                Ok(Step::Continue)
            }
            (State::AwaitingOpenAck(negotiated), TransportMessage::OpenAck(ack)) => {
                let negotiated = negotiated.after_open(ack.lease_ms, ack.initial_sn, &ack.exts)?;
                Ok(Step::Established(negotiated))
            }
            (State::Finished, _) => Err(HandshakeError::Finished),
            (_, message) => Err(HandshakeError::Unexpected { message: name(&message) }),
        }
    }

    /// What both sides can do, if the responder stays within the offer.
    fn agree<'a>(&self, ack: &InitAck<'a>) -> Result<InitSyn<'a>, HandshakeError> {
        let offer = self.config.offer(self.link);
        if let Some(expected) = self.expected_zid
            && expected != ack.zid
        {
            return Err(HandshakeError::ZidMismatch { expected, found: ack.zid });
        }
        if ack.zid == offer.zid {
            return Err(HandshakeError::ConnectionToSelf);
        }
        check_width(ack.resolution.fsn, offer.resolution.fsn)?;
        check_width(ack.resolution.rid, offer.resolution.rid)?;
        if ack.batch_size < BATCH_SIZE_MIN {
            return Err(HandshakeError::BatchSize { batch_size: ack.batch_size });
        }
        if ack.exts.patch > offer.exts.patch {
            return Err(HandshakeError::Patch { patch: ack.exts.patch });
        }
        Ok(InitSyn {
            version: VERSION,
            whatami: ack.whatami,
            zid: ack.zid,
            resolution: ack.resolution,
            batch_size: ack.batch_size.min(offer.batch_size),
            exts: InitExts {
                qos: has_qos(&ack.exts)? && offer.exts.qos,
                compression: ack.exts.compression && offer.exts.compression,
                patch: ack.exts.patch,
                region_name: ack.exts.region_name,
                capabilities: ack.exts.capabilities & offer.exts.capabilities,
                ..InitExts::default()
            },
        })
    }

    fn write_open(
        &self,
        cookie: &[u8],
        remote_bound: Option<Bound>,
        out: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        let open = OpenSyn {
            lease_ms: self.config.lease_ms,
            initial_sn: SN_INITIAL,
            cookie,
            exts: OpenExts { remote_bound, ..OpenExts::default() },
        };
        if open.encoded_len() > usize::from(self.link.batch_len_max(self.link.mtu)) {
            return Err(HandshakeError::CookieTooLong { len: cookie.len() });
        }
        write(&open, out);
        Ok(())
    }
}

fn check_width(accepted: Bits, proposed: Bits) -> Result<(), HandshakeError> {
    if accepted > proposed {
        return Err(HandshakeError::Resolution { accepted, proposed });
    }
    Ok(())
}
