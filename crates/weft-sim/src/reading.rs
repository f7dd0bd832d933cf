//! Connections seen from their nodes: how they come about, what is read, and how they end.

use std::collections::BTreeSet;

use weft_node::{DialId, FaceId, LinkId, LinkInit, LinkOrigin};
use weft_transport::{Decompressor, LinkParams, next_batch};

use crate::host::{Attempt, host_named};
use crate::network::{End, HostId, Site, address_of};
use crate::pipe::Arrival;
use crate::plane::SimPlane;
use crate::sim::{Due, Sim};

/// How long connecting takes to fail when nothing comes back, in microseconds.
const CONNECT_TIMEOUT_US: u64 = 3_000_000;

/// How a link's reader goes on after a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    /// A neighbour has no room for what this link brings.
    Wait,
    Gone,
}

impl Sim {
    /// A node wants to be connected to the first of these that answers.
    pub(crate) fn start_attempt(&mut self, host: HostId, dial: DialId, addresses: &[String]) {
        let dialer = self.site(host);
        let now_us = self.now_us;
        let rtt_us = 2 * self.network.medium.latency_us;
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        let number = running.attempts.get(&dial).map_or(0, |attempt| attempt.number) + 1;
        let pending = addresses.len();
        running.attempts.insert(dial, Attempt { number, pending, won: false });
        for address in addresses {
            let target = host_named(&self.hosts, address);
            let reachable = target.filter(|target| !self.network.is_cut(host, *target));
            match reachable {
                Some(target) => {
                    let jitter_us = self.rng.below(self.network.medium.jitter_us + 1);
                    let at_us = now_us + rtt_us / 2 + jitter_us;
                    self.agenda.plan(at_us, Due::Syn { dialer, dial, attempt: number, target });
                }
                None => {
                    let wait_us = if target.is_some() { CONNECT_TIMEOUT_US } else { rtt_us };
                    let event = Due::NotConnected { dialer, dial, attempt: number };
                    self.agenda.plan(now_us + wait_us, event);
                }
            }
        }
    }

    pub(crate) fn connection_asked(
        &mut self,
        dialer: Site,
        dial: DialId,
        attempt: u64,
        target: HostId,
    ) {
        let now_us = self.now_us;
        let back_us = now_us + self.network.medium.latency_us;
        let host = &self.hosts[target];
        let accepts = host.running.is_some() && host.blueprint.listens;
        if self.network.is_cut(target, dialer.host) {
            let event = Due::NotConnected { dialer, dial, attempt };
            return self.agenda.plan(now_us + CONNECT_TIMEOUT_US, event);
        }
        if !accepts {
            return self.agenda.plan(back_us, Due::NotConnected { dialer, dial, attempt });
        }
        self.activity += 1;
        let connection = self.network.connect(dialer, self.site(target));
        let end = End { connection, side: 0 };
        self.agenda.plan(back_us, Due::Connected { dialer, dial, attempt, end });
        self.link_up(target, end.other(), LinkOrigin::Accepted);
    }

    pub(crate) fn connected(&mut self, dialer: Site, dial: DialId, attempt: u64, end: End) {
        let wanted = self.running_at(dialer).is_some_and(|running| {
            running.attempts.get_mut(&dial).is_some_and(|current| {
                current.number == attempt && !std::mem::replace(&mut current.won, true)
            })
        });
        if wanted {
            self.link_up(dialer.host, end, LinkOrigin::Dialed(dial));
        } else {
            // Another address was faster, or nobody waits any more.
            self.close_end(end);
        }
    }

    pub(crate) fn not_connected(&mut self, dialer: Site, dial: DialId, attempt: u64) {
        let failed = self.running_at(dialer).is_some_and(|running| {
            running.attempts.get_mut(&dial).is_some_and(|current| {
                if current.number != attempt {
                    return false;
                }
                current.pending -= 1;
                current.pending == 0 && !current.won
            })
        });
        if failed {
            self.activity += 1;
            self.call(dialer.host, |node, driver| {
                node.dial_failed(driver.now_us, dial, "nobody answers", driver);
            });
        }
    }

    pub(crate) fn link_up(&mut self, host: HostId, end: End, origin: LinkOrigin) {
        let now_us = self.now_us;
        self.trace.line(now_us, || format!("{host} link up {origin:?} {end:?}"));
        let from = self.network.connections.get(&end.connection);
        let from = from.map(|connection| connection.sites[1 - end.side].host);
        self.call(host, |node, driver| {
            let link = driver.add_link(end);
            let params = LinkParams { mtu: u16::MAX, streamed: true };
            let peer_tag = format!("sim/{from:?}:{}", end.connection).into_bytes();
            node.link_up(now_us, LinkInit { link, origin, params, peer_tag }, driver);
        });
    }

    /// Something may have arrived.
    pub(crate) fn read(&mut self, end: End) {
        loop {
            let now_us = self.now_us;
            let Some(connection) = self.network.connections.get(&end.connection) else { return };
            let site = connection.sites[end.side];
            let Some(host) = self.hosts.get(site.host) else { return };
            let reads_per_s = host.reads_per_s;
            let Some(running) = self.running_at(site) else { return };
            let Some((link, state)) =
                running.driver.links.iter_mut().find(|(_, state)| state.end == end)
            else {
                return;
            };
            let link = *link;
            if !state.held_up_by.is_empty() || reads_per_s == Some(0) {
                return;
            }
            if state.next_read_us > now_us {
                let at_us = state.next_read_us;
                if state.looks_at_us != Some(at_us) {
                    state.looks_at_us = Some(at_us);
                    self.agenda.plan(at_us, Due::Read(end));
                }
                return;
            }
            let Some(connection) = self.network.connections.get_mut(&end.connection) else {
                return;
            };
            let writer = connection.sites[1 - end.side].host;
            let Some(arrival) = connection.pipes[1 - end.side].read(now_us) else { return };
            match arrival {
                Arrival::Bytes(bytes) => {
                    if let Some(per_s) = reads_per_s
                        && let Some(running) = self.running_at(site)
                        && let Some(state) = running.driver.links.get_mut(&link)
                    {
                        let takes_us = bytes.len() as u64 * 1_000_000 / per_s.max(1);
                        state.next_read_us = now_us + takes_us;
                    }
                    self.bytes_arrive(site.host, link, &bytes);
                    // There is room again for whoever writes here.
                    if writer < self.hosts.len() {
                        self.flush(writer);
                    }
                }
                Arrival::End => {
                    self.activity += 1;
                    self.link_down(site.host, link);
                }
            }
        }
    }

    fn link_down(&mut self, host: HostId, link: LinkId) {
        let now_us = self.now_us;
        self.trace.line(now_us, || format!("{host} link down {link:?}"));
        self.call(host, |node, driver| {
            use weft_node::Ports;
            node.link_down(now_us, link, driver);
            driver.close_link(link);
        });
    }

    fn bytes_arrive(&mut self, host: HostId, link: LinkId, bytes: &[u8]) {
        let now_us = self.now_us;
        self.hosts[host].received += bytes.len() as u64;
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        let Some(state) = running.driver.links.get_mut(&link) else { return };
        state.rx_us = now_us;
        let mut unread = std::mem::take(&mut state.unread);
        unread.extend_from_slice(bytes);
        let mut taken = 0;
        let mut next = Next::More;
        while next != Next::Gone {
            let Ok(batch) = next_batch(&unread[taken..], u16::MAX) else {
                next = Next::Gone;
                break;
            };
            let Some((range, consumed)) = batch else { break };
            let batch = &unread[taken..][range];
            taken += consumed;
            // These are a keep-alive, without and with the header of compression.
            self.activity += u64::from(!matches!(batch, [4] | [0, 4]));
            next = self.batch(host, link, batch);
        }
        if next == Next::Gone {
            self.link_down(host, link);
        } else if let Some(running) = self.hosts[host].running.as_mut()
            && let Some(state) = running.driver.links.get_mut(&link)
        {
            state.unread = unread.split_off(taken);
        }
        self.after(host);
    }

    /// Hands a batch to the handshake or to the data plane.
    fn batch(&mut self, host: HostId, link: LinkId, batch: &[u8]) -> Next {
        let now_us = self.now_us;
        let wall_ntp64 = self.hosts[host].wall_ntp64(now_us);
        let drop_future = self.hosts[host].blueprint.drop_future;
        let Some(running) = self.hosts[host].running.as_mut() else { return Next::Gone };
        let driver = &mut running.driver;
        driver.now_us = now_us;
        let Some(state) = driver.links.get(&link) else { return Next::More };
        let mut decompressor = Decompressor::new();
        let batch = match state.content_max {
            None => batch,
            Some(content_max) => match decompressor.batch(batch, content_max) {
                Ok(batch) => batch,
                Err(error) => {
                    self.trace.line(now_us, || format!("{host} drops {link:?}: {error}"));
                    return Next::Gone;
                }
            },
        };
        let Some(face) = state.transport else {
            running.node.handshake_batch(now_us, link, batch, driver);
            return Next::More;
        };
        let taken = driver.transports.get_mut(&face).and_then(|it| it.inbound.take());
        let Some(mut inbound) = taken else { return Next::More };
        let mut plane = SimPlane {
            node: &mut running.node,
            driver,
            hlc: running.hlc.as_ref(),
            wall_ntp64,
            drop_future,
            held_up_by: BTreeSet::new(),
        };
        let read = inbound.batch(batch, &mut plane);
        let held_up_by = plane.held_up_by;
        if let Some(transport) = driver.transports.get_mut(&face) {
            transport.inbound = Some(inbound);
        }
        match read {
            Ok(None) => self.hold_up(host, link, held_up_by),
            Ok(Some(_)) => {
                running.node.neighbour_closed(now_us, link, driver);
                Next::More
            }
            Err(error) => {
                self.trace.line(now_us, || format!("{host} drops {link:?}: {error}"));
                Next::Gone
            }
        }
    }

    fn hold_up(&mut self, host: HostId, link: LinkId, held_up_by: BTreeSet<FaceId>) -> Next {
        if held_up_by.is_empty() {
            return Next::More;
        }
        let running = self.hosts[host].running.as_mut();
        if let Some(state) = running.and_then(|running| running.driver.links.get_mut(&link)) {
            state.held_up_by.extend(held_up_by);
        }
        Next::Wait
    }

    /// A node gives up its end.
    pub(crate) fn close_end(&mut self, end: End) {
        if let Some(at_us) = self.network.close(self.now_us, end) {
            self.agenda.plan(at_us, Due::Read(end.other()));
        }
    }

    pub(crate) fn datagram_arrives(&mut self, to: HostId, from: HostId, bytes: &[u8]) {
        self.activity += 1;
        if self.hosts[to].blueprint.joined {
            self.call(to, |node, driver| {
                node.handle_scouting(driver.now_us, bytes, address_of(from), driver);
            });
        }
    }
}
