//! The engine's state and the arrival and departure of neighbours.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use weft_keyexpr::{KeTree, KeyExpr};
use weft_wire::linkstate::LINKSTATE;
use weft_wire::{
    Declaration, Decode, LinkState, LinkStateList, Locator, Reader, WhatAmI, WhatAmIMatcher,
    ZenohId,
};

use crate::aggregation::{Aggregation, Covered};
use crate::entity::{Entry, Kind, Owner};
use crate::face::{Face, FaceId, FaceInit, Place, RefusedFace, Region, place};
use crate::gossip::{Gossip, GossipConfig};
use crate::interest::Interest;
use crate::limits::{Limits, Violation};
use crate::message;
use crate::network::{Network, NetworkConfig, NodeIx, NodeView, PathComputation, ShortestPaths};
use crate::outbox::{Event, Outbox};
use crate::probe::{ECHO, PROBE, Probing};
use crate::query::Queries;
use crate::resend::{Asking, OFFER, RESEND, RESENT};
use crate::route::Watch;
use crate::schedule::Schedule;

/// What routing must know of the node it works for.
#[derive(Clone, Debug)]
pub struct RoutingConfig {
    /// The node's identity.
    pub zid: ZenohId,
    /// The node's mode.
    pub whatami: WhatAmI,
    /// How long an upstream neighbour may take to answer an interest, in microseconds.
    pub interests_timeout_us: u64,
    /// Limits per neighbour.
    pub limits: Limits,
    /// Discovery by gossip.
    pub gossip: GossipConfig,
    /// The weights that the configuration gives to links to members of a network, by neighbour.
    pub weights: BTreeMap<ZenohId, u16>,
    /// How the trees of a network are computed.
    pub computation: Arc<dyn PathComputation>,
    /// Expressions that are declared instead of what they include.
    pub aggregation: Aggregation,
    /// Seeds the hash tables of the key trees: random where neighbours are not trusted, so that they
    /// cannot choose chunks that collide.
    pub hash_seed: u64,
}

impl RoutingConfig {
    /// The configuration of a node that takes no part in gossip, with the limits of
    /// [`Limits::DEFAULT`] and shortest paths.
    pub fn new(zid: ZenohId, whatami: WhatAmI) -> Self {
        Self {
            zid,
            whatami,
            interests_timeout_us: 10_000_000,
            limits: Limits::DEFAULT,
            gossip: GossipConfig {
                enabled: false,
                target: WhatAmIMatcher::EMPTY,
                locators: Vec::new(),
                first_sn: 1,
                multihop: false,
            },
            weights: BTreeMap::new(),
            computation: Arc::new(ShortestPaths),
            aggregation: Aggregation::default(),
            hash_seed: 0,
        }
    }

    /// What the network of a region needs.
    pub(crate) fn network(&self, region: Region, locators: &[Locator]) -> NetworkConfig {
        NetworkConfig {
            zid: self.zid,
            whatami: self.whatami,
            gossip: GossipConfig { locators: locators.to_vec(), ..self.gossip.clone() },
            weights: self.weights.clone(),
            computation: self.computation.clone(),
            gateway: region != Region::North,
        }
    }
}

/// How much a [`Routing`] remembers, for inspection: counts, and bytes where it says memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Neighbours.
    pub faces: usize,
    /// Keys with a declaration or a neighbour that was told of one, per kind.
    pub keys: usize,
    /// Declarations of neighbours and of this node's session.
    pub declarations: usize,
    /// Declarations that neighbours and this node's session were told of.
    pub told: usize,
    /// Interests of neighbours and of this node's session.
    pub interests: usize,
    /// Keys under which standing interests are found, and interests in everything.
    pub standing_interests: usize,
    /// Interests whose answer is not complete.
    pub open_interests: usize,
    /// Interests of this node at its upstream neighbours.
    pub asked: usize,
    /// Queries that have not ended.
    pub queries: usize,
    /// Expression ids in both directions.
    pub exprs: usize,
    /// Keys of cached routes.
    pub routes: usize,
    /// Estimated memory of neighbours' key expressions, in bytes.
    pub key_memory: usize,
    /// Other nodes of networks.
    pub nodes: usize,
    /// Declarations of the nodes of networks.
    pub sourced: usize,
    /// Estimated memory of what was told in answers that are not complete, in bytes.
    pub heard_memory: usize,
}

/// The routing engine of one node. See the [crate] documentation.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug)]
pub struct Routing {
    pub(crate) config: RoutingConfig,
    pub(crate) faces: BTreeMap<FaceId, Face>,
    /// The neighbours by identity.
    pub(crate) by_zid: BTreeMap<ZenohId, FaceId>,
    /// The faces to which declarations are sent unasked.
    pub(crate) pushed: BTreeSet<FaceId>,
    pub(crate) tables: [KeTree<Entry>; Kind::COUNT],
    /// Standing interests by key.
    pub(crate) interests_by_key: KeTree<Vec<(FaceId, u32)>>,
    /// Standing interests in every key.
    pub(crate) interests_in_all: Vec<(FaceId, u32)>,
    /// When to stop waiting for the upstream's answer to an interest.
    pub(crate) interest_deadlines: BTreeSet<(u64, FaceId, u32)>,
    /// What the covers of the configuration stand for.
    pub(crate) covered: Covered,
    pub(crate) queries: Queries,
    pub(crate) watch: Watch,
    pub(crate) gossip: Gossip,
    /// The networks that this node is a member of, by the region of their members.
    pub(crate) networks: BTreeMap<Region, Network>,
    /// Networks that this node serves and that another one joins with the north.
    pub(crate) aside: BTreeSet<Region>,
    /// What the nodes of networks own.
    pub(crate) sourced: BTreeMap<(Region, NodeIx), [BTreeSet<KeyExpr>; Kind::COUNT]>,
    /// The children of each tree that have been told all that its root owns, and are kept up to date.
    pub(crate) settled: BTreeMap<(Region, NodeIx), BTreeSet<FaceId>>,
    /// Who was asked for what the nodes of networks own.
    pub(crate) asking: BTreeMap<(Region, NodeIx), Asking>,
    pub(crate) schedule: Schedule,
    pub(crate) probing: Probing,
    locators_changed: bool,
    next_face: u32,
}

impl Routing {
    /// An engine that knows only its own session.
    pub fn new(mut config: RoutingConfig) -> Self {
        config.aggregation = config.aggregation.reduced();
        let own = FaceInit::new(config.zid, config.whatami);
        let place = Place { region: Region::Local, upstream: false, networked: false };
        let local = Face::new(FaceId::LOCAL, own, place);
        Self {
            gossip: Gossip::new(config.zid, config.whatami, config.gossip.clone()),
            faces: BTreeMap::from([(FaceId::LOCAL, local)]),
            by_zid: BTreeMap::new(),
            pushed: BTreeSet::new(),
            tables: Kind::ALL.map(|_| KeTree::with_seed(config.hash_seed)),
            interests_by_key: KeTree::with_seed(config.hash_seed),
            interests_in_all: Vec::new(),
            interest_deadlines: BTreeSet::new(),
            covered: Covered::default(),
            queries: Queries::default(),
            watch: Watch::new(config.hash_seed),
            networks: BTreeMap::new(),
            aside: BTreeSet::new(),
            sourced: BTreeMap::new(),
            settled: BTreeMap::new(),
            asking: BTreeMap::new(),
            schedule: Schedule::default(),
            probing: Probing::default(),
            locators_changed: false,
            next_face: FaceId::LOCAL.0 + 1,
            config,
        }
    }

    /// Whether such a neighbour would be accepted now (03 §1.4).
    pub fn admits(&self, init: &FaceInit) -> Result<(), RefusedFace> {
        let place = place(self.config.whatami, init)?;
        let client = self.config.whatami == WhatAmI::Client;
        if client && place.region == Region::North && !self.pushed.is_empty() {
            return Err(RefusedFace::SecondUpstream);
        }
        Ok(())
    }

    /// Names the next neighbour, so that messages for it can be delivered from the very call of
    /// [`Routing::face_up`] that announces it.
    pub fn next_face(&mut self) -> FaceId {
        let id = FaceId(self.next_face);
        self.next_face += 1;
        id
    }

    /// A transport to a neighbour is up. Sends gossip and all that is pushed to it.
    pub fn face_up(
        &mut self,
        now_us: u64,
        id: FaceId,
        init: FaceInit,
        out: &mut dyn Outbox,
    ) -> Result<(), RefusedFace> {
        self.admits(&init)?;
        let place = place(self.config.whatami, &init)?;
        let face = Face::new(id, init, place);
        let (fellow_peer, pushed_to) = (face.is_fellow_peer(), face.is_pushed_to());
        self.faces.insert(id, face);
        self.by_zid.insert(init.zid, id);
        self.gossip.link_up(id, init, place, out);
        if place.networked {
            self.join_network(now_us, id, &init, out);
            self.probe_soon(now_us);
        }
        if pushed_to {
            self.pushed.insert(id);
            self.push_all(id, out);
        }
        if place.upstream {
            self.replay_interests(id, out);
        }
        self.refresh_crossings(now_us, out);
        if fellow_peer {
            out.send(id, &message::declare(Some(0), Declaration::Final));
        } else if !(place.networked || place.upstream && self.gossip.speaks_with(init.whatami)) {
            // Nothing more is due from it before it may be used.
            self.neighbour_ready(id, out);
        }
        self.watch.invalidate_all();
        Ok(())
    }

    /// A neighbour is gone: what it declared is withdrawn, what it was asked has ended.
    pub fn face_down(&mut self, now_us: u64, id: FaceId, out: &mut dyn Outbox) {
        if id == FaceId::LOCAL || !self.faces.contains_key(&id) {
            return;
        }
        let network = self.network_of(id);
        self.pushed.remove(&id);
        let crossing = self.faces[&id].crossing;
        self.drop_interests_of(id, out);
        self.drop_declarations_of(id, out);
        self.drop_answers_of(id, out);
        self.drop_queries_of(id, out);
        if let Some(gone) = self.faces.remove(&id) {
            self.by_zid.remove(&gone.zid);
        }
        self.unhost(now_us, id, crossing, out);
        self.gossip.link_down(id, out);
        self.probing.forget(id);
        if let Some(region) = network {
            self.leave_network(now_us, region, id, out);
        }
        self.refresh_crossings(now_us, out);
        self.watch.invalidate_all();
    }

    /// Handles an OAM message with a body of bytes: link states, and what nodes of this
    /// implementation say about them. Others are ignored. Returns whether it was link states.
    pub fn handle_oam(
        &mut self,
        now_us: u64,
        face: FaceId,
        (id, body): (u16, &[u8]),
        out: &mut dyn Outbox,
    ) -> bool {
        if matches!(id, PROBE | ECHO) {
            self.handle_probe(now_us, face, (id, body), out);
            return false;
        }
        let known = matches!(id, LINKSTATE | RESEND | RESENT | OFFER);
        if !known || self.faces.get(&face).is_none_or(|it| it.whatami == WhatAmI::Client) {
            return false;
        }
        let Ok(LinkStateList(states)) = LinkStateList::decode(&mut Reader::new(body)) else {
            // Gossip is only good to have; a network does not work without.
            if self.network_of(face).is_some() {
                out.event(Event::Refuse { face, violation: Violation::Garbled });
            }
            return false;
        };
        match id {
            RESEND => self.handle_resend(face, states, out),
            RESENT => self.handle_resent(face, &states, out),
            OFFER => self.handle_offer(face, &states, out),
            _ => self.handle_states(now_us, face, states, out),
        }
        id == LINKSTATE
    }

    fn handle_states(
        &mut self,
        now_us: u64,
        face: FaceId,
        states: Vec<LinkState>,
        out: &mut dyn Outbox,
    ) {
        let Some(neighbour) = self.faces.get(&face) else { return };
        // Members of this implementation say so when they have told all (see `sourced`).
        let awaited = neighbour.upstream || neighbour.networked && !neighbour.mesh;
        if neighbour.networked {
            self.handle_link_states(now_us, face, states, out);
        } else if let Some(linked) = self.gossip.received(face, states, out)
            && let Some(neighbour) = self.faces.get_mut(&face)
            && matches!(neighbour.region, Region::South(..))
            && neighbour.linked.as_ref() != Some(&linked)
        {
            neighbour.linked = Some(linked);
            self.refresh_crossings(now_us, out);
            self.relink(face, out);
        }
        if awaited {
            self.neighbour_ready(face, out);
        }
    }

    fn handle_link_states(
        &mut self,
        now_us: u64,
        face: FaceId,
        states: Vec<LinkState>,
        out: &mut dyn Outbox,
    ) {
        let Some(region) = self.network_of(face) else { return };
        let Some(network) = self.networks.get_mut(&region) else { return };
        match network.received(face, states, &self.config.limits) {
            Ok(changes) => {
                self.network_changed(now_us, region, changes, out);
                self.unpark(now_us, face, out);
            }
            Err(violation) => out.event(Event::Refuse { face, violation }),
        }
    }

    /// The node can be reached at other addresses than before. Neighbours are told with the next
    /// [`Routing::handle_timeout`], which is due at once.
    pub fn set_locators(&mut self, locators: Vec<Locator>) {
        self.locators_changed = self.gossip.set_locators(locators);
    }

    fn tell_locators(&mut self, now_us: u64, out: &mut dyn Outbox) {
        if core::mem::take(&mut self.locators_changed) {
            self.gossip.tell_self(out);
            for network in self.networks.values_mut() {
                network.set_locators(self.gossip.locators());
            }
            self.flood(now_us, out);
        }
    }

    /// Sets the weights that the configuration gives to links.
    pub fn set_weights(
        &mut self,
        now_us: u64,
        weights: BTreeMap<ZenohId, u16>,
        out: &mut dyn Outbox,
    ) {
        self.config.weights.clone_from(&weights);
        self.reweigh(now_us, out, |network| network.set_weights(weights.clone()));
    }

    /// A round trip to a neighbour was measured, in microseconds.
    pub(crate) fn measured(
        &mut self,
        now_us: u64,
        face: FaceId,
        round_trip_us: u64,
        out: &mut dyn Outbox,
    ) {
        self.reweigh(now_us, out, |network| network.measured(face, round_trip_us));
    }

    fn reweigh(
        &mut self,
        now_us: u64,
        out: &mut dyn Outbox,
        change: impl Fn(&mut Network) -> bool,
    ) {
        let regions: Vec<Region> = self.networks.keys().copied().collect();
        for region in regions {
            let Some(network) = self.networks.get_mut(&region) else { continue };
            if change(network) {
                let changes = crate::network::Changes { graph: true, ..Default::default() };
                self.network_changed(now_us, region, changes, out);
            }
        }
    }

    /// The nodes of a network and their links, for inspection; empty without one in that region.
    pub fn network(&self, region: Region) -> Vec<NodeView> {
        self.networks.get(&region).map_or(Vec::new(), Network::view)
    }

    /// The regions in which this node is a member of a network.
    pub fn network_regions(&self) -> impl Iterator<Item = Region> + '_ {
        self.networks.keys().copied()
    }

    /// Does what is due at `now_us`. Calling it too early is harmless.
    pub fn handle_timeout(&mut self, now_us: u64, out: &mut dyn Outbox) {
        self.expire_queries(now_us, out);
        self.expire_interests(now_us, out);
        self.network_timeout(now_us, out);
        self.probe(now_us, out);
        self.tell_locators(now_us, out);
    }

    /// When [`Routing::handle_timeout`] has something to do, and what.
    pub fn next_timeout(&self) -> Option<(u64, &'static str)> {
        let query = self.queries.next_deadline_us().map(|at| (at, "query timeout"));
        let interest = self.interest_deadlines.first().map(|(at, _, _)| (*at, "interest timeout"));
        let locators = self.locators_changed.then_some((0, "addresses have changed"));
        let probe = self.probing.due_us.map(|at| (at, "round trips are measured"));
        [query, interest, self.schedule.deadline(), locators, probe].into_iter().flatten().min()
    }

    /// Whether a neighbour serves this node.
    pub fn has_upstream(&self) -> bool {
        self.pushed.iter().any(|face| self.faces[face].upstream)
    }

    /// The neighbour's identity and mode.
    pub fn neighbour(&self, face: FaceId) -> Option<FaceInit> {
        let face = self.faces.get(&face)?;
        Some(FaceInit {
            mesh: face.mesh,
            gateway: face.gateway,
            ..FaceInit::new(face.zid, face.whatami)
        })
    }

    /// The neighbours' faces, in the order of their arrival.
    pub fn neighbours(&self) -> impl Iterator<Item = FaceId> + '_ {
        self.faces.keys().copied().filter(|face| *face != FaceId::LOCAL)
    }

    /// The declared keys of `kind` and their owners, for inspection.
    pub fn declarations(&self, kind: Kind) -> impl Iterator<Item = (&KeyExpr, Vec<Owner>)> {
        self.tables[kind.index()]
            .iter()
            .filter(|(_, entry)| !entry.owners.is_empty())
            .map(|(key, entry)| (key, entry.owners.keys().copied().collect()))
    }

    /// Whether the neighbour has told all it has at start-up, see [`Event::NeighbourReady`].
    ///
    /// [`Event::NeighbourReady`]: crate::Event::NeighbourReady
    pub fn is_ready(&self, face: FaceId) -> bool {
        self.faces.get(&face).is_some_and(|face| face.ready)
    }

    /// How much this engine remembers.
    pub fn footprint(&self) -> Footprint {
        let faces = self.faces.values();
        let mut footprint = Footprint {
            faces: self.faces.len() - 1,
            standing_interests: self.interests_in_all.len() + self.interests_by_key.len(),
            open_interests: self.interest_deadlines.len(),
            queries: self.queries.len(),
            routes: self.watch.len(),
            nodes: self.networks.values().map(|network| network.len() - 1).sum(),
            ..Footprint::default()
        };
        for (_, entry) in self.tables.iter().flat_map(KeTree::iter) {
            footprint.keys += 1;
            for (owner, declarations) in &entry.owners {
                match owner {
                    Owner::Face(_) => footprint.declarations += declarations.len(),
                    Owner::Node(..) => footprint.sourced += declarations.len(),
                }
            }
            footprint.told += entry.told.len();
        }
        for face in faces {
            footprint.interests += face.interests.len();
            footprint.heard_memory +=
                face.interests.values().map(Interest::heard_memory).sum::<usize>();
            footprint.asked += face.asked.len();
            footprint.exprs += face.exprs.len();
            footprint.key_memory += face.key_memory;
        }
        footprint
    }

    pub(crate) fn region(&self, face: FaceId) -> Region {
        self.faces.get(&face).map_or(Region::North, |face| face.region)
    }
}
