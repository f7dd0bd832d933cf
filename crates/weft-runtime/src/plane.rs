//! The data plane of a reading thread: samples to callbacks and neighbours, the rest to the node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_node::{Arrival, FaceId, Plane, Stamped, stamp_put};
use weft_wire::{InterceptionPoint, NetworkMessage, Push, PushBody, Reliability, WireExpr};

use crate::clock::{now_us, wall_ntp64};
use crate::duty::Post;
use crate::route::{Route, SampleView};
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

fn new_mark() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Handles what one link delivers in one turn, on the thread of `post`.
pub(crate) struct RuntimePlane<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) post: &'a Post,
    /// To be flushed after the turn.
    pub(crate) dirty: &'a mut Dirty,
}

impl RuntimePlane<'_> {
    /// Appends a message to the batches of every neighbour on its route. Its rules are asked about
    /// `seen`, which is the same with its body decoded.
    #[inline]
    fn forward(
        &mut self,
        route: &Route,
        push: &Push<'_>,
        seen: &Push<'_>,
        reliability: Reliability,
    ) {
        let sent = SendQos::new(push.qos, reliability);
        for hop in &route.hops {
            let mut message = Push { wire_expr: hop.expr.as_wire(), node_id: hop.node_id, ..*push };
            let mut sent = sent;
            if let Some(gate) = &hop.gate {
                let Some(qos) = gate.admit(seen, reliability, now_us) else { continue };
                message.qos = qos;
                sent = SendQos::new(qos, reliability);
            }
            hop.transport.sender.append(&message, sent, || self.dirty.flush());
            self.dirty.touch(&hop.transport);
        }
    }

    #[inline]
    fn deliver_locally(&self, route: &Route, push: &Push<'_>, reliability: Reliability) {
        if route.locals.is_empty() {
            return;
        }
        match push.ts_stack {
            None => self.call_locals(route, push, reliability),
            Some(stack) => {
                let stack = self.shared.recorded(stack, InterceptionPoint::Receive);
                let push = Push { ts_stack: Some(&stack), ..*push };
                self.call_locals(route, &push, reliability);
            }
        }
    }

    #[inline]
    fn call_locals(&self, route: &Route, push: &Push<'_>, reliability: Reliability) {
        if let Some(view) = SampleView::of(&route.key, push, reliability) {
            for local in &route.locals {
                local.deliver(&view, self.post);
            }
        }
    }

    /// Stamps a sample if that is to be done, and hands it to those on its route.
    #[inline]
    fn pass_on(&mut self, route: &Arc<Route>, sample: Arrival<'_>) {
        let mut push = sample.push;
        let changed;
        if let Some(gate) = &route.gate {
            let Some(qos) = gate.admit(push, sample.reliability, now_us) else { return };
            changed = Push { qos, ..*push };
            push = &changed;
        }
        let stamped = match (&push.body, &self.shared.hlc) {
            (PushBody::Put(put), Some(hlc)) => {
                stamp_put(put, hlc, wall_ntp64(), self.shared.drop_future_timestamp)
            }
            _ => Stamped::Kept,
        };
        let stamped = match stamped {
            Stamped::Kept => None,
            Stamped::New(put) => Some(Push { body: PushBody::Put(put), ..*push }),
            Stamped::Refused(refused) => {
                tracing::debug!(key = %route.key, %refused, "dropping a sample");
                return;
            }
        };
        if !route.hops.is_empty() {
            // An unchanged body goes on byte for byte, not decoded and encoded again.
            let unchanged = Push { body: PushBody::Raw(sample.raw_body), ..*push };
            let sent = stamped.as_ref().unwrap_or(&unchanged);
            self.forward(route, sent, push, sample.reliability);
        }
        self.deliver_locally(route, stamped.as_ref().unwrap_or(push), sample.reliability);
    }
}

impl Plane for RuntimePlane<'_> {
    type Route = Arc<Route>;

    fn route(&mut self, face: FaceId, node_id: u16, expr: WireExpr<'_>) -> Option<Arc<Route>> {
        self.shared.received_route(face, node_id, expr)
    }

    #[inline]
    fn deliver(&mut self, _face: FaceId, route: &Arc<Route>, sample: Arrival<'_>) {
        let push = sample.push;
        if route.hops.is_empty() && route.locals.is_empty() {
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
