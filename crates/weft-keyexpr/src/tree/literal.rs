//! Questions without wildcards, as samples and most queries ask them.
//!
//! Each node is reached in one way, because every chunk of an entry but `**` takes exactly one chunk of such a question.
//! So there is nothing to keep but the place in either of them. What is below a `**` is left to the walk.
//!
//! ```text
//! question  a / b / c      at `a`, with `b / c` left:
//!                            **  is an entry that is found; what is below it: the walk
//!                            *   goes on with `c` left
//!                            b   goes on with `c` left
//! ```
//!
//! Cost: a hash, a look-up and a comparison for each chunk on the way, and a comparison for each `$*` beside it.

use super::node::{NodeId, ROOT};
use super::question::Relation;
use super::walk::Walk;
use super::{CHUNKS_INLINE_MAX, KeTree};
use crate::chunk::{self, is_verbatim};
use crate::{Ke, KeyExpr};

/// Whether `key` is a question for this module: one without wildcards and with few chunks, as branches recurse.
pub(super) fn is_literal(key: Ke<'_>) -> bool {
    let slashes = key.as_str().bytes().filter(|&byte| byte == b'/').count();
    slashes < CHUNKS_INLINE_MAX && !key.is_wild()
}

/// A question in progress.
pub(super) struct Literal<'t, 'q, V, F> {
    pub(super) tree: &'t KeTree<V>,
    pub(super) key: Ke<'q>,
    pub(super) visitor: F,
}

impl<'q, V, F: FnMut(&KeyExpr, &V)> Literal<'_, 'q, V, F> {
    /// Visits the entries that intersect the question, which are those that include it.
    pub(super) fn visit_all(mut self) {
        self.look_below(ROOT, 0, Some(self.key.as_str()));
    }

    /// Looks at what is below `node`, with `used` chunks of the question behind it and `rest` before it.
    fn look_below(&mut self, mut node: NodeId, mut used: usize, mut rest: Option<&'q str>) {
        let tree = self.tree;
        while let Some(children) = tree.nodes[node as usize].children() {
            if children.double_star != ROOT {
                self.take_any_number(children.double_star, used, rest);
            }
            let Some(text) = rest else { return };
            let (chunk, left) = first_chunk(text);
            used += 1;
            if children.star != ROOT && !is_verbatim(chunk) {
                self.take_one(children.star, used, left);
            }
            for &pattern in &children.patterns {
                if chunk::intersects(tree.nodes[pattern as usize].chunk(), chunk) {
                    self.take_one(pattern, used, left);
                }
            }
            let hash = tree.hasher.hash(chunk.as_bytes());
            let Some(child) = tree.text_child(node, chunk, hash) else { return };
            if left.is_none() {
                self.visit(child);
            }
            (node, rest) = (child, left);
        }
    }

    /// `node` takes one chunk of the question.
    fn take_one(&mut self, node: NodeId, used: usize, rest: Option<&'q str>) {
        if rest.is_none() {
            self.visit(node);
        }
        self.look_below(node, used, rest);
    }

    /// `node`, a `**`, takes any number of chunks, but no verbatim ones.
    fn take_any_number(&mut self, node: NodeId, used: usize, rest: Option<&'q str>) {
        if !rest.is_some_and(|rest| rest.split('/').any(is_verbatim)) {
            self.visit(node);
        }
        if self.tree.nodes[node as usize].children().is_some() {
            let mut walk =
                Walk::below_double_star(self.tree, Relation::Intersecting, self.key, node, used);
            while let Some(found) = walk.next(self.tree) {
                self.visit(found);
            }
        }
    }

    fn visit(&mut self, node: NodeId) {
        if let Some((key, value)) = &self.tree.nodes[node as usize].entry {
            (self.visitor)(key, value);
        }
    }
}

/// The first chunk of `text`, and what follows its slash. Chunks are short: a plain loop is faster than a search.
fn first_chunk(text: &str) -> (&str, Option<&str>) {
    match text.bytes().position(|byte| byte == b'/') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}
