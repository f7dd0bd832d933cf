//! What a query is answered with.

use std::sync::Arc;

use weft_keyexpr::KeyExpr;
use weft_runtime::IncomingReply;
use weft_wire::{EntityGlobalId, PushBody, Reliability, ResponseBody, Timestamp};

use crate::core::PendingGet;
use crate::encoding::Encoding;
use crate::key::Namespace;
use crate::sample::{Beside, Sample, SampleKind};
use crate::select::{Select, Selected};
use crate::timestamp::TimestampStack;
use crate::zbytes::ZBytes;

/// The payload of the error that ends a query whose time is over.
const TIMEOUT: &str = "Timeout";

/// One answer to a query: a sample or an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    result: Result<Sample, ReplyError>,
    replier: Option<EntityGlobalId>,
}

/// What went wrong at the replier, or on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyError {
    payload: ZBytes,
    encoding: Encoding,
    is_timeout: bool,
    stack: Option<Arc<TimestampStack>>,
}

impl ReplyError {
    /// What the replier said.
    pub const fn payload(&self) -> &ZBytes {
        &self.payload
    }

    /// How the payload is to be read.
    pub const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Whether it is this session's or a router's word that the time is over, and not a replier's.
    ///
    /// Its payload is `Timeout` then, its encoding `zenoh/string`, and nobody is named as replier.
    pub const fn is_timeout(&self) -> bool {
        self.is_timeout
    }

    /// What was recorded of the query and this answer on their way, if the querier had it recorded.
    pub fn timestamp_stack(&self) -> Option<&TimestampStack> {
        self.stack.as_deref()
    }

    pub(crate) fn timeout() -> Self {
        Self {
            payload: ZBytes::from(TIMEOUT),
            encoding: Encoding::ZENOH_STRING,
            is_timeout: true,
            stack: None,
        }
    }
}

impl core::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.payload.try_to_str() {
            Ok(text) => f.write_str(&text),
            Err(_) => write!(f, "{} bytes", self.payload.len()),
        }
    }
}

impl std::error::Error for ReplyError {}

impl Reply {
    pub(crate) const fn data(sample: Sample, replier: Option<EntityGlobalId>) -> Self {
        Self { result: Ok(sample), replier }
    }

    pub(crate) const fn error(error: ReplyError, replier: Option<EntityGlobalId>) -> Self {
        Self { result: Err(error), replier }
    }

    /// The sample or the error.
    pub const fn result(&self) -> Result<&Sample, &ReplyError> {
        self.result.as_ref()
    }

    /// The same, owned.
    pub fn into_result(self) -> Result<Sample, ReplyError> {
        self.result
    }

    /// Whether it says that the time is over.
    pub(crate) fn is_timeout(&self) -> bool {
        self.result.as_ref().is_err_and(ReplyError::is_timeout)
    }

    /// Who answered, if it said so.
    pub const fn replier_id(&self) -> Option<EntityGlobalId> {
        self.replier
    }

    /// Key and stamp of a data reply, which is consolidated.
    pub(crate) fn stamped_key(&self) -> Option<(KeyExpr, Option<Timestamp>)> {
        self.result.as_ref().ok().map(|sample| (sample.key_expr.clone(), sample.timestamp))
    }

    /// The reply as `select` leaves it; `None` if its filter refuses it. Errors pass.
    pub(crate) fn selected(mut self, select: &Select) -> Option<Self> {
        if let Ok(sample) = &mut self.result {
            match select.apply(&sample.payload.to_bytes(), &sample.encoding, sample.kind) {
                Selected::No => return None,
                Selected::Unchanged => {}
                Selected::Projected(projected) => {
                    sample.payload = ZBytes::from(projected.payload);
                    sample.encoding = projected.encoding;
                }
            }
        }
        Some(self)
    }
}

/// The reply that came in for `get`; `None` if it is not to be delivered.
pub(crate) fn received(
    incoming: &IncomingReply<'_>,
    get: &PendingGet,
    namespace: &Namespace,
) -> Option<Reply> {
    let body = match incoming.body {
        ResponseBody::Err(error) => {
            let by_router = incoming.responder.is_some_and(|responder| responder.eid == 0);
            let error = ReplyError {
                payload: ZBytes::from(error.payload),
                encoding: Encoding::received(error.encoding),
                is_timeout: by_router && error.payload == TIMEOUT.as_bytes(),
                stack: TimestampStack::of(incoming.ts_stack),
            };
            return Some(Reply::error(error, incoming.responder));
        }
        ResponseBody::Reply(reply) => &reply.body,
        ResponseBody::Raw(_) => return None,
    };
    let key = incoming.key?;
    if !get.any_key && !key.intersects(get.key.as_ke()) {
        tracing::warn!(%key, query = %get.key, "dropping a reply on a key that was not asked for");
        return None;
    }
    let sample = sample(namespace.inward(key)?, body, incoming);
    Some(Reply::data(sample, incoming.responder))
}

fn sample(key_expr: KeyExpr, body: &PushBody<'_>, incoming: &IncomingReply<'_>) -> Sample {
    let qos = incoming.qos;
    let stack = TimestampStack::of(incoming.ts_stack);
    match body {
        PushBody::Put(put) => Sample {
            key_expr,
            payload: ZBytes::from(put.payload),
            kind: SampleKind::Put,
            encoding: Encoding::received(put.encoding),
            timestamp: put.timestamp,
            qos,
            reliability: Reliability::Reliable,
            beside: Beside::of(put.attachment.map(ZBytes::from), put.source_info, stack),
        },
        PushBody::Del(del) => Sample {
            key_expr,
            payload: ZBytes::default(),
            kind: SampleKind::Delete,
            encoding: Encoding::default(),
            timestamp: del.timestamp,
            qos,
            reliability: Reliability::Reliable,
            beside: Beside::of(del.attachment.map(ZBytes::from), del.source_info, stack),
        },
    }
}
