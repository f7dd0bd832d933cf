//! What can be dialed or listened on: protocol names, addresses, and the targets they resolve to.
//!
//! Not here: the text form of locators and endpoints, which the caller has already split.
//! Spec: 01 §2.1, §7.1.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{LinkError, tcp, unix};

/// The largest number of targets one address resolves to; a resolver's further answers are dropped.
pub const TARGETS_MAX: usize = 32;

/// The protocols that this build has links for.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proto {
    /// `tcp/host:port`
    Tcp,
    /// `unixsock-stream/path`
    UnixStream,
}

impl Proto {
    /// Every protocol of this build.
    pub const ALL: &[Self] = &[Self::Tcp, Self::UnixStream];

    /// The name in front of the `/` of a locator.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::UnixStream => "unixsock-stream",
        }
    }
}

impl FromStr for Proto {
    type Err = LinkError;

    fn from_str(name: &str) -> Result<Self, LinkError> {
        let known = Self::ALL.iter().copied().find(|proto| proto.as_str() == name);
        known.ok_or_else(|| LinkError::UnsupportedProto { proto: name.to_owned() })
    }
}

impl fmt::Display for Proto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The two parts of a locator that a link needs: `proto/address`, without metadata and
/// configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// The protocol's name, for example `tcp`.
    pub proto: &'a str,
    /// The rest, in that protocol's syntax: `host:port`, or a path.
    pub address: &'a str,
}

/// One resolved address: what [`Dial`](crate::Dial) connects to and [`Listener`](crate::Listener)
/// binds.
///
/// Its `Display` is the locator, for example `tcp/127.0.0.1:7447`.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An IP address and a TCP port.
    Tcp(SocketAddr),
    /// A path of at most 107 bytes (a limit of the socket interface).
    UnixStream(PathBuf),
}

impl Target {
    /// The protocol that reaches this target.
    pub fn proto(&self) -> Proto {
        match self {
            Self::Tcp(_) => Proto::Tcp,
            Self::UnixStream(_) => Proto::UnixStream,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => write!(f, "{}/{addr}", self.proto()),
            Self::UnixStream(path) => write!(f, "{}/{}", self.proto(), path.display()),
        }
    }
}

/// Everything that `address` names, in the resolver's order, without duplicates and at most
/// [`TARGETS_MAX`].
///
/// Blocks as long as the system's resolver does if the host is a name; see [`is_literal`].
///
/// # Errors
/// [`LinkError::UnsupportedProto`], [`LinkError::Address`], [`LinkError::Resolve`].
pub fn resolve(address: Address<'_>) -> Result<Vec<Target>, LinkError> {
    match address.proto.parse()? {
        Proto::Tcp => Ok(tcp::resolve(address.address)?.into_iter().map(Target::Tcp).collect()),
        Proto::UnixStream => Ok(vec![Target::UnixStream(unix::path(address.address)?)]),
    }
}

/// Whether [`resolve`] answers without asking a name server, so that it can be called where nothing
/// may block.
///
/// True as well for an address that [`resolve`] refuses, since that is instant too.
pub fn is_literal(address: Address<'_>) -> bool {
    match address.proto.parse() {
        Ok(Proto::Tcp) => tcp::is_literal(address.address),
        Ok(Proto::UnixStream) | Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(address: &str) -> Address<'_> {
        Address { proto: "tcp", address }
    }

    #[test]
    fn an_unknown_protocol_names_the_known_ones() {
        let error = resolve(Address { proto: "quic", address: "[::1]:7447" }).unwrap_err();
        assert_eq!(error, LinkError::UnsupportedProto { proto: "quic".into() });
        let text = error.to_string();
        assert!(text.contains("quic") && text.contains("tcp, unixsock-stream"), "{text}");
    }

    #[test]
    fn literals_become_targets_that_print_as_their_locator() {
        for literal in ["127.0.0.1:7447", "[::1]:7447", "0.0.0.0:0"] {
            let targets = resolve(tcp(literal)).unwrap();
            assert!(is_literal(tcp(literal)));
            assert_eq!(
                targets.iter().map(ToString::to_string).collect::<Vec<_>>(),
                [format!("tcp/{literal}")]
            );
        }
        let unix = Address { proto: "unixsock-stream", address: "/run/weft.sock" };
        assert!(is_literal(unix));
        assert_eq!(resolve(unix).unwrap()[0].to_string(), "unixsock-stream//run/weft.sock");
    }

    #[test]
    fn only_names_may_block() {
        assert!(!is_literal(tcp("localhost:7447")));
        assert!(is_literal(tcp("no port")));
        assert!(is_literal(Address { proto: "quic", address: "localhost:7447" }));
    }

    #[test]
    fn localhost_resolves_to_loopback() {
        let targets = resolve(tcp("localhost:7447")).unwrap();
        assert!(!targets.is_empty() && targets.len() <= TARGETS_MAX);
        for target in targets {
            assert!(
                matches!(target, Target::Tcp(addr) if addr.ip().is_loopback() && addr.port() == 7447)
            );
        }
    }
}
