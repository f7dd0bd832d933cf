//! The threads of a session, which say in the log whose they are.

use std::io;
use std::thread::{Builder, JoinHandle};

use tracing::Span;
use weft_wire::ZenohId;

/// The session in the log: whatever its threads say is within the span `session{zid=…}`.
///
/// Cost: a thread enters it once, when it starts; a message costs nothing.
#[derive(Clone, Debug)]
pub struct SessionSpan(Span);

impl SessionSpan {
    /// That of the session of this node. Its level is that of errors, so that the id is there whatever is logged.
    pub(crate) fn new(zid: ZenohId) -> Self {
        Self(tracing::error_span!("session", %zid))
    }

    /// Runs something on the calling thread as one of the session's.
    pub fn in_scope<T>(&self, call: impl FnOnce() -> T) -> T {
        self.0.in_scope(call)
    }

    /// Starts a thread of the session.
    ///
    /// # Errors
    /// If the system gives no thread; `work` is dropped.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let span = self.0.clone();
        Builder::new().name(name.into()).spawn(move || span.in_scope(work))
    }
}
