//! Builders can be waited for in two ways: `.wait()` blocks, `.await` suits async code.
//!
//! What does not wait for others is done at once, and its future is ready when it is made. What does
//! wait, opening and closing ([`Waiting`]), is run on a thread of its own for the future's sake, so
//! that no executor is blocked. No async runtime is needed or preferred.
//!
//! Puts, gets and replies are of the first kind though they may wait for room, where they block by
//! their congestion control: to hand each to a thread for that would cost more than sending it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, PoisonError};

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
    output: Option<T>,
    waker: Option<Waker>,
}

/// The outcome of something that takes its time, as a future for any async runtime.
///
/// The work goes on if the future is dropped.
#[must_use = "the outcome is not known before it is awaited"]
pub struct Waiting<T>(Arc<Mutex<State<T>>>);

impl<T: Send + 'static> Waiting<T> {
    /// Runs `work` on a thread of its own.
    pub(crate) fn on_thread(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State { output: None, waker: None }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let output = work();
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            state.output = Some(output);
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self(state)
    }
}

impl<T> Future for Waiting<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let waker = context.waker().clone();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
