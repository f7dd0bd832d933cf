//! The graphs of the regions and the ways through them: `/linkstate/<region>`, `/route/successor/…`.

use std::fmt::Write as _;

use weft_node::RegionGraph;
use weft_runtime::Runtime;
use weft_wire::ZenohId;

use super::{Asked, region_name};
use crate::encoding::Encoding;

/// Ways that one query is told, at most: as many as there are between the members of a network of 100.
const WAYS_MAX: usize = 10_000;

pub(super) fn answer(runtime: &Runtime, asked: Asked<'_>) {
    if asked.section("linkstate") {
        for region in runtime.inspect(|node| node.routing().graph_regions()) {
            let Some(key) = asked.key(&format!("linkstate/{}", region_name(region))) else {
                continue;
            };
            let graph = runtime.inspect(|node| node.routing().region_graph(region));
            asked.reply(key, Encoding::TEXT_PLAIN, dot(&graph));
        }
    }
    if asked.section("route/successor") {
        answer_successors(runtime, asked);
    }
}

/// The neighbour on the way from each node to each other one, a source at a time under the node's lock.
fn answer_successors(runtime: &Runtime, asked: Asked<'_>) {
    let mut count = 0;
    let nodes = runtime.inspect(|node| node.routing().network_nodes());
    for source in nodes {
        if asked.key(&format!("route/successor/src/{source}/dst/*")).is_none() {
            continue;
        }
        let ways: Vec<(ZenohId, ZenohId)> = runtime.inspect_mut(|node| node.successors(source));
        for (target, next) in ways {
            let suffix = format!("route/successor/src/{source}/dst/{target}");
            let Some(key) = asked.key(&suffix) else { continue };
            if count == WAYS_MAX {
                tracing::warn!(
                    "a query asks for more than {WAYS_MAX} ways: the others are left out"
                );
                return;
            }
            count += 1;
            let text = serde_json::Value::from(next.to_string()).to_string();
            asked.reply(key, Encoding::APPLICATION_JSON, text);
        }
    }
}

/// The graph in the language of Graphviz.
fn dot(graph: &RegionGraph) -> String {
    let mut text = String::from("graph {\n");
    for (number, zid) in &graph.nodes {
        let _ = writeln!(text, "    {number} [ label = \"{zid}\" ]");
    }
    for (a, b, weight) in &graph.edges {
        let _ = match weight {
            Some(weight) => writeln!(text, "    {a} -- {b} [ label = \"{weight}\" ]"),
            None => writeln!(text, "    {a} -- {b} [ ]"),
        };
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_written_as_the_reference_writes_it() {
        let zid = |text: &str| text.parse().unwrap();
        let edges = vec![(1, 0, Some(100.52192227251872)), (2, 0, None)];
        let nodes = vec![(0, zid("a1")), (1, zid("b2")), (2, zid("c3"))];
        let text = dot(&RegionGraph { nodes, edges });
        let expected = "graph {\n    0 [ label = \"a1\" ]\n    1 [ label = \"b2\" ]\n    2 [ label = \"c3\" ]\n    \
                        1 -- 0 [ label = \"100.52192227251872\" ]\n    2 -- 0 [ ]\n}\n";
        assert_eq!(text, expected);
    }
}
