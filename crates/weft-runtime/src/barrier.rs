//! A memory barrier in all threads of the process, at the cost of the one that asks for it.
//!
//! Delivering a sample says "I am in this callback" and then looks whether the subscriber has ended;
//! ending one says so and then looks who is in the callback. Each must see the other's word or be
//! seen, which takes a full barrier between the two steps on both sides. Samples are many and ends
//! are few, so the ending thread has the kernel run the barrier of the delivering ones.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier};

/// What every thread stored before this call is visible to the caller after it, and what the caller
/// stored before is visible to every later load of any thread.
///
/// Cost: a system call and an interrupt of the processors that run this process.
pub(crate) fn order_all_threads() {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let register = || membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
    let ordered = *REGISTERED.get_or_init(register)
        && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    if !ordered {
        // A kernel that is older than 4.14 or forbids the call. No processor holds back a store for
        // so long, and none executes a load so much ahead.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_every_time() {
        order_all_threads();
        order_all_threads();
    }
}
