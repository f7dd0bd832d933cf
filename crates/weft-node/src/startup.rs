//! When a node counts as open.
//!
//! Spec: 03 §3.6. A client is open when it is connected, and so is any other node that is told what
//! it must be connected to. A peer is otherwise open when what it was told to connect to, and what
//! it found, has told what it has, or after a short wait; a router at once.

use weft_wire::WhatAmI;

use crate::config::not_connected;
use crate::links::Transport;
use crate::node::Node;
use crate::ports::{NodeEvent, Ports};
use crate::timers::Timer;

/// Where the opening stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Startup {
    Created,
    Opening,
    /// Reported as started or failed.
    Done,
}

impl Node {
    /// Begins to connect and to scout. Ends in [`NodeEvent::Started`] or
    /// [`NodeEvent::StartFailed`].
    pub fn start(&mut self, now_us: u64, ports: &mut dyn Ports) {
        if self.startup != Startup::Created {
            return;
        }
        self.startup = Startup::Opening;
        for target in core::mem::take(&mut self.config.dial) {
            self.connect(target, ports);
        }
        let is_client = self.config.whatami == WhatAmI::Client;
        if !is_client || self.dialer.is_empty() {
            self.start_scouting(now_us, ports);
        }
        let wait_us = if is_client && self.dialer.is_empty() {
            Some(self.config.scouting.timeout_us)
        } else if is_client || self.dialer.has_required() {
            self.config.connect_timeout_us.filter(|us| *us > 0)
        } else {
            Some(self.config.scouting_delay_us)
        };
        if let Some(wait_us) = wait_us {
            self.timers.set(now_us.saturating_add(wait_us), Timer::Startup);
        }
        self.check_startup(ports);
    }

    /// Reports the opening's end if it has come.
    pub(crate) fn check_startup(&mut self, ports: &mut dyn Ports) {
        if self.startup != Startup::Opening {
            return;
        }
        if self.config.whatami == WhatAmI::Client {
            return self.check_client(ports);
        }
        if self.dialer.has_required() {
            if self.dialer.required_are_connected() {
                self.started(ports);
            } else if self.tries_once() && self.dialer.required_has_failed() {
                self.start_failed(ports);
            }
            return;
        }
        let connected = !self.links.transports.is_empty();
        let waits = self.config.wait_for_scouted && self.config.whatami == WhatAmI::Peer;
        let awaited = waits && (!self.dialer.all_reported() || self.neighbours_unready());
        let looking = waits && self.scouter_is_active() && !connected;
        if !awaited && !looking {
            self.started(ports);
        }
    }

    fn check_client(&mut self, ports: &mut dyn Ports) {
        if self.is_served() {
            self.started(ports);
        } else if self.scouter_is_active() {
            // It may find somebody yet.
        } else if self.dialer.is_empty() {
            self.start_failed_unnamed(ports);
        } else if self.tries_once() && self.dialer.all_reported() {
            self.start_failed(ports);
        }
    }

    /// Whether a neighbour has yet to tell what opening waits for.
    fn neighbours_unready(&self) -> bool {
        let is_unready = |it: &Transport| {
            let content = !self.config.wait_for_declares
                && it.negotiated.whatami == WhatAmI::Peer
                && (it.gossiped || !self.config.gossip.enabled);
            !content && !self.routing.is_ready(it.face)
        };
        self.links.transports.values().any(is_unready)
    }

    /// Opening has waited long enough.
    pub(crate) fn startup_expired(&mut self, ports: &mut dyn Ports) {
        if self.startup != Startup::Opening {
            return;
        }
        let connected = match self.config.whatami {
            WhatAmI::Client => self.is_served(),
            WhatAmI::Peer | WhatAmI::Router => self.dialer.required_are_connected(),
        };
        if connected { self.started(ports) } else { self.start_failed(ports) }
    }

    /// Whether opening fails with the first failure of what it depends on, and tells it.
    pub(crate) fn fails_at_first(&self) -> bool {
        self.startup == Startup::Opening && self.tries_once()
    }

    fn tries_once(&self) -> bool {
        self.config.connect_timeout_us == Some(0)
    }

    fn started(&mut self, ports: &mut dyn Ports) {
        self.startup = Startup::Done;
        self.timers.clear(Timer::Startup);
        ports.event(NodeEvent::Started);
    }

    fn start_failed(&mut self, ports: &mut dyn Ports) {
        self.startup = Startup::Done;
        if self.config.connect_required || self.config.whatami != WhatAmI::Client {
            let reason = not_connected(&self.dialer.failures);
            ports.event(NodeEvent::StartFailed { reason });
        } else {
            ports.event(NodeEvent::Started);
        }
    }

    fn start_failed_unnamed(&mut self, ports: &mut dyn Ports) {
        self.startup = Startup::Done;
        let reason = "no endpoint to connect to and multicast scouting is off; \
                      name one with connect/endpoints (-e)";
        ports.event(NodeEvent::StartFailed { reason: reason.into() });
    }
}
