//! Batches on streams: a little-endian `u16` length before each batch.
//!
//! Not here: what a batch holds (`rx`), and the batches of an open transport, which get their length
//! in place (`tx`); [`write_batch`] serves the handshake. Datagram links carry one batch a datagram
//! and need none of this. Spec: 01 §3.1.
//!
//! ```text
//! | len: u16 LE |  batch: len bytes  | len: u16 LE | …
//! ```

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Bytes of the length before each batch on a stream.
pub const PREFIX_LEN: usize = 2;

/// A stream that cannot be followed any further: drop the link.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// The peer announced a batch of `len` bytes, over the `max` that it may send.
    BatchTooLong {
        /// Bytes announced.
        len: u16,
        /// Bytes allowed.
        max: u16,
    },
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BatchTooLong { len, max } => {
                write!(f, "batch of {len} bytes exceeds the {max} agreed")
            }
        }
    }
}

impl core::error::Error for FramingError {}

/// Finds the first batch in `buf`: its range and the bytes that it and its prefix take, or `None`
/// if it is not whole yet. A batch may be empty; it then only shows that the peer is alive.
///
/// `batch_max` is the batch size that this side announced, or the MTU of the link before that.
/// Peers that follow the rule stay [`PREFIX_LEN`] below it; others are still understood. Costs a
/// few instructions.
///
/// # Errors
/// As soon as the prefix is there, if it exceeds `batch_max`.
#[inline]
pub fn next_batch(
    buf: &[u8],
    batch_max: u16,
) -> Result<Option<(Range<usize>, usize)>, FramingError> {
    let Some((prefix, rest)) = buf.split_first_chunk::<PREFIX_LEN>() else { return Ok(None) };
    let len = u16::from_le_bytes(*prefix);
    if len > batch_max {
        return Err(FramingError::BatchTooLong { len, max: batch_max });
    }
    let end = PREFIX_LEN + usize::from(len);
    Ok((rest.len() >= usize::from(len)).then_some((PREFIX_LEN..end, end)))
}

/// Appends `batch` with its prefix to `out`.
///
/// # Panics
/// If the batch exceeds 65,535 bytes; nothing in this crate makes such a batch.
pub fn write_batch(batch: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(batch.len()).expect("a batch is at most 65,535 bytes");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(batch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn batches_come_out_as_they_went_in() {
        let mut stream = Vec::new();
        let batches = [vec![4], vec![], vec![7; 65_535]];
        for batch in &batches {
            write_batch(batch, &mut stream);
        }
        let mut rest = &stream[..];
        for batch in &batches {
            let (range, consumed) = next_batch(rest, u16::MAX).unwrap().unwrap();
            assert_eq!(&rest[range], &batch[..]);
            rest = &rest[consumed..];
        }
        assert_eq!(next_batch(rest, u16::MAX), Ok(None));
    }

    #[test]
    fn a_batch_is_found_only_when_whole() {
        let stream = [3, 0, 1, 2, 3, 9];
        for len in 0..5 {
            assert_eq!(next_batch(&stream[..len], 10), Ok(None));
        }
        assert_eq!(next_batch(&stream, 10), Ok(Some((2..5, 5))));
    }

    #[test]
    fn an_overlong_batch_is_refused_before_it_arrives() {
        assert_eq!(next_batch(&[11, 0], 10), Err(FramingError::BatchTooLong { len: 11, max: 10 }));
        assert_eq!(next_batch(&[10, 0], 10), Ok(None));
    }
}
