//! What `gateway/south` says about the regions that the node serves.
//!
//! Spec: 03 §1.4, §10.1.

use core::fmt::Display;

use weft_node::{Gateway, NeighbourFilter, SouthRegion};
use weft_wire::WhatAmI;

use super::kind::{self, Kind, Member};
use super::rules::{Remark, parsed};
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

/// Whom each region takes, in a line.
pub(super) fn explain(gateway: &Gateway) -> Vec<Remark> {
    let regions = gateway.south.iter().enumerate();
    let explained = regions.map(|(index, region)| Remark {
        path: path(index),
        text: match &region.filters {
            None => "serves everybody".to_owned(),
            Some(filters) if filters.is_empty() => "serves nobody".to_owned(),
            Some(filters) => format!("serves {}", joined(filters.iter().map(described), "; or ")),
        },
    });
    explained.collect()
}

/// Regions that take nobody.
pub(super) fn lint(gateway: &Gateway) -> Vec<Remark> {
    let takes_all = |region: &SouthRegion| match &region.filters {
        None => true,
        Some(filters) => filters.contains(&NeighbourFilter::default()),
    };
    let last = gateway.south.iter().position(takes_all).unwrap_or(gateway.south.len());
    let mut remarks = Vec::new();
    for (index, region) in gateway.south.iter().enumerate() {
        let text = if index > last {
            format!("it takes nobody: `{}` takes everybody", path(last))
        } else if region.filters.as_ref().is_some_and(Vec::is_empty) {
            "it takes nobody: leave `filters` out to take everybody".to_owned()
        } else {
            continue;
        };
        remarks.push(Remark { path: path(index), text });
    }
    remarks
}

fn path(index: usize) -> String {
    format!("gateway/south/{index}")
}

fn described(filter: &NeighbourFilter) -> String {
    let list = |items: &[String]| joined(items.iter(), " or ");
    let modes = filter.modes.map(|modes| {
        format!("are {}", joined(WhatAmI::ALL.into_iter().filter(|it| modes.matches(*it)), " or "))
    });
    let names = filter.region_names.as_ref().map(|names| format!("are in region {}", list(names)));
    let zids = filter.zids.as_ref().map(|zids| format!("are {}", joined(zids.iter(), " or ")));
    let used = filter.interfaces.as_ref().map(|names| format!("use {} only", list(names)));
    let parts: Vec<String> = [modes, names, zids, used].into_iter().flatten().collect();
    match (parts.is_empty(), filter.negated) {
        (true, false) => "everybody".to_owned(),
        (true, true) => "nobody".to_owned(),
        (false, false) => format!("all that {}", parts.join(" and ")),
        (false, true) => format!("all but those that {}", parts.join(" and ")),
    }
}

fn joined<T: Display>(items: impl Iterator<Item = T>, between: &str) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(between)
}
