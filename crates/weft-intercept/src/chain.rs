//! The interceptors of one transport in one direction.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use weft_keyexpr::{Ke, KeyExpr};

use crate::access::Access;
use crate::check::RuleSet;
use crate::gate::{Drops, Gate, Limiter, Message, PUSHES, PushGate};
use crate::rules::QosOverwrite;
use crate::transport::{Selective, TransportFacts};
use crate::words::{Flow, MessageKind, MessageSet};

/// What the rules of a node say about one direction of one transport.
#[derive(Clone, Debug)]
pub struct Chain {
    downsampling: Vec<Downsampler>,
    access: Option<Access>,
    overwrites: Vec<Arc<QosOverwrite>>,
    low_pass: Vec<SizeLimit>,
    /// Messages of other kinds pass unseen.
    judged: MessageSet,
    drops: Arc<Drops>,
}

#[derive(Clone, Debug)]
struct Downsampler {
    messages: MessageSet,
    rules: Vec<(KeyExpr, Arc<Limiter>)>,
}

#[derive(Clone, Debug)]
struct SizeLimit {
    messages: MessageSet,
    key_exprs: Vec<KeyExpr>,
    size_max: u64,
}

impl Chain {
    /// The chain of a transport that has just opened, or whose rules have just changed: all rates begin
    /// anew. Refused messages are counted in `drops`. `None` if no message is touched.
    pub fn new(
        rules: &RuleSet,
        facts: &TransportFacts,
        flow: Flow,
        drops: Arc<Drops>,
    ) -> Option<Self> {
        if facts.multicast {
            return None;
        }
        let rules = rules.rules();
        let selected = rules.downsampling.iter().filter(|item| item.selects(facts, flow));
        let downsampling = selected.map(|item| Downsampler {
            messages: item.messages,
            rules: item
                .rules
                .iter()
                .map(|rate| (rate.key_expr.clone(), Arc::new(Limiter::new(rate))))
                .collect(),
        });
        let selected = rules.low_pass.iter().filter(|item| item.selects(facts, flow));
        let low_pass = selected.map(|item| SizeLimit {
            messages: item.messages,
            key_exprs: item.key_exprs.clone(),
            size_max: item.size_limit,
        });
        let overwrites = rules.qos.iter().filter(|item| item.selects(facts, flow));
        let mut chain = Self {
            downsampling: downsampling.collect(),
            access: Access::new(&rules.access, facts, flow),
            overwrites: overwrites.cloned().map(Arc::new).collect(),
            low_pass: low_pass.collect(),
            judged: MessageSet::EMPTY,
            drops,
        };
        chain.judged = chain.find_judged();
        (!chain.judged.is_empty()).then_some(chain)
    }

    fn find_judged(&self) -> MessageSet {
        let downsampled = self.downsampling.iter().map(|it| it.messages);
        let limited = self.low_pass.iter().map(|it| it.messages);
        let changed = self.overwrites.iter().map(|it| it.messages);
        let shaped =
            downsampled.chain(limited).chain(changed).fold(MessageSet::EMPTY, MessageSet::or);
        let judges = |kind: MessageKind| self.access.as_ref().is_some_and(|it| it.judges(kind));
        shaped.or(MessageKind::ALL.iter().copied().filter(|kind| judges(*kind)).collect())
    }

    /// Whether anything may happen to messages of `kind`.
    #[inline]
    pub const fn judges(&self, kind: MessageKind) -> bool {
        self.judged.contains(kind)
    }

    /// The gate of messages of `kind` on `key`; `None` if it stands open.
    ///
    /// Cost: the rules of access control that intersect or include the key, and all other items.
    pub fn gate(&self, kind: MessageKind, key: Ke<'_>) -> Option<Gate> {
        if !self.judges(kind) {
            return None;
        }
        let includes = |keys: &[KeyExpr]| keys.iter().any(|it| it.includes(key));
        // Of several rules of an item, the first one counts.
        let limiter = |item: &Downsampler| {
            let rule = item.rules.iter().find(|(rule, _)| rule.intersects(key));
            rule.map(|(_, limiter)| Arc::clone(limiter))
        };
        let limits = self.low_pass.iter().filter(|it| it.messages.contains(kind));
        let overwrites = self.overwrites.iter().filter(|it| {
            it.messages.contains(kind) && it.key_exprs.as_deref().is_none_or(includes)
        });
        let downsampling = self.downsampling.iter().filter(|it| it.messages.contains(kind));
        let gate = Gate {
            kind,
            limiters: downsampling.filter_map(limiter).collect(),
            allowed: self.access.as_ref().is_none_or(|access| access.allows(kind, key)),
            overwrites: overwrites.cloned().collect(),
            size_max: limits.filter(|it| includes(&it.key_exprs)).map(|it| it.size_max).min(),
            drops: Arc::clone(&self.drops),
        };
        (!gate.is_open()).then_some(gate)
    }

    /// The gates of samples on `key`; `None` if they stand open.
    pub fn push_gate(&self, key: Ke<'_>) -> Option<Box<PushGate>> {
        let [put, delete] = PUSHES.map(|kind| self.gate(kind, key));
        PushGate::boxed(put, delete)
    }

    /// Whether a declaration or interest passes; counted if not.
    pub fn admits(&self, kind: MessageKind, key: Ke<'_>) -> bool {
        let gate = self.gate(kind, key);
        gate.is_none_or(|gate| gate.admit(&Message::declaration(), || 0).is_some())
    }
}
