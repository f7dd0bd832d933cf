//! `Handler`, the receiving end of a channel.
//!
//! A FIFO is read in batches: when a receiver finds its own supply used up, it takes everything that is queued with one
//! lock, and hands it out one by one without another. So up to twice the capacity may be on its way; a
//! ring is read one by one, for what it drops must be what was not read.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use weft::handlers::{Receiver, RecvError, RecvStream};

use crate::error::refuse;
use crate::gil::{Held, Owned, SIGNALS_EVERY};
use crate::handler::{Item, Timeout, alias};
use crate::wake;

/// The outcome of looking for something.
enum Found<T> {
    It(T),
    Empty,
    Closed,
}

/// A channel of whatever type.
trait Source: Send + Sync {
    fn name(&self) -> &'static str;
    fn closed_text(&self) -> &'static str;
    /// The next item, without waiting.
    fn next(&self, py: Python<'_>) -> PyResult<Found<Py<PyAny>>>;
    /// Everything that is there, but `max` items at most, without waiting.
    fn many<'py>(&self, py: Python<'py>, max: usize) -> PyResult<Found<Bound<'py, PyList>>>;
    /// Waits for an item or the end, without the GIL.
    fn wait(&self, timeout: Duration);
    /// Has `waker` woken when an item or the end comes. Returns what keeps it so; `None` if one is there already.
    fn notify(&self, waker: &std::task::Waker) -> Option<Box<dyn Any + Send + Sync>>;
    fn len(&self) -> usize;
}

struct Channel<T: Item> {
    receiver: Arc<Receiver<T>>,
    /// Items taken out of the channel and not handed out yet; they come first.
    ahead: Mutex<VecDeque<T>>,
    is_fifo: bool,
}

impl<T: Item> Channel<T> {
    fn ahead(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item: one lock of our own, and one of the channel a batch.
    #[inline]
    fn pop(&self) -> Result<Option<T>, RecvError> {
        let mut ahead = self.ahead();
        if self.is_fifo && ahead.is_empty() {
            self.receiver.drain_into(&mut ahead);
        }
        if let Some(item) = ahead.pop_front() {
            return Ok(Some(item));
        }
        drop(ahead);
        self.receiver.try_recv()
    }

    /// Up to `max` items: two locks however many they are. What is left of a ring stays in it.
    fn pop_many(&self, max: usize) -> VecDeque<T> {
        let mut ahead = self.ahead();
        if self.is_fifo {
            if ahead.is_empty() {
                self.receiver.drain_into(&mut ahead);
            }
        } else {
            while ahead.len() < max
                && let Ok(Some(item)) = self.receiver.try_recv()
            {
                ahead.push_back(item);
            }
        }
        if ahead.len() <= max { std::mem::take(&mut *ahead) } else { ahead.drain(..max).collect() }
    }

    /// Gives the memory of a batch back, for one to come.
    fn reuse(&self, batch: VecDeque<T>) {
        let mut ahead = self.ahead();
        if ahead.capacity() == 0 {
            *ahead = batch;
        }
    }
}

impl<T: Item> Source for Channel<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn closed_text(&self) -> &'static str {
        if self.is_fifo {
            "channel is empty and closed"
        } else {
            "The ringbuffer has been deleted."
        }
    }

    #[inline]
    fn next(&self, py: Python<'_>) -> PyResult<Found<Py<PyAny>>> {
        Ok(match self.pop() {
            Ok(Some(item)) => Found::It(item.into_object(py)?),
            Ok(None) => Found::Empty,
            Err(_) => Found::Closed,
        })
    }

    fn many<'py>(&self, py: Python<'py>, max: usize) -> PyResult<Found<Bound<'py, PyList>>> {
        // No lock is held while objects are made: that may run the interpreter's garbage collector.
        let mut batch = self.pop_many(max);
        if batch.is_empty() {
            return Ok(match self.receiver.try_recv() {
                Ok(None) => Found::Empty,
                Ok(Some(item)) => Found::It(PyList::new(py, [item.into_object(py)?])?),
                Err(_) => Found::Closed,
            });
        }
        let objects: Vec<_> =
            batch.drain(..).map(|item| item.into_object(py)).collect::<PyResult<_>>()?;
        self.reuse(batch);
        Ok(Found::It(PyList::new(py, objects)?))
    }

    fn wait(&self, timeout: Duration) {
        if let Ok(Some(item)) = self.receiver.recv_timeout(timeout) {
            self.ahead().push_back(item);
        }
    }

    fn notify(&self, waker: &std::task::Waker) -> Option<Box<dyn Any + Send + Sync>> {
        let mut stream: RecvStream<T, Arc<Receiver<T>>> = self.receiver.shared_stream();
        let polled = futures_core::Stream::poll_next(
            std::pin::Pin::new(&mut stream),
            &mut Context::from_waker(waker),
        );
        match polled {
            Poll::Pending => Some(Box::new(Mutex::new(stream))),
            Poll::Ready(item) => {
                self.ahead().extend(item);
                None
            }
        }
    }

    fn len(&self) -> usize {
        self.ahead().len() + self.receiver.len()
    }
}

/// The receiving end of a channel.
///
/// Receives one by one (`recv`, `try_recv`), in batches (`recv_many`), by iteration, which ends when the channel is closed
/// and empty, and in async code on asyncio or trio: `async for`, `await handler.recv_async()`; and
/// `await handler` collects everything up to the end, such as the replies of a query.
#[pyclass(frozen, weakref, module = "weft.handlers", name = "Handler")]
pub(crate) struct Handler {
    source: Held<Owned<Box<dyn Source>>>,
}

impl Handler {
    pub(crate) fn new<T: Item>(receiver: Receiver<T>, is_fifo: bool) -> Self {
        let channel = Channel { receiver: Arc::new(receiver), ahead: Mutex::default(), is_fifo };
        Self { source: Held::new(Owned::new(Box::new(channel))) }
    }

    fn closed(&self) -> PyErr {
        refuse("closed", self.source.peek().closed_text())
    }

    /// Waits for what `look` finds, until `deadline`; `Empty` when that has passed.
    #[inline]
    fn until<T>(
        &self,
        py: Python<'_>,
        deadline: Option<Instant>,
        look: impl Fn(&dyn Source) -> PyResult<Found<T>>,
    ) -> PyResult<Found<T>> {
        let source = &**self.source.get()?;
        loop {
            match look(source)? {
                Found::Empty => {}
                found => return Ok(found),
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(Found::Empty);
            }
            py.detach(|| source.wait(SIGNALS_EVERY.min(left.unwrap_or(SIGNALS_EVERY))));
            py.check_signals()?;
        }
    }
}

#[pymethods]
impl Handler {
    /// The next item; waits for it. Raises `ZError` when the channel is closed and empty.
    pub(crate) fn recv(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.until(py, None, |source| source.next(py))? {
            Found::It(item) => Ok(item),
            Found::Empty | Found::Closed => Err(self.closed()),
        }
    }

    /// The next item if there is one, else `None`. Raises `ZError` when the channel is closed and empty.
    pub(crate) fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.source.get()?.next(py)? {
            Found::It(item) => Ok(Some(item)),
            Found::Empty => Ok(None),
            Found::Closed => Err(self.closed()),
        }
    }

    /// Everything that is queued, up to `max` items; waits for the first one, for up to `timeout` seconds.
    ///
    /// Empty when the time is over. Raises `ZError` when the channel is closed and empty.
    #[pyo3(signature = (max=None, *, timeout=None))]
    pub(crate) fn recv_many<'py>(
        &self,
        py: Python<'py>,
        max: Option<usize>,
        timeout: Option<Timeout>,
    ) -> PyResult<Bound<'py, PyList>> {
        let deadline = timeout.and_then(|Timeout(timeout)| Instant::now().checked_add(timeout));
        // Nothing would say the same as a time that is over.
        let max = max.unwrap_or(usize::MAX).max(1);
        match self.until(py, deadline, |source| source.many(py, max))? {
            Found::It(items) => Ok(items),
            Found::Empty => Ok(PyList::empty(py)),
            Found::Closed => Err(self.closed()),
        }
    }

    /// The next item, to be awaited. Raises `ZError` when the channel is closed and empty.
    pub(crate) fn recv_async(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        awaitable(slf, "recv")
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.until(py, None, |source| source.next(py))? {
            Found::It(item) => Ok(Some(item)),
            Found::Empty | Found::Closed => Ok(None),
        }
    }

    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        awaitable(slf, "anext")
    }

    fn __await__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let module = slf.py().import("weft._aio")?;
        let collected = module.call_method1("collect", (slf,))?;
        Ok(collected.call_method0("__await__")?.unbind())
    }

    /// Calls `wake` once, from another thread, when an item or the end is there. Returns what keeps it so, or `None`
    /// if it is there already.
    fn _notify(&self, wake: Py<PyAny>) -> PyResult<Option<Waiting>> {
        let waker = wake::waker(wake)?;
        let kept = self.source.get()?.notify(&waker);
        Ok(kept.map(|kept| Waiting { _kept: kept }))
    }

    fn __repr__(&self) -> String {
        let source = self.source.peek();
        if !self.source.is_own() {
            return format!("Handler[{}](forked)", source.name());
        }
        format!("Handler[{}]({} queued)", source.name(), source.len())
    }

    #[classmethod]
    fn __class_getitem__(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        alias(class, args)
    }
}

/// An item that is there costs no coroutine; otherwise `function` of `_aio` waits for it.
fn awaitable(handler: &Bound<'_, Handler>, function: &str) -> PyResult<Py<PyAny>> {
    let py = handler.py();
    if let Found::It(item) = handler.get().source.get()?.next(py)? {
        return Ok(Py::new(py, Ready(Mutex::new(Some(item))))?.into_any());
    }
    Ok(py.import("weft._aio")?.call_method1(function, (handler,))?.unbind())
}

/// An awaitable whose result is there.
#[pyclass(frozen, module = "weft")]
struct Ready(Mutex<Option<Py<PyAny>>>);

#[pymethods]
impl Ready {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self) -> PyResult<Py<PyAny>> {
        let item = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(PyStopIteration::new_err((item,)))
    }
}

/// Keeps a task registered with a channel.
#[pyclass(frozen, module = "weft")]
struct Waiting {
    _kept: Box<dyn Any + Send + Sync>,
}

/// `value`, to be awaited.
///
/// # Errors
/// If memory runs out.
pub(crate) fn ready(value: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = value.py();
    Ok(Py::new(py, Ready(Mutex::new(Some(value.unbind()))))?.into_any())
}

/// A call of `function` on a thread of the event loop's, to be awaited.
///
/// # Errors
/// If memory runs out.
pub(crate) fn in_thread(
    function: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
) -> PyResult<Py<PyAny>> {
    let run = function.py().import("weft.aio")?.getattr("run")?;
    let mut call = vec![function.clone()];
    call.extend(args.iter());
    Ok(run.call1(PyTuple::new(function.py(), call)?)?.unbind())
}
