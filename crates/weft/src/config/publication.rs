//! What `qos/publication` says about publications, in place of what the application says.
//!
//! Spec: 03 §8.4.

use weft_keyexpr::{Ke, KeyExpr};
use weft_node::Locality;
use weft_wire::{CongestionControl, Priority, Reliability};

use super::kind::{Kind, Misfit};
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

const CONGESTION: &[&str] = &["drop", "block", "block_first"];
const PRIORITY: &[&str] = &[
    "real_time",
    "interactive_high",
    "interactive_low",
    "data_high",
    "data",
    "data_low",
    "background",
];
const RELIABILITY: &[&str] = &["best_effort", "reliable"];
const DESTINATION: &[&str] = &["session_local", "remote", "any"];

const MEMBERS: &[&str] = &["key_exprs", "config"];
const SETTINGS: &[&str] =
    &["congestion_control", "priority", "express", "reliability", "allowed_destination"];

/// Checks one entry of the list.
pub(super) fn check(entry: &Value) -> Result<(), Misfit> {
    each_member(entry, MEMBERS, |name, value| match name {
        "key_exprs" => Kind::KeyExprs.check(value),
        _ => each_member(value, SETTINGS, |name, value| match name {
            "congestion_control" => Kind::Choice(CONGESTION).check(value),
            "priority" => Kind::Choice(PRIORITY).check(value),
            "express" => Kind::Bool.check(value),
            "reliability" => Kind::Choice(RELIABILITY).check(value),
            _ => Kind::Choice(DESTINATION).check(value),
        }),
    })?;
    match MEMBERS.iter().find(|name| entry.member(name).is_none()) {
        Some(name) => Err(Misfit::invalid(format_args!("an entry needs `{name}`"))),
        None => Ok(()),
    }
}

fn each_member(
    value: &Value,
    names: &'static [&'static str],
    check: impl Fn(&str, &Value) -> Result<(), Misfit>,
) -> Result<(), Misfit> {
    let Value::Map(members) = value else { return Err(Misfit::wrong_type(value)) };
    for (name, value) in members {
        let name = name.as_text().unwrap_or_default();
        if !names.contains(&name) {
            return Err(Misfit::unknown_member(name, names));
        }
        check(name, value).map_err(|misfit| misfit.within(name))?;
    }
    Ok(())
}

/// Reads an entry that was checked.
pub(super) fn parse(entry: &Value) -> Publication {
    let keys = entry.member("key_exprs").and_then(Value::as_list).unwrap_or_default();
    let setting = |name| entry.member("config").and_then(|config| config.member(name));
    let chosen = |name, names: &[&str]| {
        let chosen = setting(name).and_then(Value::as_text)?;
        names.iter().position(|name| *name == chosen)
    };
    Publication {
        key_exprs: keys.iter().filter_map(|key| key.as_text()?.parse().ok()).collect(),
        congestion_control: chosen("congestion_control", CONGESTION).map(|index| {
            [CongestionControl::Drop, CongestionControl::Block, CongestionControl::BlockFirst]
                [index]
        }),
        // The most urgent one, control, has no name here.
        priority: chosen("priority", PRIORITY).map(|index| Priority::ALL[index + 1]),
        express: setting("express").map(|value| *value == Value::Bool(true)),
        reliability: chosen("reliability", RELIABILITY)
            .map(|index| [Reliability::BestEffort, Reliability::Reliable][index]),
        allowed_destination: chosen("allowed_destination", DESTINATION)
            .map(|index| [Locality::SessionLocal, Locality::Remote, Locality::Any][index]),
    }
}
