//! The data plane of a virtual node: samples to subscribers and neighbours, queries and answers on
//! their way. It uses the functions that a runtime uses, and nothing else decides.

use std::collections::BTreeSet;
use std::rc::Rc;

use weft_node::{
    AcceptedReply, Arrival, DataRoute, FaceId, Hlc, Node, NodeRoute, PendingReply, Plane, PushGate,
    QueryRequest, QueryScope, RouteExpr, Stamped, forwarded, stamp_put,
};
use weft_wire::{
    CongestionControl, NetworkMessage, Push, PushBody, Qos, Reliability, Request, RequestBody,
    Response, ResponseBody, ResponseFinal, RoutedPush, WireExpr,
};

use crate::driver::{Driver, Route};
use crate::fact::{Fact, PutId, ReplyIn, Sample};
use crate::outbound::{Class, Pushed};

/// What handles the messages of one link for a while.
pub(crate) struct SimPlane<'a> {
    pub(crate) node: &'a mut Node,
    pub(crate) driver: &'a mut Driver,
    pub(crate) hlc: Option<&'a Hlc>,
    pub(crate) wall_ntp64: u64,
    pub(crate) drop_future: bool,
    /// The neighbours that have no room for what this link brought: its reader has to wait.
    pub(crate) held_up_by: BTreeSet<FaceId>,
}

impl Plane for SimPlane<'_> {
    type Route = Route;

    fn route(&mut self, face: FaceId, node_id: u16, expr: WireExpr<'_>) -> Option<Route> {
        let key = self.node.resolve(face, expr).ok()?;
        Some(Route(Rc::new(self.node.data_route(face, node_id, &key))))
    }

    fn deliver(&mut self, _face: FaceId, route: &Route, sample: Arrival<'_>) {
        let Arrival { push, raw_body, reliability, .. } = sample;
        let NodeRoute { route: DataRoute { hops, .. }, subscribers, ingress, egress } = &*route.0;
        if hops.is_empty() && subscribers.is_empty() {
            return;
        }
        let now_us = self.driver.now_us;
        let admit = |gate: &Option<Box<PushGate>>, push: &Push<'_>| {
            PushGate::admit_at(gate.as_deref(), push, reliability, || now_us)
        };
        let Some(qos) = admit(ingress, push) else { return };
        let push = &Push { qos, ..*push };
        let stamped = match (&push.body, self.hlc) {
            (PushBody::Put(put), Some(hlc)) => {
                stamp_put(put, &mut hlc.lane(), || self.wall_ntp64, self.drop_future)
            }
            _ => Stamped::Kept,
        };
        let timestamp = match stamped {
            Stamped::Kept => None,
            Stamped::New(timestamp) => Some(timestamp),
            Stamped::Refused(_) => return,
        };
        let put = put_id(push);
        for (hop, gate) in hops.iter().zip(egress) {
            let Some(qos) = admit(gate, push) else { continue };
            let message = RoutedPush { qos, timestamp, ..forwarded(push, raw_body, hop) };
            self.forward(hop.face, &message, class(qos, reliability));
            self.driver.facts.extend(put.map(|put| Fact::Sent { put, face: hop.face }));
        }
        let stamped = timestamp.map(|timestamp| push.stamped(timestamp));
        let push = stamped.as_ref().unwrap_or(push);
        self.driver.facts.extend(delivery(route, push, reliability, subscribers));
    }

    fn control(&mut self, face: FaceId, message: &NetworkMessage<'_>, raw_body: &[u8]) -> bool {
        match message {
            NetworkMessage::Request(request) => self.request(face, request, raw_body),
            NetworkMessage::Response(response) => self.response(face, response, raw_body),
            NetworkMessage::ResponseFinal(end) => end_branch(self.node, self.driver, face, end.id),
            other => {
                let now_us = self.driver.now_us;
                return self.node.handle_message(now_us, face, other, self.driver);
            }
        }
        false
    }
}

impl SimPlane<'_> {
    /// Sends on what this link brought; its reader waits if the neighbour has no room.
    fn forward(&mut self, face: FaceId, message: &impl weft_wire::Encode, class: Class) {
        if self.driver.push(face, message, class) == Pushed::Waiting {
            self.held_up_by.insert(face);
        }
    }

    fn request(&mut self, face: FaceId, request: &Request<'_>, raw_body: &[u8]) {
        let Ok(key) = self.node.resolve(face, request.wire_expr) else {
            return end_at_once(self.driver, face, request.id, request.qos);
        };
        let default_us = self.node.config().queries_timeout_us;
        let asked = QueryRequest {
            source: face,
            node_id: request.node_id,
            source_id: request.id,
            key: &key,
            target: request.target,
            qos: request.qos,
            timeout_us: request.timeout_ms.map_or(default_us, |ms| ms.saturating_mul(1000)),
            scope: QueryScope::Any,
        };
        let RequestBody::Query(body) = &request.body else { return };
        let plan = self.node.open_query(self.driver.now_us, asked, body);
        if plan.is_empty() {
            return end_at_once(self.driver, face, request.id, request.qos);
        }
        for hop in &plan.hops {
            let message = Request {
                id: hop.id,
                wire_expr: hop.expr.as_wire(),
                qos: hop.qos,
                node_id: hop.node_id,
                body: RequestBody::Raw(raw_body),
                ..*request
            };
            self.forward(hop.face, &message, answer_class(hop.qos));
        }
        if let Some(branch) = plan.local {
            let target = request.target;
            self.driver.facts.push(Fact::Asked { source: face, branch, key, target });
        }
    }

    fn response(&mut self, face: FaceId, response: &Response<'_>, raw_body: &[u8]) {
        let accepted = self.node.accept_reply(self.driver.now_us, face, response);
        let Ok(Some(AcceptedReply { to: reply, key })) = accepted else { return };
        if reply.source == FaceId::LOCAL {
            let reply_in = ReplyIn { key, payload: payload(&response.body).to_vec() };
            self.driver.facts.push(Fact::Replied { query: reply.source_id, reply: reply_in });
            return;
        }
        let expr = key.map(RouteExpr::full);
        let message = Response {
            id: reply.source_id,
            wire_expr: expr.as_ref().map_or(WireExpr::full(""), RouteExpr::as_wire),
            qos: reply.qos,
            body: ResponseBody::Raw(raw_body),
            ..*response
        };
        self.forward(reply.source, &message, answer_class(reply.qos));
    }
}

/// A neighbour, or the session, has answered all that it was asked.
pub(crate) fn end_branch(node: &mut Node, driver: &mut Driver, face: FaceId, id: u32) {
    match node.end_branch(face, id) {
        Some(PendingReply { source: FaceId::LOCAL, source_id, .. }) => {
            driver.facts.push(Fact::QueryEnded { query: source_id });
        }
        Some(PendingReply { source, source_id, qos }) => {
            end_at_once(driver, source, source_id, qos);
        }
        None => {}
    }
}

fn end_at_once(driver: &mut Driver, face: FaceId, id: u32, qos: Qos) {
    driver.push(face, &ResponseFinal { id, qos, timestamp: None }, answer_class(qos));
}

pub(crate) fn class(qos: Qos, reliability: Reliability) -> Class {
    Class { priority: qos.priority(), reliability, congestion: qos.congestion_control() }
}

/// Queries and answers are never dropped: that would only turn congestion into a timeout.
pub(crate) fn answer_class(qos: Qos) -> Class {
    Class { congestion: CongestionControl::Block, ..class(qos, Reliability::Reliable) }
}

fn put_id(push: &Push<'_>) -> Option<PutId> {
    PutId::from_attachment(match &push.body {
        PushBody::Put(put) => put.attachment,
        PushBody::Del(del) => del.attachment,
    })
}

/// What the session's subscribers get of a sample.
pub(crate) fn delivery(
    route: &Route,
    push: &Push<'_>,
    reliability: Reliability,
    subscribers: &[u32],
) -> Option<Fact> {
    let put = put_id(push).filter(|_| !subscribers.is_empty())?;
    let (payload, timestamp) = match &push.body {
        PushBody::Put(put) => (Some(put.payload.to_vec()), put.timestamp),
        PushBody::Del(del) => (None, del.timestamp),
    };
    let key = route.0.route.key.clone();
    let priority = push.qos.priority();
    let sample = Sample { key, payload, timestamp, priority, reliability };
    Some(Fact::Delivered { put, subscribers: subscribers.to_vec(), sample })
}

fn payload<'a>(body: &ResponseBody<'a>) -> &'a [u8] {
    match body {
        ResponseBody::Reply(reply) => match &reply.body {
            PushBody::Put(put) => put.payload,
            PushBody::Del(_) => &[],
        },
        ResponseBody::Err(error) => error.payload,
        ResponseBody::Raw(_) => &[],
    }
}
