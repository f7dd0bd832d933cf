//! Rules that do nothing, or something that their author hardly meant.
//!
//! A lint is never wrong about having no effect, but does not find everything that has none.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use weft_keyexpr::KeyExpr;
use weft_wire::WhatAmI;

use crate::access::rules_of;
use crate::check::RuleSet;
use crate::explain::list;
use crate::rules::{AccessControl, AccessRule, Downsampling, LowPass, PriorityChange, Subject};
use crate::transport::flows;
use crate::words::{Flow, LinkProtocol, MessageKind, MessageSet, Permission};

/// A remark about one item of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The path of the item in the configuration.
    pub path: String,
    /// What is odd about it, and what to do.
    pub text: String,
}

/// What is known of the node that the rules are for.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts<'a> {
    /// Its mode.
    pub mode: WhatAmI,
    /// The protocols that its links may use.
    pub protocols: &'a [LinkProtocol],
    /// Whether neighbours have names that they proved, by certificate or password.
    pub names: bool,
}

/// Collects remarks.
struct Lints<'a> {
    node: NodeFacts<'a>,
    found: Vec<Lint>,
}

impl RuleSet {
    /// What is odd about the rules, for this node.
    pub fn lint(&self, node: NodeFacts<'_>) -> Vec<Lint> {
        let rules = self.rules();
        let mut lints = Lints { node, found: Vec::new() };
        for (index, item) in rules.downsampling.iter().enumerate() {
            let path = format!("downsampling/{index}");
            lints.protocols(&path, item.link_protocols.as_deref());
            lints.rates(&path, item);
        }
        lints.access(&rules.access);
        for (index, item) in rules.qos.iter().enumerate() {
            let path = format!("qos/network/{index}");
            lints.protocols(&path, item.link_protocols.as_deref());
            let change = item.overwrite;
            if change.priority == Some(PriorityChange::By(0))
                && change.congestion_control.is_none()
                && change.express.is_none()
            {
                lints.say(path, "it changes a priority by 0, which is no change".into());
            }
        }
        for (index, item) in rules.low_pass.iter().enumerate() {
            let path = format!("low_pass_filter/{index}");
            lints.protocols(&path, item.link_protocols.as_deref());
            let stricter = |(other, it): &(usize, &LowPass)| {
                *other != index && makes_useless(it, item, *other < index)
            };
            if let Some((other, _)) = rules.low_pass.iter().enumerate().find(stricter) {
                let text = format!(
                    "it never decides: `low_pass_filter/{other}` drops all that it would drop"
                );
                lints.say(path, text);
            }
        }
        lints.found
    }
}

/// Whether `strict` drops all that `loose` would drop. Of equals, the second one is useless.
fn makes_useless(strict: &LowPass, loose: &LowPass, is_before: bool) -> bool {
    let covers = strict.messages.contains_all(loose.messages)
        && both_flows(loose.flows.as_deref()).all(|flow| flows(strict.flows.as_deref(), flow))
        && (strict.interfaces.is_none() || strict.interfaces == loose.interfaces)
        && (strict.link_protocols.is_none() || strict.link_protocols == loose.link_protocols)
        && loose.key_exprs.iter().all(|key| is_covered(key, &strict.key_exprs));
    covers
        && (strict.size_limit < loose.size_limit
            || strict.size_limit == loose.size_limit && is_before)
}

fn both_flows(listed: Option<&[Flow]>) -> impl Iterator<Item = Flow> {
    Flow::ALL.iter().copied().filter(move |flow| flows(listed, *flow))
}

fn is_covered(key: &KeyExpr, by: &[KeyExpr]) -> bool {
    by.iter().any(|it| it.includes(key))
}

impl Lints<'_> {
    fn say(&mut self, path: String, text: String) {
        self.found.push(Lint { path, text });
    }

    fn protocols(&mut self, path: &str, listed: Option<&[LinkProtocol]>) {
        let Some(listed) = listed else { return };
        if !listed.iter().any(|it| self.node.protocols.contains(it)) {
            let text = format!("it never matches: this node has no links by {}", list(listed));
            self.say(path.to_string(), text);
        }
    }

    fn rates(&mut self, path: &str, item: &Downsampling) {
        for (index, rate) in item.rules.iter().enumerate() {
            let before = &item.rules[..index];
            if let Some(first) = before.iter().position(|it| it.key_expr.includes(&rate.key_expr)) {
                let text = format!(
                    "it never counts: `{}` of rule {first} takes all of `{}`, and the first rule counts",
                    before[first].key_expr, rate.key_expr
                );
                self.say(format!("{path}/rules/{index}"), text);
            }
        }
    }

    fn access(&mut self, access: &AccessControl) {
        let rules = access.rules.as_deref().unwrap_or_default();
        let subjects = access.subjects.as_deref().unwrap_or_default();
        if !access.enabled {
            if !rules.is_empty() {
                let text =
                    format!("access control is not enabled: {} rules have no effect", rules.len());
                self.say("access_control/enabled".into(), text);
            }
            return;
        }
        if access.policies.iter().all(Vec::is_empty) {
            let text = match access.default {
                Permission::Deny => "there is none, so that every message is denied",
                Permission::Allow => "there is none, so that every message is allowed",
            };
            self.say("access_control/policies".into(), text.into());
        }
        for (index, subject) in subjects.iter().enumerate() {
            self.subject(access, &format!("access_control/subjects/{index}"), subject);
        }
        for (index, rule) in rules.iter().enumerate() {
            self.rule(access, &format!("access_control/rules/{index}"), rule);
        }
    }

    fn subject(&mut self, access: &AccessControl, path: &str, subject: &Subject) {
        self.protocols(path, subject.link_protocols.as_deref());
        if (subject.usernames.is_some() || subject.cert_common_names.is_some()) && !self.node.names
        {
            let text = "it never matches: neighbours of this node prove no names yet".into();
            self.say(path.into(), text);
        }
        if access.policies.iter().flatten().any(|it| it.subjects.contains(&subject.id)) {
            return;
        }
        let text = match access.default {
            Permission::Allow => format!(
                "subject `{}` is in no policy: whoever it matches may do everything, whatever other \
                 subjects are denied; remove it",
                subject.id
            ),
            Permission::Deny => {
                format!("subject `{}` is in no policy and has no effect", subject.id)
            }
        };
        self.say(path.into(), text);
    }

    fn rule(&mut self, access: &AccessControl, path: &str, rule: &AccessRule) {
        let policies = access.policies.iter().flatten();
        if !policies.clone().any(|it| it.rules.contains(&rule.id)) {
            let text = format!("rule `{}` is in no policy and has no effect", rule.id);
            return self.say(path.into(), text);
        }
        let idle = idle_kinds(self.node.mode, rule);
        if idle.contains_all(rule.messages) {
            let names: Vec<&str> = rule.messages.iter().map(MessageKind::as_str).collect();
            let text = format!(
                "rule `{}` never matches: {} never go that way at a {}",
                rule.id,
                list(&names),
                self.node.mode
            );
            return self.say(path.into(), text);
        }
        if rule.permission == access.default && rule.permission == Permission::Allow {
            let text =
                format!("rule `{}` has no effect: what no rule denies is allowed anyway", rule.id);
            return self.say(path.into(), text);
        }
        let held: Vec<&Subject> = access
            .subjects
            .iter()
            .flatten()
            .filter(|subject| rules_of(access, subject).any(|it| it.id == rule.id))
            .collect();
        match rule.permission {
            Permission::Allow => self.shadowed(access, path, rule, &held),
            Permission::Deny => {
                let matters = |subject: &&Subject| {
                    rules_of(access, subject)
                        .any(|other| other.permission == Permission::Allow && meet(rule, other))
                };
                if access.default == Permission::Deny && !held.iter().any(matters) {
                    let text = format!(
                        "rule `{}` has no effect: nothing that it denies is allowed to its subjects",
                        rule.id
                    );
                    self.say(path.into(), text);
                }
            }
        }
    }

    /// Key expressions of an allow rule that deny rules take away from all its subjects.
    fn shadowed(
        &mut self,
        access: &AccessControl,
        path: &str,
        rule: &AccessRule,
        held: &[&Subject],
    ) {
        for key in &rule.key_exprs {
            let mut denying = None;
            let all = held.iter().all(|subject| {
                rule.messages.iter().all(|kind| {
                    both_flows(rule.flows.as_deref()).all(|flow| {
                        denying = denier(access, subject, key, kind, flow);
                        denying.is_some()
                    })
                })
            });
            if let (true, Some(denying)) = (all, denying) {
                let text = format!(
                    "`{key}` of rule `{}` has no effect: rule `{}` denies all of it",
                    rule.id, denying.id
                );
                self.say(path.into(), text);
            }
        }
    }
}

/// A rule that denies a subject all of `key`.
fn denier<'a>(
    access: &'a AccessControl,
    subject: &'a Subject,
    key: &KeyExpr,
    kind: MessageKind,
    flow: Flow,
) -> Option<&'a AccessRule> {
    rules_of(access, subject).find(|rule| {
        rule.permission == Permission::Deny
            && rule.messages.contains(kind)
            && flows(rule.flows.as_deref(), flow)
            && is_covered(key, &rule.key_exprs)
    })
}

/// Whether two rules may be about the same message.
fn meet(a: &AccessRule, b: &AccessRule) -> bool {
    let flow = both_flows(a.flows.as_deref()).any(|flow| flows(b.flows.as_deref(), flow));
    let keys = a.key_exprs.iter().any(|key| b.key_exprs.iter().any(|it| it.intersects(key)));
    flow && keys && !a.messages.and(b.messages).is_empty()
}

/// Messages of a rule that never take any of its ways: interests go from those who are served to those
/// who serve them.
fn idle_kinds(mode: WhatAmI, rule: &AccessRule) -> MessageSet {
    let idle_way = match mode {
        WhatAmI::Router => Flow::Egress,
        WhatAmI::Client => Flow::Ingress,
        WhatAmI::Peer => return MessageSet::EMPTY,
    };
    if both_flows(rule.flows.as_deref()).any(|flow| flow != idle_way) {
        return MessageSet::EMPTY;
    }
    MessageSet::EMPTY
        .with(MessageKind::LivelinessQuery)
        .with(MessageKind::DeclareLivelinessSubscriber)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{allow_all, key, overwrite, rule};
    use crate::rules::{Policy, Rate, Rules};

    const NODE: NodeFacts<'_> = NodeFacts {
        mode: WhatAmI::Router,
        protocols: &[LinkProtocol::Tcp, LinkProtocol::UnixStream],
        names: false,
    };

    fn texts(rules: Rules) -> Vec<String> {
        let lints = RuleSet::new(rules).unwrap().lint(NODE);
        lints.into_iter().map(|lint| format!("{}: {}", lint.path, lint.text)).collect()
    }

    fn access(change: impl FnOnce(&mut AccessControl)) -> Vec<String> {
        let mut access = allow_all();
        change(&mut access);
        texts(Rules { access, ..Rules::default() })
    }

    fn add(access: &mut AccessControl, rule: AccessRule) {
        access.policies.as_mut().unwrap()[0].rules.push(rule.id.clone());
        access.rules.as_mut().unwrap().push(rule);
    }

    fn on(id: &str, keys: &[&str], permission: Permission) -> AccessRule {
        AccessRule::new(id, permission, MessageSet::ALL, keys.iter().copied().map(key))
    }

    #[test]
    fn rules_that_matter_are_not_remarked_upon() {
        assert_eq!(access(|_| {}), [""; 0]);
        let rules =
            [on("no", &["secret/**"], Permission::Deny), on("some", &["a/*"], Permission::Allow)];
        assert_eq!(access(|it| rules.into_iter().for_each(|rule| add(it, rule))), [""; 0]);
    }

    #[test]
    fn what_is_in_no_policy_is_found() {
        let found = access(|it| {
            it.rules.as_mut().unwrap().push(rule("lonely"));
            it.subjects
                .as_mut()
                .unwrap()
                .push(Subject { id: "stranger".into(), ..Subject::default() });
        });
        assert_eq!(
            found,
            [
                "access_control/subjects/1: subject `stranger` is in no policy and has no effect",
                "access_control/rules/1: rule `lonely` is in no policy and has no effect",
            ]
        );
        let found = access(|it| {
            it.default = Permission::Allow;
            it.subjects.as_mut().unwrap().push(Subject { id: "hole".into(), ..Subject::default() });
        });
        assert!(found[0].contains("may do everything"), "{found:?}");
        assert!(found[1].contains("rule `all` has no effect"), "{found:?}");
        let found = access(|it| it.policies = Some(Vec::new()));
        assert!(found[0].contains("every message is denied"), "{found:?}");
        let found = access(|it| it.enabled = false);
        assert_eq!(
            found,
            ["access_control/enabled: access control is not enabled: 1 rules have no effect"]
        );
    }

    #[test]
    fn what_another_rule_takes_away_is_found() {
        let found = access(|it| {
            add(it, on("some", &["a/b", "b/c"], Permission::Allow));
            add(it, on("no", &["a/**"], Permission::Deny));
        });
        assert_eq!(
            found,
            [
                "access_control/rules/1: `a/b` of rule `some` has no effect: rule `no` denies all of it"
            ]
        );
        let found = access(|it| {
            it.rules.as_mut().unwrap()[0].key_exprs = Vec::from([key("a/**")]);
            add(it, on("idle", &["b/**"], Permission::Deny));
        });
        assert!(
            found[0].contains("rule `idle` has no effect: nothing that it denies"),
            "{found:?}"
        );
    }

    /// A deny rule of one subject takes nothing away from another one.
    #[test]
    fn what_is_denied_to_some_only_still_matters() {
        let found = access(|it| {
            add(it, on("some", &["a/b"], Permission::Allow));
            it.rules.as_mut().unwrap().push(on("no", &["a/**"], Permission::Deny));
            it.subjects
                .as_mut()
                .unwrap()
                .push(Subject { id: "other".into(), ..Subject::default() });
            let names = |names: &[&str]| names.iter().copied().map(String::from).collect();
            it.policies.as_mut().unwrap().push(Policy {
                id: None,
                rules: names(&["no", "some"]),
                subjects: names(&["other"]),
            });
        });
        let idle = "access_control/rules/2: rule `no`";
        assert!(
            found.iter().all(|it| !it.contains("`some`") && !it.starts_with(idle)),
            "{found:?}"
        );
    }

    #[test]
    fn what_never_happens_is_found() {
        let found = access(|it| {
            let interests = MessageSet::only(MessageKind::LivelinessQuery);
            let flows = Some(Vec::from([Flow::Egress]));
            add(it, AccessRule { messages: interests, flows, ..rule("out") });
            let subject = &mut it.subjects.as_mut().unwrap()[0];
            subject.usernames = Some(Vec::from(["ann".into()]));
            subject.link_protocols = Some(Vec::from([LinkProtocol::Quic]));
        });
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].ends_with("this node has no links by `quic`"), "{found:?}");
        assert!(found[1].ends_with("prove no names yet"), "{found:?}");
        assert!(found[2].contains("`liveliness_query` never go that way at a router"), "{found:?}");
    }

    #[test]
    fn shaping_that_never_counts_is_found() {
        let rate = |text: &str| Rate { key_expr: key(text), freq: 1.0 };
        let downsampling = Downsampling {
            id: None,
            interfaces: None,
            link_protocols: None,
            flows: None,
            messages: MessageSet::DATA,
            rules: Vec::from([rate("a/**"), rate("a/b"), rate("b")]),
        };
        let low_pass = |text: &str, size_limit| LowPass {
            id: None,
            interfaces: None,
            link_protocols: None,
            flows: None,
            messages: MessageSet::PUSHES,
            key_exprs: Vec::from([key(text)]),
            size_limit,
        };
        let mut idle = overwrite(MessageSet::PUSHES);
        idle.overwrite.priority = Some(PriorityChange::By(0));
        let found = texts(Rules {
            downsampling: Vec::from([downsampling]),
            qos: Vec::from([idle]),
            low_pass: Vec::from([low_pass("a/b", 9), low_pass("a/*", 8), low_pass("a/*", 8)]),
            ..Rules::default()
        });
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(
            found[0].starts_with("downsampling/0/rules/1: it never counts: `a/**`"),
            "{found:?}"
        );
        assert!(found[1].starts_with("qos/network/0: "), "{found:?}");
        assert!(found[2].starts_with("low_pass_filter/0: "), "{found:?}");
        assert!(found[3].starts_with("low_pass_filter/2: "), "{found:?}");
    }
}
