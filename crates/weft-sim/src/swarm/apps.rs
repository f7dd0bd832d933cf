//! What the applications of a swarm do, and what they expect when all is quiet.

use std::collections::BTreeSet;

use weft_node::Locality;
use weft_wire::{CongestionControl, Priority, QueryTarget};

use crate::entities::{Publisher, Qbl, Querier, Sub, Token, TokenSub};
use crate::queries::{Get, Query};
use crate::rng::Rng;
use crate::session::Answer;
use crate::sim::{NodeRef, Sim};
use crate::swarm::{Profile, rules};

const KEYS: &[&str] =
    &["a/1", "a/2", "a/b/c", "a/*", "a/**", "**", "*/1", "b", "b/x$*", "b/xy", "@v/1", "a/b/**"];
/// Keys without wildcards, for what should have none.
const PLAIN_KEYS: &[&str] = &["a/1", "a/2", "a/b/c", "b", "b/xy", "@v/1"];

/// Everything that is declared at the moment.
#[derive(Default)]
pub(super) struct Apps {
    subs: Vec<Sub>,
    publishers: Vec<Publisher>,
    queriers: Vec<Querier>,
    queryables: Vec<Qbl>,
    tokens: Vec<Token>,
    watchers: Vec<TokenSub>,
    queries: Vec<Query>,
}

impl Apps {
    /// Forgets what went down with its node.
    pub(super) fn forget_dead(&mut self, sim: &Sim) {
        self.subs.retain(|it| sim.lives(it.host, it.life));
        self.publishers.retain(|it| sim.lives(it.host, it.life));
        self.queriers.retain(|it| sim.lives(it.host, it.life));
        self.queryables.retain(|it| sim.lives(it.host, it.life));
        self.tokens.retain(|it| sim.lives(it.host, it.life));
        self.watchers.retain(|it| sim.lives(it.host, it.life));
        self.queries.clear();
    }

    /// One application does one thing.
    pub(super) fn act(&mut self, sim: &mut Sim, rng: &mut Rng, profile: &Profile, node: NodeRef) {
        let key = *rng.pick(KEYS);
        let plain = *rng.pick(PLAIN_KEYS);
        if profile.rules && rng.chance(10) {
            if rng.chance(30) {
                let key = *rng.pick(rules::FORBIDDEN_KEYS);
                self.subs.push(sim.subscribe(node, key));
            } else {
                sim.put_kept(node, rules::FORBIDDEN, b"forbidden");
            }
        }
        match rng.below(100) {
            0..12 => {
                let origin = *rng.pick(&[Locality::Any, Locality::Any, Locality::Remote]);
                self.subs.push(sim.subscribe_to(node, key, origin));
            }
            12..18 => take(&mut self.subs, rng, |sub| sim.unsubscribe(sub)),
            18..25 => {
                let priority = *rng.pick(&Priority::ALL[1..]);
                let congestion = *rng.pick(&[CongestionControl::Drop, CongestionControl::Block]);
                self.publishers.push(sim.publisher_with(node, key, priority, congestion));
            }
            25..29 => take(&mut self.publishers, rng, |it| sim.unpublish(it)),
            29..55 => self.publish(sim, rng, profile, node, plain),
            55..61 => {
                let answer = match rng.below(10) {
                    0 => Answer::Mute,
                    1 => Answer::Error { payload: b"no".to_vec() },
                    2 => Answer::Nothing,
                    _ => Answer::Reply {
                        payload: format!("{}", rng.below(1_000_000)).into_bytes(),
                        after_us: rng.below(5_000),
                    },
                };
                let complete = rng.chance(40);
                self.queryables.push(sim.queryable(node, key, complete, answer));
            }
            61..65 => take(&mut self.queryables, rng, |it| sim.undeclare_queryable(it)),
            65..72 => self.ask(sim, rng, node, key),
            72..75 => {
                let target = *rng.pick(&[QueryTarget::All, QueryTarget::AllComplete]);
                self.queriers.push(sim.querier(node, key, target));
            }
            75..77 => take(&mut self.queriers, rng, |it| sim.undeclare_querier(it)),
            77..84 => self.tokens.push(sim.token(node, plain)),
            84..88 => take(&mut self.tokens, rng, |token| sim.undeclare_token(token)),
            88..93 => {
                let history = rng.chance(60);
                self.watchers.push(sim.watch_tokens(node, key, history));
            }
            93..95 => take(&mut self.watchers, rng, |it| sim.unwatch_tokens(it)),
            95..98 => {
                let timeout_ms = rng.between(1, 3_000);
                self.queries.push(sim.get_tokens(node, key, timeout_ms));
            }
            _ => take(&mut self.queries, rng, |query| sim.cancel(query)),
        }
    }

    fn publish(&self, sim: &mut Sim, rng: &mut Rng, profile: &Profile, node: NodeRef, key: &str) {
        let payload: Vec<u8> = vec![0xEE; rng.below(profile.payload_len_max) as usize];
        let living = self.publishers.iter().filter(|it| sim.lives(it.host, it.life));
        let living: Vec<Publisher> = living.copied().collect();
        for _ in 0..rng.between(1, 10) {
            if !living.is_empty() && rng.chance(60) {
                let publisher = *rng.pick(&living);
                // Who waits for room publishes nothing meanwhile.
                if !sim.is_held_up(NodeRef(publisher.host)) {
                    sim.publish(publisher, &payload);
                }
            } else if rng.chance(10) {
                sim.delete(node, key);
            } else {
                sim.put(node, key, &payload);
            }
        }
    }

    fn ask(&mut self, sim: &mut Sim, rng: &mut Rng, node: NodeRef, key: &str) {
        let target =
            *rng.pick(&[QueryTarget::BestMatching, QueryTarget::All, QueryTarget::AllComplete]);
        let get = Get { target, timeout_ms: rng.between(1, 3_000), ..Get::default() };
        self.queries.push(sim.get(node, key, get));
    }

    /// In calm weather, what is published arrives and what is asked is answered.
    pub(super) fn check(&mut self, sim: &mut Sim, rng: &mut Rng, nodes: &[NodeRef]) {
        for &node in nodes {
            for key in [*rng.pick(PLAIN_KEYS), *rng.pick(KEYS)] {
                sim.put_expected(node, key, b"expected");
            }
        }
        sim.settle();
        let node = *rng.pick(nodes);
        let key = *rng.pick(KEYS);
        let expected = sim.expected_answers(node, key);
        let get = Get { target: QueryTarget::All, timeout_ms: 1_500, ..Get::default() };
        let query = sim.get(node, key, get);
        sim.run_for(1_600_000);
        sim.settle();
        let answers: BTreeSet<String> = sim.answers(query).into_iter().collect();
        let missing: Vec<_> = expected.difference(&answers).collect();
        if !missing.is_empty() {
            sim.fail(&format!("{node:?} asked {key} and got {answers:?}, not {missing:?}"));
        }
        let tokens = sim.expected_tokens(node, key);
        let query = sim.get_tokens(node, key, 5_000);
        sim.settle();
        let answers: BTreeSet<String> = sim.answers(query).into_iter().collect();
        if answers != tokens {
            sim.fail(&format!("{node:?} sees {answers:?} alive on {key}, not {tokens:?}"));
        }
        for publisher in &self.publishers {
            let _ = sim.is_matching(*publisher);
        }
    }
}

fn take<T>(items: &mut Vec<T>, rng: &mut Rng, then: impl FnOnce(T)) {
    if !items.is_empty() {
        let index = rng.below(items.len() as u64) as usize;
        then(items.swap_remove(index));
    }
}
