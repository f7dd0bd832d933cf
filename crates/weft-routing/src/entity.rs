//! The three declared kinds, and who owns what: one table for all of them.

use weft_wire::{InterestOptions, QueryableInfo};

use crate::face::{FaceId, Region};
use crate::few::Few;
use crate::network::NodeIx;

/// Who owns what is declared, or sends what is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A neighbour, or this node's session.
    Face(FaceId),
    /// A node of the network in a region of this node, wherever it is there.
    Node(Region, NodeIx),
}

impl Owner {
    /// This node's session.
    pub const LOCAL: Self = Self::Face(FaceId::LOCAL);
}

/// What can be declared on a key expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Receives samples.
    Subscriber,
    /// Answers queries.
    Queryable,
    /// A liveliness token: exists, or not.
    Token,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = 3;
    /// In the order in which an interest is answered (03 §3.3).
    pub const ALL: [Self; Self::COUNT] = [Self::Subscriber, Self::Queryable, Self::Token];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A set of [`Kind`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindSet(u8);

impl KindSet {
    /// The set with one member.
    pub const fn only(kind: Kind) -> Self {
        Self(1 << kind.index())
    }

    /// Whether `kind` is a member.
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind.index()) != 0
    }

    /// No member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn from_options(options: InterestOptions) -> Self {
        Self(
            options.subscribers as u8
                | (options.queryables as u8) << 1
                | (options.tokens as u8) << 2,
        )
    }

    pub(crate) const fn to_options(self, key_exprs: bool, aggregate: bool) -> InterestOptions {
        InterestOptions {
            key_exprs,
            subscribers: self.contains(Kind::Subscriber),
            queryables: self.contains(Kind::Queryable),
            tokens: self.contains(Kind::Token),
            aggregate,
        }
    }
}

/// What a neighbour was told about one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) id: u32,
    pub(crate) info: QueryableInfo,
    /// The neighbour was not told, because it asked for future changes only; it still hears
    /// when the entity goes (02 §4.8).
    pub(crate) silent: bool,
}

/// One key of a kind's table: who declared it, and who was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Per owner, each of its declarations of this key. Those of a node of a network have the number
    /// of the face through which they came for an id.
    pub(crate) owners: Few<Owner, Few<u32, QueryableInfo>>,
    /// Who was told, and on whose behalf: of a node of the neighbour's network, or of this node.
    pub(crate) told: Few<(FaceId, NodeIx), Told>,
}

impl Entry {
    pub(crate) fn is_unused(&self) -> bool {
        self.owners.is_empty() && self.told.is_empty()
    }

    /// The merged information of the owners that `admits` lets through; `None` without any.
    pub(crate) fn merged(&self, admits: impl Fn(Owner) -> bool) -> Option<QueryableInfo> {
        self.owners
            .iter()
            .filter(|(owner, _)| admits(**owner))
            .flat_map(|(_, declarations)| declarations.values())
            .copied()
            .reduce(merge)
    }
}

/// Several queryables on one key seen as one (03 §3.5): complete if any is, at the distance of the
/// nearest among those that decide.
pub(crate) fn merge(a: QueryableInfo, b: QueryableInfo) -> QueryableInfo {
    match (a.complete, b.complete) {
        (true, false) => a,
        (false, true) => b,
        (complete, _) => QueryableInfo { complete, distance: a.distance.min(b.distance) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(complete: bool, distance: u16) -> QueryableInfo {
        QueryableInfo { complete, distance }
    }

    #[test]
    fn merging_prefers_complete_then_near() {
        assert_eq!(merge(info(false, 1), info(true, 9)), info(true, 9));
        assert_eq!(merge(info(true, 3), info(true, 2)), info(true, 2));
        assert_eq!(merge(info(false, 3), info(false, 2)), info(false, 2));
    }

    #[test]
    fn kind_sets_follow_the_interest_options() {
        let set = KindSet::only(Kind::Token);
        assert!(set.contains(Kind::Token) && !set.contains(Kind::Subscriber));
        assert_eq!(KindSet::from_options(set.to_options(true, false)), set);
    }
}
