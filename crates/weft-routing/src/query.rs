//! Queries in flight: who is asked, who gets the answers, and when a query has ended.
//!
//! Spec: 02 §4.6, 03 §5. One `REQUEST` goes to each chosen neighbour under an id of this hop; the
//! answers come back by that id. A query ends for its source when every branch has ended: by
//! `RESPONSE_FINAL`, by its neighbour's departure, or by the hop's own timer.
//!
//! Unlike the reference, all regions are ranked together, so that a best-matching query reaches
//! one complete queryable and not one per region.

mod open;

pub(crate) use open::Queries;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
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
        for id in chosen {
            let Some(face) = self.faces.get_mut(&id) else { continue };
            let query_id = face.take_query_id();
            if id == FaceId::LOCAL {
                plan.local = Some(query_id);
            } else {
                let expr = face.exprs.best(request.key);
                let node_id = candidates[&id].root.0;
                plan.hops.push(QueryHop { face: id, id: query_id, expr, node_id });
            }
        }
        if !plan.is_empty() {
            let reply = PendingReply {
                source: request.source,
                source_id: request.source_id,
                qos: request.qos,
            };
            let own = plan.local.map(|id| (FaceId::LOCAL, id));
            let branches = own.into_iter().chain(plan.hops.iter().map(|hop| (hop.face, hop.id)));
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
                    let infos = declared.values().map(|info| QueryableInfo {
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
    /// Cost: its branches.
    pub fn cancel_query(&mut self, source_id: u32) {
        let cancelled = self.queries.cancel(source_id);
        if let Some(local) = self.faces.get_mut(&FaceId::LOCAL) {
            local.queries_pending -= cancelled;
        }
    }

    /// Ends all queries of this node's session, whoever may still answer them.
    pub fn end_own_queries(&mut self, out: &mut dyn Outbox) {
        for query in self.queries.forget_all(FaceId::LOCAL) {
            if let Some(local) = self.faces.get_mut(&FaceId::LOCAL) {
                local.queries_pending -= 1;
            }
            out.event(Event::QueryFinal { query });
        }
    }

    /// Ends every branch to a neighbour that left and forgets its own queries (03 §5.3).
    pub(crate) fn drop_queries_of(&mut self, face: FaceId, out: &mut dyn Outbox) {
        self.queries.forget_all(face);
        for id in self.queries.branches_at(face) {
            if let Some(reply) = self.end_branch(face, id) {
                send_final(reply, out);
            }
        }
    }

    /// Gives up branches whose time is over: an error reply, then the end (03 §5.3).
    pub(crate) fn expire_queries(&mut self, now_us: u64, out: &mut dyn Outbox) {
        for (face, id) in self.queries.overdue(now_us) {
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
