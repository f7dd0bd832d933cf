//! Everything that touches a socket: TCP and Unix stream links, and the multicast scouting sockets.
//!
//! Not here: batches and messages (a link moves byte slices), waiting for readiness, retries,
//! deadlines and threads (all the runtime's), the text form of locators and endpoints (`weft-wire`;
//! this crate takes their split parts). Spec: 01 §2.1, §2.4, §7.1, §7.2, §7.5; 03 §10.1.
//!
//! Invariants:
//! - Every descriptor is non-blocking and close-on-exec. Only [`resolve`] of a host name and the
//!   enumeration of interfaces may block; nothing sleeps.
//! - A write to a peer that is gone is an error, never a `SIGPIPE`.
//! - What can fail is typed: [`LinkError`] while a link is being set up, `std::io::Error` on its
//!   data path.
//!
//! ```text
//!                       connecting                        connected
//!  Address --resolve--> Target --Dial::start--> Dial --finish (writable)--> Link
//!                          '-----Listener::bind--> Listener --accept (readable)--'
//! ```
//!
//! The protocols live in one module each; a new one adds a module, a variant of [`Proto`] and of
//! [`Target`], and its arms in [`Dial`] and [`Listener`].
//!
//! ```
//! use weft_link::{Address, Dial, LinkOptions, Listener, resolve};
//!
//! let options = LinkOptions::default();
//! let here = resolve(Address { proto: "tcp", address: "127.0.0.1:0" })?;
//! let listener = Listener::bind(&here[0], &options)?;
//!
//! let locator = listener.local_locator(); // tcp/127.0.0.1:<port>
//! let (proto, address) = locator.split_once('/').unwrap();
//! let dial = Dial::start(&resolve(Address { proto, address })?[0], &options)?;
//! // A poller waits until `dial` is writable, then calls `dial.finish()`.
//! # drop(dial);
//! # Ok::<(), weft_link::LinkError>(())
//! ```

#![forbid(unsafe_code)]

mod address;
mod dial;
mod error;
mod interface;
mod link;
mod listener;
mod options;
pub mod scouting;
mod tcp;
mod unix;

pub use address::{Address, Proto, TARGETS_MAX, Target, is_literal, resolve};
pub use dial::{Dial, DialError};
pub use error::{AcceptFault, LinkError, OptionFault, OsError};
pub use interface::{Interface, interfaces};
pub use link::{CLOSE_WAIT_MAX, Link, SLICES_MAX};
pub use listener::{BACKLOG_MAX, Listener, Reachable};
pub use options::LinkOptions;
