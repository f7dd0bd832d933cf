//! Queries: asking, answering, and what comes back.

use weft_keyexpr::KeyExpr;
use weft_node::{Consolidator, FaceId, QueryPlan, QueryRequest, QueryScope};
use weft_wire::{
    Consolidation, ErrReply, PushBody, Put, Qos, Query as QueryBody, QueryTarget, Reply, Request,
    RequestBody, Response, ResponseBody, WireExpr,
};

use crate::fact::{Fact, ReplyIn};
use crate::network::{HostId, Site};
use crate::plane::{answer_class, end_branch};
use crate::session::{Answer, QueryState};
use crate::sim::{Due, NodeRef, QueryLog, Sim};

/// A query that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Query(usize);

/// How to ask.
#[derive(Clone, Copy, Debug)]
pub struct Get {
    /// Which queryables.
    pub target: QueryTarget,
    /// In which places.
    pub scope: QueryScope,
    /// For how long, in milliseconds.
    pub timeout_ms: u64,
    /// Which replies.
    pub consolidation: Consolidation,
}

impl Default for Get {
    /// The best match, anywhere, for ten seconds, every reply.
    fn default() -> Self {
        Self {
            target: QueryTarget::BestMatching,
            scope: QueryScope::Any,
            timeout_ms: 10_000,
            consolidation: Consolidation::None,
        }
    }
}

impl Sim {
    /// Asks.
    pub fn get(&mut self, node: NodeRef, key: &str, get: Get) -> Query {
        let key = Self::key(key);
        let host = node.0;
        let handle = self.log_query(host, get.timeout_ms);
        let timeout_us = get.timeout_ms * 1000;
        let asked = self.call(host, |node, driver| {
            let id = node.next_entity();
            let request = QueryRequest {
                source: FaceId::LOCAL,
                node_id: 0,
                source_id: id,
                key: &key,
                target: get.target,
                qos: Qos::REQUEST,
                timeout_us,
                scope: get.scope,
            };
            (id, node.open_query(driver.now_us, request, &query_body(get)))
        });
        let (id, plan) = asked.expect("the asking node runs");
        let consolidator = Consolidator::new(get.consolidation);
        self.session(host).queries.insert(id, QueryState { handle, consolidator });
        if plan.is_empty() {
            self.query_ended(host, id);
        } else {
            self.send_query(host, &plan, key, get);
        }
        Query(handle)
    }

    fn send_query(&mut self, host: HostId, plan: &QueryPlan, key: KeyExpr, get: Get) {
        let running = self.hosts[host].running.as_mut().expect("the asking node runs");
        for hop in &plan.hops {
            let body = RequestBody::Query(query_body(get));
            let message = Request {
                target: get.target,
                timeout_ms: Some(get.timeout_ms),
                qos: hop.qos,
                ..Request::new(hop.id, hop.expr.as_wire(), body)
            };
            running.driver.push(hop.face, &message, answer_class(hop.qos));
        }
        if let Some(branch) = plan.local {
            let (source, target) = (FaceId::LOCAL, get.target);
            running.driver.facts.push(Fact::Asked { source, branch, key, target });
        }
        self.after(host);
    }

    /// Asks for the tokens that exist.
    pub fn get_tokens(&mut self, node: NodeRef, key: &str, timeout_ms: u64) -> Query {
        let key = Self::key(key);
        let handle = self.log_query(node.0, timeout_ms);
        let id = self.call(node.0, |node, _| node.next_entity()).expect("the asking node runs");
        self.session(node.0).token_queries.insert(id, handle);
        self.call(node.0, |node, driver| {
            node.query_tokens(driver.now_us, id, &key, timeout_ms * 1000, driver);
        });
        Query(handle)
    }

    fn log_query(&mut self, host: HostId, timeout_ms: u64) -> usize {
        let handle = self.logs.queries.len();
        let (host, asked_us) = (host, self.now_us);
        self.logs.queries.push(QueryLog { host, asked_us, ..QueryLog::default() });
        self.checks.queries.asked(handle, asked_us + timeout_ms * 1000);
        self.activity += 1;
        handle
    }

    /// Forgets a query; its end will not come.
    pub fn cancel(&mut self, query: Query) {
        let host = self.logs.queries[query.0].host;
        if self.logs.queries[query.0].ended_us.is_some() || self.hosts[host].running.is_none() {
            return;
        }
        self.checks.queries.forget(query.0);
        let session = self.session(host);
        let asked = session.queries.iter().find(|(_, state)| state.handle == query.0);
        if let Some(id) = asked.map(|(id, _)| *id) {
            session.queries.remove(&id);
            self.call(host, |node, _| node.cancel_query(id));
        }
        let session = self.session(host);
        let asked = session.token_queries.iter().find(|(_, handle)| **handle == query.0);
        if let Some(id) = asked.map(|(id, _)| *id) {
            session.token_queries.remove(&id);
            self.call(host, |node, _| node.cancel_token_query(id));
        }
    }

    /// The replies that a query has got, errors included.
    #[must_use]
    pub fn replies(&self, query: Query) -> &[ReplyIn] {
        &self.logs.queries[query.0].replies
    }

    /// The replies that a query has got, as `key=payload` in the order of their text; an error is
    /// its payload alone.
    #[must_use]
    pub fn answers(&self, query: Query) -> Vec<String> {
        let text = |reply: &ReplyIn| {
            let payload = String::from_utf8_lossy(&reply.payload);
            reply.key.as_ref().map_or(payload.to_string(), |key| format!("{key}={payload}"))
        };
        let mut answers: Vec<String> = self.replies(query).iter().map(text).collect();
        answers.sort();
        answers
    }

    /// How long a query took, in microseconds; `None` while it goes on.
    #[must_use]
    pub fn took_us(&self, query: Query) -> Option<u64> {
        let log = &self.logs.queries[query.0];
        log.ended_us.map(|ended_us| ended_us - log.asked_us)
    }

    /// Whether a neighbour, or the session itself, gave a query up.
    #[must_use]
    pub fn timed_out(&self, query: Query) -> bool {
        self.logs.queries[query.0].timed_out
    }

    /// A query reached a session: its queryables get to work.
    pub(crate) fn session_asked(
        &mut self,
        host: HostId,
        source: FaceId,
        branch: u32,
        key: &KeyExpr,
        target: QueryTarget,
    ) {
        let site = self.site(host);
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        let queryables = running.node.local_queryables(source, key, target);
        let mut answering = 0;
        for queryable in queryables {
            let Some(state) = running.session.queryables.get_mut(&queryable) else {
                self.fail("a query for a queryable that is gone");
            };
            state.asked += 1;
            answering += 1;
            let at_us = match state.answer {
                Answer::Mute => continue,
                Answer::Reply { after_us, .. } => self.now_us + after_us,
                Answer::Error { .. } | Answer::Nothing => self.now_us,
            };
            self.agenda.plan(at_us, Due::Answer { site, branch, queryable });
        }
        running.session.answering.insert(branch, answering);
        self.finish_branch(host, branch);
    }

    /// A queryable answers.
    pub(crate) fn answer(&mut self, site: Site, branch: u32, queryable: u32) {
        let zid = self.hosts[site.host].zid();
        let Some(running) = self.running_at(site) else { return };
        let state = running.session.queryables.get(&queryable);
        let reply = state.and_then(|state| match &state.answer {
            Answer::Reply { payload, .. } => Some((Some(state.key.clone()), payload.clone())),
            Answer::Error { payload } => Some((None, payload.clone())),
            Answer::Nothing | Answer::Mute => None,
        });
        if let Some((key, payload)) = reply {
            self.reply(site.host, branch, key, payload, zid);
        }
        if let Some(left) = self.session(site.host).answering.get_mut(&branch) {
            *left -= 1;
        }
        self.finish_branch(site.host, branch);
    }

    fn reply(
        &mut self,
        host: HostId,
        branch: u32,
        key: Option<KeyExpr>,
        payload: Vec<u8>,
        zid: weft_wire::ZenohId,
    ) {
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        let body = if key.is_some() {
            let put = Put { payload: &payload, ..Put::default() };
            ResponseBody::Reply(Reply::new(PushBody::Put(put)))
        } else {
            ResponseBody::Err(ErrReply { payload: &payload, ..ErrReply::default() })
        };
        let now_us = running.driver.now_us;
        let accepted = running.node.accept_own_reply(now_us, branch, key.as_ref(), &body);
        let Some(route) = accepted else { return };
        let query = route.source_id;
        if route.source == FaceId::LOCAL {
            running.driver.facts.push(Fact::Replied { query, reply: ReplyIn { key, payload } });
            return;
        }
        let expr = key.as_ref().map_or("", KeyExpr::as_str);
        let response = Response {
            qos: route.qos,
            responder: Some(weft_wire::EntityGlobalId { zid, eid: 1 }),
            ..Response::new(query, WireExpr::full(expr), body)
        };
        running.driver.push(route.source, &response, answer_class(route.qos));
    }

    /// Ends a branch if all of the session's queryables are done with it.
    fn finish_branch(&mut self, host: HostId, branch: u32) {
        if self.session(host).answering.get(&branch) == Some(&0) {
            self.session(host).answering.remove(&branch);
            self.call(host, |node, driver| end_branch(node, driver, FaceId::LOCAL, branch));
        } else {
            self.after(host);
        }
    }

    pub(crate) fn reply_arrives(&mut self, host: HostId, query: u32, reply: ReplyIn) {
        self.activity += 1;
        let Some(state) = self.session(host).queries.get_mut(&query) else {
            self.fail(&format!("a reply for query {query} of {host}, which is unknown"));
        };
        let handle = state.handle;
        let now = match &reply.key {
            None => Some(reply),
            Some(key) => {
                let key = key.clone();
                state.consolidator.accept(&key, None, reply)
            }
        };
        let verdict = self.checks.queries.replied(handle);
        self.must(verdict);
        self.logs.queries[handle].replies.extend(now);
    }

    pub(crate) fn query_timed_out(&mut self, host: HostId, query: u32) {
        let session = self.session(host);
        let asked = session.queries.get(&query).map(|state| state.handle);
        let asked = asked.or_else(|| session.token_queries.get(&query).copied());
        if let Some(handle) = asked {
            self.logs.queries[handle].timed_out = true;
        }
    }

    pub(crate) fn query_ended(&mut self, host: HostId, query: u32) {
        self.activity += 1;
        let Some(mut state) = self.session(host).queries.remove(&query) else {
            self.fail(&format!("the end of query {query} of {host}, which is unknown"));
        };
        let held = state.consolidator.finish();
        let now_us = self.now_us;
        let log = &mut self.logs.queries[state.handle];
        log.replies.extend(held);
        log.ended_us = Some(now_us);
        let verdict = self.checks.queries.ended(state.handle);
        self.must(verdict);
    }

    pub(crate) fn token_reply(&mut self, host: HostId, query: u32, key: &KeyExpr) {
        let handle = self.session(host).token_queries.get(&query).copied();
        let Some(handle) = handle else { self.fail("a token for a query that is unknown") };
        let reply = ReplyIn { key: Some(key.clone()), payload: Vec::new() };
        let verdict = self.checks.queries.replied(handle);
        self.must(verdict);
        if self.logs.queries[handle].replies.contains(&reply) {
            self.fail(&format!("query {handle} is told of token {key} twice"));
        }
        self.logs.queries[handle].replies.push(reply);
    }

    pub(crate) fn token_query_ended(&mut self, host: HostId, query: u32) {
        let Some(handle) = self.session(host).token_queries.remove(&query) else {
            self.fail("the end of a liveliness query that is unknown");
        };
        self.logs.queries[handle].ended_us = Some(self.now_us);
        let verdict = self.checks.queries.ended(handle);
        self.must(verdict);
    }
}

fn query_body(get: Get) -> QueryBody<'static> {
    QueryBody { consolidation: Some(get.consolidation), ..QueryBody::default() }
}
