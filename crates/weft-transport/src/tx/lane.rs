//! One lane: the outgoing batches of one priority, back to back in one growable buffer.
//!
//! Not here: which message goes where, headers and limits (`tx`). Offsets are `u32`, because a lane
//! is bounded far below 4 GiB, and a lane then fits a cache line.
//!
//! ```text
//!  | len | sealed batch | len | sealed batch | len | FRAME header, messages… |      |      |
//!  0                                         ^batch                          ^len   ^end   ^buf.len()
//! ```
//!
//! Invariants: `batch <= len <= end <= buf.len()`. `frame` is set if and only if the last batch is
//! open; messages may then be appended to its last FRAME up to `end`. A batch gets its length when
//! it is sealed. All of `buf` is initialised; what lies past `len` is left over.

use crate::framing::PREFIX_LEN;
use alloc::vec::Vec;
use core::mem;
use weft_wire::{Encode, NoSpace, Reliability, Writer};

/// The first allocation of a lane, in bytes: enough for the traffic of a quiet session.
const BUFFER_LEN_MIN: usize = 512;

pub(super) struct Lane {
    buf: Vec<u8>,
    /// The next SN of the best-effort and of the reliable channel.
    pub(super) sn: [u64; 2],
    len: u32,
    end: u32,
    batch: u32,
    /// The fragmented message that nothing may overtake here; 0 if there is none.
    pub(super) owner: u32,
    /// The reliability of the FRAME that messages are appended to.
    frame: Option<Reliability>,
}

impl Lane {
    /// An empty lane whose channels start at `sn`.
    pub(super) fn new(sn: u64) -> Self {
        Self { buf: Vec::new(), sn: [sn; 2], len: 0, end: 0, batch: 0, owner: 0, frame: None }
    }

    /// Bytes held, prefixes included.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Batches held, an open one included. Cost: a step for each.
    pub(super) fn batch_count(&self) -> usize {
        let sealed = if self.frame.is_some() { self.batch } else { self.len } as usize;
        let (mut at, mut count) = (0, usize::from(self.frame.is_some()));
        while let Some(prefix) = self.buf[..sealed].get(at..at + PREFIX_LEN) {
            at += PREFIX_LEN + usize::from(u16::from_le_bytes([prefix[0], prefix[1]]));
            count += 1;
        }
        count
    }

    /// Bytes of the buffer.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.buf.capacity()
    }

    /// Where the prefix of the last opened batch is.
    pub(super) fn batch_start(&self) -> usize {
        self.batch as usize
    }

    /// The reliability of the open FRAME and the length so far of its batch, if there is one.
    pub(super) fn open_frame(&self) -> Option<(Reliability, usize)> {
        Some((self.frame?, (self.len - self.batch) as usize - PREFIX_LEN))
    }

    /// Appends to the open FRAME of `reliability`, or changes nothing if there is none or no room.
    #[inline]
    pub(super) fn append<M: Encode>(
        &mut self,
        reliability: Reliability,
        message: &M,
    ) -> Result<(), NoSpace> {
        if self.frame != Some(reliability) {
            return Err(NoSpace);
        }
        let room = self.buf.get_mut(self.len as usize..self.end as usize).ok_or(NoSpace)?;
        let mut writer = Writer::new(room);
        message.encode(&mut writer)?;
        self.len += writer.pos() as u32;
        Ok(())
    }

    /// Lets `fill` write up to `len` bytes behind what is there; on its error changes nothing. The
    /// buffer doubles when it must grow, up to `limit` bytes.
    pub(super) fn write(
        &mut self,
        len: usize,
        limit: usize,
        fill: impl FnOnce(&mut Writer<'_>) -> Result<(), NoSpace>,
    ) -> Result<(), NoSpace> {
        let end = self.len() + len;
        if end > self.buf.len() {
            let wanted = (2 * self.buf.len()).max(BUFFER_LEN_MIN).min(limit).max(end);
            self.buf.reserve_exact(wanted - self.buf.len());
            self.buf.resize(wanted, 0);
        }
        let mut writer = Writer::new(&mut self.buf[self.len as usize..end]);
        fill(&mut writer)?;
        self.len += writer.pos() as u32;
        Ok(())
    }

    /// States that the last FRAME is one of `reliability`, in a batch whose prefix is at `batch`,
    /// and that messages may follow up to `end`, or as far as the buffer goes.
    pub(super) fn open(&mut self, batch: usize, reliability: Reliability, end: usize) {
        self.batch = batch as u32;
        self.frame = Some(reliability);
        self.end = end.min(self.buf.len()).max(self.len()) as u32;
    }

    /// Seals the open batch. Returns how many batches that made: 0 if none was open, else 1.
    pub(super) fn seal(&mut self) -> u64 {
        let Some((_, len)) = self.open_frame() else { return 0 };
        let start = self.batch_start();
        self.buf[start..start + PREFIX_LEN].copy_from_slice(&(len as u16).to_le_bytes());
        self.frame = None;
        1
    }

    /// Hands out the buffer and its length, and goes on with `spare`. No batch may be open.
    pub(super) fn take(&mut self, spare: Vec<u8>) -> (Vec<u8>, usize) {
        debug_assert!(self.frame.is_none(), "taken while a batch is open");
        let len = mem::take(&mut self.len) as usize;
        (mem::replace(&mut self.buf, spare), len)
    }

    /// Keeps `buf` for the bytes to come if there is none; else gives it back.
    pub(super) fn adopt(&mut self, buf: Vec<u8>) -> Option<Vec<u8>> {
        if !self.buf.is_empty() {
            return Some(buf);
        }
        self.buf = buf;
        None
    }

    /// Forgets all that is held, frees the buffer and lets any message in. SNs go on.
    pub(super) fn clear(&mut self) {
        *self = Self { sn: self.sn, ..Self::new(0) };
    }

    /// Frees the buffer if it holds nothing.
    pub(super) fn release_idle(&mut self) {
        if self.len == 0 {
            self.buf = Vec::new();
        }
    }
}
