//! Identities: `ZenohId`, `EntityGlobalId`, `SourceInfo`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weft::{EntityGlobalId, SourceInfo, ZenohId};

/// The identity of a session in the network: 1 to 16 bytes, shown as hexadecimal digits.
#[pyclass(frozen, eq, ord, hash, module = "weft", name = "ZenohId")]
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PyZenohId(pub(crate) ZenohId);

#[pymethods]
impl PyZenohId {
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

/// The identity of a publisher, subscriber, … : its session and a number.
#[pyclass(frozen, eq, ord, hash, module = "weft", name = "EntityGlobalId")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PyEntityGlobalId(pub(crate) EntityGlobalId);

#[pymethods]
impl PyEntityGlobalId {
    /// The session.
    #[getter]
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.0.zid)
    }

    /// The number in the session, 32 bits.
    #[getter]
    fn eid(&self) -> u32 {
        self.0.eid
    }

    fn __repr__(&self) -> String {
        format!("EntityGlobalId(zid={}, eid={})", self.0.zid, self.0.eid)
    }
}

/// Who published a sample, and as which number (32 bits).
#[pyclass(frozen, eq, hash, module = "weft", name = "SourceInfo")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PySourceInfo(pub(crate) SourceInfo);

#[pymethods]
impl PySourceInfo {
    #[new]
    fn new(source_id: PyRef<'_, PyEntityGlobalId>, source_sn: u32) -> Self {
        Self(SourceInfo { id: source_id.0, sn: source_sn })
    }

    /// Who.
    #[getter]
    fn source_id(&self) -> PyEntityGlobalId {
        PyEntityGlobalId(self.0.id)
    }

    /// The number.
    #[getter]
    fn source_sn(&self) -> u32 {
        self.0.sn
    }

    fn __repr__(&self) -> String {
        let Self(SourceInfo { id, sn }) = self;
        format!("SourceInfo(source_id={}/{}, source_sn={sn})", id.zid, id.eid)
    }
}

/// An argument that is a `SourceInfo`.
pub(crate) type Source<'py> = PyRef<'py, PySourceInfo>;
