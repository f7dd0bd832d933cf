//! `Session`, and the end of all sessions with the interpreter.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use weft::{
    CongestionControl, Locality, Priority, QueryTarget, Reliability, ReplyKeyExpr, Session,
};

use crate::bytes::Bytes;
use crate::cancel::PyCancellationToken;
use crate::channel::{in_thread, ready};
use crate::config::PyConfig;
use crate::dispatch::Latches;
use crate::encoding::EncodingArgument;
use crate::entity::Entity;
use crate::enums::{ConsolidationArgument, Member, value};
use crate::error::Raise;
use crate::gil::{Held, Owned, blocking, call0, quick};
use crate::handler::{Timeout, prepare};
use crate::id::{PyEntityGlobalId, PyZenohId, Source};
use crate::info::PySessionInfo;
use crate::keyexpr::{Key, PyKeyExpr};
use crate::liveliness::PyLiveliness;
use crate::publisher::PyPublisher;
use crate::querier::PyQuerier;
use crate::selector::SelectorArgument;
use crate::stack::{Instrumentation, callback};
use crate::subscriber::{AnySubscriber, PyQueryable, PySubscriber};
use crate::time::{PyTimestamp, Stamp};

/// How long closing waits for callbacks that still run.
const CLOSE_CALLBACKS_MAX: Duration = Duration::from_secs(10);
/// The same at the end of the interpreter, for all sessions.
const EXIT_CALLBACKS_MAX: Duration = Duration::from_secs(1);

/// Opens a session. Waits until it can be used: for a client until it is connected, for a peer for half a second at most.
///
/// `timestamp_callback` is called with a `TimestampContext` for each record of a timestamp stack and returns the bytes to record.
/// Raises `ZError` if the configuration contradicts itself, an endpoint cannot be bound, or a client finds nobody.
#[pyfunction]
#[pyo3(signature = (config=None, *, timestamp_callback=None))]
pub(crate) fn open(
    py: Python<'_>,
    config: Option<PyRef<'_, PyConfig>>,
    timestamp_callback: Option<Py<PyAny>>,
) -> PyResult<PySession> {
    let config = config.map(|it| it.lock().clone()).unwrap_or_default();
    let mut builder = weft::open(config);
    with!(builder, timestamp_callback = timestamp_callback.map(callback));
    let session = blocking(py, || builder.wait())?.or_raise()?;
    let shared = Arc::new(Shared { session: Owned::new(session), latches: Arc::default() });
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|other| other.strong_count() > 0);
    open.push(Arc::downgrade(&shared));
    Ok(PySession(Held::new(shared)))
}

/// Sessions that may be open.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Closes all sessions: called when the interpreter exits.
#[pyfunction]
pub(crate) fn _close_all(py: Python<'_>) -> PyResult<()> {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    let deadline = Instant::now() + EXIT_CALLBACKS_MAX;
    for shared in open.iter().filter_map(Weak::upgrade).filter(|it| it.session.is_own()) {
        shared.close(py, deadline)?;
    }
    Ok(())
}

/// What Python's objects of a session share.
struct Shared {
    session: Owned<Session>,
    latches: Arc<Latches>,
}

impl Shared {
    fn close(&self, py: Python<'_>, deadline: Instant) -> PyResult<()> {
        let session = self.session.get()?;
        blocking(py, || session.close().wait())?;
        self.latches.wait(py, Some(deadline))
    }
}

/// One participant of a Zenoh network. Closes at the end of a `with` block, when its last reference goes, and when
/// the interpreter exits.
#[pyclass(frozen, weakref, module = "weft", name = "Session")]
pub(crate) struct PySession(Held<Arc<Shared>>);

impl PySession {
    pub(crate) fn session(&self) -> PyResult<&Session> {
        self.0.session.get()
    }

    /// The session even in a fork, for what cannot wait.
    pub(crate) fn peek(&self) -> &Session {
        self.0.session.peek()
    }

    pub(crate) fn latches(&self) -> &Arc<Latches> {
        &self.0.latches
    }
}

#[pymethods]
#[allow(clippy::too_many_arguments)] // the surface is given
impl PySession {
    /// What it knows of itself and its neighbours.
    #[getter]
    fn info(slf: Bound<'_, Self>) -> PySessionInfo {
        PySessionInfo(slf.unbind())
    }

    /// Its identity as an entity.
    #[getter]
    fn id(&self) -> PyEntityGlobalId {
        PyEntityGlobalId(self.peek().id())
    }

    /// Its identity.
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.peek().zid())
    }

    /// Closes it: what was put is sent, callbacks that run are waited for (10 s at most, and not from within a callback),
    /// channels close. Further calls do nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close(py, Instant::now() + CLOSE_CALLBACKS_MAX)
    }

    /// Whether it was closed.
    fn is_closed(&self) -> bool {
        self.peek().is_closed()
    }

    /// Undeclares a key expression that `declare_keyexpr` returned, or anything that has an `undeclare()`.
    fn undeclare(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(key) = obj.cast::<PyKeyExpr>() {
            let session = self.session()?;
            return quick(obj.py(), || session.undeclare_keyexpr(&key.get().0))?.or_raise();
        }
        if !obj.hasattr("undeclare")? {
            let given = obj.get_type();
            return Err(PyTypeError::new_err(format!("cannot undeclare {}", given.name()?)));
        }
        call0(&obj.getattr("undeclare")?).map(|_| ())
    }

    /// A timestamp of its clock; works after closing, too.
    fn new_timestamp(&self) -> PyResult<PyTimestamp> {
        Ok(PyTimestamp(self.session()?.new_timestamp()))
    }

    /// Gives a key expression a number, by which it is sent from then on. Purely an optimisation.
    fn declare_keyexpr(&self, py: Python<'_>, key_expr: Key) -> PyResult<PyKeyExpr> {
        let session = self.session()?;
        Ok(PyKeyExpr(blocking(py, || session.declare_keyexpr(key_expr.0))?.or_raise()?))
    }

    /// Publishes a value on any key. A `str` is checked each time; a `KeyExpr` is not.
    #[pyo3(signature = (key_expr, payload, *, encoding=None, congestion_control=None,
        priority=None, express=None, attachment=None, timestamp=None,
        timestamp_instrumentation=None, allowed_destination=None, source_info=None))]
    fn put(
        &self,
        py: Python<'_>,
        key_expr: Key,
        payload: Bytes,
        encoding: Option<EncodingArgument>,
        congestion_control: Option<Member<CongestionControl>>,
        priority: Option<Member<Priority>>,
        express: Option<bool>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
        allowed_destination: Option<Member<Locality>>,
        source_info: Option<Source<'_>>,
    ) -> PyResult<()> {
        let mut put = self.session()?.put(key_expr.0, payload.0);
        with!(put, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(put, encoding = encoding.map(|it| it.0), attachment = attachment.map(|it| it.0));
        with!(put, congestion_control = value(congestion_control), priority = value(priority));
        with!(put, express = express, allowed_destination = value(allowed_destination));
        with!(put, timestamp = timestamp.map(|it| it.0), source_info = source_info.map(|it| it.0));
        quick(py, || put.wait())?.or_raise()
    }

    /// Publishes that a key has no value any more.
    #[pyo3(signature = (key_expr, *, congestion_control=None, priority=None, express=None,
        attachment=None, timestamp=None, timestamp_instrumentation=None,
        allowed_destination=None, source_info=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key_expr: Key,
        congestion_control: Option<Member<CongestionControl>>,
        priority: Option<Member<Priority>>,
        express: Option<bool>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
        allowed_destination: Option<Member<Locality>>,
        source_info: Option<Source<'_>>,
    ) -> PyResult<()> {
        let mut delete = self.session()?.delete(key_expr.0);
        with!(delete, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(delete, congestion_control = value(congestion_control), priority = value(priority));
        with!(delete, express = express, allowed_destination = value(allowed_destination));
        with!(delete, attachment = attachment.map(|it| it.0));
        with!(
            delete,
            timestamp = timestamp.map(|it| it.0),
            source_info = source_info.map(|it| it.0)
        );
        quick(py, || delete.wait())?.or_raise()
    }

    /// Asks. Returns the handler of the replies at once, `None` for a bare callback; it ends when all have answered, or
    /// after `timeout` seconds (default: `queries_default_timeout`, 10) with an error reply.
    ///
    /// `await session.get(...)` waits for all replies.
    #[pyo3(signature = (selector, handler=None, *, target=None, consolidation=None,
        accept_replies=None, timeout=None, congestion_control=None, priority=None, express=None,
        payload=None, encoding=None, attachment=None, allowed_destination=None, source_info=None,
        cancellation_token=None, timestamp_instrumentation=None))]
    fn get(
        &self,
        py: Python<'_>,
        selector: SelectorArgument,
        handler: Option<&Bound<'_, PyAny>>,
        target: Option<Member<QueryTarget>>,
        consolidation: Option<ConsolidationArgument>,
        accept_replies: Option<Member<ReplyKeyExpr>>,
        timeout: Option<Timeout>,
        congestion_control: Option<Member<CongestionControl>>,
        priority: Option<Member<Priority>>,
        express: Option<bool>,
        payload: Option<Bytes>,
        encoding: Option<EncodingArgument>,
        attachment: Option<Bytes>,
        allowed_destination: Option<Member<Locality>>,
        source_info: Option<Source<'_>>,
        cancellation_token: Option<PyRef<'_, PyCancellationToken>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let prepared = prepare(py, handler)?;
        let mut get = self.session()?.get(selector.0).with((prepared.callback, ()));
        with!(get, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(get, target = value(target), accept_replies = value(accept_replies));
        with!(get, consolidation = consolidation.map(|it| it.0), timeout = timeout.map(|it| it.0));
        with!(get, congestion_control = value(congestion_control), priority = value(priority));
        with!(get, express = express, allowed_destination = value(allowed_destination));
        with!(get, payload = payload.map(|it| it.0), encoding = encoding.map(|it| it.0));
        with!(get, attachment = attachment.map(|it| it.0));
        with!(get, source_info = source_info.map(|it| it.0));
        with!(get, cancellation_token = cancellation_token.as_deref().map(|it| &it.token));
        blocking(py, || get.wait())?.or_raise()?;
        let token = cancellation_token.as_deref().map(|it| &*it.latches);
        let latches: Vec<&Latches> = token.into_iter().chain([&**self.latches()]).collect();
        let (kept, _) = prepared.own.start(py, &latches)?;
        Ok(kept.into_object(py))
    }

    /// Declares a subscriber. With `background` it stays when its object goes, until the session closes; by default
    /// if it has nothing but a callback.
    #[pyo3(signature = (key_expr, handler=None, *, allowed_origin=None, background=None))]
    fn declare_subscriber(
        &self,
        py: Python<'_>,
        key_expr: Key,
        handler: Option<&Bound<'_, PyAny>>,
        allowed_origin: Option<Member<Locality>>,
        background: Option<bool>,
    ) -> PyResult<PySubscriber> {
        let session = self.session()?;
        let prepared = prepare(py, handler)?;
        let mut builder = session.declare_subscriber(key_expr.0).with((prepared.callback, ()));
        with!(builder, allowed_origin = value(allowed_origin));
        let subscriber = AnySubscriber::Samples(blocking(py, || builder.wait())?.or_raise()?);
        let own = prepared.own.start(py, &[self.latches()])?;
        Ok(PySubscriber(Entity::new_in(subscriber, own, PySubscriber::ENDED, background)))
    }

    /// Declares a queryable. `complete` says that it knows every value of its key expression; `background` as for
    /// a subscriber.
    #[pyo3(signature = (key_expr, handler=None, *, complete=None, allowed_origin=None,
        background=None))]
    fn declare_queryable(
        &self,
        py: Python<'_>,
        key_expr: Key,
        handler: Option<&Bound<'_, PyAny>>,
        complete: Option<bool>,
        allowed_origin: Option<Member<Locality>>,
        background: Option<bool>,
    ) -> PyResult<PyQueryable> {
        let session = self.session()?;
        let prepared = prepare(py, handler)?;
        let mut builder = session.declare_queryable(key_expr.0).with((prepared.callback, ()));
        with!(builder, complete = complete, allowed_origin = value(allowed_origin));
        let queryable = blocking(py, || builder.wait())?.or_raise()?;
        let own = prepared.own.start(py, &[self.latches()])?;
        Ok(PyQueryable(Entity::new_in(queryable, own, PyQueryable::ENDED, background)))
    }

    /// Declares a publisher: the way to publish on one key again and again.
    #[pyo3(signature = (key_expr, *, encoding=None, congestion_control=None, priority=None,
        express=None, reliability=None, allowed_destination=None))]
    fn declare_publisher(
        &self,
        py: Python<'_>,
        key_expr: Key,
        encoding: Option<EncodingArgument>,
        congestion_control: Option<Member<CongestionControl>>,
        priority: Option<Member<Priority>>,
        express: Option<bool>,
        reliability: Option<Member<Reliability>>,
        allowed_destination: Option<Member<Locality>>,
    ) -> PyResult<PyPublisher> {
        let mut builder = self.session()?.declare_publisher(key_expr.0);
        with!(builder, encoding = encoding.map(|it| it.0), express = express);
        with!(builder, congestion_control = value(congestion_control), priority = value(priority));
        with!(builder, reliability = value(reliability));
        with!(builder, allowed_destination = value(allowed_destination));
        let publisher = blocking(py, || builder.wait())?.or_raise()?;
        Ok(PyPublisher::new(publisher, Arc::clone(self.latches())))
    }

    /// Declares a querier: the way to ask for one key again and again.
    #[pyo3(signature = (key_expr, *, target=None, consolidation=None, accept_replies=None,
        timeout=None, congestion_control=None, priority=None, express=None,
        allowed_destination=None))]
    fn declare_querier(
        &self,
        py: Python<'_>,
        key_expr: Key,
        target: Option<Member<QueryTarget>>,
        consolidation: Option<ConsolidationArgument>,
        accept_replies: Option<Member<ReplyKeyExpr>>,
        timeout: Option<Timeout>,
        congestion_control: Option<Member<CongestionControl>>,
        priority: Option<Member<Priority>>,
        express: Option<bool>,
        allowed_destination: Option<Member<Locality>>,
    ) -> PyResult<PyQuerier> {
        let mut builder = self.session()?.declare_querier(key_expr.0);
        with!(builder, target = value(target), accept_replies = value(accept_replies));
        with!(
            builder,
            consolidation = consolidation.map(|it| it.0),
            timeout = timeout.map(|it| it.0)
        );
        with!(builder, congestion_control = value(congestion_control), priority = value(priority));
        with!(builder, express = express, allowed_destination = value(allowed_destination));
        let querier = blocking(py, || builder.wait())?.or_raise()?;
        Ok(PyQuerier::new(querier, Arc::clone(self.latches())))
    }

    /// Tokens that say that something is alive.
    fn liveliness(slf: Bound<'_, Self>) -> PyLiveliness {
        PyLiveliness(slf.unbind())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __aenter__(slf: Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        ready(slf.into_any())
    }

    #[pyo3(signature = (*args))]
    fn __aexit__(
        slf: Bound<'_, Self>,
        args: &Bound<'_, pyo3::types::PyTuple>,
    ) -> PyResult<Py<PyAny>> {
        in_thread(&slf.getattr("__exit__")?, args)
    }

    fn __repr__(&self) -> String {
        let state = match (self.0.session.is_own(), self.is_closed()) {
            (false, _) => ", forked",
            (true, true) => ", closed",
            (true, false) => "",
        };
        format!("Session(Session {{ id: {}{state} }})", self.peek().zid())
    }
}
