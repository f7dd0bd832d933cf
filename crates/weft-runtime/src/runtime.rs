//! A running node: threads started, endpoints bound, and the calls of the session on top.
//!
//! Not here: what an operator sees and changes (`operate`).

mod operate;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use weft_keyexpr::KeyExpr;
use weft_node::{FaceId, Locality, MatchOf, NeighbourInfo, Node, NodeConfig};
use weft_transport::{TxConfig, TxStats};
use weft_wire::{Locator, Push, WhatAmI, ZenohId};

use crate::cell::{LinkCell, LinkInfo};
use crate::clock::now_us;
use crate::duty;
use crate::error::OpenError;
use crate::events::{Lane, News};
use crate::listen::{self, ListenTarget, Listening};
use crate::options::LinkSettings;
use crate::publish::{PublisherSlot, SampleQos, recent};
use crate::query::QueryArgs;
use crate::route::{Local, SampleCallback};
use crate::scout::{ScoutGroup, ScoutSockets};
use crate::sender::CongestionWaits;
use crate::service::ServiceHandle;
use crate::session::SessionHandler;
use crate::shard::Shard;
use crate::shared::{Settings, Shared, SharedParts};
use crate::thread::SessionSpan;
use crate::transport::Transport;
use crate::wait::wait_while;

/// How long closing waits for what is queued to leave.
const CLOSE_FLUSH_MAX: Duration = Duration::from_secs(2);
/// How long closing waits for neighbours to close their side.
const CLOSE_LINGER_MAX: Duration = Duration::from_millis(500);
/// How long closing waits for handlers to return.
pub const CLOSE_HANDLERS_MAX: Duration = Duration::from_secs(10);

/// Everything a running node is told.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// The node.
    pub node: NodeConfig,
    /// Where to listen.
    pub listen: Vec<ListenTarget>,
    /// Where to scout.
    pub scout: ScoutGroup,
    /// What may be queued for one neighbour.
    pub tx: TxConfig,
    /// How long messages wait for room.
    pub waits: CongestionWaits,
    /// What applies to all links.
    pub links: LinkSettings,
    /// Links at the same time.
    pub links_max: usize,
    /// Reading threads; 0 is one a core.
    pub shards: usize,
    /// How long a reading thread that has read something looks for more before it sleeps. Each one keeps
    /// a core busy for so long; zero, the default, lets it sleep at once.
    pub busy_poll: Duration,
    /// Stamp samples that pass through and that this session publishes.
    pub timestamping: bool,
    /// Drop samples whose stamp lies in the future, instead of stamping them anew.
    pub drop_future_timestamp: bool,
    /// Key expressions of which the sizes of payloads count on their own, if the node counts sizes; see
    /// [`NodeConfig::counts_sizes`].
    pub sized_keys: Vec<KeyExpr>,
}

impl RuntimeConfig {
    /// The defaults around a node's configuration: no listener, the standard scouting group.
    pub fn new(node: NodeConfig) -> Self {
        let timestamping = node.whatami == WhatAmI::Router;
        Self {
            node,
            listen: Vec::new(),
            scout: ScoutGroup::default(),
            tx: TxConfig::default(),
            waits: CongestionWaits::default(),
            links: LinkSettings::default(),
            links_max: 10_000,
            shards: 0,
            busy_poll: Duration::ZERO,
            timestamping,
            drop_future_timestamp: false,
            sized_keys: Vec::new(),
        }
    }
}

/// A connected neighbour and its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Routing's name for it.
    pub face: FaceId,
    /// Identity.
    pub zid: ZenohId,
    /// Mode.
    pub whatami: WhatAmI,
    /// Whether priorities have channels of their own.
    pub qos: bool,
    /// Its links.
    pub links: Vec<LinkInfo>,
    /// Messages dropped for lack of room on the way to it.
    pub dropped: u64,
    /// Messages, batches and bytes sent to it.
    pub sent: (u64, u64, u64),
}

pub(crate) use self::operate::Departed;
pub use self::operate::{LinkTraffic, Traffic};

/// How the opening ended.
#[derive(Default)]
pub(crate) struct Startup {
    outcome: Mutex<Option<Result<(), String>>>,
    changed: Condvar,
}

impl Startup {
    pub(crate) fn report(&self, outcome: Result<(), String>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.changed.notify_all();
    }

    fn wait(&self) -> Result<(), String> {
        duty::relieve();
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome =
            wait_while(&self.outcome, &self.changed, outcome, None, |it| it.is_none());
        outcome.take().unwrap_or_else(|| Err("interrupted".into()))
    }
}

/// A running node. Closes when dropped.
pub struct Runtime {
    shared: Arc<Shared>,
    service: Mutex<Option<JoinHandle<()>>>,
    /// The thread that tries to listen where it was not possible yet.
    listening: Option<Thread>,
}

impl Runtime {
    /// Binds, starts the threads, connects, and returns when the node counts as open.
    ///
    /// # Errors
    /// [`OpenError`] if a required endpoint cannot be bound or nothing required is reached.
    pub fn open(
        config: RuntimeConfig,
        session: Arc<dyn SessionHandler>,
    ) -> Result<Self, OpenError> {
        let span = SessionSpan::new(config.node.zid);
        span.in_scope(|| Self::open_as(span.clone(), config, session))
    }

    fn open_as(
        span: SessionSpan,
        mut config: RuntimeConfig,
        session: Arc<dyn SessionHandler>,
    ) -> Result<Self, OpenError> {
        let links = Arc::new(std::mem::take(&mut config.links));
        let Listening { bound, pending } = listen::open(&config.listen, &links)?;
        let locators = listen::locators(&bound)?;
        let scouting = open_scouting(&mut config);
        let shard_count = match config.shards {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        };
        let shards: Vec<Arc<Shard>> = (0..shard_count)
            .map(|_| Shard::new(config.busy_poll).map(Arc::new))
            .collect::<Result<_, _>>()
            .map_err(OpenError::Resources)?;
        let service = ServiceHandle::new(span.clone()).map_err(OpenError::Resources)?;
        let sized_keys = config.node.counts_sizes.then(|| config.sized_keys.into());
        let mut node = Node::new(config.node);
        node.set_locators(locators);
        let shared = Shared::new(SharedParts {
            node,
            span,
            shards,
            service,
            scouting: Arc::new(scouting),
            session,
            settings: Settings {
                tx: config.tx,
                waits: Arc::new(config.waits),
                links,
                links_max: config.links_max,
                sized_keys,
            },
            stamps: config.timestamping,
            drop_future_timestamp: config.drop_future_timestamp,
        });
        let mut runtime = Self { shared, service: Mutex::default(), listening: None };
        runtime.start_threads()?;
        runtime.shared.service.listen(bound);
        runtime.listening = listen::go_on(&runtime.shared, pending)?;
        runtime.shared.control(|node, ports| node.start(now_us(), ports));
        match runtime.shared.startup.wait() {
            Ok(()) => Ok(runtime),
            Err(reason) => {
                runtime.close();
                Err(OpenError::NotConnected { reason })
            }
        }
    }

    fn start_threads(&self) -> Result<(), OpenError> {
        for shard in &self.shared.shards {
            self.shared.start_reader(shard).map_err(OpenError::Resources)?;
        }
        self.shared.start_events().map_err(OpenError::Resources)?;
        let (service, shared) = (self.shared.service.clone(), Arc::downgrade(&self.shared));
        let scouting = Arc::clone(&self.shared.scouting);
        let run = move || service.run(&shared, &scouting);
        let thread = self.shared.span.spawn("weft-service", run);
        let thread = thread.map_err(OpenError::Resources)?;
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Sends what is queued, tells the neighbours, closes the links and ends the threads. When this
    /// returns, no handler of the session runs, unless it is a handler that calls this, of whichever
    /// session. Waits for handlers for up to [`CLOSE_HANDLERS_MAX`]. Further calls do nothing.
    pub fn close(&self) {
        self.close_after(|| ());
    }

    /// As [`Runtime::close`]. Calls `release` as soon as the runtime counts as closed: it lets go of
    /// handlers that would wait for ever.
    pub fn close_after(&self, release: impl FnOnce()) {
        let shared = &self.shared;
        if shared.stopping.swap(true, Ordering::AcqRel) {
            return;
        }
        release();
        if let Some(listening) = &self.listening {
            listening.unpark();
        }
        let handlers_deadline = Instant::now() + CLOSE_HANDLERS_MAX;
        duty::relieve();
        let (transports, links): (Vec<Arc<Transport>>, Vec<Arc<LinkCell>>) = {
            let control = shared.lock();
            let tables = &control.tables;
            (
                tables.transports.values().cloned().collect(),
                tables.links.values().cloned().collect(),
            )
        };
        drain(&transports);
        shared.control(|node, ports| node.close(ports));
        linger(&links);
        drop((transports, links));
        let (subscribers, publishers) = {
            let tables = &mut shared.lock().tables;
            (std::mem::take(&mut tables.subscribers), std::mem::take(&mut tables.publishers))
        };
        for local in subscribers.values() {
            local.end();
        }
        for shard in &shared.shards {
            shard.stop();
        }
        shared.service.stop();
        shared.alarms.stop();
        shared.events.stop();
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(service) = service
            && service.thread().id() != std::thread::current().id()
        {
            let _ = service.join();
        }
        if duty::is_calling() {
            shared.crew.dismiss();
        } else {
            shared.crew.close(handlers_deadline);
        }
        shared.service.clear();
        // What the callbacks hold is the application's; it is released outside of all locks.
        for publisher in publishers.values().filter_map(Weak::upgrade) {
            publisher.forget_route();
        }
        recent::forget_all();
        shared.put_routes.clear();
        drop(subscribers);
    }

    /// Whether [`Runtime::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.shared.stopping.load(Ordering::Acquire)
    }

    /// The session in the log.
    pub fn span(&self) -> &SessionSpan {
        &self.shared.span
    }

    /// The node's identity.
    pub fn zid(&self) -> ZenohId {
        self.shared.zid
    }

    /// A stamp of the node's clock, if it has one.
    pub fn stamp(&self) -> Option<weft_wire::Timestamp> {
        self.shared.hlc.as_ref().map(|hlc| hlc.stamp(crate::clock::wall_ntp64()))
    }

    /// Where the node can be reached.
    pub fn locators(&self) -> Vec<Locator> {
        self.shared.lock().node.locators().cloned().collect()
    }

    /// The connected neighbours. Cost: system calls for each link.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        let found: Vec<(NeighbourInfo, Arc<Transport>, Vec<Arc<LinkCell>>)> = {
            let control = self.shared.lock();
            let tables = &control.tables;
            let neighbours = control.node.neighbours().filter_map(|info| {
                let transport = Arc::clone(tables.transports.get(&info.face)?);
                let links = info.links.iter().filter_map(|id| tables.links.get(id).cloned());
                let links = links.collect();
                Some((info, transport, links))
            });
            neighbours.collect()
        };
        let describe = |(info, transport, links): (NeighbourInfo, Arc<Transport>, Vec<_>)| {
            let TxStats { messages, batches, bytes, .. } = transport.sender.stats();
            Neighbour {
                face: info.face,
                zid: info.zid,
                whatami: info.whatami,
                qos: info.qos,
                links: links.iter().map(|cell: &Arc<LinkCell>| cell.info()).collect(),
                dropped: transport.sender.dropped.load(Ordering::Relaxed),
                sent: (messages, batches, bytes),
            }
        };
        found.into_iter().map(describe).collect()
    }

    /// Threads that were started so far to read links and to run handlers.
    pub fn threads_started(&self) -> u64 {
        self.shared.crew.started.load(Ordering::Relaxed)
    }

    /// Runs `inspect` on the node, for tools that look into it.
    pub fn inspect<T>(&self, inspect: impl FnOnce(&Node) -> T) -> T {
        inspect(&self.shared.lock().node)
    }

    /// An id for a new entity.
    pub fn next_entity(&self) -> u32 {
        self.shared.entity_ids.next()
    }

    /// Declares a subscriber; returns its id.
    pub fn declare_subscriber(
        &self,
        key: &KeyExpr,
        origin: Locality,
        callback: SampleCallback,
    ) -> u32 {
        let id = self.next_entity();
        self.declare_subscriber_as(id, key, origin, callback);
        id
    }

    /// The same under an id from [`Runtime::next_entity`].
    pub fn declare_subscriber_as(
        &self,
        id: u32,
        key: &KeyExpr,
        origin: Locality,
        callback: SampleCallback,
    ) {
        self.shared.control(|node, ports| {
            ports.tables.subscribers.insert(id, Arc::new(Local::new(callback)));
            node.declare_subscriber(now_us(), id, key, origin, ports);
        });
    }

    /// Withdraws a subscriber. When this returns, its callback is not running and will not be
    /// called again. Called from a handler of the application, it does not wait for callbacks that
    /// are running, least of all for itself.
    pub fn undeclare_subscriber(&self, id: u32) {
        let local = self.shared.control(|node, ports| {
            node.undeclare_subscriber(now_us(), id, ports);
            ports.tables.subscribers.remove(&id)
        });
        if let Some(local) = local {
            local.close(&self.shared.crew);
            self.shared.purge_routes();
        }
    }

    /// Declares a queryable under an id from [`Runtime::next_entity`]: queries may come before this
    /// returns.
    pub fn declare_queryable(&self, id: u32, key: &KeyExpr, complete: bool, origin: Locality) {
        self.shared.control(|node, ports| {
            node.declare_queryable(now_us(), id, key, complete, origin, ports);
        });
    }

    /// Withdraws a queryable.
    pub fn undeclare_queryable(&self, id: u32) {
        self.shared.control(|node, ports| node.undeclare_queryable(now_us(), id, ports));
    }

    /// Declares a publisher.
    pub fn declare_publisher(&self, key: &KeyExpr, destination: Locality) -> Arc<PublisherSlot> {
        self.shared.control(|node, ports| {
            let id = node.next_entity();
            let slot = Arc::new(PublisherSlot::new(id, key.clone()));
            ports.tables.publishers.insert(id, Arc::downgrade(&slot));
            node.declare_sender(now_us(), id, key, MatchOf::Subscribers, destination, ports);
            slot
        })
    }

    /// Declares a querier; returns its id.
    pub fn declare_querier(&self, key: &KeyExpr, of: MatchOf, destination: Locality) -> u32 {
        let id = self.next_entity();
        self.declare_querier_as(id, key, of, destination);
        id
    }

    /// The same under an id from [`Runtime::next_entity`]: what is told of it may come before this
    /// returns.
    pub fn declare_querier_as(&self, id: u32, key: &KeyExpr, of: MatchOf, destination: Locality) {
        self.shared.control(|node, ports| {
            node.declare_sender(now_us(), id, key, of, destination, ports);
        });
    }

    /// The queryables that match a querier now: their key expressions, and whether they are complete.
    pub fn matching_queryables(&self, querier: u32) -> Vec<(KeyExpr, bool)> {
        self.shared.lock().node.matching_queryables(querier)
    }

    /// Withdraws a publisher or querier.
    pub fn undeclare_sender(&self, id: u32) {
        self.shared.control(|node, ports| {
            ports.tables.publishers.remove(&id);
            node.undeclare_sender(now_us(), id, ports);
        });
    }

    /// Whether anything matches a publisher or querier now.
    pub fn is_matching(&self, id: u32) -> bool {
        self.shared.lock().node.is_matching(id)
    }

    /// Calls `call` on an event thread, in order with the events of the entity or query `id`. A
    /// closed runtime drops it.
    pub fn call_in_order(&self, id: u32, call: impl FnOnce() + Send + 'static) {
        self.shared.events.push(Lane::Entity(id), News::Call(Box::new(call)));
    }

    /// The same after `delay`, give or take the time that the event thread needs.
    pub fn call_after(&self, delay: Duration, id: u32, call: impl FnOnce() + Send + 'static) {
        let delay_us = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        let at_us = now_us().saturating_add(delay_us);
        self.shared.alarms.set(at_us, id, Box::new(call));
        self.shared.service.timer_at(at_us);
    }

    /// Drops the calls that wait for their time for the entity `id`.
    pub fn cancel_calls(&self, id: u32) {
        self.shared.alarms.cancel(id);
    }

    /// Gives a key a number at the neighbours.
    pub fn declare_key(&self, key: &KeyExpr) {
        self.shared.control(|node, ports| node.declare_key(now_us(), key, ports));
    }

    /// Publishes on a publisher's key: `push` is the message but for its key, with the QoS that `how`
    /// says. Cost: see [`publish`](crate::publish).
    #[inline]
    pub fn publish(&self, publisher: &PublisherSlot, push: &Push<'_>, how: SampleQos) {
        self.shared.publish(publisher, push, how);
    }

    /// Publishes on any key, as [`Runtime::publish`].
    pub fn put(&self, key: &KeyExpr, push: &Push<'_>, how: SampleQos) {
        self.shared.put(key, push, how);
    }

    /// Asks. Answers and the end come to the session under `id`.
    pub fn ask(&self, id: u32, query: &QueryArgs<'_>) {
        self.shared.ask(id, query);
    }

    /// Waits for a query's answers no more.
    pub fn cancel_query(&self, id: u32) {
        self.shared.lock().node.cancel_query(id);
    }

    /// Declares a liveliness token; returns its id.
    pub fn declare_token(&self, key: &KeyExpr) -> u32 {
        self.shared.control(|node, ports| {
            let id = node.next_entity();
            node.declare_token(now_us(), id, key, ports);
            id
        })
    }

    /// Withdraws a liveliness token.
    pub fn undeclare_token(&self, id: u32) {
        self.shared.control(|node, ports| node.undeclare_token(now_us(), id, ports));
    }

    /// Declares a liveliness subscriber under an id from [`Runtime::next_entity`].
    pub fn declare_token_subscriber(&self, id: u32, key: &KeyExpr, history: bool) {
        self.shared.control(|node, ports| {
            node.declare_token_subscriber(now_us(), id, key, history, ports);
        });
    }

    /// Withdraws a liveliness subscriber.
    pub fn undeclare_token_subscriber(&self, id: u32) {
        self.shared.control(|node, ports| node.undeclare_token_subscriber(now_us(), id, ports));
    }

    /// Asks for the tokens that exist, under an id from [`Runtime::next_entity`].
    pub fn query_tokens(&self, id: u32, key: &KeyExpr, timeout_us: u64) {
        self.shared.control(|node, ports| node.query_tokens(now_us(), id, key, timeout_us, ports));
    }

    /// Waits for a liveliness query's answers no more.
    pub fn cancel_token_query(&self, id: u32) {
        self.shared.lock().node.cancel_token_query(id);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.close();
    }
}

/// A machine without a usable interface still runs; it is then found by nobody.
fn open_scouting(config: &mut RuntimeConfig) -> ScoutSockets {
    let scouting = &mut config.node.scouting;
    if !scouting.enabled {
        return ScoutSockets::default();
    }
    let listen = scouting.listen && !config.listen.is_empty();
    ScoutSockets::open(&config.scout, listen).unwrap_or_else(|error| {
        tracing::warn!(%error, "no multicast scouting");
        scouting.enabled = false;
        ScoutSockets::default()
    })
}

/// Waits until what is queued has left.
fn drain(transports: &[Arc<Transport>]) {
    let deadline = Instant::now() + CLOSE_FLUSH_MAX;
    for transport in transports {
        transport.sender.flush();
        while !transport.sender.is_drained() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Reads what neighbours still send until they close: a socket that is closed with unread input
/// resets the connection and may lose what was last written to it.
fn linger(links: &[Arc<LinkCell>]) {
    let deadline = Instant::now() + CLOSE_LINGER_MAX;
    let mut buffer = vec![0; 64 * 1024];
    let mut open: Vec<&Arc<LinkCell>> = links.iter().collect();
    while !open.is_empty() && Instant::now() < deadline {
        open.retain(|cell| {
            loop {
                match cell.link.read(&mut buffer) {
                    Ok(0) => return false,
                    Ok(_) => {}
                    Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
                }
            }
        });
        if !open.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
