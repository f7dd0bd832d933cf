//! What must hold wherever nothing is under way, by the rules of 03 §1.5 and not by the engine's code.

use super::world::{World, token_of};
use super::*;
use crate::{Owner, Region, Side};
use alloc::collections::{BTreeMap, BTreeSet};

/// The sub-network in which a node has a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    North,
    /// With other routers, and both are members of their network.
    Cloud,
    Clients,
    Peers,
}

impl World {
    /// # Panics
    /// If somebody believes something wrong, or a sample goes where it should not.
    pub(super) fn check(&mut self) {
        let numbers = 0..self.nodes.len();
        for from in numbers.clone() {
            let reached = self.reached(from);
            for at in numbers.clone().filter(|at| *at != from) {
                let expected = usize::from(self.nodes[at].subscribes && reached.contains_key(&at));
                let got = self.copies(from, at);
                assert_eq!(got, expected, "samples of {from} at {at}: {}", self.describe());
            }
            self.check_known(from);
        }
        self.check_tokens();
        self.check_election();
    }

    fn place(&self, own: usize, other: usize) -> Place {
        let (mode, remote) = (self.graph.nodes[own].mode, self.graph.nodes[other].mode);
        match (self.graph.side(own, other), mode, remote) {
            (Some(Side::North), ..) => Place::North,
            (Some(Side::South(_)) | None, _, Client) => Place::Clients,
            (Some(Side::South(_)), ..) | (None, Router, Peer) => Place::Peers,
            (None, Router, Router) => Place::Cloud,
            (None, ..) => Place::North,
        }
    }

    fn linked(&self, a: usize, b: usize) -> bool {
        let mut up = self.up.iter().map(|link| self.graph.links[*link].ends);
        up.any(|ends| ends == (a, b) || ends == (b, a))
    }

    /// Whether `at` passes on to one neighbour what comes from another one.
    fn passes(&self, at: usize, from: usize, to: usize) -> bool {
        match (self.place(at, from), self.place(at, to)) {
            (Place::Peers, Place::Peers) => !self.linked(from, to),
            (Place::North, Place::North) => false,
            _ => from != to,
        }
    }

    /// The nodes that get what `from` sends, each with the neighbours that it may come from.
    fn reached(&self, from: usize) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut reached: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut open = Vec::from([(from, None)]);
        while let Some((at, via)) = open.pop() {
            let others = (0..self.nodes.len()).filter(|to| *to != from && self.linked(at, *to));
            for to in others {
                if via.is_none_or(|via| self.passes(at, via, to))
                    && reached.entry(to).or_default().insert(at)
                {
                    open.push((to, Some(at)));
                }
            }
        }
        reached
    }

    /// How often `at` gets a sample that `from` sends.
    fn copies(&mut self, from: usize, at: usize) -> usize {
        let sent = key("k");
        let mut copies = 0;
        let mut open = Vec::from([(from, FaceId::LOCAL, 0)]);
        for _ in 0..64 {
            let Some((node, face, node_id)) = open.pop() else { return copies };
            let route = self.nodes[node].routing.data_route(face, node_id, &sent);
            copies += usize::from(node == at && route.local);
            for hop in route.hops {
                let node = &self.nodes[node];
                let (next, _) = node.faces.iter().find(|(_, face)| **face == hop.face).unwrap();
                let own = self.nodes.iter().position(|it| core::ptr::eq(it, node)).unwrap();
                let next = *next;
                let back = self.nodes[next].faces[&own];
                let resolved = self.nodes[next].routing.resolve(back, hop.expr.as_wire());
                assert_eq!(resolved.as_ref(), Ok(&sent), "{next} does not know what {own} means");
                open.push((next, back, hop.node_id));
            }
        }
        panic!("a sample of {from} goes in circles: {}", self.describe());
    }

    /// Nobody believes a neighbour to have what nobody behind it has.
    fn check_known(&self, node: usize) {
        for (kind, text) in [(Kind::Subscriber, "k"), (Kind::Token, "t/")] {
            for (known, owners) in self.nodes[node].routing.declarations(kind) {
                for owner in owners {
                    let Owner::Face(face) = owner else { continue };
                    let faces = &self.nodes[node].faces;
                    let Some((via, _)) = faces.iter().find(|(_, it)| **it == face) else {
                        continue;
                    };
                    let has = |other: usize| match kind {
                        Kind::Token => {
                            self.nodes[other].has_token && known.as_str() == token_of(other)
                        }
                        _ => self.nodes[other].subscribes,
                    };
                    let behind = |other: usize| {
                        // A client is told of its own tokens (02 §4.3).
                        let own = other == node
                            && kind == Kind::Token
                            && self.place(*via, node) == Place::Clients;
                        own || self.reached(other).get(&node).is_some_and(|it| it.contains(via))
                    };
                    assert!(
                        (0..self.nodes.len()).any(|other| has(other) && behind(other)),
                        "{node} believes {via} to have {text} {known}: {}",
                        self.describe()
                    );
                }
            }
        }
    }

    fn check_tokens(&self) {
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(alive) = &node.alive else { continue };
            let tokens = (0..self.nodes.len()).filter(|other| {
                let comes = *other == at || self.reached(*other).contains_key(&at);
                self.nodes[*other].has_token && comes
            });
            let expected: BTreeSet<String> = tokens.map(token_of).collect();
            assert_eq!(*alive, expected, "tokens at {at}: {}", self.describe());
        }
    }

    /// Of the gateways of a peer that are linked with each other, the greatest one moves its traffic.
    fn check_election(&self) {
        for peer in 0..self.nodes.len() {
            let serves = |at: usize| {
                at != peer
                    && self.linked(at, peer)
                    && matches!(self.region(at, peer), Region::South(_, Peer))
            };
            let gateways: Vec<usize> = (0..self.nodes.len()).filter(|at| serves(*at)).collect();
            for at in &gateways {
                let node = &self.nodes[*at];
                let elected = node.routing.faces[&node.faces[&peer]].crossing.to_north();
                let zid = |at: usize| self.graph.nodes[at].zid;
                let mut others = gateways.iter().filter(|other| self.linked(*at, **other));
                let greatest = !others.any(|other| zid(*other) > zid(*at));
                assert_eq!(elected, greatest, "{at} for {peer}: {}", self.describe());
            }
        }
    }

    fn describe(&self) -> String {
        let crossing = |node: &world::Node| {
            let faces = node.faces.iter();
            let faces = faces.map(|(other, face)| {
                let face = &node.routing.faces[face];
                format!("{other}: {:?} {:?} linked {:?}", face.region, face.crossing, face.linked)
            });
            faces.collect::<Vec<_>>()
        };
        format!(
            "links {:?} up, {:#?}",
            self.up,
            self.nodes.iter().map(crossing).collect::<Vec<_>>()
        )
    }
}
