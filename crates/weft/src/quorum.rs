//! Quorums: what several independent repliers say, and what several of them have.
//!
//! Both are made of ordinary queries, so they work through any router and with storages of any vendor.
//! [`GetBuilder::quorum`](crate::GetBuilder::quorum) asks all and compares what each replier says of a
//! key (`votes`); [`PutBuilder::quorum`](crate::PutBuilder::quorum) puts and then reads back until enough
//! repliers have what was put, or something newer. A replier is whom a reply names as its source; replies
//! that name nobody count as one replier together.
//!
//! Not here: how many repliers there ought to be. A quorum is a number that the application chooses; that
//! it is a majority is the application's knowledge. See `docs/design/queries.md`.

mod get;
mod put;
mod votes;

use core::fmt;

use weft_keyexpr::KeyExpr;

use crate::error::{Error, Result};
use crate::sample::Sample;

pub use crate::acknowledge::ACKNOWLEDGED_KEYS_MAX;
pub use get::QuorumGet;
pub use put::QuorumPut;
pub(crate) use put::Written;
pub use votes::{MEMORY_MAX, REPLIERS_MAX};

/// What enough repliers agree on.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// One sample for each key with a quorum, in the order of the keys.
    pub samples: Vec<Sample>,
    /// Keys without one, and how many repliers at most said the same.
    pub short: Vec<(KeyExpr, usize)>,
    /// How many repliers had sent a sample when it was clear.
    pub repliers: usize,
}

/// There is no quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuorumError {
    /// How many repliers had to agree.
    pub wanted: usize,
    /// How many did: of a get, those that said the same of the key that came closest; of a put, those
    /// that have it.
    pub got: usize,
    /// How many repliers sent a sample at all.
    pub repliers: usize,
    /// How many error replies came.
    pub errors: usize,
    /// Why there will be no more.
    pub end: QuorumEnd,
}

/// Why a quorum is not waited for any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuorumEnd {
    /// All have answered.
    Answered,
    /// The time is over.
    TimedOut,
    /// There are more repliers or longer answers than are compared: [`REPLIERS_MAX`], [`MEMORY_MAX`].
    TooMuch,
}

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, got, repliers, .. } = self;
        let why = match self.end {
            QuorumEnd::Answered => "all have answered",
            QuorumEnd::TimedOut => "the time is over",
            QuorumEnd::TooMuch => "there are too many answers to compare",
        };
        write!(f, "no quorum: {got} of {wanted} repliers agree, {repliers} answered, and {why}")
    }
}

impl std::error::Error for QuorumError {}

/// The size of a quorum as the application gave it.
fn checked(wanted: usize) -> Result<usize> {
    if (1..=REPLIERS_MAX).contains(&wanted) {
        return Ok(wanted);
    }
    Err(Error::Argument { message: format!("a quorum is 1 to {REPLIERS_MAX}, not {wanted}") })
}
