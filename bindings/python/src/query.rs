//! `Query`: what a queryable answers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyDeprecationWarning;
use pyo3::prelude::*;
use weft::Query;

use crate::bytes::{Bytes, PyZBytes};
use crate::encoding::{EncodingArgument, PyEncoding};
use crate::enums::member;
use crate::error::{Raise, refuse};
use crate::gil::{Held, Owned, quick};
use crate::handler::Item;
use crate::id::PySourceInfo;
use crate::keyexpr::{Key, PyKeyExpr};
use crate::selector::{PyParameters, PySelector};
use crate::stack::PyTimestampStack;
use crate::time::Stamp;

/// A query to answer, with any number of replies.
///
/// The querier waits until it is dropped: by `drop()`, at the end of a `with` block, or when the last
/// reference to it goes.
#[pyclass(frozen, module = "weft", name = "Query")]
pub(crate) struct PyQuery(Held<Mutex<Option<Owned<Query>>>>);

impl Item for Query {
    const NAME: &'static str = "Query";

    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let query = PyQuery(Held::new(Mutex::new(Some(Owned::new(self)))));
        Ok(Py::new(py, query)?.into_any())
    }
}

impl PyQuery {
    fn lock(&self) -> MutexGuard<'_, Option<Owned<Query>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share of it for the time of a call.
    fn query(&self) -> PyResult<Query> {
        match &*self.lock() {
            Some(query) => query.get().cloned(),
            None => Err(refuse("undeclared", "Dropped query")),
        }
    }
}

/// Warns if arguments are given that have no effect.
fn warn_ignored(py: Python<'_>, given: bool) -> PyResult<()> {
    if !given {
        return Ok(());
    }
    let text = c"congestion_control and priority of a reply are those of the query: the arguments are ignored";
    PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), text, 1)
}

#[pymethods]
#[allow(clippy::too_many_arguments)] // the surface is given
impl PyQuery {
    /// Key expression and parameters.
    #[getter]
    fn selector(&self) -> PyResult<PySelector> {
        Ok(self.query()?.selector().into())
    }

    /// What is asked for.
    #[getter]
    fn key_expr(&self) -> PyResult<PyKeyExpr> {
        Ok(PyKeyExpr(self.query()?.key_expr().clone()))
    }

    /// How it is asked for.
    #[getter]
    fn parameters(&self) -> PyResult<PyParameters> {
        Ok(self.query()?.parameters().clone().into())
    }

    /// What the querier sent along, if anything.
    #[getter]
    fn payload(&self) -> PyResult<Option<PyZBytes>> {
        Ok(self.query()?.payload().map(|bytes| bytes.clone().into()))
    }

    /// How the payload is to be read; `None` without one.
    #[getter]
    fn encoding(&self) -> PyResult<Option<PyEncoding>> {
        Ok(self.query()?.encoding().cloned().map(PyEncoding))
    }

    /// What the querier added, if anything.
    #[getter]
    fn attachment(&self) -> PyResult<Option<PyZBytes>> {
        Ok(self.query()?.attachment().map(|bytes| bytes.clone().into()))
    }

    /// Who asks, if the querier said so.
    #[getter]
    fn source_info(&self) -> PyResult<Option<PySourceInfo>> {
        Ok(self.query()?.source_info().map(PySourceInfo))
    }

    /// What was recorded on its way, if its sender asked for it.
    #[getter]
    fn timestamp_stack(&self) -> PyResult<Option<PyTimestampStack>> {
        Ok(self.query()?.timestamp_stack().map(Into::into))
    }

    /// On which keys replies may be.
    fn accepts_replies(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.query()?.accepts_replies())
    }

    /// Answers with a value. Raises `ZError` if the query takes none on this key.
    #[pyo3(signature = (key_expr, payload, *, encoding=None, congestion_control=None,
        priority=None, express=None, attachment=None, timestamp=None))]
    fn reply(
        &self,
        py: Python<'_>,
        key_expr: Key,
        payload: Bytes,
        encoding: Option<EncodingArgument>,
        congestion_control: Option<Py<PyAny>>,
        priority: Option<Py<PyAny>>,
        express: Option<bool>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
    ) -> PyResult<()> {
        warn_ignored(py, congestion_control.is_some() || priority.is_some())?;
        let query = self.query()?;
        let mut reply = query.reply(key_expr.0, payload.0);
        with!(reply, encoding = encoding.map(|it| it.0), express = express);
        with!(reply, attachment = attachment.map(|it| it.0), timestamp = timestamp.map(|it| it.0));
        quick(py, || reply.wait())?.or_raise()
    }

    /// Answers that something went wrong.
    #[pyo3(signature = (payload, *, encoding=None))]
    fn reply_err(
        &self,
        py: Python<'_>,
        payload: Bytes,
        encoding: Option<EncodingArgument>,
    ) -> PyResult<()> {
        let query = self.query()?;
        let mut reply = query.reply_err(payload.0);
        with!(reply, encoding = encoding.map(|it| it.0));
        quick(py, || reply.wait())?.or_raise()
    }

    /// Answers that a key has no value any more.
    #[pyo3(signature = (key_expr, *, congestion_control=None, priority=None, express=None,
        attachment=None, timestamp=None))]
    fn reply_del(
        &self,
        py: Python<'_>,
        key_expr: Key,
        congestion_control: Option<Py<PyAny>>,
        priority: Option<Py<PyAny>>,
        express: Option<bool>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
    ) -> PyResult<()> {
        warn_ignored(py, congestion_control.is_some() || priority.is_some())?;
        let query = self.query()?;
        let mut reply = query.reply_del(key_expr.0);
        with!(reply, express = express);
        with!(reply, attachment = attachment.map(|it| it.0), timestamp = timestamp.map(|it| it.0));
        quick(py, || reply.wait())?.or_raise()
    }

    /// Ends it: the querier does not wait for it any more. Further calls do nothing.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        let query = self.lock().take();
        quick(py, || drop(query))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.drop(py)
    }

    fn __str__(&self) -> String {
        self.__repr__()
    }

    fn __repr__(&self) -> String {
        match self.query() {
            Ok(query) => format!("Query {{ selector: \"{}\" }}", query.selector()),
            Err(_) => "Query { dropped }".to_owned(),
        }
    }
}
