//! Looking at nodes from outside, and comparing all of them with the model.

use std::collections::{BTreeMap, BTreeSet};

use weft_node::{Footprint, Kind, NodeFootprint, Owner, Region, Routing};
use weft_wire::WhatAmI;

use crate::check::convergence::{Entity, Model, ModelNode, Wish};
use crate::check::memory;
use crate::entities::PLAIN;
use crate::fact::PutId;
use crate::host::{Opening, host_named};
use crate::network::HostId;
use crate::session::Answer;
use crate::sim::{NodeRef, Sim};

impl Sim {
    /// The node's name.
    #[must_use]
    pub fn name(&self, node: NodeRef) -> &str {
        &self.hosts[node.0].name
    }

    /// Whether the node runs.
    #[must_use]
    pub fn is_running(&self, node: NodeRef) -> bool {
        self.hosts[node.0].running.is_some()
    }

    /// How opening went.
    #[must_use]
    pub fn opening(&self, node: NodeRef) -> Opening {
        let running = self.hosts[node.0].running.as_ref();
        running.map_or(Opening::Pending, |running| running.opening.clone())
    }

    /// The nodes that a node has a transport to.
    #[must_use]
    pub fn neighbours(&self, node: NodeRef) -> BTreeSet<NodeRef> {
        let Some(running) = self.hosts[node.0].running.as_ref() else { return BTreeSet::new() };
        let zids: Vec<_> = running.node.neighbours().map(|it| it.zid).collect();
        let hosts = (0..self.hosts.len()).filter(|host| zids.contains(&self.hosts[*host].zid()));
        hosts.map(NodeRef).collect()
    }

    /// Whether both nodes have a transport to each other.
    #[must_use]
    pub fn are_connected(&self, a: NodeRef, b: NodeRef) -> bool {
        self.neighbours(a).contains(&b) && self.neighbours(b).contains(&a)
    }

    /// Links of a transport between two nodes, as the first sees it.
    #[must_use]
    pub fn link_count(&self, from: NodeRef, to: NodeRef) -> usize {
        let zid = self.hosts[to.0].zid();
        let running = self.hosts[from.0].running.as_ref();
        let neighbour = running.and_then(|it| it.node.neighbours().find(|it| it.zid == zid));
        neighbour.map_or(0, |neighbour| neighbour.links.len())
    }

    /// How much a node remembers.
    ///
    /// # Panics
    /// If it is down.
    #[must_use]
    pub fn footprint(&self, node: NodeRef) -> NodeFootprint {
        let running = self.hosts[node.0].running.as_ref().expect("the node runs");
        running.node.footprint()
    }

    /// How much the routing tables of a node hold.
    ///
    /// # Panics
    /// If it is down.
    #[must_use]
    pub fn tables(&self, node: NodeRef) -> Footprint {
        let running = self.hosts[node.0].running.as_ref().expect("the node runs");
        running.node.routing().footprint()
    }

    /// What a node has warned of.
    #[must_use]
    pub fn warnings(&self, node: NodeRef) -> &[String] {
        self.hosts[node.0].running.as_ref().map_or(&[], |running| &running.warnings)
    }

    /// Samples that a node dropped for lack of room.
    #[must_use]
    pub fn dropped(&self, node: NodeRef) -> u64 {
        let running = self.hosts[node.0].running.as_ref();
        let transports = running.map(|running| running.driver.transports.values());
        transports.map_or(0, |all| all.map(|transport| transport.outbound.dropped).sum())
    }

    /// Bytes that a node has queued for its neighbours, and how many it may queue.
    #[must_use]
    pub fn queued(&self, node: NodeRef) -> (usize, usize) {
        let running = self.hosts[node.0].running.as_ref();
        let transports = running.map(|running| running.driver.transports.values());
        let fills = transports.into_iter().flatten().map(|transport| transport.outbound.fill());
        fills.fold((0, 0), |(bytes, limit), fill| (bytes + fill.0, limit + fill.1))
    }

    /// Whether a blocking publication of a node waits for room.
    #[must_use]
    pub fn is_held_up(&self, node: NodeRef) -> bool {
        let running = self.hosts[node.0].running.as_ref();
        let transports = running.map(|running| running.driver.transports.values());
        transports.into_iter().flatten().any(|transport| transport.outbound.is_waiting())
    }

    /// Bytes that a node has received so far from all who are connected to it.
    #[must_use]
    pub fn received_by(&self, node: NodeRef) -> u64 {
        self.hosts[node.0].received
    }

    /// Everything that exists, for the model.
    pub(crate) fn model(&self) -> Model {
        let mut model = Model::default();
        for (number, host) in self.hosts.iter().enumerate() {
            let Some(running) = &host.running else { continue };
            let session = &running.session;
            let entity = |kind, key: &weft_keyexpr::KeyExpr| Entity { kind, key: key.clone() };
            let subscribers = session.subscribers.values().filter(|it| it.origin.allows_remote());
            let queryables = session.queryables.values().filter(|it| it.origin.allows_remote());
            let tokens = session.tokens.values().map(|key| entity(Kind::Token, key));
            let entities = subscribers
                .map(|it| entity(Kind::Subscriber, &it.key))
                .chain(queryables.map(|it| entity(Kind::Queryable, &it.key)))
                .chain(tokens)
                .collect();
            let senders =
                session.senders.values().filter(|it| it.sending.destination.allows_remote());
            let senders = senders.map(|it| Wish {
                kind: if it.asks.is_some() { Kind::Queryable } else { Kind::Subscriber },
                key: it.key.clone(),
                history: true,
            });
            let watchers = session.token_subscribers.values().map(|it| Wish {
                kind: Kind::Token,
                key: it.key.clone(),
                history: it.history,
            });
            let wishes = senders.chain(watchers).collect();
            let config = &host.blueprint.config;
            let node = ModelNode {
                zid: config.zid,
                mode: config.whatami,
                mesh: config.handshake.mesh,
                gossips: config.gossip.enabled,
                entities,
                wishes,
            };
            model.nodes.insert(number, node);
        }
        for host in model.nodes.keys() {
            for other in self.neighbours(NodeRef(*host)) {
                model.links.insert((*host, other.0));
            }
        }
        model
    }

    /// Compares what every node was told with what it should have been told, and what every
    /// liveliness subscriber believes with what it should. To be called when all is quiet. Says
    /// nothing about a network with gateways by configuration, of which the model knows nothing.
    ///
    /// # Panics
    /// If they differ.
    pub fn verify(&mut self) {
        if self.hosts.iter().any(|host| host.blueprint.config.gateway.is_some()) {
            return;
        }
        let model = self.model();
        let one_sided: Vec<_> =
            model.links.iter().filter(|(a, b)| !model.links.contains(&(*b, *a))).collect();
        if !one_sided.is_empty() {
            self.fail(&format!("connected on one side only: {one_sided:?}"));
        }
        for &(node, from) in &model.links {
            if !model.networked(node, from) && !model.is_closed(node, from) {
                let verdict = model.compare(node, from, &self.told(node, from));
                self.must(verdict);
            }
        }
        for node in model.nodes.keys() {
            let leaves = model.leaves(*node);
            let leaves = leaves.iter().filter(|(_, host)| *host != node).map(|(leaf, _)| *leaf);
            for member in model.members(*node).into_iter().chain(leaves) {
                let verdict = model.compare_member(*node, member, &self.sourced(*node, member));
                self.must(verdict);
            }
        }
        for host in model.nodes.keys() {
            self.verify_tokens(&model, *host);
        }
    }

    /// What a node was told by one of its neighbours.
    fn told(&self, node: HostId, from: HostId) -> BTreeSet<Entity> {
        let Some(running) = self.hosts[node].running.as_ref() else { return BTreeSet::new() };
        let routing = running.node.routing();
        let zid = self.hosts[from].zid();
        let faces = running.node.neighbours().filter(|it| it.zid == zid).map(|it| it.face);
        let faces: BTreeSet<_> = faces.map(Owner::Face).collect();
        declared_by(routing, |owner| faces.contains(&owner))
    }

    /// What a node believes another member of its network to own.
    fn sourced(&self, node: HostId, member: HostId) -> BTreeSet<Entity> {
        let Some(running) = self.hosts[node].running.as_ref() else { return BTreeSet::new() };
        let routing = running.node.routing();
        let (zid, region) = (self.hosts[member].zid(), Region::North);
        let number = routing.network(region).iter().find(|it| it.zid == zid).map(|it| it.number);
        let Some(number) = number else { return BTreeSet::new() };
        declared_by(routing, |owner| owner == Owner::Node(region, number))
    }
    fn verify_tokens(&self, model: &Model, host: HostId) {
        let Some(running) = self.hosts[host].running.as_ref() else { return };
        let reached = model.reached(host).into_iter().chain([host]);
        let existing: BTreeSet<String> = reached
            .flat_map(|owner| &model.nodes[&owner].entities)
            .filter(|entity| entity.kind == Kind::Token)
            .map(|entity| entity.key.to_string())
            .collect();
        for watcher in running.session.token_subscribers.values() {
            let matches = |key: &&String| watcher.key.intersects(&Self::key(key));
            let expected: BTreeSet<String> = existing.iter().filter(matches).cloned().collect();
            let mut alive: BTreeMap<&str, bool> = BTreeMap::new();
            for change in &self.logs.tokens[watcher.handle] {
                alive.insert(&change.key, change.alive);
            }
            let alive: BTreeSet<String> =
                alive.iter().filter(|(_, alive)| **alive).map(|(key, _)| (*key).into()).collect();
            let right =
                if watcher.history { alive == expected } else { alive.is_subset(&expected) };
            if !right {
                self.fail(&format!("{host} watches {}: {alive:?} of {expected:?}", watcher.key));
            }
        }
    }

    /// The answers that a query on `key` must get from the queryables that the model says it reaches,
    /// as [`Sim::answers`] words them.
    pub(crate) fn expected_answers(&self, node: NodeRef, key: &str) -> BTreeSet<String> {
        let (model, key) = (self.model(), Self::key(key));
        let mut expected = BTreeSet::new();
        for host in model.reached(node.0).into_iter().chain([node.0]) {
            let Some(running) = self.hosts[host].running.as_ref() else { continue };
            for queryable in running.session.queryables.values() {
                if let Answer::Reply { payload, .. } = &queryable.answer
                    && queryable.key.intersects(&key)
                {
                    let payload = String::from_utf8_lossy(payload);
                    expected.insert(format!("{}={payload}", queryable.key));
                }
            }
        }
        expected
    }

    /// The tokens on `key` that the model says to be alive for a node.
    pub(crate) fn expected_tokens(&self, node: NodeRef, key: &str) -> BTreeSet<String> {
        let (model, key) = (self.model(), Self::key(key));
        let owners = model.reached(node.0).into_iter().chain([node.0]);
        owners
            .flat_map(|owner| &model.nodes[&owner].entities)
            .filter(|entity| entity.kind == Kind::Token && entity.key.intersects(&key))
            .map(|entity| format!("{}=", entity.key))
            .collect()
    }

    /// The groups of nodes that a node is configured to be connected to one of.
    pub(crate) fn configured(&self, node: NodeRef) -> Vec<Vec<NodeRef>> {
        let targets = &self.hosts[node.0].blueprint.config.dial;
        let hosts = |target: &weft_node::DialTarget| {
            let addresses = target.endpoints.iter().map(|it| it.locator().address());
            addresses.filter_map(|address| host_named(&self.hosts, address)).map(NodeRef).collect()
        };
        targets.iter().map(hosts).collect()
    }

    pub(crate) fn is_client(&self, node: NodeRef) -> bool {
        self.hosts[node.0].blueprint.config.whatami == WhatAmI::Client
    }

    pub(crate) fn is_scouting_peer(&self, node: NodeRef) -> bool {
        let blueprint = &self.hosts[node.0].blueprint;
        blueprint.config.scouting.enabled && blueprint.config.whatami == WhatAmI::Peer
    }

    /// Publishes, and expects the sample at every subscriber that the model says it reaches, by the
    /// next call of [`Sim::settle`].
    pub fn put_expected(&mut self, node: NodeRef, key: &str, payload: &[u8]) {
        let reached = self.model().reached(node.0);
        self.put_due(node, key, payload, reached.into_iter().chain([node.0]));
    }

    /// Publishes, and expects the sample at subscribers of the very session and nowhere else, because
    /// rules keep it from leaving or from coming in anywhere.
    pub fn put_kept(&mut self, node: NodeRef, key: &str, payload: &[u8]) {
        self.put_due(node, key, payload, [node.0]);
    }

    fn put_due(
        &mut self,
        node: NodeRef,
        key: &str,
        payload: &[u8],
        hosts: impl IntoIterator<Item = HostId>,
    ) {
        let key = Self::key(key);
        let mut due = BTreeSet::new();
        for host in hosts {
            let Some(running) = self.hosts[host].running.as_ref() else { continue };
            let wanted = running.session.subscribers.values().filter(|it| {
                let origin = it.origin;
                let reached =
                    if host == node.0 { origin.allows_local() } else { origin.allows_remote() };
                reached && it.key.intersects(&key)
            });
            due.extend(wanted.map(|it| it.handle));
        }
        let put = PutId(self.last_put().0 + 1);
        self.checks.deliveries.expect(put, due);
        self.send_sample(node.0, &key, Some(payload), PLAIN);
    }

    /// How many messages a running node refused by its rules, from and to all its neighbours and the last
    /// that left.
    #[must_use]
    pub fn refused(&self, node: NodeRef) -> u64 {
        let running = self.hosts[node.0].running.as_ref();
        let drops = running.into_iter().flat_map(|running| running.node.drops());
        let counts = drops.flat_map(|(_, drops)| drops.iter().map(|it| it.counts()));
        counts.map(|it| it.access_control + it.downsampling + it.low_pass).sum()
    }

    /// Withdraws everything that every session has declared, and sees to it that nothing is left of
    /// it anywhere; then closes all nodes.
    ///
    /// # Panics
    /// If something is left.
    pub fn finish(&mut self) {
        for host in 0..self.hosts.len() {
            self.speed_up(NodeRef(host));
        }
        self.heal_all();
        // Whoever is to find out that a neighbour is gone has done so after that.
        self.run_for(30_000_000);
        self.settle();
        self.verify();
        for host in 0..self.hosts.len() {
            self.withdraw_all(host);
        }
        self.settle();
        self.verify();
        for host in 0..self.hosts.len() {
            if let Some(running) = self.hosts[host].running.as_ref() {
                let node = &running.node;
                let routing = node.routing().footprint();
                let verdict = memory::nothing_declared(&node.footprint(), &routing);
                self.must(verdict);
            }
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].running.is_some() {
                self.close(NodeRef(host));
            }
        }
        self.run_for(1_000_000);
        if !self.network.connections.is_empty() {
            self.fail("a connection outlives its nodes");
        }
    }

    fn withdraw_all(&mut self, host: HostId) {
        if self.hosts[host].running.is_none() {
            return;
        }
        let session = std::mem::take(self.session(host));
        self.session(host).queries = session.queries;
        self.session(host).token_queries = session.token_queries;
        self.session(host).answering = session.answering;
        self.call(host, |node, driver| {
            let now_us = driver.now_us;
            for id in session.subscribers.into_keys() {
                node.undeclare_subscriber(now_us, id, driver);
            }
            for id in session.queryables.into_keys() {
                node.undeclare_queryable(now_us, id, driver);
            }
            for id in session.senders.into_keys() {
                node.undeclare_sender(now_us, id, driver);
            }
            for id in session.tokens.into_keys() {
                node.undeclare_token(now_us, id, driver);
            }
            for id in session.token_subscribers.into_keys() {
                node.undeclare_token_subscriber(now_us, id, driver);
            }
        });
    }
}

/// What the owners have declared of whom this is true.
fn declared_by(routing: &Routing, is_meant: impl Fn(Owner) -> bool) -> BTreeSet<Entity> {
    let mut found = BTreeSet::new();
    for kind in [Kind::Subscriber, Kind::Queryable, Kind::Token] {
        let declared = routing.declarations(kind);
        let of_those = declared.filter(|(_, owners)| owners.iter().any(|owner| is_meant(*owner)));
        found.extend(of_those.map(|(key, _)| Entity { kind, key: key.clone() }));
    }
    found
}
