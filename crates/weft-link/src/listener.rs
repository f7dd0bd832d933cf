//! Sockets that take incoming connections.
//!
//! Not here: how many connections are taken, and from whom. Spec: 01 §2.4, §7.1, §7.2, §7.5.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use crate::{
    AcceptFault, Interface, Link, LinkError, LinkOptions, OsError, Target, interfaces, tcp, unix,
};

/// How many connections may wait for [`Listener::accept`]; the kernel may allow fewer
/// (`net.core.somaxconn`).
pub const BACKLOG_MAX: i32 = 1024;

/// A listening socket. Dropping it stops listening and removes the files of a Unix socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    bound: Bound,
}

#[derive(Debug)]
enum Bound {
    Tcp { addr: SocketAddr, iface: Option<String> },
    UnixStream(unix::Files),
}

impl Listener {
    /// Listens on `target`. Port 0 takes a free one; `[::]` takes IPv4 connections too.
    ///
    /// A Unix socket file that no live listener holds is replaced; any other file at that path
    /// stays.
    ///
    /// # Errors
    /// [`LinkError::Bind`], with kind `AddrInUse` if another listener has the address.
    /// [`LinkError::Option`] if the options don't fit.
    pub fn bind(target: &Target, options: &LinkOptions) -> Result<Self, LinkError> {
        match target {
            Target::Tcp(addr) => {
                let socket = tcp::listen(*addr, options)?;
                let bound = socket.local_addr().map(|addr| addr.as_socket());
                let bound = bound.map_err(|error| LinkError::Bind {
                    addr: target.to_string(),
                    cause: error.into(),
                })?;
                let bound =
                    Bound::Tcp { addr: bound.unwrap_or(*addr), iface: options.iface.clone() };
                Ok(Self { socket, bound })
            }
            Target::UnixStream(path) => {
                let (socket, files) = unix::listen(path, options)?;
                Ok(Self { socket, bound: Bound::UnixStream(files) })
            }
        }
    }

    /// Takes one waiting connection, or `None` if there is none.
    ///
    /// # Errors
    /// [`LinkError::Accept`], whose [`AcceptFault`] says whether to accept again at once, to wait,
    /// or to stop.
    pub fn accept(&self) -> Result<Option<Link>, LinkError> {
        let socket = match self.socket.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => {
                let cause = OsError::from(error);
                return Err(self.accept_error(cause.accept_fault(), cause));
            }
        };
        let link = match socket.set_nonblocking(true) {
            Ok(()) => Link::new(socket, &self.target()),
            Err(error) => Err(error),
        };
        link.map(Some).map_err(|error| self.accept_error(AcceptFault::Aborted, error.into()))
    }

    /// The locator as bound, with the port that was chosen, for example `tcp/[::]:7447`.
    pub fn local_locator(&self) -> String {
        self.target().to_string()
    }

    /// The locators under which others reach this listener: a wildcard stands for the address of
    /// every interface that is up (or of the endpoint's `iface`), IPv4 first and IPv6 link-local
    /// last.
    ///
    /// A link-local address is listed without its zone, which means nothing elsewhere.
    ///
    /// # Errors
    /// [`LinkError::Interfaces`] if a wildcard is bound and the interfaces cannot be listed.
    pub fn locators(&self) -> Result<Vec<Reachable>, LinkError> {
        match &self.bound {
            Bound::Tcp { addr, iface } if addr.ip().is_unspecified() => {
                Ok(expand(*addr, iface.as_deref(), &interfaces()?))
            }
            Bound::Tcp { addr, .. } => Ok(vec![Reachable::tcp(addr.ip(), addr.port())]),
            Bound::UnixStream(_) => {
                Ok(vec![Reachable { locator: self.local_locator(), is_loopback: true }])
            }
        }
    }

    fn target(&self) -> Target {
        match &self.bound {
            Bound::Tcp { addr, .. } => Target::Tcp(*addr),
            Bound::UnixStream(files) => Target::UnixStream(files.path().to_owned()),
        }
    }

    fn accept_error(&self, fault: AcceptFault, cause: OsError) -> LinkError {
        LinkError::Accept { addr: self.local_locator(), fault, cause }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// One locator under which a listener can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reachable {
    /// The locator, for example `tcp/192.0.2.1:7447`.
    pub locator: String,
    /// Only processes of this machine reach it (a loopback address or a Unix socket), so a node
    /// elsewhere is not told.
    pub is_loopback: bool,
}

impl Reachable {
    fn tcp(ip: IpAddr, port: u16) -> Self {
        let addr = tcp::canonical(SocketAddr::new(ip, port));
        Self { locator: Target::Tcp(addr).to_string(), is_loopback: addr.ip().is_loopback() }
    }
}

/// The addresses behind the wildcard `any`; the IPv6 wildcard includes IPv4.
fn expand(any: SocketAddr, iface: Option<&str>, interfaces: &[Interface]) -> Vec<Reachable> {
    let eligible =
        |interface: &&Interface| interface.is_up && iface.is_none_or(|name| name == interface.name);
    let addresses = interfaces.iter().filter(eligible).flat_map(|interface| &interface.addresses);
    let mut addresses: Vec<IpAddr> =
        addresses.filter(|ip| ip.is_ipv4() || any.is_ipv6()).copied().collect();
    addresses.sort_by_key(|ip| match ip {
        IpAddr::V4(_) => 0,
        IpAddr::V6(ip) => 1 + u8::from(ip.is_unicast_link_local()),
    });
    addresses.into_iter().map(|ip| Reachable::tcp(ip, any.port())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Vec<Interface> {
        let interface = |name: &str, index, addresses: &[&str], is_up| Interface {
            name: name.into(),
            index,
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            is_up,
            is_multicast: true,
            is_loopback: name == "lo",
        };
        vec![
            interface("lo", 1, &["127.0.0.1", "::1"], true),
            interface("eth0", 2, &["192.0.2.2", "fe80::2", "2001:db8::2"], true),
            interface("eth1", 3, &["198.51.100.3"], true),
            interface("down", 4, &["203.0.113.4"], false),
        ]
    }

    fn expanded(any: &str, iface: Option<&str>) -> Vec<(String, bool)> {
        let found = expand(any.parse().unwrap(), iface, &machine());
        found.into_iter().map(|reachable| (reachable.locator, reachable.is_loopback)).collect()
    }

    #[test]
    fn the_ipv6_wildcard_is_every_address_of_every_interface_that_is_up() {
        let expected = [
            ("tcp/127.0.0.1:7", true),
            ("tcp/192.0.2.2:7", false),
            ("tcp/198.51.100.3:7", false),
            ("tcp/[::1]:7", true),
            ("tcp/[2001:db8::2]:7", false),
            ("tcp/[fe80::2]:7", false),
        ];
        assert_eq!(
            expanded("[::]:7", None),
            expected.map(|(locator, local)| (locator.to_owned(), local))
        );
    }

    #[test]
    fn the_ipv4_wildcard_leaves_ipv6_out_and_iface_the_other_interfaces() {
        let expected = ["tcp/127.0.0.1:7", "tcp/192.0.2.2:7", "tcp/198.51.100.3:7"];
        assert_eq!(
            expanded("0.0.0.0:7", None).into_iter().map(|(locator, _)| locator).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(expanded("0.0.0.0:7", Some("eth1")), [("tcp/198.51.100.3:7".to_owned(), false)]);
    }
}
