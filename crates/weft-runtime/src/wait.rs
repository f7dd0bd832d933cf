//! How threads of the application wait inside the library, for a host that has to know.
//!
//! An interpreter releases its lock around waits and wants to be asked from time to time whether the
//! user pressed Ctrl-C. It installs [`WaitHooks`]; without them, waits simply block their thread.
//!
//! Not here: what other links do meanwhile (`duty`). Invariant: no lock of the library is held while a
//! hook runs.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a wait asks whether it is interrupted.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// What a host does about waits, on the waiting thread.
#[derive(Clone, Copy, Debug)]
pub struct WaitHooks {
    /// Surrounds the wait of a publication for room. Must call its argument exactly once.
    pub around: fn(wait: &mut dyn FnMut()),
    /// Whether the calling thread is to give up waiting. Asked every 100 ms during waits that may be
    /// long: opening, closing, undeclaring, cancelling, and publishing where there is no room. What
    /// was waited for goes on without the caller; a publication without room is dropped.
    pub is_interrupted: fn() -> bool,
}

static HOOKS: OnceLock<WaitHooks> = OnceLock::new();

/// Installs the hooks for the whole process. The first ones stay; returns whether these are they.
pub fn set_wait_hooks(hooks: WaitHooks) -> bool {
    HOOKS.set(hooks).is_ok()
}

/// Runs a wait inside the hook.
pub(crate) fn around(wait: &mut dyn FnMut()) {
    match HOOKS.get() {
        Some(hooks) => (hooks.around)(wait),
        None => wait(),
    }
}

/// Asks for interruptions, at most every [`ASK_EVERY`].
pub(crate) struct Interruption {
    hooks: Option<&'static WaitHooks>,
    ask_at: Instant,
}

impl Interruption {
    pub(crate) fn new() -> Self {
        Self { hooks: HOOKS.get(), ask_at: Instant::now() + ASK_EVERY }
    }

    /// How long to wait before the next question: not longer than `left`.
    pub(crate) fn slice(&self, left: Duration) -> Duration {
        if self.hooks.is_none() {
            return left;
        }
        left.min(self.ask_at.saturating_duration_since(Instant::now()))
    }

    /// Whether it is time to ask.
    pub(crate) fn is_due(&self) -> bool {
        self.hooks.is_some() && Instant::now() >= self.ask_at
    }

    /// Whether to give up. The caller holds no lock.
    pub(crate) fn is_interrupted(&mut self) -> bool {
        let Some(hooks) = self.hooks.filter(|_| Instant::now() >= self.ask_at) else {
            return false;
        };
        self.ask_at = Instant::now() + ASK_EVERY;
        (hooks.is_interrupted)()
    }
}

/// Waits on `changed` as long as `goes_on`, but not after `deadline` or an interruption.
pub fn wait_while<'a, T>(
    mutex: &'a Mutex<T>,
    changed: &Condvar,
    mut state: MutexGuard<'a, T>,
    deadline: Option<Instant>,
    mut goes_on: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    const FOREVER: Duration = Duration::from_secs(1 << 30);
    let mut interruption = Interruption::new();
    while goes_on(&mut state) {
        let left = deadline.map_or(FOREVER, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return state;
        }
        let slice = interruption.slice(left);
        state = changed.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0;
        if interruption.is_due() {
            drop(state);
            let is_interrupted = interruption.is_interrupted();
            state = mutex.lock().unwrap_or_else(PoisonError::into_inner);
            if is_interrupted {
                return state;
            }
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
        static AROUND: Cell<u32> = const { Cell::new(0) };
    }

    /// The hooks are the process's: they concern only threads that have set `ASKED`.
    fn install() {
        set_wait_hooks(WaitHooks {
            around: |wait| {
                AROUND.set(AROUND.get() + 1);
                wait();
            },
            is_interrupted: || {
                let left = ASKED.get();
                ASKED.set(left.saturating_sub(1));
                left == 1
            },
        });
    }

    #[test]
    fn a_wait_ends_with_its_condition_its_deadline_or_an_interruption() {
        install();
        let (mutex, changed) = (Mutex::new(3), Condvar::new());
        let lock = || mutex.lock().unwrap();
        let state = wait_while(&mutex, &changed, lock(), None, |left| {
            *left -= 1;
            *left > 0
        });
        assert_eq!(*state, 0);
        drop(state);
        let soon = Instant::now() + Duration::from_millis(5);
        drop(wait_while(&mutex, &changed, lock(), Some(soon), |_| true));
        assert!(Instant::now() >= soon);
        ASKED.set(2);
        drop(wait_while(&mutex, &changed, lock(), None, |_| true));
        assert_eq!(ASKED.get(), 0);
    }

    #[test]
    fn a_wait_runs_once_inside_the_hook() {
        install();
        let mut runs = 0;
        around(&mut || runs += 1);
        assert_eq!((runs, AROUND.get()), (1, 1));
    }
}
