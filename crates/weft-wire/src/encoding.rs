//! The encoding of a payload: an id and perhaps a schema.
//!
//! Not here: the names of the ids (the public API). Spec: 02 §3.2.

use crate::{DecodeError, NoSpace, Reader, Sink, zint};

/// The encoding of a payload. End-to-end metadata: routers don't look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding<'a> {
    /// Which of the well-known encodings; 65,535 if the schema holds everything.
    pub id: u16,
    /// Free text after the name, at most 255 bytes.
    pub schema: Option<&'a [u8]>,
}

impl<'a> Encoding<'a> {
    /// `zenoh/bytes`: what an absent encoding means.
    pub const DEFAULT: Self = Self { id: 0, schema: None };

    /// The longest schema, in bytes.
    pub const SCHEMA_LEN_MAX: usize = u8::MAX as usize;

    /// True for [`DEFAULT`](Self::DEFAULT), which bodies don't write.
    #[inline]
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.id == 0 && self.schema.is_none()
    }

    /// Bytes on the wire.
    pub(crate) fn wire_len(&self) -> usize {
        let schema = self.schema.map_or(0, |schema| zint::len(schema.len() as u64) + schema.len());
        zint::len(u64::from(self.id) << 1) + schema
    }

    #[inline]
    pub(crate) fn encode<'s, S: Sink<'s> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        sink.zint(u64::from(self.id) << 1 | u64::from(self.schema.is_some()))?;
        let Some(schema) = self.schema else {
            return Ok(());
        };
        debug_assert!(schema.len() <= Self::SCHEMA_LEN_MAX, "schema too long");
        sink.zint(schema.len() as u64)?;
        sink.bytes(schema)
    }

    #[inline]
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let value = r.zint_max(u64::from(u16::MAX) << 1 | 1, "encoding")?;
        let schema = match value & 1 {
            0 => None,
            _ => Some(r.zslice(Self::SCHEMA_LEN_MAX as u64, "encoding schema")?),
        };
        Ok(Self { id: (value >> 1) as u16, schema })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn captured_forms_round_trip() {
        let cases: [(&[u8], Encoding<'_>); 4] = [
            (&[0x00], Encoding::DEFAULT),
            (&[0x08], Encoding { id: 4, schema: None }),
            (b"\x0b\x03sch", Encoding { id: 5, schema: Some(b"sch") }),
            (b"\xff\xff\x07\x01x", Encoding { id: 0xffff, schema: Some(b"x") }),
        ];
        for (bytes, encoding) in cases {
            assert_eq!(Encoding::decode(&mut Reader::new(bytes)), Ok(encoding));
            let mut out = Vec::new();
            encoding.encode(&mut out).unwrap();
            assert_eq!(out, bytes);
            assert_eq!(encoding.wire_len(), bytes.len());
        }
    }

    #[test]
    fn ids_beyond_sixteen_bits_and_long_schemas_are_refused() {
        let error = |field, offset| Err(DecodeError::OutOfRange { field, offset });
        assert_eq!(Encoding::decode(&mut Reader::new(&[0x80, 0x80, 0x08])), error("encoding", 0));
        let mut long = std::vec![0x01, 0x80, 0x02];
        long.resize(3 + 256, b'x');
        assert_eq!(Encoding::decode(&mut Reader::new(&long)), error("encoding schema", 1));
    }
}
