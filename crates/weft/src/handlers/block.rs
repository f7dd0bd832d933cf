//! The hook around every wait of a channel that may be long.
//!
//! A thread that reads a link and then waits in a full [`FifoChannel`](super::FifoChannel) would starve the other links of
//! its poller. The runtime therefore installs a hook that hands the poller to another thread for the time of the wait.

use std::sync::OnceLock;

/// A function that surrounds a blocking wait. It must call its argument exactly once and return after it.
///
/// It runs on the waiting thread, with no lock of this crate held.
pub type BlockHook = fn(wait: &mut dyn FnMut());

static HOOK: OnceLock<BlockHook> = OnceLock::new();

/// Installs the hook that surrounds blocking waits in channels, for the whole process.
///
/// Meant for runtimes: without one, waits simply block their thread. The first hook stays. Returns whether `hook` is the
/// one in force.
pub fn set_block_hook(hook: BlockHook) -> bool {
    core::ptr::fn_addr_eq(*HOOK.get_or_init(|| hook), hook)
}

/// Runs `wait` inside the hook, if there is one, and returns its result.
pub(super) fn blocking<R>(mut wait: impl FnMut() -> R) -> R {
    let Some(hook) = HOOK.get() else {
        return wait();
    };
    let mut result = None;
    hook(&mut || {
        // A second call would receive, and lose, a second item.
        if result.is_none() {
            result = Some(wait());
        }
    });
    result.unwrap_or_else(wait)
}
