//! The Rust API of Weft: sessions, publishers, subscribers, queryables, queriers and liveliness.
//!
//! ```no_run
//! use weft::Config;
//!
//! let session = weft::open(Config::default()).wait()?;
//! let subscriber = session.declare_subscriber("demo/**").wait()?;
//! session.put("demo/hello", "world").wait()?;
//! let sample = subscriber.recv()?;
//! println!("{}: {}", sample.key_expr(), sample.payload().try_to_str()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything is made by a builder that ends in `.wait()`, which blocks, or `.await`, on any async
//! runtime. What receives takes a handler: a closure, a channel ([`handlers`]), or a view callback
//! that looks at samples without copying them ([`SubscriberBuilder::callback`]).
//!
//! Rules for callbacks: they run on the thread that received the message, so one that takes its
//! time stops the link that feeds it (and only that). Every operation of the API may be called from
//! a callback; no lock of the library is held meanwhile.
//!
//! Spec: 05 part A.

#![forbid(unsafe_code)]

mod acknowledge;
mod admin;
mod cancel;
pub mod config;
mod core;
mod cover;
mod declared;
pub mod encoding;
mod error;
pub mod ext;
mod get;
pub mod handlers;
pub mod info;
mod key;
mod key_shares;
mod listener;
mod liveliness;
mod matching;
mod publisher;
mod querier;
mod query;
mod queryable;
pub mod quorum;
mod reply;
mod resolve;
mod sample;
mod scouting;
pub mod select;
mod session;
mod settings;
mod subscriber;
pub mod timestamp;
mod value;
pub mod zbytes;

pub use cancel::CancellationToken;
pub use config::Config;
pub use cover::{Cover, CoverError, CoverGet, Covered};
pub use encoding::Encoding;
pub use error::{Error, ErrorKind, Result};
pub use get::{GetBuilder, SelectMode};
pub use info::SessionInfo;
pub use key::IntoKeyExpr;
pub use liveliness::{
    Liveliness, LivelinessGetBuilder, LivelinessSubscriber, LivelinessSubscriberBuilder,
    LivelinessToken, TokenBuilder,
};
pub use matching::{MatchingListener, MatchingListenerBuilder, MatchingStatus};
pub use publisher::{PublicationBuilder, Publisher, PublisherBuilder, PutBuilder};
pub use querier::{Querier, QuerierBuilder, QuerierGetBuilder};
pub use query::{Query, ReplyBuilder, ReplyErrBuilder, ReplyKeyExpr};
pub use queryable::{Queryable, QueryableBuilder};
pub use quorum::{Agreement, QuorumEnd, QuorumError, QuorumGet, QuorumPut};
pub use reply::{Reply, ReplyError};
pub use resolve::Waiting;
pub use sample::{Sample, SampleKind, SampleView};
pub use scouting::{Scout, ScoutBuilder, scout};
pub use session::{CloseBuilder, IntoSelector, OpenBuilder, Session, open};
pub use subscriber::{Subscriber, SubscriberBuilder, ViewCallback};
pub use zbytes::ZBytes;

/// Key expressions, selectors and parameters in full: trees, formats, time ranges and their errors.
pub use weft_keyexpr as keyexpr;

pub use weft_keyexpr::{
    Ke, KeFormat, KeTree, KeyExpr, KeyExprError, Parameters, Selector, TimeRange,
};
pub use weft_node::Locality;
pub use weft_runtime::{
    AcceptFault, LinkError, OpenError, OptionFault, OsError, WaitHooks, set_wait_hooks,
};
pub use weft_wire::{
    Bits, CongestionControl, Consolidation, Endpoint, EntityGlobalId, Hello, InterceptionPoint,
    InvalidTimestamp, InvalidWhatAmI, InvalidZid, Locator, LocatorError, Priority, QueryTarget,
    Reliability, SourceInfo, Timestamp, WhatAmI, WhatAmIMatcher, ZenohId,
};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
