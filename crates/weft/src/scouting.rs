//! Looking for nodes without opening a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use weft_wire::{Hello, WhatAmIMatcher};

use crate::config::Config;
use crate::error::Result;
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::resolve::immediate;
use crate::settings;

/// Looks for nodes of the given modes.
///
/// ```no_run
/// use weft::{Config, WhatAmI, WhatAmIMatcher};
///
/// let found = weft::scout(WhatAmIMatcher::from(WhatAmI::Router) | WhatAmI::Peer, Config::default())
///     .wait()?;
/// while let Ok(hello) = found.recv() {
///     println!("{} {} {:?}", hello.whatami, hello.zid, hello.locators);
/// }
/// # Ok::<(), weft::Error>(())
/// ```
pub fn scout(what: impl Into<WhatAmIMatcher>, config: Config) -> ScoutBuilder {
    ScoutBuilder { what: what.into(), config, handler: FifoChannel::default() }
}

/// Starts a [`Scout`].
#[must_use = "nothing is asked before wait()"]
pub struct ScoutBuilder<H = FifoChannel> {
    what: WhatAmIMatcher,
    config: Config,
    handler: H,
}

impl<H> ScoutBuilder<H> {
    /// Calls `callback` with every answer, on a thread of the scout.
    pub fn callback<F: Fn(Hello) + Send + Sync + 'static>(self, callback: F) -> ScoutBuilder<F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(Hello) + Send + 'static>(
        self,
        callback: F,
    ) -> ScoutBuilder<Callback<Hello>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers answers to `handler`. Without this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Hello>>(self, handler: N) -> ScoutBuilder<N> {
        ScoutBuilder { what: self.what, config: self.config, handler }
    }
}

impl<H: IntoHandler<Hello>> ScoutBuilder<H> {
    /// Starts asking. A node answers every question: expect it several times.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for values that contradict each other. A machine
    /// without a usable network interface finds nobody.
    pub fn wait(self) -> Result<Scout<H::Handler>> {
        let group = settings::scout_group(&self.config.effective()?);
        let (callback, handler) = self.handler.into_handler();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, what) = (Arc::clone(&stop), self.what);
        let closes = Callback::clone(&callback);
        let thread = std::thread::spawn(move || {
            let go_on = || !stopped.load(Ordering::Acquire);
            let found = weft_runtime::scout(what, &group, None, go_on, |hello| {
                weft_runtime::calling(|| callback.call(hello));
            });
            if let Err(error) = found {
                tracing::warn!(%error, "cannot scout");
            }
        });
        Ok(Scout { stop, closes, thread: Some(thread), handler })
    }
}

immediate!([H: IntoHandler<Hello>] ScoutBuilder<H> => Result<Scout<H::Handler>>);

/// Looks for nodes until it is stopped or dropped.
pub struct Scout<H = Receiver<Hello>> {
    stop: Arc<AtomicBool>,
    closes: Callback<Hello>,
    thread: Option<JoinHandle<()>>,
    handler: H,
}

impl<H> Scout<H> {
    /// What the handler was split into; for a channel, its receiver.
    pub const fn handler(&self) -> &H {
        &self.handler
    }

    /// Ends it. When this returns its callback does not run and will not be called again; called
    /// from a callback, it does not wait for callbacks that run. Takes up to 50 ms.
    pub fn stop(self) {}
}

impl<H> core::ops::Deref for Scout<H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.handler
    }
}

impl<H> core::fmt::Debug for Scout<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scout").finish_non_exhaustive()
    }
}

impl<H> Drop for Scout<H> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.closes.close();
        // A callback waits for no other one.
        if let Some(thread) = self.thread.take()
            && !weft_runtime::is_calling()
        {
            let _ = thread.join();
        }
    }
}
