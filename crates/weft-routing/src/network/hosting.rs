//! Nodes that are no members of a network and that a member announces in their name.
//!
//! Not here: who is announced by whom (`crossing`). Such a node is a *leaf*: it has one link, to the
//! member that announces it, of a weight that tells it from those who speak for themselves.

use alloc::collections::BTreeMap;
use weft_wire::{WhatAmI, ZenohId};

use super::{Changes, Network, NodeIx};

/// The weight of the only link of a leaf.
const LEAF_WEIGHT: u16 = 1;

impl Network {
    /// Announces a node that is no member as a leaf behind this one. `None` if there is no number for
    /// it, or if it is a member.
    pub(crate) fn host(&mut self, zid: ZenohId, whatami: WhatAmI) -> Option<(NodeIx, Changes)> {
        let (ix, _) = self.node(zid)?;
        let own = self.config.zid;
        self.sn += 1;
        let sn = self.sn;
        let node = self.nodes[ix.index()].as_mut().filter(|node| node.face.is_none())?;
        node.hosted = true;
        node.whatami = Some(whatami);
        node.sn = sn.max(node.sn + 1);
        let before = core::mem::replace(&mut node.links, BTreeMap::from([(own, LEAF_WEIGHT)]));
        self.own().links.insert(zid, 0);
        // One link each way instead of those that others may have invented.
        self.link_count = self.link_count + 2 - before.len();
        self.announce_hosted(ix);
        self.graph_changed();
        Some((ix, Changes { graph: true, ..Changes::default() }))
    }

    /// Ends the announcement of a node.
    pub(crate) fn unhost(&mut self, node: NodeIx) -> Changes {
        let hosted = self.nodes.get_mut(node.index()).and_then(Option::as_mut);
        let Some(gone) = hosted.filter(|node| node.hosted) else { return Changes::default() };
        gone.hosted = false;
        // Whoever announces it, or announces it next, is believed.
        let (sn, links) = gone.rival.take().unwrap_or_default();
        gone.sn = sn;
        self.link_count += links.len();
        self.link_count -= 1 + core::mem::replace(&mut gone.links, links).len();
        let zid = gone.zid;
        self.own().links.remove(&zid);
        self.sn += 1;
        self.graph_changed();
        let removed = self.detach();
        self.announce_self(None, None);
        Changes { removed, graph: true, ..Changes::default() }
    }

    /// Whether a node is there without being announced by this one.
    pub(crate) fn has_by_itself(&self, zid: ZenohId) -> bool {
        let node = self.find(zid).and_then(|node| self.nodes[node.index()].as_ref());
        node.is_some_and(|node| !node.hosted)
    }

    /// Whether a node speaks for itself. Others have one link, of a weight of its own.
    pub(crate) fn is_member(&self, zid: ZenohId) -> bool {
        let node = self.find(zid).and_then(|node| self.nodes[node.index()].as_ref());
        node.is_some_and(|node| node.sn != 0 && !is_leaf(&node.links))
    }
}

/// What makes one state newer than another one. Two gateways may count alike when they announce the
/// same node; the greater one will keep it.
pub(super) fn claim(sn: u64, links: &BTreeMap<ZenohId, u16>) -> (u64, Option<ZenohId>) {
    (sn, links.keys().next().copied().filter(|_| is_leaf(links)))
}

/// Whether these are the links that a member announces for a node that is none.
pub(super) fn is_leaf(links: &BTreeMap<ZenohId, u16>) -> bool {
    links.len() == 1 && links.values().all(|weight| *weight == LEAF_WEIGHT)
}
