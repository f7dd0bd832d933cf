//! What happens on the way through a router when a lane or a socket is full.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_keyexpr::KeyExpr;
use weft_node::{DialTarget, Locality, NodeConfig, NodeEvent};
use weft_runtime::{
    CongestionWaits, IncomingQuery, IncomingReply, ListenTarget, PublisherSlot, Runtime,
    RuntimeConfig, SampleQos, SampleView, SessionHandler,
};
use weft_transport::CookieKey;
use weft_wire::{
    CongestionControl, InterceptionPoints, Push, Qos, Reliability, WhatAmI, WireExpr, ZenohId,
};

/// How long anything may take before a test fails.
const SOON: Duration = Duration::from_secs(60);
/// Bytes of a message.
const LEN: usize = 1000;
/// Messages, much more than all buffers on the way hold.
const COUNT: u64 = 100_000;
/// Threads that a node may start because others wait, however often they do: two links are read, and
/// a spare thread that nobody has called for a second on a slow machine ends.
const STARTED_MAX: u64 = 8;

struct Quiet;

impl SessionHandler for Quiet {
    fn event(&self, _event: NodeEvent) {}
    fn query(&self, _query: IncomingQuery<'_>) {}
    fn reply(&self, _query: u32, _reply: IncomingReply<'_>) {}
}

/// A router with two clients, one of which subscribes.
struct Network {
    publisher: Runtime,
    slot: Arc<PublisherSlot>,
    router: Runtime,
    subscriber: Runtime,
    received: Arc<AtomicU64>,
}

impl Network {
    /// `each` is called for every sample before it counts; they must come in order.
    fn new(router_waits: CongestionWaits, each: impl Fn(u64) + Send + Sync + 'static) -> Self {
        let router = open(1, WhatAmI::Router, None, router_waits);
        let waits = CongestionWaits { drop: SOON, ..CongestionWaits::default() };
        let subscriber = open(2, WhatAmI::Client, Some(&router), waits);
        let publisher = open(3, WhatAmI::Client, Some(&router), waits);
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        let next = Mutex::new(0);
        let callback = Box::new(move |sample: &SampleView<'_>| {
            let mut next = next.lock().unwrap();
            let number = u64::from_le_bytes(*sample.payload().unwrap().first_chunk().unwrap());
            each(number);
            // Samples may be missing; what comes is in order.
            if number >= *next {
                *next = number + 1;
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let key = KeyExpr::new("test/stalls").unwrap();
        subscriber.declare_subscriber(&key, Locality::Any, callback);
        let slot = publisher.declare_publisher(&key, Locality::Remote);
        until("the subscriber is known", || publisher.is_matching(slot.id()));
        Self { publisher, slot, router, subscriber, received }
    }

    fn publish(&self, number: u64, congestion: CongestionControl) {
        let mut payload = [0; LEN];
        payload[..8].copy_from_slice(&number.to_le_bytes());
        let qos = Qos::default().with_congestion_control(congestion);
        let (reliability, destination) = (Reliability::Reliable, Locality::Any);
        self.publisher.publish(
            &self.slot,
            &Push { qos, ..Push::put(WireExpr::EMPTY, &payload) },
            SampleQos { qos, reliability, destination, recorded: InterceptionPoints::NONE },
        );
    }

    #[track_caller]
    fn wait_for(&self, count: u64) {
        until("all samples arrive once and in order", || {
            self.received.load(Ordering::SeqCst) >= count
        });
    }

    fn threads_started(&self) -> [u64; 2] {
        [self.router.threads_started(), self.subscriber.threads_started()]
    }
}

fn open(id: u8, whatami: WhatAmI, connect: Option<&Runtime>, waits: CongestionWaits) -> Runtime {
    let zid = ZenohId::from_le_bytes(&[id]).unwrap();
    let mut node = NodeConfig::new(zid, whatami, CookieKey::new([id; 16]));
    if let Some(to) = connect {
        let endpoints = vec![to.locators()[0].clone().into()];
        node.dial.push(DialTarget::new(endpoints));
    }
    let mut config = RuntimeConfig::new(node);
    config.waits = waits;
    if whatami != WhatAmI::Client {
        let endpoint = "tcp/127.0.0.1:0".parse().unwrap();
        config.listen.push(ListenTarget::new(endpoint));
    }
    Runtime::open(config, Arc::new(Quiet)).unwrap()
}

#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// A full lane is written by whoever filled it. As long as the socket takes what was in it, nothing
/// waits and nothing is dropped, even if nothing has time to wait.
#[test]
fn a_full_lane_before_a_socket_with_room_drops_nothing() {
    /// More than a lane and less than the sockets hold.
    const WINDOW: u64 = 300;
    let waits = CongestionWaits { drop: Duration::ZERO, ..CongestionWaits::default() };
    let network = Network::new(waits, |_| ());
    for number in 0..COUNT / 2 {
        network.publish(number, CongestionControl::Drop);
        if (number + 1) % WINDOW == 0 {
            network.wait_for(number + 1);
        }
    }
    network.wait_for(COUNT / 2);
    assert!(network.router.neighbours().iter().all(|neighbour| neighbour.dropped == 0));
}

/// A receiver that keeps up makes nobody wait in the router for long; a flood of blocking messages
/// starts no thread a stall.
#[test]
fn a_flood_of_blocking_messages_starts_few_threads() {
    let network = Network::new(CongestionWaits::default(), |_| ());
    let before = network.threads_started();
    for number in 0..COUNT {
        network.publish(number, CongestionControl::Block);
    }
    network.wait_for(COUNT);
    assert_few_started(before, network.threads_started());
}

/// The same for a receiver that does not keep up: the router's socket is full again and again.
#[test]
fn a_slow_receiver_starts_few_threads() {
    let network = Network::new(CongestionWaits::default(), |number| {
        if number % 200 == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
    });
    let before = network.threads_started();
    for number in 0..COUNT {
        network.publish(number, CongestionControl::Block);
    }
    network.wait_for(COUNT);
    assert_few_started(before, network.threads_started());
}

#[track_caller]
fn assert_few_started(before: [u64; 2], after: [u64; 2]) {
    println!("threads started by router and subscriber: {before:?}, then {after:?}");
    for (before, after) in before.into_iter().zip(after) {
        assert!(after - before <= STARTED_MAX, "{} threads", after - before);
    }
}
