//! Rules that fit together.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::rules::{AccessControl, Downsampling, LowPass, Overwrite, QosOverwrite, Rules};
use crate::words::MessageSet;

/// Rules that were found to be consistent: names are unique and exist, no list is empty that must not
/// be, every number means something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSet(Rules);

impl RuleSet {
    /// Checks the rules. Rules of an access control that is not enabled are not looked at.
    pub fn new(rules: Rules) -> Result<Self, RuleError> {
        rules.downsampling.iter().enumerate().try_for_each(check_downsampling)?;
        unique("downsampling", rules.downsampling.iter().map(|it| it.id.as_deref()))?;
        if rules.access.enabled {
            check_access(&rules.access)?;
        }
        rules.qos.iter().enumerate().try_for_each(check_qos)?;
        unique("qos/network", rules.qos.iter().map(|it| it.id.as_deref()))?;
        rules.low_pass.iter().enumerate().try_for_each(check_low_pass)?;
        unique("low_pass_filter", rules.low_pass.iter().map(|it| it.id.as_deref()))?;
        Ok(Self(rules))
    }

    /// The rules.
    pub const fn rules(&self) -> &Rules {
        &self.0
    }

    /// Whether no message is ever touched.
    pub fn is_empty(&self) -> bool {
        let rules = &self.0;
        rules.downsampling.is_empty()
            && !rules.access.enabled
            && rules.qos.is_empty()
            && rules.low_pass.is_empty()
    }
}

/// What is wrong with rules, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The path of the value in the configuration.
    pub path: String,
    /// What is wrong with it, and what to do.
    pub problem: RuleProblem,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleProblem {
    /// A list that is needed while access control is enabled is not there.
    Missing,
    /// A list without entries.
    Empty,
    /// A name of nothing but blanks.
    Blank,
    /// A name that another entry has.
    Repeated {
        /// The name.
        id: String,
    },
    /// A name that no entry has.
    Unknown {
        /// The name.
        id: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// Messages that the item does not act on.
    Unfit {
        /// Those that it acts on.
        fit: MessageSet,
    },
    /// A frequency that is negative or no number.
    Frequency,
    /// A step of more than 7.
    Step,
    /// A QoS overwrite that overwrites nothing.
    Nothing,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(
                "access control is enabled and needs this list; `[]` leaves all to the default permission",
            ),
            Self::Empty => f.write_str("the list is empty; name at least one, or leave it out"),
            Self::Blank => f.write_str("a name needs a visible character"),
            Self::Repeated { id } => write!(f, "another entry is called `{id}`, too; rename one"),
            Self::Unknown { id, known } if known.is_empty() => {
                write!(f, "there is no `{id}`; the list of those is empty")
            }
            Self::Unknown { id, known } => {
                write!(f, "there is no `{id}`; there is `{}`", known.join("`, `"))
            }
            Self::Unfit { fit } => {
                let names: Vec<&str> = fit.iter().map(crate::MessageKind::as_str).collect();
                write!(f, "only `{}` can be listed here", names.join("`, `"))
            }
            Self::Frequency => f.write_str("a frequency is a number of messages a second from 0"),
            Self::Step => f.write_str("a priority changes by -7 to 7"),
            Self::Nothing => f.write_str("it changes nothing; name what to overwrite"),
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid `{}`: {}", self.path, self.problem)
    }
}

impl core::error::Error for RuleError {}

fn error(path: String, problem: RuleProblem) -> RuleError {
    RuleError { path, problem }
}

/// Lists that are there have entries.
fn filled(path: &str, lists: &[(&str, Option<usize>)]) -> Result<(), RuleError> {
    match lists.iter().find(|(_, len)| *len == Some(0)) {
        Some((name, _)) => Err(error(format!("{path}/{name}"), RuleProblem::Empty)),
        None => Ok(()),
    }
}

fn fit(path: &str, messages: MessageSet, fit: MessageSet) -> Result<(), RuleError> {
    let path = format!("{path}/messages");
    if messages.is_empty() {
        return Err(error(path, RuleProblem::Empty));
    }
    if fit.contains_all(messages) {
        return Ok(());
    }
    Err(error(path, RuleProblem::Unfit { fit }))
}

/// Names of a list are visible and differ.
fn unique<'a>(
    list: &str,
    ids: impl Iterator<Item = Option<&'a str>>,
) -> Result<BTreeSet<&'a str>, RuleError> {
    let mut seen = BTreeSet::new();
    for (index, id) in ids.enumerate() {
        let Some(id) = id else { continue };
        let path = || format!("{list}/{index}/id");
        if id.trim().is_empty() {
            return Err(error(path(), RuleProblem::Blank));
        }
        if !seen.insert(id) {
            return Err(error(path(), RuleProblem::Repeated { id: id.to_string() }));
        }
    }
    Ok(seen)
}

fn check_downsampling((index, item): (usize, &Downsampling)) -> Result<(), RuleError> {
    let path = format!("downsampling/{index}");
    let lists = [
        ("interfaces", item.interfaces.as_ref().map(Vec::len)),
        ("link_protocols", item.link_protocols.as_ref().map(Vec::len)),
        ("flows", item.flows.as_ref().map(Vec::len)),
        ("rules", Some(item.rules.len())),
    ];
    filled(&path, &lists)?;
    fit(&path, item.messages, MessageSet::DATA)?;
    match item.rules.iter().position(|rule| !(rule.freq >= 0.0 && rule.freq.is_finite())) {
        Some(rule) => Err(error(format!("{path}/rules/{rule}/freq"), RuleProblem::Frequency)),
        None => Ok(()),
    }
}

fn check_low_pass((index, item): (usize, &LowPass)) -> Result<(), RuleError> {
    let path = format!("low_pass_filter/{index}");
    let lists = [
        ("interfaces", item.interfaces.as_ref().map(Vec::len)),
        ("link_protocols", item.link_protocols.as_ref().map(Vec::len)),
        ("flows", item.flows.as_ref().map(Vec::len)),
        ("key_exprs", Some(item.key_exprs.len())),
    ];
    filled(&path, &lists)?;
    fit(&path, item.messages, MessageSet::DATA)
}

fn check_qos((index, item): (usize, &QosOverwrite)) -> Result<(), RuleError> {
    let path = format!("qos/network/{index}");
    let lists = [
        ("zids", item.zids.as_ref().map(Vec::len)),
        ("interfaces", item.interfaces.as_ref().map(Vec::len)),
        ("link_protocols", item.link_protocols.as_ref().map(Vec::len)),
        ("flows", item.flows.as_ref().map(Vec::len)),
        ("key_exprs", item.key_exprs.as_ref().map(Vec::len)),
    ];
    filled(&path, &lists)?;
    fit(&path, item.messages, MessageSet::CHANGEABLE)?;
    let overwrite = format!("{path}/overwrite");
    match item.overwrite.priority {
        Some(crate::PriorityChange::By(step)) if !(-7..=7).contains(&step) => {
            Err(error(format!("{overwrite}/priority"), RuleProblem::Step))
        }
        _ if item.overwrite == Overwrite::default() => Err(error(overwrite, RuleProblem::Nothing)),
        _ => Ok(()),
    }
}

fn check_access(access: &AccessControl) -> Result<(), RuleError> {
    let missing = |name: &str| error(format!("access_control/{name}"), RuleProblem::Missing);
    let rules = access.rules.as_deref().ok_or_else(|| missing("rules"))?;
    let subjects = access.subjects.as_deref().ok_or_else(|| missing("subjects"))?;
    let policies = access.policies.as_deref().ok_or_else(|| missing("policies"))?;
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("access_control/rules/{index}");
        let lists = [
            ("key_exprs", Some(rule.key_exprs.len())),
            ("messages", Some(rule.messages.iter().count())),
            ("flows", rule.flows.as_ref().map(Vec::len)),
        ];
        filled(&path, &lists)?;
    }
    for (index, subject) in subjects.iter().enumerate() {
        let path = format!("access_control/subjects/{index}");
        let lists = [
            ("interfaces", subject.interfaces.as_ref().map(Vec::len)),
            ("cert_common_names", subject.cert_common_names.as_ref().map(Vec::len)),
            ("usernames", subject.usernames.as_ref().map(Vec::len)),
            ("link_protocols", subject.link_protocols.as_ref().map(Vec::len)),
            ("zids", subject.zids.as_ref().map(Vec::len)),
        ];
        filled(&path, &lists)?;
    }
    let rule_ids = unique("access_control/rules", rules.iter().map(|it| Some(it.id.as_str())))?;
    let subject_ids =
        unique("access_control/subjects", subjects.iter().map(|it| Some(it.id.as_str())))?;
    unique("access_control/policies", policies.iter().map(|it| it.id.as_deref()))?;
    for (index, policy) in policies.iter().enumerate() {
        let path = format!("access_control/policies/{index}");
        let named =
            [("rules", &policy.rules, &rule_ids), ("subjects", &policy.subjects, &subject_ids)];
        for (list, named, known) in named {
            filled(&path, &[(list, Some(named.len()))])?;
            if let Some(at) = named.iter().position(|id| !known.contains(id.as_str())) {
                let known = known.iter().map(ToString::to_string).collect();
                let problem = RuleProblem::Unknown { id: named[at].clone(), known };
                return Err(error(format!("{path}/{list}/{at}"), problem));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{allow_all, key, rule};
    use crate::rules::{Policy, PriorityChange, Rate, Subject};
    use crate::words::MessageKind;

    fn complaint(change: impl FnOnce(&mut Rules)) -> String {
        let mut rules = Rules { access: allow_all(), ..Rules::default() };
        change(&mut rules);
        RuleSet::new(rules).unwrap_err().to_string()
    }

    #[test]
    fn a_complaint_names_the_item_and_says_what_to_do() {
        let access = |change: fn(&mut AccessControl)| complaint(|rules| change(&mut rules.access));
        assert!(
            access(|it| it.policies = None)
                .starts_with("invalid `access_control/policies`: access control is enabled")
        );
        assert_eq!(
            access(|it| it.policies.as_mut().unwrap()[0].rules[0] = "other".into()),
            "invalid `access_control/policies/0/rules/0`: there is no `other`; there is `all`"
        );
        assert_eq!(
            access(|it| it.rules.as_mut().unwrap().push(rule("all"))),
            "invalid `access_control/rules/1/id`: another entry is called `all`, too; rename one"
        );
        assert_eq!(
            access(|it| it.subjects.as_mut().unwrap()[0].id = " ".into()),
            "invalid `access_control/subjects/0/id`: a name needs a visible character"
        );
        assert_eq!(
            access(|it| it.subjects.as_mut().unwrap()[0].zids = Some(Vec::new())),
            "invalid `access_control/subjects/0/zids`: the list is empty; name at least one, or leave it out"
        );
        assert!(
            access(|it| {
                let policies = it.policies.as_mut().unwrap();
                policies.push(Policy { id: None, rules: Vec::new(), subjects: Vec::new() });
            })
            .contains("`access_control/policies/1/rules`: the list is empty")
        );
    }

    #[test]
    fn shaping_is_checked_too() {
        let downsampling = |messages, freq| {
            let rules = Vec::from([Rate { key_expr: key("a"), freq }]);
            let all = (None, None, None, None);
            let (id, interfaces, link_protocols, flows) = all;
            Downsampling { id, interfaces, link_protocols, flows, messages, rules }
        };
        for freq in [-1.0, f64::NAN, f64::INFINITY] {
            let text = complaint(|it| it.downsampling.push(downsampling(MessageSet::DATA, freq)));
            assert!(text.contains("`downsampling/0/rules/0/freq`"), "{text}");
        }
        let text = complaint(|it| {
            let tokens = MessageSet::only(MessageKind::LivelinessToken);
            it.downsampling.push(downsampling(tokens, 1.0));
        });
        assert!(
            text.ends_with("only `put`, `delete`, `query`, `reply` can be listed here"),
            "{text}"
        );
        let mut overwrite = crate::naive::overwrite(MessageSet::CHANGEABLE);
        overwrite.overwrite.priority = Some(PriorityChange::By(8));
        let text = complaint(|it| it.qos.push(overwrite.clone()));
        assert!(text.contains("`qos/network/0/overwrite/priority`"), "{text}");
        overwrite.overwrite.priority = None;
        let text = complaint(|it| it.qos.push(overwrite));
        assert!(text.contains("changes nothing"), "{text}");
    }

    #[test]
    fn rules_that_are_not_in_force_may_be_incomplete() {
        let access =
            AccessControl { rules: Some(Vec::from([rule("a")])), ..AccessControl::default() };
        let set = RuleSet::new(Rules { access, ..Rules::default() }).unwrap();
        assert!(set.is_empty());
        let subjects = Some(Vec::from([Subject { id: "x".into(), ..Subject::default() }]));
        let access = AccessControl { subjects, ..allow_all() };
        assert!(RuleSet::new(Rules { access, ..Rules::default() }).is_err());
    }
}
