//! The multicast sockets by which nodes find each other.
//!
//! A node asks from one [`ScoutSocket`] for each selected interface; answers come back to that
//! socket. It hears the others' questions on one [`ScoutListener`], which shares its port with
//! every other node of the machine, and answers from the scout socket that is [`closest`] to the
//! asker.
//!
//! Not here: the messages, their schedule, who answers whom. Spec: 01 §2.4, 03 §10.2.
//!
//! One addition: on a machine without a usable network interface, `auto` selects the loopback
//! interface, so that the nodes of that machine still find each other (the specification falls back
//! to the IPv6 wildcard, which reaches nobody there).
//!
//! ```text
//!   ScoutSocket, any:ephemeral,                           ScoutListener, group:7446,
//!   one for each interface                                joined on every interface
//!      |--- SCOUT to the group ------------------------------> others' listeners
//!      |<-- HELLO, from another node's scout socket            |
//!      '--- HELLO to an asker <------ decided by the node <----' SCOUT of another node
//! ```

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::{Domain, Protocol, Socket, Type};

use crate::{Interface, LinkError, interfaces};

/// A receive buffer of this many bytes holds every datagram; of a longer one than the buffer the
/// rest is lost.
pub const DATAGRAM_LEN_MAX: usize = 65_535;

/// The multicast group that nodes meet in, and how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    addr: SocketAddr,
    ttl: u8,
}

impl Group {
    /// The group `addr`, reached over at most `ttl` routers (1 stays in the local network).
    ///
    /// # Errors
    /// [`LinkError::Group`] if `addr` is not a multicast address.
    pub fn new(addr: SocketAddr, ttl: u8) -> Result<Self, LinkError> {
        if addr.ip().is_multicast() {
            Ok(Self { addr, ttl })
        } else {
            Err(LinkError::Group { address: addr.to_string() })
        }
    }

    /// The group's address and port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Default for Group {
    /// 224.0.0.224:7446, local network.
    fn default() -> Self {
        Self { addr: SocketAddr::from(([224, 0, 0, 224], 7446)), ttl: 1 }
    }
}

/// An interface to scout on, with its addresses of the group's IP version. Made by [`select`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoutInterface {
    name: String,
    index: u32,
    /// Never empty; the first one identifies the interface to the system.
    addresses: Vec<IpAddr>,
}

impl ScoutInterface {
    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address that questions come from.
    pub fn address(&self) -> IpAddr {
        self.addresses[0]
    }
}

/// The interfaces that `selection` means: `auto`, or a comma-separated list of names and addresses.
///
/// `auto` is every multicast-capable interface that is up, except loopback; if there is none,
/// loopback.
///
/// # Errors
/// [`LinkError::UnknownInterface`] if an item fits no interface with an address of the group's IP
/// version, or nothing is selected at all. [`LinkError::Interfaces`].
pub fn select(selection: &str, group: &Group) -> Result<Vec<ScoutInterface>, LinkError> {
    select_from(&interfaces()?, selection, group)
}

/// Asks: sends to the group through one interface, receives the answers, and answers others.
#[derive(Debug)]
pub struct ScoutSocket {
    socket: UdpSocket,
    interface: ScoutInterface,
    group: SocketAddr,
    port: u16,
}

impl ScoutSocket {
    /// Opens a non-blocking socket on a free port.
    ///
    /// # Errors
    /// [`LinkError::Scout`].
    pub fn open(group: &Group, interface: ScoutInterface) -> Result<Self, LinkError> {
        let opened = Self::open_socket(group, &interface);
        let (socket, port) = opened.map_err(|error| LinkError::Scout {
            on: interface.name.clone(),
            cause: error.into(),
        })?;
        let mut group = group.addr;
        if let SocketAddr::V6(addr) = &mut group {
            addr.set_scope_id(interface.index);
        }
        Ok(Self { socket, interface, group, port })
    }

    fn open_socket(group: &Group, interface: &ScoutInterface) -> io::Result<(UdpSocket, u16)> {
        let socket = udp_socket(group)?;
        let any: IpAddr = match interface.address() {
            IpAddr::V4(address) => {
                socket.set_multicast_if_v4(&address)?;
                socket.set_multicast_ttl_v4(group.ttl.into())?;
                socket.set_multicast_loop_v4(true)?;
                Ipv4Addr::UNSPECIFIED.into()
            }
            IpAddr::V6(_) => {
                socket.set_multicast_if_v6(interface.index)?;
                socket.set_multicast_hops_v6(group.ttl.into())?;
                socket.set_multicast_loop_v6(true)?;
                Ipv6Addr::UNSPECIFIED.into()
            }
        };
        socket.bind(&SocketAddr::new(any, 0).into())?;
        let socket = UdpSocket::from(socket);
        let port = socket.local_addr()?.port();
        Ok((socket, port))
    }

    /// The interface that questions leave through.
    pub fn interface(&self) -> &ScoutInterface {
        &self.interface
    }

    /// Sends one datagram to the group.
    ///
    /// # Errors
    /// `WouldBlock` if the kernel's buffer is full; `NetworkUnreachable` and the like while the
    /// interface is down, so the socket stays usable.
    pub fn send_to_group(&self, datagram: &[u8]) -> io::Result<()> {
        self.send_to(datagram, self.group)
    }

    /// Sends one datagram to one node.
    ///
    /// # Errors
    /// As [`send_to_group`](Self::send_to_group).
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        self.socket.send_to(datagram, to).map(drop)
    }

    /// Receives one datagram: its length and its sender. See [`DATAGRAM_LEN_MAX`].
    ///
    /// # Errors
    /// `WouldBlock` if there is none.
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    /// Whether a datagram that the listener received from `sender` is one that this socket sent to
    /// the group.
    pub fn is_sender(&self, sender: SocketAddr) -> bool {
        sender.port() == self.port && self.interface.addresses.contains(&sender.ip())
    }
}

impl AsFd for ScoutSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The socket to answer `asker` from: its interface's address shares the most leading octets. The
/// first one of equals.
pub fn closest(sockets: &[ScoutSocket], asker: IpAddr) -> Option<&ScoutSocket> {
    // `max_by_key` keeps the last one of equals.
    sockets.iter().rev().max_by_key(|socket| octets_shared(socket.interface.address(), asker))
}

/// Hears what is sent to the group, by this machine's other nodes as well.
#[derive(Debug)]
pub struct ScoutListener {
    socket: UdpSocket,
    skipped: Vec<LinkError>,
}

impl ScoutListener {
    /// Opens a non-blocking socket on the group's port and joins the group on all `interfaces`.
    ///
    /// An interface that the system does not let join is [skipped](Self::skipped).
    ///
    /// # Errors
    /// [`LinkError::Scout`] if the port is taken by a program that does not share it, or if no
    /// interface could join.
    pub fn open(group: &Group, interfaces: &[ScoutInterface]) -> Result<Self, LinkError> {
        let on_group =
            |error: io::Error| LinkError::Scout { on: group.addr.to_string(), cause: error.into() };
        let socket = Self::open_socket(group).map_err(on_group)?;
        let mut skipped = Vec::new();
        for interface in interfaces {
            if let Err(error) = join(&socket, group, interface) {
                skipped.push(LinkError::Scout { on: interface.name.clone(), cause: error.into() });
            }
        }
        if skipped.len() == interfaces.len() {
            return Err(skipped.pop().unwrap_or_else(|| on_group(rustix::io::Errno::NODEV.into())));
        }
        Ok(Self { socket: socket.into(), skipped })
    }

    fn open_socket(group: &Group) -> io::Result<Socket> {
        let socket = udp_socket(group)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        only_joined(&socket, group)?;
        // Bound to the group's address, it gets nothing but the group's datagrams. An IPv6 group of
        // link-local scope could then be bound on one interface only.
        let local = match group.addr {
            SocketAddr::V4(_) => group.addr,
            SocketAddr::V6(addr) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), addr.port()),
        };
        socket.bind(&local.into())?;
        Ok(socket)
    }

    /// Receives one datagram: its length and its sender. See [`DATAGRAM_LEN_MAX`].
    ///
    /// # Errors
    /// `WouldBlock` if there is none.
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    /// The interfaces that could not join the group, each with its reason (Linux allows a socket 20
    /// memberships).
    pub fn skipped(&self) -> &[LinkError] {
        &self.skipped
    }
}

impl AsFd for ScoutListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn udp_socket(group: &Group) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(group.addr), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    if group.addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

fn join(socket: &Socket, group: &Group, interface: &ScoutInterface) -> io::Result<()> {
    match (group.addr.ip(), interface.address()) {
        (IpAddr::V4(group), IpAddr::V4(address)) => socket.join_multicast_v4(&group, &address),
        (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, interface.index),
        (IpAddr::V4(_), IpAddr::V6(_)) => Err(rustix::io::Errno::AFNOSUPPORT.into()),
    }
}

/// By default Linux hands a socket what arrives through a membership of any program on the machine,
/// so a node would hear interfaces that it was told to leave alone.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn only_joined(socket: &Socket, group: &Group) -> io::Result<()> {
    match group.addr {
        SocketAddr::V4(_) => socket.set_multicast_all_v4(false),
        SocketAddr::V6(_) => socket.set_multicast_all_v6(false),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn only_joined(_: &Socket, _: &Group) -> io::Result<()> {
    Ok(())
}

fn octets_shared(a: IpAddr, b: IpAddr) -> usize {
    fn shared(a: &[u8], b: &[u8]) -> usize {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => shared(&a.octets(), &b.octets()),
        (IpAddr::V6(a), IpAddr::V6(b)) => shared(&a.octets(), &b.octets()),
        _ => 0,
    }
}

/// [`select`] on a given machine.
fn select_from(
    machine: &[Interface],
    selection: &str,
    group: &Group,
) -> Result<Vec<ScoutInterface>, LinkError> {
    let usable: Vec<Usable<'_>> = machine
        .iter()
        .filter_map(|interface| Some((interface, scout_interface(interface, group)?)))
        .collect();
    let selected = match selection.trim() {
        "auto" => automatic(&usable),
        list => named(&usable, list)?,
    };
    if selected.is_empty() { Err(unknown(selection, &usable)) } else { Ok(selected) }
}

type Usable<'a> = (&'a Interface, ScoutInterface);

/// `interface` with its addresses of the group's IP version, or `None` without any.
fn scout_interface(interface: &Interface, group: &Group) -> Option<ScoutInterface> {
    let fits = |ip: &&IpAddr| ip.is_ipv4() == group.addr.is_ipv4();
    let addresses: Vec<IpAddr> = interface.addresses.iter().filter(fits).copied().collect();
    let scout = ScoutInterface { name: interface.name.clone(), index: interface.index, addresses };
    if scout.addresses.is_empty() { None } else { Some(scout) }
}

fn automatic(usable: &[Usable<'_>]) -> Vec<ScoutInterface> {
    let all_up = |wanted: fn(&Interface) -> bool| -> Vec<ScoutInterface> {
        let fits = usable.iter().filter(|(interface, _)| interface.is_up && wanted(interface));
        fits.map(|(_, scout)| scout.clone()).collect()
    };
    let networks = all_up(|interface| interface.is_multicast && !interface.is_loopback);
    if networks.is_empty() { all_up(|interface| interface.is_loopback) } else { networks }
}

fn named(usable: &[Usable<'_>], list: &str) -> Result<Vec<ScoutInterface>, LinkError> {
    let mut selected: Vec<ScoutInterface> = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let found = pick(usable, item).ok_or_else(|| unknown(item, usable))?;
        if selected.iter().all(|earlier| earlier.index != found.index) {
            selected.push(found);
        }
    }
    Ok(selected)
}

/// The interface with this name, or with this address, which then comes first.
fn pick(usable: &[Usable<'_>], item: &str) -> Option<ScoutInterface> {
    let Ok(address) = item.parse::<IpAddr>() else {
        return usable.iter().find(|(_, scout)| scout.name == item).map(|(_, scout)| scout.clone());
    };
    let (_, scout) = usable.iter().find(|(_, scout)| scout.addresses.contains(&address))?;
    let mut scout = scout.clone();
    scout.addresses.sort_by_key(|other| *other != address);
    Some(scout)
}

fn unknown(name: &str, usable: &[Usable<'_>]) -> LinkError {
    LinkError::UnknownInterface {
        name: name.to_owned(),
        known: usable.iter().map(|(_, scout)| scout.name.clone()).collect(),
    }
}

#[cfg(test)]
mod tests;
