//! How large a network is and how it is linked.

use std::collections::BTreeSet;

use crate::rng::Rng;

/// A size of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What it is called.
    pub name: &'static str,
    /// Routers at the start; one joins later.
    pub routers: usize,
    /// Clients, all routers together; a multiple of `routers`.
    pub clients: usize,
    /// Key expressions that clients declare, all together; a multiple of `clients`.
    pub keys: usize,
}

/// The sizes that are measured, the least first.
pub const SHAPES: &[Shape] = &[
    Shape { name: "10r-10k", routers: 10, clients: 100, keys: 10_000 },
    Shape { name: "100r-10k", routers: 100, clients: 1_000, keys: 10_000 },
    Shape { name: "100r-20k", routers: 100, clients: 1_000, keys: 20_000 },
    Shape { name: "10r-100k", routers: 10, clients: 100, keys: 100_000 },
    Shape { name: "10r-1M", routers: 10, clients: 100, keys: 1_000_000 },
    Shape { name: "1000r-20k", routers: 1_000, clients: 10_000, keys: 20_000 },
];

impl Shape {
    pub(super) const fn clients_per_router(&self) -> usize {
        self.clients / self.routers
    }

    pub(super) const fn keys_per_client(&self) -> usize {
        self.keys / self.clients
    }

    pub(super) const fn keys_per_router(&self) -> usize {
        self.clients_per_router() * self.keys_per_client()
    }
}

/// The links of a random connected graph in which a router has three and a half neighbours on average.
pub(super) fn links(routers: usize, rng: &mut Rng) -> BTreeSet<(usize, usize)> {
    let mut links: BTreeSet<(usize, usize)> =
        (1..routers).map(|router| (rng.below(router as u64) as usize, router)).collect();
    let possible = routers * routers.saturating_sub(1) / 2;
    while links.len() < (routers * 7 / 4).min(possible) {
        let (a, b) = (rng.below(routers as u64) as usize, rng.below(routers as u64) as usize);
        if a != b {
            links.insert((a.min(b), a.max(b)));
        }
    }
    links
}

/// The routers that `links` lead to from `from`, the near ones first.
pub(super) fn reached(from: usize, links: &BTreeSet<(usize, usize)>, routers: usize) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); routers];
    for &(a, b) in links {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut order = vec![from];
    let mut seen = BTreeSet::from([from]);
    let mut at = 0;
    while let Some(&router) = order.get(at) {
        order.extend(neighbours[router].iter().filter(|next| seen.insert(**next)));
        at += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_connected_and_sparse() {
        for routers in [1, 2, 3, 10, 200] {
            let links = links(routers, &mut Rng::new(1));
            assert_eq!(reached(0, &links, routers).len(), routers);
            assert!(links.len() <= (routers * 7 / 4).max(1));
        }
    }
}
