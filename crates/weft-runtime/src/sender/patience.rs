//! What a message does that finds no room, or that is too big for a batch.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft_transport::{FragmentCursor, FragmentStep, PushError};
use weft_wire::{CongestionControl, Priority};

use super::{SendQos, Sender, Sent, State};
use crate::duty;
use crate::meter::{Loss, Outgoing};
use crate::wait::Interruption;

impl Sender {
    /// The rest of sending: no room, or too big for a batch.
    #[cold]
    pub(super) fn push_slowly<'a, M: Outgoing>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        message: &M,
        qos: SendQos,
        mut error: PushError,
    ) -> (MutexGuard<'a, State>, Sent) {
        let mut patience = Patience::new(self, qos, self.waits.drop);
        while error == PushError::Full {
            let (guard, wait) = patience.wait(state);
            state = guard;
            match wait {
                Wait::Room => {}
                Wait::Over => return self.give_up(state, message, qos),
                Wait::Interrupted => return (state, self.drop_one(message)),
            }
            match state.push(message, qos) {
                Ok(()) => return (state, Sent::Queued),
                Err(again) => error = again,
            }
        }
        if error == PushError::TooBig {
            self.push_fragments(state, message, qos)
        } else {
            (state, self.without_link(message))
        }
    }

    fn push_fragments<'a, M: Outgoing>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        message: &M,
        qos: SendQos,
    ) -> (MutexGuard<'a, State>, Sent) {
        let mut cursor = FragmentCursor::new(qos.priority, qos.reliability, message);
        let mut patience = Patience::new(self, qos, self.waits.drop_fragments);
        loop {
            match state.half.push_fragments(&mut cursor) {
                Ok(FragmentStep::Done) => {
                    message.queued();
                    self.lane_is_free(&state);
                    return (state, Sent::Queued);
                }
                Ok(FragmentStep::Full) | Err(PushError::Full) => {}
                Err(_) => return (state, self.without_link(message)),
            }
            let (guard, wait) = patience.wait(state);
            state = guard;
            if wait == Wait::Room {
                continue;
            }
            state.half.abort_fragments(cursor);
            self.lane_is_free(&state);
            return match wait {
                Wait::Interrupted => (state, self.drop_one(message)),
                _ => self.give_up(state, message, qos),
            };
        }
    }

    /// The message found no room: it waits elsewhere, is dropped, or its neighbour is closed.
    fn give_up<'a, M: Outgoing>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        message: &M,
        qos: SendQos,
    ) -> (MutexGuard<'a, State>, Sent) {
        match qos.congestion {
            CongestionControl::BlockFirst if !state.is_behind_first(qos) => {
                self.wait_elsewhere(state, message, qos)
            }
            CongestionControl::BlockFirst | CongestionControl::Drop => {
                state.congested |= bit(qos.priority);
                (state, self.drop_one(message))
            }
            CongestionControl::Block => {
                self.unresponsive.store(true, Ordering::Relaxed);
                drop(state);
                self.service.check_unresponsive();
                (self.lock(), self.without_link(message))
            }
        }
    }

    pub(super) fn drop_one<M: Outgoing>(&self, message: &M) -> Sent {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        message.lost(Loss::Congestion);
        Sent::Dropped
    }

    /// The link is gone, or is given up because this message found no room.
    fn without_link<M: Outgoing>(&self, message: &M) -> Sent {
        self.linkless.fetch_add(1, Ordering::Relaxed);
        message.lost(Loss::NoLink);
        Sent::Closed
    }

    /// Others may have waited for a message in fragments.
    fn lane_is_free(&self, state: &State) {
        if state.waiters > 0 {
            self.room.notify_all();
        }
    }
}

#[derive(PartialEq, Eq)]
enum Wait {
    Room,
    Over,
    /// The application does not want to wait any longer.
    Interrupted,
}

/// A priority as one bit of a byte.
pub(super) const fn bit(priority: Priority) -> u8 {
    1 << priority as u8
}

/// How long one message goes on waiting for room (01 §8.3).
///
/// One that may be dropped, or may wait elsewhere, has a fixed time, and none while its priority is
/// congested. One that blocks waits until the neighbour has taken nothing at all for the time that
/// is configured: a message behind a long one on a slow link is no reason to close the transport.
/// It waits that long once more if something has come from the neighbour meanwhile, a keep-alive at
/// least: such a neighbour may be waiting for another one itself, whose time has begun just before,
/// and is not to blame. One that is stopped or cut off says nothing.
struct Patience<'a> {
    sender: &'a Arc<Sender>,
    /// The bit of its priority.
    priority: u8,
    blocks: bool,
    deadline: Instant,
    /// What the neighbour had taken when the deadline was set.
    progress: Option<u64>,
    /// What had come from the neighbour by then; nothing if it has been given its second time.
    heard: Option<u64>,
    relieved: bool,
    interruption: Interruption,
}

impl<'a> Patience<'a> {
    fn new(sender: &'a Arc<Sender>, qos: SendQos, drop: Duration) -> Self {
        Self {
            sender,
            priority: bit(qos.priority),
            blocks: qos.congestion == CongestionControl::Block,
            deadline: Instant::now() + drop,
            progress: None,
            heard: None,
            relieved: false,
            interruption: Interruption::new(),
        }
    }

    /// Sees to it that somebody writes, and waits for room or the end of patience.
    fn wait(&mut self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, Wait) {
        if !self.blocks && state.congested & self.priority != 0 {
            return (state, Wait::Over);
        }
        let something_to_write = !state.half.is_empty() || state.partial.is_some();
        if something_to_write && !state.writing && !state.blocked && !state.links.is_empty() {
            self.sender.write(state);
            // Even if the socket took only a part, the lane has given away what was in it.
            return (self.sender.lock(), Wait::Room);
        }
        if self.blocks && self.progress != Some(state.progress) {
            self.progress = Some(state.progress);
            self.heard = Some(self.sender.received.load(Ordering::Relaxed));
            self.deadline = Instant::now() + self.sender.waits.block;
        }
        if Instant::now() >= self.deadline && self.speaks_meanwhile() {
            self.deadline += self.sender.waits.block;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (state, Wait::Over);
        }
        if left >= duty::RELIEF_MIN && !std::mem::replace(&mut self.relieved, true) {
            drop(state);
            duty::relieve();
            return (self.sender.lock(), Wait::Room);
        }
        state.waiters += 1;
        let slice = self.interruption.slice(left);
        let (mut state, _) =
            self.sender.room.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner);
        state.waiters -= 1;
        if self.interruption.is_due() {
            drop(state);
            let interrupted = self.interruption.is_interrupted();
            return (self.sender.lock(), if interrupted { Wait::Interrupted } else { Wait::Room });
        }
        (state, Wait::Room)
    }

    /// Whether something has come from the neighbour since the deadline was set; once.
    fn speaks_meanwhile(&mut self) -> bool {
        let heard = self.heard.take();
        heard.is_some_and(|heard| heard != self.sender.received.load(Ordering::Relaxed))
    }
}
