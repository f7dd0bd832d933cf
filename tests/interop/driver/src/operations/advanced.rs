//! Advanced publishers and subscribers, and serialization.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weft::ext::{
    AdvancedPublicationBuilder, AdvancedPublisher, CacheConfig, Deserialize, DeserializeError,
    HistoryConfig, MissDetectionConfig, RecoveryConfig, Serialize, declare_advanced_publisher,
    declare_advanced_subscriber, deserialize, serialize,
};
use weft::{Session, ZBytes};

use super::{Answer, done, entity, reporter};
use crate::describe::{self, object};
use crate::driver::{Driver, Thing};
use crate::fields::{Failure, Fields};
use crate::values::{self, Quality, session_and_key, set};

pub(super) fn declare_publisher(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let quality = Quality::take(&mut fields)?;
    let publisher = declare_advanced_publisher(&session, key);
    let cache = fields.take_if_any("cache")?.map(|count| CacheConfig::default().max_samples(count));
    set!(
        publisher.encoding = values::encoding(&mut fields)?,
        congestion_control = quality.congestion,
        priority = quality.priority,
        express = quality.express,
        allowed_destination = quality.destination,
        cache = cache,
        sample_miss_detection = miss_detection(&mut fields)?,
        publisher_detection = fields.take_if_any("publisher_detection")?,
    );
    fields.end()?;
    let publisher = publisher.wait()?;
    let eid = publisher.id().eid;
    let handle = driver.add(Thing::AdvancedPublisher(publisher, session.clone()));
    Ok(object(json!({"entity": handle, "eid": eid})))
}

fn miss_detection(fields: &mut Fields) -> Result<Option<MissDetectionConfig>, Failure> {
    let Some(mut wanted) = fields.take_if_any::<Fields>("miss_detection")? else {
        return Ok(None);
    };
    let config = MissDetectionConfig::default();
    set!(
        config.heartbeat = milliseconds(&mut wanted, "heartbeat_ms")?,
        sporadic_heartbeat = milliseconds(&mut wanted, "sporadic_heartbeat_ms")?,
    );
    wanted.end()?;
    Ok(Some(config))
}

fn milliseconds(fields: &mut Fields, name: &str) -> Result<Option<Duration>, Failure> {
    Ok(fields.take_if_any(name)?.map(Duration::from_millis))
}

pub(super) fn put(publisher: &AdvancedPublisher, session: &Session, mut fields: Fields) -> Answer {
    let put = publisher.put(values::payload(&mut fields)?.unwrap_or_default());
    set!(put.encoding = values::encoding(&mut fields)?);
    publish(put, session, fields)
}

pub(super) fn delete(publisher: &AdvancedPublisher, session: &Session, fields: Fields) -> Answer {
    publish(publisher.delete(), session, fields)
}

fn publish(
    publication: AdvancedPublicationBuilder<'_>,
    session: &Session,
    mut fields: Fields,
) -> Answer {
    set!(
        publication.attachment = values::bytes(&mut fields, "attachment")?,
        timestamp = values::timestamp(&mut fields, Some(session))?,
    );
    fields.end()?;
    publication.wait()?;
    Ok(done())
}

pub(super) fn declare_subscriber(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let (session, key) = session_and_key(driver, &mut fields)?;
    let subscriber = declare_advanced_subscriber(&session, key);
    set!(
        subscriber.history = history(&mut fields)?,
        recovery = recovery(&mut fields)?,
        subscriber_detection = fields.take_if_any("subscriber_detection")?,
    );
    fields.end()?;
    let handle = driver.new_handle();
    let report = reporter("sample", "entity", handle, describe::sample);
    driver.insert(handle, Thing::AdvancedSubscriber(subscriber.callback(report).wait()?));
    Ok(entity(handle))
}

fn history(fields: &mut Fields) -> Result<Option<HistoryConfig>, Failure> {
    let Some(mut wanted) = fields.take_if_any::<Fields>("history")? else { return Ok(None) };
    let config = HistoryConfig::default();
    set!(
        config.max_samples = wanted.take_if_any("max_samples")?,
        max_age = milliseconds(&mut wanted, "max_age_ms")?,
        detect_late_publishers = wanted.take_if_any("late_publishers")?,
    );
    wanted.end()?;
    Ok(Some(config))
}

fn recovery(fields: &mut Fields) -> Result<Option<RecoveryConfig>, Failure> {
    let Some(mut wanted) = fields.take_if_any::<Fields>("recovery")? else { return Ok(None) };
    let period = milliseconds(&mut wanted, "period_ms")?;
    wanted.end()?;
    let periodic = |period| RecoveryConfig::PeriodicQueries { period };
    Ok(Some(period.map_or(RecoveryConfig::Heartbeat, periodic)))
}

pub(super) fn miss_listener(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    fields.end()?;
    let Thing::AdvancedSubscriber(subscriber) = &*thing else { return Err(no_subscriber()) };
    let handle = driver.new_handle();
    let report = reporter("miss", "entity", handle, describe::miss);
    let listener = subscriber.sample_miss_listener().callback(report).wait()?;
    driver.insert(handle, Thing::MissListener(listener));
    Ok(entity(handle))
}

pub(super) fn detect_publishers(driver: &Arc<Driver>, mut fields: Fields) -> Answer {
    let thing = driver.thing(fields.take("entity")?)?;
    let history = fields.take_if_any("history")?.unwrap_or_default();
    fields.end()?;
    let Thing::AdvancedSubscriber(subscriber) = &*thing else { return Err(no_subscriber()) };
    let handle = driver.new_handle();
    let report = reporter("sample", "entity", handle, describe::sample);
    let tokens = subscriber.detect_publishers().history(history).callback(report).wait()?;
    driver.insert(handle, Thing::LivelinessSubscriber(tokens));
    Ok(entity(handle))
}

fn no_subscriber() -> Failure {
    Failure::bad_request("the entity is no advanced subscriber")
}

/// Reads a value of the type `type` and serializes it again.
pub(super) fn reserialize(mut fields: Fields) -> Answer {
    let name: String = fields.take("type")?;
    let bytes = values::bytes(&mut fields, "payload")?.unwrap_or_default();
    fields.end()?;
    let again = match name.as_str() {
        "i8" => through::<i8>(&bytes),
        "u64" => through::<u64>(&bytes),
        "i128" => through::<i128>(&bytes),
        "f32" => through::<f32>(&bytes),
        "(bool, f64)" => through::<(bool, f64)>(&bytes),
        "str" => through::<String>(&bytes),
        "bytes" => through::<ZBytes>(&bytes),
        "list[str]" => through::<Vec<String>>(&bytes),
        "list[list[i32]]" => through::<Vec<Vec<i32>>>(&bytes),
        "set[u16]" => through::<BTreeSet<u16>>(&bytes),
        "dict[str, (i32, bytes)]" => through::<BTreeMap<String, (i32, Vec<u8>)>>(&bytes),
        _ => return Err(Failure::bad_request(format!("no type `{name}`"))),
    };
    let again = again.map_err(|error| Failure::bad_request(error.to_string()))?;
    Ok(object(json!({"payload_hex": describe::hex_of(&again)})))
}

fn through<T: Serialize + Deserialize>(bytes: &ZBytes) -> Result<ZBytes, DeserializeError> {
    deserialize::<T>(bytes).map(|value| serialize(&value))
}
