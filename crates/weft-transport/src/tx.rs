//! The sending half of a transport: messages in, batches in their final bytes out.
//!
//! Not here: the link and its lock (the runtime), when to send (the runtime), whom to send to
//! (`weft-routing`). Spec: 01 §3, §5.1 to §5.3, §5.5 (sender), §8.
//!
//! A message is encoded once, straight into the buffer that the link writes. There is one lane a
//! priority (one in all without QoS); a lane holds whole batches back to back, each behind its
//! length, so that one write to a stream carries several. While the link writes what
//! [`TxHalf::take`] gave it, the lane fills another buffer; buffers are exchanged, so nothing is
//! allocated in steady state. An idle half holds no buffer.
//!
//! If the link compresses, a chunk carries the compressor along and is compressed by whoever writes
//! it, after it has left the half. Everything here is then counted before compression.
//!
//! Invariants: the SNs of a channel leave in order and without holes, because SN and bytes are
//! assigned in one step. A refused message leaves no trace. Nothing overtakes a fragmented message
//! in its lane. A batch of a transport without QoS holds one FRAME and nothing else, which
//! zenoh-pico depends on.

mod chunk;
mod fragments;
mod lane;
#[cfg(test)]
mod tests;

pub use chunk::TxChunk;
pub use fragments::{FragmentCursor, FragmentStep, Gather};

use crate::compression::{Compressor, HEADER_LEN};
use crate::framing::PREFIX_LEN;
use crate::handshake::{BATCH_SIZE_MIN, Negotiated};
use crate::sn;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use lane::Lane;
use weft_wire::{
    Close, CloseReason, Encode, FrameHeader, NoSpace, Priority, Reliability, Sink,
    TransportMessage, Writer,
};

const LANES: usize = 8;

/// How much a [`TxHalf`] may hold, and how it fills batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxConfig {
    /// Capacity of each priority's lane, in batches of the largest size; without QoS only that of
    /// Data counts. Values outside of 1 to [`QUEUE_BATCHES_MAX`] are clamped.
    pub queue_batches: [u8; LANES],
    /// Whether messages share batches. If not, every message has a batch to itself.
    pub batching: bool,
    /// Bytes that messages of priority Control (declarations) may fill, if that is more than the
    /// capacity of their lane. At most 1 GiB counts.
    pub control_backlog_max: usize,
}

/// The largest capacity of a lane, in batches.
pub const QUEUE_BATCHES_MAX: u8 = 16;

/// The largest backlog of Control messages, in bytes.
const CONTROL_BACKLOG_MAX: usize = 1 << 30;

impl Default for TxConfig {
    /// Two batches a lane, batching, and 4 MiB of backlog for Control.
    fn default() -> Self {
        Self { queue_batches: [2; LANES], batching: true, control_backlog_max: 4 << 20 }
    }
}

/// Why a message was not accepted. It left no trace.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// Its lane has no room for it at the moment, or is taken by a fragmented message.
    Full,
    /// It does not fit an empty batch: send it with [`TxHalf::push_fragments`].
    TooBig,
    /// The half was closed, or cleared in the middle of this fragmented message.
    Closed,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "no room in the queue of this priority",
            Self::TooBig => "the message does not fit one batch",
            Self::Closed => "the transport is closed",
        })
    }
}

impl core::error::Error for PushError {}

/// What went out so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxStats {
    /// Network messages accepted; a fragmented one counts with its last fragment.
    pub messages: u64,
    /// Transport messages put in line: frames, fragments, keep-alives and the like.
    pub transport_messages: u64,
    /// Batches completed.
    pub batches: u64,
    /// Bytes handed to the link, prefixes of the batches included, before compression.
    pub bytes: u64,
}

/// The queue of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxQueue {
    /// Bytes accepted and not taken, prefixes of the batches included.
    pub bytes: usize,
    /// Batches that these make, an open one included.
    pub batches: usize,
    /// Bytes that it may hold.
    pub capacity: usize,
    /// Network messages accepted since the start.
    pub messages: u64,
}

/// The sending half of one transport over one link. Its owner serialises access to it.
pub struct TxHalf {
    lanes: [Lane; LANES],
    /// The buffer that the next taken lane goes on with.
    spare: Vec<u8>,
    /// What the next chunk is compressed with.
    compressor: Option<Box<Compressor>>,
    sn_mask: u64,
    /// Totals; messages are counted by lane.
    stats: TxStats,
    messages: [u64; LANES],
    /// Bytes that each lane may hold, prefixes included.
    capacity: [u32; LANES],
    /// The same for messages of priority Control.
    control_capacity: u32,
    /// The number of the next fragmented message that takes possession of a lane; never 0.
    next_owner: u32,
    /// Bytes of a batch, without its prefix.
    batch_max: u16,
    /// Bit `i` is set if lane `i` holds anything.
    pending: u8,
    qos: bool,
    patch: u8,
    batching: bool,
    compression: bool,
    closed: bool,
}

/// Where a message goes and how many bytes that takes.
struct Placement {
    /// Bytes in all: prefix, header, message.
    len: usize,
    /// The FRAME to open; `None` to continue the open one.
    frame: Option<FrameHeader>,
    new_batch: bool,
}

impl TxHalf {
    /// An empty half. Allocates nothing.
    ///
    /// # Panics
    /// If the negotiated batch size is under [`BATCH_SIZE_MIN`] less the prefix of a batch and the
    /// header that comes with compression.
    #[must_use]
    pub fn new(negotiated: &Negotiated, config: &TxConfig) -> Self {
        let header_len = if negotiated.compression { HEADER_LEN } else { 0 };
        let batch_min = usize::from(BATCH_SIZE_MIN) - PREFIX_LEN - header_len;
        assert!(usize::from(negotiated.batch_size) >= batch_min, "no FRAGMENT fits such a batch");
        let batch = PREFIX_LEN + usize::from(negotiated.batch_size);
        let batches = |lane: usize| {
            let lane = if negotiated.qos { lane } else { Priority::Data as usize };
            usize::from(config.queue_batches[lane].clamp(1, QUEUE_BATCHES_MAX))
        };
        let capacity: [u32; LANES] = core::array::from_fn(|lane| (batches(lane) * batch) as u32);
        let backlog = config.control_backlog_max.min(CONTROL_BACKLOG_MAX) as u32;
        let initial = negotiated.sn_tx_initial & negotiated.sn_mask;
        Self {
            lanes: core::array::from_fn(|_| Lane::new(initial)),
            spare: Vec::new(),
            compressor: None,
            sn_mask: negotiated.sn_mask,
            stats: TxStats::default(),
            messages: [0; LANES],
            capacity,
            control_capacity: capacity[0].max(backlog),
            next_owner: 1,
            batch_max: negotiated.batch_size,
            pending: 0,
            qos: negotiated.qos,
            patch: negotiated.patch,
            batching: config.batching,
            compression: negotiated.compression,
            closed: false,
        }
    }

    /// Appends a message to the lane of `priority`, behind everything that is there.
    ///
    /// Cost while the open FRAME has room: one encode into place, no allocation. Otherwise a batch
    /// is sealed and another one opened; the buffer grows by doubling until it has its final size.
    #[inline]
    pub fn push<M: Encode>(
        &mut self,
        priority: Priority,
        reliability: Reliability,
        message: &M,
    ) -> Result<(), PushError> {
        let lane = self.lane_of(priority);
        if self.lanes[lane].append(reliability, message).is_ok() {
            self.messages[lane] += 1;
            return Ok(());
        }
        self.push_elsewhere(priority, reliability, message)
    }

    /// The rest of [`push`](Self::push): everything but appending to the open FRAME.
    fn push_elsewhere<M: Encode>(
        &mut self,
        priority: Priority,
        reliability: Reliability,
        message: &M,
    ) -> Result<(), PushError> {
        let Placement { len, frame, new_batch } =
            self.place(priority, reliability, message.encoded_len())?;
        let limit = self.limit(priority);
        let index = self.lane_of(priority);
        let lane = &mut self.lanes[index];
        if new_batch {
            self.stats.batches += lane.seal();
        }
        let start = if new_batch { lane.len() } else { lane.batch_start() };
        lane.write(len, limit, |writer| {
            if new_batch {
                writer.bytes(&[0; PREFIX_LEN])?; // the length is written when the batch is sealed
            }
            if let Some(frame) = &frame {
                frame.encode(writer)?;
            }
            message.encode(writer)
        })
        .map_err(|NoSpace| PushError::TooBig)?;
        if let Some(frame) = frame {
            self.stats.transport_messages += 1;
            lane.sn[reliability as usize] = sn::next(frame.sn, self.sn_mask);
        }
        let batch_end = start + PREFIX_LEN + usize::from(self.batch_max);
        lane.open(start, reliability, batch_end.min(self.capacity[index] as usize));
        if !self.batching {
            self.stats.batches += lane.seal();
        }
        self.pending |= 1 << index;
        self.messages[index] += 1;
        Ok(())
    }

    /// Whether a message of `len` encoded bytes would be accepted now, whatever its reliability:
    /// what those who wait for room ask after each [`take`](Self::take). Never true of a message
    /// that fits no batch.
    #[must_use]
    pub fn has_room(&self, priority: Priority, len: usize) -> bool {
        [Reliability::Reliable, Reliability::BestEffort]
            .into_iter()
            .all(|reliability| self.place(priority, reliability, len).is_ok())
    }

    fn place(
        &self,
        priority: Priority,
        reliability: Reliability,
        message_len: usize,
    ) -> Result<Placement, PushError> {
        let lane = &self.lanes[self.lane_of(priority)];
        if self.closed {
            return Err(PushError::Closed);
        }
        if lane.owner != 0 {
            return Err(PushError::Full);
        }
        let batch_max = usize::from(self.batch_max);
        let sn = lane.sn[reliability as usize];
        let frame = FrameHeader { reliability, sn, priority: self.wire_priority(priority) };
        let framed_len = frame.encoded_len() + message_len;
        let placement = match lane.open_frame() {
            Some((open, used)) if open == reliability && used + message_len <= batch_max => {
                Placement { len: message_len, frame: None, new_batch: false }
            }
            Some((open, used))
                if open != reliability && self.qos && used + framed_len <= batch_max =>
            {
                Placement { len: framed_len, frame: Some(frame), new_batch: false }
            }
            _ if framed_len > batch_max => return Err(PushError::TooBig),
            _ => Placement { len: PREFIX_LEN + framed_len, frame: Some(frame), new_batch: true },
        };
        if lane.len() + placement.len > self.limit(priority) {
            return Err(PushError::Full);
        }
        Ok(placement)
    }

    /// Seals and hands out all batches of the most urgent lane that has any, to be written as they
    /// are. The lane goes on with another buffer. No allocation, no copy; with compression, the first
    /// chunk allocates what it is compressed with.
    #[must_use]
    pub fn take(&mut self) -> Option<TxChunk> {
        let index = self.pending.trailing_zeros() as usize;
        let lane = self.lanes.get_mut(index)?;
        self.stats.batches += lane.seal();
        self.pending &= !(1 << index);
        let (buf, len) = lane.take(mem::take(&mut self.spare));
        self.stats.bytes += len as u64;
        let compressor = self.compression.then(|| self.compressor.take().unwrap_or_default());
        Some(TxChunk::new(buf, len, Priority::from_bits(index as u8), compressor))
    }

    /// Takes back the buffer of a chunk that was written, for the next batches. One that a backlog
    /// has stretched past the capacity of its lane is freed instead, with what compressed it.
    pub fn recycle(&mut self, chunk: TxChunk) {
        let index = chunk.priority() as usize;
        let (buf, compressor) = chunk.into_parts();
        if buf.len() > self.capacity[index] as usize {
            return;
        }
        if let Some(compressor) = compressor {
            self.keep_compressor(compressor);
        }
        if let Some(buf) = self.lanes[index].adopt(buf)
            && buf.len() > self.spare.len()
        {
            self.spare = buf;
        }
    }

    /// Out of line, as most links do not compress.
    #[cold]
    fn keep_compressor(&mut self, mut compressor: Box<Compressor>) {
        compressor.reset();
        self.compressor = Some(compressor);
    }

    /// Puts a KEEP_ALIVE in line, unless something is: any batch keeps the link alive.
    pub fn keep_alive(&mut self) {
        if self.is_empty() && !self.closed {
            self.push_batch(0, 1, |writer| TransportMessage::KeepAlive.encode(writer));
        }
    }

    /// Puts a CLOSE of this link in line, behind everything accepted so far. From here on, only
    /// [`take`](Self::take) has an effect.
    pub fn close(&mut self, reason: CloseReason) {
        if self.closed {
            return;
        }
        for lane in &mut self.lanes {
            self.stats.batches += lane.seal();
        }
        let close = Close { session: false, reason };
        self.push_batch(self.lane_of(Priority::Background), close.encoded_len(), |writer| {
            close.encode(writer)
        });
        self.closed = true;
    }

    /// Forgets everything accepted and not taken, frees all buffers, and abandons fragmented
    /// messages: for a link that is lost.
    pub fn clear(&mut self) {
        for lane in &mut self.lanes {
            lane.clear();
        }
        self.spare = Vec::new();
        self.compressor = None;
        self.pending = 0;
    }

    /// Frees the buffers that hold nothing: for a transport that has been quiet for a while.
    pub fn release_idle(&mut self) {
        for lane in &mut self.lanes {
            lane.release_idle();
        }
        self.spare = Vec::new();
        self.compressor = None;
    }

    /// Whether there is nothing to take.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Bytes accepted and not taken, prefixes of the batches included.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.lanes.iter().map(Lane::len).sum()
    }

    /// Of these, the bytes in the lane of this priority.
    #[inline]
    #[must_use]
    pub fn pending_bytes_of(&self, priority: Priority) -> usize {
        self.lanes[self.lane_of(priority)].len()
    }

    /// Totals since the start.
    #[must_use]
    pub fn stats(&self) -> TxStats {
        TxStats { messages: self.messages.iter().sum(), ..self.stats }
    }

    /// The queues by priority; without QoS all is Data. Cost: a step for each batch that waits.
    #[must_use]
    pub fn queues(&self) -> [TxQueue; LANES] {
        const DATA: usize = Priority::Data as usize;
        core::array::from_fn(|index| {
            let lane = match index {
                _ if self.qos => index,
                DATA => 0,
                _ => return TxQueue::default(),
            };
            TxQueue {
                bytes: self.lanes[lane].len(),
                batches: self.lanes[lane].batch_count(),
                capacity: self.limit(Priority::from_bits(index as u8)),
                messages: self.messages[lane],
            }
        })
    }

    /// Bytes of all buffers held.
    #[cfg(test)]
    fn buffered(&self) -> usize {
        let compressor = self.compressor.as_ref().map_or(0, |it| it.buffered());
        self.lanes.iter().map(Lane::buffered).sum::<usize>() + self.spare.capacity() + compressor
    }

    /// Adds a batch of one message that is not in a FRAME, whatever the limits.
    fn push_batch(
        &mut self,
        index: usize,
        len: usize,
        fill: impl FnOnce(&mut Writer<'_>) -> Result<(), NoSpace>,
    ) {
        let lane = &mut self.lanes[index];
        self.stats.batches += lane.seal() + 1;
        self.stats.transport_messages += 1;
        lane.write(PREFIX_LEN + len, self.capacity[index] as usize, |writer| {
            writer.bytes(&(len as u16).to_le_bytes())?;
            fill(writer)
        })
        .expect("a batch has the length that was counted");
        self.pending |= 1 << index;
    }

    #[inline]
    fn lane_of(&self, priority: Priority) -> usize {
        if self.qos { priority as usize } else { 0 }
    }

    /// The priority that a header states: without QoS there is only Data.
    fn wire_priority(&self, priority: Priority) -> Priority {
        if self.qos { priority } else { Priority::Data }
    }

    /// Bytes up to which a message of `priority` may fill its lane.
    fn limit(&self, priority: Priority) -> usize {
        let limit = match priority {
            Priority::Control => self.control_capacity,
            _ => self.capacity[self.lane_of(priority)],
        };
        limit as usize
    }
}
