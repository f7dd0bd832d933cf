//! Counters of the root object, for those who ask for them with `?_stats=true` (03 §9).
//!
//! The same counters as in `metrics`, under the names of the reference. Those of messages by kind and space,
//! and of bytes that were dropped, are only there if sizes of payloads are counted.

use serde_json::{Map, Value, json};
use weft_keyexpr::KeyExpr;
use weft_node::{DropReason, Flow, MessageClass, Sizes};
use weft_runtime::{LinkTraffic, PayloadSizes, Traffic};

/// Kinds of messages that are counted by space, and what they are called.
const KINDS: [(&str, &[MessageClass]); 4] = [
    ("put", &[MessageClass::Put]),
    ("del", &[MessageClass::Delete]),
    ("query", &[MessageClass::Query]),
    ("reply", &[MessageClass::Reply, MessageClass::ReplyErr]),
];

/// What went to and came from some neighbours; by kind if that is counted.
pub(super) fn of_neighbours(traffic: &[Traffic], is_sized: bool) -> Value {
    let mut stats = Map::new();
    for (flow, prefix) in [(Flow::Egress, "tx"), (Flow::Ingress, "rx")] {
        let mut set = |name: &str, value: Value| stats.insert(format!("{prefix}_{name}"), value);
        let number = |of: fn(&Traffic, Flow) -> u64| {
            Value::from(traffic.iter().map(|it| of(it, flow)).sum::<u64>())
        };
        set("bytes", number(bytes));
        set("t_msgs", number(transport_messages));
        set("n_msgs", json!({ "net": number(network_messages), "shm": 0 }));
        set("n_dropped", number(dropped));
        set("downsampler_dropped_msgs", number(|it, flow| it.refused[flow as usize].downsampling));
        set("low_pass_dropped_msgs", number(|it, flow| it.refused[flow as usize].low_pass));
        if is_sized {
            set("low_pass_dropped_bytes", number(low_pass_bytes));
        }
    }
    if is_sized {
        stats.extend(by_kind(traffic, None));
    }
    stats.into()
}

/// What went over one link.
pub(super) fn of_link(link: &LinkTraffic) -> Value {
    let ((tx_batches, tx_bytes), (rx_batches, rx_bytes)) = (link.sent, link.received);
    json!({
        "tx_bytes": tx_bytes,
        "tx_batches": tx_batches,
        "rx_bytes": rx_bytes,
        "rx_batches": rx_batches,
    })
}

/// The same by kind for each key expression that has numbers of its own.
pub(super) fn filtered(traffic: &[Traffic], filters: &[KeyExpr]) -> Value {
    let of_key = |key: &KeyExpr| {
        let stats: Value = by_kind(traffic, Some(key)).into();
        json!({ "key": key.as_str(), "stats": stats })
    };
    filters.iter().map(of_key).collect()
}

/// Messages and bytes of payloads by kind and space, on all keys or those of a filter.
fn by_kind(traffic: &[Traffic], key: Option<&KeyExpr>) -> Map<String, Value> {
    let mut stats = Map::new();
    for (flow, prefix) in [(Flow::Egress, "tx"), (Flow::Ingress, "rx")] {
        for (kind, classes) in KINDS {
            let of_space = |is_admin: bool| {
                let is_meant = |of: &&PayloadSizes| {
                    (of.flow, of.is_admin, of.key.as_ref()) == (flow, is_admin, key)
                        && classes.contains(&of.class)
                };
                let mut sum = Sizes::default();
                for of in traffic.iter().flat_map(|it| &it.sizes).filter(is_meant) {
                    sum += of.sizes;
                }
                sum
            };
            let (admin, user) = (of_space(true), of_space(false));
            stats.insert(
                format!("{prefix}_z_{kind}_msgs"),
                json!({ "admin": admin.count(), "user": user.count() }),
            );
            stats.insert(
                format!("{prefix}_z_{kind}_pl_bytes"),
                json!({ "admin": admin.bytes, "user": user.bytes }),
            );
        }
    }
    stats
}

const fn bytes(of: &Traffic, flow: Flow) -> u64 {
    match flow {
        Flow::Egress => of.sent.bytes,
        Flow::Ingress => of.received.bytes,
    }
}

const fn transport_messages(of: &Traffic, flow: Flow) -> u64 {
    match flow {
        Flow::Egress => of.sent.transport_messages,
        Flow::Ingress => of.received.transport_messages,
    }
}

fn network_messages(of: &Traffic, flow: Flow) -> u64 {
    match flow {
        Flow::Egress => of.sent.messages,
        Flow::Ingress => of.received.messages.iter().sum(),
    }
}

/// For whatever reason.
fn dropped(of: &Traffic, flow: Flow) -> u64 {
    super::objects::drop_reasons(of, flow).iter().map(|(_, count)| count).sum()
}

fn low_pass_bytes(of: &Traffic, flow: Flow) -> u64 {
    let dropped = of.refused_sizes[flow as usize].iter();
    dropped.filter(|it| it.reason == DropReason::LowPass).map(|it| it.sizes.bytes).sum()
}
