//! A handler of the application as the session holds it: called, ended, and waited for.
//!
//! Invariants: after [`Listener::end`] the handler is not called any more; when `end` returns, no
//! call of it runs and what it captured is dropped, unless the caller is itself in a handler: then
//! `end` waits for nobody, so that two handlers cannot wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use weft_runtime::wait_while;

use crate::handlers::Callback;

#[derive(Default)]
struct State {
    /// Calls under way.
    running: usize,
    /// No call begins any more.
    ended: bool,
    /// The handler is dropped.
    gone: bool,
    /// Threads that wait for the end. Without any, nothing is signalled: that is a system call.
    waiting: usize,
}

/// The calls of one handler.
#[derive(Default)]
struct Calls {
    state: Mutex<State>,
    changed: Condvar,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins, unless the handler has ended.
    fn begin(&self) -> Option<Call<'_>> {
        let mut state = self.lock();
        if state.ended {
            return None;
        }
        state.running += 1;
        Some(Call(self))
    }

    /// Waits until the handler is dropped and none of its calls runs.
    fn wait(&self) {
        if weft_runtime::is_calling() {
            return;
        }
        let goes_on = |state: &mut State| state.running > 0 || !state.gone;
        let mut state = self.lock();
        state.waiting += 1;
        state = wait_while(&self.state, &self.changed, state, None, goes_on);
        state.waiting -= 1;
    }

    /// Something that others may wait for is the case.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }
}

/// A call under way.
struct Call<'a>(&'a Calls);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.running -= 1);
    }
}

/// A handler and its calls.
pub(crate) struct Listener<T> {
    /// `None` only while it is dropped.
    callback: Option<Callback<T>>,
    calls: Arc<Calls>,
}

impl<T> Listener<T> {
    pub(crate) fn new(callback: Callback<T>) -> Arc<Self> {
        Arc::new(Self { callback: Some(callback), calls: Arc::default() })
    }

    /// Calls the handler, unless it has ended.
    pub(crate) fn call(&self, item: T) {
        let Some(_call) = self.calls.begin() else { return };
        if let Some(callback) = &self.callback {
            callback.call(item);
        }
    }

    /// Calls it no more, and closes its channel: who delivers to it or receives from it returns.
    pub(crate) fn close(&self) {
        self.calls.lock().ended = true;
        if let Some(callback) = &self.callback {
            callback.close();
        }
    }

    /// Calls it no more, lets go of it, and waits as the module says.
    pub(crate) fn end(self: Arc<Self>) {
        self.close();
        let calls = Arc::clone(&self.calls);
        drop(self);
        calls.wait();
    }

    /// The same for a handler that the caller does not hold.
    pub(crate) fn ending(self: &Arc<Self>) -> Ending
    where
        T: 'static,
    {
        let listener: Weak<dyn Close + Send + Sync> = Arc::<Self>::downgrade(self);
        Ending { listener, calls: Arc::clone(&self.calls) }
    }
}

impl<T> Drop for Listener<T> {
    fn drop(&mut self) {
        // What the handler captured may call back: it is dropped without the lock.
        drop(self.callback.take());
        self.calls.change(|state| state.gone = true);
    }
}

trait Close {
    fn close(&self);
}

impl<T> Close for Listener<T> {
    fn close(&self) {
        Listener::close(self);
    }
}

/// Ends a handler without keeping it alive.
#[derive(Clone)]
pub(crate) struct Ending {
    listener: Weak<dyn Close + Send + Sync>,
    calls: Arc<Calls>,
}

impl Ending {
    /// Calls the handler no more and closes its channel.
    pub(crate) fn close(&self) {
        if let Some(listener) = self.listener.upgrade() {
            listener.close();
        }
    }

    /// Waits until nobody else holds the handler and none of its calls runs.
    pub(crate) fn wait(&self) {
        self.calls.wait();
    }

    /// Whether the handler is dropped.
    pub(crate) fn is_gone(&self) -> bool {
        self.listener.strong_count() == 0
    }
}

/// The handlers of one kind of entity, by entity id.
pub(crate) struct Listeners<T>(Mutex<HashMap<u32, Arc<Listener<T>>>>);

impl<T> Default for Listeners<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Listeners<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Arc<Listener<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: u32, callback: Callback<T>) {
        self.lock().insert(id, Listener::new(callback));
    }

    /// The handler of `id`. Whoever waits for its end waits until this is dropped.
    pub(crate) fn find(&self, id: u32) -> Option<Arc<Listener<T>>> {
        self.lock().get(&id).cloned()
    }

    /// Calls the handler of `id`, if it has one.
    pub(crate) fn call(&self, id: u32, item: T) {
        if let Some(listener) = self.find(id) {
            listener.call(item);
        }
    }

    /// Ends the handler of `id`, see [`Listener::end`].
    pub(crate) fn end(&self, id: u32) {
        let listener = self.lock().remove(&id);
        if let Some(listener) = listener {
            listener.end();
        }
    }

    /// Closes all their channels.
    pub(crate) fn close_all(&self) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        for listener in all {
            listener.close();
        }
    }

    /// Lets go of all of them.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn ending_waits_for_a_call_and_for_the_drop_of_the_handler() {
        let (entered, entering) = mpsc::channel();
        let (leave, leaving) = mpsc::channel::<()>();
        let (dropped, is_dropped) = mpsc::channel();
        let leaving = Mutex::new(leaving);
        let function = move |()| {
            entered.send(()).unwrap();
            leaving.lock().unwrap().recv().unwrap();
        };
        let on_drop = move || dropped.send(()).unwrap();
        let listener = Listener::new(Callback::with_drop(function, on_drop));
        let calling = Arc::clone(&listener);
        let caller = std::thread::spawn(move || calling.call(()));
        entering.recv().unwrap();
        let ender = std::thread::spawn(move || listener.end());
        assert!(is_dropped.try_recv().is_err());
        assert!(!ender.is_finished());
        leave.send(()).unwrap();
        ender.join().unwrap();
        assert!(is_dropped.try_recv().is_ok());
        caller.join().unwrap();
    }

    #[test]
    fn a_handler_that_has_ended_is_not_called() {
        let (called, calls) = mpsc::channel();
        let listener = Listener::new(Callback::new(move |item| called.send(item).unwrap()));
        listener.call(1);
        listener.close();
        listener.call(2);
        drop(listener);
        assert_eq!(calls.into_iter().collect::<Vec<_>>(), [1]);
    }
}
