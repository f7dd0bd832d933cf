//! The walk over the nodes that can still lead to a related entry.
//!
//! Not here: the relations of single chunks (`chunk`).
//!
//! A key expression is a small automaton: position `i` means "the first `i` chunks are used up".
//! The walk goes down the tree and keeps, for each node on the way, the set of positions that its
//! path can bring about. Each node has one set, so each entry is visited once however many ways
//! lead to it; a node without positions is not entered.
//!
//! ```text
//! question  a / ** / c      positions 0 1 2 3
//! path      a               {1, 2}      behind `a`, and behind a `**` that stands for nothing
//! path      a / x           {1, 2}      `**` takes the x and remains
//! path      a / x / c       {1, 2, 3}   3 is the end: an entry here intersects
//! ```
//!
//! Cost: at most (nodes looked at) x (chunks of the question) chunk comparisons.

use super::inline_stack::InlineStack;
use super::node::{Children, NodeId, ROOT};
use super::positions::Positions;
use super::question::{Question, Relation};
use super::{CHUNKS_INLINE_MAX, KeTree};
use crate::Ke;

/// A walk in progress. It holds no reference to the tree, so that the visitor may change values
/// between steps.
pub(super) struct Walk<'q> {
    question: Question<'q>,
    path: InlineStack<Frame, CHUNKS_INLINE_MAX>,
}

/// A node that is being looked into.
struct Frame {
    node: NodeId,
    /// How far its children have been looked at: `**`, `*`, the patterns, then the texts.
    cursor: usize,
    positions: Positions,
    /// Whether all text children have to be tried, because the question has a wildcard at one of
    /// the positions.
    scans: bool,
}

impl<'q> Walk<'q> {
    pub(super) fn new<V>(tree: &KeTree<V>, relation: Relation, key: Ke<'q>) -> Self {
        let question = Question::new(relation, key, tree.hasher);
        let mut path = InlineStack::new();
        path.push(Frame::new(&question, ROOT, question.start()));
        Self { question, path }
    }

    /// A walk that begins at the children of `node`, a `**` that is reached with `used` chunks of the question behind it.
    pub(super) fn below_double_star<V>(
        tree: &KeTree<V>,
        relation: Relation,
        key: Ke<'q>,
        node: NodeId,
        used: usize,
    ) -> Self {
        let question = Question::new(relation, key, tree.hasher);
        let mut path = InlineStack::new();
        path.push(Frame::new(&question, node, question.behind_double_star(used)));
        Self { question, path }
    }

    /// The next node with a related entry.
    pub(super) fn next<V>(&mut self, tree: &KeTree<V>) -> Option<NodeId> {
        if tree.is_empty() {
            return None;
        }
        loop {
            let frame = self.path.last_mut()?;
            let Some((child, positions)) = frame.next_child(&self.question, tree) else {
                self.path.pop();
                continue;
            };
            if frame.has_only_child(tree) {
                // Keeps the path, and the sets it holds, short in the deepest of trees.
                self.path.pop();
            }
            let node = &tree.nodes[child as usize];
            let is_related = node.entry.is_some() && self.question.accepts(&positions);
            if node.children().is_some() {
                self.path.push(Frame::new(&self.question, child, positions));
            }
            if is_related {
                return Some(child);
            }
        }
    }
}

impl Frame {
    fn new(question: &Question<'_>, node: NodeId, positions: Positions) -> Self {
        let scans = question.has_wildcard_at(&positions);
        Self { node, cursor: 0, positions, scans }
    }

    fn has_only_child<V>(&self, tree: &KeTree<V>) -> bool {
        tree.nodes[self.node as usize].children().is_some_and(Children::is_single)
    }

    /// The next child that is worth entering, with its positions.
    fn next_child<V>(
        &mut self,
        question: &Question<'_>,
        tree: &KeTree<V>,
    ) -> Option<(NodeId, Positions)> {
        let children = tree.nodes[self.node as usize].children()?;
        let texts_from = 2 + children.patterns.len();
        let chunk_of = |id: NodeId| tree.nodes[id as usize].chunk();
        loop {
            let step = self.cursor;
            self.cursor += 1;
            let child = match step {
                0 => children.double_star,
                1 => children.star,
                _ if step < texts_from => children.patterns[step - 2],
                _ if self.scans => children.texts.at(step - texts_from)?,
                _ => {
                    // Here the cursor counts positions; it skips those that are not in the set.
                    let position = self.positions.next(step - texts_from)?;
                    self.cursor = texts_from + position + 1;
                    self.look_up(position, question, tree)
                }
            };
            if child == ROOT {
                continue;
            }
            let positions = match step {
                0 => question.after_double_star(&self.positions),
                _ => question.after(&self.positions, chunk_of(child)),
            };
            if !positions.is_empty() {
                return Some((child, positions));
            }
        }
    }

    /// The text child with the chunk at `position`, unless an earlier position has led to it
    /// already.
    fn look_up<V>(&self, position: usize, question: &Question<'_>, tree: &KeTree<V>) -> NodeId {
        let chunks = question.chunks();
        let Some(chunk) = chunks.get(position) else { return ROOT };
        let Some(child) = tree.text_child(self.node, chunk.text, chunk.hash) else { return ROOT };
        let is_same = |&earlier: &usize| {
            self.positions.contains(earlier) && chunks[earlier].text == chunk.text
        };
        if (0..position).rev().any(|earlier| is_same(&earlier)) { ROOT } else { child }
    }
}
