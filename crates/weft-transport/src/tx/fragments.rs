//! Messages that do not fit one batch: gathered, then cut into FRAGMENTs.
//!
//! Not here: reassembly (`rx`). Spec: 01 §5.5 (sender).
//!
//! Invariants: from its first FRAGMENT to its last, a message owns its lane; it gives the lane back
//! when it is done or aborted. Every FRAGMENT but the last fills its batch.

use super::{PushError, TxHalf};
use crate::framing::PREFIX_LEN;
use crate::sn;
use alloc::vec::Vec;
use core::ops::Range;
use weft_wire::{Encode, FragmentHeader, NoSpace, Priority, Reliability, Sink, Writer};

/// A sink that copies what a message is made of, but only refers to its payloads.
#[derive(Debug, Default)]
pub struct Gather<'a> {
    copied: Vec<u8>,
    parts: Vec<Part<'a>>,
    len: usize,
}

#[derive(Debug)]
enum Part<'a> {
    /// A range of `copied`.
    Copied(Range<usize>),
    Borrowed(&'a [u8]),
}

impl<'a> Gather<'a> {
    /// The encoded form of `message`. Allocates for its header fields, not for its payloads.
    #[must_use]
    pub fn of<M: Encode>(message: &'a M) -> Self {
        let mut gather = Self::default();
        let Ok(()) = message.encode(&mut gather) else { unreachable!("a gather is never full") };
        gather
    }

    /// Bytes gathered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was gathered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| self.bytes_of(part))
    }

    fn bytes_of<'s>(&'s self, part: &'s Part<'a>) -> &'s [u8] {
        match part {
            Part::Copied(range) => &self.copied[range.clone()],
            Part::Borrowed(bytes) => bytes,
        }
    }
}

impl<'a> Sink<'a> for Gather<'a> {
    fn byte(&mut self, byte: u8) -> Result<(), NoSpace> {
        self.bytes(&[byte])
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoSpace> {
        let start = self.copied.len();
        self.copied.extend_from_slice(bytes);
        let end = self.copied.len();
        self.len += bytes.len();
        match self.parts.last_mut() {
            Some(Part::Copied(range)) => range.end = end,
            _ => self.parts.push(Part::Copied(start..end)),
        }
        Ok(())
    }

    fn payload(&mut self, payload: &'a [u8]) -> Result<(), NoSpace> {
        self.len += payload.len();
        self.parts.push(Part::Borrowed(payload));
        Ok(())
    }
}

/// What came of [`TxHalf::push_fragments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum FragmentStep {
    /// The whole message is in line.
    Done,
    /// There is no room for now: call again after [`TxHalf::take`], or
    /// [abort](TxHalf::abort_fragments). Until then no other message enters the lane.
    Full,
}

/// A message on its way out in FRAGMENTs, and how far it has come.
#[derive(Debug)]
pub struct FragmentCursor<'a> {
    message: Gather<'a>,
    priority: Priority,
    reliability: Reliability,
    /// The next byte to send: a part of `message` and an offset in it.
    part: usize,
    offset: usize,
    remaining: usize,
    /// The number under which the message owns its lane; 0 before it does.
    owner: u32,
}

impl<'a> FragmentCursor<'a> {
    /// A cursor at the start of `message`, which stays borrowed.
    #[must_use]
    pub fn new<M: Encode>(priority: Priority, reliability: Reliability, message: &'a M) -> Self {
        let message = Gather::of(message);
        let remaining = message.len();
        Self { message, priority, reliability, part: 0, offset: 0, remaining, owner: 0 }
    }

    /// Bytes of the message that are not in line yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    fn is_at_start(&self) -> bool {
        self.remaining == self.message.len()
    }

    /// Copies the next `len` bytes, at most `remaining`, and moves past them.
    fn copy_to(&mut self, len: usize, writer: &mut Writer<'_>) -> Result<(), NoSpace> {
        let mut missing = len;
        while missing > 0 {
            let part = self.message.bytes_of(&self.message.parts[self.part]);
            let piece = &part[self.offset..];
            let piece = &piece[..missing.min(piece.len())];
            writer.bytes(piece)?;
            missing -= piece.len();
            self.offset += piece.len();
            if self.offset == part.len() {
                self.part += 1;
                self.offset = 0;
            }
        }
        self.remaining -= len;
        Ok(())
    }
}

impl TxHalf {
    /// Puts as many FRAGMENTs of a message in line as there is room for.
    ///
    /// The message owns its lane from the first call until it is `Done` or
    /// [aborted](Self::abort_fragments); a cursor must not be dropped in between. Costs one copy of
    /// the message.
    ///
    /// # Errors
    /// [`PushError::Full`] while another fragmented message owns the lane; [`PushError::Closed`]
    /// after [`close`](Self::close), and after [`clear`](Self::clear) if the message had begun.
    pub fn push_fragments(
        &mut self,
        cursor: &mut FragmentCursor<'_>,
    ) -> Result<FragmentStep, PushError> {
        self.own_lane(cursor)?;
        let index = self.lane_of(cursor.priority);
        let limit = self.limit(cursor.priority);
        while cursor.remaining > 0 {
            let mut header = self.fragment_header(cursor);
            header.first = self.patch >= 1 && cursor.is_at_start();
            let header_len = header.encoded_len();
            let len = cursor.remaining.min(usize::from(self.batch_max) - header_len);
            header.more = len < cursor.remaining;
            if self.lanes[index].len() + PREFIX_LEN + header_len + len > limit {
                return Ok(FragmentStep::Full);
            }
            self.push_fragment(index, &header, header_len + len, |w| cursor.copy_to(len, w));
        }
        self.lanes[index].owner = 0;
        self.messages[index] += 1;
        Ok(FragmentStep::Done)
    }

    /// Gives up a message and its lane. If a part of it is in line, a last FRAGMENT tells the peer
    /// to forget that part.
    pub fn abort_fragments(&mut self, cursor: FragmentCursor<'_>) {
        let index = self.lane_of(cursor.priority);
        if cursor.owner == 0 || self.lanes[index].owner != cursor.owner {
            return;
        }
        self.lanes[index].owner = 0;
        if self.closed || cursor.is_at_start() {
            return;
        }
        // A peer that knows no Drop marker gets the end of the message instead; what it then has is
        // shorter than the message claims to be, so it cannot take it for a whole one.
        let mut header = self.fragment_header(&cursor);
        header.drop = self.patch >= 1;
        self.push_fragment(index, &header, header.encoded_len(), |_| Ok(()));
    }

    fn own_lane(&mut self, cursor: &mut FragmentCursor<'_>) -> Result<(), PushError> {
        let index = self.lane_of(cursor.priority);
        let lane = &mut self.lanes[index];
        if self.closed || (cursor.owner != 0 && cursor.owner != lane.owner) {
            return Err(PushError::Closed);
        }
        if cursor.owner == 0 {
            if lane.owner != 0 {
                return Err(PushError::Full);
            }
            self.stats.batches += lane.seal();
            lane.owner = self.next_owner;
            cursor.owner = self.next_owner;
            self.next_owner = self.next_owner.checked_add(1).unwrap_or(1);
        }
        Ok(())
    }

    /// The header of the next FRAGMENT of a message: an empty last one, without markers.
    fn fragment_header(&self, cursor: &FragmentCursor<'_>) -> FragmentHeader {
        let reliability = cursor.reliability;
        FragmentHeader {
            reliability,
            sn: self.lanes[self.lane_of(cursor.priority)].sn[reliability as usize],
            priority: self.wire_priority(cursor.priority),
            more: false,
            first: false,
            drop: false,
        }
    }

    /// Adds a batch with one FRAGMENT of `len` bytes in all.
    fn push_fragment(
        &mut self,
        index: usize,
        header: &FragmentHeader,
        len: usize,
        fill: impl FnOnce(&mut Writer<'_>) -> Result<(), NoSpace>,
    ) {
        self.push_batch(index, len, |writer| {
            header.encode(writer)?;
            fill(writer)
        });
        self.lanes[index].sn[header.reliability as usize] = sn::next(header.sn, self.sn_mask);
    }
}
