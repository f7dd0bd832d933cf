//! Why a node could not be opened.

use std::fmt;

use weft_link::LinkError;

/// Why a node could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// An endpoint could not be bound.
    Listen(LinkError),
    /// Nothing that had to be connected could be.
    NotConnected {
        /// One line that says what was tried.
        reason: String,
    },
    /// The system gave no thread or descriptor.
    Resources(std::io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(error) => error.fmt(f),
            Self::NotConnected { reason } => f.write_str(reason),
            Self::Resources(error) => write!(f, "the system refuses resources: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<LinkError> for OpenError {
    fn from(error: LinkError) -> Self {
        Self::Listen(error)
    }
}
