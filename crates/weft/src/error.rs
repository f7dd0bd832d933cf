//! The one error type of the API.

use core::fmt;

use weft_keyexpr::KeyExprError;
use weft_runtime::OpenError;

use crate::config::ConfigError;
use crate::cover::CoverError;
use crate::encoding::EncodingError;
use crate::quorum::QuorumError;
use crate::select::SelectError;

/// What failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a canonical key expression.
    KeyExpr(KeyExprError),
    /// The configuration cannot be used.
    Config(ConfigError),
    /// The session could not be opened.
    Open(OpenError),
    /// The session is closed.
    SessionClosed,
    /// A reply's key does not match the query's, and the query did not say that it may not.
    ReplyKey {
        /// The reply's key.
        key: String,
        /// The query's key expression.
        query: String,
    },
    /// The token of the query was cancelled before.
    Cancelled,
    /// `_filter`, `_project` or `_time` cannot be used.
    Select(SelectError),
    /// The encoding cannot be used.
    Encoding(EncodingError),
    /// Too few repliers agree on what was asked for, or have what was put.
    Quorum(QuorumError),
    /// No complete queryable is known that covers the query, and a partial cover was not wanted.
    Cover(CoverError),
    /// An argument cannot be used.
    Argument {
        /// What, and what to give instead.
        message: String,
    },
}

/// The kind of an [`Error`], for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// See [`Error::KeyExpr`].
    KeyExpr,
    /// See [`Error::Config`].
    Config,
    /// See [`Error::Open`].
    Open,
    /// See [`Error::SessionClosed`].
    SessionClosed,
    /// See [`Error::ReplyKey`].
    ReplyKey,
    /// See [`Error::Cancelled`].
    Cancelled,
    /// See [`Error::Select`].
    Select,
    /// See [`Error::Encoding`].
    Encoding,
    /// See [`Error::Quorum`].
    Quorum,
    /// See [`Error::Cover`].
    Cover,
    /// See [`Error::Argument`].
    Argument,
}

/// A result with [`Error`].
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// What kind of error it is.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::KeyExpr(_) => ErrorKind::KeyExpr,
            Self::Config(_) => ErrorKind::Config,
            Self::Open(_) => ErrorKind::Open,
            Self::SessionClosed => ErrorKind::SessionClosed,
            Self::ReplyKey { .. } => ErrorKind::ReplyKey,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Select(_) => ErrorKind::Select,
            Self::Encoding(_) => ErrorKind::Encoding,
            Self::Quorum(_) => ErrorKind::Quorum,
            Self::Cover(_) => ErrorKind::Cover,
            Self::Argument { .. } => ErrorKind::Argument,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyExpr(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Open(error) => error.fmt(f),
            Self::SessionClosed => f.write_str("session closed"),
            Self::ReplyKey { key, query } => write!(
                f,
                "cannot reply on `{key}` to a query on `{query}`: they do not intersect, \
                 and the query does not accept replies on other keys"
            ),
            Self::Cancelled => f.write_str("query was cancelled"),
            Self::Select(error) => error.fmt(f),
            Self::Encoding(error) => error.fmt(f),
            Self::Quorum(error) => error.fmt(f),
            Self::Cover(error) => error.fmt(f),
            Self::Argument { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

macro_rules! from {
    ($($variant:ident($source:ty)),*) => {$(
        impl From<$source> for Error {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from!(
    KeyExpr(KeyExprError),
    Config(ConfigError),
    Open(OpenError),
    Select(SelectError),
    Encoding(EncodingError),
    Quorum(QuorumError),
    Cover(CoverError)
);

impl From<core::convert::Infallible> for Error {
    fn from(never: core::convert::Infallible) -> Self {
        match never {}
    }
}
