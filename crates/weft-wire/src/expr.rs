//! Key expressions as they travel: a declared id plus a suffix.
//!
//! Not here: the tables of ids (`weft-routing`), canonical form (`weft-keyexpr`). Spec: 02 §2.

use crate::{DecodeError, NoSpace, Reader, Sink};

/// Whose table of declared ids a scope refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// The table of ids that the receiver of the message declared (flag M is 0).
    Receiver,
    /// The table of ids that the sender of the message declared (flag M is 1).
    Sender,
}

/// A key expression on the wire: what `scope` was declared for, followed directly by `suffix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireExpr<'a> {
    /// A declared id, or 0 if `suffix` is the whole expression.
    pub scope: u16,
    /// Whose id `scope` is. Means nothing if `scope` is 0, but travels nevertheless.
    pub mapping: Mapping,
    /// The text after the declared part, at most 65,535 bytes; no `/` is inserted before it.
    pub suffix: &'a str,
}

impl<'a> WireExpr<'a> {
    /// The empty expression that goes with the undeclaration of queryables and tokens.
    pub const EMPTY: Self = Self { scope: 0, mapping: Mapping::Receiver, suffix: "" };

    /// A whole key expression, without a declared part.
    #[must_use]
    pub const fn full(expr: &'a str) -> Self {
        Self { scope: 0, mapping: Mapping::Sender, suffix: expr }
    }

    /// True if the expression says nothing: neither scope nor suffix.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.scope == 0 && self.suffix.is_empty()
    }

    /// The flags N and M for a message header.
    #[inline]
    pub(crate) fn flags(&self) -> u8 {
        let named = if self.suffix.is_empty() { 0 } else { Self::N };
        named | if self.mapping == Mapping::Sender { Self::M } else { 0 }
    }

    /// Header flag: a suffix follows the scope.
    pub(crate) const N: u8 = 0x20;
    /// Header flag: the scope is the sender's.
    pub(crate) const M: u8 = 0x40;

    /// Reads scope and suffix, for a message header (or options byte) with `flags`.
    #[inline]
    pub(crate) fn decode(flags: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let scope = r.zint_u16("key scope")?;
        let suffix = match flags & Self::N {
            0 => "",
            _ => r.zstr(u64::from(u16::MAX), "key suffix")?,
        };
        let mapping = if flags & Self::M == 0 { Mapping::Receiver } else { Mapping::Sender };
        Ok(Self { scope, mapping, suffix })
    }

    /// Writes scope and suffix; the flags are in the header already.
    #[inline]
    pub(crate) fn encode<'s, S: Sink<'s> + ?Sized>(&self, sink: &mut S) -> Result<(), NoSpace> {
        debug_assert!(u16::try_from(self.suffix.len()).is_ok(), "suffix too long");
        sink.zint(u64::from(self.scope))?;
        if self.suffix.is_empty() {
            return Ok(());
        }
        sink.zint(self.suffix.len() as u64)?;
        sink.bytes(self.suffix.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_is_bounded() {
        let out_of_range = DecodeError::OutOfRange { field: "key scope", offset: 0 };
        let decoded = WireExpr::decode(0, &mut Reader::new(&[0x80, 0x80, 0x04]));
        assert_eq!(decoded, Err(out_of_range));
    }

    #[test]
    fn only_scope_and_suffix_make_an_expression() {
        assert!(WireExpr::EMPTY.is_empty());
        assert!(WireExpr::full("").is_empty());
        assert!(!WireExpr::full("a").is_empty());
        assert!(!WireExpr { scope: 1, ..WireExpr::EMPTY }.is_empty());
    }
}
