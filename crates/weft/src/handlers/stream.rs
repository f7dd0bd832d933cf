//! Receiving from a channel in async code, on any runtime.
//!
//! A task that finds the channel empty leaves its waker in the channel. An item removes one waker and wakes it; a future
//! that was woken for an item and is dropped instead of polled passes the wake-up on, so cancelling loses nothing.

use core::borrow::Borrow;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;

use super::RecvError;
use super::channel::{Popped, Receiver};

/// The items of a channel as a [`Stream`]; ends when the channel is closed and empty.
///
/// `R` is `&Receiver<T>` ([`Receiver::stream`]) or `Receiver<T>` ([`Receiver::into_stream`]).
pub struct RecvStream<T, R: Borrow<Receiver<T>> = Receiver<T>> {
    receiver: R,
    /// Number under which a waker was left in the channel.
    task: Option<u64>,
    item: PhantomData<fn() -> T>,
}

impl<T, R: Borrow<Receiver<T>>> RecvStream<T, R> {
    pub(super) fn new(receiver: R) -> Self {
        Self { receiver, task: None, item: PhantomData }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let shared = self.receiver.borrow().shared();
        let mut state = shared.lock();
        if !state.is_ready() {
            // Cloning a waker is foreign code: it happens between two locks, and the second looks again.
            drop(state);
            let waker = context.waker().clone();
            state = shared.lock();
            if !state.is_ready() {
                let (task, replaced) = state.register(self.task, waker);
                self.task = Some(task);
                drop(state);
                drop(replaced);
                return Poll::Pending;
            }
        }
        let registered = self.task.take().and_then(|task| state.unregister(task));
        let popped = shared.pop(state);
        drop(registered);
        match popped {
            Popped::Item(item) => Poll::Ready(Some(item)),
            Popped::Empty | Popped::Closed => Poll::Ready(None),
        }
    }
}

impl<T, R: Borrow<Receiver<T>> + Unpin> Stream for RecvStream<T, R> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().poll(context)
    }
}

impl<T, R: Borrow<Receiver<T>>> Drop for RecvStream<T, R> {
    fn drop(&mut self) {
        let Some(task) = self.task else { return };
        let shared = self.receiver.borrow().shared();
        let mut state = shared.lock();
        let registered = state.unregister(task);
        if registered.is_none() && state.is_ready() {
            let wake = state.claim_receiver();
            drop(state);
            shared.wake(wake);
        } else {
            drop(state);
        }
        drop(registered);
    }
}

impl<T, R: Borrow<Receiver<T>>> fmt::Debug for RecvStream<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecvStream").field(self.receiver.borrow()).finish()
    }
}

/// The next item of a channel, as a future. Made by [`Receiver::recv_async`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct RecvFuture<'a, T> {
    stream: RecvStream<T, &'a Receiver<T>>,
}

impl<'a, T> RecvFuture<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self { stream: RecvStream::new(receiver) }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let item = self.get_mut().stream.poll(context);
        item.map(|item| item.ok_or(RecvError::Disconnected))
    }
}
