//! Who must have heard of what, by a model of the network that is as plain as the specification.
//!
//! Spec: 03 §1.2 to §1.5, §3.5, §4.4. Only one thing decides whether something gets from one node to
//! another: the regions in which the nodes on the way see each other. A node lets things pass from
//! one of its regions to another, and within the region of its clients. Nodes that form a network
//! are one cloud: what enters it anywhere is known everywhere in it, under the name of the member
//! where it entered.

use std::collections::{BTreeMap, BTreeSet};

use weft_keyexpr::KeyExpr;
use weft_routing::Kind;
use weft_wire::{WhatAmI, ZenohId};

use super::{Verdict, hold};

/// The sub-network in which a node sees a neighbour that is not a member of its network.
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
    pub(crate) zid: ZenohId,
    pub(crate) mode: WhatAmI,
    /// It is a member of a network with others that are.
    pub(crate) mesh: bool,
    /// It tells the gateways that serve it with whom it is linked.
    pub(crate) gossips: bool,
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

/// What of the traffic of a neighbour outside of its network a node lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossing {
    Open,
    /// In the network it has a name of its own.
    Hosted,
    /// Only between the neighbour and those whom the node serves: another gateway does the rest.
    Beside,
    Closed,
}

/// How something came to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Via {
    /// It begins there.
    Here,
    /// From a neighbour outside of the network.
    Link(usize),
    /// From this member of the network.
    Cloud(usize),
}

impl Model {
    fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> {
        self.links.range((node, 0)..=(node, usize::MAX)).map(|(_, other)| *other)
    }

    /// Whether two neighbours are members of one network.
    pub(crate) fn networked(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.nodes[&a], &self.nodes[&b]);
        let clients = a.mode == WhatAmI::Client || b.mode == WhatAmI::Client;
        let routers = a.mode == WhatAmI::Router && b.mode == WhatAmI::Router;
        routers || a.mesh && b.mesh && !clients
    }

    /// The neighbours that are no members of the node's network.
    fn outside(&self, node: usize) -> impl Iterator<Item = usize> {
        self.neighbours(node).filter(move |other| !self.networked(node, *other))
    }

    /// The other members of a node's network.
    pub(crate) fn members(&self, node: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(at) = open.pop() {
            for next in self.neighbours(at).filter(|next| self.networked(at, *next)) {
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
        found.remove(&node);
        found
    }

    fn seen(&self, by: usize, other: usize) -> Region {
        region(self.nodes[&by].mode, self.nodes[&other].mode)
    }

    /// How `node` treats a neighbour that is no member of its network (03 §4.4).
    fn crossing(&self, node: usize, other: usize) -> Crossing {
        let members = self.members(node);
        match self.seen(node, other) {
            _ if members.contains(&other) => Crossing::Closed,
            Region::Peers if self.nodes[&other].gossips => {
                let mut gateways = self
                    .outside(other)
                    .filter(|it| self.nodes[it].mode == WhatAmI::Router && members.contains(it));
                if gateways.any(|it| self.nodes[&it].zid > self.nodes[&node].zid) {
                    Crossing::Beside
                } else if members.is_empty() {
                    Crossing::Open
                } else {
                    Crossing::Hosted
                }
            }
            _ => Crossing::Open,
        }
    }

    /// Whether nothing passes between these two, because it has a better way.
    pub(crate) fn is_closed(&self, a: usize, b: usize) -> bool {
        self.crossing(a, b) == Crossing::Closed || self.crossing(b, a) == Crossing::Closed
    }

    /// The nodes that are no members of a node's network and are announced there, each with the member
    /// that does so.
    pub(crate) fn leaves(&self, node: usize) -> BTreeMap<usize, usize> {
        let members = self.members(node).into_iter().chain([node]);
        let hosted = members.flat_map(|host| {
            let outside = self.outside(host);
            let hosted = outside.filter(move |it| self.crossing(host, *it) == Crossing::Hosted);
            hosted.map(move |leaf| (leaf, host))
        });
        hosted.collect()
    }

    /// Whether `through` lets things pass from one neighbour to another, neither of which is a member
    /// of its network.
    fn passes(&self, from: usize, through: usize, to: usize) -> bool {
        let (a, b) = (self.seen(through, from), self.seen(through, to));
        let unlinked = self.nodes[&from].gossips
            && self.nodes[&to].gossips
            && !self.links.contains(&(from, to))
            && self.crossing(through, to) != Crossing::Beside;
        from != to && (a != b || a == Region::Clients || a == Region::Peers && unlinked)
    }

    /// Where something goes next that came to `at`.
    fn next(&self, via: Via, at: usize) -> Vec<(Via, usize)> {
        let outside = self.outside(at).filter(|next| !self.is_closed(at, *next));
        let mut next: Vec<(Via, usize)> = outside
            .filter(|next| match via {
                Via::Here => true,
                Via::Link(from) => self.passes(from, at, *next),
                Via::Cloud(source) => {
                    let hears = self.nodes[next].gossips && self.links.contains(&(*next, source));
                    let crossing = self.crossing(at, *next);
                    self.seen(at, *next) != Region::North
                        && crossing != Crossing::Beside
                        && !(self.seen(at, *next) == Region::Peers && hears)
                }
            })
            .map(|next| (Via::Link(at), next))
            .collect();
        let source = match via {
            Via::Cloud(_) => return next,
            // A peer in the north of a peer is no business of its network.
            Via::Link(from) if self.seen(at, from) == Region::North => return next,
            Via::Link(from) => match self.crossing(at, from) {
                Crossing::Hosted => from,
                Crossing::Open => at,
                Crossing::Beside | Crossing::Closed => return next,
            },
            Via::Here => at,
        };
        let members = self.members(at).into_iter();
        let members = members.filter(|it| {
            let mut outside = self.outside(*it);
            source == at || !outside.any(|other| other == source)
        });
        next.extend(members.map(|member| (Via::Cloud(source), member)));
        next
    }

    fn reach(&self, via: Via, start: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([start]);
        let mut seen = BTreeSet::from([(via, start)]);
        let mut open = vec![(via, start)];
        while let Some((via, at)) = open.pop() {
            for next in self.next(via, at) {
                if seen.insert(next) {
                    found.insert(next.1);
                    open.push(next);
                }
            }
        }
        found
    }

    /// The nodes whose declarations come to `node` by its neighbour `last`, and, read the other way,
    /// those that `node` reaches through it. Not for members of one network.
    pub(crate) fn behind(&self, node: usize, last: usize) -> BTreeSet<usize> {
        let mut found = self.reach(Via::Link(node), last);
        found.remove(&node);
        found
    }

    /// The nodes that a publication of `node` reaches, if they subscribe.
    pub(crate) fn reached(&self, node: usize) -> BTreeSet<usize> {
        let mut found = self.reach(Via::Here, node);
        found.remove(&node);
        found
    }

    /// The nodes whose declarations a member of a network owns there.
    fn owned(&self, member: usize) -> BTreeSet<usize> {
        let served = self.outside(member).filter(|it| {
            self.seen(member, *it) != Region::North && self.crossing(member, *it) == Crossing::Open
        });
        served.flat_map(|it| self.behind(member, it)).chain([member]).collect()
    }

    fn entities(&self, of: &BTreeSet<usize>) -> BTreeSet<Entity> {
        of.iter().flat_map(|owner| self.nodes[owner].entities.iter().cloned()).collect()
    }

    /// What `node` may hear of from its neighbour `from`.
    fn offered(&self, node: usize, from: usize) -> BTreeSet<Entity> {
        let mut offered = self.entities(&self.behind(node, from));
        if self.seen(from, node) == Region::Clients {
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

    /// Compares what `node` was told by its neighbour `from` with what it should have been told.
    pub(crate) fn compare(&self, node: usize, from: usize, told: &BTreeSet<Entity>) -> Verdict {
        let offered = self.offered(node, from);
        let stale: Vec<_> = told.difference(&offered).collect();
        hold!(stale.is_empty(), "{node} believes {from} to have {stale:?}");
        // Those in the north are told everything; those who are served, what they ask for.
        let unasked = self.seen(from, node) == Region::North;
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

    /// Compares what `node` believes another member of its network to own with what that one does.
    pub(crate) fn compare_member(
        &self,
        node: usize,
        member: usize,
        told: &BTreeSet<Entity>,
    ) -> Verdict {
        let owned = match self.leaves(node).get(&member) {
            Some(host) => self.entities(&self.behind(*host, member)),
            None => self.entities(&self.owned(member)),
        };
        let stale: Vec<_> = told.difference(&owned).collect();
        hold!(stale.is_empty(), "{node} believes member {member} to own {stale:?}");
        let missing: Vec<_> = owned.difference(told).collect();
        hold!(missing.is_empty(), "{node} does not know that member {member} owns {missing:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WhatAmI::{Client, Peer, Router};

    fn model(modes: &[WhatAmI], links: &[(usize, usize)]) -> Model {
        let node = |(number, mode): (usize, &WhatAmI)| {
            let node = ModelNode {
                zid: ZenohId::from_le_bytes(&[number as u8 + 1]).unwrap(),
                mode: *mode,
                mesh: false,
                gossips: true,
                entities: BTreeSet::new(),
                wishes: BTreeSet::new(),
            };
            (number, node)
        };
        Model {
            nodes: modes.iter().enumerate().map(node).collect(),
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
        assert_eq!(peers_on_router.reached(1), BTreeSet::from([0, 2, 3]), "brokered");
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
