//! [`TxChunk`]: batches that left the queue and wait for the link.

use crate::compression::Compressor;
use crate::framing::PREFIX_LEN;
use alloc::boxed::Box;
use alloc::vec::Vec;
use weft_wire::Priority;

/// Batches on their way to the link, at most a lane's capacity of them. Give it back to
/// [`TxHalf::recycle`](super::TxHalf::recycle) when they are written.
pub struct TxChunk {
    buf: Vec<u8>,
    len: usize,
    priority: Priority,
    /// If the link compresses.
    compressor: Option<Box<Compressor>>,
}

impl TxChunk {
    pub(super) fn new(
        buf: Vec<u8>,
        len: usize,
        priority: Priority,
        compressor: Option<Box<Compressor>>,
    ) -> Self {
        Self { buf, len, priority, compressor }
    }

    pub(super) fn into_parts(self) -> (Vec<u8>, Option<Box<Compressor>>) {
        (self.buf, self.compressor)
    }

    /// The batches as a stream carries them: each behind its length. Always the same bytes.
    ///
    /// Cost: none without compression. With it, the first call compresses all batches, which takes up to
    /// about 1 µs per KiB: not to be spent under a lock.
    #[inline]
    #[must_use]
    pub fn bytes(&mut self) -> &[u8] {
        let plain = &self.buf[..self.len];
        match &mut self.compressor {
            None => plain,
            Some(compressor) => compressor.stream(plain),
        }
    }

    /// The batches one by one, without lengths: what a datagram link sends. Costs what
    /// [`bytes`](Self::bytes) does.
    pub fn batches(&mut self) -> impl Iterator<Item = &[u8]> {
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
