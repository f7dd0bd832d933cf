//! What is done to a network, and what is measured of it.

use std::collections::BTreeSet;

use weft_keyexpr::KeyExpr;
use weft_routing::FaceId;

use super::shape::{links, reached};
use super::world::World;
use super::{Gauges, Measurement, Shape};
use crate::rng::Rng;

const SEED: u64 = 3;
/// Within which time everybody starts, or a partition heals, in microseconds.
const SPREAD_US: u64 = 100_000;
/// Samples that are followed after each phase.
const SAMPLES: usize = 50;
/// The number of a declaration that comes and goes.
const EXTRA: u32 = u32::MAX;

/// A network in the middle of its phases.
struct Run<'a> {
    shape: &'a Shape,
    generalised: bool,
    gauges: Gauges,
    progress: &'a mut dyn FnMut(&str),
    rng: Rng,
    world: World,
    links: BTreeSet<(usize, usize)>,
    clients: Vec<Vec<FaceId>>,
    /// Allocated bytes that are no engine's.
    elsewhere: u64,
    measured: Vec<Measurement>,
}

pub(super) fn run(
    shape: &Shape,
    generalised: bool,
    gauges: Gauges,
    progress: &mut dyn FnMut(&str),
) -> Vec<Measurement> {
    let mut run = Run {
        shape,
        generalised,
        gauges,
        progress,
        rng: Rng::new(SEED),
        world: World::new(SEED),
        links: BTreeSet::new(),
        clients: Vec::new(),
        elsewhere: (gauges.allocated)(),
        measured: Vec::new(),
    };
    run.populate();
    run.phase("start", Run::start);
    run.phase("a link fails", Run::fail_a_link);
    run.phase("a router joins", Run::join);
    run.phase("a declaration comes", Run::declare_one);
    run.phase("a declaration goes", Run::undeclare_one);
    let cut = run.halves();
    run.phase("half is cut off", |run| run.cut(&cut));
    run.phase("the halves meet again", |run| run.heal(&cut));
    run.measured
}

impl Run<'_> {
    /// Does something, waits until it has no more effects, and notes what it cost.
    fn phase(&mut self, phase: &'static str, act: impl FnOnce(&mut Self)) {
        (self.progress)(phase);
        let (since_us, before) = (self.world.now_us, self.world.counts);
        let began = (self.gauges.clock)();
        act(self);
        self.world.settle();
        let cpu = (self.gauges.clock)().saturating_sub(began);
        let allocated = (self.gauges.allocated)().saturating_sub(self.elsewhere);
        self.measured.push(Measurement {
            phase,
            bytes: self.world.counts.bytes - before.bytes,
            messages: self.world.counts.messages - before.messages,
            converged_us: self.world.heard_us.saturating_sub(since_us),
            cpu,
            memory: allocated / self.world.len() as u64,
        });
        if phase != "half is cut off" {
            self.verify(phase);
        }
    }

    /// Routers with clients that have declared everything; nobody is linked yet.
    fn populate(&mut self) {
        for _ in 0..self.shape.routers {
            self.add_router();
        }
        self.links = links(self.shape.routers, &mut self.rng);
    }

    fn add_router(&mut self) -> usize {
        let router = self.world.len();
        let general = KeyExpr::new(format!("fleet/r{router}/**")).expect("it is canonical");
        self.world.add_router(self.generalised.then_some(general));
        let clients: Vec<FaceId> =
            (0..self.shape.clients_per_router()).map(|_| self.world.add_client(router)).collect();
        for (number, client) in clients.iter().enumerate() {
            for id in 0..self.shape.keys_per_client() {
                let key = self.key(router, number, id);
                self.world.declare(router, *client, id as u32, &key);
            }
        }
        self.clients.push(clients);
        router
    }

    fn start(&mut self) {
        let links: Vec<_> = self.links.iter().copied().collect();
        self.connect(links);
    }

    /// Links come up one after the other, in any order.
    fn connect(&mut self, links: Vec<(usize, usize)>) {
        let now_us = self.world.now_us;
        let mut links: Vec<(u64, (usize, usize))> =
            links.into_iter().map(|link| (self.rng.below(SPREAD_US), link)).collect();
        links.sort_unstable();
        for (after_us, link) in links {
            self.world.run_until(now_us + after_us);
            self.world.now_us = now_us + after_us;
            self.world.connect(link);
        }
    }

    /// A link goes that is not the only way.
    fn fail_a_link(&mut self) {
        let routers = self.world.len();
        let spare = self.links.iter().copied().find(|link| {
            let mut others = self.links.clone();
            others.remove(link);
            reached(0, &others, routers).len() == routers
        });
        let link = spare.expect("the graph is no tree");
        self.links.remove(&link);
        self.world.disconnect(link);
    }

    fn join(&mut self) {
        let others = self.world.len();
        let router = self.add_router();
        let mut links = BTreeSet::new();
        while links.len() < 3.min(others) {
            links.insert((self.rng.below(others as u64) as usize, router));
        }
        self.links.extend(&links);
        self.connect(links.into_iter().collect());
    }

    fn declare_one(&mut self) {
        self.world.declare(0, self.clients[0][0], EXTRA, "fleet/r0/extra");
    }

    fn undeclare_one(&mut self) {
        self.world.undeclare(0, self.clients[0][0], EXTRA);
    }

    /// The links between the half that is near the first router and the rest.
    fn halves(&self) -> Vec<(usize, usize)> {
        let routers = self.world.len();
        let mut near = reached(0, &self.links, routers);
        near.truncate(routers / 2);
        let near: BTreeSet<usize> = near.into_iter().collect();
        let links = self.links.iter().copied();
        links.filter(|(a, b)| near.contains(a) != near.contains(b)).collect()
    }

    fn cut(&mut self, links: &[(usize, usize)]) {
        for link in links {
            self.world.disconnect(*link);
        }
    }

    fn heal(&mut self, links: &[(usize, usize)]) {
        self.connect(links.to_vec());
    }

    /// Everybody knows everything, and samples find their subscribers.
    fn verify(&mut self, phase: &str) {
        let extra = usize::from(phase == "a declaration comes");
        let each = if self.generalised { 1 } else { self.shape.keys_per_router() };
        let routers = self.world.len();
        for (router, known) in self.world.sourced().enumerate() {
            let extra = if router == 0 || self.generalised { 0 } else { extra };
            assert_eq!(known, each * (routers - 1) + extra, "router {router} after `{phase}`");
        }
        for _ in 0..SAMPLES {
            let mut below = |count: usize| self.rng.below(count as u64) as usize;
            let (from, router) = (below(routers), below(routers));
            let client = below(self.shape.clients_per_router());
            let id = below(self.shape.keys_per_client());
            let sample = KeyExpr::new(self.key(router, client, id)).expect("it was declared");
            let arrived = self.world.follow(from, &sample);
            assert_eq!(arrived, [(router, self.clients[router][client])], "{sample} from {from}");
        }
    }

    fn key(&self, router: usize, client: usize, id: usize) -> String {
        format!("fleet/r{router}/k{}", client * self.shape.keys_per_client() + id)
    }
}
