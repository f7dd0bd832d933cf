//! The process-wide hook around blocking waits in channels.
//!
//! Its own test binary, because a hook cannot be taken back.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use weft::handlers::{FifoChannel, IntoHandler, RecvError, set_block_hook};

/// Waits that any thread has entered.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Waits of this thread.
    static WAITS: Cell<usize> = const { Cell::new(0) };
}

fn counting_hook(wait: &mut dyn FnMut()) {
    WAITS.set(WAITS.get() + 1);
    ENTERED.fetch_add(1, Ordering::SeqCst);
    wait();
    wait(); // one call too many: it must not receive a second item
}

fn other_hook(wait: &mut dyn FnMut()) {
    wait();
}

fn wait_until_entered(count: usize) {
    while ENTERED.load(Ordering::SeqCst) < count {
        thread::yield_now();
    }
}

/// The hook surrounds waits, and only waits; it is process-wide and the first one stays.
#[test]
fn the_hook_surrounds_every_wait() {
    assert!(set_block_hook(counting_hook));
    assert!(set_block_hook(counting_hook));
    assert!(!set_block_hook(other_hook));

    let (callback, receiver) = IntoHandler::<u32>::into_handler(FifoChannel::new(2));
    callback.call(1);
    callback.call(2);
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    assert_eq!(WAITS.get(), 0, "nothing had to wait");

    thread::scope(|scope| {
        let waiting = scope.spawn(|| (receiver.recv(), WAITS.get()));
        wait_until_entered(1);
        callback.call(3);
        callback.call(4);
        assert_eq!(waiting.join().unwrap(), (Ok(3), 1));
    });
    assert_eq!(receiver.recv(), Ok(4));

    callback.call(5);
    callback.call(6);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            callback.call(7);
            WAITS.get()
        });
        wait_until_entered(2);
        assert_eq!(receiver.recv(), Ok(5));
        assert_eq!(waiting.join().unwrap(), 1);
    });

    drop(callback);
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(6), Ok(7)));
    assert_eq!(receiver.recv(), Err(RecvError::Disconnected));
    assert_eq!(WAITS.get(), 0, "the end of a channel needs no wait");
}
