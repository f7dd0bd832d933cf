//! A whole Zenoh node without I/O: links' handshakes and leases, dialing, scouting, routing and the
//! entities of the node's own session, composed.
//!
//! Bytes, time and failures come in through the methods of [`Node`]; whatever the node wants done
//! goes out through the [`Ports`] that each call is given. The same code runs under
//! `weft-runtime` with sockets and threads, and under `weft-sim` with virtual ones.
//!
//! Two planes:
//! - **Control**: [`Node`] is the one writer. Handshakes, declarations, interests, queries and
//!   timers go through it, one call at a time.
//! - **Data**: a sample never touches [`Node`]. [`Inbound`] decodes what one neighbour sends and
//!   finds each sample's route in its own cache; only a miss, or a route that a declaration made
//!   stale, asks [`Node::data_route`] for a new one.
//!
//! Contract: calls into [`Node`] carry the time `now_us`, microseconds from an arbitrary origin
//! that never go back. After each call, [`Node::next_timeout`] says when
//! [`Node::handle_timeout`] is due; calling it too early is harmless.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(test)]
mod tests;

mod cache;
mod config;
mod consolidate;
mod dialer;
mod forward;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz_bodies;
mod gateway;
mod hlc;
mod inbound;
mod intercept;
mod links;
mod node;
mod operate;
mod ports;
mod received;
mod scouting;
mod session;
mod startup;
mod timers;

pub use config::{AutoConnect, Backoff, DialTarget, NodeConfig, Retry, ScoutingConfig, Strategy};
pub use consolidate::Consolidator;
pub use dialer::DialId;
pub use forward::{Stamped, forwarded, stamp_put};
pub use gateway::{Gateway, NeighbourFacts, NeighbourFilter, SouthRegion};
pub use hlc::{Hlc, Lane, TooFarAhead};
pub use inbound::{Arrival, CachedRoute, Inbound, Plane, Row};
pub use intercept::{AcceptedReply, DEPARTED_MAX, NodeRoute, QueryHop, QueryPlan};
pub use links::{LinkId, LinkInit, LinkOrigin, NeighbourInfo};
pub use node::{Node, NodeFootprint, Offences};
pub use operate::RouteExplanation;
pub use ports::{Activity, NodeEvent, OpenedTransport, Ports, ScoutTo};
pub use received::{MessageClass, Received};
pub use session::{EntityIds, Locality, MatchOf};

pub use weft_intercept::{
    DropCounts, DropReason, DroppedSizes, Drops, Flow, GateView, LinkFacts, LinkProtocol,
    MessageKind, PushGate, RuleSet, SIZE_BUCKETS, SIZE_LIMITS, SizeCells, Sizes, TransportFacts,
};
pub use weft_routing::{
    Aggregation, DEFAULT_WEIGHT, DataRoute, Edge, Entity, Explanation, FaceId, FaceView, Footprint,
    GossipConfig, Graph, Hop, Kind, LatencyWeighted, Limits, LinkWeights, NodeIx, NodeView, Owner,
    PathComputation, Paths, PendingReply, Piece, QueryRequest, QueryScope, Reason, Region,
    RegionGraph, ResolveError, Rest, RouteExpr, Routing, ShortestPaths, Side, Validity,
    edge_weight,
};
