//! Whom a gateway serves: the regions of its configuration, and which neighbour belongs to which.
//!
//! Not here: what follows from it when the neighbour has an opinion as well, and what regions
//! exchange (`weft-routing`). Spec: 03 §1.4, step 1.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use weft_routing::{FaceInit, RefusedFace, Side};
use weft_transport::Negotiated;
use weft_wire::{WhatAmI, WhatAmIMatcher, ZenohId};

use crate::links::LinkId;
use crate::node::Node;
use crate::ports::{NodeEvent, Ports};

/// The regions that a gateway serves, in place of the automatic ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gateway {
    /// A neighbour belongs to the first of these that takes it; to the north if none does. Beyond
    /// [`Gateway::REGIONS_MAX`] they take nobody.
    pub south: Vec<SouthRegion>,
}

/// A region that a gateway serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SouthRegion {
    /// It takes whom one of these matches; everybody if there is no list.
    pub filters: Option<Vec<NeighbourFilter>>,
}

/// A description of neighbours: all that is not `None` has to fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighbourFilter {
    /// Their modes.
    pub modes: Option<WhatAmIMatcher>,
    /// Interfaces of this node: the neighbour's link uses these only.
    pub interfaces: Option<Vec<String>>,
    /// Their identities.
    pub zids: Option<Vec<ZenohId>>,
    /// Names of regions: the neighbour says that it is in one of them.
    pub region_names: Option<Vec<String>>,
    /// It matches all others.
    pub negated: bool,
}

/// What a gateway knows of a neighbour when it has to place it.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourFacts<'a> {
    /// Identity.
    pub zid: ZenohId,
    /// Mode.
    pub whatami: WhatAmI,
    /// The region that it says it is in.
    pub region_name: Option<&'a str>,
    /// The interfaces of this node that its link uses, as far as they are known.
    pub interfaces: &'a [String],
}

impl Gateway {
    /// Regions that have a number.
    pub const REGIONS_MAX: usize = 1 << 16;

    /// On which side of the gateway a neighbour is.
    pub fn side(&self, neighbour: &NeighbourFacts<'_>) -> Side {
        let regions = (0..=u16::MAX).zip(&self.south);
        let mut taking = regions.filter(|(_, region)| region.takes(neighbour));
        taking.next().map_or(Side::North, |(index, _)| Side::South(index))
    }

    fn asks_for_interfaces(&self) -> bool {
        let mut filters = self.south.iter().flat_map(|region| region.filters.iter().flatten());
        filters.any(|filter| filter.interfaces.is_some())
    }
}

impl SouthRegion {
    fn takes(&self, neighbour: &NeighbourFacts<'_>) -> bool {
        let filters = self.filters.as_ref();
        filters.is_none_or(|filters| filters.iter().any(|filter| filter.matches(neighbour)))
    }
}

impl NeighbourFilter {
    fn matches(&self, neighbour: &NeighbourFacts<'_>) -> bool {
        let interfaces = self.interfaces.as_ref().is_none_or(|listed| {
            let used = neighbour.interfaces;
            !used.is_empty() && used.iter().all(|interface| listed.contains(interface))
        });
        let named = |names: &Vec<String>| {
            neighbour.region_name.is_some_and(|own| names.iter().any(|name| name == own))
        };
        let fits = interfaces
            && self.modes.is_none_or(|modes| modes.matches(neighbour.whatami))
            && self.zids.as_ref().is_none_or(|zids| zids.contains(&neighbour.zid))
            && self.region_names.as_ref().is_none_or(named);
        fits != self.negated
    }
}

/// Neighbours of which it was said that their settings contradict those of this node.
#[derive(Debug, Default)]
pub(crate) struct Contradictions(BTreeSet<ZenohId>);

impl Contradictions {
    /// Neighbours after which nothing more is said.
    const MAX: usize = 64;

    /// Whether it has to be said.
    fn add(&mut self, zid: ZenohId) -> bool {
        self.0.len() < Self::MAX && self.0.insert(zid)
    }
}

/// On which side of a node the neighbour behind `link` is, if the node has regions of its own.
pub(crate) fn side(
    gateway: Option<&Gateway>,
    link: LinkId,
    negotiated: &Negotiated,
    ports: &dyn Ports,
) -> Option<Side> {
    let gateway = gateway?;
    let facts = gateway.asks_for_interfaces().then(|| ports.link_facts(link));
    Some(gateway.side(&NeighbourFacts {
        zid: negotiated.zid,
        whatami: negotiated.whatami,
        region_name: negotiated.region_name.as_deref(),
        interfaces: facts.as_ref().map_or(&[], |facts| &facts.interfaces),
    }))
}

impl Node {
    /// Says, once for a neighbour, that it is refused because the configurations do not fit.
    pub(crate) fn report_refusal(
        &mut self,
        init: &FaceInit,
        why: RefusedFace,
        ports: &mut dyn Ports,
    ) {
        let FaceInit { zid, whatami, .. } = *init;
        if why == RefusedFace::Contradiction && self.contradictions.add(zid) {
            let text = format!("the {whatami} {zid} is refused: {why}");
            ports.event(NodeEvent::Warning { text });
        }
    }
}

/// What routing has to know of a neighbour that is on the given side.
pub(crate) const fn face_init(negotiated: &Negotiated, own_side: Option<Side>) -> FaceInit {
    FaceInit {
        mesh: negotiated.mesh,
        gateway: negotiated.gateway,
        own_side,
        remote_bound: negotiated.remote_bound,
        ..FaceInit::new(negotiated.zid, negotiated.whatami)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts<'a>(
        zid: &str,
        whatami: WhatAmI,
        region_name: Option<&'a str>,
        interfaces: &'a [String],
    ) -> NeighbourFacts<'a> {
        NeighbourFacts { zid: zid.parse().unwrap(), whatami, region_name, interfaces }
    }

    fn region(filter: NeighbourFilter) -> SouthRegion {
        SouthRegion { filters: Some(Vec::from([filter])) }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| String::from(*name)).collect()
    }

    #[test]
    fn the_first_region_that_takes_a_neighbour_has_it() {
        let clients = NeighbourFilter {
            modes: Some(WhatAmIMatcher::from(WhatAmI::Client)),
            ..NeighbourFilter::default()
        };
        let inner =
            NeighbourFilter { region_names: Some(names(&["x", "y"])), ..Default::default() };
        let gateway = Gateway { south: Vec::from([region(clients), region(inner)]) };
        let lo = names(&["lo"]);
        let side = |whatami, name| gateway.side(&facts("b1", whatami, name, &lo));
        assert_eq!(side(WhatAmI::Client, Some("x")), Side::South(0));
        assert_eq!(side(WhatAmI::Peer, Some("y")), Side::South(1));
        assert_eq!(side(WhatAmI::Peer, Some("z")), Side::North);
        assert_eq!(side(WhatAmI::Peer, None), Side::North);
        assert_eq!(Gateway::default().side(&facts("b1", WhatAmI::Peer, None, &lo)), Side::North);
    }

    #[test]
    fn a_region_without_filters_takes_everybody_and_one_with_an_empty_list_nobody() {
        let (lo, all) = (names(&["lo"]), Gateway { south: Vec::from([SouthRegion::default()]) });
        let peer = facts("b1", WhatAmI::Peer, None, &lo);
        assert_eq!(all.side(&peer), Side::South(0));
        let nobody = SouthRegion { filters: Some(Vec::new()) };
        assert_eq!(Gateway { south: Vec::from([nobody]) }.side(&peer), Side::North);
    }

    #[test]
    fn all_of_a_filter_has_to_fit_and_negation_turns_it_around() {
        let lo = names(&["lo"]);
        let both = names(&["lo", "eth0"]);
        let matches = |filter: &NeighbourFilter, interfaces: &[String], name| {
            filter.matches(&facts("b1", WhatAmI::Peer, name, interfaces))
        };
        let filter = NeighbourFilter {
            interfaces: Some(names(&["lo"])),
            zids: Some(Vec::from(["b1".parse().unwrap()])),
            region_names: Some(names(&["main"])),
            ..NeighbourFilter::default()
        };
        assert!(matches(&filter, &lo, Some("main")));
        assert!(!matches(&filter, &lo, Some("other")));
        assert!(!matches(&filter, &lo, None));
        assert!(!matches(&filter, &both, Some("main")), "one interface is not listed");
        assert!(!matches(&filter, &[], Some("main")), "what is not known is not listed");
        let others = NeighbourFilter { negated: true, ..filter };
        assert!(!matches(&others, &lo, Some("main")));
        assert!(matches(&others, &lo, None));
    }
}
