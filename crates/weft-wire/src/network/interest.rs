//! INTEREST: a wish to be told declarations, or the end of one.
//!
//! Spec: 02 §1.7.
//!
//! ```text
//! |Z|MODE|INTEREST|   MODE: final, current, future, both
//! %  interest id  %
//! |A|M|N|R|T|Q|S|K|   unless final
//! %     scope     %   if R
//! ~ <utf8;z16> suffix ~   if R and N
//! ~  extensions   ~   if Z
//! ```

use super::{
    common::{Common, NODE_ID, node_id_value},
    message_id,
};
use crate::{
    DecodeError, Encode, NoSpace, Qos, Reader, Sink, Timestamp, WireExpr,
    ext::{self, ChainWriter},
};

/// Which declarations an interest asks for. The discriminants are bits 5 and 6 of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterestMode {
    /// None any more: ends the interest with the same id.
    Final = 0x00,
    /// Those that exist.
    Current = 0x20,
    /// Those to come.
    Future = 0x40,
    /// Both.
    CurrentFuture = 0x60,
}

impl InterestMode {
    /// True if existing declarations are asked for.
    #[must_use]
    pub const fn is_current(self) -> bool {
        self as u8 & Self::Current as u8 != 0
    }

    /// True if declarations to come are asked for.
    #[must_use]
    pub const fn is_future(self) -> bool {
        self as u8 & Self::Future as u8 != 0
    }

    fn from_header(header: u8) -> Self {
        match (header & Self::Current as u8 != 0, header & Self::Future as u8 != 0) {
            (false, false) => Self::Final,
            (true, false) => Self::Current,
            (false, true) => Self::Future,
            (true, true) => Self::CurrentFuture,
        }
    }
}

/// What an interest is about. Whether it is restricted to a key expression is told by
/// [`Interest::wire_expr`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InterestOptions {
    /// Ids of key expressions may be declared to the one interested.
    pub key_exprs: bool,
    /// Subscribers.
    pub subscribers: bool,
    /// Queryables.
    pub queryables: bool,
    /// Liveliness tokens.
    pub tokens: bool,
    /// One declaration for all that match is enough.
    pub aggregate: bool,
}

impl InterestOptions {
    const KEY_EXPRS: u8 = 0x01;
    const SUBSCRIBERS: u8 = 0x02;
    const QUERYABLES: u8 = 0x04;
    const TOKENS: u8 = 0x08;
    const RESTRICTED: u8 = 0x10;
    const AGGREGATE: u8 = 0x80;

    fn from_bits(bits: u8) -> Self {
        Self {
            key_exprs: bits & Self::KEY_EXPRS != 0,
            subscribers: bits & Self::SUBSCRIBERS != 0,
            queryables: bits & Self::QUERYABLES != 0,
            tokens: bits & Self::TOKENS != 0,
            aggregate: bits & Self::AGGREGATE != 0,
        }
    }

    fn bits(self) -> u8 {
        [
            (self.key_exprs, Self::KEY_EXPRS),
            (self.subscribers, Self::SUBSCRIBERS),
            (self.queryables, Self::QUERYABLES),
            (self.tokens, Self::TOKENS),
            (self.aggregate, Self::AGGREGATE),
        ]
        .into_iter()
        .fold(0, |bits, (wanted, bit)| if wanted { bits | bit } else { bits })
    }
}

/// A wish to be told declarations, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest<'a> {
    /// Chosen by the sender of this message; answers repeat it.
    pub id: u32,
    /// Current or future declarations, or none any more.
    pub mode: InterestMode,
    /// What kinds of declarations. Does not travel with mode `Final`.
    pub options: InterestOptions,
    /// The key expression of the declarations; `None` means all. Does not travel with mode `Final`.
    pub wire_expr: Option<WireExpr<'a>>,
    /// How it is to be treated.
    pub qos: Qos,
    /// When the message was sent; unused by Eclipse Zenoh.
    pub timestamp: Option<Timestamp>,
    /// Source of the routing tree in the sender's numbering; 0 is the sender itself.
    pub node_id: u16,
}

impl<'a> Interest<'a> {
    /// An interest with [`Qos::DECLARE`] and all else at its default.
    #[must_use]
    pub const fn new(
        id: u32,
        mode: InterestMode,
        options: InterestOptions,
        wire_expr: Option<WireExpr<'a>>,
    ) -> Self {
        Self { id, mode, options, wire_expr, qos: Qos::DECLARE, timestamp: None, node_id: 0 }
    }

    /// The end of interest `id`.
    #[must_use]
    pub fn end(id: u32) -> Self {
        Self::new(id, InterestMode::Final, InterestOptions::default(), None)
    }

    pub(super) fn decode(header: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = r.zint_u32_truncated("interest id")?;
        let mut interest = Self { mode: InterestMode::from_header(header), ..Self::end(id) };
        if interest.mode != InterestMode::Final {
            let bits = r.byte("interest options")?;
            interest.options = InterestOptions::from_bits(bits);
            if bits & InterestOptions::RESTRICTED != 0 {
                interest.wire_expr = Some(WireExpr::decode(bits, r)?);
            }
        }
        let mut common = Common::default();
        ext::read_chain(header, r, |key, r| match key {
            NODE_ID => {
                interest.node_id = r.zint_u16_truncated("node id")?;
                Ok(true)
            }
            _ => common.read(key, r),
        })?;
        Ok(Self { qos: common.qos, timestamp: common.timestamp, ..interest })
    }
}

impl Encode for Interest<'_> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let common = Common { qos: self.qos, timestamp: self.timestamp };
        let exts = common.count() + usize::from(self.node_id != 0);
        sink.byte(message_id::INTEREST | self.mode as u8 | ext::flag(exts))?;
        sink.zint(u64::from(self.id))?;
        if self.mode != InterestMode::Final {
            match &self.wire_expr {
                None => sink.byte(self.options.bits())?,
                Some(expr) => {
                    let restricted = InterestOptions::RESTRICTED | expr.flags();
                    sink.byte(self.options.bits() | restricted)?;
                    expr.encode(sink)?;
                }
            }
        }
        let mut chain = ChainWriter::new(exts);
        common.write(&mut chain, sink)?;
        chain.z64(NODE_ID, node_id_value(self.node_id), sink)
    }
}
