//! Access control for one transport and one direction.
//!
//! Spec: 03 §8.1. The subjects that match are known when the transport opens, and their rules then
//! lie in two trees each, so that a decision costs what intersects or includes the key and not what
//! there is.

use alloc::vec::Vec;

use weft_keyexpr::{Ke, KeTree, KeyExpr};

use crate::rules::{AccessControl, AccessRule, Policy, Subject};
use crate::transport::{TransportFacts, flows};
use crate::words::{Flow, MessageKind, MessageSet, Permission};

/// What one neighbour may say, or be told.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    default: Permission,
    /// The subjects that the neighbour is.
    subjects: Vec<SubjectRules>,
}

#[derive(Clone, Debug)]
struct SubjectRules {
    deny: KeTree<MessageSet>,
    allow: KeTree<MessageSet>,
}

impl Access {
    /// `None` if access control is not enabled.
    pub(crate) fn new(config: &AccessControl, facts: &TransportFacts, flow: Flow) -> Option<Self> {
        if !config.enabled {
            return None;
        }
        let subjects = config.subjects.iter().flatten().filter(|subject| subject.is(facts));
        let subjects = subjects.map(|subject| SubjectRules::new(config, subject, flow)).collect();
        Some(Self { default: config.default, subjects })
    }

    /// Whether any message of `kind` may be refused.
    pub(crate) fn judges(&self, kind: MessageKind) -> bool {
        let denies =
            |rules: &SubjectRules| rules.deny.iter().any(|(_, kinds)| kinds.contains(kind));
        self.default == Permission::Deny
            || !self.subjects.is_empty() && self.subjects.iter().all(denies)
    }

    /// Whether a message passes: any subject that says so is enough.
    pub(crate) fn allows(&self, kind: MessageKind, key: Ke<'_>) -> bool {
        let default = self.default == Permission::Allow;
        if self.subjects.is_empty() {
            return default;
        }
        self.subjects.iter().any(|rules| {
            let (mut denied, mut allowed) = (false, default);
            rules.deny.for_each_intersecting(key, |_, kinds| denied |= kinds.contains(kind));
            if !denied && !allowed {
                rules.allow.for_each_including(key, |_, kinds| allowed |= kinds.contains(kind));
            }
            !denied && allowed
        })
    }
}

impl SubjectRules {
    fn new(config: &AccessControl, subject: &Subject, flow: Flow) -> Self {
        let mut rules = Self { deny: KeTree::new(), allow: KeTree::new() };
        for rule in rules_of(config, subject) {
            if !flows(rule.flows.as_deref(), flow) {
                continue;
            }
            let tree = match rule.permission {
                Permission::Deny => &mut rules.deny,
                Permission::Allow => &mut rules.allow,
            };
            for key in &rule.key_exprs {
                let kinds = tree.get_or_insert_with(KeyExpr::clone(key), MessageSet::default);
                *kinds = kinds.or(rule.messages);
            }
        }
        rules
    }
}

/// The rules that apply to a subject.
pub(crate) fn rules_of<'a>(
    config: &'a AccessControl,
    subject: &'a Subject,
) -> impl Iterator<Item = &'a AccessRule> {
    let applies = |policy: &&Policy| policy.subjects.contains(&subject.id);
    let ids = config.policies.iter().flatten().filter(applies).flat_map(|policy| &policy.rules);
    ids.filter_map(|id| config.rules.iter().flatten().find(|rule| rule.id == *id))
}
