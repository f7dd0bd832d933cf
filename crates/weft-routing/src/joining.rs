//! Who joins two networks, where several nodes are members of both.
//!
//! Spec: 03 §4.4. A router may serve a network of routers below the one that it is a member of. Where
//! several do, one has to join the two: of those that see each other in the northern network, the one
//! with the greatest identity. For the others the served network is *aside*: they are nodes on its
//! trees, and neither say nor take anything there. What they and those whom they serve have gets
//! there through the north and the elected one.
//!
//! Not here: peers on several nodes (`crossing`).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;

use crate::entity::{Kind, Owner};
use crate::face::Region;
use crate::network::Network;
use crate::outbox::Outbox;
use crate::routing::Routing;

impl Routing {
    /// Elects anew, after a network changed. Cost: nothing at a node of one network; otherwise the
    /// nodes of all, and, if the result is another one, all that is known.
    pub(crate) fn refresh_joints(&mut self, out: &mut dyn Outbox) {
        let north = self.networks.get(&Region::North);
        let is_aside = |network: &Network| {
            let mut gateways = network.gateways().filter(|zid| *zid > self.config.zid);
            north.is_some_and(|north| gateways.any(|zid| north.find(zid).is_some()))
        };
        let served = self.networks.iter().filter(|(region, _)| **region != Region::North);
        let aside: BTreeSet<Region> =
            served.filter(|(_, network)| is_aside(network)).map(|(region, _)| *region).collect();
        if self.aside == aside {
            return;
        }
        self.aside = aside;
        self.watch.invalidate_all();
        for kind in Kind::ALL {
            let table = &self.tables[kind.index()];
            let keys: Vec<KeyExpr> = table.iter().map(|(key, _)| key.clone()).collect();
            for key in keys {
                self.sync(kind, &key, out);
            }
        }
    }

    /// Whether this node keeps apart what `from` owns or sends and a network that it is not a node of,
    /// because another node joins them.
    pub(crate) fn keeps_apart(&self, from: Owner, region: Region) -> bool {
        match from {
            Owner::Node(source, _) if source == region => false,
            Owner::Node(source, _) => self.aside.contains(&source) || self.aside.contains(&region),
            Owner::Face(_) => self.aside.contains(&region),
        }
    }
}
