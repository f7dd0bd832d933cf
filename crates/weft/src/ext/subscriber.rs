//! A subscriber that makes up for what it lost and for what was published before it came.
//!
//! Not here: what its parts do when something arrives ([`inner`]). Built from a subscriber, queries to caches, and, as it is told to, a subscriber of heartbeats, one
//! of publishers' tokens, and a token of its own. What it delivers and asks is decided in
//! [`super::recovery`]. Spec: 02 §7.3.

mod inner;

use core::time::Duration;
use std::sync::{Arc, Weak};

use weft_keyexpr::{KeyExpr, Parameters, TimeBound, TimeExpr, TimeRange};
use weft_node::Locality;

use super::keys;
use super::miss::SampleMissListenerBuilder;
use super::recovery::Rules;
use crate::declared::{Declared, keyed_handle};
use crate::error::{Error, Result};
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::key::IntoKeyExpr;
use crate::liveliness::LivelinessSubscriber;
use crate::resolve::immediate;
use crate::sample::{Sample, SampleView};
use crate::session::Session;

pub(super) use inner::Inner;

/// How long queries of an advanced subscriber may take, unless it is told otherwise.
const QUERY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// The shortest period of queries for what was missed.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// Declares an [`AdvancedSubscriber`].
///
/// ```no_run
/// use weft::ext::{HistoryConfig, RecoveryConfig, declare_advanced_subscriber};
///
/// # let session = weft::open(weft::Config::default()).wait()?;
/// let subscriber = declare_advanced_subscriber(&session, "demo/**")
///     .history(HistoryConfig::default().max_samples(10).detect_late_publishers(true))
///     .recovery(RecoveryConfig::Heartbeat)
///     .wait()?;
/// let misses = subscriber.sample_miss_listener().wait()?;
/// for sample in subscriber.iter() {
///     println!("{} {}", sample.key_expr(), sample.payload().len());
/// }
/// # Ok::<(), weft::Error>(())
/// ```
pub fn declare_advanced_subscriber<K: IntoKeyExpr>(
    session: &Session,
    key: K,
) -> AdvancedSubscriberBuilder<'_, K> {
    let options = Options {
        session,
        key,
        origin: Locality::Any,
        history: None,
        recovery: None,
        timeout: QUERY_TIMEOUT_DEFAULT,
        detection: false,
        metadata: None,
    };
    AdvancedSubscriberBuilder { options, handler: FifoChannel::default() }
}

/// What an [`AdvancedSubscriber`] asks for of what was published before it came.
///
/// By default, everything that is in caches of publishers that exist when it is declared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistoryConfig {
    max_samples: Option<usize>,
    max_age: Option<Duration>,
    late_publishers: bool,
}

impl HistoryConfig {
    /// At most so many samples of each publisher, the newest ones.
    pub const fn max_samples(mut self, value: usize) -> Self {
        self.max_samples = Some(value);
        self
    }

    /// Only samples that were published so long ago or less, if they are stamped.
    pub const fn max_age(mut self, value: Duration) -> Self {
        self.max_age = Some(value);
        self
    }

    /// Whether publishers that appear later are asked, too, if they can be detected. Default: no.
    pub const fn detect_late_publishers(mut self, value: bool) -> Self {
        self.late_publishers = value;
        self
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        if let Some(count) = self.max_samples {
            parameters.insert_raw("_max", &count.to_string());
        }
        if let Some(age) = self.max_age {
            let start = TimeExpr::Now { offset_s: -age.as_secs_f64() };
            let range = TimeRange { start: TimeBound::Inclusive(start), end: TimeBound::Unbounded };
            parameters.insert_raw("_time", &range.to_string());
        }
        parameters
    }
}

/// How an [`AdvancedSubscriber`] learns, without a later sample, that it lacks some. What it lacks it
/// asks for in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryConfig {
    /// It asks each publisher for newer samples, at this period, at least 1 ms.
    PeriodicQueries {
        /// Time between two queries of one publisher.
        period: Duration,
    },
    /// By the heartbeats of publishers that have one.
    Heartbeat,
}

/// Declares an [`AdvancedSubscriber`].
#[must_use = "nothing is declared before wait()"]
pub struct AdvancedSubscriberBuilder<'a, K, H = FifoChannel> {
    options: Options<'a, K>,
    handler: H,
}

/// All but the handler.
struct Options<'a, K> {
    session: &'a Session,
    key: K,
    origin: Locality,
    history: Option<HistoryConfig>,
    recovery: Option<RecoveryConfig>,
    timeout: Duration,
    detection: bool,
    metadata: Option<KeyExpr>,
}

impl<'a, K: IntoKeyExpr, H> AdvancedSubscriberBuilder<'a, K, H> {
    /// Whose samples it gets. Default: everybody's.
    pub const fn allowed_origin(mut self, value: Locality) -> Self {
        self.options.origin = value;
        self
    }

    /// Asks for what was published before. Default: nothing is asked for.
    pub const fn history(mut self, value: HistoryConfig) -> Self {
        self.options.history = Some(value);
        self
    }

    /// Asks for what it lacks. Default: what it lacks is missed.
    pub const fn recovery(mut self, value: RecoveryConfig) -> Self {
        self.options.recovery = Some(value);
        self
    }

    /// How long its queries may take. Default: 10 s. Samples behind a gap wait for them.
    pub const fn query_timeout(mut self, value: Duration) -> Self {
        self.options.timeout = value;
        self
    }

    /// Whether others can see that it exists, by a token below `KEY/@adv/sub`. Default: no.
    pub const fn subscriber_detection(mut self, value: bool) -> Self {
        self.options.detection = value;
        self
    }

    /// What those who see it are told with its key, as the last chunks of it.
    ///
    /// # Errors
    /// If the key expression is not canonical.
    pub fn subscriber_detection_metadata(mut self, value: impl IntoKeyExpr) -> Result<Self> {
        self.options.metadata = Some(value.into_key_expr()?);
        Ok(self)
    }

    /// Calls `callback` with every sample, one at a time, those of one source in order.
    pub fn callback<F: Fn(Sample) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> AdvancedSubscriberBuilder<'a, K, F> {
        self.with(callback)
    }

    /// As [`callback`](Self::callback), for a function with mutable state.
    pub fn callback_mut<F: FnMut(Sample) + Send + 'static>(
        self,
        callback: F,
    ) -> AdvancedSubscriberBuilder<'a, K, Callback<Sample>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers samples to `handler`: a channel, a closure, or a pair of closure and object. Without
    /// this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Sample>>(self, handler: N) -> AdvancedSubscriberBuilder<'a, K, N> {
        AdvancedSubscriberBuilder { options: self.options, handler }
    }
}

impl<K: IntoKeyExpr, H: IntoHandler<Sample>> AdvancedSubscriberBuilder<'_, K, H> {
    /// Declares it, and asks for the history. Does not wait for it.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`].
    pub fn wait(self) -> Result<AdvancedSubscriber<H::Handler>> {
        let (callback, handler) = self.handler.into_handler();
        let (inner, declared) = self.options.declare(callback)?;
        let key_expr = inner.key_expr.clone();
        Ok(AdvancedSubscriber { declared, inner: Arc::downgrade(&inner), key_expr, handler })
    }
}

immediate!([K: IntoKeyExpr, H: IntoHandler<Sample>]
    AdvancedSubscriberBuilder<'_, K, H> => Result<AdvancedSubscriber<H::Handler>>);

impl<K: IntoKeyExpr> Options<'_, K> {
    fn declare(self, callback: Callback<Sample>) -> Result<(Arc<Inner>, Declared)> {
        let session = self.session;
        let key_expr = self.key.into_key_expr()?;
        let period = match self.recovery {
            Some(RecoveryConfig::PeriodicQueries { period }) => Some(period.max(PERIOD_MIN)),
            _ => None,
        };
        let rules = Rules {
            history: self.history.is_some(),
            depth: self.history.and_then(|history| history.max_samples),
            recovers: self.recovery.is_some(),
            period_us: period.map(|period| u64::try_from(period.as_micros()).unwrap_or(u64::MAX)),
        };
        let history = self.history.unwrap_or_default().parameters();
        let handler = callback.clone();
        let inner = Arc::new(Inner::new(session, key_expr, rules, history, self.timeout, handler));
        let key = &inner.key_expr;
        let live = Arc::clone(&inner);
        let subscriber = session
            .declare_subscriber(key)
            .allowed_origin(self.origin)
            .callback(move |view: &SampleView<'_>| live.live(view.to_sample()))
            .declare_before(callback)?;
        let id = subscriber.id()?;
        // Each part ends on its own if one that follows cannot be declared.
        let mut parts: Vec<Box<dyn Send>> = vec![Box::new(subscriber)];
        inner.start();
        if self.history.is_some_and(|history| history.late_publishers) {
            let seen = Arc::clone(&inner);
            let publishers = session.liveliness().declare_subscriber(keys::publishers(key)?);
            let publishers = publishers.history(true).callback(move |token| seen.token(&token));
            parts.push(Box::new(publishers.wait()?));
        }
        if self.recovery == Some(RecoveryConfig::Heartbeat) {
            let told = Arc::clone(&inner);
            let heartbeats = session.declare_subscriber(keys::publishers(key)?);
            let heartbeats = heartbeats.allowed_origin(self.origin);
            let heartbeats = heartbeats.callback(move |view| told.heartbeat(view));
            parts.push(Box::new(heartbeats.wait()?));
        }
        if self.detection {
            let key = keys::subscriber(key, id, self.metadata.as_ref())?;
            parts.push(Box::new(session.liveliness().declare_token(key).wait()?));
        }
        inner.own(parts);
        let ended = Arc::downgrade(&inner);
        let declared = Declared::new(&session.0, id.eid, move |session| {
            if let Some(inner) = ended.upgrade() {
                inner.end(session);
            }
        });
        session.0.check_still_open()?;
        Ok((inner, declared))
    }
}

/// Receives the samples of a key expression: those of each numbering source in order, and, as it is
/// told to, those that were published before or got lost on the way. Undeclared when dropped; see
/// [`AdvancedSubscriber::background`].
///
/// With a channel, it can be used like the channel's [`Receiver`].
pub struct AdvancedSubscriber<H = Receiver<Sample>> {
    declared: Declared,
    inner: Weak<Inner>,
    key_expr: KeyExpr,
    handler: H,
}

keyed_handle!(AdvancedSubscriber);

impl<H> AdvancedSubscriber<H> {
    /// Declares a listener of samples that this subscriber does not get.
    pub fn sample_miss_listener(&self) -> SampleMissListenerBuilder<'_> {
        SampleMissListenerBuilder { inner: &self.inner, handler: FifoChannel::default() }
    }

    /// Declares a subscriber of the tokens of publishers that can be detected and match.
    pub fn detect_publishers(&self) -> DetectPublishersBuilder<'_> {
        let handler = FifoChannel::default();
        DetectPublishersBuilder { inner: &self.inner, history: false, handler }
    }
}

/// Declares a subscriber of the tokens of publishers. Their keys end in
/// `@adv/pub/ZID/EID/METADATA`.
#[must_use = "nothing is declared before wait()"]
pub struct DetectPublishersBuilder<'a, H = FifoChannel> {
    inner: &'a Weak<Inner>,
    history: bool,
    handler: H,
}

impl<'a, H> DetectPublishersBuilder<'a, H> {
    /// Whether publishers that exist already are reported first. Default: no.
    pub const fn history(mut self, value: bool) -> Self {
        self.history = value;
        self
    }

    /// Calls `callback` with every change, one at a time and in order.
    pub fn callback<F: Fn(Sample) + Send + Sync + 'static>(
        self,
        callback: F,
    ) -> DetectPublishersBuilder<'a, F> {
        self.with(callback)
    }

    /// Delivers changes to `handler`. Without this, to a FIFO of 256.
    pub fn with<N: IntoHandler<Sample>>(self, handler: N) -> DetectPublishersBuilder<'a, N> {
        DetectPublishersBuilder { inner: self.inner, history: self.history, handler }
    }
}

impl<H: IntoHandler<Sample>> DetectPublishersBuilder<'_, H> {
    /// Declares it.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn wait(self) -> Result<LivelinessSubscriber<H::Handler>> {
        let inner = self.inner.upgrade().ok_or(Error::SessionClosed)?;
        let session = Session(inner.session()?);
        let tokens = session.liveliness().declare_subscriber(keys::publishers(&inner.key_expr)?);
        tokens.history(self.history).with(self.handler).wait()
    }
}

immediate!([H: IntoHandler<Sample>]
    DetectPublishersBuilder<'_, H> => Result<LivelinessSubscriber<H::Handler>>);
