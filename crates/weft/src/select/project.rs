//! Projections: which parts of a payload are sent.
//!
//! Spec: 04 §12.5. Applying a projection twice gives the same as applying it once; that is why it has no indexes.

use core::fmt;

use super::error::{SelectError, SelectErrorKind};
use super::scan::Scanner;
use super::{PAYLOAD_LEN_MAX, SampleKind, decode};
use crate::encoding::Encoding;
use crate::value::{Shape, Step, Value};

/// The parameter that holds a projection.
pub(super) const ARGUMENT: &str = "_project";

/// A list of paths such as `hum,items[*].id`. `Display` writes it so that it can be parsed again.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Not empty; each starts with a member.
    paths: Vec<Vec<Step>>,
    /// The same as a tree.
    shape: Shape,
}

/// A payload that has been projected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected {
    /// The selected parts: compact JSON, or CBOR.
    pub payload: Vec<u8>,
    /// The encoding of the sample, except that JSON5 has become JSON.
    pub encoding: Encoding,
}

impl Projection {
    /// Reads an expression. Values of `_project` parameters are percent-encoded: see
    /// [`Select::from_parameters`](super::Select::from_parameters).
    ///
    /// # Errors
    /// If it does not follow the grammar or exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let mut scanner = Scanner::new(text, ARGUMENT, SelectErrorKind::BadProjection)?;
        let mut paths = Vec::new();
        loop {
            scanner.count_node()?;
            let name = scanner.name().ok_or_else(|| scanner.error("the name of a member"))?;
            let mut path = vec![Step::Member(name.to_owned())];
            scanner.steps(&mut path, false)?;
            paths.push(path);
            if scanner.is_at_end() {
                return Ok(Self::new(paths));
            }
            if !(scanner.eat(",") || scanner.eat("|")) {
                return Err(scanner.error("`,` or the end"));
            }
        }
    }

    /// The selected parts of a sample. `None` if it passes unchanged: a deletion, a scalar, or undecodable.
    pub fn apply(
        &self,
        payload: &[u8],
        encoding: &Encoding,
        kind: SampleKind,
    ) -> Option<Projected> {
        if kind == SampleKind::Delete {
            return None;
        }
        let value = decode::decode(payload, encoding, &self.shape, PAYLOAD_LEN_MAX)?;
        self.project(value, encoding)
    }

    /// As [`apply`](Self::apply) for a decoded payload.
    pub(super) fn project(&self, value: Value, encoding: &Encoding) -> Option<Projected> {
        let nothing = match value {
            Value::Map(_) => Value::Map(Vec::new()),
            Value::List(_) => Value::List(Vec::new()),
            _ => return None,
        };
        let value = select(value, &self.shape).unwrap_or(nothing);
        let (payload, encoding) = decode::encode(&value, encoding);
        Some(Projected { payload, encoding })
    }

    pub(super) fn paths(&self) -> Vec<&[Step]> {
        self.paths.iter().map(Vec::as_slice).collect()
    }

    /// A projection that keeps `paths` too; `None` if one of them cannot be written as a projection.
    ///
    /// A path with an index wants the whole list: projected elements would change their places.
    pub(super) fn with(&self, paths: Vec<&[Step]>) -> Option<Self> {
        let mut all = self.paths.clone();
        for path in paths {
            let end = path.iter().position(|step| matches!(step, Step::Index(_)));
            let path = &path[..end.unwrap_or(path.len())];
            match path.first() {
                Some(Step::Member(name)) if is_name(name) => all.push(path.to_vec()),
                _ => return None,
            }
        }
        Some(Self::new(all))
    }

    fn new(mut paths: Vec<Vec<Step>>) -> Self {
        // Of overlapping paths only the shortest counts.
        paths.sort_by_key(Vec::len);
        let mut kept: Vec<Vec<Step>> = Vec::new();
        let mut shape = Shape::default();
        for path in paths {
            if !kept.iter().any(|short| path.starts_with(short)) {
                shape.add(&path);
                kept.push(path);
            }
        }
        Self { paths: kept, shape }
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.paths.iter().enumerate() {
            f.write_str(if index > 0 { "," } else { "" })?;
            for (depth, step) in path.iter().enumerate() {
                match step {
                    Step::Member(name) if depth == 0 => f.write_str(name)?,
                    Step::Member(name) if is_name(name) => write!(f, ".{name}")?,
                    Step::Member(name) => write!(f, "[{}]", Value::from(name.as_str()).to_json())?,
                    Step::Index(index) => write!(f, "[{index}]")?,
                    Step::Elements => f.write_str("[*]")?,
                }
            }
        }
        Ok(())
    }
}

/// Whether a name can be written without quotes.
fn is_name(name: &str) -> bool {
    let scanner = Scanner::new(name, ARGUMENT, SelectErrorKind::BadProjection);
    scanner.is_ok_and(|mut scanner| scanner.name() == Some(name))
}

/// The part of a list or map that `shape` wants; `None` if there is nothing of it.
fn select(value: Value, shape: &Shape) -> Option<Value> {
    match value {
        value if shape.is_whole() => Some(value),
        Value::Map(members) => {
            let selected = members.into_iter().filter_map(|(key, value)| {
                let value = select(value, shape.member_of(&key)?)?;
                Some((key, value))
            });
            let selected: Vec<_> = selected.collect();
            (!selected.is_empty()).then_some(Value::Map(selected))
        }
        Value::List(items) => {
            let shape = shape.elements()?;
            let selected = items.into_iter().filter_map(|item| select_element(item, shape));
            Some(Value::List(selected.collect()))
        }
        _ => None,
    }
}

/// As [`select`] for the element of a list: it stays, if only as an empty object, unless it is of another kind than the
/// paths expect.
fn select_element(value: Value, shape: &Shape) -> Option<Value> {
    match value {
        Value::Map(_) if shape.has_members() => {
            Some(select(value, shape).unwrap_or(Value::Map(Vec::new())))
        }
        value => select(value, shape),
    }
}
