//! `KeyExpr`, and what is taken for one as an argument.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use weft::KeyExpr;
use weft::keyexpr::SetIntersectionLevel;

use crate::enums::member;
use crate::error::Raise;

/// A key expression: a set of keys, such as `demo/*/temperature/**`, in canonical form.
///
/// Equal to the same `str`, with the same hash. Raises `ZError` for text that is not canonical; see
/// `KeyExpr.autocanonize`.
#[pyclass(frozen, module = "weft", name = "KeyExpr")]
pub(crate) struct PyKeyExpr(pub(crate) KeyExpr);

/// An argument that is a key expression, checked.
pub(crate) struct Key(pub(crate) KeyExpr);

impl FromPyObject<'_, '_> for Key {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(key) = object.cast::<PyKeyExpr>() {
            return Ok(Self(key.get().0.clone()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self(KeyExpr::new(text.to_cow()?).or_raise()?));
        }
        let given = object.get_type();
        Err(PyTypeError::new_err(format!("expected KeyExpr or str, not {}", given.name()?)))
    }
}

#[pymethods]
impl PyKeyExpr {
    #[new]
    #[pyo3(signature = (key_expr=None, *, s=None), text_signature = "(key_expr)")]
    fn new(key_expr: Option<Key>, s: Option<Key>) -> PyResult<Self> {
        match key_expr.or(s) {
            Some(Key(key)) => Ok(Self(key)),
            None => Err(PyTypeError::new_err("missing argument: 'key_expr'")),
        }
    }

    /// The canonical form of `key_expr`: `a/**/**` becomes `a/**`. Raises `ZError` if it has none.
    #[classmethod]
    fn autocanonize(_: &Bound<'_, PyType>, key_expr: &str) -> PyResult<Self> {
        Ok(Self(KeyExpr::autocanonize(key_expr).or_raise()?))
    }

    /// Whether some key is in both.
    fn intersects(&self, other: Key) -> bool {
        self.0.intersects(&other.0)
    }

    /// Whether every key of `other` is in this one.
    fn includes(&self, other: Key) -> bool {
        self.0.includes(&other.0)
    }

    /// How the two sets of keys relate.
    fn relation_to(&self, py: Python<'_>, other: Key) -> PyResult<Py<PyAny>> {
        member::<SetIntersectionLevel>(py, self.0.relation_to(&other.0))
    }

    /// This, a `/` and `other`, which is canonized.
    fn join(&self, other: &str) -> PyResult<Self> {
        Ok(Self(self.0.join(other).or_raise()?))
    }

    /// This and `other` without a `/` between. Raises `ZError` if the result is not canonical.
    fn concat(&self, other: &str) -> PyResult<Self> {
        Ok(Self(self.0.concat(other).or_raise()?))
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.join(&text(other)?)
    }

    fn __rtruediv__(&self, other: Key) -> PyResult<Self> {
        Ok(Self(other.0.join(self.0.as_str()).or_raise()?))
    }

    fn __str__(&self) -> &str {
        self.0.as_str()
    }

    fn __repr__(&self) -> String {
        format!("ke`{}`", self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Self>() {
            return Ok(self.0 == other.get().0);
        }
        match other.cast::<PyString>() {
            Ok(other) => Ok(self.0.as_str() == other.to_cow()?),
            Err(_) => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.0.as_str()).hash()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().0.to_string(),))
    }
}

fn text(key: &Bound<'_, PyAny>) -> PyResult<String> {
    match key.cast::<PyKeyExpr>() {
        Ok(key) => Ok(key.get().0.to_string()),
        Err(_) => key.extract(),
    }
}
