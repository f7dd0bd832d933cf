//! Asking for what a node of a network owns, after the way to it has changed.
//!
//! Not of the protocol: only nodes of this implementation ask each other. Between others, a node
//! that has become the parent of another one in some tree sends it, unasked, all that the root
//! owns. That is too much when the child knows it from its former parent, and not enough when the two
//! disagree for a while about the tree, or about whether the root is there at all: then one of them has
//! dropped what the other believes it to know. So whoever sees a new parent for a tree asks that one, and
//! says what it knows in a number, the *digest* of all that the root owns. If the parent knows
//! the same, it says so. Otherwise the answer is everything that the root owns, and then the word
//! that this is all; what the asker knew from elsewhere counts until then.
//!
//! ```text
//!  child                                    parent
//!    | --- OAM RESEND: roots, digests -------> |
//!    | <-- DECLARE for each of their keys ---- |   for roots with another digest here
//!    | <-- OAM RESENT: roots, digests -------- |   0 for those: drops what was not among them
//! ```
//!
//! A child that does not notice that it was none for a while does not ask. The parent offers then:
//! it tells its digests (OAM `OFFER`), and whoever has another one asks.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::hash::Hasher;
use siphasher::sip::SipHasher13;
use weft_keyexpr::KeyExpr;
use weft_wire::LinkState;

use crate::entity::{Kind, Owner};
use crate::face::{FaceId, Region};
use crate::message::send_node_list;
use crate::network::NodeIx;
use crate::outbox::Outbox;
use crate::routing::Routing;

/// OAM id of the request: a list of link states of which only the identities count, the sequence
/// numbers, which are digests of what the asker knows, and the psids, which are those of the request.
pub const RESEND: u16 = 0x5701;
/// OAM id of the word that ends the answer, with the same list. The digest is 0 where everything was
/// told.
pub const RESENT: u16 = 0x5702;
/// OAM id of what a parent tells a child that has not asked: the same list with its own digests.
pub const OFFER: u16 = 0x5703;

/// Who tells this node what a root owns.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    parent: FaceId,
    /// The number of the question. A root may be asked about twice before the first answer comes.
    serial: u16,
    /// The answer has not ended.
    pending: bool,
    /// What the parent has said earlier and not said again.
    unconfirmed: [BTreeSet<KeyExpr>; Kind::COUNT],
}

impl Routing {
    /// Notes who has become the parent of which trees, and asks those of this implementation.
    pub(crate) fn ask_new_parents(&mut self, now_us: u64, region: Region, out: &mut dyn Outbox) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        let mut roots: BTreeMap<FaceId, Vec<NodeIx>> = BTreeMap::new();
        for root in network.others() {
            let owner = (region, root);
            let known = self.asking.get(&owner).map(|asking| asking.parent);
            let parent = network.parent(root);
            if parent == known {
                continue;
            }
            self.schedule.reconcile_later(now_us, owner);
            match parent {
                Some(parent) => roots.entry(parent).or_default().push(root),
                None => {
                    self.asking.remove(&owner);
                }
            }
        }
        for (parent, roots) in roots {
            if self.faces.get(&parent).is_some_and(|face| face.mesh) {
                self.ask_parent(region, parent, &roots, true, out);
                continue;
            }
            for root in roots {
                let unconfirmed = Default::default();
                let asking = Asking { parent, serial: 0, pending: false, unconfirmed };
                self.asking.insert((region, root), asking);
            }
        }
    }

    /// Asks a parent about some roots; without `digests` it has to tell everything.
    pub(crate) fn ask_parent(
        &mut self,
        region: Region,
        parent: FaceId,
        roots: &[NodeIx],
        digests: bool,
        out: &mut dyn Outbox,
    ) {
        let serial = self.schedule.next_serial();
        for root in roots {
            let unconfirmed = self.said_by(parent, region, *root);
            let asking = Asking { parent, serial, pending: true, unconfirmed };
            self.asking.insert((region, *root), asking);
        }
        let digest = |root| if digests { self.digest(region, root) } else { 0 };
        let states = roots.iter().filter_map(|root| self.named_root(region, *root, digest(*root)));
        let states = states.map(|state| LinkState { psid: serial.into(), ..state });
        send_node_list(parent, RESEND, states.collect(), out);
    }

    fn named_root(&self, region: Region, root: NodeIx, digest: u64) -> Option<LinkState> {
        let zid = self.networks.get(&region)?.zid_of(root)?;
        Some(LinkState { zid: Some(zid), sn: digest, ..LinkState::default() })
    }

    /// A number for all that a root owns: the same wherever the same is known; 0 for nothing.
    ///
    /// Cost: a hash for each of the root's keys. Whoever can choose keys that collide could as well not
    /// declare them.
    fn digest(&self, region: Region, root: NodeIx) -> u64 {
        let mut sum = 0_u64;
        for kind in Kind::ALL {
            self.for_each_owned(region, root, kind, |key, info| {
                let mut hasher = SipHasher13::new_with_keys(0, 0);
                hasher.write_u8(kind.index() as u8);
                hasher.write_u8(u8::from(info.complete));
                hasher.write(&info.distance.to_le_bytes());
                hasher.write(key.as_str().as_bytes());
                sum = sum.wrapping_add(hasher.finish());
            });
        }
        sum
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
                vias.is_some_and(|vias| vias.get(&via.0).is_some())
            });
            said.cloned().collect()
        })
    }

    /// Whether others than `parent` have told of something that a root owns.
    pub(crate) fn has_from_elsewhere(&self, parent: FaceId, region: Region, root: NodeIx) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let owned = self.owned_by_root(region, root, kind);
            let vias = |key: &KeyExpr| {
                let entry = self.tables[kind.index()].get(key.as_ke())?;
                entry.owners.get(&Owner::Node(region, root))
            };
            owned.iter().any(|(key, _)| {
                vias(key).is_some_and(|vias| vias.keys().any(|via| *via != parent.0))
            })
        })
    }

    /// A child asks for what some roots own.
    pub(crate) fn handle_resend(
        &mut self,
        face: FaceId,
        mut states: Vec<LinkState>,
        out: &mut dyn Outbox,
    ) {
        let Some(region) = self.network_of(face) else { return };
        for state in &mut states {
            let digest = core::mem::take(&mut state.sn);
            let Some(root) = self.find_root(region, state) else { continue };
            let is_known = digest == self.digest(region, root);
            if is_known {
                state.sn = digest;
            }
            for kind in Kind::ALL {
                self.forget_told(face, kind, root);
                for (key, info) in self.owned_by_root(region, root, kind) {
                    if is_known {
                        self.note_told(face, root, kind, &key, info);
                    } else {
                        self.sync_child(face, region, root, kind, &key, out);
                    }
                }
            }
            self.settled.entry((region, root)).or_default().insert(face);
        }
        // Whoever asks believes this node to be its parent, or that of a root that is gone.
        send_node_list(face, RESENT, states, out);
        self.finish_introduction(face, region, out);
    }

    fn find_root(&self, region: Region, state: &LinkState) -> Option<NodeIx> {
        self.networks.get(&region)?.find(state.zid?)
    }

    /// A parent has said all that some roots own.
    pub(crate) fn handle_resent(
        &mut self,
        face: FaceId,
        states: &[LinkState],
        out: &mut dyn Outbox,
    ) {
        let Some(region) = self.network_of(face) else { return };
        let mut again = Vec::new();
        for state in states {
            let Some(root) = self.find_root(region, state) else { continue };
            let Some(asking) = self.asking.get_mut(&(region, root)) else { continue };
            let is_answer = state.psid == u64::from(asking.serial);
            if asking.parent != face || !asking.pending || !is_answer {
                continue;
            }
            let unconfirmed = core::mem::take(&mut asking.unconfirmed);
            asking.pending = false;
            if state.sn == 0 {
                self.keep_what_was_said(face, (region, root), &unconfirmed, out);
            } else if state.sn == self.digest(region, root) {
                self.change_vias(face, (region, root), out);
            } else {
                // What the parent knows as well is not what is known by now.
                again.push(root);
            }
        }
        if !again.is_empty() {
            self.ask_parent(region, face, &again, false, out);
        }
    }

    /// Keeps what a root's parent has said since it was asked, and nothing else.
    fn keep_what_was_said(
        &mut self,
        parent: FaceId,
        (region, root): (Region, NodeIx),
        unconfirmed: &[BTreeSet<KeyExpr>; Kind::COUNT],
        out: &mut dyn Outbox,
    ) {
        for kind in Kind::ALL {
            for (key, _) in self.owned_by_root(region, root, kind) {
                let stale = unconfirmed[kind.index()].contains(&key);
                let keep = |via: u32| via == parent.0 && !stale;
                if self.retain_vias((region, root), kind, &key, keep) {
                    self.sync(kind, &key, out);
                }
            }
        }
    }

    /// Everything that a root owns counts as if its parent had said it.
    fn change_vias(&mut self, parent: FaceId, owner: (Region, NodeIx), out: &mut dyn Outbox) {
        for kind in Kind::ALL {
            for (key, info) in self.owned_by_root(owner.0, owner.1, kind) {
                self.add_via(parent, owner, kind, &key, info, out);
                self.retain_vias(owner, kind, &key, |via| via == parent.0);
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

    /// Whether a neighbour is the one that tells of what a node owns, when trees were last looked at.
    pub(crate) fn is_parent(&self, face: FaceId, owner: (Region, NodeIx)) -> bool {
        self.asking.get(&owner).is_some_and(|asking| asking.parent == face)
    }

    /// Tells the new children that have not asked what they should know, in digests.
    pub(crate) fn offer(&mut self, out: &mut dyn Outbox) {
        let regions: Vec<Region> = self.networks.keys().copied().collect();
        for region in regions {
            let mut offers: BTreeMap<FaceId, Vec<LinkState>> = BTreeMap::new();
            for root in self.roots(region) {
                let Some(network) = self.networks.get_mut(&region) else { break };
                let children = network.children(root);
                let settled = self.settled.entry((region, root)).or_default();
                // Others are told when the trees are looked at: an offer means nothing to them.
                let mut new: Vec<FaceId> = children.difference(settled).copied().collect();
                new.retain(|face| self.faces.get(face).is_some_and(|it| it.mesh));
                settled.extend(&new);
                if new.is_empty() {
                    continue;
                }
                let state = self.named_root(region, root, self.digest(region, root));
                for face in new {
                    offers.entry(face).or_default().extend(state.clone());
                    self.believe_told(face, region, root);
                }
            }
            for (face, states) in offers {
                send_node_list(face, OFFER, states, out);
            }
            self.finish_introductions(region, out);
        }
    }

    /// A child that does not answer an offer knows what the root owns.
    fn believe_told(&mut self, face: FaceId, region: Region, root: NodeIx) {
        for kind in Kind::ALL {
            for (key, info) in self.owned_by_root(region, root, kind) {
                self.note_told(face, root, kind, &key, info);
            }
        }
    }

    /// A neighbour says that it has become the parent of trees: asks where it knows something else.
    pub(crate) fn handle_offer(
        &mut self,
        face: FaceId,
        states: &[LinkState],
        out: &mut dyn Outbox,
    ) {
        let Some(region) = self.network_of(face) else { return };
        let differ = states.iter().filter_map(|state| {
            let root = self.find_root(region, state)?;
            let asks = self.is_parent(face, (region, root))
                && !self.is_asking((region, root))
                && self.digest(region, root) != state.sn;
            asks.then_some(root)
        });
        let roots: Vec<NodeIx> = differ.collect();
        if !roots.is_empty() {
            self.ask_parent(region, face, &roots, true, out);
        }
    }
}
