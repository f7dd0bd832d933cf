//! What a decision costs: made anew for a key, and asked of a gate that is kept.

use std::sync::Arc;

use divan::{Bencher, black_box};
use weft_intercept::{
    AccessControl, AccessRule, Chain, Flow, LowPass, MessageSet, Permission, Policy, RuleSet,
    Rules, Subject, TransportFacts,
};
use weft_keyexpr::KeyExpr;
use weft_wire::{Push, Reliability, WireExpr, ZenohId};

fn main() {
    divan::main();
}

fn chain(rule_count: usize) -> Chain {
    let rule = |index: usize| AccessRule {
        id: index.to_string(),
        key_exprs: vec![KeyExpr::new(format!("factory/{index}/**")).unwrap()],
        messages: MessageSet::DATA,
        flows: None,
        permission: if index.is_multiple_of(2) { Permission::Allow } else { Permission::Deny },
    };
    let policy = Policy {
        id: None,
        rules: (0..rule_count).map(|index| index.to_string()).collect(),
        subjects: vec!["all".into()],
    };
    let access = AccessControl {
        enabled: true,
        default: Permission::Deny,
        rules: Some((0..rule_count).map(rule).collect()),
        subjects: Some(vec![Subject { id: "all".into(), ..Subject::default() }]),
        policies: Some(vec![policy]),
    };
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
