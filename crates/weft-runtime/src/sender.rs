//! Sending to one neighbour: who encodes, who writes, who waits.
//!
//! Spec: 01 §8. Any thread appends its message to the transport's batches under one short lock and
//! then, if nobody is writing, writes to the socket itself: an idle link costs no hand-over. While
//! somebody writes, others only append, and the writer takes their bytes along. A thread that sends
//! in a tight loop would make one system call per message that way; so after a few messages in
//! quick succession the link is in *burst* mode: messages are only appended, a full buffer is
//! written by whoever fills it, and the service thread looks every [`BURST_TICK`] or two whether
//! something was left, and writes it. When a tick finds nothing at all, the burst is over.
//!
//! ```text
//!            push                    push, quickly                 push
//!   idle ----------> write inline -------------------> burst --------------> append only
//!    ^                                                   |   buffer full: whoever filled it writes
//!    '------- a tick of the service finds nothing <------'   a tick finds old bytes: the service writes
//! ```
//!
//! Cost of a message in steady state: one lock, one copy (the encoding), no allocation; a clock
//! read and the system call only outside of bursts.

mod first;
mod links;
mod patience;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weft_transport::{FragmentCursor, FragmentStep, PushError, TxChunk, TxHalf, TxQueue, TxStats};
use weft_wire::{CloseReason, CongestionControl, Encode, Priority, Qos, Reliability};

use crate::cell::LinkCell;
use crate::clock::{now_ns, now_us};
use crate::meter::Outgoing;
use crate::runtime::LinkTraffic;
use crate::service::ServiceHandle;
use crate::wait;

/// Messages that follow the write before at less than this are in quick succession.
const BURST_GAP_NS: u64 = 1_000;
/// The same for one that is no answer: nothing has come from the neighbour since the message before. A
/// round trip never takes less than this.
const BURST_GAP_UNANSWERED_NS: u64 = 5_000;
/// So many messages in quick succession begin a burst.
const BURST_RUN: u32 = 8;
/// In a burst, bytes that whoever appended the last of them writes at once.
const BURST_FLUSH_LEN: usize = 48 * 1024;
/// In a burst, how often the service thread looks whether it has to write what is left.
pub(crate) const BURST_TICK: Duration = Duration::from_micros(50);
/// Bytes that must have come since the last look for it to be left to whoever appends them: at this rate
/// the buffer is full after six more.
const BURST_GROWTH: usize = BURST_FLUSH_LEN / 6;
/// Bytes that are written in one call. A call that is a little longer than a segment of the loopback
/// interface (64 KiB) makes a second, tiny one, and wakes the reader twice: 1.3 GB/s in writes of
/// 65,557 bytes, 4.5 GB/s in two halves of them.
const WRITE_LEN_MAX: usize = 56 * 1024;
/// Chunks that one thread writes before it leaves the rest to the service thread.
const CHUNKS_PER_TURN: usize = 32;

/// How long a message may wait for room, per congestion control (01 §8.3).
#[derive(Clone, Copy, Debug)]
pub struct CongestionWaits {
    /// Before a droppable message is dropped.
    pub drop: Duration,
    /// The same for a message in fragments.
    pub drop_fragments: Duration,
    /// Before the transport is closed because a message that must not be dropped found no room.
    pub block: Duration,
}

impl Default for CongestionWaits {
    fn default() -> Self {
        Self {
            drop: Duration::from_millis(1),
            drop_fragments: Duration::from_millis(50),
            block: Duration::from_secs(5),
        }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Queued,
    /// No room in time, and the message may be dropped.
    Dropped,
    /// The transport is closed, or was closed because the message found no room.
    Closed,
}

/// QoS of a message as the sender needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendQos {
    pub(crate) priority: Priority,
    pub(crate) reliability: Reliability,
    pub(crate) congestion: CongestionControl,
    pub(crate) express: bool,
}

impl SendQos {
    /// That of a message on this channel.
    #[inline]
    pub(crate) const fn new(qos: Qos, reliability: Reliability) -> Self {
        Self {
            priority: qos.priority(),
            reliability,
            congestion: qos.congestion_control(),
            express: qos.express(),
        }
    }
}

/// The sending side of one transport. Every message writes it, in cache lines of its own.
#[repr(align(64))]
pub(crate) struct Sender {
    state: Mutex<State>,
    /// Woken when room appears or the transport closes.
    room: Condvar,
    /// Shared by all neighbours: each has one of these.
    waits: Arc<CongestionWaits>,
    service: ServiceHandle,
    /// Messages dropped for lack of room.
    pub(crate) dropped: AtomicU64,
    /// Messages that came when the link was gone.
    pub(crate) linkless: AtomicU64,
    /// How often something has come from the neighbour, by [`Sender::note_received`].
    received: AtomicU64,
    /// The neighbour takes nothing, or too much was queued for it: to be closed.
    pub(crate) unresponsive: AtomicBool,
}

struct State {
    half: TxHalf,
    /// In the order of their opening; the first is written to.
    links: Vec<Arc<LinkCell>>,
    /// The last that the transport has lost, and whether each was written to; at most
    /// [`GONE_LINKS_MAX`](links::GONE_LINKS_MAX).
    gone: Vec<(LinkTraffic, bool)>,
    /// What the socket did not take whole, and from where on.
    partial: Option<(TxChunk, usize)>,
    /// Somebody is writing.
    writing: bool,
    /// The socket is full; the service thread waits for it.
    blocked: bool,
    burst: bool,
    run: u32,
    last_write_ns: u64,
    /// What [`Sender::received`] was at the last message outside of a burst.
    received: u64,
    /// Threads that wait for room.
    waiters: u32,
    /// How often something was written: as long as it grows, the neighbour is not unresponsive.
    progress: u64,
    /// `progress` and the bytes that were queued at the last tick of a burst.
    last_look: (u64, usize),
    /// Droppable messages of these priorities are dropped without a wait until something was
    /// written.
    congested: u8,
    /// Priorities of which one message that blocks first waits for room, see [`first`].
    first_waits: u8,
}

impl State {
    /// Appends a message.
    #[inline]
    fn push<M: Outgoing>(&mut self, message: &M, qos: SendQos) -> Result<(), PushError> {
        if self.first_waits != 0 && self.is_behind_first(qos) {
            return Err(PushError::Full);
        }
        self.half.push(qos.priority, qos.reliability, message)?;
        message.queued();
        Ok(())
    }
}

impl Sender {
    pub(crate) fn new(
        half: TxHalf,
        link: Arc<LinkCell>,
        waits: Arc<CongestionWaits>,
        service: ServiceHandle,
    ) -> Self {
        Self {
            state: Mutex::new(State {
                half,
                links: vec![link],
                gone: Vec::new(),
                partial: None,
                writing: false,
                blocked: false,
                burst: false,
                run: 0,
                last_write_ns: 0,
                received: 0,
                waiters: 0,
                progress: 0,
                last_look: (0, 0),
                congested: 0,
                first_waits: 0,
            }),
            room: Condvar::new(),
            waits,
            service,
            dropped: AtomicU64::new(0),
            linkless: AtomicU64::new(0),
            received: AtomicU64::new(0),
            unresponsive: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has come from the neighbour. For the thread that reads it: no read-modify-write.
    #[inline]
    pub(crate) fn note_received(&self) {
        let count = self.received.load(Ordering::Relaxed);
        self.received.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    /// Sends a message of the application and sees to it that it leaves.
    #[inline]
    pub(crate) fn send<M: Outgoing>(self: &Arc<Self>, message: &M, qos: SendQos) -> Sent {
        let mut state = self.lock();
        if state.push(message, qos).is_ok() {
            self.after_send(state, qos);
            return Sent::Queued;
        }
        drop(state);
        self.send_slowly(message, qos)
    }

    /// The rest of [`Sender::send`]: no room, or too big for a batch.
    #[cold]
    fn send_slowly<M: Outgoing>(self: &Arc<Self>, message: &M, qos: SendQos) -> Sent {
        let mut sent = Sent::Closed;
        wait::around(&mut || {
            let mut state = self.lock();
            // The lock was free meanwhile.
            sent = match state.push(message, qos) {
                Ok(()) => Sent::Queued,
                Err(error) => {
                    let (guard, sent) = self.push_slowly(state, message, qos, error);
                    state = guard;
                    sent
                }
            };
            self.after_send(state, qos);
        });
        sent
    }

    /// Appends a message that another one will follow shortly; [`Sender::flush`] sends them all.
    /// If it has to wait for room, it calls `before_waiting` first.
    #[inline]
    pub(crate) fn append<M: Outgoing>(
        self: &Arc<Self>,
        message: &M,
        qos: SendQos,
        before_waiting: impl FnOnce(),
    ) -> Sent {
        let mut state = self.lock();
        let mut pushed = state.push(message, qos);
        if pushed == Err(PushError::Full) {
            drop(state);
            before_waiting();
            state = self.lock();
            // What was written may have made room, and there is nobody else who would say so.
            pushed = state.push(message, qos);
        }
        match pushed {
            Ok(()) if qos.express => {
                self.write(state);
                Sent::Queued
            }
            Ok(()) => Sent::Queued,
            Err(error) => self.push_slowly(state, message, qos, error).1,
        }
    }

    /// For messages that [`Sender::flush`] will send, a few of them under one lock.
    #[inline]
    pub(crate) fn appender(&self) -> Appender<'_> {
        Appender(self.lock())
    }

    /// Queues a control message: never waits, whatever the socket does.
    pub(crate) fn append_control<M: Encode>(&self, message: &M) -> Sent {
        let mut state = self.lock();
        let (priority, reliability) = (Priority::Control, Reliability::Reliable);
        let pushed = match state.half.push(priority, reliability, message) {
            Err(PushError::TooBig) => {
                let mut cursor = FragmentCursor::new(priority, reliability, message);
                match state.half.push_fragments(&mut cursor) {
                    Ok(FragmentStep::Done) => Ok(()),
                    Ok(FragmentStep::Full) => {
                        state.half.abort_fragments(cursor);
                        Err(PushError::Full)
                    }
                    Err(error) => Err(error),
                }
            }
            other => other,
        };
        match pushed {
            Ok(()) => Sent::Queued,
            Err(PushError::Closed) => Sent::Closed,
            Err(_) => {
                self.unresponsive.store(true, Ordering::Relaxed);
                Sent::Dropped
            }
        }
    }

    /// Writes what is queued, unless somebody else does already.
    pub(crate) fn flush(self: &Arc<Self>) {
        self.write(self.lock());
    }

    pub(crate) fn keep_alive(self: &Arc<Self>) {
        let mut state = self.lock();
        state.half.keep_alive();
        state.half.release_idle();
        self.write(state);
    }

    /// Says CLOSE after all that is queued; nothing more is accepted.
    pub(crate) fn close(self: &Arc<Self>, reason: CloseReason) {
        let mut state = self.lock();
        state.half.close(reason);
        self.room.notify_all();
        self.write(state);
    }

    /// The transport is gone: whoever waits returns.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.half.clear();
        state.half.close(CloseReason::GENERIC);
        let _ = state.half.take();
        state.links.clear();
        state.partial = None;
        self.room.notify_all();
    }

    /// Nothing is queued, nothing is being written, and none that blocks first waits elsewhere.
    pub(crate) fn is_drained(&self) -> bool {
        let state = self.lock();
        let is_idle = state.half.is_empty() && state.partial.is_none() && !state.writing;
        state.links.is_empty() || is_idle && state.first_waits == 0
    }

    pub(crate) fn stats(&self) -> TxStats {
        self.lock().half.stats()
    }

    /// The queues by priority, without what was taken from them to be written.
    pub(crate) fn queues(&self) -> [TxQueue; 8] {
        self.lock().half.queues()
    }

    /// The socket can be written again.
    pub(crate) fn writable(self: &Arc<Self>) {
        let mut state = self.lock();
        state.blocked = false;
        self.write(state);
    }

    /// One tick of a burst: writes what is left behind, but does not get in the way of a thread that
    /// fills one buffer after the other and writes them itself.
    pub(crate) fn burst_tick(self: &Arc<Self>) -> Tick {
        let mut state = self.lock();
        let empty = state.half.is_empty() && state.partial.is_none() && !state.writing;
        if empty || state.blocked {
            // If the socket is full, the next write comes when it is not.
            state.burst = false;
            state.run = 0;
            return Tick::Over;
        }
        let look = (state.progress, state.half.pending_bytes());
        let (progress, pending) = std::mem::replace(&mut state.last_look, look);
        if look.0 != progress || look.1 >= pending + BURST_GROWTH {
            return Tick::Fed;
        }
        self.write(state);
        Tick::Wrote
    }

    /// Decides who writes what was just appended.
    #[inline]
    fn after_send<'a>(self: &'a Arc<Self>, state: MutexGuard<'a, State>, qos: SendQos) {
        if state.writing || state.blocked {
            return;
        }
        if state.burst && !qos.express {
            if state.half.pending_bytes_of(qos.priority) >= BURST_FLUSH_LEN {
                self.write(state);
            }
            return;
        }
        self.after_lone(state, qos.express);
    }

    /// The rest of [`Sender::after_send`]: not in a burst.
    #[inline(never)]
    fn after_lone<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>, express: bool) {
        if express {
            return self.write(state);
        }
        let gap = now_ns().saturating_sub(state.last_write_ns);
        let received = self.received.load(Ordering::Relaxed);
        let unanswered = std::mem::replace(&mut state.received, received) == received;
        let quick = gap < BURST_GAP_NS || unanswered && gap < BURST_GAP_UNANSWERED_NS;
        state.run = if quick { state.run + 1 } else { 0 };
        if state.run >= BURST_RUN {
            state.burst = true;
            drop(state);
            self.service.burst(Arc::clone(self));
        } else {
            self.write(state);
        }
    }

    /// Writes until nothing is queued or the socket is full.
    fn write<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) {
        if state.writing || state.blocked {
            return;
        }
        let Some(mut link) = state.links.first().cloned() else { return };
        state.writing = true;
        for _ in 0..CHUNKS_PER_TURN {
            let next = state.partial.take();
            let Some((mut chunk, start)) =
                next.or_else(|| state.half.take().map(|chunk| (chunk, 0)))
            else {
                state.writing = false;
                state.last_write_ns = now_ns();
                return;
            };
            if state.waiters > 0 {
                // What was taken has made room.
                self.room.notify_all();
            }
            drop(state);
            // Without the lock, for this may compress what is written.
            let (written, outcome) = write_all(&link, &chunk.bytes()[start..]);
            state = self.lock();
            if written > 0 {
                link.last_tx_us.store(now_us(), Ordering::Relaxed);
                state.congested = 0;
                state.progress += 1;
            }
            if outcome == Outcome::Whole {
                state.half.recycle(chunk);
                continue;
            }
            if state.links.first().is_none_or(|first| !Arc::ptr_eq(first, &link)) {
                // The link was found to be gone meanwhile; the rest goes over the next one.
                let Some(next) = state.links.first().cloned() else {
                    state.writing = false;
                    return;
                };
                link = next;
                continue;
            }
            state.writing = false;
            state.blocked = true;
            if outcome == Outcome::SocketFull {
                state.partial = Some((chunk, start + written));
                drop(state);
                self.service.wait_writable(&link, Arc::clone(self));
            }
            // The reader of a broken link sees it, too, and reports its end.
            return;
        }
        // Others have their turn: the service thread goes on.
        state.writing = false;
        if !std::mem::replace(&mut state.burst, true) {
            drop(state);
            self.service.burst(Arc::clone(self));
        }
    }
}

/// A sender that is locked: not to be held for more than a few microseconds.
pub(crate) struct Appender<'a>(MutexGuard<'a, State>);

impl Appender<'_> {
    /// Appends a message that is not express, if there is room. Returns whether.
    #[inline]
    pub(crate) fn append<M: Outgoing>(&mut self, message: &M, qos: SendQos) -> bool {
        self.0.push(message, qos).is_ok()
    }
}

/// What a tick of a burst has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    /// The burst is over.
    Over,
    /// Whoever sends also writes, at present.
    Fed,
    /// Something had been left and was written.
    Wrote,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Whole,
    SocketFull,
    Broken,
}

fn write_all(link: &LinkCell, bytes: &[u8]) -> (usize, Outcome) {
    let mut written = 0;
    while written < bytes.len() {
        let end = bytes.len().min(written + WRITE_LEN_MAX);
        match link.link.write(&bytes[written..end]) {
            Ok(0) => return (written, Outcome::Broken),
            Ok(count) => written += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return (written, Outcome::SocketFull);
            }
            Err(_) => return (written, Outcome::Broken),
        }
    }
    (written, Outcome::Whole)
}
