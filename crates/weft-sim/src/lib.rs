//! Many Weft nodes in one process, in virtual time, from one seed.
//!
//! The nodes are real: [`weft_node::Node`] and the data path around it, as they ship. What is not
//! real is the world: connections, clocks, crashes and chance. Nothing here opens a socket, reads a
//! clock or starts a thread, so a simulated minute takes milliseconds and every run of a seed is the
//! same.
//!
//! ```
//! use weft_sim::Sim;
//!
//! Sim::seeds(0..3).run(|sim| {
//!     let router = sim.router("r").start();
//!     let reader = sim.client("reader").connect([router]).start();
//!     let writer = sim.client("writer").connect([router]).start();
//!     let sub = sim.subscribe(reader, "demo/**");
//!     sim.settle();
//!     sim.put(writer, "demo/x", b"hello");
//!     sim.settle();
//!     assert_eq!(sim.payloads(sub), ["hello"]);
//! });
//! ```
//!
//! Whatever a scenario does, checkers watch each step: publications arrive at most once and in
//! order, only at subscribers that match, and cross no connection twice; queries end once and in
//! time; memory stays within its limits; and when all is quiet, every node knows exactly what a
//! plain model of the network says that it should. At the end, everything is withdrawn and nothing
//! may be left. A failing seed prints the command that repeats it.
//!
//! Not here: threads, sockets and buffers (`weft-runtime`); lost or reordered bytes on a connection,
//! which streams do not have: what a network does to a stream shows as delay or as its end.
#![forbid(unsafe_code)]

mod acting;
mod agenda;
mod check;
mod driver;
mod entities;
mod fact;
mod faults;
mod host;
mod inspect;
mod network;
mod outbound;
mod pipe;
mod plane;
mod queries;
mod reading;
mod rng;
pub mod scale;
mod seeds;
mod session;
mod sim;
mod starting;
mod strangers;
mod swarm;
mod trace;

pub use entities::{Publisher, PutOutcome, Qbl, Querier, Sub, Token, TokenSub};
pub use fact::{ReplyIn, Sample};
pub use host::Opening;
pub use network::DatagramFaults;
pub use pipe::Medium;
pub use queries::{Get, Query};
pub use rng::Rng;
pub use seeds::Seeds;
pub use session::Answer;
pub use sim::{NodeRef, Sim, TokenChange};
pub use starting::NodeBuilder;
pub use strangers::Knock;
pub use swarm::{Outcome, PROFILES, Profile, Swarm};
