//! Liveliness: tokens that say that something is alive, and those who watch them.

use core::time::Duration;
use std::sync::{Arc, Weak};

use weft_keyexpr::KeyExpr;

use crate::cancel::CancellationToken;
use crate::declared::{Declared, keyed_handle};
use crate::error::{Error, Result};
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::key::IntoKeyExpr;
use crate::reply::Reply;
use crate::resolve::immediate;
use crate::sample::Sample;
use crate::session::{Session, SessionInner};

/// The liveliness side of a session.
#[derive(Clone, Copy, Debug)]
pub struct Liveliness<'a> {
    pub(crate) session: &'a Session,
}

impl<'a> Liveliness<'a> {
    /// Declares a token. It is alive while it, its session and the connection last.
    pub fn declare_token<K: IntoKeyExpr>(&self, key: K) -> TokenBuilder<'a, K> {
        TokenBuilder { session: self.session, key }
    }

    /// Declares a subscriber of tokens: PUT when one appears, DELETE when it disappears.
    pub fn declare_subscriber<K: IntoKeyExpr>(&self, key: K) -> LivelinessSubscriberBuilder<'a, K> {
        LivelinessSubscriberBuilder {
            session: self.session,
            key,
            history: false,
            handler: FifoChannel::default(),
        }
    }

    /// Asks which tokens are alive.
    pub fn get<K: IntoKeyExpr>(&self, key: K) -> LivelinessGetBuilder<'a, K> {
        LivelinessGetBuilder {
            session: self.session,
            key,
            timeout: self.session.0.queries_timeout,
            cancellation: None,
            handler: FifoChannel::default(),
        }
    }
}

/// Declares a [`LivelinessToken`].
#[must_use = "nothing is declared before wait()"]
pub struct TokenBuilder<'a, K> {
    session: &'a Session,
    key: K,
}

impl<K: IntoKeyExpr> TokenBuilder<'_, K> {
    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`].
    pub fn wait(self) -> Result<LivelinessToken> {
        let session = &self.session.0;
        let key_expr = self.key.into_key_expr()?;
        let id = session.runtime.declare_token(&session.outward(&key_expr)?);
        let token = LivelinessToken { session: Arc::downgrade(session), id, key_expr };
        session.check_still_open()?;
        Ok(token)
    }
}

immediate!([K: IntoKeyExpr] TokenBuilder<'_, K> => Result<LivelinessToken>);

/// Says that something is alive, until it is dropped.
#[derive(Debug)]
#[must_use = "the token ends when it is dropped"]
pub struct LivelinessToken {
    session: Weak<SessionInner>,
    id: u32,
    key_expr: KeyExpr,
}

impl LivelinessToken {
    /// Its key.
    pub const fn key_expr(&self) -> &KeyExpr {
        &self.key_expr
    }

    /// Ends it.
    pub fn undeclare(self) {}
}

impl Drop for LivelinessToken {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.runtime.undeclare_token(self.id);
        }
    }
}

/// Declares a [`LivelinessSubscriber`].
#[must_use = "nothing is declared before wait()"]
pub struct LivelinessSubscriberBuilder<'a, K, H = FifoChannel> {
    session: &'a Session,
    key: K,
    history: bool,
    handler: H,
}

impl<'a, K: IntoKeyExpr, H> LivelinessSubscriberBuilder<'a, K, H> {
    /// Whether tokens that are alive already are reported first. Default: no.
    pub const fn history(mut self, value: bool) -> Self {
        self.history = value;
        self
    }

    /// Calls `callback` with every change, one at a time and in order.
    pub fn callback<F: Fn(Sample) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> LivelinessSubscriberBuilder<'a, K, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(Sample) + Send + 'static>(
        self,
        callback: F,
    ) -> LivelinessSubscriberBuilder<'a, K, Callback<Sample>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers changes to `handler`. Without this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Sample>>(self, handler: N) -> LivelinessSubscriberBuilder<'a, K, N> {
        let Self { session, key, history, .. } = self;
        LivelinessSubscriberBuilder { session, key, history, handler }
    }
}

impl<K: IntoKeyExpr, H: IntoHandler<Sample>> LivelinessSubscriberBuilder<'_, K, H> {
    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`].
    pub fn wait(self) -> Result<LivelinessSubscriber<H::Handler>> {
        let session = &self.session.0;
        let key_expr = self.key.into_key_expr()?;
        let key = session.outward(&key_expr)?;
        let (callback, handler) = self.handler.into_handler();
        callback.name(&key_expr);
        let id = session.runtime.next_entity();
        session.core.token_subscribers.add(id, callback);
        let declared = Declared::new(session, id, move |session| {
            session.runtime.undeclare_token_subscriber(id);
            session.core.token_subscribers.end(id);
        });
        let subscriber = LivelinessSubscriber { declared, key_expr, handler };
        session.runtime.declare_token_subscriber(id, &key, self.history);
        session.check_still_open()?;
        Ok(subscriber)
    }
}

immediate!([K: IntoKeyExpr, H: IntoHandler<Sample>]
    LivelinessSubscriberBuilder<'_, K, H> => Result<LivelinessSubscriber<H::Handler>>);

/// Watches tokens. Undeclared when dropped; see [`LivelinessSubscriber::background`].
pub struct LivelinessSubscriber<H = Receiver<Sample>> {
    declared: Declared,
    key_expr: KeyExpr,
    handler: H,
}

keyed_handle!(LivelinessSubscriber);

/// Asks which tokens are alive: one PUT reply for each.
#[must_use = "nothing is asked before wait()"]
pub struct LivelinessGetBuilder<'a, K, H = FifoChannel> {
    session: &'a Session,
    key: K,
    timeout: Duration,
    cancellation: Option<CancellationToken>,
    handler: H,
}

impl<'a, K: IntoKeyExpr, H> LivelinessGetBuilder<'a, K, H> {
    /// How long answers may take. Default: `queries_default_timeout`, 10 s.
    pub const fn timeout(mut self, value: Duration) -> Self {
        self.timeout = value;
        self
    }

    /// Lets `token` end the query.
    pub fn cancellation_token(mut self, token: &CancellationToken) -> Self {
        self.cancellation = Some(token.clone());
        self
    }

    /// Calls `callback` with every reply.
    pub fn callback<F: Fn(Reply) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> LivelinessGetBuilder<'a, K, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(Reply) + Send + 'static>(
        self,
        callback: F,
    ) -> LivelinessGetBuilder<'a, K, Callback<Reply>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers replies to `handler`. Without this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Reply>>(self, handler: N) -> LivelinessGetBuilder<'a, K, N> {
        let Self { session, key, timeout, cancellation, .. } = self;
        LivelinessGetBuilder { session, key, timeout, cancellation, handler }
    }
}

impl<K: IntoKeyExpr, H: IntoHandler<Reply>> LivelinessGetBuilder<'_, K, H> {
    /// Asks, and returns the receiver of the replies at once.
    ///
    /// # Errors
    /// If the key expression is not canonical, [`Error::SessionClosed`], or [`Error::Cancelled`] if
    /// the token was cancelled before.
    pub fn wait(self) -> Result<H::Handler> {
        let session = &self.session.0;
        let key = session.outward(self.key)?;
        let id = session.runtime.next_entity();
        if self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(Error::Cancelled);
        }
        let (callback, receiver) = self.handler.into_handler();
        callback.name(&key);
        let ending = session.core.add_token_get(id, callback);
        session.pending(id, ending, self.cancellation.as_ref())?;
        let timeout_us = self.timeout.as_micros().min(u128::from(u64::MAX)) as u64;
        session.runtime.query_tokens(id, &key, timeout_us);
        Ok(receiver)
    }
}

immediate!([K: IntoKeyExpr, H: IntoHandler<Reply>]
    LivelinessGetBuilder<'_, K, H> => Result<H::Handler>);
