//! Typed values to bytes and back, in the format of the encoding `zenoh/serialized`.
//!
//! The format does not describe itself: both ends know the type. Not here: the encoding of the
//! sample, which is not set by serializing.
//!
//! Spec: 02 §6. Invariant: reading never allocates in proportion to a length that was not received.
//!
//! ```text
//! integer, float     its bytes, little-endian
//! bool               00 or 01
//! length             LEB128: 7 bits a byte, least significant first, bit 7 set but in the last
//! text, byte string  length in bytes, bytes
//! sequence, set      number of items, items; arrays too
//! map                number of entries; key, value, key, value, …
//! tuple              its fields
//! ```
//!
//! ```
//! use weft::ext::{deserialize, serialize};
//!
//! let bytes = serialize(&("abc", vec![1_u16, 2]));
//! assert_eq!(bytes, b"\x03abc\x02\x01\0\x02\0");
//! assert_eq!(deserialize::<(String, Vec<u16>)>(&bytes)?, ("abc".into(), vec![1, 2]));
//! # Ok::<(), weft::ext::DeserializeError>(())
//! ```

mod collections;
mod deserializer;
mod scalars;
mod serializer;
#[cfg(test)]
mod tests;

use crate::zbytes::ZBytes;

pub use deserializer::{DeserializeError, DeserializeFault, Deserializer, EMPTY_ITEMS_MAX};
pub use serializer::Serializer;

/// A value that can be serialized.
///
/// ```
/// use weft::ext::{Serialize, Serializer, serialize};
///
/// struct Point { x: f32, y: f32 }
///
/// impl Serialize for Point {
///     fn serialize(&self, to: &mut Serializer) {
///         to.serialize(&self.x);
///         to.serialize(&self.y);
///     }
/// }
/// assert_eq!(serialize(&Point { x: 0.0, y: 1.5 }), [0, 0, 0, 0, 0, 0, 0xc0, 0x3f]);
/// ```
pub trait Serialize {
    /// Appends the value.
    fn serialize(&self, to: &mut Serializer);

    /// Appends the items one after the other, without their number. Bytes override it, so that they
    /// are copied at once.
    fn serialize_items(items: &[Self], to: &mut Serializer)
    where
        Self: Sized,
    {
        for item in items {
            item.serialize(to);
        }
    }
}

/// A value that can be deserialized.
///
/// ```
/// use weft::ext::{Deserialize, DeserializeError, Deserializer, deserialize};
///
/// #[derive(Debug, PartialEq)]
/// struct Point { x: f32, y: f32 }
///
/// impl Deserialize for Point {
///     fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
///         Ok(Self { x: from.deserialize()?, y: from.deserialize()? })
///     }
/// }
/// let bytes = [0, 0, 0, 0, 0, 0, 0xc0, 0x3f].into();
/// assert_eq!(deserialize::<Point>(&bytes)?, Point { x: 0.0, y: 1.5 });
/// # Ok::<(), DeserializeError>(())
/// ```
pub trait Deserialize: Sized {
    /// Takes one value from the front.
    ///
    /// # Errors
    /// If what is at the front is no such value; says where.
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError>;

    /// Takes `count` values from the front. Bytes override it, so that they are copied at once.
    ///
    /// # Errors
    /// As [`Deserialize::deserialize`].
    fn deserialize_items(
        count: u64,
        from: &mut Deserializer<'_>,
    ) -> Result<Vec<Self>, DeserializeError> {
        let mut items = Vec::new();
        from.each(count, |from| {
            items.push(Self::deserialize(from)?);
            Ok(())
        })?;
        Ok(items)
    }
}

/// The bytes of a value.
pub fn serialize<T: Serialize + ?Sized>(value: &T) -> ZBytes {
    let mut serializer = Serializer::new();
    serializer.serialize(value);
    serializer.finish()
}

/// The value that `bytes` are of, all of them.
///
/// # Errors
/// If they are of no such value, or bytes are left.
pub fn deserialize<T: Deserialize>(bytes: &ZBytes) -> Result<T, DeserializeError> {
    let bytes = bytes.to_bytes();
    let mut deserializer = Deserializer::new(&bytes);
    let value = deserializer.deserialize()?;
    deserializer.finish()?;
    Ok(value)
}
