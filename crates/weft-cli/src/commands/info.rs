//! `weft info`: what a session sees of the network.

use clap::Args;
use serde_json::{Value, json};
use weft::info::{Event, EventKind, LinkInfo, Neighbour, TransportEventsListener, TransportInfo};
use weft::{Session, WhatAmI};

use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::render;
use crate::session::{DefaultMode, SessionArgs};

/// Show what a session sees: itself and its neighbours
///
/// JSON: {"type":"info","zid":…,"mode":…,"locators":[…],"neighbours":[{"zid":…,"whatami":…,"qos":…,"shm":…,
/// "multicast":…,"links":[{"src":…,"dst":…,"group":…,"mtu":…,"streamed":…,"reliable":…,"interfaces":[…],
/// "auth_identifier":…,"priorities":…,"reliability":…}]}]}, null for what there is none of; with --watch then
/// {"type":"neighbour","event":"opened","zid":…,"whatami":…} or "closed".
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Stays, and shows neighbours that come and go
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Info {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let default = if self.watch { DefaultMode::Peer } else { DefaultMode::ClientIfConnecting };
        let config = self.session.config(default)?;
        let mode = config.mode();
        let session = context.open_with(config, self.limits)?;
        // Before the look at the neighbours, so that none is missed in between.
        let listener = self.watch.then(|| watch(&session, context)).transpose()?;
        context.output.result(|| text(&session, mode), || json(&session, mode));
        if listener.is_some() {
            context.ending.wait();
        }
        session.close().wait();
        Ok(())
    }
}

fn watch(session: &Session, context: &Context) -> Result<TransportEventsListener<()>, Failure> {
    let Context { output, ending } = context.clone();
    let show = move |event: Event<TransportInfo>| {
        let kind = match event.kind {
            EventKind::Opened => "opened",
            EventKind::Closed => "closed",
        };
        let (zid, whatami) = (event.object.zid(), event.object.whatami());
        let json = || {
            let (zid, whatami) = (zid.to_string(), whatami.as_str());
            json!({ "type": "neighbour", "event": kind, "zid": zid, "whatami": whatami })
        };
        ending.counted(|| output.result(|| format!("{kind} {whatami} {zid}"), json));
    };
    Ok(session.info().transport_events_listener().with(show).wait()?)
}

fn text(session: &Session, mode: WhatAmI) -> String {
    let info = session.info();
    let mut lines = vec![render::node(mode, session.zid(), &info.locators())];
    let neighbours = info.neighbours();
    if neighbours.is_empty() {
        lines.push("no neighbours".to_owned());
    }
    for neighbour in neighbours {
        let Neighbour { transport, links, .. } = neighbour;
        lines.push(format!("neighbour {} {}", transport.whatami(), transport.zid()));
        let links = links.iter();
        lines.extend(links.map(|link| format!("  link {} -> {}", link.src(), link.dst())));
    }
    lines.join("\n")
}

fn json(session: &Session, mode: WhatAmI) -> Value {
    let info = session.info();
    let neighbours = info.neighbours();
    json!({
        "type": "info",
        "zid": session.zid().to_string(),
        "mode": mode.as_str(),
        "locators": render::locators(&info.locators()),
        "neighbours": neighbours.iter().map(neighbour_json).collect::<Value>(),
    })
}

fn neighbour_json(neighbour: &Neighbour) -> Value {
    let Neighbour { transport, links, .. } = neighbour;
    json!({
        "zid": transport.zid().to_string(),
        "whatami": transport.whatami().as_str(),
        "qos": transport.is_qos(),
        "shm": transport.is_shm(),
        "multicast": transport.is_multicast(),
        "links": links.iter().map(link_json).collect::<Value>(),
    })
}

fn link_json(link: &LinkInfo) -> Value {
    let priorities = link.priorities();
    let priorities = priorities.map(|(high, low)| [high, low].map(render::priority_word));
    json!({
        "src": link.src(),
        "dst": link.dst(),
        "group": link.group(),
        "mtu": link.mtu(),
        "streamed": link.is_streamed(),
        "reliable": link.is_reliable(),
        "interfaces": link.interfaces(),
        "auth_identifier": link.auth_identifier(),
        "priorities": priorities,
        "reliability": link.reliability().map(render::reliability_word),
    })
}
