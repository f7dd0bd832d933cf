//! Sequences, sets, maps and tuples.

use core::hash::{BuildHasher, Hash};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Deserialize, DeserializeError, DeserializeFault, Deserializer, Serialize, Serializer};

impl<T: Serialize> Serialize for [T] {
    fn serialize(&self, to: &mut Serializer) {
        to.write_len(self.len() as u64);
        T::serialize_items(self, to);
    }
}

impl<T: Serialize> Serialize for Vec<T> {
    fn serialize(&self, to: &mut Serializer) {
        self.as_slice().serialize(to);
    }
}

impl<T: Deserialize> Deserialize for Vec<T> {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        let count = from.read_len()?;
        T::deserialize_items(count, from)
    }
}

impl<T: Serialize, const N: usize> Serialize for [T; N] {
    fn serialize(&self, to: &mut Serializer) {
        self.as_slice().serialize(to);
    }
}

/// The number of items is received, too, and must be that of the array.
impl<T: Deserialize, const N: usize> Deserialize for [T; N] {
    fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        let here = from.clone();
        let found = from.read_len()?;
        let wrong = |_| here.fault(DeserializeFault::ArrayLen { expected: N, found });
        if found != N as u64 {
            return Err(wrong(Vec::new()));
        }
        T::deserialize_items(found, from)?.try_into().map_err(wrong)
    }
}

macro_rules! sets {
    ($($set:ident<T $(, $hasher:ident)?> where T: $($bound:path),+;)*) => {$(
        impl<T: Serialize $(, $hasher)?> Serialize for $set<T $(, $hasher)?> {
            fn serialize(&self, to: &mut Serializer) {
                to.write_len(self.len() as u64);
                for item in self {
                    item.serialize(to);
                }
            }
        }

        impl<T: Deserialize $(+ $bound)+ $(, $hasher: BuildHasher + Default)?> Deserialize
            for $set<T $(, $hasher)?>
        {
            fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
                let count = from.read_len()?;
                let mut set = Self::default();
                from.each(count, |from| {
                    set.insert(from.deserialize()?);
                    Ok(())
                })?;
                Ok(set)
            }
        }
    )*};
}

sets! {
    HashSet<T, S> where T: Eq, Hash;
    BTreeSet<T> where T: Ord;
}

macro_rules! maps {
    ($($map:ident<K, V $(, $hasher:ident)?> where K: $($bound:path),+;)*) => {$(
        impl<K: Serialize, V: Serialize $(, $hasher)?> Serialize for $map<K, V $(, $hasher)?> {
            fn serialize(&self, to: &mut Serializer) {
                to.write_len(self.len() as u64);
                for entry in self {
                    entry.serialize(to);
                }
            }
        }

        /// Of several values for one key, the last one stays.
        impl<K: Deserialize $(+ $bound)+, V: Deserialize $(, $hasher: BuildHasher + Default)?>
            Deserialize for $map<K, V $(, $hasher)?>
        {
            fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
                let count = from.read_len()?;
                let mut map = Self::default();
                from.each(count, |from| {
                    map.insert(from.deserialize()?, from.deserialize()?);
                    Ok(())
                })?;
                Ok(map)
            }
        }
    )*};
}

maps! {
    HashMap<K, V, S> where K: Eq, Hash;
    BTreeMap<K, V> where K: Ord;
}

impl Serialize for () {
    fn serialize(&self, _: &mut Serializer) {}
}

impl Deserialize for () {
    fn deserialize(_: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($field:ident)+))*) => {$(
        impl<$($field: Serialize),+> Serialize for ($($field,)+) {
            fn serialize(&self, to: &mut Serializer) {
                #[allow(non_snake_case, reason = "fields are named as their types are")]
                let ($($field,)+) = self;
                $($field.serialize(to);)+
            }
        }

        impl<$($field: Deserialize),+> Deserialize for ($($field,)+) {
            fn deserialize(from: &mut Deserializer<'_>) -> Result<Self, DeserializeError> {
                Ok(($(<$field>::deserialize(from)?,)+))
            }
        }
    )*};
}

tuples! {
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
    (A B C D E F G H I)
    (A B C D E F G H I J)
    (A B C D E F G H I J K)
    (A B C D E F G H I J K L)
    (A B C D E F G H I J K L M)
    (A B C D E F G H I J K L M N)
    (A B C D E F G H I J K L M N O)
    (A B C D E F G H I J K L M N O P)
}
