//! `scout`, `Scout` and `Hello`.

use pyo3::prelude::*;
use weft::{Hello, WhatAmIMatcher};

use crate::config::PyConfig;
use crate::entity::{Delivers, Entity, receiver};
use crate::enums::member;
use crate::error::Raise;
use crate::gil::blocking;
use crate::handler::{Item, prepare};
use crate::id::PyZenohId;
use crate::info::capitalized;

/// Asks who is there, by multicast, until it is stopped. `what` is a set of modes, by default all.
///
/// Every node answers several times: tell them apart by `zid`.
#[pyfunction]
#[pyo3(signature = (handler=None, what=None, config=None))]
pub(crate) fn scout(
    py: Python<'_>,
    handler: Option<&Bound<'_, PyAny>>,
    what: Option<&Bound<'_, PyAny>>,
    config: Option<PyRef<'_, PyConfig>>,
) -> PyResult<PyScout> {
    let what = what.map_or(Ok(WhatAmIMatcher::ALL), matcher)?;
    let config = config.map(|it| it.lock().clone()).unwrap_or_default();
    let prepared = prepare(py, handler)?;
    let builder = weft::scout(what, config).with((prepared.callback, ()));
    let scout = blocking(py, || builder.wait())?.or_raise()?;
    let own = prepared.own.start(py, &[])?;
    Ok(PyScout(Entity::new(Scouting(scout), own, "Stopped scout")))
}

fn matcher(what: &Bound<'_, PyAny>) -> PyResult<WhatAmIMatcher> {
    let bits: u8 = what.py().import("weft._enums")?.getattr("_bits")?.call1((what,))?.extract()?;
    Ok(WhatAmIMatcher::from_bits_truncated(bits))
}

/// A scout of the library.
pub(crate) struct Scouting(weft::Scout<()>);

impl Delivers for Scouting {
    /// Nothing outlives a scout: it is stopped.
    fn background(self) {
        drop(self.0);
    }
}

receiver! {
    /// Asks who is there until it is stopped, or this object goes.
    PyScout, "Scout", Scouting, stop, {
        fn __repr__(&self) -> &'static str {
            if self.0.is_declared() { "Scout()" } else { "Scout(stopped)" }
        }
    }
}

/// The answer of a node to a scout.
#[pyclass(frozen, module = "weft", name = "Hello")]
pub(crate) struct PyHello(Hello);

impl Item for Hello {
    const NAME: &'static str = "Hello";

    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, PyHello(self))?.into_any())
    }
}

#[pymethods]
impl PyHello {
    /// What the node is.
    #[getter]
    fn whatami(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.whatami)
    }

    /// The node.
    #[getter]
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.0.zid)
    }

    /// Where it can be reached.
    #[getter]
    fn locators(&self) -> Vec<String> {
        self.0.locators.iter().map(ToString::to_string).collect()
    }

    fn __str__(&self) -> String {
        self.__repr__()
    }

    fn __repr__(&self) -> String {
        let Hello { zid, whatami, .. } = &self.0;
        let mode = capitalized(*whatami);
        let locators = self.locators().join(", ");
        format!("Hello {{ zid: {zid}, whatami: {mode}, locators: [{locators}] }}")
    }
}
