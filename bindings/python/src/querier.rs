//! `Querier`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use weft::Querier;

use crate::bytes::Bytes;
use crate::cancel::PyCancellationToken;
use crate::declared::{Declared, declared};
use crate::dispatch::Latches;
use crate::encoding::EncodingArgument;
use crate::enums::member;
use crate::error::Raise;
use crate::gil::blocking;
use crate::handler::{alias, prepare};
use crate::id::Source;
use crate::selector::ParametersArgument;
use crate::stack::Instrumentation;
use crate::subscriber::{PyMatchingListener, PyMatchingStatus, matching_listener};

/// Asks for one key expression again and again. Undeclared when this object goes.
#[pyclass(frozen, weakref, module = "weft", name = "Querier")]
pub(crate) struct PyQuerier {
    declared: Declared<Querier>,
    latches: Arc<Latches>,
}

impl PyQuerier {
    pub(crate) fn new(querier: Querier, latches: Arc<Latches>) -> Self {
        Self { declared: Declared::new(querier, "Undeclared querier"), latches }
    }
}

declared!(PyQuerier, "Querier", {
    /// On which keys its queries take replies.
    #[getter]
    fn accept_replies(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.declared.with(|it| member(py, it.accept_replies()))?
    }

    /// Whether any queryable matches now, within its target and allowed destination.
    #[getter]
    fn matching_status(&self) -> PyResult<PyMatchingStatus> {
        Ok(PyMatchingStatus(self.declared.with(Querier::matching_status)?.or_raise()?))
    }

    /// Asks. Returns the handler of the replies at once, `None` for a bare callback.
    #[pyo3(signature = (handler=None, *, parameters=None, payload=None, encoding=None,
        attachment=None, source_info=None, cancellation_token=None,
        timestamp_instrumentation=None))]
    fn get(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
        parameters: Option<ParametersArgument>,
        payload: Option<Bytes>,
        encoding: Option<EncodingArgument>,
        attachment: Option<Bytes>,
        source_info: Option<Source<'_>>,
        cancellation_token: Option<PyRef<'_, PyCancellationToken>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let querier = self.declared.share()?;
        let prepared = prepare(py, handler)?;
        let mut get = querier.get()?.get().with((prepared.callback, ()));
        with!(get, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(get, parameters = parameters.map(|it| it.0), payload = payload.map(|it| it.0));
        with!(get, encoding = encoding.map(|it| it.0), attachment = attachment.map(|it| it.0));
        with!(get, source_info = source_info.map(|it| it.0));
        with!(get, cancellation_token = cancellation_token.as_deref().map(|it| &it.token));
        blocking(py, || get.wait())?.or_raise()?;
        let token = cancellation_token.as_deref().map(|it| &*it.latches);
        let latches: Vec<&Latches> = token.into_iter().chain([&*self.latches]).collect();
        let (kept, _) = prepared.own.start(py, &latches)?;
        Ok(kept.into_object(py))
    }

    /// Declares a listener of the matching status. It is told at once if somebody matches already.
    #[pyo3(signature = (handler=None))]
    fn declare_matching_listener(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyMatchingListener> {
        let querier = self.declared.share()?;
        let querier = querier.get()?;
        matching_listener(py, handler, &self.latches, |callback| {
            let builder = querier.matching_listener().with((callback, ()));
            blocking(py, || builder.wait())?.or_raise()
        })
    }

    #[classmethod]
    fn __class_getitem__(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        alias(class, args)
    }
});
