//! Reading, and what can be wrong with what is read.

use core::fmt;

use super::Deserialize;

/// How many items of one sequence, set or map may take no bytes at all, such as empty tuples. Their
/// number is all that was received of them.
pub const EMPTY_ITEMS_MAX: u64 = 65_536;

/// Deserializes values one after the other.
///
/// ```
/// use weft::ext::{DeserializeError, Deserializer};
///
/// let mut deserializer = Deserializer::new(&[2, 1, 2]);
/// assert_eq!(deserializer.read_len()?, 2);
/// assert_eq!(deserializer.deserialize::<u8>()?, 1);
/// assert_eq!(deserializer.deserialize::<u8>()?, 2);
/// deserializer.finish()?;
/// # Ok::<(), DeserializeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Deserializer<'a> {
    /// What is left.
    bytes: &'a [u8],
    /// How many bytes were taken.
    offset: usize,
}

impl<'a> Deserializer<'a> {
    /// One at the front of `bytes`. Those of a [`ZBytes`](crate::ZBytes) are its
    /// [`to_bytes`](crate::ZBytes::to_bytes).
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Takes a value.
    ///
    /// # Errors
    /// If what is at the front is no such value.
    pub fn deserialize<T: Deserialize>(&mut self) -> Result<T, DeserializeError> {
        T::deserialize(self)
    }

    /// Takes a length: what a sequence, set or map begins with. Whatever the number is, there may be
    /// nothing behind it: nothing is to be allocated for it before items are read.
    ///
    /// # Errors
    /// If the bytes end within it, or it needs more than 64 bits.
    pub fn read_len(&mut self) -> Result<u64, DeserializeError> {
        let start = self.offset;
        let mut len = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.read_array()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            len |= bits << shift;
            if byte < 0x80 {
                return Ok(len);
            }
        }
        Err(DeserializeError { fault: DeserializeFault::LongLength, offset: start })
    }

    /// Takes a byte string: length and bytes.
    ///
    /// # Errors
    /// If the bytes end within it.
    pub fn read_bytes(&mut self) -> Result<&'a [u8], DeserializeError> {
        let len = self.read_len()?;
        self.read_raw(len)
    }

    /// Takes a byte string that is text.
    ///
    /// # Errors
    /// If the bytes end within it, or it is not UTF-8.
    pub fn read_str(&mut self) -> Result<&'a str, DeserializeError> {
        let bytes = self.read_bytes()?;
        core::str::from_utf8(bytes).map_err(|error| DeserializeError {
            fault: DeserializeFault::NotUtf8,
            offset: self.offset - bytes.len() + error.valid_up_to(),
        })
    }

    /// Bytes that are left.
    pub const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Everything must have been taken.
    ///
    /// # Errors
    /// If bytes are left.
    pub const fn finish(self) -> Result<(), DeserializeError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let fault = DeserializeFault::Trailing { count: self.bytes.len() };
        Err(DeserializeError { fault, offset: self.offset })
    }

    /// Takes `len` bytes.
    pub(super) fn read_raw(&mut self, len: u64) -> Result<&'a [u8], DeserializeError> {
        let split = usize::try_from(len).ok().and_then(|len| self.bytes.split_at_checked(len));
        let Some((taken, left)) = split else {
            let missing = len - self.bytes.len() as u64;
            return Err(self.fault(DeserializeFault::Truncated { missing }));
        };
        self.bytes = left;
        self.offset += taken.len();
        Ok(taken)
    }

    pub(super) fn read_array<const N: usize>(&mut self) -> Result<[u8; N], DeserializeError> {
        let bytes = self.read_raw(N as u64)?;
        let mut array = [0; N];
        array.copy_from_slice(bytes);
        Ok(array)
    }

    /// Calls `read` for each of `count` items. It keeps what it reads, so it takes bytes, or the
    /// number of items is bounded.
    pub(super) fn each(
        &mut self,
        count: u64,
        mut read: impl FnMut(&mut Self) -> Result<(), DeserializeError>,
    ) -> Result<(), DeserializeError> {
        let mut empty = 0;
        for _ in 0..count {
            let before = self.offset;
            read(self)?;
            empty += u64::from(self.offset == before);
            if empty > EMPTY_ITEMS_MAX {
                return Err(self.fault(DeserializeFault::EmptyItems { count }));
            }
        }
        Ok(())
    }

    /// `fault` at the front of what is left.
    pub(super) const fn fault(&self, fault: DeserializeFault) -> DeserializeError {
        DeserializeError { fault, offset: self.offset }
    }
}

/// Bytes are not of the value that they were read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeserializeError {
    /// What is wrong.
    pub fault: DeserializeFault,
    /// Where, in bytes from the start.
    pub offset: usize,
}

/// What is wrong in a [`DeserializeError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeserializeFault {
    /// The bytes end within a value: another type was serialized, or not all was received.
    Truncated {
        /// Bytes that the value still needs.
        missing: u64,
    },
    /// Bytes are left behind the value: another type was serialized.
    Trailing {
        /// Their number.
        count: usize,
    },
    /// A length needs more than 64 bits.
    LongLength,
    /// A bool is neither 0 nor 1.
    Bool {
        /// What it is.
        found: u8,
    },
    /// Text is not UTF-8.
    NotUtf8,
    /// An array has another number of items.
    ArrayLen {
        /// Its own.
        expected: usize,
        /// The one that was serialized.
        found: u64,
    },
    /// More than [`EMPTY_ITEMS_MAX`] items take no bytes.
    EmptyItems {
        /// How many there would be.
        count: u64,
    },
}

impl fmt::Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            DeserializeFault::Truncated { missing } => write!(f, "{missing} bytes are missing"),
            DeserializeFault::Trailing { count } => write!(f, "{count} bytes are left"),
            DeserializeFault::LongLength => f.write_str("a length needs more than 64 bits"),
            DeserializeFault::Bool { found } => write!(f, "{found} is no bool"),
            DeserializeFault::NotUtf8 => f.write_str("the text is not UTF-8"),
            DeserializeFault::ArrayLen { expected, found } => {
                write!(f, "{found} items for an array of {expected}")
            }
            DeserializeFault::EmptyItems { count } => {
                write!(f, "{count} items that take no bytes, of at most {EMPTY_ITEMS_MAX}")
            }
        }?;
        write!(f, " at byte {}", self.offset)
    }
}

impl core::error::Error for DeserializeError {}
