//! Reply consolidation at the querier.
//!
//! Spec: 02 §4.6 step 5, 05 A.3.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Consolidation, Timestamp};

/// Decides when a reply is delivered. `R` is whatever the caller holds for a reply.
#[derive(Debug)]
pub struct Consolidator<R> {
    mode: Consolidation,
    /// The newest stamp delivered per key (monotonic).
    delivered: BTreeMap<KeyExpr, Option<Timestamp>>,
    /// The newest reply per key, held back until the end (latest).
    held: BTreeMap<KeyExpr, (Option<Timestamp>, R)>,
}

impl<R> Consolidator<R> {
    /// `Auto` must have been resolved before (see [`Consolidator::resolve`]); it acts like `None`.
    pub const fn new(mode: Consolidation) -> Self {
        Self { mode, delivered: BTreeMap::new(), held: BTreeMap::new() }
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
                if self.delivered.get(key.as_str()).is_some_and(|last| *last > stamp) {
                    return None;
                }
                self.delivered.insert(key.clone(), stamp);
                Some(reply)
            }
            Consolidation::Latest => {
                let newer = self.held.get(key.as_str()).is_none_or(|(last, _)| *last <= stamp);
                if newer {
                    self.held.insert(key.clone(), (stamp, reply));
                }
                None
            }
        }
    }

    /// The query has ended: what was held back, one reply per key.
    #[must_use]
    pub fn finish(&mut self) -> Vec<R> {
        core::mem::take(&mut self.held).into_values().map(|(_, reply)| reply).collect()
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
