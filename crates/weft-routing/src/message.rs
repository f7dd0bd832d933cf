//! The control-plane messages that routing sends.
//!
//! Spec: 02 §1.6, §2 rules 4, 7 and 8.

use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::linkstate::LINKSTATE;
use weft_wire::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, LinkState, LinkStateList,
    Mapping, NetworkMessage, Oam, OamBody, Qos, QueryableInfo, WireExpr,
};

use crate::entity::Kind;
use crate::expr::RouteExpr;
use crate::face::{Face, FaceId, Region};
use crate::network::NodeIx;
use crate::outbox::Outbox;

pub(crate) const fn declare(interest_id: Option<u32>, body: Declaration<'_>) -> NetworkMessage<'_> {
    NetworkMessage::Declare(Declare {
        interest_id,
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
        body,
    })
}

/// A declaration on behalf of a node of the network that it is sent into (03 §2.8).
pub(crate) const fn declare_for(root: NodeIx, body: Declaration<'_>) -> NetworkMessage<'_> {
    NetworkMessage::Declare(Declare {
        interest_id: None,
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: root.0,
        body,
    })
}

/// The end of an entity in a network, where entities have no ids but their key and owner
/// (03 §3.5).
pub(crate) const fn undeclare_for(
    root: NodeIx,
    kind: Kind,
    expr: WireExpr<'_>,
) -> NetworkMessage<'_> {
    let (id, wire_expr) = (0, Some(expr));
    let body = match kind {
        Kind::Subscriber => Declaration::UndeclareSubscriber { id, wire_expr },
        Kind::Queryable => Declaration::UndeclareQueryable { id, wire_expr },
        Kind::Token => Declaration::UndeclareToken { id, wire_expr },
    };
    declare_for(root, body)
}

/// Tells a neighbour about the nodes of a network (03 §2.1).
pub(crate) fn send_link_states(face: FaceId, states: Vec<LinkState>, out: &mut dyn Outbox) {
    send_node_list(face, LINKSTATE, states, out);
}

/// Sends a list of nodes as an OAM message of the given id.
pub(crate) fn send_node_list(face: FaceId, id: u16, states: Vec<LinkState>, out: &mut dyn Outbox) {
    let body = LinkStateList(states).to_vec();
    let message = Oam { id, qos: Qos::DECLARE, timestamp: None, body: OamBody::ZBuf(&body) };
    out.send(face, &NetworkMessage::Oam(message));
}

pub(crate) const fn declaration(
    kind: Kind,
    id: u32,
    wire_expr: WireExpr<'_>,
    info: QueryableInfo,
) -> Declaration<'_> {
    match kind {
        Kind::Subscriber => Declaration::Subscriber { id, wire_expr },
        Kind::Queryable => Declaration::Queryable { id, wire_expr, info },
        Kind::Token => Declaration::Token { id, wire_expr },
    }
}

pub(crate) const fn undeclare(kind: Kind, id: u32) -> NetworkMessage<'static> {
    // The reference writes an empty expression here, except for subscribers.
    const EMPTY: WireExpr<'_> = WireExpr { scope: 0, mapping: Mapping::Receiver, suffix: "" };
    let body = match kind {
        Kind::Subscriber => Declaration::UndeclareSubscriber { id, wire_expr: None },
        Kind::Queryable => Declaration::UndeclareQueryable { id, wire_expr: Some(EMPTY) },
        Kind::Token => Declaration::UndeclareToken { id, wire_expr: Some(EMPTY) },
    };
    declare(None, body)
}

/// The end of a token that the receiver has no id for (02 §4.8).
pub(crate) const fn undeclare_unseen_token(expr: WireExpr<'_>) -> NetworkMessage<'_> {
    declare(None, Declaration::UndeclareToken { id: 0, wire_expr: Some(expr) })
}

pub(crate) const fn interest(
    id: u32,
    mode: InterestMode,
    options: InterestOptions,
    wire_expr: Option<WireExpr<'_>>,
) -> NetworkMessage<'_> {
    NetworkMessage::Interest(Interest {
        id,
        mode,
        options,
        wire_expr,
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
    })
}

/// Expressions up to which a neighbour is given numbers for what is declared. There are 65,535 of them
/// for ever; the rest is for what is published, whose samples are shorter by that.
const NAMED_DECLARATIONS_MAX: usize = 4096;

/// The expression for a declaration about `key`: as [`named`], while there are plenty of numbers.
pub(crate) fn named_once(face: &mut Face, key: &KeyExpr, out: &mut dyn Outbox) -> RouteExpr {
    if face.exprs.allocated() < NAMED_DECLARATIONS_MAX {
        return named(face, key, out);
    }
    face.exprs.best(key)
}

/// The expression for what is sent or asked on `key`: towards nodes to which this one declares freely,
/// its non-wild prefix is given a number first (02 §2 rule 8).
pub(crate) fn named(face: &mut Face, key: &KeyExpr, out: &mut dyn Outbox) -> RouteExpr {
    let prefix = key.non_wild_prefix();
    if face.region == Region::North
        && !prefix.is_empty()
        && !face.exprs.knows(prefix)
        && let Ok(prefix) = KeyExpr::new(prefix)
        && let Some(id) = face.exprs.allocate(&prefix)
    {
        let body = Declaration::KeyExpr { id, wire_expr: WireExpr::full(prefix.as_str()) };
        out.send(face.id, &declare(None, body));
    }
    face.exprs.best(key)
}
