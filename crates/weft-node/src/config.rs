//! What a node is told when it is made.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use weft_intercept::RuleSet;
use weft_transport::{CookieKey, HandshakeConfig, RxLimits};
use weft_wire::{Endpoint, WhatAmI, WhatAmIMatcher, ZenohId};

use crate::{Aggregation, Gateway, GossipConfig, Limits, PathComputation, ShortestPaths};

/// Configuration of a [`Node`](crate::Node), with everything resolved for its mode.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Identity, unique in the network.
    pub zid: ZenohId,
    /// Mode.
    pub whatami: WhatAmI,
    /// What is offered and accepted in handshakes.
    pub handshake: HandshakeConfig,
    /// Key of the cookies in handshakes; secret and random.
    pub cookie_key: CookieKey,
    /// Seed of the hash tables that hold neighbours' key expressions; secret and random where they are
    /// not trusted.
    pub hash_seed: u64,
    /// Keep-alives per lease.
    pub keep_alive: u8,
    /// How long a dialed link may take to become a transport, in microseconds.
    pub open_timeout_us: u64,
    /// How long an accepted link may take to become a transport, in microseconds.
    pub accept_timeout_us: u64,
    /// Accepted links in handshake at the same time; beyond it, one of the host that has the most is
    /// closed.
    pub accept_pending_max: usize,
    /// Neighbours at the same time.
    pub sessions_max: usize,
    /// Limits on what one neighbour's unfinished messages may hold.
    pub rx: RxLimits,
    /// Links that one neighbour may open to this node.
    pub links_per_session_max: usize,
    /// The regions that this node serves, in place of the automatic ones: set by
    /// [`NodeConfig::serve`].
    pub gateway: Option<Gateway>,
    /// What to connect to, and to stay connected to.
    pub dial: Vec<DialTarget>,
    /// How long opening may take to connect, in microseconds: `None` is for ever, 0 a single try.
    pub connect_timeout_us: Option<u64>,
    /// A client's opening fails when nothing could be connected. For other nodes, see
    /// [`DialTarget::required`].
    pub connect_required: bool,
    /// Opening waits for found nodes to be connected.
    pub wait_for_scouted: bool,
    /// A connected peer counts as ready when it has told what it declares; otherwise with its first
    /// gossip, or at once where there is no gossip.
    pub wait_for_declares: bool,
    /// How long opening waits for found nodes, in microseconds.
    pub scouting_delay_us: u64,
    /// Discovery by UDP multicast.
    pub scouting: ScoutingConfig,
    /// Discovery by gossip.
    pub gossip: GossipConfig,
    /// The weights that the configuration gives to links to members of a network, by neighbour.
    pub weights: BTreeMap<ZenohId, u16>,
    /// How the trees of a network are computed.
    pub computation: Arc<dyn PathComputation>,
    /// Expressions that are declared instead of what they include.
    pub aggregation: Aggregation,
    /// Whom to dial of those that gossip tells of.
    pub gossip_autoconnect: AutoConnect,
    /// How long an upstream neighbour may take to answer an interest, in microseconds.
    pub interests_timeout_us: u64,
    /// How long a query without a timeout of its own may take, in microseconds.
    pub queries_timeout_us: u64,
    /// Limits per neighbour.
    pub limits: Limits,
    /// Access control and traffic shaping from the beginning; see also
    /// [`Node::set_rules`](crate::Node::set_rules).
    pub rules: Option<Arc<RuleSet>>,
    /// The sizes of refused payloads count, too: 14 KiB for each neighbour that rules are about.
    pub counts_sizes: bool,
}

/// One neighbour to be connected to: several endpoints are raced.
#[derive(Clone, Debug)]
pub struct DialTarget {
    /// Where it can be reached.
    pub endpoints: Vec<Endpoint>,
    /// When to try again.
    pub retry: Retry,
    /// Opening fails when it could not be connected. Without effect at clients: they need any of their
    /// targets, see [`NodeConfig::connect_required`].
    pub required: bool,
}

impl DialTarget {
    /// With the default delays, and not required.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self { endpoints, retry: Retry::default(), required: false }
    }
}

/// Delays between attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// First delay, in microseconds.
    pub init_us: u64,
    /// Longest delay, in microseconds.
    pub max_us: u64,
    /// Growth from one delay to the next.
    pub factor: f64,
}

/// The pauses between attempts, each longer than the one before up to the longest.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    retry: Retry,
    pause_us: u64,
}

impl Backoff {
    /// Begins with the first delay.
    pub const fn new(retry: Retry) -> Self {
        Self { retry, pause_us: retry.init_us }
    }

    /// The pause before the next attempt, in microseconds.
    pub fn take_us(&mut self) -> u64 {
        let Retry { init_us, max_us, factor } = self.retry;
        let longer = (self.pause_us as f64 * factor) as u64;
        core::mem::replace(&mut self.pause_us, longer.clamp(init_us, max_us.max(init_us)))
    }

    /// Begins again.
    pub const fn reset(&mut self) {
        self.pause_us = self.retry.init_us;
    }

    pub(crate) const fn first_us(&self) -> u64 {
        self.retry.init_us
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { init_us: 1_000_000, max_us: 4_000_000, factor: 2.0 }
    }
}

/// Discovery by UDP multicast.
#[derive(Clone, Debug)]
pub struct ScoutingConfig {
    /// Take part at all.
    pub enabled: bool,
    /// Answer questions of others.
    pub listen: bool,
    /// Whom to look for and dial.
    pub autoconnect: AutoConnect,
    /// How long a client without configured endpoints looks for a node, in microseconds.
    pub timeout_us: u64,
}

/// Whom to dial of those that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoConnect {
    /// Modes that are dialed.
    pub modes: WhatAmIMatcher,
    /// Strategy towards routers.
    pub to_router: Strategy,
    /// Strategy towards peers.
    pub to_peer: Strategy,
    /// Strategy towards clients.
    pub to_client: Strategy,
}

/// Which of two nodes that found each other dials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Both.
    #[default]
    Always,
    /// The one with the greater id.
    GreaterZid,
}

impl AutoConnect {
    /// Whether `own` dials a node of this mode and id (03 §2.9).
    pub fn dials(&self, own: ZenohId, whatami: WhatAmI, zid: ZenohId) -> bool {
        let strategy = match whatami {
            WhatAmI::Router => self.to_router,
            WhatAmI::Peer => self.to_peer,
            WhatAmI::Client => self.to_client,
        };
        self.modes.matches(whatami) && (strategy == Strategy::Always || own > zid)
    }
}

impl NodeConfig {
    /// The reference's defaults for a node of this mode (03 §10), with no endpoints, no scouting
    /// and a `hash_seed` that everybody knows.
    pub fn new(zid: ZenohId, whatami: WhatAmI, cookie_key: CookieKey) -> Self {
        let autoconnect = AutoConnect {
            modes: match whatami {
                WhatAmI::Router => WhatAmIMatcher::EMPTY,
                WhatAmI::Peer | WhatAmI::Client => WhatAmIMatcher::ALL,
            },
            to_router: Strategy::Always,
            to_peer: Strategy::Always,
            to_client: Strategy::Always,
        };
        Self {
            zid,
            whatami,
            handshake: HandshakeConfig {
                mesh: whatami != WhatAmI::Client,
                gateway: whatami == WhatAmI::Router,
                ..HandshakeConfig::new(zid, whatami)
            },
            cookie_key,
            hash_seed: 0,
            keep_alive: 4,
            open_timeout_us: 10_000_000,
            accept_timeout_us: 10_000_000,
            accept_pending_max: 100,
            sessions_max: 1000,
            rx: RxLimits::default(),
            links_per_session_max: 1,
            gateway: None,
            dial: Vec::new(),
            connect_timeout_us: (whatami == WhatAmI::Client).then_some(0),
            connect_required: whatami == WhatAmI::Client,
            wait_for_scouted: true,
            wait_for_declares: true,
            scouting_delay_us: 500_000,
            scouting: ScoutingConfig {
                enabled: false,
                listen: true,
                autoconnect,
                timeout_us: 3_000_000,
            },
            gossip: GossipConfig {
                enabled: true,
                target: WhatAmIMatcher::from(WhatAmI::Router) | WhatAmI::Peer,
                locators: Vec::new(),
                first_sn: 1,
                multihop: false,
            },
            weights: BTreeMap::new(),
            computation: Arc::new(ShortestPaths),
            aggregation: Aggregation::default(),
            gossip_autoconnect: autoconnect,
            interests_timeout_us: 10_000_000,
            queries_timeout_us: 10_000_000,
            limits: Limits::default(),
            rules: None,
            counts_sizes: false,
        }
    }

    /// Makes the node a gateway of these regions.
    pub fn serve(&mut self, gateway: Gateway) {
        self.handshake.gateway = true;
        self.gateway = Some(gateway);
    }
}

/// Why a node that must be connected to open is not.
pub(crate) fn not_connected(reasons: &[String]) -> String {
    if reasons.is_empty() {
        return String::from(
            "no node found: none answered the scouting; name one with connect/endpoints (-e)",
        );
    }
    let mut text = String::from("unable to connect: ");
    text.push_str(&reasons.join("; "));
    text
}
