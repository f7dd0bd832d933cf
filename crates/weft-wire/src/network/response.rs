//! RESPONSE and RESPONSE_FINAL: the answers to a request, and their end.
//!
//! Spec: 02 §1.4, §1.5.
//!
//! ```text
//! |Z|M|N| RESPONSE|         |Z|_|_| R_FINAL |
//! %  request id   %         %  request id   %
//! %     scope     %         ~  extensions   ~   if Z
//! ~ <utf8;z16> suffix ~   if N
//! ~  extensions   ~       if Z
//! ~ REPLY or ERR  ~
//! ```

use super::{
    common::{Common, TS_STACK},
    message_id,
};
use crate::{
    Decode, DecodeError, Encode, EntityGlobalId, ErrReply, NoSpace, Qos, Reader, ResponseBody,
    Sink, Timestamp, WireExpr,
    ext::{self, ChainWriter},
};

const RESPONDER: u8 = 0x43;

/// One answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The id that the receiver of this message gave its request.
    pub id: u32,
    /// The key of the reply; empty for an error.
    pub wire_expr: WireExpr<'a>,
    /// How it is to be treated; normally as the request.
    pub qos: Qos,
    /// When the message was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
    /// Diagnostic time stamps, raw.
    pub ts_stack: Option<&'a [u8]>,
    /// Who answers.
    pub responder: Option<EntityGlobalId>,
    /// The answer.
    pub body: ResponseBody<'a>,
}

impl<'a> Response<'a> {
    /// A response with [`Qos::REQUEST`] and all else at its default.
    #[must_use]
    pub const fn new(id: u32, wire_expr: WireExpr<'a>, body: ResponseBody<'a>) -> Self {
        Self {
            id,
            wire_expr,
            qos: Qos::REQUEST,
            timestamp: None,
            ts_stack: None,
            responder: None,
            body,
        }
    }

    /// [`new`](Self::new) with an error, which has no key expression.
    #[must_use]
    pub const fn err(id: u32, error: ErrReply<'a>) -> Self {
        Self::new(id, WireExpr::full(""), ResponseBody::Err(error))
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
        let mut responder = None;
        let mut ts_stack = None;
        ext::read_chain(header, r, |key, r| {
            match key {
                RESPONDER => {
                    responder = Some(EntityGlobalId::decode(&mut r.zbuf("responder")?)?);
                }
                TS_STACK => ts_stack = Some(ext::read_bytes(r)?),
                _ => return common.read(key, r),
            }
            Ok(true)
        })?;
        let start = r.pos();
        let body = ResponseBody::decode(r)?;
        *raw_body = r.since(start);
        let Common { qos, timestamp } = common;
        Ok(Self { id, wire_expr, qos, timestamp, ts_stack, responder, body })
    }
}

impl Encode for Response<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let exts = common.count()
            + usize::from(self.responder.is_some())
            + usize::from(self.ts_stack.is_some());
        sink.byte(message_id::RESPONSE | self.wire_expr.flags() | ext::flag(exts))?;
        sink.zint(u64::from(self.id))?;
        self.wire_expr.encode(sink)?;
        if exts > 0 {
            let mut chain = ChainWriter::new(exts);
            common.write(&mut chain, sink)?;
            if let Some(responder) = &self.responder {
                chain.zbuf_header(RESPONDER, responder.wire_len(), sink)?;
                responder.encode(sink)?;
            }
            chain.zbuf(TS_STACK, self.ts_stack, sink)?;
        }
        self.body.encode(sink)
    }
}

/// There are no more answers to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFinal {
    /// The id that the receiver of this message gave its request.
    pub id: u32,
    /// How it is to be treated; normally as the request.
    pub qos: Qos,
    /// When the message was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
}

impl ResponseFinal {
    /// The end of the answers to request `id`, with [`Qos::REQUEST`].
    #[must_use]
    pub const fn new(id: u32) -> Self {
        Self { id, qos: Qos::REQUEST, timestamp: None }
    }

    pub(super) fn decode(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let id = r.zint_u32("request id")?;
        let mut common = Common::default();
        ext::read_chain(header, r, |key, r| common.read(key, r))?;
        Ok(Self { id, qos: common.qos, timestamp: common.timestamp })
    }
}

impl Encode for ResponseFinal {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let exts = common.count();
        sink.byte(message_id::RESPONSE_FINAL | ext::flag(exts))?;
        sink.zint(u64::from(self.id))?;
        common.write(&mut ChainWriter::new(exts), sink)
    }
}
