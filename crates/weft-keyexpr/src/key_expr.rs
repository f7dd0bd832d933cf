//! An owned canonical key expression.
//!
//! Spec: 04 §2–5.

use crate::{Chunks, Ke, KeyExprError, SetIntersectionLevel, canon};
use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Div;
use core::str::FromStr;

/// An owned key expression: never empty, always canonical, shared by its clones.
///
/// A clone costs one atomic increment. Compares, orders and hashes as its text, so that a map keyed
/// by `KeyExpr` can be asked with a `&str`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyExpr(Arc<str>);

impl KeyExpr {
    /// Accepts `text` if it is a canonical key expression. Allocates once.
    pub fn new(text: impl AsRef<str>) -> Result<Self, KeyExprError> {
        Ke::new(text.as_ref()).map(Self::from)
    }

    /// Rewrites `text` into its canonical form: `$*$*` and lone `$*`, `**/**` and `**/*` are
    /// repaired.
    ///
    /// An error describes the rewritten text.
    pub fn autocanonize(text: &str) -> Result<Self, KeyExprError> {
        canon::autocanonize(text).map(|canonical| Self(canonical.into()))
    }

    /// The borrowed form.
    #[inline]
    pub fn as_ke(&self) -> Ke<'_> {
        Ke::trusted(&self.0)
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// See [`Ke::chunks`].
    pub fn chunks(&self) -> Chunks<'_> {
        self.as_ke().chunks()
    }

    /// See [`Ke::intersects`].
    pub fn intersects<'b>(&self, other: impl Into<Ke<'b>>) -> bool {
        self.as_ke().intersects(other.into())
    }

    /// See [`Ke::includes`].
    pub fn includes<'b>(&self, other: impl Into<Ke<'b>>) -> bool {
        self.as_ke().includes(other.into())
    }

    /// See [`Ke::relation_to`].
    pub fn relation_to<'b>(&self, other: impl Into<Ke<'b>>) -> SetIntersectionLevel {
        self.as_ke().relation_to(other.into())
    }

    /// See [`Ke::is_wild`].
    pub fn is_wild(&self) -> bool {
        self.as_ke().is_wild()
    }

    /// See [`Ke::non_wild_prefix`].
    pub fn non_wild_prefix(&self) -> &str {
        self.as_ke().non_wild_prefix()
    }

    /// See [`Ke::join`].
    pub fn join(&self, suffix: &str) -> Result<Self, KeyExprError> {
        self.as_ke().join(suffix)
    }

    /// See [`Ke::concat`].
    pub fn concat(&self, suffix: &str) -> Result<Self, KeyExprError> {
        self.as_ke().concat(suffix)
    }

    /// See [`Ke::strip_namespace`].
    #[must_use]
    pub fn strip_namespace<'b>(&self, namespace: impl Into<Ke<'b>>) -> Option<Ke<'_>> {
        self.as_ke().strip_namespace(namespace.into())
    }
}

impl From<Ke<'_>> for KeyExpr {
    fn from(ke: Ke<'_>) -> Self {
        Self(ke.as_str().into())
    }
}

impl From<&KeyExpr> for KeyExpr {
    fn from(key_expr: &KeyExpr) -> Self {
        key_expr.clone()
    }
}

impl TryFrom<&str> for KeyExpr {
    type Error = KeyExprError;

    fn try_from(text: &str) -> Result<Self, KeyExprError> {
        Self::new(text)
    }
}

impl TryFrom<String> for KeyExpr {
    type Error = KeyExprError;

    fn try_from(text: String) -> Result<Self, KeyExprError> {
        Self::new(text)
    }
}

impl FromStr for KeyExpr {
    type Err = KeyExprError;

    fn from_str(text: &str) -> Result<Self, KeyExprError> {
        Self::new(text)
    }
}

impl From<KeyExpr> for Arc<str> {
    fn from(key_expr: KeyExpr) -> Self {
        key_expr.0
    }
}

/// Joins two key expressions with `/` and canonizes; this cannot fail.
impl<'b, T: Into<Ke<'b>>> Div<T> for &KeyExpr {
    type Output = KeyExpr;

    fn div(self, suffix: T) -> KeyExpr {
        self.as_ke() / suffix.into()
    }
}

impl AsRef<str> for KeyExpr {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for KeyExpr {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for KeyExpr {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for KeyExpr {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl PartialEq<Ke<'_>> for KeyExpr {
    fn eq(&self, other: &Ke<'_>) -> bool {
        &*self.0 == other.as_str()
    }
}

impl fmt::Display for KeyExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for KeyExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::string::ToString;

    #[test]
    fn every_constructor_is_strict_except_autocanonize() {
        assert!(KeyExpr::new("**/*").is_err());
        assert!("**/*".parse::<KeyExpr>().is_err());
        assert!(KeyExpr::try_from("**/*".to_string()).is_err());
        assert_eq!(KeyExpr::autocanonize("**/*").unwrap(), "*/**");
    }

    #[test]
    fn a_map_is_asked_with_text() {
        let map = BTreeMap::from([(KeyExpr::new("a/b").unwrap(), 1)]);
        assert_eq!(map.get("a/b"), Some(&1));
    }

    #[test]
    fn relations_take_both_forms() {
        let (a, b) = (KeyExpr::new("a/**").unwrap(), KeyExpr::new("a/b").unwrap());
        assert!(a.intersects(&b) && a.includes(b.as_ke()));
        assert_eq!(&a / &b, "a/**/a/b");
        assert_eq!(b.to_string(), "a/b");
        assert_eq!(b.strip_namespace(Ke::new("a").unwrap()).unwrap(), "b");
    }
}
