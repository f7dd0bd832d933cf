//! The virtual network: connections between hosts, cuts, and the multicast group.
//!
//! Not here: what the bytes mean, and when things happen (`sim`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::pipe::{Medium, Pipe};
use crate::rng::Rng;

/// The number of a host.
pub(crate) type HostId = usize;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) connection: u64,
    /// 0 dialed, 1 accepted.
    pub(crate) side: usize,
}

impl End {
    pub(crate) const fn other(self) -> Self {
        Self { side: 1 - self.side, ..self }
    }
}

/// Where an end is: which host in which of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) host: HostId,
    pub(crate) life: u32,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sites: [Site; 2],
    /// By the side that writes.
    pub(crate) pipes: [Pipe; 2],
    /// Which sides are still held by their nodes.
    pub(crate) open: [bool; 2],
}

/// What chance does to datagrams, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramFaults {
    /// Lost.
    pub loss: u64,
    /// Delivered twice.
    pub duplicate: u64,
    /// Delayed so much that later ones overtake it.
    pub delay: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) medium: Medium,
    pub(crate) datagrams: DatagramFaults,
    pub(crate) connections: BTreeMap<u64, Connection>,
    /// From whom to whom nothing comes through.
    cut: BTreeSet<(HostId, HostId)>,
    next: u64,
}

impl Network {
    pub(crate) fn connect(&mut self, dialer: Site, acceptor: Site) -> u64 {
        self.next += 1;
        let mut pipes = [Pipe::new(self.medium), Pipe::new(self.medium)];
        for (pipe, (from, to)) in
            pipes.iter_mut().zip([(dialer.host, acceptor.host), (acceptor.host, dialer.host)])
        {
            if self.is_cut(from, to) {
                pipe.cut();
            }
        }
        let connection = Connection { sites: [dialer, acceptor], pipes, open: [true; 2] };
        self.connections.insert(self.next, connection);
        self.next
    }

    /// Writes what there is room for, or everything if `all`. Returns how much, and when it arrives.
    pub(crate) fn write(
        &mut self,
        now_us: u64,
        end: End,
        bytes: &[u8],
        all: bool,
        rng: &mut Rng,
    ) -> (usize, Option<u64>) {
        let Some(connection) = self.connections.get_mut(&end.connection) else {
            return (bytes.len(), None);
        };
        let pipe = &mut connection.pipes[end.side];
        let len = if all { bytes.len() } else { bytes.len().min(pipe.room()) };
        if len == 0 {
            return (0, None);
        }
        let jitter_us = rng.below(self.medium.jitter_us + 1);
        let at_us = pipe.write(now_us, &bytes[..len], jitter_us);
        (len, (!pipe.is_cut()).then_some(at_us))
    }

    /// An end is given up by its node. Returns when the other side notices.
    pub(crate) fn close(&mut self, now_us: u64, end: End) -> Option<u64> {
        let connection = self.connections.get_mut(&end.connection)?;
        connection.open[end.side] = false;
        let pipe = &mut connection.pipes[end.side];
        let at_us = pipe.end(now_us);
        let at_us = (!pipe.is_cut()).then_some(at_us);
        self.forget_if_closed(end.connection);
        at_us
    }

    pub(crate) fn forget_if_closed(&mut self, connection: u64) {
        if self.connections.get(&connection).is_some_and(|it| it.open == [false; 2]) {
            self.connections.remove(&connection);
        }
    }

    pub(crate) fn is_cut(&self, from: HostId, to: HostId) -> bool {
        self.cut.contains(&(from, to))
    }

    /// Nothing comes from `from` to `to` any more.
    pub(crate) fn cut(&mut self, from: HostId, to: HostId) {
        self.cut.insert((from, to));
        for connection in self.connections.values_mut() {
            for side in 0..2 {
                let (a, b) = (connection.sites[side].host, connection.sites[1 - side].host);
                if (a, b) == (from, to) {
                    connection.pipes[side].cut();
                }
            }
        }
    }

    /// The way from `from` to `to` is open again. Returns the ends that read something, and when.
    pub(crate) fn heal(&mut self, now_us: u64, from: HostId, to: HostId) -> Vec<(End, u64)> {
        self.cut.remove(&(from, to));
        let mut readers = Vec::new();
        for (id, connection) in &mut self.connections {
            for side in 0..2 {
                let (a, b) = (connection.sites[side].host, connection.sites[1 - side].host);
                if (a, b) == (from, to)
                    && let Some(at_us) = connection.pipes[side].heal(now_us)
                {
                    readers.push((End { connection: *id, side: 1 - side }, at_us));
                }
            }
        }
        readers
    }

    pub(crate) fn cuts(&self) -> Vec<(HostId, HostId)> {
        self.cut.iter().copied().collect()
    }

    /// Whether anything but keep-alives is on its way somewhere and will arrive.
    pub(crate) fn is_busy(&self) -> bool {
        self.connections.values().any(|connection| {
            (0..2).any(|side| {
                let pipe = &connection.pipes[side];
                connection.open[1 - side] && !pipe.is_quiet() && !pipe.is_cut()
            })
        })
    }

    /// When copies of a datagram arrive: none if it is lost.
    pub(crate) fn datagram(&self, now_us: u64, rng: &mut Rng) -> Vec<u64> {
        let Self { medium, datagrams, .. } = self;
        let copies = match () {
            () if rng.chance(datagrams.loss) => 0,
            () if rng.chance(datagrams.duplicate) => 2,
            () => 1,
        };
        let mut arrival = |_| {
            let late_us = if rng.chance(datagrams.delay) { 50 * medium.latency_us } else { 0 };
            now_us + medium.latency_us + rng.below(medium.jitter_us + 1) + late_us
        };
        (0..copies).map(&mut arrival).collect()
    }
}

/// The address that a host's datagrams come from.
pub(crate) fn address_of(host: HostId) -> SocketAddr {
    let [high, low] = (host as u16).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, high, low)), 7446)
}

/// The host behind such an address.
pub(crate) fn host_at(address: SocketAddr) -> Option<HostId> {
    match address.ip() {
        IpAddr::V4(ip) => {
            let [_, _, high, low] = ip.octets();
            Some(HostId::from(u16::from_be_bytes([high, low])))
        }
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(host: HostId) -> Site {
        Site { host, life: 0 }
    }

    #[test]
    fn a_cut_is_one_way_and_outlasts_new_connections() {
        let mut network = Network::default();
        let mut rng = Rng::new(1);
        network.cut(0, 1);
        let id = network.connect(site(0), site(1));
        let (dialed, accepted) = (End { connection: id, side: 0 }, End { connection: id, side: 1 });
        assert_eq!(network.write(0, dialed, &[1], false, &mut rng), (1, None));
        assert!(network.write(0, accepted, &[1, 0, 4], false, &mut rng).1.is_some());
        assert!(!network.is_busy(), "held back, and a keep-alive");
        assert!(network.write(0, accepted, &[0; 9], false, &mut rng).1.is_some());
        assert!(network.is_busy());
        let readers = network.heal(10, 0, 1);
        assert_eq!(readers.len(), 1);
        assert_eq!(readers[0].0, accepted);
    }

    #[test]
    fn a_connection_is_forgotten_when_both_sides_are_closed() {
        let mut network = Network::default();
        let id = network.connect(site(0), site(1));
        assert!(network.close(5, End { connection: id, side: 0 }).is_some());
        assert_eq!(network.connections.len(), 1);
        network.close(6, End { connection: id, side: 1 });
        assert!(network.connections.is_empty());
    }

    #[test]
    fn addresses_lead_back_to_hosts() {
        for host in [0, 1, 255, 256, 1000] {
            assert_eq!(host_at(address_of(host)), Some(host));
        }
    }
}
