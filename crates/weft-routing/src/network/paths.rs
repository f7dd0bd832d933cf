//! Paths through a network: the trees along which messages travel.
//!
//! Spec: 03 §2.7. For each node that messages come from there is a tree that leads to all others.
//! How trees are computed can be replaced ([`PathComputation`]); what they are used for cannot.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use super::graph::{Graph, NodeIx};

/// The tree of one root: how each node is reached from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// The node before each node on the way from the root; `None` for the root itself and for nodes
    /// that cannot be reached.
    pub predecessor: Vec<Option<NodeIx>>,
    /// What the way from the root costs; infinite for nodes that cannot be reached.
    pub distance: Vec<f64>,
}

impl Paths {
    /// Per node, the second node on the way from the root to it: the root's neighbour there.
    pub(crate) fn first_hops(&self) -> Vec<Option<NodeIx>> {
        let mut order: Vec<usize> =
            (0..self.distance.len()).filter(|node| self.distance[*node].is_finite()).collect();
        order.sort_by(|a, b| self.distance[*a].total_cmp(&self.distance[*b]));
        let mut first = alloc::vec![None; self.distance.len()];
        for node in order {
            first[node] = self.predecessor[node]
                .map(|before| first[before.index()].unwrap_or(NodeIx(node as u16)));
        }
        first
    }
}

/// How the trees of a network are computed.
///
/// All nodes of a network have to use the same computation, and it has to depend on nothing but its
/// arguments: every node computes every tree by itself, and messages are lost or repeated where two
/// nodes disagree. The way between two nodes has to be the same in both directions.
pub trait PathComputation: fmt::Debug + Send + Sync {
    /// The tree of `root`. Called for each root that sends something through this node, after each
    /// change of the graph.
    fn paths(&self, graph: &Graph, root: NodeIx) -> Paths;

    /// Whether the round trips to neighbours are to be measured, see [`PathComputation::link_weight`].
    fn measures(&self) -> bool {
        false
    }

    /// The weight that this node announces for a link of its own, where the configuration gives none:
    /// 1 or more, or 0 for no opinion. `round_trip_us` is the round trip that was measured on the
    /// link, in microseconds, and `announced` the weight so far; a weight that changes with every
    /// measurement floods the network.
    fn link_weight(&self, round_trip_us: Option<u64>, announced: u16) -> u16 {
        let _ = (round_trip_us, announced);
        0
    }
}

/// Shortest paths by the announced weights: what other implementations compute, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortestPaths;

/// A node to be visited, the nearest first.
struct Visit {
    distance: f64,
    node: NodeIx,
}

impl PartialEq for Visit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Visit {}

impl PartialOrd for Visit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Visit {
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance).then_with(|| other.node.cmp(&self.node))
    }
}

impl PathComputation for ShortestPaths {
    /// Cost: edges times the logarithm of the nodes.
    fn paths(&self, graph: &Graph, root: NodeIx) -> Paths {
        let count = graph.node_count();
        let mut paths = Paths {
            predecessor: alloc::vec![None; count],
            distance: alloc::vec![f64::INFINITY; count],
        };
        if root.index() >= count {
            return paths;
        }
        paths.distance[root.index()] = 0.0;
        let mut open = BinaryHeap::from([Visit { distance: 0.0, node: root }]);
        while let Some(Visit { distance, node }) = open.pop() {
            if distance > paths.distance[node.index()] {
                continue;
            }
            for edge in graph.edges(node) {
                let there = distance + edge.weight;
                if there < paths.distance[edge.to.index()] {
                    paths.distance[edge.to.index()] = there;
                    paths.predecessor[edge.to.index()] = Some(node);
                    open.push(Visit { distance: there, node: edge.to });
                }
            }
        }
        paths
    }
}

/// The default for links whose neighbour has not been measured, in [`LatencyWeighted`] units.
const UNMEASURED_WEIGHT: u16 = 100;

/// Shortest paths by measured round trips: each node announces for its links the round trip in
/// tenths of a millisecond, at least 1. Other implementations follow the announced weights.
///
/// A new measurement is announced when it differs from the last one by more than half, so that
/// noise does not move routes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatencyWeighted;

impl LatencyWeighted {
    /// Microseconds a unit of weight.
    pub const UNIT_US: u64 = 100;
}

impl PathComputation for LatencyWeighted {
    fn paths(&self, graph: &Graph, root: NodeIx) -> Paths {
        ShortestPaths.paths(graph, root)
    }

    fn measures(&self) -> bool {
        true
    }

    fn link_weight(&self, round_trip_us: Option<u64>, announced: u16) -> u16 {
        let Some(round_trip_us) = round_trip_us else {
            return if announced == 0 { UNMEASURED_WEIGHT } else { announced };
        };
        let weight = (round_trip_us / Self::UNIT_US).clamp(1, u64::from(u16::MAX)) as u16;
        let (weight, before) = (u32::from(weight), u32::from(announced));
        let moved = weight * 2 > before * 3 || weight * 3 < before * 2;
        if moved { weight as u16 } else { announced }
    }
}

/// One root's tree as this node uses it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Per node, the neighbour through which it is reached from here in this tree.
    towards: Vec<Option<NodeIx>>,
}

impl Tree {
    /// What `paths` mean for the node [`NodeIx::SELF`].
    pub(crate) fn new(paths: &Paths) -> Self {
        let own = NodeIx::SELF;
        let mut order: Vec<usize> =
            (0..paths.distance.len()).filter(|node| paths.distance[*node].is_finite()).collect();
        order.sort_by(|a, b| paths.distance[*a].total_cmp(&paths.distance[*b]));
        let parent = paths.predecessor.first().copied().flatten();
        let mut towards = alloc::vec![None; paths.distance.len()];
        for node in order {
            let Some(before) = paths.predecessor[node] else { continue };
            if before == own {
                towards[node] = Some(NodeIx(node as u16));
            } else {
                towards[node] = towards[before.index()];
            }
        }
        for (node, towards) in towards.iter_mut().enumerate() {
            if node != own.index() && towards.is_none() && paths.distance[node].is_finite() {
                *towards = parent;
            }
        }
        Self { towards }
    }

    /// The neighbour on the way to `node`.
    pub(crate) fn towards(&self, node: NodeIx) -> Option<NodeIx> {
        self.towards.get(node.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square with one long side: 0-1-2 and 0-3-2, and 4 behind 2.
    fn square() -> Graph {
        let mut graph = Graph::new(6);
        for (a, b, weight) in [(0, 1, 1.0), (1, 2, 1.0), (0, 3, 1.5), (3, 2, 1.0), (2, 4, 1.0)] {
            graph.connect(NodeIx(a), NodeIx(b), weight);
            graph.connect(NodeIx(b), NodeIx(a), weight);
        }
        graph
    }

    #[test]
    fn the_shorter_side_is_taken() {
        let paths = ShortestPaths.paths(&square(), NodeIx(0));
        assert_eq!(paths.distance, [0.0, 1.0, 2.0, 1.5, 3.0, f64::INFINITY]);
        assert_eq!(paths.predecessor[4], Some(NodeIx(2)));
        assert_eq!(paths.predecessor[5], None);
    }

    #[test]
    fn a_tree_knows_the_way_to_everybody() {
        let own = Tree::new(&ShortestPaths.paths(&square(), NodeIx(0)));
        assert_eq!(own.towards(NodeIx(4)), Some(NodeIx(1)));
        assert_eq!(own.towards(NodeIx(5)), None);

        let other = Tree::new(&ShortestPaths.paths(&square(), NodeIx(1)));
        assert_eq!(other.towards(NodeIx(3)), Some(NodeIx(1)), "not through this node");

        let mut line = Graph::new(4);
        for (a, b) in [(1, 0), (0, 2), (2, 3)] {
            line.connect(NodeIx(a), NodeIx(b), 1.0);
            line.connect(NodeIx(b), NodeIx(a), 1.0);
        }
        let through = Tree::new(&ShortestPaths.paths(&line, NodeIx(1)));
        assert_eq!(through.towards(NodeIx(3)), Some(NodeIx(2)));
        assert_eq!(through.towards(NodeIx(1)), Some(NodeIx(1)));
    }

    #[test]
    fn latency_moves_a_weight_only_if_it_changes_much() {
        let weigh =
            |round_trip_us, announced| LatencyWeighted.link_weight(round_trip_us, announced);
        assert_eq!(weigh(None, 0), UNMEASURED_WEIGHT);
        assert_eq!(weigh(None, 7), 7);
        assert_eq!(weigh(Some(20), UNMEASURED_WEIGHT), 1);
        assert_eq!(weigh(Some(5_000), 0), 50);
        assert_eq!(weigh(Some(6_000), 50), 50);
        assert_eq!(weigh(Some(8_000), 50), 80);
        assert_eq!(weigh(Some(3_000), 50), 30);
        assert_eq!(weigh(Some(u64::MAX), 50), u16::MAX);
    }
}
