//! The service thread of a node: timers, accepting, scouting, and sockets that are full.
//!
//! It is the only thread that sleeps on the clock. Everything it does is short; nothing of the
//! application runs on it but events that timers cause.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use weft_link::{AcceptFault, LinkError, Listener};

use crate::apart::Apart;
use crate::cell::LinkCell;
use crate::clock::now_us;
use crate::duty::Looks;
use crate::poll::{Events, Poller};
use crate::reserve::{Errand, Reserve};
use crate::scout::ScoutSockets;
use crate::sender::{BURST_TICK, Sender, Tick};
use crate::shared::Shared;
use crate::thread::SessionSpan;

/// How long accepting pauses when the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections accepted before something else has its turn.
const ACCEPTS_PER_TURN: usize = 64;
/// How often posts are looked at while any of them is busy (see [`crate::duty`]).
const WATCH_PERIOD: Duration = Duration::from_millis(100);
/// Tokens below are listeners and scouting sockets; writable links follow.
const TOKEN_WRITABLE_FIRST: u64 = 1 << 32;
const TOKEN_SCOUT_FIRST: u64 = 1 << 31;

/// What other threads need of the service thread.
#[derive(Clone)]
pub(crate) struct ServiceHandle(Arc<Inner>);

struct Inner {
    poller: Poller,
    /// Senders in a burst, until the service has taken them.
    bursts: Mutex<Vec<Arc<Sender>>>,
    /// Senders that wait for their socket, by token.
    writable: Mutex<HashMap<u64, Arc<Sender>>>,
    /// Listeners, until the service has taken them.
    listeners: Mutex<Vec<Listener>>,
    /// When the service will look at the timers, in microseconds.
    wakes_at_us: AtomicU64,
    stop: AtomicBool,
    unresponsive: AtomicBool,
    /// Posts are being looked at. Every turn of a reader asks this, beside what every tick writes.
    watching: Apart<AtomicBool>,
    errands: Arc<Reserve<Errand>>,
    span: SessionSpan,
}

/// The looks at busy posts.
#[derive(Default)]
struct Watch {
    at_us: Option<u64>,
    looks: Looks,
}

impl ServiceHandle {
    pub(crate) fn new(span: SessionSpan) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            poller: Poller::new()?,
            bursts: Mutex::new(Vec::new()),
            writable: Mutex::new(HashMap::new()),
            listeners: Mutex::new(Vec::new()),
            wakes_at_us: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            unresponsive: AtomicBool::new(false),
            watching: Apart(AtomicBool::new(false)),
            errands: Arc::default(),
            span,
        })))
    }

    /// A post is busy, and others may depend on its thread: it is looked at from time to time.
    #[inline]
    pub(crate) fn watch(&self) {
        if !self.0.watching.load(Ordering::SeqCst) && !self.0.watching.swap(true, Ordering::SeqCst)
        {
            self.0.poller.wake();
        }
    }

    /// Writes for a sender every tick, until its burst is over.
    pub(crate) fn burst(&self, sender: Arc<Sender>) {
        self.0.bursts.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        self.0.poller.wake();
    }

    /// Accepts links at these, too.
    pub(crate) fn listen(&self, mut listeners: Vec<Listener>) {
        let mut waiting = self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever stops clears them afterwards, under the same lock.
        if !self.0.stop.load(Ordering::Acquire) {
            waiting.append(&mut listeners);
        }
        drop(waiting);
        self.0.poller.wake();
    }

    /// Goes on writing when the socket takes more.
    pub(crate) fn wait_writable(&self, link: &LinkCell, sender: Arc<Sender>) {
        let token = TOKEN_WRITABLE_FIRST + link.id.0;
        let mut writable = self.0.writable.lock().unwrap_or_else(PoisonError::into_inner);
        writable.insert(token, sender);
        if self.0.poller.add_writable_once(link.link.as_fd(), token).is_err() {
            writable.remove(&token);
        }
    }

    /// Forgets a link that is being closed.
    pub(crate) fn forget(&self, link: &LinkCell) {
        let token = TOKEN_WRITABLE_FIRST + link.id.0;
        let known = self.0.writable.lock().unwrap_or_else(PoisonError::into_inner).remove(&token);
        if known.is_some() {
            self.0.poller.remove(link.link.as_fd());
        }
    }

    /// A sender has found its neighbour unresponsive.
    pub(crate) fn check_unresponsive(&self) {
        self.0.unresponsive.store(true, Ordering::Relaxed);
        self.0.poller.wake();
    }

    /// The next timer is due at this time.
    pub(crate) fn timer_at(&self, at_us: u64) {
        if at_us < self.0.wakes_at_us.load(Ordering::Acquire) {
            self.0.poller.wake();
        }
    }

    /// Has something done that must not keep its caller.
    ///
    /// # Errors
    /// If the system gives no thread; the errand is dropped.
    pub(crate) fn run_errand(&self, name: &str, errand: Errand) -> std::io::Result<()> {
        self.0.errands.run(&self.0.span, name, errand)
    }

    pub(crate) fn stop(&self) {
        self.0.stop.store(true, Ordering::Release);
        self.0.poller.wake();
        self.0.errands.close();
    }

    /// Lets go of all senders and listeners, once the service thread has ended.
    pub(crate) fn clear(&self) {
        let lock =
            |it: &Mutex<_>| std::mem::take(&mut *it.lock().unwrap_or_else(PoisonError::into_inner));
        drop(lock(&self.0.writable));
        self.0.bursts.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The service thread's work.
    pub(crate) fn run(&self, shared: &Weak<Shared>, scouting: &Arc<ScoutSockets>) {
        // Ticks of 50 µs need a timer that is not rounded to the default 50 µs of slack.
        let _ = rustix::thread::set_current_timer_slack(1_000_u64.try_into().ok());
        let inner = &*self.0;
        let mut listeners: Vec<Listener> = Vec::new();
        for (index, socket) in scouting.fds().enumerate() {
            let _ = inner.poller.add_readable(socket, TOKEN_SCOUT_FIRST + index as u64);
        }
        let mut events = Events::new();
        let mut bursting: Vec<Arc<Sender>> = Vec::new();
        let mut tick = BURST_TICK;
        let mut ready = Vec::new();
        let mut watch = Watch::default();
        let mut accept_paused_until_us = None;
        while !inner.stop.load(Ordering::Acquire) {
            let Some(alive) = shared.upgrade() else { return };
            inner.wakes_at_us.store(alive.next_timeout_us(), Ordering::Release);
            // A timer set between reading the deadline and storing it would not wake: look again.
            let timer_us = alive.next_timeout_us();
            drop(alive);
            let due_us = [Some(timer_us), accept_paused_until_us, watch.at_us];
            let due_us = due_us.into_iter().flatten().min().unwrap_or(u64::MAX);
            let timeout = if bursting.is_empty() {
                (due_us != u64::MAX).then(|| Duration::from_micros(due_us.saturating_sub(now_us())))
            } else {
                Some(tick)
            };
            ready.clear();
            if inner.poller.wait(&mut events, timeout, |token| ready.push(token)).is_err() {
                return;
            }
            inner.wakes_at_us.store(0, Ordering::Release);
            let Some(shared) = shared.upgrade() else { return };
            bursting.append(&mut inner.bursts.lock().unwrap_or_else(PoisonError::into_inner));
            for listener in inner.listeners.lock().unwrap_or_else(PoisonError::into_inner).drain(..)
            {
                if accept_paused_until_us.is_none() {
                    inner.watch_listener(listeners.len(), &listener);
                }
                listeners.push(listener);
            }
            for &token in &ready {
                if token >= TOKEN_WRITABLE_FIRST {
                    let sender = {
                        let mut writable =
                            inner.writable.lock().unwrap_or_else(PoisonError::into_inner);
                        writable.remove(&token)
                    };
                    if let Some(sender) = sender {
                        sender.writable();
                    }
                } else if token >= TOKEN_SCOUT_FIRST {
                    scouting.receive((token - TOKEN_SCOUT_FIRST) as usize, &shared);
                } else if let Some(listener) = listeners.get(token as usize)
                    && accept(listener, &shared)
                {
                    for listener in &listeners {
                        inner.poller.remove(listener.as_fd());
                    }
                    accept_paused_until_us = Some(now_us() + ACCEPT_PAUSE.as_micros() as u64);
                }
            }
            tick = 2 * BURST_TICK;
            bursting.retain(|sender| {
                let found = sender.burst_tick();
                if found == Tick::Wrote {
                    tick = BURST_TICK;
                }
                found != Tick::Over
            });
            if accept_paused_until_us.is_some_and(|until_us| until_us <= now_us()) {
                accept_paused_until_us = None;
                for (index, listener) in listeners.iter().enumerate() {
                    inner.watch_listener(index, listener);
                }
            }
            if inner.unresponsive.swap(false, Ordering::Relaxed) {
                shared.close_unresponsive();
            }
            inner.look_at_posts(&mut watch, &shared);
            shared.run_timers();
        }
    }
}

impl Inner {
    fn watch_listener(&self, index: usize, listener: &Listener) {
        let _ = self.poller.add_readable(listener.as_fd(), index as u64);
    }

    fn look_at_posts(&self, watch: &mut Watch, shared: &Shared) {
        if !self.watching.load(Ordering::SeqCst) || watch.at_us.is_some_and(|at| at > now_us()) {
            return;
        }
        watch.at_us = Some(now_us() + WATCH_PERIOD.as_micros() as u64);
        if shared.crew.watch(&mut watch.looks) {
            return;
        }
        self.watching.store(false, Ordering::SeqCst);
        // A post that has begun since did not wake this thread.
        if shared.crew.watch(&mut watch.looks) {
            self.watching.store(true, Ordering::SeqCst);
        } else {
            watch.at_us = None;
            watch.looks.forget();
        }
    }
}

/// Takes in what waits at a listener; returns true if it must pause because descriptors ran out.
fn accept(listener: &Listener, shared: &Arc<Shared>) -> bool {
    for _ in 0..ACCEPTS_PER_TURN {
        match listener.accept() {
            Ok(Some(link)) => shared.accepted(link),
            Ok(None) => return false,
            Err(LinkError::Accept { fault: AcceptFault::Aborted, .. }) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                return true;
            }
        }
    }
    false
}
