//! Routes with everything resolved that a message needs: callbacks and senders instead of ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use weft_keyexpr::KeyExpr;
use weft_node::{CachedRoute, PushGate, RouteExpr, Validity};
use weft_wire::{Encoding, Push, PushBody, Qos, Reliability, RoutedPush, SourceInfo, Timestamp};

use crate::barrier::order_all_threads;
use crate::clock::now_us;
use crate::duty::{Crew, Post, calling, is_calling};
use crate::meter::{Content, Tally};
use crate::transport::Transport;
use crate::wait::Interruption;

/// A sample as it is delivered: everything borrowed, from the receive buffer or the publisher.
#[derive(Clone, Copy, Debug)]
pub struct SampleView<'a> {
    /// The key expression it was published on.
    pub key: &'a KeyExpr,
    /// The message that carries it; its key does not count.
    pub push: &'a Push<'a>,
    /// The channel it came on.
    pub reliability: Reliability,
    /// What holds its bytes, if that can be shared: cloned by whoever keeps a large payload.
    pub buffer: Option<&'a Arc<Vec<u8>>>,
}

impl<'a> SampleView<'a> {
    /// The value; `None` is a deletion.
    #[inline]
    pub const fn payload(&self) -> Option<&'a [u8]> {
        match &self.push.body {
            PushBody::Put(put) => Some(put.payload),
            PushBody::Del(_) => None,
        }
    }

    /// How the payload is to be read.
    #[inline]
    pub const fn encoding(&self) -> Encoding<'a> {
        match &self.push.body {
            PushBody::Put(put) => put.encoding,
            PushBody::Del(_) => Encoding::DEFAULT,
        }
    }

    /// When it was published, if anybody stamped it.
    #[inline]
    pub const fn timestamp(&self) -> Option<Timestamp> {
        match &self.push.body {
            PushBody::Put(put) => put.timestamp,
            PushBody::Del(del) => del.timestamp,
        }
    }

    /// What the publisher added.
    #[inline]
    pub const fn attachment(&self) -> Option<&'a [u8]> {
        match &self.push.body {
            PushBody::Put(put) => put.attachment,
            PushBody::Del(del) => del.attachment,
        }
    }

    /// Who published it as which number, if the publisher said so.
    #[inline]
    pub const fn source_info(&self) -> Option<SourceInfo> {
        match &self.push.body {
            PushBody::Put(put) => put.source_info,
            PushBody::Del(del) => del.source_info,
        }
    }
}

/// What a subscriber does with a sample. Called on the thread that received or published it.
pub type SampleCallback = Box<dyn Fn(&SampleView<'_>) + Send + Sync>;

/// A subscriber of this session.
pub(crate) struct Local {
    callback: SampleCallback,
    /// Deliveries of publications of this very session that are under way.
    publishing: AtomicUsize,
    closed: AtomicBool,
}

impl Local {
    pub(crate) fn new(callback: SampleCallback) -> Self {
        Self { callback, publishing: AtomicUsize::new(0), closed: AtomicBool::new(false) }
    }

    /// Delivers a received sample, on the thread of `post`.
    #[inline]
    pub(crate) fn deliver(&self, sample: &SampleView<'_>, post: &Post) {
        post.call(self.address(), &self.closed, || (self.callback)(sample));
    }

    /// Delivers a sample of this session, on the publishing thread.
    pub(crate) fn deliver_own(&self, sample: &SampleView<'_>) {
        self.publishing.fetch_add(1, Ordering::SeqCst);
        if !self.closed.load(Ordering::SeqCst) {
            calling(|| (self.callback)(sample));
        }
        self.publishing.fetch_sub(1, Ordering::SeqCst);
    }

    /// No further delivery begins.
    pub(crate) fn end(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// No further delivery begins. Waits for those under way, unless the calling thread is in a
    /// handler itself.
    pub(crate) fn close(&self, crew: &Crew) {
        const PAUSE_MIN: Duration = Duration::from_micros(20);
        const PAUSE_MAX: Duration = Duration::from_millis(2);
        self.end();
        if is_calling() {
            return;
        }
        order_all_threads();
        let mut pause = PAUSE_MIN;
        let mut interruption = Interruption::new();
        while self.publishing.load(Ordering::SeqCst) > 0 || crew.is_calling(self.address()) {
            if interruption.is_interrupted() {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// One neighbour that gets the sample.
pub(crate) struct RouteHop {
    pub(crate) transport: Arc<Transport>,
    pub(crate) expr: RouteExpr,
    /// Where a sample entered the neighbour's network; 0 if it does here, or there is none.
    pub(crate) node_id: u16,
    /// What is asked and counted of the sample on this way.
    pub(crate) checks: Checks,
}

/// What is asked and counted of the samples of a route; `None` where all pass and none counts, which is all
/// that most samples find.
pub(crate) type Checks = Option<Box<Checked>>;

/// See [`Checks`].
pub(crate) struct Checked {
    /// What rules say; `None` where all pass.
    pub(crate) gate: Option<Box<PushGate>>,
    /// Where sizes count, if they do.
    pub(crate) tally: Option<Tally>,
}

impl Checked {
    pub(crate) fn new(gate: Option<Box<PushGate>>, tally: Option<Tally>) -> Checks {
        (gate.is_some() || tally.is_some()).then(|| Box::new(Self { gate, tally }))
    }

    /// The QoS that a sample goes on with; `None` if rules keep it back.
    pub(crate) fn admit(&self, push: &Push<'_>, reliability: Reliability) -> Option<Qos> {
        PushGate::admit_at(self.gate.as_deref(), push, reliability, now_us)
    }

    /// Counts a sample that came in; for the thread that reads it.
    pub(crate) fn received(&self, push: &Push<'_>) {
        if let Some(tally) = &self.tally {
            tally.received(Content::of_push(push, push.qos));
        }
    }

    fn memory(&self) -> usize {
        let gate = self.gate.as_ref().map_or(0, |gate| gate.memory());
        gate + self.tally.as_ref().map_or(0, Tally::memory)
    }
}

impl RouteHop {
    /// A message as this neighbour gets it.
    #[inline]
    pub(crate) fn message<'a>(
        &'a self,
        push: &'a Push<'a>,
        raw_body: Option<&'a [u8]>,
        qos: Qos,
    ) -> RoutedPush<'a> {
        let wire_expr = self.expr.as_wire();
        RoutedPush { push, raw_body, wire_expr, qos, node_id: self.node_id, timestamp: None }
    }
}

/// Where the samples of one key from one source go.
pub(crate) struct Route {
    pub(crate) key: KeyExpr,
    pub(crate) validity: Validity,
    /// What is asked and counted of the sample before anything is done with it.
    pub(crate) checks: Checks,
    pub(crate) locals: Vec<Arc<Local>>,
    pub(crate) hops: Vec<RouteHop>,
}

#[cfg(test)]
impl Route {
    /// A route that leads nowhere and holds.
    pub(crate) fn to_nobody() -> Self {
        let key = KeyExpr::new("test").expect("canonical");
        let (locals, hops) = (Vec::new(), Vec::new());
        Self { key, validity: Validity::default(), checks: None, locals, hops }
    }
}

impl CachedRoute for Route {
    #[inline]
    fn is_stale(&self) -> bool {
        self.validity.is_stale()
    }

    fn held_len(&self) -> usize {
        let checks = self.hops.iter().map(|hop| &hop.checks).chain([&self.checks]);
        checks.flatten().map(|checked| checked.memory()).sum()
    }
}
