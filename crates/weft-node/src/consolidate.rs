//! Reply consolidation at the querier.
//!
//! Spec: 02 §4.6 step 5, 05 A.3.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Consolidation, Timestamp};

/// Decides when a reply is delivered. `R` is whatever the caller holds for a reply.
#[derive(Debug)]
pub struct Consolidator<R> {
    mode: Consolidation,
    /// The newest stamp per key: delivered (monotonic), with the reply that is held back (latest).
    /// Small until there is a reply: it is made where queries are sent.
    newest: Option<Box<PerKey<Newest<R>>>>,
}

type Newest<R> = (Option<Timestamp>, Option<R>);

/// Something for each of a few keys, or of many. Most queries have one.
#[derive(Debug)]
struct PerKey<V> {
    /// In the order of their first replies.
    entries: Vec<(KeyExpr, V)>,
    /// Where they are, if there are more than [`FEW`] of them.
    index: BTreeMap<KeyExpr, usize>,
}

/// So many keys are compared one by one.
const FEW: usize = 8;

impl<V> PerKey<V> {
    const fn new() -> Self {
        Self { entries: Vec::new(), index: BTreeMap::new() }
    }

    /// What there is for `key`; `first` if that is nothing yet.
    fn entry(&mut self, key: &KeyExpr, first: impl FnOnce() -> V) -> &mut V {
        let found = if self.index.is_empty() {
            self.entries.iter().position(|(known, _)| known == key)
        } else {
            self.index.get(key).copied()
        };
        let at = found.unwrap_or_else(|| self.add(key, first()));
        &mut self.entries[at].1
    }

    fn add(&mut self, key: &KeyExpr, value: V) -> usize {
        let at = self.entries.len();
        if at == 0 {
            self.entries.reserve_exact(1);
        }
        self.entries.push((key.clone(), value));
        if at == FEW {
            let keys = self.entries.iter().enumerate();
            self.index = keys.map(|(at, (key, _))| (key.clone(), at)).collect();
        } else if at > FEW {
            self.index.insert(key.clone(), at);
        }
        at
    }
}

impl<R> Consolidator<R> {
    /// `Auto` must have been resolved before (see [`Consolidator::resolve`]); it acts like `None`.
    pub const fn new(mode: Consolidation) -> Self {
        Self { mode, newest: None }
    }

    /// What `Auto` means for a query with these parameters: every reply of a query over time, the
    /// latest per key otherwise.
    pub const fn resolve(mode: Consolidation, has_time_range: bool) -> Consolidation {
        match mode {
            Consolidation::Auto if has_time_range => Consolidation::None,
            Consolidation::Auto => Consolidation::Latest,
            other => other,
        }
    }

    /// Takes a data reply; returns it if it is to be delivered now. A reply without a stamp is
    /// older than any with one, and of equals the last one wins.
    #[must_use]
    pub fn accept(&mut self, key: &KeyExpr, stamp: Option<Timestamp>, reply: R) -> Option<R> {
        match self.mode {
            Consolidation::Auto | Consolidation::None => Some(reply),
            Consolidation::Monotonic => {
                let (last, _) = self.newest_of(key, stamp);
                let newer = *last <= stamp;
                if newer {
                    *last = stamp;
                }
                newer.then_some(reply)
            }
            Consolidation::Latest => {
                let (last, held) = self.newest_of(key, stamp);
                if *last <= stamp {
                    (*last, *held) = (stamp, Some(reply));
                }
                None
            }
        }
    }

    /// The query has ended: what was held back, one reply per key, in the order of the keys' first replies.
    #[must_use]
    pub fn finish(&mut self) -> Vec<R> {
        let entries = self.newest.take().map(|newest| newest.entries).unwrap_or_default();
        entries.into_iter().filter_map(|(_, (_, held))| held).collect()
    }

    fn newest_of(&mut self, key: &KeyExpr, stamp: Option<Timestamp>) -> &mut Newest<R> {
        let newest = self.newest.get_or_insert_with(|| Box::new(PerKey::new()));
        newest.entry(key, || (stamp, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use weft_wire::ZenohId;

    fn key(text: &str) -> KeyExpr {
        KeyExpr::new(text).unwrap()
    }

    #[allow(clippy::unnecessary_wraps)] // as the callers need it
    fn at(time: u64) -> Option<Timestamp> {
        Some(Timestamp { time, id: ZenohId::from_le_bytes(&[1]).unwrap() })
    }

    #[test]
    fn latest_keeps_the_newest_per_key_until_the_end() {
        let mut latest = Consolidator::new(Consolidation::Latest);
        assert_eq!(latest.accept(&key("a"), at(2), 1), None);
        assert_eq!(latest.accept(&key("a"), at(1), 2), None);
        assert_eq!(latest.accept(&key("b"), None, 3), None);
        assert_eq!(latest.accept(&key("b"), None, 4), None);
        assert_eq!(latest.finish(), vec![1, 4]);
        assert_eq!(latest.finish(), vec![]);
    }

    #[test]
    fn many_keys_are_told_apart_as_few_are() {
        let mut latest = Consolidator::new(Consolidation::Latest);
        let keys: Vec<_> = (0..3 * FEW).map(|at| key(&alloc::format!("k/{at}"))).collect();
        for round in 0..2 {
            for (at, key) in keys.iter().enumerate() {
                assert_eq!(latest.accept(key, None, (round, at)), None);
            }
        }
        assert_eq!(latest.finish(), (0..3 * FEW).map(|at| (1, at)).collect::<Vec<_>>());
    }

    #[test]
    fn monotonic_drops_what_is_older_than_delivered() {
        let mut monotonic = Consolidator::new(Consolidation::Monotonic);
        assert_eq!(monotonic.accept(&key("a"), at(2), 1), Some(1));
        assert_eq!(monotonic.accept(&key("a"), at(1), 2), None);
        assert_eq!(monotonic.accept(&key("a"), None, 3), None);
        assert_eq!(monotonic.accept(&key("a"), at(2), 4), Some(4));
        assert_eq!(monotonic.accept(&key("b"), None, 5), Some(5));
    }

    #[test]
    fn auto_means_latest_unless_time_is_asked_for() {
        type C = Consolidator<()>;
        assert_eq!(C::resolve(Consolidation::Auto, false), Consolidation::Latest);
        assert_eq!(C::resolve(Consolidation::Auto, true), Consolidation::None);
        assert_eq!(C::resolve(Consolidation::Monotonic, true), Consolidation::Monotonic);
    }
}
