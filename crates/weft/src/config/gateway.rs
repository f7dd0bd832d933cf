//! What `gateway/south` says about the regions that the node serves.
//!
//! Spec: 03 §1.4, §10.1.

use weft_node::{Gateway, NeighbourFilter, SouthRegion};

use super::kind::{self, Kind, Member};
use super::rules::parsed;
use crate::value::Value;

pub(super) const SOUTH: Kind = Kind::AutoOrEntries(&[Member::optional(
    "filters",
    Kind::Entries(&[
        Member::optional("modes", Kind::Modes),
        Member::optional("interfaces", Kind::Texts),
        Member::optional("zids", Kind::Zids),
        Member::optional("region_names", Kind::RegionNames),
        Member::optional("negated", Kind::Bool),
    ]),
)]);

/// Reads a value that was checked; `None` is `auto`.
pub(super) fn parse(value: &Value) -> Option<Gateway> {
    let south = value.as_list()?.iter().map(|region| SouthRegion {
        filters: region
            .member("filters")
            .and_then(Value::as_list)
            .map(|filters| filters.iter().map(filter).collect()),
    });
    Some(Gateway { south: south.collect() })
}

fn filter(entry: &Value) -> NeighbourFilter {
    NeighbourFilter {
        modes: entry.member("modes").and_then(kind::modes),
        interfaces: parsed(entry, "interfaces"),
        zids: parsed(entry, "zids"),
        region_names: parsed(entry, "region_names"),
        negated: entry.member("negated") == Some(&Value::Bool(true)),
    }
}
