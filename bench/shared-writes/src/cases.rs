//! What is traced: each case is a node and two flows of messages through it, and what it may share.

use crate::stage::{PATIENCE, Subject};
use crate::subject::{Failure, KEYS, Role, session};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use weft::{CongestionControl, Session, WhatAmI};

/// A path of messages.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// In a few words.
    pub(crate) about: &'static str,
    pub(crate) role: Role,
    pub(crate) expected: Expected,
    pub(crate) flows: fn(&Subject) -> Result<Flows, Failure>,
}

/// What is known to be written by every message, whoever it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing: anything else is a failure.
    Nothing,
    /// The path goes through what the whole node has one of; what it writes there is told.
    Something,
    /// What was put there to be found: nothing is a failure.
    Planted,
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "planted",
        about: "two publishers that count in one place: to see that it is found",
        role: Role::Counting,
        expected: Expected::Planted,
        flows: published,
    },
    Case {
        name: "publish",
        about: "samples of two publishers to a neighbour each",
        role: Role::Publishers,
        expected: Expected::Nothing,
        flows: published,
    },
    Case {
        name: "put",
        about: "the same of a session, without publishers",
        role: Role::Putting,
        expected: Expected::Nothing,
        flows: published,
    },
    Case {
        name: "deliver",
        about: "samples of two neighbours to a callback each",
        role: Role::Subscribers,
        expected: Expected::Nothing,
        flows: delivered,
    },
    Case {
        name: "route",
        about: "samples through a router between two pairs of clients",
        role: Role::Router,
        expected: Expected::Nothing,
        flows: |subject| routed(subject, Stamps::OfRouter),
    },
    Case {
        name: "route-stamped",
        about: "the same, with timestamps of their publishers",
        role: Role::Router,
        expected: Expected::Nothing,
        flows: |subject| routed(subject, Stamps::OfPublisher),
    },
    Case {
        name: "route-beside",
        about: "the same, of the second pair, beside queries and replies of the first",
        role: Role::Router,
        expected: Expected::Nothing,
        flows: beside,
    },
    Case {
        name: "route-query",
        about: "queries and replies through a router between two pairs of clients",
        role: Role::Router,
        expected: Expected::Something,
        flows: asked,
    },
];

/// Both flows, and the sessions at their ends.
pub(crate) struct Flows {
    pub(crate) flows: [Flow; 2],
    _sessions: Vec<Session>,
}

/// One flow of messages, one at a time.
pub(crate) struct Flow {
    send: Box<dyn FnMut() -> Result<(), Failure>>,
    /// Whether the message, or one that was sent before, has arrived in this time.
    arrived: Box<dyn FnMut(Duration) -> Result<bool, Failure>>,
}

impl Flow {
    /// Sends a message and waits for it.
    pub(crate) fn walk(&mut self) -> Result<(), Failure> {
        (self.send)()?;
        if (self.arrived)(PATIENCE)? { Ok(()) } else { Err("a message did not arrive".into()) }
    }

    /// Sends messages until they arrive: declarations take their time.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        const PAUSE: Duration = Duration::from_millis(200);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            (self.send)()?;
            if (self.arrived)(PAUSE)? {
                while (self.arrived)(PAUSE)? {}
                return Ok(());
            }
        }
        Err("no message has arrived".into())
    }
}

fn published(subject: &Subject) -> Result<Flows, Failure> {
    let mut sessions = Vec::new();
    let mut flow = |key, stream: &TcpStream| -> Result<Flow, Failure> {
        let peer = session(WhatAmI::Peer, None, Some(&subject.endpoint))?;
        let arrived = arrivals(&peer, key)?;
        sessions.push(peer);
        let mut stream = stream.try_clone()?;
        Ok(Flow { send: Box::new(move || Ok(stream.write_all(&[0])?)), arrived: received(arrived) })
    };
    let flows = [flow(KEYS[0], &subject.flows[0])?, flow(KEYS[1], &subject.flows[1])?];
    Ok(Flows { flows, _sessions: sessions })
}

fn delivered(subject: &Subject) -> Result<Flows, Failure> {
    let mut sessions = Vec::new();
    let mut flow = |key, stream: &TcpStream| -> Result<Flow, Failure> {
        let peer = session(WhatAmI::Peer, None, Some(&subject.endpoint))?;
        let send = publisher(&peer, key, Stamps::OfRouter)?;
        sessions.push(peer);
        let mut stream = stream.try_clone()?;
        let arrived = move |patience| -> Result<bool, Failure> {
            stream.set_read_timeout(Some(patience))?;
            match stream.read_exact(&mut [0]) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(error.into()),
            }
        };
        Ok(Flow { send, arrived: Box::new(arrived) })
    };
    let flows = [flow(KEYS[0], &subject.flows[0])?, flow(KEYS[1], &subject.flows[1])?];
    Ok(Flows { flows, _sessions: sessions })
}

/// Who gives a sample its timestamp.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stamps {
    OfRouter,
    OfPublisher,
}

fn routed(subject: &Subject, stamps: Stamps) -> Result<Flows, Failure> {
    let (sessions, [a, c, b, d]) = clients(subject)?;
    let flows = [samples(&a, &b, KEYS[0], stamps)?, samples(&c, &d, KEYS[1], stamps)?];
    Ok(Flows { flows, _sessions: sessions })
}

fn beside(subject: &Subject) -> Result<Flows, Failure> {
    let (sessions, [a, c, b, d]) = clients(subject)?;
    let flows = [queries(&a, &b, KEYS[0])?, samples(&c, &d, KEYS[1], Stamps::OfRouter)?];
    Ok(Flows { flows, _sessions: sessions })
}

fn asked(subject: &Subject) -> Result<Flows, Failure> {
    let (sessions, [a, c, b, d]) = clients(subject)?;
    let flows = [queries(&a, &b, KEYS[0])?, queries(&c, &d, KEYS[1])?];
    Ok(Flows { flows, _sessions: sessions })
}

fn samples(
    from: &Session,
    to: &Session,
    key: &'static str,
    stamps: Stamps,
) -> Result<Flow, Failure> {
    Ok(Flow { arrived: received(arrivals(to, key)?), send: publisher(from, key, stamps)? })
}

fn queries(from: &Session, to: &Session, key: &'static str) -> Result<Flow, Failure> {
    let queryable = to.declare_queryable(key).complete(true).callback(move |query| {
        // It fails only while the session closes.
        let _ = query.reply(key, [7; 64]).wait();
    });
    queryable.wait()?.background();
    let (from, (arrive, arrived)) = (from.clone(), channel());
    let send = move || -> Result<(), Failure> {
        let replies = from.get(key).wait()?;
        while let Ok(reply) = replies.recv() {
            if reply.result().is_ok() {
                arrive.send(())?;
            }
        }
        Ok(())
    };
    Ok(Flow { send: Box::new(send), arrived: received(arrived) })
}

/// Clients of a router: the two ends of one flow in the first and the third place, those of the other one in the
/// second and the last. A new link goes to the reading thread that has the fewest, the first of several: so each
/// flow has its own thread for both of its links.
fn clients(subject: &Subject) -> Result<(Vec<Session>, [Session; 4]), Failure> {
    let client = || session(WhatAmI::Client, None, Some(&subject.endpoint));
    let (a, c) = (client()?, client()?);
    let address = subject.endpoint.trim_start_matches("tcp/");
    let others = std::thread::available_parallelism()?.get().saturating_sub(2);
    // Links of nobody, for the threads beyond the second.
    let _idle: Vec<TcpStream> =
        (0..others).map(|_| TcpStream::connect(address)).collect::<Result<_, _>>()?;
    let clients = [a, c, client()?, client()?];
    Ok((clients.to_vec(), clients))
}

fn publisher(
    session: &Session,
    key: &'static str,
    stamps: Stamps,
) -> Result<Box<dyn FnMut() -> Result<(), Failure>>, Failure> {
    let publisher = session.declare_publisher(key);
    let publisher = publisher.congestion_control(CongestionControl::Block).wait()?;
    let session = session.clone();
    Ok(Box::new(move || {
        let put = publisher.put([7; 64]);
        let put = match stamps {
            Stamps::OfRouter => put,
            Stamps::OfPublisher => put.timestamp(session.new_timestamp()),
        };
        Ok(put.wait()?)
    }))
}

/// What a subscriber has got.
fn arrivals(session: &Session, key: &'static str) -> Result<Receiver<()>, Failure> {
    let (arrive, arrived) = channel();
    let subscriber = session.declare_subscriber(key).callback(move |_sample| {
        // Nobody waits at the end.
        let _ = arrive.send(());
    });
    subscriber.wait()?.background();
    Ok(arrived)
}

fn received(arrivals: Receiver<()>) -> Box<dyn FnMut(Duration) -> Result<bool, Failure>> {
    Box::new(move |patience| match arrivals.recv_timeout(patience) {
        Ok(()) => Ok(true),
        Err(RecvTimeoutError::Timeout) => Ok(false),
        Err(error) => Err(error.into()),
    })
}
