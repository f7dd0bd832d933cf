//! The session's ears: from what the runtime reports to the application's handlers.
//!
//! Handlers run with no lock of this crate held: each is looked up, shared, the lock released, then
//! it is called.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use weft_keyexpr::KeyExpr;
use weft_node::{Consolidator, NodeEvent};
use weft_runtime::{IncomingQuery, IncomingReply, LinkInfo, Runtime, SessionHandler};
use weft_wire::{EntityGlobalId, ZenohId};

use crate::admin::{Admin, OwnSpace};
use crate::cover::Course;
use crate::ext::Miss;
use crate::handlers::Callback;
use crate::info::{self, Event, EventKind, Neighbourhood, TransportInfo};
use crate::key::Namespace;
use crate::listener::{Ending, Listener, Listeners};
use crate::matching::{Matching, MatchingStatus};
use crate::query::{self, Query};
use crate::reply::{self, Reply, ReplyError};
use crate::sample::Sample;
use crate::select::Select;

/// A query that waits for answers.
pub(crate) struct PendingGet {
    pub(crate) listener: Arc<Listener<Reply>>,
    /// As the network knows it.
    pub(crate) key: KeyExpr,
    /// Replies may be on other keys.
    pub(crate) any_key: bool,
    /// Filter and projection that are applied here, because others ignore them.
    pub(crate) select: Option<Box<Select>>,
    /// They are applied to what consolidation has let through, not before.
    pub(crate) select_late: bool,
    pub(crate) progress: Mutex<GetProgress>,
    /// Is told how the query ends.
    pub(crate) course: Option<Arc<Course>>,
}

/// What changes while a query waits for answers.
pub(crate) struct GetProgress {
    pub(crate) consolidator: Consolidator<Reply>,
    /// A timeout was reported.
    pub(crate) timed_out: bool,
}

impl PendingGet {
    /// Somebody has not answered as asked.
    fn failed(&self) {
        if let Some(course) = &self.course {
            course.failed();
        }
    }

    /// Delivers what consolidation has let through.
    fn deliver(&self, reply: Reply) {
        let late = self.select.as_deref().filter(|_| self.select_late);
        let selected = match late {
            Some(select) => reply.selected(select),
            None => Some(reply),
        };
        if let Some(reply) = selected {
            self.listener.call(reply);
        }
    }

    fn deliver_held(&self) {
        let held = lock(&self.progress).consolidator.finish();
        for reply in held {
            self.deliver(reply);
        }
    }
}

/// A liveliness query that waits for answers.
pub(crate) struct PendingTokens {
    pub(crate) listener: Arc<Listener<Reply>>,
    /// Keys that were reported; the session's own tokens come back from a router, too.
    pub(crate) seen: HashSet<KeyExpr>,
}

/// A session's handlers.
pub(crate) struct Core {
    me: Weak<Self>,
    /// Set when the runtime is there, before anything can listen.
    runtime: OnceLock<Weak<Runtime>>,
    pub(crate) zid: ZenohId,
    /// The application's own stamps of what is recorded of messages.
    stamper: Option<Stamper>,
    pub(crate) namespace: Namespace,
    /// The channels of subscribers, to be closed with them. Their calls are the runtime's.
    subscribers: Mutex<HashMap<u32, Callback<Sample>>>,
    queryables: Listeners<Query>,
    /// Those whose replies are filtered and projected.
    selecting: Mutex<HashSet<u32>>,
    gets: Mutex<HashMap<u32, Arc<PendingGet>>>,
    token_gets: Mutex<HashMap<u32, PendingTokens>>,
    /// What is done when it is known what matches a querier.
    covers: Mutex<HashMap<u32, OnKnown>>,
    pub(crate) token_subscribers: Listeners<Sample>,
    pub(crate) misses: Listeners<Miss>,
    pub(crate) matching: Matching,
    pub(crate) neighbourhood: Neighbourhood,
    /// The admin space, if it is enabled.
    admin: Mutex<Option<Arc<Admin>>>,
    /// What the session tells itself; set as `runtime` is.
    own_space: OnceLock<OwnSpace>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(crate) fn new(zid: ZenohId, stamper: Option<Stamper>, namespace: Namespace) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            runtime: OnceLock::new(),
            zid,
            stamper,
            namespace,
            subscribers: Mutex::default(),
            queryables: Listeners::default(),
            selecting: Mutex::default(),
            gets: Mutex::default(),
            token_gets: Mutex::default(),
            covers: Mutex::default(),
            token_subscribers: Listeners::default(),
            misses: Listeners::default(),
            matching: Matching::default(),
            neighbourhood: Neighbourhood::default(),
            admin: Mutex::default(),
            own_space: OnceLock::new(),
        })
    }

    /// Handlers are called by this runtime.
    pub(crate) fn attach(&self, runtime: &Arc<Runtime>) {
        let _ = self.runtime.set(Arc::downgrade(runtime));
    }

    /// The runtime, as long as the session has it.
    pub(crate) fn runtime(&self) -> Option<Arc<Runtime>> {
        self.runtime.get().and_then(Weak::upgrade)
    }

    /// Calls `call` on an event thread, in order with what else concerns the entity `id`.
    pub(crate) fn call_in_order(&self, id: u32, call: impl FnOnce(&Self) + Send + 'static) {
        if let (Some(runtime), Some(core)) = (self.runtime(), self.me.upgrade()) {
            runtime.call_in_order(id, move || call(&core));
        }
    }

    pub(crate) fn tell_matching(&self, listener: u32, status: MatchingStatus) {
        self.call_in_order(listener, move |core| core.matching.call(listener, status));
    }

    pub(crate) fn add_subscriber(&self, id: u32, callback: Callback<Sample>) {
        lock(&self.subscribers).insert(id, callback);
    }

    /// Closes the channel of a subscriber: what it blocks returns.
    pub(crate) fn close_subscriber(&self, id: u32) {
        let callback = lock(&self.subscribers).remove(&id);
        if let Some(callback) = callback {
            callback.close();
        }
    }

    /// Closes every channel, so that whoever delivers to one returns.
    pub(crate) fn close_channels(&self) {
        let subscribers: Vec<_> = lock(&self.subscribers).values().cloned().collect();
        subscribers.iter().for_each(Callback::close);
        let gets: Vec<_> = lock(&self.gets).values().map(|get| Arc::clone(&get.listener)).collect();
        let tokens: Vec<_> =
            lock(&self.token_gets).values().map(|get| Arc::clone(&get.listener)).collect();
        gets.iter().chain(&tokens).for_each(|listener| listener.close());
        self.queryables.close_all();
        self.token_subscribers.close_all();
        self.misses.close_all();
        self.matching.close_all();
        self.neighbourhood.close_all();
    }

    /// Lets go of every handler: channels end, pending queries end without further replies.
    ///
    /// What a handler captured may call back when it is dropped, so no lock is held then.
    pub(crate) fn clear(&self) {
        let subscribers = std::mem::take(&mut *lock(&self.subscribers));
        let gets = std::mem::take(&mut *lock(&self.gets));
        let token_gets = std::mem::take(&mut *lock(&self.token_gets));
        let covers = std::mem::take(&mut *lock(&self.covers));
        drop((subscribers, gets, token_gets, covers));
        self.queryables.clear();
        self.token_subscribers.clear();
        self.misses.clear();
        self.matching.clear();
        self.neighbourhood.clear();
    }

    pub(crate) fn add_queryable(&self, id: u32, callback: Callback<Query>, auto_select: bool) {
        if auto_select {
            lock(&self.selecting).insert(id);
        }
        self.queryables.add(id, callback);
    }

    pub(crate) fn end_queryable(&self, id: u32) {
        self.queryables.end(id);
        lock(&self.selecting).remove(&id);
    }

    pub(crate) fn add_get(&self, query: u32, get: PendingGet) -> Ending {
        let ending = get.listener.ending();
        lock(&self.gets).insert(query, Arc::new(get));
        ending
    }

    pub(crate) fn add_token_get(&self, query: u32, callback: Callback<Reply>) -> Ending {
        let listener = Listener::new(callback);
        let ending = listener.ending();
        let get = PendingTokens { listener, seen: HashSet::new() };
        lock(&self.token_gets).insert(query, get);
        ending
    }

    /// Does `then` when it is known what matches `querier`; drops it when the session closes.
    pub(crate) fn when_known(&self, querier: u32, then: OnKnown) {
        lock(&self.covers).insert(querier, then);
    }

    fn cover_known(&self, querier: u32) {
        let then = lock(&self.covers).remove(&querier);
        if let Some(then) = then {
            then();
        }
    }

    /// Lets go of a query's handler.
    pub(crate) fn forget_get(&self, query: u32) {
        let get = lock(&self.gets).remove(&query);
        let tokens = lock(&self.token_gets).remove(&query);
        drop((get, tokens));
    }

    /// From here on, queries about this node go to `admin`.
    pub(crate) fn set_admin(&self, admin: Arc<Admin>) {
        *lock(&self.admin) = Some(admin);
    }

    /// What [`Core::set_admin`] was given; it is asked no more.
    pub(crate) fn take_admin(&self) -> Option<Arc<Admin>> {
        lock(&self.admin).take()
    }

    /// Once: the session tells itself of its neighbours.
    pub(crate) fn set_own_space(&self, space: OwnSpace) {
        let _ = self.own_space.set(space);
    }

    /// What [`Core::set_own_space`] was given.
    pub(crate) fn own_space(&self) -> Option<&OwnSpace> {
        self.own_space.get()
    }

    /// Hands on a query about this node. A namespace does not apply to it.
    fn ask_admin(&self, incoming: &IncomingQuery<'_>) {
        if let (Some(space), Some(core)) = (self.own_space(), self.me.upgrade()) {
            space.ask(&core, incoming);
        }
        let Some(admin) = lock(&self.admin).clone() else { return };
        if let Some(id) = incoming.queryables.iter().find(|id| admin.is_asked(**id)) {
            let shared = query::Shared::new(incoming, incoming.key.clone(), &Namespace::default());
            let source = EntityGlobalId { zid: self.zid, eid: *id };
            admin.ask(Query::new(Arc::new(shared), source, false));
        }
    }

    fn token(&self, subscribers: &[u32], key: &KeyExpr, alive: bool) {
        let Some(key) = self.namespace.inward(key) else { return };
        for id in subscribers {
            self.token_subscribers.call(*id, Sample::token(key.clone(), alive));
        }
    }

    fn token_reply(&self, query: u32, key: &KeyExpr) {
        let Some(inner) = self.namespace.inward(key) else { return };
        let listener = {
            let mut gets = lock(&self.token_gets);
            let Some(get) = gets.get_mut(&query) else { return };
            if !get.seen.insert(key.clone()) {
                return;
            }
            Arc::clone(&get.listener)
        };
        listener.call(Reply::data(Sample::token(inner, true), None));
    }

    /// The query's time is over (02 §4.6 step 6).
    fn query_timeout(&self, query: u32) {
        let get = lock(&self.gets).get(&query).cloned();
        if let Some(get) = get {
            return report_timeout(&get);
        }
        let listener = lock(&self.token_gets).get(&query).map(|get| Arc::clone(&get.listener));
        if let Some(listener) = listener {
            listener.call(Reply::error(ReplyError::timeout(), None));
        }
    }

    fn query_final(&self, query: u32) {
        let ended = lock(&self.gets).remove(&query);
        if let Some(get) = ended {
            get.deliver_held();
            if let Some(course) = &get.course {
                course.ended();
            }
        }
    }
}

/// Once: what was held back, then the error.
fn report_timeout(get: &PendingGet) {
    let reported = std::mem::replace(&mut lock(&get.progress).timed_out, true);
    if !reported {
        get.failed();
        get.deliver_held();
        get.listener.call(Reply::error(ReplyError::timeout(), None));
    }
}

/// What waits until it is known what matches a querier.
pub(crate) type OnKnown = Box<dyn FnOnce() + Send>;

/// Gives the application's own stamp.
pub(crate) type Stamper = Box<dyn Fn() -> Vec<u8> + Send + Sync>;

impl SessionHandler for Core {
    fn custom_stamp(&self) -> Option<Vec<u8>> {
        let stamper = self.stamper.as_ref()?;
        let mut stamp = Vec::new();
        weft_runtime::calling(|| stamp = stamper());
        Some(stamp)
    }

    fn event(&self, event: NodeEvent) {
        match event {
            NodeEvent::Matching { id, matching } => {
                let tell = |listener, status| self.tell_matching(listener, status);
                self.matching.changed(id, matching, tell);
            }
            NodeEvent::QueryablesKnown { querier } => self.cover_known(querier),
            NodeEvent::Token { subscribers, key, alive } => self.token(&subscribers, &key, alive),
            NodeEvent::TokenReply { query, key } => self.token_reply(query, &key),
            NodeEvent::TokenQueryFinal { query } => self.forget_get(query),
            NodeEvent::QueryTimeout { query } => self.query_timeout(query),
            NodeEvent::QueryFinal { query } => self.query_final(query),
            NodeEvent::NeighbourUp { zid, whatami, qos, .. } => {
                tracing::info!(%zid, %whatami, "neighbour connected");
                let object = TransportInfo { zid, whatami, is_qos: qos };
                Neighbourhood::transport(self, &Event { kind: EventKind::Opened, object });
            }
            NodeEvent::NeighbourDown { zid, why, .. } => {
                tracing::info!(%zid, why, "neighbour gone");
                Neighbourhood::transport_gone(self, zid);
            }
            NodeEvent::Warning { text } => tracing::warn!("{text}"),
            _ => {}
        }
    }

    fn link_up(&self, zid: ZenohId, link: LinkInfo) {
        let object = info::LinkInfo::new(zid, link);
        Neighbourhood::link(self, &Event { kind: EventKind::Opened, object });
    }

    fn link_down(&self, zid: ZenohId, link: LinkInfo) {
        let object = info::LinkInfo::new(zid, link);
        Neighbourhood::link(self, &Event { kind: EventKind::Closed, object });
    }

    fn query(&self, incoming: IncomingQuery<'_>) {
        self.ask_admin(&incoming);
        let Some(key) = self.namespace.inward(incoming.key) else { return };
        let shared = Arc::new(query::Shared::new(&incoming, key, &self.namespace));
        for id in incoming.queryables {
            let Some(listener) = self.queryables.find(*id) else { continue };
            let source = EntityGlobalId { zid: self.zid, eid: *id };
            let auto_select = lock(&self.selecting).contains(id);
            let query = Query::new(Arc::clone(&shared), source, auto_select);
            incoming.handle.call(move || listener.call(query));
        }
    }

    fn reply(&self, query: u32, incoming: IncomingReply<'_>) {
        let get = lock(&self.gets).get(&query).cloned();
        let Some(get) = get else { return };
        let Some(reply) = reply::received(&incoming, &get, &self.namespace) else { return };
        if reply.is_timeout() {
            // Another node's timer was faster than this one's.
            return report_timeout(&get);
        }
        if reply.result().is_err() {
            get.failed();
        }
        let early = get.select.as_deref().filter(|_| !get.select_late);
        let selected = match early {
            Some(select) => reply.selected(select),
            None => Some(reply),
        };
        let Some(reply) = selected else { return };
        let delivered = match reply.stamped_key() {
            None => Some(reply),
            Some((key, stamp)) => lock(&get.progress).consolidator.accept(&key, stamp, reply),
        };
        if let Some(reply) = delivered {
            get.deliver(reply);
        }
    }
}
