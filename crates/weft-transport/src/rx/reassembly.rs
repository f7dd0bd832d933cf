//! Puts FRAGMENTs together again, per channel.
//!
//! Not here: which FRAGMENTs are new enough (`rx`), what the message says. Spec: 01 §5.5 (receiver).
//!
//! Invariants: a buffer holds nothing but consecutive FRAGMENTs, so it grows with what was received
//! and never with what was announced. `held` is the sum of all buffers and at most
//! `limits.total_size_max`. A channel is in `pending` at most once.

use super::RxLimits;
use super::buffers::Buffers;
use alloc::sync::Arc;
use alloc::vec::Vec;
use weft_wire::FragmentHeader;

pub(super) struct Reassembly {
    limits: RxLimits,
    /// Whether the peer marks the first FRAGMENT of a message and those it gives up (patch 1).
    markers: bool,
    pending: Vec<Pending>,
    held: usize,
    buffers: Buffers,
}

struct Pending {
    channel: usize,
    /// The message is lost; without markers its end is known only by the FRAGMENT that says so.
    skipping: bool,
    buf: Vec<u8>,
}

impl Reassembly {
    pub(super) fn new(limits: RxLimits, markers: bool) -> Self {
        Self { limits, markers, pending: Vec::new(), held: 0, buffers: Buffers::default() }
    }

    /// Takes one FRAGMENT that is new on its channel; `consecutive` says that no SN lies between it
    /// and the one before. Returns the encoded message that it completes.
    ///
    /// # Errors
    /// [`Discarded`] if the FRAGMENT is of no use, or makes the message too big.
    pub(super) fn push(
        &mut self,
        channel: usize,
        consecutive: bool,
        header: &FragmentHeader,
        bytes: &[u8],
    ) -> Result<Option<Vec<u8>>, Discarded> {
        let starts = self.markers && header.first;
        let dropped = self.markers && header.drop;
        if starts || dropped {
            self.forget(channel);
        }
        if dropped {
            return Err(Discarded);
        }
        let at = match self.pending.iter().position(|pending| pending.channel == channel) {
            Some(at) if consecutive => at,
            Some(at) => return self.abandon(at, header.more),
            None if starts || !self.markers => self.begin(channel),
            None => return Err(Discarded),
        };
        let size = self.pending[at].buf.len() + bytes.len();
        if self.pending[at].skipping
            || size > self.limits.message_size_max
            || self.held + bytes.len() > self.limits.total_size_max
        {
            return self.abandon(at, header.more);
        }
        self.pending[at].buf.extend_from_slice(bytes);
        self.held += bytes.len();
        Ok((!header.more).then(|| self.remove(at)))
    }

    /// Gives up what is pending on a channel, because something else was sent on it.
    pub(super) fn forget(&mut self, channel: usize) {
        if let Some(at) = self.pending.iter().position(|pending| pending.channel == channel) {
            self.remove(at);
        }
    }

    /// A FRAME was accepted on a channel. Costs two comparisons while there are no large messages.
    #[inline]
    pub(super) fn note_frame(&mut self, channel: usize) {
        if !self.pending.is_empty() {
            // A message that something overtakes on its channel was given up by the peer.
            self.forget(channel);
        }
        if !self.buffers.is_empty() {
            self.buffers.note_frame();
        }
    }

    /// Bytes of all incomplete messages.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Takes back the buffer of a message that was given to whoever wanted it.
    pub(super) fn recycle(&mut self, buf: Arc<Vec<u8>>) {
        self.buffers.keep(buf);
    }

    /// Frees what is kept for later, unless there were large messages since the last call.
    pub(super) fn release_unused(&mut self) {
        self.buffers.release_unused();
        self.pending.shrink_to_fit();
    }

    /// Whether nothing is pending on any channel.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Capacity of the buffers kept for later, in bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.buffers.total()
    }

    fn begin(&mut self, channel: usize) -> usize {
        let buf = self.buffers.take();
        self.pending.push(Pending { channel, skipping: false, buf });
        self.pending.len() - 1
    }

    /// Discards a message in the middle. With markers the rest of it is recognised as such; without,
    /// all until its end is skipped, lest the rest be taken for a message of its own.
    fn abandon(&mut self, at: usize, more: bool) -> Result<Option<Vec<u8>>, Discarded> {
        let channel = self.pending[at].channel;
        self.remove(at);
        if more && !self.markers {
            self.pending.push(Pending { channel, skipping: true, buf: Vec::new() });
        }
        Err(Discarded)
    }

    fn remove(&mut self, at: usize) -> Vec<u8> {
        let buf = self.pending.swap_remove(at).buf;
        self.held -= buf.len();
        buf
    }
}

/// A FRAGMENT, and perhaps those before it, is lost to the receiver.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Discarded;
