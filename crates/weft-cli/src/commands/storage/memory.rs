//! Values by key, in memory: the newest timestamp wins, and what is deleted is remembered.
//!
//! Not here: the network, and what a query asks for beyond its key expression.
//!
//! Invariants:
//! - A sample changes a key only if it is newer than all that is known of the key, deletions and wildcards included. The
//!   order in which samples come does not matter for what is stored in the end, but for wildcard puts: they change only
//!   what is stored when they come.
//! - There are at most `keys_max` keys and as many wildcard deletions.

use weft::{Encoding, Ke, KeTree, KeyExpr, Timestamp, ZBytes};

/// A value. Cloning copies no large payload.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands) struct Value {
    pub(in crate::commands) payload: ZBytes,
    pub(in crate::commands) encoding: Encoding,
    pub(in crate::commands) attachment: Option<ZBytes>,
}

/// A value that was found.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands) struct Found {
    pub(in crate::commands) key: KeyExpr,
    pub(in crate::commands) timestamp: Timestamp,
    pub(in crate::commands) value: Value,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Outcome {
    Stored,
    /// Something newer is known.
    Outdated,
    /// There is no room for another key.
    Full,
}

/// The store.
#[derive(Debug)]
pub(in crate::commands) struct Memory {
    keys: KeTree<Stored>,
    /// When which wildcards were deleted.
    wild_deletions: KeTree<Timestamp>,
    keys_max: usize,
}

#[derive(Debug)]
struct Stored {
    timestamp: Timestamp,
    /// `None` if the key was deleted.
    value: Option<Value>,
}

impl Memory {
    /// An empty store for `keys_max` keys.
    pub(in crate::commands) fn new(keys_max: usize) -> Self {
        Self { keys: KeTree::default(), wild_deletions: KeTree::default(), keys_max }
    }

    /// Takes a sample: a value, or `None` for a deletion.
    pub(in crate::commands) fn update(
        &mut self,
        key: Ke<'_>,
        timestamp: Timestamp,
        value: Option<Value>,
    ) -> Outcome {
        if key.is_wild() {
            return self.update_wild(key, timestamp, value);
        }
        let mut is_outdated = false;
        self.wild_deletions.for_each_including(key, |_, deleted| {
            is_outdated |= *deleted >= timestamp;
        });
        if is_outdated {
            return Outcome::Outdated;
        }
        let is_full = self.keys.len() >= self.keys_max;
        match self.keys.get_mut(key) {
            Some(stored) if stored.timestamp >= timestamp => Outcome::Outdated,
            Some(stored) => {
                *stored = Stored { timestamp, value };
                Outcome::Stored
            }
            None if is_full => Outcome::Full,
            None => {
                self.keys.insert(key, Stored { timestamp, value });
                Outcome::Stored
            }
        }
    }

    /// Changes every stored value that the wildcard matches; remembers a deletion for what comes late.
    fn update_wild(&mut self, key: Ke<'_>, timestamp: Timestamp, value: Option<Value>) -> Outcome {
        self.keys.for_each_intersecting_mut(key, |_, stored| {
            if stored.timestamp < timestamp && stored.value.is_some() {
                *stored = Stored { timestamp, value: value.clone() };
            }
        });
        if value.is_some() {
            return Outcome::Stored;
        }
        let is_full = self.wild_deletions.len() >= self.keys_max;
        match self.wild_deletions.get_mut(key) {
            Some(known) => *known = timestamp.max(*known),
            None if is_full => return Outcome::Full,
            None => drop(self.wild_deletions.insert(key, timestamp)),
        }
        Outcome::Stored
    }

    /// The values whose keys intersect `key`.
    pub(in crate::commands) fn find(&self, key: Ke<'_>) -> Vec<Found> {
        let mut all = Vec::new();
        self.keys.for_each_intersecting(key, |key, stored| {
            if let Some(value) = &stored.value {
                let (key, value) = (key.clone(), value.clone());
                all.push(Found { key, timestamp: stored.timestamp, value });
            }
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64) -> Timestamp {
        Timestamp::new(time, "1".parse().unwrap())
    }

    fn value(text: &str) -> Value {
        Value { payload: text.into(), encoding: Encoding::default(), attachment: None }
    }

    fn ke(text: &str) -> Ke<'_> {
        Ke::new(text).unwrap()
    }

    fn found(memory: &Memory, key: &str) -> Vec<String> {
        let all = memory.find(ke(key));
        let mut all: Vec<String> = all
            .iter()
            .map(|it| format!("{}={}", it.key, it.value.payload.try_to_str().unwrap()))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn the_newest_sample_wins_in_whatever_order() {
        let mut memory = Memory::new(10);
        assert_eq!(memory.update(ke("a/b"), at(2), Some(value("new"))), Outcome::Stored);
        assert_eq!(memory.update(ke("a/b"), at(1), Some(value("old"))), Outcome::Outdated);
        assert_eq!(memory.update(ke("a/b"), at(2), Some(value("same"))), Outcome::Outdated);
        memory.update(ke("a/c"), at(1), Some(value("other")));
        assert_eq!(found(&memory, "a/*"), ["a/b=new", "a/c=other"]);
        assert_eq!(found(&memory, "a/b"), ["a/b=new"]);
    }

    #[test]
    fn a_deletion_holds_against_what_is_older() {
        let mut memory = Memory::new(10);
        memory.update(ke("a"), at(5), None);
        assert_eq!(memory.update(ke("a"), at(4), Some(value("late"))), Outcome::Outdated);
        assert_eq!(found(&memory, "**"), [""; 0]);
        assert_eq!(memory.update(ke("a"), at(6), Some(value("again"))), Outcome::Stored);
        assert_eq!(found(&memory, "**"), ["a=again"]);
    }

    #[test]
    fn a_wildcard_changes_what_is_stored_and_older() {
        let mut memory = Memory::new(10);
        memory.update(ke("a/1"), at(1), Some(value("x")));
        memory.update(ke("a/2"), at(9), Some(value("x")));
        memory.update(ke("b"), at(1), Some(value("x")));
        memory.update(ke("a/*"), at(5), Some(value("y")));
        assert_eq!(found(&memory, "**"), ["a/1=y", "a/2=x", "b=x"]);
        memory.update(ke("a/**"), at(6), None);
        assert_eq!(found(&memory, "**"), ["a/2=x", "b=x"]);
        assert_eq!(memory.update(ke("a/3"), at(6), Some(value("late"))), Outcome::Outdated);
        assert_eq!(memory.update(ke("a/3"), at(7), Some(value("new"))), Outcome::Stored);
    }

    #[test]
    fn it_does_not_grow_beyond_its_limit() {
        let mut memory = Memory::new(2);
        memory.update(ke("a"), at(1), Some(value("x")));
        memory.update(ke("b"), at(1), None);
        assert_eq!(memory.update(ke("c"), at(1), Some(value("x"))), Outcome::Full);
        assert_eq!(memory.update(ke("a"), at(2), Some(value("y"))), Outcome::Stored);
        for (key, outcome) in
            [("x/*", Outcome::Stored), ("y/*", Outcome::Stored), ("z/*", Outcome::Full)]
        {
            assert_eq!(memory.update(ke(key), at(1), None), outcome);
        }
    }
}
