//! Where a sample goes: the route of one key from one source, and how long it stays true.
//!
//! Spec: 03 §4.1. A route is computed once and then used without a lock for every further message
//! of that key. Instead of a version number that any declaration would bump, each route carries a
//! [`Validity`] that turns stale only when a declaration *of an intersecting key* changes, so that
//! a busy control plane does not slow unrelated traffic.

use alloc::collections::BTreeSet;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use weft_keyexpr::{KeTree, KeyExpr};

use crate::entity::Kind;
use crate::expr::RouteExpr;
use crate::face::{FaceId, Region, flows};
use crate::limits::key_memory;
use crate::routing::Routing;

/// Whether a [`DataRoute`] still says what it would say if it were computed now.
#[derive(Clone, Debug)]
pub struct Validity(Arc<AtomicBool>);

impl Validity {
    /// True once something changed. Costs one atomic load, which is a plain load on common CPUs.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// One neighbour that gets the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The neighbour's face.
    pub face: FaceId,
    /// The key as that neighbour knows it.
    pub expr: RouteExpr,
}

/// The destinations of a key's samples from one source: each face at most once.
#[derive(Clone, Debug)]
pub struct DataRoute {
    /// The key expression.
    pub key: KeyExpr,
    /// Whether this node's own session declared a matching subscriber (never for samples that come
    /// from that session itself: they don't leave it to come back).
    pub local: bool,
    /// The neighbours.
    pub hops: Vec<Hop>,
    /// Turns stale when the route must be computed anew.
    pub validity: Validity,
}

/// The live routes by key, so that a declaration finds those it makes stale.
#[derive(Debug)]
pub(crate) struct Watch {
    routes: KeTree<Vec<Weak<AtomicBool>>>,
    /// Estimated memory, in bytes: grows with each route until the next pruning.
    memory: usize,
    prune_at: usize,
}

impl Watch {
    /// Estimated memory below which nothing is pruned, in bytes.
    const PRUNE_MIN: usize = 1 << 20;

    pub(crate) const fn new(hash_seed: u64) -> Self {
        Self { routes: KeTree::with_seed(hash_seed), memory: 0, prune_at: 0 }
    }

    fn add(&mut self, key: &KeyExpr) -> Validity {
        if self.memory >= self.prune_at.max(Self::PRUNE_MIN) {
            self.prune();
        }
        let flag = Arc::new(AtomicBool::new(false));
        self.routes.get_or_insert_with(key, Vec::new).push(Arc::downgrade(&flag));
        self.memory += key_memory(key);
        Validity(flag)
    }

    /// Forgets routes that are stale or that nobody holds. Runs after as much was added as there
    /// was live, so its cost per route is constant.
    fn prune(&mut self) {
        let mut live = 0;
        self.routes.retain(|key, flags| {
            flags.retain(|flag| flag.strong_count() > 0);
            live += flags.len() * key_memory(key);
            !flags.is_empty()
        });
        self.memory = live;
        self.prune_at = live * 2;
    }

    pub(crate) fn invalidate(&mut self, key: &KeyExpr) {
        self.routes.for_each_intersecting_mut(key.as_ke(), |_, flags| mark_stale(flags));
    }

    pub(crate) fn invalidate_all(&mut self) {
        self.routes.retain(|_, flags| {
            mark_stale(flags);
            false
        });
        self.memory = 0;
    }

    /// Keys of which routes are remembered, live or not.
    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }
}

fn mark_stale(flags: &mut Vec<Weak<AtomicBool>>) {
    for flag in flags.drain(..).filter_map(|flag| flag.upgrade()) {
        flag.store(true, Ordering::Release);
    }
}

impl Routing {
    /// The route of samples on `key` that come in from `source`.
    ///
    /// Cost: the intersecting subscriptions, plus one expression lookup per destination.
    pub fn data_route(&mut self, source: FaceId, key: &KeyExpr) -> DataRoute {
        let from = (source, self.region(source));
        let mut faces = BTreeSet::new();
        self.tables[Kind::Subscriber.index()].for_each_intersecting(key.as_ke(), |_, entry| {
            let reached =
                entry.owners.keys().filter(|face| flows(from, (**face, self.region(**face))));
            faces.extend(reached.copied());
        });
        if from.1 != Region::North {
            let unsure = self.pushed.iter().map(|face| &self.faces[face]).filter(|face| {
                if face.upstream {
                    !face.asked.is_settled(Kind::Subscriber, key)
                } else {
                    !face.ready
                }
            });
            faces.extend(unsure.map(|face| face.id));
        }
        let local = faces.remove(&FaceId::LOCAL);
        let hops = faces
            .into_iter()
            .map(|face| Hop { face, expr: self.faces[&face].exprs.best(key) })
            .collect();
        DataRoute { key: key.clone(), local, hops, validity: self.watch.add(key) }
    }

    /// Makes every route of an intersecting key stale. For what the session knows and routing does
    /// not, such as a subscriber that only this session may reach.
    pub fn invalidate(&mut self, key: &KeyExpr) {
        self.watch.invalidate(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn only_intersecting_routes_turn_stale() {
        let mut watch = Watch::new(0);
        let hit = watch.add(&KeyExpr::new("a/b").unwrap());
        let miss = watch.add(&KeyExpr::new("a/c").unwrap());
        watch.invalidate(&KeyExpr::new("a/b/**").unwrap());
        assert!(hit.is_stale());
        assert!(!miss.is_stale());
        watch.invalidate_all();
        assert!(miss.is_stale());
    }

    #[test]
    fn routes_nobody_holds_are_forgotten() {
        let mut watch = Watch::new(0);
        let key = KeyExpr::new("dropped").unwrap();
        let kept = watch.add(&KeyExpr::new("kept").unwrap());
        for _ in 0..10 * Watch::PRUNE_MIN / key_memory(&key) {
            drop(watch.add(&key));
            assert!(watch.memory <= Watch::PRUNE_MIN + key_memory(&key));
        }
        watch.invalidate_all();
        assert!(kept.is_stale());
    }

    #[test]
    fn keys_of_stale_routes_are_forgotten() {
        let mut watch = Watch::new(0);
        for i in 0..100_000 {
            let key = KeyExpr::new(format!("key/{i}")).unwrap();
            let route = watch.add(&key);
            watch.invalidate(&key);
            assert!(route.is_stale());
        }
        assert!(watch.len() < 10_000, "{} keys remembered", watch.len());
    }
}
