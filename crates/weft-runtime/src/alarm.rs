//! Calls that the session wants later: one list for all of them, looked at by the service thread.
//!
//! What is due is called on an event thread, in order with what else concerns its entity; nothing of
//! the session runs on the service thread.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Call = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// By due time in microseconds, and the order in which they were set.
    calls: BTreeMap<(u64, u64), (u32, Call)>,
    next: u64,
    stopped: bool,
}

/// Calls that wait for their time.
#[derive(Default)]
pub(crate) struct Alarms(Mutex<State>);

impl Alarms {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets one for the entity `id`. Once stopped, it drops it.
    pub(crate) fn set(&self, at_us: u64, id: u32, call: Call) {
        let mut state = self.lock();
        if state.stopped {
            drop(state);
            return; // What `call` holds is dropped without the lock.
        }
        let order = state.next;
        state.next += 1;
        state.calls.insert((at_us, order), (id, call));
    }

    /// When the first one is due, in microseconds; `u64::MAX` if there is none.
    pub(crate) fn next_us(&self) -> u64 {
        self.lock().calls.first_key_value().map_or(u64::MAX, |((at_us, _), _)| *at_us)
    }

    /// Takes out the first one that is due, and its entity.
    pub(crate) fn take_due(&self, now_us: u64) -> Option<(u32, Call)> {
        let mut state = self.lock();
        let first = state.calls.first_entry()?;
        (first.key().0 <= now_us).then(|| first.remove())
    }

    /// Drops those of the entity `id`. Cost: the number of all.
    pub(crate) fn cancel(&self, id: u32) {
        let mut state = self.lock();
        let calls = std::mem::take(&mut state.calls).into_iter();
        let (dropped, kept) = calls.partition(|(_, (of, _))| *of == id);
        state.calls = kept;
        drop(state);
        drop::<BTreeMap<_, _>>(dropped);
    }

    /// Drops all, and those that are still to come.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let dropped = std::mem::take(&mut state.calls);
        drop(state);
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_go_off_by_time_and_then_in_the_order_of_setting() {
        let alarms = Alarms::default();
        for (at_us, id) in [(20, 1), (10, 2), (20, 3)] {
            alarms.set(at_us, id, Box::new(|| ()));
        }
        assert_eq!(alarms.next_us(), 10);
        assert!(alarms.take_due(9).is_none());
        let due = std::iter::from_fn(|| alarms.take_due(20).map(|(id, _)| id));
        assert_eq!(due.collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!(alarms.next_us(), u64::MAX);
    }

    #[test]
    fn alarms_of_one_entity_are_cancelled() {
        let alarms = Alarms::default();
        for at_us in 1..=3 {
            alarms.set(at_us, at_us as u32 % 2, Box::new(|| ()));
        }
        alarms.cancel(1);
        assert_eq!(alarms.take_due(3).map(|(id, _)| id), Some(0));
        assert!(alarms.take_due(3).is_none());
    }

    #[test]
    fn stopped_alarms_are_dropped() {
        let alarms = Alarms::default();
        alarms.set(1, 1, Box::new(|| ()));
        alarms.stop();
        alarms.set(1, 1, Box::new(|| ()));
        assert!(alarms.take_due(1).is_none());
    }
}
