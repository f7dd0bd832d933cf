//! A network: nodes that tell each other who is linked with whom, and route by the graph that this
//! makes.
//!
//! Spec: 03 §2.2 to §2.5, §2.7, §2.8. Routers form one; so do peers that are linked only through
//! other peers. Every member announces its links to all others (*link states*), and every member
//! computes the same trees from them. Not here: what travels along the trees (`sourced`), and
//! nodes that only know their neighbours (`gossip`).
//!
//! Invariants:
//! - a node is known here as long as a chain of announced links leads to it;
//! - an edge counts when both its ends announce it;
//! - this node's own number is [`NodeIx::SELF`], and numbers of departed nodes are given anew.

mod graph;
mod hosting;
mod paths;
mod telling;
mod trees;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use weft_wire::{LinkState, Locator, WhatAmI, ZenohId};

pub use graph::{DEFAULT_WEIGHT, Edge, Graph, NodeIx, edge_weight};
pub use paths::{LatencyWeighted, PathComputation, Paths, ShortestPaths};
pub use trees::NodeView;

pub(crate) use paths::Tree;

use self::hosting::{claim, is_leaf};
use self::telling::Owed;
use crate::face::{FaceId, FaceInit};
use crate::gossip::GossipConfig;
use crate::limits::{Limits, Violation};
use crate::outbox::Outbox;

/// Sequence numbers from here on are no clock's: whoever sends one lies.
const SN_MAX: u64 = 1 << 62;

/// What a network must know of the node it works for.
#[derive(Clone, Debug)]
pub(crate) struct NetworkConfig {
    pub(crate) zid: ZenohId,
    pub(crate) whatami: WhatAmI,
    pub(crate) gossip: GossipConfig,
    /// Weights that the configuration gives to links, by neighbour.
    pub(crate) weights: BTreeMap<ZenohId, u16>,
    pub(crate) computation: Arc<dyn PathComputation>,
    /// This node joins another network with this one.
    pub(crate) gateway: bool,
}

#[derive(Clone, Debug)]
struct Node {
    zid: ZenohId,
    whatami: Option<WhatAmI>,
    locators: Option<Vec<Locator>>,
    sn: u64,
    /// Its neighbours, and the weights that it announces; 0 is none.
    links: BTreeMap<ZenohId, u16>,
    gateway: bool,
    /// It is a neighbour of this node.
    face: Option<FaceId>,
    /// It is no member, and this node announces it.
    hosted: bool,
    /// What another node has announced of it meanwhile: that node may not say so again.
    rival: Option<(u64, BTreeMap<ZenohId, u16>)>,
}

#[derive(Clone, Debug)]
struct Link {
    zid: ZenohId,
    whatami: WhatAmI,
    /// The neighbour's numbers.
    psids: BTreeMap<u16, ZenohId>,
    /// What it has not been told yet.
    owed: Owed,
}

/// What a link state, or a link that comes or goes, changed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// Nodes that cannot be reached any more. Their numbers are free.
    pub(crate) removed: Vec<NodeIx>,
    /// Nodes with addresses that were not known.
    pub(crate) discovered: Vec<(ZenohId, WhatAmI, Vec<Locator>)>,
    /// The graph, or the meaning of a number, is not what it was.
    pub(crate) graph: bool,
}

/// One network that this node is a member of.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    config: NetworkConfig,
    sn: u64,
    nodes: Vec<Option<Node>>,
    by_zid: BTreeMap<ZenohId, NodeIx>,
    links: BTreeMap<FaceId, Link>,
    /// Announced links of all nodes together.
    link_count: usize,
    graph: Option<Graph>,
    trees: BTreeMap<NodeIx, Tree>,
    /// Distance from this node, by number.
    distances: Vec<f64>,
    /// Per neighbour, by number, where its way to that node begins.
    first_hops: BTreeMap<FaceId, Vec<Option<NodeIx>>>,
}

impl Network {
    pub(crate) fn new(config: NetworkConfig) -> Self {
        let own = Node {
            zid: config.zid,
            whatami: Some(config.whatami),
            locators: None,
            sn: 0,
            links: BTreeMap::new(),
            gateway: config.gateway,
            face: None,
            hosted: false,
            rival: None,
        };
        Self {
            sn: config.gossip.first_sn,
            by_zid: BTreeMap::from([(config.zid, NodeIx::SELF)]),
            nodes: Vec::from([Some(own)]),
            links: BTreeMap::new(),
            link_count: 0,
            graph: None,
            trees: BTreeMap::new(),
            distances: Vec::new(),
            first_hops: BTreeMap::new(),
            config,
        }
    }

    /// This node can be reached at other addresses than before.
    pub(crate) fn set_locators(&mut self, locators: &[Locator]) {
        self.config.gossip.locators = locators.to_vec();
        self.sn += 1;
        self.announce_self(None, None);
    }

    /// A neighbour has joined, or has been joined.
    pub(crate) fn link_up(
        &mut self,
        face: FaceId,
        init: &FaceInit,
        out: &mut dyn Outbox,
    ) -> Changes {
        let Some((node, is_new)) = self.node(init.zid) else { return Changes::default() };
        let known = self.nodes[node.index()].as_mut().expect("it has a number");
        known.face = Some(face);
        known.whatami = Some(init.whatami);
        let (psids, owed) = (BTreeMap::new(), Owed::default());
        self.links.insert(face, Link { zid: init.zid, whatami: init.whatami, psids, owed });
        let weight = self.weight_to(init.zid, None);
        self.own().links.insert(init.zid, weight);
        self.link_count += 1;
        self.sn += 1;
        self.announce_self(Some(face), is_new.then_some(node));
        self.tell_all(face, out);
        self.graph_changed();
        Changes { graph: true, ..Changes::default() }
    }

    /// A neighbour is gone, or at least the way to it.
    pub(crate) fn link_down(&mut self, face: FaceId) -> Changes {
        let Some(link) = self.links.remove(&face) else { return Changes::default() };
        if let Some(node) = self.by_zid.get(&link.zid).copied()
            && let Some(node) = self.nodes[node.index()].as_mut()
        {
            node.face = None;
        }
        self.own().links.remove(&link.zid);
        self.link_count -= 1;
        self.sn += 1;
        self.graph_changed();
        let removed = self.detach();
        self.announce_self(None, None);
        Changes { removed, graph: true, ..Changes::default() }
    }

    /// A round trip on the link to a neighbour was measured.
    pub(crate) fn measured(&mut self, face: FaceId, round_trip_us: u64) -> bool {
        let Some(zid) = self.links.get(&face).map(|link| link.zid) else { return false };
        let weight = self.weight_to(zid, Some(round_trip_us));
        if self.own().links.insert(zid, weight) == Some(weight) {
            return false;
        }
        self.sn += 1;
        self.announce_self(None, None);
        self.graph_changed();
        true
    }

    /// What this node announces for its link to `zid`.
    fn weight_to(&mut self, zid: ZenohId, round_trip_us: Option<u64>) -> u16 {
        if let Some(weight) = self.config.weights.get(&zid) {
            return *weight;
        }
        let announced = self.own().links.get(&zid).copied().unwrap_or(0);
        self.config.computation.link_weight(round_trip_us, announced)
    }

    /// Sets the weights that the configuration gives to links. Returns whether one changed.
    pub(crate) fn set_weights(&mut self, weights: BTreeMap<ZenohId, u16>) -> bool {
        self.config.weights = weights;
        let linked: Vec<ZenohId> = self.own().links.keys().copied().collect();
        let mut changed = false;
        for zid in linked {
            let weight = self.weight_to(zid, None);
            changed |= self.own().links.insert(zid, weight) != Some(weight);
        }
        if changed {
            self.sn += 1;
            self.announce_self(None, None);
            self.graph_changed();
        }
        changed
    }

    /// Handles link states from the neighbour behind `face`.
    pub(crate) fn received(
        &mut self,
        face: FaceId,
        states: Vec<LinkState>,
        limits: &Limits,
    ) -> Result<Changes, Violation> {
        let Some(link) = self.links.get_mut(&face) else { return Ok(Changes::default()) };
        let mut changes = Changes::default();
        for state in &states {
            if let Some(zid) = state.zid {
                changes.graph |= link.psids.insert(state.psid as u16, zid) != Some(zid);
            }
        }
        let mut news = News::default();
        for state in states {
            if state.sn >= SN_MAX {
                return Err(Violation::LinkState { sn: state.sn });
            }
            self.take(face, state, &mut news, &mut changes);
            let (nodes, links) = (self.by_zid.len(), self.link_count);
            if nodes > limits.network_nodes_max || links > limits.network_links_max {
                return Err(Violation::Network { max: limits.network_nodes_max });
            }
        }
        if changes.graph {
            self.graph_changed();
            changes.removed = self.detach();
        }
        news.forget(&changes.removed);
        self.propagate(face, &news);
        if news.contradicted {
            self.announce_self(None, None);
        }
        Ok(changes)
    }

    /// Takes note of one state, if it is news.
    fn take(&mut self, face: FaceId, state: LinkState, news: &mut News, changes: &mut Changes) {
        let psids = &self.links[&face].psids;
        let Some(zid) = state.zid.or_else(|| psids.get(&(state.psid as u16)).copied()) else {
            return;
        };
        let weights = state.weights.unwrap_or_default().into_iter().chain(core::iter::repeat(0));
        let links: BTreeMap<ZenohId, u16> = state
            .links
            .iter()
            .zip(weights)
            .filter_map(|(psid, weight)| {
                let psid = u16::try_from(*psid).ok()?;
                Some((*psids.get(&psid)?, weight))
            })
            .collect();
        if zid == self.config.zid {
            // Somebody remembers an earlier life of this node, which counted further; or has announced it as a
            // leaf, and others believe that.
            if claim(state.sn, &links) > claim(self.sn, &self.own().links) {
                self.sn = state.sn + 1;
                news.contradicted = true;
            }
            return;
        }
        let Some((ix, is_new)) = self.node(zid) else { return };
        let node = self.nodes[ix.index()].as_mut().expect("it has a number");
        if node.hosted && (is_leaf(&links) || links.is_empty()) {
            // Another gateway has announced it, and was further in counting; or does so no more, and
            // knows of it by the links of this one only.
            let latest = node.rival.as_ref().map(|(sn, links)| claim(*sn, links));
            if latest.is_none_or(|latest| claim(state.sn, &links) > latest) {
                let rival = !links.is_empty() && !links.contains_key(&self.config.zid);
                node.rival = rival.then(|| (state.sn, links.clone()));
            }
            if claim(state.sn, &links) > claim(node.sn, &node.links) {
                node.sn = state.sn + 1;
                news.new.insert(ix);
            }
            return;
        }
        if node.hosted {
            // It speaks for itself.
            node.hosted = false;
            node.sn = 0;
            self.own().links.remove(&zid);
            self.link_count -= 1;
            self.sn += 1;
            news.contradicted = true;
            changes.graph = true;
        }
        let node = self.nodes[ix.index()].as_mut().expect("it has a number");
        let first = node.sn == 0;
        let (said, known) = (claim(state.sn, &links), claim(node.sn, &node.links));
        if said >= known
            && let Some(link) = self.links.get_mut(&face)
        {
            link.owed.knows(ix);
        }
        if !is_new && said <= known {
            return;
        }
        if is_new || first {
            news.new.insert(ix);
        } else {
            news.updated.insert(ix);
        }
        node.sn = state.sn;
        node.whatami = Some(state.whatami.unwrap_or(WhatAmI::Router));
        node.gateway = state.gateway;
        if let Some(locators) = state.locators {
            if !locators.is_empty() && node.locators.as_ref() != Some(&locators) {
                let whatami = node.whatami.unwrap_or(WhatAmI::Router);
                changes.discovered.push((zid, whatami, locators.clone()));
            }
            node.locators = Some(locators);
        }
        changes.graph |= is_new || node.links != links;
        self.link_count = self.link_count + links.len() - node.links.len();
        let neighbours: Vec<ZenohId> = links.keys().copied().collect();
        node.links = links;
        for zid in neighbours {
            if let Some((ix, true)) = self.node(zid) {
                news.new.insert(ix);
            }
        }
    }

    /// The number of a node, given to it if it is new; `None` when there are none left.
    fn node(&mut self, zid: ZenohId) -> Option<(NodeIx, bool)> {
        if let Some(node) = self.by_zid.get(&zid) {
            return Some((*node, false));
        }
        let free = self.nodes.iter().position(Option::is_none).unwrap_or(self.nodes.len());
        let number = NodeIx(u16::try_from(free).ok().filter(|number| *number < u16::MAX)?);
        let node = Node {
            zid,
            whatami: None,
            locators: None,
            sn: 0,
            links: BTreeMap::new(),
            gateway: false,
            face: None,
            hosted: false,
            rival: None,
        };
        if free == self.nodes.len() {
            self.nodes.push(Some(node));
        } else {
            self.nodes[free] = Some(node);
        }
        self.by_zid.insert(zid, number);
        Some((number, true))
    }

    /// Forgets the nodes to which no announced links lead.
    fn detach(&mut self) -> Vec<NodeIx> {
        let mut reached = BTreeSet::from([NodeIx::SELF]);
        let mut open = Vec::from([NodeIx::SELF]);
        while let Some(node) = open.pop() {
            let Some(node) = &self.nodes[node.index()] else { continue };
            for zid in node.links.keys() {
                if let Some(next) = self.by_zid.get(zid)
                    && reached.insert(*next)
                {
                    open.push(*next);
                }
            }
        }
        let removed: Vec<NodeIx> = self.numbers().filter(|node| !reached.contains(node)).collect();
        for node in &removed {
            if let Some(gone) = self.nodes[node.index()].take() {
                self.by_zid.remove(&gone.zid);
                self.link_count -= gone.links.len();
            }
        }
        removed
    }

    fn own(&mut self) -> &mut Node {
        self.nodes[NodeIx::SELF.index()].as_mut().expect("this node never leaves itself")
    }

    fn numbers(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.by_zid.values().copied().collect::<BTreeSet<_>>().into_iter()
    }

    fn known(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(ix, node)| Some((NodeIx(ix as u16), node.as_ref()?)))
    }

    /// The node that a neighbour means by `psid` (03 §2.8).
    pub(crate) fn source(&self, face: FaceId, psid: u16) -> Option<NodeIx> {
        let link = self.links.get(&face)?;
        match link.psids.get(&psid) {
            Some(zid) => self.by_zid.get(zid).copied(),
            // It speaks for itself before it has said its number.
            None if psid == 0 => self.by_zid.get(&link.zid).copied(),
            None => None,
        }
    }

    pub(crate) fn face_of(&self, node: NodeIx) -> Option<FaceId> {
        self.nodes.get(node.index())?.as_ref()?.face
    }

    pub(crate) fn zid_of(&self, node: NodeIx) -> Option<ZenohId> {
        Some(self.nodes.get(node.index())?.as_ref()?.zid)
    }

    /// The number of a node, if it can be reached.
    pub(crate) fn find(&self, zid: ZenohId) -> Option<NodeIx> {
        self.by_zid.get(&zid).copied()
    }

    /// Whether `node` is a neighbour and says so, too.
    pub(crate) fn agrees(&self, node: NodeIx) -> bool {
        let node = self.nodes.get(node.index()).and_then(Option::as_ref);
        node.is_some_and(|node| node.face.is_some() && node.links.contains_key(&self.config.zid))
    }

    /// The numbers of all other nodes.
    pub(crate) fn others(&self) -> Vec<NodeIx> {
        self.numbers().filter(|node| *node != NodeIx::SELF).collect()
    }

    /// Nodes, this one included.
    pub(crate) fn len(&self) -> usize {
        self.by_zid.len()
    }
}

/// Nodes that others have to be told of.
#[derive(Debug, Default)]
struct News {
    new: BTreeSet<NodeIx>,
    updated: BTreeSet<NodeIx>,
    /// A neighbour knows something about this node that this node does not.
    contradicted: bool,
}

impl News {
    fn forget(&mut self, gone: &[NodeIx]) {
        for node in gone {
            self.new.remove(node);
            self.updated.remove(node);
        }
    }
}
