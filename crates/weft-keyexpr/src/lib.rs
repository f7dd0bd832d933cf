//! Key expressions: canonical form, relations, trees, selectors, parameters and time ranges.
//!
//! A *key* is a `/`-separated list of non-empty chunks. A *key expression* denotes a set of keys:
//! `*` stands for one chunk, `**` for any number of chunks, `$*` for any characters inside a chunk.
//! A chunk that starts with `@` is *verbatim*: only the same text matches it.
//!
//! | Types | Hold |
//! |---|---|
//! | [`Ke`], [`KeyExpr`] | a validated key expression, borrowed and owned |
//! | [`KeTree`] | values stored under key expressions, found by relation without a scan |
//! | [`KeFormat`] | templates that build key expressions from values and take them apart |
//! | [`Parameters`], [`Selector`] | the `?name=value;…` part of a query, and the whole of it |
//! | [`TimeRange`] | the language of the `_time` parameter |
//!
//! Not here: `_filter` and `_project`, which look into payloads; numeric ids of key expressions on
//! the wire.
//!
//! Spec: 04 §1–11.
//!
//! Every function accepts text from untrusted peers: nothing panics, recurses with the input's
//! length, or takes more than quadratic time. Quadratic still is about a second for two hostile key
//! expressions of 64 KiB, so whoever takes them from peers limits the number of their chunks.
//!
//! ```
//! use weft_keyexpr::Ke;
//!
//! let sensors = Ke::new("factory/*/temp/**")?;
//! assert!(sensors.intersects(Ke::new("factory/hall1/temp")?));
//! assert!(sensors.includes(Ke::new("factory/hall1/temp/*")?));
//! assert!(Ke::new("factory//temp").is_err());
//! # Ok::<(), weft_keyexpr::KeyExprError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod canon;
mod chunk;
mod error;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz_bodies;
mod ke;
mod key_expr;
#[cfg(any(test, feature = "fuzzing"))]
mod oracle;
mod parameters;
mod relation;
mod selector;
mod sn_range;
#[cfg(test)]
mod testing;
mod time_range;
mod tree;

pub use error::{KeyExprError, KeyExprErrorKind};
pub use format::{
    FormatBuildError, FormatFields, FormatSetError, FormatSpec, KeFormat, KeFormatError,
    KeFormatErrorKind, KeFormatter,
};
pub use ke::{Chunks, Ke, SetIntersectionLevel};
pub use key_expr::KeyExpr;
pub use parameters::{
    PARAMETER_ANY_KEY, PARAMETER_MAX, PARAMETER_RAW, PARAMETER_SN, PARAMETER_TIME, ParameterError,
    Parameters, ParametersView,
};
pub use selector::{Selector, SelectorView};
pub use sn_range::SnRange;
pub use time_range::{TimeBound, TimeExpr, TimeRange, TimeRangeError};
pub use tree::{CHUNKS_INLINE_MAX, KeTree};
