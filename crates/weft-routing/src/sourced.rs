//! What the nodes of a network own: declarations that travel along trees.
//!
//! Spec: 03 §2.8, §2.10, §3.5. Each declaration belongs to the node where it entered the network
//! and goes from there down that node's tree; every member keeps it under its owner. What this node
//! owns towards a network is all that it knows from elsewhere. The rule for telling is that of
//! `tell`: compare what each child of the owner's tree should know with what it was told.
//!
//! When trees change, a new child is told all that the root owns, and a former child is not told
//! anything, not even that something ended. A declaration is therefore remembered with the neighbour
//! through which it came. A new parent of this implementation is asked for the truth (`resend`); once
//! trees have been stable for [`GRACE_US`], whatever did not come from the tree's parent is dropped:
//! any other parent has said by then what is true.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Declaration, Declare, Decode, Encode, NetworkMessage, QueryableInfo, Reader};

use crate::crossing::Crossing;
use crate::entity::{Entry, Kind, Owner, Told, merge};
use crate::face::{Face, FaceId, FaceInit, Region};
use crate::limits::Violation;
use crate::message::{declaration, declare, declare_for, named, undeclare_for};
use crate::network::{Changes, Network, NodeIx};
use crate::outbox::{Event, Outbox};
use crate::routing::Routing;

/// How long trees have to be stable until declarations count that came from elsewhere, in microseconds.
pub(crate) const GRACE_US: u64 = 2_000_000;

/// The trees of a small network are computed at most this often, in microseconds.
const PACE_US: u64 = 10_000;
/// By how much a node of the network slows that down, in microseconds.
const PACE_PER_NODE_US: u64 = 100;

/// Declarations of unknown nodes that are kept for a neighbour.
const PARKED_MAX: usize = 1024;

/// When trees have to be looked at again.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names)] // all are times
pub(crate) struct Schedule {
    /// The trees of a region have changed, and who is told what has not been brought up to date.
    pending_us: Option<u64>,
    /// Not before this time.
    next_us: u64,
    /// When trees have been stable for long enough.
    reconcile_us: Option<u64>,
}

impl Schedule {
    pub(crate) fn deadline(&self) -> Option<(u64, &'static str)> {
        let pending = self.pending_us.map(|at| (at, "trees have changed"));
        let reconcile = self.reconcile_us.map(|at| (at, "trees are stable"));
        [pending, reconcile].into_iter().flatten().min()
    }
}

impl Routing {
    /// The region of the network that the neighbour is a member of.
    pub(crate) fn network_of(&self, face: FaceId) -> Option<Region> {
        self.faces.get(&face).filter(|face| face.networked).map(|face| face.region)
    }

    /// A member of a network is linked with this node.
    pub(crate) fn join_network(
        &mut self,
        now_us: u64,
        face: FaceId,
        init: &FaceInit,
        out: &mut dyn Outbox,
    ) {
        let region = self.region(face);
        let config = &self.config;
        let network = self
            .networks
            .entry(region)
            .or_insert_with(|| Network::new(config.network(region, self.gossip.locators())));
        let changes = network.link_up(face, init, out);
        self.network_changed(now_us, region, changes, out);
    }

    /// The link to a member of a network is gone.
    pub(crate) fn leave_network(
        &mut self,
        now_us: u64,
        region: Region,
        face: FaceId,
        out: &mut dyn Outbox,
    ) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        let changes = network.link_down(face, out);
        self.network_changed(now_us, region, changes, out);
    }

    /// Draws the consequences of a changed graph.
    pub(crate) fn network_changed(
        &mut self,
        now_us: u64,
        region: Region,
        changes: Changes,
        out: &mut dyn Outbox,
    ) {
        for node in changes.removed {
            self.drop_sourced(region, node, out);
        }
        for (zid, whatami, locators) in changes.discovered {
            self.gossip.learned(zid, &locators, out);
            if self.config.gossip.enabled {
                out.event(Event::Discovered { zid, whatami, locators });
            }
        }
        if changes.graph {
            self.watch.invalidate_all();
            let schedule = &mut self.schedule;
            schedule.reconcile_us = Some(now_us.saturating_add(GRACE_US));
            let due = now_us.max(schedule.next_us);
            schedule.pending_us.get_or_insert(due);
            if due == now_us {
                self.settle_trees(now_us, out);
            }
            self.refresh_crossings(now_us, out);
            self.refresh_joints(out);
        }
    }

    /// Does what is due after a change of trees.
    pub(crate) fn network_timeout(&mut self, now_us: u64, out: &mut dyn Outbox) {
        if self.schedule.pending_us.is_some_and(|at| at <= now_us) {
            self.settle_trees(now_us, out);
        }
        if self.schedule.reconcile_us.is_some_and(|at| at <= now_us) {
            self.schedule.reconcile_us = None;
            self.reconcile(out);
        }
    }

    /// Tells those who have become children of a tree what its root owns, and forgets what those
    /// were told who are children no more.
    fn settle_trees(&mut self, now_us: u64, out: &mut dyn Outbox) {
        self.schedule.pending_us = None;
        let nodes: usize = self.networks.values().map(Network::len).sum();
        let pace_us = PACE_US.max(nodes as u64 * PACE_PER_NODE_US);
        self.schedule.next_us = now_us.saturating_add(pace_us);
        let regions: Vec<Region> = self.networks.keys().copied().collect();
        for region in regions {
            self.forget_former_children(region);
            let owners = (region, NodeIx(0))..=(region, NodeIx(u16::MAX));
            let mut roots: Vec<NodeIx> =
                self.sourced.range(owners).map(|((_, node), _)| *node).collect();
            roots.push(NodeIx::SELF);
            roots.extend(self.faces.values().filter_map(|face| hosted(face, region)));
            for root in roots {
                self.settle_root(region, root, out);
            }
            self.ask_new_parents(region, out);
            self.finish_introductions(region, out);
        }
    }

    /// Tells the new children of a root's tree what it owns.
    fn settle_root(&mut self, region: Region, root: NodeIx, out: &mut dyn Outbox) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        let children = network.children(root);
        let settled = self.settled.insert((region, root), children.clone()).unwrap_or_default();
        let new: Vec<FaceId> = children.difference(&settled).copied().collect();
        if new.is_empty() {
            return;
        }
        for kind in Kind::ALL {
            let mut keys = self.owned_keys(region, root, kind);
            for face in &new {
                let told = self.faces.get(face).and_then(|it| it.told[kind.index()].get(&root));
                keys.extend(told.into_iter().flatten().cloned());
            }
            for key in keys {
                for face in &new {
                    self.sync_child(*face, region, root, kind, &key, out);
                }
            }
        }
    }

    /// The keys of what a root owns; for this node, of all that it may own.
    pub(crate) fn owned_keys(&self, region: Region, root: NodeIx, kind: Kind) -> BTreeSet<KeyExpr> {
        if root == NodeIx::SELF {
            return self.tables[kind.index()].iter().map(|(key, _)| key.clone()).collect();
        }
        if let Some(face) = self.faces.values().find(|face| hosted(face, region) == Some(root)) {
            return face.declared[kind.index()].values().cloned().collect();
        }
        let owned = self.sourced.get(&(region, root));
        owned.map_or(BTreeSet::new(), |owned| owned[kind.index()].clone())
    }

    /// What was told to a neighbour on behalf of a root whose child it is no more.
    fn forget_former_children(&mut self, region: Region) {
        for face in self.members(region) {
            for kind in Kind::ALL {
                let roots: Vec<NodeIx> =
                    self.faces[&face].told[kind.index()].keys().copied().collect();
                for root in roots {
                    let network = self.networks.get_mut(&region);
                    if !network.is_some_and(|it| it.children(root).contains(&face)) {
                        self.forget_told(face, kind, root);
                    }
                }
            }
        }
        let Some(network) = self.networks.get_mut(&region) else { return };
        let roots = (region, NodeIx(0))..=(region, NodeIx(u16::MAX));
        for ((_, root), settled) in self.settled.range_mut(roots) {
            let children = network.children(*root);
            settled.retain(|face| children.contains(face));
        }
    }

    /// Forgets what a neighbour was told on behalf of a root.
    pub(crate) fn forget_told(&mut self, face: FaceId, kind: Kind, root: NodeIx) {
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        for key in neighbour.told[kind.index()].remove(&root).unwrap_or_default() {
            if let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke()) {
                entry.told.remove(&(face, root));
            }
            self.drop_unused(kind, &key);
        }
    }

    /// The neighbours in the network of a region.
    fn members(&self, region: Region) -> Vec<FaceId> {
        let members = self.faces.values().filter(|face| face.networked && face.region == region);
        members.map(|face| face.id).collect()
    }

    /// Tells each new member once, after all that there is at its start, that it has heard it.
    fn finish_introductions(&mut self, region: Region, out: &mut dyn Outbox) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        for face in self.faces.values_mut() {
            if face.networked && face.mesh && face.region == region && !face.finished {
                let linked = network.find(face.zid).is_some_and(|node| network.agrees(node));
                if linked {
                    face.finished = true;
                    out.send(face.id, &declare(Some(0), Declaration::Final));
                }
            }
        }
    }

    /// Drops the declarations that did not come from their tree's parent, where trees have been
    /// stable.
    fn reconcile(&mut self, out: &mut dyn Outbox) {
        let owners: Vec<(Region, NodeIx)> = self.sourced.keys().copied().collect();
        for (region, node) in owners {
            if self.is_asking((region, node)) {
                continue;
            }
            let Some(network) = self.networks.get_mut(&region) else { continue };
            let parent = network.parent(node);
            for kind in Kind::ALL {
                let Some(owned) = self.sourced.get(&(region, node)) else { break };
                let keys: Vec<KeyExpr> = owned[kind.index()].iter().cloned().collect();
                for key in keys {
                    let keep = |via: u32| parent == Some(FaceId(via));
                    if self.retain_vias((region, node), kind, &key, keep) {
                        self.sync(kind, &key, out);
                    }
                }
            }
        }
    }

    /// Handles a declaration from a member of a network.
    pub(crate) fn handle_sourced(
        &mut self,
        now_us: u64,
        face: FaceId,
        message: &Declare<'_>,
        out: &mut dyn Outbox,
    ) {
        let none = QueryableInfo::default();
        let (kind, expr, info) = match message.body {
            Declaration::Subscriber { wire_expr, .. } => (Kind::Subscriber, wire_expr, Some(none)),
            Declaration::Queryable { wire_expr, info, .. } => {
                (Kind::Queryable, wire_expr, Some(info))
            }
            Declaration::Token { wire_expr, .. } => (Kind::Token, wire_expr, Some(none)),
            Declaration::UndeclareSubscriber { wire_expr: Some(expr), .. } => {
                (Kind::Subscriber, expr, None)
            }
            Declaration::UndeclareQueryable { wire_expr: Some(expr), .. } => {
                (Kind::Queryable, expr, None)
            }
            Declaration::UndeclareToken { wire_expr: Some(expr), .. } => (Kind::Token, expr, None),
            _ => return,
        };
        let key = match self.resolve(face, expr) {
            Ok(key) => key,
            Err(error) => return self.ignore(face, error, out),
        };
        let Some(Owner::Node(region, node)) = self.source(face, message.node_id) else {
            return self.park(face, message);
        };
        match info {
            Some(info) => self.add_sourced(now_us, face, (region, node), kind, &key, info, out),
            None => self.remove_sourced(now_us, face, (region, node), kind, &key, out),
        }
    }

    /// Keeps a declaration of a node whose number its sender has not explained yet; other
    /// implementations may say so late (03 §13, 5).
    fn park(&mut self, face: FaceId, message: &Declare<'_>) {
        let own = self.source_is_self(face, message.node_id);
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        if own || neighbour.parked.len() >= PARKED_MAX {
            return;
        }
        let mut bytes = Vec::new();
        if NetworkMessage::Declare(*message).encode(&mut bytes).is_ok() {
            neighbour.parked.push(bytes);
        }
    }

    /// Handles the declarations again that were waiting for link states.
    pub(crate) fn unpark(&mut self, now_us: u64, face: FaceId, out: &mut dyn Outbox) {
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        for bytes in core::mem::take(&mut neighbour.parked) {
            if let Ok(NetworkMessage::Declare(declare)) =
                NetworkMessage::decode(&mut Reader::new(&bytes))
            {
                self.handle_sourced(now_us, face, &declare, out);
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // one field of the message each
    fn add_sourced(
        &mut self,
        now_us: u64,
        face: FaceId,
        owner: (Region, NodeIx),
        kind: Kind,
        key: &KeyExpr,
        info: QueryableInfo,
        out: &mut dyn Outbox,
    ) {
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        let max = self.config.limits.sourced_max;
        if neighbour.sourced_count >= max {
            return out.event(Event::Refuse { face, violation: Violation::Declarations { max } });
        }
        let entry = self.tables[kind.index()].get_or_insert_with(key, Entry::default);
        let vias = entry.owners.entry(Owner::Node(owner.0, owner.1)).or_default();
        let before = vias.iter().map(|(_, info)| *info).reduce(merge);
        match vias.iter_mut().find(|(via, _)| *via == face.0) {
            Some((_, known)) => *known = info,
            None => {
                vias.push((face.0, info));
                neighbour.sourced_count += 1;
                self.charge(face, key, out);
            }
        }
        self.sourced.entry(owner).or_default()[kind.index()].insert(key.clone());
        self.confirm(face, owner, kind, key);
        if !self.is_parent(face, owner) {
            let due = now_us.saturating_add(GRACE_US);
            self.schedule.reconcile_us.get_or_insert(due);
        }
        if before != Some(info) {
            self.owners_changed(kind, key);
            self.sync(kind, key, out);
        }
    }

    /// Whether a neighbour is the one that tells of what a node owns.
    fn is_parent(&mut self, face: FaceId, owner: (Region, NodeIx)) -> bool {
        let network = self.networks.get_mut(&owner.0);
        network.is_some_and(|network| network.parent(owner.1) == Some(face))
    }

    /// A neighbour takes back what it told. What others told remains for a while.
    fn remove_sourced(
        &mut self,
        now_us: u64,
        face: FaceId,
        owner: (Region, NodeIx),
        kind: Kind,
        key: &KeyExpr,
        out: &mut dyn Outbox,
    ) {
        self.confirm(face, owner, kind, key);
        if self.retain_vias(owner, kind, key, |via| via != face.0) {
            self.sync(kind, key, out);
        } else {
            let due = now_us.saturating_add(GRACE_US);
            self.schedule.reconcile_us.get_or_insert(due);
        }
    }

    /// Keeps a declaration only as far as it came through certain neighbours. Returns whether nothing
    /// is left of it.
    pub(crate) fn retain_vias(
        &mut self,
        (region, node): (Region, NodeIx),
        kind: Kind,
        key: &KeyExpr,
        keep: impl Fn(u32) -> bool,
    ) -> bool {
        let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke()) else { return false };
        let owner = Owner::Node(region, node);
        let Some(vias) = entry.owners.get_mut(&owner) else { return false };
        let (kept, dropped): (Vec<_>, Vec<_>) = vias.iter().partition(|(via, _)| keep(*via));
        *vias = kept;
        let ended = vias.is_empty();
        if ended {
            entry.owners.remove(&owner);
        }
        for (via, _) in dropped {
            let via = FaceId(via);
            if let Some(face) = self.faces.get_mut(&via) {
                face.sourced_count -= 1;
                self.discharge(via, key);
            }
        }
        if ended {
            if let Some(owned) = self.sourced.get_mut(&(region, node)) {
                owned[kind.index()].remove(key);
                if owned.iter().all(BTreeSet::is_empty) {
                    self.sourced.remove(&(region, node));
                }
            }
            self.owners_changed(kind, key);
        }
        ended
    }

    /// A node of a network is gone, and with it all that it owned.
    fn drop_sourced(&mut self, region: Region, node: NodeIx, out: &mut dyn Outbox) {
        self.settled.remove(&(region, node));
        self.asking.remove(&(region, node));
        for face in self.members(region) {
            for kind in Kind::ALL {
                self.forget_told(face, kind, node);
            }
        }
        let owned = self.sourced.get(&(region, node)).cloned().unwrap_or_default();
        for (kind, keys) in Kind::ALL.into_iter().zip(owned) {
            for key in keys {
                self.retain_vias((region, node), kind, &key, |_| false);
                self.sync(kind, &key, out);
            }
        }
    }

    /// Brings the children of all trees concerned up to date about `kind` on `key`.
    pub(crate) fn sync_networks(&mut self, kind: Kind, key: &KeyExpr, out: &mut dyn Outbox) {
        let regions: Vec<Region> = self.networks.keys().copied().collect();
        for region in regions {
            let mut roots = BTreeSet::from([NodeIx::SELF]);
            let mut concerned = BTreeSet::new();
            if let Some(entry) = self.tables[kind.index()].get(key.as_ke()) {
                let of_region = |owner: &Owner| match owner {
                    Owner::Node(other, node) if *other == region => Some(*node),
                    Owner::Node(..) => None,
                    Owner::Face(face) => hosted(self.faces.get(face)?, region),
                };
                roots.extend(entry.owners.keys().filter_map(of_region));
                let told = entry.told.keys();
                let told = told.filter(|(face, _)| self.network_of(*face) == Some(region));
                concerned.extend(told.copied());
            }
            for root in roots {
                let Some(network) = self.networks.get_mut(&region) else { continue };
                concerned.extend(network.children(root).into_iter().map(|face| (face, root)));
            }
            for (face, root) in concerned {
                self.sync_child(face, region, root, kind, key, out);
            }
        }
    }

    /// Brings one child's knowledge of what a root owns up to date.
    pub(crate) fn sync_child(
        &mut self,
        face: FaceId,
        region: Region,
        root: NodeIx,
        kind: Kind,
        key: &KeyExpr,
        out: &mut dyn Outbox,
    ) {
        let entry = self.tables[kind.index()].get(key.as_ke());
        let info = entry.and_then(|entry| self.owned_by(entry, region, root));
        let told = entry.and_then(|entry| entry.told.get(&(face, root))).copied();
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        match (info, told) {
            (Some(info), told)
                if told.is_none_or(|told| kind == Kind::Queryable && told.info != info) =>
            {
                let expr = named(neighbour, key, out);
                let body = declaration(kind, 0, expr.as_wire(), info);
                out.send(face, &declare_for(root, body));
                neighbour.knows(kind, root, key);
                let entry = self.tables[kind.index()].get_or_insert_with(key, Entry::default);
                entry.told.insert((face, root), Told { id: 0, info, silent: false });
            }
            (None, Some(_)) => {
                let expr = neighbour.exprs.best(key);
                out.send(face, &undeclare_for(root, kind, expr.as_wire()));
                neighbour.unlearns(kind, root, key);
                if let Some(entry) = self.tables[kind.index()].get_mut(key.as_ke()) {
                    entry.told.remove(&(face, root));
                }
            }
            _ => {}
        }
    }

    /// What a node of a network owns of an entry; for this node that is all that it knows from
    /// outside of that network.
    fn owned_by(&self, entry: &Entry, region: Region, root: NodeIx) -> Option<QueryableInfo> {
        entry.merged(|owner| match owner {
            Owner::Node(other, node) if other == region => node == root,
            _ if self.keeps_apart(owner, region) => false,
            Owner::Node(..) => root == NodeIx::SELF,
            Owner::Face(face) => {
                let face = self.faces.get(&face).filter(|face| face.region != region);
                face.is_some_and(|face| root_of(face, region) == Some(root))
            }
        })
    }
}

/// The node that a neighbour from outside of a network is there; `None` if what it owns does not
/// enter the network here.
pub(crate) fn root_of(face: &Face, region: Region) -> Option<NodeIx> {
    if region == Region::North && !face.crossing.to_north() || !face.crossing.hears() {
        return None;
    }
    Some(hosted(face, region).unwrap_or(NodeIx::SELF))
}

/// The node that a hosted neighbour is in the network of a region.
fn hosted(face: &Face, region: Region) -> Option<NodeIx> {
    match face.crossing {
        Crossing::Hosted(node) if region == Region::North => Some(node),
        _ => None,
    }
}
