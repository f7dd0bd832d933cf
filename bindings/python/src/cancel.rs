//! `CancellationToken`.

use std::sync::Arc;

use pyo3::prelude::*;
use weft::CancellationToken;

use crate::dispatch::Latches;
use crate::gil::blocking;

/// Ends any number of queries at once.
#[pyclass(frozen, module = "weft", name = "CancellationToken")]
pub(crate) struct PyCancellationToken {
    pub(crate) token: CancellationToken,
    /// The callbacks of its queries.
    pub(crate) latches: Arc<Latches>,
}

#[pymethods]
impl PyCancellationToken {
    #[new]
    fn new() -> Self {
        Self { token: CancellationToken::new(), latches: Arc::default() }
    }

    /// Ends the queries that it was given to: their channels close without a further reply, and callbacks that run are
    /// waited for, with their drop hooks. Further calls do nothing.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        blocking(py, || self.token.cancel())?;
        self.latches.wait(py, None)
    }

    /// Whether it was cancelled. Queries that it is given to from then on fail.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    fn __repr__(&self) -> String {
        format!(
            "CancellationToken(is_cancelled={})",
            if self.is_cancelled() { "True" } else { "False" }
        )
    }
}
