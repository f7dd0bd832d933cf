//! A borrowed canonical key expression.
//!
//! Spec: 04 §2–5, §8.

use crate::{KeyExpr, KeyExprError, KeyExprErrorKind, canon, relation};
use alloc::string::String;
use core::fmt;
use core::ops::Div;

/// A borrowed key expression: never empty, always canonical.
///
/// A copy costs two words. Comparison is that of the text: canonical expressions are equal when
/// their text is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ke<'a>(&'a str);

/// The chunks of a key expression, from left to right, never empty.
#[derive(Clone, Debug)]
pub struct Chunks<'a>(&'a str);

/// How much of a key expression another one shares, in increasing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetIntersectionLevel {
    /// No key in common.
    Disjoint,
    /// Some key in common.
    Intersects,
    /// The left side denotes every key that the right side denotes.
    Includes,
    /// The same key expression.
    Equals,
}

impl<'a> Ke<'a> {
    /// Accepts `text` if it is a canonical key expression.
    ///
    /// Cost: one pass over the text, two if it has wildcards; allocates only to report an error.
    #[inline]
    pub fn new(text: &'a str) -> Result<Self, KeyExprError> {
        canon::validate(text).map(|()| Self(text))
    }

    /// The text.
    #[inline]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// The chunks, from left to right.
    pub fn chunks(self) -> Chunks<'a> {
        Chunks(self.0)
    }

    /// Whether some key is denoted by both. Symmetric.
    ///
    /// Cost: no allocation; linear in the lengths unless a `**` has chunks on both sides (then at
    /// most the product of the numbers of chunks).
    pub fn intersects(self, other: Ke<'_>) -> bool {
        relation::intersects(self.0, other.0)
    }

    /// Whether every key that `other` denotes is denoted by `self`.
    ///
    /// `*/**` does not include `**`, although they denote the same keys: a `**` may stand for
    /// nothing in a longer expression. Cost: as [`intersects`](Self::intersects).
    pub fn includes(self, other: Ke<'_>) -> bool {
        relation::includes(self.0, other.0)
    }

    /// The strongest relation of `self` to `other`. Not symmetric: only `self` can include.
    ///
    /// Calls up to two of the predicates; ask the one you need if one is enough.
    pub fn relation_to(self, other: Ke<'_>) -> SetIntersectionLevel {
        if self.0 == other.0 {
            SetIntersectionLevel::Equals
        } else if !self.intersects(other) {
            SetIntersectionLevel::Disjoint
        } else if self.includes(other) {
            SetIntersectionLevel::Includes
        } else {
            SetIntersectionLevel::Intersects
        }
    }

    /// Whether the text contains a `*`. A key expression that is not wild is a key.
    #[inline]
    pub fn is_wild(self) -> bool {
        relation::has_star(self.0)
    }

    /// Whether a verbatim chunk contains `$*`, which has no effect there and is most likely a
    /// mistake.
    pub fn has_inert_wildcard(self) -> bool {
        self.chunks().any(|chunk| chunk.starts_with('@') && chunk.contains('$'))
    }

    /// The part before the last `/` that precedes the first `*`: the longest prefix of whole chunks
    /// without wildcards.
    ///
    /// The whole text if there is no `*`; empty if the first chunk has one.
    pub fn non_wild_prefix(self) -> &'a str {
        match self.0.find('*') {
            None => self.0,
            Some(star) => self.0[..star].rfind('/').map_or("", |slash| &self.0[..slash]),
        }
    }

    /// `self` + `/` + `suffix`, canonized.
    pub fn join(self, suffix: &str) -> Result<KeyExpr, KeyExprError> {
        KeyExpr::autocanonize(&self.with_suffix("/", suffix))
    }

    /// `self` + `suffix` without a separator; the result must be canonical as it stands.
    ///
    /// Refused when `self` ends with `*` and `suffix` starts with `*`.
    pub fn concat(self, suffix: &str) -> Result<KeyExpr, KeyExprError> {
        let text = self.with_suffix("", suffix);
        if self.0.ends_with('*') && suffix.starts_with('*') {
            let (kind, offset) = (KeyExprErrorKind::ConcatStarStar, self.0.len());
            return Err(KeyExprError { kind, offset, text: text.into_boxed_str(), hint: None });
        }
        KeyExpr::try_from(text)
    }

    /// What remains when `namespace`, a key, is taken from the front; `None` if it is no prefix or
    /// nothing remains.
    ///
    /// A `**` may stand for the end of the namespace and is then kept: `demo/**/x` without
    /// `demo/a/b` is `**/x`. Of several possible remainders this is the longest.
    #[must_use]
    pub fn strip_namespace(self, namespace: Ke<'_>) -> Option<Ke<'a>> {
        relation::strip(self.0, namespace.0).map(Ke)
    }

    /// An owned copy of the text. Allocates.
    #[allow(clippy::wrong_self_convention)] // `Ke` is a reference, as `&str` is
    pub fn to_owned(self) -> KeyExpr {
        KeyExpr::from(self)
    }

    /// For text that is canonical by construction.
    pub(crate) fn trusted(text: &'a str) -> Self {
        debug_assert!(canon::validate(text).is_ok(), "{text}");
        Self(text)
    }

    fn with_suffix(self, separator: &str, suffix: &str) -> String {
        let mut text = String::with_capacity(self.0.len() + separator.len() + suffix.len());
        text.push_str(self.0);
        text.push_str(separator);
        text.push_str(suffix);
        text
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let (chunk, rest) = relation::split_first(self.0);
        self.0 = rest;
        Some(chunk)
    }
}

/// Joins two key expressions with `/` and canonizes; this cannot fail.
impl<'b> Div<Ke<'b>> for Ke<'_> {
    type Output = KeyExpr;

    fn div(self, suffix: Ke<'b>) -> KeyExpr {
        self.join(suffix.0).expect("two canonical key expressions joined by `/` can be canonized")
    }
}

impl<'a> TryFrom<&'a str> for Ke<'a> {
    type Error = KeyExprError;

    fn try_from(text: &'a str) -> Result<Self, KeyExprError> {
        Self::new(text)
    }
}

impl<'a> From<&'a KeyExpr> for Ke<'a> {
    fn from(key_expr: &'a KeyExpr) -> Self {
        key_expr.as_ke()
    }
}

impl AsRef<str> for Ke<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl PartialEq<str> for Ke<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Ke<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Ke<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Ke<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn ke(text: &str) -> Ke<'_> {
        Ke::new(text).unwrap()
    }

    #[test]
    fn non_wild_prefix_ends_before_the_first_star() {
        for (text, prefix) in [
            ("demo/s/**", "demo/s"),
            ("**", ""),
            ("a/b", "a/b"),
            ("a/b$*", "a"),
            ("a$*/b", ""),
            ("a/@b$*/c", "a"),
        ] {
            assert_eq!(ke(text).non_wild_prefix(), prefix);
        }
    }

    #[test]
    fn wildcards_and_chunks() {
        assert!(ke("a/$*b").is_wild() && !ke("a/@b").is_wild());
        assert!(ke("a/@b$*").has_inert_wildcard() && !ke("@a/b$*").has_inert_wildcard());
        assert_eq!(ke("a/**/b").chunks().collect::<Vec<_>>(), ["a", "**", "b"]);
    }

    #[test]
    fn division_joins() {
        assert_eq!(ke("**") / ke("*/c"), "*/**/c");
        assert_eq!(ke("a") / ke("b"), "a/b");
    }

    #[test]
    fn relation_levels_are_ordered() {
        use SetIntersectionLevel::*;
        assert!(Disjoint < Intersects && Intersects < Includes && Includes < Equals);
        assert_eq!(ke("a/**").relation_to(ke("a/*")), Includes);
        assert_eq!(ke("a/*").relation_to(ke("a/**")), Intersects);
    }

    #[test]
    fn a_namespace_is_stripped_from_the_front_once() {
        let strip = |text, namespace| ke(text).strip_namespace(ke(namespace)).map(Ke::as_str);
        assert_eq!(strip("a/**/b/**", "a/b"), Some("**/b/**"));
        assert_eq!(strip("**/@a/**/@b/x", "@a/c/@b"), Some("x"));
        assert_eq!(strip("**/@a/**", "x/@a/y/z"), Some("**"));
        assert_eq!(strip("**/@a", "x/@a"), None);
        assert_eq!(strip("@a/**", "a"), None);
        assert_eq!(strip("*/**", "a"), Some("**"));
    }
}
