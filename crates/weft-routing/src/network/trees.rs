//! The graph and the trees of a network, computed when they are needed.
//!
//! Spec: 03 §2.7.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_wire::{WhatAmI, ZenohId};

use super::graph::{Edge, Graph, edge_weight};
use super::{Network, Node, NodeIx, Tree};
use crate::face::FaceId;
use crate::view::LinkWeights;

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

impl Network {
    pub(super) fn graph_changed(&mut self) {
        self.graph = None;
        self.trees.clear();
        self.distances.clear();
        self.first_hops.clear();
    }

    /// The graph of the edges that both ends agree on.
    pub(super) fn build_graph(&self) -> Graph {
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
    pub(super) fn first_hops(&mut self) {
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

    /// Identity and mode of a node.
    pub(crate) fn identity(&self, node: NodeIx) -> Option<(ZenohId, WhatAmI)> {
        let node = self.nodes.get(node.index())?.as_ref()?;
        Some((node.zid, node.whatami.unwrap_or(WhatAmI::Router)))
    }

    /// The identities of the other nodes that say that they join this network with another one.
    pub(crate) fn gateways(&self) -> impl Iterator<Item = ZenohId> {
        self.known().filter(|(ix, node)| *ix != NodeIx::SELF && node.gateway).map(|(_, it)| it.zid)
    }

    /// The identities of all nodes.
    pub(crate) fn zids(&self) -> impl Iterator<Item = ZenohId> {
        self.by_zid.keys().copied()
    }

    /// What this node and a neighbour say about the cost of their link.
    pub(crate) fn weights_with(&self, zid: ZenohId) -> LinkWeights {
        let said = |ix: Option<&NodeIx>, to: ZenohId| {
            let node = ix.and_then(|ix| self.nodes[ix.index()].as_ref());
            node.and_then(|node| node.links.get(&to).copied()).filter(|weight| *weight != 0)
        };
        let own = said(Some(&NodeIx::SELF), zid);
        LinkWeights { own, remote: said(self.by_zid.get(&zid), self.config.zid) }
    }

    /// Each other node and the neighbour on the way there in the tree of `source`, which is kept only if
    /// it was there before.
    pub(crate) fn successors(&mut self, source: ZenohId) -> Vec<(ZenohId, ZenohId)> {
        let Some(root) = self.by_zid.get(&source).copied() else { return Vec::new() };
        let is_kept = root == NodeIx::SELF || self.trees.contains_key(&root);
        self.tree(root);
        let tree = &self.trees[&root];
        let way = |(node, known): (NodeIx, &Node)| {
            let (next, _) = self.identity(tree.towards(node)?)?;
            Some((known.zid, next))
        };
        let ways = self.known().filter(|(node, _)| *node != NodeIx::SELF).filter_map(way).collect();
        if !is_kept {
            self.trees.remove(&root);
        }
        ways
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
