//! The data plane of the fuzzed node: what a runtime does with what arrives, without its queues.

use alloc::sync::Arc;
use alloc::vec::Vec;

use weft_wire::{
    NetworkMessage, Request, RequestBody, Response, ResponseBody, ResponseFinal, WireExpr,
};

use super::outside::Outside;
use crate::{
    AcceptedReply, Arrival, CachedRoute, FaceId, Node, NodeRoute, Plane, Ports, QueryRequest,
    QueryScope, RouteExpr, forwarded,
};

pub(super) struct Route(NodeRoute);

impl CachedRoute for Route {
    fn is_stale(&self) -> bool {
        self.0.route.validity.is_stale()
    }

    fn held_len(&self) -> usize {
        self.0.route.key.as_str().len()
    }
}

/// What handles the messages of one batch.
pub(super) struct FuzzPlane<'a> {
    pub(super) node: &'a mut Node,
    pub(super) outside: &'a mut Outside,
    pub(super) now_us: u64,
    /// Requests to this session's queryables.
    pub(super) branches: &'a mut Vec<u32>,
}

impl Plane for FuzzPlane<'_> {
    type Route = Arc<Route>;

    fn route(&mut self, face: FaceId, node_id: u16, expr: WireExpr<'_>) -> Option<Arc<Route>> {
        let key = self.node.resolve(face, expr).ok()?;
        Some(Arc::new(Route(self.node.data_route(face, node_id, &key))))
    }

    fn deliver(&mut self, face: FaceId, route: &Arc<Route>, sample: Arrival<'_>) {
        for hop in &route.0.route.hops {
            assert_ne!(hop.face, face, "nobody gets back what it sent");
            let push = forwarded(sample.push, sample.raw_body, hop);
            self.outside.sent(hop.face, &push);
        }
    }

    fn control(&mut self, face: FaceId, message: &NetworkMessage<'_>, raw_body: &[u8]) -> bool {
        match message {
            NetworkMessage::Request(request) => self.request(face, request, raw_body),
            NetworkMessage::Response(response) => self.response(face, response, raw_body),
            NetworkMessage::ResponseFinal(end) => self.outside.end_branch(self.node, face, end.id),
            other => return self.node.handle_message(self.now_us, face, other, self.outside),
        }
        false
    }
}

impl FuzzPlane<'_> {
    fn request(&mut self, face: FaceId, request: &Request<'_>, raw_body: &[u8]) {
        // The neighbour may have been sent away for an earlier message of the same batch.
        let end = ResponseFinal { id: request.id, qos: request.qos, timestamp: None };
        let end = NetworkMessage::ResponseFinal(end);
        let default_us = self.node.config().queries_timeout_us;
        let RequestBody::Query(body) = &request.body else { return };
        let Ok(key) = self.node.resolve(face, request.wire_expr) else {
            return self.answer(face, &end);
        };
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
        let plan = self.node.open_query(self.now_us, asked, body);
        if plan.is_empty() {
            return self.answer(face, &end);
        }
        for hop in &plan.hops {
            assert_ne!(hop.face, face, "nobody is asked what it asks");
            let message = Request {
                id: hop.id,
                wire_expr: hop.expr.as_wire(),
                node_id: hop.node_id,
                body: RequestBody::Raw(raw_body),
                ..*request
            };
            self.outside.send(hop.face, &NetworkMessage::Request(message));
        }
        self.branches.extend(plan.local);
    }

    fn response(&mut self, face: FaceId, response: &Response<'_>, raw_body: &[u8]) {
        let accepted = self.node.accept_reply(self.now_us, face, response);
        let Ok(Some(AcceptedReply { to: reply, key })) = accepted else { return };
        if reply.source == FaceId::LOCAL {
            assert!(self.outside.queries.contains(&reply.source_id));
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
        self.outside.send(reply.source, &NetworkMessage::Response(message));
    }

    /// Says something to the neighbour that is being read, if it is still there.
    fn answer(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        if self.outside.faces.contains_key(&face) {
            self.outside.send(face, message);
        }
    }
}
