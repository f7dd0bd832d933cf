//! `weft router`: a node that forwards for others.

use clap::{Args, ValueEnum};
use serde_json::json;
use weft::WhatAmI;

use crate::commands::write_all;
use crate::context::Context;
use crate::ending::{Limits, TimeLimit};
use crate::failure::Failure;
use crate::render;
use crate::session::{DefaultMode, SessionArgs};

/// Run a router
///
/// It listens on tcp/[::]:7447 unless it is told otherwise, and forwards what its clients and peers
/// publish and ask for. `weft admin` looks into it. JSON: {"type":"router","zid":…,"mode":…,"locators":[…]}, once it listens.
#[derive(Args, Debug)]
pub(crate) struct Router {
    /// Prints the effective configuration instead, with comments or as JSON, and ends
    #[arg(long)]
    print_config: bool,
    /// Gives samples no timestamp
    #[arg(long)]
    no_timestamp: bool,
    /// What others may do with what the node says of itself and lets them change [default: r]
    #[arg(long, value_enum, value_name = "PERMISSIONS")]
    adminspace_permissions: Option<Permissions>,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    time: TimeLimit,
}

/// What others may do with the admin space.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Permissions {
    /// Read it
    R,
    /// Write it
    W,
    /// Both
    Rw,
    /// Neither
    None,
}

impl Permissions {
    const fn read_write(self) -> (bool, bool) {
        (matches!(self, Self::R | Self::Rw), matches!(self, Self::W | Self::Rw))
    }
}

impl Router {
    pub(crate) fn run(mut self, context: &Context) -> Result<(), Failure> {
        if self.no_timestamp {
            // Ahead of the user's own, which come last.
            self.session.set_first("timestamping/enabled:false");
        }
        if let Some(permissions) = self.adminspace_permissions {
            let (read, write) = permissions.read_write();
            self.session
                .set_first(&format!("adminspace/permissions:{{read:{read},write:{write}}}"));
        }
        let mut config = self.session.config(DefaultMode::Router)?;
        // A router that nobody can look into is of no use to whoever runs it.
        config.insert_json5("adminspace/enabled", "true")?;
        if self.print_config {
            for warning in config.warnings() {
                tracing::warn!("{warning}");
            }
            config.effective()?;
            if context.output.is_json() {
                return write_all(config.print_json().as_bytes());
            }
            return write_all(config.print_config().as_bytes());
        }
        let mode = config.mode();
        if mode == WhatAmI::Client {
            let text = "a client forwards for nobody; leave out the mode, or make it peer";
            return Err(Failure::Usage(text.to_owned()));
        }
        let session = context.open_with(config, Limits::of_time(self.time.duration))?;
        let locators = session.info().locators();
        context.output.result(
            || render::node(mode, session.zid(), &locators),
            || {
                json!({
                    "type": "router",
                    "zid": session.zid().to_string(),
                    "mode": mode.as_str(),
                    "locators": render::locators(&locators),
                })
            },
        );
        context.ending.wait();
        session.close().wait();
        Ok(())
    }
}
