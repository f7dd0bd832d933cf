//! `weft scout`: looks for nodes without becoming one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use weft::{Hello, WhatAmIMatcher};

use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::render;
use crate::session::ConfigArgs;

/// How long it looks unless it is told otherwise. Questions go out at once and then ever more seldom.
const DURATION_DEFAULT: Duration = Duration::from_secs(1);

/// Look for nodes by multicast, and show each once
///
/// It looks for one second unless --duration says otherwise. JSON: {"type":"hello","whatami":…,"zid":…,"locators":[…]}.
#[derive(Args, Debug)]
pub(crate) struct Scout {
    /// Modes of the nodes to look for
    #[arg(short, long, value_name = "MODE|MODE", default_value = "router|peer")]
    what: WhatAmIMatcher,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Scout {
    pub(crate) fn run(mut self, context: &Context) -> Result<(), Failure> {
        let config = self.config.config(|_| Ok(()))?;
        for warning in config.warnings() {
            tracing::warn!("{warning}");
        }
        context.ending.on_signals()?;
        self.limits.time.duration.get_or_insert(DURATION_DEFAULT);
        context.ending.limit(self.limits);
        let (output, ending) = (context.output.clone(), context.ending.clone());
        let seen = Mutex::new(BTreeSet::new());
        let scout = weft::scout(self.what, config)
            .callback(move |hello: Hello| {
                let is_new = seen.lock().unwrap_or_else(PoisonError::into_inner).insert(hello.zid);
                if is_new {
                    ending.counted(|| output.result(|| line(&hello), || json(&hello)));
                }
            })
            .wait()?;
        context.ending.wait();
        scout.stop();
        Ok(())
    }
}

fn line(hello: &Hello) -> String {
    let locators: Vec<&str> = hello.locators.iter().map(weft::Locator::as_str).collect();
    format!("{} {} {}", hello.whatami, hello.zid, locators.join(" "))
}

fn json(hello: &Hello) -> serde_json::Value {
    json!({
        "type": "hello",
        "whatami": hello.whatami.as_str(),
        "zid": hello.zid.to_string(),
        "locators": render::locators(&hello.locators),
    })
}
