//! Builders can be waited for in two ways: `.wait()` blocks, `.await` suits async code.
//!
//! What does not wait for others is done at once, and its future is ready when it is made. What does
//! wait has a [`Waiting`]: opening and closing are run on a thread of their own for its sake, so that
//! no executor is blocked; quorums keep its [`Promise`] from the callbacks of their queries. No async
//! runtime is needed or preferred.
//!
//! Puts, gets and replies are of the first kind though they may wait for room, where they block by
//! their congestion control: to hand each to a thread for that would cost more than sending it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use weft_runtime::wait_while;

/// Implements `IntoFuture` for a builder whose `wait` does not wait for the network.
macro_rules! immediate {
    ([$($generics:tt)*] $builder:ty => $output:ty) => {
        impl<$($generics)*> core::future::IntoFuture for $builder {
            type Output = $output;
            type IntoFuture = core::future::Ready<Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                core::future::ready(self.wait())
            }
        }
    };
}
pub(crate) use immediate;

struct State<T> {
    /// Whether somebody has given the outcome.
    is_kept: bool,
    output: Option<T>,
    waker: Option<Waker>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Tells a thread that waits.
    kept: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who gives a [`Waiting`] its outcome.
pub(crate) struct Promise<T>(Arc<Shared<T>>);

impl<T> Promise<T> {
    /// Gives the outcome. The first one counts; returns whether this is it.
    pub(crate) fn keep(&self, output: T) -> bool {
        let mut state = self.0.lock();
        if std::mem::replace(&mut state.is_kept, true) {
            return false;
        }
        state.output = Some(output);
        let waker = state.waker.take();
        drop(state);
        self.0.kept.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Whether the outcome was given.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.lock().is_kept
    }
}

/// The outcome of something that takes its time, as a future for any async runtime.
///
/// The work goes on if the future is dropped.
#[must_use = "the outcome is not known before it is awaited"]
pub struct Waiting<T>(Arc<Shared<T>>);

impl<T> Waiting<T> {
    /// One that waits for its promise.
    pub(crate) fn new() -> (Promise<T>, Self) {
        let state = State { is_kept: false, output: None, waker: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), kept: Condvar::new() });
        (Promise(Arc::clone(&shared)), Self(shared))
    }

    /// One that waits for nothing.
    pub(crate) fn ready(output: T) -> Self {
        let (promise, waiting) = Self::new();
        promise.keep(output);
        waiting
    }

    /// Blocks for the outcome; `None` if the host interrupts the wait (see [`weft_runtime::WaitHooks`]).
    pub(crate) fn block(self) -> Option<T> {
        let goes_on = |state: &mut State<T>| !state.is_kept;
        let state = self.0.lock();
        let mut state = wait_while(&self.0.state, &self.0.kept, state, None, goes_on);
        state.output.take()
    }
}

impl<T: Send + 'static> Waiting<T> {
    /// Runs `work` on a thread of its own.
    pub(crate) fn on_thread(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (promise, waiting) = Self::new();
        std::thread::spawn(move || promise.keep(work()));
        waiting
    }
}

impl<T> Future for Waiting<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let waker = context.waker().clone();
        let mut state = self.0.lock();
        if let Some(output) = state.output.take() {
            return Poll::Ready(output);
        }
        let replaced = state.waker.replace(waker);
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}
