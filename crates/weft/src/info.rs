//! What a session knows of itself and its neighbours.
//!
//! Not here: what it tells of a neighbour and a link (`objects`). Spec: 05 A.11.

mod objects;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_wire::{Locator, WhatAmI, ZenohId};

use crate::core::Core;
use crate::declared::{Declared, handle};
use crate::error::Result;
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::listener::Listeners;
use crate::resolve::immediate;
use crate::session::SessionInner;

pub use objects::{LinkInfo, Neighbour, TransportInfo};

/// Opened or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It has opened.
    Opened,
    /// It has closed.
    Closed,
}

/// Something opened or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<T> {
    /// Which of the two.
    pub kind: EventKind,
    /// What.
    pub object: T,
}

/// A look at a session from the side of the network.
#[derive(Clone, Copy)]
pub struct SessionInfo<'a> {
    pub(crate) session: &'a Arc<SessionInner>,
}

impl<'a> SessionInfo<'a> {
    /// The session's identity.
    pub fn zid(&self) -> ZenohId {
        self.session.core.zid
    }

    /// The routers that are directly connected.
    pub fn routers_zid(&self) -> Vec<ZenohId> {
        self.of_mode(WhatAmI::Router)
    }

    /// The peers that are directly connected.
    pub fn peers_zid(&self) -> Vec<ZenohId> {
        self.of_mode(WhatAmI::Peer)
    }

    /// The clients that are directly connected.
    pub fn clients_zid(&self) -> Vec<ZenohId> {
        self.of_mode(WhatAmI::Client)
    }

    fn of_mode(self, mode: WhatAmI) -> Vec<ZenohId> {
        let of_mode = self.transports().into_iter().filter(|it| it.whatami == mode);
        of_mode.map(|transport| transport.zid).collect()
    }

    /// Where this session can be reached.
    pub fn locators(&self) -> Vec<Locator> {
        self.session.runtime.locators()
    }

    /// The connected neighbours.
    pub fn transports(&self) -> Vec<TransportInfo> {
        self.neighbours().into_iter().map(|it| it.transport).collect()
    }

    /// The links to the connected neighbours.
    pub fn links(&self) -> Vec<LinkInfo> {
        self.neighbours().into_iter().flat_map(|it| it.links).collect()
    }

    /// The connected neighbours with links and counters.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        self.session.runtime.neighbours().into_iter().map(Neighbour::new).collect()
    }

    /// Declares a listener of neighbours that come and go.
    pub fn transport_events_listener(&self) -> EventsBuilder<'a, TransportInfo> {
        self.events_of(|core| &core.neighbourhood.transports)
    }

    /// Declares a listener of links that open and close. What a closed one carried may go on over
    /// another link to the same neighbour.
    pub fn link_events_listener(&self) -> EventsBuilder<'a, LinkInfo> {
        self.events_of(|core| &core.neighbourhood.links)
    }

    fn events_of<T>(self, observed: Of<T>) -> EventsBuilder<'a, T> {
        let handler = FifoChannel::default();
        EventsBuilder { session: self.session, observed, history: false, handler }
    }
}

impl core::fmt::Debug for SessionInfo<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SessionInfo").field("zid", &self.zid()).finish_non_exhaustive()
    }
}

/// What is open at the moment, and who listens to that.
///
/// A listener joins between two events and is called for every later one, in a lane of its own.
pub(crate) struct Observed<T> {
    listeners: Listeners<Event<T>>,
    open: Mutex<Open<T>>,
}

struct Open<T> {
    objects: Vec<T>,
    listeners: BTreeSet<u32>,
}

impl<T> Default for Observed<T> {
    fn default() -> Self {
        let open = Open { objects: Vec::new(), listeners: BTreeSet::new() };
        Self { listeners: Listeners::default(), open: Mutex::new(open) }
    }
}

impl<T> Observed<T> {
    fn open(&self) -> MutexGuard<'_, Open<T>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, event: &Event<T>, tell: impl Fn(u32, Event<T>))
    where
        T: Clone + PartialEq,
    {
        let mut open = self.open();
        match event.kind {
            EventKind::Opened => open.objects.push(event.object.clone()),
            EventKind::Closed => open.objects.retain(|other| *other != event.object),
        }
        for id in &open.listeners {
            tell(*id, event.clone());
        }
    }

    /// Adds a listener, which is first told what is open if it wants that.
    fn add(
        &self,
        id: u32,
        callback: Callback<Event<T>>,
        history: bool,
        tell: impl Fn(u32, Event<T>),
    ) where
        T: Clone,
    {
        self.listeners.add(id, callback);
        let mut open = self.open();
        open.listeners.insert(id);
        for object in open.objects.iter().filter(|_| history) {
            tell(id, Event { kind: EventKind::Opened, object: object.clone() });
        }
    }

    /// Calls a listener.
    pub(crate) fn call(&self, id: u32, event: Event<T>) {
        self.listeners.call(id, event);
    }

    fn end(&self, id: u32) {
        self.open().listeners.remove(&id);
        self.listeners.end(id);
    }
}

/// The neighbours of a session and its links to them, as its listeners are told.
#[derive(Default)]
pub(crate) struct Neighbourhood {
    transports: Observed<TransportInfo>,
    links: Observed<LinkInfo>,
}

impl Neighbourhood {
    pub(crate) fn transport(core: &Core, event: &Event<TransportInfo>) {
        tell_all(core, |core| &core.neighbourhood.transports, event);
        if let Some(space) = core.own_space() {
            space.transport_event(core, event);
        }
    }

    pub(crate) fn transport_gone(core: &Core, zid: ZenohId) {
        let open = core.neighbourhood.transports.open();
        let gone = open.objects.iter().find(|it| it.zid == zid).cloned();
        drop(open);
        if let Some(object) = gone {
            Self::transport(core, &Event { kind: EventKind::Closed, object });
        }
    }

    pub(crate) fn link(core: &Core, event: &Event<LinkInfo>) {
        tell_all(core, |core| &core.neighbourhood.links, event);
        if let Some(space) = core.own_space() {
            space.link_event(core, event);
        }
    }

    pub(crate) fn close_all(&self) {
        self.transports.listeners.close_all();
        self.links.listeners.close_all();
    }

    pub(crate) fn clear(&self) {
        self.transports.listeners.clear();
        self.links.listeners.clear();
    }
}

/// Where in a session's handlers the listeners of one kind of thing are.
type Of<T> = fn(&Core) -> &Observed<T>;

fn tell_all<T: Clone + PartialEq + Send + 'static>(core: &Core, observed: Of<T>, event: &Event<T>) {
    observed(core).report(event, teller(core, observed));
}

/// Has a listener called, on an event thread and in its order.
fn teller<T: Send + 'static>(core: &Core, observed: Of<T>) -> impl Fn(u32, Event<T>) + '_ {
    move |id, event| {
        core.call_in_order(id, move |core| observed(core).call(id, event));
    }
}

/// Declares an [`EventsListener`].
#[must_use = "nothing is declared before wait()"]
pub struct EventsBuilder<'a, T, H = FifoChannel> {
    session: &'a Arc<SessionInner>,
    observed: Of<T>,
    history: bool,
    handler: H,
}

impl<'a, T, H> EventsBuilder<'a, T, H> {
    /// Whether what is open already is reported first. Default: no.
    pub const fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }

    /// Calls `callback` with every event, one at a time.
    pub fn callback<F: Fn(Event<T>) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> EventsBuilder<'a, T, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(Event<T>) + Send + 'static>(
        self,
        callback: F,
    ) -> EventsBuilder<'a, T, Callback<Event<T>>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers events to `handler`: a channel, a closure, or a pair of closure and object. Without
    /// this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Event<T>>>(self, handler: N) -> EventsBuilder<'a, T, N> {
        let Self { session, observed, history, .. } = self;
        EventsBuilder { session, observed, history, handler }
    }
}

impl<T: Clone + Send + 'static, H: IntoHandler<Event<T>>> EventsBuilder<'_, T, H> {
    /// Declares it.
    ///
    /// # Errors
    /// [`Error::SessionClosed`](crate::Error::SessionClosed).
    pub fn wait(self) -> Result<EventsListener<H::Handler>> {
        let Self { session, observed, history, .. } = self;
        session.check_open()?;
        let (callback, handler) = self.handler.into_handler();
        let id = session.runtime.next_entity();
        let tell = teller(&session.core, observed);
        observed(&session.core).add(id, callback, history, tell);
        let end = move |session: &SessionInner| observed(&session.core).end(id);
        let listener = EventsListener { declared: Declared::new(session, id, end), handler };
        session.check_still_open()?;
        Ok(listener)
    }
}

immediate!([T: Clone + Send + 'static, H: IntoHandler<Event<T>>]
    EventsBuilder<'_, T, H> => Result<EventsListener<H::Handler>>);

/// Tells of what opens and closes. Undeclared when dropped; see [`EventsListener::background`].
///
/// With a channel, it can be used like the channel's [`Receiver`].
pub struct EventsListener<H> {
    declared: Declared,
    handler: H,
}

/// Tells of neighbours that come and go.
pub type TransportEventsListener<H = Receiver<Event<TransportInfo>>> = EventsListener<H>;

/// Tells of links that open and close.
pub type LinkEventsListener<H = Receiver<Event<LinkInfo>>> = EventsListener<H>;

handle!(EventsListener<H>, "the session");

impl<H> core::fmt::Debug for EventsListener<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("EventsListener").finish_non_exhaustive()
    }
}
