//! Arbitrary rules, neighbours and messages, over so few words that they often meet.

use alloc::string::String;
use alloc::vec::Vec;
use std::format;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use weft_keyexpr::KeyExpr;
use weft_wire::{CongestionControl, Priority, Qos, Reliability, ZenohId};

use super::Passing;
use crate::*;

fn any_key() -> impl Strategy<Value = KeyExpr> {
    let chunk = select(std::vec!["a", "b", "c", "*", "**", "a$*", "@v"]);
    vec(chunk, 1..4).prop_map(|chunks| KeyExpr::autocanonize(&chunks.join("/")).unwrap())
}

fn any_keys() -> impl Strategy<Value = Vec<KeyExpr>> {
    vec(any_key(), 1..3)
}

fn any_flows() -> impl Strategy<Value = Option<Vec<Flow>>> {
    of(subsequence(Flow::ALL.to_vec(), 1..=2))
}

fn any_zid() -> impl Strategy<Value = ZenohId> {
    (1..4_u8).prop_map(|byte| ZenohId::from_le_bytes(&[byte]).unwrap())
}

fn some_of(names: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    subsequence(names.to_vec(), 1..=names.len())
        .prop_map(|names| names.into_iter().map(String::from).collect())
}

const INTERFACES: &[&str] = &["lo", "eth0", "wlan0"];
const NAMES: &[&str] = &["ann", "bob"];
const PROTOCOLS: &[LinkProtocol] = &[LinkProtocol::Tcp, LinkProtocol::Tls, LinkProtocol::Quic];

fn any_protocols() -> impl Strategy<Value = Option<Vec<LinkProtocol>>> {
    of(subsequence(PROTOCOLS.to_vec(), 1..=2))
}

fn messages_of(all: MessageSet) -> impl Strategy<Value = MessageSet> {
    let all: Vec<MessageKind> = all.iter().collect();
    let len = all.len();
    subsequence(all, 1..=len).prop_map(|kinds| kinds.into_iter().collect())
}

fn any_congestion() -> impl Strategy<Value = CongestionControl> {
    use CongestionControl::{Block, BlockFirst, Drop};
    select(std::vec![Drop, Block, BlockFirst])
}

fn any_priority() -> impl Strategy<Value = Priority> {
    select(Priority::ALL[1..].to_vec())
}

fn any_reliability() -> impl Strategy<Value = Reliability> {
    select(std::vec![Reliability::BestEffort, Reliability::Reliable])
}

fn any_downsampling() -> impl Strategy<Value = Downsampling> {
    let freq = select(std::vec![0.0, 0.3, 1.0, 5.0, 1e6]);
    let rates = vec((any_key(), freq).prop_map(|(key_expr, freq)| Rate { key_expr, freq }), 1..3);
    (of(some_of(INTERFACES)), any_protocols(), any_flows(), messages_of(MessageSet::DATA), rates)
        .prop_map(|(interfaces, link_protocols, flows, messages, rules)| Downsampling {
            id: None,
            interfaces,
            link_protocols,
            flows,
            messages,
            rules,
        })
}

fn any_low_pass() -> impl Strategy<Value = LowPass> {
    let messages = messages_of(MessageSet::DATA);
    (of(some_of(INTERFACES)), any_protocols(), any_flows(), messages, any_keys(), 0..8_u64)
        .prop_map(|(interfaces, link_protocols, flows, messages, key_exprs, size_limit)| LowPass {
            id: None,
            interfaces,
            link_protocols,
            flows,
            messages,
            key_exprs,
            size_limit,
        })
}

fn any_qos() -> impl Strategy<Value = QosOverwrite> {
    let selects = (of(vec(any_zid(), 1..3)), of(some_of(INTERFACES)), any_protocols(), any_flows());
    let filter =
        (of(any_congestion()), of(any_priority()), of(any::<bool>()), of(any_reliability()));
    let filter = filter.prop_map(|(congestion_control, priority, express, reliability)| {
        QosFilter { congestion_control, priority, express, reliability }
    });
    let change = prop_oneof![
        any_priority().prop_map(PriorityChange::To),
        (-7..=7_i8).prop_map(PriorityChange::By)
    ];
    let overwrite = (change, of(any_congestion()), of(any::<bool>())).prop_map(
        |(priority, congestion_control, express)| Overwrite {
            priority: Some(priority),
            congestion_control,
            express,
        },
    );
    let size = (0..4_u64, 0..6_u64).prop_map(|(min, more)| SizeRange { min, max: min + more });
    let filter = prop_oneof![Just(QosFilter::default()), filter];
    (selects, messages_of(MessageSet::CHANGEABLE), of(any_keys()), filter, of(size), overwrite)
        .prop_map(
            |(
                (zids, interfaces, link_protocols, flows),
                messages,
                key_exprs,
                qos,
                payload_size,
                overwrite,
            )| {
                QosOverwrite {
                    id: None,
                    zids,
                    interfaces,
                    link_protocols,
                    flows,
                    messages,
                    key_exprs,
                    qos,
                    payload_size,
                    overwrite,
                }
            },
        )
}

fn any_permission() -> impl Strategy<Value = Permission> {
    select(Permission::ALL.to_vec())
}

fn any_access() -> impl Strategy<Value = AccessControl> {
    let all = MessageKind::ALL.iter().copied().collect();
    let rules = vec((any_keys(), messages_of(all), any_flows(), any_permission()), 1..5);
    let subject = (
        of(some_of(INTERFACES)),
        of(some_of(NAMES)),
        of(some_of(NAMES)),
        any_protocols(),
        of(vec(any_zid(), 1..3)),
    );
    let subjects =
        prop_oneof![vec(Just((None, None, None, None, None)), 1..3), vec(subject, 1..4),];
    let policies = vec((vec(0..4_usize, 1..4), vec(0..3_usize, 1..3)), 0..4);
    (any::<bool>(), any_permission(), rules, subjects, policies).prop_map(
        |(enabled, default, rules, subjects, policies)| {
            let (rule_count, subject_count) = (rules.len(), subjects.len());
            let names = |indexes: Vec<usize>, count: usize| {
                indexes.into_iter().map(|index| format!("{}", index % count)).collect()
            };
            let rules = rules.into_iter().enumerate().map(|(id, it)| AccessRule {
                id: format!("{id}"),
                key_exprs: it.0,
                messages: it.1,
                flows: it.2,
                permission: it.3,
            });
            let subjects = subjects.into_iter().enumerate().map(|(id, it)| Subject {
                id: format!("{id}"),
                interfaces: it.0,
                cert_common_names: it.1,
                usernames: it.2,
                link_protocols: it.3,
                zids: it.4,
            });
            let policies = policies.into_iter().map(|(rules, subjects)| Policy {
                id: None,
                rules: names(rules, rule_count),
                subjects: names(subjects, subject_count),
            });
            AccessControl {
                enabled,
                default,
                rules: Some(rules.collect()),
                subjects: Some(subjects.collect()),
                policies: Some(policies.collect()),
            }
        },
    )
}

pub(super) fn any_facts() -> impl Strategy<Value = TransportFacts> {
    let link = (
        of(select(PROTOCOLS.to_vec())),
        subsequence(INTERFACES.to_vec(), 0..=2),
        of(select(NAMES.to_vec())),
    );
    let link = link.prop_map(|(protocol, interfaces, name)| LinkFacts {
        protocol,
        interfaces: interfaces.into_iter().map(String::from).collect(),
        cert_common_name: name.map(String::from),
    });
    (any_zid(), vec(link, 0..3), of(select(NAMES.to_vec()))).prop_map(|(zid, links, username)| {
        TransportFacts { zid, links, username: username.map(String::from), multicast: false }
    })
}

pub(super) fn any_passing() -> impl Strategy<Value = Passing> {
    let qos = (any_priority(), any_congestion(), any::<bool>())
        .prop_map(|(priority, congestion, express)| Qos::new(priority, congestion, express));
    let message = (qos, any_reliability(), 0..8_usize, 0..4_usize).prop_map(
        |(qos, reliability, payload_len, attachment_len)| Message {
            qos,
            reliability,
            payload_len,
            attachment_len,
        },
    );
    let flow = select(Flow::ALL.to_vec());
    let kind = select(MessageKind::ALL.to_vec());
    (flow, kind, any_key(), message, 0..1_500_000_u64).prop_map(
        |(flow, kind, key, message, after_us)| Passing { flow, kind, key, message, after_us },
    )
}

pub(super) fn any_rules() -> impl Strategy<Value = Rules> {
    let shaping = (vec(any_downsampling(), 0..3), vec(any_qos(), 0..3), vec(any_low_pass(), 0..3));
    (any_access(), shaping).prop_map(|(access, (downsampling, qos, low_pass))| Rules {
        downsampling,
        access,
        qos,
        low_pass,
    })
}
