//! Batches of a link whose ends agreed on compression: a header, then the batch, as it is or as an LZ4
//! block.
//!
//! Not here: the agreement (`handshake`), finding batches in a stream (`framing`). The handshake itself
//! has no headers; every batch after OPEN Ack has one, in both directions. Spec: 01 §3.3.
//!
//! ```text
//! | len: u16 LE | header | payload |      len counts the header and the payload
//!
//! header bit 0: the payload is an LZ4 block (no frame, no size, no dictionary)
//!        bits 1 to 7: 0
//! ```
//!
//! Invariant: a batch never grows by more than its header, because what does not get shorter stays
//! as it is.

use crate::framing::PREFIX_LEN;
use alloc::vec::Vec;
use core::fmt;
use lz4_flex::block::{
    CompressTable, DecompressError, compress_into_with_table, decompress_into,
    get_maximum_output_size,
};

/// Bytes of the header.
pub const HEADER_LEN: usize = 1;

const PLAIN: u8 = 0;
const BLOCK: u8 = 1;

/// LZ4 finds nothing to shorten in less, in bytes: it ends in literals.
const COMPRESSIBLE_LEN_MIN: usize = 16;

/// A batch that cannot be read: drop the link.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionError {
    /// The batch is empty: it has not even a header.
    NoHeader,
    /// The header has bits that mean nothing yet. Whoever sets them sends what this version cannot
    /// read, or no headers at all.
    ReservedBits {
        /// The header.
        header: u8,
    },
    /// The payload is not an LZ4 block.
    Malformed,
    /// The content is longer than agreed.
    ContentTooLong {
        /// Bytes allowed.
        max: u16,
    },
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("a batch without the header of compression"),
            Self::ReservedBits { header } => {
                write!(f, "unknown bits in the header {header:#04x} of compression")
            }
            Self::Malformed => f.write_str("malformed LZ4 block"),
            Self::ContentTooLong { max } => {
                write!(f, "the content of a compressed batch exceeds the {max} bytes agreed")
            }
        }
    }
}

impl core::error::Error for CompressionError {}

/// Reads batches with headers. Keeps one buffer of the largest content so far; one for all links that
/// a thread reads will do.
#[derive(Default)]
pub struct Decompressor {
    buf: Vec<u8>,
}

impl Decompressor {
    /// One that has read nothing. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { buf: Vec::new() }
    }

    /// The content of `batch`, which has its header and no prefix: to be read by
    /// [`RxHalf::batch`](crate::RxHalf::batch). It may be empty, and then only shows that the peer is
    /// alive.
    ///
    /// `content_max` is [`Negotiated::content_max`](crate::Negotiated::content_max) of the link. Costs
    /// nothing if the batch is plain, else its decompression. Allocates `content_max` bytes once.
    ///
    /// # Errors
    /// [`CompressionError`] if the link is to be dropped.
    pub fn batch<'a>(
        &'a mut self,
        batch: &'a [u8],
        content_max: u16,
    ) -> Result<&'a [u8], CompressionError> {
        match batch.split_first() {
            None => Err(CompressionError::NoHeader),
            Some((&PLAIN, payload)) => Ok(payload),
            Some((&BLOCK, payload)) => self.block(payload, content_max),
            Some((&header, _)) => Err(CompressionError::ReservedBits { header }),
        }
    }

    fn block(&mut self, payload: &[u8], content_max: u16) -> Result<&[u8], CompressionError> {
        let max = usize::from(content_max);
        if self.buf.len() < max {
            self.buf.resize(max, 0);
        }
        match decompress_into(payload, &mut self.buf[..max]) {
            Ok(len) => Ok(&self.buf[..len]),
            Err(DecompressError::OutputTooSmall { .. }) => {
                Err(CompressionError::ContentTooLong { max: content_max })
            }
            Err(_) => Err(CompressionError::Malformed),
        }
    }
}

/// Appends `batch` with its prefix and a header to `out`, as it is: for the few batches of an open
/// link that are not made by a [`TxHalf`](crate::TxHalf).
///
/// # Panics
/// If the batch exceeds 65,534 bytes; nothing in this crate makes such a batch.
pub fn write_plain_batch(batch: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(HEADER_LEN + batch.len()).expect("a batch is at most 65,535 bytes");
    out.extend_from_slice(&len.to_le_bytes());
    write_plain_header(out);
    out.extend_from_slice(batch);
}

/// Appends the header of a batch that follows as it is.
pub(crate) fn write_plain_header(out: &mut Vec<u8>) {
    out.push(PLAIN);
}

/// Turns the batches of a chunk into what the link carries, once, in a buffer of its own.
pub(crate) struct Compressor {
    table: CompressTable,
    /// All of it is initialised; what lies past `len` is left over.
    out: Vec<u8>,
    /// Bytes of the chunk in its final form; 0 before [`Compressor::stream`].
    len: usize,
}

impl Default for Compressor {
    #[cold]
    fn default() -> Self {
        // The small table is for less than 64 KiB, which a batch never has.
        Self { table: CompressTable::small(), out: Vec::new(), len: 0 }
    }
}

impl Compressor {
    /// The bytes of `plain`, whole batches behind their lengths, as the link carries them. Further
    /// calls return the same until [`reset`](Self::reset).
    #[cold]
    pub(crate) fn stream(&mut self, plain: &[u8]) -> &[u8] {
        if self.len == 0 {
            let mut rest = plain;
            while let Some((prefix, tail)) = rest.split_first_chunk::<PREFIX_LEN>() {
                let (batch, tail) = tail.split_at(usize::from(u16::from_le_bytes(*prefix)));
                self.append(batch);
                rest = tail;
            }
        }
        &self.out[..self.len]
    }

    /// Makes it ready for another chunk. The buffer stays.
    pub(crate) fn reset(&mut self) {
        self.len = 0;
    }

    /// Bytes of the buffer.
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        self.out.capacity()
    }

    fn append(&mut self, batch: &[u8]) {
        let start = self.len + PREFIX_LEN + HEADER_LEN;
        let end = start + get_maximum_output_size(batch.len());
        if self.out.len() < end {
            self.out.resize(end, 0);
        }
        let room = &mut self.out[start..end];
        let (header, len) = match compress(batch, room, &mut self.table) {
            Some(len) => (BLOCK, len),
            None => {
                room[..batch.len()].copy_from_slice(batch);
                (PLAIN, batch.len())
            }
        };
        let prefix = (HEADER_LEN + len) as u16;
        self.out[self.len..][..PREFIX_LEN].copy_from_slice(&prefix.to_le_bytes());
        self.out[self.len + PREFIX_LEN] = header;
        self.len = start + len;
    }
}

/// Writes `batch` as a block into `room`. Returns its length, or `None` if it is no shorter.
fn compress(batch: &[u8], room: &mut [u8], table: &mut CompressTable) -> Option<usize> {
    if batch.len() < COMPRESSIBLE_LEN_MIN {
        return None;
    }
    let len = compress_into_with_table(batch, room, table).ok()?;
    (len < batch.len()).then_some(len)
}

#[cfg(test)]
mod tests;
