//! Where the demonstration takes place: a router, and sessions that join it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use serde_json::json;
use weft::{Config, LivelinessSubscriber, Sample, SampleKind, Session, WhatAmI};

use crate::context::Context;
use crate::failure::Failure;

/// How long anything here may take, on a machine that is very busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Tokens of the sessions whose declarations have reached the router.
const IN_PLACE: &str = "demo/in-place";

/// A router and its surroundings.
pub(super) struct Stage {
    pub(super) context: Context,
    pub(super) endpoint: String,
    router: Session,
    /// Sees who is in place.
    arrivals: LivelinessSubscriber,
    _observer: Session,
    steps: Cell<u32>,
}

impl Stage {
    /// Opens the router on a free port of the loopback interface.
    pub(super) fn open(context: &Context) -> Result<Self, Failure> {
        let router = open(WhatAmI::Router, &[("listen/endpoints", Some(LOOPBACK))])?;
        let endpoint = listening(&router)?;
        let observer = client(&endpoint)?;
        let arrivals = observer.liveliness().declare_subscriber(format!("{IN_PLACE}/*")).wait()?;
        let context = context.clone();
        Ok(Self { context, endpoint, router, arrivals, _observer: observer, steps: Cell::new(0) })
    }

    /// The router's identity.
    pub(super) fn router(&self) -> String {
        self.router.zid().to_string()
    }

    /// A session of its own, connected to the router.
    pub(super) fn join(&self) -> Result<Session, Failure> {
        client(&self.endpoint)
    }

    /// Waits until the router knows everything that `session` has declared.
    pub(super) fn wait_in_place(&self, session: &Session) -> Result<(), Failure> {
        // Declarations of a session arrive in their order: whoever sees the token has been told all before it.
        let token = session.liveliness().declare_token(format!("{IN_PLACE}/{}", session.zid()));
        let token = token.wait()?;
        let deadline = Instant::now() + PATIENCE;
        let is_it =
            |seen: &Sample| seen.kind() == SampleKind::Put && seen.key_expr() == token.key_expr();
        while let Ok(Some(seen)) = self.arrivals.recv_deadline(deadline) {
            if is_it(&seen) {
                return Ok(());
            }
        }
        Err(late("a session did not get in place"))
    }

    /// Begins the next part, unless a signal came.
    pub(super) fn step(&self, name: &str, title: &str, about: &str) -> Result<(), Failure> {
        self.context.ending.check_signal()?;
        self.steps.set(self.steps.get() + 1);
        let number = self.steps.get();
        self.context.output.result(
            || format!("\n{number}. {title}\n   {about}"),
            || json!({ "type": "step", "step": name }),
        );
        Ok(())
    }

    /// Waits for so long, unless a signal comes.
    pub(super) fn pause(&self, time: Duration) -> Result<(), Failure> {
        self.context.ending.pause(time);
        self.context.ending.check_signal()
    }

    /// Says something to people.
    pub(super) fn tell(&self, text: &str) {
        self.context.output.heading(format_args!("   {text}"));
    }

    /// Shows a result.
    pub(super) fn show(
        &self,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> serde_json::Value,
    ) {
        self.context.output.result(|| format!("   {}", text()), json);
    }
}

/// A free port of the loopback interface.
const LOOPBACK: &str = "tcp/127.0.0.1:0";

/// Two peers that know only each other.
pub(super) fn pair_of_peers() -> Result<[Session; 2], Failure> {
    let one = open(WhatAmI::Peer, &[("listen/endpoints", Some(LOOPBACK))])?;
    let endpoint = listening(&one)?;
    let other = open(WhatAmI::Peer, &[("connect/endpoints", Some(&endpoint)), NOT_LISTENING])?;
    Ok([one, other])
}

/// For a peer, which by default listens on all interfaces.
const NOT_LISTENING: (&str, Option<&str>) = ("listen/endpoints", None);

fn client(endpoint: &str) -> Result<Session, Failure> {
    open(WhatAmI::Client, &[("connect/endpoints", Some(endpoint))])
}

/// Opens a session that finds nothing by itself.
fn open(mode: WhatAmI, endpoints: &[(&str, Option<&str>)]) -> Result<Session, Failure> {
    let mut config = Config::default();
    config.set_mode(mode);
    config.insert_json5("scouting/multicast/enabled", "false")?;
    for (path, endpoint) in endpoints {
        let all: serde_json::Value = endpoint.iter().copied().collect();
        config.insert_json5(path, &all.to_string())?;
    }
    Ok(weft::open(config).wait()?)
}

fn listening(session: &Session) -> Result<String, Failure> {
    let locators = session.info().locators();
    let first = locators.first().ok_or_else(|| Failure::Run("nothing listens".to_owned()))?;
    Ok(first.to_string())
}

/// Something that should have happened within [`PATIENCE`].
pub(super) fn late(what: &str) -> Failure {
    Failure::Run(format!("{what} within {} s", PATIENCE.as_secs()))
}
