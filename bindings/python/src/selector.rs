//! `Selector` and `Parameters`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyType};
use weft::{Parameters, Selector};

use crate::error::{Raise, refuse};
use crate::keyexpr::{Key, PyKeyExpr};

/// The parameters of a selector, `name=value;flag`: an ordered multimap of text.
#[pyclass(frozen, module = "weft", name = "Parameters")]
pub(crate) struct PyParameters(Mutex<Parameters>);

impl From<Parameters> for PyParameters {
    fn from(parameters: Parameters) -> Self {
        Self(Mutex::new(parameters))
    }
}

/// An argument that is `Parameters`, a `dict` or text.
pub(crate) struct ParametersArgument(pub(crate) Parameters);

impl FromPyObject<'_, '_> for ParametersArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(parameters) = object.cast::<PyParameters>() {
            return Ok(Self(parameters.get().lock().clone()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self(Parameters::from(text.to_cow()?.as_ref())));
        }
        let Ok(dict) = object.cast::<PyDict>() else {
            let given = object.get_type();
            let text = format!("expected Parameters, dict or str, not {}", given.name()?);
            return Err(PyTypeError::new_err(text));
        };
        let entries: Vec<(String, String)> = dict
            .iter()
            .map(|(name, value)| Ok((name.extract()?, value.extract()?)))
            .collect::<PyResult<_>>()?;
        let parameters = Parameters::from_entries(entries);
        Ok(Self(parameters.map_err(|error| PyValueError::new_err(error.to_string()))?))
    }
}

impl PyParameters {
    fn lock(&self) -> MutexGuard<'_, Parameters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyParameters {
    #[new]
    #[pyo3(signature = (parameters=None, *, obj=None), text_signature = "(parameters=None)")]
    fn new(parameters: Option<ParametersArgument>, obj: Option<ParametersArgument>) -> Self {
        parameters.or(obj).map(|it| it.0).unwrap_or_default().into()
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The first value of `key`, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get(&self, key: &str, default: Option<String>) -> Option<String> {
        self.lock().get(key).map(str::to_owned).or(default)
    }

    /// All values of `key`: several are separated by `|`.
    fn values(&self, key: &str) -> Vec<String> {
        self.lock().values(key).map(str::to_owned).collect()
    }

    /// Sets `key`. Returns its old value, or `None`. Raises `ValueError` for text that cannot be one.
    fn insert(&self, key: &str, value: &str) -> PyResult<Option<String>> {
        let inserted = self.lock().insert(key, value);
        inserted.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Removes `key`. Returns its value, or `None`.
    fn remove(&self, key: &str) -> Option<String> {
        self.lock().remove(key)
    }

    /// Sets everything that is in `parameters`.
    fn extend(&self, parameters: ParametersArgument) {
        self.lock().extend(parameters.0.as_view());
    }

    /// Whether the names are in alphabetical order.
    fn is_ordered(&self) -> bool {
        self.lock().is_ordered()
    }

    fn __bool__(&self) -> bool {
        !self.is_empty()
    }

    fn __len__(&self) -> usize {
        self.lock().iter().count()
    }

    fn __contains__(&self, key: &str) -> bool {
        self.lock().contains(key)
    }

    fn __getitem__(&self, key: &str) -> Option<String> {
        self.get(key, None)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let entries: Vec<(String, String)> = {
            let parameters = self.lock();
            parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        PyList::new(py, entries)?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let own = self.lock().clone();
        other.cast::<Self>().is_ok_and(|other| *other.get().lock() == own)
    }

    fn __str__(&self) -> String {
        self.lock().as_str().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("Parameters({:?})", self.lock().as_str())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().__str__(),))
    }
}

/// What is asked for: a key expression and parameters, `demo/*?x=1`.
#[pyclass(frozen, module = "weft", name = "Selector")]
pub(crate) struct PySelector(Mutex<Selector>);

impl From<Selector> for PySelector {
    fn from(selector: Selector) -> Self {
        Self(Mutex::new(selector))
    }
}

/// An argument that is a `Selector`, a `KeyExpr` or text.
pub(crate) struct SelectorArgument(pub(crate) Selector);

impl FromPyObject<'_, '_> for SelectorArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(selector) = object.cast::<PySelector>() {
            return Ok(Self(selector.get().lock().clone()));
        }
        if let Ok(key) = object.cast::<PyKeyExpr>() {
            return Ok(Self(Selector::new(key.get().0.clone(), Parameters::default())));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self(text.to_cow()?.parse().or_raise()?));
        }
        let given = object.get_type();
        let text = format!("expected Selector, KeyExpr or str, not {}", given.name()?);
        Err(PyTypeError::new_err(text))
    }
}

impl PySelector {
    fn lock(&self) -> MutexGuard<'_, Selector> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PySelector {
    #[new]
    #[pyo3(signature = (arg, /, parameters=None))]
    fn new(arg: &Bound<'_, PyAny>, parameters: Option<ParametersArgument>) -> PyResult<Self> {
        let Some(ParametersArgument(parameters)) = parameters else {
            return Ok(arg.extract::<SelectorArgument>()?.0.into());
        };
        if arg.is_instance_of::<Self>() {
            return Err(refuse(
                "argument",
                "a selector has its own parameters; give a key expression",
            ));
        }
        let Key(key) = arg.extract()?;
        Ok(Selector::new(key, parameters).into())
    }

    /// The key expression: a copy.
    #[getter]
    fn key_expr(&self) -> PyKeyExpr {
        PyKeyExpr(self.lock().key_expr.clone())
    }

    #[setter]
    fn set_key_expr(&self, key_expr: Key) {
        self.lock().key_expr = key_expr.0;
    }

    /// The parameters: a copy.
    #[getter]
    fn parameters(&self) -> PyParameters {
        self.lock().parameters.clone().into()
    }

    #[setter]
    fn set_parameters(&self, parameters: ParametersArgument) {
        self.lock().parameters = parameters.0;
    }

    fn __str__(&self) -> String {
        self.lock().to_string()
    }

    fn __repr__(&self) -> String {
        format!("sel\"{}\"", *self.lock())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let own = self.lock().clone();
        other.cast::<Self>().is_ok_and(|other| *other.get().lock() == own)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().__str__(),))
    }
}
