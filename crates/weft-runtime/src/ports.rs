//! The node's [`Ports`] with sockets behind them.
//!
//! Called with the control lock held: messages are queued on their transports and everything that
//! could block or run foreign code is noted for [`Shared::control`] to do afterwards.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_node::{
    Activity, DialId, FaceId, LinkFacts, LinkId, LinkProtocol, NodeEvent, OpenedTransport, Ports,
    ScoutTo,
};
use weft_transport::{Negotiated, TxHalf};
use weft_wire::{CloseReason, Encode, Endpoint, NetworkMessage, TransportMessage, Writer};

use crate::cell::LinkCell;
use crate::events::{Lane, News};
use crate::meter::Meter;
use crate::query::Answer;
use crate::sender::{Sender, Sent};
use crate::shared::{Closing, Shared, Tables};
use crate::transport::Transport;

pub(crate) struct RuntimePorts<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) tables: &'a mut Tables,
}

impl Ports for RuntimePorts<'_> {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let Some(transport) = self.tables.transports.get(&face) else { return };
        if let Some(answer) = Answer::of(message) {
            // It goes the way of the replies before it, so that it does not overtake them, and may
            // have to wait for room there.
            let news = News::Answer(Arc::clone(transport), answer);
            self.shared.events.push(Lane::Face(face), news);
        } else if transport.sender.append_control(message) != Sent::Closed {
            self.tables.dirty.touch(transport);
        }
    }

    fn transmit(&mut self, link: LinkId, batch: &[u8]) {
        if let Some(cell) = self.tables.links.get(&link) {
            cell.transmit(batch);
        }
    }

    fn open(&mut self, link: LinkId, transport: OpenedTransport) {
        let Some(cell) = self.tables.links.get(&link).cloned() else { return };
        let OpenedTransport { face, negotiated, rx } = transport;
        let settings = &self.shared.settings;
        let half = TxHalf::new(&negotiated, &settings.tx);
        let service = self.shared.service.clone();
        let sender = Sender::new(half, Arc::clone(&cell), Arc::clone(&settings.waits), service);
        let meter = settings.sized_keys.as_ref().map(|keys| Arc::new(Meter::new(keys)));
        let transport = Transport::new(face, &negotiated, Arc::new(sender), *rx, meter);
        let transport = Arc::new(transport);
        tracing::debug!(zid = %negotiated.zid, mode = %negotiated.whatami, link = cell.link.dst(), "neighbour up");
        self.carries(&cell, &transport, &negotiated);
        self.tables.transports.insert(face, transport);
    }

    fn attach(&mut self, link: LinkId, face: FaceId, negotiated: &Negotiated) {
        if let (Some(cell), Some(transport)) =
            (self.tables.links.get(&link), self.tables.transports.get(&face))
        {
            transport.sender.add_link(Arc::clone(cell));
            self.carries(cell, transport, negotiated);
        }
    }

    fn finish(&mut self, face: FaceId, reason: CloseReason) {
        if let Some(transport) = self.tables.transports.get(&face) {
            self.tables.closing.push(Closing::Sending(Arc::clone(transport), reason));
        }
    }

    fn close_link(&mut self, link: LinkId) {
        if let Some(cell) = self.tables.links.remove(&link) {
            self.shared.link_ended(&cell);
            self.tables.closing.push(Closing::Link(cell));
        }
    }

    fn close_transport(&mut self, face: FaceId, reason: Option<CloseReason>) {
        let Some(transport) = self.tables.transports.remove(&face) else { return };
        self.tables.departs(&transport);
        let links = transport.sender.links();
        for cell in &links {
            if self.tables.links.remove(&cell.id).is_some() {
                self.shared.link_ended(cell);
            }
        }
        self.tables.closing.push(Closing::Transport(transport, reason, links));
    }

    fn dial(&mut self, dial: DialId, endpoints: &[Endpoint]) {
        self.tables.dials.push((dial, endpoints.to_vec()));
    }

    fn activity(&self, link: LinkId) -> Activity {
        match self.tables.links.get(&link) {
            Some(cell) => Activity {
                rx_us: cell.last_rx_us.load(Ordering::Relaxed),
                tx_us: cell.last_tx_us.load(Ordering::Relaxed),
            },
            None => Activity { rx_us: 0, tx_us: u64::MAX },
        }
    }

    fn keep_alive(&mut self, face: FaceId, link: LinkId) {
        let Some(transport) = self.tables.transports.get(&face) else { return };
        transport.release_unused();
        let cell = self.tables.links.get(&link);
        if let Some(cell) = cell {
            cell.release_idle();
        }
        if cell.is_some_and(|cell| transport.sender.writes_to(cell)) {
            transport.sender.keep_alive();
        } else {
            // A link that carries no messages now still has to be kept alive.
            let mut batch = [0; 1];
            let mut writer = Writer::new(&mut batch);
            if TransportMessage::KeepAlive.encode(&mut writer).is_ok() {
                self.transmit(link, &batch);
            }
        }
    }

    fn link_facts(&self, link: LinkId) -> LinkFacts {
        let Some(cell) = self.tables.links.get(&link) else { return LinkFacts::default() };
        LinkFacts {
            protocol: LinkProtocol::named(cell.link.proto().as_str()),
            interfaces: cell.link.interfaces(),
            cert_common_name: None,
        }
    }

    fn scout(&mut self, datagram: &[u8], to: ScoutTo) {
        self.shared.send_scouting(datagram, to);
    }

    fn event(&mut self, event: NodeEvent) {
        self.shared.queue_event(event);
    }
}

impl RuntimePorts<'_> {
    /// The link carries the transport from here on.
    fn carries(&self, cell: &Arc<LinkCell>, transport: &Arc<Transport>, negotiated: &Negotiated) {
        if let Some(content_max) = negotiated.content_max() {
            let _ = cell.content_max.set(content_max);
        }
        if cell.transport.set(Arc::clone(transport)).is_ok() {
            let news = News::LinkUp(Arc::clone(cell), transport.zid);
            self.shared.events.push(Lane::Session, news);
        }
    }
}
