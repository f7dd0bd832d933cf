//! Access control and traffic shaping on a router between clients: scenarios 32 to 34 of 03 §12.

use std::sync::Arc;

use weft_intercept::{
    AccessControl, AccessRule, Downsampling, Flow, LowPass, MessageKind, MessageSet, Permission,
    Rate, RuleSet, Rules,
};
use weft_keyexpr::KeyExpr;
use weft_node::Locality;
use weft_sim::{Answer, Get, NodeRef, Sim};

fn key(text: &str) -> KeyExpr {
    KeyExpr::new(text).unwrap()
}

fn set(rules: Rules) -> Arc<RuleSet> {
    Arc::new(RuleSet::new(rules).unwrap())
}

fn access(default: Permission, rules: Vec<AccessRule>) -> Arc<RuleSet> {
    set(Rules { access: AccessControl::for_everybody(default, rules), ..Rules::default() })
}

/// A router with rules, and two clients.
fn star(sim: &mut Sim, rules: Arc<RuleSet>) -> [NodeRef; 3] {
    let router = sim.router("r").rules(rules).start();
    let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
    sim.settle();
    [router, c1, c2]
}

/// Unlike the reference, which lets `*/1` through.
#[test]
fn what_is_denied_does_not_come_in_under_a_wildcard() {
    Sim::seeds(0..20).run(|sim| {
        let deny = AccessRule::new("no", Permission::Deny, MessageSet::PUSHES, [key("secret/**")]);
        let deny = deny.one_way(Flow::Ingress);
        let [router, c1, c2] = star(sim, access(Permission::Allow, vec![deny]));
        let sub = sim.subscribe(c2, "**");
        let own = sim.subscribe(router, "**");
        sim.settle();
        for text in ["secret/1", "*/1", "ok/1"] {
            sim.put(c1, text, text.as_bytes());
        }
        sim.settle();
        sim.put(router, "secret/1", b"of the router");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["ok/1", "of the router"]);
        assert_eq!(sim.payloads(own), ["ok/1", "of the router"]);
        assert_eq!(sim.refused(router), 2);
    });
}

#[test]
fn only_what_is_allowed_passes_and_a_refused_query_ends_at_once() {
    // The model of who is told of what knows nothing of rules.
    Sim::seeds(0..20).run_without_finish(|sim| {
        let messages = MessageSet::PUSHES.with(MessageKind::DeclareSubscriber);
        let allow = AccessRule::new("a", Permission::Allow, messages, [key("a/**")]);
        let [router, c1, c2] = star(sim, access(Permission::Deny, vec![allow]));
        let subs = ["a/x", "b/x"].map(|text| sim.subscribe_to(c2, text, Locality::Remote));
        let answer = Answer::Reply { payload: b"no".to_vec(), after_us: 0 };
        sim.queryable(router, "a/q", true, answer);
        sim.run_for(1_000_000);
        for text in ["a/x", "b/x"] {
            sim.put(c1, text, text.as_bytes());
        }
        let query = sim.get(c1, "a/q", Get::default());
        let tokens = sim.get_tokens(c1, "a/**", 10_000);
        sim.run_for(1_000_000);
        assert_eq!(subs.map(|sub| sim.payloads(sub).len()), [1, 0]);
        for query in [query, tokens] {
            assert_eq!(sim.answers(query), [""; 0]);
            assert!(sim.took_us(query).is_some_and(|took| took < 500_000));
        }
    });
}

#[test]
fn samples_are_thinned_out_and_large_ones_dropped() {
    Sim::seeds(0..20).run(|sim| {
        let messages = MessageSet::PUSHES;
        let downsampling = Downsampling {
            id: None,
            interfaces: None,
            link_protocols: None,
            flows: None,
            messages,
            rules: vec![Rate { key_expr: key("slow/**"), freq: 5.0 }],
        };
        let low_pass = LowPass {
            id: None,
            interfaces: None,
            link_protocols: None,
            flows: None,
            messages,
            key_exprs: vec![key("small/**")],
            // The simulator's own mark travels as an attachment of eight bytes.
            size_limit: 4 + 8,
        };
        let rules = Rules {
            downsampling: vec![downsampling],
            low_pass: vec![low_pass],
            ..Rules::default()
        };
        let [_, c1, c2] = star(sim, set(rules));
        let sub = sim.subscribe(c2, "**");
        sim.settle();
        for _ in 0..20 {
            sim.put(c1, "slow/1", b"");
            sim.run_for(50_000);
        }
        let count = sim.payloads(sub).len();
        assert!((4..=6).contains(&count), "{count} of 20 in a second");
        sim.put(c1, "small/1", b"12345");
        sim.put(c1, "small/1", b"1234");
        sim.settle();
        assert_eq!(sim.payloads(sub)[count..], ["1234"]);
    });
}

/// Samples of publishers that have their routes, and of neighbours whose routes are cached.
#[test]
fn other_rules_have_effect_at_once() {
    Sim::seeds(0..20).run(|sim| {
        let rules = |flow: Flow| {
            let no = AccessRule::new("no", Permission::Deny, MessageSet::PUSHES, [key("k/**")]);
            access(Permission::Allow, vec![no.one_way(flow)])
        };
        let [router, c1, c2] = star(sim, rules(Flow::Ingress));
        let sub = sim.subscribe(c2, "k/*");
        sim.settle();
        let publisher = sim.publisher(c1, "k/1");
        sim.settle();
        sim.publish(publisher, b"not in");
        sim.settle();
        sim.set_rules(router, None);
        sim.publish(publisher, b"first");
        sim.settle();
        sim.set_rules(router, Some(rules(Flow::Egress)));
        sim.publish(publisher, b"not out");
        sim.put(router, "k/1", b"not out either");
        sim.settle();
        sim.set_rules(router, None);
        sim.publish(publisher, b"second");
        sim.settle();
        assert_eq!(sim.payloads(sub), ["first", "second"]);
        assert_eq!(sim.refused(router), 3);
    });
}
