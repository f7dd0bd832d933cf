//! Why a link could not be set up.
//!
//! Not here: errors of an established link, which are `std::io::Error` because its reader and
//! writer act on the kind at once and keep nothing.

use std::error::Error;
use std::fmt;
use std::io;

use rustix::io::Errno;

use crate::{LinkOptions, Proto};

/// Why a link or a scouting socket could not be set up. Its `Display` is one line and says what to
/// do about it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The protocol does not exist or is not part of this build.
    UnsupportedProto {
        /// The name as given.
        proto: String,
    },
    /// The address is not in the protocol's syntax.
    Address {
        /// The address as given.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The host name has no address, or the resolver did not answer.
    Resolve {
        /// The host name.
        host: String,
        /// The resolver's words.
        reason: String,
    },
    /// An endpoint option is unknown, malformed, or does not fit.
    Option {
        /// The option's key.
        key: String,
        /// What is wrong with it.
        fault: OptionFault,
    },
    /// The local address could not be taken.
    Bind {
        /// The locator.
        addr: String,
        /// The system's reason.
        cause: OsError,
    },
    /// The peer could not be reached.
    Connect {
        /// The locator.
        addr: String,
        /// The system's reason.
        cause: OsError,
    },
    /// An incoming connection could not be taken. `fault` says whether to go on.
    Accept {
        /// The listener's locator.
        addr: String,
        /// What the caller does next.
        fault: AcceptFault,
        /// The system's reason.
        cause: OsError,
    },
    /// The system did not list its network interfaces.
    Interfaces {
        /// The system's reason.
        cause: OsError,
    },
    /// No network interface fits the name or address.
    UnknownInterface {
        /// The name or address as given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The scouting group is not a multicast address.
    Group {
        /// The address as given.
        address: String,
    },
    /// A scouting socket could not be set up.
    Scout {
        /// The interface, or the group for what concerns all interfaces.
        on: String,
        /// The system's reason.
        cause: OsError,
    },
}

impl LinkError {
    /// The kind of the system's error, if one is behind this.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Bind { cause, .. }
            | Self::Connect { cause, .. }
            | Self::Accept { cause, .. }
            | Self::Interfaces { cause }
            | Self::Scout { cause, .. }
            | Self::Option { fault: OptionFault::Refused(cause), .. } => Some(cause.kind()),
            _ => None,
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedProto { proto } => {
                let known: Vec<_> = Proto::ALL.iter().map(|proto| proto.as_str()).collect();
                write!(f, "protocol `{proto}` is not supported; use one of: {}", known.join(", "))
            }
            Self::Address { address, reason } => {
                write!(f, "address `{address}` is not valid: {reason}")
            }
            Self::Resolve { host, reason } => {
                write!(
                    f,
                    "host name `{host}` does not resolve ({reason}); check the name or use an IP address"
                )
            }
            Self::Option { key, fault } => write!(f, "endpoint option `{key}` {fault}"),
            Self::Bind { addr, cause } => {
                write!(f, "cannot listen on {addr}: {cause}{}", bind_hint(*cause))
            }
            Self::Connect { addr, cause } => {
                write!(f, "cannot connect to {addr}: {cause}{}", connect_hint(*cause))
            }
            Self::Accept { addr, cause, .. } => {
                write!(f, "cannot accept a connection on {addr}: {cause}{}", cause.limit_hint())
            }
            Self::Interfaces { cause } => write!(f, "cannot list the network interfaces: {cause}"),
            Self::UnknownInterface { name, known } => {
                write!(f, "no network interface fits `{name}`; there are: {}", known.join(", "))
            }
            Self::Group { address } => {
                write!(
                    f,
                    "`{address}` is not a multicast address; scouting needs one, such as 224.0.0.224:7446"
                )
            }
            Self::Scout { on, cause } => {
                write!(
                    f,
                    "cannot scout on {on}: {cause}; choose other interfaces, or turn multicast scouting off"
                )
            }
        }
    }
}

impl Error for LinkError {}

/// What is wrong with an endpoint option.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionFault {
    /// No link has an option of that name.
    Unknown,
    /// The value is empty.
    Empty,
    /// The value is not a whole number from 0 to `max`, or, where allowed, several joined by `|`.
    Number {
        /// The largest allowed value.
        max: u32,
    },
    /// The value is not `address:port`.
    SocketAddress,
    /// The option excludes another one that is present too.
    Conflict {
        /// The other option's key.
        with: &'static str,
    },
    /// The option has no meaning for this protocol.
    NotFor {
        /// The endpoint's protocol.
        proto: Proto,
    },
    /// The option is for dialing only.
    DialOnly,
    /// The address is IPv4 and the target IPv6, or the reverse.
    OtherFamily,
    /// This operating system has no such option.
    NotOnThisSystem,
    /// The operating system refused the value.
    Refused(OsError),
}

impl fmt::Display for OptionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(f, "is not known; there are: {}", LinkOptions::KEYS.join(", ")),
            Self::Empty => f.write_str("needs a value"),
            Self::Number { max } => write!(f, "needs a whole number from 0 to {max}"),
            Self::SocketAddress => {
                f.write_str("needs an IP address and a port, such as 192.0.2.1:0")
            }
            Self::Conflict { with } => {
                write!(f, "cannot be combined with `{with}`; drop one of the two")
            }
            Self::NotFor { proto } => write!(f, "has no meaning for `{proto}`; drop it"),
            Self::DialOnly => {
                f.write_str("is for endpoints to connect to; a listener binds to its own address")
            }
            Self::OtherFamily => {
                f.write_str("is of another IP version than the address to connect to")
            }
            Self::NotOnThisSystem => {
                f.write_str("does not exist on this operating system; drop it")
            }
            Self::Refused(cause) => write!(f, "was refused by the operating system: {cause}"),
        }
    }
}

/// What a caller of [`Listener::accept`](crate::Listener::accept) does about an error.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptFault {
    /// That one connection died in the queue. Accept again at once.
    Aborted,
    /// Descriptors or memory have run out, or the system has a reason that is not known here. The
    /// connection stays in the queue and the listener stays readable, so wait before the next
    /// attempt and do not poll for readiness meanwhile.
    Exhausted,
    /// The listener itself is broken. Close it.
    Broken,
}

/// An error number of the operating system; its `Display` is the system's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsError {
    code: i32,
}

impl OsError {
    /// The portable kind.
    pub fn kind(self) -> io::ErrorKind {
        io::Error::from_raw_os_error(self.code).kind()
    }

    /// The system's number (`errno`).
    pub fn code(self) -> i32 {
        self.code
    }

    pub(crate) fn is(self, errno: Errno) -> bool {
        self.code == errno.raw_os_error()
    }

    /// What an accept that ended with this means for the listener.
    ///
    /// Linux hands a network error that is already pending on the new connection to `accept`; such
    /// an error says nothing about the listener. What is not known pauses: that neither spins nor
    /// gives the listener up.
    pub(crate) fn accept_fault(self) -> AcceptFault {
        match Errno::from_raw_os_error(self.code) {
            Errno::CONNABORTED | Errno::CONNRESET | Errno::TIMEDOUT | Errno::INTR => {
                AcceptFault::Aborted
            }
            Errno::NETDOWN | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::HOSTUNREACH => {
                AcceptFault::Aborted
            }
            Errno::PROTO | Errno::NOPROTOOPT | Errno::OPNOTSUPP => AcceptFault::Aborted,
            Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::FAULT => AcceptFault::Broken,
            _ => AcceptFault::Exhausted,
        }
    }

    fn limit_hint(self) -> &'static str {
        match Errno::from_raw_os_error(self.code) {
            Errno::MFILE | Errno::NFILE => "; raise the limit of open files (ulimit -n)",
            _ => "",
        }
    }
}

impl From<io::Error> for OsError {
    /// The one error without a number that this crate's calls make is a path too long for a socket.
    fn from(error: io::Error) -> Self {
        Self { code: error.raw_os_error().unwrap_or(Errno::NAMETOOLONG.raw_os_error()) }
    }
}

impl From<Errno> for OsError {
    fn from(errno: Errno) -> Self {
        Self { code: errno.raw_os_error() }
    }
}

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.code).fmt(f)
    }
}

impl Error for OsError {}

fn bind_hint(cause: OsError) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "; stop the program that uses it or choose another address",
        io::ErrorKind::AddrNotAvailable => "; choose an address that this machine has",
        io::ErrorKind::PermissionDenied => {
            "; choose another port or directory, or run with more rights"
        }
        _ => cause.limit_hint(),
    }
}

fn connect_hint(cause: OsError) -> &'static str {
    match cause.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            "; check the address and that a node listens there"
        }
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "; check the address and the network's routes"
        }
        io::ErrorKind::InvalidInput => {
            "; a link-local address needs its interface, as in [fe80::1%eth0]:7447"
        }
        io::ErrorKind::WouldBlock => "; the listener's queue is full, try again later",
        _ => cause.limit_hint(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_place_the_reason_and_the_remedy() {
        let error =
            LinkError::Bind { addr: "tcp/127.0.0.1:7447".into(), cause: Errno::ADDRINUSE.into() };
        let text = error.to_string();
        assert!(
            text.contains("tcp/127.0.0.1:7447")
                && text.contains("in use")
                && text.contains("choose"),
            "{text}"
        );
        assert_eq!(error.kind(), Some(io::ErrorKind::AddrInUse));
        let error =
            LinkError::Connect { addr: "tcp/127.0.0.1:1".into(), cause: Errno::MFILE.into() };
        assert!(error.to_string().contains("ulimit -n"), "{error}");
    }

    #[test]
    fn accept_errors_are_told_apart() {
        assert_eq!(OsError::from(Errno::MFILE).accept_fault(), AcceptFault::Exhausted);
        assert_eq!(OsError::from(Errno::CONNABORTED).accept_fault(), AcceptFault::Aborted);
        assert_eq!(OsError::from(Errno::HOSTUNREACH).accept_fault(), AcceptFault::Aborted);
        assert_eq!(OsError::from(Errno::INVAL).accept_fault(), AcceptFault::Broken);
    }
}
