//! Sessions, what they know, and scouting.

use std::sync::Arc;

use serde_json::json;
use weft::{Config, WhatAmIMatcher};

use super::{Answer, done, entity, reporter};
use crate::describe::{self, object};
use crate::driver::{Driver, Thing};
use crate::fields::{Failure, Fields, Members};
use crate::values::{self, session_and_key, set};

/// Takes `mode`, `connect`, `listen` and `config`.
fn config(fields: &mut Fields) -> Result<Config, Failure> {
    let mut config = Config::default();
    for (path, name) in
        [("mode", "mode"), ("connect/endpoints", "connect"), ("listen/endpoints", "listen")]
    {
        if let Some(value) = fields.take_if_any::<serde_json::Value>(name)? {
            config.insert_json5(path, &value.to_string())?;
        }
    }
    if let Some(Members(members)) = fields.take_if_any("config")? {
        for (path, value) in members {
            config.insert_json5(&path, value.get())?;
        }
    }
    Ok(config)
}

pub(super) fn open(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let open = weft::open(config(&mut fields)?);
    let stamp = values::bytes(&mut fields, "stamp")?.map(|stamp| stamp.to_bytes().into_owned());
    set!(open.timestamp_callback = stamp.map(|stamp| move |_| stamp.clone()));
    fields.end()?;
    let session = open.wait()?;
    let zid = session.zid().to_string();
    Ok(object(json!({"session": driver.add(Thing::Session(session)), "zid": zid})))
}

pub(super) fn close(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let session = driver.session(fields.take("session")?)?;
    fields.end()?;
    session.close().wait();
    Ok(done())
}

pub(super) fn info(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let session = driver.session(fields.take("session")?)?;
    fields.end()?;
    let info = session.info();
    let texts = |items: Vec<_>| items.iter().map(ToString::to_string).collect::<Vec<String>>();
    let locators: Vec<String> = info.locators().iter().map(ToString::to_string).collect();
    Ok(object(json!({
        "zid": info.zid().to_string(),
        "routers": texts(info.routers_zid()),
        "peers": texts(info.peers_zid()),
        "locators": locators,
    })))
}

pub(super) fn new_timestamp(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let session = driver.session(fields.take("session")?)?;
    fields.end()?;
    Ok(object(json!({"timestamp": session.new_timestamp().to_string()})))
}

pub(super) fn declare_keyexpr(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    fields.end()?;
    let key = session.declare_keyexpr(key)?;
    Ok(entity(driver.add(Thing::KeyExpr(key))))
}

pub(super) fn scout(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let what: String = fields.take("what")?;
    let what: WhatAmIMatcher =
        what.parse().map_err(|error| Failure::bad_request(format!("`what`: {error}")))?;
    let config = config(&mut fields)?;
    fields.end()?;
    let handle = driver.new_handle();
    let report = reporter("hello", "entity", handle, describe::hello);
    let scout = weft::scout(what, config).callback(report).wait()?;
    driver.insert(handle, Thing::Scout(scout));
    Ok(entity(handle))
}

pub(super) fn undeclare(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let handle = fields.take("entity")?;
    fields.end()?;
    drop(driver.remove(handle)?);
    Ok(done())
}
