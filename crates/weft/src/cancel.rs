//! Cancelling queries, and knowing that none of their callbacks runs any more.
//!
//! Spec: 05 A.10.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::listener::Ending;
use crate::session::SessionInner;

/// One query that a token cancels.
pub(crate) struct Cancellable {
    pub(crate) session: Weak<SessionInner>,
    pub(crate) query: u32,
    pub(crate) ending: Ending,
}

#[derive(Default)]
struct State {
    cancelled: bool,
    queries: Vec<Cancellable>,
    /// Ended queries are forgotten when there are so many.
    prune_at: usize,
}

/// Ends the queries that it was given to. One token may go to any number of them.
///
/// Dropping a token cancels nothing.
///
/// ```no_run
/// # let session = weft::open(weft::Config::default()).wait()?;
/// let token = weft::CancellationToken::new();
/// let replies = session.get("demo/**").cancellation_token(&token).wait()?;
/// token.cancel();
/// assert!(replies.recv().is_err());
/// # Ok::<(), weft::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CancellationToken(Arc<Mutex<State>>);

impl CancellationToken {
    /// A token that cancels nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all its queries: their handlers get no further reply and no error. Returns when none of
    /// their callbacks runs any more and all are dropped; called from a handler, it does not wait for
    /// those that run. Further calls do nothing.
    pub fn cancel(&self) {
        let queries = {
            let mut state = self.lock();
            state.cancelled = true;
            std::mem::take(&mut state.queries)
        };
        for cancelled in &queries {
            cancelled.ending.close();
            if let Some(session) = cancelled.session.upgrade() {
                session.forget_query(cancelled.query);
            }
        }
        for cancelled in &queries {
            cancelled.ending.wait();
        }
    }

    /// Whether [`CancellationToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// Adds a query; returns false if the token was cancelled before.
    pub(crate) fn add(&self, query: Cancellable) -> bool {
        const PRUNE_MIN: usize = 16;
        let mut state = self.lock();
        if state.cancelled {
            return false;
        }
        if state.queries.len() >= state.prune_at {
            state.queries.retain(|other| !other.ending.is_gone());
            state.prune_at = PRUNE_MIN.max(2 * state.queries.len());
        }
        state.queries.push(query);
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl core::fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CancellationToken").field("is_cancelled", &self.is_cancelled()).finish()
    }
}
