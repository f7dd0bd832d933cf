//! When the members of a network are told what: changes that come in bursts are told once.
//!
//! Spec: 03 §2.5, §2.7, §2.10. The first change is told at once; what follows within a short time waits and
//! goes with the rest. So a burst costs a message or two for each neighbour, and not one for each
//! change; and how long news are on their way grows by a pause for each node at most.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::face::Region;
use crate::network::{Changes, Network, NodeIx};
use crate::outbox::{Event, Outbox};
use crate::routing::Routing;

/// How long trees have to be stable until declarations count that came from elsewhere, in microseconds.
pub(crate) const GRACE_US: u64 = 2_000_000;

/// How long a new child has to ask by itself, in microseconds.
pub(crate) const OFFER_US: u64 = 100_000;

/// Link states are told at most this often, in microseconds.
const FLOOD_PACE_US: u64 = 10_000;

/// The trees of a small network are computed at most this often, in microseconds.
const PACE_US: u64 = 10_000;
/// By how much a node of the network slows that down, in microseconds.
const PACE_PER_NODE_US: u64 = 100;

/// When networks have to be looked at again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    /// Link states wait to be told.
    flood_us: Option<u64>,
    /// Link states are not told before this time.
    next_flood_us: u64,
    /// The trees of a region have changed, and who is told what has not been brought up to date.
    settle_us: Option<u64>,
    /// Trees are not looked at before this time.
    next_settle_us: u64,
    /// When it is offered to new children to tell them what they have not asked for.
    offer_us: Option<u64>,
    /// When trees have been stable for long enough.
    reconcile_us: Option<u64>,
    /// Those who may own declarations that did not come from their tree's parent.
    unsettled: BTreeSet<(Region, NodeIx)>,
    /// The last question to a parent.
    serial: u16,
}

impl Schedule {
    pub(crate) fn deadline(&self) -> Option<(u64, &'static str)> {
        let flood = self.flood_us.map(|at| (at, "link states have changed"));
        let settle = self.settle_us.map(|at| (at, "trees have changed"));
        let offer = self.offer_us.map(|at| (at, "children have not asked"));
        let reconcile = self.reconcile_us.map(|at| (at, "trees are stable"));
        [flood, settle, offer, reconcile].into_iter().flatten().min()
    }

    /// A number for a question that earlier ones do not have.
    pub(crate) fn next_serial(&mut self) -> u16 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    #[cfg(test)]
    pub(crate) fn last_serial(&self) -> u16 {
        self.serial
    }

    /// New children may not know that they are.
    pub(crate) fn offer_later(&mut self, now_us: u64) {
        self.offer_us.get_or_insert(now_us.saturating_add(OFFER_US));
    }

    /// What `owner` owns may have come from others than its tree's parent.
    pub(crate) fn reconcile_later(&mut self, now_us: u64, owner: (Region, NodeIx)) {
        self.unsettled.insert(owner);
        self.reconcile_us.get_or_insert(now_us.saturating_add(GRACE_US));
    }
}

impl Routing {
    /// Draws the consequences of a change in a network, and tells its members in time.
    pub(crate) fn network_changed(
        &mut self,
        now_us: u64,
        region: Region,
        changes: Changes,
        out: &mut dyn Outbox,
    ) {
        for node in changes.removed {
            self.drop_sourced(region, node, out);
        }
        for (zid, whatami, locators) in changes.discovered {
            self.gossip.learned(zid, &locators, out);
            if self.config.gossip.enabled {
                out.event(Event::Discovered { zid, whatami, locators });
            }
        }
        if changes.graph {
            self.watch.invalidate_all();
            let schedule = &mut self.schedule;
            if let Some(at) = &mut schedule.reconcile_us {
                *at = now_us.saturating_add(GRACE_US);
            }
            let due = now_us.max(schedule.next_settle_us);
            schedule.settle_us.get_or_insert(due);
            if due == now_us {
                self.settle(now_us, out);
            }
            self.refresh_crossings(now_us, out);
            self.refresh_joints(out);
        }
        self.flood(now_us, out);
    }

    /// Tells link states, unless that was done just now.
    pub(crate) fn flood(&mut self, now_us: u64, out: &mut dyn Outbox) {
        if !self.networks.values().any(Network::owes) {
            self.schedule.flood_us = None;
        } else if now_us < self.schedule.next_flood_us {
            self.schedule.flood_us = Some(self.schedule.next_flood_us);
        } else {
            self.flood_now(now_us, out);
        }
    }

    fn flood_now(&mut self, now_us: u64, out: &mut dyn Outbox) {
        self.schedule.flood_us = None;
        self.schedule.next_flood_us = now_us.saturating_add(FLOOD_PACE_US);
        for network in self.networks.values_mut() {
            network.flood(out);
        }
    }

    /// Acts on changed trees: everybody has the link states first that explain what is said then.
    fn settle(&mut self, now_us: u64, out: &mut dyn Outbox) {
        self.schedule.settle_us = None;
        let nodes: usize = self.networks.values().map(Network::len).sum();
        let pace_us = PACE_US.max(nodes as u64 * PACE_PER_NODE_US);
        self.schedule.next_settle_us = now_us.saturating_add(pace_us);
        self.flood_now(now_us, out);
        let regions: Vec<Region> = self.networks.keys().copied().collect();
        for region in regions {
            self.settle_trees(now_us, region, out);
        }
    }

    /// Does what is due in the networks.
    pub(crate) fn network_timeout(&mut self, now_us: u64, out: &mut dyn Outbox) {
        let is_due = |at: Option<u64>| at.is_some_and(|at| at <= now_us);
        if is_due(self.schedule.settle_us) {
            self.settle(now_us, out);
        }
        if is_due(self.schedule.flood_us) {
            self.flood_now(now_us, out);
        }
        if is_due(self.schedule.offer_us) {
            self.schedule.offer_us = None;
            self.offer(out);
        }
        if is_due(self.schedule.reconcile_us) {
            self.schedule.reconcile_us = None;
            for owner in core::mem::take(&mut self.schedule.unsettled) {
                self.reconcile(owner, out);
            }
        }
    }
}
