//! What a decision costs: made anew for a key, and asked of a gate that is kept.

use std::sync::Arc;

use divan::{Bencher, black_box};
use weft_intercept::{
    AccessControl, AccessRule, Chain, Flow, LowPass, MessageSet, Permission, RuleSet, Rules,
    TransportFacts,
};
use weft_keyexpr::KeyExpr;
use weft_wire::{Push, Reliability, WireExpr, ZenohId};

fn main() {
    divan::main();
}

fn chain(rule_count: usize) -> Chain {
    let rules = (0..rule_count).map(|index| {
        let even = index.is_multiple_of(2);
        let permission = if even { Permission::Allow } else { Permission::Deny };
        let keys = KeyExpr::new(format!("factory/{index}/**"));
        AccessRule::new(&index.to_string(), permission, MessageSet::DATA, keys)
    });
    let access = AccessControl::for_everybody(Permission::Deny, rules.collect());
    let low_pass = LowPass {
        id: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages: MessageSet::PUSHES,
        key_exprs: vec![KeyExpr::new("factory/**").unwrap()],
        size_limit: 1000,
    };
    let rules = Rules { access, low_pass: vec![low_pass], ..Rules::default() };
    let zid = ZenohId::from_le_bytes(&[1]).unwrap();
    let facts = TransportFacts { zid, links: Vec::new(), username: None, multicast: false };
    let set = RuleSet::new(rules).unwrap();
    Chain::new(&set, &facts, Flow::Ingress, Arc::default()).unwrap()
}

#[divan::bench(args = [2, 100, 10_000])]
fn make_a_gate(bencher: Bencher<'_, '_>, rule_count: usize) {
    let chain = chain(rule_count);
    let key = KeyExpr::new("factory/0/hall/temperature").unwrap();
    bencher.bench(|| chain.push_gate(black_box(key.as_ke())));
}

#[divan::bench]
fn ask_a_gate(bencher: Bencher<'_, '_>) {
    let chain = chain(2);
    let gate = chain.push_gate(KeyExpr::new("factory/0/x").unwrap().as_ke()).unwrap();
    let push = Push::put(WireExpr::full("factory/0/x"), b"payload");
    bencher.bench(|| gate.admit(black_box(&push), Reliability::Reliable, || 0));
}
