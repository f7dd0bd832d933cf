//! What all threads of a node share, and the one way into its control plane.
//!
//! [`Shared::control`] locks the node, runs one call on it, and, with the lock released, writes what
//! the call has queued for neighbours. What it has to tell the session goes to the event thread.
//! Nothing of the application ever runs under the lock, and no socket is waited for.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weft_keyexpr::KeyExpr;
use weft_link::{Link, Listener};
use weft_node::{
    DataRoute, DialId, EntityIds, FaceId, Hlc, LinkId, LinkInit, LinkOrigin, Node, NodeEvent,
    ScoutTo,
};
use weft_transport::{LinkParams, TxConfig};
use weft_wire::{CloseReason, NetworkMessage, WireExpr, ZenohId};

use crate::alarm::Alarms;
use crate::apart::Apart;
use crate::cell::LinkCell;
use crate::clock::now_us;
use crate::duty::Crew;
use crate::events::{EventQueue, Lane, News};
use crate::listen;
use crate::options::LinkSettings;
use crate::plane::Dirty;
use crate::ports::RuntimePorts;
use crate::publish::PublisherSlot;
use crate::publish::puts::PutRoutes;
use crate::route::{Checked, Local, Route, RouteHop};
use crate::runtime::{Departed, Startup};
use crate::scout::ScoutSockets;
use crate::sender::CongestionWaits;
use crate::service::ServiceHandle;
use crate::session::SessionHandler;
use crate::shard::Shard;
use crate::thread::SessionSpan;
use crate::transport::Transport;

/// The control plane and the tables that change with it.
pub(crate) struct Control {
    pub(crate) node: Node,
    pub(crate) tables: Tables,
}

/// From the node's names to things.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) links: HashMap<LinkId, Arc<LinkCell>>,
    pub(crate) transports: HashMap<FaceId, Arc<Transport>>,
    pub(crate) subscribers: HashMap<u32, Arc<Local>>,
    pub(crate) publishers: HashMap<u32, Weak<PublisherSlot>>,
    /// Neighbours for which something was queued during the call.
    pub(crate) dirty: Dirty,
    /// Links that are to be closed after what is queued on them.
    pub(crate) closing: Vec<Closing>,
    /// Neighbours that left, the earliest first; see [`Tables::departs`].
    pub(crate) departed: VecDeque<Arc<Departed>>,
    /// Attempts to connect that the call has started.
    pub(crate) dials: Vec<(DialId, Vec<weft_wire::Endpoint>)>,
}

/// Something to close once the call is over.
pub(crate) enum Closing {
    Link(Arc<LinkCell>),
    /// It has lost a link and is read to its end.
    Sending(Arc<Transport>, CloseReason),
    Transport(Arc<Transport>, Option<CloseReason>, Vec<Arc<LinkCell>>),
}

/// Limits and constants of a runtime.
pub(crate) struct Settings {
    pub(crate) tx: TxConfig,
    pub(crate) waits: Arc<CongestionWaits>,
    pub(crate) links: Arc<LinkSettings>,
    pub(crate) links_max: usize,
    /// Sizes of payloads count, and those on these keys beside.
    pub(crate) sized_keys: Option<Arc<[KeyExpr]>>,
}

pub(crate) struct Shared {
    pub(crate) zid: ZenohId,
    pub(crate) span: SessionSpan,
    pub(crate) entity_ids: Arc<EntityIds>,
    control: Apart<Mutex<Control>>,
    pub(crate) events: Arc<EventQueue>,
    pub(crate) alarms: Alarms,
    pub(crate) crew: Arc<Crew>,
    pub(crate) shards: Vec<Arc<Shard>>,
    pub(crate) service: ServiceHandle,
    pub(crate) scouting: Arc<ScoutSockets>,
    pub(crate) session: Arc<dyn SessionHandler>,
    pub(crate) settings: Settings,
    /// Stamps samples that pass through, if the node is told to.
    pub(crate) hlc: Option<Hlc>,
    /// Stamps what is recorded on the way, if the node stamps nothing else.
    stack_clock: Hlc,
    pub(crate) drop_future_timestamp: bool,
    next_link: AtomicU64,
    /// Links that were dropped because what came on them was no batch of messages.
    pub(crate) broken: AtomicU64,
    pub(crate) stopping: AtomicBool,
    pub(crate) startup: Startup,
    pub(crate) put_routes: PutRoutes,
}

/// What [`Shared::new`] needs.
pub(crate) struct SharedParts {
    pub(crate) node: Node,
    pub(crate) span: SessionSpan,
    pub(crate) shards: Vec<Arc<Shard>>,
    pub(crate) service: ServiceHandle,
    pub(crate) scouting: Arc<ScoutSockets>,
    pub(crate) session: Arc<dyn SessionHandler>,
    pub(crate) settings: Settings,
    pub(crate) stamps: bool,
    pub(crate) drop_future_timestamp: bool,
}

impl Shared {
    pub(crate) fn new(parts: SharedParts) -> Arc<Self> {
        let zid = parts.node.zid();
        Arc::new(Self {
            zid,
            span: parts.span,
            entity_ids: parts.node.entity_ids(),
            control: Apart(Mutex::new(Control { node: parts.node, tables: Tables::default() })),
            events: Arc::default(),
            alarms: Alarms::default(),
            crew: Arc::default(),
            shards: parts.shards,
            service: parts.service,
            scouting: parts.scouting,
            session: parts.session,
            settings: parts.settings,
            hlc: parts.stamps.then(|| Hlc::new(zid)),
            stack_clock: Hlc::new(zid),
            drop_future_timestamp: parts.drop_future_timestamp,
            next_link: AtomicU64::new(1),
            broken: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            startup: Startup::default(),
            put_routes: PutRoutes::default(),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stack_clock(&self) -> &Hlc {
        self.hlc.as_ref().unwrap_or(&self.stack_clock)
    }

    /// Runs one call on the node and does what comes of it. See the module's documentation.
    pub(crate) fn control<T>(
        self: &Arc<Self>,
        call: impl FnOnce(&mut Node, &mut RuntimePorts<'_>) -> T,
    ) -> T {
        let mut control = self.lock();
        let Control { node, tables } = &mut *control;
        let result = call(node, &mut RuntimePorts { shared: self, tables });
        let mut dirty = std::mem::take(&mut tables.dirty);
        let closing = std::mem::take(&mut tables.closing);
        let dials = std::mem::take(&mut tables.dials);
        let next = node.next_timeout();
        drop(control);
        if let Some((at_us, _)) = next {
            self.service.timer_at(at_us);
        }
        if dirty.iter().any(|it| it.sender.unresponsive.load(Ordering::Relaxed)) {
            self.service.check_unresponsive();
        }
        dirty.flush();
        for (dial, endpoints) in dials {
            crate::dial::start(self, dial, endpoints);
        }
        for one in closing {
            self.finish_closing(one);
        }
        result
    }

    pub(crate) fn queue_event(&self, event: NodeEvent) {
        match event {
            NodeEvent::Started => return self.startup.report(Ok(())),
            NodeEvent::StartFailed { reason } => return self.startup.report(Err(reason)),
            _ => {}
        }
        self.events.push_event(event);
    }

    /// Has a thread read a shard's links: a spare one, or a new one.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn start_reader(self: &Arc<Self>, shard: &Arc<Shard>) -> std::io::Result<()> {
        if shard.spares.call(()).is_ok() {
            return Ok(());
        }
        let (shard, shared) = (Arc::clone(shard), Arc::clone(self));
        self.crew.hire(self, "weft-rx", move |post| shard.run(&shared, post))
    }

    /// Has a thread deliver events: a spare one, or a new one.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn start_events(self: &Arc<Self>) -> std::io::Result<()> {
        if self.events.spares.call(()).is_ok() {
            return Ok(());
        }
        let (events, shared) = (Arc::clone(&self.events), Arc::downgrade(self));
        self.crew.hire(self, "weft-events", move |post| events.run(&shared, post))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn next_timeout_us(&self) -> u64 {
        let node_us = self.lock().node.next_timeout().map_or(u64::MAX, |(at_us, _)| at_us);
        node_us.min(self.alarms.next_us())
    }

    pub(crate) fn run_timers(self: &Arc<Self>) {
        let now = now_us();
        if self.next_timeout_us() <= now {
            self.control(|node, ports| node.handle_timeout(now, ports));
        }
        while let Some((id, call)) = self.alarms.take_due(now) {
            self.events.push(Lane::Entity(id), News::Call(call));
        }
    }

    /// It is listened here, too.
    pub(crate) fn listens(self: &Arc<Self>, listeners: Vec<Listener>) {
        match listen::locators(&listeners) {
            Ok(locators) => self.control(|node, _| node.add_locators(locators)),
            Err(error) => tracing::warn!(%error, "nobody is told of a listener"),
        }
        self.service.listen(listeners);
    }

    /// A listener has taken in a link.
    pub(crate) fn accepted(self: &Arc<Self>, link: Link) {
        let tag = link.dst().as_bytes().to_vec();
        self.link_up(link, LinkOrigin::Accepted, tag);
    }

    /// A link is connected: its handshake begins and its shard reads it.
    pub(crate) fn link_up(self: &Arc<Self>, link: Link, origin: LinkOrigin, peer_tag: Vec<u8>) {
        let id = LinkId(self.next_link.fetch_add(1, Ordering::Relaxed));
        let shard = (0..self.shards.len()).min_by_key(|index| self.shards[*index].len());
        let shard = shard.unwrap_or_default();
        let params = LinkParams { mtu: link.mtu(), streamed: link.is_streamed() };
        let cell = Arc::new(LinkCell::new(id, link, shard));
        let max = self.settings.links_max;
        let admitted = self.control(|node, ports| {
            // A node that is closing has closed its links under the same lock, or will.
            if self.is_stopping() {
                return false;
            }
            if ports.tables.links.len() >= max {
                match origin {
                    LinkOrigin::Dialed(dial) => {
                        node.dial_failed(now_us(), dial, "limits/links reached", ports);
                    }
                    LinkOrigin::Accepted => {
                        tracing::warn!(max, "refusing a link: limits/links reached");
                        let mut close = Vec::new();
                        weft_transport::write_close(CloseReason::MAX_LINKS, &mut close);
                        cell.transmit(&close);
                    }
                }
                return false;
            }
            ports.tables.links.insert(id, Arc::clone(&cell));
            node.link_up(now_us(), LinkInit { link: id, origin, params, peer_tag }, ports);
            true
        });
        if !admitted {
            return;
        }
        if !self.shards[shard].add(&cell) {
            return self.link_gone(&cell);
        }
        // Whoever closed it before it was added did not find it there.
        if cell.closing.load(Ordering::Acquire) {
            self.shards[shard].remove(id);
        }
        // Its reader may be in a handler that takes its time.
        self.service.watch();
    }

    /// A batch of a handshake.
    pub(crate) fn handshake_batch(self: &Arc<Self>, cell: &LinkCell, batch: &[u8]) {
        self.control(|node, ports| node.handshake_batch(now_us(), cell.id, batch, ports));
    }

    /// Reading a link has come to its end.
    pub(crate) fn link_gone(self: &Arc<Self>, cell: &Arc<LinkCell>) {
        self.release(cell);
        self.control(|node, ports| {
            if ports.tables.links.remove(&cell.id).is_some() {
                self.link_ended(cell);
                node.link_down(now_us(), cell.id, ports);
            }
        });
    }

    /// Tells the session of the end of a link that was part of a transport.
    pub(crate) fn link_ended(&self, cell: &Arc<LinkCell>) {
        if let Some(transport) = cell.transport.get() {
            let news = News::LinkDown(Arc::clone(cell), transport.zid);
            self.events.push(Lane::Session, news);
        }
    }

    /// Takes a link out of everything that watches it; its socket closes with its last user.
    pub(crate) fn release(self: &Arc<Self>, cell: &Arc<LinkCell>) {
        cell.closing.store(true, Ordering::Release);
        self.shards[cell.shard].remove(cell.id);
        self.service.forget(cell);
        if let Some(transport) = cell.transport.get() {
            transport.sender.remove_link(cell);
        }
    }

    fn finish_closing(self: &Arc<Self>, closing: Closing) {
        match closing {
            Closing::Link(cell) => {
                let _ = cell.link.shutdown_write();
                self.release(&cell);
            }
            Closing::Sending(transport, reason) => {
                transport.sender.close(reason);
                let mut close = Vec::new();
                weft_transport::write_close(reason, &mut close);
                for cell in transport.sender.links().iter().skip(1) {
                    cell.transmit(&close);
                }
            }
            Closing::Transport(transport, reason, links) => {
                if let Some(reason) = reason {
                    transport.sender.close(reason);
                }
                for cell in links {
                    let _ = cell.link.shutdown_write();
                    self.release(&cell);
                }
                transport.sender.abandon();
            }
        }
    }

    /// Closes the neighbours that took nothing for too long.
    pub(crate) fn close_unresponsive(self: &Arc<Self>) {
        self.control(|node, ports| {
            let faces: Vec<FaceId> = ports
                .tables
                .transports
                .values()
                .filter(|transport| transport.sender.unresponsive.load(Ordering::Relaxed))
                .map(|transport| transport.face)
                .collect();
            for face in faces {
                let reason = CloseReason::UNRESPONSIVE;
                node.close_neighbour(
                    now_us(),
                    face,
                    reason,
                    "it does not take its messages",
                    ports,
                );
            }
        });
    }

    /// Any message but samples, queries and answers.
    pub(crate) fn message(self: &Arc<Self>, face: FaceId, message: &NetworkMessage<'_>) -> bool {
        self.control(|node, ports| node.handle_message(now_us(), face, message, ports))
    }

    /// The route of what a neighbour sends on `expr`.
    #[cold]
    pub(crate) fn received_route(
        &self,
        face: FaceId,
        node_id: u16,
        expr: WireExpr<'_>,
    ) -> Option<Arc<Route>> {
        let mut control = self.lock();
        match control.node.resolve(face, expr) {
            Ok(key) => Some(control.route(face, node_id, &key)),
            Err(error) => {
                tracing::debug!(?face, %error, "dropping a sample");
                None
            }
        }
    }

    /// The route of what this session sends on `key`.
    #[cold]
    pub(crate) fn own_route(&self, key: &KeyExpr) -> Arc<Route> {
        self.lock().route(FaceId::LOCAL, 0, key)
    }

    /// Lets go of routes that are out of date, and with them of the subscribers in them. A link that
    /// is being read does so when its reader is done.
    pub(crate) fn purge_routes(&self) {
        let (transports, publishers): (Vec<_>, Vec<_>) = {
            let tables = &self.lock().tables;
            let publishers = tables.publishers.values().filter_map(Weak::upgrade);
            (tables.transports.values().cloned().collect(), publishers.collect())
        };
        for transport in transports {
            transport.purge();
        }
        for publisher in publishers {
            publisher.purge();
        }
        self.put_routes.purge();
    }

    pub(crate) fn dial_failed(self: &Arc<Self>, dial: DialId, reason: &str) {
        self.control(|node, ports| node.dial_failed(now_us(), dial, reason, ports));
    }

    pub(crate) fn wants_another_link(&self, dial: DialId) -> bool {
        self.lock().node.wants_another_link(dial)
    }

    pub(crate) fn scouting_datagram(self: &Arc<Self>, datagram: &[u8], from: std::net::SocketAddr) {
        self.control(|node, ports| node.handle_scouting(now_us(), datagram, from, ports));
    }

    pub(crate) fn send_scouting(&self, datagram: &[u8], to: ScoutTo) {
        self.scouting.send(datagram, to);
    }
}

impl Control {
    fn route(&mut self, source: FaceId, node_id: u16, key: &KeyExpr) -> Arc<Route> {
        let found = self.node.data_route(source, node_id, key);
        let locals = found
            .subscribers
            .iter()
            .filter_map(|id| self.tables.subscribers.get(id).cloned())
            .collect();
        let hops = found
            .route
            .hops
            .into_iter()
            .zip(found.egress)
            .filter_map(|(hop, gate)| {
                let transport = Arc::clone(self.tables.transports.get(&hop.face)?);
                let checks = Checked::new(gate, transport.tally(key));
                Some(RouteHop { transport, expr: hop.expr, node_id: hop.node_id, checks })
            })
            .collect();
        let tally = self.tables.transports.get(&source).and_then(|it| it.tally(key));
        let checks = Checked::new(found.ingress, tally);
        let DataRoute { key, validity, .. } = found.route;
        Arc::new(Route { key, validity, checks, locals, hops })
    }
}
