//! Messages that block first: one of a priority waits for room elsewhere, and its sender goes on.
//!
//! Spec: 01 §8.3. Such a message waits for room as long as a droppable one. If there is none by then,
//! it takes the one place of its priority, where it waits as a blocking message does, on a thread of
//! its own; one in fragments begins anew there. Those that come meanwhile wait for the place as long
//! as a droppable one waits for room, then they are dropped.
//!
//! Invariant: none overtakes the one that waits, so a publisher's samples stay in order. Cost: a copy
//! of the message and a thread that waits, only where a neighbour does not keep up, and at most one
//! of a priority and neighbour at a time.

use std::sync::{Arc, MutexGuard};

use weft_transport::PushError;
use weft_wire::{CongestionControl, Encode, NoSpace, Sink};

use super::patience::bit;
use super::{SendQos, Sender, Sent, State};
use crate::meter::Outgoing;

impl State {
    /// Whether one that blocks first waits, and this is another one.
    pub(super) fn is_behind_first(&self, qos: SendQos) -> bool {
        qos.congestion == CongestionControl::BlockFirst && self.first_waits & bit(qos.priority) != 0
    }
}

impl Sender {
    /// Lets a message wait in the place of its priority, which is free.
    pub(super) fn wait_elsewhere<'a, M: Outgoing>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        message: &M,
        qos: SendQos,
    ) -> (MutexGuard<'a, State>, Sent) {
        state.first_waits |= bit(qos.priority);
        drop(state);
        let place = Place { sender: Arc::clone(self), priority: bit(qos.priority) };
        let copy = Encoded::of(message);
        let blocking = SendQos { congestion: CongestionControl::Block, ..qos };
        let wait = move || {
            let state = place.sender.lock();
            let (state, _) = place.sender.push_slowly(state, &copy, blocking, PushError::Full);
            place.sender.after_send(state, qos);
        };
        let started = self.service.run_errand("weft-first", Box::new(wait));
        if let Err(error) = &started {
            tracing::debug!(%error, "no thread for a message to wait on: dropping it");
            let dropped = self.drop_one(message);
            return (self.lock(), dropped);
        }
        let state = self.lock();
        // It is as good as in line: nothing but the end of the link is in its way.
        message.queued();
        (state, Sent::Queued)
    }
}

/// The place of a priority, taken; free again when this is dropped.
struct Place {
    sender: Arc<Sender>,
    /// Its bit.
    priority: u8,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.sender.lock().first_waits &= !self.priority;
        self.sender.room.notify_all();
    }
}

/// A message in its encoded form, which was counted before.
struct Encoded(Vec<u8>);

impl Outgoing for Encoded {}

impl Encoded {
    fn of<M: Encode>(message: &M) -> Self {
        let mut bytes = Vec::with_capacity(message.encoded_len());
        let Ok(()) = message.encode(&mut bytes) else { unreachable!("a vector is never full") };
        Self(bytes)
    }
}

impl Encode for Encoded {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.payload(&self.0)
    }
}
