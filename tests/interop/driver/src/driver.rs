//! Handles, and what they stand for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft::ext::{AdvancedPublisher, AdvancedSubscriber, SampleMissListener};
use weft::handlers::Receiver;
use weft::{
    CancellationToken, KeyExpr, LivelinessSubscriber, LivelinessToken, MatchingListener, Publisher,
    Querier, Queryable, Sample, Scout, Session, Subscriber,
};

use crate::counter::Counter;
use crate::fields::Failure;

/// What a handle stands for.
pub(crate) enum Thing {
    Session(Session),
    KeyExpr(KeyExpr),
    /// With its session, whose clock makes timestamps.
    Publisher(Publisher, Session),
    Subscriber(#[allow(dead_code, reason = "is declared as long as it lives")] Subscriber<()>),
    Counting(#[allow(dead_code, reason = "as above")] Subscriber<()>, Arc<Counter>),
    Channel(Subscriber<Receiver<Sample>>),
    Queryable(#[allow(dead_code, reason = "as above")] Queryable<()>),
    Querier(Querier),
    /// With its session, as a publisher.
    AdvancedPublisher(AdvancedPublisher, Session),
    AdvancedSubscriber(AdvancedSubscriber<()>),
    MissListener(#[allow(dead_code, reason = "as above")] SampleMissListener<()>),
    Token(#[allow(dead_code, reason = "as above")] LivelinessToken),
    LivelinessSubscriber(#[allow(dead_code, reason = "as above")] LivelinessSubscriber<()>),
    MatchingListener(#[allow(dead_code, reason = "as above")] MatchingListener<()>),
    Scout(#[allow(dead_code, reason = "as above")] Scout<()>),
    Get(CancellationToken),
}

/// What all lanes and callbacks share.
#[derive(Default)]
pub(crate) struct Driver {
    next: AtomicU64,
    things: Mutex<HashMap<u64, Arc<Thing>>>,
}

impl Driver {
    pub(crate) fn new_handle(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn insert(&self, handle: u64, thing: Thing) {
        self.lock().insert(handle, Arc::new(thing));
    }

    pub(crate) fn add(&self, thing: Thing) -> u64 {
        let handle = self.new_handle();
        self.insert(handle, thing);
        handle
    }

    pub(crate) fn thing(&self, handle: u64) -> Result<Arc<Thing>, Failure> {
        self.lock().get(&handle).cloned().ok_or_else(|| unknown(handle))
    }

    pub(crate) fn session(&self, handle: u64) -> Result<Session, Failure> {
        match &*self.thing(handle)? {
            Thing::Session(session) => Ok(session.clone()),
            _ => Err(Failure::bad_request(format!("{handle} is no session"))),
        }
    }

    /// Takes out an entity, which undeclares it unless another lane is using it.
    pub(crate) fn remove(&self, handle: u64) -> Result<Arc<Thing>, Failure> {
        let mut things = self.lock();
        match things.get(&handle).map(|thing| &**thing) {
            None => Err(unknown(handle)),
            Some(Thing::Session(_) | Thing::Get(_)) => {
                Err(Failure::bad_request(format!("{handle} is no entity")))
            }
            Some(Thing::KeyExpr(_)) => {
                Err(Failure::bad_request("a declared key expression ends with its session"))
            }
            Some(_) => things.remove(&handle).ok_or_else(|| unknown(handle)),
        }
    }

    pub(crate) fn close_sessions(&self) {
        let things: Vec<Arc<Thing>> = self.lock().values().cloned().collect();
        for thing in things {
            if let Thing::Session(session) = &*thing {
                session.close().wait();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Thing>>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(handle: u64) -> Failure {
    Failure::bad_request(format!("no handle {handle}"))
}
