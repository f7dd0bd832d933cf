//! Between the state of an advanced subscriber and its session: what arrives goes in, what comes out is
//! delivered, asked and timed.
//!
//! No lock is held while a handler runs or a question is sent.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use weft_keyexpr::{KeyExpr, Parameters, Selector, SnRange};
use weft_wire::{Consolidation, QueryTarget};

use crate::cancel::CancellationToken;
use crate::error::{Error, Result};
use crate::ext::miss::MissListeners;
use crate::ext::outbox::{Outbox, Outputs};
use crate::ext::recovery::{About, Output, Question, Recovery, Rules, SourceId, Topic};
use crate::ext::{keys, serialization};
use crate::handlers::Callback;
use crate::listener::Listener;
use crate::query::ReplyKeyExpr;
use crate::reply::Reply;
use crate::sample::{Sample, SampleKind, SampleView};
use crate::session::{Session, SessionInner};

/// What the callbacks of the parts share.
pub(in crate::ext) struct Inner {
    session: Weak<SessionInner>,
    pub(in crate::ext) key_expr: KeyExpr,
    /// Parameters of queries for history.
    history: Parameters,
    timeout: Duration,
    /// The time 0 of what follows.
    origin: Instant,
    /// What its timers are in order with.
    lane: u32,
    outbox: Outbox<Waking>,
    /// The application's handler, until the end.
    listener: Mutex<Option<Arc<Listener<Sample>>>>,
    pub(in crate::ext) misses: MissListeners,
    /// All its queries.
    queries: CancellationToken,
    /// What it is built from: declarations that end when they are dropped. They refer to this by their
    /// callbacks only, which the session holds.
    parts: Mutex<Vec<Box<dyn Send>>>,
}

/// The state, and when a timer will look at it.
struct Waking {
    recovery: Recovery,
    wakes_at_us: Option<u64>,
}

impl Outputs for Waking {
    type Item = Output;

    fn outputs(&mut self) -> &mut VecDeque<Output> {
        &mut self.recovery.outputs
    }
}

impl Inner {
    pub(super) fn new(
        session: &Session,
        key_expr: KeyExpr,
        rules: Rules,
        history: Parameters,
        timeout: Duration,
        handler: Callback<Sample>,
    ) -> Self {
        Self {
            session: Arc::downgrade(&session.0),
            key_expr,
            history,
            timeout,
            origin: Instant::now(),
            lane: session.0.runtime.next_entity(),
            outbox: Outbox::new(Waking { recovery: Recovery::new(rules), wakes_at_us: None }),
            listener: Mutex::new(Some(Listener::new(handler))),
            misses: MissListeners::default(),
            queries: CancellationToken::new(),
            parts: Mutex::default(),
        }
    }

    /// The subscriber is declared: asks for the history.
    pub(super) fn start(self: &Arc<Self>) {
        self.change(|_, _| ());
    }

    /// Keeps the declarations until the end.
    pub(super) fn own(&self, parts: Vec<Box<dyn Send>>) {
        *lock(&self.parts) = parts;
    }

    pub(in crate::ext) fn session(&self) -> Result<Arc<SessionInner>> {
        self.session.upgrade().ok_or(Error::SessionClosed)
    }

    pub(super) fn live(self: &Arc<Self>, sample: Sample) {
        self.change(|recovery, now_us| recovery.live(sample, now_us));
    }

    fn reply(self: &Arc<Self>, reply: Reply) {
        let Ok(sample) = reply.into_result() else { return };
        if sample.key_expr().intersects(&self.key_expr) {
            self.change(|recovery, now_us| recovery.replied(sample, now_us));
        }
    }

    pub(super) fn heartbeat(self: &Arc<Self>, view: &SampleView<'_>) {
        let key = view.key_expr().to_owned();
        let Some(SourceId::Numbered(source)) = keys::source_of(&key) else { return };
        let payload = view.payload().into();
        if let (SampleKind::Put, Ok(sn)) = (view.kind(), serialization::deserialize(&payload)) {
            self.change(|recovery, now_us| recovery.heartbeat(source, &key, sn, now_us));
        }
    }

    pub(super) fn token(self: &Arc<Self>, token: &Sample) {
        let Some(source) = keys::source_of(token.key_expr()) else { return };
        self.change(|recovery, now_us| match token.kind() {
            SampleKind::Put => recovery.appeared(source, token.key_expr(), now_us),
            SampleKind::Delete => recovery.disappeared(source),
        });
    }

    /// Changes the state and does what comes of it.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut Recovery, u64)) {
        let (questions, wake_at_us) = self.outbox.change(|state| {
            let now_us = self.now_us();
            change(&mut state.recovery, now_us);
            let due_us = state.recovery.due_us();
            let wake_at_us = due_us.filter(|due| state.wakes_at_us.is_none_or(|at| *due < at));
            state.wakes_at_us = wake_at_us.or(state.wakes_at_us);
            (std::mem::take(&mut state.recovery.questions), wake_at_us)
        });
        if let Some(at_us) = wake_at_us {
            self.wake_at(at_us);
        }
        for question in questions {
            self.ask(question);
        }
        self.outbox.deliver(|output| match output {
            Output::Sample(sample) => {
                let listener = lock(&self.listener).clone();
                if let Some(listener) = listener {
                    listener.call(sample);
                }
            }
            Output::Miss(miss) => {
                if let Some(session) = self.session.upgrade() {
                    self.misses.call(&session, miss);
                }
            }
        });
    }

    fn now_us(&self) -> u64 {
        self.origin.elapsed().as_micros() as u64
    }

    fn wake_at(self: &Arc<Self>, at_us: u64) {
        let Some(session) = self.session.upgrade() else { return };
        let delay = Duration::from_micros(at_us.saturating_sub(self.now_us()));
        let weak = Arc::downgrade(self);
        session.runtime.call_after(delay, self.lane, move || {
            if let Some(inner) = weak.upgrade() {
                inner.wake(at_us);
            }
        });
    }

    /// The timer of `at_us` has gone off. It does nothing if another one was set since.
    fn wake(self: &Arc<Self>, at_us: u64) {
        let is_current = self.outbox.change(|state| {
            let is_current = state.wakes_at_us == Some(at_us);
            state.wakes_at_us = state.wakes_at_us.filter(|_| !is_current);
            is_current
        });
        if !is_current {
            return;
        }
        self.change(|recovery, now_us| {
            if recovery.due_us().is_some_and(|due_us| due_us <= now_us) {
                recovery.due(now_us);
            }
        });
    }

    /// Asks, and reports the end, even if it comes at once.
    fn ask(self: &Arc<Self>, question: Question) {
        let Question { about, topic } = question;
        let end = End { inner: Arc::clone(self), about };
        let replied = Arc::clone(self);
        let callback = Callback::with_drop(move |reply| replied.reply(reply), move || drop(end));
        if let Err(error) = self.send(topic, callback) {
            tracing::debug!(key = %self.key_expr, %error, "cannot ask for samples");
        }
    }

    fn send(&self, topic: Topic, callback: Callback<Reply>) -> Result<()> {
        let key = &self.key_expr;
        let numbers = |range: SnRange| {
            let mut parameters = Parameters::default();
            parameters.insert_raw("_sn", &range.to_string());
            parameters
        };
        let (key, parameters) = match topic {
            Topic::History => (keys::all(key)?, self.history.clone()),
            Topic::HistoryOf(key) => (key, self.history.clone()),
            Topic::Numbers(source, range) => (keys::source(key, source)?, numbers(range)),
            Topic::NumbersOf(key, range) => (key, numbers(range)),
        };
        let session = Session(self.session()?);
        session
            .get(Selector::new(key, parameters))
            .target(QueryTarget::All)
            .consolidation(Consolidation::None)
            .accept_replies(ReplyKeyExpr::Any)
            .timeout(self.timeout)
            .cancellation_token(&self.queries)
            .with(callback)
            .wait()
    }

    /// Undeclares the parts. When this returns, no handler is called any more, and none runs, unless
    /// the caller is in a handler itself.
    pub(super) fn end(&self, session: &SessionInner) {
        let listener = lock(&self.listener).take();
        let parts = std::mem::take(&mut *lock(&self.parts));
        if let Some(listener) = &listener {
            listener.close();
        }
        drop(parts);
        session.runtime.cancel_calls(self.lane);
        self.queries.cancel();
        self.misses.end(session);
        if let Some(listener) = listener {
            listener.end();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports the end of a question when it is dropped.
struct End {
    inner: Arc<Inner>,
    about: About,
}

impl Drop for End {
    fn drop(&mut self) {
        self.inner.change(|recovery, _| recovery.answered(self.about));
    }
}
