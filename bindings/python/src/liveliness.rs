//! `Liveliness` and `LivelinessToken`.

use pyo3::prelude::*;
use weft::LivelinessToken;

use crate::cancel::PyCancellationToken;
use crate::declared::Declared;
use crate::dispatch::Latches;
use crate::entity::Entity;
use crate::error::Raise;
use crate::gil::blocking;
use crate::handler::{Timeout, prepare};
use crate::keyexpr::Key;
use crate::session::PySession;
use crate::subscriber::{AnySubscriber, PySubscriber};

/// Tokens that say that something is alive: who declares them, who asks for them, and who watches them.
#[pyclass(frozen, module = "weft", name = "Liveliness")]
pub(crate) struct PyLiveliness(pub(crate) Py<PySession>);

#[pymethods]
impl PyLiveliness {
    /// Declares a token: alive as long as the object, the session and its connection.
    fn declare_token(&self, py: Python<'_>, key_expr: Key) -> PyResult<PyLivelinessToken> {
        let session = self.0.get().session()?;
        let text = key_expr.0.to_string();
        let token = blocking(py, || session.liveliness().declare_token(key_expr.0).wait())?;
        let declared = Declared::new(token.or_raise()?, "Undeclared LivelinessToken");
        Ok(PyLivelinessToken { declared, key_expr: text })
    }

    /// Asks for the tokens that are alive: a reply for each. Ends after `timeout` seconds at most (default 10).
    #[pyo3(signature = (key_expr, handler=None, *, timeout=None, cancellation_token=None))]
    fn get(
        &self,
        py: Python<'_>,
        key_expr: Key,
        handler: Option<&Bound<'_, PyAny>>,
        timeout: Option<Timeout>,
        cancellation_token: Option<PyRef<'_, PyCancellationToken>>,
    ) -> PyResult<Py<PyAny>> {
        let session = self.0.get();
        let prepared = prepare(py, handler)?;
        let liveliness = session.session()?.liveliness();
        let mut get = liveliness.get(key_expr.0).with((prepared.callback, ()));
        with!(get, timeout = timeout.map(|it| it.0));
        with!(get, cancellation_token = cancellation_token.as_deref().map(|it| &it.token));
        blocking(py, || get.wait())?.or_raise()?;
        let token = cancellation_token.as_deref().map(|it| &*it.latches);
        let latches: Vec<&Latches> = token.into_iter().chain([&**session.latches()]).collect();
        let (kept, _) = prepared.own.start(py, &latches)?;
        Ok(kept.into_object(py))
    }

    /// Declares a subscriber of tokens: put when one appears, delete when it goes. With `history`, those that are alive come
    /// first.
    #[pyo3(signature = (key_expr, handler=None, *, history=None, background=None))]
    fn declare_subscriber(
        &self,
        py: Python<'_>,
        key_expr: Key,
        handler: Option<&Bound<'_, PyAny>>,
        history: Option<bool>,
        background: Option<bool>,
    ) -> PyResult<PySubscriber> {
        let session = self.0.get();
        let prepared = prepare(py, handler)?;
        let liveliness = session.session()?.liveliness();
        let mut builder = liveliness.declare_subscriber(key_expr.0).with((prepared.callback, ()));
        with!(builder, history = history);
        let subscriber = AnySubscriber::Tokens(blocking(py, || builder.wait())?.or_raise()?);
        let own = prepared.own.start(py, &[session.latches()])?;
        Ok(PySubscriber(Entity::new_in(subscriber, own, PySubscriber::ENDED, background)))
    }

    fn __repr__(&self) -> String {
        format!("Liveliness(zid={})", self.0.get().peek().zid())
    }
}

/// Says that something is alive, as long as it is declared. Undeclared when this object goes.
#[pyclass(frozen, weakref, module = "weft", name = "LivelinessToken")]
pub(crate) struct PyLivelinessToken {
    declared: Declared<LivelinessToken>,
    key_expr: String,
}

#[pymethods]
impl PyLivelinessToken {
    /// Ends it. Raises `ZError` if it has ended.
    fn undeclare(&self, py: Python<'_>) -> PyResult<()> {
        self.declared.undeclare(py)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        if self.declared.is_declared() { self.undeclare(py) } else { Ok(()) }
    }

    fn __repr__(&self) -> String {
        let state = if self.declared.is_declared() { "" } else { ", undeclared" };
        format!("LivelinessToken('{}'{state})", self.key_expr)
    }
}
