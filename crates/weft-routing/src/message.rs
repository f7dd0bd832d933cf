//! The control-plane messages that routing sends.
//!
//! Spec: 02 §1.6, §2 rules 4, 7 and 8.

use weft_keyexpr::KeyExpr;
use weft_wire::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, Mapping, NetworkMessage, Qos,
    QueryableInfo, WireExpr,
};

use crate::entity::Kind;
use crate::expr::RouteExpr;
use crate::face::{Face, Region};
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

/// The expression for a declaration or interest about `key`: towards nodes to which this one
/// declares freely, its non-wild prefix is given a number first (02 §2 rule 8).
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
