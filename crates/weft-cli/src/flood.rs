//! As many messages as pass: what `demo` and `bench` share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weft::{CongestionControl, Publisher, Session, Subscriber};

use crate::ending::Ending;
use crate::failure::Failure;
use crate::measure::{Rate, Window};

const KEY: &str = "test/thr";

/// From one look at the end of the command to the next.
const TICK: Duration = Duration::from_millis(50);

/// Messages that are being counted.
pub(crate) struct Counting {
    rates: Receiver<Rate>,
    _subscriber: Subscriber<()>,
}

/// Counts the messages of one publisher, in the callback that receives them.
pub(crate) fn count(session: &Session, window: Window) -> Result<Counting, Failure> {
    let (rate, rates) = mpsc::channel();
    let window = Mutex::new(window);
    let count = AtomicU64::new(0);
    let subscriber = session.declare_subscriber(KEY).callback(move |_sample| {
        // One link, so one caller at a time: no read-modify-write needed.
        let received = count.load(Ordering::Relaxed) + 1;
        count.store(received, Ordering::Relaxed);
        if received.is_multiple_of(Window::MARK_EVERY) {
            let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(measured) = window.mark(received, Instant::now()) {
                // Nobody waits for it after the deadline.
                let _ = rate.send(measured);
            }
        }
    });
    Ok(Counting { rates, _subscriber: subscriber.wait()? })
}

impl Counting {
    /// Waits until the window closes.
    ///
    /// # Errors
    /// If it does not within `time_max`, or before `ending`.
    pub(crate) fn rate(&self, time_max: Duration, ending: &Ending) -> Result<Rate, Failure> {
        let deadline = Instant::now() + time_max;
        while !ending.is_here() && Instant::now() < deadline {
            if let Ok(rate) = self.rates.recv_timeout(TICK) {
                return Ok(rate);
            }
        }
        Err(Failure::Run("too few messages came to fill the window".to_owned()))
    }
}

/// The publisher of the messages. It waits when the link is full.
pub(crate) fn publisher(session: &Session, is_express: bool) -> Result<Publisher, Failure> {
    let publisher = session.declare_publisher(KEY).express(is_express);
    Ok(publisher.congestion_control(CongestionControl::Block).wait()?)
}
