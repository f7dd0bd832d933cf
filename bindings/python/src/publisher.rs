//! `Publisher`.
//!
//! Cost of `put` of a payload alone: no allocation and no copy but the library's, and the GIL stays where it is unless
//! the library has to wait.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use weft::Publisher;

use crate::bytes::{Bytes, lend};
use crate::dispatch::Latches;
use crate::encoding::{EncodingArgument, PyEncoding};
use crate::enums::member;
use crate::error::{Raise, refuse};
use crate::gil::{Held, Owned, blocking, quick};
use crate::id::{PyEntityGlobalId, Source};
use crate::keyexpr::PyKeyExpr;
use crate::stack::Instrumentation;
use crate::subscriber::{PyMatchingListener, PyMatchingStatus, matching_listener};
use crate::time::Stamp;

/// Publishes on one key expression. Undeclared when this object goes.
#[pyclass(frozen, weakref, module = "weft", name = "Publisher")]
pub(crate) struct PyPublisher {
    publisher: Held<Mutex<Option<Arc<Owned<Publisher>>>>>,
    latches: Arc<Latches>,
}

impl PyPublisher {
    pub(crate) fn new(publisher: Publisher, latches: Arc<Latches>) -> Self {
        let publisher = Mutex::new(Some(Arc::new(Owned::new(publisher))));
        Self { publisher: Held::new(publisher), latches }
    }

    /// A share of it for the time of a call.
    #[inline]
    fn share(&self) -> PyResult<Arc<Owned<Publisher>>> {
        let publisher = self.publisher.lock().unwrap_or_else(PoisonError::into_inner);
        publisher.clone().ok_or_else(|| refuse("undeclared", "Undeclared publisher"))
    }

    fn with<T>(&self, look: impl FnOnce(&Publisher) -> T) -> PyResult<T> {
        Ok(look(self.share()?.get()?))
    }
}

#[pymethods]
#[allow(clippy::too_many_arguments)] // the surface is given
impl PyPublisher {
    /// Its identity.
    #[getter]
    fn id(&self) -> PyResult<PyEntityGlobalId> {
        self.with(|it| PyEntityGlobalId(it.id()))
    }

    /// Its key expression.
    #[getter]
    fn key_expr(&self) -> PyResult<PyKeyExpr> {
        self.with(|it| PyKeyExpr(it.key_expr().clone()))
    }

    /// How its payloads are to be read.
    #[getter]
    fn encoding(&self) -> PyResult<PyEncoding> {
        self.with(|it| PyEncoding(it.encoding().clone()))
    }

    /// What happens where there is no room.
    #[getter]
    fn congestion_control(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.with(|it| member(py, it.congestion_control()))?
    }

    /// Which of its samples go first.
    #[getter]
    fn priority(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.with(|it| member(py, it.priority()))?
    }

    /// Its channel.
    #[getter]
    fn reliability(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.with(|it| member(py, it.reliability()))?
    }

    /// Whether any subscriber matches now, within its allowed destination.
    #[getter]
    fn matching_status(&self) -> PyResult<PyMatchingStatus> {
        Ok(PyMatchingStatus(self.with(Publisher::matching_status)?.or_raise()?))
    }

    /// Publishes a value.
    #[pyo3(signature = (payload, *, encoding=None, attachment=None, timestamp=None,
        timestamp_instrumentation=None, source_info=None))]
    fn put(
        &self,
        py: Python<'_>,
        payload: &Bound<'_, PyAny>,
        encoding: Option<EncodingArgument>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
        source_info: Option<Source<'_>>,
    ) -> PyResult<()> {
        let publisher = self.share()?;
        let publisher = publisher.get()?;
        if encoding.is_none()
            && attachment.is_none()
            && timestamp.is_none()
            && source_info.is_none()
            && timestamp_instrumentation.is_none()
        {
            return lend(payload, |bytes| quick(py, || publisher.put_bytes(bytes))?.or_raise());
        }
        let Bytes(payload) = payload.extract()?;
        let mut put = publisher.put(payload);
        with!(put, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(put, encoding = encoding.map(|it| it.0), attachment = attachment.map(|it| it.0));
        with!(put, timestamp = timestamp.map(|it| it.0), source_info = source_info.map(|it| it.0));
        quick(py, || put.wait())?.or_raise()
    }

    /// Publishes that the key has no value any more.
    #[pyo3(signature = (*, attachment=None, timestamp=None, timestamp_instrumentation=None,
        source_info=None))]
    fn delete(
        &self,
        py: Python<'_>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
        source_info: Option<Source<'_>>,
    ) -> PyResult<()> {
        let publisher = self.share()?;
        let mut delete = publisher.get()?.delete();
        with!(delete, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(delete, attachment = attachment.map(|it| it.0));
        with!(
            delete,
            timestamp = timestamp.map(|it| it.0),
            source_info = source_info.map(|it| it.0)
        );
        quick(py, || delete.wait())?.or_raise()
    }

    /// Declares a listener of the matching status. It is told at once if somebody matches already.
    #[pyo3(signature = (handler=None))]
    fn declare_matching_listener(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyMatchingListener> {
        let publisher = self.share()?;
        let publisher = publisher.get()?;
        matching_listener(py, handler, &self.latches, |callback| {
            let builder = publisher.matching_listener().with((callback, ()));
            blocking(py, || builder.wait())?.or_raise()
        })
    }

    /// Ends it, and its matching listeners. Raises `ZError` if it has ended.
    fn undeclare(&self, py: Python<'_>) -> PyResult<()> {
        let publisher = self.share()?;
        publisher.get()?;
        *self.publisher.lock().unwrap_or_else(PoisonError::into_inner) = None;
        blocking(py, || drop(publisher))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        if self.share().is_ok() { self.undeclare(py) } else { Ok(()) }
    }

    fn __repr__(&self) -> String {
        match self.with(|it| it.key_expr().clone()) {
            Ok(key) => format!("Publisher('{key}')"),
            Err(_) => "Publisher(undeclared)".to_owned(),
        }
    }
}
