//! Two nodes on loopback: samples, queries and tokens go from one to the other and back.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weft_keyexpr::KeyExpr;
use weft_node::{DialTarget, Locality, NodeConfig, NodeEvent};
use weft_runtime::{
    IncomingQuery, IncomingReply, ListenTarget, Runtime, RuntimeConfig, SampleQos, SessionHandler,
};
use weft_transport::CookieKey;
use weft_wire::{InterceptionPoints, Push, Qos, Reliability, WhatAmI, WireExpr, ZenohId};

/// How long an event may take before the test fails.
const SOON: Duration = Duration::from_secs(10);

struct Events(Mutex<Sender<NodeEvent>>);

impl SessionHandler for Events {
    fn event(&self, event: NodeEvent) {
        let _ = self.0.lock().unwrap().send(event);
    }
    fn query(&self, _query: IncomingQuery<'_>) {}
    fn reply(&self, _query: u32, _reply: IncomingReply<'_>) {}
}

fn open(id: u8, whatami: WhatAmI, connect: Option<&Runtime>) -> (Runtime, Receiver<NodeEvent>) {
    open_with(id, whatami, connect, |_| {})
}

fn open_with(
    id: u8,
    whatami: WhatAmI,
    connect: Option<&Runtime>,
    change: impl FnOnce(&mut RuntimeConfig),
) -> (Runtime, Receiver<NodeEvent>) {
    let zid = ZenohId::from_le_bytes(&[id]).unwrap();
    let mut node = NodeConfig::new(zid, whatami, CookieKey::new([id; 16]));
    if let Some(to) = connect {
        let endpoints = vec![to.locators()[0].clone().into()];
        node.dial.push(DialTarget::new(endpoints));
    }
    let mut config = RuntimeConfig::new(node);
    if whatami != WhatAmI::Client {
        let endpoint = "tcp/127.0.0.1:0".parse().unwrap();
        config.listen.push(ListenTarget::new(endpoint));
    }
    change(&mut config);
    let (sender, events) = channel();
    let runtime = Runtime::open(config, Arc::new(Events(Mutex::new(sender)))).unwrap();
    (runtime, events)
}

fn key(text: &str) -> KeyExpr {
    KeyExpr::new(text).unwrap()
}

const BLOCK: SampleQos = SampleQos {
    qos: Qos::REQUEST,
    reliability: Reliability::Reliable,
    destination: Locality::Any,
    recorded: InterceptionPoints::NONE,
};

fn put(payload: &[u8]) -> Push<'_> {
    Push { qos: BLOCK.qos, ..Push::put(WireExpr::EMPTY, payload) }
}

#[test]
fn a_million_samples_arrive_once_and_in_order() {
    const COUNT: u64 = 1_000_000;
    let (a, _a_events) = open(1, WhatAmI::Peer, None);
    let (done, finished) = channel();
    let next = Mutex::new(0_u64);
    let callback = Box::new(move |sample: &weft_runtime::SampleView<'_>| {
        let mut next = next.lock().unwrap();
        let number = u64::from_le_bytes(sample.payload().unwrap().try_into().unwrap());
        assert_eq!(number, *next);
        *next += 1;
        if *next == COUNT {
            done.send(()).unwrap();
        }
    });
    a.declare_subscriber(&key("test/**"), Locality::Any, callback);
    let (b, events) = open(2, WhatAmI::Peer, Some(&a));
    let publisher = b.declare_publisher(&key("test/thr"), Locality::Any);
    let matching = |event: &NodeEvent| matches!(event, NodeEvent::Matching { matching: true, .. });
    let seen = b.is_matching(publisher.id())
        || events.iter().take_while(|_| true).any(|event| matching(&event));
    assert!(seen);
    let started = std::time::Instant::now();
    for number in 0..COUNT {
        b.publish(&publisher, &put(&number.to_le_bytes()), BLOCK);
    }
    finished.recv_timeout(SOON).expect("all samples arrive");
    let rate = COUNT as f64 / started.elapsed().as_secs_f64();
    println!("{rate:.0} samples of 8 B a second");
    b.close();
    a.close();
}

#[test]
fn large_samples_arrive_whole() {
    let (router, _events) = open(3, WhatAmI::Router, None);
    let (sub, _sub_events) = open(4, WhatAmI::Client, Some(&router));
    let (arrived, samples) = channel();
    let callback = Box::new(move |sample: &weft_runtime::SampleView<'_>| {
        arrived.send(sample.payload().unwrap().to_vec()).unwrap();
    });
    sub.declare_subscriber(&key("big"), Locality::Any, callback);
    let (publisher, _pub_events) = open(5, WhatAmI::Client, Some(&router));
    std::thread::sleep(Duration::from_millis(100));
    for len in [0, 1, 1000, 65_000, 65_536, 1_000_000, 20_000_000] {
        let payload: Vec<u8> = (0..len).map(|i| (i * 31) as u8).collect();
        publisher.put(&key("big"), &put(&payload), BLOCK);
        assert_eq!(samples.recv_timeout(SOON).expect("the sample arrives").len(), len);
    }
}

/// Payloads of one byte, and such as no compression makes shorter.
fn payloads() -> Vec<Vec<u8>> {
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (noise >> 56) as u8
    };
    let lens = [0, 1, 30, 1000, 65_000, 65_536, 3_000_000];
    lens.into_iter().flat_map(|len| [vec![7; len], (0..len).map(|_| next()).collect()]).collect()
}

#[test]
fn compressed_samples_arrive_whole_whoever_compresses() {
    for (subscriber_does, router_does, publisher_does) in
        [(true, true, true), (true, true, false), (false, true, true), (true, false, true)]
    {
        for batch_size in [u16::MAX, 300] {
            let compress = |does| {
                move |config: &mut RuntimeConfig| {
                    config.node.handshake.compression = does;
                    config.node.handshake.batch_size = batch_size;
                }
            };
            let (router, _events) = open_with(9, WhatAmI::Router, None, compress(router_does));
            let (subscriber, _events) =
                open_with(10, WhatAmI::Client, Some(&router), compress(subscriber_does));
            let (arrived, samples) = channel();
            let callback = Box::new(move |sample: &weft_runtime::SampleView<'_>| {
                arrived.send(sample.payload().unwrap().to_vec()).unwrap();
            });
            subscriber.declare_subscriber(&key("z/*"), Locality::Any, callback);
            let (publisher, events) =
                open_with(11, WhatAmI::Client, Some(&router), compress(publisher_does));
            let declared = publisher.declare_publisher(&key("z/1"), Locality::Any);
            let is_match =
                |it: &NodeEvent| matches!(it, NodeEvent::Matching { matching: true, .. });
            assert!(publisher.is_matching(declared.id()) || events.iter().any(|it| is_match(&it)));
            for payload in payloads() {
                publisher.publish(&declared, &put(&payload), BLOCK);
                let sample = samples.recv_timeout(SOON).expect("the sample arrives");
                assert!(sample == payload, "{} bytes", payload.len());
            }
            let neighbours = router.neighbours().len();
            publisher.close();
            subscriber.close();
            assert_eq!(neighbours, 2, "nobody was lost on the way");
        }
    }
}

#[test]
fn a_token_is_seen_to_come_and_to_go_with_its_node() {
    let (router, _events) = open(6, WhatAmI::Router, None);
    let (watcher, events) = open(7, WhatAmI::Client, Some(&router));
    let id = watcher.next_entity();
    watcher.declare_token_subscriber(id, &key("alive/*"), true);
    let (owner, _owner_events) = open(8, WhatAmI::Client, Some(&router));
    owner.declare_token(&key("alive/8"));
    let token = |alive| {
        move |event: NodeEvent| match event {
            NodeEvent::Token { key, alive: is, .. } if is == alive => Some(key),
            _ => None,
        }
    };
    let next = |wanted: bool| loop {
        let event = events.recv_timeout(SOON).expect("the token event arrives");
        if let Some(key) = token(wanted)(event) {
            return key;
        }
    };
    assert_eq!(next(true).as_str(), "alive/8");
    drop(owner);
    assert_eq!(next(false).as_str(), "alive/8");
}
