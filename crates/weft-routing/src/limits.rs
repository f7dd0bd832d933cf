//! Limits on what one neighbour may make this node remember.

use core::fmt;
use weft_keyexpr::KeyExpr;

/// Upper bounds per neighbour. What exceeds them is refused, never truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Subscribers, queryables and tokens together.
    pub declarations_max: usize,
    /// Interests kept for it.
    pub interests_max: usize,
    /// Its queries that are waiting for an end.
    pub queries_max: usize,
    /// Length of a key expression in bytes.
    pub key_expr_len_max: usize,
    /// Chunks of a key expression with wildcards. Two of them may take as many steps to compare as
    /// the product of their numbers of chunks.
    pub key_expr_chunks_max: usize,
    /// Estimated memory of the key expressions that it numbers, declares and is interested in, in
    /// bytes. A short message can refer to a long expression, so that counts alone don't bound it.
    pub key_memory_max: usize,
    /// Declarations of the nodes of a network that may come through one neighbour.
    pub sourced_max: usize,
    /// As `key_memory_max`, for a neighbour through which the declarations of a network come.
    pub network_key_memory_max: usize,
    /// Nodes of a network.
    pub network_nodes_max: usize,
    /// Links that the nodes of a network announce, all together.
    pub network_links_max: usize,
}

impl Limits {
    /// What a node that nobody configures bears.
    pub const DEFAULT: Self = Self {
        declarations_max: 100_000,
        interests_max: 10_000,
        queries_max: 65_536,
        key_expr_len_max: 65_535,
        key_expr_chunks_max: 64,
        key_memory_max: 256 << 20,
        sourced_max: 5_000_000,
        network_key_memory_max: 4 << 30,
        network_nodes_max: 10_000,
        network_links_max: 1_000_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Declarations of one kind that a neighbour may have on the very same key expression.
///
/// Neighbours are expected to merge them; the bound keeps the cost of a declaration constant.
pub(crate) const SAME_KEY_MAX: usize = 1024;

/// Interests of a neighbour that are answered by one entity for all that match. Keeping such an
/// entity up to date takes a look at all of these; further ones are answered entity by entity.
pub(crate) const AGGREGATES_MAX: usize = 100;

/// Estimated memory of a key expression that is kept in a table, in bytes: its text, and a node of
/// the table's tree per chunk.
pub(crate) fn key_memory(key: &KeyExpr) -> usize {
    const NODE_LEN: usize = 128;
    key.as_str().len() + key.chunks().count() * NODE_LEN
}

/// A neighbour exceeded one of the [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// More declarations than `declarations_max`, or too many on one key expression.
    Declarations {
        /// The limit.
        max: usize,
    },
    /// More interests than `interests_max`.
    Interests {
        /// The limit.
        max: usize,
    },
    /// More or longer key expressions than `key_memory_max` allows.
    KeyMemory {
        /// The limit in bytes.
        max: usize,
    },
    /// A network of more nodes than `network_nodes_max`, or more links than `network_links_max`.
    Network {
        /// The limit of nodes.
        max: usize,
    },
    /// A link state whose sequence number no node comes to.
    LinkState {
        /// The number.
        sn: u64,
    },
    /// Link states that do not decode.
    Garbled,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declarations { max } => write!(f, "more than {max} declarations"),
            Self::Interests { max } => write!(f, "more than {max} interests"),
            Self::KeyMemory { max } => write!(f, "key expressions of more than {max} bytes"),
            Self::Network { max } => write!(f, "a network of more than {max} nodes"),
            Self::LinkState { sn } => write!(f, "a link state with the impossible number {sn}"),
            Self::Garbled => f.write_str("link states that do not decode"),
        }
    }
}
