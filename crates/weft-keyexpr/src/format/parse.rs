//! Reading a template.

use super::{Content, FormatSpec};
use crate::{Ke, KeyExpr};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What is wrong with a template.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeFormatErrorKind {
    /// A chunk outside specs is empty, has a wildcard or a forbidden character, or is only partly a
    /// spec.
    Literal,
    /// A spec has no end: `}`, or `}#` if it starts with `$#{`.
    UnterminatedSpec,
    /// Something else than `/` follows a spec.
    PartialChunk,
    /// A spec has no `:` between id and pattern.
    MissingPattern,
    /// A pattern is not a canonical key expression.
    Pattern,
    /// A default is not a canonical key expression, or its pattern does not include it.
    Default,
    /// An id is used twice.
    DuplicateId,
}

/// A text is not a key format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeFormatError {
    /// What is wrong.
    pub kind: KeFormatErrorKind,
    /// In bytes, where the chunk or the spec starts that was refused.
    pub offset: usize,
}

/// The elements of a template; neighbouring literal chunks as one.
pub(super) fn contents(text: &str) -> Result<Vec<Content>, KeFormatError> {
    let mut contents: Vec<Content> = Vec::new();
    let mut rest = text;
    loop {
        let offset = text.len() - rest.len();
        let refuse = |kind| KeFormatError { kind, offset };
        let (content, after) = element(rest).map_err(refuse)?;
        if contents.iter().any(|known| has_same_id(known, &content)) {
            return Err(refuse(KeFormatErrorKind::DuplicateId));
        }
        match (contents.last_mut(), content) {
            (Some(Content::Literal(chunks)), Content::Literal(chunk)) => {
                chunks.push('/');
                chunks.push_str(&chunk);
            }
            (_, content) => contents.push(content),
        }
        if after.is_empty() {
            return Ok(contents);
        }
        rest = after.strip_prefix('/').ok_or(refuse(KeFormatErrorKind::PartialChunk))?;
    }
}

/// The element that `text` starts with, and what follows it.
fn element(text: &str) -> Result<(Content, &str), KeFormatErrorKind> {
    let (content, end) = if let Some(content) = text.strip_prefix("${") {
        (content, "}")
    } else if let Some(content) = text.strip_prefix("$#{") {
        (content, "}#")
    } else {
        let (chunk, _) = text.split_once('/').unwrap_or((text, ""));
        let is_literal = Ke::new(chunk).is_ok_and(|chunk| !chunk.is_wild());
        return if is_literal {
            Ok((Content::Literal(chunk.into()), &text[chunk.len()..]))
        } else {
            Err(KeFormatErrorKind::Literal)
        };
    };
    let (content, after) = content.split_once(end).ok_or(KeFormatErrorKind::UnterminatedSpec)?;
    Ok((Content::Spec(spec(content)?), after))
}

/// `id:pattern` or `id:pattern#default`. A pattern has no `#`, so the first one behind the `:`
/// separates.
fn spec(text: &str) -> Result<FormatSpec, KeFormatErrorKind> {
    let (id, text) = text.split_once(':').ok_or(KeFormatErrorKind::MissingPattern)?;
    let (pattern, default) =
        text.split_once('#').map_or((text, None), |(pattern, default)| (pattern, Some(default)));
    let pattern = KeyExpr::new(pattern).map_err(|_| KeFormatErrorKind::Pattern)?;
    let default = default.map(KeyExpr::new).transpose().map_err(|_| KeFormatErrorKind::Default)?;
    if default.as_ref().is_some_and(|default| !pattern.includes(default)) {
        return Err(KeFormatErrorKind::Default);
    }
    Ok(FormatSpec { id: String::from(id), pattern, default })
}

fn has_same_id(a: &Content, b: &Content) -> bool {
    matches!((a, b), (Content::Spec(a), Content::Spec(b)) if a.id == b.id)
}

impl fmt::Display for KeFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self.kind {
            KeFormatErrorKind::Literal => "a chunk outside `${…}` must be a literal chunk",
            KeFormatErrorKind::UnterminatedSpec => "`${` without `}`, or `$#{` without `}#`",
            KeFormatErrorKind::PartialChunk => "`${…}` must fill whole chunks",
            KeFormatErrorKind::MissingPattern => "a spec must be `${id:pattern}`",
            KeFormatErrorKind::Pattern => "a pattern must be a canonical key expression",
            KeFormatErrorKind::Default => {
                "a default must be a canonical key expression that its pattern includes"
            }
            KeFormatErrorKind::DuplicateId => "an id is used twice",
        };
        write!(f, "invalid key format at byte {}: {sentence}", self.offset)
    }
}

impl core::error::Error for KeFormatError {}

#[cfg(test)]
mod tests {
    use crate::{KeFormat, KeFormatError, KeFormatErrorKind::*};

    #[test]
    fn errors_say_what_and_where() {
        for (text, kind, offset) in [
            ("", Literal, 0),
            ("a//b", Literal, 2),
            ("${x:*}/", Literal, 7),
            ("a/*/${x:*}", Literal, 2),
            ("a/b${x:*}", Literal, 2),
            ("${x:*", UnterminatedSpec, 0),
            ("a/$#{x:*}", UnterminatedSpec, 2),
            ("a/${x:*}y", PartialChunk, 2),
            ("${x}", MissingPattern, 0),
            ("${x:**/*}", Pattern, 0),
            ("${x:*#}", Default, 0),
            ("${x:*#a/b}", Default, 0),
            ("${x:*}/b/${x:*}", DuplicateId, 9),
        ] {
            assert_eq!(KeFormat::new(text), Err(KeFormatError { kind, offset }), "{text}");
        }
    }

    #[test]
    fn an_id_may_contain_anything_but_a_colon() {
        let format = KeFormat::new("a/$#{x/}y#:*}#/${:**}").unwrap();
        let ids: alloc::vec::Vec<_> = format.specs().map(super::FormatSpec::id).collect();
        assert_eq!(ids, ["x/}y#", ""]);
    }
}
