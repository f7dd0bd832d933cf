//! The decision as the specification words it, without anything prepared, and the property that the
//! prepared one is the same. Also what other tests make rules of.

mod any;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;
use weft_keyexpr::KeyExpr;
use weft_wire::{Priority, Qos, WhatAmI, ZenohId};

use self::any::{any_facts, any_passing, any_rules};

use crate::*;

pub(crate) fn key(text: &str) -> KeyExpr {
    KeyExpr::new(text).unwrap()
}

pub(crate) fn some_facts() -> TransportFacts {
    let links = Vec::from([LinkFacts {
        protocol: Some(LinkProtocol::Tcp),
        interfaces: Vec::from(["lo".into()]),
        cert_common_name: None,
    }]);
    let zid = ZenohId::from_le_bytes(&[7]).unwrap();
    TransportFacts { zid, links, username: None, multicast: false }
}

/// A rule that allows everything in both directions.
pub(crate) fn rule(id: &str) -> AccessRule {
    AccessRule::new(id, Permission::Allow, MessageSet::ALL, [key("**")])
}

/// An access control with one rule, for everybody, that allows everything.
pub(crate) fn allow_all() -> AccessControl {
    AccessControl::for_everybody(Permission::Deny, Vec::from([rule("all")]))
}

/// An overwrite of everything by the most urgent priority.
pub(crate) fn overwrite(messages: MessageSet) -> QosOverwrite {
    QosOverwrite {
        id: None,
        zids: None,
        interfaces: None,
        link_protocols: None,
        flows: None,
        messages,
        key_exprs: None,
        qos: QosFilter::default(),
        payload_size: None,
        overwrite: Overwrite {
            priority: Some(PriorityChange::To(Priority::RealTime)),
            ..Overwrite::default()
        },
    }
}

/// One message of one neighbour.
#[derive(Clone, Debug)]
struct Passing {
    flow: Flow,
    kind: MessageKind,
    key: KeyExpr,
    message: Message,
    after_us: u64,
}

/// When a message last passed a downsampling rule, by flow, item and rule.
type Accepted = BTreeMap<(Flow, usize, usize), u64>;

/// 03 §8: each downsampling item, access control, each QoS item, low-pass; the first refusal counts.
fn decide(
    rules: &Rules,
    facts: &TransportFacts,
    accepted: &mut Accepted,
    now_us: u64,
    passing: &Passing,
) -> Result<Qos, DropReason> {
    let Passing { flow, kind, ref key, ref message, .. } = *passing;
    if facts.multicast {
        return Ok(message.qos);
    }
    for (index, item) in rules.downsampling.iter().enumerate() {
        if !on(item.flows.as_ref(), &flow) || !item.messages.contains(kind) {
            continue;
        }
        if !every_interface(item.interfaces.as_ref(), facts)
            || !some_protocol(item.link_protocols.as_ref(), facts)
        {
            continue;
        }
        let Some(at) = item.rules.iter().position(|it| it.key_expr.intersects(key)) else {
            continue;
        };
        let freq = item.rules[at].freq;
        let last = accepted.get(&(flow, index, at)).copied();
        let elapsed = last.is_none_or(|last| now_us - last >= (1e6 / freq) as u64);
        if freq == 0.0 || !elapsed {
            return Err(DropReason::Downsampling);
        }
        accepted.insert((flow, index, at), now_us);
    }
    if rules.access.enabled && !allowed(&rules.access, facts, flow, kind, key) {
        return Err(DropReason::AccessControl);
    }
    let mut qos = message.qos;
    for item in &rules.qos {
        let about = on(item.flows.as_ref(), &flow)
            && item.messages.contains(kind)
            && on(item.zids.as_ref(), &facts.zid)
            && every_interface(item.interfaces.as_ref(), facts)
            && some_protocol(item.link_protocols.as_ref(), facts)
            && item.key_exprs.as_ref().is_none_or(|keys| keys.iter().any(|it| it.includes(key)));
        let len = message.payload_len as u64;
        let equal = item.qos.priority.is_none_or(|it| it == qos.priority())
            && item.qos.congestion_control.is_none_or(|it| it == qos.congestion_control())
            && item.qos.express.is_none_or(|it| it == qos.express())
            && item.qos.reliability.is_none_or(|it| it == message.reliability)
            && item.payload_size.is_none_or(|it| it.min <= len && len <= it.max);
        if about && equal {
            let number = match item.overwrite.priority {
                None => qos.priority() as i8,
                Some(PriorityChange::To(priority)) => priority as i8,
                Some(PriorityChange::By(step)) => (qos.priority() as i8 + step).clamp(1, 7),
            };
            let congestion = item.overwrite.congestion_control.unwrap_or(qos.congestion_control());
            let express = item.overwrite.express.unwrap_or(qos.express());
            qos = Qos::new(Priority::from_bits(number as u8), congestion, express);
        }
    }
    let size = (message.payload_len + message.attachment_len) as u64;
    let limits = rules.low_pass.iter().filter(|item| {
        on(item.flows.as_ref(), &flow)
            && item.messages.contains(kind)
            && some_interface(item.interfaces.as_ref(), facts)
            && some_protocol(item.link_protocols.as_ref(), facts)
            && item.key_exprs.iter().any(|it| it.includes(key))
    });
    if limits.map(|item| item.size_limit).min().is_some_and(|limit| size > limit) {
        return Err(DropReason::LowPass);
    }
    Ok(qos)
}

/// 03 §8.1, with deny rules by intersection.
fn allowed(
    access: &AccessControl,
    facts: &TransportFacts,
    flow: Flow,
    kind: MessageKind,
    key: &KeyExpr,
) -> bool {
    let default = access.default == Permission::Allow;
    let subjects: Vec<&Subject> =
        access.subjects.iter().flatten().filter(|it| matches(it, facts)).collect();
    if subjects.is_empty() {
        return default;
    }
    let yields_allow = |subject: &&Subject| {
        let policies = access.policies.iter().flatten();
        let ids = policies.filter(|it| it.subjects.contains(&subject.id)).flat_map(|it| &it.rules);
        let rules: Vec<&AccessRule> = ids
            .flat_map(|id| access.rules.iter().flatten().filter(move |rule| rule.id == *id))
            .filter(|rule| on(rule.flows.as_ref(), &flow) && rule.messages.contains(kind))
            .collect();
        let denies = |rule: &&&AccessRule| rule.permission == Permission::Deny;
        if rules
            .iter()
            .filter(denies)
            .any(|rule| rule.key_exprs.iter().any(|it| it.intersects(key)))
        {
            return false;
        }
        default
            || rules
                .iter()
                .filter(|rule| rule.permission == Permission::Allow)
                .any(|rule| rule.key_exprs.iter().any(|it| it.includes(key)))
    };
    subjects.iter().any(yields_allow)
}

/// Some combination of what is known of the transport is in the cross product of the properties.
fn matches(subject: &Subject, facts: &TransportFacts) -> bool {
    let no_link = [LinkFacts::default()];
    let links = if facts.links.is_empty() { &no_link[..] } else { &facts.links[..] };
    links.iter().any(|link| {
        let interface = subject
            .interfaces
            .as_ref()
            .is_none_or(|listed| link.interfaces.iter().any(|own| listed.contains(own)));
        let protocol = subject
            .link_protocols
            .as_ref()
            .is_none_or(|listed| link.protocol.is_some_and(|own| listed.contains(&own)));
        let name = subject.cert_common_names.as_ref().is_none_or(|listed| {
            link.cert_common_name.as_ref().is_some_and(|own| listed.contains(own))
        });
        let user = subject
            .usernames
            .as_ref()
            .is_none_or(|listed| facts.username.as_ref().is_some_and(|own| listed.contains(own)));
        interface && protocol && name && user && on(subject.zids.as_ref(), &facts.zid)
    })
}

fn on<T: PartialEq>(listed: Option<&Vec<T>>, value: &T) -> bool {
    listed.is_none_or(|listed| listed.contains(value))
}

fn every_interface(listed: Option<&Vec<String>>, facts: &TransportFacts) -> bool {
    let has = |link: &LinkFacts, listed: &Vec<String>| {
        link.interfaces.iter().any(|it| listed.contains(it))
    };
    listed.is_none_or(|listed| {
        !facts.links.is_empty() && facts.links.iter().all(|link| has(link, listed))
    })
}

fn some_interface(listed: Option<&Vec<String>>, facts: &TransportFacts) -> bool {
    let all = facts.links.iter().flat_map(|link| &link.interfaces);
    listed.is_none_or(|listed| all.into_iter().any(|own| listed.contains(own)))
}

fn some_protocol(listed: Option<&Vec<LinkProtocol>>, facts: &TransportFacts) -> bool {
    let mut all = facts.links.iter().filter_map(|link| link.protocol);
    listed.is_none_or(|listed| all.any(|own| listed.contains(&own)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Whatever the rules, the neighbour and the messages: the gates decide and count as the
    /// specification says, also when they are made once and kept. And no rules that decide anything are
    /// without an explanation.
    #[test]
    fn gates_decide_as_the_specification_says(
        rules in any_rules(),
        facts in any_facts(),
        passing in vec(any_passing(), 1..12),
    ) {
        let set = RuleSet::new(rules.clone()).unwrap();
        let drops = [Arc::<Drops>::default(), Arc::<Drops>::default()];
        let chains: Vec<Option<Chain>> = Flow::ALL
            .iter()
            .map(|flow| Chain::new(&set, &facts, *flow, Arc::clone(&drops[*flow as usize])))
            .collect();
        let mut kept: BTreeMap<(Flow, MessageKind, KeyExpr), Option<Gate>> = BTreeMap::new();
        let mut accepted = Accepted::new();
        let mut expected = [DropCounts::default(); 2];
        let mut now_us = 0;
        for it in &passing {
            now_us += it.after_us;
            let naive = decide(&rules, &facts, &mut accepted, now_us, it);
            match naive {
                Ok(_) => {}
                Err(DropReason::AccessControl) => expected[it.flow as usize].access_control += 1,
                Err(DropReason::Downsampling) => expected[it.flow as usize].downsampling += 1,
                Err(DropReason::LowPass) => expected[it.flow as usize].low_pass += 1,
            }
            let gate = kept.entry((it.flow, it.kind, it.key.clone())).or_insert_with(|| {
                chains[it.flow as usize].as_ref()?.gate(it.kind, it.key.as_ke())
            });
            let decided = match gate {
                None => Some(it.message.qos),
                Some(gate) => gate.admit(&it.message, || now_us),
            };
            prop_assert_eq!(decided, naive.ok(), "{:?}", it);
        }
        prop_assert_eq!([drops[0].counts(), drops[1].counts()], expected);
        let dropped = expected.iter().any(|it| *it != DropCounts::default());
        prop_assert!(!dropped || !set.explain().is_empty());
        let _ = set.lint(NodeFacts { mode: WhatAmI::Peer, protocols: &[LinkProtocol::Tcp], names: true });
    }
}

#[test]
fn a_wild_key_does_not_slip_past_a_deny() {
    let deny = AccessRule::new("no", Permission::Deny, MessageSet::PUSHES, [key("secret/**")]);
    let rules = Vec::from([rule("all"), deny]);
    let access = AccessControl::for_everybody(Permission::Deny, rules);
    let set = RuleSet::new(Rules { access, ..Rules::default() }).unwrap();
    let chain = Chain::new(&set, &some_facts(), Flow::Ingress, Arc::default()).unwrap();
    let passes = |text: &str| chain.gate(MessageKind::Put, key(text).as_ke()).is_none();
    assert_eq!(["ok/1", "secret/1", "*/1", "**"].map(passes), [true, false, false, false]);
    let group = TransportFacts { multicast: true, ..some_facts() };
    assert!(Chain::new(&set, &group, Flow::Ingress, Arc::default()).is_none());
}
