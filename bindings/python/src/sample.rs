//! What arrives: `Sample`, `Reply`, `ReplyError`. Attributes are made when they are looked at.

use pyo3::prelude::*;
use weft::{Reply, ReplyError, Sample};

use crate::bytes::PyZBytes;
use crate::encoding::PyEncoding;
use crate::enums::member;
use crate::handler::{Item, leaf};
use crate::html;
use crate::id::{PyEntityGlobalId, PySourceInfo};
use crate::keyexpr::PyKeyExpr;
use crate::stack::PyTimestampStack;
use crate::time::PyTimestamp;

/// A value on a key, or that it was deleted. Read-only.
#[pyclass(frozen, module = "weft", name = "Sample")]
pub(crate) struct PySample(pub(crate) Sample);

impl Item for Sample {
    const NAME: &'static str = "Sample";

    #[inline]
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(leaf(py, PySample(self))?.into_any())
    }
}

#[pymethods]
impl PySample {
    /// The key expression that it was published on.
    #[getter]
    fn key_expr(&self) -> PyKeyExpr {
        PyKeyExpr(self.0.key_expr().clone())
    }

    /// The value; empty for a deletion.
    #[getter]
    fn payload(&self, py: Python<'_>) -> PyResult<Py<PyZBytes>> {
        leaf(py, self.0.payload().clone().into())
    }

    /// Put or delete.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.kind())
    }

    /// How the payload is to be read.
    #[getter]
    fn encoding(&self) -> PyEncoding {
        PyEncoding(self.0.encoding().clone())
    }

    /// When it was published, if somebody on its way said so.
    #[getter]
    fn timestamp(&self) -> Option<PyTimestamp> {
        self.0.timestamp().map(PyTimestamp)
    }

    /// What happened to it where there was no room.
    #[getter]
    fn congestion_control(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.congestion_control())
    }

    /// The priority that it travelled with.
    #[getter]
    fn priority(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.priority())
    }

    /// Whether it was sent without waiting for company.
    #[getter]
    fn express(&self) -> bool {
        self.0.express()
    }

    /// What the publisher added, if anything.
    #[getter]
    fn attachment(&self) -> Option<PyZBytes> {
        self.0.attachment().map(|bytes| bytes.clone().into())
    }

    /// Who published it as which number, if the publisher said so.
    #[getter]
    fn source_info(&self) -> Option<PySourceInfo> {
        self.0.source_info().map(PySourceInfo)
    }

    /// What was recorded on its way, if its sender asked for it.
    #[getter]
    fn timestamp_stack(&self) -> Option<PyTimestampStack> {
        self.0.timestamp_stack().cloned().map(Into::into)
    }

    fn __repr__(&self) -> String {
        let sample = &self.0;
        let kind = if sample.kind() == weft::SampleKind::Put { "PUT" } else { "DELETE" };
        format!(
            "Sample({kind} '{}', {:?}, {})",
            sample.key_expr(),
            sample.payload(),
            sample.encoding()
        )
    }

    fn _repr_html_(&self) -> String {
        html::table(&["field", "value"], html::sample(&self.0))
    }
}

/// An answer to a query: a sample or an error.
#[pyclass(frozen, module = "weft", name = "Reply")]
pub(crate) struct PyReply(Reply);

impl Item for Reply {
    const NAME: &'static str = "Reply";

    #[inline]
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(leaf(py, PyReply(self))?.into_any())
    }
}

#[pymethods]
impl PyReply {
    /// The `Sample`, or the `ReplyError`.
    #[getter]
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.0.result() {
            Ok(sample) => sample.clone().into_object(py),
            Err(error) => Ok(Py::new(py, PyReplyError(error.clone()))?.into_any()),
        }
    }

    /// The sample, or `None` if it is an error.
    #[getter]
    fn ok(&self) -> Option<PySample> {
        self.0.result().ok().cloned().map(PySample)
    }

    /// The error, or `None` if it is a sample.
    #[getter]
    fn err(&self) -> Option<PyReplyError> {
        self.0.result().err().cloned().map(PyReplyError)
    }

    /// Who answered, if it said so.
    #[getter]
    fn replier_id(&self) -> Option<PyEntityGlobalId> {
        self.0.replier_id().map(PyEntityGlobalId)
    }

    fn __repr__(&self) -> String {
        match self.0.result() {
            Ok(sample) => format!("Reply({})", PySample(sample.clone()).__repr__()),
            Err(error) => format!("Reply({})", PyReplyError(error.clone()).__repr__()),
        }
    }

    fn _repr_html_(&self) -> String {
        match self.0.result() {
            Ok(sample) => html::table(&["reply", "value"], html::sample(sample)),
            Err(error) => {
                html::table(&["reply", "value"], vec![vec!["error".into(), error.to_string()]])
            }
        }
    }
}

/// What went wrong at the replier, or on the way.
#[pyclass(frozen, module = "weft", name = "ReplyError")]
pub(crate) struct PyReplyError(ReplyError);

#[pymethods]
impl PyReplyError {
    /// What the replier said.
    #[getter]
    fn payload(&self) -> PyZBytes {
        self.0.payload().clone().into()
    }

    /// How the payload is to be read.
    #[getter]
    fn encoding(&self) -> PyEncoding {
        PyEncoding(self.0.encoding().clone())
    }

    /// Whether it says that the time of the query is over; no replier said it then.
    #[getter]
    fn is_timeout(&self) -> bool {
        self.0.is_timeout()
    }

    /// `timeout`, or `replier` for what a replier said.
    #[getter]
    fn kind(&self) -> &'static str {
        if self.0.is_timeout() { "timeout" } else { "replier" }
    }

    /// What was recorded on its way, if its sender asked for it.
    #[getter]
    fn timestamp_stack(&self) -> Option<PyTimestampStack> {
        self.0.timestamp_stack().cloned().map(Into::into)
    }

    fn __repr__(&self) -> String {
        format!("ReplyError({:?}, {})", self.0.payload(), self.0.encoding())
    }
}
