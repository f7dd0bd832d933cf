//! Sizes of payloads to and from one neighbour, for a node that is told to count them.
//!
//! What is counted is decided with a route, or for a query and a reply when it passes: a route of a node that
//! counts nothing has no tally, and its samples pay for nothing. What is received is counted by the thread
//! that reads the neighbour's links, what is sent by whoever holds the lock of its sender. So counting is
//! plain additions to memory of that neighbour; only what is lost is added atomically.
//!
//! Spec: 03 §9.2.

use std::sync::Arc;

use weft_keyexpr::KeyExpr;
use weft_node::{Flow, MessageClass, SizeCells, Sizes};
use weft_wire::{
    Encode, NoSpace, Priority, Push, PushBody, Qos, Query, Request, Response, ResponseBody,
    ResponseFinal, RoutedPush, Sink,
};

/// Kinds of messages with a payload, the first of [`MessageClass::ALL`].
const CLASSES: usize = MessageClass::ReplyErr as usize + 1;
const PRIORITIES: usize = 8;
/// Keys of admin spaces, and all others.
const SPACES: usize = 2;

/// What is counted of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    class: MessageClass,
    priority: Priority,
    len: usize,
}

impl Content {
    /// A sample that goes with this QoS.
    pub(crate) const fn of_push(push: &Push<'_>, qos: Qos) -> Self {
        let (class, len) = match &push.body {
            PushBody::Put(put) => (MessageClass::Put, put.payload.len()),
            PushBody::Del(_) => (MessageClass::Delete, 0),
        };
        Self { class, priority: qos.priority(), len }
    }

    pub(crate) fn of_query(query: &Query<'_>, qos: Qos) -> Self {
        let len = query.body.map_or(0, |body| body.payload.len());
        Self { class: MessageClass::Query, priority: qos.priority(), len }
    }

    /// An answer, whose body is decoded.
    pub(crate) const fn of_reply(body: &ResponseBody<'_>, qos: Qos) -> Self {
        let (class, len) = match body {
            ResponseBody::Err(error) => (MessageClass::ReplyErr, error.payload.len()),
            ResponseBody::Reply(reply) => match &reply.body {
                PushBody::Put(put) => (MessageClass::Reply, put.payload.len()),
                PushBody::Del(_) => (MessageClass::Reply, 0),
            },
            ResponseBody::Raw(bytes) => (MessageClass::Reply, bytes.len()),
        };
        Self { class, priority: qos.priority(), len }
    }

    const fn row(self) -> usize {
        self.priority as usize * CLASSES + self.class as usize
    }
}

/// Why a message was lost on its way to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// There was no room for it in time.
    Congestion,
    /// The link was gone.
    NoLink,
}

impl Loss {
    const ALL: [Self; 2] = [Self::Congestion, Self::NoLink];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::NoLink => "no-link",
        }
    }
}

/// Sizes of payloads of one kind to or from a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadSizes {
    /// To it or from it.
    pub flow: Flow,
    /// On keys of admin spaces.
    pub is_admin: bool,
    /// How urgent.
    pub priority: Priority,
    /// What.
    pub class: MessageClass,
    /// On keys that intersect this one; `None` is all keys.
    pub key: Option<KeyExpr>,
    /// How large.
    pub sizes: Sizes,
}

/// Sizes of payloads that were lost on their way to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSizes {
    /// Why.
    pub loss: Loss,
    /// How urgent.
    pub priority: Priority,
    /// What.
    pub class: MessageClass,
    /// How large.
    pub sizes: Sizes,
}

type Cells = Box<[SizeCells]>;

/// Sizes by flow, space, priority and kind: 11 KiB.
fn table() -> Cells {
    cells(Flow::ALL.len() * SPACES)
}

fn cells(rows: usize) -> Cells {
    (0..rows * PRIORITIES * CLASSES).map(|_| SizeCells::default()).collect()
}

/// What a cell counts: the row, then priority and kind.
const fn place(index: usize) -> (usize, Priority, MessageClass) {
    let (row, rest) = (index / (PRIORITIES * CLASSES), index % (PRIORITIES * CLASSES));
    let priority = Priority::from_bits((rest / CLASSES) as u8);
    (row, priority, MessageClass::ALL[rest % CLASSES])
}

/// Everything that is counted of one neighbour: 17 KiB, and 11 for each key expression of its own.
#[derive(Debug)]
pub(crate) struct Meter {
    all: Cells,
    lost: Cells,
    keys: Arc<[KeyExpr]>,
    by_key: Box<[Cells]>,
}

impl Meter {
    pub(crate) fn new(keys: &Arc<[KeyExpr]>) -> Self {
        Self {
            all: table(),
            lost: cells(Loss::ALL.len()),
            keys: Arc::clone(keys),
            by_key: keys.iter().map(|_| table()).collect(),
        }
    }

    /// What was sent and received, as far as there was any.
    pub(crate) fn sizes(&self) -> Vec<PayloadSizes> {
        let by_key = self.keys.iter().map(Some).zip(&self.by_key);
        let tables = [(None, &self.all)].into_iter().chain(by_key);
        let counted = tables.flat_map(|(key, cells)| {
            cells.iter().enumerate().map(move |(index, cell)| {
                let (row, priority, class) = place(index);
                let (flow, is_admin) = (Flow::ALL[row / SPACES], row % SPACES == 1);
                let key = key.cloned();
                PayloadSizes { flow, is_admin, priority, class, key, sizes: cell.load() }
            })
        });
        counted.filter(|it| it.sizes.count() > 0).collect()
    }

    /// What was lost, as far as there was any.
    pub(crate) fn lost(&self) -> Vec<LostSizes> {
        let counted = self.lost.iter().enumerate().map(|(index, cell)| {
            let (row, priority, class) = place(index);
            LostSizes { loss: Loss::ALL[row], priority, class, sizes: cell.load() }
        });
        counted.filter(|it| it.sizes.count() > 0).collect()
    }
}

/// Where messages on one key to or from one neighbour are counted.
#[derive(Debug)]
pub(crate) struct Tally {
    meter: Arc<Meter>,
    is_admin: bool,
    /// The key expressions with numbers of their own that the key intersects.
    keys: Box<[usize]>,
}

impl Tally {
    /// Cost: a comparison with each key expression that has numbers of its own.
    pub(crate) fn new(meter: &Arc<Meter>, key: &KeyExpr) -> Self {
        let of_key = meter.keys.iter().enumerate().filter(|(_, own)| own.intersects(key.as_ke()));
        Self {
            keys: of_key.map(|(index, _)| index).collect(),
            is_admin: key.as_str().starts_with("@/"),
            meter: Arc::clone(meter),
        }
    }

    /// For an error that says nothing of its key.
    pub(crate) fn without_key(meter: &Arc<Meter>) -> Self {
        Self { meter: Arc::clone(meter), is_admin: false, keys: Box::default() }
    }

    /// Counts what was received; for the thread that reads the neighbour's links.
    #[inline]
    pub(crate) fn received(&self, content: Content) {
        self.add(Flow::Ingress, content);
    }

    fn add(&self, flow: Flow, content: Content) {
        let row = flow as usize * SPACES + usize::from(self.is_admin);
        let index = row * PRIORITIES * CLASSES + content.row();
        self.meter.all[index].add(content.len);
        for key in &self.keys {
            self.meter.by_key[*key][index].add(content.len);
        }
    }

    fn lost(&self, content: Content, loss: Loss) {
        let index = loss as usize * PRIORITIES * CLASSES + content.row();
        self.meter.lost[index].add_shared(content.len);
    }

    /// Memory beside the meter's, in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.keys)
    }
}

/// A message as a sender takes it. Those of a node that counts no sizes do nothing but to be encoded.
pub(crate) trait Outgoing: Encode {
    /// It is in line. Called with the sender's lock held.
    #[inline]
    fn queued(&self) {}

    /// It is not, and will not be.
    #[inline]
    fn lost(&self, _loss: Loss) {}
}

impl Outgoing for RoutedPush<'_> {}
impl Outgoing for Request<'_> {}
impl Outgoing for Response<'_> {}
impl Outgoing for ResponseFinal {}

/// A message that is counted if there is a tally.
pub(crate) struct Metered<'a, M> {
    pub(crate) message: &'a M,
    pub(crate) tally: Option<&'a Tally>,
    pub(crate) content: Content,
}

impl<M: Encode> Encode for Metered<'_, M> {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        self.message.encode(sink)
    }

    fn encoded_len(&self) -> usize {
        self.message.encoded_len()
    }
}

impl<M: Encode> Outgoing for Metered<'_, M> {
    fn queued(&self) {
        if let Some(tally) = self.tally {
            tally.add(Flow::Egress, self.content);
        }
    }

    fn lost(&self, loss: Loss) {
        if let Some(tally) = self.tally {
            tally.lost(self.content, loss);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::sync::atomic::Ordering;

    use weft_node::LinkId;
    use weft_transport::{Negotiated, TxConfig, TxHalf};
    use weft_wire::{Reliability, WhatAmI, WireExpr};

    use super::*;
    use crate::cell::LinkCell;
    use crate::listen::{self, ListenTarget};
    use crate::sender::{SendQos, Sender, Sent};
    use crate::service::ServiceHandle;
    use crate::thread::SessionSpan;

    /// A sender over a link whose other end does not read.
    fn sender() -> (Arc<Sender>, TcpStream) {
        let target = ListenTarget::new("tcp/127.0.0.1:0".parse().unwrap());
        let listener = listen::open(&[target], &Arc::default()).unwrap().bound.remove(0);
        let locator = listener.local_locator();
        let other = TcpStream::connect(locator.strip_prefix("tcp/").unwrap()).unwrap();
        let link = loop {
            if let Some(link) = listener.accept().unwrap() {
                break link;
            }
        };
        let zid = "a1".parse().unwrap();
        let negotiated = Negotiated {
            zid,
            whatami: WhatAmI::Peer,
            qos: true,
            sn_mask: 0xffff,
            compression: false,
            batch_size: 2045,
            lease_remote_ms: 1000,
            sn_rx_initial: 0,
            sn_tx_initial: 0,
            patch: 1,
            mesh: false,
            gateway: false,
            region_name: None,
            remote_bound: None,
        };
        let half = TxHalf::new(&negotiated, &TxConfig::default());
        let cell = Arc::new(LinkCell::new(LinkId(1), link, 0));
        let service = ServiceHandle::new(SessionSpan::new(zid)).unwrap();
        (Arc::new(Sender::new(half, cell, Arc::default(), service)), other)
    }

    /// Sends a put of `len` bytes.
    fn send(sender: &Arc<Sender>, tally: &Tally, len: usize) -> Sent {
        let payload = vec![0; len];
        let push = &Push::put(WireExpr::full("a/b"), &payload);
        let (wire_expr, qos) = (push.wire_expr, push.qos);
        let message =
            &RoutedPush { push, raw_body: None, wire_expr, qos, node_id: 0, timestamp: None };
        let content = Content::of_push(push, qos);
        let message = Metered { message, tally: Some(tally), content };
        sender.send(&message, SendQos::new(qos, Reliability::Reliable))
    }

    #[test]
    fn what_is_sent_and_what_comes_when_the_link_is_gone_is_counted_once() {
        let (sender, _other) = sender();
        let keys: Arc<[KeyExpr]> = ["a/**", "b"].map(|key| KeyExpr::new(key).unwrap()).into();
        let meter = Arc::new(Meter::new(&keys));
        let tally = Tally::new(&meter, &KeyExpr::new("a/b").unwrap());
        // In one batch, and in fragments.
        assert_eq!([7, 3000].map(|len| send(&sender, &tally, len)), [Sent::Queued; 2]);
        let sizes = meter.sizes();
        let of: Vec<_> = sizes.iter().map(|it| (it.flow, it.class, it.key.as_ref())).collect();
        let put = |key| (Flow::Egress, MessageClass::Put, key);
        assert!(of.iter().all(|it| *it == put(None) || *it == put(Some(&keys[0]))), "{of:?}");
        let total = |key: Option<&KeyExpr>| {
            let mut total = Sizes::default();
            sizes.iter().filter(|it| it.key.as_ref() == key).for_each(|it| total += it.sizes);
            (total.count(), total.bytes)
        };
        assert_eq!([None, Some(&keys[0])].map(total), [(2, 3007); 2]);
        assert!(meter.lost().is_empty());

        sender.abandon();
        assert_eq!(send(&sender, &tally, 7), Sent::Closed);
        assert_eq!(meter.sizes(), sizes);
        let lost = meter.lost();
        assert_eq!((lost[0].loss, lost[0].class), (Loss::NoLink, MessageClass::Put));
        assert_eq!((lost.len(), lost[0].sizes.count(), lost[0].sizes.bytes), (1, 1, 7));
        assert_eq!(sender.linkless.load(Ordering::Relaxed), 1);
    }
}
