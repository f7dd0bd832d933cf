//! A map that mostly holds one thing.
//!
//! Most keys have one owner with one declaration, and one neighbour that was told. A tree map makes room
//! for eleven of each, which in a large network is most of the memory that there is.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, btree_map};
use core::iter::Chain;
use core::option;

/// An ordered map that allocates from its second entry on.
#[derive(Clone, Debug, Default)]
pub(crate) enum Few<K, V> {
    /// Nothing.
    #[default]
    Empty,
    /// One entry.
    One(K, V),
    /// Two or more.
    #[allow(clippy::box_collection)]
    // a map in place would be larger than what mostly is there
    Many(Box<BTreeMap<K, V>>),
}

impl<K: Ord + Copy, V> Few<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(..) => 1,
            Self::Many(map) => map.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::One(only, value) if only == key => Some(value),
            Self::Empty | Self::One(..) => None,
            Self::Many(map) => map.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            Self::One(only, value) if only == key => Some(value),
            Self::Empty | Self::One(..) => None,
            Self::Many(map) => map.get_mut(key),
        }
    }

    /// Returns what was there.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self {
            Self::One(only, known) if *only == key => Some(core::mem::replace(known, value)),
            Self::Many(map) => map.insert(key, value),
            Self::Empty | Self::One(..) => {
                *self = match core::mem::take(self) {
                    Self::One(other, known) => {
                        Self::Many(Box::new(BTreeMap::from([(other, known), (key, value)])))
                    }
                    _ => Self::One(key, value),
                };
                None
            }
        }
    }

    /// The value of a key, made by `make` if there is none.
    pub(crate) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        if self.get(&key).is_none() {
            self.insert(key, make());
        }
        self.get_mut(&key).expect("it was just inserted")
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::One(only, _) if only == key => match core::mem::take(self) {
                Self::One(_, value) => Some(value),
                _ => None,
            },
            Self::Empty | Self::One(..) => None,
            Self::Many(map) => {
                let removed = map.remove(key);
                if map.len() == 1
                    && let Some((key, value)) = map.pop_first()
                {
                    *self = Self::One(key, value);
                }
                removed
            }
        }
    }

    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        let (one, many) = match self {
            Self::Empty => (None, btree_map::Iter::default()),
            Self::One(key, value) => (Some((key, value)), btree_map::Iter::default()),
            Self::Many(map) => (None, map.iter()),
        };
        one.into_iter().chain(many)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

pub(crate) type Iter<'a, K, V> = Chain<option::IntoIter<(&'a K, &'a V)>, btree_map::Iter<'a, K, V>>;

impl<'a, K: Ord + Copy, V> IntoIterator for &'a Few<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is done to it in any order, it is the same as a map.
    #[test]
    fn it_is_a_map() {
        for script in 0..4_u32.pow(6) {
            let (mut few, mut map) = (Few::default(), BTreeMap::new());
            for step in 0..6 {
                let word = script / 4_u32.pow(step) % 4;
                let key = word % 2 + step % 2;
                if word < 2 {
                    assert_eq!(few.insert(key, step), map.insert(key, step));
                } else {
                    assert_eq!(few.remove(&key), map.remove(&key));
                }
                assert!(few.iter().eq(map.iter()) && few.len() == map.len());
                assert_eq!(few.get(&1), map.get(&1));
                assert_eq!(few.get_mut(&2), map.get_mut(&2));
                assert_eq!(few.is_empty(), matches!(few, Few::Empty));
                assert_eq!(few.len() > 1, matches!(few, Few::Many(_)));
            }
            let before = map.get(&1).copied().unwrap_or(7);
            assert_eq!(*few.get_or_insert_with(1, || 7), before);
        }
    }

    #[test]
    fn one_thing_takes_its_own_room() {
        assert!(size_of::<Few<(u32, u16), [u8; 8]>>() <= 24);
    }
}
