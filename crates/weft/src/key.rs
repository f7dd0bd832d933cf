//! Key expressions as arguments, and the namespace in front of them.

use weft_keyexpr::{Ke, KeyExpr};

use crate::error::{Error, Result};

/// What can be given where a key expression is wanted: text, which is checked, or a [`KeyExpr`].
pub trait IntoKeyExpr {
    /// The key expression.
    ///
    /// # Errors
    /// If the text is not canonical; the error says how to write it.
    fn into_key_expr(self) -> Result<KeyExpr>;
}

impl IntoKeyExpr for KeyExpr {
    fn into_key_expr(self) -> Result<KeyExpr> {
        Ok(self)
    }
}

impl IntoKeyExpr for &KeyExpr {
    fn into_key_expr(self) -> Result<KeyExpr> {
        Ok(self.clone())
    }
}

impl IntoKeyExpr for Ke<'_> {
    fn into_key_expr(self) -> Result<KeyExpr> {
        Ok(self.to_owned())
    }
}

impl IntoKeyExpr for &str {
    fn into_key_expr(self) -> Result<KeyExpr> {
        Ok(KeyExpr::new(self)?)
    }
}

impl IntoKeyExpr for String {
    fn into_key_expr(self) -> Result<KeyExpr> {
        Ok(KeyExpr::new(self)?)
    }
}

impl IntoKeyExpr for &String {
    fn into_key_expr(self) -> Result<KeyExpr> {
        Ok(KeyExpr::new(self)?)
    }
}

/// The prefix of all keys of a session but those of admin spaces, or none (04 §8).
///
/// A key that begins with the chunk `@` is the same inside and outside: what a node says of itself is nobody's
/// data, and a prefix would keep who has one from asking.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace(pub(crate) Option<KeyExpr>);

impl Namespace {
    /// The key as the network knows it.
    pub(crate) fn outward(&self, key: KeyExpr) -> Result<KeyExpr> {
        match &self.0 {
            Some(namespace) if !is_of_admin_space(&key) => {
                namespace.join(key.as_str()).map_err(Error::from)
            }
            _ => Ok(key),
        }
    }

    /// The key as the application knows it; `None` if it is not for this session.
    pub(crate) fn inward(&self, key: &KeyExpr) -> Option<KeyExpr> {
        match &self.0 {
            None => Some(key.clone()),
            Some(_) => self.strip(key).map(Ke::to_owned),
        }
    }

    /// The same, borrowed.
    pub(crate) fn strip<'a>(&self, key: &'a KeyExpr) -> Option<Ke<'a>> {
        match &self.0 {
            Some(namespace) if !is_of_admin_space(key) => key.strip_namespace(namespace),
            _ => Some(key.as_ke()),
        }
    }
}

fn is_of_admin_space(key: &KeyExpr) -> bool {
    key.as_str().starts_with("@/")
}
