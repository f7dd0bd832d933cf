//! From counters to rates: the difference of two looks, by the clock of the node that counts.

use std::collections::HashMap;

use serde_json::Value;

use super::super::Answer;

/// The rates of one look since the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Frame {
    pub(super) nodes: Vec<NodeRates>,
}

/// One node and its neighbours.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeRates {
    pub(super) zid: String,
    pub(super) mode: String,
    pub(super) faces: Vec<FaceRates>,
}

/// One neighbour; rates are per second, and `None` until there were two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FaceRates {
    pub(super) peer: String,
    pub(super) mode: String,
    pub(super) region: String,
    pub(super) tx_messages: Option<f64>,
    pub(super) tx_bytes: Option<f64>,
    pub(super) rx_messages: Option<f64>,
    pub(super) rx_bytes: Option<f64>,
    pub(super) dropped: Option<f64>,
    pub(super) queued: u64,
    pub(super) declared: u64,
}

/// Messages out, bytes out, messages in, bytes in, dropped.
type Counters = [u64; 5];

/// Remembers the look before.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    /// Who looks: it is not shown.
    own: String,
    /// By node and neighbour: when, and the counters.
    before: HashMap<(String, String), (u64, Counters)>,
}

impl Sampler {
    /// For the session with this identity.
    pub(super) fn new(own: String) -> Self {
        Self { own, before: HashMap::new() }
    }

    /// The rates since the look before, which this one replaces.
    pub(super) fn frame(&mut self, answers: &[Answer]) -> Frame {
        let values =
            answers.iter().map(|it| (it.zid().to_owned(), it.mode().to_owned(), it.value()));
        self.frame_of(values)
    }

    fn frame_of(&mut self, answers: impl Iterator<Item = (String, String, Value)>) -> Frame {
        let mut now = HashMap::new();
        let nodes = answers.map(|(zid, mode, value)| {
            let at_ms = value["at_ms"].as_u64().unwrap_or_default();
            let faces = value["faces"].as_array().into_iter().flatten();
            let faces = faces.filter(|face| face["peer"] != *self.own).map(|face| {
                let counters = counters(face);
                let name = (zid.clone(), text(face, "peer"));
                let before = self.before.get(&name);
                let rates = before.and_then(|before| rates(*before, (at_ms, counters)));
                now.insert(name, (at_ms, counters));
                let of = |index: usize| rates.map(|rates| rates[index]);
                let declared = face["declared"].as_object().into_iter().flat_map(|it| it.values());
                FaceRates {
                    peer: text(face, "peer"),
                    mode: text(face, "whatami"),
                    region: text(face, "region"),
                    tx_messages: of(0),
                    tx_bytes: of(1),
                    rx_messages: of(2),
                    rx_bytes: of(3),
                    dropped: of(4),
                    queued: face["tx"]["queued_bytes"].as_u64().unwrap_or_default(),
                    declared: declared.filter_map(Value::as_u64).sum(),
                }
            });
            let faces = faces.collect();
            NodeRates { zid, mode, faces }
        });
        let nodes = nodes.collect();
        self.before = now;
        Frame { nodes }
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or("?").to_owned()
}

fn counters(face: &Value) -> Counters {
    let count = |way: &str, name: &str| face[way][name].as_u64().unwrap_or_default();
    let dropped = |way: &str| -> u64 {
        let reasons = face[way]["dropped"].as_object().into_iter().flat_map(|it| it.values());
        reasons.filter_map(Value::as_u64).sum()
    };
    [
        count("tx", "messages"),
        count("tx", "bytes"),
        count("rx", "messages"),
        count("rx", "bytes"),
        dropped("tx") + dropped("rx"),
    ]
}

/// `None` if no time has passed, or the neighbour has come back and counts anew.
fn rates((before_ms, before): (u64, Counters), (now_ms, now): (u64, Counters)) -> Option<[f64; 5]> {
    let ms = now_ms.checked_sub(before_ms).filter(|ms| *ms > 0)?;
    let mut rates = [0.0; 5];
    for (rate, (before, now)) in rates.iter_mut().zip(before.into_iter().zip(now)) {
        *rate = now.checked_sub(before)? as f64 * 1000.0 / ms as f64;
    }
    Some(rates)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn look(at_ms: u64, messages: u64) -> std::iter::Once<(String, String, Value)> {
        let face = |peer: &str| {
            json!({
                "peer": peer, "whatami": "client", "region": "south:0:client",
                "declared": {"subscribers": 2, "queryables": 1, "tokens": 0},
                "tx": {"messages": messages, "bytes": messages * 10, "queued_bytes": 7, "dropped": {"congestion": messages / 2}},
                "rx": {"messages": 1, "bytes": 2, "dropped": {}},
            })
        };
        std::iter::once((
            "a1".into(),
            "router".into(),
            json!({"at_ms": at_ms, "faces": [face("e5"), face("b2")]}),
        ))
    }

    #[test]
    fn a_rate_is_the_difference_by_the_time_between() {
        let mut sampler = Sampler::new("e5".into());
        let first = sampler.frame_of(look(1000, 100));
        assert_eq!(first.nodes[0].faces.len(), 1, "who looks is not shown");
        assert_eq!(first.nodes[0].faces[0].tx_messages, None);
        let second = sampler.frame_of(look(1500, 200));
        let face = &second.nodes[0].faces[0];
        assert_eq!((face.tx_messages, face.tx_bytes), (Some(200.0), Some(2000.0)));
        assert_eq!((face.rx_messages, face.dropped), (Some(0.0), Some(100.0)));
        assert_eq!((face.queued, face.declared), (7, 3));
    }

    #[test]
    fn a_neighbour_that_counts_anew_has_no_rate() {
        let mut sampler = Sampler::new("e5".into());
        sampler.frame_of(look(1000, 100));
        assert_eq!(sampler.frame_of(look(2000, 50)).nodes[0].faces[0].tx_messages, None);
        assert_eq!(sampler.frame_of(look(2000, 60)).nodes[0].faces[0].tx_messages, None);
        assert_eq!(sampler.frame_of(look(3000, 70)).nodes[0].faces[0].tx_messages, Some(10.0));
    }
}
