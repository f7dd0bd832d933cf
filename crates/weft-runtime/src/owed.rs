//! Answers that wait for the end of the turn in which they are given.
//!
//! A handler answers a query and returns, and the query's end follows; then comes the next query. One by
//! one, each of these messages costs a system call here and a wake-up at the one who asks. So on a thread
//! whose handlers have been quick, answers are only appended, and written when its turn is over.
//!
//! A handler that answers and then takes its time, for once, keeps the answer no longer than until it
//! waits inside the library, or until the service thread has found it to be slow: both
//! [write](Owed::flush) what is owed. From then on answers are written at once, until handlers are quick
//! again.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::now_ns;
use crate::plane::Dirty;
use crate::transport::Transport;

/// An answer after which the query ends in less than this was given by a quick handler.
const QUICK_NS: u64 = 20_000;
/// A turn that goes on for longer than this after its last answer was not quick.
const TURN_NS: u64 = 200_000;
/// Queries further apart do not share anything.
const PAUSE_NS: u64 = 10_000_000;
/// So many quick answers, one after the other, begin to be owed.
const QUICK_RUN: u32 = 8;

/// What one thread owes to neighbours.
#[derive(Default)]
pub(crate) struct Owed {
    /// There is something to write.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    dirty: Dirty,
    /// Queries in a row that ended quickly after they were answered.
    quick: u32,
    /// When the last answer was given to the query that is being answered; 0 before that.
    answered_ns: u64,
    /// When the last query ended.
    ended_ns: u64,
}

impl Owed {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handler answers. Returns whether the answer may wait.
    pub(crate) fn answer(&self) -> bool {
        let now_ns = now_ns();
        let mut state = self.lock();
        let since_ns = if state.answered_ns > 0 { state.answered_ns } else { now_ns };
        if now_ns - since_ns > QUICK_NS || now_ns.saturating_sub(state.ended_ns) > PAUSE_NS {
            state.quick = 0;
        }
        state.answered_ns = now_ns;
        state.quick >= QUICK_RUN
    }

    /// A query has been answered. Returns whether its end may wait.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.lock();
        if state.answered_ns > 0 {
            let now_ns = now_ns();
            let is_quick = now_ns - mem::take(&mut state.answered_ns) < QUICK_NS;
            state.quick = if is_quick { state.quick.saturating_add(1) } else { 0 };
            state.ended_ns = now_ns;
        }
        state.quick >= QUICK_RUN
    }

    /// Something was appended to what goes to a neighbour, and is owed.
    pub(crate) fn touch(&self, transport: &Arc<Transport>) {
        self.lock().dirty.touch(transport);
        self.any.store(true, Ordering::Release);
    }

    /// Writes what is owed. Cost without anything: a load.
    #[inline]
    pub(crate) fn flush(&self) {
        if self.any.load(Ordering::Acquire) {
            self.flush_all();
        }
    }

    fn flush_all(&self) {
        let mut state = self.lock();
        let mut dirty = mem::take(&mut state.dirty);
        self.any.store(false, Ordering::Release);
        if now_ns().saturating_sub(state.ended_ns.max(state.answered_ns)) > TURN_NS {
            state.quick = 0;
        }
        drop(state);
        dirty.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask_and_answer(owed: &Owed) -> (bool, bool) {
        (owed.answer(), owed.end())
    }

    #[test]
    fn answers_wait_where_handlers_have_been_quick() {
        let owed = Owed::default();
        let waited = (0..1000).filter(|_| ask_and_answer(&owed) == (true, true)).count();
        assert!(waited > 100, "{waited} of 1,000");
        // This one takes its time after it has answered.
        assert!(owed.answer());
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(!owed.end());
        assert_eq!(ask_and_answer(&owed), (false, false));
    }
}
