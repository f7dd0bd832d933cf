//! What routing says to the outside: messages for neighbours and events for this node.

use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::{Locator, NetworkMessage, WhatAmI, ZenohId};

use crate::expr::ResolveError;
use crate::face::FaceId;
use crate::limits::Violation;

/// Takes what a call into [`Routing`](crate::Routing) produces, in order, while the call runs.
///
/// `send` must not block and must not call back into routing. The message borrows routing's state:
/// encode it at once.
pub trait Outbox {
    /// Sends a control-plane message to the neighbour behind `face`, reliably and in order.
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>);

    /// Something happened that this node's session or its connection logic wants to know.
    fn event(&mut self, event: Event);
}

/// News for this node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Subscribers or queryables matching the local interest may have appeared or gone.
    MatchingChanged {
        /// The id given to [`LocalInterest`](crate::LocalInterest).
        interest: u32,
    },
    /// The neighbours have told everything that exists for a local interest.
    InterestFinal {
        /// The id given to [`LocalInterest`](crate::LocalInterest).
        interest: u32,
    },
    /// A liveliness token appeared or disappeared, for each listed local interest.
    Token {
        /// Local interests that match the token.
        interests: Vec<u32>,
        /// The token's key.
        key: KeyExpr,
        /// Appeared, or gone.
        alive: bool,
    },
    /// An answer to a local interest that asks for the tokens of this moment only.
    TokenReply {
        /// The id given to [`LocalInterest`](crate::LocalInterest).
        interest: u32,
        /// The token's key.
        key: KeyExpr,
    },
    /// A branch of a local query was given up: its neighbour stayed silent (03 §5.3).
    QueryTimeout {
        /// The local query.
        query: u32,
        /// The neighbour that did not answer in time.
        responder: ZenohId,
    },
    /// Every branch of a local query has ended.
    QueryFinal {
        /// The local query.
        query: u32,
    },
    /// Gossip told of a node that this one could dial.
    Discovered {
        /// Its identity.
        zid: ZenohId,
        /// Its mode.
        whatami: WhatAmI,
        /// Where it can be reached.
        locators: Vec<Locator>,
    },
    /// A neighbour has told all it has at start-up: its `D_FINAL(0)` arrived, or its first gossip
    /// where no such final is due (03 §3.6).
    NeighbourReady {
        /// The neighbour's face.
        face: FaceId,
    },
    /// What a neighbour declares is ignored, because its key expression is beyond a limit. Said once a
    /// neighbour.
    Ignored {
        /// The neighbour's face.
        face: FaceId,
        /// What is wrong with the key expression.
        error: ResolveError,
    },
    /// A neighbour went beyond a limit; its transport is to be closed.
    Refuse {
        /// The neighbour's face.
        face: FaceId,
        /// What it exceeded.
        violation: Violation,
    },
}
