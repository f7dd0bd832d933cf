//! Whether anybody wants what a publisher sends or answers what a querier asks.
//!
//! Spec: 05 A.9. The status of a sender changes in the order of its events. A listener joins between
//! two of them and is called for every later change, in a lane of its own: its callback may declare
//! another listener and wait for its news.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use crate::declared::{Declared, handle};
use crate::error::{Error, Result};
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::listener::Listeners;
use crate::resolve::immediate;
use crate::session::SessionInner;

/// Whether anything matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatchingStatus {
    pub(crate) matching: bool,
}

impl MatchingStatus {
    /// Whether anything matches.
    pub const fn matching(self) -> bool {
        self.matching
    }
}

/// A publisher or querier.
#[derive(Default)]
struct Sender {
    matching: bool,
    listeners: Vec<u32>,
}

/// The matching listeners of a session.
#[derive(Default)]
pub(crate) struct Matching {
    listeners: Listeners<MatchingStatus>,
    senders: Mutex<HashMap<u32, Sender>>,
}

impl Matching {
    fn senders(&self) -> MutexGuard<'_, HashMap<u32, Sender>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The status of a sender has changed.
    pub(crate) fn changed(&self, sender: u32, matching: bool, tell: impl Fn(u32, MatchingStatus)) {
        let mut senders = self.senders();
        let sender = senders.entry(sender).or_default();
        sender.matching = matching;
        for id in &sender.listeners {
            tell(*id, MatchingStatus { matching });
        }
    }

    fn add(
        &self,
        sender: u32,
        id: u32,
        callback: Callback<MatchingStatus>,
        tell: impl Fn(u32, MatchingStatus),
    ) {
        self.listeners.add(id, callback);
        let mut senders = self.senders();
        let sender = senders.entry(sender).or_default();
        sender.listeners.push(id);
        if sender.matching {
            tell(id, MatchingStatus { matching: true });
        }
    }

    /// Calls a listener.
    pub(crate) fn call(&self, id: u32, status: MatchingStatus) {
        self.listeners.call(id, status);
    }

    fn end(&self, sender: u32, id: u32) {
        if let Some(sender) = self.senders().get_mut(&sender) {
            sender.listeners.retain(|other| *other != id);
        }
        self.listeners.end(id);
    }

    /// Ends the listeners of a sender that ends.
    pub(crate) fn end_sender(&self, sender: u32) {
        let ended = self.senders().get_mut(&sender).map(|it| std::mem::take(&mut it.listeners));
        for id in ended.into_iter().flatten() {
            self.listeners.end(id);
        }
    }

    /// Forgets a sender after its last event.
    pub(crate) fn forget(&self, sender: u32) {
        self.senders().remove(&sender);
    }

    pub(crate) fn close_all(&self) {
        self.listeners.close_all();
    }

    pub(crate) fn clear(&self) {
        self.senders().clear();
        self.listeners.clear();
    }
}

/// Declares a [`MatchingListener`].
#[must_use = "nothing is declared before wait()"]
pub struct MatchingListenerBuilder<'a, H = FifoChannel> {
    pub(crate) session: &'a Weak<SessionInner>,
    pub(crate) sender: u32,
    pub(crate) handler: H,
}

impl<'a, H> MatchingListenerBuilder<'a, H> {
    /// Calls `callback` with every change, one at a time.
    pub fn callback<F: Fn(MatchingStatus) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> MatchingListenerBuilder<'a, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(MatchingStatus) + Send + 'static>(
        self,
        callback: F,
    ) -> MatchingListenerBuilder<'a, Callback<MatchingStatus>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers changes to `handler`: a channel, a closure, or a pair of closure and object. Without
    /// this, to a FIFO of 256.
    pub fn with<N: IntoHandler<MatchingStatus>>(
        self,
        handler: N,
    ) -> MatchingListenerBuilder<'a, N> {
        MatchingListenerBuilder { session: self.session, sender: self.sender, handler }
    }
}

impl<H: IntoHandler<MatchingStatus>> MatchingListenerBuilder<'_, H> {
    /// Declares it. If something matches already, it is told so shortly, on the thread that delivers
    /// events.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn wait(self) -> Result<MatchingListener<H::Handler>> {
        let session = self.session.upgrade().ok_or(Error::SessionClosed)?;
        session.check_open()?;
        let (callback, handler) = self.handler.into_handler();
        let (sender, id) = (self.sender, session.runtime.next_entity());
        let core = &session.core;
        core.matching.add(sender, id, callback, |id, status| core.tell_matching(id, status));
        let end = move |session: &SessionInner| session.core.matching.end(sender, id);
        let listener = MatchingListener { declared: Declared::new(&session, id, end), handler };
        session.check_still_open()?;
        Ok(listener)
    }
}

immediate!([H: IntoHandler<MatchingStatus>]
    MatchingListenerBuilder<'_, H> => Result<MatchingListener<H::Handler>>);

/// Tells when the first match appears and when the last one goes.
///
/// Undeclared when dropped; see [`MatchingListener::background`]. Its channel closes, and its
/// callback is called no more, when its publisher or querier ends. With a channel, it can be used
/// like the channel's [`Receiver`].
pub struct MatchingListener<H = Receiver<MatchingStatus>> {
    declared: Declared,
    handler: H,
}

handle!(MatchingListener<H>, "its publisher or querier");

impl<H> core::fmt::Debug for MatchingListener<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MatchingListener").finish_non_exhaustive()
    }
}
