//! What subscribers, queryables and listeners have in common.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::channel::Handler;
use crate::dispatch::Latch;
use crate::error::refuse;
use crate::gil::{Held, Owned, blocking, call0};
use crate::handler::{Kept, Timeout};

/// A declaration of the library that delivers to a handler. It ends when it is dropped.
pub(crate) trait Delivers: Send {
    /// Lets it live as long as the session.
    fn background(self);
}

/// Such a declaration, until it is undeclared.
struct Inner<E: Delivers> {
    entity: Mutex<Option<Owned<E>>>,
    /// It stays when its object goes.
    stays: bool,
}

impl<E: Delivers> Inner<E> {
    fn lock(&self) -> MutexGuard<'_, Option<Owned<E>>> {
        self.entity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Delivers> Drop for Inner<E> {
    fn drop(&mut self) {
        let entity = self.lock().take();
        if let Some(Ok(entity)) = entity.filter(|_| self.stays).map(Owned::into_inner) {
            entity.background();
        }
    }
}

/// A declaration and its handler, as Python's object holds them.
pub(crate) struct Entity<E: Delivers> {
    inner: Held<Inner<E>>,
    kept: Kept,
    latch: Option<Arc<Latch>>,
    /// What is said of it when it has ended: `Undeclared subscriber`.
    ended: &'static str,
}

impl<E: Delivers> Entity<E> {
    pub(crate) fn new(
        entity: E,
        (kept, latch): (Kept, Option<Arc<Latch>>),
        ended: &'static str,
    ) -> Self {
        Self::new_in(entity, (kept, latch), ended, None)
    }

    /// The same. It stays when its object goes if `background`; without a word on that, if it has nothing but a callback.
    pub(crate) fn new_in(
        entity: E,
        (kept, latch): (Kept, Option<Arc<Latch>>),
        ended: &'static str,
        background: Option<bool>,
    ) -> Self {
        let stays = background.unwrap_or(matches!(kept, Kept::Nothing));
        let entity = Mutex::new(Some(Owned::new(entity)));
        Self { inner: Held::new(Inner { entity, stays }), kept, latch, ended }
    }

    /// Looks at the declaration.
    ///
    /// # Errors
    /// If it has ended.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&E) -> T) -> PyResult<T> {
        match &*self.inner.lock() {
            Some(entity) => Ok(look(entity.get()?)),
            None => Err(refuse("undeclared", self.ended)),
        }
    }

    pub(crate) fn is_declared(&self) -> bool {
        self.inner.lock().is_some()
    }

    /// Ends it, and waits for its callback.
    ///
    /// # Errors
    /// If it has ended already.
    pub(crate) fn undeclare(&self, py: Python<'_>) -> PyResult<()> {
        let entity = self.inner.lock().take().ok_or_else(|| refuse("undeclared", self.ended))?;
        let entity = entity.into_inner()?;
        blocking(py, || drop(entity))?;
        self.latch.as_ref().map_or(Ok(()), |latch| latch.wait(py, None))
    }

    pub(crate) fn handler(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.with(|_| ())?;
        Ok(match &self.kept {
            Kept::Channel(handler) => handler.clone_ref(py).into_any(),
            Kept::Object(object) => object.clone_ref(py),
            Kept::Nothing => py.None(),
        })
    }

    pub(crate) fn recv(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.with(|_| ())?;
        match &self.kept {
            Kept::Channel(handler) => handler.get().recv(py),
            Kept::Object(object) => method(object.bind(py), "recv"),
            Kept::Nothing => Err(without_receiver("recv")),
        }
    }

    pub(crate) fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.with(|_| ())?;
        match &self.kept {
            Kept::Channel(handler) => handler.get().try_recv(py),
            Kept::Object(object) => {
                let item = method(object.bind(py), "try_recv")?;
                Ok((!item.is_none(py)).then_some(item))
            }
            Kept::Nothing => Err(without_receiver("try_recv")),
        }
    }

    pub(crate) fn recv_many<'py>(
        &self,
        py: Python<'py>,
        max: Option<usize>,
        timeout: Option<Timeout>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.channel("recv_many")?.get().recv_many(py, max, timeout)
    }

    pub(crate) fn recv_async(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Handler::recv_async(self.channel("recv_async")?.bind(py))
    }

    pub(crate) fn iterated(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.with(|_| ())?;
        match &self.kept {
            Kept::Channel(handler) => Ok(handler.clone_ref(py).into_any()),
            Kept::Object(object) => method(object.bind(py), name),
            Kept::Nothing => {
                Err(PyTypeError::new_err("with a callback there is nothing to iterate over"))
            }
        }
    }

    fn channel(&self, method: &str) -> PyResult<&Py<Handler>> {
        self.with(|_| ())?;
        match &self.kept {
            Kept::Channel(handler) => Ok(handler),
            Kept::Object(_) | Kept::Nothing => Err(without_receiver(method)),
        }
    }
}

/// Calls a method of the object beside a callback.
fn method(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Py<PyAny>> {
    Ok(call0(&object.getattr(name)?)?.unbind())
}

fn without_receiver(method: &str) -> PyErr {
    PyAttributeError::new_err(format!("no '{method}' without a channel as handler"))
}

/// A Python class around an [`Entity`], with the methods that all of them have, and its own.
macro_rules! receiver {
    ($(#[$meta:meta])* $name:ident, $text:literal, $entity:ty, $end:ident, { $($own:tt)* }) => {
        $(#[$meta])*
        #[pyclass(frozen, weakref, module = "weft", name = $text)]
        pub(crate) struct $name(pub(crate) $crate::entity::Entity<$entity>);

        $crate::entity::receiver_methods!($name, $end, { $($own)* });
    };
}
pub(crate) use receiver;

/// The methods alone.
macro_rules! receiver_methods {
    ($name:ident, $end:ident, { $($own:tt)* }) => {
        #[pymethods]
        impl $name {
            $($own)*

            /// What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare callback.
            #[getter]
            fn handler(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.0.handler(py)
            }

            /// The next item; waits for it. Raises `ZError` when the channel is closed and empty.
            fn recv(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.0.recv(py)
            }

            /// The next item if there is one, else `None`. Raises `ZError` when the channel is closed and empty.
            fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
                self.0.try_recv(py)
            }

            /// Everything that is queued, see `Handler.recv_many`.
            #[pyo3(signature = (max=None, *, timeout=None))]
            fn recv_many<'py>(
                &self,
                py: Python<'py>,
                max: Option<usize>,
                timeout: Option<$crate::handler::Timeout>,
            ) -> PyResult<Bound<'py, pyo3::types::PyList>> {
                self.0.recv_many(py, max, timeout)
            }

            /// The next item, to be awaited.
            fn recv_async(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.0.recv_async(py)
            }

            fn __iter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.0.iterated(py, "__iter__")
            }

            fn __aiter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.0.iterated(py, "__aiter__")
            }

            /// Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it has ended.
            fn $end(&self, py: Python<'_>) -> PyResult<()> {
                self.0.undeclare(py)
            }

            fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            #[pyo3(signature = (*_args))]
            fn __exit__(
                &self,
                py: Python<'_>,
                _args: &Bound<'_, pyo3::types::PyTuple>,
            ) -> PyResult<()> {
                if self.0.is_declared() { self.0.undeclare(py) } else { Ok(()) }
            }

            fn __aenter__(slf: Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                $crate::channel::ready(slf.into_any())
            }

            #[pyo3(signature = (*args))]
            fn __aexit__(
                slf: Bound<'_, Self>,
                args: &Bound<'_, pyo3::types::PyTuple>,
            ) -> PyResult<Py<PyAny>> {
                $crate::channel::in_thread(&slf.getattr("__exit__")?, args)
            }

            #[classmethod]
            fn __class_getitem__(
                class: &Bound<'_, pyo3::types::PyType>,
                args: &Bound<'_, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                $crate::handler::alias(class, args)
            }
        }
    };
}
pub(crate) use receiver_methods;
