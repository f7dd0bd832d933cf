//! The channel behind `FifoChannel` and `RingChannel`: a queue, a mutex and two condition variables.
//!
//! Delivering to a channel on which nobody waits costs one uncontended lock and no system call: the condition variables are
//! signalled only when the counters beside them say that somebody sleeps.
//!
//! A full FIFO still takes the item: the sender then waits until its item has moved into the first `capacity` places. So
//! blocked senders are served in order, a rendez-vous (capacity 0) is no special case, and closing loses nothing.
//!
//! ```text
//!            front                                  back
//!  queue:   | 1 | 2 | 3 | 4 |  5 | 6 |        capacity 4
//!                             `-- senders 5 and 6 wait until 1 and 2 are received
//! ```
//!
//! Items, wakers and callbacks of the user are never dropped or called while the lock is held.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use weft_keyexpr::KeyExpr;
use weft_runtime::wait_while;

use super::RecvError;
use super::block::blocking;
use super::iter::{Drain, Iter};
use super::stream::{RecvFuture, RecvStream};

/// How long a sender waits before that is worth a warning.
const WAIT_UNREMARKED_MAX: Duration = Duration::from_secs(1);

/// A channel whose senders wait while `capacity` items are queued.
pub(super) fn fifo<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    channel(capacity, WhenFull::Block)
}

/// A channel that drops its oldest item when `capacity` (at least 1) items are queued.
pub(super) fn ring<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    channel(capacity.max(1), WhenFull::DropOldest)
}

fn channel<T>(capacity: usize, when_full: WhenFull) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            queue: VecDeque::new(),
            capacity,
            when_full,
            pushed: 0,
            dropped: 0,
            blocked: 0,
            remarked: None,
            closed: false,
            receivers: Sleepers::default(),
            senders_waiting: 0,
            tasks: VecDeque::new(),
            next_task: 0,
        }),
        filled: Condvar::new(),
        freed: Condvar::new(),
        name: OnceLock::new(),
    });
    let sender = Sender { shared: Arc::clone(&shared) };
    (sender, Receiver { shared })
}

/// The delivering end; the channel closes when it is dropped.
pub(super) struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Queues `item`; waits while a FIFO is full. Drops the item when the channel is closed.
    pub(super) fn send(&self, item: T) {
        let mut state = self.shared.lock();
        if state.closed {
            drop(state);
            return; // `item` is dropped here, after the lock.
        }
        let evicted = match state.when_full {
            WhenFull::DropOldest if state.queue.len() >= state.capacity => {
                state.dropped += 1;
                state.queue.pop_front()
            }
            _ => None,
        };
        state.queue.push_back(item);
        state.pushed += 1;
        let ticket = state.pushed;
        let admitted = state.is_admitted(ticket);
        let wake = state.claim_receiver();
        drop(state);
        self.shared.wake(wake);
        drop(evicted);
        if !admitted {
            blocking(|| self.shared.wait_admitted(ticket));
        }
    }

    /// Says what it delivers for; the first name stays.
    pub(super) fn name(&self, name: &KeyExpr) {
        self.shared.name.get_or_init(|| name.clone());
    }

    /// Refuses further items and releases everybody who waits.
    pub(super) fn close(&self) {
        self.shared.close();
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The receiving end of a [`FifoChannel`](super::FifoChannel) or [`RingChannel`](super::RingChannel).
///
/// All methods take `&self`, so several threads and tasks may share it; each item goes to one of them. Dropping it closes
/// the channel, drops what is queued and releases blocked senders.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Receiver<T> {
    /// Waits for the next item.
    ///
    /// # Errors
    /// [`RecvError::Disconnected`] when the channel is closed and empty.
    pub fn recv(&self) -> Result<T, RecvError> {
        match self.recv_until(None) {
            Popped::Item(item) => Ok(item),
            Popped::Empty | Popped::Closed => Err(RecvError::Disconnected),
        }
    }

    /// The next item if there is one, `None` if the channel is empty at the moment. Never waits.
    ///
    /// # Errors
    /// [`RecvError::Disconnected`] when the channel is closed and empty.
    pub fn try_recv(&self) -> Result<Option<T>, RecvError> {
        self.shared.try_pop().into_result()
    }

    /// Waits for the next item for at most `timeout`; `None` when the time is over.
    ///
    /// # Errors
    /// [`RecvError::Disconnected`] when the channel is closed and empty.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<T>, RecvError> {
        // A deadline beyond what the clock can express never comes.
        self.recv_until(Instant::now().checked_add(timeout)).into_result()
    }

    /// Waits for the next item until `deadline`; `None` when that has passed.
    ///
    /// # Errors
    /// [`RecvError::Disconnected`] when the channel is closed and empty.
    pub fn recv_deadline(&self, deadline: Instant) -> Result<Option<T>, RecvError> {
        self.recv_until(Some(deadline)).into_result()
    }

    /// The next item, as a future for any async runtime.
    ///
    /// Cancel-safe: dropping the future before it is ready loses no item. It resolves to [`RecvError::Disconnected`] when
    /// the channel is closed and empty.
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture::new(self)
    }

    /// The items as a [`futures_core::Stream`] that ends when the channel is closed and empty.
    pub fn stream(&self) -> RecvStream<T, &Self> {
        RecvStream::new(self)
    }

    /// As [`stream`](Self::stream), owning the receiver.
    pub fn into_stream(self) -> RecvStream<T> {
        RecvStream::new(self)
    }

    /// As [`stream`](Self::stream), for a receiver that is shared.
    pub fn shared_stream(self: &Arc<Self>) -> RecvStream<T, Arc<Self>> {
        RecvStream::new(Arc::clone(self))
    }

    /// Takes everything that is queued at this moment, with one lock. Never waits.
    pub fn drain(&self) -> Drain<T> {
        let mut items = VecDeque::new();
        self.drain_into(&mut items);
        Drain(items.into_iter())
    }

    /// As [`drain`](Self::drain), to the end of `items`. Never waits.
    ///
    /// Where `items` is empty, it changes places with the channel's queue: nothing is copied, and who takes turns with one
    /// `items` has nothing allocated either.
    pub fn drain_into(&self, items: &mut VecDeque<T>) {
        let mut state = self.shared.lock();
        if items.is_empty() {
            std::mem::swap(&mut state.queue, items);
        } else {
            items.append(&mut state.queue);
        }
        let senders_waiting = state.senders_waiting > 0;
        drop(state);
        if senders_waiting {
            self.shared.freed.notify_all();
        }
    }

    /// Waits for each item in turn; ends when the channel is closed and empty.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Number of queued items. A full FIFO counts the items of the senders that it blocks.
    pub fn len(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Whether nothing is queued at this moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Capacity in items; 0 for a rendez-vous.
    pub fn capacity(&self) -> usize {
        self.shared.lock().capacity
    }

    /// Number of items that a [`RingChannel`](super::RingChannel) has dropped so far; 0 for a FIFO.
    pub fn dropped(&self) -> u64 {
        self.shared.lock().dropped
    }

    /// Number of items so far whose delivery had to wait for room; 0 for a ring. What delivers to a
    /// [`FifoChannel`](super::FifoChannel) stands still meanwhile: the link behind it, or the publisher in this session.
    pub fn blocked(&self) -> u64 {
        self.shared.lock().blocked
    }

    pub(super) fn shared(&self) -> &Shared<T> {
        &self.shared
    }

    /// `Empty` only when `deadline` has passed.
    fn recv_until(&self, deadline: Option<Instant>) -> Popped<T> {
        match self.shared.try_pop() {
            Popped::Empty => blocking(|| self.shared.wait_pop(deadline)),
            popped => popped,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.close();
        // The queue is dropped after the lock: an item's own `drop` may call into the session.
        let queue = std::mem::take(&mut self.shared.lock().queue);
        drop(queue);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Receiver")
            .field("len", &state.queue.len())
            .field("capacity", &state.capacity)
            .field("closed", &state.closed)
            .finish()
    }
}

/// Outcome of an attempt to take the first item.
pub(super) enum Popped<T> {
    Item(T),
    Empty,
    Closed,
}

impl<T> Popped<T> {
    fn into_result(self) -> Result<Option<T>, RecvError> {
        match self {
            Self::Item(item) => Ok(Some(item)),
            Self::Empty => Ok(None),
            Self::Closed => Err(RecvError::Disconnected),
        }
    }
}

/// What both ends share.
pub(super) struct Shared<T> {
    state: Mutex<State<T>>,
    /// Signalled when an item arrives for a sleeping thread, and on close.
    filled: Condvar,
    /// Signalled when an item leaves while senders sleep, and on close.
    freed: Condvar,
    /// What the channel belongs to, if that has a key expression.
    name: OnceLock<KeyExpr>,
}

impl<T> Shared<T> {
    pub(super) fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No user code runs under the lock, so a poisoned state is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn try_pop(&self) -> Popped<T> {
        self.pop(self.lock())
    }

    /// Takes the first item, releases the lock, then the senders that may have room.
    pub(super) fn pop(&self, mut state: MutexGuard<'_, State<T>>) -> Popped<T> {
        let Some(item) = state.queue.pop_front() else {
            return if state.closed { Popped::Closed } else { Popped::Empty };
        };
        let senders_waiting = state.senders_waiting > 0;
        drop(state);
        if senders_waiting {
            self.freed.notify_all();
        }
        Popped::Item(item)
    }

    /// Passes one item's notification on to a waiting receiver.
    pub(super) fn wake(&self, wake: Wake) {
        match wake {
            Wake::Nobody => {}
            Wake::Thread => self.filled.notify_one(),
            Wake::Task(waker) => waker.wake(),
        }
    }

    /// Sleeps until an item or the end comes; `Empty` when `deadline` comes first.
    fn wait_pop(&self, deadline: Option<Instant>) -> Popped<T> {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.closed {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Popped::Empty;
            }
            state.receivers.sleep();
            state = match left {
                None => self.filled.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let woken = self.filled.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.receivers.wake_up();
        }
        self.pop(state)
    }

    /// Sleeps until the item number `ticket` is within the capacity or has been received, or the channel is closed.
    fn wait_admitted(&self, ticket: u64) {
        let mut state = self.lock();
        state.blocked += 1;
        state.senders_waiting += 1;
        let is_over = |state: &mut State<T>| state.closed || state.is_admitted(ticket);
        let remark_at = Instant::now() + WAIT_UNREMARKED_MAX;
        state = wait_while(&self.state, &self.freed, state, Some(remark_at), |it| !is_over(it));
        // Whoever was interrupted has not waited for long.
        let is_late = Instant::now() >= remark_at;
        if is_late && !is_over(&mut state) && state.remark(ticket) {
            let capacity = state.capacity;
            drop(state);
            self.warn(capacity);
            state = self.lock();
        }
        state = wait_while(&self.state, &self.freed, state, None, |it| !is_over(it));
        state.senders_waiting -= 1;
    }

    /// The log is foreign code: no lock is held.
    #[cold]
    fn warn(&self, capacity: usize) {
        let key = self.name.get().map(tracing::field::display);
        let seconds = WAIT_UNREMARKED_MAX.as_secs();
        tracing::warn!(
            key,
            capacity,
            "a full channel has kept what delivers to it for {seconds} s"
        );
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let tasks = std::mem::take(&mut state.tasks);
        let (receivers_wait, senders_wait) =
            (state.receivers.asleep > 0, state.senders_waiting > 0);
        drop(state);
        if receivers_wait {
            self.filled.notify_all();
        }
        if senders_wait {
            self.freed.notify_all();
        }
        for (_, waker) in tasks {
            waker.wake();
        }
    }
}

/// The part under the lock.
pub(super) struct State<T> {
    queue: VecDeque<T>,
    capacity: usize,
    when_full: WhenFull,
    /// Items queued since the beginning; the newest one's ticket.
    pushed: u64,
    /// Items evicted from a ring.
    dropped: u64,
    /// Items that had to wait for room.
    blocked: u64,
    /// The newest item whose wait was long.
    remarked: Option<u64>,
    /// No item is accepted any more.
    closed: bool,
    /// Threads asleep in `filled`.
    receivers: Sleepers,
    /// Threads asleep in `freed`.
    senders_waiting: usize,
    /// Wakers of tasks that found the queue empty, by registration number; a woken one is removed.
    tasks: VecDeque<(u64, Waker)>,
    next_task: u64,
}

impl<T> State<T> {
    /// Whether the item number `ticket` has been received or is among the first `capacity` queued ones.
    fn is_admitted(&self, ticket: u64) -> bool {
        let received = self.pushed - self.queue.len() as u64;
        ticket <= received.saturating_add(self.capacity as u64)
    }

    /// Takes down that the wait of item number `ticket` is long. Whether that is news: where one item after the other has
    /// to wait for long, all but the first go without saying.
    fn remark(&mut self, ticket: u64) -> bool {
        // Senders that wait side by side come here in any order.
        let is_news =
            self.remarked.is_none_or(|last| last + (self.senders_waiting as u64) < ticket);
        self.remarked = self.remarked.max(Some(ticket));
        is_news
    }

    /// Chooses a receiver for one new item: a sleeping thread that no other item has claimed, else a task.
    pub(super) fn claim_receiver(&mut self) -> Wake {
        if self.receivers.claim() {
            return Wake::Thread;
        }
        match self.tasks.pop_front() {
            Some((_, waker)) => Wake::Task(waker),
            None => Wake::Nobody,
        }
    }

    /// Whether an item, or the end, is there for a receiver.
    pub(super) fn is_ready(&self) -> bool {
        !self.queue.is_empty() || self.closed
    }

    /// Registers `waker` under `task`, or under a new number. Returns the number and the waker that it replaces.
    pub(super) fn register(&mut self, task: Option<u64>, waker: Waker) -> (u64, Option<Waker>) {
        if let Some(slot) = self.tasks.iter_mut().find(|(number, _)| Some(*number) == task) {
            return (slot.0, Some(std::mem::replace(&mut slot.1, waker)));
        }
        let number = self.next_task;
        self.next_task += 1;
        self.tasks.push_back((number, waker));
        (number, None)
    }

    /// Removes a registration; `None` if an item or the end has claimed it already.
    pub(super) fn unregister(&mut self, task: u64) -> Option<Waker> {
        let index = self.tasks.iter().position(|(number, _)| *number == task)?;
        self.tasks.remove(index).map(|(_, waker)| waker)
    }
}

#[derive(Clone, Copy)]
enum WhenFull {
    Block,
    DropOldest,
}

/// Who is to be woken for one new item.
pub(super) enum Wake {
    Nobody,
    Thread,
    Task(Waker),
}

/// Threads asleep on a condition variable, and how many signals they have not consumed yet.
///
/// `signalled` is at most the number of sleepers that are awake again but have not taken the lock: a signal wakes one if
/// there is one, and each consumes one signal when it takes the lock. So no item is taken for claimed by a thread that
/// sleeps on. After a time-out the number may be lower, which costs a superfluous signal.
#[derive(Default)]
struct Sleepers {
    asleep: usize,
    signalled: usize,
}

impl Sleepers {
    fn sleep(&mut self) {
        self.asleep += 1;
    }

    fn wake_up(&mut self) {
        self.asleep -= 1;
        self.signalled = self.signalled.saturating_sub(1);
    }

    /// Whether there is a sleeper to signal; counts it as signalled.
    fn claim(&mut self) -> bool {
        let free = self.asleep > self.signalled;
        self.signalled += usize::from(free);
        free
    }
}
