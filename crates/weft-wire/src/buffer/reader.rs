//! [`Reader`]: a cursor over received bytes.

use alloc::vec::Vec;

use crate::{DecodeError, zint};

/// A cursor over received bytes. Everything it returns borrows them; it allocates nothing.
///
/// The `field` that most methods take names what is being read, for the error.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// `pos <= bytes.len()`.
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    /// Bytes read so far: the offset that errors refer to.
    #[inline]
    #[must_use]
    pub const fn pos(&self) -> usize {
        self.pos
    }

    /// Bytes still to read.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// True when everything has been read.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pos == self.bytes.len()
    }

    /// The bytes still to read; the reader does not move.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.pos..]
    }

    /// The bytes from offset `start` to here: what was read since [`pos`](Self::pos) was `start`.
    ///
    /// # Panics
    /// If `start` is beyond the present position.
    #[inline]
    #[must_use]
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.pos]
    }

    /// The next byte, without reading it.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// One byte.
    #[inline]
    pub fn byte(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        let byte = self.peek().ok_or_else(|| self.truncated(field))?;
        self.pos += 1;
        Ok(byte)
    }

    /// A fixed 16-bit little-endian integer: the batch size of INIT and JOIN.
    #[inline]
    pub fn u16_le(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        let Some(&bytes) = self.rest().first_chunk() else {
            return Err(self.truncated(field));
        };
        self.pos += 2;
        Ok(u16::from_le_bytes(bytes))
    }

    /// A variable-length integer.
    #[inline]
    pub fn zint(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        match self.peek() {
            Some(byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u64::from(byte))
            }
            _ => self.zint_long(field),
        }
    }

    fn zint_long(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let (value, used) = zint::read(self.rest()).ok_or_else(|| self.truncated(field))?;
        self.pos += used;
        Ok(value)
    }

    /// A variable-length integer that must fit eight bits.
    #[inline]
    pub fn zint_u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(self.zint_max(u64::from(u8::MAX), field)? as u8)
    }

    /// A variable-length integer that must fit sixteen bits.
    #[inline]
    pub fn zint_u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        Ok(self.zint_max(u64::from(u16::MAX), field)? as u16)
    }

    /// A variable-length integer that must fit 32 bits.
    #[inline]
    pub fn zint_u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        Ok(self.zint_max(u64::from(u32::MAX), field)? as u32)
    }

    /// A variable-length integer whose bits above the sixteenth are ignored.
    #[inline]
    pub fn zint_u16_truncated(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        Ok(self.zint(field)? as u16)
    }

    /// A variable-length integer whose bits above the 32nd are ignored.
    #[inline]
    pub fn zint_u32_truncated(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        Ok(self.zint(field)? as u32)
    }

    /// A variable-length integer of at most `max`.
    #[inline]
    pub fn zint_max(&mut self, max: u64, field: &'static str) -> Result<u64, DecodeError> {
        let offset = self.pos;
        let value = self.zint(field)?;
        if value > max {
            return Err(DecodeError::OutOfRange { field, offset });
        }
        Ok(value)
    }

    /// The next `len` bytes.
    #[inline]
    pub fn slice(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let Some(slice) = self.rest().get(..len) else {
            return Err(self.truncated(field));
        };
        self.pos += len;
        Ok(slice)
    }

    /// Moves on if the next bytes are `expected`. Returns whether they are.
    #[inline]
    pub(crate) fn skip(&mut self, expected: &[u8]) -> bool {
        let found = self.rest().starts_with(expected);
        self.pos += if found { expected.len() } else { 0 };
        found
    }

    /// Bytes behind their length, which is at most `max`.
    #[inline]
    pub fn zslice(&mut self, max: u64, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.zint_max(max, field)?;
        // A length that no `usize` holds is longer than any input.
        self.slice(usize::try_from(len).unwrap_or(usize::MAX), field)
    }

    /// UTF-8 text behind its length in bytes, which is at most `max`.
    #[inline]
    pub fn zstr(&mut self, max: u64, field: &'static str) -> Result<&'a str, DecodeError> {
        let bytes = self.zslice(max, field)?;
        let offset = self.pos - bytes.len();
        core::str::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8 { field, offset })
    }

    /// All that remains.
    #[inline]
    pub fn take_rest(&mut self) -> &'a [u8] {
        let rest = self.rest();
        self.pos = self.bytes.len();
        rest
    }

    /// A reader over the bytes behind the next length (at most 32 bits): the body of an extension. Its
    /// offsets continue those of this reader.
    #[inline]
    pub(crate) fn zbuf(&mut self, field: &'static str) -> Result<Reader<'a>, DecodeError> {
        let body = self.zslice(u64::from(u32::MAX), field)?;
        let pos = self.pos - body.len();
        let bytes = &self.bytes[..self.pos];
        Ok(Reader { bytes, pos })
    }

    /// A count of at most `max`, then as many values as it says. The vector grows with what was really
    /// received: every value has at least a byte, and nothing is reserved for announced ones.
    pub(crate) fn many<T>(
        &mut self,
        max: usize,
        field: &'static str,
        mut decode: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.zint_max(max as u64, field)?;
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(decode(self)?);
        }
        Ok(values)
    }

    #[cold]
    fn truncated(&self, field: &'static str) -> DecodeError {
        let offset = self.pos;
        DecodeError::Truncated { field, offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_off_in_order() {
        let mut r = Reader::new(&[7, 0x34, 0x12, 0xac, 0x02, 2, b'o', b'k', 9]);
        assert_eq!(r.byte("a"), Ok(7));
        assert_eq!(r.u16_le("b"), Ok(0x1234));
        assert_eq!(r.zint("c"), Ok(300));
        assert_eq!(r.zstr(2, "d"), Ok("ok"));
        assert_eq!((r.pos(), r.remaining(), r.peek()), (8, 1, Some(9)));
        assert_eq!(r.since(5), [2, b'o', b'k']);
        assert_eq!(r.take_rest(), [9]);
        assert!(r.is_empty());
    }

    #[test]
    fn errors_name_the_field_and_its_offset() {
        let truncated = |offset| DecodeError::Truncated { field: "x", offset };
        assert_eq!(Reader::new(&[]).byte("x"), Err(truncated(0)));
        assert_eq!(Reader::new(&[1]).u16_le("x"), Err(truncated(0)));
        assert_eq!(Reader::new(&[0x80]).zint("x"), Err(truncated(0)));
        assert_eq!(Reader::new(&[2, 1]).zslice(9, "x"), Err(truncated(1)));
        let too_big = DecodeError::OutOfRange { field: "x", offset: 0 };
        assert_eq!(Reader::new(&[0x80, 0x02]).zint_u8("x"), Err(too_big));
        assert_eq!(Reader::new(&[3, 1, 1, 1]).zslice(2, "x"), Err(too_big));
        let not_utf8 = DecodeError::NotUtf8 { field: "x", offset: 1 };
        assert_eq!(Reader::new(&[1, 0xff]).zstr(9, "x"), Err(not_utf8));
    }

    #[test]
    fn a_length_near_the_end_of_u64_is_only_truncated() {
        let mut bytes = [0xff; 12];
        bytes[9..].fill(0);
        assert_eq!(
            Reader::new(&bytes).zslice(u64::MAX, "x"),
            Err(DecodeError::Truncated { field: "x", offset: 9 })
        );
    }

    #[test]
    fn truncating_reads_keep_the_low_bits() {
        let mut bytes = [0; 9];
        let used = zint::write(0x1_0002_0003, &mut bytes);
        assert_eq!(Reader::new(&bytes[..used]).zint_u16_truncated("x"), Ok(3));
        assert_eq!(Reader::new(&bytes[..used]).zint_u32_truncated("x"), Ok(0x0002_0003));
    }

    #[test]
    fn offsets_continue_inside_an_extension_body() {
        let mut r = Reader::new(&[0, 2, 5, 6, 7]);
        r.byte("first").unwrap();
        let mut body = r.zbuf("body").unwrap();
        assert_eq!((body.pos(), body.rest(), r.rest()), (2, &[5, 6][..], &[7][..]));
        body.take_rest();
        assert_eq!(body.byte("x"), Err(DecodeError::Truncated { field: "x", offset: 4 }));
    }
}
