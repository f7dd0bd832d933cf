//! What values a configuration key takes.

use core::fmt;
use std::net::SocketAddr;

use weft_intercept::SizeRange;
use weft_keyexpr::Ke;
use weft_wire::{Endpoint, InitExts, WhatAmIMatcher, ZenohId};

use crate::value::Value;

/// The type of a configuration value. `Display` says what is expected. Null is always allowed: it means "not set".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Bool,
    /// An integer between two bounds, both included.
    Integer(i64, i64),
    /// A growth factor, at least 1.
    Factor,
    Text,
    /// Text that is never displayed.
    Secret,
    /// Text of 1 to this many bytes.
    Name(usize),
    Choice(&'static [&'static str]),
    Zid,
    SocketAddress,
    /// A key expression without wildcards.
    PlainKey,
    KeyExprs,
    /// Endpoints; with `groups` also `{strategy, locators}`.
    Endpoints {
        groups: bool,
    },
    /// A set of modes: a list or `router|peer`.
    Modes,
    /// As `Modes`, but never clients.
    GossipTargets,
    Texts,
    KeyExpr,
    Zids,
    /// A list of some of these.
    Choices(&'static [&'static str]),
    /// A number from 0.
    Frequency,
    /// Lengths in bytes, as in `10..100`.
    SizeRange,
    /// One of these, or a step from -7 to 7.
    PriorityChange(&'static [&'static str]),
    /// An object with these members.
    Record(&'static [Member]),
    /// A list of objects with these members.
    Entries(&'static [Member]),
    /// `auto`, or a list of objects with these members.
    AutoOrEntries(&'static [Member]),
    /// A list of names of regions.
    RegionNames,
    List,
    Object,
    Any,
}

/// A member of an object in a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    name: &'static str,
    kind: Kind,
    needed: bool,
}

impl Member {
    pub(super) const fn needed(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, needed: true }
    }

    pub(super) const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, needed: false }
    }
}

/// Why a value does not fit, and where within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Members and indexes from the value of the key to what does not fit.
    pub(super) path: Vec<String>,
    pub(super) problem: Problem,
    /// What the member takes, if it is one of an object.
    pub(super) expected: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Another kind of value.
    WrongType(&'static str),
    /// The right kind, but not this one.
    Invalid(String),
    /// The last part of the path is none of these.
    UnknownMember(Vec<&'static str>),
}

impl Misfit {
    fn new(problem: Problem) -> Self {
        Self { path: Vec::new(), problem, expected: None }
    }

    pub(super) fn wrong_type(value: &Value) -> Self {
        Self::new(Problem::WrongType(value.kind()))
    }

    pub(super) fn invalid(reason: impl fmt::Display) -> Self {
        Self::new(Problem::Invalid(reason.to_string()))
    }

    pub(super) fn unknown_member(name: &str, known: &[&'static str]) -> Self {
        Self::new(Problem::UnknownMember(known.to_vec())).within(name)
    }

    /// Names what is expected, unless something within it is at fault.
    fn expecting(mut self, kind: Kind) -> Self {
        self.expected.get_or_insert_with(|| kind.to_string());
        self
    }

    pub(super) fn within(mut self, member: impl fmt::Display) -> Self {
        self.path.insert(0, member.to_string());
        self
    }
}

impl Kind {
    /// Whether values are plain text, so that the command line takes them without quotes.
    pub(super) const fn is_text(self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Secret
                | Self::Name(_)
                | Self::Choice(_)
                | Self::Zid
                | Self::SocketAddress
                | Self::PlainKey
                | Self::KeyExpr
                | Self::SizeRange
                | Self::Modes
                | Self::GossipTargets
        )
    }

    /// Whether values have members that are not keys of the table.
    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Any | Self::Object)
    }

    /// Checks a value that is not null.
    pub(super) fn check(self, value: &Value) -> Result<(), Misfit> {
        let text = || value.as_text().ok_or_else(|| Misfit::wrong_type(value));
        let list = || value.as_list().ok_or_else(|| Misfit::wrong_type(value));
        match self {
            Self::Any => Ok(()),
            Self::Bool => require(matches!(value, Value::Bool(_)), value),
            Self::Integer(min, max) => check_integer(value, min, max),
            Self::Factor => check_factor(value),
            Self::Text | Self::Secret => text().map(drop),
            Self::Name(max) => match text()?.len() {
                len if (1..=max).contains(&len) => Ok(()),
                len => Err(Misfit::invalid(format_args!("it has {len} bytes"))),
            },
            Self::Choice(choices) => match text()? {
                text if choices.contains(&text) => Ok(()),
                text => Err(Misfit::invalid(format_args!("there is no `{text}`"))),
            },
            Self::Zid => parses::<ZenohId>(text()?),
            Self::SocketAddress => parses::<SocketAddr>(text()?),
            Self::PlainKey => check_plain_key(text()?),
            Self::KeyExpr => Ke::new(text()?).map(drop).map_err(Misfit::invalid),
            Self::KeyExprs => each(list()?, |item| Self::KeyExpr.check(item)),
            Self::Zids => each(list()?, |item| Self::Zid.check(item)),
            Self::Choices(choices) => each(list()?, |item| Self::Choice(choices).check(item)),
            Self::Frequency => check_frequency(value),
            Self::SizeRange => parses::<SizeRange>(text()?),
            Self::PriorityChange(_) if value.as_integer().is_some() => check_integer(value, -7, 7),
            Self::PriorityChange(choices) => Self::Choice(choices).check(value),
            Self::Record(members) => check_record(members, value),
            Self::Entries(members) => each(list()?, |item| check_record(members, item)),
            Self::Endpoints { groups } => each(list()?, |item| check_endpoint(item, groups)),
            Self::Modes | Self::GossipTargets => check_modes(self, value),
            Self::Texts => each(list()?, |item| require(item.as_text().is_some(), item)),
            Self::List => list().map(drop),
            Self::Object => require(matches!(value, Value::Map(_)), value),
            Self::RegionNames => {
                each(list()?, |item| Self::Name(InitExts::REGION_NAME_LEN_MAX).check(item))
            }
            Self::AutoOrEntries(members) => match value.as_text() {
                Some("auto") => Ok(()),
                Some(text) => Err(Misfit::invalid(format_args!("there is no `{text}`"))),
                None => each(list()?, |item| check_record(members, item)),
            },
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Bool => "true or false",
            Self::Integer(min, i64::MAX) => return write!(f, "an integer from {min}"),
            Self::Integer(min, max) => return write!(f, "an integer from {min} to {max}"),
            Self::Factor => "a number from 1",
            Self::Text | Self::Secret => "a string",
            Self::Name(max) => return write!(f, "a string of 1 to {max} bytes"),
            Self::Choice(choices) => return f.write_str(&quoted(choices)),
            Self::Choices(choices) => return write!(f, "a list of {}", quoted(choices)),
            Self::PriorityChange(choices) => {
                return write!(f, "{} or a step from -7 to 7", quoted(choices));
            }
            Self::Record(members) => return write!(f, "{{{}}}", names(members)),
            Self::Entries(members) => return write!(f, "a list of {{{}}}", names(members)),
            Self::KeyExpr => "a key expression",
            Self::Zids => "a list of node ids",
            Self::Frequency => "a number from 0",
            Self::SizeRange => "a string with a range, such as \"10..100\"",
            Self::Zid => "a string of 1 to 32 lower-case hexadecimal digits without leading zeros",
            Self::SocketAddress => {
                "a string with an address and a port, such as \"224.0.0.224:7446\""
            }
            Self::PlainKey => "a key expression without wildcards",
            Self::KeyExprs => "a list of key expressions",
            Self::Endpoints { .. } => "a list of endpoints, such as [\"tcp/localhost:7447\"]",
            Self::Modes => "a list of modes, such as [\"router\", \"peer\"]",
            Self::GossipTargets => "a list of the modes \"router\" and \"peer\"",
            Self::Texts => "a list of strings",
            Self::List => "a list",
            Self::Object => "an object",
            Self::RegionNames => "a list of names of 1 to 32 bytes",
            Self::AutoOrEntries(members) => {
                return write!(f, "\"auto\" or a list of {{{}}}", names(members));
            }
            Self::Any => "any value",
        };
        f.write_str(text)
    }
}

fn quoted(choices: &[&str]) -> String {
    let choices: Vec<_> = choices.iter().map(|choice| format!("{choice:?}")).collect();
    choices.join(" or ")
}

fn names(members: &[Member]) -> String {
    let names: Vec<_> = members.iter().map(|member| member.name).collect();
    names.join(", ")
}

/// The modes in a list of names or in `router|peer`; `None` if it is neither.
pub(super) fn modes(value: &Value) -> Option<WhatAmIMatcher> {
    match value {
        Value::List(items) => {
            let mut names = items.iter().map(Value::as_text);
            names.try_fold(WhatAmIMatcher::EMPTY, |modes, name| {
                let mode: weft_wire::WhatAmI = name?.parse().ok()?;
                Some(modes | mode)
            })
        }
        value => value.as_text()?.parse().ok(),
    }
}

/// The endpoints of an entry of a list: one, or those of a group.
pub(super) fn endpoints(entry: &Value) -> Vec<Endpoint> {
    let locators = entry.member("locators").and_then(Value::as_list);
    let texts = locators.unwrap_or(core::slice::from_ref(entry)).iter();
    texts.filter_map(|text| text.as_text()?.parse().ok()).collect()
}

fn require(fits: bool, value: &Value) -> Result<(), Misfit> {
    if fits { Ok(()) } else { Err(Misfit::wrong_type(value)) }
}

fn parses<T: core::str::FromStr<Err: fmt::Display>>(text: &str) -> Result<(), Misfit> {
    match text.parse::<T>() {
        Ok(_) => Ok(()),
        Err(error) => Err(Misfit::invalid(error)),
    }
}

fn each(items: &[Value], check: impl Fn(&Value) -> Result<(), Misfit>) -> Result<(), Misfit> {
    for (index, item) in items.iter().enumerate() {
        check(item).map_err(|misfit| misfit.within(index))?;
    }
    Ok(())
}

fn check_integer(value: &Value, min: i64, max: i64) -> Result<(), Misfit> {
    let Some(integer) = value.as_integer() else {
        return Err(Misfit::wrong_type(value));
    };
    if (i128::from(min)..=i128::from(max)).contains(&integer) {
        return Ok(());
    }
    Err(Misfit::invalid(format_args!("{integer} is out of range")))
}

fn check_frequency(value: &Value) -> Result<(), Misfit> {
    let zero = value.compare(&Value::Uint(0));
    match zero.ok_or_else(|| Misfit::wrong_type(value))? {
        core::cmp::Ordering::Less => Err(Misfit::invalid("it is negative")),
        _ => Ok(()),
    }
}

fn check_record(members: &[Member], value: &Value) -> Result<(), Misfit> {
    let Value::Map(values) = value else { return Err(Misfit::wrong_type(value)) };
    for (name, value) in values {
        let name = name.as_text().unwrap_or_default();
        let Some(member) = members.iter().find(|member| member.name == name) else {
            let names: Vec<_> = members.iter().map(|member| member.name).collect();
            return Err(Misfit::unknown_member(name, &names));
        };
        // Null means "not set", as for a key.
        if *value != Value::Null || member.needed {
            let checked = member.kind.check(value);
            checked.map_err(|misfit| misfit.expecting(member.kind).within(name))?;
        }
    }
    let missing = |member: &&Member| member.needed && value.member(member.name).is_none();
    match members.iter().find(missing) {
        Some(member) => Err(Misfit::invalid(format_args!("an entry needs `{}`", member.name))),
        None => Ok(()),
    }
}

fn check_factor(value: &Value) -> Result<(), Misfit> {
    let one = value.compare(&Value::Uint(1));
    match one.ok_or_else(|| Misfit::wrong_type(value))? {
        core::cmp::Ordering::Less => Err(Misfit::invalid("it would make delays shorter")),
        _ => Ok(()),
    }
}

fn check_plain_key(text: &str) -> Result<(), Misfit> {
    match Ke::new(text) {
        Ok(key) if key.is_wild() => Err(Misfit::invalid("it has a wildcard")),
        Ok(_) => Ok(()),
        Err(error) => Err(Misfit::invalid(error)),
    }
}

fn check_endpoint(entry: &Value, groups: bool) -> Result<(), Misfit> {
    let Value::Map(members) = entry else {
        let text = entry.as_text().ok_or_else(|| Misfit::wrong_type(entry))?;
        return parses::<Endpoint>(text);
    };
    require(groups, entry)?;
    for (key, value) in members {
        let key = key.as_text().unwrap_or_default();
        let checked = match key {
            "strategy" => Kind::Choice(&["allOf", "oneOf"]).check(value),
            "locators" => Kind::Endpoints { groups: false }.check(value),
            _ => return Err(Misfit::unknown_member(key, &["strategy", "locators"])),
        };
        checked.map_err(|misfit| misfit.within(key))?;
    }
    if entry.member("locators").is_none() {
        return Err(Misfit::invalid("a group needs `locators`"));
    }
    Ok(())
}

fn check_modes(kind: Kind, value: &Value) -> Result<(), Misfit> {
    if !matches!(value, Value::List(_) | Value::Text(_)) {
        return Err(Misfit::wrong_type(value));
    }
    let modes = modes(value)
        .ok_or_else(|| Misfit::invalid("a mode is \"router\", \"peer\" or \"client\""))?;
    if kind == Kind::GossipTargets && modes.matches(weft_wire::WhatAmI::Client) {
        return Err(Misfit::invalid("clients take no gossip"));
    }
    Ok(())
}
