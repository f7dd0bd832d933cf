//! What the nodes of a network own: declarations that travel along trees.
//!
//! Spec: 03 §2.8, §2.10, §3.5. Each declaration belongs to the node where it entered the network
//! and goes from there down that node's tree; every member keeps it under its owner. What this node
//! owns towards a network is all that it knows from elsewhere. The rule for telling is that of
//! `tell`: compare what each child of the owner's tree should know with what it was told.
//!
//! When trees change, a new child is told all that the root owns, and a former child is not told
//! anything, not even that something ended. A declaration is therefore remembered with the neighbour
//! through which it came. Nodes of this implementation ask a new parent for the truth instead, and hear
//! only what they do not know (`resend`). Once trees have been stable for a while (`schedule`), whatever
//! did not come from the tree's parent is dropped: any other parent has said by then what is true.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Declaration, Declare, Decode, Encode, NetworkMessage, QueryableInfo, Reader};

use crate::crossing::Crossing;
use crate::entity::{Entry, Kind, Owner, Told, merge};
use crate::face::{Face, FaceId, FaceInit, Region};
use crate::few::Few;
use crate::limits::Violation;
use crate::message::{declaration, declare, declare_for, named_once, undeclare_for};
use crate::network::{Network, NodeIx};
use crate::outbox::{Event, Outbox};
use crate::routing::Routing;

/// Declarations of unknown nodes that are kept for a neighbour.
const PARKED_MAX: usize = 1024;

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
        let changes = network.link_down(face);
        self.network_changed(now_us, region, changes, out);
    }

    /// Tells those who have become children of a tree what its root owns, and forgets what those
    /// were told who are children no more.
    pub(crate) fn settle_trees(&mut self, now_us: u64, region: Region, out: &mut dyn Outbox) {
        self.forget_former_children(region);
        for root in self.roots(region) {
            self.settle_root(now_us, region, root, out);
        }
        self.ask_new_parents(now_us, region, out);
        let mut members = self.faces.values().filter(|face| face.networked && face.mesh);
        if members.any(|face| !face.finished) {
            self.schedule.offer_later(now_us);
        }
    }

    /// All nodes of a network, this one first: each is the root of a tree.
    pub(crate) fn roots(&self, region: Region) -> Vec<NodeIx> {
        let others = self.networks.get(&region).map_or(Vec::new(), Network::others);
        core::iter::once(NodeIx::SELF).chain(others).collect()
    }

    /// Tells the new children of a root's tree what it owns. Those of this implementation ask for it.
    fn settle_root(&mut self, now_us: u64, region: Region, root: NodeIx, out: &mut dyn Outbox) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        let children = network.children(root);
        let settled = self.settled.entry((region, root)).or_default();
        let (asking, new): (Vec<FaceId>, Vec<FaceId>) =
            children.difference(settled).partition(|face| self.faces[*face].mesh);
        if !asking.is_empty() {
            self.schedule.offer_later(now_us);
        }
        if new.is_empty() {
            return;
        }
        settled.extend(&new);
        for kind in Kind::ALL {
            let owned = self.owned_by_root(region, root, kind);
            let mut keys: BTreeSet<KeyExpr> = owned.into_iter().map(|(key, _)| key).collect();
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

    /// What a root owns.
    pub(crate) fn owned_by_root(
        &self,
        region: Region,
        root: NodeIx,
        kind: Kind,
    ) -> Vec<(KeyExpr, QueryableInfo)> {
        let mut owned = Vec::new();
        self.for_each_owned(region, root, kind, |key, info| owned.push((key.clone(), info)));
        owned
    }

    /// Visits what a root owns. Cost: the root's keys; for this node, all keys.
    pub(crate) fn for_each_owned(
        &self,
        region: Region,
        root: NodeIx,
        kind: Kind,
        mut visit: impl FnMut(&KeyExpr, QueryableInfo),
    ) {
        let table = &self.tables[kind.index()];
        let mut look = |key: &KeyExpr, entry: Option<&Entry>| {
            if let Some(info) = self.owned_by(kind, key, entry, region, root) {
                visit(key, info);
            }
        };
        if root == NodeIx::SELF {
            table.iter().for_each(|(key, entry)| look(key, Some(entry)));
            let covers = self.covers(kind).iter().filter(|key| !table.contains(key.as_ke()));
            covers.for_each(|key| look(key, None));
        } else if let Some(face) = self.faces.values().find(|it| hosted(it, region) == Some(root)) {
            let declared = face.declared[kind.index()].values();
            let keys: BTreeSet<&KeyExpr> = declared.chain(self.covers(kind)).collect();
            for key in keys {
                look(key, table.get(key.as_ke()));
            }
        } else if let Some(owned) = self.sourced.get(&(region, root)) {
            owned[kind.index()].iter().for_each(|key| look(key, table.get(key.as_ke())));
        }
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

    /// Tells the new members that they have heard all that there is at their start.
    pub(crate) fn finish_introductions(&mut self, region: Region, out: &mut dyn Outbox) {
        for face in self.members(region) {
            self.finish_introduction(face, region, out);
        }
    }

    /// Tells a new member once, after all that there is at its start, that it has heard it.
    pub(crate) fn finish_introduction(
        &mut self,
        face: FaceId,
        region: Region,
        out: &mut dyn Outbox,
    ) {
        if let Some(network) = self.networks.get(&region)
            && let Some(member) = self.faces.get_mut(&face)
            && member.mesh
            && !member.finished
            && network.find(member.zid).is_some_and(|node| network.agrees(node))
        {
            member.finished = true;
            out.send(face, &declare(Some(0), Declaration::Final));
        }
    }

    /// Has the declarations of a node confirmed that did not come from its tree's parent, after trees have been
    /// stable. A parent of another implementation cannot be asked: they are dropped.
    pub(crate) fn reconcile(&mut self, (region, node): (Region, NodeIx), out: &mut dyn Outbox) {
        let Some(network) = self.networks.get_mut(&region) else { return };
        let parent = network.parent(node);
        if self.is_asking((region, node)) {
            return;
        }
        if let Some(parent) = parent.filter(|face| self.faces.get(face).is_some_and(|it| it.mesh)) {
            if self.has_from_elsewhere(parent, region, node) {
                self.ask_parent(region, parent, &[node], true, out);
            }
            return;
        }
        for kind in Kind::ALL {
            for (key, _) in self.owned_by_root(region, node, kind) {
                let keep = |via: u32| parent == Some(FaceId(via));
                if self.retain_vias((region, node), kind, &key, keep) {
                    self.sync(kind, &key, out);
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
        let max = self.config.limits.sourced_max;
        if self.faces.get(&face).is_none_or(|neighbour| neighbour.sourced_count >= max) {
            return out.event(Event::Refuse { face, violation: Violation::Declarations { max } });
        }
        let before = self.add_via(face, owner, kind, key, info, out);
        self.confirm(face, owner, kind, key);
        if !self.is_parent(face, owner) {
            self.schedule.reconcile_later(now_us, owner);
        }
        if before != Some(info) {
            self.owners_changed(kind, key, Owner::Node(owner.0, owner.1));
            self.sync(kind, key, out);
        }
    }

    /// Notes that a neighbour has told of what a node owns. Returns what was known of it before.
    pub(crate) fn add_via(
        &mut self,
        face: FaceId,
        owner: (Region, NodeIx),
        kind: Kind,
        key: &KeyExpr,
        info: QueryableInfo,
        out: &mut dyn Outbox,
    ) -> Option<QueryableInfo> {
        let entry = self.tables[kind.index()].get_or_insert_with(key, Entry::default);
        let owned = Owner::Node(owner.0, owner.1);
        let vias = entry.owners.get_or_insert_with(owned, Few::default);
        let before = vias.values().copied().reduce(merge);
        if vias.insert(face.0, info).is_none() {
            if let Some(neighbour) = self.faces.get_mut(&face) {
                neighbour.sourced_count += 1;
            }
            self.charge(face, key, out);
            self.sourced.entry(owner).or_default()[kind.index()].insert(key.clone());
        }
        before
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
            self.schedule.reconcile_later(now_us, owner);
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
        let dropped: Vec<u32> = vias.keys().copied().filter(|via| !keep(*via)).collect();
        for via in &dropped {
            vias.remove(via);
        }
        let ended = vias.is_empty();
        if ended {
            entry.owners.remove(&owner);
        }
        for via in dropped {
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
            self.owners_changed(kind, key, owner);
        }
        ended
    }

    /// A node of a network is gone, and with it all that it owned.
    pub(crate) fn drop_sourced(&mut self, region: Region, node: NodeIx, out: &mut dyn Outbox) {
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

    /// Brings the children of all trees concerned up to date about `kind` on `key`: those who were
    /// children when trees were last looked at. A tree may change twice until they are looked at again,
    /// and whoever is a child then as before has to have heard what there was to hear meanwhile.
    pub(crate) fn sync_networks(&mut self, kind: Kind, key: &KeyExpr, out: &mut dyn Outbox) {
        let regions: Vec<Region> = self.networks.keys().copied().collect();
        for region in regions {
            let mut roots = BTreeSet::from([NodeIx::SELF]);
            let mut concerned = BTreeSet::new();
            let of_region = |owner: Owner| match owner {
                Owner::Node(other, node) if other == region => Some(node),
                Owner::Node(..) => None,
                Owner::Face(face) => hosted(self.faces.get(&face)?, region),
            };
            roots.extend(self.covered.owners(key).filter_map(of_region));
            if let Some(entry) = self.tables[kind.index()].get(key.as_ke()) {
                roots.extend(entry.owners.keys().copied().filter_map(of_region));
                let told = entry.told.keys();
                let told = told.filter(|(face, _)| self.network_of(*face) == Some(region));
                concerned.extend(told.copied());
            }
            for root in roots {
                let settled = self.settled.get(&(region, root)).into_iter().flatten();
                concerned.extend(settled.map(|face| (*face, root)));
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
        let info = self.owned_by(kind, key, entry, region, root);
        let told = entry.and_then(|entry| entry.told.get(&(face, root))).copied();
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        match (info, told) {
            (Some(info), told)
                if told.is_none_or(|told| kind == Kind::Queryable && told.info != info) =>
            {
                if let Some(network) = self.networks.get_mut(&region) {
                    network.introduce(root, face, out);
                }
                let expr = named_once(neighbour, key, out);
                let body = declaration(kind, 0, expr.as_wire(), info);
                out.send(face, &declare_for(root, body));
                self.note_told(face, root, kind, key, info);
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

    /// Notes that a child knows of what a root owns.
    pub(crate) fn note_told(
        &mut self,
        face: FaceId,
        root: NodeIx,
        kind: Kind,
        key: &KeyExpr,
        info: QueryableInfo,
    ) {
        let Some(neighbour) = self.faces.get_mut(&face) else { return };
        neighbour.knows(kind, root, key);
        let entry = self.tables[kind.index()].get_or_insert_with(key, Entry::default);
        entry.told.insert((face, root), Told { id: 0, info, silent: false });
    }

    /// What a node of a network owns of an entry; for this node that is all that it knows from
    /// outside of that network.
    fn owned_by(
        &self,
        kind: Kind,
        key: &KeyExpr,
        entry: Option<&Entry>,
        region: Region,
        root: NodeIx,
    ) -> Option<QueryableInfo> {
        let admits = |owner: Owner| match owner {
            Owner::Node(other, node) if other == region => node == root,
            _ if self.keeps_apart(owner, region) => false,
            Owner::Node(..) => root == NodeIx::SELF,
            Owner::Face(face) => {
                let face = self.faces.get(&face).filter(|face| face.region != region);
                face.is_some_and(|face| root_of(face, region) == Some(root))
            }
        };
        match region {
            Region::North => self.told_to_north(kind, key, entry, admits),
            _ => entry?.merged(admits),
        }
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
