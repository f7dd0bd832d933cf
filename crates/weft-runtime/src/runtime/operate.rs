//! What an operator sees of a running node and changes on it.
//!
//! The control lock is held for one look or one change at a time; see `weft_routing::view` for what comes
//! in pieces. Counters are read without it, and without waiting for whoever reads a link.

use std::array::from_fn;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_keyexpr::KeyExpr;
use weft_node::{
    DEPARTED_MAX, DialTarget, DropCounts, DroppedSizes, Drops, FaceId, Flow, Node, Received,
    RouteExplanation, RuleSet,
};
use weft_transport::{TxQueue, TxStats};
use weft_wire::{WhatAmI, ZenohId};

use super::Runtime;
use crate::cell::LinkCell;
use crate::clock::now_us;
use crate::meter::{LostSizes, Meter, PayloadSizes};
use crate::sender::Sender;
use crate::shared::{Control, Tables};
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
    /// Its links, the one that is written to first, then the last 16 that it had before.
    pub links: Vec<LinkTraffic>,
    /// What was sent.
    pub sent: TxStats,
    /// What was received, as of the last time that its reader had nothing more to handle.
    pub received: Received,
    /// What waits by priority, most urgent first.
    pub queues: [TxQueue; 8],
    /// Messages dropped for lack of room.
    pub congested: u64,
    /// Messages that came when the link was gone.
    pub linkless: u64,
    /// Messages that rules refused, by [`Flow`].
    pub refused: [DropCounts; FLOWS],
    /// Sizes of payloads, if they count.
    pub sizes: Vec<PayloadSizes>,
    /// Sizes of payloads that were lost on their way out, if they count.
    pub lost: Vec<LostSizes>,
    /// Sizes of payloads that rules refused, by [`Flow`], if they count.
    pub refused_sizes: [Vec<DroppedSizes>; FLOWS],
}

/// What went over one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTraffic {
    /// This end, as a locator.
    pub src: String,
    /// The neighbour's end, as a locator.
    pub dst: String,
    /// The protocol, such as `tcp`.
    pub protocol: &'static str,
    /// It is open.
    pub is_open: bool,
    /// Batches and bytes sent.
    pub sent: (u64, u64),
    /// Batches and bytes received.
    pub received: (u64, u64),
}

impl LinkTraffic {
    /// What was received; what was sent is the sender's to say.
    pub(crate) fn new(cell: &LinkCell, is_open: bool) -> Self {
        Self {
            src: cell.link.src().into(),
            dst: cell.link.dst().into(),
            protocol: cell.link.proto().as_str(),
            is_open,
            sent: (0, 0),
            received: cell.received(),
        }
    }
}

const FLOWS: usize = Flow::ALL.len();

/// What is kept of a neighbour that left.
pub(crate) struct Departed {
    face: FaceId,
    zid: ZenohId,
    whatami: WhatAmI,
    links: Vec<LinkTraffic>,
    sender: Arc<Sender>,
    received: Received,
    meter: Option<Arc<Meter>>,
}

impl Departed {
    /// What is known of a neighbour, which need not have left.
    pub(crate) fn of(transport: &Transport) -> Self {
        Self {
            face: transport.face,
            zid: transport.zid,
            whatami: transport.whatami,
            links: transport.sender.link_traffic(),
            sender: Arc::clone(&transport.sender),
            received: transport.received.load(),
            meter: transport.meter.clone(),
        }
    }

    fn traffic(&self, drops: Option<&[Arc<Drops>; FLOWS]>) -> Traffic {
        let (sender, meter) = (&self.sender, self.meter.as_ref());
        let links = self.links.clone();
        let of_flow = |flow: usize| drops.map(|drops| &drops[flow]);
        Traffic {
            face: self.face,
            zid: self.zid,
            whatami: self.whatami,
            protocol: links.first().map_or("", |link| link.protocol),
            links,
            sent: sender.stats(),
            received: self.received,
            queues: sender.queues(),
            congested: sender.dropped.load(Ordering::Relaxed),
            linkless: sender.linkless.load(Ordering::Relaxed),
            refused: from_fn(|flow| of_flow(flow).map(|it| it.counts()).unwrap_or_default()),
            sizes: meter.map(|meter| meter.sizes()).unwrap_or_default(),
            lost: meter.map(|meter| meter.lost()).unwrap_or_default(),
            refused_sizes: from_fn(|flow| {
                of_flow(flow).map(|it| it.sizes().collect()).unwrap_or_default()
            }),
        }
    }
}

impl Tables {
    /// Remembers what went to and from a neighbour that leaves, and forgets the one that left first if there
    /// are more than [`DEPARTED_MAX`].
    pub(crate) fn departs(&mut self, transport: &Transport) {
        if self.departed.len() == DEPARTED_MAX {
            self.departed.pop_front();
        }
        let mut departed = Departed::of(transport);
        departed.links.iter_mut().for_each(|link| link.is_open = false);
        self.departed.push_back(Arc::new(departed));
    }
}

impl Runtime {
    /// Counters and queues of each neighbour.
    ///
    /// Cost: the control lock for as long as it takes to list the neighbours, then each one's sending
    /// lock in turn.
    pub fn traffic(&self) -> Vec<Traffic> {
        let found = |control: &Control| -> Vec<Arc<Transport>> {
            let transports = control.node.neighbours();
            let transports = transports.map(|info| control.tables.transports.get(&info.face));
            transports.flatten().cloned().collect()
        };
        let (drops, found) = self.with_drops(found);
        let traffic = |it: &Arc<Transport>| Departed::of(it).traffic(drops.get(&it.face));
        found.iter().map(traffic).collect()
    }

    /// The same of the last [`DEPARTED_MAX`] neighbours that left, the earliest first.
    pub fn departed_traffic(&self) -> Vec<Traffic> {
        let found = |control: &Control| {
            control.tables.departed.iter().cloned().collect::<Vec<Arc<Departed>>>()
        };
        let (drops, found) = self.with_drops(found);
        found.iter().map(|it| it.traffic(drops.get(&it.face))).collect()
    }

    /// Links that were dropped because what came on them breaks the protocol.
    pub fn broken_links(&self) -> u64 {
        self.shared.broken.load(Ordering::Relaxed)
    }

    fn with_drops<T>(
        &self,
        find: impl FnOnce(&Control) -> T,
    ) -> (BTreeMap<FaceId, [Arc<Drops>; FLOWS]>, T) {
        let control = self.shared.lock();
        let drops = control.node.drops().map(|(face, drops)| (face, drops.clone()));
        (drops.collect(), find(&control))
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
