//! What receives samples, queries, replies and events: callbacks and channels.
//!
//! Every declaration that delivers something takes an [`IntoHandler`]: a closure, a [`FifoChannel`], a [`RingChannel`] or a
//! `(closure, object)` pair. It splits into the [`Callback`] that the session calls and the object that the application
//! keeps. Not here: who calls the callback, and on which thread (the session).
//!
//! Spec: 05 §A.4. Invariants:
//! - A callback is called outside every lock of this module, and its captures are dropped after its last call.
//! - No item is lost by closing a channel: what is queued can still be received, then receivers see
//!   [`RecvError::Disconnected`].
//! - Nothing here needs an async runtime; [`Receiver::recv_async`] and [`Receiver::stream`] work on any.
//!
//! ```
//! use weft::handlers::{FifoChannel, IntoHandler};
//!
//! let (callback, receiver) = IntoHandler::<u32>::into_handler(FifoChannel::new(8));
//! callback.call(1);
//! callback.call(2);
//! drop(callback);
//! assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [1, 2]);
//! ```

mod block;
mod channel;
mod iter;
mod stream;
#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use weft_keyexpr::KeyExpr;

pub use block::{BlockHook, set_block_hook};
pub use channel::Receiver;
pub use iter::{Drain, IntoIter, Iter};
pub use stream::{RecvFuture, RecvStream};
pub use weft_runtime::{calling, is_calling};

/// Capacity of a [`FifoChannel`] when none is given, in items.
pub const FIFO_CAPACITY_DEFAULT: usize = 256;

/// Splits a handler into the side that the session calls and the side that the application keeps.
pub trait IntoHandler<T> {
    /// What the application keeps: a [`Receiver`], its own object, or `()` for a bare closure.
    type Handler;

    /// Makes the two sides.
    fn into_handler(self) -> (Callback<T>, Self::Handler);
}

/// The delivering side of a handler: a shared function with an end.
///
/// Cloning is one reference count. When the last clone is gone the function and everything that it captured are dropped,
/// which closes the channel behind it.
pub struct Callback<T> {
    sink: Arc<dyn Sink<T>>,
}

impl<T> Callback<T> {
    /// A callback that calls `function` with each item, possibly from several threads at once.
    pub fn new(function: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self { sink: Arc::new(function) }
    }

    /// As [`new`](Self::new) for a function with mutable state: calls are serialised by a lock.
    ///
    /// The function must not cause itself to be called again on the same thread: that would wait for itself forever.
    pub fn from_mut(function: impl FnMut(T) + Send + 'static) -> Self {
        let function = Mutex::new(function);
        Self::new(move |item| (function.lock().unwrap_or_else(PoisonError::into_inner))(item))
    }

    /// As [`new`](Self::new), and runs `on_drop` once, after the last call, when the last clone is dropped.
    pub fn with_drop(
        function: impl Fn(T) + Send + Sync + 'static,
        on_drop: impl FnOnce() + Send + 'static,
    ) -> Self {
        let end = OnDrop(Mutex::new(Some(on_drop)));
        Self::new(move |item| {
            let _lives_as_long_as_the_function = &end;
            function(item);
        })
    }

    /// Delivers one item. Blocks while a full [`FifoChannel`] is behind it.
    #[inline]
    pub fn call(&self, item: T) {
        self.sink.deliver(item);
    }

    /// Names a channel by what it delivers for, for the log. The first name stays.
    pub(crate) fn name(&self, key: &KeyExpr) {
        self.sink.name(key);
    }

    /// Ends a channel at once, even if other clones remain: blocked callers return, and receivers see the end after the
    /// queued items. Items delivered afterwards are dropped. Does nothing for functions.
    pub fn close(&self) {
        self.sink.close();
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self { sink: Arc::clone(&self.sink) }
    }
}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").finish_non_exhaustive()
    }
}

impl<T> IntoHandler<T> for Callback<T> {
    type Handler = ();

    fn into_handler(self) -> (Callback<T>, ()) {
        (self, ())
    }
}

impl<T, F: Fn(T) + Send + Sync + 'static> IntoHandler<T> for F {
    type Handler = ();

    fn into_handler(self) -> (Callback<T>, ()) {
        (Callback::new(self), ())
    }
}

impl<T, F: Fn(T) + Send + Sync + 'static, H> IntoHandler<T> for (F, H) {
    type Handler = H;

    fn into_handler(self) -> (Callback<T>, H) {
        (Callback::new(self.0), self.1)
    }
}

impl<T, H> IntoHandler<T> for (Callback<T>, H) {
    type Handler = H;

    fn into_handler(self) -> (Callback<T>, H) {
        self
    }
}

/// A first-in first-out channel that blocks the delivering thread while it is full.
///
/// That is back-pressure: a receiver that stops reading stops the link that feeds it. What has waited for a second is a
/// warning in the log, and [`Receiver::blocked`] counts what had to wait at all. With capacity 0 every delivery waits
/// until its item is received (rendez-vous). Memory: the capacity plus one item for each blocked thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoChannel {
    capacity: usize,
}

impl FifoChannel {
    /// A channel for `capacity` items; 0 is a rendez-vous.
    pub const fn new(capacity: usize) -> Self {
        Self { capacity }
    }
}

impl Default for FifoChannel {
    /// A channel for [`FIFO_CAPACITY_DEFAULT`] items.
    fn default() -> Self {
        Self::new(FIFO_CAPACITY_DEFAULT)
    }
}

impl<T: Send + 'static> IntoHandler<T> for FifoChannel {
    type Handler = Receiver<T>;

    fn into_handler(self) -> (Callback<T>, Receiver<T>) {
        into_handler(channel::fifo(self.capacity))
    }
}

/// A channel that keeps the newest items: when it is full, the oldest is dropped and counted.
///
/// Delivering never blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingChannel {
    capacity: usize,
}

impl RingChannel {
    /// A channel for `capacity` items; 0 behaves as 1.
    pub const fn new(capacity: usize) -> Self {
        Self { capacity }
    }
}

impl<T: Send + 'static> IntoHandler<T> for RingChannel {
    type Handler = Receiver<T>;

    fn into_handler(self) -> (Callback<T>, Receiver<T>) {
        into_handler(channel::ring(self.capacity))
    }
}

/// Why an item cannot be received.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// The declaration ended (undeclared, query finished, session closed) and nothing is queued any more.
    Disconnected,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => f.write_str("channel is empty and closed"),
        }
    }
}

impl core::error::Error for RecvError {}

/// What a [`Callback`] shares: a function or the sending end of a channel.
trait Sink<T>: Send + Sync {
    fn deliver(&self, item: T);
    fn close(&self) {}
    /// Says what it delivers for; the first name stays.
    fn name(&self, _name: &KeyExpr) {}
}

impl<T, F: Fn(T) + Send + Sync> Sink<T> for F {
    fn deliver(&self, item: T) {
        self(item);
    }
}

impl<T: Send> Sink<T> for channel::Sender<T> {
    fn deliver(&self, item: T) {
        self.send(item);
    }

    fn close(&self) {
        channel::Sender::close(self);
    }

    fn name(&self, name: &KeyExpr) {
        channel::Sender::name(self, name);
    }
}

fn into_handler<T: Send + 'static>(
    (sender, receiver): (channel::Sender<T>, Receiver<T>),
) -> (Callback<T>, Receiver<T>) {
    let sink = Arc::new(sender);
    (Callback { sink }, receiver)
}

/// Runs its function when it is dropped. The mutex makes it shareable whatever the function is.
struct OnDrop<F: FnOnce()>(Mutex<Option<F>>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        let slot = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = slot.take() {
            function();
        }
    }
}
