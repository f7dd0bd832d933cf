//! What publishers, queriers and tokens have in common: they are undeclared once, by hand, by a `with` block or with their object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::error::refuse;
use crate::gil::{Held, Owned, blocking};

/// A declaration of the library that delivers nothing, until it is undeclared.
pub(crate) struct Declared<D: Send + Sync> {
    declared: Held<Mutex<Option<Arc<Owned<D>>>>>,
    /// What is said of it when it has ended: `Undeclared publisher`.
    ended: &'static str,
}

impl<D: Send + Sync> Declared<D> {
    pub(crate) fn new(declared: D, ended: &'static str) -> Self {
        let declared = Mutex::new(Some(Arc::new(Owned::new(declared))));
        Self { declared: Held::new(declared), ended }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Owned<D>>>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share of it for the time of a call. Costs a lock and an atomic increment.
    ///
    /// # Errors
    /// If it has ended.
    #[inline]
    pub(crate) fn share(&self) -> PyResult<Arc<Owned<D>>> {
        self.lock().clone().ok_or_else(|| refuse("undeclared", self.ended))
    }

    /// Looks at it.
    ///
    /// # Errors
    /// If it has ended, or in a fork.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&D) -> T) -> PyResult<T> {
        Ok(look(self.share()?.get()?))
    }

    pub(crate) fn is_declared(&self) -> bool {
        self.lock().is_some()
    }

    /// Ends it.
    ///
    /// # Errors
    /// If it has ended already, or in a fork.
    pub(crate) fn undeclare(&self, py: Python<'_>) -> PyResult<()> {
        let share = self.share()?;
        share.get()?;
        *self.lock() = None;
        blocking(py, || drop(share))
    }
}

/// The methods of a Python class whose field `declared` is a [`Declared`] with a key expression, and its own.
macro_rules! declared {
    ($name:ident, $text:literal, { $($own:tt)* }) => {
        #[pymethods]
        #[allow(clippy::too_many_arguments)] // the surface is given
        impl $name {
            /// Its identity.
            #[getter]
            fn id(&self) -> PyResult<$crate::id::PyEntityGlobalId> {
                self.declared.with(|it| $crate::id::PyEntityGlobalId(it.id()))
            }

            /// Its key expression.
            #[getter]
            fn key_expr(&self) -> PyResult<$crate::keyexpr::PyKeyExpr> {
                self.declared.with(|it| $crate::keyexpr::PyKeyExpr(it.key_expr().clone()))
            }

            $($own)*

            /// Ends it, and its matching listeners. Raises `ZError` if it has ended.
            fn undeclare(&self, py: Python<'_>) -> PyResult<()> {
                self.declared.undeclare(py)
            }

            fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            #[pyo3(signature = (*_args))]
            fn __exit__(
                &self,
                py: Python<'_>,
                _args: &Bound<'_, pyo3::types::PyTuple>,
            ) -> PyResult<()> {
                if self.declared.is_declared() { self.undeclare(py) } else { Ok(()) }
            }

            fn __repr__(&self) -> String {
                match self.declared.with(|it| it.key_expr().clone()) {
                    Ok(key) => format!(concat!($text, "('{}')"), key),
                    Err(_) => concat!($text, "(undeclared)").to_owned(),
                }
            }
        }
    };
}
pub(crate) use declared;

/// The getters that publishers have beside.
macro_rules! publisher {
    ($name:ident, $text:literal, { $($own:tt)* }) => {
        $crate::declared::declared!($name, $text, {
            /// How its payloads are to be read.
            #[getter]
            fn encoding(&self) -> PyResult<$crate::encoding::PyEncoding> {
                self.declared.with(|it| $crate::encoding::PyEncoding(it.encoding().clone()))
            }

            /// What happens where there is no room.
            #[getter]
            fn congestion_control(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.declared.with(|it| $crate::enums::member(py, it.congestion_control()))?
            }

            /// Which of its samples go first.
            #[getter]
            fn priority(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.declared.with(|it| $crate::enums::member(py, it.priority()))?
            }

            $($own)*
        });
    };
}
pub(crate) use publisher;
