//! Sessions on loopback, and waiting with deadlines.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use weft::handlers::Receiver;
use weft::{Config, CongestionControl, Locality, Publisher, Session};

/// How long anything may take before a test fails.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A node that is about to be opened.
#[derive(Clone)]
pub(crate) struct Node(pub(crate) Config);

impl Node {
    /// A node that finds nobody, connects to nobody and listens nowhere.
    pub(crate) fn new(mode: &str) -> Self {
        let node = Self(Config::default());
        node.set("mode", &format!("{mode:?}"))
            .set("scouting/multicast/enabled", "false")
            .set("scouting/gossip/enabled", "false")
            .set("listen/endpoints", "[]")
            .set("connect/endpoints", "[]")
    }

    /// A configuration value as JSON5.
    pub(crate) fn set(mut self, path: &str, value: &str) -> Self {
        self.0.insert_json5(path, value).unwrap();
        self
    }

    pub(crate) fn listen(self, endpoint: &str) -> Self {
        self.set("listen/endpoints", &format!("[{endpoint:?}]"))
    }

    pub(crate) fn connect(self, to: &Session) -> Self {
        let locators: Vec<String> = to.info().locators().iter().map(ToString::to_string).collect();
        self.connect_to(&[&locators[0]])
    }

    pub(crate) fn connect_to(self, endpoints: &[&str]) -> Self {
        self.set("connect/endpoints", &format!("{endpoints:?}"))
    }

    pub(crate) fn open(self) -> Session {
        weft::open(self.0).wait().unwrap()
    }
}

/// A peer that listens on a free port.
pub(crate) fn listener() -> Session {
    Node::new("peer").listen("tcp/127.0.0.1:0").open()
}

/// A peer that is alone.
pub(crate) fn alone() -> Session {
    Node::new("peer").open()
}

/// A peer, and another one connected to it.
pub(crate) fn pair() -> (Session, Session) {
    let listener = listener();
    let dialer = Node::new("peer").connect(&listener).open();
    (listener, dialer)
}

/// A router.
pub(crate) fn router() -> Session {
    Node::new("router").listen("tcp/127.0.0.1:0").open()
}

/// A router and two of its clients.
pub(crate) fn brokered() -> (Session, Session, Session) {
    let router = router();
    let client = || Node::new("client").connect(&router).open();
    let (a, b) = (client(), client());
    (router, a, b)
}

/// The next item.
pub(crate) fn next<T>(receiver: &Receiver<T>) -> T {
    let received = receiver.recv_timeout(SOON).expect("the channel is open");
    received.expect("an item comes soon")
}

/// The end of a channel.
pub(crate) fn assert_ends<T: std::fmt::Debug>(receiver: &Receiver<T>) {
    assert!(receiver.recv_timeout(SOON).is_err(), "a channel that ends");
}

/// The next item of a channel of the standard library.
pub(crate) fn soon<T>(receiver: &mpsc::Receiver<T>) -> T {
    receiver.recv_timeout(SOON).expect("it happens soon")
}

/// Waits until a condition holds that has no event of its own.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} comes soon");
        std::thread::yield_now();
    }
}

/// A publisher that waits for room and that somebody elsewhere subscribes to.
pub(crate) fn matched_publisher(session: &Session, key: &str) -> Publisher {
    let remote = session.declare_publisher(key).allowed_destination(Locality::Remote);
    let remote = remote.wait().unwrap();
    let status = remote.matching_listener().wait().unwrap();
    assert!(next(&status).matching());
    session.declare_publisher(key).congestion_control(CongestionControl::Block).wait().unwrap()
}

/// Waits until `session` knows of a queryable on `key`.
pub(crate) fn await_queryable(session: &Session, key: &str) {
    let querier = session.declare_querier(key).wait().unwrap();
    let status = querier.matching_listener().wait().unwrap();
    assert!(next(&status).matching());
}

/// Runs a test's work on a thread of its own and fails if it does not end.
pub(crate) fn ends(what: &str, work: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    match finished.recv_timeout(SOON) {
        Ok(()) => thread.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Disconnected) => thread.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} does not end"),
    }
}

/// The smallest executor there is.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let deadline = Instant::now() + SOON;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the future is ready soon");
        std::thread::park_timeout(left);
    }
}
