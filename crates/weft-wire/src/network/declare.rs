//! DECLARE: one declaration, or the withdrawal of one.
//!
//! Spec: 02 §1.6.
//!
//! ```text
//! |Z|_|I| DECLARE |         |Z|M|N|    ID   |   declaration, by its id
//! %  interest id  % if I    %    its id     %   unless final
//! ~  extensions   ~ if Z    %     scope     %   if it declares
//! ~  declaration  ~         ~ <utf8;z16> suffix ~   if it declares and N
//!                           ~  extensions   ~   if Z
//! ```

use super::{
    ID_MASK,
    common::{Common, NODE_ID, node_id_value},
    message_id,
};
use crate::{
    DecodeError, Encode, Mapping, NoSpace, Qos, Reader, Sink, Timestamp, WireExpr,
    ext::{self, ChainWriter},
    zint,
};

/// Header flag of DECLARE: an interest id follows.
const I: u8 = 0x20;

/// Declaration ids. Each undeclaration is the odd number after its declaration.
mod kind {
    pub(super) const KEY_EXPR: u8 = 0x00;
    pub(super) const UNDECLARE_KEY_EXPR: u8 = 0x01;
    pub(super) const SUBSCRIBER: u8 = 0x02;
    pub(super) const UNDECLARE_SUBSCRIBER: u8 = 0x03;
    pub(super) const QUERYABLE: u8 = 0x04;
    pub(super) const UNDECLARE_QUERYABLE: u8 = 0x05;
    pub(super) const TOKEN: u8 = 0x06;
    pub(super) const UNDECLARE_TOKEN: u8 = 0x07;
    pub(super) const FINAL: u8 = 0x1a;
}

/// Extension of D_QUERYABLE.
const QUERYABLE_INFO: u8 = 0x21;
/// Extension of the undeclarations of subscribers, queryables and tokens.
const WIRE_EXPR: u8 = 0x5f;

/// A declaration on its way to the neighbours that want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declare<'a> {
    /// The interest whose current part this answers, if it does.
    pub interest_id: Option<u32>,
    /// How it is to be treated.
    pub qos: Qos,
    /// When the message was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
    /// Node that owns the entity in the sender's numbering; 0 is the sender itself.
    pub node_id: u16,
    /// What is declared.
    pub body: Declaration<'a>,
}

impl<'a> Declare<'a> {
    /// A declaration with [`Qos::DECLARE`] and all else at its default.
    #[must_use]
    pub const fn new(body: Declaration<'a>) -> Self {
        Self { interest_id: None, qos: Qos::DECLARE, timestamp: None, node_id: 0, body }
    }

    /// [`new`](Self::new) as an answer to interest `id`.
    #[must_use]
    pub const fn answer(id: u32, body: Declaration<'a>) -> Self {
        Self { interest_id: Some(id), ..Self::new(body) }
    }

    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let interest_id = match header & I {
            0 => None,
            _ => Some(r.zint_u32_truncated("interest id")?),
        };
        let mut common = Common::default();
        let mut node_id = 0;
        ext::read_chain(header, r, |key, r| match key {
            NODE_ID => {
                node_id = r.zint_u16_truncated("node id")?;
                Ok(true)
            }
            _ => common.read(key, r),
        })?;
        let body = Declaration::decode(r)?;
        let Common { qos, timestamp } = common;
        Ok(Self { interest_id, qos, timestamp, node_id, body })
    }
}

impl Encode for Declare<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let exts = common.count() + usize::from(self.node_id != 0);
        let interest_flag = if self.interest_id.is_some() { I } else { 0 };
        sink.byte(message_id::DECLARE | interest_flag | ext::flag(exts))?;
        if let Some(id) = self.interest_id {
            sink.zint(u64::from(id))?;
        }
        let mut chain = ChainWriter::new(exts);
        common.write(&mut chain, sink)?;
        chain.z64(NODE_ID, node_id_value(self.node_id), sink)?;
        self.body.encode(sink)
    }
}

/// What is declared or withdrawn. Ids are chosen by the declarer, per kind and face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declaration<'a> {
    /// From here on, `id` stands for `wire_expr`.
    KeyExpr {
        /// The id, not 0.
        id: u16,
        /// What it stands for. Use scope 0: there is no way to say whose scope it is, and receivers take
        /// any other for their own. Accordingly a decoded mapping is `Sender` for scope 0, else `Receiver`.
        wire_expr: WireExpr<'a>,
    },
    /// From here on, `id` stands for nothing.
    UndeclareKeyExpr {
        /// The id.
        id: u16,
    },
    /// A subscriber.
    Subscriber {
        /// Its id.
        id: u32,
        /// Its key expression.
        wire_expr: WireExpr<'a>,
    },
    /// A subscriber is gone.
    UndeclareSubscriber {
        /// Its id.
        id: u32,
        /// Its key expression, where ids are not tracked.
        wire_expr: Option<WireExpr<'a>>,
    },
    /// A queryable.
    Queryable {
        /// Its id.
        id: u32,
        /// Its key expression.
        wire_expr: WireExpr<'a>,
        /// What it offers.
        info: QueryableInfo,
    },
    /// A queryable is gone.
    UndeclareQueryable {
        /// Its id.
        id: u32,
        /// Its key expression, where ids are not tracked; else usually [`WireExpr::EMPTY`].
        wire_expr: Option<WireExpr<'a>>,
    },
    /// A liveliness token.
    Token {
        /// Its id; 0 in answers to a current interest.
        id: u32,
        /// Its key expression.
        wire_expr: WireExpr<'a>,
    },
    /// A liveliness token is gone.
    UndeclareToken {
        /// Its id; 0 if the receiver was never told one.
        id: u32,
        /// Its key expression, where ids are not tracked; else usually [`WireExpr::EMPTY`].
        wire_expr: Option<WireExpr<'a>>,
    },
    /// All current declarations of an interest have been sent.
    Final,
}

impl<'a> Declaration<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("declaration header")?;
        match header & ID_MASK {
            kind::KEY_EXPR => {
                let id = r.zint_u16_truncated("key expression id")?;
                let mut wire_expr = WireExpr::decode(header & !WireExpr::M, r)?;
                if wire_expr.scope == 0 {
                    wire_expr.mapping = Mapping::Sender;
                }
                ext::skip_optional(header, r)?;
                Ok(Self::KeyExpr { id, wire_expr })
            }
            kind::UNDECLARE_KEY_EXPR => {
                let id = r.zint_u16_truncated("key expression id")?;
                ext::skip_optional(header, r)?;
                Ok(Self::UndeclareKeyExpr { id })
            }
            kind::SUBSCRIBER => {
                let (id, wire_expr) = decode_entity(header, r)?;
                ext::skip_optional(header, r)?;
                Ok(Self::Subscriber { id, wire_expr })
            }
            kind::QUERYABLE => {
                let (id, wire_expr) = decode_entity(header, r)?;
                let info = QueryableInfo::decode_exts(header, r)?;
                Ok(Self::Queryable { id, wire_expr, info })
            }
            kind::TOKEN => {
                let (id, wire_expr) = decode_entity(header, r)?;
                ext::skip_optional(header, r)?;
                Ok(Self::Token { id, wire_expr })
            }
            kind::UNDECLARE_SUBSCRIBER => {
                let (id, wire_expr) = decode_undeclared(header, r)?;
                Ok(Self::UndeclareSubscriber { id, wire_expr })
            }
            kind::UNDECLARE_QUERYABLE => {
                let (id, wire_expr) = decode_undeclared(header, r)?;
                Ok(Self::UndeclareQueryable { id, wire_expr })
            }
            kind::UNDECLARE_TOKEN => {
                let (id, wire_expr) = decode_undeclared(header, r)?;
                Ok(Self::UndeclareToken { id, wire_expr })
            }
            kind::FINAL => {
                ext::skip_optional(header, r)?;
                Ok(Self::Final)
            }
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }

    fn encode<'s, S: Sink<'s> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::KeyExpr { id, wire_expr } => {
                sink.byte(kind::KEY_EXPR | wire_expr.flags() & WireExpr::N)?;
                sink.zint(u64::from(*id))?;
                wire_expr.encode(sink)
            }
            Self::UndeclareKeyExpr { id } => {
                sink.byte(kind::UNDECLARE_KEY_EXPR)?;
                sink.zint(u64::from(*id))
            }
            Self::Subscriber { id, wire_expr } => {
                encode_entity(kind::SUBSCRIBER, *id, wire_expr, sink)
            }
            Self::Queryable { id, wire_expr, info } => {
                let value = info.value();
                let exts = usize::from(value.is_some());
                encode_entity(kind::QUERYABLE | ext::flag(exts), *id, wire_expr, sink)?;
                ChainWriter::new(exts).z64(QUERYABLE_INFO, value, sink)
            }
            Self::Token { id, wire_expr } => encode_entity(kind::TOKEN, *id, wire_expr, sink),
            Self::UndeclareSubscriber { id, wire_expr } => {
                encode_undeclared(kind::UNDECLARE_SUBSCRIBER, *id, wire_expr.as_ref(), sink)
            }
            Self::UndeclareQueryable { id, wire_expr } => {
                encode_undeclared(kind::UNDECLARE_QUERYABLE, *id, wire_expr.as_ref(), sink)
            }
            Self::UndeclareToken { id, wire_expr } => {
                encode_undeclared(kind::UNDECLARE_TOKEN, *id, wire_expr.as_ref(), sink)
            }
            Self::Final => sink.byte(kind::FINAL),
        }
    }
}

/// What a queryable offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueryableInfo {
    /// It has all there is for its key expression.
    pub complete: bool,
    /// Hops to it.
    pub distance: u16,
}

impl QueryableInfo {
    fn decode_exts(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut value = 0;
        ext::read_chain(header, r, |key, r| match key {
            QUERYABLE_INFO => {
                value = r.zint("queryable info")?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        Ok(Self { complete: value & 1 != 0, distance: (value >> 8) as u16 })
    }

    /// The value of the extension, if it is to be written.
    fn value(self) -> Option<u64> {
        let value = u64::from(self.complete) | u64::from(self.distance) << 8;
        (value != 0).then_some(value)
    }
}

fn decode_entity<'a>(header: u8, r: &mut Reader<'a>) -> Result<(u32, WireExpr<'a>), DecodeError> {
    let id = r.zint_u32_truncated("declaration id")?;
    Ok((id, WireExpr::decode(header, r)?))
}

fn encode_entity<'s, S: Sink<'s> + ?Sized>(
    header: u8,
    id: u32,
    wire_expr: &WireExpr<'_>,
    sink: &mut S,
) -> Result<(), NoSpace> {
    sink.byte(header | wire_expr.flags())?;
    sink.zint(u64::from(id))?;
    wire_expr.encode(sink)
}

fn decode_undeclared<'a>(
    header: u8,
    r: &mut Reader<'a>,
) -> Result<(u32, Option<WireExpr<'a>>), DecodeError> {
    let id = r.zint_u32_truncated("declaration id")?;
    let mut wire_expr = None;
    ext::read_chain(header, r, |key, r| match key {
        WIRE_EXPR => {
            wire_expr = Some(undeclared_expr::decode(&mut r.zbuf("key expression")?)?);
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok((id, wire_expr))
}

fn encode_undeclared<'s, S: Sink<'s> + ?Sized>(
    kind: u8,
    id: u32,
    wire_expr: Option<&WireExpr<'_>>,
    sink: &mut S,
) -> Result<(), NoSpace> {
    let exts = usize::from(wire_expr.is_some());
    sink.byte(kind | ext::flag(exts))?;
    sink.zint(u64::from(id))?;
    let Some(wire_expr) = wire_expr else {
        return Ok(());
    };
    let len = undeclared_expr::len(wire_expr);
    ChainWriter::new(exts).zbuf_header(WIRE_EXPR, len, sink)?;
    undeclared_expr::encode(wire_expr, sink)
}

/// The key expression in the extension of an undeclaration: own flags, and a suffix without a length.
mod undeclared_expr {
    use super::{DecodeError, Mapping, NoSpace, Reader, Sink, WireExpr, zint};

    const SUFFIX: u8 = 0x01;
    const SENDER: u8 = 0x02;

    pub(super) fn decode<'a>(r: &mut Reader<'a>) -> Result<WireExpr<'a>, DecodeError> {
        let flags = r.byte("key expression flags")?;
        let scope = r.zint_u16("key scope")?;
        let offset = r.pos();
        let bytes = if flags & SUFFIX == 0 { &[] } else { r.take_rest() };
        if bytes.len() > usize::from(u16::MAX) {
            return Err(DecodeError::OutOfRange { field: "key suffix", offset });
        }
        let suffix = core::str::from_utf8(bytes)
            .map_err(|_| DecodeError::NotUtf8 { field: "key suffix", offset })?;
        let mapping = if flags & SENDER == 0 { Mapping::Receiver } else { Mapping::Sender };
        Ok(WireExpr { scope, mapping, suffix })
    }

    pub(super) fn len(expr: &WireExpr<'_>) -> usize {
        1 + zint::len(u64::from(expr.scope)) + expr.suffix.len()
    }

    pub(super) fn encode<'s, S: Sink<'s> + ?Sized>(
        expr: &WireExpr<'_>,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let suffix = if expr.suffix.is_empty() { 0 } else { SUFFIX };
        let mapping = if expr.mapping == Mapping::Sender { SENDER } else { 0 };
        sink.byte(suffix | mapping)?;
        sink.zint(u64::from(expr.scope))?;
        sink.bytes(expr.suffix.as_bytes())
    }
}
