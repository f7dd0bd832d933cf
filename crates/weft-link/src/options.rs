//! The `#key=value` options of an endpoint that concern its socket.
//!
//! Not here: the options of other layers, such as the reconnect delays (`retry_period_*`,
//! `exit_on_failure`), which the caller takes out first. Spec: 01 §7.1, 03 §10.1.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;

use crate::{LinkError, OptionFault, Proto};

/// Socket options of one endpoint. The default leaves everything to the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// `iface`: use this network interface only, whatever the routes say. IP links on Linux.
    pub iface: Option<String>,
    /// `bind`: the local address to connect from; port 0 takes any. IP links, dialing only, not
    /// with `iface`.
    pub bind: Option<SocketAddr>,
    /// `dscp`: the IPv4 TOS or IPv6 traffic class byte as it stands in the header (the DSCP is its
    /// upper six bits; TCP keeps the lower two for itself). IP links.
    pub dscp: Option<u8>,
    /// `so_sndbuf`: kernel send buffer in bytes. The kernel rounds it and stops adapting the size.
    pub so_sndbuf: Option<u32>,
    /// `so_rcvbuf`: kernel receive buffer in bytes. The kernel rounds it and stops adapting the
    /// size.
    pub so_rcvbuf: Option<u32>,
}

impl LinkOptions {
    /// Every key that [`parse`](Self::parse) knows.
    pub const KEYS: [&str; 5] = [IFACE, BIND, DSCP, SO_SNDBUF, SO_RCVBUF];

    /// Reads the items of an endpoint's configuration; of a repeated key the last one counts.
    ///
    /// # Errors
    /// [`LinkError::Option`] for an unknown key, a malformed value, or `iface` together with
    /// `bind`.
    pub fn parse<'a>(
        items: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, LinkError> {
        let mut options = Self::default();
        for (key, value) in items {
            options
                .set(key, value)
                .map_err(|fault| LinkError::Option { key: key.to_owned(), fault })?;
        }
        if options.iface.is_some() && options.bind.is_some() {
            return Err(fault(BIND, OptionFault::Conflict { with: IFACE }));
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), OptionFault> {
        if value.is_empty() && Self::KEYS.contains(&key) {
            return Err(OptionFault::Empty);
        }
        match key {
            IFACE => self.iface = Some(value.to_owned()),
            BIND => self.bind = Some(value.parse().map_err(|_| OptionFault::SocketAddress)?),
            DSCP => self.dscp = Some(parse_dscp(value)?),
            SO_SNDBUF => self.so_sndbuf = Some(parse_len(value)?),
            SO_RCVBUF => self.so_rcvbuf = Some(parse_len(value)?),
            _ => return Err(OptionFault::Unknown),
        }
        Ok(())
    }

    /// Sets the buffer sizes. Before connect or listen, because the receive buffer decides the
    /// window scale that a TCP handshake announces.
    pub(crate) fn apply_buffers(&self, socket: &Socket) -> Result<(), LinkError> {
        if let Some(len) = self.so_sndbuf {
            socket.set_send_buffer_size(len as usize).map_err(refused(SO_SNDBUF))?;
        }
        if let Some(len) = self.so_rcvbuf {
            socket.set_recv_buffer_size(len as usize).map_err(refused(SO_RCVBUF))?;
        }
        Ok(())
    }

    /// Sets what belongs to IP sockets, for a socket of the family of `addr`.
    pub(crate) fn apply_ip(&self, socket: &Socket, addr: SocketAddr) -> Result<(), LinkError> {
        if let Some(byte) = self.dscp {
            if addr.is_ipv6() {
                socket.set_tclass_v6(byte.into()).map_err(refused(DSCP))?;
            }
            // A dual-stack listener accepts IPv4 connections too.
            if addr.is_ipv4() || addr.ip().is_unspecified() {
                socket.set_tos_v4(byte.into()).map_err(refused(DSCP))?;
            }
        }
        match &self.iface {
            Some(name) => bind_device(socket, name),
            None => Ok(()),
        }
    }

    /// Refuses the options that only IP links have.
    pub(crate) fn refuse_ip_keys(&self, proto: Proto) -> Result<(), LinkError> {
        let present = [
            (IFACE, self.iface.is_some()),
            (BIND, self.bind.is_some()),
            (DSCP, self.dscp.is_some()),
        ];
        match present.into_iter().find(|&(_, is_present)| is_present) {
            Some((key, _)) => Err(fault(key, OptionFault::NotFor { proto })),
            None => Ok(()),
        }
    }

    /// Refuses the options that only a dial has.
    pub(crate) fn refuse_dial_keys(&self) -> Result<(), LinkError> {
        if self.bind.is_some() { Err(fault(BIND, OptionFault::DialOnly)) } else { Ok(()) }
    }

    /// The address to connect from, if there is one and it fits `addr`.
    pub(crate) fn bind_for(&self, addr: SocketAddr) -> Result<Option<SocketAddr>, LinkError> {
        match self.bind {
            Some(bind) if bind.is_ipv4() != addr.is_ipv4() => {
                Err(fault(BIND, OptionFault::OtherFamily))
            }
            bind => Ok(bind),
        }
    }
}

const IFACE: &str = "iface";
const BIND: &str = "bind";
const DSCP: &str = "dscp";
const SO_SNDBUF: &str = "so_sndbuf";
const SO_RCVBUF: &str = "so_rcvbuf";

fn fault(key: &str, fault: OptionFault) -> LinkError {
    LinkError::Option { key: key.to_owned(), fault }
}

fn refused(key: &'static str) -> impl Fn(io::Error) -> LinkError {
    move |error| fault(key, OptionFault::Refused(error.into()))
}

/// Whole numbers, decimal or with `0x` or `0b` in front, OR-ed together with `|`.
fn parse_dscp(value: &str) -> Result<u8, OptionFault> {
    value.split('|').try_fold(0, |byte, number| {
        let (digits, radix) = match number.get(..2) {
            Some("0x" | "0X") => (&number[2..], 16),
            Some("0b" | "0B") => (&number[2..], 2),
            _ => (number, 10),
        };
        let bits = u8::from_str_radix(digits, radix);
        Ok(byte | bits.map_err(|_| OptionFault::Number { max: u8::MAX.into() })?)
    })
}

fn parse_len(value: &str) -> Result<u32, OptionFault> {
    value.parse().map_err(|_| OptionFault::Number { max: u32::MAX })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn bind_device(socket: &Socket, name: &str) -> Result<(), LinkError> {
    socket.bind_device(Some(name.as_bytes())).map_err(refused(IFACE))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn bind_device(_: &Socket, _: &str) -> Result<(), LinkError> {
    Err(fault(IFACE, OptionFault::NotOnThisSystem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_one(key: &str, value: &str) -> Result<LinkOptions, OptionFault> {
        LinkOptions::parse([(key, value)]).map_err(|error| match error {
            LinkError::Option { key: named, fault } if named == key => fault,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn all_keys() {
        let options = LinkOptions::parse([
            ("bind", "192.0.2.1:0"),
            ("dscp", "0x20|8|0b1"),
            ("so_sndbuf", "65536"),
            ("so_rcvbuf", "32768"),
        ]);
        let expected = LinkOptions {
            iface: None,
            bind: Some("192.0.2.1:0".parse().unwrap()),
            dscp: Some(0x29),
            so_sndbuf: Some(65536),
            so_rcvbuf: Some(32768),
        };
        assert_eq!(options, Ok(expected));
        assert_eq!(parse_one("iface", "eth0").unwrap().iface.as_deref(), Some("eth0"));
    }

    #[test]
    fn bad_items_are_named() {
        assert_eq!(parse_one("speed", "9"), Err(OptionFault::Unknown));
        assert_eq!(parse_one("speed", ""), Err(OptionFault::Unknown));
        assert_eq!(parse_one("iface", ""), Err(OptionFault::Empty));
        assert_eq!(parse_one("bind", "192.0.2.1"), Err(OptionFault::SocketAddress));
        for bad in ["x", "256", "1|", "|1", "-1", "0x", "0b2"] {
            assert_eq!(parse_one("dscp", bad), Err(OptionFault::Number { max: 255 }), "{bad}");
        }
        assert_eq!(
            parse_one("so_sndbuf", "4294967296"),
            Err(OptionFault::Number { max: u32::MAX })
        );
    }

    #[test]
    fn bind_excludes_iface() {
        let both = LinkOptions::parse([("iface", "lo"), ("bind", "127.0.0.1:0")]);
        assert_eq!(both, Err(fault(BIND, OptionFault::Conflict { with: IFACE })));
    }
}
