//! Timestamp stacks: what is recorded of a message on its way.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weft::InterceptionPoint;
use weft::timestamp::{
    RecordedStamp, TimestampContext, TimestampInstrumentation, TimestampRecord, TimestampStack,
};

use crate::bytes::Bytes;
use crate::dispatch::log_to;
use crate::enums::{Member, member};
use crate::error::refuse;
use crate::gil::{call1, enter};
use crate::id::PyZenohId;
use crate::info::capitalized;
use crate::time::PyTimestamp;

/// Chooses where the way of a message is recorded.
#[pyclass(frozen, module = "weft", name = "TimestampInstrumentationBuilder")]
#[derive(Clone, Copy)]
pub(crate) struct PyInstrumentationBuilder {
    send: bool,
    route: bool,
    receive: bool,
}

#[pymethods]
impl PyInstrumentationBuilder {
    #[new]
    fn new() -> Self {
        Self { send: false, route: false, receive: false }
    }

    /// Whether at the sender. Returns a new builder, as the others do.
    fn set_send(&self, enabled: bool) -> Self {
        Self { send: enabled, ..*self }
    }

    /// Whether at routers.
    fn set_route(&self, enabled: bool) -> Self {
        Self { route: enabled, ..*self }
    }

    /// Whether at the receiver.
    fn set_receive(&self, enabled: bool) -> Self {
        Self { receive: enabled, ..*self }
    }

    /// What was chosen. Raises `ZError` if nothing was.
    fn build(&self) -> PyResult<PyInstrumentation> {
        let chosen = [
            (self.send, InterceptionPoint::Send),
            (self.route, InterceptionPoint::Route),
            (self.receive, InterceptionPoint::Receive),
        ];
        let points = chosen.into_iter().filter(|(enabled, _)| *enabled).map(|(_, point)| point);
        match TimestampInstrumentation::new(points) {
            Some(instrumentation) => Ok(PyInstrumentation(instrumentation)),
            None => Err(refuse("argument", "an instrumentation needs one point at least")),
        }
    }

    fn __repr__(&self) -> String {
        let Self { send, route, receive } = self;
        format!("TimestampInstrumentationBuilder(send={send}, route={route}, receive={receive})")
    }
}

/// Where the way of a message is recorded.
#[pyclass(frozen, eq, hash, module = "weft", name = "TimestampInstrumentation")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyInstrumentation(pub(crate) TimestampInstrumentation);

/// An argument that is a `TimestampInstrumentation`.
pub(crate) type Instrumentation<'py> = PyRef<'py, PyInstrumentation>;

const POINTS: [InterceptionPoint; 3] =
    [InterceptionPoint::Send, InterceptionPoint::Route, InterceptionPoint::Receive];

const fn name(point: InterceptionPoint) -> &'static str {
    match point {
        InterceptionPoint::Send => "SEND",
        InterceptionPoint::Route => "ROUTE",
        InterceptionPoint::Receive => "RECEIVE",
    }
}

#[pymethods]
impl PyInstrumentation {
    /// Whether at this point.
    fn is_instrumented(&self, point: Member<InterceptionPoint>) -> bool {
        self.0.is_instrumented(point.0)
    }

    fn __repr__(&self) -> String {
        let points = POINTS.into_iter().filter(|point| self.0.is_instrumented(*point)).map(name);
        format!("TimestampInstrumentation({})", points.collect::<Vec<_>>().join("|"))
    }
}

/// What was recorded of a message, and for a reply, of its query before.
#[pyclass(frozen, module = "weft", name = "TimestampStack")]
pub(crate) struct PyTimestampStack(TimestampStack);

impl From<TimestampStack> for PyTimestampStack {
    fn from(stack: TimestampStack) -> Self {
        Self(stack)
    }
}

#[pymethods]
impl PyTimestampStack {
    /// Where it is recorded.
    #[getter]
    fn instrumentation(&self) -> PyInstrumentation {
        PyInstrumentation(self.0.instrumentation())
    }

    /// The records, in the order in which they were made.
    #[getter]
    fn records(&self) -> Vec<PyTimestampRecord> {
        self.0.records().iter().cloned().map(PyTimestampRecord).collect()
    }

    fn __repr__(&self) -> String {
        let points: Vec<_> = self.0.records().iter().map(|record| name(record.point)).collect();
        format!("TimestampStack({})", points.join(", "))
    }
}

/// What was recorded at one point.
#[pyclass(frozen, module = "weft", name = "TimestampStackRecord")]
pub(crate) struct PyTimestampRecord(TimestampRecord);

#[pymethods]
impl PyTimestampRecord {
    /// Where.
    #[getter]
    fn point(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.point)
    }

    /// Whether it is what a program's `timestamp_callback` returned.
    #[getter]
    fn is_custom(&self) -> bool {
        matches!(self.0.stamp, RecordedStamp::Custom(_))
    }

    /// When: a `Timestamp`, or the bytes of a `timestamp_callback`.
    fn timestamp(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.0.stamp {
            RecordedStamp::Time(timestamp) => Ok(Py::new(py, PyTimestamp(*timestamp))?.into_any()),
            RecordedStamp::Custom(bytes) => {
                Ok(PyBytes::new(py, &bytes.to_bytes()).into_any().unbind())
            }
        }
    }

    fn __repr__(&self) -> String {
        let point = name(self.0.point);
        match &self.0.stamp {
            RecordedStamp::Time(timestamp) => format!("TimestampStackRecord({point} {timestamp})"),
            RecordedStamp::Custom(bytes) => format!("TimestampStackRecord({point} {bytes:?})"),
        }
    }
}

/// Who records, as a `timestamp_callback` is told.
#[pyclass(frozen, module = "weft", name = "TimestampContext")]
pub(crate) struct PyTimestampContext(TimestampContext);

#[pymethods]
impl PyTimestampContext {
    /// The session's identity.
    #[getter]
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.0.zid)
    }

    /// Its mode.
    #[getter]
    fn whatami(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.whatami)
    }

    fn __repr__(&self) -> String {
        format!("TimestampContext(zid={}, whatami={})", self.0.zid, capitalized(self.0.whatami))
    }
}

/// The library's side of a `timestamp_callback`. If that fails, it is logged and nothing but the point recorded.
pub(crate) fn callback(
    function: Py<PyAny>,
) -> impl Fn(TimestampContext) -> Vec<u8> + Send + Sync + 'static {
    move |context| {
        let stamp = enter(|py| {
            let context = Bound::new(py, PyTimestampContext(context));
            let stamp = context.and_then(|it| call1(function.bind(py), it.as_any()));
            match stamp.and_then(|it| it.extract::<Bytes>()) {
                Ok(Bytes(stamp)) => stamp.to_bytes().into_owned(),
                Err(error) => {
                    log_to(py, "zenoh", &error);
                    Vec::new()
                }
            }
        });
        stamp.unwrap_or_default()
    }
}
