//! Rules as they are written, item by item, in types that hold no wrong words.
//!
//! Whether they fit together is for [`RuleSet`](crate::RuleSet) to say. Lists that may be left out are
//! options, because an empty list is a mistake and not the same.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use weft_keyexpr::KeyExpr;
use weft_wire::{CongestionControl, Priority, Qos, Reliability, ZenohId};

use crate::words::{Flow, LinkProtocol, MessageSet, Permission};

/// All rules of a node. None by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// `downsampling`.
    pub downsampling: Vec<Downsampling>,
    /// `access_control`.
    pub access: AccessControl,
    /// `qos/network`.
    pub qos: Vec<QosOverwrite>,
    /// `low_pass_filter`.
    pub low_pass: Vec<LowPass>,
}

/// Who may say what about which keys (03 §8.1).
#[derive(Clone, Debug, PartialEq)]
pub struct AccessControl {
    /// Whether it is in force at all.
    pub enabled: bool,
    /// What applies where no rule does.
    pub default: Permission,
    /// What may be said about which keys.
    pub rules: Option<Vec<AccessRule>>,
    /// To whom rules may apply.
    pub subjects: Option<Vec<Subject>>,
    /// Which rules apply to which subjects.
    pub policies: Option<Vec<Policy>>,
}

impl Default for AccessControl {
    fn default() -> Self {
        Self {
            enabled: false,
            default: Permission::Deny,
            rules: None,
            subjects: None,
            policies: None,
        }
    }
}

impl AccessControl {
    /// These rules for every neighbour.
    pub fn for_everybody(default: Permission, rules: Vec<AccessRule>) -> Self {
        const ID: &str = "everybody";
        let ids = rules.iter().map(|rule| rule.id.clone()).collect();
        let policy = Policy { id: None, rules: ids, subjects: Vec::from([ID.into()]) };
        Self {
            enabled: true,
            default,
            policies: Some(if rules.is_empty() { Vec::new() } else { Vec::from([policy]) }),
            rules: Some(rules),
            subjects: Some(Vec::from([Subject { id: ID.into(), ..Subject::default() }])),
        }
    }
}

/// One entry of `access_control/rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// Its name, unique among the rules.
    pub id: String,
    /// The keys: a deny rule takes what intersects one of them, an allow rule what one of them includes.
    pub key_exprs: Vec<KeyExpr>,
    /// The messages.
    pub messages: MessageSet,
    /// The directions; `None` is both.
    pub flows: Option<Vec<Flow>>,
    /// What it says.
    pub permission: Permission,
}

impl AccessRule {
    /// A rule for both directions.
    pub fn new(
        id: &str,
        permission: Permission,
        messages: MessageSet,
        key_exprs: impl IntoIterator<Item = KeyExpr>,
    ) -> Self {
        let key_exprs = key_exprs.into_iter().collect();
        Self { id: id.into(), key_exprs, messages, flows: None, permission }
    }

    /// The same for one direction.
    pub fn one_way(self, flow: Flow) -> Self {
        Self { flows: Some(Vec::from([flow])), ..self }
    }
}

/// One entry of `access_control/subjects`: neighbours with all of these properties. `None` is any
/// value, also one that is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its name, unique among the subjects.
    pub id: String,
    /// Network interfaces of this node.
    pub interfaces: Option<Vec<String>>,
    /// Common names of the neighbour's certificate.
    pub cert_common_names: Option<Vec<String>>,
    /// Names that the neighbour logged in with.
    pub usernames: Option<Vec<String>>,
    /// Protocols.
    pub link_protocols: Option<Vec<LinkProtocol>>,
    /// Identities.
    pub zids: Option<Vec<ZenohId>>,
}

/// One entry of `access_control/policies`: all of these rules apply to all of these subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name, unique among the policies that have one.
    pub id: Option<String>,
    /// Names of rules.
    pub rules: Vec<String>,
    /// Names of subjects.
    pub subjects: Vec<String>,
}

/// One entry of `downsampling` (03 §8.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Downsampling {
    /// Its name, unique among those that have one.
    pub id: Option<String>,
    /// Network interfaces: every link of the transport must have one of these.
    pub interfaces: Option<Vec<String>>,
    /// Protocols: some link of the transport must have one of these.
    pub link_protocols: Option<Vec<LinkProtocol>>,
    /// The directions; `None` is both.
    pub flows: Option<Vec<Flow>>,
    /// The messages, of [`MessageSet::DATA`].
    pub messages: MessageSet,
    /// How often messages on which keys may pass; the first rule with an intersecting key counts.
    pub rules: Vec<Rate>,
}

/// How often messages may pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// The keys, all together.
    pub key_expr: KeyExpr,
    /// Messages a second; 0 blocks all.
    pub freq: f64,
}

impl Rate {
    /// The least time between two messages, in microseconds; `None` if none may pass. A frequency that
    /// is too low for a number of microseconds waits as long as there are any.
    pub(crate) fn period_us(&self) -> Option<u64> {
        (self.freq > 0.0).then(|| (1e6 / self.freq) as u64)
    }
}

/// One entry of `low_pass_filter` (03 §8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowPass {
    /// Its name, unique among those that have one.
    pub id: Option<String>,
    /// Network interfaces: some link of the transport must have one of these.
    pub interfaces: Option<Vec<String>>,
    /// Protocols: some link of the transport must have one of these.
    pub link_protocols: Option<Vec<LinkProtocol>>,
    /// The directions; `None` is both.
    pub flows: Option<Vec<Flow>>,
    /// The messages, of [`MessageSet::DATA`].
    pub messages: MessageSet,
    /// The keys: those that one of them includes.
    pub key_exprs: Vec<KeyExpr>,
    /// Bytes of payload and attachment that may pass at most.
    pub size_limit: u64,
}

/// One entry of `qos/network` (03 §8.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosOverwrite {
    /// Its name, unique among those that have one.
    pub id: Option<String>,
    /// Identities of neighbours.
    pub zids: Option<Vec<ZenohId>>,
    /// Network interfaces: every link of the transport must have one of these.
    pub interfaces: Option<Vec<String>>,
    /// Protocols: some link of the transport must have one of these.
    pub link_protocols: Option<Vec<LinkProtocol>>,
    /// The directions; `None` is both.
    pub flows: Option<Vec<Flow>>,
    /// The messages, of [`MessageSet::CHANGEABLE`].
    pub messages: MessageSet,
    /// The keys: those that one of them includes; `None` is all.
    pub key_exprs: Option<Vec<KeyExpr>>,
    /// The quality of service that a message must have.
    pub qos: QosFilter,
    /// The length that its payload must have.
    pub payload_size: Option<SizeRange>,
    /// What becomes of it.
    pub overwrite: Overwrite,
}

/// The quality of service that a message must have; `None` is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosFilter {
    /// What happens where there is no room.
    pub congestion_control: Option<CongestionControl>,
    /// Its priority.
    pub priority: Option<Priority>,
    /// Whether it is sent at once.
    pub express: Option<bool>,
    /// Its channel.
    pub reliability: Option<Reliability>,
}

impl QosFilter {
    #[inline]
    pub(crate) fn matches(self, qos: Qos, reliability: Reliability) -> bool {
        self.congestion_control.is_none_or(|it| it == qos.congestion_control())
            && self.priority.is_none_or(|it| it == qos.priority())
            && self.express.is_none_or(|it| it == qos.express())
            && self.reliability.is_none_or(|it| it == reliability)
    }
}

/// A range of lengths in bytes, both ends included, as in `10..100`, `10..` or `..100`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeRange {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

impl SizeRange {
    /// Whether it has this length.
    #[inline]
    pub const fn contains(self, len: u64) -> bool {
        self.min <= len && len <= self.max
    }
}

/// A text that is no [`SizeRange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSizeRange;

impl fmt::Display for InvalidSizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a range of sizes is two numbers of bytes, such as `10..100`, `10..` or `..100`",
        )
    }
}

impl core::error::Error for InvalidSizeRange {}

impl FromStr for SizeRange {
    type Err = InvalidSizeRange;

    fn from_str(text: &str) -> Result<Self, InvalidSizeRange> {
        let (min, max) = text.split_once("..").ok_or(InvalidSizeRange)?;
        let bound = |text: &str, open: u64| match text {
            "" => Ok(open),
            text => text.parse().map_err(|_| InvalidSizeRange),
        };
        let range = Self { min: bound(min, 0)?, max: bound(max, u64::MAX)? };
        if range.min <= range.max { Ok(range) } else { Err(InvalidSizeRange) }
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (0, u64::MAX) => f.write_str("any number of bytes"),
            (min, u64::MAX) => write!(f, "at least {min} bytes"),
            (0, max) => write!(f, "at most {max} bytes"),
            (min, max) => write!(f, "{min} to {max} bytes"),
        }
    }
}

/// What becomes of a message's quality of service; `None` leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overwrite {
    /// Its priority.
    pub priority: Option<PriorityChange>,
    /// What happens where there is no room.
    pub congestion_control: Option<CongestionControl>,
    /// Whether it is sent at once.
    pub express: Option<bool>,
}

impl Overwrite {
    #[inline]
    pub(crate) fn apply(self, qos: Qos) -> Qos {
        let mut changed = qos;
        if let Some(change) = self.priority {
            changed = changed.with_priority(change.apply(qos.priority()));
        }
        if let Some(congestion) = self.congestion_control {
            changed = changed.with_congestion_control(congestion);
        }
        if let Some(express) = self.express {
            changed = changed.with_express(express);
        }
        changed
    }
}

/// Another priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityChange {
    /// This one.
    To(Priority),
    /// So many numbers less urgent, or more urgent if negative: -7 to 7. It ends at the least and the
    /// most urgent one for users.
    By(i8),
}

impl PriorityChange {
    #[inline]
    pub(crate) fn apply(self, priority: Priority) -> Priority {
        match self {
            Self::To(priority) => priority,
            Self::By(step) => {
                let (first, last) = (Priority::RealTime as i8, Priority::Background as i8);
                let number = (priority as i8).saturating_add(step).clamp(first, last);
                Priority::from_bits(number as u8)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_sizes_include_both_ends() {
        let range = |text: &str| text.parse::<SizeRange>();
        assert_eq!(range("10..100"), Ok(SizeRange { min: 10, max: 100 }));
        assert_eq!(range("..100"), Ok(SizeRange { min: 0, max: 100 }));
        assert_eq!(range("10.."), Ok(SizeRange { min: 10, max: u64::MAX }));
        for wrong in ["", "10", "9..3", "a..", "-1..3", "1...3", "1 .. 3"] {
            assert_eq!(range(wrong), Err(InvalidSizeRange), "{wrong}");
        }
        let range = range("3..4").unwrap();
        assert_eq!([2, 3, 4, 5].map(|len| range.contains(len)), [false, true, true, false]);
    }

    #[test]
    fn steps_of_priority_go_both_ways_and_end_where_users_priorities_do() {
        let by = |step, from| PriorityChange::By(step).apply(from);
        assert_eq!(by(1, Priority::Data), Priority::DataLow);
        assert_eq!(by(7, Priority::Data), Priority::Background);
        assert_eq!(by(-1, Priority::Data), Priority::DataHigh);
        assert_eq!(by(-7, Priority::Data), Priority::RealTime);
        assert_eq!(by(0, Priority::Data), Priority::Data);
    }

    #[test]
    fn a_frequency_is_a_period() {
        let period = |freq| Rate { key_expr: KeyExpr::new("a").unwrap(), freq }.period_us();
        assert_eq!(period(0.0), None);
        assert_eq!(period(5.0), Some(200_000));
        assert_eq!(period(0.5), Some(2_000_000));
        assert_eq!(period(f64::MIN_POSITIVE), Some(u64::MAX));
    }
}
