//! The graph of a network: which nodes are linked, and what a link costs.
//!
//! Spec: 03 §2.7. Every node of a network has to come to the same weights, down to the last bit:
//! they decide which of two paths is taken, and nodes that disagree lose or repeat messages.

use alloc::vec::Vec;
use core::hash::Hasher;
use siphasher::sip::SipHasher13;
use weft_wire::ZenohId;

/// A node's number in a network, which is also what the node that numbers calls it towards its
/// neighbours (its psid there, 03 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIx(pub u16);

impl NodeIx {
    /// The node that numbers.
    pub const SELF: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link that both its ends agree on, as seen from one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The other end.
    pub to: NodeIx,
    /// What it costs to use it; positive, and the same in both directions.
    pub weight: f64,
}

/// The nodes of a network and the links between them, as a path computation sees them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    edges: Vec<Vec<Edge>>,
}

impl Graph {
    /// A graph without edges whose greatest number is `count - 1`.
    pub fn new(count: usize) -> Self {
        Self { edges: alloc::vec![Vec::new(); count] }
    }

    /// One more than the greatest number of a node.
    pub fn node_count(&self) -> usize {
        self.edges.len()
    }

    /// The links of a node, in the order of their other ends.
    pub fn edges(&self, node: NodeIx) -> &[Edge] {
        self.edges.get(node.index()).map_or(&[], Vec::as_slice)
    }

    /// Links `a` and `b`. Edges are added in the order of their numbers.
    pub fn connect(&mut self, a: NodeIx, b: NodeIx, weight: f64) {
        self.edges[a.index()].push(Edge { to: b, weight });
    }
}

/// What a link costs for which neither end says anything.
pub const DEFAULT_WEIGHT: u16 = 100;

/// The weight of the edge between two nodes, of which each may say what it should be; 0 says
/// nothing. Of two opinions the greater counts. A hash of both ends adds up to a hundredth, so that
/// no two paths are equally long.
pub fn edge_weight((a, says_a): (ZenohId, u16), (b, says_b): (ZenohId, u16)) -> f64 {
    let base = match says_a.max(says_b) {
        0 => DEFAULT_WEIGHT,
        weight => weight,
    };
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    hasher.write(&low.to_le_bytes());
    hasher.write(&high.to_le_bytes());
    let share = f64::from(hasher.finish() as u32) / 4_294_967_295.0;
    f64::from(base) * (1.0 + 0.01 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn weights_are_those_that_the_reference_publishes() {
        let text = include_str!("../../../../vectors/routing.json");
        let Value::Array(entries) = serde_json::from_str(text).unwrap() else { panic!() };
        let mut checked = 0;
        for entry in entries {
            let Some(expected) = entry["decoded"]["edge_weight"].as_f64() else { continue };
            let hex = entry["hex"].as_str().unwrap();
            let bytes: Vec<u8> = (0..32)
                .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let zid = |bytes: &[u8]| {
                let len = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
                ZenohId::from_le_bytes(&bytes[..len]).unwrap()
            };
            let (a, b) = (zid(&bytes[..16]), zid(&bytes[16..]));
            let base = entry["decoded"]["base_weight"].as_u64().unwrap() as u16;
            let says = if base == DEFAULT_WEIGHT { 0 } else { base };
            let weight = edge_weight((a, says), (b, 0));
            // The test's parser of decimals is not exact to the last bit.
            assert!((weight - expected).abs() < 2e-14, "{a} {b}: {weight}, not {expected}");
            assert_eq!(edge_weight((b, 0), (a, says)).to_bits(), weight.to_bits(), "{b} {a}");
            checked += 1;
        }
        assert!(checked >= 8, "only {checked} vectors");
    }

    #[test]
    fn the_greater_opinion_counts() {
        let (a, b) = ("a1".parse().unwrap(), "b2".parse().unwrap());
        assert_eq!(edge_weight((a, 7), (b, 0)).to_bits(), 7.036534559076311_f64.to_bits());
        let bits = |one, other| edge_weight(one, other).to_bits();
        assert_eq!(bits((a, 7), (b, 3)), bits((a, 0), (b, 7)));
    }
}
