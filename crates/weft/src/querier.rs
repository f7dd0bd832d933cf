//! Queriers: asking for one key again and again.

use core::time::Duration;
use std::sync::{Arc, Weak};

use weft_keyexpr::{KeyExpr, Parameters};
use weft_node::{Locality, MatchOf};
use weft_wire::{
    CongestionControl, Consolidation, EntityGlobalId, Priority, Qos, QueryTarget, SourceInfo,
};

use crate::cancel::CancellationToken;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::get::{Asking, Extras, Quality, SelectMode, query_extras, query_quality};
use crate::handlers::{Callback, FifoChannel, IntoHandler};
use crate::key::IntoKeyExpr;
use crate::matching::{MatchingListenerBuilder, MatchingStatus};
use crate::query::ReplyKeyExpr;
use crate::reply::Reply;
use crate::resolve::immediate;
use crate::session::{Session, SessionInner};
use crate::zbytes::ZBytes;

/// Declares a [`Querier`].
#[must_use = "nothing is declared before wait()"]
pub struct QuerierBuilder<'a, K> {
    session: &'a Session,
    key: K,
    quality: Quality,
}

impl<'a, K: IntoKeyExpr> QuerierBuilder<'a, K> {
    pub(crate) fn new(session: &'a Session, key: K) -> Self {
        Self { session, key, quality: Quality::new(&session.0) }
    }

    query_quality!();

    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`].
    pub fn wait(self) -> Result<Querier> {
        let session = &self.session.0;
        let key_expr = self.key.into_key_expr()?;
        let key = session.outward(&key_expr)?;
        let of = MatchOf::Queryables(self.quality.target);
        let id = session.runtime.declare_querier(&key, of, self.quality.destination);
        let zid = session.core.zid;
        let weak = Arc::downgrade(session);
        let querier = Querier { session: weak, zid, id, key_expr, key, quality: self.quality };
        session.check_still_open()?;
        Ok(querier)
    }
}

immediate!([K: IntoKeyExpr] QuerierBuilder<'_, K> => Result<Querier>);

/// Asks for one key expression. Undeclared when dropped.
///
/// Cheaper than [`Session::get`]: the key travels as a number, and what nobody can answer is not
/// sent.
pub struct Querier {
    session: Weak<SessionInner>,
    zid: weft_wire::ZenohId,
    id: u32,
    key_expr: KeyExpr,
    /// As the network knows it.
    key: KeyExpr,
    quality: Quality,
}

impl Querier {
    /// Its identity.
    pub const fn id(&self) -> EntityGlobalId {
        EntityGlobalId { zid: self.zid, eid: self.id }
    }

    /// Its key expression.
    pub const fn key_expr(&self) -> &KeyExpr {
        &self.key_expr
    }

    /// On which keys replies may be.
    pub const fn accept_replies(&self) -> ReplyKeyExpr {
        self.quality.accept
    }

    /// Asks.
    pub fn get(&self) -> QuerierGetBuilder<'_> {
        QuerierGetBuilder {
            querier: self,
            parameters: Parameters::default(),
            extras: Extras::default(),
            handler: FifoChannel::default(),
        }
    }

    /// Whether any queryable matches now; for [`QueryTarget::AllComplete`], any complete one that
    /// covers the key expression.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn matching_status(&self) -> Result<MatchingStatus> {
        let session = self.session.upgrade().ok_or(Error::SessionClosed)?;
        session.check_open()?;
        Ok(MatchingStatus { matching: session.runtime.is_matching(self.id) })
    }

    /// Declares a listener of the matching status.
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        MatchingListenerBuilder {
            session: &self.session,
            sender: self.id,
            handler: FifoChannel::default(),
        }
    }

    /// Ends it, and its matching listeners. Queries under way go on.
    pub fn undeclare(self) {}
}

impl core::fmt::Debug for Querier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Querier").field("key_expr", &self.key_expr).finish_non_exhaustive()
    }
}

impl Drop for Querier {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.end_sender(self.id);
        }
    }
}

/// One query of a [`Querier`].
#[must_use = "nothing is asked before wait()"]
pub struct QuerierGetBuilder<'a, H = FifoChannel> {
    querier: &'a Querier,
    parameters: Parameters,
    extras: Extras,
    handler: H,
}

impl<'a, H> QuerierGetBuilder<'a, H> {
    query_extras!();

    /// Parameters of this query.
    pub fn parameters(mut self, value: impl Into<Parameters>) -> Self {
        self.parameters = value.into();
        self
    }

    /// Calls `callback` with every reply, on the thread that received it.
    pub fn callback<F: Fn(Reply) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> QuerierGetBuilder<'a, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state: one reply after the other.
    pub fn callback_mut<F: FnMut(Reply) + Send + 'static>(
        self,
        callback: F,
    ) -> QuerierGetBuilder<'a, Callback<Reply>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers replies to `handler`. Without this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Reply>>(self, handler: N) -> QuerierGetBuilder<'a, N> {
        let Self { querier, parameters, extras, .. } = self;
        QuerierGetBuilder { querier, parameters, extras, handler }
    }
}

impl<H: IntoHandler<Reply>> QuerierGetBuilder<'_, H> {
    /// Asks, and returns the receiver of the replies at once.
    ///
    /// # Errors
    /// As [`GetBuilder::wait`](crate::GetBuilder::wait).
    pub fn wait(self) -> Result<H::Handler> {
        let querier = self.querier;
        let session = querier.session.upgrade().ok_or(Error::SessionClosed)?;
        session.check_open()?;
        let query = Asking {
            id: session.runtime.next_entity(),
            key: querier.key.clone(),
            parameters: self.parameters,
            quality: &querier.quality,
            extras: &self.extras,
        };
        query.send(&session, self.handler)
    }
}

immediate!([H: IntoHandler<Reply>] QuerierGetBuilder<'_, H> => Result<H::Handler>);
