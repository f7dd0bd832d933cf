//! From a [`Config`] to its [`Effective`] values.
//!
//! The types of the values were checked against the table when they were set; here only contradictions between them are
//! left to find.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use weft_keyexpr::KeyExpr;
use weft_link::scouting::Group;
use weft_node::{Aggregation, Gateway};
use weft_runtime::ATTEMPT_KEYS;
use weft_wire::{Bits, Endpoint, WhatAmI, WhatAmIMatcher, ZenohId};

use super::effective::{
    Adminspace, Attempts, AutoConnect, Connect, Effective, Gossip, Limits, Link, Listen,
    MulticastScouting, OpenConditions, Retry, Rx, Scouting, Stats, Strategy, Target, Timestamping,
    Tx, Unicast,
};
use super::error::{ConfigError, ConfigErrorKind};
use super::schema::{self, Place};
use super::{Config, endpoint, gateway, kind, publication, rules};
use crate::value::Value;

/// Names of the priorities in `transport/link/tx/queue/size`, most urgent first.
pub(crate) const PRIORITIES: [&str; 8] = [
    "control",
    "real_time",
    "interactive_high",
    "interactive_low",
    "data_high",
    "data",
    "data_low",
    "background",
];

const STATS_FILTERS: &str = "stats/filters";

/// Key expressions with metrics of their own: each takes 11 KiB for every neighbour.
const STATS_FILTERS_MAX: usize = 64;

const WEIGHTS: &str = "routing/router/linkstate/transport_weights";
const PROTOCOLS: &str = "transport/link/protocols";

pub(super) fn effective(config: &Config) -> Result<Effective, ConfigError> {
    let values = Values { config, mode: config.mode() };
    let max_message_size = values.size("transport/link/rx/max_message_size");
    let effective = Effective {
        mode: values.mode,
        id: values.parsed("id"),
        metadata: values.value("metadata").to_json(),
        publications: values.list("qos/publication").iter().map(publication::parse).collect(),
        rules: rules::parse(|path| values.value(path))?,
        namespace: values.parsed("namespace"),
        region_name: values.value("region_name").as_text().map(str::to_owned),
        gateway: values.gateway()?,
        connect: Connect { neighbours: values.neighbours()?, attempts: values.attempts("connect") },
        listen: Listen { endpoints: values.listeners()?, attempts: values.attempts("listen") },
        open: OpenConditions {
            connect_scouted: values.bool("open/return_conditions/connect_scouted"),
            declares: values.bool("open/return_conditions/declares"),
        },
        scouting: values.scouting(),
        timestamping: Timestamping {
            enabled: values.bool("timestamping/enabled"),
            drop_future: values.bool("timestamping/drop_future_timestamp"),
        },
        queries_default_timeout: values.ms("queries_default_timeout"),
        interests_timeout: values.ms("routing/interests/timeout"),
        mesh: values.bool("routing/mesh"),
        by_latency: values.value("routing/paths").as_text() == Some("latency"),
        weights: values.weights()?,
        unicast: Unicast {
            open_timeout: values.ms("transport/unicast/open_timeout"),
            accept_timeout: values.ms("transport/unicast/accept_timeout"),
            accept_pending_max: values.size("transport/unicast/accept_pending"),
            sessions_max: values.size("transport/unicast/max_sessions"),
            links_per_session_max: values.size("transport/unicast/max_links"),
            compression: values.bool("transport/unicast/compression/enabled"),
            qos: values.bool("transport/unicast/qos/enabled"),
        },
        link: Link {
            protocols: values.protocols(),
            tcp_so_sndbuf: values.socket_buffer("transport/link/tcp/so_sndbuf"),
            tcp_so_rcvbuf: values.socket_buffer("transport/link/tcp/so_rcvbuf"),
            busy_poll: values.us("transport/link/rx/busy_poll_us"),
        },
        tx: values.tx(),
        rx: Rx { message_len_max: max_message_size },
        limits: Limits {
            links_max: values.size("limits/links"),
            declarations_per_session_max: values.size("limits/declarations_per_session"),
            interests_per_session_max: values.size("limits/interests_per_session"),
            queries_pending_max: values.size("limits/queries_pending"),
            fragments_pending_len_max: match values.set("limits/fragments_pending_bytes") {
                Some(_) => values.size("limits/fragments_pending_bytes"),
                None => max_message_size,
            },
            control_backlog_len_max: values.size("limits/control_backlog_bytes"),
            key_expr_len_max: values.size("limits/keyexpr_len"),
            key_expr_chunks_max: values.size("limits/keyexpr_chunks"),
        },
        stats: values.stats()?,
        adminspace: Adminspace {
            enabled: values.bool("adminspace/enabled"),
            read: values.bool("adminspace/permissions/read"),
            write: values.bool("adminspace/permissions/write"),
        },
        aggregation: Aggregation {
            subscribers: values.key_exprs("aggregation/subscribers"),
            publishers: values.key_exprs("aggregation/publishers"),
        },
    };
    check_retry("connect", &effective.connect.attempts)?;
    check_retry("listen", &effective.listen.attempts)?;
    let targets = effective.connect.neighbours.iter().chain(&effective.listen.endpoints);
    check_protocols(&effective.link, targets)?;
    check_group(effective.scouting.multicast.address)?;
    Ok(effective)
}

/// Endpoints only use what may be used.
fn check_protocols<'a>(
    link: &Link,
    targets: impl Iterator<Item = &'a Target>,
) -> Result<(), ConfigError> {
    let Some(allowed) = &link.protocols else { return Ok(()) };
    let proto = |endpoint: &Endpoint| endpoint.locator().proto().to_owned();
    match targets.flat_map(|it| &it.endpoints).find(|it| !allowed.contains(&proto(it))) {
        None => Ok(()),
        Some(endpoint) => Err(ConfigErrorKind::Conflict {
            path: PROTOCOLS.to_owned(),
            reason: format!("`{endpoint}` needs another one"),
        }
        .into()),
    }
}

/// What is tried together, and how: the endpoints may say it themselves.
fn target(path: &str, endpoints: Vec<Endpoint>, general: Attempts) -> Result<Target, ConfigError> {
    let mut agreed = None;
    for it in &endpoints {
        let conflict = |reason: &dyn fmt::Display| ConfigErrorKind::Conflict {
            path: path.to_owned(),
            reason: format!("`{it}`: {reason}"),
        };
        endpoint::check(it).map_err(|error| conflict(&error))?;
        let own = endpoint::attempts(it, general).map_err(|error| conflict(&error))?;
        if *agreed.get_or_insert(own) != own {
            let keys = ATTEMPT_KEYS.join("`, `");
            let reason = format!(
                "it is tried together with `{}`; both need the same `{keys}`",
                endpoints[0]
            );
            return Err(conflict(&reason).into());
        }
    }
    Ok(Target { endpoints, attempts: agreed.unwrap_or(general) })
}

fn check_group(address: SocketAddr) -> Result<(), ConfigError> {
    let group = Group::new(address, 1);
    group.map(drop).map_err(|error| {
        let path = "scouting/multicast/address".to_owned();
        ConfigErrorKind::Conflict { path, reason: error.to_string() }.into()
    })
}

fn check_retry(branch: &str, attempts: &Attempts) -> Result<(), ConfigError> {
    if attempts.retry.period_max >= attempts.retry.period_init {
        return Ok(());
    }
    Err(ConfigErrorKind::Conflict {
        path: format!("{branch}/retry/period_max_ms"),
        reason: "it is less than period_init_ms".to_owned(),
    }
    .into())
}

/// Reads resolved values. The types are those of the table, where every value has been checked.
struct Values<'a> {
    config: &'a Config,
    mode: WhatAmI,
}

impl Values<'_> {
    fn value(&self, path: &str) -> Value {
        match schema::find(path) {
            Place::Key(key, _) => self.config.resolve(key, self.mode),
            Place::Branch | Place::Unknown => unreachable!("`{path}` is in the table"),
        }
    }

    /// A value that may be null.
    fn set(&self, path: &str) -> Option<Value> {
        Some(self.value(path)).filter(|value| *value != Value::Null)
    }

    /// A length in bytes, which the table limits; `None`: not set.
    fn socket_buffer(&self, path: &str) -> Option<u32> {
        self.set(path).map(|_| self.integer(path) as u32)
    }

    /// Protocols that may be used; `None`: all.
    fn protocols(&self) -> Option<Vec<String>> {
        let names = self.set(PROTOCOLS)?;
        Some(names.as_list()?.iter().filter_map(Value::as_text).map(str::to_owned).collect())
    }

    fn bool(&self, path: &str) -> bool {
        self.value(path) == Value::Bool(true)
    }

    fn integer(&self, path: &str) -> i64 {
        let integer = self.value(path).as_integer();
        let integer = integer.and_then(|integer| i64::try_from(integer).ok());
        integer.expect("it has a default, and the bounds in the table fit")
    }

    /// A length or a number of things; more than the machine can count is as many as it can.
    fn size(&self, path: &str) -> usize {
        usize::try_from(self.integer(path)).unwrap_or(usize::MAX)
    }

    fn ms(&self, path: &str) -> Duration {
        Duration::from_millis(self.integer(path).unsigned_abs())
    }

    fn us(&self, path: &str) -> Duration {
        Duration::from_micros(self.integer(path).unsigned_abs())
    }

    fn parsed<T: core::str::FromStr>(&self, path: &str) -> Option<T> {
        self.value(path).as_text()?.parse().ok()
    }

    fn list(&self, path: &str) -> Vec<Value> {
        match self.value(path) {
            Value::List(items) => items,
            _ => Vec::new(),
        }
    }

    fn key_exprs(&self, path: &str) -> Vec<KeyExpr> {
        let items = self.list(path);
        items.iter().filter_map(|item| item.as_text()?.parse().ok()).collect()
    }

    fn modes(&self, path: &str) -> WhatAmIMatcher {
        kind::modes(&self.value(path)).unwrap_or_default()
    }

    fn attempts(&self, branch: &str) -> Attempts {
        let path = |name: &str| schema::join(branch, name);
        let timeout = path("timeout_ms");
        let factor = self.value(&path("retry/period_increase_factor"));
        Attempts {
            timeout: (self.integer(&timeout) >= 0).then(|| self.ms(&timeout)),
            exit_on_failure: self.bool(&path("exit_on_failure")),
            retry: Retry {
                period_init: self.ms(&path("retry/period_init_ms")),
                period_max: self.ms(&path("retry/period_max_ms")),
                increase_factor: match factor {
                    Value::Float(factor) => factor,
                    factor => factor.as_integer().unwrap_or(1) as f64,
                },
            },
        }
    }

    fn neighbours(&self) -> Result<Vec<Target>, ConfigError> {
        const PATH: &str = "connect/endpoints";
        let general = self.attempts("connect");
        let neighbours = self.list(PATH);
        let neighbours = neighbours.iter().map(kind::endpoints).filter(|group| !group.is_empty());
        if self.mode == WhatAmI::Client {
            // It has one upstream: all its endpoints are raced for it.
            let all: Vec<Endpoint> = neighbours.flatten().collect();
            let all = Some(all).filter(|all| !all.is_empty());
            all.into_iter().map(|all| target(PATH, all, general)).collect()
        } else {
            neighbours.map(|group| target(PATH, group, general)).collect()
        }
    }

    fn listeners(&self) -> Result<Vec<Target>, ConfigError> {
        const PATH: &str = "listen/endpoints";
        let general = self.attempts("listen");
        let endpoints = self.list(PATH);
        let endpoints = endpoints.iter().flat_map(kind::endpoints);
        endpoints.map(|endpoint| target(PATH, vec![endpoint], general)).collect()
    }

    fn scouting(&self) -> Scouting {
        Scouting {
            timeout: self.ms("scouting/timeout"),
            delay: self.ms("scouting/delay"),
            multicast: MulticastScouting {
                enabled: self.bool("scouting/multicast/enabled"),
                address: self.parsed("scouting/multicast/address").expect("it has a default"),
                interfaces: interfaces(
                    self.value("scouting/multicast/interface").as_text().unwrap_or_default(),
                ),
                ttl: self.integer("scouting/multicast/ttl") as u8, // the table allows 1 to 255
                autoconnect: self.autoconnect("scouting/multicast"),
                listen: self.bool("scouting/multicast/listen"),
            },
            gossip: Gossip {
                enabled: self.bool("scouting/gossip/enabled"),
                target: self.modes("scouting/gossip/target"),
                autoconnect: self.autoconnect("scouting/gossip"),
                multihop: self.bool("scouting/gossip/multihop"),
            },
        }
    }

    fn gateway(&self) -> Result<Option<Gateway>, ConfigError> {
        const PATH: &str = "gateway/south";
        let gateway = gateway::parse(&self.value(PATH));
        match &gateway {
            Some(gateway) if gateway.south.len() > Gateway::REGIONS_MAX => {
                let reason = format!("there are more than {} regions", Gateway::REGIONS_MAX);
                Err(ConfigErrorKind::Conflict { path: PATH.into(), reason }.into())
            }
            _ => Ok(gateway),
        }
    }

    fn weights(&self) -> Result<BTreeMap<ZenohId, u16>, ConfigError> {
        let mut weights = BTreeMap::new();
        for entry in self.list(WEIGHTS) {
            let zid = entry.member("dst_zid").and_then(Value::as_text);
            let zid: Option<ZenohId> = zid.and_then(|zid| zid.parse().ok());
            let weight = entry.member("weight").and_then(Value::as_integer);
            let (Some(zid), Some(weight)) = (zid, weight) else {
                continue; // the table has checked both
            };
            if weights.insert(zid, weight as u16).is_some() {
                let reason = format!("there are two weights for {zid}");
                return Err(ConfigErrorKind::Conflict { path: WEIGHTS.into(), reason }.into());
            }
        }
        Ok(weights)
    }

    fn stats(&self) -> Result<Stats, ConfigError> {
        let entries = self.list(STATS_FILTERS);
        let key = |entry: &Value| entry.member("key")?.as_text()?.parse().ok();
        let filters: Vec<KeyExpr> = entries.iter().filter_map(key).collect();
        if filters.len() > STATS_FILTERS_MAX {
            let reason = format!("{} are too many, the most is {STATS_FILTERS_MAX}", filters.len());
            return Err(ConfigErrorKind::Conflict { path: STATS_FILTERS.into(), reason }.into());
        }
        Ok(Stats { enabled: self.bool("stats/enabled") || !filters.is_empty(), filters })
    }

    fn autoconnect(&self, branch: &str) -> AutoConnect {
        let strategies = self.value(&schema::join(branch, "autoconnect_strategy"));
        let strategy =
            |target: &str| match strategies.member(target).unwrap_or(&strategies).as_text() {
                Some("greater-zid") => Strategy::GreaterZid,
                _ => Strategy::Always,
            };
        AutoConnect {
            modes: self.modes(&schema::join(branch, "autoconnect")),
            to_router: strategy("to_router"),
            to_peer: strategy("to_peer"),
            to_client: strategy("to_client"),
        }
    }

    fn tx(&self) -> Tx {
        let drop = "transport/link/tx/queue/congestion_control/drop";
        let block = "transport/link/tx/queue/congestion_control/block";
        Tx {
            lease: self.ms("transport/link/tx/lease"),
            keep_alive: self.integer("transport/link/tx/keep_alive") as u8, // the table allows 1 to 255
            batch_size: self.integer("transport/link/tx/batch_size") as u16, // the table allows up to 65,535
            sequence_number_resolution: match self
                .value("transport/link/tx/sequence_number_resolution")
                .as_text()
            {
                Some("8bit") => Bits::U8,
                Some("16bit") => Bits::U16,
                Some("64bit") => Bits::U64,
                _ => Bits::U32,
            },
            queue_sizes: PRIORITIES
                .map(|name| self.size(&schema::join("transport/link/tx/queue/size", name))),
            wait_before_drop: self.us(&schema::join(drop, "wait_before_drop")),
            wait_before_drop_fragments_max: self
                .us(&schema::join(drop, "max_wait_before_drop_fragments")),
            wait_before_close: self.us(&schema::join(block, "wait_before_close")),
            batching: self.bool("transport/link/tx/queue/batching/enabled"),
        }
    }
}

/// The interfaces in a comma-separated list; none for `auto`.
fn interfaces(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    names.filter(|name| !name.is_empty() && *name != "auto").map(str::to_owned).collect()
}
