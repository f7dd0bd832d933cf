//! A message in steady state costs no heap allocation, on any thread, on any node that it passes.
//!
//! Its own test binary, because it counts every allocation of the process. What it counts is compared
//! with a small constant, not with the number of messages: what timers, the test runner and rare
//! events allocate depends on none.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft::handlers::FifoChannel;
use weft::{
    Config, CongestionControl, Encoding, KeyExpr, Locality, Priority, Publisher, SampleView,
    Session, ZBytes,
};

/// Allocations that a measurement may see, whatever the number of messages.
const ALLOCATIONS_MAX: u64 = 32;
/// Messages of one measurement.
const COUNT: u64 = 10_000;
/// Bytes on their way at a time: few enough for no queue to become full.
const WINDOW_LEN: usize = 32 * 1024;
/// Lengths of payloads: stored in a `ZBytes` itself, in a separate buffer, and just under 1 KiB.
const PAYLOAD_LENS: [usize; 4] = [0, 8, 64, 1023];
/// How long anything may take before a test fails.
const SOON: Duration = Duration::from_secs(60);

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counting.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator, which upholds the contract.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller's promises are those that the system's allocator wants.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller's promises are those that the system's allocator wants.
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above; the memory came from the system's allocator.
        unsafe { System.realloc(old, layout, size) }
    }

    // SAFETY: the caller's promises are those that the system's allocator wants.
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from the system's allocator.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The counter shows what it is there to show.
#[test]
fn the_allocator_counts() {
    let _alone = alone();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for number in 0..100_u64 {
        drop(std::hint::black_box(Box::new(number)));
    }
    assert!(ALLOCATIONS.load(Ordering::Relaxed) - before >= 100);
}

#[test]
fn from_peer_to_peer() {
    let _alone = alone();
    let receiver = open("peer", Some("tcp/127.0.0.1:0"), None);
    let sender = open("peer", None, Some(&receiver));
    assert_forms_allocate_nothing(&sender, &receiver);
}

#[test]
fn through_a_router() {
    let _alone = alone();
    let router = open("router", Some("tcp/127.0.0.1:0"), None);
    let receiver = open("client", None, Some(&router));
    let sender = open("client", None, Some(&router));
    assert_forms_allocate_nothing(&sender, &receiver);
}

#[test]
fn through_a_router_over_compressing_links() {
    let _alone = alone();
    let router = open_compressing("router", Some("tcp/127.0.0.1:0"), None);
    let receiver = open_compressing("client", None, Some(&router));
    let sender = open_compressing("client", None, Some(&router));
    assert_forms_allocate_nothing(&sender, &receiver);
}

#[test]
fn within_a_session() {
    let _alone = alone();
    let session = open("peer", None, None);
    let received = count_samples(&session, "a/b");
    let publisher = session.declare_publisher("a/b").wait().unwrap();
    for len in PAYLOAD_LENS {
        let payload = vec![7; len];
        assert_steady(&format!("{len} B"), len, &received, || {
            publisher.put_bytes(&payload).unwrap();
        });
    }
}

/// A FIFO takes samples that own what they hold. Up to 38 bytes that is free of allocations; longer
/// payloads are copied to the heap, once a message.
#[test]
fn through_a_fifo() {
    let _alone = alone();
    let receiver = open("peer", Some("tcp/127.0.0.1:0"), None);
    let sender = open("peer", None, Some(&receiver));
    let subscriber =
        receiver.declare_subscriber("a/b").with(FifoChannel::new(10_000)).wait().unwrap();
    let publisher = matched_publisher(&sender, "a/b");
    let received = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&received);
    let reading = std::thread::spawn(move || {
        for sample in &*subscriber {
            std::hint::black_box(sample);
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let short = [7; weft::zbytes::INLINE_LEN_MAX];
    assert_steady("a short payload", short.len(), &received, || {
        publisher.put_bytes(&short).unwrap();
    });
    let long = [7; 1023];
    let allocations = measure(long.len(), &received, || publisher.put_bytes(&long).unwrap());
    assert!(allocations <= COUNT + ALLOCATIONS_MAX, "{allocations} allocations");
    receiver.close().wait();
    reading.join().unwrap();
}

/// Every way to publish, from `sender` to a view callback of `receiver`.
fn assert_forms_allocate_nothing(sender: &Session, receiver: &Session) {
    let received = count_samples(receiver, "a/b");
    let publisher = matched_publisher(sender, "a/b");
    for len in PAYLOAD_LENS {
        let payload = vec![7; len];
        assert_steady(&format!("borrowed bytes, {len} B"), len, &received, || {
            publisher.put_bytes(&payload).unwrap();
        });
        let payload = ZBytes::from(payload);
        assert_steady(&format!("shared bytes, {len} B"), len, &received, || {
            publisher.put(payload.clone()).wait().unwrap();
        });
    }
    let payload = ZBytes::from(vec![7; 500]);
    let schema = Encoding::APPLICATION_JSON.with_schema("a schema").unwrap();
    let timestamp = sender.new_timestamp();
    assert_steady("all extras", 1000, &received, || {
        let put = publisher.put(payload.clone()).attachment(payload.clone());
        put.encoding(schema.clone()).timestamp(timestamp).wait().unwrap();
    });
    assert_steady("deletions", 0, &received, || publisher.delete().wait().unwrap());
    let key = KeyExpr::new("a/b").unwrap();
    assert_steady("puts without a publisher", 500, &received, || {
        let put = sender.put(&key, payload.clone()).priority(Priority::RealTime);
        put.congestion_control(CongestionControl::Block).express(true).wait().unwrap();
    });
}

/// Subscribes with a callback that looks at the samples and counts them.
fn count_samples(session: &Session, key: &str) -> Arc<AtomicU64> {
    let received = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&received);
    let callback = move |sample: &SampleView<'_>| {
        std::hint::black_box((sample.key_expr(), sample.payload(), sample.attachment()));
        counted.fetch_add(1, Ordering::SeqCst);
    };
    session.declare_subscriber(key).callback(callback).wait().unwrap().background();
    received
}

/// Asserts that sending messages of `len` bytes and receiving them allocates nothing.
#[track_caller]
fn assert_steady(what: &str, len: usize, received: &AtomicU64, send: impl FnMut()) {
    let allocations = measure(len, received, send);
    assert!(
        allocations <= ALLOCATIONS_MAX,
        "{what}: {allocations} allocations for {COUNT} messages"
    );
}

/// The number of allocations while [`COUNT`] messages are sent and received, after as many others.
fn measure(len: usize, received: &AtomicU64, mut send: impl FnMut()) -> u64 {
    transfer(len, received, &mut send);
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    transfer(len, received, &mut send);
    ALLOCATIONS.load(Ordering::SeqCst) - before
}

fn transfer(len: usize, received: &AtomicU64, send: &mut impl FnMut()) {
    let window = (WINDOW_LEN / (len + 32)) as u64;
    let start = received.load(Ordering::SeqCst);
    let deadline = Instant::now() + SOON;
    for sent in 1..=COUNT {
        send();
        if sent % window == 0 || sent == COUNT {
            while received.load(Ordering::SeqCst) < start + sent {
                assert!(Instant::now() < deadline, "the messages arrive soon");
                std::thread::yield_now();
            }
        }
    }
}

/// Keeps the other tests of this process from allocating.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session that finds nobody by itself, and whose keep-alives do not come within a test: at each of
/// them, a quiet link gives its buffers back.
fn open(mode: &str, listen: Option<&str>, connect: Option<&Session>) -> Session {
    open_with(mode, listen, connect, false)
}

fn open_compressing(mode: &str, listen: Option<&str>, connect: Option<&Session>) -> Session {
    open_with(mode, listen, connect, true)
}

fn open_with(
    mode: &str,
    listen: Option<&str>,
    connect: Option<&Session>,
    compression: bool,
) -> Session {
    let connect: Vec<_> =
        connect.map(|to| to.info().locators()[0].to_string()).into_iter().collect();
    let listen: Vec<_> = listen.into_iter().collect();
    let mut config = Config::default();
    for (path, value) in [
        ("mode", format!("{mode:?}")),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("listen/endpoints", format!("{listen:?}")),
        ("connect/endpoints", format!("{connect:?}")),
        ("transport/link/tx/lease", "3600000".to_owned()),
        ("transport/unicast/compression/enabled", compression.to_string()),
    ] {
        config.insert_json5(path, &value).unwrap();
    }
    weft::open(config).wait().unwrap()
}

/// A publisher that waits for room and that somebody elsewhere subscribes to.
fn matched_publisher(session: &Session, key: &str) -> Publisher {
    let publisher = session
        .declare_publisher(key)
        .congestion_control(CongestionControl::Block)
        .allowed_destination(Locality::Remote)
        .wait()
        .unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    assert!(status.recv_timeout(SOON).unwrap().unwrap().matching());
    publisher
}
