//! From the configuration to what the runtime is told.

use core::time::Duration;
use std::sync::Arc;

use weft_keyexpr::KeyExpr;
use weft_node::{
    Aggregation, AutoConnect, DialTarget, GossipConfig, Limits, NodeConfig, Retry, ScoutingConfig,
    Strategy,
};
use weft_runtime::{
    CongestionWaits, LinkSettings, ListenTarget, OpenError, RuntimeConfig, ScoutGroup,
};
use weft_transport::{CookieKey, HandshakeConfig, RxLimits, TxConfig};
use weft_wire::{Resolution, ZenohId};

use crate::config::{self, Adminspace, Effective, Publication};
use crate::error::{Error, Result};
use crate::key::Namespace;

/// Everything that a session is opened with.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) runtime: RuntimeConfig,
    pub(crate) namespace: Namespace,
    pub(crate) publications: Vec<Publication>,
    /// How long a query may take if it does not say so itself.
    pub(crate) queries_timeout: Duration,
    pub(crate) adminspace: Adminspace,
    /// Anything about the node, as JSON.
    pub(crate) metadata: String,
}

impl Settings {
    pub(crate) fn new(config: &Effective, chance: &Chance) -> Self {
        Self {
            runtime: runtime(config, chance),
            publications: config.publications.clone(),
            namespace: Namespace(config.namespace.clone()),
            queries_timeout: config.queries_default_timeout,
            adminspace: config.adminspace,
            metadata: config.metadata.clone(),
        }
    }
}

/// What differs from one session to the next with the same configuration.
pub(crate) struct Chance {
    /// The identity of a node whose configuration names none.
    pub(crate) zid: ZenohId,
    pub(crate) cookie_key: [u8; 16],
    pub(crate) hash_seed: u64,
    /// Seconds since the epoch: a node's new life counts its gossip on from its old one.
    pub(crate) first_sn: u64,
}

impl Chance {
    pub(crate) fn draw() -> Result<Self> {
        Ok(Self {
            zid: random_zid()?,
            cookie_key: random()?,
            hash_seed: u64::from_le_bytes(random()?),
            first_sn: weft_runtime::wall_ntp64() >> 32,
        })
    }
}

fn runtime(config: &Effective, chance: &Chance) -> RuntimeConfig {
    let zid = config.id.unwrap_or(chance.zid);
    let mut node = NodeConfig::new(zid, config.mode, CookieKey::new(chance.cookie_key));
    node.handshake = HandshakeConfig {
        resolution: Resolution { fsn: config.tx.sequence_number_resolution, ..Resolution::DEFAULT },
        batch_size: config.tx.batch_size,
        compression: config.unicast.compression,
        qos: config.unicast.qos,
        lease_ms: config.tx.lease.as_millis() as u64,
        mesh: config.mesh,
        gateway: node.handshake.gateway,
        region_name: config.region_name.clone(),
        ..HandshakeConfig::new(zid, config.mode)
    };
    if let Some(gateway) = &config.gateway {
        node.serve(gateway.clone());
    }
    node.hash_seed = chance.hash_seed;
    node.keep_alive = config.tx.keep_alive;
    node.open_timeout_us = us(config.unicast.open_timeout);
    node.accept_timeout_us = us(config.unicast.accept_timeout);
    node.accept_pending_max = config.unicast.accept_pending_max;
    node.sessions_max = config.unicast.sessions_max;
    node.links_per_session_max = config.unicast.links_per_session_max;
    node.rx = RxLimits {
        message_size_max: config.rx.message_len_max.min(config.limits.fragments_pending_len_max),
        ..RxLimits::default()
    };
    node.dial = dial_targets(config);
    node.connect_timeout_us = config.connect.attempts.timeout.map(us);
    let upstream = config.connect.neighbours.first();
    node.connect_required =
        upstream.map_or(config.connect.attempts, |it| it.attempts).exit_on_failure;
    node.wait_for_scouted = config.open.connect_scouted;
    node.wait_for_declares = config.open.declares;
    node.scouting_delay_us = us(config.scouting.delay);
    let multicast = &config.scouting.multicast;
    node.scouting = ScoutingConfig {
        enabled: multicast.enabled,
        listen: multicast.listen,
        autoconnect: autoconnect(multicast.autoconnect),
        timeout_us: us(config.scouting.timeout),
    };
    let gossip = config.scouting.gossip;
    node.gossip = GossipConfig {
        enabled: gossip.enabled,
        target: gossip.target,
        locators: Vec::new(),
        first_sn: chance.first_sn,
        multihop: gossip.multihop,
    };
    node.gossip_autoconnect = autoconnect(gossip.autoconnect);
    node.weights = config.weights.clone();
    if config.by_latency {
        node.computation = Arc::new(weft_node::LatencyWeighted);
    }
    node.aggregation = in_namespace(config);
    node.interests_timeout_us = us(config.interests_timeout);
    node.queries_timeout_us = us(config.queries_default_timeout);
    node.limits = Limits {
        declarations_max: config.limits.declarations_per_session_max,
        interests_max: config.limits.interests_per_session_max,
        queries_max: config.limits.queries_pending_max,
        key_expr_len_max: config.limits.key_expr_len_max,
        key_expr_chunks_max: config.limits.key_expr_chunks_max,
        ..Limits::default()
    };
    node.rules = Some(Arc::new(config.rules.clone()));
    node.counts_sizes = config.stats.enabled;
    RuntimeConfig {
        listen: listen_targets(config),
        scout: scout_group(config),
        tx: TxConfig {
            queue_batches: config.tx.queue_sizes.map(|batches| batches.min(255) as u8),
            batching: config.tx.batching,
            control_backlog_max: config.limits.control_backlog_len_max,
        },
        waits: CongestionWaits {
            drop: config.tx.wait_before_drop,
            drop_fragments: config.tx.wait_before_drop_fragments_max,
            block: config.tx.wait_before_close,
        },
        links: LinkSettings {
            protocols: config.link.protocols.clone(),
            tcp_so_sndbuf: config.link.tcp_so_sndbuf,
            tcp_so_rcvbuf: config.link.tcp_so_rcvbuf,
        },
        links_max: config.limits.links_max,
        busy_poll: config.link.busy_poll,
        timestamping: config.timestamping.enabled,
        drop_future_timestamp: config.timestamping.drop_future,
        sized_keys: config.stats.filters.clone(),
        ..RuntimeConfig::new(node)
    }
}

/// Where and how the configuration says to scout.
pub(crate) fn scout_group(config: &Effective) -> ScoutGroup {
    let multicast = &config.scouting.multicast;
    let interface = if multicast.interfaces.is_empty() {
        "auto".into()
    } else {
        multicast.interfaces.join(",")
    };
    ScoutGroup { address: multicast.address, interface, ttl: multicast.ttl }
}

pub(crate) fn dial_targets(config: &Effective) -> Vec<DialTarget> {
    let target = |it: &config::Target| DialTarget {
        endpoints: it.endpoints.clone(),
        retry: retry(it.attempts.retry),
        required: it.attempts.exit_on_failure,
    };
    config.connect.neighbours.iter().map(target).collect()
}

fn listen_targets(config: &Effective) -> Vec<ListenTarget> {
    let targets = config.listen.endpoints.iter().flat_map(|target| {
        let attempts = target.attempts;
        target.endpoints.iter().map(move |endpoint| ListenTarget {
            endpoint: endpoint.clone(),
            required: attempts.exit_on_failure,
            timeout: attempts.timeout,
            retry: retry(attempts.retry),
        })
    });
    targets.collect()
}

/// The covers as neighbours see them: with the session's prefix.
fn in_namespace(config: &Effective) -> Aggregation {
    let namespace = Namespace(config.namespace.clone());
    let prefixed = |covers: &[KeyExpr]| {
        covers.iter().filter_map(|cover| namespace.outward(cover.clone()).ok()).collect()
    };
    let Aggregation { subscribers, publishers } = &config.aggregation;
    Aggregation { subscribers: prefixed(subscribers), publishers: prefixed(publishers) }
}

fn autoconnect(config: config::AutoConnect) -> AutoConnect {
    let strategy = |strategy| match strategy {
        config::Strategy::Always => Strategy::Always,
        config::Strategy::GreaterZid => Strategy::GreaterZid,
    };
    AutoConnect {
        modes: config.modes,
        to_router: strategy(config.to_router),
        to_peer: strategy(config.to_peer),
        to_client: strategy(config.to_client),
    }
}

fn retry(config: config::Retry) -> Retry {
    Retry {
        init_us: us(config.period_init),
        max_us: us(config.period_max),
        factor: config.increase_factor,
    }
}

fn us(duration: Duration) -> u64 {
    duration.as_micros().min(u128::from(u64::MAX)) as u64
}

fn random<const LEN: usize>() -> Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::Open(OpenError::Resources(std::io::Error::other(format!("no entropy: {error}"))))
    })?;
    Ok(bytes)
}

fn random_zid() -> Result<ZenohId> {
    loop {
        if let Ok(zid) = ZenohId::from_le_bytes(&random::<16>()?) {
            return Ok(zid);
        }
    }
}
