//! Faces, declarations, interests, routes and queries in flight: where a message goes.
//!
//! The crate is sans-IO: calls come in with a time, messages for neighbours go out through an
//! [`Outbox`], and nothing else happens. It does not know transports, batches or sockets, and it
//! never sees a payload: for data and queries it only says *where to* ([`DataRoute`],
//! [`QueryPlan`]), and the caller encodes.
//!
//! Spec: 02 §2, §4 and 03 §1 to §7.
//!
//! One engine serves every mode. A neighbour is placed in a [`Region`], which says whether its
//! members exchange traffic through this node, and whether declarations are pushed to them, sent only
//! on interest, or travel along the trees of a network. Subscribers, queryables and liveliness tokens
//! share one declaration table ([`Kind`]); what is in it belongs to an [`Owner`]: a neighbour, or a
//! node of a network wherever it is. The session's own entities live on [`FaceId::LOCAL`], which is a
//! face like any other except that its messages become [`Event`]s.
//!
//! Invariants:
//! - a face hears about a key once, however many owners the key has, and never about its own
//!   declarations (liveliness tokens excepted, 02 §4.3);
//! - a [`DataRoute`] is immutable; when a declaration changes what it would be, its
//!   [`Validity`] turns stale before the call that changed it returns;
//! - the cost of a declaration is proportional to the faces that must hear of it.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod aggregation;
mod asked;
mod crossing;
mod declare;
mod entity;
mod expr;
mod face;
mod few;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz_bodies;
mod gossip;
mod interest;
mod joining;
mod limits;
mod message;
mod network;
mod outbox;
mod probe;
mod query;
mod resend;
mod route;
mod routing;
mod schedule;
mod sourced;
mod tell;
mod view;

pub use aggregation::Aggregation;
pub use entity::{Kind, KindSet, Owner};
pub use expr::{ResolveError, RouteExpr};
pub use face::{FaceId, FaceInit, RefusedFace, Region, Side};
pub use gossip::GossipConfig;
pub use interest::{LocalInterest, LocalInterestMode};
pub use limits::{Limits, Violation};
pub use network::{
    DEFAULT_WEIGHT, Edge, Graph, LatencyWeighted, NodeIx, NodeView, PathComputation, Paths,
    ShortestPaths, edge_weight,
};
pub use outbox::{Event, Outbox};
pub use probe::{ECHO, PROBE};
pub use query::{PendingReply, QueryHop, QueryPlan, QueryRequest, QueryScope};
pub use resend::{OFFER, RESEND, RESENT};
pub use route::{DataRoute, Hop, Validity};
pub use routing::{Footprint, Routing, RoutingConfig};
pub use view::{Entity, Explanation, FaceView, LinkWeights, Piece, Reason, RegionGraph, Rest};

#[cfg(test)]
mod tests;
