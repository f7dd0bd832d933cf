//! Writing.

use super::Serialize;
use crate::zbytes::ZBytes;

/// Serializes values one after the other.
///
/// ```
/// use weft::ext::Serializer;
///
/// let mut serializer = Serializer::new();
/// serializer.write_len(2);
/// serializer.serialize(&1_u8);
/// serializer.serialize(&2_u8);
/// assert_eq!(serializer.finish(), [2, 1, 2]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Serializer {
    bytes: Vec<u8>,
}

impl Serializer {
    /// One that has nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value. Values that follow each other are a tuple.
    pub fn serialize<T: Serialize + ?Sized>(&mut self, value: &T) {
        value.serialize(self);
    }

    /// Appends a length: what a sequence, set or map begins with.
    pub fn write_len(&mut self, len: u64) {
        let mut rest = len;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80); // the low 7 bits, and that more follow
            rest >>= 7;
        }
        self.bytes.push(rest as u8); // below 0x80
    }

    /// Appends a byte string: length and bytes. Text is one, too.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        self.write_len(bytes.len() as u64);
        self.write_raw(bytes);
    }

    /// Appends bytes without their length.
    pub(super) fn write_raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What was appended, without a copy.
    pub fn finish(self) -> ZBytes {
        self.bytes.into()
    }
}
