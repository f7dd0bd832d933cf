//! Reading and building [`ZBytes`] through the `std::io` traits.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::{INLINE_LEN_MAX, Repr, Slices, ZBytes};

/// Reads a [`ZBytes`] from front to back, and seeks in it. Never fails except for a seek before the start.
#[derive(Clone, Debug)]
pub struct ZBytesReader<'a> {
    bytes: &'a ZBytes,
    /// Position of the next byte; may be past the end after a seek.
    position: u64,
    /// What is left of the slice that `position` is in.
    current: &'a [u8],
    /// The slices after it.
    rest: Slices<'a>,
}

impl<'a> ZBytesReader<'a> {
    pub(super) fn new(bytes: &'a ZBytes) -> Self {
        Self { bytes, position: 0, current: &[], rest: bytes.slices() }
    }

    /// Number of bytes between the position and the end.
    pub fn remaining(&self) -> usize {
        let position = usize::try_from(self.position).unwrap_or(usize::MAX);
        self.bytes.len().saturating_sub(position)
    }

    fn seek_to(&mut self, position: u64) {
        *self = Self::new(self.bytes);
        self.position = position;
        let mut skip = position;
        for slice in self.rest.by_ref() {
            if skip < slice.len() as u64 {
                self.current = &slice[skip as usize..]; // below `slice.len()`
                return;
            }
            skip -= slice.len() as u64;
        }
    }
}

impl Read for ZBytesReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            self.current = self.rest.next().unwrap_or_default();
        }
        let (now, later) = self.current.split_at(self.current.len().min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.current = later;
        self.position += now.len() as u64;
        Ok(now.len())
    }
}

impl Seek for ZBytesReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => (self.bytes.len() as u64).checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let position = position.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "seek to before the first byte")
        })?;
        self.seek_to(position);
        Ok(position)
    }
}

/// Builds a [`ZBytes`] from written bytes and appended pieces. Writing never fails.
#[derive(Debug, Default)]
pub struct ZBytesWriter {
    /// Finished parts: contiguous and not empty.
    parts: Vec<ZBytes>,
    /// Bytes written after the last finished part.
    tail: Vec<u8>,
}

impl ZBytesWriter {
    /// Appends `bytes`: a small piece is copied, a larger one is shared and stays a slice of its own.
    pub fn append(&mut self, bytes: impl Into<ZBytes>) {
        let bytes = bytes.into();
        match &bytes.0 {
            Repr::Parts { parts, .. } => parts.iter().for_each(|part| self.append_part(part)),
            _ => self.append_part(&bytes),
        }
    }

    /// Everything that was written and appended, in order.
    pub fn finish(mut self) -> ZBytes {
        if self.parts.is_empty() {
            return self.tail.into();
        }
        self.end_tail();
        if self.parts.len() == 1 {
            return self.parts.remove(0);
        }
        let len = self.parts.iter().map(ZBytes::len).sum();
        let parts = Arc::from(self.parts);
        ZBytes(Repr::Parts { parts, len })
    }

    fn append_part(&mut self, part: &ZBytes) {
        match part.as_slice() {
            Some(small) if small.len() <= INLINE_LEN_MAX => self.tail.extend_from_slice(small),
            _ => {
                self.end_tail();
                self.parts.push(part.clone());
            }
        }
    }

    fn end_tail(&mut self) {
        if !self.tail.is_empty() {
            self.parts.push(std::mem::take(&mut self.tail).into());
        }
    }
}

impl Write for ZBytesWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tail.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
