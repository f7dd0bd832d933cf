//! Publishing: from the application's thread into every neighbour's batch.
//!
//! A publisher keeps its route. One atomic load says whether it still holds; then the message is
//! encoded once per neighbour, straight into that neighbour's batch, and handed to this session's
//! own subscribers on the calling thread.
//!
//! Cost per message and neighbour: one lock, one copy, no allocation.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use arc_swap::ArcSwapOption;
use weft_keyexpr::KeyExpr;
use weft_node::{Locality, PushGate};
use weft_wire::{InterceptionPoint, InterceptionPoints, Push, PushBody, Put, Qos, Reliability};

use crate::clock::{now_us, wall_ntp64};
use crate::route::{Route, RouteHop, SampleView};
use crate::sender::SendQos;
use crate::shared::Shared;

/// Routes kept for puts without a publisher.
const PUT_ROUTES_MAX: usize = 4096;

/// A declared publisher.
pub struct PublisherSlot {
    pub(crate) id: u32,
    pub(crate) key: KeyExpr,
    route: ArcSwapOption<Route>,
}

impl PublisherSlot {
    pub(crate) fn new(id: u32, key: KeyExpr) -> Self {
        Self { id, key, route: ArcSwapOption::empty() }
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
    /// Publishes on a publisher's key.
    #[inline]
    pub(crate) fn publish(&self, slot: &PublisherSlot, body: PushBody<'_>, how: SampleQos) {
        let cached = slot.route.load();
        if let Some(route) = &*cached
            && !route.validity.is_stale()
        {
            return self.send_sample(route, body, how);
        }
        let route = self.own_route(&slot.key);
        slot.route.store(Some(Arc::clone(&route)));
        self.send_sample(&route, body, how);
        // Whoever made it stale before it was stored did not find it there.
        slot.purge();
    }

    /// Publishes on any key.
    pub(crate) fn put(&self, key: &KeyExpr, body: PushBody<'_>, how: SampleQos) {
        let route = self.put_route(key);
        self.send_sample(&route, body, how);
    }

    fn put_route(&self, key: &KeyExpr) -> Arc<Route> {
        let lock = || self.put_routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = lock().get(key.as_str())
            && !route.validity.is_stale()
        {
            return Arc::clone(route);
        }
        let route = self.own_route(key);
        let mut routes = lock();
        let full = routes.len() >= PUT_ROUTES_MAX;
        let cleared = if full { std::mem::take(&mut *routes) } else { HashMap::default() };
        let replaced = routes.insert(key.clone(), Arc::clone(&route));
        // What a subscriber held is dropped without the lock: a destructor may publish.
        drop(routes);
        drop((cleared, replaced));
        route
    }

    #[inline]
    fn send_sample(&self, route: &Route, body: PushBody<'_>, how: SampleQos) {
        let mut push = Push {
            wire_expr: weft_wire::WireExpr::full(""),
            qos: how.qos,
            timestamp: None,
            node_id: 0,
            ts_stack: None,
            body,
        };
        if let Some(hlc) = &self.hlc {
            stamp(&mut push.body, || hlc.stamp(wall_ntp64()));
        }
        if how.recorded.is_empty() {
            distribute(route, push, how, None);
        } else {
            self.distribute_recorded(route, push, how);
        }
    }

    /// The same for a message whose way is recorded.
    #[cold]
    fn distribute_recorded(&self, route: &Route, push: Push<'_>, how: SampleQos) {
        let is_sent = how.destination.allows_remote() && !route.hops.is_empty();
        let is_received = how.destination.allows_local() && !route.locals.is_empty();
        if is_sent || is_received {
            let begun = self.begun(how.recorded);
            let sent = is_sent.then(|| self.recorded(&begun, InterceptionPoint::Route));
            let received = is_received.then(|| self.recorded(&begun, InterceptionPoint::Receive));
            let push = Push { ts_stack: sent.as_deref(), ..push };
            distribute(route, push, how, received.as_deref());
        }
    }
}

/// Hands a message to those on its route; `own_stack` is what this session gets of its stack.
#[inline]
fn distribute<'a>(
    route: &'a Route,
    mut push: Push<'a>,
    how: SampleQos,
    own_stack: Option<&'a [u8]>,
) {
    if how.destination.allows_remote() {
        let sent = SendQos::new(how.qos, how.reliability);
        for hop in &route.hops {
            push.wire_expr = hop.expr.as_wire();
            push.node_id = hop.node_id;
            if let Some(gate) = &hop.gate {
                hop.send_through(gate, &push, how.reliability);
            } else {
                hop.transport.sender.send(&push, sent);
            }
        }
    }
    push.ts_stack = own_stack;
    if how.destination.allows_local()
        && !route.locals.is_empty()
        && let Some(view) = SampleView::of(&route.key, &push, how.reliability)
    {
        for local in &route.locals {
            local.deliver_own(&view);
        }
    }
}

impl RouteHop {
    /// Sends a sample if the rules let it pass, with the QoS that they give it.
    fn send_through(&self, gate: &PushGate, push: &Push<'_>, reliability: Reliability) {
        if let Some(qos) = gate.admit(push, reliability, now_us) {
            self.transport.sender.send(&Push { qos, ..*push }, SendQos::new(qos, reliability));
        }
    }
}

fn stamp(body: &mut PushBody<'_>, now: impl FnOnce() -> weft_wire::Timestamp) {
    match body {
        PushBody::Put(Put { timestamp: timestamp @ None, .. }) => *timestamp = Some(now()),
        PushBody::Del(del) if del.timestamp.is_none() => del.timestamp = Some(now()),
        _ => {}
    }
}
