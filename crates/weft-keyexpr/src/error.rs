//! Why a text is not a canonical key expression.
//!
//! Spec: 04 §2.1.

use alloc::boxed::Box;
use core::fmt;

/// The rule of the key expression language that was broken.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyExprErrorKind {
    /// Empty text, leading `/`, trailing `/` or `//`.
    EmptyChunk,
    /// A `*` that is neither a whole `*` or `**` chunk nor part of `$*`.
    StarInChunk,
    /// A `$` that no `*` follows.
    UnboundDollar,
    /// A `#` or a `?`.
    ForbiddenCharacter,
    /// A `$*` directly followed by `$`.
    DollarAfterDollar,
    /// A chunk that is exactly `$*`; its canonical form is `*`.
    LoneDollarStar,
    /// `**/*`; its canonical form is `*/**`.
    SingleStarAfterDoubleStar,
    /// `**/**`; its canonical form is `**`.
    DoubleStarAfterDoubleStar,
    /// A concatenation whose left side ends with `*` and whose right side starts with `*`.
    ConcatStarStar,
}

impl KeyExprErrorKind {
    /// The stable machine-readable name, for instance `empty_chunk`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EmptyChunk => "empty_chunk",
            Self::StarInChunk => "star_in_chunk",
            Self::UnboundDollar => "unbound_dollar",
            Self::ForbiddenCharacter => "forbidden_character",
            Self::DollarAfterDollar => "dollar_after_dollar",
            Self::LoneDollarStar => "lone_dollar_star",
            Self::SingleStarAfterDoubleStar => "single_star_after_double_star",
            Self::DoubleStarAfterDoubleStar => "double_star_after_double_star",
            Self::ConcatStarStar => "concat_star_star",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::EmptyChunk => "a chunk is empty",
            Self::StarInChunk => "`*` must be a whole chunk, `**`, or follow `$`",
            Self::UnboundDollar => "`$` must be followed by `*`",
            Self::ForbiddenCharacter => "`#` and `?` are not allowed",
            Self::DollarAfterDollar => "`$*` must not be followed by `$`",
            Self::LoneDollarStar => "a chunk `$*` must be written `*`",
            Self::SingleStarAfterDoubleStar => "`**/*` must be written `*/**`",
            Self::DoubleStarAfterDoubleStar => "`**/**` must be written `**`",
            Self::ConcatStarStar => "cannot concatenate `*` with `*`",
        }
    }
}

/// A text was refused as a key expression.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyExprError {
    /// The rule that was broken first, from left to right.
    pub kind: KeyExprErrorKind,
    /// Where in `text`, in bytes; `text.len()` for a missing last chunk.
    pub offset: usize,
    /// The refused text, in full.
    pub text: Box<str>,
    /// The canonical form, if canonization makes the text valid.
    pub hint: Option<Box<str>>,
}

impl KeyExprError {
    /// The chunk of `text` that holds `offset`; empty when the chunk's emptiness is the problem.
    pub fn chunk(&self) -> &str {
        let start = self.text[..self.offset].rfind('/').map_or(0, |slash| slash + 1);
        let end = self.text[self.offset..]
            .find('/')
            .map_or(self.text.len(), |length| self.offset + length);
        &self.text[start..end]
    }
}

impl fmt::Display for KeyExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, offset, text, hint } = self;
        write!(f, "invalid key expression `{text}`: {}", kind.sentence())?;
        write!(f, " (byte {offset}, chunk `{}`)", self.chunk())?;
        if let Some(hint) = hint {
            write!(f, "; did you mean `{hint}`?")?;
        }
        Ok(())
    }
}

impl core::error::Error for KeyExprError {}

#[cfg(test)]
mod tests {
    use crate::{Ke, KeyExprErrorKind};
    use alloc::string::ToString;

    #[test]
    fn the_message_names_text_chunk_and_repair() {
        let error = Ke::new("a/**/*/b").unwrap_err();
        assert_eq!(error.kind, KeyExprErrorKind::SingleStarAfterDoubleStar);
        assert_eq!((error.offset, error.chunk()), (5, "*"));
        assert_eq!(
            error.to_string(),
            "invalid key expression `a/**/*/b`: `**/*` must be written `*/**` \
             (byte 5, chunk `*`); did you mean `a/*/**/b`?"
        );
    }

    #[test]
    fn an_empty_chunk_has_an_offset_and_no_repair() {
        for (text, offset) in [("", 0), ("/a", 0), ("a/", 2), ("a//b", 2), ("é//b", 3)] {
            let error = Ke::new(text).unwrap_err();
            assert_eq!(
                (error.kind, error.offset, error.chunk()),
                (KeyExprErrorKind::EmptyChunk, offset, ""),
                "{text}"
            );
            assert_eq!(error.hint, None);
        }
    }
}
