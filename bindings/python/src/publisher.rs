//! `Publisher`.
//!
//! Cost of `put` of a payload alone: no allocation and no copy but the library's, and the GIL stays where it is unless
//! the library has to wait.

use std::sync::Arc;

use pyo3::prelude::*;
use weft::Publisher;

use crate::bytes::{Bytes, lend};
use crate::declared::{Declared, publisher};
use crate::dispatch::Latches;
use crate::encoding::EncodingArgument;
use crate::enums::member;
use crate::error::Raise;
use crate::gil::{blocking, quick};
use crate::id::Source;
use crate::stack::Instrumentation;
use crate::subscriber::{PyMatchingListener, PyMatchingStatus, matching_listener};
use crate::time::Stamp;

/// Publishes on one key expression. Undeclared when this object goes.
#[pyclass(frozen, weakref, module = "weft", name = "Publisher")]
pub(crate) struct PyPublisher {
    declared: Declared<Publisher>,
    latches: Arc<Latches>,
}

impl PyPublisher {
    pub(crate) fn new(publisher: Publisher, latches: Arc<Latches>) -> Self {
        Self { declared: Declared::new(publisher, "Undeclared publisher"), latches }
    }
}

publisher!(PyPublisher, "Publisher", {
    /// Its channel.
    #[getter]
    fn reliability(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.declared.with(|it| member(py, it.reliability()))?
    }

    /// Whether any subscriber matches now, within its allowed destination.
    #[getter]
    fn matching_status(&self) -> PyResult<PyMatchingStatus> {
        Ok(PyMatchingStatus(self.declared.with(Publisher::matching_status)?.or_raise()?))
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
        let publisher = self.declared.share()?;
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
        let publisher = self.declared.share()?;
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
        let publisher = self.declared.share()?;
        let publisher = publisher.get()?;
        matching_listener(py, handler, &self.latches, |callback| {
            let builder = publisher.matching_listener().with((callback, ()));
            blocking(py, || builder.wait())?.or_raise()
        })
    }
});
