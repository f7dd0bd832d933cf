//! Handlers: what a declaration delivers to, as an argument. Not here: the receiving end of a channel (`channel`).

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use pyo3::{PyClass, PyClassInitializer, ffi};
use weft::handlers::{Callback, FifoChannel, IntoHandler, Receiver, RingChannel};

use crate::channel::Handler;
use crate::dispatch::{self, Dispatch, Latch, Latches};
use crate::gil::call1;

/// What channels carry.
pub(crate) trait Item: Send + Sync + 'static {
    /// Python's name of it.
    const NAME: &'static str;

    /// As Python's object.
    ///
    /// # Errors
    /// If memory runs out.
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

/// A Python object that refers to no other, so that no cycle goes through it: it is kept from the garbage collector, which
/// would look at each of many again and again.
///
/// # Errors
/// If memory runs out.
#[inline]
pub(crate) fn leaf<T>(py: Python<'_>, value: T) -> PyResult<Py<T>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    let object = Py::new(py, value)?;
    // SAFETY: an object of ours, complete, and the thread is attached.
    unsafe { ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
    Ok(object)
}

/// A FIFO of 256 items.
#[pyclass(frozen, module = "weft.handlers", name = "DefaultHandler")]
pub(crate) struct PyDefaultHandler;

#[pymethods]
impl PyDefaultHandler {
    #[new]
    fn new() -> Self {
        Self
    }

    #[allow(clippy::unused_self)] // a method of the surface
    fn __repr__(&self) -> &'static str {
        "DefaultHandler()"
    }

    #[classmethod]
    fn __class_getitem__(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        alias(class, args)
    }
}

/// A channel of `capacity` items, first in, first out, that blocks who delivers while it is full.
#[pyclass(frozen, module = "weft.handlers", name = "FifoChannel")]
pub(crate) struct PyFifoChannel(usize);

/// A channel that keeps the newest `capacity` items and drops older ones.
#[pyclass(frozen, module = "weft.handlers", name = "RingChannel")]
pub(crate) struct PyRingChannel(usize);

macro_rules! channel {
    ($name:ident, $text:literal) => {
        #[pymethods]
        impl $name {
            #[new]
            fn new(capacity: usize) -> Self {
                Self(capacity)
            }

            fn __repr__(&self) -> String {
                format!("{}({})", $text, self.0)
            }

            #[classmethod]
            fn __class_getitem__(
                class: &Bound<'_, PyType>,
                args: &Bound<'_, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                alias(class, args)
            }
        }
    };
}

channel!(PyFifoChannel, "FifoChannel");
channel!(PyRingChannel, "RingChannel");

/// A function as a handler, and how it is called.
///
/// `callback` is called with each item, on a thread of its own and in order; with `indirect=False` on the
/// thread that delivers: the network's, or the publisher's for its own session. `drop` is called once, after
/// the last item.
#[pyclass(frozen, module = "weft.handlers", name = "Callback")]
pub(crate) struct PyCallback {
    #[pyo3(get)]
    callback: Py<PyAny>,
    #[pyo3(get)]
    drop: Option<Py<PyAny>>,
    #[pyo3(get)]
    indirect: bool,
}

#[pymethods]
impl PyCallback {
    #[new]
    #[pyo3(signature = (callback, drop=None, *, indirect=true))]
    fn new(callback: Py<PyAny>, drop: Option<Py<PyAny>>, indirect: bool) -> Self {
        Self { callback, drop, indirect }
    }

    fn __call__<'py>(&self, arg: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        call1(self.callback.bind(arg.py()), arg)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Callback({}, indirect={})", self.callback.bind(py).repr()?, self.indirect))
    }

    #[classmethod]
    fn __class_getitem__(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        alias(class, args)
    }
}

/// `class[args]`.
pub(crate) fn alias(class: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let alias = class.py().import("types")?.getattr("GenericAlias")?;
    Ok(alias.call1((class, args))?.unbind())
}

/// What the application keeps of a handler.
pub(crate) enum Kept {
    /// The receiving end of a channel.
    Channel(Py<Handler>),
    /// The object beside a callback.
    Object(Py<PyAny>),
    /// Nothing.
    Nothing,
}

impl Kept {
    /// As what operations return.
    pub(crate) fn into_object(self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Self::Channel(handler) => handler.into_any(),
            Self::Object(object) => object,
            Self::Nothing => py.None(),
        }
    }
}

/// A handler, split into what the library calls and what remains here.
pub(crate) struct Prepared<T: Item> {
    /// The library's side.
    pub(crate) callback: Callback<T>,
    /// Ours.
    pub(crate) own: Own<T>,
}

/// Our side of a handler.
pub(crate) struct Own<T: Item> {
    kept: Kept,
    dispatch: Option<Dispatch<T>>,
    latch: Option<Arc<Latch>>,
}

impl<T: Item> Own<T> {
    /// The declaration succeeded: items may be dispatched. Returns what the application keeps, and what tells the
    /// end of a callback; `latches` is told, too.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(
        self,
        py: Python<'_>,
        latches: &[&Latches],
    ) -> PyResult<(Kept, Option<Arc<Latch>>)> {
        if let Some(latch) = &self.latch {
            for it in latches {
                it.add(latch);
            }
        }
        if let Some(dispatch) = self.dispatch {
            dispatch.start(py)?;
        }
        Ok((self.kept, self.latch))
    }
}

/// Reads a `handler` argument.
///
/// # Errors
/// `ValueError` if it is none.
pub(crate) fn prepare<T: Item>(
    py: Python<'_>,
    handler: Option<&Bound<'_, PyAny>>,
) -> PyResult<Prepared<T>> {
    let Some(handler) = handler.filter(|it| !it.is_instance_of::<PyDefaultHandler>()) else {
        return channel(py, FifoChannel::default(), true);
    };
    if let Ok(fifo) = handler.cast::<PyFifoChannel>() {
        return channel(py, FifoChannel::new(fifo.get().0), true);
    }
    if let Ok(ring) = handler.cast::<PyRingChannel>() {
        return channel(py, RingChannel::new(ring.get().0), false);
    }
    if handler.is_callable() {
        return Ok(callback(handler, Kept::Nothing));
    }
    if let Ok(pair) = handler.cast::<PyTuple>()
        && pair.len() == 2
    {
        let (function, object) = (pair.get_item(0)?, pair.get_item(1)?);
        if function.is_callable() {
            if object.is_callable() {
                let text = c"Passing drop-callback using a tuple `(callback, drop-callback)` no longer works: \
                    the second item is the handler object. Use `handlers.Callback(callback, drop)`.";
                PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyUserWarning>(), text, 1)?;
            }
            return Ok(callback(&function, Kept::Object(object.unbind())));
        }
    }
    Err(PyValueError::new_err(format!("Invalid handler type {}", handler.get_type().name()?)))
}

fn channel<T: Item, H>(py: Python<'_>, kind: H, is_fifo: bool) -> PyResult<Prepared<T>>
where
    H: IntoHandler<T, Handler = Receiver<T>>,
{
    let (callback, receiver) = kind.into_handler();
    let handler = Py::new(py, Handler::new(receiver, is_fifo))?;
    let own = Own { kept: Kept::Channel(handler), dispatch: None, latch: None };
    Ok(Prepared { callback, own })
}

fn callback<T: Item>(function: &Bound<'_, PyAny>, kept: Kept) -> Prepared<T> {
    let py = function.py();
    let (called, drop, indirect) = match function.cast::<PyCallback>() {
        Ok(it) => {
            let it = it.get();
            (
                it.callback.clone_ref(py),
                it.drop.as_ref().map(|drop| drop.clone_ref(py)),
                it.indirect,
            )
        }
        Err(_) => (function.clone().unbind(), None, true),
    };
    let latch = Arc::new(Latch::default());
    if !indirect {
        let callback = dispatch::direct(called, drop, Arc::clone(&latch));
        return Prepared { callback, own: Own { kept, dispatch: None, latch: Some(latch) } };
    }
    let (callback, receiver) = FifoChannel::default().into_handler();
    let dispatch = Dispatch { receiver, callback: called, drop, latch: Arc::clone(&latch) };
    Prepared { callback, own: Own { kept, dispatch: Some(dispatch), latch: Some(latch) } }
}

/// An argument of seconds.
pub(crate) struct Timeout(pub(crate) Duration);

impl FromPyObject<'_, '_> for Timeout {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let seconds: f64 = object.extract()?;
        if seconds.is_nan() || seconds < 0.0 {
            return Err(PyValueError::new_err("negative timeout"));
        }
        Ok(Self(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)))
    }
}
