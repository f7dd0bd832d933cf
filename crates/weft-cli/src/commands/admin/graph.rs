//! `weft admin graph`: the whole network, put together from what all nodes say.

mod svg;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Answer, Asking, silence};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;

/// Show the whole network
///
/// Every node that answers tells of its links. Those that only others tell of are shown as well. JSON:
/// {"type":"graph","nodes":[{"zid":…,"mode":…,"answers":…,"version":…}],"links":[{"a":…,"b":…,"links":…,"weight":…}]}.
#[derive(Args, Debug)]
pub(super) struct Graph {
    /// How to show it
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    limits: Limits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A list, node by node
    Text,
    /// For Graphviz
    Dot,
    /// A drawing
    Svg,
}

impl Graph {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        if self.format != Format::Text {
            context.output.refuse_json()?;
        }
        let session = self.asking.open(context, self.limits)?;
        let own = session.zid().to_string();
        let roots = Asking { node: None, ..self.asking.clone() }.ask(&session, "")?;
        let outcome = if roots.is_empty() { Err(silence(&session, None)) } else { Ok(()) };
        session.close().wait();
        outcome?;
        let mut network = Network::of(&roots);
        network.remove(&own);
        let text = || match self.format {
            Format::Text => network.text(),
            Format::Dot => network.dot(),
            Format::Svg => svg::drawing(&network),
        };
        context.output.result(text, || network.json());
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq)]
struct Node {
    mode: String,
    /// What it runs; `None` if it does not answer.
    version: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
struct Edge {
    links: usize,
    weight: Option<u64>,
}

/// Nodes by identity, and links by the identities of their ends, the lower one first.
#[derive(Debug, Default)]
struct Network {
    nodes: BTreeMap<String, Node>,
    edges: BTreeMap<(String, String), Edge>,
}

impl Network {
    fn of(roots: &[Answer]) -> Self {
        let mut network = Self::default();
        for root in roots {
            network.add(root.zid(), root.mode(), &root.value());
        }
        network
    }

    fn add(&mut self, zid: &str, mode: &str, object: &Value) {
        let node = self.nodes.entry(zid.to_owned()).or_default();
        mode.clone_into(&mut node.mode);
        node.version = Some(object["version"].as_str().unwrap_or("unknown").to_owned());
        for session in object["sessions"].as_array().into_iter().flatten() {
            let Some(peer) = session["peer"].as_str() else { continue };
            let known = self.nodes.entry(peer.to_owned()).or_default();
            if known.version.is_none() {
                session["whatami"].as_str().unwrap_or("unknown").clone_into(&mut known.mode);
            }
            let (a, b) = if zid < peer { (zid, peer) } else { (peer, zid) };
            let edge = self.edges.entry((a.to_owned(), b.to_owned())).or_default();
            edge.links = edge.links.max(session["links"].as_array().map_or(0, Vec::len));
            edge.weight = edge.weight.max(session["weight"]["actual_weight"].as_u64());
        }
    }

    /// Takes out a node with its links: the one that asks.
    fn remove(&mut self, zid: &str) {
        self.nodes.remove(zid);
        self.edges.retain(|(a, b), _| a != zid && b != zid);
    }

    fn neighbours<'a>(&'a self, zid: &'a str) -> impl Iterator<Item = (&'a str, &'a Edge)> {
        self.edges.iter().filter_map(move |((a, b), edge)| match (a == zid, b == zid) {
            (true, _) => Some((b.as_str(), edge)),
            (_, true) => Some((a.as_str(), edge)),
            _ => None,
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (zid, node) in &self.nodes {
            let runs = node.version.as_deref().unwrap_or("does not answer");
            let _ = writeln!(text, "{} {zid} ({runs})", node.mode);
            for (other, edge) in self.neighbours(zid) {
                let mode = self.nodes.get(other).map_or("", |node| node.mode.as_str());
                let weight = edge.weight.map_or(String::new(), |it| format!(", weight {it}"));
                let links =
                    if edge.links > 1 { format!(", {} links", edge.links) } else { String::new() };
                let _ = writeln!(text, "  - {mode} {other}{weight}{links}");
            }
        }
        let _ =
            write!(text, "{} nodes, {} pairs of neighbours", self.nodes.len(), self.edges.len());
        text
    }

    fn dot(&self) -> String {
        let mut text = String::from("graph {\n");
        for (zid, node) in &self.nodes {
            let shape = match node.mode.as_str() {
                "router" => "box",
                "peer" => "ellipse",
                _ => "plaintext",
            };
            let _ = writeln!(
                text,
                "    \"{zid}\" [ shape = {shape}, label = \"{} {zid}\" ]",
                node.mode
            );
        }
        for ((a, b), edge) in &self.edges {
            let label = edge.weight.map_or(String::new(), |it| format!(" label = \"{it}\""));
            let _ = writeln!(text, "    \"{a}\" -- \"{b}\" [{label} ]");
        }
        text.push('}');
        text
    }

    fn json(&self) -> Value {
        let nodes = self.nodes.iter().map(|(zid, node)| {
            let answers = node.version.is_some();
            json!({ "zid": zid, "mode": node.mode, "answers": answers, "version": node.version })
        });
        let links = self.edges.iter().map(
            |((a, b), edge)| json!({ "a": a, "b": b, "links": edge.links, "weight": edge.weight }),
        );
        json!({
            "type": "graph",
            "nodes": nodes.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two routers, a client that does not answer, and a peer on its own.
    pub(super) fn sample() -> Network {
        let mut network = Network::default();
        let weight = json!({ "actual_weight": 100 });
        let session = |peer: &str, whatami: &str, weight: &Value| json!({ "peer": peer, "whatami": whatami, "links": [{}], "weight": weight });
        let of = |sessions: Vec<Value>| json!({ "version": "weft 1", "sessions": sessions });
        let none = Value::Null;
        network.add(
            "a1",
            "router",
            &of(vec![session("b2", "router", &weight), session("d4", "client", &none)]),
        );
        network.add("b2", "router", &of(vec![session("a1", "router", &weight)]));
        network.add("c3", "peer", &of(vec![]));
        network
    }

    #[test]
    fn a_link_that_both_ends_tell_of_is_there_once() {
        let network = sample();
        let expected = "router a1 (weft 1)\n  - router b2, weight 100\n  - client d4\nrouter b2 (weft 1)\n  \
            - router a1, weight 100\npeer c3 (weft 1)\nclient d4 (does not answer)\n  - router a1\n\
            4 nodes, 2 pairs of neighbours";
        assert_eq!(network.text(), expected);
        let dot = network.dot();
        assert!(dot.contains("    \"a1\" -- \"b2\" [ label = \"100\" ]\n"), "{dot}");
        assert_eq!(
            network.json()["links"][1],
            json!({"a": "a1", "b": "d4", "links": 1, "weight": null})
        );
    }

    #[test]
    fn the_node_that_asks_is_left_out() {
        let mut network = sample();
        network.remove("d4");
        assert_eq!((network.nodes.len(), network.edges.len()), (3, 1));
    }
}
