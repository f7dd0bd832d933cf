//! Threads that have done their work and wait a moment for more of the same.
//!
//! Where a link does not keep up, threads are called for hundreds of times a second, each for less
//! than a millisecond. A thread that waits costs a wake-up; a new one costs its stack and its
//! buffers as well.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::thread::SessionSpan;

/// Threads of one reserve that wait at the same time.
const WAITING_MAX: usize = 2;
/// How long each waits before it ends.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// Something to do on a thread of its own.
pub(crate) type Errand = Box<dyn FnOnce() + Send>;

/// Threads that wait for work of one kind.
pub(crate) struct Reserve<T> {
    state: Mutex<State<T>>,
    /// Signalled when there is work, and when the reserve closes.
    called: Condvar,
}

struct State<T> {
    /// Threads that wait or have just been called.
    waiting: usize,
    /// What they are called for: never more than there are of them.
    work: VecDeque<T>,
    closed: bool,
}

impl<T> Default for Reserve<T> {
    fn default() -> Self {
        let state = State { waiting: 0, work: VecDeque::new(), closed: false };
        Self { state: Mutex::new(state), called: Condvar::new() }
    }
}

impl<T> Reserve<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the work to a thread that waits; if there is none, gives it back.
    pub(crate) fn call(&self, work: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.work.len() == state.waiting {
            return Err(work);
        }
        state.work.push_back(work);
        drop(state);
        self.called.notify_one();
        Ok(())
    }

    /// Waits for work. `None` if the calling thread is to end: nothing came for a while, enough
    /// others wait, or the reserve is closed.
    pub(crate) fn wait(&self) -> Option<T> {
        self.wait_for(IDLE_MAX)
    }

    fn wait_for(&self, idle_max: Duration) -> Option<T> {
        let mut state = self.lock();
        if state.closed || state.waiting >= WAITING_MAX {
            return None;
        }
        state.waiting += 1;
        let is_idle = |state: &mut State<T>| state.work.is_empty() && !state.closed;
        let (mut state, _) = self
            .called
            .wait_timeout_while(state, idle_max, is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.work.pop_front()
    }

    /// Nobody waits any more. What was given to a thread is still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.called.notify_all();
    }
}

impl Reserve<Errand> {
    /// Runs an errand on a thread that waits, or on a new one.
    ///
    /// # Errors
    /// If the system gives no thread; the errand is dropped.
    pub(crate) fn run(
        self: &Arc<Self>,
        span: &SessionSpan,
        name: &str,
        errand: Errand,
    ) -> std::io::Result<()> {
        let Err(errand) = self.call(errand) else { return Ok(()) };
        let reserve = Arc::clone(self);
        let work = move || {
            errand();
            while let Some(next) = reserve.wait() {
                next();
            }
        };
        span.spawn(name, work).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::mpsc::channel;
    use std::thread::{self, ThreadId};
    use std::time::Instant;
    use weft_wire::ZenohId;

    /// How long anything may take before a test fails.
    const SOON: Duration = Duration::from_secs(20);

    fn until(what: &str, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + SOON;
        while !holds() {
            assert!(Instant::now() < deadline, "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn nobody_waits_and_the_work_comes_back() {
        let reserve = Reserve::default();
        assert_eq!(reserve.call(7), Err(7));
    }

    #[test]
    fn work_goes_to_as_many_as_wait_and_no_more() {
        let reserve = Arc::new(Reserve::default());
        let waiter = || {
            let reserve = Arc::clone(&reserve);
            thread::spawn(move || reserve.wait_for(SOON))
        };
        let waiters = [(); WAITING_MAX].map(|()| waiter());
        until("all wait", || reserve.lock().waiting == WAITING_MAX);
        assert_eq!(reserve.wait(), None, "enough others wait");
        for number in 0..WAITING_MAX {
            assert_eq!(reserve.call(number), Ok(()));
        }
        let mut done: Vec<_> = waiters.into_iter().map(|it| it.join().unwrap().unwrap()).collect();
        done.sort_unstable();
        assert!(done.into_iter().eq(0..WAITING_MAX));
        assert_eq!(reserve.call(9), Err(9));
    }

    #[test]
    fn nobody_waits_for_long() {
        let reserve = Reserve::<()>::default();
        assert_eq!(reserve.wait_for(Duration::from_millis(1)), None);
        assert_eq!(reserve.lock().waiting, 0);
    }

    #[test]
    fn closing_ends_the_wait_and_keeps_what_was_given() {
        let reserve = Arc::new(Reserve::default());
        let waiter = thread::spawn({
            let reserve = Arc::clone(&reserve);
            move || reserve.wait_for(SOON)
        });
        until("it waits", || reserve.lock().waiting == 1);
        // Given and closed before the thread can look.
        let mut state = reserve.lock();
        state.work.push_back(5);
        state.closed = true;
        drop(state);
        reserve.close();
        assert_eq!(waiter.join().unwrap(), Some(5));
        assert_eq!(reserve.wait(), None);
        assert_eq!(reserve.call(6), Err(6));
    }

    #[test]
    fn errands_one_after_the_other_share_a_thread() {
        const COUNT: usize = 50;
        let reserve = Arc::new(Reserve::<Errand>::default());
        let span = SessionSpan::new("1".parse::<ZenohId>().unwrap());
        let (ran, threads) = channel::<ThreadId>();
        for _ in 0..COUNT {
            let ran = ran.clone();
            let errand = Box::new(move || ran.send(thread::current().id()).unwrap());
            reserve.run(&span, "errand", errand).unwrap();
            until("it waits for the next", || {
                let state = reserve.lock();
                state.waiting == 1 && state.work.is_empty()
            });
        }
        drop(ran);
        let ran_on: Vec<_> = threads.iter().collect();
        assert_eq!(ran_on.len(), COUNT);
        // On a slow machine it may have waited for too long once or twice.
        let distinct: HashSet<_> = ran_on.into_iter().collect();
        assert!(distinct.len() < 5, "{} threads", distinct.len());
        reserve.close();
    }
}
