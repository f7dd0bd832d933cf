//! `weft.ext`: publishers and subscribers that make up for losses.

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weft::ext::{
    AdvancedPublisher, AdvancedSubscriber, CacheConfig, HistoryConfig, Miss, MissDetectionConfig,
    RecoveryConfig, SampleMissListener, declare_advanced_publisher as declare_publisher,
    declare_advanced_subscriber as declare_subscriber,
};
use weft::{CongestionControl, Locality, Priority, Reliability};

use crate::bytes::Bytes;
use crate::declared::{Declared, publisher};
use crate::dispatch::Latches;
use crate::encoding::EncodingArgument;
use crate::entity::{Delivers, Entity, receiver};
use crate::enums::{Member, value};
use crate::error::Raise;
use crate::gil::{blocking, quick};
use crate::handler::{Item, Timeout, prepare};
use crate::id::PyEntityGlobalId;
use crate::keyexpr::{Key, PyKeyExpr};
use crate::session::PySession;
use crate::stack::Instrumentation;
use crate::subscriber::{AnySubscriber, PySubscriber};
use crate::time::Stamp;

/// How a cache replies: priority data, waiting for room, not express, unless told otherwise. Priority and congestion control of a
/// reply are those of the query.
#[pyclass(frozen, module = "weft.ext", name = "RepliesConfig")]
pub(crate) struct PyRepliesConfig {
    express: Option<bool>,
}

#[pymethods]
impl PyRepliesConfig {
    #[new]
    #[pyo3(signature = (*, congestion_control=None, priority=None, express=None))]
    fn new(
        congestion_control: Option<Member<CongestionControl>>,
        priority: Option<Member<Priority>>,
        express: Option<bool>,
    ) -> Self {
        // The two are checked, and otherwise the query's.
        let _ = (congestion_control, priority);
        Self { express }
    }
}

/// What a publisher keeps for subscribers that come late or lost some: the newest `max_samples` of each key, by default 1.
#[pyclass(frozen, module = "weft.ext", name = "CacheConfig")]
pub(crate) struct PyCacheConfig(CacheConfig);

#[pymethods]
impl PyCacheConfig {
    #[new]
    #[pyo3(signature = (max_samples=None, *, replies_config=None))]
    fn new(max_samples: Option<usize>, replies_config: Option<PyRef<'_, PyRepliesConfig>>) -> Self {
        let mut config = CacheConfig::default();
        with!(config, max_samples = max_samples);
        with!(config, replies_express = replies_config.and_then(|it| it.express));
        Self(config)
    }
}

/// What a subscriber asks for of what was published before it came: of each publisher at most `max_samples`, not older than `max_age`
/// seconds; with `detect_late_publishers` also of those that appear later.
#[pyclass(frozen, module = "weft.ext", name = "HistoryConfig")]
pub(crate) struct PyHistoryConfig(HistoryConfig);

#[pymethods]
impl PyHistoryConfig {
    #[new]
    #[pyo3(signature = (*, detect_late_publishers=None, max_samples=None, max_age=None))]
    fn new(
        detect_late_publishers: Option<bool>,
        max_samples: Option<usize>,
        max_age: Option<Timeout>,
    ) -> Self {
        let mut config = HistoryConfig::default();
        with!(config, detect_late_publishers = detect_late_publishers, max_samples = max_samples);
        with!(config, max_age = max_age.map(|it| it.0));
        Self(config)
    }
}

/// How subscribers notice that they lack samples: by their numbers, and by a heartbeat every so many seconds that tells the last one, always or,
/// sporadic, if it is another one than before.
#[pyclass(frozen, module = "weft.ext", name = "MissDetectionConfig")]
pub(crate) struct PyMissDetectionConfig(MissDetectionConfig);

#[pymethods]
impl PyMissDetectionConfig {
    #[new]
    #[pyo3(signature = (*, heartbeat=None, sporadic_heartbeat=None))]
    fn new(heartbeat: Option<Timeout>, sporadic_heartbeat: Option<Timeout>) -> Self {
        let mut config = MissDetectionConfig::default();
        with!(config, heartbeat = heartbeat.map(|it| it.0));
        with!(config, sporadic_heartbeat = sporadic_heartbeat.map(|it| it.0));
        Self(config)
    }
}

/// How a subscriber learns that it lacks samples: by asking, every `periodic_queries` (seconds or a `timedelta`), or by `heartbeat=True`.
/// Exactly one of the two.
#[pyclass(frozen, module = "weft.ext", name = "RecoveryConfig")]
pub(crate) struct PyRecoveryConfig(RecoveryConfig);

#[pymethods]
impl PyRecoveryConfig {
    #[new]
    #[pyo3(signature = (*, periodic_queries=None, heartbeat=None))]
    fn new(periodic_queries: Option<&Bound<'_, PyAny>>, heartbeat: Option<bool>) -> PyResult<Self> {
        match (periodic_queries, heartbeat) {
            (Some(period), None | Some(false)) => {
                Ok(Self(RecoveryConfig::PeriodicQueries { period: period_of(period)? }))
            }
            (None, Some(true)) => Ok(Self(RecoveryConfig::Heartbeat)),
            _ => Err(PyValueError::new_err("give one of periodic_queries and heartbeat=True")),
        }
    }
}

fn period_of(period: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds = match period.getattr("total_seconds") {
        Ok(seconds) => seconds.call0()?,
        Err(_) => period.clone(),
    };
    seconds.extract().map(|Timeout(period)| period)
}

/// Samples of a publisher that a subscriber did not get and will not get.
#[pyclass(frozen, module = "weft.ext", name = "Miss")]
pub(crate) struct PyMiss(Miss);

#[pymethods]
impl PyMiss {
    /// The publisher.
    #[getter]
    fn source(&self) -> PyEntityGlobalId {
        PyEntityGlobalId(self.0.source)
    }

    /// How many of its samples in a row.
    #[getter]
    fn nb(&self) -> u32 {
        self.0.count
    }

    fn __repr__(&self) -> String {
        let Miss { source, count } = self.0;
        format!("Miss(source={}/{}, nb={count})", source.zid, source.eid)
    }
}

impl Item for Miss {
    const NAME: &'static str = "Miss";

    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, PyMiss(self))?.into_any())
    }
}

/// Publishes on one key expression, and keeps, numbers and announces what it publishes as it is told to.
#[pyclass(frozen, weakref, module = "weft.ext", name = "AdvancedPublisher")]
pub(crate) struct PyAdvancedPublisher {
    declared: Declared<AdvancedPublisher>,
}

/// Declares a publisher that lets subscribers notice and make up for what they lost. Without `sample_miss_detection`, a `cache` needs
/// `timestamping/enabled` in the configuration.
#[pyfunction]
#[pyo3(signature = (session, key_expr, *, encoding=None, congestion_control=None, priority=None,
    express=None, reliability=None, allowed_destination=None, cache=None,
    sample_miss_detection=None, publisher_detection=None))]
#[allow(clippy::too_many_arguments)] // the surface is given
pub(crate) fn declare_advanced_publisher(
    py: Python<'_>,
    session: PyRef<'_, PySession>,
    key_expr: Key,
    encoding: Option<EncodingArgument>,
    congestion_control: Option<Member<CongestionControl>>,
    priority: Option<Member<Priority>>,
    express: Option<bool>,
    reliability: Option<Member<Reliability>>,
    allowed_destination: Option<Member<Locality>>,
    cache: Option<PyRef<'_, PyCacheConfig>>,
    sample_miss_detection: Option<PyRef<'_, PyMissDetectionConfig>>,
    publisher_detection: Option<bool>,
) -> PyResult<PyAdvancedPublisher> {
    let mut builder = declare_publisher(session.session()?, key_expr.0);
    with!(builder, encoding = encoding.map(|it| it.0), express = express);
    with!(builder, congestion_control = value(congestion_control), priority = value(priority));
    with!(builder, reliability = value(reliability));
    with!(builder, allowed_destination = value(allowed_destination));
    with!(builder, cache = cache.map(|it| it.0), publisher_detection = publisher_detection);
    with!(builder, sample_miss_detection = sample_miss_detection.map(|it| it.0));
    let publisher = blocking(py, || builder.wait())?.or_raise()?;
    Ok(PyAdvancedPublisher { declared: Declared::new(publisher, "Undeclared publisher") })
}

publisher!(PyAdvancedPublisher, "AdvancedPublisher", {
    /// Publishes a value.
    #[pyo3(signature = (payload, *, encoding=None, attachment=None, timestamp=None,
        timestamp_instrumentation=None))]
    fn put(
        &self,
        py: Python<'_>,
        payload: Bytes,
        encoding: Option<EncodingArgument>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
    ) -> PyResult<()> {
        let publisher = self.declared.share()?;
        let mut put = publisher.get()?.put(payload.0);
        with!(put, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(put, encoding = encoding.map(|it| it.0), attachment = attachment.map(|it| it.0));
        with!(put, timestamp = timestamp.map(|it| it.0));
        blocking(py, || put.wait())?.or_raise()
    }

    /// Publishes that the key has no value any more.
    #[pyo3(signature = (*, attachment=None, timestamp=None, timestamp_instrumentation=None))]
    fn delete(
        &self,
        py: Python<'_>,
        attachment: Option<Bytes>,
        timestamp: Option<Stamp<'_>>,
        timestamp_instrumentation: Option<Instrumentation<'_>>,
    ) -> PyResult<()> {
        let publisher = self.declared.share()?;
        let mut delete = publisher.get()?.delete();
        with!(delete, timestamp_instrumentation = timestamp_instrumentation.map(|it| it.0));
        with!(delete, attachment = attachment.map(|it| it.0));
        with!(delete, timestamp = timestamp.map(|it| it.0));
        blocking(py, || delete.wait())?.or_raise()
    }
});

/// An advanced subscriber, and where its listeners' callbacks are waited for.
pub(crate) struct Advanced {
    subscriber: AdvancedSubscriber<()>,
    latches: Arc<Latches>,
}

impl Delivers for Advanced {
    fn background(self) {
        self.subscriber.background();
    }
}

receiver! {
    /// Receives the samples of a key expression, in order, and as it is told to those that were published before or got lost. Lives as a
    /// `Subscriber` does.
    PyAdvancedSubscriber, "AdvancedSubscriber", Advanced, undeclare, {
        /// Its identity.
        #[getter]
        fn id(&self) -> PyResult<PyEntityGlobalId> {
            Ok(PyEntityGlobalId(self.0.with(|it| it.subscriber.id())?.or_raise()?))
        }

        /// Its key expression.
        #[getter]
        fn key_expr(&self) -> PyResult<PyKeyExpr> {
            Ok(PyKeyExpr(self.0.with(|it| it.subscriber.key_expr().clone())?))
        }

        /// Declares a listener of samples that this subscriber does not get.
        #[pyo3(signature = (handler=None))]
        fn sample_miss_listener(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<PySampleMissListener> {
            let prepared = prepare::<Miss>(py, handler)?;
            let callback = prepared.callback;
            let (listener, latches) = self.0.with(|it| {
                let listener = it.subscriber.sample_miss_listener().with((callback, ()));
                (quick(py, || listener.wait()), Arc::clone(&it.latches))
            })?;
            let listener = listener?.or_raise()?;
            let own = prepared.own.start(py, &[&*latches])?;
            let ended = "Undeclared sample-miss listener";
            Ok(PySampleMissListener(Entity::new(listener, own, ended)))
        }

        /// Declares a subscriber of the tokens of publishers that can be detected; with `history`, those that exist come first.
        #[pyo3(signature = (handler=None, *, history=None))]
        fn detect_publishers(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
            history: Option<bool>,
        ) -> PyResult<PySubscriber> {
            let prepared = prepare::<weft::Sample>(py, handler)?;
            let callback = prepared.callback;
            let (subscriber, latches) = self.0.with(|it| {
                let mut builder = it.subscriber.detect_publishers().with((callback, ()));
                with!(builder, history = history);
                (quick(py, || builder.wait()), Arc::clone(&it.latches))
            })?;
            let subscriber = AnySubscriber::Tokens(subscriber?.or_raise()?);
            let own = prepared.own.start(py, &[&*latches])?;
            Ok(PySubscriber(Entity::new(subscriber, own, PySubscriber::ENDED)))
        }

        fn __repr__(&self) -> String {
            match self.0.with(|it| it.subscriber.key_expr().clone()) {
                Ok(key) => format!("AdvancedSubscriber('{key}')"),
                Err(_) => "AdvancedSubscriber(undeclared)".to_owned(),
            }
        }
    }
}

/// Declares a subscriber that makes up for what it lost and for what was published before it came.
#[pyfunction]
#[pyo3(signature = (session, key_expr, handler=None, *, allowed_origin=None, history=None,
    recovery=None, subscriber_detection=None))]
#[allow(clippy::too_many_arguments)] // the surface is given
pub(crate) fn declare_advanced_subscriber(
    py: Python<'_>,
    session: PyRef<'_, PySession>,
    key_expr: Key,
    handler: Option<&Bound<'_, PyAny>>,
    allowed_origin: Option<Member<Locality>>,
    history: Option<PyRef<'_, PyHistoryConfig>>,
    recovery: Option<PyRef<'_, PyRecoveryConfig>>,
    subscriber_detection: Option<bool>,
) -> PyResult<PyAdvancedSubscriber> {
    let prepared = prepare::<weft::Sample>(py, handler)?;
    let builder = declare_subscriber(session.session()?, key_expr.0);
    let mut builder = builder.with((prepared.callback, ()));
    with!(builder, allowed_origin = value(allowed_origin), history = history.map(|it| it.0));
    with!(builder, recovery = recovery.map(|it| it.0), subscriber_detection = subscriber_detection);
    let subscriber = blocking(py, || builder.wait())?.or_raise()?;
    let latches = Arc::clone(session.latches());
    let own = prepared.own.start(py, &[&*latches])?;
    let advanced = Advanced { subscriber, latches };
    Ok(PyAdvancedSubscriber(Entity::new(advanced, own, PySubscriber::ENDED)))
}

impl Delivers for SampleMissListener<()> {
    fn background(self) {
        Self::background(self);
    }
}

receiver! {
    /// Hears which samples an advanced subscriber did not get; ends with that.
    PySampleMissListener, "SampleMissListener", SampleMissListener<()>, undeclare, {
        fn __repr__(&self) -> &'static str {
            if self.0.is_declared() {
                "SampleMissListener()"
            } else {
                "SampleMissListener(undeclared)"
            }
        }
    }
}
