//! Access control and traffic shaping: `access_control`, `downsampling`, `low_pass_filter`, `qos/network`.
//!
//! Here is the form of the entries. Whether they fit together is for [`RuleSet`] to say.
//! Spec: 03 §8.

use weft_intercept::{
    AccessControl, AccessRule, Downsampling, Flow, LinkProtocol, LowPass, MessageKind, MessageSet,
    NodeFacts, Overwrite, Permission, Policy, PriorityChange, QosFilter, QosOverwrite, Rate,
    RuleSet, Rules, Subject,
};
use weft_keyexpr::KeyExpr;
use weft_wire::ZenohId;

use super::error::{ConfigError, ConfigErrorKind};
use super::kind::{Kind, Member};
use super::publication::{self, CONGESTION, PRIORITY, RELIABILITY};
use super::{Config, gateway};
use crate::value::Value;

/// Something to say about an item of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The path of the item.
    pub path: String,
    /// One line about it.
    pub text: String,
}

impl Config {
    /// Whom each region of `gateway/south` takes, and what each rule of access control and traffic shaping
    /// does, in the order in which messages meet them; each with the path of its item.
    ///
    /// # Errors
    /// As [`effective`](Self::effective).
    pub fn explain_rules(&self) -> Result<Vec<Remark>, ConfigError> {
        let effective = self.effective()?;
        let mut remarks = effective.gateway.as_ref().map(gateway::explain).unwrap_or_default();
        let explained = effective.rules.explain().into_iter();
        remarks.extend(explained.map(|it| Remark { path: it.path, text: it.text }));
        Ok(remarks)
    }

    /// What is odd about regions, and about the rules of access control and traffic shaping: those that
    /// can never match, that others take everything from, or that nothing refers to, each with the path of
    /// its item.
    ///
    /// # Errors
    /// As [`effective`](Self::effective).
    pub fn lint_rules(&self) -> Result<Vec<Remark>, ConfigError> {
        let effective = self.effective()?;
        let built = weft_link::Proto::ALL.iter().map(|proto| proto.as_str());
        let allowed = |name: &&str| {
            effective.link.protocols.as_ref().is_none_or(|it| it.iter().any(|it| it == name))
        };
        let protocols: Vec<_> = built.filter(allowed).filter_map(LinkProtocol::named).collect();
        let node = NodeFacts { mode: effective.mode, protocols: &protocols, names: false };
        let mut remarks = effective.gateway.as_ref().map(gateway::lint).unwrap_or_default();
        let lints = effective.rules.lint(node).into_iter();
        remarks.extend(lints.map(|it| Remark { path: it.path, text: it.text }));
        Ok(remarks)
    }
}

const DATA: Kind = Kind::Choices(&["put", "delete", "query", "reply"]);
const CHANGEABLE: Kind = Kind::Choices(&["put", "delete", "query"]);
const FLOWS: Kind = Kind::Choices(Flow::NAMES);
const PROTOCOLS: Kind = Kind::Choices(LinkProtocol::NAMES);

pub(super) const ACCESS_RULES: Kind = Kind::Entries(&[
    Member::needed("id", Kind::Text),
    Member::needed("key_exprs", Kind::KeyExprs),
    Member::needed("messages", Kind::Choices(MessageKind::NAMES)),
    Member::optional("flows", FLOWS),
    Member::needed("permission", Kind::Choice(Permission::NAMES)),
]);

pub(super) const SUBJECTS: Kind = Kind::Entries(&[
    Member::needed("id", Kind::Text),
    Member::optional("interfaces", Kind::Texts),
    Member::optional("cert_common_names", Kind::Texts),
    Member::optional("usernames", Kind::Texts),
    Member::optional("link_protocols", PROTOCOLS),
    Member::optional("zids", Kind::Zids),
]);

pub(super) const POLICIES: Kind = Kind::Entries(&[
    Member::optional("id", Kind::Text),
    Member::needed("rules", Kind::Texts),
    Member::needed("subjects", Kind::Texts),
]);

pub(super) const DOWNSAMPLING: Kind = Kind::Entries(&[
    Member::optional("id", Kind::Text),
    Member::optional("interfaces", Kind::Texts),
    Member::optional("link_protocols", PROTOCOLS),
    Member::optional("flows", FLOWS),
    Member::needed("messages", DATA),
    Member::needed(
        "rules",
        Kind::Entries(&[
            Member::needed("key_expr", Kind::KeyExpr),
            Member::needed("freq", Kind::Frequency),
        ]),
    ),
]);

pub(super) const LOW_PASS: Kind = Kind::Entries(&[
    Member::optional("id", Kind::Text),
    Member::optional("interfaces", Kind::Texts),
    Member::optional("link_protocols", PROTOCOLS),
    Member::optional("flows", FLOWS),
    Member::needed("messages", DATA),
    Member::needed("key_exprs", Kind::KeyExprs),
    Member::needed("size_limit", Kind::Integer(0, i64::MAX)),
]);

pub(super) const QOS_NETWORK: Kind = Kind::Entries(&[
    Member::optional("id", Kind::Text),
    Member::optional("zids", Kind::Zids),
    Member::optional("interfaces", Kind::Texts),
    Member::optional("link_protocols", PROTOCOLS),
    Member::optional("flows", FLOWS),
    Member::needed("messages", CHANGEABLE),
    Member::optional("key_exprs", Kind::KeyExprs),
    Member::optional(
        "qos",
        Kind::Record(&[
            Member::optional("congestion_control", Kind::Choice(CONGESTION)),
            Member::optional("priority", Kind::Choice(PRIORITY)),
            Member::optional("express", Kind::Bool),
            Member::optional("reliability", Kind::Choice(RELIABILITY)),
        ]),
    ),
    Member::optional("payload_size", Kind::SizeRange),
    Member::needed(
        "overwrite",
        Kind::Record(&[
            Member::optional("priority", Kind::PriorityChange(PRIORITY)),
            Member::optional("congestion_control", Kind::Choice(CONGESTION)),
            Member::optional("express", Kind::Bool),
        ]),
    ),
]);

/// Reads values that were checked, and checks them against each other.
pub(super) fn parse(value: impl Fn(&str) -> Value) -> Result<RuleSet, ConfigError> {
    let entries = |path: &str| match value(path) {
        Value::List(entries) => Some(entries),
        _ => None,
    };
    let rules = Rules {
        downsampling: read(entries("downsampling"), downsampling),
        access: AccessControl {
            enabled: value("access_control/enabled") == Value::Bool(true),
            default: permission(&value("access_control/default_permission")),
            rules: entries("access_control/rules").map(|it| read(Some(it), access_rule)),
            subjects: entries("access_control/subjects").map(|it| read(Some(it), subject)),
            policies: entries("access_control/policies").map(|it| read(Some(it), policy)),
        },
        qos: read(entries("qos/network"), qos_overwrite),
        low_pass: read(entries("low_pass_filter"), low_pass),
    };
    RuleSet::new(rules).map_err(|error| {
        let reason = error.problem.to_string();
        ConfigErrorKind::Conflict { path: error.path, reason }.into()
    })
}

fn read<T>(entries: Option<Vec<Value>>, one: impl Fn(&Value) -> T) -> Vec<T> {
    entries.unwrap_or_default().iter().map(one).collect()
}

fn access_rule(entry: &Value) -> AccessRule {
    AccessRule {
        id: text(entry, "id").unwrap_or_default(),
        key_exprs: parsed(entry, "key_exprs").unwrap_or_default(),
        messages: messages(entry),
        flows: named(entry, "flows", Flow::named),
        permission: entry.member("permission").map_or(Permission::Deny, permission),
    }
}

fn subject(entry: &Value) -> Subject {
    Subject {
        id: text(entry, "id").unwrap_or_default(),
        interfaces: parsed(entry, "interfaces"),
        cert_common_names: parsed(entry, "cert_common_names"),
        usernames: parsed(entry, "usernames"),
        link_protocols: named(entry, "link_protocols", LinkProtocol::named),
        zids: parsed::<ZenohId>(entry, "zids"),
    }
}

fn policy(entry: &Value) -> Policy {
    Policy {
        id: text(entry, "id"),
        rules: parsed(entry, "rules").unwrap_or_default(),
        subjects: parsed(entry, "subjects").unwrap_or_default(),
    }
}

fn downsampling(entry: &Value) -> Downsampling {
    let rates = entry.member("rules").and_then(Value::as_list).unwrap_or_default().iter();
    let rate = |rate: &Value| {
        let freq = match rate.member("freq")? {
            Value::Float(freq) => *freq,
            freq => freq.as_integer()? as f64,
        };
        Some(Rate { key_expr: text(rate, "key_expr")?.parse::<KeyExpr>().ok()?, freq })
    };
    Downsampling {
        id: text(entry, "id"),
        interfaces: parsed(entry, "interfaces"),
        link_protocols: named(entry, "link_protocols", LinkProtocol::named),
        flows: named(entry, "flows", Flow::named),
        messages: messages(entry),
        rules: rates.filter_map(rate).collect(),
    }
}

fn low_pass(entry: &Value) -> LowPass {
    let limit = entry.member("size_limit").and_then(Value::as_integer);
    LowPass {
        id: text(entry, "id"),
        interfaces: parsed(entry, "interfaces"),
        link_protocols: named(entry, "link_protocols", LinkProtocol::named),
        flows: named(entry, "flows", Flow::named),
        messages: messages(entry),
        key_exprs: parsed(entry, "key_exprs").unwrap_or_default(),
        size_limit: limit.and_then(|limit| u64::try_from(limit).ok()).unwrap_or_default(),
    }
}

fn qos_overwrite(entry: &Value) -> QosOverwrite {
    let filter = entry.member("qos").unwrap_or(&Value::Null);
    let overwrite = entry.member("overwrite").unwrap_or(&Value::Null);
    let step = overwrite.member("priority").and_then(Value::as_integer);
    let step = step.and_then(|step| i8::try_from(step).ok()).map(PriorityChange::By);
    QosOverwrite {
        id: text(entry, "id"),
        zids: parsed(entry, "zids"),
        interfaces: parsed(entry, "interfaces"),
        link_protocols: named(entry, "link_protocols", LinkProtocol::named),
        flows: named(entry, "flows", Flow::named),
        messages: messages(entry),
        key_exprs: parsed(entry, "key_exprs"),
        qos: QosFilter {
            congestion_control: publication::congestion_control(filter),
            priority: publication::priority(filter),
            express: publication::express(filter),
            reliability: publication::reliability(filter),
        },
        payload_size: text(entry, "payload_size").and_then(|range| range.parse().ok()),
        overwrite: Overwrite {
            priority: step.or_else(|| publication::priority(overwrite).map(PriorityChange::To)),
            congestion_control: publication::congestion_control(overwrite),
            express: publication::express(overwrite),
        },
    }
}

fn text(entry: &Value, name: &str) -> Option<String> {
    entry.member(name)?.as_text().map(str::to_owned)
}

/// The texts of a list, each in its type; `None` if there is no list.
pub(super) fn parsed<T: core::str::FromStr>(entry: &Value, name: &str) -> Option<Vec<T>> {
    let items = entry.member(name)?.as_list()?;
    Some(items.iter().filter_map(|item| item.as_text()?.parse().ok()).collect())
}

fn named<T>(entry: &Value, name: &str, named: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let items = entry.member(name)?.as_list()?;
    Some(items.iter().filter_map(|item| named(item.as_text()?)).collect())
}

fn messages(entry: &Value) -> MessageSet {
    let kinds = named(entry, "messages", MessageKind::named).unwrap_or_default();
    kinds.into_iter().collect()
}

fn permission(value: &Value) -> Permission {
    value.as_text().and_then(Permission::named).unwrap_or(Permission::Deny)
}
