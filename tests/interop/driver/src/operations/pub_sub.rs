//! Publishing, subscribing and matching.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use weft::handlers::{FifoChannel, RingChannel};
use weft::{MatchingStatus, Sample, Session};

use super::{Answer, done, entity, reporter};
use crate::counter::Counter;
use crate::describe::{self, object};
use crate::driver::{Driver, Thing};
use crate::fields::{Failure, Fields};
use crate::values::{self, Quality, session_and_key, set, word};

pub(super) fn put(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let payload = values::payload(&mut fields)?.unwrap_or_default();
    let encoding = values::encoding(&mut fields)?;
    let put = session.put(key, payload);
    set!(put.encoding = encoding);
    publish(&session, put, fields)
}

pub(super) fn delete(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    publish(&session, session.delete(key), fields)
}

/// What puts and deletions have in common.
fn publish(
    session: &Session,
    publication: weft::PutBuilder<'_, weft::KeyExpr>,
    mut fields: Fields,
) -> Answer {
    let quality = Quality::take(&mut fields)?;
    set!(
        publication.attachment = values::bytes(&mut fields, "attachment")?,
        timestamp = values::timestamp(&mut fields, Some(session))?,
        source_info = values::source_info(&mut fields, session.id())?,
        timestamp_instrumentation = values::instrumentation(&mut fields)?,
        congestion_control = quality.congestion,
        priority = quality.priority,
        express = quality.express,
        allowed_destination = quality.destination,
    );
    fields.end()?;
    publication.wait()?;
    Ok(done())
}

pub(super) fn declare_publisher(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let quality = Quality::take(&mut fields)?;
    let publisher = session.declare_publisher(key);
    set!(
        publisher.encoding = values::encoding(&mut fields)?,
        reliability = word(&mut fields, "reliability")?,
        congestion_control = quality.congestion,
        priority = quality.priority,
        express = quality.express,
        allowed_destination = quality.destination,
    );
    fields.end()?;
    let publisher = publisher.wait()?;
    let eid = publisher.id().eid;
    let handle = driver.add(Thing::Publisher(publisher, session));
    Ok(object(json!({"entity": handle, "eid": eid})))
}

pub(super) fn publisher_put(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    if let Thing::AdvancedPublisher(publisher, session) = &*thing {
        return super::advanced::put(publisher, session, fields);
    }
    let (publisher, session) = publisher(&thing)?;
    let payload = values::payload(&mut fields)?.unwrap_or_default();
    let put = publisher.put(payload);
    set!(put.encoding = values::encoding(&mut fields)?);
    publish_through(publisher, session, put, fields)
}

pub(super) fn publisher_delete(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    if let Thing::AdvancedPublisher(publisher, session) = &*thing {
        return super::advanced::delete(publisher, session, fields);
    }
    let (publisher, session) = publisher(&thing)?;
    publish_through(publisher, session, publisher.delete(), fields)
}

fn publish_through(
    publisher: &weft::Publisher,
    session: &Session,
    publication: weft::PublicationBuilder<'_>,
    mut fields: Fields,
) -> Answer {
    set!(
        publication.attachment = values::bytes(&mut fields, "attachment")?,
        timestamp = values::timestamp(&mut fields, Some(session))?,
        source_info = values::source_info(&mut fields, publisher.id())?,
        timestamp_instrumentation = values::instrumentation(&mut fields)?,
    );
    fields.end()?;
    publication.wait()?;
    Ok(done())
}

pub(super) fn publisher_burst(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    let (publisher, _) = publisher(&thing)?;
    let (count, first): (u64, u64) = (fields.take("count")?, fields.take("first")?);
    let len: usize = fields.take("len")?;
    fields.end()?;
    if len < 8 {
        return Err(Failure::bad_request("`len`: a number takes 8 bytes"));
    }
    let mut payload = vec![0; len];
    let started = Instant::now();
    for number in first..first + count {
        payload[..8].copy_from_slice(&number.to_le_bytes());
        publisher.put_bytes(&payload)?;
    }
    let elapsed_us = started.elapsed().as_micros() as u64;
    Ok(object(json!({"sent": count, "elapsed_us": elapsed_us})))
}

fn publisher(thing: &Thing) -> Result<(&weft::Publisher, &Session), Failure> {
    match thing {
        Thing::Publisher(publisher, session) => Ok((publisher, session)),
        _ => Err(Failure::bad_request("the entity is no publisher")),
    }
}

pub(super) fn declare_subscriber(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let subscriber = session.declare_subscriber(key);
    set!(subscriber.allowed_origin = word(&mut fields, "origin")?);
    let handler = Handler::take(&mut fields)?;
    fields.end()?;
    let handle = driver.new_handle();
    let thing = match handler {
        Handler::Events(delay) => {
            let report = reporter("sample", "entity", handle, describe::sample);
            Thing::Subscriber(
                subscriber
                    .callback(move |view| {
                        report(view.to_sample());
                        std::thread::sleep(delay);
                    })
                    .wait()?,
            )
        }
        Handler::Count => {
            let counter = Arc::new(Counter::default());
            let counting = Arc::clone(&counter);
            let subscriber = subscriber.callback(move |view| counting.count(view)).wait()?;
            Thing::Counting(subscriber, counter)
        }
        Handler::Fifo(capacity) => {
            Thing::Channel(subscriber.with(FifoChannel::new(capacity)).wait()?)
        }
        Handler::Ring(capacity) => {
            Thing::Channel(subscriber.with(RingChannel::new(capacity)).wait()?)
        }
    };
    driver.insert(handle, thing);
    Ok(entity(handle))
}

enum Handler {
    Events(Duration),
    Count,
    Fifo(usize),
    Ring(usize),
}

impl Handler {
    fn take(fields: &mut Fields) -> Result<Self, Failure> {
        let Some(mut handler) = fields.take_if_any::<Fields>("handler")? else {
            return Ok(Self::Events(Duration::ZERO));
        };
        let kind: Option<String> = handler.take_if_any("kind")?;
        let taken = match kind.as_deref() {
            None | Some("events") => {
                let delay_ms = handler.take_if_any("delay_ms")?.unwrap_or_default();
                Self::Events(Duration::from_millis(delay_ms))
            }
            Some("count") => Self::Count,
            Some("fifo") => Self::Fifo(handler.take("capacity")?),
            Some("ring") => Self::Ring(handler.take("capacity")?),
            Some(other) => return Err(Failure::bad_request(format!("no handler `{other}`"))),
        };
        handler.end()?;
        Ok(taken)
    }
}

pub(super) fn wait(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    let (count, timeout) = (fields.take("count")?, timeout(&mut fields)?);
    fields.end()?;
    match &*thing {
        Thing::Counting(_, counter) => Ok(object(counter.wait(count, timeout))),
        _ => Err(Failure::bad_request("`wait` needs the counting handler")),
    }
}

pub(super) fn recv(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    let timeout = timeout(&mut fields)?;
    fields.end()?;
    let Thing::Channel(subscriber) = &*thing else {
        return Err(Failure::bad_request("`recv` needs a channel"));
    };
    let received: Result<Option<Sample>, _> = subscriber.recv_timeout(timeout);
    let closed = received.is_err();
    let sample = received.ok().flatten().as_ref().map(describe::sample);
    Ok(object(json!({"sample": sample, "closed": closed})))
}

fn timeout(fields: &mut Fields) -> Result<Duration, Failure> {
    Ok(Duration::from_millis(fields.take("timeout_ms")?))
}

pub(super) fn matching_status(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    fields.end()?;
    let status = match &*thing {
        Thing::Publisher(publisher, _) => publisher.matching_status()?,
        Thing::Querier(querier) => querier.matching_status()?,
        _ => return Err(no_sender()),
    };
    Ok(object(json!({"matching": status.matching()})))
}

pub(super) fn matching_listener(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    fields.end()?;
    let listener = match &*thing {
        Thing::Publisher(publisher, _) => publisher.matching_listener(),
        Thing::Querier(querier) => querier.matching_listener(),
        Thing::AdvancedPublisher(publisher, _) => publisher.matching_listener(),
        _ => return Err(no_sender()),
    };
    let handle = driver.new_handle();
    let matching = |status: &MatchingStatus| object(json!({"matching": status.matching()}));
    let report = reporter("matching", "entity", handle, matching);
    driver.insert(handle, Thing::MatchingListener(listener.callback(report).wait()?));
    Ok(entity(handle))
}

fn no_sender() -> Failure {
    Failure::bad_request("the entity is neither publisher nor querier")
}
