//! What the neighbours in a network are told of its nodes, and when.
//!
//! Spec: 03 §2.2, §2.5.

use alloc::vec::Vec;
use weft_wire::{LinkState, WhatAmI, ZenohId};

use super::hosting::is_leaf;
use super::{Network, News, NodeIx};
use crate::face::FaceId;
use crate::message::send_link_states;
use crate::outbox::Outbox;

impl Network {
    /// Tells every neighbour what is news, in one list each (03 §2.5).
    pub(super) fn propagate(&self, from: FaceId, news: &News, out: &mut dyn Outbox) {
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
    /// a neighbour it has to hear, to be able to contradict. Who is announced by another node has no links
    /// of its own in this network.
    pub(super) fn hears(&self, neighbour: ZenohId, node: NodeIx) -> bool {
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

    /// Tells all neighbours but `except` about this node, after the nodes that they have to know
    /// for that.
    pub(super) fn announce_self(
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

    /// Tells all neighbours about a node that this one announces.
    pub(super) fn announce_hosted(&mut self, node: NodeIx, out: &mut dyn Outbox) {
        for face in self.links.keys().copied() {
            let states =
                Vec::from([self.state(node, true, face), self.state(NodeIx::SELF, false, face)]);
            send_link_states(face, states, out);
        }
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
