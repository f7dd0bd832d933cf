//! What arrives from one neighbour on an open transport: the hot half of a node's receiving side.
//!
//! A sample goes from the batch to its destinations without touching the control plane: its wire
//! expression is looked up in a cache that only this neighbour's reader uses. Everything else goes
//! to the [`Plane`]'s control side, in order.
//!
//! Cost of a sample with a cached route: decoding, one index or one hash (neither if the sample before
//! was of the same key), one atomic load; no lock, no allocation.

use alloc::sync::Arc;
use alloc::vec::Vec;

use weft_transport::{RxBatch, RxError, RxHalf, RxItem};
use weft_wire::{CloseReason, NetworkMessage, Push, Reader, Reliability, WireExpr};

use crate::FaceId;
use crate::cache::{ExprCache, Place};
use crate::received::{MessageClass, Received};

/// A route that can be kept and used again.
pub trait CachedRoute {
    /// It must be computed anew.
    fn is_stale(&self) -> bool;

    /// Bytes that it keeps from being freed, such as the text of its key. A cache of routes has a
    /// limit on their sum.
    fn held_len(&self) -> usize {
        0
    }
}

impl<R: CachedRoute> CachedRoute for Arc<R> {
    #[inline]
    fn is_stale(&self) -> bool {
        R::is_stale(self)
    }
}

/// A sample on its way in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The message.
    pub push: &'a Push<'a>,
    /// The bytes of its body, for passing it on unchanged.
    pub raw_body: &'a [u8],
    /// The channel it came on.
    pub reliability: Reliability,
    /// What holds the bytes of a sample that came in fragments: cloned by whoever keeps its payload.
    pub buffer: Option<&'a Arc<Vec<u8>>>,
}

/// Samples that follow one another in a batch, with the same key, node id, QoS and channel.
pub struct Row<'i, 'r, 'b> {
    items: &'i mut RxBatch<'r, 'b>,
    reliability: Reliability,
    /// Samples that it has had so far. All are of the same kind.
    len: u64,
    error: Option<RxError>,
}

impl Row<'_, '_, '_> {
    /// The present one.
    #[inline]
    pub fn sample(&self) -> Arrival<'_> {
        let (push, raw_body) = self.items.sample();
        Arrival { push, raw_body, reliability: self.reliability, buffer: None }
    }

    /// Goes on to the next one, if there is one.
    #[inline]
    pub fn advance(&mut self) -> bool {
        match self.items.next_similar() {
            Ok(None) => false,
            Ok(Some(_)) => {
                self.len += 1;
                true
            }
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }
}

/// Where [`Inbound`] takes what it reads.
pub trait Plane {
    /// The route of a sample, as this plane likes to have it.
    type Route: CachedRoute + Clone;

    /// Computes the route of samples on `expr` that come from `face` with this node id; `None` drops
    /// them. Not on the fast path.
    fn route(&mut self, face: FaceId, node_id: u16, expr: WireExpr<'_>) -> Option<Self::Route>;

    /// Delivers a sample.
    fn deliver(&mut self, face: FaceId, route: &Self::Route, sample: Arrival<'_>);

    /// Delivers the present sample of a row and as many more of it as it likes; the others come again.
    /// Cheaper than one by one where samples only pass through.
    #[inline]
    fn deliver_row(&mut self, face: FaceId, route: &Self::Route, row: &mut Row<'_, '_, '_>) {
        self.deliver(face, route, row.sample());
    }

    /// Handles any other message. Returns true if an expression id of this neighbour changed its
    /// meaning.
    fn control(&mut self, face: FaceId, message: &NetworkMessage<'_>, raw_body: &[u8]) -> bool;
}

/// The receiving side of one open transport.
pub struct Inbound<R> {
    face: FaceId,
    rx: RxHalf,
    routes: ExprCache<R>,
    received: Received,
}

impl<R: CachedRoute + Clone> Inbound<R> {
    /// Reads what the neighbour behind `face` sends.
    pub fn new(face: FaceId, rx: RxHalf) -> Self {
        Self { face, rx, routes: ExprCache::default(), received: Received::default() }
    }

    /// Reads one batch. Returns the reason if the neighbour closed the transport in it; an error
    /// means that the neighbour broke the protocol and the link is to be dropped.
    pub fn batch<P: Plane<Route = R>>(
        &mut self,
        batch: &[u8],
        plane: &mut P,
    ) -> Result<Option<CloseReason>, RxError> {
        let Self { face, rx, routes, received } = self;
        received.batches += 1;
        received.bytes += batch.len() as u64;
        let mut items = rx.batch(batch);
        let mut latest = None;
        while let Some(item) = items.next()? {
            match item {
                RxItem::Sample { reliability, push, similar, .. } => {
                    let class = MessageClass::of_push(&push.body);
                    let known = if similar { latest } else { None };
                    let mut row = Row { items: &mut items, reliability, len: 1, error: None };
                    latest = deliver_row(*face, routes, known, &mut row, plane);
                    received.count(class, row.len);
                    if let Some(error) = row.error {
                        return Err(error);
                    }
                }
                RxItem::Message { message, raw_body, .. } => {
                    received.count(MessageClass::of(message), 1);
                    if plane.control(*face, message, raw_body) {
                        routes.clear();
                    }
                    latest = None;
                }
                RxItem::Assembled { reliability, bytes, .. } => {
                    let class = assembled(*face, routes, reliability, bytes, plane)?;
                    received.count(class, 1);
                    latest = None;
                }
                RxItem::KeepAlive => {}
                RxItem::Close { reason, .. } => return Ok(Some(reason)),
            }
        }
        Ok(None)
    }

    /// What has come in so far.
    pub fn received(&self) -> Received {
        let transport_messages = self.rx.transport_messages();
        Received { transport_messages, discarded: self.rx.discarded(), ..self.received }
    }

    /// Frees the buffers of large messages, unless there were some since the last call.
    pub fn release_unused(&mut self) {
        self.rx.release_unused();
    }

    /// Lets go of routes that are out of date, and of what they hold on to.
    pub fn purge(&mut self) {
        self.routes.retain(|route| !route.is_stale());
    }
}

/// Delivers at least the first sample of a row, whose route is at `known`, if that is known. Returns where
/// it is.
#[inline]
fn deliver_row<P: Plane>(
    face: FaceId,
    routes: &mut ExprCache<P::Route>,
    known: Option<Place>,
    row: &mut Row<'_, '_, '_>,
    plane: &mut P,
) -> Option<Place> {
    let Push { wire_expr: expr, node_id, .. } = *row.sample().push;
    let place = known.or_else(|| routes.locate(expr, node_id));
    if let Some(place) = place
        && let Some(route) = routes.at(place)
        && !route.is_stale()
    {
        plane.deliver_row(face, route, row);
        return Some(place);
    }
    deliver(face, routes, row.sample(), plane);
    None
}

/// Handles a message that came in fragments. Returns what it was.
fn assembled<P: Plane>(
    face: FaceId,
    routes: &mut ExprCache<P::Route>,
    reliability: Reliability,
    bytes: &Arc<Vec<u8>>,
    plane: &mut P,
) -> Result<MessageClass, RxError> {
    let (message, raw_body) = NetworkMessage::decode_raw(&mut Reader::new(bytes))?;
    if let NetworkMessage::Push(push) = &message {
        let sample = Arrival { push, raw_body, reliability, buffer: Some(bytes) };
        deliver(face, routes, sample, plane);
    } else if plane.control(face, &message, raw_body) {
        routes.clear();
    }
    Ok(MessageClass::of(&message))
}

/// Delivers a sample whose route has to be looked up.
fn deliver<P: Plane>(
    face: FaceId,
    routes: &mut ExprCache<P::Route>,
    sample: Arrival<'_>,
    plane: &mut P,
) {
    let Push { wire_expr: expr, node_id, .. } = *sample.push;
    if let Some(route) = routes.locate(expr, node_id).and_then(|place| routes.at(place))
        && !route.is_stale()
    {
        return plane.deliver(face, route, sample);
    }
    if let Some(route) = plane.route(face, node_id, expr) {
        routes.insert(expr, node_id, route.clone(), route.held_len());
        plane.deliver(face, &route, sample);
    }
}
