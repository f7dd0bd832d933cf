//! Numbers, bools, text, payloads, and what only points to a value.

use std::borrow::Cow;

use super::{Deserialize, DeserializeError, DeserializeFault, Deserializer, Serialize, Serializer};
use crate::zbytes::ZBytes;

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Serialize for $number {
            fn serialize(&self, to: &mut Serializer) {
                to.write_raw(&self.to_le_bytes());
            }
        }

        impl Deserialize for $number {
            fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
                Ok(Self::from_le_bytes(from.read_array()?))
            }
        }
    )*};
}

numbers!(u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

impl Serialize for u8 {
    fn serialize(&self, to: &mut Serializer) {
        to.write_raw(&[*self]);
    }

    fn serialize_items(items: &[Self], to: &mut Serializer) {
        to.write_raw(items);
    }
}

impl Deserialize for u8 {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        let [byte] = from.read_array()?;
        Ok(byte)
    }

    fn deserialize_items(
        count: u64,
        from: &mut Deserializer<'_>,
    ) -> Result<Vec<Self>, DeserializeError> {
        from.read_raw(count).map(<[u8]>::to_vec)
    }
}

impl Serialize for bool {
    fn serialize(&self, to: &mut Serializer) {
        u8::from(*self).serialize(to);
    }
}

impl Deserialize for bool {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        let here = from.clone();
        match u8::deserialize(from)? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(here.fault(DeserializeFault::Bool { found })),
        }
    }
}

impl Serialize for str {
    fn serialize(&self, to: &mut Serializer) {
        to.write_bytes(self.as_bytes());
    }
}

impl Serialize for String {
    fn serialize(&self, to: &mut Serializer) {
        self.as_str().serialize(to);
    }
}

impl Deserialize for String {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        from.read_str().map(Self::from)
    }
}

/// A byte string.
impl Serialize for ZBytes {
    fn serialize(&self, to: &mut Serializer) {
        to.write_len(self.len() as u64);
        for slice in self.slices() {
            to.write_raw(slice);
        }
    }
}

/// A byte string, copied.
impl Deserialize for ZBytes {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        from.read_bytes().map(Self::from)
    }
}

impl<T: Serialize + ?Sized> Serialize for &T {
    fn serialize(&self, to: &mut Serializer) {
        (**self).serialize(to);
    }
}

impl<T: Serialize + ToOwned + ?Sized> Serialize for Cow<'_, T> {
    fn serialize(&self, to: &mut Serializer) {
        (**self).serialize(to);
    }
}

/// Always owned.
impl<T: ToOwned<Owned: Deserialize> + ?Sized> Deserialize for Cow<'_, T> {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        from.deserialize().map(Self::Owned)
    }
}
