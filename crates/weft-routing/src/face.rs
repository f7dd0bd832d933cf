//! A face: routing's handle on one neighbour, or on this node's own session.
//!
//! Spec: 03 §1.2 and §1.4.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;
use weft_keyexpr::KeyExpr;
use weft_wire::{Bound, WhatAmI, ZenohId};

use crate::asked::Asked;
use crate::crossing::Crossing;
use crate::entity::Kind;
use crate::expr::ExprTables;
use crate::interest::Interest;
use crate::network::NodeIx;

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
    /// The node's main network: its fellow peers or routers, its router, or a client's only upstream.
    North,
    /// Nodes of the given mode that this node serves, in the region that the configuration numbers so.
    South(u16, WhatAmI),
}

impl Region {
    /// Whether members exchange traffic with each other through this node, whoever they are
    /// (03 §3.5, §4.1).
    pub const fn brokers(self) -> bool {
        matches!(self, Self::Local | Self::South(_, WhatAmI::Client))
    }
}

/// On which side of a gateway its configuration places a neighbour (03 §1.4, step 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// With the gateway itself.
    North,
    /// In the numbered region that the gateway serves.
    South(u16),
}

impl Side {
    /// What the neighbour is told of it (03 §1.3).
    pub const fn bound(self) -> Bound {
        match self {
            Self::North => Bound::North,
            Self::South(_) => Bound::South,
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
    /// Both nodes agreed to be members of one network even if not both are routers.
    pub mesh: bool,
    /// Both nodes are gateways of this implementation.
    pub gateway: bool,
    /// Where this node's configuration places the neighbour, if it says.
    pub own_side: Option<Side>,
    /// Where the neighbour's configuration places this node, if it says.
    pub remote_bound: Option<Bound>,
}

impl FaceInit {
    /// A neighbour about which nothing is configured on either side.
    pub const fn new(zid: ZenohId, whatami: WhatAmI) -> Self {
        Self { zid, whatami, mesh: false, gateway: false, own_side: None, remote_bound: None }
    }
}

/// Two nodes do not link (03 §1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedFace {
    /// Two clients have nothing to route for each other.
    TwoClients,
    /// A client has exactly one upstream.
    SecondUpstream,
    /// The gateway settings of the two nodes contradict each other.
    Contradiction,
}

impl fmt::Display for RefusedFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoClients => "two clients cannot link; connect both to a router or a peer",
            Self::SecondUpstream => "a client has one upstream and is already connected",
            Self::Contradiction => {
                "the gateway settings (gateway/south) of both nodes contradict each other"
            }
        })
    }
}

impl core::error::Error for RefusedFace {}

/// Where a neighbour belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) region: Region,
    /// This node is in the neighbour's south: it is served by it.
    pub(crate) upstream: bool,
    /// Both are members of one network.
    pub(crate) networked: bool,
}

/// Where a neighbour belongs: what the two configurations say, and the automatic table where they
/// are silent (03 §1.4).
pub(crate) fn place(own: WhatAmI, init: &FaceInit) -> Result<Place, RefusedFace> {
    let remote = init.whatami;
    let automatic = automatic(own, init);
    let routers = own == WhatAmI::Router && remote == WhatAmI::Router;
    let served = Place { region: Region::North, upstream: !routers, networked: routers };
    let south = |index: u16| {
        if remote == WhatAmI::Router && own != WhatAmI::Router {
            return Err(RefusedFace::Contradiction);
        }
        let networked = remote == WhatAmI::Router;
        Ok(Place { region: Region::South(index, remote), upstream: false, networked })
    };
    match (init.own_side, init.remote_bound) {
        (None, None) => automatic,
        (None, Some(Bound::South)) => Ok(served),
        (Some(Side::South(index)), None | Some(Bound::North)) => south(index),
        (None, Some(Bound::North)) => match automatic? {
            place if place.upstream => Err(RefusedFace::Contradiction),
            place => Ok(place),
        },
        (Some(Side::North), None) => match automatic? {
            Place { region: Region::South(..), .. } => Err(RefusedFace::Contradiction),
            place => Ok(place),
        },
        (Some(Side::North), Some(Bound::North)) if own != remote => Err(RefusedFace::Contradiction),
        (Some(Side::North), Some(Bound::North)) => {
            let networked = routers || init.mesh && own == WhatAmI::Peer;
            Ok(Place { networked, upstream: false, ..served })
        }
        (Some(Side::South(_)), Some(Bound::South)) => Err(RefusedFace::Contradiction),
        (Some(Side::North), Some(Bound::South)) => Ok(served),
    }
}

fn automatic(own: WhatAmI, init: &FaceInit) -> Result<Place, RefusedFace> {
    use WhatAmI::{Client, Peer, Router};
    let (region, upstream, networked) = match (own, init.whatami) {
        (Client, Client) => return Err(RefusedFace::TwoClients),
        (Router, Router) => (Region::North, false, true),
        (Router | Peer, Router | Peer) if init.mesh => (Region::North, false, true),
        (Peer, Peer) => (Region::North, false, false),
        (Router, Peer | Client) | (Peer, Client) => (Region::South(0, init.whatami), false, false),
        (Peer, Router) | (Client, Router | Peer) => (Region::North, true, false),
    };
    Ok(Place { region, upstream, networked })
}

/// Everything routing keeps per face.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    pub(crate) id: FaceId,
    pub(crate) zid: ZenohId,
    pub(crate) whatami: WhatAmI,
    pub(crate) region: Region,
    /// The neighbour serves this node: interests go to it.
    pub(crate) upstream: bool,
    /// The neighbour is a member of the network in its region.
    pub(crate) networked: bool,
    /// It is of this implementation and agreed to be a member of a network.
    pub(crate) mesh: bool,
    /// It is of this implementation, and both are gateways.
    pub(crate) gateway: bool,
    /// It was told that it has heard all that this node has at start-up.
    pub(crate) finished: bool,
    /// What of its traffic passes through this node.
    pub(crate) crossing: Crossing,
    /// The nodes that the neighbour is linked with and which of them are gateways, if it says.
    pub(crate) linked: Option<BTreeMap<ZenohId, bool>>,
    pub(crate) exprs: ExprTables,
    /// What the neighbour declared: entity id to key, per kind.
    pub(crate) declared: [BTreeMap<u32, KeyExpr>; Kind::COUNT],
    /// The keys told to the neighbour, by the node on whose behalf; ids are with the entry in the table.
    pub(crate) told: [BTreeMap<NodeIx, BTreeSet<KeyExpr>>; Kind::COUNT],
    /// Declarations of its network's nodes that came through it.
    pub(crate) sourced_count: usize,
    /// Declarations of nodes that it has not introduced yet, as they came.
    pub(crate) parked: Vec<Vec<u8>>,
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
    pub(crate) fn new(id: FaceId, init: FaceInit, place: Place) -> Self {
        Self {
            id,
            zid: init.zid,
            whatami: init.whatami,
            region: place.region,
            upstream: place.upstream,
            networked: place.networked,
            mesh: init.mesh,
            gateway: init.gateway,
            finished: false,
            crossing: Crossing::Open,
            linked: None,
            exprs: ExprTables::default(),
            declared: Default::default(),
            told: Default::default(),
            sourced_count: 0,
            parked: Vec::new(),
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
        self.region == Region::North && !self.upstream && !self.networked
    }

    /// Declarations are sent to it unasked, and not along trees (03 §3.5).
    pub(crate) fn is_pushed_to(&self) -> bool {
        self.region == Region::North && !self.networked
    }

    /// Whether it says that it is linked with `zid`, and so hears from it directly.
    pub(crate) fn is_linked_with(&self, zid: ZenohId) -> bool {
        self.linked.as_ref().is_some_and(|linked| linked.contains_key(&zid))
    }

    /// Whether what it sends may reach `other` through this node. What `other` declares may reach it
    /// then.
    pub(crate) fn passes_to(&self, other: &Self) -> bool {
        self.id != other.id
            && self.crossing.hears()
            && other.crossing != Crossing::Closed
            && !self.crosses_badly(other)
            && !self.reaches(other)
            && !other.reaches(self)
            && (self.region != other.region || self.region.brokers() || self.needs_broker(other))
    }

    /// One is in the north, and another node moves the traffic of the other one there.
    fn crosses_badly(&self, other: &Self) -> bool {
        self.region == Region::North && !other.crossing.to_north()
            || other.region == Region::North && !self.crossing.to_north()
    }

    /// A neighbour that this node serves says that it is linked with `other`, which is in another
    /// region: they exchange what they have without this node. Except with a router of another
    /// implementation above this node, which may leave it to this node (see [`crate::crossing`]).
    fn reaches(&self, other: &Self) -> bool {
        self.region != other.region
            && other.region != Region::Local
            && self.is_linked_with(other.zid)
            && (!other.upstream || other.gateway)
    }

    /// Two peers that this node serves and that are not linked with each other: peers do not pass
    /// on what they get, so this node does. Only if both say with whom they are linked, and if this
    /// node is the gateway of the receiving one.
    fn needs_broker(&self, other: &Self) -> bool {
        matches!(self.region, Region::South(_, WhatAmI::Peer))
            && other.crossing.to_north()
            && self.linked.is_some()
            && other.linked.is_some()
            && !self.is_linked_with(other.zid)
            && !other.is_linked_with(self.zid)
    }

    /// Notes that the neighbour knows of a key on behalf of a node.
    pub(crate) fn knows(&mut self, kind: Kind, root: NodeIx, key: &KeyExpr) {
        self.told[kind.index()].entry(root).or_default().insert(key.clone());
    }

    /// The neighbour does not know of a key on behalf of a node any more.
    pub(crate) fn unlearns(&mut self, kind: Kind, root: NodeIx, key: &KeyExpr) {
        let told = &mut self.told[kind.index()];
        if let Some(keys) = told.get_mut(&root) {
            keys.remove(key);
            if keys.is_empty() {
                told.remove(&root);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use WhatAmI::{Client, Peer, Router};

    fn zid(text: &str) -> ZenohId {
        text.parse().unwrap()
    }

    fn placed(own: WhatAmI, remote: WhatAmI, mesh: bool) -> Option<(Region, bool, bool)> {
        let init = FaceInit { mesh, ..FaceInit::new(zid("b1"), remote) };
        let place = place(own, &init).ok()?;
        Some((place.region, place.upstream, place.networked))
    }

    #[test]
    fn the_automatic_region_table_is_that_of_the_spec() {
        assert_eq!(placed(Router, Peer, false), Some((Region::South(0, Peer), false, false)));
        assert_eq!(placed(Router, Client, false), Some((Region::South(0, Client), false, false)));
        assert_eq!(placed(Peer, Client, false), Some((Region::South(0, Client), false, false)));
        assert_eq!(placed(Router, Router, false), Some((Region::North, false, true)));
        assert_eq!(placed(Peer, Peer, false), Some((Region::North, false, false)));
        assert_eq!(placed(Peer, Router, false), Some((Region::North, true, false)));
        assert_eq!(placed(Client, Router, false), Some((Region::North, true, false)));
        assert_eq!(placed(Client, Peer, false), Some((Region::North, true, false)));
        assert_eq!(placed(Client, Client, false), None);
    }

    #[test]
    fn those_who_agree_on_a_mesh_are_one_network() {
        for (own, remote) in [(Peer, Peer), (Peer, Router), (Router, Peer), (Router, Router)] {
            assert_eq!(placed(own, remote, true), Some((Region::North, false, true)));
        }
        assert_eq!(placed(Client, Peer, true), Some((Region::North, true, false)));
    }

    #[test]
    fn configured_sides_are_combined_as_in_the_spec() {
        let at = |own, own_side, remote, remote_bound| {
            let init = FaceInit { own_side, remote_bound, ..FaceInit::new(zid("b1"), remote) };
            place(own, &init).ok().map(|place| (place.region, place.upstream))
        };
        let south = Some(Side::South(3));
        assert_eq!(at(Peer, None, Peer, Some(Bound::South)), Some((Region::North, true)));
        assert_eq!(at(Peer, south, Peer, None), Some((Region::South(3, Peer), false)));
        assert_eq!(
            at(Peer, south, Peer, Some(Bound::North)),
            Some((Region::South(3, Peer), false))
        );
        assert_eq!(at(Peer, south, Peer, Some(Bound::South)), None);
        assert_eq!(at(Peer, south, Router, None), None, "a router cannot be served by a peer");
        assert_eq!(at(Router, south, Router, None), Some((Region::South(3, Router), false)));
        assert_eq!(at(Peer, None, Router, Some(Bound::North)), None);
        assert_eq!(at(Router, Some(Side::North), Client, None), None);
        assert_eq!(at(Peer, Some(Side::North), Router, None), Some((Region::North, true)));
        let north = Some(Bound::North);
        assert_eq!(at(Peer, Some(Side::North), Peer, north), Some((Region::North, false)));
        assert_eq!(at(Peer, Some(Side::North), Router, north), None);
        let served = Some(Bound::South);
        assert_eq!(at(Client, Some(Side::North), Peer, served), Some((Region::North, true)));
        assert_eq!(at(Peer, None, Peer, north), Some((Region::North, false)));
        assert_eq!(at(Router, None, Peer, north), Some((Region::South(0, Peer), false)));
        assert_eq!(at(Client, south, Client, None), Some((Region::South(3, Client), false)));
        assert_eq!(at(Client, None, Client, served), Some((Region::North, true)));
    }

    #[test]
    fn a_router_that_serves_a_router_is_a_member_of_its_network() {
        let networked = |own_side, remote_bound| {
            let init = FaceInit { own_side, remote_bound, ..FaceInit::new(zid("b1"), Router) };
            place(Router, &init).map(|place| (place.region, place.upstream, place.networked))
        };
        let above = networked(Some(Side::South(1)), None);
        assert_eq!(above, Ok((Region::South(1, Router), false, true)));
        assert_eq!(networked(None, Some(Bound::South)), Ok((Region::North, false, true)));
    }

    #[test]
    fn who_says_that_it_is_linked_is_left_out() {
        let north =
            |id, upstream, gateway| Face { upstream, gateway, ..face(id, Region::North, None) };
        let peer = face(2, Region::South(0, Peer), Some(&["b1"]));
        assert!(
            !peer.passes_to(&north(1, false, false)) && !north(1, false, false).passes_to(&peer)
        );
        assert!(peer.passes_to(&north(3, false, false)));
        assert!(peer.passes_to(&north(1, true, false)), "a router may leave it to this node");
        assert!(!peer.passes_to(&north(1, true, true)), "one of this implementation does not");
        let own = Face { zid: zid("b1"), ..face(0, Region::Local, None) };
        assert!(peer.passes_to(&own), "it is linked with this node itself");
    }

    fn face(id: u32, region: Region, linked: Option<&[&str]>) -> Face {
        let place = Place { region, upstream: false, networked: false };
        let init = FaceInit::new(zid(&alloc::format!("b{id}")), Peer);
        let linked = linked.map(|zids| zids.iter().map(|text| (zid(text), false)).collect());
        Face { linked, ..Face::new(FaceId(id), init, place) }
    }

    #[test]
    fn clients_are_brokered_and_peers_that_cannot_reach_each_other() {
        let client = |id| face(id, Region::South(0, Client), None);
        assert!(client(1).passes_to(&client(2)));
        assert!(!client(1).passes_to(&client(1)));
        let peer = |id, linked| face(id, Region::South(0, Peer), linked);
        assert!(!peer(1, None).passes_to(&peer(2, None)), "nothing is known");
        assert!(!peer(1, Some(&["a1"])).passes_to(&peer(2, None)));
        assert!(peer(1, Some(&["a1"])).passes_to(&peer(2, Some(&["a1"]))));
        assert!(!peer(1, Some(&["a1", "b2"])).passes_to(&peer(2, Some(&["a1"]))));
        assert!(!peer(1, Some(&["a1"])).passes_to(&peer(2, Some(&["b1"]))));
        let north = |id| face(id, Region::North, None);
        assert!(!north(1).passes_to(&north(2)));
        assert!(north(1).passes_to(&peer(2, None)));
        let with = |crossing| Face { crossing, ..peer(2, None) };
        assert!(!north(1).passes_to(&with(Crossing::Closed)));
        assert!(!north(1).passes_to(&with(Crossing::Beside)));
        assert!(!with(Crossing::Beside).passes_to(&north(1)));
        assert!(client(1).passes_to(&with(Crossing::Beside)));
        assert!(client(1).passes_to(&with(Crossing::Deaf)));
        assert!(!with(Crossing::Deaf).passes_to(&client(1)));
    }
}
