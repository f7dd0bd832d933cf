//! The native part of the Python module `weft`: a thin shell over the Rust API.
//!
//! No logic of the protocol is here: arguments become builders of the API, what arrives becomes objects. What this
//! crate adds is Python's side of waiting (`gil`), of callbacks (`dispatch`), of channels (`handler`) and of
//! buffers (`buffer`, `bytes`).
//!
//! Spec: 05 part B.

// Methods of Python's classes take `&self`, whatever that is.
#![allow(clippy::trivially_copy_pass_by_ref, clippy::wrong_self_convention)]

/// Applies the options that were given to a builder.
macro_rules! with {
    ($builder:ident, $($option:ident = $value:expr),+) => {$(
        if let Some(value) = $value {
            $builder = $builder.$option(value);
        }
    )+};
}

mod advanced;
mod buffer;
mod bytes;
mod cancel;
mod channel;
mod config;
mod declared;
mod dispatch;
mod encoding;
mod entity;
mod enums;
mod error;
mod gil;
mod handler;
mod html;
mod id;
mod info;
mod keyexpr;
mod liveliness;
mod logging;
mod publisher;
mod querier;
mod query;
mod sample;
mod scout;
mod selector;
mod serialize;
mod session;
mod stack;
mod subscriber;
mod time;
mod wake;

/// The native part of `weft`.
#[pyo3::pymodule(gil_used = false)]
mod _weft {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::advanced::{
        PyAdvancedPublisher, PyAdvancedSubscriber, PyCacheConfig, PyHistoryConfig, PyMiss,
        PyMissDetectionConfig, PyRecoveryConfig, PyRepliesConfig, PySampleMissListener,
        declare_advanced_publisher, declare_advanced_subscriber,
    };
    #[pymodule_export]
    use crate::bytes::PyZBytes;
    #[pymodule_export]
    use crate::cancel::PyCancellationToken;
    #[pymodule_export]
    use crate::channel::Handler;
    #[pymodule_export]
    use crate::config::PyConfig;
    #[pymodule_export]
    use crate::encoding::PyEncoding;
    #[pymodule_export]
    use crate::gil::_after_fork;
    #[pymodule_export]
    use crate::handler::{PyCallback, PyDefaultHandler, PyFifoChannel, PyRingChannel};
    #[pymodule_export]
    use crate::id::{PyEntityGlobalId, PySourceInfo, PyZenohId};
    #[pymodule_export]
    use crate::info::{PyLink, PyLinkEvent, PySessionInfo, PyTransport, PyTransportEvent};
    #[pymodule_export]
    use crate::keyexpr::PyKeyExpr;
    #[pymodule_export]
    use crate::liveliness::{PyLiveliness, PyLivelinessToken};
    #[pymodule_export]
    use crate::logging::{init_log_from_env_or, try_init_log_from_env};
    #[pymodule_export]
    use crate::publisher::PyPublisher;
    #[pymodule_export]
    use crate::querier::PyQuerier;
    #[pymodule_export]
    use crate::query::PyQuery;
    #[pymodule_export]
    use crate::sample::{PyReply, PyReplyError, PySample};
    #[pymodule_export]
    use crate::scout::{PyHello, PyScout, scout};
    #[pymodule_export]
    use crate::selector::{PyParameters, PySelector};
    #[pymodule_export]
    use crate::serialize::{z_deserialize, z_serialize};
    #[pymodule_export]
    use crate::session::{_close_all, PySession, open};
    #[pymodule_export]
    use crate::stack::{
        PyInstrumentation, PyInstrumentationBuilder, PyTimestampContext, PyTimestampRecord,
        PyTimestampStack,
    };
    #[pymodule_export]
    use crate::subscriber::{
        PyLinkEventsListener, PyMatchingListener, PyMatchingStatus, PyQueryable, PySubscriber,
        PyTransportEventsListener,
    };
    #[pymodule_export]
    use crate::time::{Ntp64, PyTimestamp, TimestampId};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        crate::gil::in_main_interpreter()?;
        crate::gil::install();
        crate::encoding::add_constants(&py.get_type::<PyEncoding>())?;
        let error = py.get_type::<crate::error::ZError>();
        error.setattr("kind", "error")?;
        error.setattr("detail", py.None())?;
        error.setattr("hint", py.None())?;
        module.add("ZError", error)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
