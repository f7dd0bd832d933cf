//! Publishing: from the application's thread into every neighbour's batch.
//!
//! A publisher keeps its route, and the thread that used it last, too ([`recent`]). One atomic load says
//! whether it still holds; then the message is
//! encoded once per neighbour, straight into that neighbour's batch, and handed to this session's
//! own subscribers on the calling thread.
//!
//! Cost per message and neighbour: one lock, one copy, no allocation.

pub(crate) mod puts;
pub(crate) mod recent;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use weft_keyexpr::KeyExpr;
use weft_node::Locality;
use weft_wire::{InterceptionPoint, InterceptionPoints, Push, PushBody, Put, Qos, Reliability};

use crate::clock::wall_ntp64;
use crate::meter::{Content, Metered};
use crate::route::{Checked, Route, RouteHop, SampleView};
use crate::sender::SendQos;
use crate::shared::Shared;

/// A declared publisher.
pub struct PublisherSlot {
    pub(crate) id: u32,
    pub(crate) key: KeyExpr,
    /// Its number among all publishers of the process.
    serial: u64,
    route: ArcSwapOption<Route>,
}

impl PublisherSlot {
    pub(crate) fn new(id: u32, key: KeyExpr) -> Self {
        Self { id, key, serial: recent::serial(), route: ArcSwapOption::empty() }
    }

    /// Its entity id.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Its key expression.
    pub const fn key(&self) -> &KeyExpr {
        &self.key
    }

    /// Lets go of a route that is out of date.
    pub(crate) fn purge(&self) {
        if self.route.load().as_ref().is_some_and(|route| route.validity.is_stale()) {
            self.forget_route();
        }
    }

    /// Lets go of its route.
    pub(crate) fn forget_route(&self) {
        self.route.store(None);
        recent::forget(self.serial);
    }
}

/// How a sample is sent.
#[derive(Clone, Copy, Debug)]
pub struct SampleQos {
    /// Priority, congestion control and express flag.
    pub qos: Qos,
    /// The channel.
    pub reliability: Reliability,
    /// Whom it may reach.
    pub destination: Locality,
    /// What is recorded of it on its way.
    pub recorded: InterceptionPoints,
}

impl Shared {
    /// Publishes on a publisher's key: `push` is the message but for its key.
    #[inline]
    pub(crate) fn publish(&self, slot: &PublisherSlot, push: &Push<'_>, how: SampleQos) {
        if !recent::find(slot.serial, |route| self.send_sample(route, push, how)) {
            self.publish_anew(slot, push, how);
        }
    }

    /// The same for a publisher whose route this thread does not know.
    #[inline(never)]
    fn publish_anew(&self, slot: &PublisherSlot, push: &Push<'_>, how: SampleQos) {
        let cached = slot.route.load();
        if let Some(route) = &*cached
            && !route.validity.is_stale()
        {
            recent::keep(slot.serial, route);
            return self.send_sample(route, push, how);
        }
        let route = self.own_route(&slot.key);
        slot.route.store(Some(Arc::clone(&route)));
        self.send_sample(&route, push, how);
        // Whoever made it stale before it was stored did not find it there.
        slot.purge();
    }

    /// Publishes on any key: `push` is the message but for its key.
    pub(crate) fn put(&self, key: &KeyExpr, push: &Push<'_>, how: SampleQos) {
        let route = self.put_routes.find(key, || self.own_route(key));
        self.send_sample(&route, push, how);
    }

    #[inline]
    fn send_sample(&self, route: &Route, push: &Push<'_>, how: SampleQos) {
        debug_assert_eq!(push.qos, how.qos, "one message, two qualities");
        if self.hlc.is_none() && how.recorded.is_empty() {
            send(route, push, how);
            deliver(route, push, how);
        } else {
            self.send_marked(route, push, how);
        }
    }

    /// The same where samples are stamped, or for one whose way is recorded.
    fn send_marked(&self, route: &Route, push: &Push<'_>, how: SampleQos) {
        let mut push = *push;
        if let Some(hlc) = &self.hlc {
            stamp(&mut push.body, || hlc.stamp(wall_ntp64()));
        }
        if how.recorded.is_empty() {
            send(route, &push, how);
            deliver(route, &push, how);
            return;
        }
        let is_sent = how.destination.allows_remote() && !route.hops.is_empty();
        let is_received = how.destination.allows_local() && !route.locals.is_empty();
        if is_sent || is_received {
            let begun = self.begun(how.recorded);
            let sent = is_sent.then(|| self.recorded(&begun, InterceptionPoint::Route));
            let received = is_received.then(|| self.recorded(&begun, InterceptionPoint::Receive));
            send(route, &Push { ts_stack: sent.as_deref(), ..push }, how);
            deliver(route, &Push { ts_stack: received.as_deref(), ..push }, how);
        }
    }
}

/// Hands a message to the neighbours on its route.
#[inline]
fn send(route: &Route, push: &Push<'_>, how: SampleQos) {
    if !how.destination.allows_remote() {
        return;
    }
    for hop in &route.hops {
        match &hop.checks {
            None => {
                let message = hop.message(push, None, push.qos);
                hop.transport.sender.send(&message, SendQos::new(push.qos, how.reliability));
            }
            Some(checks) => send_checked(hop, checks, push, how.reliability),
        }
    }
}

/// The same for a neighbour whose samples are asked about or counted.
fn send_checked(hop: &RouteHop, checks: &Checked, push: &Push<'_>, reliability: Reliability) {
    if let Some(qos) = checks.admit(push, reliability) {
        let message = &hop.message(push, None, qos);
        let content = Content::of_push(push, qos);
        let message = Metered { message, tally: checks.tally.as_ref(), content };
        hop.transport.sender.send(&message, SendQos::new(qos, reliability));
    }
}

/// Hands a message to those of this session that are on its route.
#[inline]
fn deliver(route: &Route, push: &Push<'_>, how: SampleQos) {
    if !how.destination.allows_local() {
        return;
    }
    let view = SampleView { key: &route.key, push, reliability: how.reliability, buffer: None };
    for local in &route.locals {
        local.deliver_own(&view);
    }
}

fn stamp(body: &mut PushBody<'_>, now: impl FnOnce() -> weft_wire::Timestamp) {
    match body {
        PushBody::Put(Put { timestamp: timestamp @ None, .. }) => *timestamp = Some(now()),
        PushBody::Del(del) if del.timestamp.is_none() => del.timestamp = Some(now()),
        _ => {}
    }
}
