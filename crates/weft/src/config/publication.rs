//! What `qos/publication` says about publications, in place of what the application says.
//!
//! Spec: 03 §8.4.

use weft_keyexpr::{Ke, KeyExpr};
use weft_node::Locality;
use weft_wire::{CongestionControl, Priority, Reliability};

use super::kind::{Kind, Member};
use crate::value::Value;

/// QoS for the publications whose key one of the key expressions includes. `None` leaves it to the
/// application.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// What includes the keys.
    pub key_exprs: Vec<KeyExpr>,
    /// What happens where there is no room.
    pub congestion_control: Option<CongestionControl>,
    /// Which samples go first.
    pub priority: Option<Priority>,
    /// Sends at once.
    pub express: Option<bool>,
    /// The channel.
    pub reliability: Option<Reliability>,
    /// Whom samples may reach.
    pub allowed_destination: Option<Locality>,
}

impl Publication {
    /// Whether it is about publications on `key`.
    pub(crate) fn is_about(&self, key: Ke<'_>) -> bool {
        self.key_exprs.iter().any(|it| it.includes(key))
    }
}

pub(super) const CONGESTION: &[&str] = &["drop", "block", "block_first"];
pub(super) const PRIORITY: &[&str] = &[
    "real_time",
    "interactive_high",
    "interactive_low",
    "data_high",
    "data",
    "data_low",
    "background",
];
pub(super) const RELIABILITY: &[&str] = &["best_effort", "reliable"];
const DESTINATION: &[&str] = &["session_local", "remote", "any"];

pub(super) const PUBLICATIONS: Kind = Kind::Entries(&[
    Member::needed("key_exprs", Kind::KeyExprs),
    Member::needed(
        "config",
        Kind::Record(&[
            Member::optional("congestion_control", Kind::Choice(CONGESTION)),
            Member::optional("priority", Kind::Choice(PRIORITY)),
            Member::optional("express", Kind::Bool),
            Member::optional("reliability", Kind::Choice(RELIABILITY)),
            Member::optional("allowed_destination", Kind::Choice(DESTINATION)),
        ]),
    ),
]);

/// Reads an entry that was checked.
pub(super) fn parse(entry: &Value) -> Publication {
    let keys = entry.member("key_exprs").and_then(Value::as_list).unwrap_or_default();
    let config = entry.member("config").unwrap_or(&Value::Null);
    Publication {
        key_exprs: keys.iter().filter_map(|key| key.as_text()?.parse().ok()).collect(),
        congestion_control: congestion_control(config),
        priority: priority(config),
        express: express(config),
        reliability: reliability(config),
        allowed_destination: chosen(config, "allowed_destination", DESTINATION)
            .map(|index| [Locality::SessionLocal, Locality::Remote, Locality::Any][index]),
    }
}

pub(super) fn congestion_control(config: &Value) -> Option<CongestionControl> {
    chosen(config, "congestion_control", CONGESTION).map(|index| {
        [CongestionControl::Drop, CongestionControl::Block, CongestionControl::BlockFirst][index]
    })
}

pub(super) fn priority(config: &Value) -> Option<Priority> {
    // The most urgent one, control, has no name here.
    chosen(config, "priority", PRIORITY).map(|index| Priority::ALL[index + 1])
}

pub(super) fn express(config: &Value) -> Option<bool> {
    config.member("express").map(|value| *value == Value::Bool(true))
}

pub(super) fn reliability(config: &Value) -> Option<Reliability> {
    chosen(config, "reliability", RELIABILITY)
        .map(|index| [Reliability::BestEffort, Reliability::Reliable][index])
}

fn chosen(config: &Value, member: &str, names: &[&str]) -> Option<usize> {
    let chosen = config.member(member).and_then(Value::as_text)?;
    names.iter().position(|name| *name == chosen)
}
