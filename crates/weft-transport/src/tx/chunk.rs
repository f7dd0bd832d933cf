//! [`TxChunk`]: batches that left the queue and wait for the link.

use crate::framing::PREFIX_LEN;
use alloc::vec::Vec;
use weft_wire::Priority;

/// Batches on their way to the link, at most a lane's capacity of them. Give it back to
/// [`TxHalf::recycle`](super::TxHalf::recycle) when they are written.
pub struct TxChunk {
    buf: Vec<u8>,
    len: usize,
    priority: Priority,
}

impl TxChunk {
    pub(super) fn new(buf: Vec<u8>, len: usize, priority: Priority) -> Self {
        Self { buf, len, priority }
    }

    pub(super) fn into_buf(self) -> Vec<u8> {
        self.buf
    }

    /// The batches as a stream carries them: each behind its length.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buf[..self.len]
    }

    /// The batches one by one, without lengths: what a datagram link sends.
    pub fn batches(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes();
        core::iter::from_fn(move || {
            let (prefix, tail) = rest.split_first_chunk::<PREFIX_LEN>()?;
            let (batch, tail) = tail.split_at(usize::from(u16::from_le_bytes(*prefix)));
            rest = tail;
            Some(batch)
        })
    }

    /// The priority of the lane that the batches come from; without QoS always Control, the number
    /// of the only lane.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.priority
    }
}
