//! `ZError`: the library's errors as Python sees them.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;
use weft::config::ConfigErrorKind;
use weft::{Error, ErrorKind};

use crate::gil::call1;

create_exception!(
    weft,
    ZError,
    PyException,
    "Something that Weft cannot do. `kind` is a stable word for programs, `detail` what it is about, \
     `hint` what to do instead."
);

/// An error with its three attributes.
///
/// The exception is made at once: PyO3 makes one that it was only told of by letting go of the GIL and attaching
/// anew, which is not possible in a thread that the interpreter's exit has overtaken.
pub(crate) fn zerror(kind: &str, text: &str, detail: Option<&str>, hint: Option<&str>) -> PyErr {
    let made = Python::try_attach(|py| -> PyResult<PyErr> {
        let value = call1(py.get_type::<ZError>().as_any(), PyString::new(py, text).as_any())?;
        for (name, value_of) in [("kind", Some(kind)), ("detail", detail), ("hint", hint)] {
            value.setattr(name, value_of)?;
        }
        Ok(PyErr::from_value(value))
    });
    match made {
        Some(made) => made.unwrap_or_else(|failure| failure),
        // The interpreter is gone: nobody will look at the attributes.
        None => ZError::new_err(text.to_owned()),
    }
}

/// A short error of this crate.
pub(crate) fn refuse(kind: &str, text: &str) -> PyErr {
    zerror(kind, text, None, None)
}

/// What was inherited through `fork` cannot be used.
#[cold]
pub(crate) fn inherited() -> PyErr {
    zerror(
        "forked",
        "this was made before fork(): its threads do not exist in the child process",
        None,
        Some("open a session in the child, or start it with the multiprocessing method `spawn`"),
    )
}

/// The library's error as an exception.
#[cold]
pub(crate) fn raise(error: Error) -> PyErr {
    let text = match &error {
        // The words that programs know.
        Error::Cancelled => "Query was cancelled".to_owned(),
        other => other.to_string(),
    };
    let (detail, hint) = match &error {
        Error::Config(it) => (it.path().map(str::to_owned), config_hint(it.kind())),
        Error::ReplyKey { key, .. } => (Some(key.clone()), None),
        Error::SessionClosed => (None, Some("open a new session".to_owned())),
        _ => (None, None),
    };
    zerror(kind(error.kind()), &text, detail.as_deref(), hint.as_deref())
}

fn config_hint(kind: &ConfigErrorKind) -> Option<String> {
    match kind {
        ConfigErrorKind::UnknownKey { nearest, .. } => Some(format!("did you mean `{nearest}`?")),
        ConfigErrorKind::WrongType { expected, .. }
        | ConfigErrorKind::InvalidValue { expected, .. } => Some(format!("expected {expected}")),
        ConfigErrorKind::Malformed { hint, .. } => hint.clone(),
        _ => None,
    }
}

const fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::KeyExpr => "key_expr",
        ErrorKind::Config => "config",
        ErrorKind::Open => "open",
        ErrorKind::SessionClosed => "session_closed",
        ErrorKind::ReplyKey => "reply_key",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Select => "select",
        ErrorKind::Encoding => "encoding",
        ErrorKind::Argument => "argument",
        _ => "other",
    }
}

/// Turns results of the library into Python's.
pub(crate) trait Raise<T> {
    /// The value.
    ///
    /// # Errors
    /// A `ZError`.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<Error>> Raise<T> for Result<T, E> {
    #[inline]
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raise(error.into()))
    }
}
