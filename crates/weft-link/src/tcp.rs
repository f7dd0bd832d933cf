//! TCP: `host:port` addresses, sockets, the batch limit of a connection.
//!
//! Not here: the life of a dial, a listener and a link, which is the same for every stream.
//! Spec: 01 §7.1, §7.2.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::{BACKLOG_MAX, LinkError, LinkOptions, OsError, TARGETS_MAX, Target, interfaces};

/// Whether [`resolve`] of `address` is instant.
pub(crate) fn is_literal(address: &str) -> bool {
    !matches!(HostPort::parse(address), Ok(HostPort { host: Host::Name(_), .. }))
}

/// The socket addresses of `host:port`. Blocks if the host is a name.
pub(crate) fn resolve(address: &str) -> Result<Vec<SocketAddr>, LinkError> {
    let HostPort { host, port } = HostPort::parse(address)
        .map_err(|reason| LinkError::Address { address: address.to_owned(), reason })?;
    match host {
        Host::Ip(ip) => Ok(vec![SocketAddr::new(ip, port)]),
        Host::Zoned { ip, zone } => {
            Ok(vec![SocketAddrV6::new(ip, port, 0, zone_index(zone)?).into()])
        }
        Host::Name(name) => look_up(name, port),
    }
}

/// A non-blocking socket whose connection to `addr` is under way.
pub(crate) fn connect(addr: SocketAddr, options: &LinkOptions) -> Result<Socket, LinkError> {
    let failed = |error: io::Error| LinkError::Connect {
        addr: Target::Tcp(addr).to_string(),
        cause: error.into(),
    };
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))
        .map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    socket.set_tcp_nodelay(true).map_err(failed)?;
    options.apply_buffers(&socket)?;
    options.apply_ip(&socket, addr)?;
    if let Some(local) = options.bind_for(addr)? {
        let failed = |error: io::Error| LinkError::Bind {
            addr: Target::Tcp(local).to_string(),
            cause: error.into(),
        };
        // A fixed port must be free again for the next attempt, while the last connection is in
        // TIME_WAIT.
        socket.set_reuse_address(true).map_err(failed)?;
        socket.bind(&local.into()).map_err(failed)?;
    }
    match socket.connect(&addr.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
            Err(failed(error))
        }
        _ => Ok(socket),
    }
}

/// A non-blocking socket that listens on `addr`.
///
/// `[::]` accepts IPv4 as well. On a machine without IPv6 it means `0.0.0.0`, so that the default
/// listener of a node works everywhere.
pub(crate) fn listen(addr: SocketAddr, options: &LinkOptions) -> Result<Socket, LinkError> {
    options.refuse_dial_keys()?;
    let failed = |cause: OsError| LinkError::Bind { addr: Target::Tcp(addr).to_string(), cause };
    let (socket, addr) =
        match Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP)) {
            Ok(socket) => (socket, addr),
            Err(error) => {
                let addr = without_ipv6(addr, error.into()).map_err(failed)?;
                let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
                (socket.map_err(|error| failed(error.into()))?, addr)
            }
        };
    options.apply_buffers(&socket)?;
    options.apply_ip(&socket, addr)?;
    let listen = || {
        if addr.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        socket.bind(&addr.into())?;
        socket.listen(BACKLOG_MAX)
    };
    listen().map_err(|error| failed(error.into()))?;
    Ok(socket)
}

/// The largest batch for a connection between IPv4 or IPv6 addresses with this maximum segment
/// size, in bytes.
///
/// The largest multiple of half a segment below 65,535 minus both headers, so that full batches
/// fill whole segments. Without a known segment size it is that limit itself.
pub(crate) fn mtu(local: IpAddr, segment_len: u32) -> u16 {
    let limit: u32 = if local.is_ipv4() { 65_535 - 40 } else { 65_535 - 60 };
    let half = segment_len / 2;
    let multiple = match half {
        0 => limit,
        _ => half * ((limit - 1) / half).max(1),
    };
    u16::try_from(multiple.min(limit)).expect("limit < 65,536")
}

/// `addr` as the IPv4 address it is, if IPv6 only wraps it, which is how a `[::]` listener sees its
/// IPv4 peers.
pub(crate) fn canonical(addr: SocketAddr) -> SocketAddr {
    match addr.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, addr.port()),
        IpAddr::V6(_) => addr,
    }
}

/// The local and the remote address of a connected socket.
///
/// A dial to a free local port of the ephemeral range may be given that port for its own end and
/// meet itself, which would pass for a peer that echoes. It counts as refused, since nobody listens
/// there.
pub(crate) fn ends(socket: &Socket) -> io::Result<(SocketAddr, SocketAddr)> {
    let ip = |addr: SockAddr| addr.as_socket().map(canonical).ok_or(Errno::AFNOSUPPORT);
    let (local, remote) = (ip(socket.local_addr()?)?, ip(socket.peer_addr()?)?);
    if local == remote { Err(Errno::CONNREFUSED.into()) } else { Ok((local, remote)) }
}

#[derive(Debug, PartialEq, Eq)]
struct HostPort<'a> {
    host: Host<'a>,
    port: u16,
}

#[derive(Debug, PartialEq, Eq)]
enum Host<'a> {
    Ip(IpAddr),
    /// A link-local address together with the interface that it is local to, by name or number.
    Zoned {
        ip: Ipv6Addr,
        zone: &'a str,
    },
    Name(&'a str),
}

impl<'a> HostPort<'a> {
    fn parse(address: &'a str) -> Result<Self, &'static str> {
        let (host, port) = address.rsplit_once(':').ok_or("it needs a port, as in `host:7447`")?;
        let port = port.parse().map_err(|_| "the port must be a number from 0 to 65535")?;
        let host = match host.strip_prefix('[') {
            Some(rest) => Self::parse_ipv6(rest.strip_suffix(']').ok_or("a `[` needs its `]`")?)?,
            None if host.is_empty() => return Err("it needs a host, as in `127.0.0.1:7447`"),
            None if host.contains(':') => {
                return Err("an IPv6 address needs brackets, as in `[::1]:7447`");
            }
            None => host.parse().map_or(Host::Name(host), |ip| Host::Ip(IpAddr::V4(ip))),
        };
        Ok(Self { host, port })
    }

    fn parse_ipv6(text: &'a str) -> Result<Host<'a>, &'static str> {
        let not_ipv6 = "only an IPv6 address goes into brackets";
        match text.split_once('%') {
            None => Ok(Host::Ip(IpAddr::V6(text.parse().map_err(|_| not_ipv6)?))),
            Some((ip, zone)) => Ok(Host::Zoned { ip: ip.parse().map_err(|_| not_ipv6)?, zone }),
        }
    }
}

/// The number of the interface with this name or number.
fn zone_index(zone: &str) -> Result<u32, LinkError> {
    if let Ok(index) = zone.parse() {
        return Ok(index);
    }
    let interfaces = interfaces()?;
    match interfaces.iter().find(|interface| interface.name == zone) {
        Some(interface) => Ok(interface.index),
        None => Err(LinkError::UnknownInterface {
            name: zone.to_owned(),
            known: interfaces.into_iter().map(|interface| interface.name).collect(),
        }),
    }
}

fn look_up(name: &str, port: u16) -> Result<Vec<SocketAddr>, LinkError> {
    let failed = |reason: String| LinkError::Resolve { host: name.to_owned(), reason };
    let mut found: Vec<SocketAddr> = Vec::new();
    for addr in (name, port).to_socket_addrs().map_err(|error| failed(error.to_string()))? {
        if found.len() < TARGETS_MAX && !found.contains(&addr) {
            found.push(addr);
        }
    }
    if found.is_empty() { Err(failed("it has no address".to_owned())) } else { Ok(found) }
}

/// What to listen on instead of `addr` if opening an IPv6 socket failed with `cause`.
fn without_ipv6(addr: SocketAddr, cause: OsError) -> Result<SocketAddr, OsError> {
    let is_any = addr.is_ipv6() && addr.ip().is_unspecified();
    if is_any && cause.is(Errno::AFNOSUPPORT) {
        Ok(SocketAddr::from(([0, 0, 0, 0], addr.port())))
    } else {
        Err(cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(address: &str) -> Result<HostPort<'_>, &'static str> {
        HostPort::parse(address)
    }

    #[test]
    fn addresses() {
        let v6 = Ipv6Addr::LOCALHOST;
        assert_eq!(
            parse("1.2.3.4:5"),
            Ok(HostPort { host: Host::Ip([1, 2, 3, 4].into()), port: 5 })
        );
        assert_eq!(parse("[::1]:7447"), Ok(HostPort { host: Host::Ip(v6.into()), port: 7447 }));
        assert_eq!(
            parse("[::1%lo]:7447"),
            Ok(HostPort { host: Host::Zoned { ip: v6, zone: "lo" }, port: 7447 })
        );
        assert_eq!(
            parse("weft.example:0"),
            Ok(HostPort { host: Host::Name("weft.example"), port: 0 })
        );
    }

    #[test]
    fn malformed_addresses_say_what_is_wrong() {
        for (address, word) in [
            ("", "port"),
            ("localhost", "port"),
            ("localhost:", "port"),
            ("localhost:65536", "port"),
            ("localhost:http", "port"),
            (":7447", "host"),
            ("::1:7447", "brackets"),
            ("[::1:7447", "]"),
            ("[localhost]:7447", "IPv6"),
            ("[1.2.3.4]:7447", "IPv6"),
        ] {
            let error = resolve(address).unwrap_err();
            let LinkError::Address { address: named, reason } = &error else { panic!("{error:?}") };
            assert!(named == address && reason.contains(word), "{error}");
        }
    }

    #[test]
    fn a_zone_is_a_number_or_a_name() {
        let loopback =
            interfaces().unwrap().into_iter().find(|interface| interface.is_loopback).unwrap();
        let named = resolve(&format!("[fe80::1%{}]:7447", loopback.name)).unwrap();
        assert_eq!(named, resolve(&format!("[fe80::1%{}]:7447", loopback.index)).unwrap());
        assert!(matches!(named[0], SocketAddr::V6(addr) if addr.scope_id() == loopback.index));
        assert!(matches!(
            resolve("[fe80::1%nowhere]:7447"),
            Err(LinkError::UnknownInterface { .. })
        ));
    }

    /// 01 §7.2: the largest multiple of half a segment strictly below the limit, and never above
    /// the limit.
    #[test]
    fn mtu_is_a_multiple_of_half_a_segment_below_the_limit() {
        let v4 = IpAddr::from([127, 0, 0, 1]);
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(mtu(v4, 1448), 90 * 724);
        assert_eq!(mtu(v6, 1428), 91 * 714);
        assert_eq!(mtu(v4, 65_483), 2 * 32_741);
        assert_eq!(mtu(v4, 10), 65_490, "a multiple equal to the limit, 65,495, is not below it");
        assert_eq!(mtu(v4, 65_495 * 2), 65_495, "one half is already at the limit");
        assert_eq!(mtu(v4, 200_000), 65_495);
        assert_eq!(mtu(v6, 200_000), 65_475);
        assert_eq!(mtu(v4, 0), 65_495);
        assert_eq!(mtu(v4, 1), 65_495);
        assert_eq!(mtu(v4, u32::MAX), 65_495);
    }

    #[test]
    fn wrapped_ipv4_is_shown_as_ipv4() {
        assert_eq!(canonical("[::ffff:1.2.3.4]:5".parse().unwrap()), "1.2.3.4:5".parse().unwrap());
        assert_eq!(canonical("[fe80::1%7]:5".parse().unwrap()), "[fe80::1%7]:5".parse().unwrap());
    }

    #[test]
    fn only_the_wildcard_falls_back_to_ipv4_and_only_without_ipv6() {
        let any = "[::]:7447".parse().unwrap();
        let no_ipv6 = OsError::from(Errno::AFNOSUPPORT);
        let full = OsError::from(Errno::MFILE);
        assert_eq!(without_ipv6(any, no_ipv6), Ok("0.0.0.0:7447".parse().unwrap()));
        assert_eq!(without_ipv6(any, full), Err(full));
        assert_eq!(without_ipv6("[::1]:7447".parse().unwrap(), no_ipv6), Err(no_ipv6));
    }
}
