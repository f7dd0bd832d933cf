//! Rules in plain words, a line each.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use weft_keyexpr::KeyExpr;
use weft_wire::{CongestionControl, Priority, Reliability};

use crate::check::RuleSet;
use crate::rules::{
    AccessRule, Downsampling, LowPass, Overwrite, Policy, PriorityChange, QosFilter, QosOverwrite,
    Subject,
};
use crate::words::{Flow, LinkProtocol, MessageSet, Permission};

/// What one item of the rules does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The path of the item in the configuration.
    pub path: String,
    /// What it does, in words.
    pub text: String,
}

impl RuleSet {
    /// What each item does, in the order in which messages meet them.
    pub fn explain(&self) -> Vec<Explained> {
        let rules = self.rules();
        let mut all = Vec::new();
        let mut say = |path: String, text: String| all.push(Explained { path, text });
        for (index, item) in rules.downsampling.iter().enumerate() {
            say(format!("downsampling/{index}"), downsampling(item));
        }
        if rules.access.enabled {
            let nothing = "what no rule is about";
            let text = match rules.access.default {
                Permission::Allow => format!("{nothing} is allowed"),
                Permission::Deny => format!("{nothing} is denied"),
            };
            say("access_control/default_permission".into(), text);
            for (index, item) in rules.access.rules.iter().flatten().enumerate() {
                say(format!("access_control/rules/{index}"), access_rule(item));
            }
            for (index, item) in rules.access.subjects.iter().flatten().enumerate() {
                say(format!("access_control/subjects/{index}"), subject(item));
            }
            for (index, item) in rules.access.policies.iter().flatten().enumerate() {
                say(format!("access_control/policies/{index}"), policy(item));
            }
        }
        for (index, item) in rules.qos.iter().enumerate() {
            say(format!("qos/network/{index}"), qos(item));
        }
        for (index, item) in rules.low_pass.iter().enumerate() {
            say(format!("low_pass_filter/{index}"), low_pass(item));
        }
        all
    }
}

fn downsampling(item: &Downsampling) -> String {
    let rates: Vec<String> = item
        .rules
        .iter()
        .map(|rate| match rate.freq {
            0.0 => format!("none on `{}`", rate.key_expr),
            freq => format!("at most {freq} a second on `{}`", rate.key_expr),
        })
        .collect();
    let whom = whom(None, item.interfaces.as_deref(), item.link_protocols.as_deref(), "every");
    let what = messages(item.messages);
    format!("of {what} {}{whom}, lets through {}", ways(item.flows.as_deref()), rates.join(", "))
}

fn access_rule(rule: &AccessRule) -> String {
    let (verb, how) = match rule.permission {
        Permission::Allow => ("allows", "within"),
        Permission::Deny => ("denies", "that may touch"),
    };
    let what = messages(rule.messages);
    let ways = ways(rule.flows.as_deref());
    format!("rule `{}` {verb} {what} {ways} on keys {how} {}", rule.id, keys(&rule.key_exprs))
}

fn subject(subject: &Subject) -> String {
    let mut properties = Vec::new();
    let mut property = |name: &str, values: Option<String>| {
        properties.extend(values.map(|values| format!("{name} {values}")));
    };
    property("a node id of", subject.zids.as_deref().map(list));
    property("the user name", subject.usernames.as_deref().map(list));
    property("the certificate name", subject.cert_common_names.as_deref().map(list));
    property("a link by", subject.link_protocols.as_deref().map(list));
    property("a link on interface", subject.interfaces.as_deref().map(list));
    if properties.is_empty() {
        return format!("subject `{}` is every neighbour", subject.id);
    }
    format!("subject `{}` is a neighbour with {}", subject.id, properties.join(" and "))
}

fn policy(policy: &Policy) -> String {
    let name = policy.id.as_ref().map_or(String::new(), |id| format!(" `{id}`"));
    let all = |ids: &[String]| list(ids).replace("` or `", "` and `");
    format!("policy{name} applies {} to {}", all(&policy.rules), all(&policy.subjects))
}

fn qos(item: &QosOverwrite) -> String {
    let interfaces = item.interfaces.as_deref();
    let whom = whom(item.zids.as_deref(), interfaces, item.link_protocols.as_deref(), "every");
    let on = item
        .key_exprs
        .as_deref()
        .map_or(String::new(), |it| format!(" on keys within {}", keys(it)));
    let sized = item.payload_size.map_or(String::new(), |it| format!(" with {it} of payload"));
    let what = messages(item.messages);
    let ways = ways(item.flows.as_deref());
    let having = having(item.qos);
    format!("changes {what}{having}{sized}{on} {ways}{whom}: {}", changed(item.overwrite))
}

fn having(filter: QosFilter) -> String {
    let mut parts = Vec::new();
    parts.extend(filter.priority.map(|it| format!("priority {}", priority(it))));
    parts.extend(
        filter.congestion_control.map(|it| format!("congestion control {}", congestion(it))),
    );
    parts.extend(filter.express.map(|it| if it { "express" } else { "not express" }.to_string()));
    parts.extend(filter.reliability.map(|it| match it {
        Reliability::Reliable => "reliable".to_string(),
        Reliability::BestEffort => "best effort".to_string(),
    }));
    if parts.is_empty() { String::new() } else { format!(" that are {}", parts.join(", ")) }
}

fn changed(overwrite: Overwrite) -> String {
    let mut parts = Vec::new();
    parts.extend(overwrite.priority.map(|it| match it {
        PriorityChange::To(to) => format!("priority {}", priority(to)),
        PriorityChange::By(0) => "their own priority".to_string(),
        PriorityChange::By(step @ 1..) => format!("a priority {step} less urgent"),
        PriorityChange::By(step) => format!("a priority {} more urgent", step.unsigned_abs()),
    }));
    parts.extend(
        overwrite.congestion_control.map(|it| format!("congestion control {}", congestion(it))),
    );
    parts
        .extend(overwrite.express.map(|it| if it { "express" } else { "not express" }.to_string()));
    parts.join(" and ")
}

fn low_pass(item: &LowPass) -> String {
    let whom = whom(None, item.interfaces.as_deref(), item.link_protocols.as_deref(), "some");
    let what = messages(item.messages);
    let ways = ways(item.flows.as_deref());
    let keys = keys(&item.key_exprs);
    format!("drops {what} {ways}{whom} on keys within {keys} above {} bytes", item.size_limit)
}

fn whom(
    zids: Option<&[weft_wire::ZenohId]>,
    interfaces: Option<&[String]>,
    protocols: Option<&[LinkProtocol]>,
    links: &str,
) -> String {
    let zids = zids.map(|zids| format!(", neighbours {}", list(zids)));
    let interfaces = interfaces.map(|it| format!(", {links} link on interface {}", list(it)));
    let protocols = protocols.map(|it| format!(", some link by {}", list(it)));
    [zids, interfaces, protocols].into_iter().flatten().collect()
}

fn messages(set: MessageSet) -> String {
    let names: Vec<&str> = set.iter().map(crate::MessageKind::as_str).collect();
    names.join(", ")
}

const fn ways(flows: Option<&[Flow]>) -> &'static str {
    match flows {
        Some([Flow::Ingress]) => "coming in",
        Some([Flow::Egress]) => "going out",
        _ => "both ways",
    }
}

fn keys(keys: &[KeyExpr]) -> String {
    list(keys)
}

/// `a` or `b`.
pub(crate) fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("`{item}`")).collect();
    items.join(" or ")
}

const fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Control => "control",
        Priority::RealTime => "real_time",
        Priority::InteractiveHigh => "interactive_high",
        Priority::InteractiveLow => "interactive_low",
        Priority::DataHigh => "data_high",
        Priority::Data => "data",
        Priority::DataLow => "data_low",
        Priority::Background => "background",
    }
}

const fn congestion(congestion: CongestionControl) -> &'static str {
    match congestion {
        CongestionControl::Drop => "drop",
        CongestionControl::Block => "block",
        CongestionControl::BlockFirst => "block_first",
    }
}
