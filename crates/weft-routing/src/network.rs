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
mod paths;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use weft_wire::{LinkState, Locator, WhatAmI, ZenohId};

pub use graph::{DEFAULT_WEIGHT, Edge, Graph, NodeIx, edge_weight};
pub use paths::{LatencyWeighted, PathComputation, Paths, ShortestPaths};

pub(crate) use paths::Tree;

use crate::face::{FaceId, FaceInit};
use crate::gossip::GossipConfig;
use crate::limits::{Limits, Violation};
use crate::message::send_link_states;
use crate::outbox::Outbox;

/// Sequence numbers from here on are no clock's: whoever sends one lies.
const SN_MAX: u64 = 1 << 62;

/// The weight of the only link of a node that is no member and that a member announces.
const LEAF_WEIGHT: u16 = 1;

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

#[derive(Debug)]
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
}

#[derive(Debug)]
struct Link {
    zid: ZenohId,
    whatami: WhatAmI,
    /// The neighbour's numbers.
    psids: BTreeMap<u16, ZenohId>,
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
#[derive(Debug)]
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
    pub(crate) fn set_locators(&mut self, locators: &[Locator], out: &mut dyn Outbox) {
        self.config.gossip.locators = locators.to_vec();
        self.sn += 1;
        self.announce_self(None, &[], out);
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
        let link = Link { zid: init.zid, whatami: init.whatami, psids: BTreeMap::new() };
        self.links.insert(face, link);
        let weight = self.weight_to(init.zid, None);
        self.own().links.insert(init.zid, weight);
        self.link_count += 1;
        self.sn += 1;
        let introduced = if is_new { &[node][..] } else { &[] };
        self.announce_self(Some(face), introduced, out);
        let whole: Vec<NodeIx> = self.numbers().collect();
        let states = whole.into_iter().map(|node| self.state(node, true, face)).collect();
        send_link_states(face, states, out);
        self.graph_changed();
        Changes { graph: true, ..Changes::default() }
    }

    /// A neighbour is gone, or at least the way to it.
    pub(crate) fn link_down(&mut self, face: FaceId, out: &mut dyn Outbox) -> Changes {
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
        self.announce_self(None, &[], out);
        Changes { removed, graph: true, ..Changes::default() }
    }

    /// A round trip on the link to a neighbour was measured.
    pub(crate) fn measured(
        &mut self,
        face: FaceId,
        round_trip_us: u64,
        out: &mut dyn Outbox,
    ) -> bool {
        let Some(zid) = self.links.get(&face).map(|link| link.zid) else { return false };
        let weight = self.weight_to(zid, Some(round_trip_us));
        if self.own().links.insert(zid, weight) == Some(weight) {
            return false;
        }
        self.sn += 1;
        self.announce_self(None, &[], out);
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
    pub(crate) fn set_weights(
        &mut self,
        weights: BTreeMap<ZenohId, u16>,
        out: &mut dyn Outbox,
    ) -> bool {
        self.config.weights = weights;
        let linked: Vec<ZenohId> = self.own().links.keys().copied().collect();
        let mut changed = false;
        for zid in linked {
            let weight = self.weight_to(zid, None);
            changed |= self.own().links.insert(zid, weight) != Some(weight);
        }
        if changed {
            self.sn += 1;
            self.announce_self(None, &[], out);
            self.graph_changed();
        }
        changed
    }

    /// Announces a node that is no member as a leaf behind this one. `None` if there is no number for
    /// it, or if it is a member.
    pub(crate) fn host(
        &mut self,
        zid: ZenohId,
        whatami: WhatAmI,
        out: &mut dyn Outbox,
    ) -> Option<(NodeIx, Changes)> {
        let (ix, _) = self.node(zid)?;
        let own = self.config.zid;
        self.sn += 1;
        let sn = self.sn;
        let node = self.nodes[ix.index()].as_mut().filter(|node| node.face.is_none())?;
        node.hosted = true;
        node.whatami = Some(whatami);
        node.sn = sn.max(node.sn + 1);
        self.link_count += 2 - node.links.len();
        node.links = BTreeMap::from([(own, LEAF_WEIGHT)]);
        self.own().links.insert(zid, 0);
        self.announce_hosted(ix, out);
        self.graph_changed();
        Some((ix, Changes { graph: true, ..Changes::default() }))
    }

    fn announce_hosted(&mut self, node: NodeIx, out: &mut dyn Outbox) {
        for face in self.links.keys().copied() {
            let states =
                Vec::from([self.state(node, true, face), self.state(NodeIx::SELF, false, face)]);
            send_link_states(face, states, out);
        }
    }

    /// Ends the announcement of a node.
    pub(crate) fn unhost(&mut self, node: NodeIx, out: &mut dyn Outbox) -> Changes {
        let hosted = self.nodes.get_mut(node.index()).and_then(Option::as_mut);
        let Some(gone) = hosted.filter(|node| node.hosted) else { return Changes::default() };
        // Whoever announces it next is believed.
        gone.hosted = false;
        gone.sn = 0;
        self.link_count -= 1 + core::mem::take(&mut gone.links).len();
        let zid = gone.zid;
        self.own().links.remove(&zid);
        self.sn += 1;
        self.graph_changed();
        let removed = self.detach();
        self.announce_self(None, &[], out);
        Changes { removed, graph: true, ..Changes::default() }
    }

    /// Handles link states from the neighbour behind `face`.
    pub(crate) fn received(
        &mut self,
        face: FaceId,
        states: Vec<LinkState>,
        limits: &Limits,
        out: &mut dyn Outbox,
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
        self.propagate(face, &news, out);
        if news.contradicted {
            self.announce_self(None, &[], out);
        }
        Ok(changes)
    }

    /// Takes note of one state, if it is news.
    fn take(&mut self, face: FaceId, state: LinkState, news: &mut News, changes: &mut Changes) {
        let psids = &self.links[&face].psids;
        let Some(zid) = state.zid.or_else(|| psids.get(&(state.psid as u16)).copied()) else {
            return;
        };
        if zid == self.config.zid {
            // Somebody remembers an earlier life of this node, which counted further.
            if state.sn > self.sn {
                self.sn = state.sn + 1;
                news.contradicted = true;
            }
            return;
        }
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
        let Some((ix, is_new)) = self.node(zid) else { return };
        let node = self.nodes[ix.index()].as_mut().expect("it has a number");
        if node.hosted && is_leaf(&links) {
            // Another gateway has announced it, and was further in counting.
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
        if !is_new && claim(state.sn, &links) <= claim(node.sn, &node.links) {
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

    /// Tells every neighbour what is news, in one list each (03 §2.5).
    fn propagate(&self, from: FaceId, news: &News, out: &mut dyn Outbox) {
        for (face, link) in &self.links {
            let new = news.new.iter().map(|node| (*node, true));
            let updated = news.updated.iter().map(|node| (*node, false));
            let updated = updated.filter(|(node, _)| *face != from && !self.hears(link.zid, *node));
            let states: Vec<LinkState> = new
                .chain(updated)
                .map(|(node, with_zid)| self.state(node, with_zid, *face))
                .collect();
            if !states.is_empty() {
                send_link_states(*face, states, out);
            }
        }
    }

    /// Whether a neighbour hears of the changes of `node` from that one itself. What others say about
    /// a neighbour it has to hear, to be able to contradict.
    fn hears(&self, neighbour: ZenohId, node: NodeIx) -> bool {
        let Some(node) = &self.nodes[node.index()] else { return true };
        node.zid != neighbour
            && node.links.contains_key(&neighbour)
            && self.by_zid.get(&neighbour).is_some_and(|ix| {
                let other = self.nodes[ix.index()].as_ref();
                other.is_some_and(|other| other.links.contains_key(&node.zid))
            })
    }

    /// Tells all neighbours but `except` about this node, after the nodes that they have to know
    /// for that.
    fn announce_self(
        &mut self,
        except: Option<FaceId>,
        introduced: &[NodeIx],
        out: &mut dyn Outbox,
    ) {
        for face in self.links.keys().copied().filter(|face| Some(*face) != except) {
            let mut states: Vec<LinkState> = introduced
                .iter()
                .map(|node| LinkState { links: Vec::new(), ..self.state(*node, true, face) })
                .collect();
            states.push(self.state(NodeIx::SELF, false, face));
            send_link_states(face, states, out);
        }
    }

    fn own(&mut self) -> &mut Node {
        self.nodes[NodeIx::SELF.index()].as_mut().expect("this node never leaves itself")
    }

    /// What the neighbour behind `to` is told about a node.
    fn state(&self, ix: NodeIx, with_zid: bool, to: FaceId) -> LinkState {
        let node = self.nodes[ix.index()].as_ref().expect("only nodes with a number are told");
        let own = ix == NodeIx::SELF;
        let links: Vec<(u64, u16)> = node
            .links
            .iter()
            .filter_map(|(zid, weight)| Some((self.by_zid.get(zid)?.0.into(), *weight)))
            .collect();
        let near = own || node.face.is_some() || self.config.gossip.multihop;
        let gossip = &self.config.gossip;
        let told = near && gossip.enabled && gossip.target.matches(self.links[&to].whatami);
        // A peer on a router has no reason to dial others (03 §2.6).
        let is_router = |whatami| whatami == Some(WhatAmI::Router);
        let served =
            is_router(Some(self.config.whatami)) && !is_router(Some(self.links[&to].whatami));
        let told = told && (own || !served || !is_router(node.whatami));
        let locators = if own { Some(gossip.locators.clone()) } else { node.locators.clone() };
        LinkState {
            psid: ix.0.into(),
            sn: if own { self.sn } else { node.sn },
            zid: with_zid.then_some(node.zid),
            whatami: Some(node.whatami.unwrap_or(WhatAmI::Router)),
            locators: locators.filter(|_| told),
            weights: links
                .iter()
                .any(|(_, weight)| *weight != 0)
                .then(|| links.iter().map(|(_, weight)| *weight).collect()),
            links: links.into_iter().map(|(psid, _)| psid).collect(),
            gateway: node.gateway,
        }
    }

    fn numbers(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.by_zid.values().copied().collect::<BTreeSet<_>>().into_iter()
    }

    fn graph_changed(&mut self) {
        self.graph = None;
        self.trees.clear();
        self.distances.clear();
        self.first_hops.clear();
    }

    /// The graph of the edges that both ends agree on.
    fn build_graph(&self) -> Graph {
        let mut graph = Graph::new(self.nodes.len());
        for (ix, node) in self.known() {
            for (zid, weight) in &node.links {
                let Some(other) = self.by_zid.get(zid).copied() else { continue };
                let Some(neighbour) = &self.nodes[other.index()] else { continue };
                if let Some(back) = neighbour.links.get(&node.zid)
                    && other != ix
                {
                    graph.connect(ix, other, edge_weight((node.zid, *weight), (*zid, *back)));
                }
            }
        }
        graph
    }

    fn known(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(ix, node)| Some((NodeIx(ix as u16), node.as_ref()?)))
    }

    /// The tree of messages that come from `root`.
    pub(crate) fn tree(&mut self, root: NodeIx) -> &Tree {
        if self.graph.is_none() {
            self.graph = Some(self.build_graph());
        }
        let graph = self.graph.as_ref().expect("it was just built");
        let computation = &self.config.computation;
        let distances = &mut self.distances;
        self.trees.entry(root).or_insert_with(|| {
            let paths = computation.paths(graph, root);
            let tree = Tree::new(&paths);
            if root == NodeIx::SELF {
                *distances = paths.distance;
            }
            tree
        })
    }

    /// The neighbours that messages of `root` are passed on to: those whose own way to the root
    /// leads here.
    pub(crate) fn children(&mut self, root: NodeIx) -> BTreeSet<FaceId> {
        self.first_hops();
        let children = self.first_hops.iter();
        let children =
            children.filter(|(_, hops)| hops.get(root.index()) == Some(&Some(NodeIx::SELF)));
        children.map(|(face, _)| *face).collect()
    }

    /// The neighbour that messages of `root` come from: the one on this node's way to it.
    pub(crate) fn parent(&mut self, root: NodeIx) -> Option<FaceId> {
        self.towards(NodeIx::SELF, root)
    }

    /// Computes where the ways of each neighbour to all others begin, as far as that is through
    /// this node. Cost: a tree for each neighbour, once after each change of the graph.
    fn first_hops(&mut self) {
        if !self.first_hops.is_empty() {
            return;
        }
        self.tree(NodeIx::SELF);
        let Some(graph) = &self.graph else { return };
        for (face, link) in &self.links {
            let Some(neighbour) = self.by_zid.get(&link.zid).copied() else { continue };
            let paths = self.config.computation.paths(graph, neighbour);
            self.first_hops.insert(*face, paths.first_hops());
        }
    }

    /// The neighbour to which a message of `root` for `node` goes.
    pub(crate) fn towards(&mut self, root: NodeIx, node: NodeIx) -> Option<FaceId> {
        let next = self.tree(root).towards(node)?;
        self.face_of(next)
    }

    /// How far away a node is, in whole units of weight, at most 65,535 (03 §2.7).
    pub(crate) fn distance(&mut self, node: NodeIx) -> u16 {
        self.tree(NodeIx::SELF);
        self.distances.get(node.index()).map_or(u16::MAX, |distance| *distance as u16)
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

    /// Whether a node speaks for itself. Others have one link, of a weight of its own.
    pub(crate) fn is_member(&self, zid: ZenohId) -> bool {
        let node = self.find(zid).and_then(|node| self.nodes[node.index()].as_ref());
        node.is_some_and(|node| node.sn != 0 && !is_leaf(&node.links))
    }

    /// The numbers of all other nodes.
    pub(crate) fn others(&self) -> Vec<NodeIx> {
        self.numbers().filter(|node| *node != NodeIx::SELF).collect()
    }

    /// Nodes, this one included.
    pub(crate) fn len(&self) -> usize {
        self.by_zid.len()
    }

    /// Each node with its links: number, identity, mode, and its neighbours by number with the weight
    /// of the edge, if both agree on it.
    pub(crate) fn view(&self) -> Vec<NodeView> {
        let graph = self.build_graph();
        self.known()
            .map(|(ix, node)| NodeView {
                number: ix,
                zid: node.zid,
                whatami: node.whatami.unwrap_or(WhatAmI::Router),
                gateway: node.gateway,
                edges: graph.edges(ix).to_vec(),
                weights: node.links.clone(),
            })
            .collect()
    }
}

/// What makes one state newer than another one. Two gateways may count alike when they announce the
/// same node; the greater one will keep it.
fn claim(sn: u64, links: &BTreeMap<ZenohId, u16>) -> (u64, Option<ZenohId>) {
    (sn, links.keys().next().copied().filter(|_| is_leaf(links)))
}

/// Whether these are the links that a member announces for a node that is none.
fn is_leaf(links: &BTreeMap<ZenohId, u16>) -> bool {
    links.len() == 1 && links.values().all(|weight| *weight == LEAF_WEIGHT)
}

/// A node of a network, for inspection.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeView {
    /// Its number here.
    pub number: NodeIx,
    /// Its identity.
    pub zid: ZenohId,
    /// Its mode.
    pub whatami: WhatAmI,
    /// It joins this network with another one.
    pub gateway: bool,
    /// The links that both ends announce.
    pub edges: Vec<Edge>,
    /// The weights that it announces for its links, by neighbour; 0 is none.
    pub weights: BTreeMap<ZenohId, u16>,
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
