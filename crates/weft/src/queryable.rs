//! Answering queries.

use weft_keyexpr::KeyExpr;
use weft_node::Locality;

use crate::declared::{Declared, keyed_handle};
use crate::error::Result;
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::key::IntoKeyExpr;
use crate::query::Query;
use crate::resolve::immediate;
use crate::session::Session;

/// Declares a [`Queryable`].
#[must_use = "nothing is declared before wait()"]
pub struct QueryableBuilder<'a, K, H = FifoChannel> {
    session: &'a Session,
    key: K,
    complete: bool,
    origin: Locality,
    auto_select: bool,
    handler: H,
}

impl<'a, K: IntoKeyExpr> QueryableBuilder<'a, K> {
    pub(crate) fn new(session: &'a Session, key: K) -> Self {
        let handler = FifoChannel::default();
        let origin = Locality::Any;
        Self { session, key, complete: false, origin, auto_select: false, handler }
    }
}

impl<'a, K: IntoKeyExpr, H> QueryableBuilder<'a, K, H> {
    /// Says that it has an answer for every key of its key expression. Default: no.
    pub const fn complete(mut self, value: bool) -> Self {
        self.complete = value;
        self
    }

    /// Whose queries it gets. Default: everybody's.
    pub const fn allowed_origin(mut self, value: Locality) -> Self {
        self.origin = value;
        self
    }

    /// Applies `_filter` and `_project` of a query to its replies: those that do not pass are not
    /// sent. If one of the two is malformed, one error reply says so, and nothing else is sent.
    /// Default: no; see [`Query::select`].
    pub const fn auto_select(mut self, value: bool) -> Self {
        self.auto_select = value;
        self
    }

    /// Calls `callback` with every query, on the thread that received it; with a query of this very
    /// session, on a thread that delivers events. A callback that takes its time stops the link that
    /// feeds it, and no other.
    pub fn callback<F: Fn(Query) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> QueryableBuilder<'a, K, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state: one query after the other.
    pub fn callback_mut<F: FnMut(Query) + Send + 'static>(
        self,
        callback: F,
    ) -> QueryableBuilder<'a, K, Callback<Query>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers queries to `handler`: a channel, a closure, or a pair of closure and object. Without
    /// this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Query>>(self, handler: N) -> QueryableBuilder<'a, K, N> {
        let Self { session, key, complete, origin, auto_select, .. } = self;
        QueryableBuilder { session, key, complete, origin, auto_select, handler }
    }
}

impl<K: IntoKeyExpr, H: IntoHandler<Query>> QueryableBuilder<'_, K, H> {
    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`](crate::Error::SessionClosed).
    pub fn wait(self) -> Result<Queryable<H::Handler>> {
        let session = &self.session.0;
        let key_expr = self.key.into_key_expr()?;
        let key = session.outward(&key_expr)?;
        let (callback, handler) = self.handler.into_handler();
        callback.name(&key_expr);
        let id = session.runtime.next_entity();
        // Queries may come before the declaration returns.
        session.core.add_queryable(id, callback, self.auto_select);
        let declared = Declared::new(session, id, move |session| session.end_queryable(id));
        let queryable = Queryable { declared, key_expr, handler };
        session.runtime.declare_queryable(id, &key, self.complete, self.origin);
        session.check_still_open()?;
        Ok(queryable)
    }
}

immediate!([K: IntoKeyExpr, H: IntoHandler<Query>]
    QueryableBuilder<'_, K, H> => Result<Queryable<H::Handler>>);

/// Gets the queries that match a key expression. Undeclared when dropped; see
/// [`Queryable::background`].
///
/// With a channel, it can be used like the channel's [`Receiver`].
///
/// ```no_run
/// # let session = weft::open(weft::Config::default()).wait()?;
/// let queryable = session.declare_queryable("demo/time").wait()?;
/// while let Ok(query) = queryable.recv() {
///     query.reply("demo/time", "now").wait()?;
/// }
/// # Ok::<(), weft::Error>(())
/// ```
pub struct Queryable<H = Receiver<Query>> {
    declared: Declared,
    key_expr: KeyExpr,
    handler: H,
}

keyed_handle!(Queryable);
