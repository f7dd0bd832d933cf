//! [`Sink`] and the sinks of this crate: a slice, a growing vector, a counter.

use alloc::vec::Vec;
use core::fmt;

use crate::zint;

/// The sink is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSpace;

impl fmt::Display for NoSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no space left in the buffer")
    }
}

impl core::error::Error for NoSpace {}

/// Where encoded bytes go. `'a` is how long the payloads of the message being encoded live.
pub trait Sink<'a> {
    /// Takes one byte.
    fn byte(&mut self, byte: u8) -> Result<(), NoSpace>;

    /// Takes `bytes`, all or none.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoSpace>;

    /// Takes a slice that outlives the encoding: payloads, attachments, bodies forwarded as they came. A
    /// sink that gathers may keep the reference; by default the bytes are taken like any others.
    #[inline]
    fn payload(&mut self, payload: &'a [u8]) -> Result<(), NoSpace> {
        self.bytes(payload)
    }

    /// Takes a variable-length integer.
    #[inline]
    fn zint(&mut self, value: u64) -> Result<(), NoSpace> {
        if value < 0x80 {
            return self.byte(value as u8);
        }
        let mut bytes = [0; zint::LEN_MAX];
        let used = zint::write(value, &mut bytes);
        self.bytes(&bytes[..used])
    }
}

/// Writes into a borrowed slice, front to back. No allocation; one bounds check per field.
#[derive(Debug)]
pub struct Writer<'b> {
    /// `pos <= buf.len()`.
    buf: &'b mut [u8],
    pos: usize,
}

impl<'b> Writer<'b> {
    /// A writer at the start of `buf`.
    #[inline]
    #[must_use]
    pub fn new(buf: &'b mut [u8]) -> Self {
        Self { buf, pos: 0 }
    }

    /// Bytes written so far.
    #[inline]
    #[must_use]
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Bytes that still fit.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.pos
    }

    /// What has been written.
    #[inline]
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.buf[..self.pos]
    }

    /// Forgets everything written after the first `len` bytes: the way back after [`NoSpace`].
    ///
    /// # Panics
    /// If fewer than `len` bytes have been written.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.pos, "truncate to {len}, but only {} written", self.pos);
        self.pos = len;
    }
}

impl Sink<'_> for Writer<'_> {
    #[inline]
    fn byte(&mut self, byte: u8) -> Result<(), NoSpace> {
        *self.buf.get_mut(self.pos).ok_or(NoSpace)? = byte;
        self.pos += 1;
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoSpace> {
        let free = &mut self.buf[self.pos..];
        free.get_mut(..bytes.len()).ok_or(NoSpace)?.copy_from_slice(bytes);
        self.pos += bytes.len();
        Ok(())
    }

    #[inline]
    fn zint(&mut self, value: u64) -> Result<(), NoSpace> {
        if value < 0x80 {
            return self.byte(value as u8);
        }
        // Nearly always there is room for the longest form: written in place, without a detour.
        if let Some(out) = self.buf[self.pos..].first_chunk_mut() {
            self.pos += zint::write(value, out);
            return Ok(());
        }
        let mut bytes = [0; zint::LEN_MAX];
        let used = zint::write(value, &mut bytes);
        self.bytes(&bytes[..used])
    }
}

/// Appends; never full. For messages off the hot path.
impl Sink<'_> for Vec<u8> {
    #[inline]
    fn byte(&mut self, byte: u8) -> Result<(), NoSpace> {
        self.push(byte);
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoSpace> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Counts what would be written; never full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    len: usize,
}

impl Counter {
    /// Bytes counted so far.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when nothing has been counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Sink<'_> for Counter {
    #[inline]
    fn byte(&mut self, _byte: u8) -> Result<(), NoSpace> {
        self.len += 1;
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoSpace> {
        self.len += bytes.len();
        Ok(())
    }

    #[inline]
    fn zint(&mut self, value: u64) -> Result<(), NoSpace> {
        self.len += zint::len(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_all<'a>(sink: &mut impl Sink<'a>) -> Result<(), NoSpace> {
        sink.byte(1)?;
        sink.bytes(&[2, 3])?;
        sink.zint(4)?;
        sink.zint(300)?;
        sink.zint(u64::MAX)?;
        sink.payload(b"end")
    }

    #[test]
    fn every_sink_sees_the_same_bytes() {
        let expected = [&[1, 2, 3, 4, 0xac, 0x02][..], &[0xff; 9], b"end"].concat();
        let mut vec = Vec::new();
        write_all(&mut vec).unwrap();
        assert_eq!(vec, expected);
        let mut counter = Counter::default();
        assert!(counter.is_empty());
        write_all(&mut counter).unwrap();
        assert_eq!(counter.len(), expected.len());
        let mut buf = std::vec![0; expected.len()];
        let mut writer = Writer::new(&mut buf);
        write_all(&mut writer).unwrap();
        assert_eq!(writer.written(), expected);
        assert_eq!(writer.remaining(), 0);
    }

    #[test]
    fn a_short_slice_is_full_at_every_length() {
        let len = 18;
        for short in 0..len {
            let mut buf = std::vec![0; short];
            let mut writer = Writer::new(&mut buf);
            assert_eq!(write_all(&mut writer), Err(NoSpace), "{short}");
            assert!(writer.pos() <= short);
            writer.truncate(0);
            assert_eq!(writer.written(), []);
        }
    }

    #[test]
    #[should_panic(expected = "only 0 written")]
    fn truncate_does_not_invent_bytes() {
        Writer::new(&mut [0; 4]).truncate(1);
    }
}
