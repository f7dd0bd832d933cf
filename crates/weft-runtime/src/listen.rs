//! Binding the endpoints of a node: at once, or as soon as it is possible.
//!
//! Spec: 03 §10.1. What cannot be bound at first is tried again with growing pauses. Opening waits
//! for the endpoints that it must not do without; a thread of its own goes on with the others, because
//! the name of an endpoint may take its time to be resolved.

use std::sync::{Arc, Weak};
use std::thread::Thread;
use std::time::Duration;

use weft_link::{Address, LinkError, Listener, resolve};
use weft_node::{Backoff, Retry};
use weft_wire::{Endpoint, Locator};

use crate::clock::now_us;
use crate::duty;
use crate::error::OpenError;
use crate::options::LinkSettings;
use crate::shared::Shared;

/// An endpoint to listen on.
#[derive(Clone, Debug)]
pub struct ListenTarget {
    /// Where.
    pub endpoint: Endpoint,
    /// Without it the node does not open.
    pub required: bool,
    /// How long it is tried: `None` is for ever, zero a single try.
    pub timeout: Option<Duration>,
    /// When to try again.
    pub retry: Retry,
}

impl ListenTarget {
    /// The node does not open if it cannot be bound at once.
    pub fn new(endpoint: Endpoint) -> Self {
        let (timeout, retry) = (Some(Duration::ZERO), Retry::default());
        Self { endpoint, required: true, timeout, retry }
    }
}

/// What is bound, and what is not yet.
pub(crate) struct Listening {
    pub(crate) bound: Vec<Listener>,
    pub(crate) pending: Vec<Attempt>,
}

/// An endpoint that could not be bound yet.
pub(crate) struct Attempt {
    target: ListenTarget,
    links: Arc<LinkSettings>,
    pauses: Backoff,
    /// When it is tried for the last time.
    deadline_us: u64,
    next_us: u64,
}

/// How an attempt went.
enum Outcome {
    Bound(Vec<Listener>),
    /// It will be tried again.
    NotYet(LinkError),
    Failed(LinkError),
}

impl Attempt {
    fn new(target: &ListenTarget, links: &Arc<LinkSettings>, started_us: u64) -> Self {
        let timeout_us = |timeout: Duration| u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
        let deadline_us = started_us.saturating_add(target.timeout.map_or(u64::MAX, timeout_us));
        let pauses = Backoff::new(target.retry);
        let (target, links) = (target.clone(), Arc::clone(links));
        Self { target, links, pauses, deadline_us, next_us: started_us }
    }

    fn run(&mut self) -> Outcome {
        match bind(&self.target.endpoint, &self.links) {
            Ok(bound) => Outcome::Bound(bound),
            Err(error) if self.next_us >= self.deadline_us => Outcome::Failed(error),
            Err(error) => {
                self.next_us = now_us().saturating_add(self.pauses.take_us());
                self.next_us = self.next_us.min(self.deadline_us);
                Outcome::NotYet(error)
            }
        }
    }

    fn give_up(&self, error: LinkError) -> Result<(), OpenError> {
        if self.target.required {
            return Err(error.into());
        }
        tracing::warn!(endpoint = %self.target.endpoint, %error, "cannot listen");
        Ok(())
    }
}

/// Binds what can be bound, and waits for what is required.
///
/// # Errors
/// [`OpenError::Listen`] if a required endpoint could not be bound in time.
pub(crate) fn open(
    targets: &[ListenTarget],
    links: &Arc<LinkSettings>,
) -> Result<Listening, OpenError> {
    let started_us = now_us();
    let (mut bound, mut pending, mut awaited) = (Vec::new(), Vec::new(), Vec::new());
    for target in targets {
        let ListenTarget { endpoint, required, .. } = target;
        let mut attempt = Attempt::new(target, links, started_us);
        match attempt.run() {
            Outcome::Bound(listeners) => bound.extend(listeners),
            Outcome::Failed(error) => attempt.give_up(error)?,
            Outcome::NotYet(error) if *required => {
                tracing::warn!(%endpoint, %error, "cannot listen; opening waits");
                awaited.push(attempt);
            }
            Outcome::NotYet(error) => {
                tracing::warn!(%endpoint, %error, "cannot listen; trying again in the background");
                pending.push(attempt);
            }
        }
    }
    if !awaited.is_empty() {
        duty::relieve();
    }
    let pause = |pause| {
        std::thread::sleep(pause);
        true
    };
    try_until_bound(awaited, pause, |listeners| bound.extend(listeners))?;
    Ok(Listening { bound, pending })
}

/// Goes on with `pending` on a thread, which is to be unparked when the node closes.
///
/// # Errors
/// If the system gives no thread.
pub(crate) fn go_on(
    shared: &Arc<Shared>,
    pending: Vec<Attempt>,
) -> Result<Option<Thread>, OpenError> {
    if pending.is_empty() {
        return Ok(None);
    }
    let (span, shared) = (shared.span.clone(), Arc::downgrade(shared));
    let open = |shared: &Weak<Shared>| shared.upgrade().filter(|shared| !shared.is_stopping());
    let work = move || {
        let pause = |pause| {
            if open(&shared).is_some() {
                std::thread::park_timeout(pause);
            }
            open(&shared).is_some()
        };
        let taken = |listeners| {
            if let Some(shared) = open(&shared) {
                shared.listens(listeners);
            }
        };
        // Nothing that opening does without is an error.
        let _ = try_until_bound(pending, pause, taken);
    };
    let thread = span.spawn("weft-listen", work);
    Ok(Some(thread.map_err(OpenError::Resources)?.thread().clone()))
}

/// Tries each in its turn until all are bound or given up, or until `pause` says that it is enough. A
/// pause may end early.
fn try_until_bound(
    mut attempts: Vec<Attempt>,
    mut pause: impl FnMut(Duration) -> bool,
    mut taken: impl FnMut(Vec<Listener>),
) -> Result<(), OpenError> {
    while let Some(next) = (0..attempts.len()).min_by_key(|index| attempts[*index].next_us) {
        let early_us = attempts[next].next_us.saturating_sub(now_us());
        if early_us > 0 {
            if !pause(Duration::from_micros(early_us)) {
                return Ok(());
            }
            continue;
        }
        match attempts[next].run() {
            Outcome::NotYet(_) => {}
            Outcome::Bound(listeners) => {
                attempts.swap_remove(next);
                taken(listeners);
            }
            Outcome::Failed(error) => attempts.swap_remove(next).give_up(error)?,
        }
    }
    Ok(())
}

fn bind(endpoint: &Endpoint, links: &LinkSettings) -> Result<Vec<Listener>, LinkError> {
    let options = links.options(endpoint)?;
    let locator = endpoint.locator();
    let targets = resolve(Address { proto: locator.proto(), address: locator.address() })?;
    targets.iter().map(|target| Listener::bind(target, &options)).collect()
}

/// Where the listeners can be reached, and whether from this machine only.
pub(crate) fn locators(listeners: &[Listener]) -> Result<Vec<(Locator, bool)>, LinkError> {
    let mut locators = Vec::new();
    for listener in listeners {
        for reachable in listener.locators()? {
            if let Ok(locator) = reachable.locator.parse() {
                locators.push((locator, reachable.is_loopback));
            }
        }
    }
    Ok(locators)
}
