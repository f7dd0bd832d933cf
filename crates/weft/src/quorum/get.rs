//! A get that ends when enough repliers agree.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weft_keyexpr::{KeyExpr, Selector};
use weft_wire::{Consolidation, QueryTarget};

use super::votes::{TooMuch, Votes};
use super::{Agreement, QuorumEnd, QuorumError, checked};
use crate::cancel::CancellationToken;
use crate::error::{Error, Result};
use crate::get::{Asking, Extras, Quality};
use crate::handlers::Callback;
use crate::reply::Reply;
use crate::resolve::{Promise, Waiting};
use crate::session::{IntoSelector, Session, SessionInner};

/// A get that wants several repliers to agree: see [`GetBuilder::quorum`](crate::GetBuilder::quorum).
#[must_use = "nothing is asked before wait()"]
pub struct QuorumGet<'a, S> {
    session: &'a Session,
    selector: S,
    quality: Quality,
    extras: Extras,
    wanted: usize,
}

impl<'a, S: IntoSelector> QuorumGet<'a, S> {
    pub(crate) fn new(
        session: &'a Session,
        selector: S,
        quality: Quality,
        extras: Extras,
        wanted: usize,
    ) -> Self {
        // All are asked, and what each says is compared here.
        let (target, consolidation) = (QueryTarget::All, Consolidation::None);
        let quality = Quality { target, consolidation, ..quality };
        Self { session, selector, quality, extras, wanted }
    }

    /// Asks, and waits for the quorum or for the end of the query.
    ///
    /// Not for callbacks: replies may come over the link that the callback stops.
    ///
    /// # Errors
    /// [`Error::Quorum`] if no key has a quorum and no further reply will come; otherwise as
    /// [`GetBuilder::wait`](crate::GetBuilder::wait), and [`Error::SessionClosed`] or
    /// [`Error::Cancelled`] if that happens meanwhile.
    pub fn wait(self) -> Result<Agreement> {
        self.ask()?.block().unwrap_or(Err(Error::Cancelled))
    }

    fn ask(self) -> Result<Waiting<Result<Agreement>>> {
        let wanted = checked(self.wanted)?;
        let Selector { key_expr, parameters } = self.selector.into_selector()?;
        let session = &self.session.0;
        let key = session.outward(&key_expr)?;
        let id = session.runtime.next_entity();
        let (promise, waiting) = Waiting::new();
        let gathering = Arc::new(Gathering {
            session: Arc::downgrade(session),
            query: id,
            cancellation: self.extras.cancellation.clone(),
            one_key: (!key_expr.is_wild()).then_some(key_expr),
            said: Mutex::new(Said::new(wanted)),
            promise,
        });
        let ended = Arc::clone(&gathering);
        let heard = move |reply: Reply| gathering.hear(reply);
        let callback = Callback::with_drop(heard, move || ended.end());
        let (quality, extras) = (&self.quality, &self.extras);
        Asking { id, key, parameters, quality, extras }.send(session, callback)?;
        Ok(waiting)
    }
}

impl<S: IntoSelector> core::future::IntoFuture for QuorumGet<'_, S> {
    type Output = Result<Agreement>;
    type IntoFuture = Waiting<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.ask().unwrap_or_else(|error| Waiting::ready(Err(error)))
    }
}

/// A query and what its repliers said so far.
struct Gathering {
    session: Weak<SessionInner>,
    query: u32,
    cancellation: Option<CancellationToken>,
    /// If just one key is asked for: the query ends with its quorum.
    one_key: Option<KeyExpr>,
    said: Mutex<Said>,
    promise: Promise<Result<Agreement>>,
}

impl Gathering {
    /// Cost: a lock, and a comparison with each other word on the reply's key.
    fn hear(&self, reply: Reply) {
        let outcome = self.said().hear(reply, self.one_key.as_ref());
        if let Some(outcome) = outcome
            && self.promise.keep(outcome)
            && let Some(session) = self.session.upgrade()
        {
            session.forget_query(self.query);
        }
    }

    /// There will be no further reply.
    fn end(&self) {
        let is_cancelled = self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled);
        let session = self.session.upgrade();
        let outcome = if is_cancelled {
            Err(Error::Cancelled)
        } else if session.is_none_or(|session| session.runtime.is_closed()) {
            Err(Error::SessionClosed)
        } else {
            self.said().outcome()
        };
        self.promise.keep(outcome);
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Said {
    wanted: usize,
    votes: Votes,
    errors: usize,
    end: QuorumEnd,
}

impl Said {
    fn new(wanted: usize) -> Self {
        Self { wanted, votes: Votes::new(wanted), errors: 0, end: QuorumEnd::Answered }
    }

    /// Takes a reply; returns what comes of it if no further one is needed.
    fn hear(&mut self, reply: Reply, one_key: Option<&KeyExpr>) -> Option<Result<Agreement>> {
        let replier = reply.replier_id();
        match reply.into_result() {
            Ok(sample) => {
                let is_it = one_key == Some(&sample.key_expr);
                if let Err(TooMuch) = self.votes.add(replier, sample) {
                    self.end = QuorumEnd::TooMuch;
                    return Some(Err(self.missed()));
                }
                let agreed = one_key.filter(|_| is_it).and_then(|key| self.votes.agreed_on(key));
                agreed.is_some().then(|| self.outcome())
            }
            Err(error) if error.is_timeout() => {
                self.end = QuorumEnd::TimedOut;
                None
            }
            Err(_) => {
                self.errors += 1;
                None
            }
        }
    }

    fn outcome(&self) -> Result<Agreement> {
        self.votes.agreement().ok_or_else(|| self.missed())
    }

    fn missed(&self) -> Error {
        Error::Quorum(QuorumError {
            wanted: self.wanted,
            got: self.votes.most(),
            repliers: self.votes.repliers(),
            errors: self.errors,
            end: self.end,
        })
    }
}
