//! Enumerations: Python's are real `enum.Enum`s, defined in `weft/_enums.py`; their members are looked up once.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use weft::info::EventKind;
use weft::keyexpr::SetIntersectionLevel;
use weft::{
    CongestionControl, Consolidation, InterceptionPoint, Locality, Priority, QueryTarget,
    Reliability, ReplyKeyExpr, SampleKind, WhatAmI,
};

/// An enumeration that both sides know.
pub(crate) trait Enumeration: Copy + PartialEq + Sized + 'static {
    /// Python's name of the type.
    const NAME: &'static str;
    /// Python's names of the values.
    const NAMED: &'static [(&'static str, Self)];

    /// Python's members, in the same order.
    fn members() -> &'static PyOnceLock<Vec<Py<PyAny>>>;
}

fn members<T: Enumeration>(py: Python<'_>) -> PyResult<&'static Vec<Py<PyAny>>> {
    T::members().get_or_try_init(py, || {
        let class = py.import("weft._enums")?.getattr(T::NAME)?;
        T::NAMED.iter().map(|(name, _)| Ok(class.getattr(*name)?.unbind())).collect()
    })
}

/// Python's member for `value`.
pub(crate) fn member<T: Enumeration>(py: Python<'_>, value: T) -> PyResult<Py<PyAny>> {
    let index = T::NAMED.iter().position(|(_, other)| *other == value).unwrap_or(0);
    Ok(members::<T>(py)?[index].clone_ref(py))
}

/// An argument that is a member of `T`.
pub(crate) struct Member<T>(pub(crate) T);

impl<T: Enumeration> FromPyObject<'_, '_> for Member<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let found = members::<T>(object.py())?.iter().position(|member| member.is(object));
        match found {
            Some(index) => Ok(Self(T::NAMED[index].1)),
            None => {
                let given = object.get_type();
                let text = format!("expected {}, not {}", T::NAME, given.name()?);
                Err(PyTypeError::new_err(text))
            }
        }
    }
}

/// The value of an argument that may be missing.
pub(crate) fn value<T>(argument: Option<Member<T>>) -> Option<T> {
    argument.map(|Member(value)| value)
}

macro_rules! enumerations {
    ($($type:ty, $name:literal: $($constant:literal = $value:ident),+;)+) => {$(
        impl Enumeration for $type {
            const NAME: &'static str = $name;
            const NAMED: &'static [(&'static str, Self)] = &[$(($constant, <$type>::$value)),+];

            fn members() -> &'static PyOnceLock<Vec<Py<PyAny>>> {
                static MEMBERS: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
                &MEMBERS
            }
        }
    )+};
}

enumerations! {
    Priority, "Priority":
        "DATA" = Data, "REAL_TIME" = RealTime, "INTERACTIVE_HIGH" = InteractiveHigh,
        "INTERACTIVE_LOW" = InteractiveLow, "DATA_HIGH" = DataHigh, "DATA_LOW" = DataLow,
        "BACKGROUND" = Background;
    CongestionControl, "CongestionControl":
        "DROP" = Drop, "BLOCK" = Block, "BLOCK_FIRST" = BlockFirst;
    Reliability, "Reliability": "BEST_EFFORT" = BestEffort, "RELIABLE" = Reliable;
    SampleKind, "SampleKind": "PUT" = Put, "DELETE" = Delete;
    Locality, "Locality": "SESSION_LOCAL" = SessionLocal, "REMOTE" = Remote, "ANY" = Any;
    QueryTarget, "QueryTarget":
        "BEST_MATCHING" = BestMatching, "ALL" = All, "ALL_COMPLETE" = AllComplete;
    Consolidation, "ConsolidationMode":
        "AUTO" = Auto, "NONE" = None, "MONOTONIC" = Monotonic, "LATEST" = Latest;
    ReplyKeyExpr, "ReplyKeyExpr": "ANY" = Any, "MATCHING_QUERY" = MatchingQuery;
    SetIntersectionLevel, "SetIntersectionLevel":
        "DISJOINT" = Disjoint, "INTERSECTS" = Intersects, "INCLUDES" = Includes, "EQUALS" = Equals;
    InterceptionPoint, "InterceptionPoint": "SEND" = Send, "ROUTE" = Route, "RECEIVE" = Receive;
    WhatAmI, "WhatAmI": "ROUTER" = Router, "PEER" = Peer, "CLIENT" = Client;
}

/// An event as the kind of sample that reports it.
pub(crate) const fn event_kind(kind: EventKind) -> SampleKind {
    match kind {
        EventKind::Opened => SampleKind::Put,
        EventKind::Closed => SampleKind::Delete,
    }
}

/// `QueryConsolidation` or `ConsolidationMode`.
pub(crate) struct ConsolidationArgument(pub(crate) Consolidation);

impl FromPyObject<'_, '_> for ConsolidationArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(Member(mode)) = object.extract::<Member<Consolidation>>() {
            return Ok(Self(mode));
        }
        let class = object.py().import("weft._enums")?.getattr("QueryConsolidation")?;
        if object.is_instance(&class)? {
            let Member(mode) = object.getattr("mode")?.extract()?;
            return Ok(Self(mode));
        }
        let given = object.get_type();
        let text =
            format!("expected QueryConsolidation or ConsolidationMode, not {}", given.name()?);
        Err(PyTypeError::new_err(text))
    }
}
