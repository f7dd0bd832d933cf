//! `Subscriber`, `Queryable` and the listeners.

use pyo3::prelude::*;
use weft::handlers::Callback;
use weft::info::{Event, EventsListener, LinkInfo, TransportInfo};
use weft::{EntityGlobalId, KeyExpr, LivelinessSubscriber, MatchingListener, MatchingStatus};

use crate::entity::{Delivers, Entity, receiver};
use crate::error::Raise;
use crate::handler::{Item, prepare};
use crate::id::PyEntityGlobalId;
use crate::keyexpr::PyKeyExpr;

/// A subscriber of samples, or of liveliness tokens.
pub(crate) enum AnySubscriber {
    Samples(weft::Subscriber<()>),
    Tokens(LivelinessSubscriber<()>),
}

impl AnySubscriber {
    fn id(&self) -> weft::Result<EntityGlobalId> {
        match self {
            Self::Samples(it) => it.id(),
            Self::Tokens(it) => it.id(),
        }
    }

    fn key_expr(&self) -> &KeyExpr {
        match self {
            Self::Samples(it) => it.key_expr(),
            Self::Tokens(it) => it.key_expr(),
        }
    }
}

impl Delivers for AnySubscriber {
    fn background(self) {
        match self {
            Self::Samples(it) => it.background(),
            Self::Tokens(it) => it.background(),
        }
    }
}

receiver! {
    /// Receives the samples of a key expression, or the liveliness tokens.
    ///
    /// With a channel it ends when this object goes. With nothing but a callback it stays until it is undeclared or
    /// the session closes.
    PySubscriber, "Subscriber", AnySubscriber, undeclare, {
        /// Its identity.
        #[getter]
        fn id(&self) -> PyResult<PyEntityGlobalId> {
            Ok(PyEntityGlobalId(self.0.with(AnySubscriber::id)?.or_raise()?))
        }

        /// Its key expression.
        #[getter]
        fn key_expr(&self) -> PyResult<PyKeyExpr> {
            Ok(PyKeyExpr(self.0.with(|it| it.key_expr().clone())?))
        }

        fn __repr__(&self) -> String {
            match self.0.with(|it| it.key_expr().clone()) {
                Ok(key) => format!("Subscriber('{key}')"),
                Err(_) => "Subscriber(undeclared)".to_owned(),
            }
        }
    }
}

impl PySubscriber {
    pub(crate) const ENDED: &'static str = "Undeclared subscriber";
}

impl Delivers for weft::Queryable<()> {
    fn background(self) {
        Self::background(self);
    }
}

receiver! {
    /// Answers the queries for a key expression. Lives as a `Subscriber` does.
    PyQueryable, "Queryable", weft::Queryable<()>, undeclare, {
        /// Its identity.
        #[getter]
        fn id(&self) -> PyResult<PyEntityGlobalId> {
            Ok(PyEntityGlobalId(self.0.with(weft::Queryable::id)?.or_raise()?))
        }

        /// Its key expression.
        #[getter]
        fn key_expr(&self) -> PyResult<PyKeyExpr> {
            Ok(PyKeyExpr(self.0.with(|it| it.key_expr().clone())?))
        }

        fn __repr__(&self) -> String {
            match self.0.with(|it| it.key_expr().clone()) {
                Ok(key) => format!("Queryable('{key}')"),
                Err(_) => "Queryable(undeclared)".to_owned(),
            }
        }
    }
}

impl PyQueryable {
    pub(crate) const ENDED: &'static str = "Undeclared queryable";
}

/// Whether anybody wants what a publisher sends or answers what a querier asks. True if so.
#[pyclass(frozen, eq, hash, module = "weft", name = "MatchingStatus")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyMatchingStatus(pub(crate) MatchingStatus);

#[pymethods]
impl PyMatchingStatus {
    /// Whether somebody does.
    #[getter]
    fn matching(&self) -> bool {
        self.0.matching()
    }

    fn __bool__(&self) -> bool {
        self.0.matching()
    }

    fn __repr__(&self) -> String {
        format!("MatchingStatus {{ matching: {} }}", self.0.matching())
    }
}

impl Item for MatchingStatus {
    const NAME: &'static str = "MatchingStatus";

    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, PyMatchingStatus(self))?.into_any())
    }
}

impl Delivers for MatchingListener<()> {
    fn background(self) {
        Self::background(self);
    }
}

receiver! {
    /// Hears when the matching status of a publisher or querier changes; ends with that.
    PyMatchingListener, "MatchingListener", MatchingListener<()>, undeclare, {
        fn __repr__(&self) -> &'static str {
            if self.0.is_declared() { "MatchingListener()" } else { "MatchingListener(undeclared)" }
        }
    }
}

/// Declares a matching listener: `declare` makes it with the library's side of the handler.
///
/// # Errors
/// As `declare`, or if the handler is none.
pub(crate) fn matching_listener(
    py: Python<'_>,
    handler: Option<&Bound<'_, PyAny>>,
    latches: &crate::dispatch::Latches,
    declare: impl FnOnce(Callback<MatchingStatus>) -> PyResult<MatchingListener<()>>,
) -> PyResult<PyMatchingListener> {
    let prepared = prepare(py, handler)?;
    let listener = declare(prepared.callback)?;
    let own = prepared.own.start(py, &[latches])?;
    Ok(PyMatchingListener(Entity::new(listener, own, "Undeclared matching listener")))
}

/// A listener of transports.
pub(crate) struct Transports(pub(crate) EventsListener<()>);

impl Delivers for Transports {
    fn background(self) {
        self.0.background();
    }
}

receiver! {
    /// Hears when connections to other nodes open and close.
    PyTransportEventsListener, "TransportEventsListener", Transports, undeclare, {
        fn __repr__(&self) -> &'static str {
            if self.0.is_declared() {
                "TransportEventsListener()"
            } else {
                "TransportEventsListener(undeclared)"
            }
        }
    }
}

/// A listener of links.
pub(crate) struct Links(pub(crate) EventsListener<()>);

impl Delivers for Links {
    fn background(self) {
        self.0.background();
    }
}

receiver! {
    /// Hears when links open and close.
    PyLinkEventsListener, "LinkEventsListener", Links, undeclare, {
        fn __repr__(&self) -> &'static str {
            if self.0.is_declared() {
                "LinkEventsListener()"
            } else {
                "LinkEventsListener(undeclared)"
            }
        }
    }
}

impl Item for Event<TransportInfo> {
    const NAME: &'static str = "TransportEvent";

    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, crate::info::PyTransportEvent(self))?.into_any())
    }
}

impl Item for Event<LinkInfo> {
    const NAME: &'static str = "LinkEvent";

    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, crate::info::PyLinkEvent(self))?.into_any())
    }
}
