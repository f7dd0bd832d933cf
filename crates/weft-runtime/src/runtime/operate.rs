//! What an operator sees of a running node and changes on it.
//!
//! The control lock is held for one look or one change at a time; see `weft_routing::view` for what comes
//! in pieces. Counters are read without it, and without waiting for whoever reads a link.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_keyexpr::KeyExpr;
use weft_node::{DialTarget, DropCounts, FaceId, Flow, Node, Received, RouteExplanation, RuleSet};
use weft_transport::{TxQueue, TxStats};
use weft_wire::{WhatAmI, ZenohId};

use super::Runtime;
use crate::clock::now_us;
use crate::transport::Transport;

/// What was sent to a neighbour and received from it, and what waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Its face.
    pub face: FaceId,
    /// Its identity.
    pub zid: ZenohId,
    /// Its mode.
    pub whatami: WhatAmI,
    /// The protocol of the link that is written to, such as `tcp`; empty if there is none any more.
    pub protocol: &'static str,
    /// How many links it has.
    pub links: usize,
    /// What was sent.
    pub sent: TxStats,
    /// What was received, as of the last time that its reader had nothing more to handle.
    pub received: Received,
    /// What waits by priority, most urgent first.
    pub queues: [TxQueue; 8],
    /// Messages dropped for lack of room.
    pub congested: u64,
    /// Messages that rules refused, by [`Flow`].
    pub refused: [DropCounts; Flow::ALL.len()],
}

impl Runtime {
    /// Counters and queues of each neighbour.
    ///
    /// Cost: the control lock for as long as it takes to list the neighbours, then each one's sending
    /// lock in turn.
    pub fn traffic(&self) -> Vec<Traffic> {
        type Refused = [DropCounts; Flow::ALL.len()];
        let found: Vec<(WhatAmI, Refused, Arc<Transport>)> = {
            let control = self.shared.lock();
            let mut refused: BTreeMap<FaceId, Refused> = BTreeMap::new();
            for (face, flow, counts) in control.node.drops() {
                refused.entry(face).or_default()[flow as usize] = counts;
            }
            let neighbours = control.node.neighbours().filter_map(|info| {
                let transport = Arc::clone(control.tables.transports.get(&info.face)?);
                let refused = refused.get(&info.face).copied().unwrap_or_default();
                Some((info.whatami, refused, transport))
            });
            neighbours.collect()
        };
        let traffic = |(whatami, refused, transport): (WhatAmI, Refused, Arc<Transport>)| {
            let sender = &transport.sender;
            let links = sender.links();
            Traffic {
                face: transport.face,
                zid: transport.zid,
                whatami,
                protocol: links.first().map_or("", |cell| cell.link.proto().as_str()),
                links: links.len(),
                sent: sender.stats(),
                received: transport.received.load(),
                queues: sender.queues(),
                congested: sender.dropped.load(Ordering::Relaxed),
                refused,
            }
        };
        found.into_iter().map(traffic).collect()
    }

    /// Where samples on `key` from a neighbour, or from this session, go, and why; see [`Node::explain`].
    pub fn explain(&self, source: FaceId, key: &KeyExpr, reasons_max: usize) -> RouteExplanation {
        self.shared.lock().node.explain(source, key, reasons_max)
    }

    /// Runs `inspect` on the node, for what is computed when somebody asks.
    pub fn inspect_mut<T>(&self, inspect: impl FnOnce(&mut Node) -> T) -> T {
        inspect(&mut self.shared.lock().node)
    }

    /// Puts other rules into force, see [`Node::set_rules`].
    pub fn set_rules(&self, rules: RuleSet) {
        self.shared.control(|node, ports| node.set_rules(Some(Arc::new(rules)), ports));
        self.shared.purge_routes();
    }

    /// Replaces the neighbours to connect to, see [`Node::set_dial_targets`].
    pub fn set_dial_targets(&self, targets: Vec<DialTarget>) {
        self.shared.control(|node, ports| {
            if !self.is_closed() {
                node.set_dial_targets(targets, ports);
            }
        });
    }

    /// Replaces the configured weights of links, see [`Node::set_weights`].
    pub fn set_weights(&self, weights: BTreeMap<ZenohId, u16>) {
        self.shared.control(|node, ports| node.set_weights(now_us(), weights, ports));
    }
}
