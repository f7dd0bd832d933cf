//! Building key expressions from values.

use super::{Content, KeFormat, join_lists};
use crate::{Ke, KeyExpr};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The values of a format's specs, on the way to a key expression. Can be used again after
/// [`build`](Self::build).
#[derive(Clone, Debug)]
pub struct KeFormatter<'f> {
    format: &'f KeFormat,
    /// One per spec, in order.
    values: Vec<Option<String>>,
}

/// A value was refused.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatSetError {
    /// The format has no spec of this name.
    UnknownId {
        /// The name.
        id: String,
    },
    /// The value is not a canonical key expression that the pattern includes; empty is allowed for
    /// `**` only.
    PatternNotMatched {
        /// The name of the spec.
        id: String,
        /// The value as text.
        value: String,
    },
}

/// A key expression cannot be built.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatBuildError {
    /// A spec has neither a value nor a default.
    MissingField {
        /// The name of the spec.
        id: String,
    },
    /// All values are empty and there is nothing else.
    EmptyKeyExpr,
}

impl<'f> KeFormatter<'f> {
    pub(super) fn new(format: &'f KeFormat) -> Self {
        Self { format, values: format.specs().map(|_| None).collect() }
    }

    /// Sets, or replaces, the value of a spec: whatever prints as a key expression that the spec's
    /// pattern includes.
    pub fn set(&mut self, id: &str, value: impl fmt::Display) -> Result<&mut Self, FormatSetError> {
        let format = self.format;
        let Some((index, spec)) = format.specs().enumerate().find(|(_, spec)| spec.id == id) else {
            return Err(FormatSetError::UnknownId { id: id.into() });
        };
        let value = value.to_string();
        let is_matched = match value.as_str() {
            "" => spec.pattern == "**",
            _ => Ke::new(&value).is_ok_and(|value| spec.pattern.includes(value)),
        };
        if !is_matched {
            return Err(FormatSetError::PatternNotMatched { id: id.into(), value });
        }
        self.values[index] = Some(value);
        Ok(self)
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.values.fill(None);
    }

    /// The key expression with all values in place, canonized. Empty values vanish with a slash.
    pub fn build(&self) -> Result<KeyExpr, FormatBuildError> {
        let mut built = String::new();
        let mut values = self.values.iter();
        for element in &self.format.elements {
            let list = match &element.content {
                Content::Literal(chunks) => chunks.as_str(),
                Content::Spec(spec) => {
                    let value = values.next().and_then(Option::as_deref);
                    let value = value.or(spec.default.as_ref().map(KeyExpr::as_str));
                    value.ok_or_else(|| FormatBuildError::MissingField { id: spec.id.clone() })?
                }
            };
            built = join_lists(&built, list);
        }
        if built.is_empty() {
            return Err(FormatBuildError::EmptyKeyExpr);
        }
        Ok(KeyExpr::autocanonize(&built)
            .expect("canonical key expressions joined by `/` can be canonized"))
    }
}

impl fmt::Display for FormatSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownId { id } => write!(f, "the key format has no `{id}`"),
            Self::PatternNotMatched { id, value } => {
                write!(f, "`{value}` does not fit the pattern of `{id}`")
            }
        }
    }
}

impl core::error::Error for FormatSetError {}

impl fmt::Display for FormatBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingField { id } => write!(f, "`{id}` has neither a value nor a default"),
            Self::EmptyKeyExpr => {
                f.write_str("all values are empty, so the key expression would be")
            }
        }
    }
}

impl core::error::Error for FormatBuildError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatter_is_used_again() {
        let format = KeFormat::new("a/${x:*}/${y:**#z}").unwrap();
        let mut formatter = format.formatter();
        assert_eq!(formatter.set("x", 1).unwrap().build().unwrap(), "a/1/z");
        assert_eq!(formatter.set("y", "").unwrap().build().unwrap(), "a/1");
        formatter.clear();
        assert_eq!(formatter.build(), Err(FormatBuildError::MissingField { id: "x".into() }));
    }

    #[test]
    fn a_refused_value_leaves_the_old_one() {
        let format = KeFormat::new("${x:a$*}").unwrap();
        let mut formatter = format.formatter();
        formatter.set("x", "ab").unwrap();
        let refusal = FormatSetError::PatternNotMatched { id: "x".into(), value: "b".into() };
        assert_eq!(formatter.set("x", "b").unwrap_err(), refusal);
        assert_eq!(formatter.build().unwrap(), "ab");
    }
}
