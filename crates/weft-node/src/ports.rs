//! What a node asks of the world around it.
//!
//! A runtime implements [`Ports`] with sockets, the simulator with virtual links. Calls arrive while
//! the node is being changed: do what they say, or note it for later, but don't call back into the
//! node, and don't block.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use weft_intercept::LinkFacts;
use weft_keyexpr::KeyExpr;
use weft_transport::{Negotiated, RxHalf};
use weft_wire::{CloseReason, Endpoint, NetworkMessage, WhatAmI, ZenohId};

use crate::FaceId;
use crate::dialer::DialId;
use crate::links::LinkId;

/// The world, as a [`Node`](crate::Node) needs it.
pub trait Ports {
    /// Sends a control-plane message to a neighbour, reliably and in order, without waiting. If its
    /// backlog is over the limit, close the neighbour's links.
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>);

    /// Sends one batch of a handshake.
    fn transmit(&mut self, link: LinkId, batch: &[u8]);

    /// A link has become the first of a transport to a neighbour: from its next batch on, it carries
    /// frames. Batches before this call, [`Ports::transmit`], precede the frames on the wire. If
    /// compression was agreed, all batches of the link have its header from here on, in both directions.
    fn open(&mut self, link: LinkId, transport: OpenedTransport);

    /// A link has become a further one of the transport behind `face`. What its ends agreed on is what
    /// they did for the first one, but for the size of batches.
    fn attach(&mut self, link: LinkId, face: FaceId, negotiated: &Negotiated);

    /// One of the neighbour's links is gone: says CLOSE on the others, after what is queued for them.
    /// Nothing more is sent to the neighbour, and reading goes on until each link ends.
    fn finish(&mut self, face: FaceId, reason: CloseReason);

    /// Closes a link after all that was transmitted on it. Its end need not be reported.
    fn close_link(&mut self, link: LinkId);

    /// The neighbour is gone or refused. With a reason, it is told; then its links are closed and
    /// everything that belongs to the face is released.
    fn close_transport(&mut self, face: FaceId, reason: Option<CloseReason>);

    /// Connects to one of these endpoints, all addresses side by side. Ends in
    /// [`Node::link_up`](crate::Node::link_up) with the first that answers or in
    /// [`Node::dial_failed`](crate::Node::dial_failed). If more answer, and after a moment the first
    /// has not completed its handshake ([`Node::wants_another_link`](crate::Node::wants_another_link)),
    /// they may follow.
    fn dial(&mut self, dial: DialId, endpoints: &[Endpoint]);

    /// When bytes were last seen and written on a link.
    fn activity(&self, link: LinkId) -> Activity;

    /// Writes a keep-alive on the neighbour's link.
    fn keep_alive(&mut self, face: FaceId, link: LinkId);

    /// What rules can know of a link. Asked only of a node that has rules, once for each link of a
    /// transport that opens, or whose rules change.
    fn link_facts(&self, link: LinkId) -> LinkFacts;

    /// Sends a scouting datagram.
    fn scout(&mut self, datagram: &[u8], to: ScoutTo);

    /// News for the session; delivered in order, outside of any lock.
    fn event(&mut self, event: NodeEvent);
}

/// When bytes were last seen on a link and last written to it, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Last byte received.
    pub rx_us: u64,
    /// Last byte written.
    pub tx_us: u64,
}

/// Who gets a scouting datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoutTo {
    /// The group, on every scouting interface.
    Group,
    /// The node that asked.
    Asker(SocketAddr),
}

/// A transport that has just opened.
pub struct OpenedTransport {
    /// Routing's name for the neighbour.
    pub face: FaceId,
    /// What both sides agreed on; from it the sending half is made.
    pub negotiated: Negotiated,
    /// The receiving half.
    pub rx: Box<RxHalf>,
}

/// News for the session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// The node has done what opening waits for.
    Started,
    /// The node cannot do what opening waits for.
    StartFailed {
        /// One line that says what to do.
        reason: String,
    },
    /// A neighbour is connected.
    NeighbourUp {
        /// Its face.
        face: FaceId,
        /// Its identity.
        zid: ZenohId,
        /// Its mode.
        whatami: WhatAmI,
        /// Whether priorities have channels of their own.
        qos: bool,
    },
    /// A neighbour is gone.
    NeighbourDown {
        /// Its face.
        face: FaceId,
        /// Its identity.
        zid: ZenohId,
        /// Why.
        why: &'static str,
    },
    /// The matching status of a publisher or querier changed.
    Matching {
        /// The entity.
        id: u32,
        /// Whether anything matches.
        matching: bool,
    },
    /// Neighbours have told which queryables match a querier, or their time for that is over.
    QueryablesKnown {
        /// The querier.
        querier: u32,
    },
    /// A liveliness token appeared or disappeared.
    Token {
        /// The liveliness subscribers that match.
        subscribers: Vec<u32>,
        /// The token's key.
        key: KeyExpr,
        /// Appeared, or gone.
        alive: bool,
    },
    /// A token that answers a liveliness query.
    TokenReply {
        /// The liveliness query.
        query: u32,
        /// The token's key.
        key: KeyExpr,
    },
    /// A liveliness query has all its answers.
    TokenQueryFinal {
        /// The liveliness query.
        query: u32,
    },
    /// A query's answers did not all come in time.
    QueryTimeout {
        /// The query.
        query: u32,
    },
    /// A query has all its answers.
    QueryFinal {
        /// The query.
        query: u32,
    },
    /// Something an operator can act on.
    Warning {
        /// One line.
        text: String,
    },
}
