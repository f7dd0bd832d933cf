//! Times: `Timestamp`, `TimestampId`, `NTP64`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use weft::timestamp::TimestampText;
use weft::{Timestamp, ZenohId};

use crate::bytes::lend;
use crate::error::refuse;

const NANOS: u64 = 1_000_000_000;

/// A time since 1970 (UTC) as 32 bits of seconds and 32 bits of a fraction.
#[pyclass(frozen, eq, ord, hash, module = "weft", name = "NTP64")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ntp64(u64);

#[pymethods]
impl Ntp64 {
    #[new]
    #[pyo3(
        signature = (seconds, nanos=None, *, nanoseconds=None),
        text_signature = "(seconds, nanos)"
    )]
    fn new(seconds: u32, nanos: Option<u32>, nanoseconds: Option<u32>) -> PyResult<Self> {
        let nanos = nanos
            .or(nanoseconds)
            .ok_or_else(|| PyTypeError::new_err("missing argument: 'nanos'"))?;
        if u64::from(nanos) >= NANOS {
            return Err(PyValueError::new_err("nanos must be below 1,000,000,000"));
        }
        let unix_ns = u64::from(seconds) * NANOS + u64::from(nanos);
        Ok(Self(Timestamp::ntp64_from_unix_ns(unix_ns)))
    }

    /// Seconds since 1970, with the fraction as far as a `float` keeps it.
    fn as_secs_f64(&self) -> f64 {
        self.0 as f64 / 2f64.powi(32)
    }

    /// Whole seconds since 1970.
    fn as_secs(&self) -> u64 {
        self.0 >> 32
    }

    /// Nanoseconds since 1970.
    fn as_nanos(&self) -> u64 {
        Timestamp::unix_ns_from_ntp64(self.0)
    }

    /// Nanoseconds since the last whole second.
    fn subsec_nanos(&self) -> u64 {
        self.as_nanos() % NANOS
    }

    /// As a UTC `datetime`: what is finer than a microsecond is lost.
    fn to_datetime<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let duration = timedelta(py, i128::from(self.as_nanos()))?;
        epoch(py)?.call_method1("__add__", (duration,))
    }

    /// As a date with nanoseconds, `2023-11-14T22:13:20.000000000Z`.
    fn to_string_rfc3339_lossy(&self) -> String {
        let text = with_any_id(self.0).to_rfc3339();
        text.split('/').next().unwrap_or_default().to_owned()
    }

    /// The time of a date such as `2023-11-14T22:13:20Z`. Raises `ZError`.
    #[classmethod]
    fn parse_rfc3339(_: &Bound<'_, PyType>, s: &str) -> PyResult<Self> {
        Ok(Self(parse(&format!("{s}/1"))?.time))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("NTP64({}, {})", self.as_secs(), self.subsec_nanos())
    }
}

fn with_any_id(time: u64) -> Timestamp {
    let mut id = [0; ZenohId::LEN_MAX];
    id[0] = 1;
    Timestamp::new(time, ZenohId::from_le_bytes(&id).unwrap_or_else(|_| unreachable!("not zero")))
}

fn parse(text: &str) -> PyResult<Timestamp> {
    Timestamp::from_text(text).map_err(|error| refuse("argument", &error.to_string()))
}

/// 1970 as a UTC `datetime`.
fn epoch(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import("datetime")?;
    let keywords = PyDict::new(py);
    keywords.set_item("tzinfo", module.getattr("timezone")?.getattr("utc")?)?;
    module.getattr("datetime")?.call((1970, 1, 1), Some(&keywords))
}

fn timedelta(py: Python<'_>, nanos: i128) -> PyResult<Bound<'_, PyAny>> {
    let keywords = PyDict::new(py);
    keywords.set_item("microseconds", nanos / 1_000)?;
    py.import("datetime")?.getattr("timedelta")?.call((), Some(&keywords))
}

/// The time of an aware `datetime`.
fn time_of(date: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = date.py();
    let module = py.import("datetime")?;
    if !date.is_instance(&module.getattr("datetime")?)? {
        let given = date.get_type();
        return Err(PyTypeError::new_err(format!(
            "expected datetime or NTP64, not {}",
            given.name()?
        )));
    }
    if date.call_method0("utcoffset")?.is_none() {
        return Err(PyTypeError::new_err("expected a datetime with a time zone"));
    }
    let microsecond = timedelta(py, 1_000)?;
    let since = date.call_method1("__sub__", (epoch(py)?,))?;
    let micros: i64 = since.call_method1("__floordiv__", (microsecond,))?.extract()?;
    let unix_ns = u64::try_from(micros).ok().and_then(|micros| micros.checked_mul(1_000));
    unix_ns
        .filter(|unix_ns| u32::try_from(unix_ns / NANOS).is_ok())
        .map(Timestamp::ntp64_from_unix_ns)
        .ok_or_else(|| PyValueError::new_err("a timestamp is between the years 1970 and 2106"))
}

/// The identity of the clock of a timestamp: 1 to 16 bytes, not all zero.
#[pyclass(frozen, eq, ord, hash, module = "weft", name = "TimestampId")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TimestampId(ZenohId);

#[pymethods]
impl TimestampId {
    #[new]
    fn new(bytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        lend(bytes, |bytes| {
            let id = ZenohId::from_le_bytes(bytes);
            id.map(Self)
                .map_err(|error| refuse("argument", &format!("invalid timestamp id: {error}")))
        })
    }

    /// All 16 bytes, the least significant first.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_le_bytes())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// When something was published: a time and the clock that it is from. Ordered by time, then by clock.
#[pyclass(frozen, eq, ord, hash, module = "weft", name = "Timestamp")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PyTimestamp(pub(crate) Timestamp);

/// An argument that is a `Timestamp`.
pub(crate) type Stamp<'py> = PyRef<'py, PyTimestamp>;

#[pymethods]
impl PyTimestamp {
    #[new]
    fn new(time: &Bound<'_, PyAny>, id: &Bound<'_, PyAny>) -> PyResult<Self> {
        let time = match time.cast::<Ntp64>() {
            Ok(time) => time.get().0,
            Err(_) => time_of(time)?,
        };
        let id = match id.cast::<TimestampId>() {
            Ok(id) => *id.get(),
            Err(_) => TimestampId::new(id)?,
        };
        Ok(Self(Timestamp::new(time, id.0)))
    }

    /// The time as a UTC `datetime`: what is finer than a microsecond is lost.
    fn get_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.get_time_as_ntp64().to_datetime(py)
    }

    /// The time, exactly.
    fn get_time_as_ntp64(&self) -> Ntp64 {
        Ntp64(self.0.time)
    }

    /// The clock.
    fn get_id(&self) -> TimestampId {
        TimestampId(self.0.id)
    }

    /// How much later than `other` it is: a `timedelta`, negative if it is earlier.
    fn get_diff_duration<'py>(
        &self,
        py: Python<'py>,
        other: PyRef<'py, Self>,
    ) -> PyResult<Bound<'py, PyAny>> {
        timedelta(py, i128::from(self.0.unix_ns()) - i128::from(other.0.unix_ns()))
    }

    /// As a date with nanoseconds and the clock, `2023-11-14T22:13:20.000000000Z/bb00bb`.
    fn to_string_rfc3339_lossy(&self) -> String {
        self.0.to_rfc3339()
    }

    /// The timestamp of such a text, or of `str(timestamp)`. Raises `ZError`.
    #[classmethod]
    fn parse_rfc3339(_: &Bound<'_, PyType>, s: &str) -> PyResult<Self> {
        Ok(Self(parse(s)?))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Timestamp({})", self.0.to_rfc3339())
    }
}
