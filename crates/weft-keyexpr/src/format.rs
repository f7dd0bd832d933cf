//! Key formats: templates with named holes that build key expressions from values and take them
//! apart.
//!
//! Spec: 04 §7.
//!
//! ```text
//! robot / ${id:*} / @ / ${topic:**#status}
//! literal  spec           id "topic", pattern `**`, default `status`
//! ```
//!
//! Invariants: ids are unique; a pattern is a canonical key expression and includes its default;
//! literals have no wildcards; neighbouring literal chunks are one element.

mod build;
mod extract;
mod parse;

pub use build::{FormatBuildError, FormatSetError, KeFormatter};
pub use extract::FormatFields;
pub use parse::{KeFormatError, KeFormatErrorKind};

use crate::{Ke, KeyExpr, canon};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A template such as `robot/${id:*}/@/${topic:**}`.
///
/// ```
/// use weft_keyexpr::{Ke, KeFormat};
///
/// let format: KeFormat = "robot/${id:*}/@/${topic:**}".parse()?;
/// let mut formatter = format.formatter();
/// formatter.set("id", 7)?.set("topic", "camera/left")?;
/// assert_eq!(formatter.build()?, "robot/7/@/camera/left");
///
/// let fields = format.parse(Ke::new("robot/7/@")?).expect("the key matches");
/// assert_eq!((fields.get("id"), fields.get("topic")), (Some("7"), Some("")));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeFormat {
    elements: Vec<Element>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Element {
    content: Content,
    /// What the elements behind this one denote, as a canonical list of chunks; empty for the last
    /// one.
    rest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// One or more chunks.
    Literal(String),
    Spec(FormatSpec),
}

/// A named hole of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatSpec {
    id: String,
    pattern: KeyExpr,
    default: Option<KeyExpr>,
}

impl KeFormat {
    /// Reads a template: chunks without wildcards and `${id:pattern#default}`, separated by `/`.
    ///
    /// A spec whose id, pattern or default contains `}` is written `$#{…}#`.
    pub fn new(text: &str) -> Result<Self, KeFormatError> {
        let contents = parse::contents(text)?;
        let mut elements = Vec::with_capacity(contents.len());
        let mut rest = String::new();
        for content in contents.into_iter().rev() {
            let following = canon::canonize(&join_lists(content.pattern(), &rest));
            elements.push(Element { content, rest: core::mem::replace(&mut rest, following) });
        }
        elements.reverse();
        Ok(Self { elements })
    }

    /// The named holes, from left to right.
    pub fn specs(&self) -> impl Iterator<Item = &FormatSpec> {
        self.elements.iter().filter_map(|element| match &element.content {
            Content::Literal(_) => None,
            Content::Spec(spec) => Some(spec),
        })
    }

    /// Something to set values on and build key expressions with.
    pub fn formatter(&self) -> KeFormatter<'_> {
        KeFormatter::new(self)
    }

    /// Takes a key expression apart; `None` if it does not intersect the format.
    ///
    /// From left to right, each spec takes the longest piece with which the rest still matches. A
    /// `**` of the key expression may belong to the pieces of several specs.
    ///
    /// Cost: quadratic in the length of `key`.
    pub fn parse<'k>(&self, key: Ke<'k>) -> Option<FormatFields<'_, 'k>> {
        extract::fields(self, key)
    }

    fn spec_index(&self, id: &str) -> Option<usize> {
        self.specs().position(|spec| spec.id == id)
    }
}

impl FormatSpec {
    /// The name; may be empty.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a value must be included by.
    pub fn pattern(&self) -> &KeyExpr {
        &self.pattern
    }

    /// What stands for a value that is not set.
    pub fn default(&self) -> Option<&KeyExpr> {
        self.default.as_ref()
    }
}

impl Content {
    fn pattern(&self) -> &str {
        match self {
            Self::Literal(chunks) => chunks,
            Self::Spec(spec) => spec.pattern.as_str(),
        }
    }
}

/// Two lists of chunks, either of which may be empty, as one.
fn join_lists(first: &str, second: &str) -> String {
    let mut joined = String::from(first);
    if !first.is_empty() && !second.is_empty() {
        joined.push('/');
    }
    joined + second
}

impl TryFrom<&str> for KeFormat {
    type Error = KeFormatError;

    fn try_from(text: &str) -> Result<Self, KeFormatError> {
        Self::new(text)
    }
}

impl core::str::FromStr for KeFormat {
    type Err = KeFormatError;

    fn from_str(text: &str) -> Result<Self, KeFormatError> {
        Self::new(text)
    }
}

impl fmt::Display for KeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, element) in self.elements.iter().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            match &element.content {
                Content::Literal(chunks) => f.write_str(chunks)?,
                Content::Spec(spec) => spec.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for FormatSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, pattern, default } = self;
        let has_brace = |text: &str| text.contains('}');
        let default = default.as_ref().map(KeyExpr::as_str);
        let is_braced =
            has_brace(id) || has_brace(pattern.as_str()) || default.is_some_and(has_brace);
        f.write_str(if is_braced { "$#{" } else { "${" })?;
        write!(f, "{id}:{pattern}")?;
        if let Some(default) = default {
            write!(f, "#{default}")?;
        }
        f.write_str(if is_braced { "}#" } else { "}" })
    }
}
