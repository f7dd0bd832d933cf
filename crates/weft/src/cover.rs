//! Gets that know whether whom they ask covers what they ask for.
//!
//! What neighbours declare is learned as a querier learns it, by an interest in the queryables that match;
//! it is waited for until they have told all. A query is covered if the key expression of *one* complete
//! queryable includes its own. That several complete ones cover it together is not found out.
//!
//! The cover that a query had is complete if it was covered when it was asked and still is at its end,
//! everybody who was asked has ended its answers, and nobody sent an error. A replier that leaves ends its
//! answers for it, as the protocol has it; the look at the end notices that once its declaration is gone.

use core::fmt;
use core::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use weft_keyexpr::{KeyExpr, Selector};
use weft_node::MatchOf;
use weft_wire::QueryTarget;

use crate::error::{Error, Result};
use crate::get::{Asking, Extras, Quality};
use crate::handlers::IntoHandler;
use crate::reply::Reply;
use crate::resolve::{Promise, Waiting};
use crate::session::{IntoSelector, Session, SessionInner};

/// Whom a get asks, and whether they have to cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cover {
    target: QueryTarget,
    is_partial_wanted: bool,
}

impl Cover {
    /// One covering queryable, the nearest by the cost of the way.
    pub const NEAREST: Self = Self { target: QueryTarget::BestMatching, is_partial_wanted: false };

    /// All that match, of which one at least has to cover the query.
    pub const ALL: Self = Self { target: QueryTarget::All, is_partial_wanted: false };

    /// Takes what there is if nobody covers the query: all that match are asked then.
    pub const fn or_partial(self) -> Self {
        Self { is_partial_wanted: true, ..self }
    }
}

/// No complete queryable is known that covers the query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoverError {
    /// What is not covered.
    pub key: KeyExpr,
    /// The complete queryables that match a part of it.
    pub complete: Vec<KeyExpr>,
    /// The other queryables that match.
    pub incomplete: Vec<KeyExpr>,
}

impl fmt::Display for CoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, complete, incomplete } = self;
        write!(
            f,
            "no complete queryable covers `{key}`: {} cover a part of it, {} are not complete",
            complete.len(),
            incomplete.len()
        )
    }
}

impl std::error::Error for CoverError {}

/// A get with a cover: see [`GetBuilder::cover`](crate::GetBuilder::cover).
#[must_use = "nothing is asked before wait()"]
pub struct CoverGet<'a, S, H> {
    session: &'a Session,
    selector: S,
    quality: Quality,
    extras: Extras,
    handler: H,
    cover: Cover,
}

impl<'a, S: IntoSelector, H> CoverGet<'a, S, H> {
    pub(crate) fn new(
        session: &'a Session,
        selector: S,
        quality: Quality,
        extras: Extras,
        handler: H,
        cover: Cover,
    ) -> Self {
        let quality = Quality { target: cover.target, ..quality };
        Self { session, selector, quality, extras, handler, cover }
    }
}

impl<S, H> CoverGet<'_, S, H>
where
    S: IntoSelector,
    H: IntoHandler<Reply> + Send + 'static,
    H::Handler: Send,
{
    /// Waits until neighbours have told what they have, asks, and returns the receiver of the replies.
    ///
    /// Not for callbacks: what neighbours tell may come over the link that the callback stops.
    ///
    /// # Errors
    /// [`Error::Cover`] if nobody covers the query and a partial cover is not wanted; nobody is asked then.
    /// Otherwise as [`GetBuilder::wait`](crate::GetBuilder::wait).
    pub fn wait(self) -> Result<Covered<H::Handler>> {
        self.start()?.block().unwrap_or(Err(Error::Cancelled))
    }

    fn start(self) -> Result<Waiting<Result<Covered<H::Handler>>>> {
        let Self { session, quality, mut extras, handler, cover, .. } = self;
        let Selector { key_expr, parameters } = self.selector.into_selector()?;
        let session = &session.0;
        let key = session.outward(&key_expr)?;
        let querier = session.runtime.next_entity();
        let course = Arc::new(Course {
            session: Arc::downgrade(session),
            querier,
            key: key.clone(),
            is_covered: OnceLock::new(),
            is_failed: AtomicBool::new(false),
            is_complete: AtomicBool::new(false),
        });
        let (promise, waiting) = Waiting::new();
        let promise = Answer(promise);
        let (of, destination) = (MatchOf::Queryables(quality.target), quality.destination);
        let asking = Arc::clone(&course);
        let interest = key.clone();
        let ask = move || {
            let Some(session) = asking.session.upgrade() else { return };
            let outcome = asking.decide(&session, &key_expr, cover).and_then(|()| {
                extras.course = Some(Arc::clone(&asking));
                let id = session.runtime.next_entity();
                let (quality, extras) = (&quality, &extras);
                Asking { id, key, parameters, quality, extras }.send(&session, handler)
            });
            promise.0.keep(outcome.map(|handler| Covered { course: asking, handler }));
        };
        session.core.when_known(querier, Box::new(ask));
        session.runtime.declare_querier_as(querier, &interest, of, destination);
        session.check_still_open()?;
        Ok(waiting)
    }
}

impl<S, H> core::future::IntoFuture for CoverGet<'_, S, H>
where
    S: IntoSelector,
    H: IntoHandler<Reply> + Send + 'static,
    H::Handler: Send,
{
    type Output = Result<Covered<H::Handler>>;
    type IntoFuture = Waiting<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.start().unwrap_or_else(|error| Waiting::ready(Err(error)))
    }
}

/// A promise that is kept when nobody else can any more.
struct Answer<T>(Promise<Result<T>>);

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.0.keep(Err(Error::SessionClosed));
    }
}

/// What becomes of a query with a cover.
#[derive(Debug)]
pub(crate) struct Course {
    session: Weak<SessionInner>,
    /// The interest, which ends with the query.
    querier: u32,
    /// As the network knows it.
    key: KeyExpr,
    is_covered: OnceLock<bool>,
    is_failed: AtomicBool,
    is_complete: AtomicBool,
}

impl Course {
    /// Whether it may be asked.
    fn decide(&self, session: &SessionInner, key: &KeyExpr, cover: Cover) -> Result<()> {
        let known = session.runtime.matching_queryables(self.querier);
        let is_covered = covers(&known, &self.key);
        let _ = self.is_covered.set(is_covered);
        if is_covered || cover.is_partial_wanted {
            return Ok(());
        }
        let inward = |it: (KeyExpr, bool)| Some((session.core.namespace.inward(&it.0)?, it.1));
        let (complete, incomplete): (Vec<_>, Vec<_>) =
            known.into_iter().filter_map(inward).partition(|(_, is_complete)| *is_complete);
        let keys = |known: Vec<(KeyExpr, bool)>| known.into_iter().map(|(key, _)| key).collect();
        let (complete, incomplete) = (keys(complete), keys(incomplete));
        Err(Error::Cover(CoverError { key: key.clone(), complete, incomplete }))
    }

    /// Somebody has not answered as asked.
    pub(crate) fn failed(&self) {
        self.is_failed.store(true, Ordering::Relaxed);
    }

    /// Everybody who was asked has ended.
    pub(crate) fn ended(&self) {
        let Some(session) = self.session.upgrade() else { return };
        let known = session.runtime.matching_queryables(self.querier);
        let is_complete = self.is_covered()
            && !self.is_failed.load(Ordering::Relaxed)
            && covers(&known, &self.key);
        self.is_complete.store(is_complete, Ordering::Release);
        session.end_sender(self.querier);
    }

    fn is_covered(&self) -> bool {
        self.is_covered.get().is_some_and(|it| *it)
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.end_sender(self.querier);
        }
    }
}

/// Whether one of the complete queryables includes `key`.
fn covers(queryables: &[(KeyExpr, bool)], key: &KeyExpr) -> bool {
    queryables.iter().any(|(other, is_complete)| *is_complete && other.includes(key.as_ke()))
}

/// The receiver of the replies to a get with a cover, and how much that was. Can be used like the receiver.
pub struct Covered<H> {
    course: Arc<Course>,
    handler: H,
}

impl<H> Covered<H> {
    /// Whether a complete queryable was known that covers the query when it was asked.
    pub fn is_covered(&self) -> bool {
        self.course.is_covered()
    }

    /// Whether the replies are all that a complete cover has to say: after the last one, and if somebody
    /// covered the query to its end and nobody failed to answer. False before.
    pub fn is_complete(&self) -> bool {
        self.course.is_complete.load(Ordering::Acquire)
    }

    /// What the handler was split into; for a channel, its receiver.
    pub const fn handler(&self) -> &H {
        &self.handler
    }
}

impl<H> Deref for Covered<H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.handler
    }
}

impl<H> fmt::Debug for Covered<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Covered")
            .field("is_covered", &self.is_covered())
            .field("is_complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}
