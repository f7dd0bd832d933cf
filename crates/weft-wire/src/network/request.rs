//! REQUEST: a query on its way to queryables.
//!
//! Spec: 02 §1.3.
//!
//! ```text
//! |Z|M|N| REQUEST |
//! %  request id   %
//! %     scope     %
//! ~ <utf8;z16> suffix ~   if N
//! ~  extensions   ~       if Z
//! ~     QUERY     ~
//! ```

use core::num::NonZeroU32;

use super::{
    common::{Common, NODE_ID, TS_STACK, node_id_value},
    message_id,
};
use crate::{
    Decode, DecodeError, Encode, NoSpace, Qos, Query, Reader, RequestBody, Sink, Timestamp,
    WireExpr,
    ext::{self, ChainWriter},
};

const TARGET: u8 = 0x34;
const BUDGET: u8 = 0x25;
const TIMEOUT: u8 = 0x26;

/// Which of the matching queryables are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueryTarget {
    /// The nearest complete one if there is one, else all.
    #[default]
    BestMatching,
    /// All.
    All,
    /// All complete ones.
    AllComplete,
}

/// A query on its way to queryables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Chosen by the sender of this message; answers repeat it.
    pub id: u32,
    /// The key expression asked for.
    pub wire_expr: WireExpr<'a>,
    /// How it is to be treated.
    pub qos: Qos,
    /// When the message was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
    /// Diagnostic time stamps, raw.
    pub ts_stack: Option<&'a [u8]>,
    /// Who is asked.
    pub target: QueryTarget,
    /// The most replies wanted; not enforced by Eclipse Zenoh.
    pub budget: Option<NonZeroU32>,
    /// How long the querier waits, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Source of the routing tree in the sender's numbering; 0 is the sender itself.
    pub node_id: u16,
    /// The query.
    pub body: RequestBody<'a>,
}

impl<'a> Request<'a> {
    /// A request with [`Qos::REQUEST`], to the best matching queryables, with all else at its default.
    #[must_use]
    pub const fn new(id: u32, wire_expr: WireExpr<'a>, body: RequestBody<'a>) -> Self {
        Self {
            id,
            wire_expr,
            qos: Qos::REQUEST,
            timestamp: None,
            ts_stack: None,
            target: QueryTarget::BestMatching,
            budget: None,
            timeout_ms: None,
            node_id: 0,
            body,
        }
    }

    /// [`new`](Self::new) with a query that has no parameters, payload or attachment.
    #[must_use]
    pub fn query(id: u32, wire_expr: WireExpr<'a>) -> Self {
        Self::new(id, wire_expr, RequestBody::Query(Query::default()))
    }

    #[inline]
    pub(super) fn decode(
        header: u8,
        r: &mut Reader<'a>,
        raw_body: &mut &'a [u8],
    ) -> Result<Self, DecodeError> {
        let id = r.zint_u32("request id")?;
        let wire_expr = WireExpr::decode(header, r)?;
        let mut common = Common::default();
        let mut request = Self::query(id, wire_expr);
        ext::read_chain(header, r, |key, r| {
            match key {
                TARGET => request.target = decode_target(r)?,
                BUDGET => request.budget = NonZeroU32::new(r.zint_u32_truncated("budget")?),
                TIMEOUT => request.timeout_ms = Some(r.zint("timeout")?),
                NODE_ID => request.node_id = r.zint_u16_truncated("node id")?,
                TS_STACK => request.ts_stack = Some(ext::read_bytes(r)?),
                _ => return common.read(key, r),
            }
            Ok(true)
        })?;
        let start = r.pos();
        let body = RequestBody::decode(r)?;
        *raw_body = r.since(start);
        Ok(Self { qos: common.qos, timestamp: common.timestamp, body, ..request })
    }
}

impl Encode for Request<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let target = (self.target != QueryTarget::BestMatching).then_some(self.target as u64);
        let exts = common.count()
            + usize::from(target.is_some())
            + usize::from(self.budget.is_some())
            + usize::from(self.timeout_ms.is_some())
            + usize::from(self.node_id != 0)
            + usize::from(self.ts_stack.is_some());
        sink.byte(message_id::REQUEST | self.wire_expr.flags() | ext::flag(exts))?;
        sink.zint(u64::from(self.id))?;
        self.wire_expr.encode(sink)?;
        if exts > 0 {
            // The order of Eclipse Zenoh: the node id comes after those with a greater id.
            let mut chain = ChainWriter::new(exts);
            common.write(&mut chain, sink)?;
            chain.z64(TARGET, target, sink)?;
            chain.z64(BUDGET, self.budget.map(|budget| u64::from(budget.get())), sink)?;
            chain.z64(TIMEOUT, self.timeout_ms, sink)?;
            chain.z64(NODE_ID, node_id_value(self.node_id), sink)?;
            chain.zbuf(TS_STACK, self.ts_stack, sink)?;
        }
        self.body.encode(sink)
    }
}

fn decode_target(r: &mut Reader<'_>) -> Result<QueryTarget, DecodeError> {
    Ok(match r.zint_max(QueryTarget::AllComplete as u64, "query target")? {
        0 => QueryTarget::BestMatching,
        1 => QueryTarget::All,
        _ => QueryTarget::AllComplete,
    })
}
