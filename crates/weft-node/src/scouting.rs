//! Finding other nodes by UDP multicast: what to ask, when, and what to answer.
//!
//! Spec: 01 §2.2 to §2.4.

use alloc::vec::Vec;
use core::net::SocketAddr;
use weft_wire::scouting::{Hello, Scout, ScoutingMessage};
use weft_wire::{Decode, Encode, Locator, Reader, Writer};

use crate::node::Node;
use crate::ports::{Ports, ScoutTo};
use crate::timers::Timer;

/// First pause between questions, in microseconds; it doubles.
const PERIOD_MIN_US: u64 = 1_000_000;
/// Longest pause between questions, in microseconds.
const PERIOD_MAX_US: u64 = 8_000_000;
/// A datagram of ours at most: a HELLO with as many locators as fit.
const DATAGRAM_LEN_MAX: usize = 8192;

/// The scouting of one node.
#[derive(Debug)]
pub(crate) struct Scouter {
    period_us: u64,
    active: bool,
    /// Where this node can be reached, and whether only from its own host.
    locators: Vec<(Locator, bool)>,
}

impl Scouter {
    /// Whether questions are being asked.
    pub(crate) const fn is_active(&self) -> bool {
        self.active
    }

    pub(crate) const fn new() -> Self {
        Self { period_us: PERIOD_MIN_US, active: false, locators: Vec::new() }
    }
}

impl Node {
    /// Where this node can be reached: each locator, and whether it is a loopback address.
    pub fn set_locators(&mut self, locators: Vec<(Locator, bool)>) {
        let public: Vec<Locator> = locators
            .iter()
            .filter(|(_, loopback)| !loopback)
            .map(|(locator, _)| locator.clone())
            .collect();
        // A node that listens on loopback alone still wants to be found by its like.
        let told = if public.is_empty() {
            locators.iter().map(|(locator, _)| locator.clone()).collect()
        } else {
            public
        };
        self.routing.set_locators(told);
        self.scouter.locators = locators;
    }

    /// It can be reached at these, too. Neighbours that are connected already are not told.
    pub fn add_locators(&mut self, mut locators: Vec<(Locator, bool)>) {
        let mut all = core::mem::take(&mut self.scouter.locators);
        all.append(&mut locators);
        self.set_locators(all);
    }

    /// Where this node can be reached.
    pub fn locators(&self) -> impl Iterator<Item = &Locator> {
        self.scouter.locators.iter().map(|(locator, _)| locator)
    }

    pub(crate) fn start_scouting(&mut self, now_us: u64, ports: &mut dyn Ports) {
        let config = &self.config.scouting;
        if !config.enabled || config.autoconnect.modes.is_empty() || self.scouter.active {
            return;
        }
        self.scouter = Scouter {
            period_us: PERIOD_MIN_US,
            active: true,
            locators: core::mem::take(&mut self.scouter.locators),
        };
        self.ask_around(now_us, ports);
    }

    pub(crate) fn stop_scouting(&mut self) {
        self.scouter.active = false;
        self.timers.clear(Timer::Scout);
    }

    pub(crate) fn ask_around(&mut self, now_us: u64, ports: &mut dyn Ports) {
        if !self.scouter.active {
            return;
        }
        let what = self.config.scouting.autoconnect.modes;
        let scout = Scout { version: weft_wire::VERSION, what, zid: None };
        send(&ScoutingMessage::Scout(scout), ScoutTo::Group, ports);
        self.timers.set(now_us + self.scouter.period_us, Timer::Scout);
        self.scouter.period_us = (self.scouter.period_us * 2).min(PERIOD_MAX_US);
    }

    /// Handles a datagram that came to a scouting socket. One that does not decode is ignored.
    pub fn handle_scouting(
        &mut self,
        _now_us: u64,
        datagram: &[u8],
        from: SocketAddr,
        ports: &mut dyn Ports,
    ) {
        match ScoutingMessage::decode(&mut Reader::new(datagram)) {
            Ok(ScoutingMessage::Scout(scout)) => self.answer(&scout, from, ports),
            Ok(ScoutingMessage::Hello(hello)) => self.found(&hello, ports),
            Err(_) => {}
        }
    }

    fn answer(&self, scout: &Scout, from: SocketAddr, ports: &mut dyn Ports) {
        let wanted = self.config.scouting.listen && scout.what.matches(self.config.whatami);
        if !wanted || scout.zid == Some(self.config.zid) {
            return;
        }
        // Whoever listens on loopback alone wants to be found by its host, and a question from there
        // may come from any of the host's addresses.
        let loopback_only = self.scouter.locators.iter().all(|(_, loopback)| *loopback);
        let local_asker = from.ip().is_loopback() || loopback_only;
        let locators: Vec<Locator> = self
            .scouter
            .locators
            .iter()
            .filter(|(_, loopback)| local_asker || !loopback)
            .map(|(locator, _)| locator.clone())
            .collect();
        if locators.is_empty() {
            return;
        }
        let mut hello = Hello {
            version: weft_wire::VERSION,
            whatami: self.config.whatami,
            zid: self.config.zid,
            locators,
        };
        // Better some of the locators than none.
        while !hello.locators.is_empty() {
            if send(&ScoutingMessage::Hello(hello.clone()), ScoutTo::Asker(from), ports) {
                return;
            }
            hello.locators.truncate(hello.locators.len() / 2);
        }
    }

    fn found(&mut self, hello: &Hello, ports: &mut dyn Ports) {
        if self.scouter.active {
            let policy = self.config.scouting.autoconnect;
            self.discovered(policy, hello.zid, hello.whatami, &hello.locators, ports);
        }
    }
}

/// Returns false if the message does not fit a datagram.
fn send(message: &ScoutingMessage, to: ScoutTo, ports: &mut dyn Ports) -> bool {
    let mut buffer = [0; DATAGRAM_LEN_MAX];
    let mut writer = Writer::new(&mut buffer);
    let fits = message.encode(&mut writer).is_ok();
    if fits {
        ports.scout(writer.written(), to);
    }
    fits
}
