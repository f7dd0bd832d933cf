//! Asking for what a node of a network owns, after the way to it has changed.
//!
//! Not of the protocol: only nodes of this implementation ask each other. Between others, a node
//! that has become the parent of another one in some tree sends it, unasked, all that the root
//! owns. That is not enough when the two disagree for a while about the tree, or about whether
//! the root is there at all: then one of them has dropped what the other believes it to know. So
//! whoever sees a new parent for a tree asks that one. The answer is everything that the root owns and
//! then the word that this is all; what the asker knew from elsewhere counts until then.
//!
//! ```text
//!  child                                    parent
//!    | --- OAM RESEND: roots ----------------> |
//!    | <-- DECLARE for each of their keys ---- |
//!    | <-- OAM RESENT: roots ----------------- |   drops what was not among them
//! ```

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{LinkState, ZenohId};

use crate::entity::{Kind, Owner};
use crate::face::{FaceId, Region};
use crate::message::send_node_list;
use crate::network::NodeIx;
use crate::outbox::Outbox;
use crate::routing::Routing;

/// OAM id of the request: a list of link states of which only the identities count.
pub const RESEND: u16 = 0x5701;
/// OAM id of the word that ends the answer, with the same list.
pub const RESENT: u16 = 0x5702;

/// Whom this node has asked for what a root owns.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    parent: FaceId,
    /// The answer has not ended.
    pending: bool,
    /// What the parent has said earlier and not said again.
    unconfirmed: [BTreeSet<KeyExpr>; Kind::COUNT],
}

impl Routing {
    /// Asks those who have become the parents of trees.
    pub(crate) fn ask_new_parents(&mut self, region: Region, out: &mut dyn Outbox) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        let mut roots: BTreeMap<FaceId, Vec<NodeIx>> = BTreeMap::new();
        for root in network.others() {
            let asked = self.asking.get(&(region, root)).map(|asking| asking.parent);
            match network.parent(root) {
                Some(parent) if asked != Some(parent) => {
                    roots.entry(parent).or_default().push(root);
                }
                None => {
                    self.asking.remove(&(region, root));
                }
                Some(_) => {}
            }
        }
        for (parent, roots) in roots {
            if !self.faces.get(&parent).is_some_and(|face| face.mesh) {
                continue;
            }
            for root in &roots {
                let unconfirmed = self.said_by(parent, region, *root);
                let asking = Asking { parent, pending: true, unconfirmed };
                self.asking.insert((region, *root), asking);
            }
            self.send_roots(parent, RESEND, region, &roots, out);
        }
    }

    /// What a neighbour has told of a root's declarations.
    fn said_by(
        &self,
        via: FaceId,
        region: Region,
        root: NodeIx,
    ) -> [BTreeSet<KeyExpr>; Kind::COUNT] {
        let Some(owned) = self.sourced.get(&(region, root)) else { return Default::default() };
        Kind::ALL.map(|kind| {
            let said = owned[kind.index()].iter().filter(|key| {
                let entry = self.tables[kind.index()].get(key.as_ke());
                let vias = entry.and_then(|entry| entry.owners.get(&Owner::Node(region, root)));
                vias.is_some_and(|vias| vias.iter().any(|(other, _)| *other == via.0))
            });
            said.cloned().collect()
        })
    }

    fn send_roots(
        &self,
        face: FaceId,
        id: u16,
        region: Region,
        roots: &[NodeIx],
        out: &mut dyn Outbox,
    ) {
        let Some(network) = self.networks.get(&region) else { return };
        let state = |zid: ZenohId| LinkState { zid: Some(zid), ..LinkState::default() };
        let zids = roots.iter().filter_map(|root| network.zid_of(*root));
        send_node_list(face, id, zids.map(state).collect(), out);
    }

    /// A child asks for what some roots own.
    pub(crate) fn handle_resend(
        &mut self,
        face: FaceId,
        states: Vec<LinkState>,
        out: &mut dyn Outbox,
    ) {
        let Some(region) = self.network_of(face) else { return };
        for zid in states.iter().filter_map(|state| state.zid) {
            let Some(root) = self.networks.get(&region).and_then(|it| it.find(zid)) else {
                continue;
            };
            for kind in Kind::ALL {
                self.forget_told(face, kind, root);
                for key in self.owned_keys(region, root, kind) {
                    self.sync_child(face, region, root, kind, &key, out);
                }
            }
        }
        // Whoever asks believes this node to be its parent, or that of a root that is gone.
        send_node_list(face, RESENT, states, out);
    }

    /// A parent has said all that some roots own.
    pub(crate) fn handle_resent(
        &mut self,
        face: FaceId,
        states: &[LinkState],
        out: &mut dyn Outbox,
    ) {
        let Some(region) = self.network_of(face) else { return };
        for zid in states.iter().filter_map(|state| state.zid) {
            let Some(root) = self.networks.get(&region).and_then(|it| it.find(zid)) else {
                continue;
            };
            let Some(asking) = self.asking.get_mut(&(region, root)) else { continue };
            if asking.parent != face || !asking.pending {
                continue;
            }
            asking.pending = false;
            let unconfirmed = core::mem::take(&mut asking.unconfirmed);
            for kind in Kind::ALL {
                for key in self.owned_keys(region, root, kind) {
                    let stale = unconfirmed[kind.index()].contains(&key);
                    let keep = |via: u32| via == face.0 && !stale;
                    if self.retain_vias((region, root), kind, &key, keep) {
                        self.sync(kind, &key, out);
                    }
                }
            }
        }
    }

    /// Something was said again.
    pub(crate) fn confirm(
        &mut self,
        via: FaceId,
        owner: (Region, NodeIx),
        kind: Kind,
        key: &KeyExpr,
    ) {
        if let Some(asking) = self.asking.get_mut(&owner)
            && asking.parent == via
        {
            asking.unconfirmed[kind.index()].remove(key);
        }
    }

    /// Whether the parent of a tree has not answered yet.
    pub(crate) fn is_asking(&self, owner: (Region, NodeIx)) -> bool {
        self.asking.get(&owner).is_some_and(|asking| asking.pending)
    }
}
