//! A key expression and a relation, asked of the tree chunk by chunk.
//!
//! Position `i` means that the first `i` chunks of the question are used up. A set of positions is
//! *closed*: where a `**` of the question may stand for nothing, the position behind it is in the
//! set too.
//!
//! Spec: 04 §5.1, §5.2, §6.

use super::CHUNKS_INLINE_MAX;
use super::positions::Positions;
use super::table::Hasher;
use crate::Ke;
use crate::chunk::{self, ChunkKind};
use alloc::vec::Vec;

/// Which entries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Those that intersect the question.
    Intersecting,
    /// Those that the question includes.
    IncludedBy,
    /// Those that include the question, whose `**` then is a chunk like any other.
    Including,
}

#[derive(Clone, Copy)]
pub(super) struct QuestionChunk<'q> {
    pub(super) text: &'q str,
    pub(super) kind: ChunkKind,
    pub(super) hash: u32,
}

pub(super) struct Question<'q> {
    relation: Relation,
    count: usize,
    inline: [QuestionChunk<'q>; CHUNKS_INLINE_MAX],
    /// All chunks, if there are more than fit in `inline`.
    spilled: Vec<QuestionChunk<'q>>,
}

impl<'q> Question<'q> {
    pub(super) fn new(relation: Relation, key: Ke<'q>, hasher: Hasher) -> Self {
        let mut inline =
            [QuestionChunk { text: "", kind: ChunkKind::Literal, hash: 0 }; CHUNKS_INLINE_MAX];
        let mut spilled = Vec::new();
        let mut chunks = key.chunks().map(|text| {
            let (kind, hash) = (ChunkKind::of(text), hasher.hash(text.as_bytes()));
            QuestionChunk { text, kind, hash }
        });
        let mut count = 0;
        for (place, chunk) in inline.iter_mut().zip(&mut chunks) {
            *place = chunk;
            count += 1;
        }
        if let Some(chunk) = chunks.next() {
            spilled = inline.into_iter().chain([chunk]).chain(chunks).collect();
            count = spilled.len();
        }
        Self { relation, count, inline, spilled }
    }

    pub(super) fn chunks(&self) -> &[QuestionChunk<'q>] {
        if self.spilled.is_empty() { &self.inline[..self.count] } else { &self.spilled }
    }

    /// The positions of the empty path.
    pub(super) fn start(&self) -> Positions {
        let mut positions = self.no_positions();
        self.insert_closed(&mut positions, 0);
        positions
    }

    /// Whether an entry whose path leads to these positions is related.
    pub(super) fn accepts(&self, positions: &Positions) -> bool {
        positions.contains(self.count)
    }

    /// Whether a text child may be related without being equal to a chunk of the question.
    pub(super) fn has_wildcard_at(&self, positions: &Positions) -> bool {
        let chunks = self.chunks();
        let is_wild = |chunk: &QuestionChunk<'_>| {
            !matches!(chunk.kind, ChunkKind::Literal | ChunkKind::Verbatim)
        };
        self.relation != Relation::Including
            && positions.iter().any(|position| chunks.get(position).is_some_and(is_wild))
    }

    /// The positions behind a `**` of the tree.
    pub(super) fn after_double_star(&self, before: &Positions) -> Positions {
        if self.relation == Relation::IncludedBy {
            // Only a `**` of the question covers it.
            return self.after(before, "**");
        }
        // It takes any number of chunks up to the next verbatim one; a `**` of the question is one
        // of them.
        let mut after = self.no_positions();
        let mut is_reached = false;
        for position in 0..=self.count {
            is_reached |= before.contains(position);
            if is_reached {
                after.insert(position);
            }
            is_reached &=
                self.chunks().get(position).is_some_and(|chunk| chunk.kind != ChunkKind::Verbatim);
        }
        after
    }

    /// The positions behind a `**` of the tree that is reached with the first `used` chunks used up.
    pub(super) fn behind_double_star(&self, used: usize) -> Positions {
        let mut before = self.no_positions();
        self.insert_closed(&mut before, used);
        self.after_double_star(&before)
    }

    /// The positions behind a single chunk of the tree.
    pub(super) fn after(&self, before: &Positions, chunk: &str) -> Positions {
        let mut after = self.no_positions();
        for position in before.iter() {
            let Some(own) = self.chunks().get(position) else { continue };
            if self.is_any_number(own) {
                if !chunk::is_verbatim(chunk) {
                    self.insert_closed(&mut after, position);
                }
            } else if self.matches(own, chunk) {
                self.insert_closed(&mut after, position + 1);
            }
        }
        after
    }

    fn matches(&self, own: &QuestionChunk<'_>, chunk: &str) -> bool {
        match self.relation {
            Relation::Intersecting => chunk::intersects(own.text, chunk),
            Relation::IncludedBy => chunk::includes(own.text, chunk),
            Relation::Including => chunk::includes(chunk, own.text),
        }
    }

    fn insert_closed(&self, positions: &mut Positions, position: usize) {
        positions.insert(position);
        if self.chunks().get(position).is_some_and(|own| self.is_any_number(own)) {
            // Canonical: no second `**` follows.
            positions.insert(position + 1);
        }
    }

    /// Whether a chunk of the question stands for any number of chunks of the tree.
    fn is_any_number(&self, own: &QuestionChunk<'_>) -> bool {
        own.kind == ChunkKind::DoubleStar && self.relation != Relation::Including
    }

    fn no_positions(&self) -> Positions {
        Positions::new(self.count + 1)
    }
}
