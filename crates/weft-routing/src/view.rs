//! What an operator may see of an engine: who is linked, who declares what, where things go and why.
//!
//! Reading only, apart from trees and routes that are computed when somebody asks. Spec: 03 §9. What may
//! be long comes in pieces ([`Routing::owned`]), so that whoever holds the engine's lock can let it go
//! in between.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};
use weft_keyexpr::KeyExpr;
use weft_wire::{WhatAmI, ZenohId};

use crate::entity::{Kind, Owner};
use crate::face::{Face, FaceId, Region};
use crate::network::{Network, NodeIx};
use crate::routing::Routing;

/// What can be declared, as an operator sees it: publishers and queriers show as interests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// A [`Kind::Subscriber`].
    Subscriber,
    /// Somebody who is told of subscribers of a key.
    Publisher,
    /// A [`Kind::Queryable`].
    Queryable,
    /// Somebody who is told of queryables of a key.
    Querier,
    /// A [`Kind::Token`].
    Token,
}

impl Entity {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Subscriber, Self::Publisher, Self::Queryable, Self::Querier, Self::Token];

    /// The declaration that it is, or that it asks about.
    const fn kind(self) -> Kind {
        match self {
            Self::Subscriber | Self::Publisher => Kind::Subscriber,
            Self::Queryable | Self::Querier => Kind::Queryable,
            Self::Token => Kind::Token,
        }
    }

    const fn is_interest(self) -> bool {
        matches!(self, Self::Publisher | Self::Querier)
    }
}

/// A face, for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceView {
    /// Its name; [`FaceId::LOCAL`] is this node's session.
    pub face: FaceId,
    /// The neighbour's identity.
    pub zid: ZenohId,
    /// The neighbour's mode.
    pub whatami: WhatAmI,
    /// Where it belongs.
    pub region: Region,
    /// Subscribers, queryables and tokens that it declared itself.
    pub declared: [usize; Kind::COUNT],
    /// Its interests that stand.
    pub interests: usize,
    /// Its queries that have not ended.
    pub queries: usize,
}

/// Nodes and links of one region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionGraph {
    /// Numbers and identities; this node is number 0.
    pub nodes: Vec<(u16, ZenohId)>,
    /// Each link once, by the numbers of its ends, the greater one first; the weight if there is one.
    pub edges: Vec<(u16, u16, Option<f64>)>,
}

/// What the two ends of a link to a member of a network say that it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkWeights {
    /// What this node says, if anything.
    pub own: Option<u16>,
    /// What the other end says, if anything.
    pub remote: Option<u16>,
}

/// Some of what an owner has, and where the rest begins.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Keys; one that was declared several times may be there as often.
    pub keys: Vec<KeyExpr>,
    /// The next piece begins here; `None` after the last one.
    pub rest: Option<Rest>,
}

/// The place between two pieces. What is declared or withdrawn meanwhile may be missed.
#[derive(Clone, Debug)]
pub struct Rest(After);

#[derive(Clone, Debug)]
enum After {
    Id(u32),
    Key(KeyExpr),
}

/// Why a sample goes somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// A subscription that the sample matches.
    pub key: KeyExpr,
    /// Whose it is.
    pub owner: Owner,
    /// The neighbour towards the owner and the node on whose tree that is; `None` if the sample does
    /// not get there through this node.
    pub next: Option<(FaceId, NodeIx)>,
}

/// Where the samples of a key go, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Subscriptions that the key matches, up to the limit that was given.
    pub reasons: Vec<Reason>,
    /// How many more there are.
    pub more: usize,
    /// Neighbours that have not told yet what they want and get everything until then.
    pub unsure: Vec<FaceId>,
}

impl Routing {
    /// All faces, this node's session first. Cost: proportional to their number.
    pub fn face_views(&self) -> impl Iterator<Item = FaceView> + '_ {
        self.faces.values().map(|face| FaceView {
            face: face.id,
            zid: face.zid,
            whatami: face.whatami,
            region: face.region,
            declared: core::array::from_fn(|kind| face.declared[kind].len()),
            interests: face.interests.len(),
            queries: face.queries_pending,
        })
    }

    /// Everybody who may own something: the faces, then the nodes of networks.
    pub fn owners(&self) -> Vec<Owner> {
        let faces = self.faces.keys().map(|face| Owner::Face(*face));
        faces.chain(self.sourced.keys().map(|(region, node)| Owner::Node(*region, *node))).collect()
    }

    /// Identity and mode of an owner that is still there.
    pub fn identity(&self, owner: Owner) -> Option<(ZenohId, WhatAmI)> {
        match owner {
            Owner::Face(face) => self.faces.get(&face).map(|face| (face.zid, face.whatami)),
            Owner::Node(region, node) => self.networks.get(&region)?.identity(node),
        }
    }

    /// The region that an owner belongs to.
    pub fn owner_region(&self, owner: Owner) -> Region {
        match owner {
            Owner::Face(face) => self.region(face),
            Owner::Node(region, _) => region,
        }
    }

    /// The next of what an owner has, at most `len_max` of them: begins with `None` and goes on with
    /// what the piece before says.
    pub fn owned(
        &self,
        owner: Owner,
        entity: Entity,
        after: Option<&Rest>,
        len_max: usize,
    ) -> Piece {
        let none = Piece { keys: Vec::new(), rest: None };
        match owner {
            Owner::Face(face) => match self.faces.get(&face) {
                Some(face) if entity.is_interest() => interests(face, entity, after, len_max),
                Some(face) => {
                    let declared = &face.declared[entity.kind().index()];
                    by_id(declared, after, len_max, |key| Some(key.clone()))
                }
                None => none,
            },
            Owner::Node(..) if entity.is_interest() => none,
            Owner::Node(region, node) => match self.sourced.get(&(region, node)) {
                Some(kinds) => by_key(&kinds[entity.kind().index()], after, len_max),
                None => none,
            },
        }
    }

    /// How many declarations of a kind the nodes of networks own. Cost: proportional to the nodes.
    pub fn sourced_count(&self, kind: Kind) -> usize {
        self.sourced.values().map(|kinds| kinds[kind.index()].len()).sum()
    }

    /// The regions of which there is a graph: networks, and peers that say with whom they are linked.
    pub fn graph_regions(&self) -> Vec<Region> {
        let peers = self.faces.values().filter(|face| face.whatami == WhatAmI::Peer);
        let peers = peers.filter(|face| face.id != FaceId::LOCAL).map(|face| face.region);
        let all: BTreeSet<Region> = self.networks.keys().copied().chain(peers).collect();
        all.into_iter().collect()
    }

    /// The nodes and links of a region as far as they are known here; this node alone for one that it
    /// has nothing to do with. Cost: proportional to both.
    pub fn region_graph(&self, region: Region) -> RegionGraph {
        if self.networks.contains_key(&region) {
            self.network_graph(region)
        } else {
            self.star(region)
        }
    }

    fn network_graph(&self, region: Region) -> RegionGraph {
        let view = self.network(region);
        let edges = view.iter().flat_map(|node| {
            let to_lower = node.edges.iter().filter(|edge| edge.to < node.number);
            to_lower.map(|edge| (node.number.0, edge.to.0, Some(edge.weight)))
        });
        RegionGraph {
            edges: edges.collect(),
            nodes: view.iter().map(|node| (node.number.0, node.zid)).collect(),
        }
    }

    /// Neighbours that are no network: each is linked with this node, and says with whom else.
    fn star(&self, region: Region) -> RegionGraph {
        let members = self.faces.values();
        let members: Vec<&Face> = members.filter(|face| face.region == region).collect();
        let mut nodes = Vec::from([(0, self.config.zid)]);
        let mut edges = Vec::new();
        for (number, face) in (1..).zip(&members) {
            nodes.push((number, face.zid));
            edges.push((number, 0, None));
            for (other, neighbour) in (1..number).zip(&members) {
                if face.is_linked_with(neighbour.zid) && neighbour.is_linked_with(face.zid) {
                    edges.push((number, other, None));
                }
            }
        }
        RegionGraph { nodes, edges }
    }

    /// What is said about the cost of the link to a neighbour; `None` if it is no member of a network.
    pub fn link_weights(&self, face: FaceId) -> Option<LinkWeights> {
        let zid = self.faces.get(&face)?.zid;
        Some(self.networks.get(&self.network_of(face)?)?.weights_with(zid))
    }

    /// The identities of the nodes of all networks, this node's among them.
    pub fn network_nodes(&self) -> BTreeSet<ZenohId> {
        self.networks.values().flat_map(Network::zids).collect()
    }

    /// For messages that entered a network at `source`: each other node of it and the neighbour on the
    /// way there. Cost: a tree, if that of the source is not at hand; it is not kept then.
    pub fn successors(&mut self, source: ZenohId) -> Vec<(ZenohId, ZenohId)> {
        self.networks.values_mut().flat_map(|network| network.successors(source)).collect()
    }

    /// Where samples on `key` from `source` go and why, with at most `reasons_max` of the reasons.
    ///
    /// `source` is this node's session or a neighbour that is no member of a network. Cost: as
    /// [`Routing::data_route`], and an allocation for each reason.
    pub fn explain(&mut self, source: FaceId, key: &KeyExpr, reasons_max: usize) -> Explanation {
        let Some(from) = self.source(source, 0) else { return Explanation::default() };
        let (mut found, mut more) = (Vec::new(), 0);
        self.tables[Kind::Subscriber.index()].for_each_intersecting(key.as_ke(), |key, entry| {
            for owner in entry.owners.keys() {
                if found.len() < reasons_max {
                    found.push((key.clone(), *owner));
                } else {
                    more += 1;
                }
            }
        });
        let reasons = found.into_iter().map(|(key, owner)| {
            let next = match owner {
                Owner::Face(face) => {
                    self.passes(from, &self.faces[&face]).then_some((face, NodeIx::SELF))
                }
                Owner::Node(region, node) => {
                    self.towards(from, region, node).filter(|(face, _)| *face != source)
                }
            };
            Reason { key, owner, next }
        });
        let reasons = reasons.collect();
        let unsure = self.unsure(source, from, key).collect();
        Explanation { reasons, more, unsure }
    }
}

fn interests(face: &Face, entity: Entity, after: Option<&Rest>, len_max: usize) -> Piece {
    by_id(&face.interests, after, len_max, |interest| {
        let stands = interest.future && interest.kinds.contains(entity.kind());
        interest.key.clone().filter(|_| stands)
    })
}

fn by_id<T>(
    map: &BTreeMap<u32, T>,
    after: Option<&Rest>,
    len_max: usize,
    key: impl Fn(&T) -> Option<KeyExpr>,
) -> Piece {
    let first = match after {
        Some(Rest(After::Id(id))) => Excluded(*id),
        _ => Unbounded,
    };
    let (mut keys, mut last) = (Vec::new(), None);
    for (id, value) in map.range((first, Unbounded)).take(len_max) {
        keys.extend(key(value));
        last = Some(*id);
    }
    let rest = last.filter(|last| map.range((Excluded(*last), Unbounded)).next().is_some());
    Piece { keys, rest: rest.map(|id| Rest(After::Id(id))) }
}

fn by_key(set: &BTreeSet<KeyExpr>, after: Option<&Rest>, len_max: usize) -> Piece {
    let first = match after {
        Some(Rest(After::Key(key))) => Excluded(key),
        _ => Unbounded,
    };
    let mut rest = set.range::<KeyExpr, _>((first, Unbounded));
    let keys: Vec<KeyExpr> = rest.by_ref().take(len_max).cloned().collect();
    let more = rest.next().is_some();
    let rest = keys.last().filter(|_| more).map(|key| Rest(After::Key(key.clone())));
    Piece { keys, rest }
}
