//! Queries as a queryable sees them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use weft_keyexpr::{KeyExpr, Parameters, Selector};
use weft_runtime::{IncomingQuery, QueryHandle};
use weft_wire::{
    Del, EntityGlobalId, ErrReply, PushBody, Put, Reply as ReplyBody, ResponseBody, SourceInfo,
    Timestamp,
};

use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::key::{IntoKeyExpr, Namespace};
use crate::resolve::immediate;
use crate::sample::SampleKind;
use crate::select::{Select, SelectError, Selected};
use crate::timestamp::TimestampStack;
use crate::zbytes::ZBytes;

/// A payload, if any, and how it is to be read.
type Value = (Option<ZBytes>, Encoding);

/// The parameter that allows replies on keys outside of the query.
pub(crate) const ANY_KEY: &str = "_anyke";

/// What all queryables that got the same query share.
pub(crate) struct Shared {
    key_expr: KeyExpr,
    parameters: Parameters,
    payload: Option<ZBytes>,
    encoding: Encoding,
    attachment: Option<ZBytes>,
    source_info: Option<SourceInfo>,
    /// What was recorded of the query, as it came.
    stack: Option<Box<[u8]>>,
    namespace: Namespace,
    handle: Arc<QueryHandle>,
    select: OnceLock<core::result::Result<Option<Select>, SelectError>>,
}

impl Shared {
    pub(crate) fn new(
        incoming: &IncomingQuery<'_>,
        key_expr: KeyExpr,
        namespace: &Namespace,
    ) -> Self {
        let body = incoming.body.body;
        Self {
            key_expr,
            parameters: Parameters::from(incoming.body.parameters),
            payload: body.map(|body| ZBytes::from(body.payload)),
            encoding: body.map(|body| Encoding::received(body.encoding)).unwrap_or_default(),
            attachment: incoming.body.attachment.map(ZBytes::from),
            source_info: incoming.body.source_info,
            stack: incoming.ts_stack.map(Box::from),
            namespace: namespace.clone(),
            handle: Arc::clone(&incoming.handle),
            select: OnceLock::new(),
        }
    }
}

/// Whether a query takes replies on keys that it did not ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReplyKeyExpr {
    /// Any key.
    Any,
    /// Keys that intersect the query's.
    #[default]
    MatchingQuery,
}

/// A query to answer. It ends for this queryable when the last clone is dropped; until then the
/// querier waits.
///
/// Clones are shares of it. It keeps the session's memory, but not the session, alive.
#[derive(Clone)]
pub struct Query {
    shared: Arc<Shared>,
    queryable: EntityGlobalId,
    /// Set if replies are filtered and projected; then whether the error of doing so was sent.
    auto_select: Option<Arc<AtomicBool>>,
}

impl Query {
    pub(crate) fn new(shared: Arc<Shared>, queryable: EntityGlobalId, auto_select: bool) -> Self {
        Self { shared, queryable, auto_select: auto_select.then(Arc::default) }
    }

    /// Key expression and parameters.
    pub fn selector(&self) -> Selector {
        Selector::new(&self.shared.key_expr, self.shared.parameters.clone())
    }

    /// What is asked for.
    pub fn key_expr(&self) -> &KeyExpr {
        &self.shared.key_expr
    }

    /// How it is asked for.
    pub fn parameters(&self) -> &Parameters {
        &self.shared.parameters
    }

    /// What the querier sent along.
    pub fn payload(&self) -> Option<&ZBytes> {
        self.shared.payload.as_ref()
    }

    /// How the payload is to be read; `None` without one.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.shared.payload.as_ref().map(|_| &self.shared.encoding)
    }

    /// What the querier added.
    pub fn attachment(&self) -> Option<&ZBytes> {
        self.shared.attachment.as_ref()
    }

    /// Who asks, if the querier said so.
    pub fn source_info(&self) -> Option<SourceInfo> {
        self.shared.source_info
    }

    /// What was recorded of it on its way, if the querier had it recorded. Replies go on with it.
    pub fn timestamp_stack(&self) -> Option<TimestampStack> {
        self.shared.stack.as_deref().and_then(TimestampStack::received)
    }

    /// On which keys replies may be.
    pub fn accepts_replies(&self) -> ReplyKeyExpr {
        if self.shared.parameters.contains(ANY_KEY) {
            ReplyKeyExpr::Any
        } else {
            ReplyKeyExpr::MatchingQuery
        }
    }

    /// Whether the querier still waits for replies.
    pub fn is_awaited(&self) -> bool {
        self.shared.handle.is_awaited()
    }

    /// What `_filter` and `_project` of the query make of a value: `None` if the filter refuses it,
    /// otherwise the payload and encoding to reply with. Parses the two once for all clones.
    ///
    /// # Errors
    /// If one of the two is malformed: answer with [`Query::reply_err`], encoding
    /// `application/json`, payload [`SelectError::to_json`].
    pub fn select(
        &self,
        payload: &ZBytes,
        encoding: &Encoding,
    ) -> core::result::Result<Option<(ZBytes, Encoding)>, SelectError> {
        let Some(select) = self.parsed_select()? else {
            return Ok(Some((payload.clone(), encoding.clone())));
        };
        Ok(match select.apply(&payload.to_bytes(), encoding, SampleKind::Put) {
            Selected::No => None,
            Selected::Unchanged => Some((payload.clone(), encoding.clone())),
            Selected::Projected(it) => Some((ZBytes::from(it.payload), it.encoding)),
        })
    }

    fn parsed_select(&self) -> core::result::Result<Option<&Select>, SelectError> {
        let parse = || Select::from_parameters(self.shared.parameters.as_str());
        self.shared.select.get_or_init(parse).as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// What is to be replied instead of a value (`Some` payload) or of a deletion, if the queryable
    /// selects by itself; the outer `None` is nothing.
    fn auto_selected(&self, payload: Option<ZBytes>, encoding: Encoding) -> Option<Value> {
        let Some(error_sent) = &self.auto_select else { return Some((payload, encoding)) };
        let selected = match &payload {
            Some(payload) => self.select(payload, &encoding),
            // A filter refuses every deletion.
            None => self
                .parsed_select()
                .map(|select| select.is_none_or(|it| it.filter().is_none()))
                .map(|passes| passes.then(|| (ZBytes::default(), encoding))),
        };
        match selected {
            Ok(selected) => selected.map(|(bytes, encoding)| (payload.map(|_| bytes), encoding)),
            Err(error) => {
                if !error_sent.swap(true, Ordering::Relaxed) {
                    self.send_error(&ZBytes::from(error.to_json()), &Encoding::APPLICATION_JSON);
                }
                None
            }
        }
    }

    fn send_error(&self, payload: &ZBytes, encoding: &Encoding) {
        let body = ErrReply {
            encoding: encoding.to_wire(),
            payload: &payload.to_bytes(),
            ..ErrReply::default()
        };
        let stack = self.shared.stack.as_deref();
        self.shared.handle.reply(None, self.queryable, None, ResponseBody::Err(body), stack);
    }

    /// Answers with a value.
    pub fn reply<K: IntoKeyExpr>(&self, key: K, payload: impl Into<ZBytes>) -> ReplyBuilder<'_, K> {
        ReplyBuilder::new(self, key, Some(payload.into()))
    }

    /// Answers that a key has no value any more.
    pub fn reply_del<K: IntoKeyExpr>(&self, key: K) -> ReplyBuilder<'_, K> {
        ReplyBuilder::new(self, key, None)
    }

    /// Answers that something went wrong.
    pub fn reply_err(&self, payload: impl Into<ZBytes>) -> ReplyErrBuilder<'_> {
        ReplyErrBuilder { query: self, payload: payload.into(), encoding: Encoding::default() }
    }
}

impl core::fmt::Display for Query {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.selector().fmt(f)
    }
}

impl core::fmt::Debug for Query {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Query").field("selector", &self.selector().to_string()).finish()
    }
}

/// One data reply.
#[must_use = "nothing is sent before wait()"]
pub struct ReplyBuilder<'a, K> {
    query: &'a Query,
    key: K,
    payload: Option<ZBytes>,
    encoding: Encoding,
    attachment: Option<ZBytes>,
    timestamp: Option<Timestamp>,
    source_info: Option<SourceInfo>,
    express: Option<bool>,
}

impl<'a, K: IntoKeyExpr> ReplyBuilder<'a, K> {
    const fn new(query: &'a Query, key: K, payload: Option<ZBytes>) -> Self {
        Self {
            query,
            key,
            payload,
            encoding: Encoding::ZENOH_BYTES,
            attachment: None,
            timestamp: None,
            source_info: None,
            express: None,
        }
    }

    /// How the payload is to be read. Default: `zenoh/bytes`.
    pub fn encoding(mut self, value: impl Into<Encoding>) -> Self {
        self.encoding = value.into();
        self
    }

    /// Adds something beside the payload.
    pub fn attachment(mut self, value: impl Into<ZBytes>) -> Self {
        self.attachment = Some(value.into());
        self
    }

    /// When the value was set. Replies are not stamped on their way.
    pub const fn timestamp(mut self, value: Timestamp) -> Self {
        self.timestamp = Some(value);
        self
    }

    /// Says whose sample this is.
    pub const fn source_info(mut self, value: SourceInfo) -> Self {
        self.source_info = Some(value);
        self
    }

    /// Sends without waiting for company. Default: as the query was sent.
    pub const fn express(mut self, value: bool) -> Self {
        self.express = Some(value);
        self
    }

    /// Sends it. Priority and congestion control are those of the query: with block, the default of
    /// queries, it waits for room, and `.await` blocks its executor meanwhile. If the querier does not
    /// wait any more, or its filter refuses the value, nothing happens.
    ///
    /// # Errors
    /// [`Error::ReplyKey`] if the key does not intersect the query's and the query does not accept
    /// that; an error if the key expression is not canonical.
    pub fn wait(self) -> Result<()> {
        let shared = &self.query.shared;
        let key = self.key.into_key_expr()?;
        if !key.intersects(&shared.key_expr)
            && self.query.accepts_replies() == ReplyKeyExpr::MatchingQuery
        {
            let query = shared.key_expr.to_string();
            return Err(Error::ReplyKey { key: key.to_string(), query });
        }
        let key = shared.namespace.outward(key)?;
        let selected = self.query.auto_selected(self.payload, self.encoding);
        let Some((payload, encoding)) = selected else { return Ok(()) };
        let attachment = self.attachment.as_ref().map(ZBytes::to_bytes);
        let attachment = attachment.as_deref();
        let payload = payload.as_ref().map(ZBytes::to_bytes);
        let Self { timestamp, source_info, .. } = self;
        let body = match &payload {
            Some(payload) => PushBody::Put(Put {
                timestamp,
                encoding: encoding.to_wire(),
                source_info,
                attachment,
                payload,
                ..Put::default()
            }),
            None => PushBody::Del(Del { timestamp, source_info, attachment, ..Del::default() }),
        };
        let body = ResponseBody::Reply(ReplyBody::new(body));
        let (responder, stack) = (self.query.queryable, shared.stack.as_deref());
        shared.handle.reply(Some(&key), responder, self.express, body, stack);
        Ok(())
    }
}

immediate!([K: IntoKeyExpr] ReplyBuilder<'_, K> => Result<()>);

/// One error reply.
#[must_use = "nothing is sent before wait()"]
pub struct ReplyErrBuilder<'a> {
    query: &'a Query,
    payload: ZBytes,
    encoding: Encoding,
}

impl ReplyErrBuilder<'_> {
    /// How the payload is to be read. Default: `zenoh/bytes`.
    pub fn encoding(mut self, value: impl Into<Encoding>) -> Self {
        self.encoding = value.into();
        self
    }

    /// Sends it. If the querier does not wait any more, nothing happens.
    ///
    /// # Errors
    /// None; the result is for symmetry with data replies.
    pub fn wait(self) -> Result<()> {
        self.query.send_error(&self.payload, &self.encoding);
        Ok(())
    }
}

immediate!([] ReplyErrBuilder<'_> => Result<()>);
