//! The process that is traced: a node with two flows of messages, each of which has links and threads of its own.
//!
//! It is told what to do, and says what it has done, by single bytes over one stream for the marks and one for each
//! flow. So its flows share nothing for the sake of the measurement, unless it is told to.

use crate::trace::MARKS;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use weft::{Config, CongestionControl, Session, WhatAmI};

/// The keys of the two flows.
pub(crate) const KEYS: [&str; 2] = ["a/sample", "b/sample"];

/// What an error is here: its text, for the person at the terminal.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What the traced node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A router between clients, which stamps the samples that have no timestamp.
    Router,
    /// A peer with a publisher a flow, in a thread of its own.
    Publishers,
    /// The same, and both count in one place.
    Counting,
    /// A peer that publishes without publishers, in a thread a flow.
    Putting,
    /// A peer with a subscriber a flow.
    Subscribers,
}

impl Role {
    /// All, with the words that name them on the command line.
    const ALL: [(&str, Self); 5] = [
        ("router", Self::Router),
        ("publishers", Self::Publishers),
        ("counting", Self::Counting),
        ("putting", Self::Putting),
        ("subscribers", Self::Subscribers),
    ];

    pub(crate) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(word, _)| word)
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, role)| *role)
    }
}

/// Where the trace shows which flow is under way; a line of its own, which nothing else touches.
#[repr(align(64))]
struct Marks([AtomicU64; MARKS]);

static MARKS_HERE: Marks = Marks([const { AtomicU64::new(0) }; MARKS]);

/// What [`Role::Counting`] counts, to be found.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Plays a role: listens at `endpoint`, and is told over streams to `control` what to do. Ends when the first stream
/// does.
pub(crate) fn play(role: Role, endpoint: &str, control: &str) -> Result<(), Failure> {
    let connect = || -> Result<TcpStream, Failure> {
        let stream = TcpStream::connect(control)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let mut marks = connect()?;
    let flows = [connect()?, connect()?];
    let mode = if role == Role::Router { WhatAmI::Router } else { WhatAmI::Peer };
    let session = session(mode, Some(endpoint), None)?;
    match role {
        Role::Router => {}
        Role::Publishers | Role::Counting | Role::Putting => publish(&session, flows, role)?,
        Role::Subscribers => subscribe(&session, flows)?,
    }
    let address = MARKS_HERE.0.as_ptr().addr() as u64;
    marks.write_all(&address.to_le_bytes())?;
    let mut which = [0];
    while marks.read(&mut which)? > 0 {
        let mark = MARKS_HERE.0.get(usize::from(which[0])).ok_or("there is no such mark")?;
        mark.store(1, Ordering::SeqCst);
        marks.write_all(&which)?;
    }
    Ok(())
}

/// A thread a flow publishes once for every byte that it is sent. The threads end with the process.
fn publish(session: &Session, flows: [TcpStream; 2], role: Role) -> Result<(), Failure> {
    for (key, mut flow) in KEYS.into_iter().zip(flows) {
        let publisher = session.declare_publisher(key);
        let publisher = publisher.congestion_control(CongestionControl::Block).wait()?;
        let session = session.clone();
        std::thread::spawn(move || {
            let payload = [7; 64];
            while flow.read_exact(&mut [0]).is_ok() {
                if role == Role::Counting {
                    COUNTER.fetch_add(1, Ordering::Relaxed);
                }
                let put = if role == Role::Putting {
                    session.put(key, payload).congestion_control(CongestionControl::Block).wait()
                } else {
                    publisher.put_bytes(&payload)
                };
                put.expect("the session is open");
            }
        });
    }
    Ok(())
}

/// A callback a flow sends a byte for every sample.
fn subscribe(session: &Session, flows: [TcpStream; 2]) -> Result<(), Failure> {
    for (key, flow) in KEYS.into_iter().zip(flows) {
        let flow = Arc::new(flow);
        let subscriber = session.declare_subscriber(key).callback(move |_sample| {
            // It fails only when the process is not needed any more.
            let _ = (&*flow).write_all(&[0]);
        });
        subscriber.wait()?.background();
    }
    Ok(())
}

/// A session that finds nobody by itself.
pub(crate) fn session(
    mode: WhatAmI,
    listen: Option<&str>,
    connect: Option<&str>,
) -> Result<Session, Failure> {
    let mut config = Config::default();
    config.set_mode(mode);
    let list = |endpoint: Option<&str>| format!("{:?}", Vec::from_iter(endpoint));
    for (path, json) in [
        ("scouting/multicast/enabled", "false".to_owned()),
        ("listen/endpoints", list(listen)),
        ("connect/endpoints", list(connect)),
    ] {
        config.insert_json5(path, &json)?;
    }
    Ok(weft::open(config).wait()?)
}
