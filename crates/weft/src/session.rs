//! The session: what an application opens, and everything that it declares through it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weft_keyexpr::{KeyExpr, Selector};
use weft_node::{Hlc, Locality};
use weft_runtime::Runtime;
use weft_wire::{EntityGlobalId, Timestamp, ZenohId};

use crate::admin::{Admin, AdminSettings, OwnSpace};
use crate::cancel::{Cancellable, CancellationToken};
use crate::config::{Config, Publication};
use crate::core::{Core, Stamper};
use crate::error::{Error, Result};
use crate::get::GetBuilder;
use crate::info::SessionInfo;
use crate::key::IntoKeyExpr;
use crate::listener::Ending;
use crate::liveliness::Liveliness;
use crate::publisher::{PublisherBuilder, PutBuilder};
use crate::querier::QuerierBuilder;
use crate::queryable::QueryableBuilder;
use crate::resolve::Waiting;
use crate::settings::{Chance, Settings};
use crate::subscriber::SubscriberBuilder;
use crate::timestamp::TimestampContext;
use crate::zbytes::ZBytes;

/// Opens a session.
///
/// ```no_run
/// let session = weft::open(weft::Config::default()).wait()?;
/// session.put("demo/example", "hello").wait()?;
/// # Ok::<(), weft::Error>(())
/// ```
pub fn open(config: Config) -> OpenBuilder {
    OpenBuilder { config, stamp: None }
}

/// Opens a [`Session`].
#[must_use = "nothing is opened before wait()"]
pub struct OpenBuilder {
    config: Config,
    stamp: Option<Box<TimestampCallback>>,
}

type TimestampCallback = dyn Fn(TimestampContext) -> Vec<u8> + Send + Sync;

impl OpenBuilder {
    /// Gives stamps of an application's own format to what this session records of messages on their
    /// way, in place of timestamps. Called once for each record, on the thread that handles the
    /// message; one that panics gives no bytes.
    pub fn timestamp_callback<F>(mut self, callback: F) -> Self
    where
        F: Fn(TimestampContext) -> Vec<u8> + Send + Sync + 'static,
    {
        self.stamp = Some(Box::new(callback));
        self
    }

    /// Opens it: returns when the session can be used. For a client that is when it is connected, for
    /// a peer when what it was told to connect to has answered or half a second has passed.
    ///
    /// # Errors
    /// [`Error::Config`] for values that contradict each other, [`Error::Open`] if an endpoint cannot
    /// be bound or, for a client, nothing can be connected.
    pub fn wait(self) -> Result<Session> {
        for warning in self.config.warnings() {
            tracing::warn!("{warning}");
        }
        let effective = self.config.effective()?;
        let Settings { runtime, namespace, publications, queries_timeout, adminspace, metadata } =
            Settings::new(&effective, &Chance::draw()?);
        let context = TimestampContext { zid: runtime.node.zid, whatami: runtime.node.whatami };
        let stamper = self.stamp.map(|stamp| Box::new(move || stamp(context)) as Stamper);
        let core = Core::new(runtime.node.zid, stamper, namespace);
        crate::handlers::set_block_hook(weft_runtime::block_hook);
        let runtime = Arc::new(Runtime::open(runtime, Arc::clone(&core) as Arc<_>)?);
        core.attach(&runtime);
        OwnSpace::open(&runtime, &core)?;
        if adminspace.enabled {
            Admin::open(
                &runtime,
                &core,
                AdminSettings { config: self.config, adminspace, metadata, stats: effective.stats },
            )?;
        }
        runtime.span().in_scope(|| tracing::info!(mode = %effective.mode, "session open"));
        Ok(Session(Arc::new(SessionInner {
            runtime,
            clock: Hlc::new(core.zid),
            core,
            publications,
            queries_timeout,
            declared_keys: Mutex::default(),
        })))
    }
}

impl core::future::IntoFuture for OpenBuilder {
    type Output = Result<Session>;
    type IntoFuture = Waiting<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Waiting::on_thread(|| self.wait())
    }
}

/// What all handles of a session share.
pub(crate) struct SessionInner {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) core: Arc<Core>,
    /// What is configured about publications.
    pub(crate) publications: Vec<Publication>,
    pub(crate) queries_timeout: Duration,
    /// Stamps for the application where the runtime stamps nothing itself.
    clock: Hlc,
    /// Key expressions that the application gave numbers to, and how often.
    declared_keys: Mutex<HashMap<KeyExpr, usize>>,
}

impl SessionInner {
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.runtime.is_closed() { Err(Error::SessionClosed) } else { Ok(()) }
    }

    /// The same after something was declared: closing may have come between and not have seen it.
    pub(crate) fn check_still_open(&self) -> Result<()> {
        let checked = self.check_open();
        if checked.is_err() {
            self.core.clear();
        }
        checked
    }

    /// See [`Session::new_timestamp`].
    pub(crate) fn new_timestamp(&self) -> Timestamp {
        let own = || self.clock.stamp(weft_runtime::wall_ntp64());
        self.runtime.stamp().unwrap_or_else(own)
    }

    /// The key as the network knows it.
    pub(crate) fn outward(&self, key: impl IntoKeyExpr) -> Result<KeyExpr> {
        self.check_open()?;
        self.core.namespace.outward(key.into_key_expr()?)
    }

    pub(crate) fn close(&self) {
        if self.runtime.is_closed() {
            return;
        }
        // Whoever is kept by a full channel would keep the runtime from closing.
        let admin = self.core.take_admin();
        self.runtime.close_after(|| self.core.close_channels());
        self.core.clear();
        if let Some(admin) = admin {
            admin.close();
        }
        self.runtime.span().in_scope(|| tracing::info!("session closed"));
    }

    /// Ends a publisher or querier, and its matching listeners.
    pub(crate) fn end_sender(&self, sender: u32) {
        self.runtime.undeclare_sender(sender);
        self.core.matching.end_sender(sender);
        self.core.call_in_order(sender, move |core| core.matching.forget(sender));
    }

    /// Ends a queryable, and waits until its handler does not run.
    pub(crate) fn end_queryable(&self, id: u32) {
        self.runtime.undeclare_queryable(id);
        self.core.end_queryable(id);
    }

    /// A query's handler is in place: lets `token` end it. Before it is asked, so that neither a
    /// cancellation nor closing is missed.
    pub(crate) fn pending(
        self: &Arc<Self>,
        query: u32,
        ending: Ending,
        token: Option<&CancellationToken>,
    ) -> Result<()> {
        self.check_still_open()?;
        if let Some(token) = token {
            let session = Arc::downgrade(self);
            if !token.add(Cancellable { session, query, ending }) {
                self.core.forget_get(query);
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    /// Drops a query's handler without a further reply.
    pub(crate) fn forget_query(&self, query: u32) {
        self.runtime.cancel_query(query);
        self.runtime.cancel_token_query(query);
        self.core.forget_get(query);
    }
}

impl Drop for SessionInner {
    fn drop(&mut self) {
        self.close();
    }
}

/// One participant of a Zenoh network.
///
/// Clones are handles of the same session; it closes when the last one is dropped, or with
/// [`Session::close`]. What was declared through it ends with it.
#[derive(Clone)]
pub struct Session(pub(crate) Arc<SessionInner>);

impl Session {
    /// Its identity in the network.
    pub fn zid(&self) -> ZenohId {
        self.0.core.zid
    }

    /// Its identity as an entity.
    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId { zid: self.zid(), eid: 0 }
    }

    /// What it knows of itself and its neighbours.
    pub fn info(&self) -> SessionInfo<'_> {
        SessionInfo { session: &self.0 }
    }

    /// Closes it: what was put is sent, neighbours are told, and callbacks that run are waited for,
    /// for up to 10 s. Channels close, pending queries end without a further reply. Further calls do
    /// nothing; other operations fail with [`Error::SessionClosed`] from then on, and what was
    /// declared can be dropped or undeclared without effect.
    ///
    /// It may be called from any callback. It then does not wait for callbacks that run.
    pub fn close(&self) -> CloseBuilder {
        CloseBuilder(Arc::clone(&self.0))
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.0.runtime.is_closed()
    }

    /// A timestamp of its clock, which is close to the system's. Each is greater than those before;
    /// works after closing, too.
    pub fn new_timestamp(&self) -> Timestamp {
        self.0.new_timestamp()
    }

    /// Gives a key expression a number, by which it is sent from then on. Publishers and queriers do
    /// that for their own keys. Purely an optimisation.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`].
    pub fn declare_keyexpr(&self, key: impl IntoKeyExpr) -> Result<KeyExpr> {
        let key = key.into_key_expr()?;
        self.0.runtime.declare_key(&self.0.outward(&key)?);
        *self.declared_keys().entry(key.clone()).or_default() += 1;
        Ok(key)
    }

    /// Takes back one [`Session::declare_keyexpr`]. On a closed session this has no effect.
    ///
    /// # Errors
    /// [`Error::Argument`] if the key expression was not declared, or was undeclared as often.
    pub fn undeclare_keyexpr(&self, key: impl IntoKeyExpr) -> Result<()> {
        let key = key.into_key_expr()?;
        let mut declared = self.declared_keys();
        match declared.get_mut(&key) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                declared.remove(&key);
            }
            None if self.is_closed() => {}
            None => {
                let message = format!("the key expression `{key}` was not declared");
                return Err(Error::Argument { message });
            }
        }
        Ok(())
    }

    fn declared_keys(&self) -> MutexGuard<'_, HashMap<KeyExpr, usize>> {
        self.0.declared_keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a value. A key that is given as text is checked and copied each time; a [`KeyExpr`]
    /// or a reference to one costs neither.
    pub fn put<K: IntoKeyExpr>(&self, key: K, payload: impl Into<ZBytes>) -> PutBuilder<'_, K> {
        PutBuilder::put(self, key, payload.into())
    }

    /// Publishes that a key has no value any more.
    pub fn delete<K: IntoKeyExpr>(&self, key: K) -> PutBuilder<'_, K> {
        PutBuilder::delete(self, key)
    }

    /// Declares a publisher: the way to publish on one key again and again.
    pub fn declare_publisher<K: IntoKeyExpr>(&self, key: K) -> PublisherBuilder<'_, K> {
        PublisherBuilder::new(self, key)
    }

    /// Declares a subscriber.
    pub fn declare_subscriber<K: IntoKeyExpr>(&self, key: K) -> SubscriberBuilder<'_, K> {
        SubscriberBuilder::new(self, key)
    }

    /// Declares a queryable: something that answers queries.
    pub fn declare_queryable<K: IntoKeyExpr>(&self, key: K) -> QueryableBuilder<'_, K> {
        QueryableBuilder::new(self, key)
    }

    /// Declares a querier: the way to ask for one key again and again.
    pub fn declare_querier<K: IntoKeyExpr>(&self, key: K) -> QuerierBuilder<'_, K> {
        QuerierBuilder::new(self, key)
    }

    /// Asks.
    pub fn get<S: IntoSelector>(&self, selector: S) -> GetBuilder<'_, S> {
        GetBuilder::new(self, selector)
    }

    /// Tokens that say that something is alive.
    pub fn liveliness(&self) -> Liveliness<'_> {
        Liveliness { session: self }
    }
}

impl core::fmt::Debug for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Session")
            .field("zid", &self.zid())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}

/// Closes a [`Session`].
#[must_use = "nothing is closed before wait()"]
pub struct CloseBuilder(Arc<SessionInner>);

impl CloseBuilder {
    /// Closes it.
    pub fn wait(self) {
        self.0.close();
    }
}

impl core::future::IntoFuture for CloseBuilder {
    type Output = ();
    type IntoFuture = Waiting<()>;

    fn into_future(self) -> Self::IntoFuture {
        Waiting::on_thread(|| self.wait())
    }
}

/// What can be given where a selector is wanted: text such as `a/*?x=1`, a key expression, or a
/// [`Selector`].
pub trait IntoSelector {
    /// The selector.
    ///
    /// # Errors
    /// If its key expression is not canonical.
    fn into_selector(self) -> Result<Selector>;
}

impl IntoSelector for Selector {
    fn into_selector(self) -> Result<Selector> {
        Ok(self)
    }
}

impl IntoSelector for &Selector {
    fn into_selector(self) -> Result<Selector> {
        Ok(self.clone())
    }
}

impl IntoSelector for &str {
    fn into_selector(self) -> Result<Selector> {
        Ok(self.parse()?)
    }
}

impl IntoSelector for String {
    fn into_selector(self) -> Result<Selector> {
        Ok(self.parse()?)
    }
}

impl IntoSelector for &String {
    fn into_selector(self) -> Result<Selector> {
        Ok(self.parse()?)
    }
}

impl IntoSelector for KeyExpr {
    fn into_selector(self) -> Result<Selector> {
        Ok(Selector::new(self, weft_keyexpr::Parameters::default()))
    }
}

impl IntoSelector for &KeyExpr {
    fn into_selector(self) -> Result<Selector> {
        self.clone().into_selector()
    }
}

/// How queries limit themselves to this session or to others.
pub(crate) const fn scope(destination: Locality) -> weft_node::QueryScope {
    match destination {
        Locality::SessionLocal => weft_node::QueryScope::Local,
        Locality::Remote => weft_node::QueryScope::Remote,
        Locality::Any => weft_node::QueryScope::Any,
    }
}
