//! Decisions about messages on one key, and the count of those that were refused.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use weft_wire::{Priority, Push, PushBody, Qos, Query, Reliability, ResponseBody};

use crate::rules::{QosOverwrite, Rate};
use crate::sizes::{SizeCells, Sizes};
use crate::words::MessageKind;

/// What a decision needs to know of a message besides its kind and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its quality of service.
    pub qos: Qos,
    /// Its channel.
    pub reliability: Reliability,
    /// Bytes of its payload.
    pub payload_len: usize,
    /// Bytes of its attachment.
    pub attachment_len: usize,
}

impl Message {
    fn new(qos: Qos, reliability: Reliability, payload: &[u8], attachment: Option<&[u8]>) -> Self {
        let attachment_len = attachment.map_or(0, <[u8]>::len);
        Self { qos, reliability, payload_len: payload.len(), attachment_len }
    }

    /// A sample, whose body is decoded.
    #[inline]
    pub fn push(push: &Push<'_>, reliability: Reliability) -> Self {
        let (payload, attachment) = sample(&push.body);
        Self::new(push.qos, reliability, payload, attachment)
    }

    /// A query.
    pub fn query(query: &Query<'_>, qos: Qos) -> Self {
        let payload = query.body.map_or(&[][..], |body| body.payload);
        Self::new(qos, Reliability::Reliable, payload, query.attachment)
    }

    /// An answer to a query, whose body is decoded.
    pub fn reply(body: &ResponseBody<'_>, qos: Qos) -> Self {
        let (payload, attachment) = match body {
            ResponseBody::Reply(reply) => sample(&reply.body),
            ResponseBody::Err(error) => (error.payload, None),
            ResponseBody::Raw(bytes) => (*bytes, None),
        };
        Self::new(qos, Reliability::Reliable, payload, attachment)
    }

    /// Something without a payload, such as a declaration.
    pub const fn declaration() -> Self {
        let reliability = Reliability::Reliable;
        Self { qos: Qos::DECLARE, reliability, payload_len: 0, attachment_len: 0 }
    }

    /// All bytes that count for the low-pass filter.
    #[inline]
    const fn len(&self) -> u64 {
        (self.payload_len + self.attachment_len) as u64
    }
}

#[inline]
fn sample<'a>(body: &PushBody<'a>) -> (&'a [u8], Option<&'a [u8]>) {
    match body {
        PushBody::Put(put) => (put.payload, put.attachment),
        PushBody::Del(del) => (&[], del.attachment),
    }
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A rule or the default permission.
    AccessControl,
    /// It came too soon after another one.
    Downsampling,
    /// It is too large.
    LowPass,
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::AccessControl, Self::Downsampling, Self::LowPass];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AccessControl => "access-control",
            Self::Downsampling => "downsampling",
            Self::LowPass => "low-pass",
        }
    }
}

/// How many messages of one neighbour and direction were refused. Shared by all who decide.
#[derive(Debug, Default)]
pub struct Drops {
    counts: [AtomicU64; DropReason::ALL.len()],
    /// By reason, kind and priority; none if sizes do not count.
    sizes: Option<Box<[SizeCells; SIZES]>>,
}

/// Kinds of messages with a payload.
const SIZED: [MessageKind; 4] =
    [MessageKind::Put, MessageKind::Delete, MessageKind::Query, MessageKind::Reply];
const PRIORITIES: usize = 8;
const SIZES: usize = DropReason::ALL.len() * SIZED.len() * PRIORITIES;

/// How large the payloads were that were refused for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedSizes {
    /// Why.
    pub reason: DropReason,
    /// What: a put, a deletion, a query or a reply.
    pub kind: MessageKind,
    /// How urgent.
    pub priority: Priority,
    /// How large.
    pub sizes: Sizes,
}

/// How many messages were refused, for which reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// By a rule or the default permission.
    pub access_control: u64,
    /// Because they came too soon after another one.
    pub downsampling: u64,
    /// Because they were too large.
    pub low_pass: u64,
}

impl Drops {
    /// Counts the sizes of payloads, too: 7 KiB.
    pub fn with_sizes() -> Self {
        let sizes = Some(Box::new(core::array::from_fn(|_| SizeCells::default())));
        Self { sizes, ..Self::default() }
    }

    /// Counts one.
    pub(crate) fn add(&self, reason: DropReason, kind: MessageKind, message: &Message) {
        self.counts[reason as usize].fetch_add(1, Ordering::Relaxed);
        if let (Some(sizes), Some(kind)) =
            (&self.sizes, SIZED.iter().position(|sized| *sized == kind))
        {
            let row = reason as usize * SIZED.len() + kind;
            let priority = message.qos.priority() as usize;
            sizes[row * PRIORITIES + priority].add_shared(message.payload_len);
        }
    }

    /// The sizes of payloads so far, as far as there were any.
    pub fn sizes(&self) -> impl Iterator<Item = DroppedSizes> + '_ {
        let cells = self.sizes.iter().flat_map(|cells| cells.iter().enumerate());
        let counted = cells.map(|(index, cell)| DroppedSizes {
            reason: DropReason::ALL[index / PRIORITIES / SIZED.len()],
            kind: SIZED[index / PRIORITIES % SIZED.len()],
            priority: Priority::from_bits((index % PRIORITIES) as u8),
            sizes: cell.load(),
        });
        counted.filter(|it| it.sizes.count() > 0)
    }

    /// The counts so far.
    pub fn counts(&self) -> DropCounts {
        let [access_control, downsampling, low_pass] =
            [0, 1, 2].map(|index| self.counts[index].load(Ordering::Relaxed));
        DropCounts { access_control, downsampling, low_pass }
    }
}

/// The state of one downsampling rule for one neighbour and direction.
#[derive(Debug)]
pub(crate) struct Limiter {
    period_us: Option<u64>,
    /// From when on the next message passes.
    next_us: AtomicU64,
}

impl Limiter {
    pub(crate) fn new(rate: &Rate) -> Self {
        Self { period_us: rate.period_us(), next_us: AtomicU64::new(0) }
    }

    /// Whether a message passes now, which takes the place of those right after it. Of two threads at
    /// the same moment, one passes.
    fn passes(&self, now_us: u64) -> bool {
        let Some(period_us) = self.period_us else { return false };
        let taken = self.next_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next_us| {
            (next_us <= now_us).then(|| now_us.saturating_add(period_us))
        });
        taken.is_ok()
    }
}

/// Everything that the rules say about messages of one kind on one key in one direction of one
/// transport. Kept with routes; made by [`Chain::gate`](crate::Chain::gate).
#[derive(Clone, Debug)]
pub struct Gate {
    pub(crate) kind: MessageKind,
    pub(crate) limiters: Vec<Arc<Limiter>>,
    pub(crate) allowed: bool,
    pub(crate) overwrites: Vec<Arc<QosOverwrite>>,
    pub(crate) size_max: Option<u64>,
    pub(crate) drops: Arc<Drops>,
}

impl Gate {
    /// Lets a message through with the QoS that it has from here on, or refuses and counts it. The
    /// time, in microseconds from any origin, is asked for only if a rate is limited.
    ///
    /// Cost: a comparison for each part that the gate has; no lock, no allocation.
    pub fn admit(&self, message: &Message, now_us: impl FnOnce() -> u64) -> Option<Qos> {
        match self.judge(message, now_us) {
            Ok(qos) => Some(qos),
            Err(reason) => {
                self.drops.add(reason, self.kind, message);
                None
            }
        }
    }

    fn judge(&self, message: &Message, now_us: impl FnOnce() -> u64) -> Result<Qos, DropReason> {
        if !self.limiters.is_empty() {
            let now_us = now_us();
            if !self.limiters.iter().all(|limiter| limiter.passes(now_us)) {
                return Err(DropReason::Downsampling);
            }
        }
        if !self.allowed {
            return Err(DropReason::AccessControl);
        }
        let qos = self.overwrites.iter().fold(message.qos, |qos, item| {
            let fits = item.qos.matches(qos, message.reliability)
                && item.payload_size.is_none_or(|it| it.contains(message.payload_len as u64));
            if fits { item.overwrite.apply(qos) } else { qos }
        });
        if self.size_max.is_some_and(|max| message.len() > max) {
            return Err(DropReason::LowPass);
        }
        Ok(qos)
    }

    /// What it asks of a message.
    fn view(&self) -> GateView {
        GateView {
            allowed: self.allowed,
            rates: self.limiters.len(),
            overwrites: self.overwrites.len(),
            size_max: self.size_max,
        }
    }

    /// Whether every message passes as it is.
    pub(crate) fn is_open(&self) -> bool {
        self.limiters.is_empty()
            && self.allowed
            && self.overwrites.is_empty()
            && self.size_max.is_none()
    }

    /// Estimated memory, in bytes.
    fn memory(&self) -> usize {
        let parts = self.limiters.len() + self.overwrites.len();
        size_of::<Self>() + parts * size_of::<usize>()
    }
}

/// What a gate asks of a message, for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateView {
    /// Access control lets it pass.
    pub allowed: bool,
    /// How many rates are limited.
    pub rates: usize,
    /// How many rules may change its QoS.
    pub overwrites: usize,
    /// The most bytes that it may have.
    pub size_max: Option<u64>,
}

/// The gates of samples on one key: puts and deletions.
#[derive(Clone, Debug)]
pub struct PushGate {
    pub(crate) put: Option<Gate>,
    pub(crate) delete: Option<Gate>,
}

impl PushGate {
    /// As [`Gate::admit`], for a sample whose body is decoded.
    pub fn admit(
        &self,
        push: &Push<'_>,
        reliability: Reliability,
        now_us: impl FnOnce() -> u64,
    ) -> Option<Qos> {
        let gate = match push.body {
            PushBody::Del(_) => &self.delete,
            PushBody::Put(_) => &self.put,
        };
        match gate {
            None => Some(push.qos),
            Some(gate) => gate.admit(&Message::push(push, reliability), now_us),
        }
    }

    /// As [`PushGate::admit`]; where there is no gate, everything passes at the cost of a branch.
    #[inline]
    pub fn admit_at(
        gate: Option<&Self>,
        push: &Push<'_>,
        reliability: Reliability,
        now_us: impl FnOnce() -> u64,
    ) -> Option<Qos> {
        match gate {
            None => Some(push.qos),
            Some(gate) => gate.admit(push, reliability, now_us),
        }
    }

    /// What is asked of a put; `None` if every one passes.
    pub fn put(&self) -> Option<GateView> {
        self.put.as_ref().map(Gate::view)
    }

    /// `None` if both are open.
    pub(crate) fn boxed(put: Option<Gate>, delete: Option<Gate>) -> Option<Box<Self>> {
        (put.is_some() || delete.is_some()).then(|| Box::new(Self { put, delete }))
    }

    /// Estimated memory, in bytes.
    pub fn memory(&self) -> usize {
        self.put.iter().chain(&self.delete).map(Gate::memory).sum()
    }
}

/// The kind of a sample.
pub(crate) const PUSHES: [MessageKind; 2] = [MessageKind::Put, MessageKind::Delete];
