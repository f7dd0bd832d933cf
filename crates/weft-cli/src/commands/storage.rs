//! `weft storage`: keeps what is published in memory, and answers queries with it.
//!
//! Not here: how it is kept (`memory`).
//!
//! A query's `_time` chooses by timestamp, `_filter` and `_project` by content, and `_max` leaves the newest of what is
//! left. Replies go out oldest first.

mod memory;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::json;
use weft::{Encoding, KeyExpr, Parameters, Query, SampleKind, Session, Subscriber, ZBytes};

use self::memory::{Found, Memory, Outcome, Value};
use super::queryable::{refuse, show_query};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::output::say;
use crate::render::Shown;
use crate::session::SessionArgs;

/// Keep what is published in memory, and answer queries with it
///
/// The newest timestamp wins; samples without one get that of their arrival. It shows samples as `weft sub` and queries
/// as `weft queryable` does; --count counts both.
#[derive(Args, Debug)]
pub(crate) struct Storage {
    /// Key expression to keep
    #[arg(short, long, default_value = "demo/example/**")]
    key: KeyExpr,
    /// Declares that it has all of its key expression
    #[arg(long)]
    complete: bool,
    /// Keys to keep at most, deleted ones included
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    keys_max: u32,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Storage {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, self.limits)?;
        let (seen, asked) = (context.clone(), context.clone());
        let storage = Arc::new(InMemory::new(self.keys_max as usize));
        let _declared = storage.serve(
            &session,
            &self.key,
            self.complete,
            move |sample, keep| {
                seen.ending.counted(|| {
                    keep();
                    seen.output.result(|| sample.line(), || sample.json("sample"));
                });
            },
            move |query, answer| {
                asked.ending.counted(|| {
                    show_query(&asked.output, query);
                    answer();
                });
            },
        )?;
        say(&format_args!("storing '{}'", self.key));
        context.ending.wait();
        session.close().wait();
        Ok(())
    }
}

/// What keeps a storage going.
pub(super) struct Declared {
    _subscriber: Subscriber<()>,
    _queryable: weft::Queryable<()>,
}

/// A storage in memory.
#[derive(Debug)]
pub(super) struct InMemory {
    memory: Mutex<Memory>,
}

impl InMemory {
    /// An empty one for `keys_max` keys.
    pub(super) fn new(keys_max: usize) -> Self {
        Self { memory: Mutex::new(Memory::new(keys_max)) }
    }

    /// Subscribes to `key` and answers for it. `seen` and `asked` decide about each sample and query, and call what they
    /// are given to store or to answer it.
    pub(super) fn serve(
        self: &Arc<Self>,
        session: &Session,
        key: &KeyExpr,
        is_complete: bool,
        seen: impl Fn(&Shown<'_>, &dyn Fn()) + Send + Sync + 'static,
        asked: impl Fn(&Query, &dyn Fn()) + Send + Sync + 'static,
    ) -> Result<Declared, Failure> {
        let (storage, clock) = (Arc::clone(self), session.clone());
        let subscriber = session.declare_subscriber(key).callback(move |view| {
            let sample = Shown::from(view);
            seen(&sample, &|| storage.keep(&sample, &clock));
        });
        let subscriber = subscriber.wait()?;
        let storage = Arc::clone(self);
        let queryable =
            session.declare_queryable(key).complete(is_complete).callback(move |query| {
                asked(&query, &|| {
                    if let Err(error) = storage.answer(&query) {
                        tracing::warn!("cannot answer `{query}`: {error}");
                    }
                });
            });
        Ok(Declared { _subscriber: subscriber, _queryable: queryable.wait()? })
    }

    fn keep(&self, sample: &Shown<'_>, clock: &Session) {
        let value = (sample.kind == SampleKind::Put).then(|| Value {
            payload: ZBytes::from(&*sample.payload),
            encoding: Encoding::clone(&sample.encoding),
            attachment: sample.attachment.as_deref().map(ZBytes::from),
        });
        let timestamp = sample.timestamp.unwrap_or_else(|| clock.new_timestamp());
        let outcome = self.lock().update(sample.key, timestamp, value);
        if outcome == Outcome::Full {
            tracing::warn!("no room for `{}`: --keys-max is reached", sample.key);
        }
    }

    fn answer(&self, query: &Query) -> weft::Result<()> {
        let found = self.lock().find(query.key_expr().as_ke());
        let now_unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let found = match chosen(found, query.parameters(), now_unix_ns.as_nanos() as i128) {
            Ok(found) => found,
            Err(complaint) => return refuse(query, complaint),
        };
        let mut replies = Vec::with_capacity(found.len());
        for Found { key, timestamp, value } in found {
            match query.select(&value.payload, &value.encoding) {
                Ok(Some((payload, encoding))) => {
                    let value = Value { payload, encoding, ..value };
                    replies.push(Found { key, timestamp, value });
                }
                Ok(None) => {}
                Err(error) => return refuse(query, error.to_json()),
            }
        }
        for Found { key, timestamp, value } in newest(replies, query.parameters()) {
            let mut reply =
                query.reply(key, value.payload).encoding(value.encoding).timestamp(timestamp);
            if let Some(attachment) = value.attachment {
                reply = reply.attachment(attachment);
            }
            reply.wait()?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in the range of `_time`, oldest first.
///
/// # Errors
/// The payload of the error reply, if `_time` cannot be read.
fn chosen(
    mut found: Vec<Found>,
    parameters: &Parameters,
    now_unix_ns: i128,
) -> Result<Vec<Found>, String> {
    match parameters.time_range() {
        Some(Ok(range)) => {
            found.retain(|it| range.contains(it.timestamp.unix_ns().into(), now_unix_ns));
        }
        Some(Err(error)) => {
            let message = error.to_string();
            let json = json!({ "error": "bad_time", "argument": "_time", "message": message });
            return Err(json.to_string());
        }
        None => {}
    }
    found.sort_by_key(|it| it.timestamp);
    Ok(found)
}

/// The last `_max` of what is in order; all if there is no such number.
fn newest(mut found: Vec<Found>, parameters: &Parameters) -> Vec<Found> {
    let max = parameters.get("_max").and_then(|text| text.parse::<u32>().ok());
    let surplus = max.map_or(0, |max| found.len().saturating_sub(max as usize));
    found.drain(..surplus);
    found
}

#[cfg(test)]
mod tests {
    use weft::Timestamp;

    use super::*;

    fn found(times_s: &[u64]) -> Vec<Found> {
        let one = |time_s: &u64| Found {
            key: KeyExpr::new(format!("k/{time_s}")).unwrap(),
            timestamp: Timestamp::new(time_s << 32, "1".parse().unwrap()),
            value: Value {
                payload: ZBytes::new(),
                encoding: Encoding::default(),
                attachment: None,
            },
        };
        times_s.iter().map(one).collect()
    }

    fn times(found: &[Found]) -> Vec<u64> {
        found.iter().map(|it| it.timestamp.time >> 32).collect()
    }

    #[test]
    fn time_chooses_and_max_leaves_the_newest() {
        let now_unix_ns = 100_000_000_000;
        let parameters = Parameters::from("_time=[now(-50s)..now(-10s)[;_max=2");
        let all = chosen(found(&[90, 80, 50, 60, 49]), &parameters, now_unix_ns).unwrap();
        assert_eq!(times(&all), [50, 60, 80]);
        assert_eq!(times(&newest(all, &parameters)), [60, 80]);
    }

    #[test]
    fn parameters_that_say_nothing_change_nothing() {
        let parameters = Parameters::from("_max=many;x=1");
        let all = chosen(found(&[2, 1]), &parameters, 0).unwrap();
        assert_eq!(times(&newest(all, &parameters)), [1, 2]);
    }

    #[test]
    fn a_time_that_cannot_be_read_is_refused() {
        let complaint = chosen(found(&[1]), &Parameters::from("_time=[yesterday..]"), 0);
        assert!(complaint.unwrap_err().contains("bad_time"));
    }
}
