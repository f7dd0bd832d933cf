//! What a runtime tells the session on top of it.

use std::sync::Arc;

use weft_keyexpr::KeyExpr;
use weft_node::NodeEvent;
use weft_wire::{EntityGlobalId, Query, QueryTarget, ResponseBody, ZenohId};

use crate::cell::LinkInfo;
use crate::query::QueryHandle;

/// The session's ears. Called without any lock held.
///
/// Events come on event threads: those of one entity one at a time and in order, those of different
/// entities side by side. Queries and replies come on the thread that received them or, if they are
/// this session's own, on event threads and on the thread that answers. A panic in any of them ends
/// in the log.
pub trait SessionHandler: Send + Sync {
    /// Something happened.
    fn event(&self, event: NodeEvent);

    /// A link carries a transport to neighbour `zid` from here on.
    fn link_up(&self, zid: ZenohId, link: LinkInfo) {
        let _ = (zid, link);
    }

    /// A link to neighbour `zid` has ended.
    fn link_down(&self, zid: ZenohId, link: LinkInfo) {
        let _ = (zid, link);
    }

    /// The application's own stamp for what is recorded of messages on their way; by default there
    /// is none, and the node's clock is used. Called for messages only whose sender asked for it.
    fn custom_stamp(&self) -> Option<Vec<u8>> {
        None
    }

    /// A query is for this session: answer it with [`QueryHandle`], which ends it when dropped.
    fn query(&self, query: IncomingQuery<'_>);

    /// An answer to a query of this session arrived.
    fn reply(&self, query: u32, reply: IncomingReply<'_>);
}

/// A query for this session's queryables.
pub struct IncomingQuery<'a> {
    /// The queryables that it is for.
    pub queryables: &'a [u32],
    /// What is asked for.
    pub key: &'a KeyExpr,
    /// Which queryables were meant.
    pub target: QueryTarget,
    /// Parameters, payload and attachment.
    pub body: &'a Query<'a>,
    /// What was recorded of it on its way.
    pub ts_stack: Option<&'a [u8]>,
    /// The way to answer, and to end.
    pub handle: Arc<QueryHandle>,
}

/// An answer to a query of this session.
pub struct IncomingReply<'a> {
    /// The key of a data reply; empty for an error.
    pub key: Option<&'a KeyExpr>,
    /// Who answered, if it said so.
    pub responder: Option<EntityGlobalId>,
    /// The answer.
    pub body: &'a ResponseBody<'a>,
    /// The QoS it travelled with.
    pub qos: weft_wire::Qos,
    /// What was recorded of it, and of the query, on their way.
    pub ts_stack: Option<&'a [u8]>,
}
