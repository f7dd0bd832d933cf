//! A put that returns when enough repliers have it.
//!
//! It is stamped, published, and then read back: the key is asked for, of all, until enough repliers have
//! a sample of it with this stamp or a newer one. Storages may store in their own time, so it asks again,
//! with growing pauses. Rounds follow each other: a replier that keeps one waiting delays the next, by a
//! time that grows as well, so that slow networks get the time that they need.

use core::time::Duration;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use weft_keyexpr::{KeyExpr, Parameters};
use weft_node::Locality;
use weft_wire::{CongestionControl, Consolidation, EntityGlobalId, Qos, QueryTarget, Timestamp};

use super::{QuorumEnd, QuorumError, REPLIERS_MAX, checked};
use crate::acknowledge::ACKNOWLEDGE;
use crate::error::{Error, Result};
use crate::get::{Asking, Extras, Quality};
use crate::handlers::Callback;
use crate::reply::Reply;
use crate::resolve::{Promise, Waiting};
use crate::session::SessionInner;

/// The pause after the first round. Each one is twice the one before, up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_millis(10);

/// The longest pause between two rounds.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long the first round waits for repliers. Each one waits twice as long as the one before.
const PATIENCE_FIRST: Duration = Duration::from_millis(250);

/// A put that several repliers are to have: see [`PutBuilder::quorum`](crate::PutBuilder::quorum).
#[must_use = "nothing is published before wait()"]
pub struct QuorumPut<'a> {
    write: Write<'a>,
    wanted: usize,
    timeout: Option<Duration>,
}

/// Publishes and tells what.
pub(crate) type Write<'a> = Box<dyn FnOnce() -> Result<Written> + 'a>;

/// What was put.
pub(crate) struct Written {
    pub(crate) session: Arc<SessionInner>,
    /// As the application knows it.
    pub(crate) key: KeyExpr,
    pub(crate) stamp: Timestamp,
    pub(crate) qos: Qos,
    pub(crate) destination: Locality,
}

impl<'a> QuorumPut<'a> {
    pub(crate) fn new(write: Write<'a>, wanted: usize) -> Self {
        Self { write, wanted, timeout: None }
    }

    /// How long it may take until enough have it. Default: `queries_default_timeout`, 10 s.
    pub const fn timeout(mut self, value: Duration) -> Self {
        self.timeout = Some(value);
        self
    }

    /// Publishes, and waits until enough repliers have it. Returns the stamp that it was put with.
    ///
    /// Not for callbacks: replies may come over the link that the callback stops.
    ///
    /// # Errors
    /// [`Error::Quorum`] if too few are known to have it when the time is over; it was published all the
    /// same. Otherwise as [`PutBuilder::wait`](crate::PutBuilder::wait), [`Error::Argument`] for a key
    /// with wildcards, and [`Error::SessionClosed`] if that happens meanwhile.
    pub fn wait(self) -> Result<Timestamp> {
        self.start()?.block().unwrap_or(Err(Error::Cancelled))
    }

    fn start(self) -> Result<Waiting<Result<Timestamp>>> {
        let wanted = checked(self.wanted)?;
        let Written { session, key, stamp, qos, destination } = (self.write)()?;
        let timeout = self.timeout.unwrap_or(session.queries_timeout);
        let (promise, waiting) = Waiting::new();
        let quality = Quality {
            target: QueryTarget::All,
            consolidation: Consolidation::None,
            qos: Qos::new(qos.priority(), CongestionControl::Block, qos.express()),
            destination,
            ..Quality::new(&session)
        };
        let started = Instant::now();
        let reading = Arc::new(Reading {
            id: session.runtime.next_entity(),
            outward: session.outward(&key)?,
            session: Arc::downgrade(&session),
            key,
            stamp,
            wanted,
            quality,
            deadline: started.checked_add(timeout),
            progress: Mutex::default(),
            promise,
        });
        reading.ask(&session, 0);
        Ok(waiting)
    }
}

impl core::future::IntoFuture for QuorumPut<'_> {
    type Output = Result<Timestamp>;
    type IntoFuture = Waiting<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.start().unwrap_or_else(|error| Waiting::ready(Err(error)))
    }
}

/// Reading back what was put. The callback of the round under way, or the alarm of the next one, keeps
/// it; when both are gone, the session is.
struct Reading {
    /// Of its alarms.
    id: u32,
    session: Weak<SessionInner>,
    key: KeyExpr,
    /// The key as the network knows it.
    outward: KeyExpr,
    stamp: Timestamp,
    wanted: usize,
    quality: Quality,
    /// `None` is never.
    deadline: Option<Instant>,
    progress: Mutex<Progress>,
    promise: Promise<Result<Timestamp>>,
}

#[derive(Default)]
struct Progress {
    /// The query under way.
    query: u32,
    /// Who answered, whatever that was.
    repliers: HashSet<Option<EntityGlobalId>>,
    /// Who has it.
    confirmed: HashSet<Option<EntityGlobalId>>,
    errors: usize,
}

impl Reading {
    /// Asks who has it. `round` counts from 0.
    fn ask(self: &Arc<Self>, session: &Arc<SessionInner>, round: u32) {
        let left = self.left();
        if left.is_zero() {
            return self.fail(QuorumEnd::TimedOut);
        }
        let query = session.runtime.next_entity();
        self.progress().query = query;
        let (hearing, ending) = (Arc::clone(self), Arc::clone(self));
        let callback = Callback::with_drop(
            move |reply| hearing.hear(reply),
            move || ending.pause_after(round),
        );
        let patience = grown(PATIENCE_FIRST, round).min(left);
        let quality = Quality { timeout: patience, ..self.quality.clone() };
        let mut parameters = Parameters::default();
        parameters.insert_raw(ACKNOWLEDGE, "");
        let asking = Asking {
            id: query,
            key: self.outward.clone(),
            parameters,
            quality: &quality,
            extras: &Extras::default(),
        };
        // What fails drops the callback, and with the session this.
        let _ = asking.send(session, callback);
    }

    fn hear(&self, reply: Reply) {
        let replier = reply.replier_id();
        let mut progress = self.progress();
        match reply.into_result() {
            Ok(sample) if sample.key_expr == self.key => {
                progress.repliers.insert(replier);
                if sample.timestamp.is_some_and(|stamp| stamp >= self.stamp) {
                    progress.confirmed.insert(replier);
                }
            }
            Ok(_) => return,
            Err(error) => {
                progress.errors += usize::from(!error.is_timeout());
                return;
            }
        }
        let query = progress.query;
        let (repliers, confirmed) = (progress.repliers.len(), progress.confirmed.len());
        drop(progress);
        if confirmed >= self.wanted {
            self.finish(query, Ok(self.stamp));
        } else if repliers > REPLIERS_MAX {
            self.finish(query, Err(self.missed(QuorumEnd::TooMuch)));
        }
    }

    /// A round has ended.
    fn pause_after(self: &Arc<Self>, round: u32) {
        if self.promise.is_kept() {
            return;
        }
        let Some(session) = self.session.upgrade() else { return };
        let pause = grown(PAUSE_FIRST, round).min(PAUSE_MAX).min(self.left());
        let reading = Arc::clone(self);
        session.runtime.call_after(pause, self.id, move || {
            if let Some(session) = reading.session.upgrade() {
                reading.ask(&session, round.saturating_add(1));
            }
        });
    }

    fn left(&self) -> Duration {
        let left = |at: Instant| at.saturating_duration_since(Instant::now());
        self.deadline.map_or(Duration::MAX, left)
    }

    fn fail(&self, end: QuorumEnd) {
        self.promise.keep(Err(self.missed(end)));
    }

    /// Keeps the promise in the middle of a round.
    fn finish(&self, query: u32, outcome: Result<Timestamp>) {
        if self.promise.keep(outcome)
            && let Some(session) = self.session.upgrade()
        {
            session.forget_query(query);
        }
    }

    fn missed(&self, end: QuorumEnd) -> Error {
        let progress = self.progress();
        Error::Quorum(QuorumError {
            wanted: self.wanted,
            got: progress.confirmed.len(),
            repliers: progress.repliers.len(),
            errors: progress.errors,
            end,
        })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.promise.keep(Err(Error::SessionClosed));
    }
}

/// `first`, doubled `times` times.
fn grown(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX))
}
