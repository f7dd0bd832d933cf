//! How much a capture or a peer may make this process hold.
//!
//! Two batches of each connection (at most [`BATCH_HELD_MAX`] each), [`IP_FRAGMENTS_MAX`] IP packets, a block of the file,
//! and [`HELD_MAX`] for all else are the whole of it.

use std::cell::Cell;
use std::rc::Rc;

/// The longest block of a capture file, in bytes; a packet is never longer than 256 KiB.
pub(super) const BLOCK_LEN_MAX: usize = 4 << 20;

/// Interfaces of one section of a capture file.
pub(super) const INTERFACES_MAX: usize = 4096;

/// Fragments of other IP packets after the last one of a packet, before it is given up: at most so many packets of 64 KiB
/// are incomplete.
pub(super) const IP_FRAGMENTS_MAX: u64 = 256;

/// Conversations that are followed at once; beyond that the one that was silent for longest is forgotten.
pub(super) const FLOWS_MAX: usize = 1024;

/// Nodes that have scouted, to whom answers are expected; beyond that the first one is forgotten.
pub(super) const SCOUTERS_MAX: usize = 1024;

/// Bytes of one direction of a TCP connection that wait for what is missing before them; beyond that it counts as lost.
pub(super) const OUT_OF_ORDER_MAX: usize = 256 << 10;

/// Bytes of a stream that are held until a batch is whole.
pub(super) const BATCH_HELD_MAX: usize = 128 << 10;

/// Batches in a row that do not decode, before it is doubted that they are batches.
pub(super) const BROKEN_BATCHES_MAX: u32 = 3;

/// Bytes held for all connections together: TCP segments out of order, fragments, names of declared ids.
pub(super) const HELD_MAX: usize = 256 << 20;

/// The longest name of a declared id, in bytes. A message cannot carry a longer one, but declarations can build upon others.
pub(super) const NAME_LEN_MAX: usize = u16::MAX as usize;

/// Connections that pass through at once; each has two threads.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// Pieces of at most [`CHUNK_LEN_MAX`] bytes that wait to be shown; beyond that connections wait, too.
pub(super) const CHUNKS_PENDING_MAX: usize = 64;

/// Bytes that are passed on at once.
pub(super) const CHUNK_LEN_MAX: usize = 64 << 10;

/// Bytes of a payload, an attachment or a broken batch that are shown to people.
pub(super) const SHOWN_LEN_MAX: usize = 64;

/// Bytes that may still be held; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Budget(Rc<Cell<usize>>);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Rc::new(Cell::new(bytes)))
    }

    /// A reservation of nothing, to be [grown](Reservation::grow).
    pub(super) fn reserve(&self) -> Reservation {
        Reservation { budget: self.clone(), len: 0 }
    }
}

/// A part of a [`Budget`], which gets it back when this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    len: usize,
}

impl Reservation {
    /// Takes `len` bytes more, if there are so many.
    #[must_use]
    pub(super) fn grow(&mut self, len: usize) -> bool {
        let Some(left) = self.budget.0.get().checked_sub(len) else { return false };
        self.budget.0.set(left);
        self.len += len;
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.set(self.budget.0.get() + self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_reserved_again() {
        let budget = Budget::new(10);
        let (mut a, mut b) = (budget.reserve(), budget.reserve());
        assert!(a.grow(6) && b.grow(4) && !b.grow(1));
        drop(a);
        assert!(b.grow(6) && !b.grow(1));
    }
}
