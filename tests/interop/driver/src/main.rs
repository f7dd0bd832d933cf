//! Weft behind the driver protocol of the interoperability tests: `tests/interop/README.md`.
//!
//! What the protocol asks of the crate `weft` it does directly; nothing is added or repaired, since what the crate does
//! is what the tests look at.

mod counter;
mod describe;
mod driver;
mod fields;
mod operations;
mod output;
mod rules;
mod values;

use std::collections::HashMap;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};

use serde_json::json;

use crate::driver::Driver;
use crate::fields::{Failure, Fields};

/// A request, with what every one has taken out of its fields.
struct Request {
    id: u64,
    op: String,
    lane: u64,
    fields: Fields,
}

impl Request {
    fn parse(line: &str) -> Result<Self, Failure> {
        let mut fields = Fields::parse(line)?;
        Ok(Self {
            id: fields.take("id")?,
            op: fields.take("op")?,
            lane: fields.take_if_any("lane")?.unwrap_or_default(),
            fields,
        })
    }
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Serves requests to the end of standard input; an error is one line of text.
fn serve() -> Result<(), String> {
    let driver = Arc::new(Driver::default());
    output::write(&json!({
        "event": "ready", "implementation": "weft", "version": env!("CARGO_PKG_VERSION"),
    }));
    let mut lanes: HashMap<u64, mpsc::Sender<Request>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| format!("cannot read requests: {error}"))?;
        let request =
            Request::parse(&line).map_err(|failure| format!("not a request: {failure}"))?;
        let lane = lanes.entry(request.lane).or_insert_with(|| start_lane(&driver));
        lane.send(request).map_err(|_| "a lane has ended".to_owned())?;
    }
    driver.close_sessions();
    Ok(())
}

/// A thread that serves requests one after the other.
fn start_lane(driver: &Arc<Driver>) -> mpsc::Sender<Request> {
    let (lane, requests) = mpsc::channel::<Request>();
    let driver = Arc::clone(driver);
    std::thread::spawn(move || {
        for Request { id, op, fields, .. } in requests {
            let served = operations::run(&driver, &op, fields);
            let ok = served.is_ok();
            let mut answer = served.unwrap_or_else(|failure| refusal(&failure));
            answer.insert("id".into(), id.into());
            answer.insert("ok".into(), ok.into());
            output::write(&answer.into());
        }
    });
    lane
}

fn refusal(failure: &Failure) -> describe::Object {
    describe::object(json!({"kind": failure.kind(), "error": failure.to_string()}))
}
