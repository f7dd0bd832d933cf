//! Buffers of reassembled messages, to be used again when nobody looks at them any more.
//!
//! A large message in fresh memory costs more for the pages than for the bytes: the system has to
//! find and clear each of them. So whoever sends large messages one after the other gets the same
//! few buffers again and again, also while subscribers hold the latest ones for a moment.
//!
//! Invariant: what is kept for later is at most [`COUNT_MAX`] buffers and [`TOTAL_MAX`] bytes, or a
//! single buffer of any size. It goes when the transport has been quiet, or has carried nothing but
//! small messages for [`FRAMES_MAX`] batches.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// Buffers kept for later.
const COUNT_MAX: usize = 16;
/// Bytes that these hold, if there is more than one.
const TOTAL_MAX: usize = 8 << 20;
/// Buffers up to this capacity are kept however little of them was used.
const SMALL: usize = 256 << 10;
/// A larger buffer is kept only if the message has filled this part of it.
const FILL_MIN: usize = 4;
/// FRAMEs without a FRAGMENT between them, after which what is kept is freed.
const FRAMES_MAX: u32 = 4096;

#[derive(Default)]
pub(super) struct Buffers {
    /// Some of them may still be in use elsewhere.
    kept: Vec<Arc<Vec<u8>>>,
    total: usize,
    frames: u32,
    /// Something was kept since the last call of [`Buffers::release_unused`].
    used: bool,
}

impl Buffers {
    /// An empty buffer, if possible one that was used before. Costs an atomic operation for each
    /// that is kept and in use.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.frames = 0;
        let free = self.kept.iter_mut().rposition(|kept| Arc::get_mut(kept).is_some());
        let Some(Ok(mut buf)) = free.map(|at| Arc::try_unwrap(self.kept.swap_remove(at))) else {
            return Vec::new();
        };
        self.total -= buf.capacity();
        buf.clear();
        buf
    }

    /// Keeps the buffer of a message for when everybody has let go of it.
    pub(super) fn keep(&mut self, buf: Arc<Vec<u8>>) {
        let capacity = buf.capacity();
        if capacity > SMALL && buf.len() < capacity / FILL_MIN {
            return;
        }
        if self.kept.len() == COUNT_MAX || self.total + capacity > TOTAL_MAX {
            // Those of before were too few, too many, or of another size.
            self.free();
        }
        self.used = true;
        self.total += capacity;
        self.kept.push(buf);
    }

    /// A FRAME has come: perhaps there are no large messages any more.
    #[inline]
    pub(super) fn note_frame(&mut self) {
        self.frames += 1;
        if self.frames >= FRAMES_MAX {
            self.free();
        }
    }

    /// Frees what is kept, unless something was since the last call.
    pub(super) fn release_unused(&mut self) {
        if !core::mem::take(&mut self.used) {
            self.free();
        }
    }

    /// Whether nothing is kept.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Capacity of all that is kept, in bytes.
    #[cfg(test)]
    pub(super) fn total(&self) -> usize {
        self.total
    }

    fn free(&mut self) {
        self.kept = Vec::new();
        self.total = 0;
        self.frames = 0;
    }
}
