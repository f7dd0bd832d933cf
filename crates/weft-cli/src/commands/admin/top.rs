//! `weft admin top`: what goes on in the network at this moment.

mod rates;
mod screen;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use weft::Session;

use self::rates::{FaceRates, Frame, Sampler};
use super::{Answer, Asking, silence};
use crate::arguments::some_seconds;
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;

/// Keys that are shown, at most.
const KEYS_MAX: usize = 500;

/// Show what goes on, interval by interval
///
/// Rates are differences of the counters of each node, by neighbour. On a terminal the view is live: arrows scroll, Tab
/// changes between neighbours and keys, q ends; elsewhere a table is printed each time. JSON, a line an interval:
/// {"type":"top","nodes":[{"zid":…,"mode":…,"faces":[{"peer":…,"whatami":…,"region":…,"tx_messages_per_s":…,
/// "tx_bytes_per_s":…,"rx_messages_per_s":…,"rx_bytes_per_s":…,"dropped_per_s":…,"queued_bytes":…,"declared":…}]}]}, and
/// with --keys "keys":[{"key":…,"kinds":[…],"owners":…}].
#[derive(Args, Debug)]
pub(super) struct Top {
    /// From one look to the next, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = some_seconds, allow_negative_numbers = true)]
    interval: Duration,
    /// Shows the declared keys, too
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    limits: Limits,
}

/// A declared key.
#[derive(Clone, Debug, Default, PartialEq)]
struct DeclaredKey {
    kinds: BTreeSet<String>,
    owners: BTreeSet<String>,
}

type Keys = BTreeMap<String, DeclaredKey>;

impl Top {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = self.asking.open(context, self.limits)?;
        let is_live = !context.output.is_json() && io::stdout().is_terminal();
        let outcome = if is_live {
            screen::run(&self, context, &session)
        } else {
            self.print(context, &session)
        };
        session.close().wait();
        outcome
    }

    fn print(&self, context: &Context, session: &Session) -> Result<(), Failure> {
        let mut sampler = Sampler::new(session.zid().to_string());
        sampler.frame(&self.look(session)?);
        while context.ending.pause(self.interval) {
            let frame = sampler.frame(&self.look(session)?);
            let keys = if self.keys { Some(self.look_at_keys(session)?) } else { None };
            context.ending.counted(|| {
                context
                    .output
                    .result(|| text(&frame, keys.as_ref()), || json(&frame, keys.as_ref()));
            });
        }
        context.ending.check_signal()
    }

    /// The counters of all nodes.
    ///
    /// # Errors
    /// If nobody tells any.
    fn look(&self, session: &Session) -> Result<Vec<Answer>, Failure> {
        let answers = self.asking.ask(session, "faces")?;
        if !answers.is_empty() {
            return Ok(answers);
        }
        let roots = self.asking.ask(session, "")?;
        Err(match roots.first() {
            None => silence(session, self.asking.node),
            Some(root) => {
                let text = format!(
                    "{} tells no counters: it runs {}",
                    root.zid(),
                    root.value()["version"]
                );
                Failure::Run(text)
            }
        })
    }

    fn look_at_keys(&self, session: &Session) -> Result<Keys, Failure> {
        let mut keys = Keys::new();
        for kind in ["subscriber", "queryable", "token"] {
            for answer in self.asking.ask(session, &format!("{kind}/**"))? {
                let Some(key) = answer.suffix().strip_prefix(kind) else { continue };
                let known = keys.entry(key.trim_start_matches('/').to_owned()).or_default();
                known.kinds.insert(kind.to_owned());
                let value = answer.value();
                let owners =
                    ["routers", "peers", "clients"].map(|mode| value[mode].as_array().cloned());
                let owners = owners.into_iter().flatten().flatten();
                known.owners.extend(owners.filter_map(|zid| zid.as_str().map(str::to_owned)));
            }
        }
        Ok(keys)
    }
}

/// A rate as people read it.
fn rate(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    for (unit, size) in [("G", 1e9), ("M", 1e6), ("k", 1e3)] {
        if value >= size {
            return format!("{:.1}{unit}", value / size);
        }
    }
    format!("{value:.0}")
}

/// The titles of the columns.
const COLUMNS: [&str; 10] =
    ["node", "neighbour", "mode", "out/s", "B/s", "in/s", "B/s", "lost/s", "queued", "declared"];

/// A neighbour in columns.
fn columns(zid: &str, face: &FaceRates) -> [String; COLUMNS.len()] {
    [
        zid.to_owned(),
        face.peer.clone(),
        face.mode.clone(),
        rate(face.tx_messages),
        rate(face.tx_bytes),
        rate(face.rx_messages),
        rate(face.rx_bytes),
        rate(face.dropped),
        rate(Some(face.queued as f64)),
        face.declared.to_string(),
    ]
}

fn rows(frame: &Frame) -> Vec<[String; COLUMNS.len()]> {
    let nodes = frame.nodes.iter();
    nodes.flat_map(|node| node.faces.iter().map(|face| columns(&node.zid, face))).collect()
}

fn text(frame: &Frame, keys: Option<&Keys>) -> String {
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(rows(frame));
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(|column| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
    });
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(widths).enumerate().map(|(at, (cell, width))| match at {
            0..3 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    for (key, declared) in keys.into_iter().flatten().take(KEYS_MAX) {
        text.push_str(&key_line(key, declared));
        text.push('\n');
    }
    text
}

fn key_line(key: &str, DeclaredKey { kinds, owners }: &DeclaredKey) -> String {
    let kinds = kinds.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("{key}: {kinds} of {} nodes", owners.len())
}

fn json(frame: &Frame, keys: Option<&Keys>) -> Value {
    let nodes = frame.nodes.iter().map(|node| {
        let faces = node.faces.iter().map(|face| {
            json!({
                "peer": face.peer,
                "whatami": face.mode,
                "region": face.region,
                "tx_messages_per_s": face.tx_messages,
                "tx_bytes_per_s": face.tx_bytes,
                "rx_messages_per_s": face.rx_messages,
                "rx_bytes_per_s": face.rx_bytes,
                "dropped_per_s": face.dropped,
                "queued_bytes": face.queued,
                "declared": face.declared,
            })
        });
        json!({ "zid": node.zid, "mode": node.mode, "faces": faces.collect::<Vec<_>>() })
    });
    let mut object = json!({ "type": "top", "nodes": nodes.collect::<Vec<_>>() });
    if let Some(keys) = keys {
        let keys = keys.iter().take(KEYS_MAX);
        object["keys"] = keys
            .map(|(key, it)| json!({ "key": key, "kinds": it.kinds, "owners": it.owners.len() }))
            .collect();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        let all = [None, Some(0.4), Some(999.0), Some(1234.0), Some(5.67e6), Some(2e9)];
        assert_eq!(all.map(rate), ["-", "0", "999", "1.2k", "5.7M", "2.0G"]);
    }

    #[test]
    fn the_columns_of_a_table_are_aligned() {
        let face = FaceRates { peer: "b2".into(), mode: "client".into(), ..FaceRates::default() };
        let node =
            rates::NodeRates { zid: "a1a1a1".into(), mode: "router".into(), faces: vec![face] };
        let text = text(&Frame { nodes: vec![node] }, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].find("neighbour"), lines[1].find("b2"), "{text}");
        assert!(lines[1].ends_with('0'), "{text}");
    }
}
