//! Where the samples of a key go, and why: `/route/explain/<key>`.
//!
//! Parameter `from`: the identity of the neighbour that the samples come from; without it they are this
//! node's own. JSON:
//!
//! ```text
//! {"key", "from", "local": bool, "hops": [{"peer", "whatami", "region", "sends", "tree", "rules"}],
//!  "because": [{"subscriber", "owner", "owner_mode", "region", "next"}], "more",
//!  "unsure": [zid], "rules"}
//! ```

use serde_json::{Value, json};
use weft_keyexpr::KeyExpr;
use weft_node::{
    FaceId, GateView, Hop, Node, Owner, PushGate, Reason, RouteExplanation, RouteExpr,
};
use weft_runtime::Runtime;
use weft_wire::ZenohId;

use super::{Asked, region_name};

/// Subscriptions that are told of, at most.
const REASONS_MAX: usize = 1000;

const SECTION: &str = "/route/explain/";

/// Only for a query that names the key after this section. The node is locked for as long as it takes
/// to compute a route, and once more to name those who are in it.
pub(super) fn answer(runtime: &Runtime, asked: Asked<'_>) {
    let text = asked.query.key_expr().as_str();
    let Some(key) = text.split_once(SECTION).and_then(|(_, key)| KeyExpr::new(key).ok()) else {
        return;
    };
    asked.json(&format!("route/explain/{key}"), || {
        let from = asked.query.parameters().get("from");
        match source(runtime, from) {
            Ok(source) => explain(runtime, source, &key),
            Err(error) => json!({ "key": key.as_str(), "error": error }),
        }
    });
}

fn source(runtime: &Runtime, from: Option<&str>) -> Result<FaceId, String> {
    let Some(from) = from else { return Ok(FaceId::LOCAL) };
    let zid: ZenohId = from.parse().map_err(|_| format!("`from` is no identity: {from}"))?;
    let face = runtime.inspect(|node| node.neighbours().find(|it| it.zid == zid).map(|it| it.face));
    face.ok_or_else(|| format!("{zid} is no neighbour of this node"))
}

fn explain(runtime: &Runtime, source: FaceId, key: &KeyExpr) -> Value {
    let RouteExplanation { route, why } = runtime.explain(source, key, REASONS_MAX);
    runtime.inspect(|node| {
        let hops = route.route.hops.iter().zip(&route.egress);
        let hops: Vec<Value> =
            hops.map(|(hop, gate)| hop_object(node, hop, gate.as_deref())).collect();
        let because: Vec<Value> = why.reasons.iter().map(|reason| because(node, reason)).collect();
        let unsure = why.unsure.iter().filter_map(|face| zid_of(node, *face));
        json!({
            "key": key.as_str(),
            "from": zid_of(node, source),
            "local": !route.subscribers.is_empty(),
            "rules": rules(route.ingress.as_deref()),
            "hops": hops,
            "because": because,
            "more": why.more,
            "unsure": unsure.collect::<Vec<_>>(),
        })
    })
}

fn zid_of(node: &Node, face: FaceId) -> Option<String> {
    node.routing().identity(Owner::Face(face)).map(|(zid, _)| zid.to_string())
}

fn hop_object(node: &Node, hop: &Hop, gate: Option<&PushGate>) -> Value {
    let routing = node.routing();
    let region = routing.owner_region(Owner::Face(hop.face));
    let tree = Owner::Node(region, weft_node::NodeIx(hop.node_id));
    json!({
        "peer": zid_of(node, hop.face),
        "whatami": routing.identity(Owner::Face(hop.face)).map(|(_, mode)| mode.as_str()),
        "region": region_name(region),
        "tree": routing.identity(tree).map(|(zid, _)| zid.to_string()),
        "sends": sends(&hop.expr),
        "rules": rules(gate),
    })
}

/// The key as it is on the wire: a number, text, or both.
fn sends(expr: &RouteExpr) -> String {
    let wire = expr.as_wire();
    match wire.scope {
        0 => wire.suffix.to_owned(),
        scope => format!("#{scope}{}", wire.suffix),
    }
}

fn because(node: &Node, reason: &Reason) -> Value {
    let routing = node.routing();
    let owner = routing.identity(reason.owner);
    json!({
        "subscriber": reason.key.as_str(),
        "owner": owner.map(|(zid, _)| zid.to_string()),
        "owner_mode": owner.map(|(_, mode)| mode.as_str()),
        "region": region_name(routing.owner_region(reason.owner)),
        "next": reason.next.and_then(|(face, _)| zid_of(node, face)),
    })
}

/// What rules ask of a put; null where everything passes.
fn rules(gate: Option<&PushGate>) -> Value {
    let view = |GateView { allowed, rates, overwrites, size_max }: GateView| {
        json!({
            "allowed": allowed,
            "rates": rates,
            "qos_overwrites": overwrites,
            "size_max": size_max,
        })
    };
    gate.and_then(PushGate::put).map_or(Value::Null, view)
}
