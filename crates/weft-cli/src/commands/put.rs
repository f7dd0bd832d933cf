//! `weft put`: one publication.

use std::io::{self, Read as _};

use clap::Args;
use weft::KeyExpr;

use super::publish::{STDIN, show_put};
use crate::arguments::{Beside, Quality};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::session::SessionArgs;

/// Publish a value once
///
/// JSON: {"type":"put","key":…,"payload":…}.
#[derive(Args, Debug)]
pub(crate) struct Put {
    /// Key to publish on
    #[arg(short, long, default_value = "demo/example/weft-put")]
    key: KeyExpr,
    /// Payload, or - for all of standard input
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "Put from Weft!",
        allow_hyphen_values = true
    )]
    payload: String,
    #[command(flatten)]
    beside: Beside,
    #[command(flatten)]
    quality: Quality,
    #[command(flatten)]
    session: SessionArgs,
}

impl Put {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let payload = payload(self.payload)?;
        let session = context.open_for_once(&self.session, Limits::default())?;
        let mut put = session
            .put(&self.key, &payload)
            .priority(self.quality.priority.into())
            .congestion_control(self.quality.congestion.into())
            .express(self.quality.express)
            .reliability(self.quality.reliability.into());
        if let Some(encoding) = self.beside.encoding {
            put = put.encoding(encoding);
        }
        if let Some(attachment) = self.beside.attachment {
            put = put.attachment(attachment);
        }
        put.wait()?;
        show_put(context, &self.key, &payload);
        session.close().wait();
        Ok(())
    }
}

/// The bytes of a payload argument.
pub(super) fn payload(argument: String) -> Result<Vec<u8>, Failure> {
    if argument != STDIN {
        return Ok(argument.into_bytes());
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
