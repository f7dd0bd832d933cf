//! The simulation: hosts, network and time.
//!
//! Time stands still while something happens, and jumps from one event to the next. Everything that
//! is not decided by the caller is decided by one generator, so that a seed tells the whole story.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weft_node::{DialId, FaceId};

use crate::agenda::Agenda;
use crate::check::{
    Verdict, circles::Circles, delivery::Deliveries, memory, order::Order, query::Queries,
    rerouting::Rerouting,
};
use crate::fact::{PutId, ReplyIn, Sample};
use crate::host::{Host, Running};
use crate::network::{End, HostId, Network, Site};
use crate::rng::Rng;
use crate::trace::Trace;

/// Names a node of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef(pub(crate) HostId);

/// Something that happens at a known time.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// A node's timer.
    Wake(Site),
    /// Something may have arrived at an end of a connection.
    Read(End),
    /// A connection request arrives.
    Syn {
        dialer: Site,
        dial: DialId,
        attempt: u64,
        target: HostId,
    },
    /// The dialer learns that it is connected.
    Connected {
        dialer: Site,
        dial: DialId,
        attempt: u64,
        end: End,
    },
    /// The dialer learns that it is not.
    NotConnected {
        dialer: Site,
        dial: DialId,
        attempt: u64,
    },
    Datagram {
        to: HostId,
        from: HostId,
        bytes: Vec<u8>,
    },
    /// A queryable answers.
    Answer {
        site: Site,
        branch: u32,
        queryable: u32,
    },
    /// A fault ends, or a host comes back.
    Fault(crate::faults::Later),
}

/// Where a publication comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PutOrigin {
    pub(crate) stream: crate::check::order::Stream,
}

/// What a liveliness subscriber was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenChange {
    /// The token's key.
    pub key: String,
    /// Appeared, or gone.
    pub alive: bool,
}

/// A query, as its asker sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryLog {
    pub(crate) host: HostId,
    pub(crate) asked_us: u64,
    pub(crate) replies: Vec<ReplyIn>,
    pub(crate) ended_us: Option<u64>,
    pub(crate) timed_out: bool,
}

/// Everything that was seen, by the numbers that the handles carry.
#[derive(Default)]
pub(crate) struct Logs {
    pub(crate) samples: Vec<Vec<Sample>>,
    pub(crate) tokens: Vec<Vec<TokenChange>>,
    pub(crate) queries: Vec<QueryLog>,
    pub(crate) puts: BTreeMap<PutId, PutOrigin>,
    pub(crate) put_count: u64,
}

/// The checkers that watch every step.
#[derive(Default)]
pub(crate) struct Checks {
    pub(crate) order: Order,
    pub(crate) queries: Queries,
    pub(crate) circles: Circles,
    pub(crate) deliveries: Deliveries,
    pub(crate) rerouting: Rerouting,
}

/// A network of nodes in one thread and in virtual time. See the [crate] documentation.
pub struct Sim {
    pub(crate) seed: u64,
    pub(crate) rng: Rng,
    pub(crate) now_us: u64,
    pub(crate) hosts: Vec<Host>,
    pub(crate) network: Network,
    pub(crate) agenda: Agenda<Due>,
    pub(crate) logs: Logs,
    pub(crate) checks: Checks,
    /// Counts everything but keep-alives, to see when all is quiet.
    pub(crate) activity: u64,
    /// Something broke: what is lost is excused.
    pub(crate) disturbed: bool,
    pub(crate) steps: u64,
    pub(crate) trace: Trace,
}

/// How long nothing may happen before all counts as quiet, in microseconds.
const QUIET_US: u64 = 60_000;
/// How long settling may take, in microseconds.
const SETTLE_MAX_US: u64 = 120_000_000;

impl Sim {
    /// An empty network. The same seed and the same calls give the same history.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            rng: Rng::new(seed),
            now_us: 1_000_000,
            hosts: Vec::new(),
            network: Network::default(),
            agenda: Agenda::default(),
            logs: Logs::default(),
            checks: Checks::default(),
            activity: 0,
            disturbed: false,
            steps: 0,
            trace: Trace::default(),
        }
    }

    /// The seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The virtual time, in microseconds.
    #[must_use]
    pub const fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Events handled so far.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Lets `us` microseconds pass.
    pub fn run_for(&mut self, us: u64) {
        let until_us = self.now_us + us;
        while self.step(until_us) {}
        self.now_us = until_us;
        let verdict = self.checks.queries.at(self.now_us);
        self.must(verdict);
    }

    /// Lets time pass until `done` holds; false if it does not within `within_us`.
    pub fn run_until(&mut self, within_us: u64, mut done: impl FnMut(&Self) -> bool) -> bool {
        let until_us = self.now_us + within_us;
        loop {
            if done(self) {
                return true;
            }
            if !self.step(until_us) {
                self.now_us = until_us;
                return done(self);
            }
        }
    }

    /// Lets time pass until nothing happens any more but keep-alives and the waiting of timers.
    ///
    /// # Panics
    /// If that takes more than two minutes, or if a publication that was due somewhere is lost.
    pub fn settle(&mut self) {
        let give_up_us = self.now_us + SETTLE_MAX_US;
        loop {
            let before = self.activity;
            self.run_for(QUIET_US);
            if self.activity == before && !self.is_busy() {
                break;
            }
            if self.now_us > give_up_us {
                self.fail(&format!("the network does not come to rest: {}", self.business()));
            }
        }
        self.checks.rerouting.settled();
        let Checks { deliveries, rerouting, .. } = &mut self.checks;
        let verdict = deliveries.settled(|put| rerouting.excuses(put));
        self.must(verdict);
    }

    /// What keeps the network busy, in words.
    fn business(&self) -> String {
        let mut text = String::new();
        for (id, connection) in &self.network.connections {
            for (side, pipe) in connection.pipes.iter().enumerate() {
                if !pipe.is_empty() {
                    let (from, to) = (connection.sites[side].host, connection.sites[1 - side].host);
                    let _ = write!(text, "\n  {} bytes in {id} from {from} to {to}", pipe.held());
                }
            }
        }
        for (number, host) in self.hosts.iter().enumerate() {
            let Some(running) = &host.running else { continue };
            for (face, transport) in &running.driver.transports {
                if !transport.outbound.is_idle() {
                    let waiting = transport.outbound.is_waiting();
                    let (bytes, _) = transport.outbound.fill();
                    let _ = write!(text, "\n  {number} queues {bytes} for {face:?}, {waiting}");
                }
            }
            for (link, state) in &running.driver.links {
                if !state.held_up_by.is_empty() {
                    let by = &state.held_up_by;
                    let _ = write!(text, "\n  {number} does not read {link:?} because of {by:?}");
                }
            }
        }
        text
    }

    fn is_busy(&self) -> bool {
        let under_way = self.agenda.iter().any(|(at_us, due)| match due {
            Due::Syn { .. } | Due::Connected { .. } | Due::Datagram { .. } => true,
            Due::NotConnected { .. } | Due::Answer { .. } => at_us < self.now_us + 1_000_000,
            Due::Wake(_) | Due::Read(_) | Due::Fault(_) => false,
        });
        under_way
            || self.network.is_busy()
            || self.hosts.iter().filter_map(|host| host.running.as_ref()).any(Running::is_sending)
    }

    /// Handles the next event, if one is due by `until_us`.
    fn step(&mut self, until_us: u64) -> bool {
        let Some((at_us, due)) = self.agenda.pop(until_us) else { return false };
        self.now_us = self.now_us.max(at_us);
        self.steps += 1;
        let verdict = self.checks.queries.at(self.now_us);
        self.must(verdict);
        match due {
            Due::Wake(site) => self.wake(site, at_us),
            Due::Read(end) => self.read(end),
            Due::Syn { dialer, dial, attempt, target } => {
                self.connection_asked(dialer, dial, attempt, target);
            }
            Due::Connected { dialer, dial, attempt, end } => {
                self.connected(dialer, dial, attempt, end);
            }
            Due::NotConnected { dialer, dial, attempt } => {
                self.not_connected(dialer, dial, attempt);
            }
            Due::Datagram { to, from, bytes } => self.datagram_arrives(to, from, &bytes),
            Due::Answer { site, branch, queryable } => self.answer(site, branch, queryable),
            Due::Fault(later) => self.fault_is_due(later),
        }
        true
    }

    fn wake(&mut self, site: Site, at_us: u64) {
        let Some(running) = self.running_at(site) else { return };
        if running.wakes_at_us != Some(at_us) {
            return;
        }
        running.wakes_at_us = None;
        self.call(site.host, |node, driver| node.handle_timeout(driver.now_us, driver));
    }

    /// The node at a site, if it still lives the same life.
    pub(crate) fn running_at(&mut self, site: Site) -> Option<&mut Running> {
        let host = self.hosts.get_mut(site.host)?;
        if host.life == site.life { host.running.as_mut() } else { None }
    }

    pub(crate) fn site(&self, host: HostId) -> Site {
        Site { host, life: self.hosts[host].life }
    }

    /// Which host is behind a face of another one.
    pub(crate) fn host_behind(&self, host: HostId, face: FaceId) -> Option<HostId> {
        let zid = self.hosts[host].running.as_ref()?.node.routing().neighbour(face)?.zid;
        self.hosts.iter().position(|other| other.zid() == zid)
    }

    /// Stops the simulation if a checker objects.
    pub(crate) fn must(&mut self, verdict: Verdict) {
        if let Err(violation) = verdict {
            self.fail(&violation.to_string());
        }
    }

    pub(crate) fn check_memory(&mut self, host: HostId) {
        let Some(running) = self.hosts[host].running.as_ref() else { return };
        let mut transports = running.driver.transports.values();
        let verdict = transports.try_for_each(|it| memory::lanes(it.outbound.fill()));
        let max = running.node.config().accept_pending_max;
        let verdict = verdict.and(memory::pending(&running.node.footprint(), max));
        self.must(verdict);
    }

    pub(crate) fn fail(&self, what: &str) -> ! {
        let mut text = format!("at {} us of seed {}: {what}", self.now_us, self.seed);
        for (number, host) in self.hosts.iter().enumerate() {
            let state = if host.running.is_some() { "runs" } else { "is down" };
            let _ = write!(
                text,
                "\n  {number} = {} ({}{}, {}), life {}, {state}, linked with {:?}",
                host.name,
                if host.blueprint.config.handshake.mesh { "mesh " } else { "" },
                host.blueprint.config.whatami,
                host.zid(),
                host.life,
                self.neighbours(NodeRef(number)).iter().map(|node| node.0).collect::<Vec<_>>(),
            );
        }
        panic!("{text}");
    }
}
