//! Headers around what TCP and UDP carry.
//!
//! Not here: connections (`flows`).

use std::net::{IpAddr, SocketAddr};

use etherparse::defrag::IpDefragPool;
use etherparse::{
    EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, NetSlice, SlicedPacket, TcpSlice,
    TransportSlice, UdpSlice,
};
use pcap_parser::Linktype;

use super::limits::IP_FRAGMENTS_MAX;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen<'a> {
    /// A segment of a TCP connection.
    Tcp(Ends, Segment<'a>),
    /// A datagram.
    Udp(Ends, &'a [u8]),
    /// A piece of an IP packet, for a [`Defragmenter`].
    IpFragment,
    /// Something else, or not enough of it.
    Other,
    /// A link layer that is not known here.
    UnknownLink,
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
}

/// A segment of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// The number of its first byte (of the SYN, if it is one).
    pub(super) seq: u32,
    /// Up to where the other direction has arrived.
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) payload: &'a [u8],
}

/// Ethernet type of IPv4 and IPv6, in the headers of Linux.
const ETHER_TYPE_LEN: usize = 2;
/// Length of the headers of `tcpdump -i any`, old and new.
const SLL_LEN: usize = 16;
const SLL2_LEN: usize = 20;
/// Length of the address family that loopback interfaces put in front, in either byte order.
const FAMILY_LEN: usize = 4;
/// Raw IP on systems where it has another number in files.
const RAW_ALIASES: [i32; 2] = [12, 14];

/// Where the headers that are understood begin.
#[derive(Clone, Copy)]
enum Layer<'a> {
    Ethernet(&'a [u8]),
    /// Behind a header of the link that tells what follows.
    Typed(EtherType, &'a [u8]),
    Ip(&'a [u8]),
}

/// Finds out what a packet is.
pub(super) fn parse(link: Linktype, bytes: &[u8]) -> Seen<'_> {
    let sliced = match layer(link, bytes) {
        Err(UnknownLink) => return Seen::UnknownLink,
        Ok(Some(Layer::Ethernet(bytes))) => LaxSlicedPacket::from_ethernet(bytes).ok(),
        Ok(Some(Layer::Typed(kind, bytes))) => Some(LaxSlicedPacket::from_ether_type(kind, bytes)),
        Ok(Some(Layer::Ip(bytes))) => LaxSlicedPacket::from_ip(bytes).ok(),
        Ok(None) => None,
    };
    sliced.map_or(Seen::Other, |sliced| seen(&sliced))
}

struct UnknownLink;

/// What is behind the header of the link, if all of that is there.
fn layer(link: Linktype, bytes: &[u8]) -> Result<Option<Layer<'_>>, UnknownLink> {
    Ok(match link {
        Linktype::ETHERNET => Some(Layer::Ethernet(bytes)),
        Linktype::LINUX_SLL => linux(bytes, SLL_LEN - ETHER_TYPE_LEN, SLL_LEN),
        Linktype::LINUX_SLL2 => linux(bytes, 0, SLL2_LEN),
        Linktype::NULL | Linktype::LOOP => bytes.get(FAMILY_LEN..).map(Layer::Ip),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => Some(Layer::Ip(bytes)),
        Linktype(other) if RAW_ALIASES.contains(&other) => Some(Layer::Ip(bytes)),
        _ => return Err(UnknownLink),
    })
}

/// A packet with a header of `len` bytes, in which the Ethernet type is at `at`.
fn linux(bytes: &[u8], at: usize, len: usize) -> Option<Layer<'_>> {
    let ether_type = bytes.get(at..)?.first_chunk::<ETHER_TYPE_LEN>()?;
    let ether_type = EtherType(u16::from_be_bytes(*ether_type));
    Some(Layer::Typed(ether_type, bytes.get(len..)?))
}

/// Puts IP packets together that came in fragments.
#[derive(Default)]
pub(super) struct Defragmenter {
    pool: IpDefragPool<u64>,
    /// Fragments so far: the clock by which incomplete packets are old.
    fragments: u64,
}

/// An IP packet that came in fragments.
pub(super) struct Whole {
    from: IpAddr,
    to: IpAddr,
    protocol: IpNumber,
    payload: Vec<u8>,
}

impl Defragmenter {
    /// Takes a fragment; returns the packet that it completes. Copies it once, and looks at all incomplete packets.
    pub(super) fn push(&mut self, link: Linktype, bytes: &[u8]) -> Option<Whole> {
        let sliced = match layer(link, bytes).ok()?? {
            Layer::Ethernet(bytes) => SlicedPacket::from_ethernet(bytes).ok()?,
            Layer::Typed(kind, bytes) => SlicedPacket::from_ether_type(kind, bytes).ok()?,
            Layer::Ip(bytes) => SlicedPacket::from_ip(bytes).ok()?,
        };
        let (from, to) = match &sliced.net {
            Some(NetSlice::Ipv4(ip)) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into())
            }
            Some(NetSlice::Ipv6(ip)) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into())
            }
            _ => return None,
        };
        self.fragments += 1;
        let oldest = self.fragments.saturating_sub(IP_FRAGMENTS_MAX);
        self.pool.retain(|last| *last > oldest);
        let whole = self.pool.process_sliced_packet(&sliced, self.fragments, ()).ok()??;
        Some(Whole { from, to, protocol: whole.ip_number, payload: whole.payload })
    }
}

impl Whole {
    /// What it is.
    pub(super) fn seen(&self) -> Seen<'_> {
        match self.protocol {
            IpNumber::UDP => UdpSlice::from_slice_lax(&self.payload)
                .map_or(Seen::Other, |slice| datagram(self.from, self.to, &slice)),
            IpNumber::TCP => TcpSlice::from_slice(&self.payload)
                .map_or(Seen::Other, |slice| segment(self.from, self.to, &slice)),
            _ => Seen::Other,
        }
    }
}

fn seen<'a>(sliced: &LaxSlicedPacket<'a>) -> Seen<'a> {
    let (from, to, is_fragment): (IpAddr, IpAddr, bool) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let (from, to) = (header.source_addr(), header.destination_addr());
            (from.into(), to.into(), ip.is_payload_fragmented())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let (from, to) = (header.source_addr(), header.destination_addr());
            (from.into(), to.into(), ip.is_payload_fragmented())
        }
        _ => return Seen::Other,
    };
    match &sliced.transport {
        _ if is_fragment => Seen::IpFragment,
        Some(TransportSlice::Tcp(tcp)) => segment(from, to, tcp),
        Some(TransportSlice::Udp(udp)) => datagram(from, to, udp),
        _ => Seen::Other,
    }
}

fn segment<'a>(from: IpAddr, to: IpAddr, tcp: &TcpSlice<'a>) -> Seen<'a> {
    let segment = Segment {
        seq: tcp.sequence_number(),
        ack: tcp.ack().then(|| tcp.acknowledgment_number()),
        syn: tcp.syn(),
        payload: tcp.payload(),
    };
    Seen::Tcp(ends((from, tcp.source_port()), (to, tcp.destination_port())), segment)
}

fn datagram<'a>(from: IpAddr, to: IpAddr, udp: &UdpSlice<'a>) -> Seen<'a> {
    Seen::Udp(ends((from, udp.source_port()), (to, udp.destination_port())), udp.payload())
}

fn ends(from: (IpAddr, u16), to: (IpAddr, u16)) -> Ends {
    Ends { from: from.into(), to: to.into() }
}
