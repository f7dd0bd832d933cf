//! Telling the application which samples it will not get.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use weft_wire::EntityGlobalId;

use crate::declared::{Declared, handle};
use crate::error::{Error, Result};
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::resolve::immediate;
use crate::session::SessionInner;

use super::subscriber::Inner;

/// Samples of a publisher that a subscriber did not get and will not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Miss {
    /// The publisher.
    pub source: EntityGlobalId,
    /// How many of its samples in a row.
    pub count: u32,
}

/// The miss listeners of one subscriber, by id.
#[derive(Default)]
pub(super) struct MissListeners(Mutex<Vec<u32>>);

impl MissListeners {
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls all of them.
    pub(super) fn call(&self, session: &SessionInner, miss: Miss) {
        let ids = self.lock().clone();
        for id in ids {
            session.core.misses.call(id, miss);
        }
    }

    /// Ends all of them.
    pub(super) fn end(&self, session: &SessionInner) {
        let ids = std::mem::take(&mut *self.lock());
        for id in ids {
            session.core.misses.end(id);
        }
    }
}

/// Declares a [`SampleMissListener`].
#[must_use = "nothing is declared before wait()"]
pub struct SampleMissListenerBuilder<'a, H = FifoChannel> {
    pub(super) inner: &'a Weak<Inner>,
    pub(super) handler: H,
}

impl<'a, H> SampleMissListenerBuilder<'a, H> {
    /// Calls `callback` with every miss, in order with the samples around it.
    pub fn callback<F: Fn(Miss) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> SampleMissListenerBuilder<'a, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(Miss) + Send + 'static>(
        self,
        callback: F,
    ) -> SampleMissListenerBuilder<'a, Callback<Miss>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers misses to `handler`: a channel, a closure, or a pair of closure and object. Without
    /// this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Miss>>(self, handler: N) -> SampleMissListenerBuilder<'a, N> {
        SampleMissListenerBuilder { inner: self.inner, handler }
    }
}

impl<H: IntoHandler<Miss>> SampleMissListenerBuilder<'_, H> {
    /// Declares it.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn wait(self) -> Result<SampleMissListener<H::Handler>> {
        let inner = self.inner.upgrade().ok_or(Error::SessionClosed)?;
        let session = inner.session()?;
        let (callback, handler) = self.handler.into_handler();
        callback.name(&inner.key_expr);
        let id = session.runtime.next_entity();
        session.core.misses.add(id, callback);
        inner.misses.lock().push(id);
        let weak = Weak::clone(self.inner);
        let declared = Declared::new(&session, id, move |session| {
            if let Some(inner) = weak.upgrade() {
                inner.misses.lock().retain(|other| *other != id);
            }
            session.core.misses.end(id);
        });
        session.check_still_open()?;
        Ok(SampleMissListener { declared, handler })
    }
}

immediate!([H: IntoHandler<Miss>]
    SampleMissListenerBuilder<'_, H> => Result<SampleMissListener<H::Handler>>);

/// Tells which samples an [`AdvancedSubscriber`](super::AdvancedSubscriber) did not get.
///
/// Undeclared when dropped; see [`SampleMissListener::background`]. It ends with its subscriber. With
/// a channel, it can be used like the channel's [`Receiver`].
pub struct SampleMissListener<H = Receiver<Miss>> {
    declared: Declared,
    handler: H,
}

handle!(SampleMissListener<H>, "its subscriber");

impl<H> core::fmt::Debug for SampleMissListener<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SampleMissListener").finish_non_exhaustive()
    }
}
