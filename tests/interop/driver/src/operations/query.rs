//! Asking, answering, cancelling, and liveliness.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weft::handlers::Callback;
use weft::{CancellationToken, Query, Reply};

use super::{Answer, done, entity, reporter};
use crate::describe::{self, Object, object};
use crate::driver::{Driver, Thing};
use crate::fields::{Failure, Fields};
use crate::output;
use crate::rules::{Rule, Rules};
use crate::values::{self, Quality, session_and_key, set, word};

pub(super) fn declare_queryable(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let replies: Vec<Fields> = fields.take_if_any("replies")?.unwrap_or_default();
    let finalize_delay_ms = fields.take_if_any("finalize_delay_ms")?.unwrap_or_default();
    let rules = Arc::new(Rules {
        own_key: key.clone(),
        replies: replies.into_iter().map(Rule::take).collect::<Result<_, _>>()?,
        finalize_delay: Duration::from_millis(finalize_delay_ms),
    });
    let queryable = session.declare_queryable(key);
    set!(
        queryable.complete = fields.take_if_any("complete")?,
        allowed_origin = word(&mut fields, "origin")?,
    );
    fields.end()?;
    let handle = driver.new_handle();
    let report = reporter("query", "entity", handle, describe::query);
    let answer = move |query: Query| {
        report(query.clone());
        if rules.is_slow() {
            let rules = Arc::clone(&rules);
            std::thread::spawn(move || rules.answer(query));
        } else {
            rules.answer(query);
        }
    };
    driver.insert(handle, Thing::Queryable(queryable.callback(answer).wait()?));
    Ok(entity(handle))
}

/// What every kind of query has: a handle, a handler that writes its events, and a token that ends it.
struct Asking {
    handle: u64,
    replies: Callback<Reply>,
    token: CancellationToken,
}

impl Asking {
    fn new(driver: &Arc<Driver>) -> Self {
        let handle = driver.new_handle();
        let report = reporter("reply", "get", handle, describe::reply);
        let end = move || output::write(&json!({"event": "get_done", "get": handle}));
        let token = CancellationToken::new();
        driver.insert(handle, Thing::Get(token.clone()));
        Self { handle, replies: Callback::with_drop(report, end), token }
    }
}

fn asked(handle: u64) -> Object {
    object(json!({"get": handle}))
}

pub(super) fn get(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let session = driver.session(fields.take("session")?)?;
    let selector: String = fields.take("selector")?;
    let quality = Quality::take(&mut fields)?;
    let get = session.get(selector);
    set!(
        get.target = word(&mut fields, "target")?,
        consolidation = word(&mut fields, "consolidation")?,
        accept_replies = word(&mut fields, "accept_replies")?,
        timeout = timeout(&mut fields)?,
        congestion_control = quality.congestion,
        priority = quality.priority,
        express = quality.express,
        allowed_destination = quality.destination,
        payload = values::payload(&mut fields)?,
        encoding = values::encoding(&mut fields)?,
        attachment = values::bytes(&mut fields, "attachment")?,
        source_info = values::source_info(&mut fields, session.id())?,
        timestamp_instrumentation = values::instrumentation(&mut fields)?,
    );
    fields.end()?;
    let Asking { handle, replies, token } = Asking::new(driver);
    get.cancellation_token(&token).with(replies).wait()?;
    Ok(asked(handle))
}

pub(super) fn declare_querier(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let quality = Quality::take(&mut fields)?;
    let querier = session.declare_querier(key);
    set!(
        querier.target = word(&mut fields, "target")?,
        consolidation = word(&mut fields, "consolidation")?,
        accept_replies = word(&mut fields, "accept_replies")?,
        timeout = timeout(&mut fields)?,
        congestion_control = quality.congestion,
        priority = quality.priority,
        express = quality.express,
        allowed_destination = quality.destination,
    );
    fields.end()?;
    Ok(entity(driver.add(Thing::Querier(querier.wait()?))))
}

pub(super) fn querier_get(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    let Thing::Querier(querier) = &*thing else {
        return Err(Failure::bad_request("the entity is no querier"));
    };
    let get = querier.get();
    set!(
        get.parameters = fields.take_if_any::<String>("parameters")?,
        payload = values::payload(&mut fields)?,
        encoding = values::encoding(&mut fields)?,
        attachment = values::bytes(&mut fields, "attachment")?,
        source_info = values::source_info(&mut fields, querier.id())?,
        timestamp_instrumentation = values::instrumentation(&mut fields)?,
    );
    fields.end()?;
    let Asking { handle, replies, token } = Asking::new(driver);
    get.cancellation_token(&token).with(replies).wait()?;
    Ok(asked(handle))
}

pub(super) fn cancel(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("get")?)?;
    fields.end()?;
    let Thing::Get(token) = &*thing else {
        return Err(Failure::bad_request("that is no query"));
    };
    token.cancel();
    Ok(done())
}

pub(super) fn liveliness_token(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    fields.end()?;
    let token = session.liveliness().declare_token(key).wait()?;
    Ok(entity(driver.add(Thing::Token(token))))
}

pub(super) fn liveliness_subscriber(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let liveliness = session.liveliness();
    let subscriber = liveliness.declare_subscriber(key);
    set!(subscriber.history = fields.take_if_any("history")?);
    fields.end()?;
    let handle = driver.new_handle();
    let report = reporter("sample", "entity", handle, describe::sample);
    driver.insert(handle, Thing::LivelinessSubscriber(subscriber.callback(report).wait()?));
    Ok(entity(handle))
}

pub(super) fn liveliness_get(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let liveliness = session.liveliness();
    let get = liveliness.get(key);
    set!(get.timeout = timeout(&mut fields)?);
    fields.end()?;
    let Asking { handle, replies, token } = Asking::new(driver);
    get.cancellation_token(&token).with(replies).wait()?;
    Ok(asked(handle))
}

fn timeout(fields: &mut Fields) -> Result<Option<Duration>, Failure> {
    Ok(fields.take_if_any("timeout_ms")?.map(Duration::from_millis))
}
