//! What happened at a node and concerns its session or the checkers.

use weft_keyexpr::KeyExpr;
use weft_node::FaceId;
use weft_wire::{Priority, QueryTarget, Reliability, Timestamp};

/// The number of a publication, unique in a simulation. It travels as the sample's attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PutId(pub(crate) u64);

impl PutId {
    pub(crate) const LEN: usize = 8;

    pub(crate) const fn to_bytes(self) -> [u8; Self::LEN] {
        self.0.to_le_bytes()
    }

    pub(crate) fn from_attachment(attachment: Option<&[u8]>) -> Option<Self> {
        Some(Self(u64::from_le_bytes(attachment?.try_into().ok()?)))
    }
}

/// A sample as a subscriber got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The key it was published on.
    pub key: KeyExpr,
    /// `None` is a deletion.
    pub payload: Option<Vec<u8>>,
    /// Who stamped it and when, if anybody did.
    pub timestamp: Option<Timestamp>,
    /// Its priority.
    pub priority: Priority,
    /// Its channel.
    pub reliability: Reliability,
}

/// A reply as a querier got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyIn {
    /// Its key; `None` for an error.
    pub key: Option<KeyExpr>,
    /// Its payload, or that of the error.
    pub payload: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// A sample went out to a neighbour.
    Sent { put: PutId, face: FaceId },
    /// A sample reached subscribers of the session.
    Delivered { put: PutId, subscribers: Vec<u32>, sample: Sample },
    /// A query reached the session.
    Asked { source: FaceId, branch: u32, key: KeyExpr, target: QueryTarget },
    /// A reply reached the session.
    Replied { query: u32, reply: ReplyIn },
    /// A query of the session has ended.
    QueryEnded { query: u32 },
}
