//! The operations of the protocol. Each takes what it knows out of the request; what is left is an error.

mod advanced;
mod pub_sub;
mod query;
mod session;

use std::sync::Arc;

use serde_json::json;

use crate::describe::{Object, object};
use crate::driver::Driver;
use crate::fields::{Failure, Fields};
use crate::output;

type Answer = Result<Object, Failure>;

/// Serves one request.
pub(crate) fn run(driver: &Arc<Driver>, op: &str, fields: Fields) -> Answer {
    match op {
        "open" => session::open(driver, fields),
        "close" => session::close(driver, fields),
        "info" => session::info(driver, fields),
        "new_timestamp" => session::new_timestamp(driver, fields),
        "declare_keyexpr" => session::declare_keyexpr(driver, fields),
        "scout" => session::scout(driver, fields),
        "undeclare" => session::undeclare(driver, fields),
        "put" => pub_sub::put(driver, fields),
        "delete" => pub_sub::delete(driver, fields),
        "declare_publisher" => pub_sub::declare_publisher(driver, fields),
        "publisher_put" => pub_sub::publisher_put(driver, fields),
        "publisher_delete" => pub_sub::publisher_delete(driver, fields),
        "publisher_burst" => pub_sub::publisher_burst(driver, fields),
        "declare_subscriber" => pub_sub::declare_subscriber(driver, fields),
        "wait" => pub_sub::wait(driver, fields),
        "recv" => pub_sub::recv(driver, fields),
        "matching_status" => pub_sub::matching_status(driver, fields),
        "matching_listener" => pub_sub::matching_listener(driver, fields),
        "declare_advanced_publisher" => advanced::declare_publisher(driver, fields),
        "declare_advanced_subscriber" => advanced::declare_subscriber(driver, fields),
        "sample_miss_listener" => advanced::miss_listener(driver, fields),
        "detect_publishers" => advanced::detect_publishers(driver, fields),
        "reserialize" => advanced::reserialize(fields),
        "declare_queryable" => query::declare_queryable(driver, fields),
        "get" => query::get(driver, fields),
        "declare_querier" => query::declare_querier(driver, fields),
        "querier_get" => query::querier_get(driver, fields),
        "cancel" => query::cancel(driver, fields),
        "liveliness_token" => query::liveliness_token(driver, fields),
        "liveliness_subscriber" => query::liveliness_subscriber(driver, fields),
        "liveliness_get" => query::liveliness_get(driver, fields),
        _ => Err(Failure::bad_request(format!("no operation `{op}`"))),
    }
}

/// A response without fields of its own.
fn done() -> Object {
    Object::new()
}

fn entity(handle: u64) -> Object {
    object(json!({"entity": handle}))
}

/// A closure that writes `event` about `handle` with the fields that `describe` makes of an item.
fn reporter<T>(
    event: &'static str,
    subject: &'static str,
    handle: u64,
    describe: impl Fn(&T) -> Object + Send + Sync + 'static,
) -> impl Fn(T) + Send + Sync + 'static {
    move |item| {
        let mut message = describe(&item);
        message.insert("event".into(), event.into());
        message.insert(subject.into(), handle.into());
        output::write(&message.into());
    }
}
