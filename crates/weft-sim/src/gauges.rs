//! What the program measures of itself: time, and the memory that is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft_sim::scale::Gauges;

static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The gauges of this process.
pub(crate) const GAUGES: Gauges =
    Gauges { clock: processor_time, allocated: || ALLOCATED.load(Ordering::Relaxed) };

/// How long this process, which has one thread, has run on a processor; where the system does not say,
/// how long it has run.
fn processor_time() -> Duration {
    let said = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = said.split_whitespace().next().and_then(|it| it.parse().ok());
    nanoseconds.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}

/// The system's allocator, counting the bytes that were asked for and not given back.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator, which upholds the contract.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller's promises are those that the system's allocator wants.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller's promises are those that the system's allocator wants.
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.fetch_add(size as u64, Ordering::Relaxed);
        ALLOCATED.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above; the memory came from the system's allocator.
        unsafe { System.realloc(old, layout, size) }
    }

    // SAFETY: the caller's promises are those that the system's allocator wants.
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above; the memory came from the system's allocator.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_while_it_is_held() {
        const LEN: u64 = 64 << 20;
        let held = std::hint::black_box(vec![1_u8; LEN as usize]);
        assert!((GAUGES.allocated)() >= LEN);
        drop(held);
        assert!((GAUGES.allocated)() < LEN);
    }
}
