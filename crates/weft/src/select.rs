//! `_filter` and `_project`: choosing samples, and parts of samples, by the content of their payloads.
//!
//! Both are parameters of a selector: `home/**?_filter=temp>25;_project=hum`. [`Select`] is the two together, as a responder
//! or a querier applies them; [`Filter`] and [`Projection`] are the two languages.
//!
//! Not here: when they are applied and by whom (storages, `get`, subscribers). Other implementations ignore them, so a
//! querier applies them again to what it receives.
//!
//! Spec: 04 §12. Invariants:
//! - Evaluating never fails: what cannot be decoded does not match a filter and passes a projection unchanged.
//! - Only the parts that are looked at are decoded, within the limits of this module and of the value decoder.
//!
//! ```
//! use weft::encoding::Encoding;
//! use weft::select::{SampleKind, Select, Selected};
//!
//! let select = Select::from_parameters("_filter=temp>25;_project=hum")?.expect("has both");
//! let payload = br#"{"temp": 26, "hum": 40, "name": "Bob"}"#;
//! let selected = select.apply(payload, &Encoding::APPLICATION_JSON, SampleKind::Put);
//! let Selected::Projected(projected) = selected else { panic!() };
//! assert_eq!(projected.payload, br#"{"hum":40}"#);
//! # Ok::<(), weft::select::SelectError>(())
//! ```

mod argument;
mod decode;
mod error;
mod filter;
mod glob;
mod parse;
mod project;
mod scan;
#[cfg(test)]
mod tests;

use crate::encoding::Encoding;
use crate::value::Shape;

pub use argument::escape_argument;
pub use error::{SelectError, SelectErrorKind};
pub use filter::Filter;
pub use project::{Projected, Projection};

/// Longest expression, in bytes.
pub const EXPRESSION_LEN_MAX: usize = 4096;

/// Deepest nesting of parentheses and negations in a filter, and longest path, in steps.
pub const NESTING_MAX: usize = 32;

/// Most parts of an expression: tests, operators, literals of lists, paths of a projection.
pub const NODE_COUNT_MAX: usize = 256;

/// Longest payload that is looked into, in bytes, unless [`Select::payload_len_max`] says otherwise.
pub const PAYLOAD_LEN_MAX: usize = 16 << 20;

/// What a sample says about its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SampleKind {
    /// The key has this value.
    #[default]
    Put,
    /// The key has no value any more.
    Delete,
}

/// The `_filter` and the `_project` of a selector; at least one of them.
#[derive(Clone, Debug)]
pub struct Select {
    filter: Option<Filter>,
    projection: Option<Projection>,
    /// What both look at together.
    shape: Shape,
    payload_len_max: usize,
}

/// What becomes of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// The filter refuses it.
    No,
    /// It passes as it is.
    Unchanged,
    /// It passes with another payload and encoding.
    Projected(Projected),
}

impl Select {
    /// Reads both parameters; `None` if there is neither.
    ///
    /// # Errors
    /// If one of them is malformed, empty or given twice.
    pub fn from_parameters(parameters: &str) -> Result<Option<Self>, SelectError> {
        let filter = argument::find(parameters, filter::ARGUMENT)?;
        let projection = argument::find(parameters, project::ARGUMENT)?;
        if filter.is_none() && projection.is_none() {
            return Ok(None);
        }
        let filter = filter.map(|text| Filter::parse(&text)).transpose()?;
        let projection = projection.map(|text| Projection::parse(&text)).transpose()?;
        let mut shape = Shape::default();
        for path in filter.iter().flat_map(Filter::paths) {
            shape.add(path);
        }
        for path in projection.iter().flat_map(Projection::paths) {
            shape.add(path);
        }
        Ok(Some(Self { filter, projection, shape, payload_len_max: PAYLOAD_LEN_MAX }))
    }

    /// Sets the longest payload that is looked into, in bytes; longer ones count as undecodable.
    #[must_use]
    pub const fn payload_len_max(mut self, len: usize) -> Self {
        self.payload_len_max = len;
        self
    }

    /// The filter, if there is one.
    pub const fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// The projection, if there is one.
    pub const fn projection(&self) -> Option<&Projection> {
        self.projection.as_ref()
    }

    /// Filters a sample, then projects it. Decodes the payload once.
    pub fn apply(&self, payload: &[u8], encoding: &Encoding, kind: SampleKind) -> Selected {
        let value = match kind {
            SampleKind::Put => decode::decode(payload, encoding, &self.shape, self.payload_len_max),
            SampleKind::Delete => None,
        };
        let holds = |filter: &Filter| value.as_ref().is_some_and(|value| filter.holds(value));
        if !self.filter.as_ref().is_none_or(holds) {
            return Selected::No;
        }
        let projected = self.projection.as_ref().zip(value);
        let projected =
            projected.and_then(|(projection, value)| projection.project(value, encoding));
        projected.map_or(Selected::Unchanged, Selected::Projected)
    }

    /// The projection that a querier sends to responders when it applies this one itself: it keeps also what the filter
    /// looks at. `None` if everything is needed, or was asked for.
    pub fn pushdown(&self) -> Option<Projection> {
        let projection = self.projection.as_ref()?;
        match &self.filter {
            None => Some(projection.clone()),
            Some(filter) => projection.with(filter.paths()),
        }
    }
}
