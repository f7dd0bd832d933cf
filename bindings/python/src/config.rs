//! `Config`.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use weft::Config;

use crate::error::Raise;

/// A configuration: JSON5 with a fixed schema, whose keys are paths such as `connect/endpoints`.
///
/// `Config()` has the defaults. Errors name the key and the nearest right one.
#[pyclass(frozen, module = "weft", name = "Config")]
pub(crate) struct PyConfig(Mutex<Config>);

impl PyConfig {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Config> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Config> for PyConfig {
    fn from(config: Config) -> Self {
        Self(Mutex::new(config))
    }
}

#[pymethods]
impl PyConfig {
    /// The environment variable that names a configuration file.
    #[classattr]
    const DEFAULT_CONFIG_PATH_ENV: &'static str = "ZENOH_CONFIG";

    #[new]
    fn new() -> Self {
        Config::default().into()
    }

    /// The file that the environment variable `WEFT_CONFIG` or `ZENOH_CONFIG` names.
    #[classmethod]
    fn from_env(_: &Bound<'_, PyType>) -> PyResult<Self> {
        Ok(Config::from_env().or_raise()?.into())
    }

    /// A JSON5, JSON or YAML file.
    #[classmethod]
    fn from_file(_: &Bound<'_, PyType>, path: PathBuf) -> PyResult<Self> {
        Ok(Config::from_file(path).or_raise()?.into())
    }

    /// JSON5 text.
    #[classmethod]
    fn from_json5(_: &Bound<'_, PyType>, json: &str) -> PyResult<Self> {
        Ok(Config::from_json5(json).or_raise()?.into())
    }

    /// What is set at `key`, as JSON text; `null` if nothing is.
    fn get_json(&self, key: &str) -> PyResult<String> {
        self.lock().json(key).or_raise()
    }

    /// What is in force at `key`, defaults included, as JSON text.
    fn get_effective_json(&self, key: &str) -> PyResult<String> {
        self.lock().effective_json(key).or_raise()
    }

    /// Sets `key` to a value of JSON5 text, or to any object that JSON can express.
    ///
    /// In text, text has quotes of its own: `'"client"'`.
    fn insert_json5(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let text = match value.cast::<PyString>() {
            Ok(text) => text.to_string(),
            Err(_) => json(value)?,
        };
        self.lock().insert_json5(key, &text).or_raise()
    }

    fn __str__(&self) -> String {
        self.lock().json_masked()
    }

    fn __repr__(&self) -> String {
        format!("Config({})", self.__str__())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json5")?, (slf.get().get_json("")?,)))
    }
}

fn json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.py().import("json")?.call_method1("dumps", (value,)).map_err(|_| {
        let given = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("expected JSON5 text or what JSON can express, not {given}"))
    })?;
    text.extract()
}
