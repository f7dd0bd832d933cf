//! What an operator asks of a running node: why a sample goes where it goes, other neighbours to
//! connect to, other weights of links. Rules are changed by [`Node::set_rules`].
//!
//! Spec: 03 §9.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_routing::{Explanation, FaceId};
use weft_wire::ZenohId;

use crate::config::DialTarget;
use crate::intercept::NodeRoute;
use crate::node::Node;
use crate::ports::Ports;

/// Where the samples of a key go, why, and what rules say about them.
#[derive(Clone, Debug)]
pub struct RouteExplanation {
    /// Their route.
    pub route: NodeRoute,
    /// The subscriptions behind it.
    pub why: Explanation,
}

impl Node {
    /// Where samples on `key` from `source` go, with at most `reasons_max` of the subscriptions that
    /// are the reason, see [`Routing::explain`](weft_routing::Routing::explain).
    pub fn explain(
        &mut self,
        source: FaceId,
        key: &KeyExpr,
        reasons_max: usize,
    ) -> RouteExplanation {
        let why = self.routing.explain(source, key, reasons_max);
        RouteExplanation { route: self.data_route(source, 0, key), why }
    }

    /// The ways from a node of a network, see
    /// [`Routing::successors`](weft_routing::Routing::successors).
    pub fn successors(&mut self, source: ZenohId) -> Vec<(ZenohId, ZenohId)> {
        self.routing.successors(source)
    }

    /// Replaces the neighbours that are to be connected to. Attempts that go on with the same endpoints
    /// are left alone; new ones begin at once. A neighbour that is not among them any more stays
    /// connected, and is not connected to again once it is gone.
    pub fn set_dial_targets(&mut self, targets: Vec<DialTarget>, ports: &mut dyn Ports) {
        let new = self.keep_configured(targets, ports);
        for target in new {
            self.connect(target, ports);
        }
    }

    /// Sets the weights that the configuration gives to links to members of a network.
    pub fn set_weights(
        &mut self,
        now_us: u64,
        weights: BTreeMap<ZenohId, u16>,
        ports: &mut dyn Ports,
    ) {
        self.with_routing(now_us, ports, |routing, out| routing.set_weights(now_us, weights, out));
    }
}
