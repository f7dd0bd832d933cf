//! Where a sample goes: the route of one key from one source, and how long it stays true.
//!
//! Spec: 03 §4.1. A route is computed once and then used without a lock for every further message
//! of that key. Instead of a version number that any declaration would bump, each route carries a
//! [`Validity`] that turns stale only when a declaration *of an intersecting key* changes, so that
//! a busy control plane does not slow unrelated traffic.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use weft_keyexpr::{KeTree, KeyExpr};

use crate::entity::{Kind, Owner};
use crate::expr::RouteExpr;
use crate::face::{FaceId, Region};
use crate::limits::key_memory;
use crate::network::NodeIx;
use crate::routing::Routing;
use crate::sourced::root_of;

/// Whether a [`DataRoute`] still says what it would say if it were computed now.
#[derive(Clone, Debug, Default)]
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
    /// Where the sample entered the neighbour's network, as this node calls it: the message's node
    /// id. 0 where there is no network, or if it enters here.
    pub node_id: u16,
}

/// The destinations of a key's samples from one source: each face at most once.
#[derive(Clone, Debug)]
pub struct DataRoute {
    /// The key expression.
    pub key: KeyExpr,
    /// This node's session, and whom it serves, get the samples that come this way. Otherwise they
    /// have them, or will, from another neighbour.
    pub accepted: bool,
    /// Whether this node's own session declared a matching subscriber (never for samples that come
    /// from that session itself: they don't leave it to come back).
    pub local: bool,
    /// The neighbours.
    pub hops: Vec<Hop>,
    /// Turns stale when the route must be computed anew.
    pub validity: Validity,
}

/// The live routes by key, so that a declaration finds those it makes stale.
#[derive(Clone, Debug)]
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
    /// The route of samples on `key` that come in from `source` with this node id.
    ///
    /// Cost: the intersecting subscriptions, plus one expression lookup per destination; the tree of
    /// the sample's source, if that was not needed since the graph last changed.
    pub fn data_route(&mut self, source: FaceId, node_id: u16, key: &KeyExpr) -> DataRoute {
        let from = self.sample_source(source, node_id);
        let destinations = match from {
            Some(from) => self.destinations(source, from, key),
            None => BTreeMap::new(),
        };
        let accepted = from.is_some_and(|from| !self.is_in_transit(from));
        let local = destinations.contains_key(&FaceId::LOCAL);
        let hops = destinations
            .into_iter()
            .filter(|(face, _)| *face != FaceId::LOCAL)
            .map(|(face, root)| {
                let expr = self.faces[&face].exprs.best(key);
                Hop { face, expr, node_id: root.0 }
            })
            .collect();
        DataRoute { key: key.clone(), accepted, local, hops, validity: self.watch.add(key) }
    }

    /// Who sends what comes in on `face` with this node id; `None` if that is not to be passed on:
    /// the id stands for nobody, for this node, or for a node whose messages come another way.
    fn sample_source(&mut self, face: FaceId, node_id: u16) -> Option<Owner> {
        let from = self.source(face, node_id)?;
        if let Owner::Node(region, node) = from {
            // In a network of this implementation every copy but the one along the tree is one too
            // many. Others may be late to compute their trees.
            let strict = self.faces[&face].mesh;
            if strict && self.networks.get_mut(&region)?.parent(node) != Some(face) {
                return None;
            }
        }
        Some(from)
    }

    /// What comes from there through the network comes to this node another way as well, directly or
    /// through the northern network, and is only passed on.
    pub(crate) fn is_in_transit(&self, from: Owner) -> bool {
        match from {
            Owner::Face(_) => false,
            Owner::Node(region, node) => {
                self.aside.contains(&region) || self.is_heard_directly(region, node)
            }
        }
    }

    /// Who is meant by a node id in a message from `face`.
    pub(crate) fn source(&self, face: FaceId, node_id: u16) -> Option<Owner> {
        let neighbour = self.faces.get(&face)?;
        if !neighbour.networked {
            return Some(Owner::Face(face));
        }
        let node = self.networks.get(&neighbour.region)?.source(face, node_id)?;
        (node != NodeIx::SELF).then_some(Owner::Node(neighbour.region, node))
    }

    /// Whether a node id in a message from a member of a network stands for this node.
    pub(crate) fn source_is_self(&self, face: FaceId, node_id: u16) -> bool {
        let network = self.network_of(face).and_then(|region| self.networks.get(&region));
        network.and_then(|network| network.source(face, node_id)) == Some(NodeIx::SELF)
    }

    /// The faces that samples on `key` go to, and the node on whose tree.
    fn destinations(
        &mut self,
        source: FaceId,
        from: Owner,
        key: &KeyExpr,
    ) -> BTreeMap<FaceId, NodeIx> {
        let mut faces = BTreeMap::new();
        let mut nodes = BTreeSet::new();
        let in_transit = self.is_in_transit(from);
        self.tables[Kind::Subscriber.index()].for_each_intersecting(key.as_ke(), |_, entry| {
            for owner in entry.owners.keys() {
                match *owner {
                    Owner::Face(face) if !in_transit && self.passes(from, &self.faces[&face]) => {
                        faces.insert(face, NodeIx::SELF);
                    }
                    Owner::Face(_) => {}
                    Owner::Node(region, node) => {
                        nodes.insert((region, node));
                    }
                }
            }
        });
        for (region, node) in nodes {
            if let Some((face, root)) = self.towards(from, region, node)
                && face != source
            {
                faces.insert(face, root);
            }
        }
        faces.extend(self.unsure(source, from, key).map(|face| (face, NodeIx::SELF)));
        faces
    }

    /// Neighbours that are sent unasked what matches `key`, for they have not told yet what they want.
    pub(crate) fn unsure(
        &self,
        source: FaceId,
        from: Owner,
        key: &KeyExpr,
    ) -> impl Iterator<Item = FaceId> {
        let applies = region_of(from, self.region(source)) != Region::North;
        let cover = self.publishers_cover(key);
        let pushed = self.pushed.iter().filter(move |_| applies).map(|face| &self.faces[face]);
        let unsure = pushed.filter(move |face| {
            let settled = if face.upstream {
                let is_settled = |key| face.asked.is_settled(Kind::Subscriber, key);
                is_settled(key) || cover.is_some_and(is_settled)
            } else {
                face.ready
            };
            !settled && self.passes(from, face)
        });
        unsure.map(|face| face.id)
    }

    /// The neighbour on the way to a node of a network, and the node on whose tree that is: where the
    /// message entered the network. `None` if it does not get there through this node.
    pub(crate) fn towards(
        &mut self,
        from: Owner,
        region: Region,
        node: NodeIx,
    ) -> Option<(FaceId, NodeIx)> {
        // What this node and those whom it serves send does not need the network.
        if matches!(from, Owner::Face(_)) && self.is_heard_directly(region, node) {
            return None;
        }
        let root = match from {
            Owner::Node(source, root) if source == region => root,
            _ if self.keeps_apart(from, region) => return None,
            Owner::Node(..) => NodeIx::SELF,
            Owner::Face(face) => {
                let face = self.faces.get(&face).filter(|face| face.region != region)?;
                root_of(face, region)?
            }
        };
        Some((self.networks.get_mut(&region)?.towards(root, node)?, root))
    }

    /// Makes every route of an intersecting key stale. For what the session knows and routing does
    /// not, such as a subscriber that only this session may reach.
    pub fn invalidate(&mut self, key: &KeyExpr) {
        self.watch.invalidate(key);
    }

    /// Makes every route stale. For what a caller keeps with routes, such as the decisions of rules that
    /// have changed.
    pub fn invalidate_all(&mut self) {
        self.watch.invalidate_all();
    }
}

/// The region that a message comes from.
pub(crate) const fn region_of(from: Owner, of_face: Region) -> Region {
    match from {
        Owner::Face(_) => of_face,
        Owner::Node(region, _) => region,
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
