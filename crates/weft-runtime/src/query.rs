//! Queries on their way through the runtime: to neighbours, to this session, and the answers back.
//!
//! Who is asked and who gets the answers is the node's decision, taken under the control lock; the
//! messages themselves are encoded outside of it, a forwarded body byte for byte as it came.

use std::sync::{Arc, MutexGuard};

use weft_keyexpr::KeyExpr;
use weft_node::{
    AcceptedReply, FaceId, NodeEvent, PendingReply, QueryHop, QueryRequest, QueryScope, RouteExpr,
};
use weft_wire::{
    EntityGlobalId, ErrReply, InterceptionPoint, InterceptionPoints, NetworkMessage, Qos, Query,
    QueryTarget, Reliability, Request, RequestBody, Response, ResponseBody, ResponseFinal,
    WireExpr, ZenohId,
};

use crate::clock::now_us;
use crate::duty::{self, calling, guarded};
use crate::events::{Lane, News};
use crate::meter::{Content, Metered, Outgoing};
use crate::plane::Dirty;
use crate::sender::{SendQos, Sender};
use crate::session::{IncomingQuery, IncomingReply};
use crate::shared::{Control, Shared};
use crate::transport::Transport;

/// A query of this session.
#[derive(Clone, Copy, Debug)]
pub struct QueryArgs<'a> {
    /// What is asked for.
    pub key: &'a KeyExpr,
    /// Which queryables are asked.
    pub target: QueryTarget,
    /// How long answers may take, in microseconds.
    pub timeout_us: u64,
    /// QoS of the query and its answers.
    pub qos: Qos,
    /// Which queryables may be asked.
    pub scope: QueryScope,
    /// Parameters, payload and attachment.
    pub body: Query<'a>,
    /// What is recorded of it, and of its answers, on their way.
    pub recorded: InterceptionPoints,
}

/// An answer that the node itself gives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// The end of a query.
    End { id: u32, qos: Qos },
    /// The error of a neighbour that stayed silent.
    Timeout { id: u32, qos: Qos, responder: ZenohId },
}

impl Answer {
    /// The answer that `message` is, if it is one.
    pub(crate) fn of(message: &NetworkMessage<'_>) -> Option<Self> {
        match message {
            NetworkMessage::ResponseFinal(end) => Some(Self::End { id: end.id, qos: end.qos }),
            NetworkMessage::Response(Response { id, qos, responder: Some(responder), .. }) => {
                Some(Self::Timeout { id: *id, qos: *qos, responder: responder.zid })
            }
            _ => None,
        }
    }

    /// Appends it to what goes to a neighbour; waits for room as a reply does.
    pub(crate) fn append_to(self, sender: &Arc<Sender>, before_waiting: impl FnOnce()) {
        match self {
            Self::End { id, qos } => {
                let end = ResponseFinal { id, qos, timestamp: None };
                sender.append(&end, answer_qos(qos), before_waiting);
            }
            Self::Timeout { id, qos, responder } => {
                let body = ErrReply { payload: b"Timeout", ..ErrReply::default() };
                let response = Response {
                    id,
                    wire_expr: WireExpr::full(""),
                    qos,
                    timestamp: None,
                    ts_stack: None,
                    responder: Some(EntityGlobalId { zid: responder, eid: 0 }),
                    body: ResponseBody::Err(body),
                };
                sender.append(&response, answer_qos(qos), before_waiting);
            }
        }
    }
}

/// Queries and answers travel on the reliable channel with the QoS of the query.
const fn answer_qos(qos: Qos) -> SendQos {
    SendQos::new(qos, Reliability::Reliable)
}

/// Why a query beyond `limits/queries_pending` is not asked.
const TOO_MANY_QUERIES: &str = "too many pending queries";

/// The error reply of a node that does not pass a query on.
fn refusal(why: &str) -> ResponseBody<'_> {
    ResponseBody::Err(ErrReply { payload: why.as_bytes(), ..ErrReply::default() })
}

/// The right to answer a query. Dropping the last share of it ends the query for this session.
pub struct QueryHandle {
    shared: Arc<Shared>,
    id: u32,
    /// This session asks itself.
    own: bool,
}

impl QueryHandle {
    /// Answers with data or an error; `key` is `None` for an error, `ts_stack` is what was recorded of
    /// the query. Does nothing if the querier does not wait any more.
    pub fn reply(
        &self,
        key: Option<&KeyExpr>,
        responder: EntityGlobalId,
        express: Option<bool>,
        body: ResponseBody<'_>,
        ts_stack: Option<&[u8]>,
    ) {
        let Some((reply, transport)) = self.shared.own_reply_target(self.id, key, &body) else {
            return;
        };
        let qos = express.map_or(reply.qos, |express| reply.qos.with_express(express));
        let responder = Some(responder);
        let stack = ts_stack.map(|it| {
            let is_local = transport.is_none();
            let sent = self.shared.recorded(it, InterceptionPoint::Send);
            let next = if is_local { InterceptionPoint::Receive } else { InterceptionPoint::Route };
            self.shared.recorded(&sent, next)
        });
        let ts_stack = stack.as_deref();
        match transport {
            None => {
                let incoming = IncomingReply { key, responder, body: &body, qos, ts_stack };
                calling(|| self.shared.session.reply(reply.source_id, incoming));
            }
            Some(transport) => {
                let expr = key.map(|key| RouteExpr::full(key.clone()));
                let response = Response {
                    id: reply.source_id,
                    wire_expr: expr.as_ref().map_or(WireExpr::full(""), RouteExpr::as_wire),
                    qos,
                    timestamp: None,
                    ts_stack,
                    responder,
                    body,
                };
                let content = Content::of_reply(&body, qos);
                let tally = transport.tally_of_answer(key);
                let message = Metered { message: &response, tally: tally.as_ref(), content };
                self.shared.send_answer(&transport, &message, answer_qos(qos));
            }
        }
    }

    /// Whether the querier still waits for answers.
    pub fn is_awaited(&self) -> bool {
        self.shared.is_awaited(self.id)
    }

    /// Calls the session's queryables: on an event thread if it asks itself, so that asking does not
    /// wait for the answers; else on this thread, which received the query.
    pub fn call(&self, call: impl FnOnce() + Send + 'static) {
        if self.own {
            self.shared.events.push(Lane::OwnQuery(self.id), News::Call(Box::new(call)));
        } else {
            guarded(call);
        }
    }
}

impl Drop for QueryHandle {
    fn drop(&mut self) {
        if self.own {
            // Not on this thread, which may be the one that asks and has not returned yet: what was
            // held back until the end may be more than its channel takes.
            return self.shared.end_own_branch(self.id);
        }
        self.shared.end_answers(self.id);
    }
}

/// What is decided about a query under the control lock.
struct Decided {
    /// Too many queries are pending.
    refused: bool,
    local: Option<(u32, Vec<u32>)>,
    hops: Vec<(Arc<Transport>, QueryHop)>,
}

impl Shared {
    /// A neighbour asks.
    pub(crate) fn request(
        self: &Arc<Self>,
        face: FaceId,
        request: &Request<'_>,
        raw_body: &[u8],
        dirty: &mut Dirty,
    ) {
        let RequestBody::Query(body) = &request.body else { return };
        let decided = {
            let control = self.lock();
            control.node.resolve(face, request.wire_expr).map(|key| {
                let counted = self.counted(&control, face);
                if let Some(tally) = counted.and_then(|it| it.tally(&key)) {
                    tally.received(Content::of_query(body, request.qos));
                }
                let default_us = control.node.config().queries_timeout_us;
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
                let decided = self.decide(control, asked, body);
                (key, decided)
            })
        };
        let (key, decided) = match decided {
            Ok(decided) => decided,
            Err(error) => return self.refuse(face, request, &error.to_string(), dirty),
        };
        if decided.refused {
            return self.refuse(face, request, TOO_MANY_QUERIES, dirty);
        }
        if decided.local.is_none() && decided.hops.is_empty() {
            return self.end_at_once(face, request.id, request.qos, dirty);
        }
        let stack = request.ts_stack.map(|it| self.recorded(it, InterceptionPoint::Route));
        for (transport, hop) in &decided.hops {
            let message = Request {
                id: hop.id,
                wire_expr: hop.expr.as_wire(),
                qos: hop.qos,
                node_id: hop.node_id,
                ts_stack: stack.as_deref(),
                body: RequestBody::Raw(raw_body),
                ..*request
            };
            let (tally, content) = (transport.tally(&key), Content::of_query(body, hop.qos));
            let message = Metered { message: &message, tally: tally.as_ref(), content };
            transport.sender.append(&message, answer_qos(hop.qos), || dirty.flush());
            dirty.touch(transport);
        }
        self.ask_session(face, decided.local, &key, request.target, body, stack.as_deref());
    }

    /// This session asks, under an id of its choice. The end comes as an event.
    pub(crate) fn ask(self: &Arc<Self>, id: u32, query: &QueryArgs<'_>) {
        let asked = QueryRequest {
            source: FaceId::LOCAL,
            node_id: 0,
            source_id: id,
            key: query.key,
            target: query.target,
            qos: query.qos,
            timeout_us: query.timeout_us,
            scope: query.scope,
        };
        let decided = self.decide(self.lock(), asked, &query.body);
        if decided.refused {
            let body = refusal(TOO_MANY_QUERIES);
            let responder = Some(self.itself());
            let qos = query.qos;
            let reply = IncomingReply { key: None, responder, body: &body, qos, ts_stack: None };
            calling(|| self.session.reply(id, reply));
        }
        if decided.local.is_none() && decided.hops.is_empty() {
            return self.query_ended(id);
        }
        let begun = (!query.recorded.is_empty()).then(|| self.begun(query.recorded));
        let sent = begun.as_ref().filter(|_| !decided.hops.is_empty());
        let sent = sent.map(|it| self.recorded(it, InterceptionPoint::Route));
        for (transport, hop) in &decided.hops {
            let message = Request {
                id: hop.id,
                wire_expr: hop.expr.as_wire(),
                qos: hop.qos,
                timestamp: None,
                ts_stack: sent.as_deref(),
                target: query.target,
                budget: None,
                timeout_ms: Some(query.timeout_us / 1000),
                node_id: hop.node_id,
                body: RequestBody::Query(query.body),
            };
            let content = Content::of_query(&query.body, hop.qos);
            let tally = transport.tally(query.key);
            let message = Metered { message: &message, tally: tally.as_ref(), content };
            transport.sender.send(&message, answer_qos(hop.qos));
        }
        let (key, target, body) = (query.key, query.target, &query.body);
        self.ask_session(FaceId::LOCAL, decided.local, key, target, body, begun.as_deref());
    }

    /// Decides who is asked. Cost: one search for the key among the queryables, and one among those of
    /// this session, under the control lock, which it releases.
    fn decide(
        &self,
        mut control: MutexGuard<'_, Control>,
        request: QueryRequest<'_>,
        body: &Query<'_>,
    ) -> Decided {
        let (source, key, target) = (request.source, request.key, request.target);
        let now_us = now_us();
        let Control { node, tables } = &mut *control;
        let plan = node.open_query(now_us, request, body);
        let local = plan.local.map(|id| (id, node.local_queryables(source, key, target)));
        let hops = plan.hops.into_iter().filter_map(|hop| {
            let transport = tables.transports.get(&hop.face)?;
            Some((Arc::clone(transport), hop))
        });
        let decided = Decided { refused: plan.refused, local, hops: hops.collect() };
        drop(control);
        self.service.timer_at(now_us.saturating_add(request.timeout_us));
        decided
    }

    /// Hands a query to this session; it ends with the last share of its handle.
    fn ask_session(
        self: &Arc<Self>,
        source: FaceId,
        local: Option<(u32, Vec<u32>)>,
        key: &KeyExpr,
        target: QueryTarget,
        body: &Query<'_>,
        ts_stack: Option<&[u8]>,
    ) {
        if let Some((id, queryables)) = local {
            let own = source == FaceId::LOCAL;
            let handle = Arc::new(QueryHandle { shared: Arc::clone(self), id, own });
            if !queryables.is_empty() {
                let queryables = &queryables;
                let stack = ts_stack.map(|it| self.recorded(it, InterceptionPoint::Receive));
                let ts_stack = stack.as_deref();
                let query = IncomingQuery { queryables, key, target, body, ts_stack, handle };
                self.session.query(query);
            }
        }
    }

    /// A query of this session has all its answers.
    fn query_ended(&self, query: u32) {
        calling(|| self.session.event(NodeEvent::QueryFinal { query }));
    }

    /// Answers a neighbour's query with an error of this node, and ends it.
    fn refuse(&self, face: FaceId, request: &Request<'_>, why: &str, dirty: &mut Dirty) {
        let transport = self.lock().tables.transports.get(&face).cloned();
        if let Some(transport) = transport {
            let response = Response {
                id: request.id,
                wire_expr: WireExpr::full(""),
                qos: request.qos,
                timestamp: None,
                ts_stack: None,
                responder: Some(self.itself()),
                body: refusal(why),
            };
            transport.sender.append(&response, answer_qos(request.qos), || dirty.flush());
            dirty.touch(&transport);
        }
        self.end_at_once(face, request.id, request.qos, dirty);
    }

    /// This node as one who answers.
    fn itself(&self) -> EntityGlobalId {
        EntityGlobalId { zid: self.lock().node.config().zid, eid: 0 }
    }

    fn end_at_once(&self, face: FaceId, id: u32, qos: Qos, dirty: &mut Dirty) {
        let transport = self.lock().tables.transports.get(&face).cloned();
        if let Some(transport) = transport {
            Answer::End { id, qos }.append_to(&transport.sender, || dirty.flush());
            dirty.touch(&transport);
        }
    }

    /// Who gets an answer of this session to request `id`; no transport means this session.
    fn own_reply_target(
        &self,
        id: u32,
        key: Option<&KeyExpr>,
        body: &ResponseBody<'_>,
    ) -> Option<(PendingReply, Option<Arc<Transport>>)> {
        let now_us = now_us();
        let control = self.lock();
        let reply = control.node.accept_own_reply(now_us, id, key, body)?;
        let transport = control.tables.transports.get(&reply.source).cloned();
        (transport.is_some() || reply.source == FaceId::LOCAL).then_some((reply, transport))
    }

    /// Whether anybody waits for answers of this session to request `id`.
    fn is_awaited(&self, id: u32) -> bool {
        let control = self.lock();
        control.node.reply_route(FaceId::LOCAL, id).is_some_and(|reply| {
            let known = control.tables.transports.contains_key(&reply.source);
            known || reply.source == FaceId::LOCAL
        })
    }

    /// A neighbour, if the sizes of its messages count: most nodes do not look for it under the lock.
    fn counted<'a>(&self, control: &'a Control, face: FaceId) -> Option<&'a Arc<Transport>> {
        self.settings.sized_keys.as_ref()?;
        control.tables.transports.get(&face)
    }

    /// A neighbour answers.
    pub(crate) fn response(
        &self,
        face: FaceId,
        response: &Response<'_>,
        raw_body: &[u8],
        dirty: &mut Dirty,
    ) {
        let now_us = now_us();
        let (accepted, transport) = {
            let control = self.lock();
            let accepted = match control.node.accept_reply(now_us, face, response) {
                Ok(Some(accepted)) => {
                    let counted = self.counted(&control, face);
                    let key = accepted.key.as_ref();
                    if let Some(tally) = counted.and_then(|it| it.tally_of_answer(key)) {
                        tally.received(Content::of_reply(&response.body, response.qos));
                    }
                    accepted
                }
                Ok(None) => return,
                Err(error) => {
                    drop(control);
                    return tracing::debug!(?face, %error, "dropping a reply");
                }
            };
            let transport = control.tables.transports.get(&accepted.to.source).cloned();
            (accepted, transport)
        };
        let AcceptedReply { to: reply, key } = accepted;
        let stack = response.ts_stack.map(|it| self.recorded(it, InterceptionPoint::Route));
        let transport = match transport {
            Some(transport) => transport,
            None if reply.source == FaceId::LOCAL => {
                let stack = stack.map(|it| self.recorded(&it, InterceptionPoint::Receive));
                let reply_in = IncomingReply {
                    key: key.as_ref(),
                    responder: response.responder,
                    body: &response.body,
                    qos: response.qos,
                    ts_stack: stack.as_deref(),
                };
                return guarded(|| self.session.reply(reply.source_id, reply_in));
            }
            None => return,
        };
        let tally = transport.tally_of_answer(key.as_ref());
        let content = Content::of_reply(&response.body, reply.qos);
        let expr = key.map(RouteExpr::full);
        let message = Response {
            id: reply.source_id,
            wire_expr: expr.as_ref().map_or(WireExpr::full(""), RouteExpr::as_wire),
            qos: reply.qos,
            ts_stack: stack.as_deref(),
            body: ResponseBody::Raw(raw_body),
            ..*response
        };
        let message = Metered { message: &message, tally: tally.as_ref(), content };
        transport.sender.append(&message, answer_qos(reply.qos), || dirty.flush());
        dirty.touch(&transport);
    }

    /// Sends an answer of this session: at once, or when this thread's turn is over.
    fn send_answer<M: Outgoing>(&self, transport: &Arc<Transport>, answer: &M, qos: SendQos) {
        let owed = duty::with_owed(|owed| {
            if !owed.answer() {
                return false;
            }
            self.service.watch();
            transport.sender.append(answer, qos, || owed.flush());
            owed.touch(transport);
            true
        });
        if owed != Some(true) {
            transport.sender.send(answer, qos);
        }
    }

    /// This session has answered all to a neighbour.
    fn end_answers(self: &Arc<Self>, id: u32) {
        let mut dirty = Dirty::default();
        self.end_branch(FaceId::LOCAL, id, &mut dirty);
        let owed = duty::with_owed(|owed| {
            let waits = owed.end();
            if waits {
                dirty.iter().for_each(|transport| owed.touch(transport));
            }
            waits
        });
        if owed != Some(true) {
            dirty.flush();
        }
    }

    /// This session has answered all to itself.
    fn end_own_branch(&self, id: u32) {
        let ended = self.lock().node.end_branch(FaceId::LOCAL, id);
        if let Some(reply) = ended {
            self.events.push_event(NodeEvent::QueryFinal { query: reply.source_id });
        }
    }

    /// A neighbour, or this session, has answered all.
    pub(crate) fn end_branch(self: &Arc<Self>, face: FaceId, id: u32, dirty: &mut Dirty) {
        let ended = {
            let mut control = self.lock();
            let Some(reply) = control.node.end_branch(face, id) else { return };
            (reply, control.tables.transports.get(&reply.source).cloned())
        };
        match ended {
            (reply, None) if reply.source == FaceId::LOCAL => self.query_ended(reply.source_id),
            (reply, Some(transport)) => {
                let end = Answer::End { id: reply.source_id, qos: reply.qos };
                end.append_to(&transport.sender, || dirty.flush());
                dirty.touch(&transport);
            }
            (_, None) => {}
        }
    }
}
