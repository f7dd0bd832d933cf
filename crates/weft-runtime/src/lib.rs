//! Threads, poller, buffers and clock around a [`weft_node::Node`].
//!
//! Not here: the protocol (`weft-node` and below), sockets (`weft-link`), the application's API
//! (`weft`).
//!
//! Threads of one node:
//! - *reading threads* (`shard`), one a core: poll the links, decode, forward, call subscribers;
//! - the *service thread* (`service`): timers, accepting, scouting, full sockets, bursts;
//! - the *event thread* (`events`): tells the session what happened;
//! - those that go on for one of the above whose handler takes its time (`duty`);
//! - those that wait for room with a message that blocks first (`sender`);
//! - short-lived ones that connect (`dial`), and one that goes on trying to listen (`listen`).
//!
//! Those that go on or wait are kept for a second, for the next time (`reserve`).
//!
//! Locks, in the order in which they may be taken: a link's `tail`, its transport's `inbound`, the
//! control lock, a transport's sending lock. No lock but the first two is held across a callback or
//! a wait. Those two only keep others from reading the same neighbour, and nobody but its readers
//! waits for them.

#![forbid(unsafe_code)]

mod alarm;
mod apart;
mod barrier;
mod cell;
mod clock;
mod dial;
mod duty;
mod error;
mod events;
mod listen;
mod meter;
mod options;
mod owed;
mod plane;
mod poll;
mod ports;
pub mod publish;
mod query;
mod receive;
mod reserve;
mod route;
mod runtime;
mod scout;
mod sender;
mod service;
mod session;
mod shard;
mod shared;
mod stack;
mod thread;
mod transport;
mod wait;

pub use cell::LinkInfo;
pub use clock::wall_ntp64;
pub use duty::{block_hook, calling, is_calling};
pub use error::OpenError;
pub use listen::ListenTarget;
pub use meter::{Loss, LostSizes, PayloadSizes};
pub use options::{ATTEMPT_KEYS, LinkSettings};
pub use publish::{PublisherSlot, SampleQos};
pub use query::{QueryArgs, QueryHandle};
pub use route::{SampleCallback, SampleView};
pub use runtime::{CLOSE_HANDLERS_MAX, LinkTraffic, Neighbour, Runtime, RuntimeConfig, Traffic};
pub use scout::{ScoutGroup, scout};
pub use sender::CongestionWaits;
pub use session::{IncomingQuery, IncomingReply, SessionHandler};
pub use thread::SessionSpan;
pub use wait::{WaitHooks, set_wait_hooks, wait_while};

pub use weft_link::{AcceptFault, LinkError, OptionFault, OsError};
