//! Values stored under key expressions, found by relation without looking at all of them.
//!
//! Not here: sharing between threads; the caller guards the tree.
//! Spec: 04 §6.
//!
//! ```text
//!                 (root)                 entries: a/b  a/*/c  a/**  x$*/c
//!                /      \
//!    literal "a" o       o pattern "x$*"     children of a node, kept apart by what they denote:
//!             /  |  \     \                 *         at most one
//!          "b"   *   **    "c"               **        at most one
//!                |                           patterns  a list, all of which are tried
//!               "c"                          texts     literal and verbatim, found by hash
//! ```
//!
//! A node's number never changes. A node exists only while it or a node below it holds an entry, so
//! memory follows the number of distinct chunks; the slots of removed nodes are reused, and given
//! back when the tree is empty.

mod inline_stack;
mod literal;
mod node;
mod positions;
mod question;
mod table;
mod walk;

use crate::{Ke, KeyExpr};
use alloc::vec::Vec;
use core::fmt;
use literal::{Literal, is_literal};
use node::{Node, NodeId, ROOT};
use question::Relation;
use table::Hasher;
use walk::Walk;

/// A map from key expressions to values that can be asked by relation.
///
/// A question costs time for the nodes on the way only. One made of literal chunks looks, in each
/// node that it reaches, at the literal child, the `*` child, the `**` child and the `$*` children.
/// Up to [`CHUNKS_INLINE_MAX`] chunks on both sides it does not allocate.
///
/// The order of visits is a function of the sequence of operations and the seed: the same run gives
/// the same order.
#[derive(Clone)]
pub struct KeTree<V> {
    nodes: Vec<Node<V>>,
    free: Vec<NodeId>,
    len: usize,
    hasher: Hasher,
}

/// Questions with more chunks than this, and trees deeper than this on the way, cost a few
/// allocations per question.
pub const CHUNKS_INLINE_MAX: usize = 16;

impl<V> KeTree<V> {
    /// An empty tree. Does not allocate.
    ///
    /// Chunks that come from untrusted peers call for [`with_seed`](Self::with_seed).
    pub const fn new() -> Self {
        Self::with_seed(0)
    }

    /// An empty tree whose hash table depends on a secret, so that peers cannot choose chunks that
    /// collide.
    pub const fn with_seed(seed: u64) -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), len: 0, hasher: Hasher::new(seed) }
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Stores `value` under `key` and returns the value that was there.
    ///
    /// A `&KeyExpr` is shared, not copied. Cost: one hash lookup per chunk.
    pub fn insert(&mut self, key: impl Into<KeyExpr>, value: V) -> Option<V> {
        let key = key.into();
        let node = self.reach(key.as_ke());
        match &mut self.nodes[node as usize].entry {
            Some((_, stored)) => Some(core::mem::replace(stored, value)),
            vacant => {
                *vacant = Some((key, value));
                self.len += 1;
                None
            }
        }
    }

    /// The value under exactly `key`, made by `make` if there is none.
    pub fn get_or_insert_with(
        &mut self,
        key: impl Into<KeyExpr>,
        make: impl FnOnce() -> V,
    ) -> &mut V {
        let key = key.into();
        let node = self.reach(key.as_ke());
        let entry = &mut self.nodes[node as usize].entry;
        &mut entry
            .get_or_insert_with(|| {
                let value = make();
                self.len += 1;
                (key, value)
            })
            .1
    }

    /// Takes the value under exactly `key` out, and the branch that only led to it.
    pub fn remove(&mut self, key: Ke<'_>) -> Option<V> {
        let node = self.find(key)?;
        let (_, value) = self.nodes[node as usize].entry.take()?;
        self.len -= 1;
        self.prune(node);
        Some(value)
    }

    /// The value under exactly `key`.
    pub fn get(&self, key: Ke<'_>) -> Option<&V> {
        let node = self.find(key)?;
        self.nodes[node as usize].entry.as_ref().map(|(_, value)| value)
    }

    /// The value under exactly `key`, to change it.
    pub fn get_mut(&mut self, key: Ke<'_>) -> Option<&mut V> {
        let node = self.find(key)?;
        self.nodes[node as usize].entry.as_mut().map(|(_, value)| value)
    }

    /// Whether there is an entry under exactly `key`.
    pub fn contains(&self, key: Ke<'_>) -> bool {
        self.get(key).is_some()
    }

    /// Calls `visitor` once for each entry whose key expression intersects `key`.
    pub fn for_each_intersecting(&self, key: Ke<'_>, visitor: impl FnMut(&KeyExpr, &V)) {
        self.for_each(Relation::Intersecting, key, visitor);
    }

    /// Calls `visitor` once for each entry whose key expression is included by `key`.
    pub fn for_each_included_by(&self, key: Ke<'_>, visitor: impl FnMut(&KeyExpr, &V)) {
        self.for_each(Relation::IncludedBy, key, visitor);
    }

    /// Calls `visitor` once for each entry whose key expression includes `key`.
    pub fn for_each_including(&self, key: Ke<'_>, visitor: impl FnMut(&KeyExpr, &V)) {
        self.for_each(Relation::Including, key, visitor);
    }

    /// As [`for_each_intersecting`](Self::for_each_intersecting), to change the values.
    pub fn for_each_intersecting_mut(
        &mut self,
        key: Ke<'_>,
        mut visitor: impl FnMut(&KeyExpr, &mut V),
    ) {
        let mut walk = Walk::new(self, Relation::Intersecting, key);
        while let Some(node) = walk.next(self) {
            if let Some((key, value)) = &mut self.nodes[node as usize].entry {
                visitor(key, value);
            }
        }
    }

    /// Whether the key expression of some entry intersects `key`. Stops at the first.
    pub fn any_intersecting(&self, key: Ke<'_>) -> bool {
        Walk::new(self, Relation::Intersecting, key).next(self).is_some()
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&KeyExpr, &V)> {
        self.nodes.iter().filter_map(|node| node.entry.as_ref().map(|(key, value)| (key, value)))
    }

    /// All entries, to change the values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&KeyExpr, &mut V)> {
        self.nodes
            .iter_mut()
            .filter_map(|node| node.entry.as_mut().map(|(key, value)| (&*key, value)))
    }

    /// Removes the entries for which `keep` is false, and the branches that only led to them.
    pub fn retain(&mut self, mut keep: impl FnMut(&KeyExpr, &mut V) -> bool) {
        // Pruning the last entry empties `nodes`.
        for node in 0.. {
            let Some(Node { entry, .. }) = self.nodes.get_mut(node) else { return };
            if let Some(_removed) = entry.take_if(|(key, value)| !keep(key, value)) {
                self.len -= 1;
                self.prune(node as NodeId);
            }
        }
    }

    /// Removes everything and gives the memory back.
    pub fn clear(&mut self) {
        self.nodes = Vec::new();
        self.free = Vec::new();
        self.len = 0;
    }

    fn for_each(&self, relation: Relation, key: Ke<'_>, mut visitor: impl FnMut(&KeyExpr, &V)) {
        if self.is_empty() {
            return;
        }
        if relation != Relation::IncludedBy && is_literal(key) {
            return Literal { tree: self, key, visitor }.visit_all();
        }
        let mut walk = Walk::new(self, relation, key);
        while let Some(node) = walk.next(self) {
            if let Some((key, value)) = &self.nodes[node as usize].entry {
                visitor(key, value);
            }
        }
    }

    fn find(&self, key: Ke<'_>) -> Option<NodeId> {
        if self.is_empty() {
            return None;
        }
        key.chunks().try_fold(ROOT, |node, chunk| self.child(node, chunk))
    }

    /// The node of `key`, made with the branch that leads to it where missing.
    fn reach(&mut self, key: Ke<'_>) -> NodeId {
        if self.nodes.is_empty() {
            self.nodes.push(Node::new("", ROOT));
        }
        key.chunks().fold(ROOT, |node, chunk| match self.child(node, chunk) {
            Some(child) => child,
            None => self.add_child(node, chunk),
        })
    }

    /// Frees `node` and its ancestors as far as they lead nowhere.
    fn prune(&mut self, mut node: NodeId) {
        if self.is_empty() {
            return self.clear();
        }
        while node != ROOT && self.nodes[node as usize].leads_nowhere() {
            let parent = self.nodes[node as usize].parent;
            self.remove_child(parent, node);
            self.nodes[node as usize] = Node::new("", ROOT);
            self.free.push(node);
            node = parent;
        }
    }
}

impl<V> Default for KeTree<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for KeTree<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
