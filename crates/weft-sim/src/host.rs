//! A place in the virtual network where a node runs, crashes and runs again.

use std::collections::BTreeMap;

use weft_keyexpr::KeyExpr;
use weft_node::{DialId, Hlc, Node, NodeConfig};
use weft_transport::TxConfig;
use weft_wire::{Locator, ZenohId};

use crate::driver::{Driver, Route};
use crate::network::HostId;
use crate::session::Session;

/// Seconds from 1970 to the start of every simulation.
const EPOCH_S: u64 = 1_700_000_000;

/// How a host's node is made, each time it starts.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    pub(crate) config: NodeConfig,
    pub(crate) tx: TxConfig,
    pub(crate) listens: bool,
    /// Takes part in the multicast group.
    pub(crate) joined: bool,
    /// Stamps samples that have no timestamp.
    pub(crate) stamps: bool,
    pub(crate) drop_future: bool,
    /// How far its wall clock is ahead, in microseconds.
    pub(crate) skew_us: i64,
}

pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) blueprint: Blueprint,
    /// Counts the starts.
    pub(crate) life: u32,
    pub(crate) running: Option<Running>,
    /// Bytes per second that its readers take; `None` is all that comes.
    pub(crate) reads_per_s: Option<u64>,
    /// Bytes received so far.
    pub(crate) received: u64,
}

/// How opening went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It goes on.
    Pending,
    /// The node has started.
    Started,
    /// It cannot start, and says why.
    Failed(String),
}

/// An attempt to connect, over all addresses at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) number: u64,
    /// Addresses that have not answered.
    pub(crate) pending: usize,
    pub(crate) won: bool,
}

pub(crate) struct Running {
    pub(crate) node: Box<Node>,
    pub(crate) driver: Driver,
    pub(crate) hlc: Option<Hlc>,
    pub(crate) session: Session,
    /// Routes of this session's publications.
    pub(crate) publishing: BTreeMap<KeyExpr, Route>,
    pub(crate) attempts: BTreeMap<DialId, Attempt>,
    pub(crate) opening: Opening,
    /// Counts the changes of neighbours.
    pub(crate) epoch: u32,
    pub(crate) wakes_at_us: Option<u64>,
    /// What the node has warned of.
    pub(crate) warnings: Vec<String>,
}

impl Host {
    pub(crate) fn zid(&self) -> ZenohId {
        self.blueprint.config.zid
    }

    pub(crate) fn locator(&self) -> Locator {
        let text = format!("tcp/{}:7447", self.name);
        text.parse().expect("a host's name makes a locator")
    }

    pub(crate) fn start(&mut self, now_us: u64) -> &mut Running {
        self.life += 1;
        let Blueprint { config, tx, stamps, .. } = &self.blueprint;
        let mut node = Node::new(config.clone());
        if self.blueprint.listens {
            node.set_locators(vec![(self.locator(), false)]);
        }
        let mut driver = Driver::new(tx.clone());
        driver.now_us = now_us;
        self.running.insert(Running {
            node: Box::new(node),
            driver,
            hlc: stamps.then(|| Hlc::new(config.zid)),
            session: Session::default(),
            publishing: BTreeMap::new(),
            attempts: BTreeMap::new(),
            opening: Opening::Pending,
            epoch: 0,
            wakes_at_us: None,
            warnings: Vec::new(),
        })
    }

    /// What the host's wall clock shows, as NTP64.
    pub(crate) fn wall_ntp64(&self, now_us: u64) -> u64 {
        let us = (EPOCH_S * 1_000_000 + now_us).saturating_add_signed(self.blueprint.skew_us);
        ((us / 1_000_000) << 32) | (((us % 1_000_000) << 32) / 1_000_000)
    }
}

/// The host that a locator names.
pub(crate) fn host_named(hosts: &[Host], address: &str) -> Option<HostId> {
    let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
    hosts.iter().position(|host| host.name == name)
}
