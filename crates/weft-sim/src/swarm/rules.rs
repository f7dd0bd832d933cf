//! Rules of several kinds that all come to the same: everything passes but samples on one key.
//!
//! So the checkers of a swarm know what to expect, whatever rules a node has at the moment.

use std::sync::Arc;

use weft_intercept::{
    AccessControl, AccessRule, Downsampling, Flow, LowPass, MessageSet, Overwrite, Permission,
    QosFilter, QosOverwrite, Rate, RuleSet, Rules,
};
use weft_keyexpr::KeyExpr;

use crate::rng::Rng;

/// The key whose samples no neighbour may send or get. No wildcard of the applications matches it.
pub(super) const FORBIDDEN: &str = "@forbidden/1";
/// What subscribes to it.
pub(super) const FORBIDDEN_KEYS: &[&str] = &["@forbidden/1", "@forbidden/*", "@forbidden/**"];

/// Some of these rules.
pub(super) fn any(rng: &mut Rng) -> Arc<RuleSet> {
    let forbidden = [key("@forbidden/**")];
    let deny = AccessRule::new("no", Permission::Deny, MessageSet::PUSHES, forbidden.clone());
    let everything = ["**", "@v/**", "@forbidden/**"].map(key);
    let allow = AccessRule::new("all", Permission::Allow, MessageSet::ALL, everything);
    let none_at_all = Downsampling {
        id: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages: MessageSet::PUSHES,
        rules: vec![Rate { key_expr: key("@forbidden/**"), freq: 0.0 }],
    };
    let mut rules = Rules::default();
    match rng.below(4) {
        0 => rules.access = AccessControl::for_everybody(Permission::Allow, vec![deny]),
        1 => rules.access = AccessControl::for_everybody(Permission::Deny, vec![allow, deny]),
        // What one direction refuses need not be refused by the other one.
        2 => {
            let way = *rng.pick(&[Flow::Ingress, Flow::Egress]);
            let rest = if way == Flow::Ingress { Flow::Egress } else { Flow::Ingress };
            let deny = deny.one_way(way);
            rules.access = AccessControl::for_everybody(Permission::Deny, vec![allow, deny]);
            rules.downsampling.push(Downsampling { flows: Some(vec![rest]), ..none_at_all });
        }
        _ => rules.downsampling.push(none_at_all),
    }
    if rng.chance(50) {
        rules.qos.push(express());
    }
    if rng.chance(50) {
        rules.low_pass.push(large());
    }
    Arc::new(RuleSet::new(rules).expect("rules that fit together"))
}

/// Changes how samples are sent, but not what the checkers look at.
fn express() -> QosOverwrite {
    QosOverwrite {
        id: None,
        zids: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages: MessageSet::CHANGEABLE,
        key_exprs: None,
        qos: QosFilter::default(),
        payload_size: None,
        overwrite: Overwrite { express: Some(true), ..Overwrite::default() },
    }
}

/// More than anybody publishes.
fn large() -> LowPass {
    LowPass {
        id: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages: MessageSet::DATA,
        key_exprs: vec![key("**")],
        size_limit: 1 << 20,
    }
}

fn key(text: &str) -> KeyExpr {
    KeyExpr::new(text).expect("a key expression")
}
