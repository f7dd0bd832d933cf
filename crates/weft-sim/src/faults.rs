//! What goes wrong: cuts, resets, crashes, slow readers, bad datagrams.

use crate::network::{DatagramFaults, End, HostId};
use crate::pipe::Medium;
use crate::sim::{Due, NodeRef, Sim};

/// A fault that ends, at a time that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    Heal(HostId, HostId),
    Restart(HostId),
    ReadFast(HostId),
}

impl Sim {
    /// What new connections are like.
    pub fn set_medium(&mut self, medium: Medium) {
        self.network.medium = medium;
    }

    /// What chance does to scouting datagrams.
    pub fn set_datagram_faults(&mut self, faults: DatagramFaults) {
        self.network.datagrams = faults;
    }

    fn disturb(&mut self, what: impl FnOnce() -> String) {
        self.trace.line(self.now_us, what);
        self.disturbed = true;
        self.activity += 1;
        self.checks.deliveries.excuse();
    }

    /// Nothing comes through between two nodes, until [`Sim::heal`].
    pub fn cut(&mut self, a: NodeRef, b: NodeRef) {
        self.cut_one_way(a, b);
        self.cut_one_way(b, a);
    }

    /// Nothing comes from one node to the other.
    pub fn cut_one_way(&mut self, from: NodeRef, to: NodeRef) {
        self.disturb(|| format!("cut from {} to {}", from.0, to.0));
        self.network.cut(from.0, to.0);
    }

    /// A node cannot reach any other one.
    pub fn isolate(&mut self, node: NodeRef) {
        for other in (0..self.hosts.len()).filter(|other| *other != node.0) {
            self.cut(node, NodeRef(other));
        }
    }

    /// The way between two nodes is open again, in both directions. What was held back arrives.
    pub fn heal(&mut self, a: NodeRef, b: NodeRef) {
        for (from, to) in [(a.0, b.0), (b.0, a.0)] {
            self.heal_one_way(from, to);
        }
    }

    fn heal_one_way(&mut self, from: HostId, to: HostId) {
        self.trace.line(self.now_us, || format!("heal from {from} to {to}"));
        self.activity += 1;
        for (end, at_us) in self.network.heal(self.now_us, from, to) {
            self.agenda.plan(at_us, Due::Read(end));
        }
    }

    /// All ways are open again.
    pub fn heal_all(&mut self) {
        for (from, to) in self.network.cuts() {
            self.heal_one_way(from, to);
        }
    }

    /// Breaks the connections between two nodes; what is on its way is lost.
    pub fn reset(&mut self, a: NodeRef, b: NodeRef) {
        self.disturb(|| format!("reset between {} and {}", a.0, b.0));
        self.break_connections(|sites| sites == [a.0, b.0] || sites == [b.0, a.0]);
    }

    fn break_connections(&mut self, concerns: impl Fn([HostId; 2]) -> bool) {
        let now_us = self.now_us;
        let mut noticed = Vec::new();
        for (id, connection) in &mut self.network.connections {
            if concerns(connection.sites.map(|site| site.host)) {
                for side in 0..2 {
                    let pipe = &mut connection.pipes[side];
                    let at_us = pipe.reset(now_us);
                    if !pipe.is_cut() {
                        noticed.push((at_us, End { connection: *id, side: 1 - side }));
                    }
                }
            }
        }
        for (at_us, end) in noticed {
            self.agenda.plan(at_us, Due::Read(end));
        }
    }

    /// Kills a node without a word. Its system tells the neighbours that the connections are gone.
    pub fn kill(&mut self, node: NodeRef) {
        self.disturb(|| format!("kill {}", node.0));
        self.forget_session(node.0);
        self.break_connections(|sites| sites.contains(&node.0));
        self.abandon_ends(node.0);
    }

    /// Cuts the power of a node: nobody tells its neighbours anything.
    pub fn power_off(&mut self, node: NodeRef) {
        self.disturb(|| format!("power off {}", node.0));
        self.forget_session(node.0);
        self.abandon_ends(node.0);
    }

    /// Bytes came to a host that runs, but knows nothing of their connection: it says so.
    pub(crate) fn bounce(&mut self, end: End) {
        let now_us = self.now_us;
        let Some(connection) = self.network.connections.get_mut(&end.connection) else { return };
        let other = 1 - end.side;
        let (here, there) = (connection.sites[end.side].host, connection.sites[other].host);
        let runs = self.hosts.get(there).is_some_and(|host| host.running.is_some());
        if connection.open[other] || !runs {
            return;
        }
        if !self.network.is_cut(here, there) && !self.network.is_cut(there, here) {
            let Some(connection) = self.network.connections.get_mut(&end.connection) else {
                return;
            };
            let at_us = connection.pipes[other].reset(now_us);
            self.agenda.plan(at_us, Due::Read(end));
        }
    }

    /// Everything that a dead host was going to do is off.
    fn forget_session(&mut self, host: HostId) {
        self.hosts[host].running = None;
        let open: Vec<usize> = self
            .logs
            .queries
            .iter()
            .enumerate()
            .filter(|(handle, log)| log.host == host && self.checks.queries.is_open(*handle))
            .map(|(handle, _)| handle)
            .collect();
        for handle in open {
            self.checks.queries.forget(handle);
        }
    }

    fn abandon_ends(&mut self, host: HostId) {
        let mut ids = Vec::new();
        for (id, connection) in &mut self.network.connections {
            for side in 0..2 {
                if connection.sites[side].host == host {
                    connection.open[side] = false;
                    ids.push(*id);
                }
            }
        }
        for id in ids {
            self.network.forget_if_closed(id);
        }
    }

    /// Starts a node again that is down, with the identity that it had. Its application has to
    /// declare everything anew.
    ///
    /// # Panics
    /// If it is running.
    pub fn restart(&mut self, node: NodeRef) {
        assert!(self.hosts[node.0].running.is_none(), "{} is running", self.hosts[node.0].name);
        let sn = &mut self.hosts[node.0].blueprint.config.gossip.first_sn;
        *sn += 1_000;
        self.start_host(node.0);
    }

    /// Starts a node again under another identity.
    pub fn restart_as_another(&mut self, node: NodeRef) {
        let zid = self.new_zid();
        let config = &mut self.hosts[node.0].blueprint.config;
        config.zid = zid;
        config.handshake.zid = zid;
        self.restart(node);
    }

    /// Closes a node properly.
    pub fn close(&mut self, node: NodeRef) {
        self.disturb(|| format!("close {}", node.0));
        self.call(node.0, |node, driver| node.close(driver));
        if let Some(running) = self.hosts[node.0].running.as_ref() {
            let node = &running.node;
            let routing = node.routing().footprint();
            let verdict = crate::check::memory::nobody(&node.footprint(), &routing);
            self.must(verdict);
        }
        self.forget_session(node.0);
        self.abandon_ends(node.0);
    }

    /// A node reads no more than so many bytes a second from each connection; 0 is nothing at all.
    pub fn slow_down(&mut self, node: NodeRef, bytes_per_s: u64) {
        self.disturb(|| format!("{} reads {bytes_per_s} B/s", node.0));
        self.hosts[node.0].reads_per_s = Some(bytes_per_s);
    }

    /// A node reads as fast as it can.
    pub fn speed_up(&mut self, node: NodeRef) {
        let now_us = self.now_us;
        self.trace.line(now_us, || format!("{} reads fast", node.0));
        self.hosts[node.0].reads_per_s = None;
        let Some(running) = self.hosts[node.0].running.as_mut() else { return };
        for link in running.driver.links.values_mut() {
            link.next_read_us = 0;
            self.agenda.plan(now_us, Due::Read(link.end));
        }
    }

    /// Lets a fault end by itself.
    pub(crate) fn plan_fault(&mut self, after_us: u64, later: Later) {
        self.agenda.plan(self.now_us + after_us, Due::Fault(later));
    }

    pub(crate) fn fault_is_due(&mut self, later: Later) {
        match later {
            Later::Heal(a, b) => self.heal(NodeRef(a), NodeRef(b)),
            Later::ReadFast(host) => self.speed_up(NodeRef(host)),
            Later::Restart(host) => {
                if self.hosts[host].running.is_none() {
                    self.restart(NodeRef(host));
                }
            }
        }
    }
}
