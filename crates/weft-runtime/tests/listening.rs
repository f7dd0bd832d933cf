//! Listening where something else still does, and connecting where it is not allowed.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_node::{DialTarget, NodeConfig, NodeEvent, Retry};
use weft_runtime::{
    IncomingQuery, IncomingReply, ListenTarget, OpenError, Runtime, RuntimeConfig, SessionHandler,
};
use weft_transport::CookieKey;
use weft_wire::{Endpoint, WhatAmI, ZenohId};

/// How long anything may take before a test fails.
const SOON: Duration = Duration::from_secs(20);
const RETRY: Retry = Retry { init_us: 5_000, max_us: 20_000, factor: 2.0 };

struct Deaf;

impl SessionHandler for Deaf {
    fn event(&self, _event: NodeEvent) {}
    fn query(&self, _query: IncomingQuery<'_>) {}
    fn reply(&self, _query: u32, _reply: IncomingReply<'_>) {}
}

fn node(id: u8, whatami: WhatAmI) -> NodeConfig {
    let zid = ZenohId::from_le_bytes(&[id]).unwrap();
    NodeConfig::new(zid, whatami, CookieKey::new([id; 16]))
}

/// A port that is taken until its listener is dropped.
fn taken() -> (TcpListener, Endpoint) {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", holder.local_addr().unwrap()).parse().unwrap();
    (holder, endpoint)
}

fn open(
    endpoint: &Endpoint,
    required: bool,
    timeout: Option<Duration>,
) -> Result<Runtime, OpenError> {
    let mut config = RuntimeConfig::new(node(1, WhatAmI::Router));
    let retry = RETRY;
    config.listen.push(ListenTarget { endpoint: endpoint.clone(), required, timeout, retry });
    Runtime::open(config, Arc::new(Deaf))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_single_try_fails_at_once() {
    let (_holder, endpoint) = taken();
    let failed = open(&endpoint, true, Some(Duration::ZERO)).err().unwrap();
    assert!(matches!(failed, OpenError::Listen(_)), "{failed}");
    let without = open(&endpoint, false, Some(Duration::ZERO)).unwrap();
    assert!(without.locators().is_empty());
}

#[test]
fn opening_waits_for_a_required_endpoint() {
    for timeout in [None, Some(SOON)] {
        let (holder, endpoint) = taken();
        let freed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(holder);
            Instant::now()
        });
        let runtime = open(&endpoint, true, timeout).unwrap();
        let opened = Instant::now();
        assert!(freed.join().unwrap() <= opened);
        assert_eq!(runtime.locators(), [endpoint.locator().clone()]);
    }
}

#[test]
fn opening_fails_when_the_time_is_over() {
    const TIMEOUT: Duration = Duration::from_millis(60);
    let (_holder, endpoint) = taken();
    let started = Instant::now();
    let failed = open(&endpoint, true, Some(TIMEOUT)).err().unwrap();
    assert!(started.elapsed() >= TIMEOUT);
    assert!(failed.to_string().contains(&endpoint.to_string()), "{failed}");
}

#[test]
fn what_is_not_required_is_bound_in_the_background() {
    let (holder, endpoint) = taken();
    let runtime = open(&endpoint, false, None).unwrap();
    assert!(runtime.locators().is_empty());
    drop(holder);
    until("a listener", || runtime.locators() == [endpoint.locator().clone()]);
    let mut client = node(2, WhatAmI::Client);
    let endpoints = vec![endpoint];
    client.dial.push(DialTarget::new(endpoints));
    let client = Runtime::open(RuntimeConfig::new(client), Arc::new(Deaf)).unwrap();
    assert_eq!(client.neighbours()[0].zid, runtime.zid());
}

#[test]
fn the_background_gives_up_when_the_time_is_over() {
    let (holder, endpoint) = taken();
    let runtime = open(&endpoint, false, Some(Duration::from_millis(30))).unwrap();
    std::thread::sleep(Duration::from_millis(150));
    drop(holder);
    std::thread::sleep(Duration::from_millis(100));
    assert!(runtime.locators().is_empty());
}

#[test]
fn a_protocol_that_may_not_be_used_is_not_dialed() {
    let (holder, endpoint) = taken();
    let mut client = node(2, WhatAmI::Client);
    client.dial.push(DialTarget::new(vec![endpoint]));
    let mut config = RuntimeConfig::new(client);
    config.links.protocols = Some(vec!["unixsock-stream".into()]);
    let failed = Runtime::open(config, Arc::new(Deaf)).err().unwrap();
    assert!(failed.to_string().contains("transport/link/protocols"), "{failed}");
    holder.set_nonblocking(true).unwrap();
    assert!(holder.accept().is_err(), "nobody came");
}

#[test]
fn a_closed_node_tries_no_more() {
    let (holder, endpoint) = taken();
    let runtime = open(&endpoint, false, None).unwrap();
    runtime.close();
    drop(holder);
    std::thread::sleep(Duration::from_millis(100));
    assert!(TcpListener::bind(endpoint.locator().address()).is_ok());
}
