//! The routers, the links between them, and virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use weft_keyexpr::KeyExpr;
use weft_routing::{
    Aggregation, Event, FaceId, FaceInit, GossipConfig, Outbox, Routing, RoutingConfig,
};
use weft_wire::{
    Declaration, Declare, Decode, Encode, NetworkMessage, OamBody, Qos, Reader, WhatAmI,
    WhatAmIMatcher, WireExpr, ZenohId,
};

use crate::rng::Rng;

/// How long a message is under way at least and at most, in microseconds.
const LATENCY_US: (u64, u64) = (500, 5_000);
/// Where the sequence numbers of link states begin: at a clock, as they do in real routers.
const FIRST_SN: u64 = 1_780_000_000;

/// Who is behind a face of a router.
enum End {
    /// Another router, the face of this one there, and how far away it is in microseconds.
    Router(usize, FaceId, u64),
    Client,
}

struct Router {
    zid: ZenohId,
    engine: Routing,
    ends: BTreeMap<FaceId, End>,
    /// The earliest of its timers on the agenda.
    timer_us: Option<u64>,
}

/// What happens at a moment; moments are in order, and so is what happens at the same one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_us: u64,
    number: u64,
    router: usize,
    /// What arrives and at which face; without, the router's timer is due.
    batch: Option<(FaceId, Vec<u8>)>,
}

/// What has been said between routers.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) bytes: u64,
    pub(super) messages: u64,
}

/// All routers in one process.
pub(super) struct World {
    rng: Rng,
    routers: Vec<Router>,
    links: BTreeMap<(usize, usize), (FaceId, FaceId)>,
    agenda: BinaryHeap<Reverse<Due>>,
    number: u64,
    pub(super) now_us: u64,
    pub(super) counts: Counts,
    /// When the last message arrived.
    pub(super) heard_us: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            routers: Vec::new(),
            links: BTreeMap::new(),
            agenda: BinaryHeap::new(),
            number: 0,
            now_us: 0,
            counts: Counts::default(),
            heard_us: 0,
        }
    }

    /// Adds a router that generalises to the given expression, if any.
    pub(super) fn add_router(&mut self, general: Option<KeyExpr>) -> usize {
        let index = self.routers.len();
        let locator = format!("tcp/10.{}.{}.1:7447", index / 256, index % 256);
        let gossip = GossipConfig {
            enabled: true,
            target: WhatAmIMatcher::from(WhatAmI::Router) | WhatAmI::Peer,
            locators: vec![locator.parse().expect("an address and a port")],
            first_sn: FIRST_SN,
            multihop: false,
        };
        let zid = self.zid();
        let config = RoutingConfig::new(zid, WhatAmI::Router);
        let subscribers = general.into_iter().collect();
        let aggregation = Aggregation { subscribers, ..Aggregation::default() };
        let engine = Routing::new(RoutingConfig { gossip, aggregation, ..config });
        self.routers.push(Router { zid, engine, ends: BTreeMap::new(), timer_us: None });
        index
    }

    fn zid(&mut self) -> ZenohId {
        let mut bytes: [u8; 16] = self.rng.bytes();
        bytes[15] |= 1;
        ZenohId::from_le_bytes(&bytes).expect("it is not zero")
    }

    /// A client is connected to a router.
    pub(super) fn add_client(&mut self, router: usize) -> FaceId {
        let init = FaceInit::new(self.zid(), WhatAmI::Client);
        let face = self.routers[router].engine.next_face();
        self.routers[router].ends.insert(face, End::Client);
        self.act(router, |engine, now_us, out| {
            engine.face_up(now_us, face, init, out).expect("a router serves clients");
        });
        face
    }

    /// A client declares a subscriber.
    pub(super) fn declare(&mut self, router: usize, client: FaceId, id: u32, key: &str) {
        let wire_expr = WireExpr::full(key);
        self.client_says(router, client, Declaration::Subscriber { id, wire_expr });
    }

    /// A client withdraws a subscriber.
    pub(super) fn undeclare(&mut self, router: usize, client: FaceId, id: u32) {
        let gone = Declaration::UndeclareSubscriber { id, wire_expr: None };
        self.client_says(router, client, gone);
    }

    fn client_says(&mut self, router: usize, client: FaceId, body: Declaration<'_>) {
        let declare =
            Declare { interest_id: None, qos: Qos::DECLARE, timestamp: None, node_id: 0, body };
        self.act(router, |engine, now_us, out| {
            engine.handle_declare(now_us, client, &declare, out);
        });
    }

    pub(super) fn connect(&mut self, (a, b): (usize, usize)) {
        let latency_us = self.rng.between(LATENCY_US.0, LATENCY_US.1);
        let [at_a, at_b] = [a, b].map(|router| self.routers[router].engine.next_face());
        self.links.insert((a, b), (at_a, at_b));
        self.routers[a].ends.insert(at_a, End::Router(b, at_b, latency_us));
        self.routers[b].ends.insert(at_b, End::Router(a, at_a, latency_us));
        for (router, face, other) in [(a, at_a, b), (b, at_b, a)] {
            let zid = self.routers[other].zid;
            let init = FaceInit { mesh: true, ..FaceInit::new(zid, WhatAmI::Router) };
            self.act(router, |engine, now_us, out| {
                engine.face_up(now_us, face, init, out).expect("routers link");
            });
        }
    }

    pub(super) fn disconnect(&mut self, link: (usize, usize)) {
        let (at_a, at_b) = self.links.remove(&link).expect("it is linked");
        for (router, face) in [(link.0, at_a), (link.1, at_b)] {
            self.routers[router].ends.remove(&face);
            self.act(router, |engine, now_us, out| engine.face_down(now_us, face, out));
        }
    }

    /// Lets time pass until nothing more would happen.
    pub(super) fn settle(&mut self) {
        self.run_until(u64::MAX);
    }

    /// Lets all happen that is due before `until_us`.
    pub(super) fn run_until(&mut self, until_us: u64) {
        while let Some(Reverse(due)) = self.agenda.peek()
            && due.at_us < until_us
        {
            let Some(Reverse(due)) = self.agenda.pop() else { return };
            self.now_us = due.at_us;
            match due.batch {
                Some((face, batch)) => self.deliver(due.router, face, &batch),
                None if self.routers[due.router].timer_us == Some(due.at_us) => {
                    self.routers[due.router].timer_us = None;
                    self.act(due.router, |engine, now_us, out| engine.handle_timeout(now_us, out));
                }
                None => {}
            }
        }
    }

    fn deliver(&mut self, router: usize, face: FaceId, batch: &[u8]) {
        if !self.routers[router].ends.contains_key(&face) {
            return;
        }
        self.heard_us = self.now_us;
        self.act(router, |engine, now_us, out| {
            let mut reader = Reader::new(batch);
            while !reader.is_empty() {
                match NetworkMessage::decode(&mut reader).expect("an engine said it") {
                    NetworkMessage::Declare(it) => {
                        engine.handle_declare(now_us, face, &it, out);
                    }
                    NetworkMessage::Oam(it) => {
                        let OamBody::ZBuf(body) = it.body else { panic!("{it:?}") };
                        engine.handle_oam(now_us, face, (it.id, body), out);
                    }
                    other => panic!("routers do not say {other:?}"),
                }
            }
        });
    }

    /// Lets a router do something, and sends what it says.
    fn act(&mut self, router: usize, act: impl FnOnce(&mut Routing, u64, &mut dyn Outbox)) {
        let mut mail = Mail::default();
        let Router { engine, ends, timer_us, .. } = &mut self.routers[router];
        act(engine, self.now_us, &mut mail);
        for (face, batch) in mail.batches {
            if let Some(End::Router(other, there, latency_us)) = ends.get(&face) {
                self.counts.bytes += batch.len() as u64;
                let at_us = self.now_us + latency_us;
                let batch = Some((*there, batch));
                self.number += 1;
                let due = Due { at_us, number: self.number, router: *other, batch };
                self.agenda.push(Reverse(due));
            }
        }
        self.counts.messages += mail.messages;
        if let Some((at_us, _)) = engine.next_timeout()
            && timer_us.is_none_or(|earlier| at_us.max(self.now_us) < earlier)
        {
            let at_us = at_us.max(self.now_us);
            *timer_us = Some(at_us);
            self.number += 1;
            self.agenda.push(Reverse(Due { at_us, number: self.number, router, batch: None }));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.routers.len()
    }

    /// The declarations of other routers that each router knows.
    pub(super) fn sourced(&self) -> impl Iterator<Item = usize> {
        self.routers.iter().map(|router| router.engine.footprint().sourced)
    }

    /// Where a sample arrives that a router's session publishes: the clients' faces.
    pub(super) fn follow(&mut self, from: usize, key: &KeyExpr) -> Vec<(usize, FaceId)> {
        let mut reached = Vec::new();
        let mut open = vec![(from, FaceId::LOCAL, 0)];
        while let Some((router, source, node_id)) = open.pop() {
            assert!(open.len() < self.routers.len() * 4, "a sample on {key} circles");
            let Router { engine, ends, .. } = &mut self.routers[router];
            for hop in engine.data_route(source, node_id, key).hops {
                match ends[&hop.face] {
                    End::Client => reached.push((router, hop.face)),
                    End::Router(next, there, _) => open.push((next, there, hop.node_id)),
                }
            }
        }
        reached
    }
}

/// What an engine says in one turn.
#[derive(Default)]
struct Mail {
    batches: BTreeMap<FaceId, Vec<u8>>,
    messages: u64,
}

impl Outbox for Mail {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        self.messages += 1;
        message.encode(self.batches.entry(face).or_default()).expect("a vector is never full");
    }

    fn event(&mut self, event: Event) {
        assert!(!matches!(event, Event::Refuse { .. } | Event::Ignored { .. }), "{event:?}");
    }
}
