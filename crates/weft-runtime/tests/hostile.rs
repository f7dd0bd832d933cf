//! Bad neighbours of a router: what they do harms nobody but themselves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft_keyexpr::KeyExpr;
use weft_node::{DialTarget, Locality, NodeConfig, NodeEvent};
use weft_runtime::{
    CongestionWaits, IncomingQuery, IncomingReply, ListenTarget, Runtime, RuntimeConfig, SampleQos,
    SampleView, SessionHandler,
};
use weft_transport::{
    CookieKey, Decompressor, HandshakeConfig, Initiator, LinkParams, Negotiated, Step, TxConfig,
    TxHalf, next_batch, write_batch,
};
use weft_wire::{
    CloseReason, Declaration, Declare, NetworkMessage, Priority, Push, Qos, Reliability, WhatAmI,
    WireExpr, ZenohId,
};

/// How long an event may take before the test fails.
const SOON: Duration = Duration::from_secs(20);

/// The lease of clients that never send a keep-alive, where it is not what is tested.
const LEASE_MS: u64 = 60_000;

/// The tests look at the memory of their process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Deaf;

impl SessionHandler for Deaf {
    fn event(&self, _event: NodeEvent) {}
    fn query(&self, _query: IncomingQuery<'_>) {}
    fn reply(&self, _query: u32, _reply: IncomingReply<'_>) {}
}

fn zid(id: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[id]).unwrap()
}

fn router(change: impl FnOnce(&mut RuntimeConfig)) -> Runtime {
    let mut config =
        RuntimeConfig::new(NodeConfig::new(zid(1), WhatAmI::Router, CookieKey::new([7; 16])));
    let endpoint = "tcp/127.0.0.1:0".parse().unwrap();
    config.listen.push(ListenTarget::new(endpoint));
    change(&mut config);
    Runtime::open(config, Arc::new(Deaf)).unwrap()
}

fn client(id: u8, router: &Runtime) -> Runtime {
    let mut node = NodeConfig::new(zid(id), WhatAmI::Client, CookieKey::new([id; 16]));
    let endpoints = vec![router.locators()[0].clone().into()];
    node.dial.push(DialTarget::new(endpoints));
    Runtime::open(RuntimeConfig::new(node), Arc::new(Deaf)).unwrap()
}

fn connect(router: &Runtime) -> TcpStream {
    let locator = router.locators()[0].to_string();
    let stream = TcpStream::connect(locator.strip_prefix("tcp/").unwrap()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// A client made of a bare socket: it has shaken hands and does nothing by itself.
fn bare_client(id: u8, router: &Runtime, lease_ms: u64) -> (TcpStream, Negotiated) {
    let config = HandshakeConfig { lease_ms, ..HandshakeConfig::new(zid(id), WhatAmI::Client) };
    bare_client_with(&config, router)
}

fn bare_client_with(config: &HandshakeConfig, router: &Runtime) -> (TcpStream, Negotiated) {
    let mut stream = connect(router);
    let link = LinkParams { mtu: u16::MAX, streamed: true };
    let mut batch = Vec::new();
    let mut initiator = Initiator::new(config, link, None, &mut batch);
    let mut received = Vec::new();
    loop {
        if !batch.is_empty() {
            let mut framed = Vec::new();
            write_batch(&batch, &mut framed);
            stream.write_all(&framed).unwrap();
            batch.clear();
        }
        let (range, consumed) = loop {
            if let Some(found) = next_batch(&received, u16::MAX).unwrap() {
                break found;
            }
            let mut chunk = [0; 1024];
            let count = stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the router closed the handshake");
            received.extend_from_slice(&chunk[..count]);
        };
        let step = initiator.handle_batch(&received[range], &mut batch).unwrap();
        received.drain(..consumed);
        if let Step::Established(negotiated) = step {
            return (stream, negotiated);
        }
    }
}

fn subscribe(stream: &mut TcpStream, negotiated: &Negotiated, key: &str) {
    let mut tx = TxHalf::new(negotiated, &TxConfig::default());
    let body = Declaration::Subscriber { id: 1, wire_expr: WireExpr::full(key) };
    let declare = NetworkMessage::Declare(Declare::new(body));
    tx.push(Priority::Control, Reliability::Reliable, &declare).unwrap();
    stream.write_all(tx.take().unwrap().bytes()).unwrap();
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen in time");
        std::thread::yield_now();
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn counter(runtime: &Runtime, key: &str) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let callback = Box::new(move |_: &SampleView<'_>| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    runtime.declare_subscriber(&KeyExpr::new(key).unwrap(), Locality::Any, callback);
    count
}

/// Publishes until a sample has come through, so that what follows finds the subscriber known.
fn until_matched(publisher: &Runtime, key: &str, count: &AtomicU64) {
    wait_until("the first sample", || {
        put(publisher, key, &[0], Qos::DEFAULT);
        count.load(Ordering::Relaxed) > 0
    });
}

fn put(runtime: &Runtime, key: &str, payload: &[u8], qos: Qos) {
    let how = SampleQos {
        qos,
        reliability: Reliability::Reliable,
        destination: Locality::Any,
        recorded: weft_wire::InterceptionPoints::NONE,
    };
    let push = Push { qos, ..Push::put(WireExpr::EMPTY, payload) };
    runtime.put(&KeyExpr::new(key).unwrap(), &push, how);
}

#[test]
fn garbage_ends_its_own_link_and_nothing_else() {
    let _alone = alone();
    let router = router(|_| {});
    let good = client(2, &router);
    let count = counter(&good, "alive");
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    for len in [1, 2, 3, 20, 1000, 70_000] {
        let mut stream = connect(&router);
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                noise as u8
            })
            .collect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        // It is closed, whatever is said before that.
        let _ = stream.read_to_end(&mut rest);
    }
    // The same after a proper handshake.
    let (mut stream, _) = bare_client(3, &router, LEASE_MS);
    stream.write_all(&[5, 0, 0x1f, 0xff, 0xff, 0xff, 0xff]).unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap_or_default(), 0);
    assert_eq!(router.broken_links(), 1, "an offence counts if it is known whose it is");
    let publisher = client(4, &router);
    until_matched(&publisher, "alive", &count);
}

/// A bare client whose link compresses.
fn compressing_client(id: u8, router: &Runtime) -> (TcpStream, Negotiated) {
    let config = HandshakeConfig {
        lease_ms: LEASE_MS,
        compression: true,
        ..HandshakeConfig::new(zid(id), WhatAmI::Client)
    };
    let (stream, negotiated) = bare_client_with(&config, router);
    assert!(negotiated.compression);
    (stream, negotiated)
}

#[test]
fn a_batch_that_cannot_be_decompressed_ends_its_own_link_and_nothing_else() {
    let _alone = alone();
    let router = router(|config| config.node.handshake.compression = true);
    let good = client(2, &router);
    let count = counter(&good, "alive");
    // 16 MB out of 64 KiB: 15 literals, and the last one again and again.
    let again = vec![0xff; 65_000];
    let bomb = [&[1, 0xff, 0, 7][..], &[7; 14], &[1, 0], &again, &[0]].concat();
    let keep_alive_without_header = [4];
    let bad: [&[u8]; 6] =
        [&bomb, &[], &[1], &[1, 0x10], &[1, 0x10, 7, 2, 0, 0], &keep_alive_without_header];
    for batch in bad {
        let (mut stream, _) = compressing_client(3, &router);
        let mut framed = Vec::new();
        write_batch(batch, &mut framed);
        stream.write_all(&framed).unwrap();
        let mut rest = Vec::new();
        // It is closed, whatever is said before that.
        let _ = stream.read_to_end(&mut rest);
        wait_until("the end of the bad neighbour", || router.neighbours().len() == 1);
    }
    assert_eq!(router.broken_links(), bad.len() as u64);
    // One that follows the rules stays.
    let (mut stream, _) = compressing_client(3, &router);
    stream.write_all(&[1, 0, 0, 2, 0, 0, 4]).unwrap();
    let publisher = client(4, &router);
    until_matched(&publisher, "alive", &count);
    assert_eq!(router.neighbours().len(), 3);
}

#[test]
fn what_goes_out_over_a_compressing_link_is_short() {
    let _alone = alone();
    const LEN: usize = 20_000;
    let router = router(|config| config.node.handshake.compression = true);
    let (mut stream, negotiated) = compressing_client(3, &router);
    subscribe(&mut stream, &negotiated, "zeros");
    let publisher = client(4, &router);
    let (mut received, mut content_len, mut stream_len) = (Vec::new(), 0, 0);
    let mut decompressor = Decompressor::new();
    let zeros = vec![0; LEN];
    let deadline = Instant::now() + SOON;
    while content_len < LEN {
        assert!(Instant::now() < deadline, "the sample does not arrive");
        put(&publisher, "zeros", &zeros, Qos::REQUEST);
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).unwrap_or(0);
        received.extend_from_slice(&chunk[..count]);
        while let Some((range, consumed)) = next_batch(&received, u16::MAX).unwrap() {
            let content_max = negotiated.content_max().unwrap();
            content_len += decompressor.batch(&received[range], content_max).unwrap().len();
            stream_len += consumed;
            received.drain(..consumed);
        }
    }
    assert!(stream_len < 1000, "{stream_len} bytes for {content_len}");
}

#[test]
fn keep_alive_and_close_have_the_header_of_compression() {
    let _alone = alone();
    let router = router(|config| {
        config.node.handshake.compression = true;
        config.node.handshake.lease_ms = 400;
    });
    let (mut stream, _) = compressing_client(3, &router);
    let mut received = Vec::new();
    while !received.ends_with(&[2, 0, 0, 4]) {
        let mut chunk = [0; 256];
        let count = stream.read(&mut chunk).expect("a keep-alive in time");
        assert!(count > 0, "the router closed the link");
        received.extend_from_slice(&chunk[..count]);
    }
    router.close();
    stream.read_to_end(&mut received).unwrap();
    assert!(received.ends_with(&[3, 0, 0, 3, 0]), "{received:?}");
}

#[test]
fn ten_thousand_half_open_handshakes_keep_nobody_out() {
    let _alone = alone();
    const FLOOD: usize = 10_000;
    /// What the flood may cost the router's process, besides the sockets of this very test.
    const GROWTH_KIB_MAX: u64 = 32 * 1024;
    let router = router(|_| {});
    let before = resident_kib();
    let config = HandshakeConfig::new(zid(9), WhatAmI::Client);
    let link = LinkParams { mtu: u16::MAX, streamed: true };
    let (mut init, mut framed) = (Vec::new(), Vec::new());
    let _ = Initiator::new(&config, link, None, &mut init);
    write_batch(&init, &mut framed);
    let mut flood = Vec::new();
    for number in 0..FLOOD {
        let mut stream = connect(&router);
        if number % 2 == 0 {
            // A whole INIT, which is answered with a cookie.
            stream.write_all(&framed).unwrap();
            assert!(stream.read(&mut [0; 256]).unwrap() > 0, "no answer to {number}");
        } else {
            stream.write_all(&framed[..framed.len() / 2]).unwrap();
        }
        flood.push(stream);
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < GROWTH_KIB_MAX, "{FLOOD} half-open handshakes took {grown} KiB");
    let subscriber = client(2, &router);
    let count = counter(&subscriber, "still/here");
    let publisher = client(3, &router);
    until_matched(&publisher, "still/here", &count);
    drop(flood);
}

#[test]
fn a_subscriber_that_never_reads_slows_nobody_with_drop() {
    let _alone = alone();
    const GROWTH_KIB_MAX: u64 = 64 * 1024;
    let router = router(|_| {});
    let (mut deaf, negotiated) = bare_client(9, &router, LEASE_MS);
    subscribe(&mut deaf, &negotiated, "flood");
    let good = client(2, &router);
    let count = counter(&good, "flood");
    let publisher = client(3, &router);
    until_matched(&publisher, "flood", &count);
    let before = resident_kib();
    let payload = vec![1; 4096];
    let dropped = || router.neighbours().iter().map(|it| it.dropped).sum::<u64>();
    wait_until("a drop", || {
        put(&publisher, "flood", &payload, Qos::DEFAULT);
        dropped() > 1000
    });
    // The deaf one's queue is full, and has been for a thousand samples; the other one still gets
    // its samples as fast as they come.
    let (seen, started) = (count.load(Ordering::Relaxed), Instant::now());
    wait_until("the next thousand samples", || {
        put(&publisher, "flood", &payload, Qos::DEFAULT);
        count.load(Ordering::Relaxed) > seen + 1000
    });
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "a thousand samples took {took:?}");
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < GROWTH_KIB_MAX, "the queues of the deaf subscriber took {grown} KiB");
}

#[test]
fn a_subscriber_that_never_reads_is_closed_with_block() {
    let _alone = alone();
    let wait = Duration::from_millis(500);
    let router = router(|config| {
        config.waits = CongestionWaits { block: wait, ..CongestionWaits::default() };
    });
    let (mut deaf, negotiated) = bare_client(9, &router, LEASE_MS);
    subscribe(&mut deaf, &negotiated, "flood");
    let good = client(2, &router);
    let count = counter(&good, "flood");
    let publisher = client(3, &router);
    until_matched(&publisher, "flood", &count);
    let is_there = || router.neighbours().iter().any(|it| it.zid == zid(9));
    assert!(is_there());
    let payload = vec![1; 65_536];
    let started = Instant::now();
    while is_there() {
        assert!(started.elapsed() < SOON, "the deaf subscriber is still connected");
        put(&publisher, "flood", &payload, Qos::REQUEST);
    }
    let before = count.load(Ordering::Relaxed);
    put(&publisher, "flood", &payload, Qos::REQUEST);
    wait_until("samples for the others", || count.load(Ordering::Relaxed) > before);
}

#[test]
fn sessions_beyond_the_limit_are_refused() {
    let _alone = alone();
    let router = router(|config| config.node.sessions_max = 1);
    let _first = client(2, &router);
    let mut node = NodeConfig::new(zid(3), WhatAmI::Client, CookieKey::new([3; 16]));
    let endpoints = vec![router.locators()[0].clone().into()];
    node.dial.push(DialTarget::new(endpoints));
    let refused = Runtime::open(RuntimeConfig::new(node), Arc::new(Deaf)).map(drop);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(&CloseReason::MAX_SESSIONS.to_string()), "{refused}");
}

#[test]
fn a_neighbour_that_falls_silent_is_noticed_by_its_lease() {
    let _alone = alone();
    let router = router(|_| {});
    let (_silent, _) = bare_client(8, &router, 300);
    wait_until("the end of the silent neighbour", || router.neighbours().is_empty());
}
