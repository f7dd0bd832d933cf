//! The world of one node: [`Ports`] over virtual connections.
//!
//! As a runtime does, it keeps for each transport a receiving and a sending half, and notes for
//! after the call what cannot be done while the node is being changed.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use weft_node::{
    Activity, CachedRoute, DialId, FaceId, Inbound, LinkFacts, LinkId, LinkProtocol, NodeEvent,
    NodeRoute, OpenedTransport, Ports, ScoutTo,
};
use weft_transport::{Negotiated, TxConfig, TxHalf, write_batch, write_plain_batch};
use weft_wire::{
    CloseReason, CongestionControl, Encode, Endpoint, NetworkMessage, Reliability, TransportMessage,
};

use crate::fact::Fact;
use crate::network::End;
use crate::outbound::{Class, Outbound, Pushed};

/// A route as the caches of a virtual node hold it.
#[derive(Clone)]
pub(crate) struct Route(pub(crate) Rc<NodeRoute>);

impl CachedRoute for Route {
    fn is_stale(&self) -> bool {
        self.0.route.validity.is_stale()
    }

    fn held_len(&self) -> usize {
        self.0.route.key.as_str().len()
    }
}

/// A link of the node.
pub(crate) struct LinkState {
    pub(crate) end: End,
    pub(crate) transport: Option<FaceId>,
    /// The most that the content of a compressed batch may be, if compression was agreed.
    pub(crate) content_max: Option<u16>,
    /// Bytes of a batch that is not whole yet.
    pub(crate) unread: Vec<u8>,
    pub(crate) rx_us: u64,
    pub(crate) tx_us: u64,
    /// The neighbours whose full lanes keep this link's reader waiting.
    pub(crate) held_up_by: BTreeSet<FaceId>,
    /// A slow reader takes nothing before.
    pub(crate) next_read_us: u64,
    /// It will look then.
    pub(crate) looks_at_us: Option<u64>,
}

pub(crate) struct Transport {
    /// Taken out while it reads.
    pub(crate) inbound: Option<Inbound<Route>>,
    pub(crate) outbound: Outbound,
}

/// What the world has to do once the node's call has returned.
pub(crate) enum Action {
    Write(End, Vec<u8>),
    Close(End),
    Dial(DialId, Vec<Endpoint>),
    Scout(Vec<u8>, ScoutTo),
}

/// What a [`Ports`] call may touch.
#[derive(Default)]
pub(crate) struct Driver {
    pub(crate) now_us: u64,
    pub(crate) tx: TxConfig,
    pub(crate) links: BTreeMap<LinkId, LinkState>,
    pub(crate) transports: BTreeMap<FaceId, Transport>,
    pub(crate) actions: Vec<Action>,
    pub(crate) events: Vec<NodeEvent>,
    pub(crate) facts: Vec<Fact>,
    /// Neighbours that take nothing although too much is queued for them.
    pub(crate) unresponsive: BTreeSet<FaceId>,
    pub(crate) next_link: u64,
}

impl Driver {
    pub(crate) fn new(tx: TxConfig) -> Self {
        Self { tx, ..Self::default() }
    }

    pub(crate) fn add_link(&mut self, end: End) -> LinkId {
        self.next_link += 1;
        let link = LinkId(self.next_link);
        let state = LinkState {
            end,
            transport: None,
            content_max: None,
            unread: Vec::new(),
            rx_us: self.now_us,
            tx_us: self.now_us,
            held_up_by: BTreeSet::new(),
            next_read_us: 0,
            looks_at_us: None,
        };
        self.links.insert(link, state);
        link
    }

    /// Sends a sample, a query or an answer.
    pub(crate) fn push(&mut self, face: FaceId, message: &impl Encode, class: Class) -> Pushed {
        match self.transports.get_mut(&face) {
            Some(transport) => transport.outbound.push(self.now_us, message, class),
            None => Pushed::Closed,
        }
    }

    fn take_links_of(&mut self, face: FaceId) -> Vec<LinkState> {
        let links = self.links.iter().filter(|(_, link)| link.transport == Some(face));
        let links: Vec<LinkId> = links.map(|(link, _)| *link).collect();
        links.iter().filter_map(|link| self.links.remove(link)).collect()
    }
}

impl Ports for Driver {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let Some(transport) = self.transports.get_mut(&face) else { return };
        // Answers go the way of the replies before them, so that they do not overtake them.
        if let NetworkMessage::Response(_) | NetworkMessage::ResponseFinal(_) = message {
            let class = Class {
                priority: message.qos().priority(),
                reliability: Reliability::Reliable,
                congestion: CongestionControl::Block,
            };
            transport.outbound.push(self.now_us, message, class);
        } else if !transport.outbound.push_control(message) {
            self.unresponsive.insert(face);
        }
    }

    fn transmit(&mut self, link: LinkId, batch: &[u8]) {
        let Some(state) = self.links.get_mut(&link) else { return };
        state.tx_us = self.now_us;
        let mut framed = Vec::with_capacity(batch.len() + 3);
        match state.content_max {
            None => write_batch(batch, &mut framed),
            Some(_) => write_plain_batch(batch, &mut framed),
        }
        self.actions.push(Action::Write(state.end, framed));
    }

    fn open(&mut self, link: LinkId, transport: OpenedTransport) {
        let Some(state) = self.links.get_mut(&link) else { return };
        let OpenedTransport { face, negotiated, rx } = transport;
        state.transport = Some(face);
        state.content_max = negotiated.content_max();
        let half = TxHalf::new(&negotiated, &self.tx);
        let outbound = Outbound::new(half, link, &self.tx, negotiated.batch_size);
        let inbound = Some(Inbound::new(face, *rx));
        self.transports.insert(face, Transport { inbound, outbound });
    }

    fn attach(&mut self, link: LinkId, face: FaceId, negotiated: &Negotiated) {
        if let (Some(state), Some(transport)) =
            (self.links.get_mut(&link), self.transports.get_mut(&face))
        {
            state.transport = Some(face);
            state.content_max = negotiated.content_max();
            transport.outbound.links.push(link);
        }
    }

    fn close_link(&mut self, link: LinkId) {
        let Some(state) = self.links.remove(&link) else { return };
        if let Some(transport) = state.transport.and_then(|face| self.transports.get_mut(&face)) {
            transport.outbound.remove_link(link);
        }
        self.actions.push(Action::Close(state.end));
    }

    fn finish(&mut self, face: FaceId, reason: CloseReason) {
        let Some(transport) = self.transports.get_mut(&face) else { return };
        transport.outbound.finish(reason);
        let others = transport.outbound.links.get(1..).unwrap_or_default().to_vec();
        let mut close = Vec::new();
        weft_transport::write_close(reason, &mut close);
        for link in others {
            self.transmit(link, &close);
        }
    }

    fn close_transport(&mut self, face: FaceId, reason: Option<CloseReason>) {
        let Some(mut transport) = self.transports.remove(&face) else { return };
        let last = reason.map(|reason| transport.outbound.close(reason));
        let first = transport.outbound.links.first().and_then(|link| self.links.get(link));
        if let (Some(last), Some(first)) = (last, first) {
            self.actions.push(Action::Write(first.end, last));
        }
        for link in self.take_links_of(face) {
            self.actions.push(Action::Close(link.end));
        }
    }

    fn dial(&mut self, dial: DialId, endpoints: &[Endpoint]) {
        self.actions.push(Action::Dial(dial, endpoints.to_vec()));
    }

    fn activity(&self, link: LinkId) -> Activity {
        match self.links.get(&link) {
            Some(state) => Activity { rx_us: state.rx_us, tx_us: state.tx_us },
            None => Activity { rx_us: 0, tx_us: u64::MAX },
        }
    }

    fn keep_alive(&mut self, face: FaceId, link: LinkId) {
        let Some(transport) = self.transports.get_mut(&face) else { return };
        if transport.outbound.links.first() == Some(&link) {
            transport.outbound.keep_alive();
            return;
        }
        // A link that carries no messages now still has to be kept alive.
        let mut batch = Vec::new();
        if TransportMessage::KeepAlive.encode(&mut batch).is_ok() {
            self.transmit(link, &batch);
        }
    }

    fn link_facts(&self, _link: LinkId) -> LinkFacts {
        LinkFacts { protocol: Some(LinkProtocol::Tcp), ..LinkFacts::default() }
    }

    fn scout(&mut self, datagram: &[u8], to: ScoutTo) {
        self.actions.push(Action::Scout(datagram.to_vec(), to));
    }

    fn event(&mut self, event: NodeEvent) {
        self.events.push(event);
    }
}
