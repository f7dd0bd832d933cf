//! The data plane of a reading thread: samples to callbacks and neighbours, the rest to the node.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_keyexpr::KeyExpr;
use weft_node::{Arrival, FaceId, Lane, Plane, Row, Stamped, stamp_put};
use weft_wire::{
    InterceptionPoint, NetworkMessage, Push, PushBody, Reliability, RoutedPush, Timestamp, WireExpr,
};

use crate::clock::wall_ntp64;
use crate::duty::Post;
use crate::meter::{Content, Metered};
use crate::route::{Checked, Route, RouteHop, SampleView};
use crate::sender::SendQos;
use crate::shared::Shared;
use crate::transport::Transport;

/// Neighbours for which something is queued that has to be flushed: once, not once per message.
pub(crate) struct Dirty {
    transports: Vec<Arc<Transport>>,
    /// The mark of those in the list; another list may have overwritten it, which costs a repetition.
    mark: u64,
}

impl Default for Dirty {
    fn default() -> Self {
        Self { transports: Vec::new(), mark: new_mark() }
    }
}

impl Dirty {
    #[inline]
    pub(crate) fn touch(&mut self, transport: &Arc<Transport>) {
        if transport.dirty_mark.load(Ordering::Relaxed) != self.mark {
            transport.dirty_mark.store(self.mark, Ordering::Relaxed);
            self.transports.push(Arc::clone(transport));
        }
    }

    /// Writes what is queued.
    pub(crate) fn flush(&mut self) {
        if self.transports.is_empty() {
            return;
        }
        self.mark = new_mark();
        for transport in self.transports.drain(..) {
            transport.sender.flush();
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Transport>> {
        self.transports.iter()
    }
}

/// A mark that no other list has, and never 0. Each thread takes many at a time from what all share.
fn new_mark() -> u64 {
    const TAKEN: u64 = 1 << 16;
    static NEXT: AtomicU64 = AtomicU64::new(TAKEN);
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(TAKEN - 1) };
    }
    LAST.with(|last| {
        let next = last.get() + 1;
        let mark = if next % TAKEN == 0 { NEXT.fetch_add(TAKEN, Ordering::Relaxed) } else { next };
        last.set(mark);
        mark
    })
}

/// Samples that are appended under one lock: about a microsecond's worth, in which others wait for it.
const ROW_MAX: u32 = 32;

/// Handles what one link delivers in one turn, on the thread of `post`.
pub(crate) struct RuntimePlane<'a, 'hlc> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) post: &'a Post,
    /// To be flushed after the turn.
    pub(crate) dirty: &'a mut Dirty,
    /// Stamps samples, if the node does.
    pub(crate) lane: Option<&'a mut Lane<'hlc>>,
}

impl RuntimePlane<'_, '_> {
    pub(crate) fn begin_batch(&mut self) {
        if let Some(lane) = &mut self.lane {
            lane.begin_batch();
        }
    }

    /// Appends a message to the batches of every neighbour on its route.
    #[inline]
    fn forward(&mut self, route: &Route, sample: Arrival<'_>, timestamp: Option<Timestamp>) {
        let Arrival { push, raw_body, reliability, .. } = sample;
        for hop in &route.hops {
            match &hop.checks {
                None => {
                    let qos = push.qos;
                    let message =
                        RoutedPush { timestamp, ..hop.message(push, Some(raw_body), qos) };
                    let sent = SendQos::new(qos, reliability);
                    hop.transport.sender.append(&message, sent, || self.dirty.flush());
                }
                Some(checks) => {
                    if !self.forward_checked(hop, checks, sample, timestamp) {
                        continue;
                    }
                }
            }
            self.dirty.touch(&hop.transport);
        }
    }

    /// The same for a neighbour whose samples are asked about or counted. Returns whether it goes there.
    fn forward_checked(
        &mut self,
        hop: &RouteHop,
        checks: &Checked,
        sample: Arrival<'_>,
        timestamp: Option<Timestamp>,
    ) -> bool {
        let Arrival { push, raw_body, reliability, .. } = sample;
        let Some(qos) = checks.admit(push, reliability) else { return false };
        let message = RoutedPush { timestamp, ..hop.message(push, Some(raw_body), qos) };
        let message = Metered {
            message: &message,
            tally: checks.tally.as_ref(),
            content: Content::of_push(push, qos),
        };
        let sent = SendQos::new(qos, reliability);
        hop.transport.sender.append(&message, sent, || self.dirty.flush());
        true
    }

    #[inline]
    fn deliver_locally(&self, route: &Route, sample: Arrival<'_>) {
        let Arrival { push, reliability, buffer, .. } = sample;
        match push.ts_stack {
            None => self.call_locals(route, push, reliability, buffer),
            Some(stack) => {
                let stack = self.shared.recorded(stack, InterceptionPoint::Receive);
                let push = Push { ts_stack: Some(&stack), ..*push };
                self.call_locals(route, &push, reliability, buffer);
            }
        }
    }

    #[inline]
    fn call_locals(
        &self,
        route: &Route,
        push: &Push<'_>,
        reliability: Reliability,
        buffer: Option<&Arc<Vec<u8>>>,
    ) {
        let view = SampleView { key: &route.key, push, reliability, buffer };
        for local in &route.locals {
            local.deliver(&view, self.post);
        }
    }

    /// Stamps a sample if that is to be done, and hands it to those on its route.
    #[inline]
    fn pass_on(&mut self, route: &Arc<Route>, sample: Arrival<'_>) {
        if self.lane.is_none() && route.checks.is_none() {
            self.forward(route, sample, None);
            if !route.locals.is_empty() {
                self.deliver_locally(route, sample);
            }
        } else {
            self.pass_on_checked(route, sample);
        }
    }

    /// The same where samples are stamped, or rules ask about this one.
    fn pass_on_checked(&mut self, route: &Arc<Route>, sample: Arrival<'_>) {
        let mut push = sample.push;
        let changed;
        if let Some(checks) = &route.checks {
            checks.received(push);
            let Some(qos) = checks.admit(push, sample.reliability) else { return };
            changed = Push { qos, ..*push };
            push = &changed;
        }
        let Ok(timestamp) = self.stamp(&route.key, push) else { return };
        let sample = Arrival { push, ..sample };
        self.forward(route, sample, timestamp);
        if !route.locals.is_empty() {
            let push = &timestamp.map_or(*push, |timestamp| push.stamped(timestamp));
            self.deliver_locally(route, Arrival { push, ..sample });
        }
    }

    /// The timestamp that a sample gets here, if any. An error drops it.
    #[inline]
    fn stamp(&mut self, key: &KeyExpr, push: &Push<'_>) -> Result<Option<Timestamp>, ()> {
        let (PushBody::Put(put), Some(lane)) = (&push.body, &mut self.lane) else {
            return Ok(None);
        };
        let drop_future = self.shared.drop_future_timestamp;
        match stamp_put(put, lane, wall_ntp64, drop_future) {
            Stamped::Kept => Ok(None),
            Stamped::New(timestamp) => Ok(Some(timestamp)),
            Stamped::Refused(refused) => {
                tracing::debug!(%key, %refused, "dropping a sample");
                Err(())
            }
        }
    }

    /// Appends samples that go to one neighbour and nowhere else, several under one lock.
    #[inline]
    fn forward_row(&mut self, route: &Route, hop: &RouteHop, row: &mut Row<'_, '_, '_>) {
        let Arrival { push, reliability, .. } = row.sample();
        let (qos, sent) = (push.qos, SendQos::new(push.qos, reliability));
        self.dirty.touch(&hop.transport);
        let mut appender = hop.transport.sender.appender();
        for left in (0..ROW_MAX).rev() {
            let Arrival { push, raw_body, .. } = row.sample();
            if let Ok(timestamp) = self.stamp(&route.key, push) {
                let message = RoutedPush { timestamp, ..hop.message(push, Some(raw_body), qos) };
                if !appender.append(&message, sent) {
                    drop(appender);
                    hop.transport.sender.append(&message, sent, || self.dirty.flush());
                    self.dirty.touch(&hop.transport);
                    return;
                }
            }
            if left == 0 || !row.advance() {
                return;
            }
        }
    }
}

impl Plane for RuntimePlane<'_, '_> {
    type Route = Arc<Route>;

    #[inline]
    fn deliver_row(&mut self, face: FaceId, route: &Arc<Route>, row: &mut Row<'_, '_, '_>) {
        let Arrival { push, .. } = row.sample();
        match &*route.hops {
            [hop]
                if route.locals.is_empty()
                    && route.checks.is_none()
                    && hop.checks.is_none()
                    && push.ts_stack.is_none()
                    && !push.qos.express() =>
            {
                self.forward_row(route, hop, row);
            }
            _ => self.deliver(face, route, row.sample()),
        }
    }

    fn route(&mut self, face: FaceId, node_id: u16, expr: WireExpr<'_>) -> Option<Arc<Route>> {
        self.shared.received_route(face, node_id, expr)
    }

    #[inline]
    fn deliver(&mut self, _face: FaceId, route: &Arc<Route>, sample: Arrival<'_>) {
        let push = sample.push;
        if route.hops.is_empty() && route.locals.is_empty() {
            if let Some(checks) = &route.checks {
                checks.received(push);
            }
            return;
        }
        match push.ts_stack {
            None => self.pass_on(route, sample),
            Some(stack) => {
                let stack = self.shared.recorded(stack, InterceptionPoint::Route);
                let push = &Push { ts_stack: Some(&stack), ..*push };
                self.pass_on(route, Arrival { push, ..sample });
            }
        }
    }

    fn control(&mut self, face: FaceId, message: &NetworkMessage<'_>, raw_body: &[u8]) -> bool {
        match message {
            NetworkMessage::Request(request) => {
                self.shared.request(face, request, raw_body, self.dirty);
            }
            NetworkMessage::Response(response) => {
                self.shared.response(face, response, raw_body, self.dirty);
            }
            NetworkMessage::ResponseFinal(end) => {
                self.shared.end_branch(face, end.id, self.dirty);
            }
            other => return self.shared.message(face, other),
        }
        false
    }
}
