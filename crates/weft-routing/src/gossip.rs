//! Gossip: nodes tell their direct neighbours who else is there and where.
//!
//! Spec: 03 §2.1 to §2.3, §2.6. Two behaviours share one state. A peer announces itself and its
//! other neighbours to each neighbour (*gossip*); a router, and any gateway towards the peers that it
//! serves, passes the peers' addresses on from one to the other without showing itself (*single-hop*).
//! Both only look one hop far. A node whose regions are configured tells nobody of one region about
//! another one: they are apart because somebody wants it so. The graph that routers route by is not
//! here.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_wire::{LinkState, Locator, WhatAmI, WhatAmIMatcher, ZenohId};

use crate::face::{FaceId, FaceInit, Place, Region};
use crate::message::send_link_states;
use crate::outbox::{Event, Outbox};

/// Neighbours' numbers fit the node id of messages (03 §2.3).
const PSID_MAX: u64 = u16::MAX as u64;

/// Discovery by gossip.
#[derive(Clone, Debug)]
pub struct GossipConfig {
    /// Whether this node takes part.
    pub enabled: bool,
    /// Which modes of neighbours are told.
    pub target: WhatAmIMatcher,
    /// Where this node can be reached. Loopback addresses only if it listens on nothing else.
    pub locators: Vec<Locator>,
    /// Sequence number of this node's first state. Anything that grows over restarts lets
    /// neighbours prefer the new life of a node over the memory of its old one (03 §13, 4).
    pub first_sn: u64,
    /// Addresses are passed on through the whole network and not to neighbours only.
    pub multihop: bool,
}

#[derive(Clone, Debug)]
struct Node {
    zid: ZenohId,
    whatami: WhatAmI,
    psid: u64,
    sn: u64,
    locators: Option<Vec<Locator>>,
    face: FaceId,
    /// The neighbour serves this node.
    gateway: bool,
    /// This node serves it.
    served: bool,
    /// The configured region that it hears of, and of no other; the same for all where nothing is
    /// configured.
    section: Option<Region>,
    /// It hears of this node as a member of a network, and is told nothing here.
    networked: bool,
    /// The number that the neighbour gives itself.
    own_psid: u64,
    /// The neighbour's numbers: whom they mean, and whether that is a gateway.
    psids: BTreeMap<u64, (ZenohId, bool)>,
}

/// This node and its neighbours, as far as they take part.
#[derive(Clone, Debug)]
pub(crate) struct Gossip {
    zid: ZenohId,
    whatami: WhatAmI,
    config: GossipConfig,
    sn: u64,
    nodes: BTreeMap<FaceId, Node>,
}

impl Gossip {
    pub(crate) fn new(zid: ZenohId, whatami: WhatAmI, config: GossipConfig) -> Self {
        Self { zid, whatami, sn: config.first_sn, config, nodes: BTreeMap::new() }
    }

    /// Whether neighbours of this mode get link states from this node, and are expected to send
    /// theirs.
    pub(crate) fn speaks_with(&self, whatami: WhatAmI) -> bool {
        self.config.enabled
            && self.whatami != WhatAmI::Client
            && whatami != WhatAmI::Client
            && self.config.target.matches(whatami)
    }

    /// Returns whether somebody has to be told.
    pub(crate) fn set_locators(&mut self, locators: Vec<Locator>) -> bool {
        let changed = self.config.locators != locators;
        self.config.locators = locators;
        changed && !self.nodes.is_empty()
    }

    /// Tells the neighbours where this node can be reached.
    pub(crate) fn tell_self(&mut self, out: &mut dyn Outbox) {
        if self.whatami != WhatAmI::Peer {
            return;
        }
        self.sn += 1;
        for node in self.nodes.values().filter(|node| !node.networked && !node.served) {
            let state = LinkState { zid: None, ..self.own_state(node) };
            send_link_states(node.face, Vec::from([state]), out);
        }
    }

    pub(crate) const fn locators(&self) -> &Vec<Locator> {
        &self.config.locators
    }

    pub(crate) fn link_up(
        &mut self,
        face: FaceId,
        init: FaceInit,
        place: Place,
        out: &mut dyn Outbox,
    ) {
        if !self.speaks_with(init.whatami) {
            return;
        }
        let node = Node {
            zid: init.zid,
            whatami: init.whatami,
            psid: self.free_psid(),
            sn: 0,
            locators: None,
            face,
            gateway: place.upstream,
            served: matches!(place.region, Region::South(..)),
            section: init.own_side.map(|_| place.region),
            networked: place.networked,
            own_psid: 0,
            psids: BTreeMap::new(),
        };
        self.nodes.insert(face, node);
        self.sn += 1;
        let node = &self.nodes[&face];
        let mut states = Vec::new();
        if self.whatami == WhatAmI::Peer && !node.served {
            // A gateway needs this peer's links to elect who forwards (03 §4.4).
            for other in self.others(node).filter(|other| other.gateway) {
                let update = LinkState { zid: None, ..self.own_state(other) };
                send_link_states(other.face, Vec::from([node.state(), update]), out);
            }
            states.push(self.own_state(node));
        }
        if node.networked {
            return;
        }
        let told = self.nodes.values().filter(|it| {
            it.section == node.section
                && self.passes_on(it)
                && (it.face != face || !states.is_empty())
        });
        let told: Vec<LinkState> = told.map(Node::state).collect();
        states.extend(told);
        send_link_states(face, states, out);
    }

    pub(crate) fn link_down(&mut self, face: FaceId, out: &mut dyn Outbox) {
        let Some(gone) = self.nodes.remove(&face) else { return };
        self.sn += 1;
        if self.whatami == WhatAmI::Peer {
            for gateway in self.others(&gone).filter(|node| node.gateway) {
                let update = LinkState { zid: None, ..self.own_state(gateway) };
                send_link_states(gateway.face, Vec::from([update]), out);
            }
        }
    }

    /// Handles a list of link states. Returns the nodes that the sender is linked with, and which of
    /// them are gateways, if it says.
    pub(crate) fn received(
        &mut self,
        face: FaceId,
        states: Vec<LinkState>,
        out: &mut dyn Outbox,
    ) -> Option<BTreeMap<ZenohId, bool>> {
        let sender = self.nodes.get_mut(&face)?;
        let known = sender.locators.clone();
        let mut links = None;
        for state in &states {
            let zid = state.zid.or_else(|| sender.psids.get(&state.psid).map(|(zid, _)| *zid));
            if let Some(zid) = zid {
                sender.psids.insert(state.psid, (zid, state.gateway));
            }
        }
        for state in states {
            if state.zid.map_or(state.psid == sender.own_psid, |zid| zid == sender.zid) {
                links = sender.update(state).or(links);
            } else if let Some(zid) = state.zid.filter(|zid| *zid != self.zid)
                && let Some(locators) = state.locators.filter(|locators| !locators.is_empty())
            {
                let whatami = state.whatami.unwrap_or(WhatAmI::Router);
                out.event(Event::Discovered { zid, whatami, locators });
            }
        }
        let linked = links.map(|links| {
            links.into_iter().filter_map(|psid| sender.psids.get(&psid).copied()).collect()
        });
        if sender.locators != known {
            self.pass_on(face, out);
        }
        linked
    }

    /// A network tells where a neighbour can be reached.
    pub(crate) fn learned(&mut self, zid: ZenohId, locators: &[Locator], out: &mut dyn Outbox) {
        let Some(node) = self.nodes.values_mut().find(|node| node.zid == zid) else { return };
        if node.networked {
            node.sn += 1;
            node.locators = Some(locators.to_vec());
            let face = node.face;
            self.pass_on(face, out);
        }
    }

    /// Whether others are told of a neighbour. A router tells its peers of each other, and not of
    /// other routers, which they have no reason to dial.
    fn passes_on(&self, node: &Node) -> bool {
        self.whatami == WhatAmI::Peer || node.whatami == WhatAmI::Peer
    }

    /// Tells the other neighbours where one can be reached.
    fn pass_on(&self, face: FaceId, out: &mut dyn Outbox) {
        let Some(node) = self.nodes.get(&face).filter(|node| self.passes_on(node)) else { return };
        let state = node.state();
        for other in self.others(node).filter(|other| !other.networked) {
            send_link_states(other.face, Vec::from([state.clone()]), out);
        }
    }

    /// The other neighbours that may hear of `node`, and that it may hear of.
    fn others<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        let others = self.nodes.values();
        others.filter(|other| other.face != node.face && other.section == node.section)
    }

    /// This node's entry, as `to` gets it: its links are for gateways only (03 §2.6).
    fn own_state(&self, to: &Node) -> LinkState {
        let linked = self.nodes.values().filter(|node| to.gateway && node.section == to.section);
        LinkState {
            psid: 0,
            sn: self.sn,
            zid: Some(self.zid),
            whatami: Some(self.whatami),
            locators: Some(self.config.locators.clone()),
            links: linked.map(|node| node.psid).collect(),
            weights: None,
            gateway: false,
        }
    }

    fn free_psid(&self) -> u64 {
        let taken: BTreeSet<u64> = self.nodes.values().map(|node| node.psid).collect();
        (1..PSID_MAX).find(|psid| !taken.contains(psid)).unwrap_or(PSID_MAX)
    }
}

impl Node {
    fn state(&self) -> LinkState {
        LinkState {
            psid: self.psid,
            sn: self.sn,
            zid: Some(self.zid),
            whatami: Some(self.whatami),
            locators: self.locators.clone(),
            links: Vec::new(),
            weights: None,
            gateway: self.gateway,
        }
    }

    /// Takes note of what the neighbour says about itself, unless that is old. Returns its links if
    /// it tells them.
    fn update(&mut self, state: LinkState) -> Option<Vec<u64>> {
        if state.sn > self.sn || self.sn == 0 {
            self.sn = state.sn;
            self.own_psid = state.psid;
            if state.locators.is_some() {
                self.locators = state.locators;
            }
            return Some(state.links).filter(|links| !links.is_empty());
        }
        None
    }
}
