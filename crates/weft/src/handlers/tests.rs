use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_core::Stream;
use proptest::prelude::*;

use super::*;

/// Long enough for anything that should happen, so that a broken test ends.
const SOON: Duration = Duration::from_secs(20);

fn fifo(capacity: usize) -> (Callback<u32>, Receiver<u32>) {
    FifoChannel::new(capacity).into_handler()
}

fn ring(capacity: usize) -> (Callback<u32>, Receiver<u32>) {
    RingChannel::new(capacity).into_handler()
}

/// Waits until `condition` holds; the conditions are states of a channel that another thread reaches.
fn wait_for(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < deadline, "the expected state never came");
        thread::yield_now();
    }
}

#[test]
fn fifo_keeps_order_and_drains_after_the_sender_is_gone() {
    let (callback, receiver) = fifo(4);
    (1..=3).for_each(|item| callback.call(item));
    drop(callback);
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Ok(Some(2)));
    assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(Some(3)));
    assert_eq!(receiver.recv(), Err(RecvError::Disconnected));
    assert_eq!(receiver.try_recv(), Err(RecvError::Disconnected));
    assert_eq!(receiver.recv_timeout(SOON), Err(RecvError::Disconnected));
}

#[test]
fn try_recv_of_an_open_empty_channel_is_none() {
    let (_callback, receiver) = fifo(1);
    assert_eq!(receiver.try_recv(), Ok(None));
    assert!(receiver.is_empty());
}

#[test]
fn recv_with_a_deadline_waits_no_shorter() {
    let (_callback, receiver) = fifo(1);
    let deadline = Instant::now() + Duration::from_millis(20);
    assert_eq!(receiver.recv_deadline(deadline), Ok(None));
    assert!(Instant::now() >= deadline);
}

#[test]
fn a_timeout_beyond_the_clock_waits_for_an_item() {
    let (callback, receiver) = fifo(1);
    thread::scope(|scope| {
        scope.spawn(|| callback.call(7));
        assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(Some(7)));
    });
}

#[test]
fn recv_wakes_for_an_item_and_for_the_end() {
    let (callback, receiver) = fifo(1);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| [receiver.recv(), receiver.recv()]);
        callback.call(5);
        drop(callback);
        assert_eq!(waiting.join().unwrap(), [Ok(5), Err(RecvError::Disconnected)]);
    });
}

#[test]
fn a_full_fifo_blocks_until_there_is_room() {
    let (callback, receiver) = fifo(2);
    callback.call(1);
    callback.call(2);
    thread::scope(|scope| {
        let sender = scope.spawn(|| callback.call(3));
        wait_for(|| receiver.len() == 3);
        assert!(!sender.is_finished());
        assert_eq!(receiver.recv(), Ok(1));
        sender.join().unwrap();
        assert_eq!(receiver.len(), 2);
    });
    drop(callback);
    assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_rendez_vous_returns_when_its_item_is_received() {
    let (callback, receiver) = fifo(0);
    assert_eq!(receiver.try_recv(), Ok(None));
    thread::scope(|scope| {
        let sender = scope.spawn(|| callback.call(1));
        wait_for(|| receiver.len() == 1);
        assert!(!sender.is_finished());
        assert_eq!(receiver.try_recv(), Ok(Some(1)));
        sender.join().unwrap();
    });
}

#[test]
fn dropping_the_receiver_releases_a_blocked_sender() {
    let (callback, receiver) = fifo(0);
    thread::scope(|scope| {
        let sender = scope.spawn(|| callback.call(1));
        wait_for(|| receiver.len() == 1);
        drop(receiver);
        sender.join().unwrap();
        callback.call(2); // a closed channel drops the item instead of blocking
    });
}

#[test]
fn closing_releases_a_blocked_sender_and_keeps_its_item() {
    let (callback, receiver) = fifo(1);
    callback.call(1);
    thread::scope(|scope| {
        let sender = scope.spawn(|| callback.call(2));
        wait_for(|| receiver.len() == 2);
        callback.clone().close();
        sender.join().unwrap();
    });
    callback.call(3);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn drain_takes_what_is_queued_and_releases_senders() {
    let (callback, receiver) = fifo(2);
    thread::scope(|scope| {
        let sender = scope.spawn(|| (1..=3).for_each(|item| callback.call(item)));
        wait_for(|| receiver.len() == 3);
        let drained = receiver.drain();
        assert_eq!(drained.len(), 3);
        assert_eq!(drained.collect::<Vec<_>>(), [1, 2, 3]);
        sender.join().unwrap();
    });
    assert_eq!(receiver.drain().count(), 0);
}

#[test]
fn drain_into_puts_what_is_queued_behind_what_is_there() {
    let (callback, receiver) = fifo(8);
    let mut items = VecDeque::new();
    callback.call(1);
    receiver.drain_into(&mut items);
    (2..=3).for_each(|item| callback.call(item));
    receiver.drain_into(&mut items);
    receiver.drain_into(&mut items);
    assert_eq!(items, [1, 2, 3]);
}

#[test]
fn a_ring_keeps_the_newest_counts_the_dropped_and_drains_after_close() {
    let (callback, receiver) = ring(2);
    (1..=5).for_each(|item| callback.call(item));
    assert_eq!(receiver.dropped(), 3);
    drop(callback);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [4, 5]);
    assert_eq!(receiver.try_recv(), Err(RecvError::Disconnected));
}

#[test]
fn a_ring_of_zero_holds_one() {
    let (callback, receiver) = ring(0);
    callback.call(1);
    callback.call(2);
    assert_eq!((receiver.capacity(), receiver.recv()), (1, Ok(2)));
}

#[test]
fn several_threads_receive_every_item_once() {
    const COUNT: u32 = 20_000;
    let (callback, receiver) = fifo(16);
    let mut received = thread::scope(|scope| {
        let receivers: Vec<_> =
            (0..3).map(|_| scope.spawn(|| receiver.iter().collect::<Vec<_>>())).collect();
        let senders: Vec<_> = (0..3)
            .map(|first| {
                let callback = callback.clone();
                scope.spawn(move || {
                    (first..COUNT).step_by(3).for_each(|item| callback.call(item));
                })
            })
            .collect();
        for sender in senders {
            sender.join().unwrap();
        }
        drop(callback);
        receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect::<Vec<_>>()
    });
    received.sort_unstable();
    assert!(received.iter().copied().eq(0..COUNT));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Woken {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future>(future: Pin<&mut F>, woken: &Arc<Woken>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(woken));
    future.poll(&mut Context::from_waker(&waker))
}

/// A minimal executor: parks the thread until the future is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

#[test]
fn recv_async_is_woken_once_for_an_item() {
    let (callback, receiver) = fifo(4);
    let woken = Arc::new(Woken::default());
    let mut future = pin!(receiver.recv_async());
    assert!(poll(future.as_mut(), &woken).is_pending());
    assert!(poll(future.as_mut(), &woken).is_pending());
    callback.call(1);
    callback.call(2);
    assert_eq!(woken.count(), 1);
    assert_eq!(poll(future.as_mut(), &woken), Poll::Ready(Ok(1)));
}

#[test]
fn recv_async_sees_the_end_after_the_queued_items() {
    let (callback, receiver) = fifo(4);
    callback.call(1);
    drop(callback);
    assert_eq!(block_on(receiver.recv_async()), Ok(1));
    assert_eq!(block_on(receiver.recv_async()), Err(RecvError::Disconnected));
}

#[test]
fn closing_wakes_every_waiting_task() {
    let (callback, receiver) = fifo(4);
    let woken = Arc::new(Woken::default());
    let mut futures: Vec<_> = (0..3).map(|_| Box::pin(receiver.recv_async())).collect();
    for future in &mut futures {
        assert!(poll(future.as_mut(), &woken).is_pending());
    }
    drop(callback);
    assert_eq!(woken.count(), 3);
}

#[test]
fn a_cancelled_future_passes_its_wake_up_on() {
    let (callback, receiver) = fifo(4);
    let [first, second] = [Arc::new(Woken::default()), Arc::new(Woken::default())];
    let mut cancelled = Box::pin(receiver.recv_async());
    let mut patient = Box::pin(receiver.recv_async());
    assert!(poll(cancelled.as_mut(), &first).is_pending());
    assert!(poll(patient.as_mut(), &second).is_pending());
    callback.call(9);
    assert_eq!((first.count(), second.count()), (1, 0));
    drop(cancelled);
    assert_eq!(second.count(), 1);
    assert_eq!(poll(patient.as_mut(), &second), Poll::Ready(Ok(9)));
}

#[test]
fn a_cancelled_future_that_was_not_woken_leaves_no_waker() {
    let (callback, receiver) = fifo(4);
    let woken = Arc::new(Woken::default());
    let mut future = Box::pin(receiver.recv_async());
    assert!(poll(future.as_mut(), &woken).is_pending());
    drop(future);
    callback.call(1);
    assert_eq!(woken.count(), 0);
    assert_eq!(Arc::strong_count(&woken), 1);
}

#[test]
fn a_stream_ends_with_the_channel() {
    let (callback, receiver) = fifo(4);
    callback.call(1);
    callback.call(2);
    drop(callback);
    let borrowed = block_on(async { next(&mut receiver.stream()).await });
    let mut stream = receiver.into_stream();
    let rest = block_on(async { [next(&mut stream).await, next(&mut stream).await] });
    assert_eq!((borrowed, rest), (Some(1), [Some(2), None]));
}

#[test]
fn tasks_and_threads_share_a_channel_without_losing_items() {
    const COUNT: u32 = 5_000;
    let (callback, receiver) = fifo(8);
    let total: u64 = thread::scope(|scope| {
        let thread = scope.spawn(|| receiver.iter().map(u64::from).sum::<u64>());
        let task = scope.spawn(|| {
            block_on(async {
                let mut sum = 0;
                while let Ok(item) = receiver.recv_async().await {
                    sum += u64::from(item);
                }
                sum
            })
        });
        (0..COUNT).for_each(|item| callback.call(item));
        drop(callback);
        thread.join().unwrap() + task.join().unwrap()
    });
    assert_eq!(total, (0..u64::from(COUNT)).sum::<u64>());
}

#[test]
fn closures_pairs_and_callbacks_are_handlers() {
    let (tx, rx) = mpsc::channel();
    let other = tx.clone();
    let (closure, ()) = IntoHandler::<u32>::into_handler(move |item| tx.send(item).unwrap());
    let (pair, object) =
        IntoHandler::<u32>::into_handler((move |item: u32| other.send(item * 10).unwrap(), "mine"));
    let (same, ()) = closure.clone().into_handler();
    let (again, name) = (same.clone(), String::from("also mine")).into_handler();
    closure.call(1);
    pair.call(2);
    same.call(3);
    again.call(4);
    drop((closure, pair, same, again));
    assert_eq!((object, name.as_str()), ("mine", "also mine"));
    assert_eq!(rx.into_iter().collect::<Vec<_>>(), [1, 20, 3, 4]);
}

#[test]
fn a_mutable_function_is_called_by_one_thread_at_a_time() {
    let (tx, rx) = mpsc::channel();
    let mut sum = 0;
    let callback = Callback::from_mut(move |item: u32| {
        sum += item;
        tx.send(sum).unwrap();
    });
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| callback.call(1)));
        }
    });
    drop(callback);
    assert!(rx.into_iter().eq(1..=400));
}

#[test]
fn the_drop_hook_runs_once_after_the_last_clone() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&dropped);
    let callback = Callback::with_drop(
        |_: u32| {},
        move || {
            counter.fetch_add(1, Ordering::SeqCst);
        },
    );
    let clone = callback.clone();
    clone.call(1);
    drop(callback);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(clone);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

/// An item whose drop uses its own channel, as a query does when it finalises through the session.
struct Reentrant(Callback<u32>);

impl Drop for Reentrant {
    fn drop(&mut self) {
        self.0.call(1);
    }
}

#[test]
fn items_are_dropped_outside_the_lock() {
    let (probe, probed) = fifo(8);
    let (callback, receiver) = IntoHandler::<Arc<Reentrant>>::into_handler(RingChannel::new(1));
    let observer = Arc::new(receiver);
    // Each drop looks at the channel that is dropping it; with the lock held it would wait for itself.
    let look = Arc::clone(&observer);
    let looking = Callback::new(move |item: u32| {
        assert!(look.len() <= 1);
        probe.call(item);
    });
    callback.call(Arc::new(Reentrant(looking.clone()))); // evicted by the next
    callback.call(Arc::new(Reentrant(looking.clone()))); // drained
    drop(observer.drain());
    callback.close();
    callback.call(Arc::new(Reentrant(looking))); // refused
    assert_eq!(probed.drain().count(), 3);
}

/// What a test does to a channel and to its model.
#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    Receive,
    Drain,
    Poll,
    Cancel,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => any::<u32>().prop_map(Step::Send),
        3 => Just(Step::Receive),
        1 => Just(Step::Drain),
        2 => Just(Step::Poll),
        1 => Just(Step::Cancel),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    /// A ring behaves as a queue that forgets its oldest items, whichever way items are received.
    #[test]
    fn a_ring_equals_its_model(capacity in 0usize..6, steps in steps()) {
        let (callback, receiver) = ring(capacity);
        let woken = Arc::new(Woken::default());
        let mut model = std::collections::VecDeque::new();
        let mut dropped = 0;
        let mut pending = None;
        for step in steps {
            match step {
                Step::Send(item) => {
                    callback.call(item);
                    if model.len() == capacity.max(1) {
                        model.pop_front();
                        dropped += 1;
                    }
                    model.push_back(item);
                }
                Step::Receive => prop_assert_eq!(receiver.try_recv(), Ok(model.pop_front())),
                Step::Drain => prop_assert!(receiver.drain().eq(model.drain(..))),
                Step::Poll => {
                    let mut future = pending.take().unwrap_or_else(|| Box::pin(receiver.recv_async()));
                    match (poll(future.as_mut(), &woken), model.pop_front()) {
                        (Poll::Ready(received), Some(expected)) => prop_assert_eq!(received, Ok(expected)),
                        (Poll::Pending, None) => pending = Some(future),
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Cancel => pending = None,
            }
            prop_assert_eq!(receiver.len(), model.len());
            prop_assert_eq!(receiver.dropped(), dropped);
        }
    }
}
