//! Finds the batches in one direction of a stream, and finds them again after something was missing.

use std::ops::Range;

use weft_transport::{Decompressor, next_batch};

use super::super::batch::{Likeness, likeness};
use super::super::limits::{BATCH_HELD_MAX, BROKEN_BATCHES_MAX};
use super::super::record::Record;
use super::Emit;

/// How batches are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    /// Their length has four bytes instead of two.
    pub(crate) low_latency: bool,
    /// They have the header that comes with compression.
    pub(crate) compression: bool,
}

/// Bytes of the length before each message of a low-latency transport.
const LONG_PREFIX_LEN: usize = 4;

/// The header of CLOSE, and the length of a batch that is nothing else.
const CLOSE: u8 = 0x03;
const CLOSE_LEN: u8 = 2;

/// One direction.
pub(super) struct Stream {
    /// Bytes up to `read` belong to batches that were taken; then comes the beginning of one that is not whole yet. At
    /// most [`BATCH_HELD_MAX`] and what was just pushed.
    held: Vec<u8>,
    read: usize,
    /// Bytes passed over since it was last known where batches begin; `None` while that is known.
    lost: Option<u64>,
    /// Batches in a row that made no sense.
    broken: u32,
}

impl Default for Stream {
    fn default() -> Self {
        Self { held: Vec::new(), read: 0, lost: Some(0), broken: 0 }
    }
}

impl Stream {
    pub(super) fn begin(&mut self) {
        *self = Self { lost: None, ..Self::default() };
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// The bytes that ranges of batches refer to.
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Takes bytes. Whether it is known where batches begin.
    pub(super) fn push(&mut self, bytes: &[u8], framing: Framing, emit: Emit<'_>) -> bool {
        if let Some(skipped) = self.lost {
            if !looks_right(bytes, framing) {
                self.lost = Some(skipped + bytes.len() as u64);
                return false;
            }
            if skipped > 0 {
                let note = format!("{skipped} bytes passed over, up to what looks like a batch");
                emit(Record::note(note).json_only("skipped", skipped.into()));
            }
            self.lost = None;
        }
        self.held.extend_from_slice(bytes);
        true
    }

    /// Takes the next whole batch: its range in [`held`](Self::held).
    pub(super) fn next_batch(&mut self, framing: Framing, emit: Emit<'_>) -> Option<Range<usize>> {
        if self.is_lost() {
            return None;
        }
        match find(&self.held[self.read..], framing) {
            Ok(found) => {
                let (range, used) = found?;
                let start = self.read;
                self.read += used;
                Some(range.start + start..range.end + start)
            }
            Err(len) => {
                emit(Record::error(format!(
                    "a batch of {len} bytes, more than the {} that there may be",
                    u16::MAX
                )));
                self.doubt();
                None
            }
        }
    }

    /// The batch taken last made sense or did not; after too many of the latter it is looked for batches anew.
    pub(super) fn judge(&mut self, is_good: bool, emit: Emit<'_>) {
        self.broken = if is_good { 0 } else { self.broken + 1 };
        if self.broken >= BROKEN_BATCHES_MAX {
            emit(Record::note(format!(
                "{BROKEN_BATCHES_MAX} broken batches in a row; looking for what is one"
            )));
            self.doubt();
        }
    }

    /// Removes the batches that were taken.
    pub(super) fn compact(&mut self) {
        self.held.drain(..self.read);
        self.read = 0;
        debug_assert!(self.held.len() <= BATCH_HELD_MAX);
        if self.held.is_empty() {
            self.held = Vec::new();
        }
    }

    /// Bytes are missing: it is not known any more where batches begin.
    pub(super) fn lose(&mut self, emit: Emit<'_>) {
        self.end(emit);
        *self = Self { lost: self.lost.or(Some(0)), ..Self::default() };
    }

    /// No more bytes will come for a batch that is not whole.
    pub(super) fn end(&mut self, emit: Emit<'_>) {
        let unread = self.held.len() - self.read;
        if unread > 0 {
            let note = format!("{unread} bytes of a batch whose end is missing");
            emit(Record::note(note).json_only("incomplete", unread.into()));
        }
        (self.held, self.read) = (Vec::new(), 0);
    }

    /// What was taken for batches is none, nor is the rest.
    fn doubt(&mut self) {
        let unread = (self.held.len() - self.read) as u64;
        *self = Self { lost: Some(unread), ..Self::default() };
    }
}

/// The first batch of `bytes`, if it is whole, and how many bytes it takes with its length.
///
/// # Errors
/// The length, if no batch is so long.
fn find(bytes: &[u8], framing: Framing) -> Result<Option<(Range<usize>, usize)>, u64> {
    if !framing.low_latency {
        return next_batch(bytes, u16::MAX).map_err(|_| u64::from(u16::MAX));
    }
    let Some((prefix, rest)) = bytes.split_first_chunk::<LONG_PREFIX_LEN>() else {
        return Ok(None);
    };
    if let [CLOSE_LEN, 0, CLOSE, _] = prefix {
        // The reference ends such a link with one more CLOSE, in the other framing.
        return Ok(Some((size_of::<u16>()..LONG_PREFIX_LEN, LONG_PREFIX_LEN)));
    }
    let len = u32::from_le_bytes(*prefix);
    let Ok(short) = u16::try_from(len) else { return Err(u64::from(len)) };
    let end = LONG_PREFIX_LEN + usize::from(short);
    Ok((rest.len() >= usize::from(short)).then_some((LONG_PREFIX_LEN..end, end)))
}

/// Whether a piece of a stream seems to begin with a batch: whole ones have to decode, all of them, and the last one as
/// far as it is there.
pub(crate) fn looks_right(bytes: &[u8], framing: Framing) -> bool {
    stream_likeness(bytes, framing) > Likeness::None
}

/// Whether a piece of a stream consists of whole batches, and is most probably of this protocol.
pub(crate) fn is_zenoh(bytes: &[u8]) -> bool {
    let framing = Framing { low_latency: false, compression: false };
    let mut rest = bytes;
    while let Ok(Some((_, used))) = find(rest, framing) {
        rest = &rest[used..];
    }
    rest.is_empty() && stream_likeness(bytes, framing) == Likeness::Strong
}

fn stream_likeness(bytes: &[u8], framing: Framing) -> Likeness {
    let mut decompressor = Decompressor::new();
    let (mut rest, mut best) = (bytes, Likeness::None);
    loop {
        match find(rest, framing) {
            Err(_) => return Likeness::None,
            Ok(Some((range, used))) => {
                let batch = &rest[range];
                rest = &rest[used..];
                let content = if framing.compression {
                    match decompressor.batch(batch, u16::MAX) {
                        Ok(content) => content,
                        Err(_) => return Likeness::None,
                    }
                } else {
                    batch
                };
                // An empty batch is a sign of life.
                if !content.is_empty() {
                    match likeness(content, false, framing.low_latency) {
                        Likeness::None => return Likeness::None,
                        found => best = best.max(found),
                    }
                }
            }
            Ok(None) if rest.is_empty() => return best,
            Ok(None) => return best.max(cut_likeness(rest, framing)),
        }
    }
}

/// The likeness of a piece to the beginning of a batch that is not whole.
fn cut_likeness(rest: &[u8], framing: Framing) -> Likeness {
    let prefix_len = if framing.low_latency { LONG_PREFIX_LEN } else { size_of::<u16>() };
    match rest.get(prefix_len..) {
        // Of a compressed batch there is nothing to see before its end.
        Some(batch) if !framing.compression => likeness(batch, true, framing.low_latency),
        _ => Likeness::None,
    }
}
