//! What the neighbours in a network are told of its nodes, and when.
//!
//! Spec: 03 §2.2, §2.5. What a neighbour has to hear is noted and told later, all of it in one list: a
//! node that changes ten times meanwhile is told once, and what the neighbour says itself in the
//! meantime is not told to it. When it is told is decided in `schedule`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use weft_wire::{LinkState, WhatAmI, ZenohId};

use super::hosting::is_leaf;
use super::{Network, News, NodeIx};
use crate::face::FaceId;
use crate::message::send_link_states;
use crate::outbox::Outbox;

/// What a neighbour has not been told yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Owed {
    /// Nodes of which it does not know the number.
    new: BTreeSet<NodeIx>,
    /// Nodes whose state has changed.
    changed: BTreeSet<NodeIx>,
}

impl Owed {
    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty()
    }

    /// The neighbour knows the state of a node.
    pub(super) fn knows(&mut self, node: NodeIx) {
        self.changed.remove(&node);
    }
}

impl Network {
    /// Tells every neighbour what it has not been told, in one list each.
    pub(crate) fn flood(&mut self, out: &mut dyn Outbox) {
        let owing = self.links.iter().filter(|(_, link)| !link.owed.is_empty());
        let faces: Vec<FaceId> = owing.map(|(face, _)| *face).collect();
        for face in faces {
            self.pay(face, out);
        }
    }

    /// Tells one neighbour what it has not been told.
    fn pay(&mut self, face: FaceId, out: &mut dyn Outbox) {
        let Some(link) = self.links.get_mut(&face) else { return };
        let Owed { new, changed } = core::mem::take(&mut link.owed);
        let changed = changed.difference(&new).map(|node| (*node, false));
        let told = new.iter().map(|node| (*node, true)).chain(changed);
        // Some may be gone again.
        let told = told.filter(|(node, _)| self.zid_of(*node).is_some());
        let states: Vec<LinkState> =
            told.map(|(node, with_zid)| self.state(node, with_zid, face)).collect();
        if !states.is_empty() {
            send_link_states(face, states, out);
        }
    }

    /// Makes sure that a neighbour knows the number of a node before it is used.
    pub(crate) fn introduce(&mut self, node: NodeIx, face: FaceId, out: &mut dyn Outbox) {
        if self.links.get(&face).is_some_and(|link| link.owed.new.contains(&node)) {
            self.pay(face, out);
        }
    }

    /// Whether a neighbour has not been told everything.
    pub(crate) fn owes(&self) -> bool {
        self.links.values().any(|link| !link.owed.is_empty())
    }

    /// Tells a new neighbour all nodes at once.
    pub(super) fn tell_all(&mut self, face: FaceId, out: &mut dyn Outbox) {
        let states = self.numbers().map(|node| self.state(node, true, face)).collect();
        send_link_states(face, states, out);
    }

    /// Notes for every neighbour what is news to it (03 §2.5).
    pub(super) fn propagate(&mut self, from: FaceId, news: &News) {
        let faces: Vec<FaceId> = self.links.keys().copied().collect();
        for face in faces {
            let zid = self.links[&face].zid;
            let changed = news.updated.iter().copied();
            let changed: Vec<NodeIx> =
                changed.filter(|node| face != from && !self.hears(zid, *node)).collect();
            let Some(link) = self.links.get_mut(&face) else { continue };
            link.owed.new.extend(&news.new);
            link.owed.changed.extend(changed);
        }
    }

    /// Whether a neighbour hears of the changes of `node` from that one itself. What others say about
    /// a neighbour it has to hear, to be able to contradict. Who is announced by another node has no links
    /// of its own in this network.
    fn hears(&self, neighbour: ZenohId, node: NodeIx) -> bool {
        let Some(node) = &self.nodes[node.index()] else { return true };
        node.zid != neighbour
            && node.links.contains_key(&neighbour)
            && !is_leaf(&node.links)
            && self.by_zid.get(&neighbour).is_some_and(|ix| {
                let other = self.nodes[ix.index()].as_ref();
                other.is_some_and(|other| {
                    other.links.contains_key(&node.zid) && !is_leaf(&other.links)
                })
            })
    }

    /// Notes for all neighbours but `except` that this node's state has changed, and that they do not
    /// know the number of `introduced`.
    pub(super) fn announce_self(&mut self, except: Option<FaceId>, introduced: Option<NodeIx>) {
        for (_, link) in self.links.iter_mut().filter(|(face, _)| Some(**face) != except) {
            link.owed.new.extend(introduced);
            link.owed.changed.insert(NodeIx::SELF);
        }
    }

    /// Notes for all neighbours that this node announces another one.
    pub(super) fn announce_hosted(&mut self, node: NodeIx) {
        self.announce_self(None, Some(node));
    }

    /// What the neighbour behind `to` is told about a node.
    pub(super) fn state(&self, ix: NodeIx, with_zid: bool, to: FaceId) -> LinkState {
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
}
