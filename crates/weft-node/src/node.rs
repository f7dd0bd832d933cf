//! The engine: state, time, and the way from neighbours' messages to routing and back.

use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_routing::{Event, FaceId, Outbox, PendingReply, ResolveError, Routing, RoutingConfig};
use weft_transport::Responder;
use weft_wire::{CloseReason, NetworkMessage, OamBody, WireExpr, ZenohId};

use crate::config::NodeConfig;
use crate::dialer::Dialer;
use crate::gateway::Contradictions;
use crate::intercept::{Held, Interception};
use crate::links::{Links, NeighbourInfo};
use crate::ports::{NodeEvent, Ports};
use crate::scouting::Scouter;
use crate::session::Entities;
use crate::startup::Startup;
use crate::timers::{Timer, Timers};

/// A node's control plane. See the [crate] documentation.
#[derive(Debug)]
pub struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) routing: Routing,
    pub(crate) responder: Responder,
    pub(crate) links: Links,
    pub(crate) dialer: Dialer,
    pub(crate) scouter: Scouter,
    pub(crate) entities: Entities,
    pub(crate) timers: Timers,
    pub(crate) startup: Startup,
    pub(crate) interception: Interception,
    pub(crate) contradictions: Contradictions,
    pub(crate) offences: Offences,
}

/// How often neighbours did what they may not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offences {
    /// Neighbours that declared something beyond a limit, which was ignored.
    pub ignored: u64,
    /// Neighbours that were closed: over a limit, or telling what cannot be.
    pub refused: u64,
}

/// How much a [`Node`] remembers besides its routing tables, for inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFootprint {
    /// Links, in handshake or open.
    pub links: usize,
    /// Accepted links in handshake.
    pub pending: usize,
    /// Neighbours.
    pub transports: usize,
    /// Neighbours to be connected to, or that this node has connected to.
    pub dials: usize,
    /// Deadlines.
    pub timers: usize,
    /// Liveliness queries that have not ended.
    pub token_queries: usize,
}

impl Node {
    /// A node that has done nothing yet; [`Node::start`] begins.
    pub fn new(config: NodeConfig) -> Self {
        let routing = Routing::new(RoutingConfig {
            zid: config.zid,
            whatami: config.whatami,
            interests_timeout_us: config.interests_timeout_us,
            limits: config.limits,
            gossip: config.gossip.clone(),
            weights: config.weights.clone(),
            computation: config.computation.clone(),
            aggregation: config.aggregation.clone(),
            hash_seed: config.hash_seed,
        });
        let responder = Responder::new(config.handshake.clone(), config.cookie_key.clone())
            .with_accept_timeout(config.accept_timeout_us);
        Self {
            routing,
            responder,
            links: Links::new(config.hash_seed),
            dialer: Dialer::default(),
            scouter: Scouter::new(),
            entities: Entities::default(),
            timers: Timers::default(),
            startup: Startup::Created,
            interception: Interception::new(config.rules.clone(), config.counts_sizes),
            contradictions: Contradictions::default(),
            offences: Offences::default(),
            config,
        }
    }

    /// The node's identity.
    pub const fn zid(&self) -> ZenohId {
        self.config.zid
    }

    /// The node's configuration.
    pub const fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// The routing tables, for inspection.
    pub const fn routing(&self) -> &Routing {
        &self.routing
    }

    /// How often neighbours did what they may not do, those that left included.
    pub const fn offences(&self) -> Offences {
        self.offences
    }

    /// Does what is due at `now_us`.
    pub fn handle_timeout(&mut self, now_us: u64, ports: &mut dyn Ports) {
        while let Some(timer) = self.timers.pop(now_us) {
            match timer {
                Timer::Handshake(link) => self.handshake_expired(now_us, link, ports),
                Timer::Lease(face, link) => self.check_lease(now_us, face, link, ports),
                Timer::Redial(dial) => self.redial(dial, ports),
                Timer::Scout => self.ask_around(now_us, ports),
                Timer::Startup => self.startup_expired(ports),
                Timer::TokenQuery(id) => self.token_query_expired(id, ports),
            }
        }
        self.with_routing(now_us, ports, |routing, out| routing.handle_timeout(now_us, out));
    }

    /// When [`Node::handle_timeout`] has something to do, and what.
    pub fn next_timeout(&self) -> Option<(u64, &'static str)> {
        [self.timers.next(), self.routing.next_timeout()].into_iter().flatten().min()
    }

    /// Handles a message of a neighbour other than a sample, a query or an answer. Returns true if
    /// an expression id of this neighbour changed its meaning.
    pub fn handle_message(
        &mut self,
        now_us: u64,
        face: FaceId,
        message: &NetworkMessage<'_>,
        ports: &mut dyn Ports,
    ) -> bool {
        match message {
            NetworkMessage::Declare(declare) => match self.admit_declare(face, declare) {
                Some(declare) => self.with_routing(now_us, ports, |routing, out| {
                    routing.handle_declare(now_us, face, &declare, out)
                }),
                None => false,
            },
            NetworkMessage::Interest(interest) => {
                if let Some(interest) = self.admit_interest(face, interest, ports) {
                    self.with_routing(now_us, ports, |routing, out| {
                        routing.handle_interest(now_us, face, &interest, out);
                    });
                }
                false
            }
            NetworkMessage::Oam(oam) => {
                if let OamBody::ZBuf(body) = oam.body {
                    let link_states = self.with_routing(now_us, ports, |routing, out| {
                        routing.handle_oam(now_us, face, (oam.id, body), out)
                    });
                    if link_states && self.links.gossiped(face) {
                        self.check_startup(ports);
                    }
                }
                false
            }
            NetworkMessage::Push(_)
            | NetworkMessage::Request(_)
            | NetworkMessage::Response(_)
            | NetworkMessage::ResponseFinal(_) => false,
        }
    }

    /// The key expression behind a neighbour's wire expression.
    pub fn resolve(&self, face: FaceId, expr: WireExpr<'_>) -> Result<KeyExpr, ResolveError> {
        self.routing.resolve(face, expr)
    }

    /// Where a reply goes, see [`Routing::reply_route`].
    pub fn reply_route(&self, face: FaceId, id: u32) -> Option<PendingReply> {
        self.routing.reply_route(face, id)
    }

    /// A neighbour, or this session's queryables, have sent all, see [`Routing::end_branch`].
    pub fn end_branch(&mut self, face: FaceId, id: u32) -> Option<PendingReply> {
        self.routing.end_branch(face, id)
    }

    /// Forgets a query of this session.
    pub fn cancel_query(&mut self, id: u32) {
        self.routing.cancel_query(id);
    }

    /// How much this node remembers, besides [`Routing::footprint`].
    pub fn footprint(&self) -> NodeFootprint {
        let (links, pending) = self.links.counts();
        NodeFootprint {
            links,
            pending,
            transports: self.links.transports.len(),
            dials: self.dialer.len(),
            timers: self.timers.len(),
            token_queries: self.token_query_count(),
        }
    }

    pub(crate) fn scouter_is_active(&self) -> bool {
        self.scouter.is_active()
    }

    /// Calls into routing: its messages leave through `ports`, its events are handled here.
    pub(crate) fn with_routing<T>(
        &mut self,
        now_us: u64,
        ports: &mut dyn Ports,
        call: impl FnOnce(&mut Routing, &mut dyn Outbox) -> T,
    ) -> T {
        let guards = &self.interception;
        let mut out = RoutingOut { ports, guards, events: Vec::new(), held: Held::default() };
        let result = call(&mut self.routing, &mut out);
        let RoutingOut { events, held, .. } = out;
        self.send_held(now_us, held, ports);
        for event in events {
            self.routing_event(now_us, event, ports);
        }
        result
    }

    fn routing_event(&mut self, now_us: u64, event: Event, ports: &mut dyn Ports) {
        match event {
            Event::MatchingChanged { interest } => self.update_matching(interest, ports),
            Event::InterestFinal { interest } => self.interest_final(interest, ports),
            Event::Token { interests, key, alive } => {
                ports.event(NodeEvent::Token { subscribers: interests, key, alive });
            }
            Event::TokenReply { interest, key } if self.is_token_query(interest) => {
                ports.event(NodeEvent::TokenReply { query: interest, key });
            }
            Event::QueryTimeout { query, .. } => ports.event(NodeEvent::QueryTimeout { query }),
            Event::QueryFinal { query } => ports.event(NodeEvent::QueryFinal { query }),
            Event::Discovered { zid, whatami, locators } => {
                let policy = self.config.gossip_autoconnect;
                self.discovered(policy, zid, whatami, &locators, ports);
            }
            Event::NeighbourReady { .. } => self.check_startup(ports),
            Event::Ignored { face, error } => {
                self.offences.ignored += 1;
                if let Some(NeighbourInfo { zid, .. }) =
                    self.neighbours().find(|it| it.face == face)
                {
                    let text = alloc::format!("ignoring what neighbour {zid} declares: {error}");
                    ports.event(NodeEvent::Warning { text });
                }
            }
            Event::Refuse { face, violation } => {
                self.offences.refused += 1;
                let text = alloc::format!("closing neighbour {face:?}: it declares {violation}");
                ports.event(NodeEvent::Warning { text });
                self.close_neighbour(now_us, face, CloseReason::GENERIC, "over a limit", ports);
            }
            _ => {}
        }
    }
}

/// Passes routing's messages through and keeps its events for after the call. So it does with
/// messages to neighbours that may not be told everything: what they are about is looked up in routing.
struct RoutingOut<'a> {
    ports: &'a mut dyn Ports,
    guards: &'a Interception,
    events: Vec<Event>,
    held: Held,
}

impl Outbox for RoutingOut<'_> {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        if self.guards.holds(face) {
            self.held.push(face, message);
        } else {
            self.ports.send(face, message);
        }
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}
