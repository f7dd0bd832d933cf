//! The API over real sockets: one file per behaviour.
//!
//! No test sleeps to let something happen: each waits for an event, with a deadline. That something
//! does *not* arrive is shown by what comes after it.

mod admin;
mod advanced;
mod aggregating;
mod asynchronous;
mod back_pressure;
mod cancellation;
mod info;
mod lifecycle;
mod links;
mod liveliness;
mod locality;
mod log;
mod matching;
mod namespaces;
mod opening;
mod own_space;
mod panics;
mod publishing;
mod queries;
mod query_covers;
mod query_targets;
mod quorum_gets;
mod quorum_puts;
mod reconnecting;
mod reentrancy;
mod select;
mod stats;
mod support;
mod timestamp_stack;
mod timestamps;
mod undeclaring;
