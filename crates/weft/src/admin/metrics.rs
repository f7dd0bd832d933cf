//! Counters for those who collect them: `/metrics`, in OpenMetrics 1.0 (03 §9.2).
//!
//! The families of the reference as far as they are counted here, and some of ours, which begin with `weft_`.
//! Parameters: `per_transport=false` adds up all neighbours, `descriptors=false` leaves the comments out,
//! `compression=false` the compression.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use weft_node::{Flow, Kind, MessageClass};
use weft_runtime::{Runtime, Traffic};

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
        let mut families = collect(runtime, !asked.is_off("per_transport"));
        families.retain(|family| !family.samples.is_empty());
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

type Labels = Vec<(&'static str, String)>;

/// Some values of one name and type.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    is_counter: bool,
    samples: BTreeMap<Labels, u64>,
}

impl Family {
    const fn new(is_counter: bool, name: &'static str, help: &'static str) -> Self {
        Self { name, help, is_counter, samples: BTreeMap::new() }
    }

    /// Adds to the value with these labels.
    fn add(&mut self, labels: Labels, count: u64) {
        *self.samples.entry(labels).or_default() += count;
    }
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for Family { name, help, is_counter, samples } in &self.0 {
            let kind = if *is_counter { MetricType::Counter } else { MetricType::Gauge };
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, value) in samples {
                let sample = family.encode_family(labels)?;
                if *is_counter {
                    ConstCounter::new(*value).encode(sample)?;
                } else {
                    ConstGauge::new(*value as i64).encode(sample)?;
                }
            }
        }
        Ok(())
    }
}

fn render(
    labels: [(&'static str, String); 2],
    families: Vec<Family>,
    descriptors: bool,
) -> Result<String, fmt::Error> {
    let labels = labels.map(|(name, value)| (name.into(), value.into()));
    let mut registry = Registry::with_labels(labels.into_iter());
    let version = concat!("weft ", env!("CARGO_PKG_VERSION"));
    registry.register("zenoh_build", "What this node runs", Info::new([("version", version)]));
    registry.register_collector(Box::new(Families(families)));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    if descriptors {
        return Ok(text);
    }
    let kept = text.lines().filter(|line| !line.starts_with('#') || *line == "# EOF");
    Ok(kept.flat_map(|line| [line, "\n"]).collect())
}

/// All families, with a value for each neighbour or for all together.
fn collect(runtime: &Runtime, per_transport: bool) -> Vec<Family> {
    let traffic = runtime.traffic();
    let mut families = node_families(runtime, &traffic);
    let mut counters = [
        ("zenoh_tx_bytes", "Bytes sent, before compression"),
        ("zenoh_rx_bytes", "Bytes received, after decompression"),
        ("zenoh_tx_network_message", "Network messages sent"),
        ("zenoh_rx_network_message", "Network messages received"),
        ("weft_tx_batches", "Batches sent"),
        ("weft_rx_batches", "Batches received"),
        (
            "weft_tx_network_message_dropped",
            "Network messages that were to be sent and were dropped",
        ),
        ("weft_rx_network_message_dropped", "Network messages that came in and were dropped"),
    ]
    .map(|(name, help)| Family::new(true, name, help));
    let mut gauges = [
        ("weft_tx_queue_bytes", "Bytes that wait to be sent"),
        ("weft_tx_queue_batches", "Batches that wait to be sent"),
    ]
    .map(|(name, help)| Family::new(false, name, help));
    for it in &traffic {
        let of = |label: &'static str, value: &str| {
            let mut labels = vec![(label, value.to_owned())];
            if per_transport {
                labels.push(("remote_zid", it.zid.to_string()));
                labels.push(("remote_whatami", it.whatami.to_string()));
            }
            labels
        };
        let [tx_bytes, rx_bytes, tx, rx, tx_batches, rx_batches, tx_dropped, rx_dropped] =
            &mut counters;
        tx_bytes.add(of("protocol", it.protocol), it.sent.bytes);
        rx_bytes.add(of("protocol", it.protocol), it.received.bytes);
        tx_batches.add(of("protocol", it.protocol), it.sent.batches);
        rx_batches.add(of("protocol", it.protocol), it.received.batches);
        let [queue_bytes, queue_batches] = &mut gauges;
        for (priority, queue) in PRIORITIES.iter().zip(&it.queues) {
            tx.add(of("priority", priority), queue.messages);
            queue_bytes.add(of("priority", priority), queue.bytes as u64);
            queue_batches.add(of("priority", priority), queue.batches as u64);
        }
        for (class, count) in MessageClass::ALL.iter().zip(it.received.messages) {
            rx.add(of("message", class.as_str()), count);
        }
        for (flow, dropped) in [(Flow::Egress, tx_dropped), (Flow::Ingress, rx_dropped)] {
            for (reason, count) in drop_reasons(it, flow) {
                dropped.add(of("reason", reason), count);
            }
        }
    }
    families.extend(counters);
    families.extend(gauges);
    families
}

/// What belongs to no neighbour. Cost: the faces and the nodes of networks, under the node's lock.
fn node_families(runtime: &Runtime, traffic: &[Traffic]) -> Vec<Family> {
    let mut transports = Family::new(false, "zenoh_transports_opened", "Neighbours");
    transports.add(Vec::new(), traffic.len() as u64);
    let mut links = Family::new(false, "zenoh_links_opened", "Links to neighbours");
    for it in traffic {
        links.add(vec![("protocol", it.protocol.to_owned())], it.links as u64);
    }
    let mut resources =
        Family::new(false, "zenoh_resources_declared", "Declarations of this node and of others");
    let mut queries = Family::new(false, "weft_queries_pending", "Queries that have not ended");
    runtime.inspect(|node| {
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
    vec![transports, links, resources, queries]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(descriptors: bool) -> String {
        let labels = [("local_id", "a1".to_owned()), ("local_whatami", "router".to_owned())];
        let mut family = Family::new(true, "zenoh_tx_bytes", "Bytes sent");
        for (protocol, bytes) in [("tcp", 3), ("unix\"sock", 4), ("tcp", 5)] {
            family.add(vec![("protocol", protocol.to_owned())], bytes);
        }
        render(labels, vec![family], descriptors).unwrap()
    }

    #[test]
    fn the_text_is_open_metrics() {
        let text = rendered(true);
        let lines: Vec<&str> = text.lines().collect();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            lines,
            [
                "# HELP zenoh_build What this node runs.",
                "# TYPE zenoh_build info",
                &format!(
                    "zenoh_build_info{{local_id=\"a1\",local_whatami=\"router\",version=\"weft {version}\"}} 1"
                ),
                "# HELP zenoh_tx_bytes Bytes sent",
                "# TYPE zenoh_tx_bytes counter",
                "zenoh_tx_bytes_total{local_id=\"a1\",local_whatami=\"router\",protocol=\"tcp\"} 8",
                "zenoh_tx_bytes_total{local_id=\"a1\",local_whatami=\"router\",protocol=\"unix\\\"sock\"} 4",
                "# EOF",
            ]
        );
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn without_descriptors_only_values_and_the_end_are_left() {
        let text = rendered(false);
        assert_eq!(
            text.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>(),
            ["# EOF"]
        );
        assert_eq!(text.lines().count(), 4);
    }
}
