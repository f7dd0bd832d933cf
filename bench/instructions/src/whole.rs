//! The whole way of a message through sessions of the API, over loopback: every instruction of every thread.
//!
//! How many messages share a system call depends on how threads are scheduled, so these numbers differ a little from
//! run to run.

use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;
use weft::handlers::Callback;
use weft::{Config, CongestionControl, Session, WhatAmI, ZBytes};

/// Messages on their way at a time.
const BURST: u64 = 500;
/// Questions open at a time.
const QUESTIONS: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(60);
const KEY: &str = "test/instructions";

pub(crate) fn peer_to_peer(times: u64, len: usize) {
    let endpoint = free_endpoint();
    let receiver = session(WhatAmI::Peer, Some(&endpoint), None);
    let sender = session(WhatAmI::Peer, None, Some(&endpoint));
    walk(&sender, &receiver, times, len);
}

pub(crate) fn through_a_router(times: u64, len: usize) {
    let endpoint = free_endpoint();
    let _router = session(WhatAmI::Router, Some(&endpoint), None);
    let receiver = session(WhatAmI::Client, None, Some(&endpoint));
    let sender = session(WhatAmI::Client, None, Some(&endpoint));
    walk(&sender, &receiver, times, len);
}

/// Questions to another peer, each answered with `len` bytes.
pub(crate) fn questions(times: u64, len: usize) {
    let endpoint = free_endpoint();
    let answering = session(WhatAmI::Peer, Some(&endpoint), None);
    let asking = session(WhatAmI::Peer, None, Some(&endpoint));
    let payload = ZBytes::from(vec![7; len]);
    let queryable = answering.declare_queryable(KEY).complete(true).callback(move |query| {
        // It fails only while the session closes.
        let _ = query.reply(KEY, payload.clone()).wait();
    });
    let _queryable = queryable.wait().expect("the session is open");
    let ask = |ended: mpsc::Sender<()>| {
        let at_end = move || {
            // Nobody waits for it at the end.
            let _ = ended.send(());
        };
        let get = asking.get(KEY).with(Callback::with_drop(|_reply| (), at_end));
        get.wait().expect("the session is open");
    };
    while asking.get(KEY).wait().expect("the session is open").recv().is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (end, ended) = mpsc::channel();
    for _ in 0..times / QUESTIONS {
        for _ in 0..QUESTIONS {
            ask(end.clone());
        }
        for _ in 0..QUESTIONS {
            ended.recv_timeout(PATIENCE).expect("the questions are answered");
        }
    }
}

fn walk(sender: &Session, receiver: &Session, times: u64, len: usize) {
    let (arrive, arrived) = mpsc::channel();
    let mut count = 0;
    // The first one is for contact.
    let subscriber = receiver.declare_subscriber(KEY).callback_mut(move |_sample| {
        count += 1;
        if count % BURST == 1 {
            // Nobody waits for it at the end.
            let _ = arrive.send(());
        }
    });
    let _subscriber = subscriber.wait().expect("the session is open");
    let publisher = sender.declare_publisher(KEY).congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().expect("the session is open");
    while !publisher.matching_status().expect("the session is open").matching() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let payload = vec![7; len];
    let put = || publisher.put_bytes(&payload).expect("the session is open");
    put();
    arrived.recv_timeout(PATIENCE).expect("the first message arrives");
    for _ in 0..times / BURST {
        for _ in 0..BURST {
            put();
        }
        arrived.recv_timeout(PATIENCE).expect("the messages arrive");
    }
}

fn session(mode: WhatAmI, listen: Option<&str>, connect: Option<&str>) -> Session {
    let mut config = Config::default();
    config.set_mode(mode);
    let list = |endpoint: Option<&str>| format!("{:?}", Vec::from_iter(endpoint));
    for (path, json) in [
        ("scouting/multicast/enabled", "false".to_owned()),
        ("listen/endpoints", list(listen)),
        ("connect/endpoints", list(connect)),
    ] {
        config.insert_json5(path, &json).expect("the key and its value are known");
    }
    weft::open(config).wait().expect("loopback is there")
}

fn free_endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    format!("tcp/{}", listener.local_addr().expect("it is bound"))
}
