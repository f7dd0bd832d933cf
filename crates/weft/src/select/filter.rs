//! Filters: conditions on a value.
//!
//! Spec: 04 §12.2 (grammar, in [`parse`](super::parse)), §12.4 (evaluation). Two-valued logic: a test on a path that does
//! not exist is false, and so is every filter on what cannot be decoded.

use core::cmp::Ordering;

use super::error::SelectError;
use super::glob::Glob;
use super::{PAYLOAD_LEN_MAX, SampleKind, decode, parse};
use crate::encoding::Encoding;
use crate::value::{Shape, Step, Value};

/// The parameter that holds a filter.
pub(super) const ARGUMENT: &str = "_filter";

/// A condition on the payload of a sample, such as `temp>25 and not tags[*]=='old'`.
#[derive(Clone, Debug)]
pub struct Filter {
    expr: Expr,
    /// What the condition looks at.
    shape: Shape,
}

impl Filter {
    /// Reads an expression. Values of `_filter` parameters are percent-encoded: see
    /// [`Select::from_parameters`](super::Select::from_parameters).
    ///
    /// # Errors
    /// If it does not follow the grammar or exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let expr = parse::filter(text)?;
        let mut shape = Shape::default();
        for path in expr.paths() {
            shape.add(path);
        }
        Ok(Self { expr, shape })
    }

    /// Whether a sample passes. False for deletions and for payloads that cannot be decoded.
    pub fn matches(&self, payload: &[u8], encoding: &Encoding, kind: SampleKind) -> bool {
        let value = match kind {
            SampleKind::Put => decode::decode(payload, encoding, &self.shape, PAYLOAD_LEN_MAX),
            SampleKind::Delete => None,
        };
        value.is_some_and(|value| self.holds(&value))
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        self.expr.holds(value)
    }

    pub(super) fn paths(&self) -> Vec<&[Step]> {
        self.expr.paths()
    }
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Any(Vec<Expr>),
    All(Vec<Expr>),
    Not(Box<Expr>),
    Test { path: Vec<Step>, check: Check },
}

/// What must hold for some value at the end of a path.
#[derive(Clone, Debug)]
pub(super) enum Check {
    Exists,
    IsTrue,
    Compare(Comparison, Value),
    In(Vec<Value>),
    Like(Glob),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Expr {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.holds(value)),
            Self::All(parts) => parts.iter().all(|part| part.holds(value)),
            Self::Not(part) => !part.holds(value),
            Self::Test { path, check } => some_at(value, path, check),
        }
    }

    fn paths(&self) -> Vec<&[Step]> {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().flat_map(Self::paths).collect(),
            Self::Not(part) => part.paths(),
            Self::Test { path, .. } => vec![path],
        }
    }
}

/// Whether `check` holds for some value at the end of `path`.
fn some_at(value: &Value, path: &[Step], check: &Check) -> bool {
    let Some((step, rest)) = path.split_first() else {
        return check.holds(value);
    };
    match step {
        Step::Member(name) => {
            let member = value.member(name);
            member.is_some_and(|member| some_at(member, rest, check))
        }
        Step::Index(index) => {
            let item = value.as_list().and_then(|items| item_at(items, *index));
            item.is_some_and(|item| some_at(item, rest, check))
        }
        Step::Elements => {
            let items = value.as_list().unwrap_or_default();
            items.iter().any(|item| some_at(item, rest, check))
        }
    }
}

fn item_at(items: &[Value], index: i64) -> Option<&Value> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    let index = if index < 0 { items.len().checked_sub(distance)? } else { distance };
    items.get(index)
}

impl Check {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Exists => true,
            Self::IsTrue => *value == Value::Bool(true),
            Self::Compare(comparison, literal) => comparison.holds(value, literal),
            Self::In(literals) => literals.iter().any(|literal| equal(value, literal)),
            Self::Like(glob) => value.as_text().is_some_and(|text| glob.matches(text)),
        }
    }
}

impl Comparison {
    fn holds(self, value: &Value, literal: &Value) -> bool {
        let order = || value.compare(literal);
        match self {
            Self::Equal => equal(value, literal),
            Self::NotEqual => !equal(value, literal),
            Self::Less => order() == Some(Ordering::Less),
            Self::LessOrEqual => order().is_some_and(Ordering::is_le),
            Self::Greater => order() == Some(Ordering::Greater),
            Self::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
        }
    }
}

/// Equality of a value and a literal, which is a scalar: same type, numbers by their value.
fn equal(value: &Value, literal: &Value) -> bool {
    match (value, literal) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        _ => value.compare(literal) == Some(Ordering::Equal),
    }
}
