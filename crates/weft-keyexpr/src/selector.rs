//! What a query asks for: a key expression and parameters.
//!
//! Spec: 04 §9.

use crate::{Ke, KeyExpr, KeyExprError, Parameters, ParametersView};
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// A borrowed selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SelectorView<'a> {
    /// Which keys are asked for.
    pub key_expr: Ke<'a>,
    /// What the responder is told.
    pub parameters: ParametersView<'a>,
}

impl<'a> SelectorView<'a> {
    /// Splits at the first `?`; the key expression in front of it must be canonical.
    pub fn parse(text: &'a str) -> Result<Self, KeyExprError> {
        let (key_expr, parameters) = text.split_once('?').unwrap_or((text, ""));
        Ok(Self { key_expr: Ke::new(key_expr)?, parameters: ParametersView::new(parameters) })
    }
}

/// An owned selector. Equal if the key expression and the text of the parameters are.
///
/// ```
/// use weft_keyexpr::Selector;
///
/// let selector: Selector = "factory/**?_time=[now(-1h)..]".parse()?;
/// assert_eq!(selector.key_expr, "factory/**");
/// assert_eq!(selector.parameters.get("_time"), Some("[now(-1h)..]"));
/// # Ok::<(), weft_keyexpr::KeyExprError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Which keys are asked for.
    pub key_expr: KeyExpr,
    /// What the responder is told.
    pub parameters: Parameters,
}

impl Selector {
    /// From its two parts.
    pub fn new(key_expr: impl Into<KeyExpr>, parameters: impl Into<Parameters>) -> Self {
        Self { key_expr: key_expr.into(), parameters: parameters.into() }
    }

    /// The borrowed form.
    pub fn as_view(&self) -> SelectorView<'_> {
        SelectorView { key_expr: self.key_expr.as_ke(), parameters: self.parameters.as_view() }
    }
}

impl From<SelectorView<'_>> for Selector {
    fn from(view: SelectorView<'_>) -> Self {
        Self::new(view.key_expr, view.parameters)
    }
}

impl From<KeyExpr> for Selector {
    fn from(key_expr: KeyExpr) -> Self {
        Self::new(key_expr, Parameters::new())
    }
}

impl From<&KeyExpr> for Selector {
    fn from(key_expr: &KeyExpr) -> Self {
        key_expr.clone().into()
    }
}

impl From<Ke<'_>> for Selector {
    fn from(key_expr: Ke<'_>) -> Self {
        KeyExpr::from(key_expr).into()
    }
}

impl TryFrom<&str> for Selector {
    type Error = KeyExprError;

    fn try_from(text: &str) -> Result<Self, KeyExprError> {
        SelectorView::parse(text).map(Self::from)
    }
}

impl TryFrom<String> for Selector {
    type Error = KeyExprError;

    fn try_from(text: String) -> Result<Self, KeyExprError> {
        Self::try_from(text.as_str())
    }
}

impl FromStr for Selector {
    type Err = KeyExprError;

    fn from_str(text: &str) -> Result<Self, KeyExprError> {
        Self::try_from(text)
    }
}

impl fmt::Display for SelectorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key_expr)?;
        if self.parameters.is_empty() { Ok(()) } else { write!(f, "?{}", self.parameters) }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_view().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_question_mark_without_parameters_is_dropped() {
        let selector = Selector::try_from("a/b?;;").unwrap();
        assert_eq!(selector.to_string(), "a/b");
        assert_eq!(selector, Selector::from(Ke::new("a/b").unwrap()));
    }

    #[test]
    fn only_the_first_question_mark_splits() {
        let view = SelectorView::parse("a?b?c").unwrap();
        assert_eq!((view.key_expr.as_str(), view.parameters.as_str()), ("a", "b?c"));
        assert_eq!(Selector::from(view).to_string(), "a?b?c");
    }

    #[test]
    fn the_key_expression_must_be_canonical() {
        assert_eq!(SelectorView::parse("**/*?a").unwrap_err().hint.as_deref(), Some("*/**"));
        assert!(SelectorView::parse("?a").is_err());
    }
}
