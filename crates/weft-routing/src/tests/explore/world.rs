//! Engines, and the queues between them.

use super::*;
use crate::{Region, Side};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::fmt::Write as _;
use core::hash::Hasher as _;
use std::collections::hash_map::DefaultHasher;

/// What there is: nodes, and links that may be up.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<NodePlan>,
    pub(super) links: Vec<LinkPlan>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NodePlan {
    pub(super) zid: ZenohId,
    pub(super) mode: WhatAmI,
    /// Its regions are configured.
    pub(super) gateway: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LinkPlan {
    pub(super) ends: (usize, usize),
    /// The first end, a gateway, has the second one in its south.
    serves: bool,
}

impl Graph {
    pub(super) fn new(nodes: &[(&str, WhatAmI, bool)]) -> Self {
        let plan = |&(text, mode, gateway): &(&str, WhatAmI, bool)| NodePlan {
            zid: zid(text),
            mode,
            gateway,
        };
        Self { nodes: nodes.iter().map(plan).collect(), links: Vec::new() }
    }

    /// A link that the configurations say nothing about, or that is in the north of both.
    pub(super) fn links(mut self, a: usize, b: usize) -> Self {
        self.links.push(LinkPlan { ends: (a, b), serves: false });
        self
    }

    pub(super) fn serves(mut self, gateway: usize, served: usize) -> Self {
        self.links.push(LinkPlan { ends: (gateway, served), serves: true });
        self
    }

    /// Where `own` says by its configuration that `other` is.
    pub(super) fn side(&self, own: usize, other: usize) -> Option<Side> {
        let serves = self.links.iter().any(|link| link.serves && link.ends == (own, other));
        let side = if serves { Side::South(0) } else { Side::North };
        self.nodes[own].gateway.then_some(side)
    }

    fn init(&self, own: usize, other: usize) -> FaceInit {
        let (a, b) = (self.nodes[own], self.nodes[other]);
        FaceInit {
            mesh: a.mode == Router && b.mode == Router,
            gateway: a.gateway && b.gateway,
            own_side: self.side(own, other),
            remote_bound: self.side(other, own).map(Side::bound),
            ..FaceInit::new(b.zid, b.mode)
        }
    }
}

/// What happens besides messages. Nodes and links by number; each node has one key of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Up(usize),
    Down(usize),
    Sub(usize),
    Unsub(usize),
    Token(usize),
    Untoken(usize),
    /// It wants to know of tokens, including those that are there.
    Watch(usize),
    /// It has a publisher.
    Want(usize),
}

/// What is on the way from one node to another.
#[derive(Clone, Debug)]
enum Item {
    Up,
    Down,
    Message(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) routing: Routing,
    /// The faces of neighbours, by number.
    pub(super) faces: BTreeMap<usize, FaceId>,
    pub(super) subscribes: bool,
    pub(super) has_token: bool,
    /// The tokens that it was told of, if it wants to know.
    pub(super) alive: Option<BTreeSet<String>>,
}

/// Everything at one moment.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) graph: Graph,
    pub(super) nodes: Vec<Node>,
    /// The links that are up, as the script has it.
    pub(super) up: BTreeSet<usize>,
    queues: BTreeMap<(usize, usize), VecDeque<Item>>,
    now_us: u64,
}

pub(super) fn token_of(node: usize) -> String {
    format!("t/{node}")
}

impl World {
    pub(super) fn new(graph: &Graph) -> Self {
        let node = |plan: &NodePlan| {
            let mut config = RoutingConfig::new(plan.zid, plan.mode);
            config.gossip.enabled = true;
            config.gossip.target = WhatAmIMatcher::from(Router) | Peer;
            let routing = Routing::new(config);
            let (subscribes, has_token) = (false, false);
            Node { routing, faces: BTreeMap::new(), subscribes, has_token, alive: None }
        };
        let nodes = graph.nodes.iter().map(node).collect();
        let (up, queues) = (BTreeSet::new(), BTreeMap::new());
        Self { graph: graph.clone(), nodes, up, queues, now_us: 0 }
    }

    /// A number that two states share only if they are the same, by all that is likely.
    pub(super) fn digest(&self, at: usize) -> u64 {
        struct Text(DefaultHasher);
        impl core::fmt::Write for Text {
            fn write_str(&mut self, text: &str) -> core::fmt::Result {
                self.0.write(text.as_bytes());
                Ok(())
            }
        }
        let mut text = Text(DefaultHasher::new());
        write!(text, "{at} {:?} {:?}", self.nodes, self.queues).expect("a hash takes everything");
        text.0.finish()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.queues.values().all(VecDeque::is_empty)
    }

    /// The directions in which something is on its way.
    pub(super) fn pending(&self) -> Vec<(usize, usize)> {
        self.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(link, _)| *link).collect()
    }

    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Up(link) => {
                let (a, b) = self.graph.links[link].ends;
                self.up.insert(link);
                self.queues.entry((a, b)).or_default().push_back(Item::Up);
                self.face_up(a, b);
            }
            Step::Down(link) => {
                let (a, b) = self.graph.links[link].ends;
                self.up.remove(&link);
                self.queues.insert((b, a), VecDeque::new());
                self.queues.entry((a, b)).or_default().push_back(Item::Down);
                self.face_down(a, b);
            }
            Step::Sub(node) => {
                self.nodes[node].subscribes = true;
                self.call(node, |it, out| it.declare(Kind::Subscriber, 1, &key("k"), NONE, out));
            }
            Step::Unsub(node) => {
                self.nodes[node].subscribes = false;
                self.call(node, |it, out| it.undeclare(Kind::Subscriber, 1, out));
            }
            Step::Token(node) => {
                self.nodes[node].has_token = true;
                let token = key(&token_of(node));
                self.call(node, |it, out| it.declare(Kind::Token, 2, &token, NONE, out));
            }
            Step::Untoken(node) => {
                self.nodes[node].has_token = false;
                self.call(node, |it, out| it.undeclare(Kind::Token, 2, out));
            }
            Step::Watch(node) => {
                self.nodes[node].alive = Some(BTreeSet::new());
                self.wants(node, 3, Kind::Token, "t/*");
            }
            Step::Want(node) => self.wants(node, 4, Kind::Subscriber, "k"),
        }
    }

    fn wants(&mut self, node: usize, id: u32, kind: Kind, text: &str) {
        let (key, kinds, now_us) = (key(text), KindSet::only(kind), self.now_us);
        let mode = LocalInterestMode::CurrentFuture;
        let interest = LocalInterest { id, key: &key, kinds, mode };
        self.call(node, |it, out| it.declare_interest(now_us, interest, out));
    }

    fn face_up(&mut self, own: usize, other: usize) {
        let init = self.graph.init(own, other);
        let face = self.nodes[own].routing.next_face();
        self.nodes[own].faces.insert(other, face);
        let now_us = self.now_us;
        self.call(own, |it, out| it.face_up(now_us, face, init, out).expect("it is admitted"));
    }

    fn face_down(&mut self, own: usize, other: usize) {
        let Some(face) = self.nodes[own].faces.remove(&other) else { return };
        let now_us = self.now_us;
        self.call(own, |it, out| it.face_down(now_us, face, out));
    }

    /// The next message, or the news of the link, arrives.
    pub(super) fn deliver(&mut self, (from, to): (usize, usize)) {
        let item = self.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front);
        match item.expect("something is on the way") {
            Item::Up => self.face_up(to, from),
            Item::Down => self.face_down(to, from),
            Item::Message(bytes) => self.receive(from, to, &bytes),
        }
    }

    fn receive(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let Some(face) = self.nodes[to].faces.get(&from).copied() else { return };
        let now_us = self.now_us;
        let message = NetworkMessage::decode(&mut Reader::new(bytes)).expect("it was encoded");
        self.call(to, |it, out| match &message {
            NetworkMessage::Declare(declare) => {
                it.handle_declare(now_us, face, declare, out);
            }
            NetworkMessage::Interest(interest) => it.handle_interest(now_us, face, interest, out),
            NetworkMessage::Oam(oam) => {
                let weft_wire::OamBody::ZBuf(body) = oam.body else { panic!("{oam:?}") };
                it.handle_oam(now_us, face, (oam.id, body), out);
            }
            other => panic!("not for routing: {other:?}"),
        });
    }

    fn call(&mut self, node: usize, call: impl FnOnce(&mut Routing, &mut Recorder)) {
        let mut out = Recorder::default();
        call(&mut self.nodes[node].routing, &mut out);
        for (face, bytes) in out.sent {
            let faces = &self.nodes[node].faces;
            let Some((other, _)) = faces.iter().find(|(_, it)| **it == face) else { continue };
            let coming = self.queues.get(&(*other, node));
            let is_over = coming.is_some_and(|it| it.iter().any(|it| matches!(it, Item::Down)));
            if !is_over {
                let queue = self.queues.entry((node, *other)).or_default();
                queue.push_back(Item::Message(bytes));
            }
        }
        let seen = &mut self.nodes[node].alive;
        for event in out.events {
            match event {
                Event::Token { key, alive, .. } => {
                    let seen = seen.as_mut().expect("it wants to know");
                    let text = key.as_str();
                    let news = if alive { seen.insert(text.into()) } else { seen.remove(text) };
                    assert!(news, "{node} is told twice that {key} is there, or not: {alive}");
                }
                Event::Refuse { violation, .. } => panic!("{node} is refused: {violation:?}"),
                _ => {}
            }
        }
    }

    /// Delivers everything, and lets time pass until nothing is due.
    pub(super) fn settle(&mut self) {
        for _ in 0..1_000 {
            while let Some(link) = self.pending().first() {
                self.deliver(*link);
            }
            let next = self.nodes.iter().filter_map(|node| node.routing.next_timeout()).min();
            let Some((at, _)) = next else { return };
            self.now_us = self.now_us.max(at);
            for node in 0..self.nodes.len() {
                let now_us = self.now_us;
                self.call(node, |it, out| it.handle_timeout(now_us, out));
            }
        }
        panic!("it does not come to rest");
    }

    /// The region in which a node sees a neighbour.
    pub(super) fn region(&self, node: usize, other: usize) -> Region {
        let node = &self.nodes[node];
        node.routing.owner_region(crate::Owner::Face(node.faces[&other]))
    }
}
