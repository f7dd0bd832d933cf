//! Queries in flight: who is asked, who gets the answers, and when a query has ended.
//!
//! Spec: 02 §4.6, 03 §5. One `REQUEST` goes to each chosen neighbour under an id of this hop; the
//! answers come back by that id. A query ends for its source when every branch has ended: by
//! `RESPONSE_FINAL`, by its neighbour's departure, or by the hop's own timer.
//!
//! Unlike the reference, all regions are ranked together, so that a best-matching query reaches
//! one complete queryable and not one per region.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use weft_keyexpr::KeyExpr;
use weft_wire::{
    EntityGlobalId, ErrReply, NetworkMessage, Qos, QueryTarget, QueryableInfo, Response,
    ResponseBody, ResponseFinal, WireExpr,
};

use crate::entity::{Kind, Owner, merge};
use crate::expr::RouteExpr;
use crate::face::{FaceId, Region};
use crate::network::NodeIx;
use crate::outbox::{Event, Outbox};
use crate::route::region_of;
use crate::routing::Routing;

/// The payload of the error reply that a hop makes for a silent neighbour.
const TIMEOUT_PAYLOAD: &[u8] = b"Timeout";

/// A query to be sent on.
#[derive(Clone, Copy, Debug)]
pub struct QueryRequest<'a> {
    /// Where it comes from.
    pub source: FaceId,
    /// Its node id there: where it entered the neighbour's network; 0 where there is none.
    pub node_id: u16,
    /// Its id on that face.
    pub source_id: u32,
    /// What it asks for.
    pub key: &'a KeyExpr,
    /// Which queryables are asked.
    pub target: QueryTarget,
    /// The QoS that its answers travel with.
    pub qos: Qos,
    /// How long this hop waits for its neighbours, in microseconds.
    pub timeout_us: u64,
    /// Which queryables may be asked.
    pub scope: QueryScope,
}

/// Which queryables a query may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryScope {
    /// All.
    Any,
    /// Those of neighbours.
    Remote,
    /// Those of this node's session.
    Local,
}

/// One neighbour that gets the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryHop {
    /// The neighbour's face.
    pub face: FaceId,
    /// The request id on that face.
    pub id: u32,
    /// The key as that neighbour knows it.
    pub expr: RouteExpr,
    /// Where the query entered the neighbour's network, as this node calls it: the message's node
    /// id. 0 where there is no network, or if it enters here.
    pub node_id: u16,
}

/// Where a query goes. Without any destination it has ended already: tell the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPlan {
    /// Nobody is asked, because the source has too many queries pending.
    pub refused: bool,
    /// The id under which this node's session answers, if its queryables are asked.
    pub local: Option<u32>,
    /// The neighbours.
    pub hops: Vec<QueryHop>,
}

impl QueryPlan {
    /// Nobody is asked.
    pub fn is_empty(&self) -> bool {
        self.local.is_none() && self.hops.is_empty()
    }
}

/// Where an answer goes: the query's source and its id there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingReply {
    /// The face the query came from.
    pub source: FaceId,
    /// The query's id on that face.
    pub source_id: u32,
    /// The QoS for the answer.
    pub qos: Qos,
}

#[derive(Debug)]
struct Branch {
    query: u64,
    deadline_us: u64,
}

#[derive(Debug)]
struct Query {
    reply: PendingReply,
    branches: BTreeSet<(FaceId, u32)>,
}

/// All queries in flight at this node.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    by_number: BTreeMap<u64, Query>,
    /// The queries by their source and its id for them. A careless source may use an id twice.
    by_source: BTreeSet<(FaceId, u32, u64)>,
    branches: BTreeMap<(FaceId, u32), Branch>,
    deadlines: BTreeSet<(u64, FaceId, u32)>,
    next: u64,
}

impl Queries {
    fn open(&mut self, reply: PendingReply, branches: BTreeSet<(FaceId, u32)>, deadline_us: u64) {
        let query = self.next;
        self.next += 1;
        for (face, id) in &branches {
            self.branches.insert((*face, *id), Branch { query, deadline_us });
            self.deadlines.insert((deadline_us, *face, *id));
        }
        self.by_source.insert((reply.source, reply.source_id, query));
        self.by_number.insert(query, Query { reply, branches });
    }

    fn reply(&self, face: FaceId, id: u32) -> Option<PendingReply> {
        let branch = self.branches.get(&(face, id))?;
        self.by_number.get(&branch.query).map(|query| query.reply)
    }

    /// Ends a branch. The second part is true when it was the query's last one.
    fn end(&mut self, face: FaceId, id: u32) -> Option<(PendingReply, bool)> {
        let branch = self.branches.remove(&(face, id))?;
        self.deadlines.remove(&(branch.deadline_us, face, id));
        let query = self.by_number.get_mut(&branch.query)?;
        query.branches.remove(&(face, id));
        let reply = query.reply;
        let last = query.branches.is_empty();
        if last {
            self.by_number.remove(&branch.query);
            self.by_source.remove(&(reply.source, reply.source_id, branch.query));
        }
        Some((reply, last))
    }

    /// Forgets the queries of a source under these ids, whose answers then find nobody; returns how
    /// many.
    fn forget(&mut self, source: FaceId, ids: RangeInclusive<u32>) -> usize {
        let range = (source, *ids.start(), 0)..=(source, *ids.end(), u64::MAX);
        let forgotten: Vec<_> = self.by_source.range(range).copied().collect();
        for key in &forgotten {
            self.by_source.remove(key);
            let Some(query) = self.by_number.remove(&key.2) else { continue };
            for (face, id) in query.branches {
                if let Some(branch) = self.branches.remove(&(face, id)) {
                    self.deadlines.remove(&(branch.deadline_us, face, id));
                }
            }
        }
        forgotten.len()
    }

    /// Queries that have not ended.
    pub(crate) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(crate) fn next_deadline_us(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline_us, _, _)| *deadline_us)
    }
}

/// What is behind a face.
#[derive(Clone, Copy)]
struct Candidate {
    /// The best declared queryable, `complete` only if its key includes the query's; `None` for an
    /// upstream neighbour that has not said what it has.
    info: Option<QueryableInfo>,
    /// The node on whose tree the query goes there.
    root: NodeIx,
}

impl Routing {
    /// Chooses who is asked and opens the query. `own` tells what the queryables of this node's
    /// session that may answer this source have to offer, `None` without any; `complete` only if
    /// such a one covers the query's key.
    ///
    /// The caller sends the requests; with an empty plan (nobody matches, the source has too many
    /// queries pending, or it is gone) it ends the query at once.
    pub fn open_query(
        &mut self,
        now_us: u64,
        request: QueryRequest<'_>,
        own: Option<QueryableInfo>,
    ) -> QueryPlan {
        let pending = self.faces.get(&request.source).map(|source| source.queries_pending);
        if pending.is_none_or(|pending| pending >= self.config.limits.queries_max) {
            return QueryPlan { refused: true, ..QueryPlan::default() };
        }
        let candidates = self.query_candidates(&request, own);
        let chosen = select(&candidates, request.target);
        let mut plan = QueryPlan::default();
        let mut branches = BTreeSet::new();
        for id in chosen {
            let Some(face) = self.faces.get_mut(&id) else { continue };
            let query_id = face.take_query_id();
            branches.insert((id, query_id));
            if id == FaceId::LOCAL {
                plan.local = Some(query_id);
            } else {
                let expr = face.exprs.best(request.key);
                let node_id = candidates[&id].root.0;
                plan.hops.push(QueryHop { face: id, id: query_id, expr, node_id });
            }
        }
        if !branches.is_empty() {
            let reply = PendingReply {
                source: request.source,
                source_id: request.source_id,
                qos: request.qos,
            };
            self.queries.open(reply, branches, now_us.saturating_add(request.timeout_us));
            if let Some(source) = self.faces.get_mut(&request.source) {
                source.queries_pending += 1;
            }
        }
        plan
    }

    fn query_candidates(
        &mut self,
        request: &QueryRequest<'_>,
        own: Option<QueryableInfo>,
    ) -> BTreeMap<FaceId, Candidate> {
        let mut found = BTreeMap::new();
        let Some(from) = self.source(request.source, request.node_id) else { return found };
        let in_transit = self.is_in_transit(from);
        if let Some(info) = own.filter(|_| request.scope != QueryScope::Remote && !in_transit) {
            add_candidate(&mut found, FaceId::LOCAL, NodeIx::SELF, info);
        }
        if request.scope == QueryScope::Local {
            return found;
        }
        // The session's own queryables are `own`; the table has only those that neighbours may ask.
        let mut nodes = Vec::new();
        self.tables[Kind::Queryable.index()].for_each_intersecting(
            request.key.as_ke(),
            |key, entry| {
                let covers = key.includes(request.key.as_ke());
                for (owner, declared) in &entry.owners {
                    let infos = declared.iter().map(|(_, info)| QueryableInfo {
                        complete: info.complete && covers,
                        distance: info.distance,
                    });
                    let Some(info) = infos.reduce(merge) else { continue };
                    match *owner {
                        Owner::LOCAL => {}
                        Owner::Face(face)
                            if !in_transit && self.passes(from, &self.faces[&face]) =>
                        {
                            let distance = info.distance.saturating_add(1);
                            let info = QueryableInfo { distance, ..info };
                            add_candidate(&mut found, face, NodeIx::SELF, info);
                        }
                        Owner::Face(_) => {}
                        Owner::Node(region, node) => nodes.push((region, node, info)),
                    }
                }
            },
        );
        for (region, node, info) in nodes {
            if let Some((face, root)) = self.towards(from, region, node)
                && face != request.source
                && let Some(network) = self.networks.get_mut(&region)
            {
                let distance = info.distance.saturating_add(network.distance(node));
                add_candidate(&mut found, face, root, QueryableInfo { distance, ..info });
            }
        }
        if region_of(from, self.region(request.source)) != Region::North {
            for face in self.pushed.iter().map(|face| &self.faces[face]) {
                let settled = if face.upstream {
                    face.asked.is_settled(Kind::Queryable, request.key)
                } else {
                    face.ready
                };
                if !settled && self.passes(from, face) {
                    let unknown = Candidate { info: None, root: NodeIx::SELF };
                    found.entry(face.id).or_insert(unknown);
                }
            }
        }
        found
    }

    /// Where a reply that came in on `face` for request `id` goes; `None` for a query that has
    /// ended or never was.
    pub fn reply_route(&self, face: FaceId, id: u32) -> Option<PendingReply> {
        self.queries.reply(face, id)
    }

    /// `face` has sent all it has for request `id`. Returns the query's source when that was the
    /// last branch: tell it that the query has ended.
    pub fn end_branch(&mut self, face: FaceId, id: u32) -> Option<PendingReply> {
        let (reply, last) = self.queries.end(face, id)?;
        last.then(|| self.query_ended(reply))
    }

    fn query_ended(&mut self, reply: PendingReply) -> PendingReply {
        if let Some(source) = self.faces.get_mut(&reply.source) {
            source.queries_pending -= 1;
        }
        reply
    }

    /// Forgets a query of this node's session; answers that still come find nobody.
    ///
    /// Cost: its branches, and a few logarithms of all queries in flight.
    pub fn cancel_query(&mut self, source_id: u32) {
        let forgotten = self.queries.forget(FaceId::LOCAL, source_id..=source_id);
        if let Some(local) = self.faces.get_mut(&FaceId::LOCAL) {
            local.queries_pending -= forgotten;
        }
    }

    /// Ends all queries of this node's session, whoever may still answer them.
    pub fn end_own_queries(&mut self, out: &mut dyn Outbox) {
        let own = (FaceId::LOCAL, 0, 0)..=(FaceId::LOCAL, u32::MAX, u64::MAX);
        let ids: Vec<u32> = self.queries.by_source.range(own).map(|(_, id, _)| *id).collect();
        for query in ids {
            self.cancel_query(query);
            out.event(Event::QueryFinal { query });
        }
    }

    /// Ends every branch to a neighbour that left and forgets its own queries (03 §5.3).
    pub(crate) fn drop_queries_of(&mut self, face: FaceId, out: &mut dyn Outbox) {
        self.queries.forget(face, 0..=u32::MAX);
        let branches: Vec<u32> = self
            .queries
            .branches
            .range((face, 0)..=(face, u32::MAX))
            .map(|((_, id), _)| *id)
            .collect();
        for id in branches {
            if let Some(reply) = self.end_branch(face, id) {
                send_final(reply, out);
            }
        }
    }

    /// Gives up branches whose time is over: an error reply, then the end (03 §5.3).
    pub(crate) fn expire_queries(&mut self, now_us: u64, out: &mut dyn Outbox) {
        while let Some(&(deadline_us, face, id)) = self.queries.deadlines.first() {
            if deadline_us > now_us {
                break;
            }
            self.queries.deadlines.pop_first();
            let responder = self.faces.get(&face).map_or(self.config.zid, |face| face.zid);
            let Some((reply, last)) = self.queries.end(face, id) else { continue };
            send_timeout(reply, responder, out);
            if last {
                send_final(self.query_ended(reply), out);
            }
        }
    }
}

/// Adds one queryable to what is behind a face.
fn add_candidate(
    found: &mut BTreeMap<FaceId, Candidate>,
    face: FaceId,
    root: NodeIx,
    info: QueryableInfo,
) {
    let candidate = found.entry(face).or_insert(Candidate { info: None, root });
    candidate.info = Some(candidate.info.map_or(info, |known| merge(known, info)));
}

/// The faces to ask (02 §4.6, target selection).
fn select(candidates: &BTreeMap<FaceId, Candidate>, target: QueryTarget) -> Vec<FaceId> {
    let complete = |(face, candidate): (&FaceId, &Candidate)| match candidate.info {
        Some(info) if info.complete => Some((info.distance, *face)),
        _ => None,
    };
    match target {
        QueryTarget::BestMatching => match candidates.iter().filter_map(complete).min() {
            Some((_, nearest)) => Vec::from([nearest]),
            None => candidates.keys().copied().collect(),
        },
        QueryTarget::All => candidates.keys().copied().collect(),
        QueryTarget::AllComplete => candidates
            .iter()
            .filter(|(_, candidate)| candidate.info.is_none_or(|info| info.complete))
            .map(|(face, _)| *face)
            .collect(),
    }
}

fn send_timeout(reply: PendingReply, responder: weft_wire::ZenohId, out: &mut dyn Outbox) {
    if reply.source == FaceId::LOCAL {
        out.event(Event::QueryTimeout { query: reply.source_id, responder });
        return;
    }
    let message = Response {
        id: reply.source_id,
        wire_expr: WireExpr::full(""),
        qos: reply.qos,
        timestamp: None,
        ts_stack: None,
        responder: Some(EntityGlobalId { zid: responder, eid: 0 }),
        body: ResponseBody::Err(ErrReply { payload: TIMEOUT_PAYLOAD, ..ErrReply::default() }),
    };
    out.send(reply.source, &NetworkMessage::Response(message));
}

/// Tells a query's source that it has ended.
fn send_final(reply: PendingReply, out: &mut dyn Outbox) {
    if reply.source == FaceId::LOCAL {
        out.event(Event::QueryFinal { query: reply.source_id });
        return;
    }
    let message = ResponseFinal { id: reply.source_id, qos: reply.qos, timestamp: None };
    out.send(reply.source, &NetworkMessage::ResponseFinal(message));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(complete: bool, distance: u16) -> Candidate {
        Candidate { info: Some(QueryableInfo { complete, distance }), root: NodeIx::SELF }
    }

    const UNKNOWN: Candidate = Candidate { info: None, root: NodeIx::SELF };

    #[test]
    fn targets_choose_as_the_spec_says() {
        let candidates = BTreeMap::from([
            (FaceId(1), known(false, 1)),
            (FaceId(2), known(true, 5)),
            (FaceId(3), known(true, 2)),
            (FaceId(4), UNKNOWN),
        ]);
        let faces = |ids: &[u32]| ids.iter().map(|id| FaceId(*id)).collect::<Vec<_>>();
        assert_eq!(select(&candidates, QueryTarget::BestMatching), faces(&[3]));
        assert_eq!(select(&candidates, QueryTarget::All), faces(&[1, 2, 3, 4]));
        assert_eq!(select(&candidates, QueryTarget::AllComplete), faces(&[2, 3, 4]));
        let incomplete = BTreeMap::from([(FaceId(1), known(false, 1)), (FaceId(4), UNKNOWN)]);
        assert_eq!(select(&incomplete, QueryTarget::BestMatching), faces(&[1, 4]));
    }
}
