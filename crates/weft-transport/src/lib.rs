//! One Zenoh transport without I/O: handshake, channels, batches, fragments, lease.
//!
//! A transport is what two nodes keep together over a link. Its parts share nothing but what the
//! handshake agreed on, so that sending never waits for receiving:
//!
//! - [`Initiator`] and [`Responder`] turn a fresh link into a [`Negotiated`] transport;
//! - [`TxHalf`] turns network messages into batches;
//! - [`RxHalf`] turns batches into network messages;
//! - [`Lease`] says when to speak and when to stop waiting;
//! - [`framing`] finds batches in a stream;
//! - [`Decompressor`] undoes the compression of batches, if that was agreed; [`TxHalf`] does it.
//!
//! Not here: sockets, threads, clocks, entropy (`weft-runtime`, `weft-link`); what messages mean
//! (`weft-routing`); which neighbours to have (`weft-node`); multicast transports.
//! Spec: 01 §3 to §5, §8.
//!
//! ```
//! use weft_transport::{
//!     CookieKey, HandshakeArrival, HandshakeConfig, Initiator, LinkParams, Responder,
//!     ResponderStep, RxHalf, RxItem, RxLimits, Step, TxConfig, TxHalf,
//! };
//! use weft_wire::{Priority, Push, Reliability, WhatAmI, WireExpr};
//!
//! let config = |zid: &str| HandshakeConfig::new(zid.parse().unwrap(), WhatAmI::Peer);
//! let link = LinkParams { mtu: 65_480, streamed: true };
//! let arrival = HandshakeArrival { link, now_us: 0, peer_tag: b"connection 1" };
//! let responder = Responder::new(config("b"), CookieKey::new([7; 16]));
//!
//! // Each vector is a batch on its way to the other side.
//! let (mut init_syn, mut init_ack, mut open_syn, mut open_ack) = (vec![], vec![], vec![], vec![]);
//! let mut initiator = Initiator::new(&config("a"), link, None, &mut init_syn);
//! let _ = responder.handle_batch(&init_syn, &arrival, &mut init_ack)?;
//! let _ = initiator.handle_batch(&init_ack, &mut open_syn)?;
//! let ResponderStep::Admit(admission) =
//!     responder.handle_batch(&open_syn, &arrival, &mut Vec::new())?
//! else {
//!     panic!("OPEN leads to an admission")
//! };
//! admission.accept(&mut open_ack);
//! let Step::Established(negotiated) = initiator.handle_batch(&open_ack, &mut Vec::new())? else {
//!     panic!("the last answer establishes")
//! };
//!
//! let mut tx = TxHalf::new(&negotiated, &TxConfig::default());
//! let mut rx = RxHalf::new(&admission.negotiated, RxLimits::default());
//! let message = Push::put(WireExpr::full("demo/a"), b"hello");
//! tx.push(Priority::Data, Reliability::Reliable, &message)?;
//! let mut chunk = tx.take().expect("one batch"); // its bytes go to the link
//! let mut items = rx.batch(chunk.batches().next().unwrap());
//! assert!(matches!(items.next()?, Some(RxItem::Sample { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Time is a `u64` of microseconds since an origin of the caller's choice, and comes in as an
//! argument. Nothing from the network makes this crate panic, or hold more than the limits of
//! [`TxConfig`] and [`RxLimits`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod compression;
mod cookie;
pub mod framing;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz_bodies;
pub mod handshake;
pub mod lease;
pub mod rx;
mod siphash;
mod sn;
pub mod tx;

pub use compression::{CompressionError, Decompressor, write_plain_batch};
pub use cookie::CookieKey;
pub use framing::{FramingError, next_batch, write_batch};
pub use handshake::{
    Admission, HandshakeArrival, HandshakeConfig, HandshakeError, Initiator, LinkParams,
    Negotiated, Responder, ResponderStep, Step, write_close,
};
pub use lease::Lease;
pub use rx::{RxBatch, RxError, RxHalf, RxItem, RxLimits};
pub use tx::{
    FragmentCursor, FragmentStep, Gather, PushError, TxChunk, TxConfig, TxHalf, TxQueue, TxStats,
};

/// Microseconds in a millisecond: leases are announced in the one and measured in the other.
const US_PER_MS: u64 = 1_000;
