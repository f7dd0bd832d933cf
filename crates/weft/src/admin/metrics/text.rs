//! Families of metrics, and their text in OpenMetrics 1.0.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use weft_node::{SIZE_LIMITS, Sizes};

pub(super) type Labels = Vec<(&'static str, String)>;

/// Some values of one name and type.
#[derive(Debug)]
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    samples: BTreeMap<Labels, Sample>,
}

/// A number, or for a histogram, sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    number: u64,
    sizes: Sizes,
}

impl Family {
    const fn new(kind: MetricType, name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind, samples: BTreeMap::new() }
    }

    pub(super) const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricType::Counter, name, help)
    }

    pub(super) const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricType::Gauge, name, help)
    }

    pub(super) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricType::Histogram, name, help)
    }

    /// Adds to the value with these labels.
    pub(super) fn add(&mut self, labels: Labels, count: u64) {
        self.samples.entry(labels).or_default().number += count;
    }

    /// The same for a histogram.
    pub(super) fn add_sizes(&mut self, labels: Labels, sizes: Sizes) {
        self.samples.entry(labels).or_default().sizes += sizes;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    fn encode_sample(&self, sample: Sample, encoder: MetricEncoder<'_>) -> fmt::Result {
        match self.kind {
            MetricType::Counter => ConstCounter::new(sample.number).encode(encoder),
            MetricType::Histogram => encode_sizes(sample.sizes, encoder),
            _ => ConstGauge::new(sample.number as i64).encode(encoder),
        }
    }
}

fn encode_sizes(sizes: Sizes, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    let limits = SIZE_LIMITS.iter().map(|limit| *limit as f64).chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = limits.zip(sizes.buckets).collect();
    let none: Option<&HashMap<usize, Exemplar<NoLabelSet, f64>>> = None;
    encoder.encode_histogram(sizes.bytes as f64, sizes.count(), &buckets, none)
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let mut described =
                encoder.encode_descriptor(family.name, family.help, None, family.kind)?;
            for (labels, sample) in &family.samples {
                family.encode_sample(*sample, described.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// The text of some families, each of which has the labels of the node; without `descriptors` it has no
/// comments.
pub(super) fn render(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(descriptors: bool) -> String {
        let labels = [("local_id", "a1".to_owned()), ("local_whatami", "router".to_owned())];
        let mut family = Family::counter("zenoh_tx_bytes", "Bytes sent");
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

    #[test]
    fn sizes_are_a_histogram_with_cumulative_buckets() {
        let labels = [("local_id", "a1".to_owned()), ("local_whatami", "peer".to_owned())];
        let mut family = Family::histogram("sizes", "Sizes");
        let sizes = Sizes { buckets: [1, 2, 0, 0, 0, 0, 0, 1], bytes: 1 << 31 };
        family.add_sizes(vec![("space", "user".to_owned())], sizes);
        let text = render(labels, vec![family], false).unwrap();
        let (node, label) = (r#"local_id="a1",local_whatami="peer""#, r#"space="user""#);
        let bucket = |limit: &str, count: u64| {
            assert!(
                text.contains(&format!("sizes_bucket{{{node},le=\"{limit}\",{label}}} {count}\n")),
                "{limit}: {text}"
            );
        };
        bucket("0.0", 1);
        bucket("32.0", 3);
        bucket("1073741824.0", 3);
        bucket("+Inf", 4);
        assert!(text.contains(&format!("sizes_count{{{node},{label}}} 4\n")), "{text}");
        assert!(text.contains(&format!("sizes_sum{{{node},{label}}} 2147483648.0\n")), "{text}");
    }
}
