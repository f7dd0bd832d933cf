//! A drawing of a network: routers on a circle, others on a wider one near whom they are linked with.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::Network;

/// From the middle of one node to that of the next, at least.
const DISTANCE: f64 = 130.0;
/// From a circle to the next one.
const STEP: f64 = 160.0;
/// Half of a node's box.
const HALF: (f64, f64) = (56.0, 20.0);

/// The network as an SVG document.
pub(super) fn drawing(network: &Network) -> String {
    let places = places(network);
    let reach = places.values().map(|(x, y)| x.abs().max(y.abs())).fold(0.0, f64::max);
    let half = reach + HALF.0 + 20.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{:.0} {:.0} {:.0} {:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n",
        -half,
        -half,
        2.0 * half,
        2.0 * half
    );
    for ((a, b), edge) in &network.edges {
        let (Some((ax, ay)), Some((bx, by))) = (places.get(a.as_str()), places.get(b.as_str()))
        else {
            continue;
        };
        let _ = writeln!(
            text,
            "<line x1=\"{ax:.1}\" y1=\"{ay:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\" stroke=\"#777\"/>"
        );
        if let Some(weight) = edge.weight {
            let (x, y) = (f64::midpoint(*ax, *bx), f64::midpoint(*ay, *by) - 4.0);
            let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#777\">{weight}</text>");
        }
    }
    for (zid, node) in &network.nodes {
        let (x, y) = places[zid.as_str()];
        let fill = match node.mode.as_str() {
            "router" => "#cfe3ff",
            "peer" => "#d9f2d9",
            _ => "#f4f4f4",
        };
        let dash = if node.version.is_some() { "" } else { " stroke-dasharray=\"4 3\"" };
        let (left, top, width, height) = (x - HALF.0, y - HALF.1, 2.0 * HALF.0, 2.0 * HALF.1);
        let _ = writeln!(
            text,
            "<g><title>{} {zid}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width}\" height=\"{height}\" \
             rx=\"6\" fill=\"{fill}\" stroke=\"#333\"{dash}/><text x=\"{x:.1}\" y=\"{:.1}\">{}</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#555\">{}</text></g>",
            node.mode,
            y - 3.0,
            node.mode,
            y + 13.0,
            short(zid)
        );
    }
    text.push_str("</svg>");
    text
}

/// So much of an identity as fits a box.
fn short(zid: &str) -> String {
    if zid.len() <= 12 { zid.to_owned() } else { format!("{}…", &zid[..11]) }
}

/// Where the middle of each node is.
fn places(network: &Network) -> BTreeMap<&str, (f64, f64)> {
    let is_router = |zid: &str| network.nodes.get(zid).is_some_and(|node| node.mode == "router");
    let (inner, outer): (Vec<&str>, Vec<&str>) =
        network.nodes.keys().map(String::as_str).partition(|zid| is_router(zid));
    let mut angles: BTreeMap<&str, f64> = BTreeMap::new();
    for (at, zid) in inner.iter().enumerate() {
        angles.insert(zid, TAU * at as f64 / inner.len() as f64);
    }
    let inner_radius = if inner.len() < 2 { 0.0 } else { radius(inner.len()) };
    // Others in the order of the routers that they are linked with, spread evenly.
    let mut ordered: Vec<(f64, &str)> = outer
        .iter()
        .map(|zid| {
            let near = network.neighbours(zid).filter_map(|(other, _)| angles.get(other));
            (near.copied().fold(f64::INFINITY, f64::min), *zid)
        })
        .collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    let outer_radius =
        radius(ordered.len()).max(inner_radius + if inner.is_empty() { 0.0 } else { STEP });
    let at = |radius: f64, angle: f64| (radius * angle.cos(), radius * angle.sin());
    let routers = angles.iter().map(|(zid, angle)| (*zid, at(inner_radius, *angle)));
    let count = ordered.len();
    let others = ordered
        .iter()
        .enumerate()
        .map(|(index, (_, zid))| (*zid, at(outer_radius, TAU * index as f64 / count as f64)));
    routers.chain(others).collect()
}

/// That of a circle on which so many nodes have room.
fn radius(count: usize) -> f64 {
    DISTANCE * count as f64 / TAU
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn every_node_has_a_place_of_its_own() {
        let network = sample();
        let places = places(&network);
        assert_eq!(places.len(), network.nodes.len());
        let all: Vec<&(f64, f64)> = places.values().collect();
        for (index, a) in all.iter().enumerate() {
            for b in &all[index + 1..] {
                assert!((a.0 - b.0).hypot(a.1 - b.1) > 2.0 * HALF.1, "{places:?}");
            }
        }
    }

    #[test]
    fn the_drawing_has_all_nodes_and_links() {
        let text = drawing(&sample());
        let count = |part: &str| text.matches(part).count();
        assert_eq!((count("<rect "), count("<line "), count("stroke-dasharray")), (4, 2, 1));
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>"), "{text}");
        assert_eq!(short("0123456789abcdef"), "0123456789a…");
    }
}
