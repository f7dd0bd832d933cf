//! Making nodes, and what they are told when they are made.

use std::sync::Arc;

use weft_intercept::RuleSet;
use weft_node::{
    AutoConnect, DialTarget, GossipConfig, LatencyWeighted, NodeConfig, ScoutingConfig, Strategy,
};
use weft_transport::{CookieKey, TxConfig};
use weft_wire::{Endpoint, WhatAmI, ZenohId};

use crate::host::{Blueprint, Host};
use crate::network::HostId;
use crate::sim::{NodeRef, Sim};

/// A node that is about to be started. Unless told otherwise it listens (a client does not), knows
/// nobody, takes part in gossip and not in scouting, and has the reference's timeouts.
#[must_use]
pub struct NodeBuilder<'a> {
    sim: &'a mut Sim,
    name: String,
    blueprint: Blueprint,
}

impl Sim {
    /// A router, named for its place in the network.
    pub fn router(&mut self, name: &str) -> NodeBuilder<'_> {
        self.builder(name, WhatAmI::Router)
    }

    /// A peer.
    pub fn peer(&mut self, name: &str) -> NodeBuilder<'_> {
        self.builder(name, WhatAmI::Peer)
    }

    /// A client.
    pub fn client(&mut self, name: &str) -> NodeBuilder<'_> {
        self.builder(name, WhatAmI::Client)
    }

    fn builder(&mut self, name: &str, whatami: WhatAmI) -> NodeBuilder<'_> {
        let zid = self.new_zid();
        let cookie_key = CookieKey::new(self.rng.bytes());
        let config = NodeConfig::new(zid, whatami, cookie_key);
        let blueprint = Blueprint {
            config,
            tx: TxConfig::default(),
            listens: whatami != WhatAmI::Client,
            joined: false,
            stamps: whatami == WhatAmI::Router,
            drop_future: false,
            skew_us: 0,
        };
        NodeBuilder { sim: self, name: name.to_string(), blueprint }
    }

    /// An identity of three bytes: long enough to differ, short enough to read.
    pub(crate) fn new_zid(&mut self) -> ZenohId {
        loop {
            let bytes: [u8; 3] = self.rng.bytes();
            if let Ok(zid) = ZenohId::from_le_bytes(&bytes)
                && self.hosts.iter().all(|host| host.zid() != zid)
            {
                return zid;
            }
        }
    }

    /// Gives a running node other rules, or none, until it starts again.
    pub fn set_rules(&mut self, node: NodeRef, rules: Option<Arc<RuleSet>>) {
        self.call(node.0, |node, driver| node.set_rules(rules, driver));
    }

    pub(crate) fn start_host(&mut self, host: HostId) {
        let now_us = self.now_us;
        self.trace.line(now_us, || format!("{host} starts"));
        self.hosts[host].start(now_us);
        self.call(host, |node, driver| node.start(now_us, driver));
    }
}

impl NodeBuilder<'_> {
    /// Connects to one of these, whichever answers first, and stays connected. Several calls are
    /// several neighbours.
    pub fn connect(self, to: impl IntoIterator<Item = NodeRef>) -> Self {
        let names: Vec<String> =
            to.into_iter().map(|NodeRef(host)| self.sim.hosts[host].name.clone()).collect();
        self.connect_names(names)
    }

    /// As [`NodeBuilder::connect`], to nodes that need not exist yet.
    pub fn connect_names<T: AsRef<str>>(self, names: impl IntoIterator<Item = T>) -> Self {
        let endpoint = |name: T| -> Endpoint {
            let text = format!("tcp/{}:7447", name.as_ref());
            text.parse().expect("a host's name makes an endpoint")
        };
        let endpoints = names.into_iter().map(endpoint).collect();
        self.configure(|config| {
            config.dial.push(DialTarget::new(endpoints));
        })
    }

    /// Takes part in scouting by multicast.
    pub fn scouting(mut self) -> Self {
        self.blueprint.joined = true;
        self.configure(|config| config.scouting.enabled = true)
    }

    /// Takes no part in gossip.
    pub fn no_gossip(self) -> Self {
        self.configure(|config| {
            config.gossip = GossipConfig { enabled: false, ..config.gossip.clone() };
        })
    }

    /// Dials nobody that it only found.
    pub fn no_autoconnect(self) -> Self {
        self.configure(|config| {
            let nobody = AutoConnect {
                modes: weft_wire::WhatAmIMatcher::EMPTY,
                ..config.gossip_autoconnect
            };
            config.gossip_autoconnect = nobody;
            config.scouting = ScoutingConfig { autoconnect: nobody, ..config.scouting.clone() };
        })
    }

    /// Measures the round trips to other members of a network, and routes by them.
    pub fn by_latency(self) -> Self {
        self.configure(|config| config.computation = std::sync::Arc::new(LatencyWeighted))
    }

    /// Is no member of a network of peers and routers, like a node of another implementation.
    pub fn no_mesh(self) -> Self {
        self.configure(|config| {
            config.handshake.mesh = false;
            config.handshake.gateway = false;
        })
    }

    /// Of two peers that find each other, the one with the greater id dials.
    pub fn greater_zid(self) -> Self {
        self.configure(|config| {
            for policy in [&mut config.gossip_autoconnect, &mut config.scouting.autoconnect] {
                policy.to_peer = Strategy::GreaterZid;
            }
        })
    }

    /// Cannot be connected to.
    pub fn deaf(mut self) -> Self {
        self.blueprint.listens = false;
        self
    }

    /// Can be connected to, although it is a client.
    pub fn listening(mut self) -> Self {
        self.blueprint.listens = true;
        self
    }

    /// How far its wall clock is ahead, in milliseconds.
    pub fn skew_ms(mut self, skew_ms: i64) -> Self {
        self.blueprint.skew_us = skew_ms * 1000;
        self
    }

    /// Stamps samples that come without a timestamp, or does not.
    pub fn stamps(mut self, stamps: bool) -> Self {
        self.blueprint.stamps = stamps;
        self
    }

    /// Drops samples with a timestamp from the future, instead of stamping them anew.
    pub fn drop_future(mut self) -> Self {
        self.blueprint.drop_future = true;
        self
    }

    /// The silence after which neighbours give it up, in milliseconds.
    pub fn lease_ms(self, lease_ms: u64) -> Self {
        self.configure(|config| config.handshake.lease_ms = lease_ms)
    }

    /// Bytes of a batch at most.
    pub fn batch_size(self, batch_size: u16) -> Self {
        self.configure(|config| config.handshake.batch_size = batch_size)
    }

    /// Compresses batches, if its neighbour does, too.
    pub fn compression(self) -> Self {
        self.configure(|config| config.handshake.compression = true)
    }

    /// Queues of so many batches for each priority.
    pub fn queue_batches(mut self, batches: u8) -> Self {
        self.blueprint.tx.queue_batches = [batches; 8];
        self
    }

    /// Bytes of declarations that may wait for one neighbour.
    pub fn control_backlog(mut self, bytes: usize) -> Self {
        self.blueprint.tx.control_backlog_max = bytes;
        self
    }

    /// Access control and traffic shaping, from the beginning and after each restart.
    pub fn rules(self, rules: Arc<RuleSet>) -> Self {
        self.configure(|config| config.rules = Some(rules))
    }

    /// Any other part of the node's configuration.
    pub fn configure(mut self, change: impl FnOnce(&mut NodeConfig)) -> Self {
        change(&mut self.blueprint.config);
        self
    }

    /// Starts the node.
    ///
    /// # Panics
    /// If there is a node of that name.
    pub fn start(self) -> NodeRef {
        let Self { sim, name, mut blueprint } = self;
        assert!(sim.hosts.iter().all(|host| host.name != name), "two nodes are named {name}");
        if blueprint.listens {
            let text = format!("tcp/{name}:7447");
            blueprint.config.gossip.locators =
                vec![text.parse().expect("a host's name makes a locator")];
        }
        let host = sim.hosts.len();
        sim.hosts.push(Host {
            name,
            blueprint,
            life: 0,
            running: None,
            reads_per_s: None,
            received: 0,
        });
        sim.start_host(host);
        NodeRef(host)
    }
}
