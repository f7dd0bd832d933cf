//! A connection that is being made.
//!
//! Not here: which addresses are tried, when, and for how long. A caller starts as many dials as it
//! likes; none waits for another. Spec: 01 §7.1.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use crate::{Link, LinkError, LinkOptions, OsError, Target, tcp, unix};

/// A non-blocking connection attempt to one target. Dropping it gives up.
#[derive(Debug)]
pub struct Dial {
    socket: Socket,
    target: Target,
}

impl Dial {
    /// Starts to connect. The result is there when the descriptor is writable; call
    /// [`finish`](Self::finish) then.
    ///
    /// # Errors
    /// [`LinkError::Connect`] for what the system knows at once, such as a missing route. A Unix
    /// listener with a full queue is of kind `WouldBlock`: nothing will become ready, try again
    /// later. [`LinkError::Option`] and [`LinkError::Bind`] if the options don't fit.
    pub fn start(target: &Target, options: &LinkOptions) -> Result<Self, LinkError> {
        let socket = match target {
            Target::Tcp(addr) => tcp::connect(*addr, options)?,
            Target::UnixStream(path) => unix::connect(path, options)?,
        };
        Ok(Self { socket, target: target.clone() })
    }

    /// What this dial connects to.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Turns the dial into its link.
    ///
    /// # Errors
    /// [`DialError::Pending`] hands the dial back if there is no result yet, so an early call does
    /// no harm. [`DialError::Failed`] says why there will be no link.
    pub fn finish(self) -> Result<Link, DialError> {
        let error = match self.connected() {
            Ok(true) => match Link::new(self.socket, &self.target) {
                Ok(link) => return Ok(link),
                Err(error) => error.into(),
            },
            Ok(false) => return Err(DialError::Pending(self)),
            Err(error) => error,
        };
        Err(DialError::Failed(LinkError::Connect { addr: self.target.to_string(), cause: error }))
    }

    fn connected(&self) -> Result<bool, OsError> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error.into());
        }
        match self.socket.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Dial {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Why [`Dial::finish`] has no link.
#[derive(Debug)]
pub enum DialError {
    /// Not yet. Wait until the dial is writable.
    Pending(Dial),
    /// It failed.
    Failed(LinkError),
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending(dial) => write!(f, "still connecting to {}", dial.target),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DialError {}
