//! PUSH: a sample on its way to subscribers.
//!
//! Spec: 02 §1.2. The hot path: both directions are straight-line code for a message without extensions.
//!
//! ```text
//! |Z|M|N|  PUSH   |
//! %     scope     %
//! ~ <utf8;z16> suffix ~   if N
//! ~  extensions   ~       if Z
//! ~  PUT or DEL   ~
//! ```

mod decoder;
mod routed;

pub use decoder::PushDecoder;
pub use routed::RoutedPush;

use super::{
    common::{Common, NODE_ID, TS_STACK, node_id_value},
    message_id,
};
use crate::{
    DecodeError, Del, Encode, NoSpace, PushBody, Put, Qos, Reader, Sink, Timestamp, WireExpr,
    ext::{self, ChainWriter},
};

/// A sample on its way to subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push<'a> {
    /// The key.
    pub wire_expr: WireExpr<'a>,
    /// How it is to be treated.
    pub qos: Qos,
    /// When the message (not the sample) was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
    /// Source of the routing tree in the sender's numbering; 0 is the sender itself.
    pub node_id: u16,
    /// Diagnostic time stamps, raw.
    pub ts_stack: Option<&'a [u8]>,
    /// The sample.
    pub body: PushBody<'a>,
}

impl<'a> Push<'a> {
    /// A push of `body` with all else at its default.
    #[inline]
    #[must_use]
    pub const fn new(wire_expr: WireExpr<'a>, body: PushBody<'a>) -> Self {
        Self { wire_expr, qos: Qos::DEFAULT, timestamp: None, node_id: 0, ts_stack: None, body }
    }

    /// A put of `payload` with all else at its default.
    #[inline]
    #[must_use]
    pub fn put(wire_expr: WireExpr<'a>, payload: &'a [u8]) -> Self {
        Self::new(wire_expr, PushBody::Put(Put { payload, ..Put::default() }))
    }

    /// The same with this timestamp, if it is a PUT.
    #[must_use]
    pub fn stamped(mut self, timestamp: Timestamp) -> Self {
        if let PushBody::Put(put) = &mut self.body {
            put.timestamp = Some(timestamp);
        }
        self
    }

    /// A deletion with all else at its default.
    #[inline]
    #[must_use]
    pub fn del(wire_expr: WireExpr<'a>) -> Self {
        Self::new(wire_expr, PushBody::Del(Del::default()))
    }

    #[expect(
        clippy::inline_always,
        reason = "hot path: a sixth of the time when the message is used where it is decoded"
    )]
    #[inline(always)]
    pub(super) fn decode(
        header: u8,
        r: &mut Reader<'a>,
        parts: &mut Parts<'a>,
    ) -> Result<Self, DecodeError> {
        let wire_expr = WireExpr::decode(header, r)?;
        let mut common = Common::default();
        let mut node_id = 0;
        let mut ts_stack = None;
        ext::read_chain(header, r, |key, r| {
            match key {
                NODE_ID => node_id = r.zint_u16_truncated("node id")?,
                TS_STACK => ts_stack = Some(ext::read_bytes(r)?),
                _ => return common.read(key, r),
            }
            Ok(true)
        })?;
        let start = r.pos();
        let body = PushBody::decode_with(r, &mut parts.middle)?;
        parts.body = r.since(start);
        let Common { qos, timestamp } = common;
        Ok(Self { wire_expr, qos, timestamp, node_id, ts_stack, body })
    }
}

/// Where in the bytes of a message some of its parts are.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts<'a> {
    /// The body.
    pub(super) body: &'a [u8],
    /// Of a PUT, what lies between timestamp and payload.
    pub(super) middle: &'a [u8],
}

impl Encode for Push<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let Self { wire_expr, qos, timestamp, node_id, ts_stack, body } = self;
        let head = Head {
            wire_expr,
            qos: *qos,
            timestamp: *timestamp,
            node_id: *node_id,
            ts_stack: *ts_stack,
        };
        head.encode(sink)?;
        body.encode(sink)
    }
}

/// All of a message but its body.
struct Head<'a> {
    wire_expr: &'a WireExpr<'a>,
    qos: Qos,
    timestamp: Option<Timestamp>,
    node_id: u16,
    ts_stack: Option<&'a [u8]>,
}

impl<'a> Head<'a> {
    #[expect(clippy::inline_always, reason = "hot path: most heads are three to five bytes")]
    #[inline(always)]
    fn encode<S: Sink<'a> + ?Sized>(self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let exts =
            common.count() + usize::from(self.node_id != 0) + usize::from(self.ts_stack.is_some());
        sink.byte(message_id::PUSH | self.wire_expr.flags() | ext::flag(exts))?;
        self.wire_expr.encode(sink)?;
        if exts == 1 && common.is_qos_alone() {
            common.write_qos_alone(sink)?;
        } else if exts > 0 {
            let mut chain = ChainWriter::new(exts);
            common.write(&mut chain, sink)?;
            chain.z64(NODE_ID, node_id_value(self.node_id), sink)?;
            chain.zbuf(TS_STACK, self.ts_stack, sink)?;
        }
        Ok(())
    }
}
