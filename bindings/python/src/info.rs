//! What a session knows of itself and its neighbours: `SessionInfo`, `Transport`, `Link` and their events.

use pyo3::prelude::*;
use weft::info::{Event, EventKind, LinkInfo, TransportInfo};

use crate::entity::Entity;
use crate::enums::{event_kind, member};
use crate::error::Raise;
use crate::gil::blocking;
use crate::handler::prepare;
use crate::html;
use crate::id::PyZenohId;
use crate::session::PySession;
use crate::subscriber::{Links, PyLinkEventsListener, PyTransportEventsListener, Transports};

/// A connection to another node.
#[pyclass(frozen, eq, module = "weft", name = "Transport")]
#[derive(PartialEq, Eq)]
pub(crate) struct PyTransport(TransportInfo);

#[pymethods]
impl PyTransport {
    /// The other node.
    #[getter]
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.0.zid())
    }

    /// What the other node is.
    #[getter]
    fn whatami(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, self.0.whatami())
    }

    /// Whether priorities travel side by side.
    #[getter]
    fn is_qos(&self) -> bool {
        self.0.is_qos()
    }

    /// Whether it uses shared memory.
    #[getter]
    fn is_shm(&self) -> bool {
        self.0.is_shm()
    }

    /// Whether it is a multicast group.
    #[getter]
    fn is_multicast(&self) -> bool {
        self.0.is_multicast()
    }

    pub(crate) fn __repr__(&self) -> String {
        let it = &self.0;
        format!(
            "Transport {{ zid: {}, whatami: {}, is_qos: {}, is_multicast: {}, is_shm: {} }}",
            it.zid(),
            capitalized(it.whatami()),
            it.is_qos(),
            it.is_multicast(),
            it.is_shm()
        )
    }

    fn _repr_html_(&self) -> String {
        html::table(TRANSPORT, vec![transport_row(&self.0)])
    }
}

const TRANSPORT: &[&str] = &["zid", "whatami", "qos"];

fn transport_row(it: &TransportInfo) -> Vec<String> {
    vec![it.zid().to_string(), it.whatami().to_string(), it.is_qos().to_string()]
}

pub(crate) const fn capitalized(mode: weft::WhatAmI) -> &'static str {
    match mode {
        weft::WhatAmI::Router => "Router",
        weft::WhatAmI::Peer => "Peer",
        weft::WhatAmI::Client => "Client",
    }
}

/// One socket or the like of a connection.
#[pyclass(frozen, eq, module = "weft", name = "Link")]
#[derive(PartialEq, Eq)]
pub(crate) struct PyLink(LinkInfo);

#[pymethods]
impl PyLink {
    /// The other node.
    #[getter]
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.0.zid())
    }

    /// This end, as a locator.
    #[getter]
    fn src(&self) -> &str {
        self.0.src()
    }

    /// The other end, as a locator.
    #[getter]
    fn dst(&self) -> &str {
        self.0.dst()
    }

    /// The multicast group, if it is in one.
    #[getter]
    fn group(&self) -> Option<&str> {
        self.0.group()
    }

    /// How many bytes it takes at once.
    #[getter]
    fn mtu(&self) -> u16 {
        self.0.mtu()
    }

    /// Whether it is a stream of bytes, not of datagrams.
    #[getter]
    fn is_streamed(&self) -> bool {
        self.0.is_streamed()
    }

    /// The network interfaces that it uses.
    #[getter]
    fn interfaces(&self) -> Vec<String> {
        self.0.interfaces().to_vec()
    }

    /// As whom the other node authenticated itself, if it did.
    #[getter]
    fn auth_identifier(&self) -> Option<&str> {
        self.0.auth_identifier()
    }

    /// The first and last priority that it carries, or `None` for all.
    #[getter]
    fn priorities(&self) -> Option<(u8, u8)> {
        self.0.priorities().map(|(first, last)| (first as u8, last as u8))
    }

    /// The channel that it carries, or `None` for both.
    #[getter]
    fn reliability(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.reliability().map(|it| member(py, it)).transpose()
    }

    pub(crate) fn __repr__(&self) -> String {
        let it = &self.0;
        format!(
            "Link {{ zid: {}, src: {}, dst: {}, mtu: {}, is_streamed: {}, interfaces: {:?} }}",
            it.zid(),
            it.src(),
            it.dst(),
            it.mtu(),
            it.is_streamed(),
            it.interfaces()
        )
    }

    fn _repr_html_(&self) -> String {
        html::table(LINK, vec![link_row(&self.0)])
    }
}

const LINK: &[&str] = &["zid", "src", "dst", "mtu"];

fn link_row(it: &LinkInfo) -> Vec<String> {
    vec![it.zid().to_string(), it.src().to_owned(), it.dst().to_owned(), it.mtu().to_string()]
}

const fn kind_text(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Opened => "PUT",
        EventKind::Closed => "DELETE",
    }
}

/// A connection opened (put) or closed (delete).
#[pyclass(frozen, module = "weft", name = "TransportEvent")]
pub(crate) struct PyTransportEvent(pub(crate) Event<TransportInfo>);

#[pymethods]
impl PyTransportEvent {
    /// Put or delete.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, event_kind(self.0.kind))
    }

    /// The connection.
    #[getter]
    fn transport(&self) -> PyTransport {
        PyTransport(self.0.object.clone())
    }

    fn __repr__(&self) -> String {
        format!("TransportEvent({} {})", kind_text(self.0.kind), self.transport().__repr__())
    }
}

/// A link opened (put) or closed (delete).
#[pyclass(frozen, module = "weft", name = "LinkEvent")]
pub(crate) struct PyLinkEvent(pub(crate) Event<LinkInfo>);

#[pymethods]
impl PyLinkEvent {
    /// Put or delete.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        member(py, event_kind(self.0.kind))
    }

    /// The link.
    #[getter]
    fn link(&self) -> PyLink {
        PyLink(self.0.object.clone())
    }

    fn __repr__(&self) -> String {
        format!("LinkEvent({} {})", kind_text(self.0.kind), self.link().__repr__())
    }
}

/// What a session knows of itself and its neighbours.
#[pyclass(frozen, module = "weft", name = "SessionInfo")]
pub(crate) struct PySessionInfo(pub(crate) Py<PySession>);

impl PySessionInfo {
    fn session(&self) -> PyResult<&weft::Session> {
        self.0.get().session()
    }
}

#[pymethods]
impl PySessionInfo {
    /// The session's own identity.
    fn zid(&self) -> PyZenohId {
        PyZenohId(self.0.get().peek().zid())
    }

    /// The routers that it is connected to.
    fn routers_zid(&self, py: Python<'_>) -> PyResult<Vec<PyZenohId>> {
        let session = self.session()?;
        Ok(blocking(py, || session.info().routers_zid())?.into_iter().map(PyZenohId).collect())
    }

    /// The peers that it is connected to.
    fn peers_zid(&self, py: Python<'_>) -> PyResult<Vec<PyZenohId>> {
        let session = self.session()?;
        Ok(blocking(py, || session.info().peers_zid())?.into_iter().map(PyZenohId).collect())
    }

    /// Where it can be reached.
    fn locators(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let session = self.session()?;
        let locators = blocking(py, || session.info().locators())?;
        Ok(locators.iter().map(ToString::to_string).collect())
    }

    /// Its connections.
    fn transports(&self, py: Python<'_>) -> PyResult<Vec<PyTransport>> {
        let session = self.session()?;
        Ok(blocking(py, || session.info().transports())?.into_iter().map(PyTransport).collect())
    }

    /// The links of its connections.
    fn links(&self, py: Python<'_>) -> PyResult<Vec<PyLink>> {
        let session = self.session()?;
        Ok(blocking(py, || session.info().links())?.into_iter().map(PyLink).collect())
    }

    /// Declares a listener of connections; with `history`, those that are open are reported first.
    #[pyo3(signature = (handler=None, *, history=None))]
    fn declare_transport_events_listener(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
        history: Option<bool>,
    ) -> PyResult<PyTransportEventsListener> {
        let session = self.session()?;
        let prepared = prepare(py, handler)?;
        let mut builder = session.info().transport_events_listener().with((prepared.callback, ()));
        with!(builder, history = history);
        let listener = blocking(py, || builder.wait())?.or_raise()?;
        let own = prepared.own.start(py, &[self.0.get().latches()])?;
        let ended = "Undeclared transport events listener";
        Ok(PyTransportEventsListener(Entity::new(Transports(listener), own, ended)))
    }

    /// Declares a listener of links; with `history`, those that are open are reported first.
    #[pyo3(signature = (handler=None, *, history=None))]
    fn declare_link_events_listener(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
        history: Option<bool>,
    ) -> PyResult<PyLinkEventsListener> {
        let session = self.session()?;
        let prepared = prepare(py, handler)?;
        let mut builder = session.info().link_events_listener().with((prepared.callback, ()));
        with!(builder, history = history);
        let listener = blocking(py, || builder.wait())?.or_raise()?;
        let own = prepared.own.start(py, &[self.0.get().latches()])?;
        let ended = "Undeclared link events listener";
        Ok(PyLinkEventsListener(Entity::new(Links(listener), own, ended)))
    }

    fn __repr__(&self) -> String {
        format!("SessionInfo(zid={})", self.0.get().peek().zid())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.session()?;
        let (transports, links) =
            blocking(py, || (session.info().transports(), session.info().links()))?;
        let own = html::table(&["zid"], vec![vec![session.zid().to_string()]]);
        let transports = html::table(TRANSPORT, transports.iter().map(transport_row).collect());
        Ok([own, transports, html::table(LINK, links.iter().map(link_row).collect())].concat())
    }
}
