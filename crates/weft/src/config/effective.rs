//! The configuration as the session uses it: every value resolved for the node's mode, in types that cannot be wrong.
//!
//! Not here: how values are resolved (`resolve`), and what they mean in detail (the table of keys).

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use super::publication::Publication;
use weft_intercept::RuleSet;
use weft_keyexpr::KeyExpr;
use weft_node::{Aggregation, Gateway};
use weft_wire::{Bits, Endpoint, WhatAmI, WhatAmIMatcher, ZenohId};

/// Everything that Weft acts on, resolved for one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// What the node does for others.
    pub mode: WhatAmI,
    /// Its identity; `None`: a random one.
    pub id: Option<ZenohId>,
    /// Anything about the node, as JSON; `null` without.
    pub metadata: String,
    /// QoS of publications; of several that are about a key, the first one counts.
    pub publications: Vec<Publication>,
    /// Access control and traffic shaping.
    pub rules: RuleSet,
    /// Prefix of every key of this session.
    pub namespace: Option<KeyExpr>,
    /// The region that neighbours are told that the node is in.
    pub region_name: Option<String>,
    /// The regions that the node serves; `None`: the automatic ones.
    pub gateway: Option<Gateway>,
    /// Whom to connect to.
    pub connect: Connect,
    /// Where to accept links.
    pub listen: Listen,
    /// What opening waits for.
    pub open: OpenConditions,
    /// Discovery of other nodes.
    pub scouting: Scouting,
    /// Timestamps of samples.
    pub timestamping: Timestamping,
    /// How long a query may take if it does not say so itself.
    pub queries_default_timeout: Duration,
    /// How long a neighbour may take to answer an interest.
    pub interests_timeout: Duration,
    /// Route as a member of a network of peers and routers, with neighbours that do, too.
    pub mesh: bool,
    /// Links of a network without a weight cost what their round trip takes.
    pub by_latency: bool,
    /// Costs of links to members of the network, by neighbour.
    pub weights: BTreeMap<ZenohId, u16>,
    /// Transports with one neighbour.
    pub unicast: Unicast,
    /// All links.
    pub link: Link,
    /// Sending.
    pub tx: Tx,
    /// Receiving.
    pub rx: Rx,
    /// What neighbours and applications may take.
    pub limits: Limits,
    /// Sizes of payloads.
    pub stats: Stats,
    /// Questions about this node.
    pub adminspace: Adminspace,
    /// Declarations that are made together. Weft does not act on it yet.
    pub aggregation: Aggregation,
}

/// Whom to connect to.
#[derive(Clone, Debug, PartialEq)]
pub struct Connect {
    /// The neighbours, each with the endpoints of one node. A client has one at most: whoever answers
    /// first.
    pub neighbours: Vec<Target>,
    /// How attempts go on.
    pub attempts: Attempts,
}

/// Where to accept links.
#[derive(Clone, Debug, PartialEq)]
pub struct Listen {
    /// The listeners, each with one endpoint.
    pub endpoints: Vec<Target>,
    /// How attempts go on.
    pub attempts: Attempts,
}

/// A neighbour to connect to, or an endpoint to listen on.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Where, at least one.
    pub endpoints: Vec<Endpoint>,
    /// How attempts go on: in general, or as the endpoints say.
    pub attempts: Attempts,
}

/// How connecting or listening is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempts {
    /// How long opening may take for it: `None` is for ever, zero a single try.
    pub timeout: Option<Duration>,
    /// Opening fails without success in time.
    pub exit_on_failure: bool,
    /// Delays between tries.
    pub retry: Retry,
}

/// Delays between tries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// The first one.
    pub period_init: Duration,
    /// The longest one.
    pub period_max: Duration,
    /// Growth from one to the next, at least 1.
    pub increase_factor: f64,
}

/// What opening a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenConditions {
    /// Nodes that were found are connected.
    pub connect_scouted: bool,
    /// Connected peers have told their declarations.
    pub declares: bool,
}

/// Discovery of other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scouting {
    /// How long a client looks for a node.
    pub timeout: Duration,
    /// How long opening waits for nodes that are found.
    pub delay: Duration,
    /// By UDP multicast.
    pub multicast: MulticastScouting,
    /// By what neighbours tell.
    pub gossip: Gossip,
}

/// Discovery by UDP multicast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastScouting {
    /// Take part at all.
    pub enabled: bool,
    /// Group and port.
    pub address: SocketAddr,
    /// Names or addresses of interfaces; empty: chosen automatically.
    pub interfaces: Vec<String>,
    /// How many routers of the network a question may pass.
    pub ttl: u8,
    /// Whom to connect to.
    pub autoconnect: AutoConnect,
    /// Answer the questions of others.
    pub listen: bool,
}

/// Discovery by what neighbours tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gossip {
    /// Take part at all.
    pub enabled: bool,
    /// Pass addresses on through the whole network, and not to neighbours only.
    pub multihop: bool,
    /// Which neighbours are told; never clients.
    pub target: WhatAmIMatcher,
    /// Whom to connect to.
    pub autoconnect: AutoConnect,
}

/// Which discovered nodes are connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoConnect {
    /// Their modes.
    pub modes: WhatAmIMatcher,
    /// Strategy towards routers.
    pub to_router: Strategy,
    /// Strategy towards peers.
    pub to_peer: Strategy,
    /// Strategy towards clients.
    pub to_client: Strategy,
}

/// Who of two nodes that find each other connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Both.
    #[default]
    Always,
    /// The one with the greater id.
    GreaterZid,
}

/// Timestamps of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamping {
    /// Give samples one if they have none.
    pub enabled: bool,
    /// Drop samples from the future instead of giving them a new one.
    pub drop_future: bool,
}

/// Transports with one neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unicast {
    /// How long a link may take to become a transport after connecting.
    pub open_timeout: Duration,
    /// How long a link may take to become a transport after being accepted.
    pub accept_timeout: Duration,
    /// Accepted links on their way to a transport at the same time.
    pub accept_pending_max: usize,
    /// Neighbours at the same time.
    pub sessions_max: usize,
    /// Links that one neighbour may open to this node.
    pub links_per_session_max: usize,
    /// Compress batches, if the neighbour does, too.
    pub compression: bool,
    /// Priorities have channels of their own, where the neighbour can do that.
    pub qos: bool,
}

/// All links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Protocols that may be used; `None`: all.
    pub protocols: Option<Vec<String>>,
    /// Send buffer of a TCP socket, in bytes; `None` leaves it to the system.
    pub tcp_so_sndbuf: Option<u32>,
    /// Receive buffer of a TCP socket, in bytes; `None` leaves it to the system.
    pub tcp_so_rcvbuf: Option<u32>,
    /// How long a thread that has read something looks for more before it sleeps.
    pub busy_poll: Duration,
}

/// Sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tx {
    /// How long this node may be silent before others give it up.
    pub lease: Duration,
    /// Signs of life per lease.
    pub keep_alive: u8,
    /// Longest batch, in bytes.
    pub batch_size: u16,
    /// Width of sequence numbers; the lower one of two nodes counts.
    pub sequence_number_resolution: Bits,
    /// Batches that may wait, by priority: 0 is control, 7 is background.
    pub queue_sizes: [usize; 8],
    /// How long a droppable message waits for room.
    pub wait_before_drop: Duration,
    /// The same for all the fragments of a message.
    pub wait_before_drop_fragments_max: Duration,
    /// How long a blocking message waits for room before its transport is closed.
    pub wait_before_close: Duration,
    /// Collect messages in a batch while the link is busy.
    pub batching: bool,
}

/// Receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rx {
    /// Longest message that is put together from fragments, in bytes.
    pub message_len_max: usize,
}

/// What neighbours and applications may take. What exceeds a limit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open links at the same time.
    pub links_max: usize,
    /// Subscribers, queryables and tokens of one neighbour.
    pub declarations_per_session_max: usize,
    /// Interests of one neighbour.
    pub interests_per_session_max: usize,
    /// Queries of one neighbour that wait for their end.
    pub queries_pending_max: usize,
    /// Fragments that wait for the rest of their message, in bytes, by priority and reliability.
    pub fragments_pending_len_max: usize,
    /// Declarations and the like that wait for one neighbour, in bytes.
    pub control_backlog_len_max: usize,
    /// Length of a key expression, in bytes.
    pub key_expr_len_max: usize,
    /// Chunks of a key expression with wildcards.
    pub key_expr_chunks_max: usize,
}

/// Sizes of payloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// They are counted.
    pub enabled: bool,
    /// Those on keys that intersect one of these count for it, too: 64 at most.
    pub filters: Vec<KeyExpr>,
}

/// Questions about this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adminspace {
    /// Answer them.
    pub enabled: bool,
    /// It may be read.
    pub read: bool,
    /// It may be written.
    pub write: bool,
}
