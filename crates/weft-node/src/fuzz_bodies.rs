//! What the fuzz target runs: a whole node whose links bring arbitrary bytes, and what must hold
//! whatever they are.
//!
//! Most batches would fail at the first byte, so that the script may also shake hands properly, and
//! wrap messages that can be read into frames that are due.

mod outside;
mod plane;

use alloc::vec::Vec;
use core::net::{Ipv4Addr, SocketAddr};

use weft_routing::fuzz_bodies::Script;
use weft_transport::{
    CookieKey, HandshakeArrival, HandshakeConfig, Initiator, LinkParams, Responder, ResponderStep,
    RxLimits,
};
use weft_wire::scouting::{Hello, ScoutingMessage};
use weft_wire::{
    Encode, FragmentHeader, FrameHeader, Priority, Qos, Query, QueryTarget, Reliability, ZenohId,
};

use crate::{
    DialId, DialTarget, FaceId, Footprint, Limits, LinkId, LinkInit, LinkOrigin, Locality, MatchOf,
    Node, NodeConfig, NodeFootprint, QueryRequest, QueryScope,
};
use outside::Outside;
use plane::FuzzPlane;

const PARAMS: LinkParams = LinkParams { mtu: 2048, streamed: true };
const SESSIONS_MAX: usize = 3;
const PENDING_MAX: usize = 2;
const LINKS_MAX: usize = 8;
const ENTITIES_MAX: usize = 6;
/// So small that a short input exceeds each of them.
const LIMITS: Limits = Limits {
    sourced_max: 100,
    network_key_memory_max: 100_000,
    network_nodes_max: 50,
    network_links_max: 500,
    declarations_max: 3,
    interests_max: 2,
    queries_max: 2,
    key_expr_len_max: 64,
    key_expr_chunks_max: 10,
    key_memory_max: 8_000,
};
/// A minute at a time, in microseconds.
const STEP_MAX_US: u64 = 60_000_000;

/// Links come up and go down, in between they bring bytes; the session declares and asks, and time
/// passes. After each step the node keeps to its limits and agrees with the world around it about
/// which links and neighbours there are; when everybody has left, nothing of them is.
pub fn node_raw(input: &[u8]) {
    let mut script = Script::new(input);
    let mut bench = Bench::new(&mut script);
    while !script.is_over() {
        bench.step(&mut script);
        bench.check();
    }
    bench.finish();
}

/// What the session has declared.
#[derive(Clone, Copy)]
enum Entity {
    Subscriber(u32),
    Queryable(u32),
    Sender(u32),
    Token(u32),
    TokenSubscriber(u32),
    TokenQuery(u32),
}

struct Bench {
    node: Node,
    outside: Outside,
    now_us: u64,
    last_link: u64,
    entities: Vec<Entity>,
    /// Requests to this session's queryables that are not answered in full.
    branches: Vec<u32>,
}

impl Bench {
    fn new(script: &mut Script<'_>) -> Self {
        let whatami = script.whatami();
        let bits = script.byte();
        let mut config = NodeConfig::new(zid(3), whatami, CookieKey::new([1; 16]));
        config.hash_seed = 1;
        config.accept_pending_max = PENDING_MAX;
        config.sessions_max = SESSIONS_MAX;
        config.rx = RxLimits { message_size_max: 300, total_size_max: 400 };
        config.links_per_session_max = 1 + usize::from(bits & 1);
        config.scouting.enabled = bits & 2 != 0;
        config.gossip.enabled = bits & 4 != 0;
        config.handshake.qos = bits & 8 != 0;
        config.limits = LIMITS;
        if bits & 16 != 0 {
            let endpoints = ["tcp/a:1", "tcp/b:2"].map(|text| text.parse().expect("literal"));
            config.dial.push(DialTarget::new(endpoints.into()));
        }
        let mut bench = Self {
            node: Node::new(config),
            outside: Outside::default(),
            now_us: 1,
            last_link: 0,
            entities: Vec::new(),
            branches: Vec::new(),
        };
        bench.node.start(1, &mut bench.outside);
        bench
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.below(24) {
            0 => {
                self.link(LinkOrigin::Accepted);
            }
            1..5 => self.accept(script),
            5 => self.answer_dial(script),
            6 => {
                if let Some(dial) = self.outside.dials.pop() {
                    self.node.dial_failed(self.now_us, dial, "nobody", &mut self.outside);
                }
            }
            7..9 => {
                if let Some(link) = script.pick(&self.links()) {
                    self.batch(link, script.raw());
                }
            }
            9..15 => self.frame(script),
            15 => self.fragments(script),
            16 => {
                if let Some(link) = script.pick(&self.links()) {
                    self.down(link);
                }
            }
            17 => self.pass_time(script.duration_us()),
            18 => self.datagram(script),
            19 | 20 => self.declare(script),
            21 => self.undeclare(script),
            22 => self.ask(script),
            _ => {
                if let Some(id) = script.pick(&self.branches) {
                    self.branches.retain(|other| *other != id);
                    self.outside.end_branch(&mut self.node, FaceId::LOCAL, id);
                }
            }
        }
    }

    fn links(&self) -> Vec<LinkId> {
        self.outside.links.keys().copied().collect()
    }

    fn make_room(&mut self) {
        if self.outside.links.len() >= LINKS_MAX {
            let oldest = *self.outside.links.keys().next().expect("not empty");
            self.down(oldest);
        }
    }

    fn link(&mut self, origin: LinkOrigin) -> LinkId {
        self.make_room();
        self.last_link += 1;
        let link = LinkId(self.last_link);
        self.outside.link_up(self.now_us, link);
        let init = LinkInit { link, origin, params: PARAMS, peer_tag: Vec::from([1]) };
        self.node.link_up(self.now_us, init, &mut self.outside);
        link
    }

    fn down(&mut self, link: LinkId) {
        self.outside.links.remove(&link);
        self.node.link_down(self.now_us, link, &mut self.outside);
    }

    /// A batch arrives, wherever the link has got to.
    fn batch(&mut self, link: LinkId, batch: &[u8]) {
        let now_us = self.now_us;
        let Some(state) = self.outside.links.get_mut(&link) else { return };
        state.activity.rx_us = now_us;
        let Some(face) = state.face else {
            return self.node.handshake_batch(now_us, link, batch, &mut self.outside);
        };
        let Some(mut inbound) = self.outside.inbound.remove(&face) else { return };
        let mut plane = FuzzPlane {
            node: &mut self.node,
            outside: &mut self.outside,
            now_us,
            branches: &mut self.branches,
        };
        let read = inbound.batch(batch, &mut plane);
        if self.outside.faces.contains_key(&face) {
            self.outside.inbound.insert(face, inbound);
        }
        if !matches!(read, Ok(None)) && self.outside.links.contains_key(&link) {
            self.node.neighbour_closed(now_us, link, &mut self.outside);
        }
    }

    /// Somebody connects and shakes hands, as far as the node lets it.
    fn accept(&mut self, script: &mut Script<'_>) {
        let config = stranger(script);
        let link = self.link(LinkOrigin::Accepted);
        let mut batch = Vec::new();
        let mut initiator = Initiator::new(&config, PARAMS, None, &mut batch);
        for _ in 0..2 {
            self.batch(link, &batch);
            batch.clear();
            let Some(reply) = self.outside.reply(link) else { return };
            if initiator.handle_batch(&reply, &mut batch).is_err() || batch.is_empty() {
                return;
            }
        }
    }

    /// A dialed link comes up, and whoever is there shakes hands, or does not.
    fn answer_dial(&mut self, script: &mut Script<'_>) {
        // First, for the end of another link may be the beginning of a dial.
        self.make_room();
        let dial = self.outside.dials.pop().unwrap_or(DialId(0));
        let responder = Responder::new(stranger(script), CookieKey::new([2; 16]));
        let link = self.link(LinkOrigin::Dialed(dial));
        for _ in 0..script.below(4) {
            let Some(asked) = self.outside.reply(link) else { return };
            let mut reply = Vec::new();
            let arrival = HandshakeArrival { link: PARAMS, now_us: self.now_us, peer_tag: &[2] };
            match responder.handle_batch(&asked, &arrival, &mut reply) {
                Ok(ResponderStep::Admit(admission)) => admission.accept(&mut reply),
                Ok(ResponderStep::Reply) | Err(_) => {}
            }
            self.batch(link, &reply);
        }
    }

    /// An open link brings a frame that is due, with messages that can be read.
    fn frame(&mut self, script: &mut Script<'_>) {
        let Some((link, sn)) = self.next_sn(script) else { return };
        let reliability = Reliability::Reliable;
        let header = FrameHeader { reliability, sn, priority: Priority::Data };
        let mut batch = encoded(&header);
        for _ in 0..=script.below(3) {
            script.message(&mut batch);
        }
        self.batch(link, &batch);
    }

    /// An open link brings a message in pieces, some of which may get lost.
    fn fragments(&mut self, script: &mut Script<'_>) {
        let mut message = Vec::new();
        script.message(&mut message);
        let piece_len = 1 + script.below(20);
        let lost = script.byte();
        let count = message.chunks(piece_len).len();
        for (index, piece) in message.chunks(piece_len).enumerate() {
            let Some((link, sn)) = self.next_sn(&mut script.clone()) else { return };
            let header = FragmentHeader {
                reliability: Reliability::Reliable,
                more: index + 1 < count,
                sn,
                priority: Priority::Data,
                first: index == 0,
                drop: false,
            };
            if index != usize::from(lost) {
                let mut batch = encoded(&header);
                batch.extend_from_slice(piece);
                self.batch(link, &batch);
            }
        }
    }

    /// An open link, and the number that its transport's next frame has.
    fn next_sn(&mut self, script: &mut Script<'_>) -> Option<(LinkId, u64)> {
        let links = self.outside.links.iter();
        let open: Vec<_> = links.filter_map(|(link, state)| Some((*link, state.face?))).collect();
        let (link, face) = script.pick(&open)?;
        let sn = self.outside.faces.get_mut(&face)?;
        *sn += 1;
        Some((link, *sn - 1))
    }

    fn datagram(&mut self, script: &mut Script<'_>) {
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 7446));
        let hello = ScoutingMessage::Hello(Hello {
            version: weft_wire::VERSION,
            whatami: script.whatami(),
            zid: script.zid(),
            locators: Vec::from(["tcp/c:3".parse().expect("literal")]),
        });
        let datagram = if script.coin() { encoded(&hello) } else { script.raw().to_vec() };
        self.node.handle_scouting(self.now_us, &datagram, from, &mut self.outside);
    }

    fn pass_time(&mut self, by_us: u64) {
        self.now_us += by_us.min(STEP_MAX_US);
        // What a timer does may make others due.
        for _ in 0..4 {
            self.outside.now_us = self.now_us;
            self.node.handle_timeout(self.now_us, &mut self.outside);
        }
        assert!(self.node.next_timeout().is_none_or(|(at_us, _)| at_us > self.now_us));
        for inbound in self.outside.inbound.values_mut() {
            inbound.purge();
        }
    }

    fn declare(&mut self, script: &mut Script<'_>) {
        if self.entities.len() >= ENTITIES_MAX {
            return;
        }
        let (id, key, bits) = (self.node.next_entity(), script.key(), script.byte());
        let locality =
            [Locality::Any, Locality::Remote, Locality::SessionLocal][usize::from(bits >> 4) % 3];
        let (now_us, node, ports) = (self.now_us, &mut self.node, &mut self.outside);
        let entity = match bits % 6 {
            0 => {
                node.declare_subscriber(now_us, id, &key, locality, ports);
                Entity::Subscriber(id)
            }
            1 => {
                node.declare_queryable(now_us, id, &key, bits & 8 != 0, locality, ports);
                Entity::Queryable(id)
            }
            2 => {
                let of = match bits & 8 {
                    0 => MatchOf::Subscribers,
                    _ => MatchOf::Queryables(QueryTarget::AllComplete),
                };
                node.declare_sender(now_us, id, &key, of, locality, ports);
                Entity::Sender(id)
            }
            3 => {
                node.declare_token(now_us, id, &key, ports);
                Entity::Token(id)
            }
            4 => {
                node.declare_token_subscriber(now_us, id, &key, bits & 8 != 0, ports);
                Entity::TokenSubscriber(id)
            }
            _ => {
                ports.token_queries.insert(id);
                node.query_tokens(now_us, id, &key, u64::from(bits) * 100_000, ports);
                Entity::TokenQuery(id)
            }
        };
        self.entities.push(entity);
    }

    fn undeclare(&mut self, script: &mut Script<'_>) {
        if let Some(entity) = script.pick(&self.entities) {
            let index = self.entities.iter().position(|other| other.id() == entity.id());
            self.entities.swap_remove(index.expect("it was picked from them"));
            self.withdraw(entity);
        }
    }

    fn withdraw(&mut self, entity: Entity) {
        let (now_us, node, ports) = (self.now_us, &mut self.node, &mut self.outside);
        match entity {
            Entity::Subscriber(id) => node.undeclare_subscriber(now_us, id, ports),
            Entity::Queryable(id) => node.undeclare_queryable(now_us, id, ports),
            Entity::Sender(id) => node.undeclare_sender(now_us, id, ports),
            Entity::Token(id) => node.undeclare_token(now_us, id, ports),
            Entity::TokenSubscriber(id) => node.undeclare_token_subscriber(now_us, id, ports),
            Entity::TokenQuery(id) => {
                ports.token_queries.remove(&id);
                node.cancel_token_query(id);
            }
        }
    }

    /// The session asks.
    fn ask(&mut self, script: &mut Script<'_>) {
        let key = script.key();
        let id = self.node.next_entity();
        let request = QueryRequest {
            node_id: 0,
            source: FaceId::LOCAL,
            source_id: id,
            key: &key,
            target: script.target(),
            qos: Qos::REQUEST,
            timeout_us: script.duration_us(),
            scope: QueryScope::Any,
        };
        let plan = self.node.open_query(self.now_us, request, &Query::default());
        if !plan.is_empty() {
            self.outside.queries.insert(id);
        }
        self.branches.extend(plan.local);
        if script.coin() && self.outside.queries.remove(&id) {
            self.node.cancel_query(id);
        }
    }

    /// What holds after every step.
    fn check(&mut self) {
        let node = self.node.footprint();
        let routing = self.node.routing().footprint();
        let faces = self.outside.faces.len();
        assert_eq!(node.links, self.outside.links.len());
        assert!(node.pending <= PENDING_MAX);
        assert!(faces <= SESSIONS_MAX);
        assert_eq!((node.transports, routing.faces), (faces, faces));
        assert_eq!(self.outside.neighbours.len(), faces);
        assert!(node.dials <= SESSIONS_MAX + 1);
        assert_eq!(node.token_queries, self.outside.token_queries.len());
        assert!(node.timers <= node.links + node.dials + node.token_queries + 2, "{node:?}");
        assert!(routing.declarations <= faces * LIMITS.declarations_max + ENTITIES_MAX);
        let standing = |it: &&Entity| matches!(it, Entity::Sender(_) | Entity::TokenSubscriber(_));
        let own_interests = self.entities.iter().filter(standing).count() + node.token_queries;
        assert!(routing.interests <= faces * LIMITS.interests_max + own_interests);
        assert!(routing.open_interests <= routing.interests, "{routing:?}");
        let own_queries = self.outside.queries.len();
        assert!(routing.queries <= faces * LIMITS.queries_max + own_queries, "{routing:?}");
        assert!(routing.key_memory <= faces * LIMITS.key_memory_max + ENTITIES_MAX * 2_000);
    }

    /// Everybody leaves, the session withdraws everything and closes: nothing is left.
    fn finish(mut self) {
        for link in self.links() {
            self.down(link);
            self.check();
        }
        let left = self.node.footprint();
        assert_eq!((left.links, left.pending, left.transports), (0, 0, 0));
        for entity in core::mem::take(&mut self.entities) {
            self.withdraw(entity);
        }
        self.check();
        self.node.close(&mut self.outside);
        assert!(self.outside.queries.is_empty() && self.outside.token_queries.is_empty());
        let mut left = self.node.routing().footprint();
        left.routes = 0;
        assert_eq!(left, Footprint::default());
        assert_eq!(self.node.footprint(), NodeFootprint::default());
    }
}

impl Entity {
    const fn id(self) -> u32 {
        let (Self::Subscriber(id)
        | Self::Queryable(id)
        | Self::Sender(id)
        | Self::Token(id)
        | Self::TokenSubscriber(id)
        | Self::TokenQuery(id)) = self;
        id
    }
}

/// Some node of some kind; perhaps one that says it is this one.
fn stranger(script: &mut Script<'_>) -> HandshakeConfig {
    let mut config = HandshakeConfig::new(script.zid(), script.whatami());
    let bits = script.byte();
    config.qos = bits & 1 != 0;
    config.patch = bits >> 1 & 1;
    config.lease_ms = [10_000, 0, 1, u64::MAX][usize::from(bits >> 2 & 3)];
    config.batch_size = if bits & 16 == 0 { u16::MAX } else { 0 };
    config
}

fn encoded(message: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).expect("a vector is never full");
    bytes
}

fn zid(byte: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[byte]).expect("one byte that is not zero")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_holds_for_random_input() {
        node_raw(b"");
        let mut state = 1_u64;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        for _ in 0..2_000 {
            let input: Vec<u8> = (0..600).map(|_| byte()).collect();
            node_raw(&input);
        }
    }
}
