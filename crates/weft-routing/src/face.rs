//! A face: routing's handle on one neighbour, or on this node's own session.
//!
//! Spec: 03 §1.2 and §1.4.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;
use weft_keyexpr::KeyExpr;
use weft_wire::{WhatAmI, ZenohId};

use crate::asked::Asked;
use crate::entity::Kind;
use crate::expr::ExprTables;
use crate::interest::Interest;

/// Names a face. Ids are never reused within a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaceId(pub u32);

impl FaceId {
    /// The face of this node's own session.
    pub const LOCAL: Self = Self(0);
}

/// The sub-network of this node that a face belongs to (03 §1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// This node's own session.
    Local,
    /// The node's main network: its fellow peers, its router, or a client's only upstream.
    North,
    /// Nodes of the given mode that this node serves.
    South(WhatAmI),
}

/// What a region's members get from this node (03 §3.5, §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Members exchange traffic with each other through this node.
    pub brokers: bool,
    /// Declarations are sent unasked; otherwise only to members with a matching interest.
    pub pushes: bool,
}

impl Region {
    /// The rules of this region.
    pub const fn policy(self) -> Policy {
        match self {
            Self::North => Policy { brokers: false, pushes: true },
            Self::Local | Self::South(WhatAmI::Client) => Policy { brokers: true, pushes: false },
            Self::South(WhatAmI::Peer | WhatAmI::Router) => {
                Policy { brokers: false, pushes: false }
            }
        }
    }
}

/// What is known of a neighbour when its transport opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceInit {
    /// The neighbour's identity.
    pub zid: ZenohId,
    /// The neighbour's mode.
    pub whatami: WhatAmI,
}

/// Two nodes of these modes do not link (03 §1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedFace {
    /// Two clients have nothing to route for each other.
    TwoClients,
    /// A client has exactly one upstream.
    SecondUpstream,
    /// Routing between routers is not built yet.
    TwoRouters,
}

impl fmt::Display for RefusedFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoClients => "two clients cannot link; connect both to a router or a peer",
            Self::SecondUpstream => "a client has one upstream and is already connected",
            Self::TwoRouters => "links between two routers are not supported yet",
        })
    }
}

impl core::error::Error for RefusedFace {}

/// Region of the neighbour, and whether this node is in the neighbour's south (its upstream is
/// the neighbour): the automatic table of 03 §1.4.
pub(crate) const fn place(own: WhatAmI, remote: WhatAmI) -> Result<(Region, bool), RefusedFace> {
    match (own, remote) {
        (WhatAmI::Router, WhatAmI::Router) => Err(RefusedFace::TwoRouters),
        (WhatAmI::Router, _) | (WhatAmI::Peer, WhatAmI::Client) => {
            Ok((Region::South(remote), false))
        }
        (WhatAmI::Peer, WhatAmI::Peer) => Ok((Region::North, false)),
        (WhatAmI::Peer, WhatAmI::Router) | (WhatAmI::Client, WhatAmI::Router | WhatAmI::Peer) => {
            Ok((Region::North, true))
        }
        (WhatAmI::Client, WhatAmI::Client) => Err(RefusedFace::TwoClients),
    }
}

/// Everything routing keeps per face.
#[derive(Debug)]
pub(crate) struct Face {
    pub(crate) id: FaceId,
    pub(crate) zid: ZenohId,
    pub(crate) whatami: WhatAmI,
    pub(crate) region: Region,
    /// The neighbour serves this node: interests go to it.
    pub(crate) upstream: bool,
    pub(crate) exprs: ExprTables,
    /// What the neighbour declared: entity id to key, per kind.
    pub(crate) declared: [BTreeMap<u32, KeyExpr>; Kind::COUNT],
    /// The keys told to the neighbour; ids are with the entry in the table.
    pub(crate) told: [BTreeSet<KeyExpr>; Kind::COUNT],
    /// The neighbour's interests.
    pub(crate) interests: BTreeMap<u32, Interest>,
    /// This node's interests at the neighbour.
    pub(crate) asked: Asked,
    /// The neighbour has told all it has at start-up; until then it may want anything.
    pub(crate) ready: bool,
    /// Source of entity and interest ids towards the neighbour.
    next_id: u32,
    /// Source of request ids towards the neighbour.
    next_query: u32,
    /// Queries of the neighbour that have not ended.
    pub(crate) queries_pending: usize,
    /// Estimated memory of the neighbour's key expressions, in bytes.
    pub(crate) key_memory: usize,
    /// It was said that something of this neighbour is ignored.
    pub(crate) ignored: bool,
}

impl Face {
    pub(crate) fn new(id: FaceId, init: FaceInit, region: Region, upstream: bool) -> Self {
        Self {
            id,
            zid: init.zid,
            whatami: init.whatami,
            region,
            upstream,
            exprs: ExprTables::default(),
            declared: Default::default(),
            told: Default::default(),
            interests: BTreeMap::new(),
            asked: Asked::default(),
            ready: false,
            next_id: 1,
            next_query: 1,
            queries_pending: 0,
            key_memory: 0,
            ignored: false,
        }
    }

    /// Two peers that push everything to each other and close with `D_FINAL(0)` (03 §3.1).
    pub(crate) fn is_fellow_peer(&self) -> bool {
        self.region == Region::North && !self.upstream
    }

    pub(crate) fn take_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(1);
        id
    }

    pub(crate) fn take_query_id(&mut self) -> u32 {
        let id = self.next_query;
        self.next_query = self.next_query.wrapping_add(1).max(1);
        id
    }

    pub(crate) fn declaration_count(&self) -> usize {
        self.declared.iter().map(BTreeMap::len).sum()
    }
}

/// Whether what `source` owns or sends may reach `destination` through this node.
pub(crate) fn flows(source: (FaceId, Region), destination: (FaceId, Region)) -> bool {
    source.0 != destination.0 && (source.1 != destination.1 || source.1.policy().brokers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use WhatAmI::{Client, Peer, Router};

    #[test]
    fn the_automatic_region_table_is_that_of_the_spec() {
        assert_eq!(place(Router, Peer), Ok((Region::South(Peer), false)));
        assert_eq!(place(Router, Client), Ok((Region::South(Client), false)));
        assert_eq!(place(Peer, Client), Ok((Region::South(Client), false)));
        assert_eq!(place(Peer, Peer), Ok((Region::North, false)));
        assert_eq!(place(Peer, Router), Ok((Region::North, true)));
        assert_eq!(place(Client, Router), Ok((Region::North, true)));
        assert_eq!(place(Client, Peer), Ok((Region::North, true)));
        assert_eq!(place(Client, Client), Err(RefusedFace::TwoClients));
    }

    #[test]
    fn only_clients_are_brokered_within_their_region() {
        let (a, b) = (FaceId(1), FaceId(2));
        let client = Region::South(Client);
        let peer = Region::South(Peer);
        assert!(flows((a, client), (b, client)));
        assert!(!flows((a, client), (a, client)));
        assert!(!flows((a, peer), (b, peer)));
        assert!(!flows((a, Region::North), (b, Region::North)));
        assert!(flows((a, Region::North), (b, peer)));
    }
}
