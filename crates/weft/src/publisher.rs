//! Publishing: single puts and publishers.

use std::sync::{Arc, Weak};

use weft_keyexpr::KeyExpr;
use weft_node::Locality;
use weft_runtime::{PublisherSlot, Runtime, SampleQos};
use weft_wire::{
    CongestionControl, Del, EntityGlobalId, InterceptionPoints, Priority, Push, PushBody, Put, Qos,
    Reliability, SourceInfo, Timestamp, WireExpr,
};

use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::handlers::FifoChannel;
use crate::key::IntoKeyExpr;
use crate::matching::{MatchingListenerBuilder, MatchingStatus};
use crate::quorum::{QuorumPut, Written};
use crate::resolve::immediate;
use crate::session::{Session, SessionInner};
use crate::timestamp::TimestampInstrumentation;
use crate::zbytes::ZBytes;

/// What travels with a payload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) encoding: Option<Encoding>,
    pub(crate) attachment: Option<ZBytes>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) source_info: Option<SourceInfo>,
    pub(crate) instrumentation: Option<TimestampInstrumentation>,
}

/// Lends the message of a put (`Some` payload) or of a deletion, but for its key, to `send`.
pub(crate) fn with_message(
    payload: Option<&ZBytes>,
    encoding: &Encoding,
    extras: &Extras,
    qos: Qos,
    send: impl FnOnce(&Push<'_>),
) {
    let send = |body| send(&Push { qos, ..Push::new(WireExpr::EMPTY, body) });
    let attachment = extras.attachment.as_ref().map(ZBytes::to_bytes);
    let attachment = attachment.as_deref();
    let Extras { timestamp, source_info, .. } = *extras;
    match payload {
        Some(payload) => send(PushBody::Put(Put {
            timestamp,
            encoding: encoding.to_wire(),
            source_info,
            attachment,
            payload: &payload.to_bytes(),
            ..Put::default()
        })),
        None => send(PushBody::Del(Del { timestamp, source_info, attachment, ..Del::default() })),
    }
}

/// Options that a single put and a publisher share.
macro_rules! quality {
    () => {
        /// What happens where there is no room. Default: drop.
        ///
        /// - [`Drop`](CongestionControl::Drop): waits for up to `transport/link/tx/queue/
        ///   congestion_control/drop/wait_before_drop`, 1 ms, then drops the sample.
        /// - [`Block`](CongestionControl::Block): waits. A neighbour that takes nothing at all for
        ///   `…/block/wait_before_close`, 5 s, is closed as unresponsive.
        /// - [`BlockFirst`](CongestionControl::BlockFirst): waits as Drop does. If there is no room by
        ///   then, one sample of a priority and neighbour waits on as with Block, but elsewhere, while
        ///   the publisher goes on; those that come meanwhile are dropped.
        pub const fn congestion_control(mut self, value: CongestionControl) -> Self {
            self.how.qos = Qos::new(self.how.qos.priority(), value, self.how.qos.express());
            self
        }

        /// Which samples go first. Default: data. [`Priority::Control`] is the protocol's own and
        /// counts as real time.
        pub const fn priority(mut self, value: Priority) -> Self {
            let value = match value {
                Priority::Control => Priority::RealTime,
                other => other,
            };
            self.how.qos =
                Qos::new(value, self.how.qos.congestion_control(), self.how.qos.express());
            self
        }

        /// Sends at once, without waiting for company in the batch. Default: no. Without it, a sample
        /// leaves at once, too, unless the link is busy or samples come in quick succession.
        pub const fn express(mut self, value: bool) -> Self {
            self.how.qos =
                Qos::new(self.how.qos.priority(), self.how.qos.congestion_control(), value);
            self
        }

        /// The channel to use. Default: reliable. Over TCP and Unix sockets nothing is lost on either.
        pub const fn reliability(mut self, value: Reliability) -> Self {
            self.how.reliability = value;
            self
        }

        /// Whom the samples may reach. Default: anybody.
        pub const fn allowed_destination(mut self, value: Locality) -> Self {
            self.how.destination = value;
            self
        }
    };
}
pub(crate) use quality;

/// Options that every publication has.
macro_rules! extras {
    () => {
        /// How the payload is to be read. Default: `zenoh/bytes`, or the publisher's encoding.
        pub fn encoding(mut self, value: impl Into<Encoding>) -> Self {
            self.extras.encoding = Some(value.into());
            self
        }

        /// Adds something beside the payload.
        pub fn attachment(mut self, value: impl Into<ZBytes>) -> Self {
            self.extras.attachment = Some(value.into());
            self
        }

        /// Sets the timestamp instead of leaving it to the nodes on the way.
        pub const fn timestamp(mut self, value: Timestamp) -> Self {
            self.extras.timestamp = Some(value);
            self
        }

        /// Has the way of this sample recorded: [`Sample::timestamp_stack`](crate::Sample::timestamp_stack).
        /// Default: no.
        pub const fn timestamp_instrumentation(
            mut self,
            value: $crate::timestamp::TimestampInstrumentation,
        ) -> Self {
            self.extras.instrumentation = Some(value);
            self
        }
    };
}
pub(crate) use extras;

/// Options that a single put and a publication of a publisher share.
macro_rules! own_source {
    () => {
        /// Says who publishes this as which number.
        pub const fn source_info(mut self, value: SourceInfo) -> Self {
            self.extras.source_info = Some(value);
            self
        }
    };
}

pub(crate) const DEFAULT_QUALITY: SampleQos = SampleQos {
    qos: Qos::DEFAULT,
    reliability: Reliability::Reliable,
    destination: Locality::Any,
    recorded: InterceptionPoints::NONE,
};

/// How samples on `key` are sent: as the configuration says, and otherwise as the application does.
fn configured(session: &SessionInner, key: &KeyExpr, mut how: SampleQos) -> SampleQos {
    if let Some(it) = session.publications.iter().find(|it| it.is_about(key.as_ke())) {
        how.qos = Qos::new(
            it.priority.unwrap_or(how.qos.priority()),
            it.congestion_control.unwrap_or(how.qos.congestion_control()),
            it.express.unwrap_or(how.qos.express()),
        );
        how.reliability = it.reliability.unwrap_or(how.reliability);
        how.destination = it.allowed_destination.unwrap_or(how.destination);
    }
    how
}

/// One publication on any key.
#[must_use = "nothing is published before wait()"]
pub struct PutBuilder<'a, K> {
    session: &'a Session,
    key: K,
    payload: Option<ZBytes>,
    extras: Extras,
    how: SampleQos,
}

impl<'a, K: IntoKeyExpr> PutBuilder<'a, K> {
    pub(crate) fn put(session: &'a Session, key: K, payload: ZBytes) -> Self {
        Self { payload: Some(payload), ..Self::delete(session, key) }
    }

    pub(crate) fn delete(session: &'a Session, key: K) -> Self {
        Self { session, key, payload: None, extras: Extras::default(), how: DEFAULT_QUALITY }
    }

    quality!();
    extras!();
    own_source!();

    /// Publishes. Returns when the sample is on its way: with [`CongestionControl::Block`], when
    /// there was room for it. Callbacks of this session's own subscribers run on this thread before it
    /// returns, and where their FIFO is full it waits for room there, too. `.await` does the same, and
    /// then blocks its executor.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`]. A sample that nobody
    /// wants, or that was dropped for lack of room, is no error.
    pub fn wait(self) -> Result<()> {
        let session = &self.session.0;
        session.check_open()?;
        let key = self.key.into_key_expr()?;
        let mut how = configured(session, &key, self.how);
        how.recorded = TimestampInstrumentation::points(self.extras.instrumentation);
        let key = session.outward(key)?;
        let encoding = self.extras.encoding.clone().unwrap_or_default();
        with_message(self.payload.as_ref(), &encoding, &self.extras, how.qos, |push| {
            session.runtime.put(&key, push, how);
        });
        Ok(())
    }
}

impl<'a, K: IntoKeyExpr + 'a> PutBuilder<'a, K> {
    /// Waits until at least `repliers` storages or
    /// [acknowledging](crate::SubscriberBuilder::acknowledging) subscribers, 1 to
    /// [`quorum::REPLIERS_MAX`](crate::quorum::REPLIERS_MAX), have it, or something newer. It is stamped by
    /// this session's clock, unless it has a stamp, and read back until it is there. A router that finds
    /// the stamp too far in the future replaces it, and then nobody has it; nor has anybody what was dropped
    /// for lack of room, so that congestion control [`Block`](CongestionControl::Block) goes well with it.
    ///
    /// A deletion is confirmed only by acknowledging subscribers: storages say nothing of what they do
    /// not have. Further options of the put come before this one.
    ///
    /// ```no_run
    /// # let session = weft::open(weft::Config::default()).wait()?;
    /// session.put("home/door", "shut").quorum(2).wait()?;
    /// # Ok::<(), weft::Error>(())
    /// ```
    pub fn quorum(self, repliers: usize) -> QuorumPut<'a> {
        let write = move || {
            let Self { session, key, payload, mut extras, how } = self;
            let key = one_key(key.into_key_expr()?)?;
            let stamp = *extras.timestamp.get_or_insert_with(|| session.new_timestamp());
            let (qos, destination) = (how.qos, how.destination);
            PutBuilder { session, key: &key, payload, extras, how }.wait()?;
            Ok(Written { session: Arc::clone(&session.0), key, stamp, qos, destination })
        };
        QuorumPut::new(Box::new(write), repliers)
    }
}

/// A key for a quorum: with wildcards it could not be read back.
fn one_key(key: KeyExpr) -> Result<KeyExpr> {
    if key.is_wild() {
        let message = format!("a quorum needs a key without wildcards, not `{key}`");
        return Err(Error::Argument { message });
    }
    Ok(key)
}

immediate!([K: IntoKeyExpr] PutBuilder<'_, K> => Result<()>);

/// Declares a [`Publisher`].
#[must_use = "nothing is declared before wait()"]
pub struct PublisherBuilder<'a, K> {
    session: &'a Session,
    key: K,
    encoding: Encoding,
    how: SampleQos,
}

impl<'a, K: IntoKeyExpr> PublisherBuilder<'a, K> {
    pub(crate) fn new(session: &'a Session, key: K) -> Self {
        Self { session, key, encoding: Encoding::default(), how: DEFAULT_QUALITY }
    }

    /// Everything that [`quality`] decides, at once.
    pub(crate) const fn qos(mut self, value: SampleQos) -> Self {
        self.how = value;
        self
    }

    quality!();

    /// How payloads are to be read, unless a publication says otherwise. Default: `zenoh/bytes`.
    pub fn encoding(mut self, value: impl Into<Encoding>) -> Self {
        self.encoding = value.into();
        self
    }

    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, or [`Error::SessionClosed`].
    pub fn wait(self) -> Result<Publisher> {
        let session = &self.session.0;
        let key_expr = self.key.into_key_expr()?;
        let key = session.outward(&key_expr)?;
        let how = configured(session, &key_expr, self.how);
        let publisher = Publisher {
            slot: session.runtime.declare_publisher(&key, how.destination),
            runtime: Arc::clone(&session.runtime),
            session: Arc::downgrade(session),
            key_expr,
            encoding: self.encoding,
            how,
        };
        session.check_still_open()?;
        Ok(publisher)
    }
}

immediate!([K: IntoKeyExpr] PublisherBuilder<'_, K> => Result<Publisher>);

/// Publishes on one key expression. Undeclared when dropped.
///
/// It is cheaper than [`Session::put`]: the key travels as a number, samples that nobody wants do
/// not leave the session, and the route is found once. May be used from several threads.
pub struct Publisher {
    slot: Arc<PublisherSlot>,
    runtime: Arc<Runtime>,
    session: Weak<SessionInner>,
    key_expr: KeyExpr,
    encoding: Encoding,
    how: SampleQos,
}

impl Publisher {
    /// Its identity.
    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId { zid: self.runtime.zid(), eid: self.slot.id() }
    }

    /// Its key expression.
    pub const fn key_expr(&self) -> &KeyExpr {
        &self.key_expr
    }

    /// How its payloads are to be read.
    pub const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Its priority.
    pub const fn priority(&self) -> Priority {
        self.how.qos.priority()
    }

    /// What happens where there is no room.
    pub const fn congestion_control(&self) -> CongestionControl {
        self.how.qos.congestion_control()
    }

    /// Its channel.
    pub const fn reliability(&self) -> Reliability {
        self.how.reliability
    }

    /// Publishes a value.
    pub fn put(&self, payload: impl Into<ZBytes>) -> PublicationBuilder<'_> {
        PublicationBuilder {
            publisher: self,
            payload: Some(payload.into()),
            extras: Extras::default(),
        }
    }

    /// Publishes bytes that stay the caller's: no copy but into the message.
    ///
    /// Cost: one lock and one copy for each neighbour that gets it, no allocation unless it is longer
    /// than a batch (64 KiB); for each subscriber of this session, its callback.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    #[inline]
    pub fn put_bytes(&self, payload: &[u8]) -> Result<()> {
        self.check_open()?;
        let encoding = self.encoding.to_wire();
        let body = PushBody::Put(Put { encoding, payload, ..Put::default() });
        let push = Push { qos: self.how.qos, ..Push::new(WireExpr::EMPTY, body) };
        self.runtime.publish(&self.slot, &push, self.how);
        Ok(())
    }

    /// Publishes that the key has no value any more.
    pub fn delete(&self) -> PublicationBuilder<'_> {
        PublicationBuilder { publisher: self, payload: None, extras: Extras::default() }
    }

    /// Whether any subscriber matches now, within its allowed destination.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn matching_status(&self) -> Result<MatchingStatus> {
        self.check_open()?;
        Ok(MatchingStatus { matching: self.runtime.is_matching(self.slot.id()) })
    }

    /// Declares a listener of the matching status.
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        MatchingListenerBuilder {
            session: &self.session,
            sender: self.slot.id(),
            handler: FifoChannel::default(),
        }
    }

    /// Ends it, and its matching listeners.
    pub fn undeclare(self) {}

    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.runtime.is_closed() { Err(Error::SessionClosed) } else { Ok(()) }
    }

    /// Publishes a value (`Some` payload) or a deletion to those of its `destination`.
    pub(crate) fn publish(&self, payload: Option<&ZBytes>, extras: &Extras, destination: Locality) {
        let encoding = extras.encoding.as_ref().unwrap_or(&self.encoding);
        let recorded = TimestampInstrumentation::points(extras.instrumentation);
        let how = SampleQos { destination, recorded, ..self.how };
        with_message(payload, encoding, extras, how.qos, |push| {
            self.runtime.publish(&self.slot, push, how);
        });
    }

    pub(crate) const fn qos(&self) -> SampleQos {
        self.how
    }

    /// A stamp of the session's clock, if it stamps what it publishes.
    pub(crate) fn stamp(&self) -> Option<Timestamp> {
        self.runtime.stamp()
    }
}

impl core::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Publisher").field("key_expr", &self.key_expr).finish_non_exhaustive()
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.end_sender(self.slot.id());
        }
    }
}

/// One publication of a [`Publisher`].
#[must_use = "nothing is published before wait()"]
pub struct PublicationBuilder<'a> {
    publisher: &'a Publisher,
    payload: Option<ZBytes>,
    extras: Extras,
}

impl<'a> PublicationBuilder<'a> {
    extras!();
    own_source!();

    /// Waits until so many have it: see [`PutBuilder::quorum`].
    pub fn quorum(mut self, repliers: usize) -> QuorumPut<'a> {
        let write = move || {
            let publisher = self.publisher;
            let session = publisher.session.upgrade().ok_or(Error::SessionClosed)?;
            let key = one_key(publisher.key_expr.clone())?;
            let stamp = *self.extras.timestamp.get_or_insert_with(|| session.new_timestamp());
            let SampleQos { qos, destination, .. } = publisher.how;
            self.wait()?;
            Ok(Written { session, key, stamp, qos, destination })
        };
        QuorumPut::new(Box::new(write), repliers)
    }

    /// Publishes, as [`PutBuilder::wait`] does.
    ///
    /// # Errors
    /// [`Error::SessionClosed`].
    pub fn wait(self) -> Result<()> {
        self.publisher.check_open()?;
        self.publisher.publish(self.payload.as_ref(), &self.extras, self.publisher.how.destination);
        Ok(())
    }
}

immediate!([] PublicationBuilder<'_> => Result<()>);
