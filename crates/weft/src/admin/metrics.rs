//! Counters for those who collect them: `/metrics`, in OpenMetrics 1.0 (03 §9.2).
//!
//! The families of the reference as far as they are counted here, and some of ours, which begin with `weft_`.
//! Sizes of payloads are there if `stats/enabled` has them counted. Parameters: `per_transport=false` adds up
//! all neighbours, `per_link=false` the links of a neighbour, `per_key=false` leaves out what counts for
//! `stats/filters`, `disconnected=true` adds the neighbours that left last, `descriptors=false` leaves the
//! comments out, `compression=false` the compression.

mod text;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use weft_node::{Flow, Kind, MessageClass};
use weft_runtime::{Runtime, Traffic};

use self::text::{Family, Labels, render};
use super::objects::{PRIORITIES, drop_reasons};
use super::{Asked, Space};
use crate::encoding::Encoding;

/// What follows the type of the text in its encoding.
const SCHEMA: &str = " version=1.0.0; charset=utf-8";

impl Space {
    pub(super) fn answer_metrics(&self, runtime: &Runtime, asked: Asked<'_>) {
        let Some(key) = asked.key("metrics") else { return };
        let mode = runtime.inspect(|node| node.config().whatami);
        let labels = [("local_id", self.zid.to_string()), ("local_whatami", mode.to_string())];
        let mut families = collect(runtime, Detail::asked(asked));
        families.retain(|family| !family.is_empty());
        let text = match render(labels, families, !asked.is_off("descriptors")) {
            Ok(text) => text,
            Err(error) => return tracing::warn!(%error, "no metrics"),
        };
        let openmetrics = |schema: &str| Encoding::APPLICATION_OPENMETRICS_TEXT.with_schema(schema);
        if asked.is_off("compression") {
            return asked.reply(key, openmetrics(SCHEMA).unwrap_or_default(), text);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory does not fail.
        let compressed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
        if let Ok(compressed) = compressed {
            let encoding = openmetrics(&format!("{SCHEMA};content-encoding=gzip"));
            asked.reply(key, encoding.unwrap_or_default(), compressed);
        }
    }
}

/// How finely values are told apart.
#[derive(Clone, Copy)]
struct Detail {
    transport: bool,
    link: bool,
    key: bool,
    /// With the neighbours that left.
    disconnected: bool,
}

impl Detail {
    fn asked(asked: Asked<'_>) -> Self {
        let transport = !asked.is_off("per_transport");
        Self {
            transport,
            link: transport && !asked.is_off("per_link"),
            key: !asked.is_off("per_key"),
            disconnected: asked.is_on("disconnected"),
        }
    }

    /// Some labels, and those of the neighbour.
    fn labels<const LEN: usize>(self, of: &Traffic, own: [(&'static str, &str); LEN]) -> Labels {
        let mut labels: Labels = own.map(|(name, value)| (name, value.to_owned())).into();
        if self.transport {
            labels.push(("remote_zid", of.zid.to_string()));
            labels.push(("remote_whatami", of.whatami.to_string()));
        }
        labels
    }
}

/// All families, with a value for each neighbour or for all together.
fn collect(runtime: &Runtime, detail: Detail) -> Vec<Family> {
    let mut traffic = runtime.traffic();
    let mut families = node_families(runtime, &traffic);
    if detail.disconnected {
        traffic.extend(runtime.departed_traffic());
    }
    families.extend(link_families(&traffic, detail));
    families.extend(message_families(&traffic, detail));
    families.extend(queue_families(&traffic, detail));
    families.extend(size_families(&traffic, detail));
    families
}

/// What links carry. What went over links that a neighbour had long before belongs to none.
fn link_families(traffic: &[Traffic], detail: Detail) -> Vec<Family> {
    let mut families = [
        ("zenoh_tx_bytes", "Bytes sent, before compression"),
        ("zenoh_rx_bytes", "Bytes received, after decompression"),
        ("weft_tx_batches", "Batches sent"),
        ("weft_rx_batches", "Batches received"),
    ]
    .map(|(name, help)| Family::counter(name, help));
    let mut messages = [
        ("zenoh_tx_transport_message", "Transport messages sent"),
        ("zenoh_rx_transport_message", "Transport messages received"),
    ]
    .map(|(name, help)| Family::counter(name, help));
    for it in traffic {
        let labels = || detail.labels(it, [("protocol", it.protocol)]);
        let mut rest = [it.sent.bytes, it.received.bytes, it.sent.batches, it.received.batches];
        for link in it.links.iter().filter(|_| detail.link) {
            let mut of_link = detail.labels(it, [("protocol", link.protocol)]);
            of_link.push(("src_locator", link.src.clone()));
            of_link.push(("dst_locator", link.dst.clone()));
            let ((tx_batches, tx_bytes), (rx_batches, rx_bytes)) = (link.sent, link.received);
            let counts = [tx_bytes, rx_bytes, tx_batches, rx_batches];
            for ((family, rest), count) in families.iter_mut().zip(&mut rest).zip(counts) {
                family.add(of_link.clone(), count);
                *rest = rest.saturating_sub(count);
            }
        }
        for (family, count) in families.iter_mut().zip(rest) {
            if !detail.link || count > 0 || it.links.is_empty() {
                family.add(labels(), count);
            }
        }
        let [tx_messages, rx_messages] = &mut messages;
        tx_messages.add(labels(), it.sent.transport_messages);
        rx_messages.add(labels(), it.received.transport_messages);
    }
    families.into_iter().chain(messages).collect()
}

fn message_families(traffic: &[Traffic], detail: Detail) -> Vec<Family> {
    let mut tx = Family::counter("zenoh_tx_network_message", "Network messages sent");
    let mut rx = Family::counter("zenoh_rx_network_message", "Network messages received");
    let mut tx_dropped = Family::counter(
        "weft_tx_network_message_dropped",
        "Network messages that were to be sent and were dropped",
    );
    let mut rx_dropped = Family::counter(
        "weft_rx_network_message_dropped",
        "Network messages that came in and were dropped",
    );
    let mut discarded = Family::counter(
        "weft_rx_transport_message_discarded",
        "Frames and fragments that were repeated, out of order or incomplete",
    );
    for it in traffic {
        for (priority, queue) in PRIORITIES.iter().zip(&it.queues) {
            tx.add(detail.labels(it, [("priority", priority)]), queue.messages);
        }
        for (class, count) in MessageClass::ALL.iter().zip(it.received.messages) {
            rx.add(detail.labels(it, [("message", class.as_str())]), count);
        }
        for (flow, dropped) in [(Flow::Egress, &mut tx_dropped), (Flow::Ingress, &mut rx_dropped)] {
            for (reason, count) in drop_reasons(it, flow) {
                dropped.add(detail.labels(it, [("reason", reason)]), count);
            }
        }
        discarded.add(detail.labels(it, []), it.received.discarded);
    }
    vec![tx, rx, tx_dropped, rx_dropped, discarded]
}

fn queue_families(traffic: &[Traffic], detail: Detail) -> Vec<Family> {
    let mut bytes = Family::gauge("weft_tx_queue_bytes", "Bytes that wait to be sent");
    let mut batches = Family::gauge("weft_tx_queue_batches", "Batches that wait to be sent");
    for it in traffic {
        for (priority, queue) in PRIORITIES.iter().zip(&it.queues) {
            let labels = || detail.labels(it, [("priority", priority)]);
            bytes.add(labels(), queue.bytes as u64);
            batches.add(labels(), queue.batches as u64);
        }
    }
    vec![bytes, batches]
}

/// Histograms; empty where sizes do not count.
fn size_families(traffic: &[Traffic], detail: Detail) -> Vec<Family> {
    let mut payloads = [
        ("zenoh_tx_network_message_payload_bytes", "Sizes of payloads sent"),
        ("zenoh_rx_network_message_payload_bytes", "Sizes of payloads received"),
        ("zenoh_tx_network_message_payload_per_key_bytes", "Sizes of payloads sent, by filter"),
        ("zenoh_rx_network_message_payload_per_key_bytes", "Sizes of payloads received, by filter"),
    ]
    .map(|(name, help)| Family::histogram(name, help));
    let mut tx_dropped = Family::histogram(
        "zenoh_tx_network_message_dropped_payload_bytes",
        "Sizes of payloads that were to be sent and were dropped",
    );
    let mut rx_dropped = Family::histogram(
        "zenoh_rx_network_message_dropped_payload_bytes",
        "Sizes of payloads that came in and were dropped",
    );
    for it in traffic {
        for of in it.sizes.iter().filter(|of| detail.key || of.key.is_none()) {
            let [tx, rx, tx_key, rx_key] = &mut payloads;
            let family = match (of.flow, &of.key) {
                (Flow::Egress, None) => tx,
                (Flow::Ingress, None) => rx,
                (Flow::Egress, Some(_)) => tx_key,
                (Flow::Ingress, Some(_)) => rx_key,
            };
            let mut labels = detail.labels(
                it,
                [
                    ("space", if of.is_admin { "admin" } else { "user" }),
                    ("priority", PRIORITIES[of.priority as usize]),
                    ("message", of.class.as_str()),
                    ("shm", "false"),
                ],
            );
            labels.extend(of.key.iter().map(|key| ("key", key.to_string())));
            family.add_sizes(labels, of.sizes);
        }
        let labels = |priority: weft_wire::Priority, message, reason| {
            let priority = PRIORITIES[priority as usize];
            let own = [("priority", priority), ("message", message), ("reason", reason)];
            let mut labels = detail.labels(it, own);
            labels.push(("protocol", it.protocol.to_owned()));
            labels
        };
        for of in &it.lost {
            let labels = labels(of.priority, of.class.as_str(), of.loss.as_str());
            tx_dropped.add_sizes(labels, of.sizes);
        }
        for (flow, dropped) in [(Flow::Egress, &mut tx_dropped), (Flow::Ingress, &mut rx_dropped)] {
            for of in &it.refused_sizes[flow as usize] {
                let labels = labels(of.priority, of.kind.as_str(), of.reason.as_str());
                dropped.add_sizes(labels, of.sizes);
            }
        }
    }
    payloads.into_iter().chain([tx_dropped, rx_dropped]).collect()
}

/// What belongs to no neighbour. Cost: the faces and the nodes of networks, under the node's lock.
fn node_families(runtime: &Runtime, traffic: &[Traffic]) -> Vec<Family> {
    let mut transports = Family::gauge("zenoh_transports_opened", "Neighbours");
    transports.add(Vec::new(), traffic.len() as u64);
    let mut links = Family::gauge("zenoh_links_opened", "Links to neighbours");
    for link in traffic.iter().flat_map(|it| &it.links).filter(|link| link.is_open) {
        links.add(vec![("protocol", link.protocol.to_owned())], 1);
    }
    let mut resources =
        Family::gauge("zenoh_resources_declared", "Declarations of this node and of others");
    let mut queries = Family::gauge("weft_queries_pending", "Queries that have not ended");
    let mut offences = Family::counter(
        "weft_neighbour_offences",
        "How often neighbours did what they may not do, those that left included",
    );
    let mut offence =
        |kind: &str, count: u64| offences.add(vec![("offence", kind.to_owned())], count);
    offence("broken-protocol", runtime.broken_links());
    runtime.inspect(|node| {
        offence("ignored-declaration", node.offences().ignored);
        offence("over-limit", node.offences().refused);
        let routing = node.routing();
        let views: Vec<_> = routing.face_views().collect();
        queries.add(Vec::new(), views.iter().map(|view| view.queries as u64).sum());
        for (kind, name) in Kind::ALL.into_iter().zip(["subscriber", "queryable", "token"]) {
            let labels = |locality: &str| {
                vec![("resource", name.to_owned()), ("locality", locality.to_owned())]
            };
            let (own, others) = views.split_first().expect("the session is the first face");
            let remote: usize = others.iter().map(|view| view.declared[kind as usize]).sum();
            resources.add(labels("local"), own.declared[kind as usize] as u64);
            resources.add(labels("remote"), (remote + routing.sourced_count(kind)) as u64);
        }
    });
    vec![transports, links, resources, queries, offences]
}
