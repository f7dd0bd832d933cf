//! One at a time and in order, whichever threads it comes from.
//!
//! What is to be delivered is queued under the caller's lock; one thread at a time takes it out and
//! delivers it without the lock. Another one that has something meanwhile leaves it to the first; if
//! that is kept by the application, it waits when [`OUTBOX_MAX`] items are queued, so that a slow
//! handler stops what feeds it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Items queued behind a delivery before others wait.
const OUTBOX_MAX: usize = 256;

/// State that inputs change and that has outputs for one receiver.
pub(super) struct Outbox<S> {
    state: Mutex<State<S>>,
    changed: Condvar,
}

struct State<S> {
    inner: S,
    delivering: Option<ThreadId>,
}

/// What an [`Outbox`] takes its items from.
pub(super) trait Outputs {
    type Item;

    fn outputs(&mut self) -> &mut VecDeque<Self::Item>;
}

impl<S: Outputs> Outbox<S> {
    pub(super) fn new(inner: S) -> Self {
        let state = State { inner, delivering: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the state to `change`, once there is room for what it may queue.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let this = std::thread::current().id();
        let must_wait = |state: &mut State<S>| {
            state.delivering.is_some_and(|thread| thread != this)
                && state.inner.outputs().len() >= OUTBOX_MAX
        };
        let mut state = self.lock();
        while must_wait(&mut state) {
            drop(state);
            weft_runtime::block_hook(&mut || {
                let state = self.lock();
                let waited = self.changed.wait_while(state, |state| must_wait(state));
                drop(waited);
            });
            state = self.lock();
        }
        change(&mut state.inner)
    }

    /// Delivers what is queued, unless another thread does, or this one further up.
    pub(super) fn deliver(&self, mut deliver: impl FnMut(S::Item)) {
        let mut state = self.lock();
        if state.delivering.is_some() {
            return;
        }
        while let Some(item) = state.inner.outputs().pop_front() {
            state.delivering = Some(std::thread::current().id());
            drop(state);
            let turn = Turn(self);
            deliver(item);
            drop(turn);
            state = self.lock();
            if state.delivering.is_some() {
                return; // Another thread was faster.
            }
        }
    }
}

/// A delivery under way; over when it is dropped, even by a panic.
struct Turn<'a, S: Outputs>(&'a Outbox<S>);

impl<S: Outputs> Drop for Turn<'_, S> {
    fn drop(&mut self) {
        self.0.lock().delivering = None;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    #[derive(Default)]
    struct Numbers(VecDeque<u32>);

    impl Outputs for Numbers {
        type Item = u32;

        fn outputs(&mut self) -> &mut VecDeque<u32> {
            &mut self.0
        }
    }

    #[test]
    fn what_comes_during_a_delivery_is_delivered_after_it() {
        let outbox = Outbox::new(Numbers::default());
        let mut delivered = Vec::new();
        outbox.change(|it| it.0.push_back(1));
        outbox.deliver(|number| {
            delivered.push(number);
            if number < 3 {
                outbox.change(|it| it.0.push_back(number + 1));
                outbox.deliver(|_| panic!("a delivery within a delivery"));
            }
        });
        assert_eq!(delivered, [1, 2, 3]);
    }

    #[test]
    fn others_wait_when_a_delivery_takes_its_time_and_much_is_queued() {
        let outbox = Arc::new(Outbox::new(Numbers::default()));
        let (entered, entering) = mpsc::channel();
        let (leave, leaving) = mpsc::channel::<()>();
        outbox.change(|it| it.0.push_back(0));
        let slow = Arc::clone(&outbox);
        let deliverer = std::thread::spawn(move || {
            let mut delivered = Vec::new();
            slow.deliver(|number| {
                if number == 0 {
                    entered.send(()).unwrap();
                    leaving.recv().unwrap();
                }
                delivered.push(number);
            });
            delivered
        });
        entering.recv().unwrap();
        let (done, is_done) = mpsc::channel();
        let other = Arc::clone(&outbox);
        let feeder = std::thread::spawn(move || {
            for number in 1..=OUTBOX_MAX as u32 + 1 {
                other.change(|it| it.0.push_back(number));
                done.send(number).unwrap();
            }
        });
        let until_full = is_done.iter().take(OUTBOX_MAX).last();
        assert_eq!(until_full, Some(OUTBOX_MAX as u32));
        assert!(is_done.try_recv().is_err());
        leave.send(()).unwrap();
        feeder.join().unwrap();
        let mut delivered = deliverer.join().unwrap();
        outbox.deliver(|number| delivered.push(number));
        assert!(delivered.is_sorted() && delivered.len() == OUTBOX_MAX + 2);
    }
}
