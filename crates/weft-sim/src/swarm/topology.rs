//! The network that a swarm lives in.

use crate::network::DatagramFaults;
use crate::pipe::Medium;
use crate::rng::Rng;
use crate::sim::{NodeRef, Sim};
use crate::starting::NodeBuilder;
use crate::swarm::{Profile, rules};

/// Builds one of several shapes with up to `count` nodes.
pub(super) fn build(sim: &mut Sim, rng: &mut Rng, profile: &Profile, count: usize) -> Vec<NodeRef> {
    sim.set_medium(Medium {
        latency_us: rng.between(50, profile.latency_us_max),
        jitter_us: rng.between(0, profile.latency_us_max),
        bytes_per_s: *rng.pick(&[1_000_000, 100_000_000]),
        capacity: *rng.pick(&[8 << 10, 64 << 10, 256 << 10]),
    });
    let mut builder = Builder { sim, rng, profile, nodes: Vec::new(), routed: false };
    if profile.scouting {
        builder.sim.set_datagram_faults(DatagramFaults { loss: 20, duplicate: 10, delay: 20 });
        builder.scouting_peers(count);
    } else {
        match builder.rng.below(10) {
            0 => builder.star(count),
            1 => builder.failover(count),
            2 => builder.clique(count),
            3 => builder.mutual(count),
            4 => builder.gossip(count),
            5 => builder.two_upstreams(count),
            6 => builder.routers(count),
            7 | 8 => builder.graph(count),
            _ => builder.mixed(count),
        }
    }
    builder.nodes
}

struct Builder<'a> {
    sim: &'a mut Sim,
    rng: &'a mut Rng,
    profile: &'a Profile,
    nodes: Vec<NodeRef>,
    /// Samples may pass several routers.
    routed: bool,
}

#[derive(Clone, Copy)]
enum Mode {
    Router,
    Peer,
    Client,
}

impl Builder<'_> {
    fn name(&self) -> String {
        format!("n{}", self.nodes.len())
    }

    /// Adds a node that connects to each of these groups.
    fn add(&mut self, mode: Mode, connect: &[&[NodeRef]]) -> NodeRef {
        let names: Vec<Vec<String>> = connect
            .iter()
            .map(|group| group.iter().map(|node| self.sim.name(*node).to_string()).collect())
            .collect();
        self.add_named(mode, &names)
    }

    fn add_named(&mut self, mode: Mode, connect: &[Vec<String>]) -> NodeRef {
        let profile = self.profile;
        let name = self.name();
        let tiny = Tiny::new(self.rng);
        let lease_ms = self.rng.between(1_000, 10_000);
        let skew_ms = self.rng.between(0, 2 * profile.skew_ms_max) as i64;
        let skew_ms = skew_ms - profile.skew_ms_max as i64;
        let drop_future = self.rng.chance(30);
        let compression = self.rng.chance(70);
        let mesh = self.rng.chance(profile.mesh_percent);
        let rules = profile.rules.then(|| rules::any(self.rng));
        let builder = match mode {
            Mode::Router => self.sim.router(&name),
            Mode::Peer => self.sim.peer(&name),
            Mode::Client => self.sim.client(&name),
        };
        let mut builder = builder.lease_ms(lease_ms).skew_ms(skew_ms);
        // Of two routers one may refuse what the other has stamped.
        if drop_future && profile.skew_ms_max > 0 && !self.routed {
            builder = builder.drop_future();
        }
        if !mesh {
            builder = builder.no_mesh();
        }
        if compression {
            builder = builder.compression();
        }
        if profile.tiny {
            builder = tiny.apply(builder);
        }
        if profile.scouting {
            builder = builder.scouting();
        }
        if let Some(rules) = rules {
            builder = builder.rules(rules);
        }
        for group in connect {
            builder = builder.connect_names(group);
        }
        let node = builder.start();
        self.nodes.push(node);
        let pause_us = self.rng.below(200_000);
        self.sim.run_for(pause_us);
        node
    }

    /// A router and its clients.
    fn star(&mut self, count: usize) {
        let router = self.add(Mode::Router, &[]);
        while self.nodes.len() < count {
            self.add(Mode::Client, &[&[router]]);
        }
    }

    /// Two routers that know nothing of each other; clients know both, some one by one.
    fn failover(&mut self, count: usize) {
        let routers = [self.add(Mode::Router, &[]), self.add(Mode::Router, &[])];
        while self.nodes.len() < count.max(3) {
            if self.rng.chance(50) {
                self.add(Mode::Client, &[&routers]);
            } else {
                self.add(Mode::Client, &[&routers[..1], &routers[1..]]);
            }
        }
    }

    /// Peers that all know each other, with clients.
    fn clique(&mut self, count: usize) {
        let peers = (count / 2).max(2);
        for _ in 0..peers {
            let known = self.nodes.clone();
            let groups: Vec<&[NodeRef]> = known.chunks(1).collect();
            self.add(Mode::Peer, &groups);
        }
        self.clients(count);
    }

    /// Peers that all are told to connect to each other, both ways.
    fn mutual(&mut self, count: usize) {
        let peers = (count / 2).max(2);
        for i in 0..peers {
            let others: Vec<Vec<String>> =
                (0..peers).filter(|j| *j != i).map(|j| vec![format!("n{j}")]).collect();
            self.add_named(Mode::Peer, &others);
        }
        self.clients(count);
    }

    /// Peers that know one of them and find the rest.
    fn gossip(&mut self, count: usize) {
        let first = self.add(Mode::Peer, &[]);
        for _ in 1..(count / 2).max(2) {
            self.add(Mode::Peer, &[&[first]]);
        }
        self.clients(count);
    }

    /// A router with peers and clients, and clients on the peers.
    fn mixed(&mut self, count: usize) {
        let router = self.add(Mode::Router, &[]);
        for _ in 0..(count / 3).max(1) {
            self.add(Mode::Peer, &[&[router]]);
        }
        self.clients(count);
    }

    /// Two routers that know nothing of each other, peers on both of them, and clients of all.
    fn two_upstreams(&mut self, count: usize) {
        self.routed = true;
        let routers = [self.add(Mode::Router, &[]), self.add(Mode::Router, &[])];
        for _ in 0..(count / 3).max(1) {
            self.add(Mode::Peer, &[&routers[..1], &routers[1..]]);
        }
        self.clients(count);
    }

    /// Routers in a line, a ring or a full mesh, with clients.
    fn routers(&mut self, count: usize) {
        self.routed = true;
        let routers = (count / 2).max(2);
        let shape = self.rng.below(3);
        for i in 0..routers {
            let mut known: Vec<NodeRef> = self.nodes.clone();
            match shape {
                0 => known = known.split_off(i.saturating_sub(1)),
                1 if i + 1 < routers => known = known.split_off(i.saturating_sub(1)),
                1 => known = vec![known[0], known[i - 1]],
                _ => {}
            }
            let groups: Vec<&[NodeRef]> = known.chunks(1).collect();
            self.add(Mode::Router, &groups);
        }
        self.clients(count);
    }

    /// Routers and peers, linked at random, with clients.
    fn graph(&mut self, count: usize) {
        self.routed = true;
        self.add(Mode::Router, &[]);
        while self.nodes.len() < (count * 2 / 3).max(2) {
            let mode = if self.rng.chance(50) { Mode::Router } else { Mode::Peer };
            let mut known = self.nodes.clone();
            let links = 1 + self.rng.below(2) as usize;
            while known.len() > links {
                let surplus = self.rng.below(known.len() as u64) as usize;
                known.remove(surplus);
            }
            let groups: Vec<&[NodeRef]> = known.chunks(1).collect();
            self.add(mode, &groups);
        }
        self.clients(count);
    }

    /// Peers that scout, a router, and clients of either.
    fn scouting_peers(&mut self, count: usize) {
        if self.rng.chance(50) {
            self.add(Mode::Router, &[]);
        }
        for _ in 0..(count / 2).max(2) {
            self.add(Mode::Peer, &[]);
        }
        self.clients(count);
    }

    /// Clients of whoever is there.
    fn clients(&mut self, count: usize) {
        let servers = self.nodes.clone();
        while self.nodes.len() < count {
            let server = *self.rng.pick(&servers);
            self.add(Mode::Client, &[&[server]]);
        }
    }
}

/// A node that does everything in small pieces.
struct Tiny {
    batch_size: u16,
    resolution: weft_wire::Bits,
}

impl Tiny {
    fn new(rng: &mut Rng) -> Self {
        Self {
            batch_size: rng.between(64, 600) as u16,
            resolution: *rng.pick(&[
                weft_wire::Bits::U8,
                weft_wire::Bits::U16,
                weft_wire::Bits::U32,
            ]),
        }
    }

    fn apply(self, builder: NodeBuilder<'_>) -> NodeBuilder<'_> {
        builder.batch_size(self.batch_size).queue_batches(1).configure(|config| {
            config.handshake.resolution.fsn = self.resolution;
        })
    }
}
