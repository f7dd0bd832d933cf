//! The session of a virtual node: what it has declared and asked.

use std::collections::BTreeMap;

use weft_keyexpr::KeyExpr;
use weft_node::{Consolidator, Locality};
use weft_wire::{Qos, QueryTarget, Reliability};

use crate::fact::ReplyIn;

/// A subscriber, by its node's id.
pub(crate) struct SubscriberState {
    /// Its number in the simulation.
    pub(crate) handle: usize,
    pub(crate) key: KeyExpr,
    pub(crate) origin: Locality,
}

/// How a publisher sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) qos: Qos,
    pub(crate) reliability: Reliability,
    pub(crate) destination: Locality,
}

pub(crate) struct SenderState {
    pub(crate) key: KeyExpr,
    pub(crate) sending: Sending,
    /// A querier rather than a publisher.
    pub(crate) asks: Option<QueryTarget>,
    pub(crate) matching: bool,
}

/// What a queryable does with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Replies on its own key, then ends, after so many microseconds.
    Reply {
        /// The payload.
        payload: Vec<u8>,
        /// When, after the query's arrival.
        after_us: u64,
    },
    /// Replies with an error.
    Error {
        /// The payload.
        payload: Vec<u8>,
    },
    /// Ends without a reply.
    Nothing,
    /// Never ends.
    Mute,
}

pub(crate) struct QueryableState {
    pub(crate) key: KeyExpr,
    pub(crate) origin: Locality,
    pub(crate) answer: Answer,
    pub(crate) asked: u32,
}

pub(crate) struct TokenSubscriberState {
    pub(crate) handle: usize,
    pub(crate) key: KeyExpr,
    pub(crate) history: bool,
}

pub(crate) struct QueryState {
    pub(crate) handle: usize,
    pub(crate) consolidator: Consolidator<ReplyIn>,
}

/// All of a session, by the ids of its node.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) subscribers: BTreeMap<u32, SubscriberState>,
    pub(crate) senders: BTreeMap<u32, SenderState>,
    pub(crate) queryables: BTreeMap<u32, QueryableState>,
    pub(crate) tokens: BTreeMap<u32, KeyExpr>,
    pub(crate) token_subscribers: BTreeMap<u32, TokenSubscriberState>,
    pub(crate) queries: BTreeMap<u32, QueryState>,
    /// Liveliness queries and their numbers in the simulation.
    pub(crate) token_queries: BTreeMap<u32, usize>,
    /// Queryables that have not finished with a query of a neighbour or of this session.
    pub(crate) answering: BTreeMap<u32, usize>,
}
