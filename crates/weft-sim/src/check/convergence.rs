//! Who must have heard of what, by a model of the network that is as plain as the specification.
//!
//! Spec: 03 §1.2 to §1.5, §3.5. Only one thing decides whether something gets from one node to
//! another: the regions in which the nodes on the way see each other. A node lets things pass from
//! one of its regions to another, and within the region of its clients.

use std::collections::{BTreeMap, BTreeSet};

use weft_keyexpr::KeyExpr;
use weft_routing::Kind;
use weft_wire::WhatAmI;

use super::{Verdict, hold};

/// The sub-network in which a node sees a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    North,
    Clients,
    Peers,
}

const fn region(own: WhatAmI, other: WhatAmI) -> Region {
    match (own, other) {
        (WhatAmI::Router | WhatAmI::Peer, WhatAmI::Client) => Region::Clients,
        (WhatAmI::Router, WhatAmI::Peer) => Region::Peers,
        _ => Region::North,
    }
}

/// Something that a node's session declared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entity {
    pub(crate) kind: Kind,
    pub(crate) key: KeyExpr,
}

/// Something that a node's session wants to be told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wish {
    pub(crate) kind: Kind,
    pub(crate) key: KeyExpr,
    /// Including what existed before.
    pub(crate) history: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ModelNode {
    pub(crate) mode: WhatAmI,
    pub(crate) entities: BTreeSet<Entity>,
    pub(crate) wishes: BTreeSet<Wish>,
}

/// Who is connected to whom, and who declared what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) nodes: BTreeMap<usize, ModelNode>,
    /// Both ways.
    pub(crate) links: BTreeSet<(usize, usize)>,
}

impl Model {
    fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> {
        self.links.range((node, 0)..=(node, usize::MAX)).map(|(_, other)| *other)
    }

    /// Whether `through` lets things pass from one neighbour to another.
    fn passes(&self, from: usize, through: usize, to: usize) -> bool {
        let seen = |other| region(self.nodes[&through].mode, self.nodes[&other].mode);
        from != to && (seen(from) != seen(to) || seen(from) == Region::Clients)
    }

    /// The nodes whose declarations come to `node` by its neighbour `last`, and, read the other way,
    /// those that `node` reaches through it.
    pub(crate) fn behind(&self, node: usize, last: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([last]);
        let mut open = vec![(node, last)];
        let mut seen = BTreeSet::from([(node, last)]);
        while let Some((from, at)) = open.pop() {
            for next in self.neighbours(at).filter(|next| self.passes(*next, at, from)) {
                if seen.insert((at, next)) {
                    found.insert(next);
                    open.push((at, next));
                }
            }
        }
        found.remove(&node);
        found
    }

    /// The nodes that a publication of `node` reaches, if they subscribe.
    pub(crate) fn reached(&self, node: usize) -> BTreeSet<usize> {
        self.neighbours(node).flat_map(|next| self.behind(node, next)).collect()
    }

    /// What `node` may hear of from its neighbour `from`.
    fn offered(&self, node: usize, from: usize) -> BTreeSet<Entity> {
        let behind = self.behind(node, from);
        let mut offered: BTreeSet<Entity> =
            behind.iter().flat_map(|owner| self.nodes[owner].entities.iter().cloned()).collect();
        if region(self.nodes[&from].mode, self.nodes[&node].mode) == Region::Clients {
            // A client is told of its own tokens, too (02 §4.3).
            let own = self.nodes[&node].entities.iter();
            offered.extend(own.filter(|entity| entity.kind == Kind::Token).cloned());
        }
        offered
    }

    /// What `node` wants to be told, for itself and for its clients.
    fn wishes(&self, node: usize) -> impl Iterator<Item = &Wish> {
        let own = &self.nodes[&node];
        let clients = self.neighbours(node).filter(move |other| {
            own.mode == WhatAmI::Peer && self.nodes[other].mode == WhatAmI::Client
        });
        std::iter::once(node).chain(clients).flat_map(|asker| &self.nodes[&asker].wishes)
    }

    /// Compares what `node` was told by `from` with what it should have been told.
    pub(crate) fn compare(&self, node: usize, from: usize, told: &BTreeSet<Entity>) -> Verdict {
        let offered = self.offered(node, from);
        let stale: Vec<_> = told.difference(&offered).collect();
        hold!(stale.is_empty(), "{node} believes {from} to have {stale:?}");
        // Those in the north are told everything; those who are served, what they ask for.
        let unasked = region(self.nodes[&from].mode, self.nodes[&node].mode) == Region::North;
        let due = offered.iter().filter(|entity| {
            unasked
                || self.wishes(node).any(|wish| {
                    wish.history && wish.kind == entity.kind && wish.key.intersects(&entity.key)
                })
        });
        let missing: Vec<_> = due.filter(|entity| !told.contains(entity)).collect();
        hold!(missing.is_empty(), "{node} was not told by {from} of {missing:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WhatAmI::{Client, Peer, Router};

    fn model(modes: &[WhatAmI], links: &[(usize, usize)]) -> Model {
        let node = |mode: &WhatAmI| ModelNode {
            mode: *mode,
            entities: BTreeSet::new(),
            wishes: BTreeSet::new(),
        };
        Model {
            nodes: modes.iter().map(node).enumerate().collect(),
            links: links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect(),
        }
    }

    fn entity(key: &str) -> Entity {
        Entity { kind: Kind::Subscriber, key: KeyExpr::new(key).unwrap() }
    }

    #[test]
    fn the_topologies_of_the_specification_reach_as_far_as_it_says() {
        let brokered = model(&[Router, Client, Client], &[(0, 1), (0, 2)]);
        assert_eq!(brokered.reached(1), BTreeSet::from([0, 2]));
        let line_of_peers = model(&[Peer, Peer, Peer], &[(0, 1), (1, 2)]);
        assert_eq!(line_of_peers.reached(0), BTreeSet::from([1]));
        let mixed = model(&[Client, Peer, Peer, Client], &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(mixed.reached(0), BTreeSet::from([1, 2, 3]));
        let peers_on_router = model(&[Router, Peer, Peer, Client], &[(0, 1), (0, 2), (0, 3)]);
        assert_eq!(peers_on_router.reached(1), BTreeSet::from([0, 3]));
        let linked = model(&[Router, Peer, Peer], &[(0, 1), (0, 2), (1, 2)]);
        assert_eq!(linked.behind(1, 2), BTreeSet::from([2]));
        assert_eq!(linked.behind(1, 0), BTreeSet::from([0]));
    }

    #[test]
    fn stale_and_missing_declarations_are_found() {
        let mut model = model(&[Router, Client, Client], &[(0, 1), (0, 2)]);
        model.nodes.get_mut(&1).unwrap().entities.insert(entity("a/1"));
        let known = BTreeSet::from([entity("a/1")]);
        assert_eq!(model.compare(0, 1, &known), Ok(()));
        assert!(model.compare(0, 1, &BTreeSet::new()).is_err(), "clients tell everything");
        assert_eq!(model.compare(2, 0, &BTreeSet::new()), Ok(()), "not asked for");
        assert_eq!(model.compare(2, 0, &known), Ok(()));
        assert!(model.compare(2, 0, &BTreeSet::from([entity("a/2")])).is_err(), "stale");
        let key = KeyExpr::new("a/*").unwrap();
        let wish = Wish { kind: Kind::Subscriber, key, history: true };
        model.nodes.get_mut(&2).unwrap().wishes.insert(wish);
        assert!(model.compare(2, 0, &BTreeSet::new()).is_err(), "asked for");
    }

    #[test]
    fn clients_are_told_of_their_own_tokens_only() {
        let mut model = model(&[Router, Client], &[(0, 1)]);
        let token = Entity { kind: Kind::Token, ..entity("t") };
        model.nodes.get_mut(&1).unwrap().entities = BTreeSet::from([token.clone(), entity("s")]);
        assert_eq!(model.compare(1, 0, &BTreeSet::from([token])), Ok(()));
        assert!(model.compare(1, 0, &BTreeSet::from([entity("s")])).is_err());
    }
}
