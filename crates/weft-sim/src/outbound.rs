//! The sending side of one transport, as a runtime would do it with a socket and a lock.
//!
//! A message that finds its lane full is dropped or waits, by its congestion control. In the
//! simulation nobody can be suspended: what waits is kept encoded, in order, and whoever produced it
//! is told, so that it stops producing.

use std::collections::VecDeque;

use weft_node::LinkId;
use weft_transport::{FragmentCursor, FragmentStep, PushError, TxChunk, TxConfig, TxHalf};
use weft_wire::{CloseReason, CongestionControl, Encode, NoSpace, Priority, Reliability, Sink};

/// How long a blocking message waits before its neighbour is given up, in microseconds.
pub(crate) const WAIT_BEFORE_CLOSE_US: u64 = 5_000_000;

/// The channel of a message, and what may happen to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub(crate) priority: Priority,
    pub(crate) reliability: Reliability,
    pub(crate) congestion: CongestionControl,
}

impl Class {
    pub(crate) const CONTROL: Self = Self {
        priority: Priority::Control,
        reliability: Reliability::Reliable,
        congestion: CongestionControl::Block,
    };
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Queued,
    Waiting,
    Dropped,
    Closed,
}

/// A message in its final form.
struct Encoded<'b>(&'b [u8]);

impl Encode for Encoded<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.bytes(self.0)
    }
}

struct Waiting {
    bytes: Vec<u8>,
    class: Class,
    since_us: u64,
}

pub(crate) struct Outbound {
    half: TxHalf,
    /// In the order of their opening; the first is written to.
    pub(crate) links: Vec<LinkId>,
    /// What the pipe did not take whole, and from where on.
    unwritten: VecDeque<(TxChunk, usize)>,
    waiting: VecDeque<Waiting>,
    /// Messages dropped for lack of room.
    pub(crate) dropped: u64,
    /// Bytes that the lanes may hold.
    limit: usize,
}

impl Outbound {
    pub(crate) fn new(half: TxHalf, link: LinkId, config: &TxConfig, batch_size: u16) -> Self {
        let batches: usize = config.queue_batches.iter().map(|count| usize::from(*count)).sum();
        let limit = batches * (usize::from(batch_size) + 2) + config.control_backlog_max;
        Self {
            half,
            links: vec![link],
            unwritten: VecDeque::new(),
            waiting: VecDeque::new(),
            dropped: 0,
            limit,
        }
    }

    pub(crate) fn push(&mut self, now_us: u64, message: &impl Encode, class: Class) -> Pushed {
        let behind = self.waiting.iter().any(|other| other.class.priority == class.priority);
        let pushed = if behind { Err(PushError::Full) } else { self.try_push(message, class) };
        match pushed {
            Ok(()) => Pushed::Queued,
            Err(PushError::Full) if class.congestion == CongestionControl::Block => {
                let mut bytes = Vec::new();
                let encoded = message.encode(&mut bytes);
                debug_assert!(encoded.is_ok(), "a vector is never full");
                self.waiting.push_back(Waiting { bytes, class, since_us: now_us });
                Pushed::Waiting
            }
            Err(PushError::Full) => {
                self.dropped += 1;
                Pushed::Dropped
            }
            Err(_) => Pushed::Closed,
        }
    }

    /// A control message neither waits nor is dropped; returns false if its backlog is full.
    pub(crate) fn push_control(&mut self, message: &impl Encode) -> bool {
        !matches!(self.try_push(message, Class::CONTROL), Err(PushError::Full))
    }

    fn try_push(&mut self, message: &impl Encode, class: Class) -> Result<(), PushError> {
        match self.half.push(class.priority, class.reliability, message) {
            Err(PushError::TooBig) => self.push_fragments(message, class),
            other => other,
        }
    }

    /// A large message goes out whole once it has begun. A runtime would let it wait piece by piece;
    /// here its pieces pile up for the pipe, bounded by the message itself.
    fn push_fragments(&mut self, message: &impl Encode, class: Class) -> Result<(), PushError> {
        if !self.unwritten.is_empty() && class.congestion != CongestionControl::Block {
            return Err(PushError::Full);
        }
        let mut cursor = FragmentCursor::new(class.priority, class.reliability, message);
        while self.half.push_fragments(&mut cursor)? == FragmentStep::Full {
            self.take();
        }
        Ok(())
    }

    fn take(&mut self) {
        if let Some(chunk) = self.half.take() {
            self.unwritten.push_back((chunk, 0));
        }
    }

    /// Writes until nothing is left or `write`, which returns how many bytes it took, takes no more.
    /// Returns whether anything was written.
    pub(crate) fn flush(&mut self, mut write: impl FnMut(&[u8]) -> usize) -> bool {
        let mut wrote = false;
        loop {
            if self.unwritten.is_empty() {
                self.take();
            }
            let Some((mut chunk, start)) = self.unwritten.pop_front() else { break };
            let bytes = &chunk.bytes()[start..];
            let written = write(bytes);
            wrote |= written > 0;
            if written < bytes.len() {
                self.unwritten.push_front((chunk, start + written));
                break;
            }
            self.half.recycle(chunk);
            self.admit_waiting();
        }
        wrote
    }

    /// Lets in what waits, as far as there is room.
    fn admit_waiting(&mut self) {
        let mut full = [false; 8];
        for waiting in std::mem::take(&mut self.waiting) {
            let lane = &mut full[waiting.class.priority as usize];
            // Nothing overtakes what waits already.
            let message = Encoded(&waiting.bytes);
            if *lane || self.try_push(&message, waiting.class) == Err(PushError::Full) {
                *lane = true;
                self.waiting.push_back(waiting);
            }
        }
    }

    /// A link is gone, and with the one that is written to all that was queued: only CLOSE follows.
    pub(crate) fn remove_link(&mut self, link: LinkId) {
        if self.links.first() == Some(&link) {
            self.half.clear();
            self.half.close(CloseReason::GENERIC);
            self.unwritten.clear();
            self.waiting.clear();
        }
        self.links.retain(|other| *other != link);
    }

    /// CLOSE goes out after all that is queued; nothing more is accepted.
    pub(crate) fn finish(&mut self, reason: CloseReason) {
        self.waiting.clear();
        self.half.close(reason);
    }

    /// Everything that is queued, and CLOSE behind it: the last bytes on the link.
    pub(crate) fn close(&mut self, reason: CloseReason) -> Vec<u8> {
        self.half.close(reason);
        let mut last = Vec::new();
        self.flush(|bytes| {
            last.extend_from_slice(bytes);
            bytes.len()
        });
        last
    }

    pub(crate) fn keep_alive(&mut self) {
        self.half.keep_alive();
        self.half.release_idle();
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When the neighbour is to be given up because it takes nothing.
    pub(crate) fn gives_up_us(&self) -> Option<u64> {
        self.waiting.front().map(|first| first.since_us + WAIT_BEFORE_CLOSE_US)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.half.is_empty() && self.unwritten.is_empty() && self.waiting.is_empty()
    }

    /// Bytes in the lanes, and how many there may be.
    pub(crate) fn fill(&self) -> (usize, usize) {
        (self.half.pending_bytes(), self.limit)
    }
}
