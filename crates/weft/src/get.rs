//! Asking: single queries. Queriers are in `querier`.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use weft_keyexpr::{KeyExpr, Parameters, Selector};
use weft_node::{Consolidator, Locality};
use weft_runtime::QueryArgs;
use weft_wire::{
    CongestionControl, Consolidation, Priority, Qos, Query as QueryMessage, QueryBody, QueryTarget,
    SourceInfo,
};

use crate::cancel::CancellationToken;
use crate::core::{GetProgress, PendingGet};
use crate::cover::{Course, Cover, CoverGet};
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::handlers::{Callback, FifoChannel, IntoHandler};
use crate::listener::Listener;
use crate::query::{ANY_KEY, ReplyKeyExpr};
use crate::quorum::QuorumGet;
use crate::reply::Reply;
use crate::resolve::immediate;
use crate::select::{Select, escape_argument};
use crate::session::{IntoSelector, Session, SessionInner, scope};
use crate::timestamp::TimestampInstrumentation;
use crate::zbytes::ZBytes;

/// Where `_filter` and `_project` of a selector are applied (04 §12.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SelectMode {
    /// At the responders that understand them, and again here.
    #[default]
    Pushdown,
    /// Here only. Exact even if several storages hold different versions of a key.
    Late,
    /// Nowhere; they are parameters like others.
    Off,
}

/// What a get and a querier have in common.
#[derive(Clone, Debug)]
pub(crate) struct Quality {
    pub(crate) target: QueryTarget,
    pub(crate) consolidation: Consolidation,
    pub(crate) accept: ReplyKeyExpr,
    pub(crate) timeout: Duration,
    pub(crate) qos: Qos,
    pub(crate) destination: Locality,
    pub(crate) select: SelectMode,
}

impl Quality {
    pub(crate) fn new(session: &SessionInner) -> Self {
        Self {
            target: QueryTarget::BestMatching,
            consolidation: Consolidation::Auto,
            accept: ReplyKeyExpr::MatchingQuery,
            timeout: session.queries_timeout,
            qos: Qos::REQUEST,
            destination: Locality::Any,
            select: SelectMode::default(),
        }
    }
}

/// What one query sends along.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) payload: Option<ZBytes>,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) attachment: Option<ZBytes>,
    pub(crate) source_info: Option<SourceInfo>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) instrumentation: Option<TimestampInstrumentation>,
    /// Is told how the query ends.
    pub(crate) course: Option<Arc<Course>>,
}

/// Options that a get and a querier share.
macro_rules! query_quality {
    () => {
        /// Which queryables are asked. Default: best matching.
        pub const fn target(mut self, value: QueryTarget) -> Self {
            self.quality.target = value;
            self
        }

        /// Which of several replies on one key are delivered. Default: the latest, or all if the
        /// parameters have a `_time`.
        pub const fn consolidation(mut self, value: Consolidation) -> Self {
            self.quality.consolidation = value;
            self
        }

        /// On which keys replies may be. Default: on those that were asked for.
        pub const fn accept_replies(mut self, value: ReplyKeyExpr) -> Self {
            self.quality.accept = value;
            self
        }

        /// How long replies may take, in whole milliseconds on the network. Default:
        /// `queries_default_timeout`, 10 s.
        pub const fn timeout(mut self, value: Duration) -> Self {
            self.quality.timeout = value;
            self
        }

        /// What happens where there is no room. Default: block.
        pub const fn congestion_control(mut self, value: CongestionControl) -> Self {
            let qos = self.quality.qos;
            self.quality.qos = Qos::new(qos.priority(), value, qos.express());
            self
        }

        /// Priority of the query and its replies. Default: data.
        pub const fn priority(mut self, value: Priority) -> Self {
            let value = match value {
                Priority::Control => Priority::RealTime,
                other => other,
            };
            let qos = self.quality.qos;
            self.quality.qos = Qos::new(value, qos.congestion_control(), qos.express());
            self
        }

        /// Sends without waiting for company. Default: no.
        pub const fn express(mut self, value: bool) -> Self {
            let qos = self.quality.qos;
            self.quality.qos = Qos::new(qos.priority(), qos.congestion_control(), value);
            self
        }

        /// Whose queryables may be asked. Default: anybody's.
        pub const fn allowed_destination(mut self, value: Locality) -> Self {
            self.quality.destination = value;
            self
        }

        /// Where `_filter` and `_project` are applied. Default: at responders and here.
        pub const fn select(mut self, value: SelectMode) -> Self {
            self.quality.select = value;
            self
        }
    };
}
pub(crate) use query_quality;

/// Options that a get and a query of a querier share.
macro_rules! query_extras {
    () => {
        /// Sends something along with the query.
        pub fn payload(mut self, value: impl Into<ZBytes>) -> Self {
            self.extras.payload = Some(value.into());
            self
        }

        /// How the payload is to be read. Without a payload, an empty one is sent.
        pub fn encoding(mut self, value: impl Into<Encoding>) -> Self {
            self.extras.encoding = Some(value.into());
            self
        }

        /// Adds something beside the payload.
        pub fn attachment(mut self, value: impl Into<ZBytes>) -> Self {
            self.extras.attachment = Some(value.into());
            self
        }

        /// Says who asks.
        pub const fn source_info(mut self, value: SourceInfo) -> Self {
            self.extras.source_info = Some(value);
            self
        }

        /// Has the way of the query and its replies recorded. Default: no.
        pub const fn timestamp_instrumentation(
            mut self,
            value: $crate::timestamp::TimestampInstrumentation,
        ) -> Self {
            self.extras.instrumentation = Some(value);
            self
        }

        /// Lets `token` end the query.
        pub fn cancellation_token(mut self, token: &CancellationToken) -> Self {
            self.extras.cancellation = Some(token.clone());
            self
        }
    };
}
pub(crate) use query_extras;

/// One query.
#[must_use = "nothing is asked before wait()"]
pub struct GetBuilder<'a, S, H = FifoChannel> {
    session: &'a Session,
    selector: S,
    quality: Quality,
    extras: Extras,
    handler: H,
}

impl<'a, S: IntoSelector> GetBuilder<'a, S> {
    pub(crate) fn new(session: &'a Session, selector: S) -> Self {
        let quality = Quality::new(&session.0);
        let handler = FifoChannel::default();
        Self { session, selector, quality, extras: Extras::default(), handler }
    }

    /// Wants at least `repliers` of them, 1 to [`quorum::REPLIERS_MAX`](crate::quorum::REPLIERS_MAX), to
    /// give the same answer: kind, payload, encoding, and time stamp where both have one. Asks all that
    /// match and compares what each says, so target and consolidation have no effect. Of a single key the
    /// first quorum ends it; of an expression with wildcards every key that has one is in the result.
    ///
    /// Repliers are told apart by the identities that replies carry; several queryables of one session
    /// count as several. Further options come before this one.
    ///
    /// ```no_run
    /// # let session = weft::open(weft::Config::default()).wait()?;
    /// let agreed = session.get("home/door").quorum(2).wait()?;
    /// println!("{}", agreed.samples[0].payload().try_to_str()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn quorum(self, repliers: usize) -> QuorumGet<'a, S> {
        let Self { session, selector, quality, extras, .. } = self;
        QuorumGet::new(session, selector, quality, extras, repliers)
    }
}

impl<'a, S: IntoSelector, H> GetBuilder<'a, S, H> {
    query_quality!();
    query_extras!();

    /// Looks first whether complete queryables are known that cover the query, and asks as `cover` says.
    /// The target is the cover's; other options come before this one.
    ///
    /// ```no_run
    /// # let session = weft::open(weft::Config::default()).wait()?;
    /// let replies = session.get("home/**").cover(weft::Cover::NEAREST).wait()?;
    /// for reply in replies.iter() {
    ///     println!("{:?}", reply.result());
    /// }
    /// assert!(replies.is_complete());
    /// # Ok::<(), weft::Error>(())
    /// ```
    pub fn cover(self, cover: Cover) -> CoverGet<'a, S, H> {
        let Self { session, selector, quality, extras, handler } = self;
        CoverGet::new(session, selector, quality, extras, handler, cover)
    }

    /// Calls `callback` with every reply, on the thread that received it. It is dropped when the
    /// query has ended.
    pub fn callback<F: Fn(Reply) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> GetBuilder<'a, S, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state: one reply after the other.
    pub fn callback_mut<F: FnMut(Reply) + Send + 'static>(
        self,
        callback: F,
    ) -> GetBuilder<'a, S, Callback<Reply>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers replies to `handler`: a channel, a closure, or a pair of closure and object. It is
    /// dropped, and with it a channel closed, when the query has ended. Without this, a FIFO of 256.
    pub fn with<N: IntoHandler<Reply>>(self, handler: N) -> GetBuilder<'a, S, N> {
        let Self { session, selector, quality, extras, .. } = self;
        GetBuilder { session, selector, quality, extras, handler }
    }
}

impl<S: IntoSelector, H: IntoHandler<Reply>> GetBuilder<'_, S, H> {
    /// Asks, and returns the receiver of the replies at once. With block, the default, it waits for room
    /// for the question, and `.await` blocks its executor meanwhile.
    ///
    /// # Errors
    /// If the selector, its `_time`, `_filter` or `_project` cannot be used, [`Error::SessionClosed`],
    /// or [`Error::Cancelled`] if the token was cancelled before. That nobody answers is no error:
    /// the receiver then ends without a reply, or after a [timeout](crate::ReplyError::is_timeout).
    pub fn wait(self) -> Result<H::Handler> {
        let Selector { key_expr, parameters } = self.selector.into_selector()?;
        let session = &self.session.0;
        let key = session.outward(&key_expr)?;
        let id = session.runtime.next_entity();
        let query = Asking { id, key, parameters, quality: &self.quality, extras: &self.extras };
        query.send(session, self.handler)
    }
}

immediate!([S: IntoSelector, H: IntoHandler<Reply>] GetBuilder<'_, S, H> => Result<H::Handler>);

/// A query with everything decided but its handler.
pub(crate) struct Asking<'a> {
    pub(crate) id: u32,
    pub(crate) key: KeyExpr,
    pub(crate) parameters: Parameters,
    pub(crate) quality: &'a Quality,
    pub(crate) extras: &'a Extras,
}

impl Asking<'_> {
    pub(crate) fn send<H: IntoHandler<Reply>>(
        mut self,
        session: &Arc<SessionInner>,
        handler: H,
    ) -> Result<H::Handler> {
        let Self { id, quality, extras, .. } = self;
        let time = self.parameters.time_range();
        if let Some(Err(error)) = &time {
            return Err(Error::Argument { message: format!("`_time` cannot be used: {error}") });
        }
        let consolidation = Consolidator::<Reply>::resolve(quality.consolidation, time.is_some());
        let select = self.split_select()?.map(Box::new);
        let any_key = quality.accept == ReplyKeyExpr::Any || self.parameters.contains(ANY_KEY);
        if any_key && !self.parameters.contains(ANY_KEY) {
            self.parameters.insert_raw(ANY_KEY, "");
        }
        if extras.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(Error::Cancelled);
        }
        let (callback, receiver) = handler.into_handler();
        callback.name(&self.key);
        let ending = session.core.add_get(
            id,
            PendingGet {
                listener: Listener::new(callback),
                key: self.key.clone(),
                any_key,
                select,
                select_late: quality.select == SelectMode::Late,
                course: extras.course.clone(),
                progress: Mutex::new(GetProgress {
                    consolidator: Consolidator::new(consolidation),
                    timed_out: false,
                }),
            },
        );
        session.pending(id, ending, extras.cancellation.as_ref())?;
        self.ask(session, consolidation);
        Ok(receiver)
    }

    /// Takes `_filter` and `_project` out of the parameters as far as they are applied here.
    fn split_select(&mut self) -> Result<Option<Select>> {
        if self.quality.select == SelectMode::Off {
            return Ok(None);
        }
        let Some(select) = Select::from_parameters(self.parameters.as_str())? else {
            return Ok(None);
        };
        match (self.quality.select, select.pushdown()) {
            (SelectMode::Late, _) => {
                self.parameters.remove("_filter");
                self.parameters.remove("_project");
            }
            // Responders must keep what the filter looks at, or it would refuse here what passed there.
            (_, Some(projection)) => {
                let text = projection.to_string();
                self.parameters.insert_raw("_project", &escape_argument(&text));
            }
            (_, None) => {
                self.parameters.remove("_project");
            }
        }
        Ok(Some(select))
    }

    fn ask(&self, session: &SessionInner, consolidation: Consolidation) {
        let Self { quality, extras, .. } = self;
        let payload = extras.payload.as_ref().map(ZBytes::to_bytes);
        let attachment = extras.attachment.as_ref().map(ZBytes::to_bytes);
        let encoding = extras.encoding.clone().unwrap_or_default();
        let has_body = payload.is_some() || extras.encoding.is_some();
        let body = has_body.then(|| QueryBody {
            encoding: encoding.to_wire(),
            payload: payload.as_deref().unwrap_or_default(),
        });
        session.runtime.ask(
            self.id,
            &QueryArgs {
                key: &self.key,
                target: quality.target,
                timeout_us: quality.timeout.as_micros().min(u128::from(u64::MAX)) as u64,
                qos: quality.qos,
                scope: scope(quality.destination),
                recorded: TimestampInstrumentation::points(extras.instrumentation),
                body: QueryMessage {
                    consolidation: Some(consolidation),
                    parameters: self.parameters.as_str(),
                    source_info: extras.source_info,
                    body,
                    attachment: attachment.as_deref(),
                    ..QueryMessage::default()
                },
            },
        );
    }
}
