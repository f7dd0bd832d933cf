//! A publisher that lets subscribers notice and make up for what they lost.
//!
//! Built from a publisher, a queryable that answers from the cache, a token and a second publisher
//! for heartbeats. Spec: 02 §7.2.

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weft_keyexpr::KeyExpr;
use weft_node::Locality;
use weft_runtime::SampleQos;
use weft_wire::{
    CongestionControl, EntityGlobalId, Priority, Qos, Reliability, SourceInfo, Timestamp,
};

use super::cache::{Cache, CacheConfig};
use super::keys;
use super::recovery::SourceId;
use super::serialization::serialize;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::key::IntoKeyExpr;
use crate::liveliness::LivelinessToken;
use crate::matching::{MatchingListenerBuilder, MatchingStatus};
use crate::publisher::{DEFAULT_QUALITY, Extras, Publisher, extras, quality};
use crate::query::Query;
use crate::queryable::Queryable;
use crate::resolve::immediate;
use crate::sample::{Beside, Sample, SampleKind};
use crate::session::{Session, SessionInner};
use crate::zbytes::ZBytes;

/// Declares an [`AdvancedPublisher`].
///
/// ```no_run
/// use core::time::Duration;
/// use weft::ext::{CacheConfig, MissDetectionConfig, declare_advanced_publisher};
///
/// # let session = weft::open(weft::Config::default()).wait()?;
/// let publisher = declare_advanced_publisher(&session, "demo/temperature")
///     .cache(CacheConfig::default().max_samples(10))
///     .sample_miss_detection(MissDetectionConfig::default().heartbeat(Duration::from_secs(1)))
///     .publisher_detection(true)
///     .wait()?;
/// publisher.put("21.5").wait()?;
/// # Ok::<(), weft::Error>(())
/// ```
pub fn declare_advanced_publisher<K: IntoKeyExpr>(
    session: &Session,
    key: K,
) -> AdvancedPublisherBuilder<'_, K> {
    AdvancedPublisherBuilder {
        session,
        key,
        encoding: Encoding::default(),
        how: DEFAULT_QUALITY,
        cache: None,
        miss_detection: None,
        detection: false,
        metadata: None,
    }
}

/// How subscribers of an [`AdvancedPublisher`] notice that they lack samples.
///
/// By the number that each sample carries, once a later one arrives; with a heartbeat, without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissDetectionConfig {
    heartbeat: Option<Heartbeat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heartbeat {
    period: Duration,
    sporadic: bool,
}

/// A heartbeat's shortest period.
const HEARTBEAT_PERIOD_MIN: Duration = Duration::from_millis(1);

impl MissDetectionConfig {
    /// Tells the last number every `period`, at least 1 ms, from the first sample on. Replaces a
    /// sporadic heartbeat.
    pub fn heartbeat(self, period: Duration) -> Self {
        let period = period.max(HEARTBEAT_PERIOD_MIN);
        Self { heartbeat: Some(Heartbeat { period, sporadic: false }) }
    }

    /// Tells the last number every `period`, at least 1 ms, if it is another one than before, and
    /// waits for room to do so. Replaces a periodic heartbeat.
    pub fn sporadic_heartbeat(self, period: Duration) -> Self {
        let period = period.max(HEARTBEAT_PERIOD_MIN);
        Self { heartbeat: Some(Heartbeat { period, sporadic: true }) }
    }
}

/// Declares an [`AdvancedPublisher`].
#[must_use = "nothing is declared before wait()"]
pub struct AdvancedPublisherBuilder<'a, K> {
    session: &'a Session,
    key: K,
    encoding: Encoding,
    how: SampleQos,
    cache: Option<CacheConfig>,
    miss_detection: Option<MissDetectionConfig>,
    detection: bool,
    metadata: Option<KeyExpr>,
}

impl<K: IntoKeyExpr> AdvancedPublisherBuilder<'_, K> {
    quality!();

    /// How payloads are to be read, unless a publication says otherwise. Default: `zenoh/bytes`.
    pub fn encoding(mut self, value: impl Into<Encoding>) -> Self {
        self.encoding = value.into();
        self
    }

    /// Keeps samples for subscribers that come late or lost some. Default: nothing is kept.
    pub const fn cache(mut self, value: CacheConfig) -> Self {
        self.cache = Some(value);
        self
    }

    /// Numbers the samples. Default: they are not numbered.
    pub const fn sample_miss_detection(mut self, value: MissDetectionConfig) -> Self {
        self.miss_detection = Some(value);
        self
    }

    /// Whether subscribers can see that it exists. Default: no.
    pub const fn publisher_detection(mut self, value: bool) -> Self {
        self.detection = value;
        self
    }

    /// What those who see it are told with its key, as the last chunks of it.
    ///
    /// # Errors
    /// If the key expression is not canonical.
    pub fn publisher_detection_metadata(mut self, value: impl IntoKeyExpr) -> Result<Self> {
        self.metadata = Some(value.into_key_expr()?);
        Ok(self)
    }

    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical; [`Error::Argument`] for a cache of 0 samples, or one
    /// whose samples have neither a number nor a stamp; [`Error::SessionClosed`].
    pub fn wait(self) -> Result<AdvancedPublisher> {
        let session = self.session;
        let key = self.key.into_key_expr()?;
        let has_clock = session.0.runtime.stamp().is_some();
        check_cache(self.cache, self.miss_detection.is_some(), has_clock)?;
        let publisher = session.declare_publisher(&key).encoding(self.encoding).qos(self.how);
        let publisher = publisher.wait()?;
        let source = match self.miss_detection {
            Some(_) => SourceId::Numbered(publisher.id()),
            None => SourceId::Stamped(session.zid()),
        };
        let own_key = keys::publisher(&key, source, self.metadata.as_ref())?;
        let published = Arc::new(Mutex::new(Published {
            cache: self.cache.map(|config| Cache::new(config.max_samples)),
            last: None,
        }));
        let queryable = match self.cache {
            None => None,
            Some(config) => {
                let kept = Arc::clone(&published);
                let answer = move |query: Query| answer(&query, &kept, config);
                let origin = publisher.qos().destination;
                let queryable = session.declare_queryable(&own_key).allowed_origin(origin);
                Some(queryable.callback(answer).wait()?)
            }
        };
        let token = self.detection.then(|| session.liveliness().declare_token(&own_key).wait());
        let token = token.transpose()?;
        let heart = match self.miss_detection.and_then(|config| config.heartbeat) {
            None => None,
            Some(heartbeat) => Some(Heart::start(session, &own_key, heartbeat, &published)?),
        };
        let numbers = self.miss_detection.map(|_| Mutex::default());
        Ok(AdvancedPublisher {
            _heart: heart,
            _token: token,
            _queryable: queryable,
            numbers,
            published,
            publisher,
        })
    }
}

immediate!([K: IntoKeyExpr] AdvancedPublisherBuilder<'_, K> => Result<AdvancedPublisher>);

fn check_cache(cache: Option<CacheConfig>, is_numbered: bool, has_clock: bool) -> Result<()> {
    let message = match cache {
        Some(CacheConfig { max_samples: 0, .. }) => {
            "a cache of 0 samples keeps nothing: give 1 or more"
        }
        Some(_) if !is_numbered && !has_clock => {
            "samples that are kept need a number or a stamp: give `sample_miss_detection`, or set \
             `timestamping/enabled` in the configuration of the session"
        }
        _ => return Ok(()),
    };
    Err(Error::Argument { message: message.into() })
}

/// What was published so far. Locked for moments only, so that queries are never kept waiting.
struct Published {
    cache: Option<Cache>,
    /// The last number.
    last: Option<u32>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers a query from the cache.
fn answer(query: &Query, published: &Mutex<Published>, config: CacheConfig) {
    let now_unix_ns = Timestamp::unix_ns_from_ntp64(weft_runtime::wall_ntp64());
    let found = lock(published)
        .cache
        .as_ref()
        .map(|cache| cache.select(query.parameters(), now_unix_ns.into()));
    for sample in found.into_iter().flatten() {
        // A query that does not take replies on this key gets none.
        if let Err(error) = send(query, sample, config) {
            tracing::debug!(%query, %error, "a query of a cache gets no answer");
            return;
        }
    }
}

fn send(query: &Query, sample: Sample, config: CacheConfig) -> Result<()> {
    let (attachment, source_info) = (sample.attachment().cloned(), sample.source_info());
    let mut reply = match sample.kind {
        SampleKind::Put => query.reply(sample.key_expr, sample.payload).encoding(sample.encoding),
        SampleKind::Delete => query.reply_del(sample.key_expr),
    };
    if let Some(attachment) = attachment {
        reply = reply.attachment(attachment);
    }
    if let Some(timestamp) = sample.timestamp {
        reply = reply.timestamp(timestamp);
    }
    if let Some(source_info) = source_info {
        reply = reply.source_info(source_info);
    }
    if let Some(express) = config.express {
        reply = reply.express(express);
    }
    reply.wait()
}

/// Tells the last number from time to time.
struct Heart {
    session: Weak<SessionInner>,
    publisher: Publisher,
    config: Heartbeat,
    published: Arc<Mutex<Published>>,
    /// The last number that was told.
    told: Mutex<Option<u32>>,
}

impl Heart {
    fn start(
        session: &Session,
        key: &KeyExpr,
        config: Heartbeat,
        published: &Arc<Mutex<Published>>,
    ) -> Result<Arc<Self>> {
        let congestion =
            if config.sporadic { CongestionControl::Block } else { CongestionControl::Drop };
        let heart = Arc::new(Self {
            session: Arc::downgrade(&session.0),
            publisher: session.declare_publisher(key).congestion_control(congestion).wait()?,
            config,
            published: Arc::clone(published),
            told: Mutex::default(),
        });
        heart.schedule();
        Ok(heart)
    }

    fn schedule(self: &Arc<Self>) {
        let Some(session) = self.session.upgrade() else { return };
        let heart = Arc::downgrade(self);
        session.runtime.call_after(self.config.period, self.publisher.id().eid, move || {
            if let Some(heart) = heart.upgrade() {
                heart.beat();
                heart.schedule();
            }
        });
    }

    fn beat(&self) {
        let Some(last) = lock(&self.published).last else { return };
        let before = lock(&self.told).replace(last);
        if !self.config.sporadic || before != Some(last) {
            // A closed session ends the heartbeat, too.
            let _ = self.publisher.put(serialize(&last)).wait();
        }
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.runtime.cancel_calls(self.publisher.id().eid);
        }
    }
}

/// Publishes on one key expression, and keeps, numbers and announces what it publishes as it is told
/// to. Undeclared when dropped.
///
/// May be used from several threads. Numbered samples leave in the order of their numbers. Those
/// that several threads publish at once may reach subscribers of this very session out of order.
///
/// If the session stamps what it publishes (`timestamping/enabled`), samples in the cache have the
/// same stamps as those that were sent.
pub struct AdvancedPublisher {
    // Undeclared in this order.
    _heart: Option<Arc<Heart>>,
    _token: Option<LivelinessToken>,
    _queryable: Option<Queryable<()>>,
    /// The next number. Locked until the sample is on its way to others.
    numbers: Option<Mutex<u32>>,
    published: Arc<Mutex<Published>>,
    publisher: Publisher,
}

impl AdvancedPublisher {
    /// Its identity; the source of the samples that it numbers.
    pub fn id(&self) -> EntityGlobalId {
        self.publisher.id()
    }

    /// Its key expression.
    pub const fn key_expr(&self) -> &KeyExpr {
        self.publisher.key_expr()
    }

    /// How its payloads are to be read.
    pub const fn encoding(&self) -> &Encoding {
        self.publisher.encoding()
    }

    /// Its priority.
    pub const fn priority(&self) -> Priority {
        self.publisher.priority()
    }

    /// What happens where there is no room.
    pub const fn congestion_control(&self) -> CongestionControl {
        self.publisher.congestion_control()
    }

    /// Its channel.
    pub const fn reliability(&self) -> Reliability {
        self.publisher.reliability()
    }

    /// Publishes a value.
    pub fn put(&self, payload: impl Into<ZBytes>) -> AdvancedPublicationBuilder<'_> {
        let payload = Some(payload.into());
        AdvancedPublicationBuilder { publisher: self, payload, extras: Extras::default() }
    }

    /// Publishes that the key has no value any more.
    pub fn delete(&self) -> AdvancedPublicationBuilder<'_> {
        AdvancedPublicationBuilder { publisher: self, payload: None, extras: Extras::default() }
    }

    /// Whether any subscriber matches now, within its allowed destination.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn matching_status(&self) -> Result<MatchingStatus> {
        self.publisher.matching_status()
    }

    /// Declares a listener of the matching status.
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        self.publisher.matching_listener()
    }

    /// Ends it, its cache, its token, and its matching listeners.
    pub fn undeclare(self) {}

    fn publish(&self, payload: Option<&ZBytes>, mut extras: Extras) {
        let publisher = &self.publisher;
        let destination = publisher.qos().destination;
        let Some(numbers) = &self.numbers else {
            extras.timestamp = extras.timestamp.or_else(|| publisher.stamp());
            self.keep(payload, &extras);
            return publisher.publish(payload, &extras, destination);
        };
        {
            let mut next = lock(numbers);
            extras.timestamp = extras.timestamp.or_else(|| publisher.stamp());
            extras.source_info = Some(SourceInfo { id: publisher.id(), sn: *next });
            *next = next.wrapping_add(1);
            // First to be had, then sent: whoever lacks it finds it.
            self.keep(payload, &extras);
            if destination.allows_remote() {
                publisher.publish(payload, &extras, Locality::Remote);
            }
        }
        // Callbacks of this session run without the lock.
        if destination.allows_local() {
            publisher.publish(payload, &extras, Locality::SessionLocal);
        }
    }

    fn keep(&self, payload: Option<&ZBytes>, extras: &Extras) {
        let mut published = lock(&self.published);
        published.last = extras.source_info.map(|info| info.sn);
        let Some(cache) = &mut published.cache else { return };
        let publisher = &self.publisher;
        let encoding = extras.encoding.as_ref().unwrap_or(publisher.encoding());
        cache.push(Sample {
            key_expr: publisher.key_expr().clone(),
            payload: payload.cloned().unwrap_or_default(),
            kind: if payload.is_some() { SampleKind::Put } else { SampleKind::Delete },
            encoding: if payload.is_some() { encoding.clone() } else { Encoding::default() },
            timestamp: extras.timestamp,
            qos: publisher.qos().qos,
            reliability: publisher.reliability(),
            beside: Beside::of(extras.attachment.clone(), extras.source_info, None),
        });
    }
}

impl core::fmt::Debug for AdvancedPublisher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AdvancedPublisher")
            .field("key_expr", self.key_expr())
            .finish_non_exhaustive()
    }
}

/// One publication of an [`AdvancedPublisher`].
#[must_use = "nothing is published before wait()"]
pub struct AdvancedPublicationBuilder<'a> {
    publisher: &'a AdvancedPublisher,
    payload: Option<ZBytes>,
    extras: Extras,
}

impl AdvancedPublicationBuilder<'_> {
    extras!();

    /// Publishes, as [`PutBuilder::wait`](crate::PutBuilder::wait) does.
    ///
    /// Cost beyond that: two locks; to keep the sample, references to its payload and attachment.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn wait(self) -> Result<()> {
        self.publisher.publisher.check_open()?;
        self.publisher.publish(self.payload.as_ref(), self.extras);
        Ok(())
    }
}

immediate!([] AdvancedPublicationBuilder<'_> => Result<()>);
