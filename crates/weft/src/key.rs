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

/// The prefix of all keys of a session, or none (04 §8).
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace(pub(crate) Option<KeyExpr>);

impl Namespace {
    /// The key as the network knows it.
    pub(crate) fn outward(&self, key: KeyExpr) -> Result<KeyExpr> {
        match &self.0 {
            None => Ok(key),
            Some(namespace) => namespace.join(key.as_str()).map_err(Error::from),
        }
    }

    /// The key as the application knows it; `None` if it is not for this session.
    pub(crate) fn inward(&self, key: &KeyExpr) -> Option<KeyExpr> {
        match &self.0 {
            None => Some(key.clone()),
            Some(namespace) => key.strip_namespace(namespace).map(Ke::to_owned),
        }
    }
}
