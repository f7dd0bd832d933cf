//! Subscribing.

use std::sync::Arc;

use weft_keyexpr::{KeyExpr, Parameters};
use weft_node::Locality;
use weft_runtime::SampleCallback;

use crate::acknowledge::Acknowledged;
use crate::declared::{Declared, keyed_handle};
use crate::error::Result;
use crate::handlers::{Callback, FifoChannel, IntoHandler, Receiver};
use crate::key::{IntoKeyExpr, Namespace};
use crate::resolve::immediate;
use crate::sample::{Sample, SampleView};
use crate::select::{Select, Selected, escape_argument};
use crate::session::Session;

/// Declares a [`Subscriber`].
#[must_use = "nothing is declared before wait()"]
pub struct SubscriberBuilder<'a, K, H = FifoChannel> {
    options: Options<'a, K>,
    handler: H,
}

/// All but the handler.
struct Options<'a, K> {
    session: &'a Session,
    key: K,
    origin: Locality,
    /// `_filter` and `_project` as the parameters of a selector.
    select: Parameters,
    acknowledging: bool,
}

/// A function that looks at samples without owning them, see [`SubscriberBuilder::callback`].
pub struct ViewCallback<F>(F);

impl<'a, K: IntoKeyExpr> SubscriberBuilder<'a, K> {
    pub(crate) fn new(session: &'a Session, key: K) -> Self {
        let select = Parameters::default();
        let options = Options { session, key, origin: Locality::Any, select, acknowledging: false };
        Self { options, handler: FifoChannel::default() }
    }
}

impl<'a, K: IntoKeyExpr, H> SubscriberBuilder<'a, K, H> {
    /// Whose samples it gets. Default: everybody's.
    pub const fn allowed_origin(mut self, value: Locality) -> Self {
        self.options.origin = value;
        self
    }

    /// Keeps only samples whose payload passes an expression of the `_filter` language, such as
    /// `temp>25`. Evaluated here; deletions do not pass.
    pub fn filter(mut self, expression: &str) -> Self {
        self.options.select.insert_raw("_filter", &escape_argument(expression));
        self
    }

    /// Delivers only parts of payloads, as a projection of the `_project` language says: `hum,pos.x`.
    pub fn project(mut self, expression: &str) -> Self {
        self.options.select.insert_raw("_project", &escape_argument(expression));
        self
    }

    /// Says what it has got to those who put with a [quorum](crate::PutBuilder::quorum): as soon as a
    /// sample with a time stamp was delivered to its handler. Default: no.
    ///
    /// For that it is a queryable, too, which is not complete and answers nothing else: queriers on these
    /// keys match it, and gets without a complete queryable ask it in vain. It remembers the newest stamps
    /// of the last keys that had a sample, up to
    /// [`quorum::ACKNOWLEDGED_KEYS_MAX`](crate::quorum::ACKNOWLEDGED_KEYS_MAX), and no payloads.
    ///
    /// Cost of a stamped sample: a lock and a lookup.
    pub const fn acknowledging(mut self) -> Self {
        self.options.acknowledging = true;
        self
    }

    /// Calls `callback` with a view of every sample, on the thread that received it: nothing is
    /// copied, nothing queued, nothing allocated. Samples that come over one link come one after the
    /// other; those of several links, and those of this session itself, may come side by side.
    ///
    /// A callback that takes its time stops the link that feeds it, and no other.
    pub fn callback<F>(self, callback: F) -> SubscriberBuilder<'a, K, ViewCallback<F>>
    where
        F: Fn(&SampleView<'_>) + Send + Sync + 'static,
    {
        SubscriberBuilder { options: self.options, handler: ViewCallback(callback) }
    }

    /// Calls `callback` with every sample, one after the other. It owns them, as with
    /// [`with`](Self::with).
    pub fn callback_mut<F: FnMut(Sample) + Send + 'static>(
        self,
        callback: F,
    ) -> SubscriberBuilder<'a, K, Callback<Sample>> {
        self.with(Callback::from_mut(callback))
    }

    /// Delivers samples to `handler`: a channel, a closure, or a pair of closure and object. Without
    /// this, to a FIFO of 256.
    ///
    /// The handler owns its samples: payloads and attachments of more than 38 bytes are copied to the
    /// heap, once each. [`callback`](Self::callback) needs no allocation.
    pub fn with<N: IntoHandler<Sample>>(self, handler: N) -> SubscriberBuilder<'a, K, N> {
        SubscriberBuilder { options: self.options, handler }
    }
}

impl<K: IntoKeyExpr> Options<'_, K> {
    /// Declares a subscriber that calls `callback`; `closes` is the channel behind it, if any.
    fn declare<O>(
        self,
        callback: impl Fn(&SampleView<'_>) + Send + Sync + 'static,
        closes: Option<Callback<Sample>>,
        handler: O,
    ) -> Result<Subscriber<O>> {
        let session = &self.session.0;
        let key_expr = self.key.into_key_expr()?;
        let key = session.outward(&key_expr)?;
        let select = Select::from_parameters(self.select.as_str())?;
        let acknowledged =
            self.acknowledging.then(|| Acknowledged::declare(self.session, &key_expr, self.origin));
        let (acknowledged, acknowledging) = acknowledged.transpose()?.unzip();
        let callback = noted(acknowledged, callback);
        let callback = match select {
            None => stripped(session.core.namespace.clone(), callback),
            Some(select) => stripped(session.core.namespace.clone(), selected(select, callback)),
        };
        let id = session.runtime.next_entity();
        if let Some(callback) = closes {
            callback.name(&key_expr);
            session.core.add_subscriber(id, callback);
        }
        session.runtime.declare_subscriber_as(id, &key, self.origin, callback);
        let declared = Declared::new(session, id, move |session| {
            // First the channel: a reader that it blocks is in the callback that is waited for next.
            session.core.close_subscriber(id);
            session.runtime.undeclare_subscriber(id);
            if let Some(id) = acknowledging {
                session.end_queryable(id);
            }
        });
        let subscriber = Subscriber { declared, key_expr, handler };
        session.check_still_open()?;
        Ok(subscriber)
    }
}

impl<K: IntoKeyExpr, F> SubscriberBuilder<'_, K, ViewCallback<F>>
where
    F: Fn(&SampleView<'_>) + Send + Sync + 'static,
{
    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, the filter or projection is malformed, or
    /// [`Error::SessionClosed`](crate::Error::SessionClosed).
    pub fn wait(self) -> Result<Subscriber<()>> {
        let ViewCallback(callback) = self.handler;
        self.options.declare(callback, None, ())
    }
}

impl<K: IntoKeyExpr, F> SubscriberBuilder<'_, K, ViewCallback<F>>
where
    F: Fn(&SampleView<'_>) + Send + Sync + 'static,
{
    /// Declares it. `channel` is what samples end up in: it is closed with the subscriber.
    pub(crate) fn declare_before(self, channel: Callback<Sample>) -> Result<Subscriber<()>> {
        let ViewCallback(callback) = self.handler;
        self.options.declare(callback, Some(channel), ())
    }
}

impl<K: IntoKeyExpr, H: IntoHandler<Sample>> SubscriberBuilder<'_, K, H> {
    /// Declares it.
    ///
    /// # Errors
    /// If the key expression is not canonical, the filter or projection is malformed, or
    /// [`Error::SessionClosed`](crate::Error::SessionClosed).
    pub fn wait(self) -> Result<Subscriber<H::Handler>> {
        let (callback, handler) = self.handler.into_handler();
        let deliver = callback.clone();
        let view = move |sample: &SampleView<'_>| deliver.call(sample.to_sample());
        self.options.declare(view, Some(callback), handler)
    }
}

immediate!([K: IntoKeyExpr, H: IntoHandler<Sample>]
    SubscriberBuilder<'_, K, H> => Result<Subscriber<H::Handler>>);
immediate!([K: IntoKeyExpr, F: Fn(&SampleView<'_>) + Send + Sync + 'static]
    SubscriberBuilder<'_, K, ViewCallback<F>> => Result<Subscriber<()>>);

/// The runtime's callback around one that knows keys without the namespace.
fn stripped(
    namespace: Namespace,
    callback: impl Fn(&SampleView<'_>) + Send + Sync + 'static,
) -> SampleCallback {
    if namespace.0.is_none() {
        return Box::new(move |raw| callback(&SampleView::new(raw, None)));
    }
    Box::new(move |raw| {
        // A key outside of the namespace is not for this session.
        if let Some(key) = namespace.strip(raw.key) {
            callback(&SampleView::new(raw, Some(key)));
        }
    })
}

/// A callback after which the sample is acknowledged.
fn noted(
    acknowledged: Option<Arc<Acknowledged>>,
    callback: impl Fn(&SampleView<'_>) + Send + Sync + 'static,
) -> impl Fn(&SampleView<'_>) + Send + Sync + 'static {
    move |sample| {
        callback(sample);
        if let Some(acknowledged) = &acknowledged {
            acknowledged.note(sample);
        }
    }
}

/// A callback for the samples that pass, as they are projected.
fn selected(
    select: Select,
    callback: impl Fn(&SampleView<'_>) + Send + Sync + 'static,
) -> impl Fn(&SampleView<'_>) + Send + Sync + 'static {
    move |sample| match select.apply(sample.payload(), &sample.encoding(), sample.kind()) {
        Selected::No => {}
        Selected::Unchanged => callback(sample),
        Selected::Projected(projected) => {
            sample.with_payload(&projected.payload, &projected.encoding, &callback);
        }
    }
}

/// Receives the samples of a key expression. Undeclared when dropped; see
/// [`Subscriber::background`].
///
/// With a channel, it can be used like the channel's [`Receiver`]: `recv`, `try_recv`, `recv_async`,
/// `stream`, `iter`.
///
/// ```no_run
/// # let session = weft::open(weft::Config::default()).wait()?;
/// let subscriber = session.declare_subscriber("demo/**").wait()?;
/// for sample in subscriber.iter() {
///     println!("{} {}", sample.key_expr(), sample.payload().len());
/// }
/// # Ok::<(), weft::Error>(())
/// ```
pub struct Subscriber<H = Receiver<Sample>> {
    declared: Declared,
    key_expr: KeyExpr,
    handler: H,
}

keyed_handle!(Subscriber);
