//! What must hold in every simulation, at every step.
//!
//! Each checker keeps its own plain record of what happened and knows nothing of the engine. It
//! returns a [`Violation`] the moment that something happens which must not.

pub(crate) mod circles;
pub(crate) mod convergence;
pub(crate) mod delivery;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod query;
pub(crate) mod rerouting;
pub(crate) mod subscription;

use core::fmt;

/// Something that must not happen, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) type Verdict = Result<(), Violation>;

/// Fails with a violation, unless a condition holds.
macro_rules! hold {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err($crate::check::Violation(format!($($text)*)));
        }
    };
}
pub(crate) use hold;
