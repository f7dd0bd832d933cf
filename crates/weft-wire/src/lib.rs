//! Zenoh messages to bytes and back, without copies.
//!
//! Every scouting, transport, network and data message of protocol version 9 with its extensions,
//! decoded into views that borrow the received bytes and encoded straight into the caller's buffer.
//!
//! Not here: stream framing, sequence-number checks, reassembly (`weft-transport`), what a declaration or
//! a route means (`weft-routing`), whether a key expression is canonical (`weft-keyexpr`).
//!
//! Spec: 01 §1, §2, §4, §5.1, §5.2, §6.1; 02 §0 to §3; 03 §2.2.
//!
//! Rules that hold for the whole crate:
//! - **Decoding** never panics, never reads past a message and never allocates in proportion to a length
//!   that was not received. Only scouting messages, locators and link states own memory.
//! - **Encoding** writes minimal integers, omits whatever equals its default, and orders extensions as
//!   Eclipse Zenoh does, so that a captured message comes back byte for byte. The only error is a full
//!   [`Sink`]; what was written before it is to be rolled back by the caller.
//! - An unknown extension is skipped, or refused if it is mandatory; those of PUT, DEL, QUERY, REPLY and
//!   ERR are kept in [`UnknownExts`] and written again after the known ones.
//!
//! ```
//! use weft_wire::{Decode, Encode, NetworkMessage, Push, Reader, WireExpr, Writer};
//!
//! let mut buf = [0; 64];
//! let mut writer = Writer::new(&mut buf);
//! Push::put(WireExpr::full("demo/a"), b"hello").encode(&mut writer)?;
//! assert_eq!(writer.written(), b"\x7d\x00\x06demo/a\x01\x05hello");
//!
//! let message = NetworkMessage::decode(&mut Reader::new(writer.written())).expect("just encoded");
//! assert_eq!(message, NetworkMessage::Push(Push::put(WireExpr::full("demo/a"), b"hello")));
//! # Ok::<(), weft_wire::NoSpace>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod body;
pub mod buffer;
pub mod encoding;
pub mod error;
pub mod expr;
pub mod ext;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz_bodies;
pub mod id;
pub mod linkstate;
pub mod locator;
pub mod network;
pub mod qos;
pub mod scouting;
mod sender;
#[cfg(test)]
mod testing;
pub mod timestamp;
pub mod transport;
pub mod ts_stack;
pub mod whatami;
pub mod zint;

pub use body::{
    Consolidation, Del, ErrReply, PushBody, Put, Query, QueryBody, Reply, RequestBody,
    ResponseBody, SourceInfo,
};
pub use buffer::{Counter, Decode, Encode, NoSpace, Reader, Sink, Writer};
pub use encoding::Encoding;
pub use error::DecodeError;
pub use expr::{Mapping, WireExpr};
pub use ext::UnknownExts;
pub use id::{EntityGlobalId, InvalidZid, ZenohId};
pub use linkstate::{LINKSTATE, LinkState, LinkStateList};
pub use locator::{Endpoint, Locator, LocatorError};
pub use network::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, NetworkMessage, Oam, OamBody,
    Push, PushDecoder, QueryTarget, QueryableInfo, Request, Response, ResponseFinal, RoutedPush,
    is_network_id, is_push_id,
};
pub use qos::{CongestionControl, Priority, Qos, Reliability};
pub use scouting::{Hello, Scout, ScoutingMessage};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use transport::{
    Bits, Bound, Close, CloseReason, FragmentHeader, FrameHeader, InitAck, InitExts, InitSyn, Join,
    NextSn, OpenAck, OpenExts, OpenSyn, Resolution, TransportMessage, TransportOam,
};
pub use ts_stack::{InterceptionPoint, InterceptionPoints, Stamp, TsRecord, TsStack};
pub use whatami::{InvalidWhatAmI, WhatAmI, WhatAmIMatcher};

/// The protocol version that this crate speaks, in INIT, JOIN, SCOUT and HELLO.
pub const VERSION: u8 = 0x09;
