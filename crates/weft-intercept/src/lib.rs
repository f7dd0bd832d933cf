//! Access control and traffic shaping: who may say what about which keys, how often, how large, and
//! with which quality of service.
//!
//! [`Rules`] are what an operator writes; [`RuleSet`] is the same, found to be consistent. For one
//! transport and one direction it makes a [`Chain`], the interceptors that concern it in their order
//! (03 §8): each downsampling item, access control, each QoS overwrite, the low-pass filter. For one
//! key and one kind of message, a chain makes a [`Gate`], which holds everything that depends on
//! neither the message's size nor the time, so that a gate can be kept with a route and used for every
//! further message.
//!
//! Not here: where messages go, what a refused one is answered with (`weft-node`), and how rules are
//! written in a file (`weft::config`).
//!
//! Spec: 03 §8.1 to §8.4. Two points differ from the reference on purpose:
//! - a **deny rule matches by intersection**, so that a publication on `*/1` does not slip past a deny
//!   on `secret/**`; allow rules match by inclusion as there;
//! - negative increments of a priority have effect, down to the most urgent one for users.
//!
//! Invariants: no call reads a clock, allocates per message, or takes a lock; messages of this process
//! for itself and those of multicast groups never meet a chain.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod chain;
mod check;
mod explain;
mod gate;
mod lint;
#[cfg(test)]
mod naive;
mod rules;
mod sizes;
mod transport;
mod words;

pub use chain::Chain;
pub use check::{RuleError, RuleProblem, RuleSet};
pub use explain::Explained;
pub use gate::{DropCounts, DropReason, DroppedSizes, Drops, Gate, GateView, Message, PushGate};
pub use lint::{Lint, NodeFacts};
pub use rules::{
    AccessControl, AccessRule, Downsampling, InvalidSizeRange, LowPass, Overwrite, Policy,
    PriorityChange, QosFilter, QosOverwrite, Rate, Rules, SizeRange, Subject,
};
pub use sizes::{SIZE_BUCKETS, SIZE_LIMITS, SizeCells, Sizes};
pub use transport::{LinkFacts, TransportFacts};
pub use words::{Flow, LinkProtocol, MessageKind, MessageSet, Permission};
