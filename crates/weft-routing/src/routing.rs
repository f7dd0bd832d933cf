//! The engine's state and the arrival and departure of neighbours.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_keyexpr::{KeTree, KeyExpr};
use weft_wire::{Declaration, Locator, WhatAmI, ZenohId};

use crate::entity::{Entry, Kind};
use crate::face::{Face, FaceId, FaceInit, RefusedFace, Region, place};
use crate::gossip::{Gossip, GossipConfig};
use crate::interest::Interest;
use crate::limits::Limits;
use crate::message;
use crate::outbox::Outbox;
use crate::query::Queries;
use crate::route::Watch;

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
    /// Seeds the hash tables of the key trees: random where neighbours are not trusted, so that they
    /// cannot choose chunks that collide.
    pub hash_seed: u64,
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
    /// Estimated memory of what was told in answers that are not complete, in bytes.
    pub heard_memory: usize,
}

/// The routing engine of one node. See the [crate] documentation.
#[derive(Debug)]
pub struct Routing {
    pub(crate) config: RoutingConfig,
    pub(crate) faces: BTreeMap<FaceId, Face>,
    /// The faces to which declarations are sent unasked.
    pub(crate) pushed: BTreeSet<FaceId>,
    pub(crate) tables: [KeTree<Entry>; Kind::COUNT],
    /// Standing interests by key.
    pub(crate) interests_by_key: KeTree<Vec<(FaceId, u32)>>,
    /// Standing interests in every key.
    pub(crate) interests_in_all: Vec<(FaceId, u32)>,
    /// When to stop waiting for the upstream's answer to an interest.
    pub(crate) interest_deadlines: BTreeSet<(u64, FaceId, u32)>,
    pub(crate) queries: Queries,
    pub(crate) watch: Watch,
    pub(crate) gossip: Gossip,
    next_face: u32,
}

impl Routing {
    /// An engine that knows only its own session.
    pub fn new(config: RoutingConfig) -> Self {
        let own = FaceInit { zid: config.zid, whatami: config.whatami };
        let local = Face::new(FaceId::LOCAL, own, Region::Local, false);
        Self {
            gossip: Gossip::new(config.zid, config.whatami, config.gossip.clone()),
            faces: BTreeMap::from([(FaceId::LOCAL, local)]),
            pushed: BTreeSet::new(),
            tables: Kind::ALL.map(|_| KeTree::with_seed(config.hash_seed)),
            interests_by_key: KeTree::with_seed(config.hash_seed),
            interests_in_all: Vec::new(),
            interest_deadlines: BTreeSet::new(),
            queries: Queries::default(),
            watch: Watch::new(config.hash_seed),
            next_face: FaceId::LOCAL.0 + 1,
            config,
        }
    }

    /// Whether a neighbour of this mode would be accepted now (03 §1.4).
    pub fn admits(&self, whatami: WhatAmI) -> Result<(), RefusedFace> {
        place(self.config.whatami, whatami)?;
        if self.config.whatami == WhatAmI::Client && !self.pushed.is_empty() {
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
        id: FaceId,
        init: FaceInit,
        out: &mut dyn Outbox,
    ) -> Result<(), RefusedFace> {
        self.admits(init.whatami)?;
        let (region, upstream) = place(self.config.whatami, init.whatami)?;
        let face = Face::new(id, init, region, upstream);
        let fellow_peer = face.is_fellow_peer();
        self.faces.insert(id, face);
        if region.policy().pushes {
            self.pushed.insert(id);
        }
        self.gossip.link_up(id, init, upstream, out);
        if region.policy().pushes {
            self.push_all(id, out);
        }
        if upstream {
            self.replay_interests(id, out);
        }
        if fellow_peer {
            out.send(id, &message::declare(Some(0), Declaration::Final));
        } else if !self.gossip.speaks_with(init.whatami) || !upstream {
            // Nothing more is due from it before it may be used.
            self.neighbour_ready(id, out);
        }
        self.watch.invalidate_all();
        Ok(())
    }

    /// A neighbour is gone: what it declared is withdrawn, what it was asked has ended.
    pub fn face_down(&mut self, id: FaceId, out: &mut dyn Outbox) {
        if id == FaceId::LOCAL || !self.faces.contains_key(&id) {
            return;
        }
        self.pushed.remove(&id);
        self.drop_interests_of(id, out);
        self.drop_declarations_of(id, out);
        self.drop_answers_of(id, out);
        self.drop_queries_of(id, out);
        self.faces.remove(&id);
        self.gossip.link_down(id, out);
        self.watch.invalidate_all();
    }

    /// Handles the body of an OAM message that carries link states.
    pub fn handle_gossip(&mut self, face: FaceId, body: &[u8], out: &mut dyn Outbox) {
        let Some(neighbour) = self.faces.get(&face) else { return };
        if neighbour.whatami == WhatAmI::Client {
            return;
        }
        let awaited = neighbour.upstream;
        self.gossip.received(face, body, out);
        if awaited {
            self.neighbour_ready(face, out);
        }
    }

    /// The node can be reached at other addresses than before.
    pub fn set_locators(&mut self, locators: Vec<Locator>) {
        self.gossip.set_locators(locators);
    }

    /// Does what is due at `now_us`. Calling it too early is harmless.
    pub fn handle_timeout(&mut self, now_us: u64, out: &mut dyn Outbox) {
        self.expire_queries(now_us, out);
        self.expire_interests(now_us, out);
    }

    /// When [`Routing::handle_timeout`] has something to do, and what.
    pub fn next_timeout(&self) -> Option<(u64, &'static str)> {
        let query = self.queries.next_deadline_us().map(|at| (at, "query timeout"));
        let interest = self.interest_deadlines.first().map(|(at, _, _)| (*at, "interest timeout"));
        [query, interest].into_iter().flatten().min()
    }

    /// The neighbour's identity and mode.
    pub fn neighbour(&self, face: FaceId) -> Option<FaceInit> {
        let face = self.faces.get(&face)?;
        Some(FaceInit { zid: face.zid, whatami: face.whatami })
    }

    /// The neighbours' faces, in the order of their arrival.
    pub fn neighbours(&self) -> impl Iterator<Item = FaceId> + '_ {
        self.faces.keys().copied().filter(|face| *face != FaceId::LOCAL)
    }

    /// The declared keys of `kind` and their owners, for inspection.
    pub fn declarations(&self, kind: crate::Kind) -> impl Iterator<Item = (&KeyExpr, Vec<FaceId>)> {
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
            ..Footprint::default()
        };
        for (_, entry) in self.tables.iter().flat_map(KeTree::iter) {
            footprint.keys += 1;
            footprint.declarations += entry.owners.values().map(Vec::len).sum::<usize>();
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
