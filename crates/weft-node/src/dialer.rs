//! Connecting to other nodes, and staying connected to those that were configured.
//!
//! Spec: 01 §2.4, §5.7; 03 §2.9, §2.10, §10.1. Every neighbour is an attempt of its own: all its
//! addresses are raced, to the end of the handshake, and one that cannot be reached or does not
//! answer delays no other. Configured neighbours are
//! dialed again with growing pauses, for ever; found ones a few times, and when they are found
//! again.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use weft_routing::FaceInit;
use weft_transport::HandshakeError;
use weft_wire::{CloseReason, Endpoint, Locator, WhatAmI, ZenohId};

use crate::config::{AutoConnect, Backoff, DialTarget};
use crate::links::{LinkId, Loss};
use crate::node::Node;
use crate::ports::{NodeEvent, Ports};
use crate::timers::Timer;

/// Names an attempt to connect. Never reused within a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DialId(pub u32);

/// How often a node that was found is tried again before it has to be found again.
const FOUND_RETRIES: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The runtime is connecting.
    Dialing,
    /// One or several links are up, their handshakes under way.
    Handshaking,
    /// The link carries a transport to this node.
    Open(ZenohId),
    /// The neighbour is connected by another link, or is this node itself: no further link.
    Satisfied(ZenohId),
    /// This node is a client and has its one upstream.
    Parked,
    /// The next attempt waits for its time.
    Waiting,
}

#[derive(Debug)]
struct Dial {
    endpoints: Vec<Endpoint>,
    /// Whom the endpoints must lead to.
    expected: Option<ZenohId>,
    pauses: Backoff,
    /// Opening fails without it.
    required: bool,
    /// `None` for a configured neighbour: for ever.
    retries_left: Option<u32>,
    state: State,
    /// The links of the state `Handshaking`. The first one to complete wins.
    links: Vec<LinkId>,
    /// When the transport opened, in the state `Open`.
    opened_us: u64,
    /// The endpoint whose turn it is alone. Racing them all again would lead to the same one that
    /// accepts connections and then refuses.
    alone: Option<usize>,
    /// The first attempt has come to an end, one way or the other.
    reported: bool,
}

impl Dial {
    const fn is_configured(&self) -> bool {
        self.retries_left.is_none()
    }

    const fn is_connected(&self) -> bool {
        matches!(self.state, State::Open(_) | State::Satisfied(_))
    }

    /// The endpoints of the attempt that is due.
    fn turn(&self) -> &[Endpoint] {
        match self.alone {
            Some(index) => &self.endpoints[index..=index],
            None => &self.endpoints,
        }
    }

    /// An attempt failed; in the handshake if `answered` by somebody before.
    fn next_turn(&mut self, answered: bool) {
        self.alone = match self.alone {
            None => (answered && self.endpoints.len() > 1).then_some(0),
            Some(index) => Some(index + 1).filter(|next| *next < self.endpoints.len()),
        };
    }

    /// Whether the next endpoint has its turn at once. Those of a found neighbour wait: their number is
    /// its choice.
    const fn is_amid_turns(&self) -> bool {
        self.alone.is_some() && self.is_configured()
    }
}

/// All attempts of a node.
#[derive(Debug, Default)]
pub(crate) struct Dialer {
    dials: BTreeMap<DialId, Dial>,
    next: u32,
    pub(crate) failures: Vec<String>,
}

impl Dialer {
    fn add(
        &mut self,
        target: DialTarget,
        expected: Option<ZenohId>,
        retries_left: Option<u32>,
    ) -> DialId {
        let id = DialId(self.next);
        self.next += 1;
        let dial = Dial {
            endpoints: target.endpoints,
            expected,
            pauses: Backoff::new(target.retry),
            required: target.required,
            retries_left,
            state: State::Waiting,
            links: Vec::new(),
            opened_us: 0,
            alone: None,
            reported: false,
        };
        self.dials.insert(id, dial);
        id
    }

    /// A link is up; returns whom it must lead to, or `None` if nobody waits for it.
    #[allow(clippy::option_option)] // "anybody" and "nobody" are two things
    pub(crate) fn link_up(&mut self, dial: DialId, link: LinkId) -> Option<Option<ZenohId>> {
        let dial = self.dials.get_mut(&dial)?;
        if !matches!(dial.state, State::Dialing | State::Handshaking) {
            return None;
        }
        dial.state = State::Handshaking;
        dial.links.push(link);
        Some(dial.expected)
    }

    /// The handshake of `link` is complete. Returns the other links, which nobody needs any more.
    pub(crate) fn opened(
        &mut self,
        now_us: u64,
        dial: DialId,
        link: LinkId,
        zid: ZenohId,
    ) -> Vec<LinkId> {
        let Some(dial) = self.dials.get_mut(&dial) else { return Vec::new() };
        dial.state = State::Open(zid);
        dial.opened_us = now_us;
        dial.alone = None;
        dial.reported = true;
        let mut others = core::mem::take(&mut dial.links);
        others.retain(|other| *other != link);
        others
    }

    /// The handshake of `link` has failed. Returns whether others of the same attempt go on.
    fn goes_on_without(&mut self, dial: DialId, link: LinkId) -> bool {
        let Some(dial) = self.dials.get_mut(&dial) else { return false };
        dial.links.retain(|other| *other != link);
        !dial.links.is_empty()
    }

    /// Whether somebody is to be connected to by configuration.
    pub(crate) fn has_configured(&self) -> bool {
        self.dials.values().any(Dial::is_configured)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.dials.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.dials.len()
    }

    pub(crate) fn clear(&mut self) {
        self.dials.clear();
    }

    /// Some attempt must succeed for the node to open.
    pub(crate) fn has_required(&self) -> bool {
        self.dials.values().any(|dial| dial.required)
    }

    /// Every attempt that must succeed has done so.
    pub(crate) fn required_are_connected(&self) -> bool {
        self.dials.values().all(|dial| !dial.required || dial.is_connected())
    }

    /// Some attempt that must succeed has failed at first.
    pub(crate) fn required_has_failed(&self) -> bool {
        self.dials.values().any(|dial| dial.required && dial.reported && !dial.is_connected())
    }

    /// Every attempt has come to an end at least once.
    pub(crate) fn all_reported(&self) -> bool {
        self.dials.values().all(|dial| dial.reported)
    }

    fn expecting(&self, zid: ZenohId) -> Option<DialId> {
        let dial = self.dials.iter().find(|(_, dial)| dial.expected == Some(zid));
        dial.map(|(id, _)| *id)
    }

    fn is_configured(&self, locator: &Locator) -> bool {
        let configured = self.dials.values().filter(|dial| dial.is_configured());
        configured.flat_map(|dial| &dial.endpoints).any(|endpoint| endpoint.locator() == locator)
    }
}

impl Node {
    /// Connects to a neighbour, and stays connected to it.
    pub fn connect(&mut self, target: DialTarget, ports: &mut dyn Ports) {
        let id = self.dialer.add(target, None, None);
        self.dial(id, ports);
    }

    /// Ends the attempts to connect to configured neighbours that are not among `targets`, and returns
    /// those of `targets` for which there is none.
    pub(crate) fn keep_configured(
        &mut self,
        mut targets: Vec<DialTarget>,
        ports: &mut dyn Ports,
    ) -> Vec<DialTarget> {
        let mut in_handshake = Vec::new();
        self.dialer.dials.retain(|id, dial| {
            if !dial.is_configured() {
                return true;
            }
            if let Some(at) = targets.iter().position(|it| it.endpoints == dial.endpoints) {
                targets.remove(at);
                return true;
            }
            self.timers.clear(Timer::Redial(*id));
            in_handshake.append(&mut dial.links);
            false
        });
        self.end_handshakes(in_handshake, ports);
        targets
    }

    fn dial(&mut self, id: DialId, ports: &mut dyn Ports) {
        let served = self.is_served();
        if let Some(dial) = self.dialer.dials.get_mut(&id) {
            self.timers.clear(Timer::Redial(id));
            if served {
                dial.state = State::Parked;
                dial.reported = true;
            } else {
                dial.state = State::Dialing;
                ports.dial(id, dial.turn());
            }
        }
    }

    /// A client that has its one upstream.
    pub(crate) fn is_served(&self) -> bool {
        self.config.whatami == WhatAmI::Client && self.routing.has_upstream()
    }

    pub(crate) fn redial(&mut self, id: DialId, ports: &mut dyn Ports) {
        if self.dialer.dials.get(&id).is_some_and(|dial| dial.state == State::Waiting) {
            self.dial(id, ports);
        }
    }

    /// Whether a further link would be of use to an attempt that has one: its handshake is not complete
    /// yet. See [`Ports::dial`].
    pub fn wants_another_link(&self, id: DialId) -> bool {
        self.dialer.dials.get(&id).is_some_and(|dial| dial.state == State::Handshaking)
    }

    /// Dials all who were content because `zid` was connected.
    pub(crate) fn redial_for(&mut self, now_us: u64, zid: ZenohId) {
        for (id, dial) in &mut self.dialer.dials {
            if matches!(dial.state, State::Parked) || dial.state == State::Satisfied(zid) {
                dial.state = State::Waiting;
                self.timers.set(now_us, Timer::Redial(*id));
            }
        }
    }

    /// A node was found by scouting or gossip: dials it if the policy says so and nothing leads
    /// there yet.
    pub(crate) fn discovered(
        &mut self,
        policy: AutoConnect,
        zid: ZenohId,
        whatami: WhatAmI,
        locators: &[Locator],
        ports: &mut dyn Ports,
    ) {
        let known = zid == self.config.zid
            || self.links.transports.contains_key(&zid)
            || locators.is_empty()
            || locators.iter().all(|locator| self.dialer.is_configured(locator));
        if known
            || !policy.dials(self.config.zid, whatami, zid)
            || self.routing.admits(&FaceInit::new(zid, whatami)).is_err()
        {
            return;
        }
        let endpoints = locators.iter().cloned().map(Endpoint::from).collect();
        if let Some(id) = self.dialer.expecting(zid) {
            // It was found before: its turn comes at once if it is not under way.
            if let Some(dial) = self.dialer.dials.get_mut(&id)
                && dial.state == State::Waiting
            {
                dial.endpoints = endpoints;
                dial.alone = None;
                self.dial(id, ports);
            }
        } else if self.dialer.len() < self.config.sessions_max {
            let target = DialTarget::new(endpoints);
            let id = self.dialer.add(target, Some(zid), Some(FOUND_RETRIES));
            self.dial(id, ports);
        }
    }

    /// None of the endpoints of an attempt could be connected. `reason` is one line.
    pub fn dial_failed(&mut self, now_us: u64, id: DialId, reason: &str, ports: &mut dyn Ports) {
        if self.dialer.dials.get(&id).is_none_or(|dial| dial.state != State::Dialing) {
            return; // Another link of the attempt is up, and decides.
        }
        self.attempt_failed(now_us, id, false, reason.to_string(), ports);
    }

    /// The handshake of a dialed link failed.
    pub(crate) fn handshake_failed(
        &mut self,
        now_us: u64,
        (id, link): (DialId, LinkId),
        peer: Option<ZenohId>,
        error: &HandshakeError,
        ports: &mut dyn Ports,
    ) {
        match (error, peer) {
            (HandshakeError::Closed { reason }, Some(zid)) => {
                self.dial_refused(now_us, (id, link), zid, *reason, ports);
            }
            (HandshakeError::ConnectionToSelf, _) => {
                let reason = CloseReason::CONNECTION_TO_SELF;
                self.dial_refused(now_us, (id, link), self.config.zid, reason, ports);
            }
            _ => self.link_failed(now_us, (id, link), error.to_string(), ports),
        }
    }

    /// One side does not want this link to `zid`.
    pub(crate) fn dial_refused(
        &mut self,
        now_us: u64,
        (id, link): (DialId, LinkId),
        zid: ZenohId,
        reason: CloseReason,
        ports: &mut dyn Ports,
    ) {
        let served = self.is_served();
        let connected = self.links.transports.contains_key(&zid);
        let Some(dial) = self.dialer.dials.get_mut(&id) else { return };
        if zid != self.config.zid && !connected && !served {
            let reason = format!("refused by {zid}: {reason}");
            return self.link_failed(now_us, (id, link), reason, ports);
        }
        let content = connected || zid == self.config.zid;
        dial.state = if content { State::Satisfied(zid) } else { State::Parked };
        dial.reported = true;
        let others = core::mem::take(&mut dial.links);
        if !dial.is_configured() {
            self.dialer.dials.remove(&id);
        }
        self.end_handshakes(others.into_iter().filter(|other| *other != link), ports);
        self.check_startup(ports);
    }

    /// The handshake of one of an attempt's links has failed.
    pub(crate) fn link_failed(
        &mut self,
        now_us: u64,
        (id, link): (DialId, LinkId),
        reason: String,
        ports: &mut dyn Ports,
    ) {
        if !self.dialer.goes_on_without(id, link) {
            self.attempt_failed(now_us, id, true, reason, ports);
        }
    }

    /// The transport of a dialed link is gone.
    pub(crate) fn dial_lost(&mut self, now_us: u64, id: DialId, loss: Loss) {
        let Some(dial) = self.dialer.dials.get_mut(&id) else { return };
        if !dial.is_configured() {
            if loss == Loss::ClosedByNeighbour {
                self.dialer.dials.remove(&id);
                return;
            }
            dial.retries_left = Some(FOUND_RETRIES);
        }
        dial.state = State::Waiting;
        // The first attempt after a loss is immediate (03 §2.10), unless the transport did not last.
        let lasted = now_us.saturating_sub(dial.opened_us) >= dial.pauses.first_us();
        let pause_us = if lasted {
            dial.pauses.reset();
            0
        } else {
            dial.pauses.take_us()
        };
        self.timers.set(now_us.saturating_add(pause_us), Timer::Redial(id));
    }

    fn attempt_failed(
        &mut self,
        now_us: u64,
        id: DialId,
        answered: bool,
        reason: String,
        ports: &mut dyn Ports,
    ) {
        let is_client = self.config.whatami == WhatAmI::Client;
        let (client_fails, once) = (self.config.connect_required, self.fails_at_first());
        let Some(dial) = self.dialer.dials.get_mut(&id) else { return };
        dial.next_turn(answered);
        if dial.is_amid_turns() {
            return self.dial(id, ports);
        }
        let first = !core::mem::replace(&mut dial.reported, true);
        match &mut dial.retries_left {
            Some(0) => {
                self.dialer.dials.remove(&id);
                return self.check_startup(ports);
            }
            Some(left) => *left -= 1,
            None if first => {
                let text = format!("{reason}; trying again in the background");
                let fails = if is_client { client_fails } else { dial.required };
                if !(fails && once) {
                    ports.event(NodeEvent::Warning { text });
                }
                if fails {
                    self.dialer.failures.push(reason);
                }
            }
            None => {}
        }
        dial.state = State::Waiting;
        let pause_us = dial.pauses.take_us();
        self.timers.set(now_us.saturating_add(pause_us), Timer::Redial(id));
        self.check_startup(ports);
    }
}
