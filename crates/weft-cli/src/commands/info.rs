//! `weft info`: what a session sees of the network.

use clap::Args;
use serde_json::{Value, json};
use weft::info::{Event, EventKind, TransportEventsListener, TransportInfo};
use weft::{Session, WhatAmI};

use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::render;
use crate::session::{DefaultMode, SessionArgs};

/// Show what a session sees: itself and its neighbours
///
/// JSON: {"type":"info","zid":…,"mode":…,"locators":[…],"neighbours":[{"zid":…,"whatami":…,"qos":…,"links":[{"src":…,
/// "dst":…,"mtu":…}]}]}; with --watch then {"type":"neighbour","event":"opened","zid":…,"whatami":…} or "closed".
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
        lines.push(format!("neighbour {} {}", neighbour.whatami, neighbour.zid));
        let links = neighbour.links.iter();
        lines.extend(links.map(|link| format!("  link {} -> {}", link.src, link.dst)));
    }
    lines.join("\n")
}

fn json(session: &Session, mode: WhatAmI) -> Value {
    let info = session.info();
    let neighbours = info.neighbours();
    let neighbours = neighbours.iter().map(|neighbour| {
        let links = neighbour.links.iter().map(|link| {
            json!({
                "src": link.src,
                "dst": link.dst,
                "mtu": link.mtu,
                "streamed": link.streamed,
                "reliable": link.reliable,
                "interfaces": link.interfaces,
            })
        });
        json!({
            "zid": neighbour.zid.to_string(),
            "whatami": neighbour.whatami.as_str(),
            "qos": neighbour.qos,
            "links": links.collect::<Value>(),
        })
    });
    json!({
        "type": "info",
        "zid": session.zid().to_string(),
        "mode": mode.as_str(),
        "locators": render::locators(&info.locators()),
        "neighbours": neighbours.collect::<Value>(),
    })
}
