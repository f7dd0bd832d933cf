//! Python callbacks: the threads that call them, and waiting for the last call.
//!
//! An indirect callback has a thread of its own, fed by a FIFO of 256: it takes what is queued in one go and keeps the GIL from
//! one call to the next, so that a burst costs one hand-over and not one a sample. The thread is a daemon: it
//! does not keep the interpreter from exiting. What is queued when its declaration ends is still
//! delivered; then the drop hook is called, then the [`Latch`] opens.
//!
//! Whoever undeclares, cancels or closes waits for the latch, unless it is itself in a callback
//! ([`weft::handlers::is_calling`]): two callbacks never wait for each other.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use weft::handlers::{Callback, Receiver, calling, is_calling};

use crate::gil::{SIGNALS_EVERY, call, call0, call1, enter};
use crate::handler::Item;

/// Opens when a callback was called for the last time.
#[derive(Default)]
pub(crate) struct Latch {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) {
        *self.lock() = true;
        self.opened.notify_all();
    }

    fn is_open_within(&self, timeout: Duration) -> bool {
        let waited = self.opened.wait_timeout_while(self.lock(), timeout, |open| !*open);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until it is open, or until `deadline`, without the GIL.
    ///
    /// # Errors
    /// What a signal handler raises meanwhile.
    pub(crate) fn wait(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<()> {
        if is_calling() || *self.lock() {
            return Ok(());
        }
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let slice = SIGNALS_EVERY.min(left.unwrap_or(SIGNALS_EVERY));
            if py.detach(|| self.is_open_within(slice)) || left == Some(Duration::ZERO) {
                return Ok(());
            }
            py.check_signals()?;
        }
    }
}

/// Opens its latch when it is dropped.
struct Open(Arc<Latch>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// The callbacks of a session or a cancellation token.
#[derive(Default)]
pub(crate) struct Latches(Mutex<Vec<Weak<Latch>>>);

impl Latches {
    pub(crate) fn add(&self, latch: &Arc<Latch>) {
        let mut latches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of callbacks that are gone are let go of before the list would grow.
        if latches.len() == latches.capacity() {
            latches.retain(|other| other.strong_count() > 0);
        }
        latches.push(Arc::downgrade(latch));
    }

    /// Waits for all of them, see [`Latch::wait`].
    ///
    /// # Errors
    /// What a signal handler raises meanwhile.
    pub(crate) fn wait(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<()> {
        let latches = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut latches = latches.iter().filter_map(Weak::upgrade);
        latches.try_for_each(|latch| latch.wait(py, deadline))
    }
}

/// A callback with a thread of its own, not started yet.
pub(crate) struct Dispatch<T: Item> {
    pub(crate) receiver: Receiver<T>,
    pub(crate) callback: Py<PyAny>,
    pub(crate) drop: Option<Py<PyAny>>,
    pub(crate) latch: Arc<Latch>,
}

impl<T: Item> Dispatch<T> {
    /// Starts it.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn start(self, py: Python<'_>) -> PyResult<()> {
        let run = Box::new(move |py: Python<'_>| self.run(py));
        let target = Py::new(py, Dispatcher(Mutex::new(Some(run))))?;
        let keywords = PyDict::new(py);
        keywords.set_item("target", target)?;
        keywords.set_item("daemon", true)?;
        let thread = py.import("threading")?.getattr("Thread")?.call((), Some(&keywords))?;
        call0(&thread.getattr("start")?)?;
        Ok(())
    }

    fn run(self, py: Python<'_>) {
        let Self { receiver, callback, drop, latch } = self;
        let _open = Open(latch);
        calling(|| {
            let mut queued = VecDeque::new();
            while let Ok(first) = py.detach(|| receiver.recv()) {
                deliver(py, &callback, first);
                receiver.drain_into(&mut queued);
                while let Some(item) = queued.pop_front() {
                    deliver(py, &callback, item);
                }
            }
            end(py, drop.as_ref());
        });
    }
}

type Run = Box<dyn FnOnce(Python<'_>) + Send>;

/// The target of a dispatching thread.
#[pyclass(frozen, module = "weft")]
struct Dispatcher(Mutex<Option<Run>>);

#[pymethods]
impl Dispatcher {
    fn __call__(&self, py: Python<'_>) {
        let run = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(run) = run {
            run(py);
        }
    }
}

/// A callback that is called on the delivering thread.
pub(crate) fn direct<T: Item>(
    callback: Py<PyAny>,
    drop: Option<Py<PyAny>>,
    latch: Arc<Latch>,
) -> Callback<T> {
    let open = Open(latch);
    let call = move |item: T| {
        enter(|py| deliver(py, &callback, item));
    };
    Callback::with_drop(call, move || {
        let _open = open;
        enter(|py| end(py, drop.as_ref()));
    })
}

#[inline]
fn deliver<T: Item>(py: Python<'_>, callback: &Py<PyAny>, item: T) {
    let called = item.into_object(py).and_then(|item| call1(callback.bind(py), item.bind(py)));
    if let Err(error) = called {
        log(py, &error);
    }
}

fn end(py: Python<'_>, drop: Option<&Py<PyAny>>) {
    if let Some(Err(error)) = drop.map(|drop| call0(drop.bind(py))) {
        log(py, &error);
    }
}

/// An exception in a callback ends in the log; delivery goes on.
#[cold]
pub(crate) fn log(py: Python<'_>, error: &PyErr) {
    log_to(py, "zenoh.handlers", error);
}

/// The same to the logger `name`: loggers have the names that programs know.
pub(crate) fn log_to(py: Python<'_>, name: &str, error: &PyErr) {
    let report = || -> PyResult<()> {
        let logger = py.import("logging")?.call_method1("getLogger", (name,))?;
        let keywords = PyDict::new(py);
        keywords
            .set_item("exc_info", (error.get_type(py), error.value(py), error.traceback(py)))?;
        let text = PyTuple::new(py, ["callback error"])?;
        call(&logger.getattr("error")?, &text, Some(&keywords))?;
        Ok(())
    };
    if let Err(failure) = report() {
        failure.write_unraisable(py, None);
    }
}
