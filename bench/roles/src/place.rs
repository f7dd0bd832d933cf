//! Where a role is in the network, and how it sends.

use crate::{Arguments, Failure};

/// What a node does for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Talks to other peers directly.
    Peer,
    /// Leaves the network to the node that it is connected to.
    Client,
    /// Forwards for everybody.
    Router,
}

impl Mode {
    /// Its name in flags and configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Client => "client",
            Self::Router => "router",
        }
    }
}

/// Where a session is.
#[derive(Clone, Debug)]
pub struct Place {
    /// What it does for others.
    pub mode: Mode,
    /// The endpoint to accept others at, as `tcp/ADDRESS:PORT`.
    pub listen: Option<String>,
    /// The endpoint of another one.
    pub connect: Option<String>,
    /// The UDP port on which peers find each other; without one, nobody looks for anybody.
    pub multicast: Option<u16>,
}

/// More sessions than any case opens, for the limits that a router sets itself.
const SESSIONS_MAX: usize = 20_000;

impl Place {
    /// Takes `--mode`, `--listen`, `--connect` and `--multicast`.
    ///
    /// # Errors
    /// When one does not parse, or none of the last three is there.
    pub fn take(arguments: &mut Arguments, default: Mode) -> Result<Self, Failure> {
        let mode = match arguments.value::<String>("--mode")?.as_deref() {
            None => default,
            Some("peer") => Mode::Peer,
            Some("client") => Mode::Client,
            Some("router") => Mode::Router,
            Some(other) => {
                return Err(Failure::Usage(format!("--mode {other}: not peer, client or router")));
            }
        };
        let place = Self {
            mode,
            listen: arguments.value("--listen")?,
            connect: arguments.value("--connect")?,
            multicast: arguments.value("--multicast")?,
        };
        if place.listen.is_none() && place.connect.is_none() && place.multicast.is_none() {
            return Err(Failure::Usage("--listen or --connect is missing".to_owned()));
        }
        Ok(place)
    }

    /// Where it listens: peers that find each other need a port of their own.
    fn listen(&self) -> Option<String> {
        let found = (self.multicast.is_some() && self.mode == Mode::Peer)
            .then(|| "tcp/127.0.0.1:0".to_owned());
        self.listen.clone().or(found)
    }

    /// The settings that differ from the defaults of a Zenoh node, as paths and JSON.
    pub fn zenoh_settings(&self) -> Vec<(&'static str, String)> {
        let list = |endpoint: &Option<String>| format!("{:?}", Vec::from_iter(endpoint));
        let mut settings = vec![
            ("mode", format!("{:?}", self.mode.name())),
            ("scouting/multicast/enabled", self.multicast.is_some().to_string()),
            // An empty list as well: by default a peer listens on every interface.
            ("listen/endpoints", list(&self.listen())),
            ("connect/endpoints", list(&self.connect)),
            ("transport/unicast/max_sessions", SESSIONS_MAX.to_string()),
        ];
        if let Some(port) = self.multicast {
            settings.push(("scouting/multicast/address", format!("\"224.0.0.224:{port}\"")));
            settings.push(("scouting/multicast/interface", "\"lo\"".to_owned()));
        }
        settings
    }
}

/// Which messages go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Before all others.
    RealTime,
    /// In the order of publication.
    #[default]
    Data,
}

/// How messages are sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// At once, without waiting for company.
    pub express: bool,
    /// Which ones go first.
    pub priority: Priority,
}

impl How {
    /// Takes `--express` and `--priority`.
    ///
    /// # Errors
    /// When the priority is not `real-time` or `data`.
    pub fn take(arguments: &mut Arguments) -> Result<Self, Failure> {
        let express = arguments.switch("--express");
        let priority = match arguments.value::<String>("--priority")?.as_deref() {
            None | Some("data") => Priority::Data,
            Some("real-time") => Priority::RealTime,
            Some(other) => {
                return Err(Failure::Usage(format!("--priority {other}: not data or real-time")));
            }
        };
        Ok(Self { express, priority })
    }
}
