//! Who moves a neighbour's traffic between regions, where several nodes could.
//!
//! Spec: 03 §4.4. A peer that is not a member of a network may be linked with several nodes that are:
//! gateways that serve it, and fellow peers. What it sends and gets must reach everybody once.
//!
//! - Of the gateways that a served peer is linked with, the one with the greatest identity is
//!   elected, as other implementations have it. Of this implementation, it *hosts* the peer: it
//!   announces the peer as a leaf of its network, so that the peer's declarations and samples
//!   travel there under the peer's own name.
//! - Every other member that is linked with the peer exchanges with it what is its own and what
//!   comes from those it serves, and ignores the peer in the network. The elected one in turn does
//!   not deliver to the peer what comes from members that are linked with it.
//! - Where the gateways' north is no network but peers that are linked with each other, the elected
//!   one serves these, and leaves out whom the peer is linked with itself; so other gateways do as
//!   above.
//! - Where a gateway of another implementation is elected, the peer's traffic comes through the
//!   north in that gateway's name, and other gateways have to ignore what the peer sends them.
//! - A peer that is a member of a network leaves a link alone that is not of the network and leads to
//!   another member, and so does that one.
//!
//! Peers that do not say with whom they are linked (without gossip) are served by every gateway, and
//! get and cause duplicates, as they do elsewhere.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{WhatAmI, ZenohId};

use crate::entity::Kind;
use crate::face::{Face, FaceId, Region};
use crate::network::NodeIx;
use crate::outbox::Outbox;
use crate::routing::Routing;

/// What of a neighbour's traffic passes through this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// All that the regions allow.
    #[default]
    Open,
    /// The same; in this node's north network the neighbour is a node with this number.
    Hosted(NodeIx),
    /// What is between the neighbour and the other regions of this node, its north excepted.
    Beside,
    /// As [`Crossing::Beside`], but only towards the neighbour.
    Deaf,
    /// Nothing.
    Closed,
}

impl Crossing {
    /// Whether this node moves the neighbour's traffic to and from its north.
    pub(crate) const fn to_north(self) -> bool {
        matches!(self, Self::Open | Self::Hosted(_))
    }

    /// Whether this node takes anything from the neighbour.
    pub(crate) const fn hears(self) -> bool {
        !matches!(self, Self::Deaf | Self::Closed)
    }
}

/// What the election says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Host,
    Other(Crossing),
}

impl Routing {
    /// Elects anew, after neighbours or networks changed.
    pub(crate) fn refresh_crossings(&mut self, now_us: u64, out: &mut dyn Outbox) {
        let faces: Vec<FaceId> = self.faces.keys().copied().collect();
        for face in faces {
            self.refresh_crossing(now_us, face, out);
        }
    }

    fn refresh_crossing(&mut self, now_us: u64, id: FaceId, out: &mut dyn Outbox) {
        let Some(face) = self.faces.get(&id) else { return };
        match (face.crossing, self.verdict(face)) {
            (Crossing::Hosted(_), Verdict::Host) => {}
            (_, Verdict::Host) => self.host(now_us, id, out),
            (before, Verdict::Other(crossing)) if before != crossing => {
                if let Some(face) = self.faces.get_mut(&id) {
                    face.crossing = crossing;
                }
                self.relink(id, out);
                if before == Crossing::Closed {
                    self.replay_interests(id, out);
                }
                self.unhost(now_us, id, before, out);
            }
            _ => {}
        }
    }

    fn verdict(&self, face: &Face) -> Verdict {
        let north = self.networks.get(&Region::North);
        let is_member = |zid| north.is_some_and(|network| network.is_member(zid));
        let is_node = |zid| north.is_some_and(|network| network.find(zid).is_some());
        let crossing = match face.region {
            _ if face.networked => Crossing::Open,
            Region::North | Region::South(_, WhatAmI::Peer) if is_member(face.zid) => {
                Crossing::Closed
            }
            Region::South(_, WhatAmI::Peer) => {
                let Some(linked) = &face.linked else { return Verdict::Other(Crossing::Open) };
                match self.elected(linked) {
                    Some(_) if is_node(face.zid) => Crossing::Beside,
                    Some(other) if north.is_none() && self.leaves_alone(other) => Crossing::Beside,
                    Some(_) => Crossing::Deaf,
                    None if north.is_some() => return Verdict::Host,
                    None => Crossing::Open,
                }
            }
            _ => Crossing::Open,
        };
        Verdict::Other(crossing)
    }

    /// The gateway that moves the traffic of a peer with these links to and from the north, if that
    /// is another node. One that this node does not see in its north, or sees only because it announces that one
    /// itself, does not count, unless there is an upstream that it may be behind. So what is announced never
    /// depends on not being announced, whatever peers claim.
    fn elected(&self, linked: &BTreeMap<ZenohId, bool>) -> Option<ZenohId> {
        let blind = self.has_upstream();
        let gateways = linked.iter().filter(|(_, gateway)| **gateway).map(|(zid, _)| *zid);
        let counted = gateways.filter(|zid| *zid != self.config.zid);
        let greatest = counted.filter(|zid| blind || self.reaches_in_north(*zid)).max();
        greatest.filter(|other| *other > self.config.zid)
    }

    fn reaches_in_north(&self, zid: ZenohId) -> bool {
        self.networks.get(&Region::North).is_some_and(|network| network.has_by_itself(zid))
            || self.north_face(zid).is_some()
    }

    fn north_face(&self, zid: ZenohId) -> Option<&Face> {
        let face = self.faces.get(self.by_zid.get(&zid)?)?;
        (face.region == Region::North).then_some(face)
    }

    /// Whether an elected gateway leaves to this node what is between this node and the neighbour.
    /// Those of this implementation do; behind an upstream nobody can tell, and something that comes
    /// twice is better than something that does not come.
    fn leaves_alone(&self, elected: ZenohId) -> bool {
        self.north_face(elected).is_none_or(|face| face.gateway)
    }

    /// Announces a neighbour as a node of the north network.
    fn host(&mut self, now_us: u64, id: FaceId, out: &mut dyn Outbox) {
        let Some(face) = self.faces.get_mut(&id) else { return };
        let Some(network) = self.networks.get_mut(&Region::North) else { return };
        let Some((node, changes)) = network.host(face.zid, face.whatami) else { return };
        face.crossing = Crossing::Hosted(node);
        self.network_changed(now_us, Region::North, changes, out);
        self.relink(id, out);
    }

    /// Ends the announcement of a neighbour that was hosted.
    pub(crate) fn unhost(
        &mut self,
        now_us: u64,
        id: FaceId,
        before: Crossing,
        out: &mut dyn Outbox,
    ) {
        if let Crossing::Hosted(node) = before
            && let Some(network) = self.networks.get_mut(&Region::North)
        {
            let changes = network.unhost(node);
            debug_assert!(self.faces.get(&id).is_none_or(|face| face.crossing != before));
            self.network_changed(now_us, Region::North, changes, out);
        }
    }

    /// Whether a node of a network is linked with this node directly as well, and so heard and
    /// served without the network.
    pub(crate) fn is_heard_directly(&self, region: Region, node: NodeIx) -> bool {
        let Some(network) = self.networks.get(&region) else { return false };
        let zid = network.zid_of(node);
        let Some(face) = zid.and_then(|zid| self.by_zid.get(&zid)) else { return false };
        self.faces.get(face).is_some_and(|face| !face.networked && face.crossing.hears())
    }

    /// Who passes what on to or from a neighbour has changed: tells it, and those who know what it
    /// owns.
    pub(crate) fn relink(&mut self, face: FaceId, out: &mut dyn Outbox) {
        self.watch.invalidate_all();
        for kind in Kind::ALL {
            for key in self.keys_concerning(face, kind) {
                self.sync(kind, &key, out);
            }
        }
    }

    /// The keys that a neighbour declared, knows of, or wants to know of.
    fn keys_concerning(&self, face: FaceId, kind: Kind) -> BTreeSet<KeyExpr> {
        let Some(neighbour) = self.faces.get(&face) else { return BTreeSet::new() };
        let table = &self.tables[kind.index()];
        if neighbour.is_pushed_to() {
            return table.iter().map(|(key, _)| key.clone()).collect();
        }
        let told = neighbour.told[kind.index()].values().flatten();
        let declared = neighbour.declared[kind.index()].values();
        let mut keys: BTreeSet<KeyExpr> = told.chain(declared).cloned().collect();
        for interest in neighbour.interests.values().filter(|it| it.kinds.contains(kind)) {
            match &interest.key {
                Some(wanted) => table.for_each_intersecting(wanted.as_ke(), |key, _| {
                    keys.insert(key.clone());
                }),
                None => keys.extend(table.iter().map(|(key, _)| key.clone())),
            }
        }
        keys
    }
}
