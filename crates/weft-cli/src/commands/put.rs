//! `weft put`: one publication.

use std::io::{self, Read as _};
use std::time::Duration;

use clap::Args;
use weft::KeyExpr;

use super::publish::{STDIN, show_put};
use super::quorum::{self, QUORUM};
use crate::arguments::{Beside, Quality, seconds};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::session::SessionArgs;

/// Publish a value once
///
/// JSON: {"type":"put","key":…,"payload":…}. With --quorum that is shown when enough have it. If too few are known to have
/// it when the time is over, it ends with 1; it was published all the same.
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
    /// Returns when at least N storages or acknowledging subscribers have it, or something newer
    #[arg(long, value_name = "N", value_parser = QUORUM)]
    quorum: Option<u16>,
    /// How long that may take, in seconds [default: 10, or what the configuration says]
    #[arg(short = 'o', long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, requires = "quorum")]
    timeout: Option<Duration>,
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
        match self.quorum {
            None => put.wait()?,
            Some(wanted) => {
                quorum::wait(context, &session, || {
                    let put = put.quorum(usize::from(wanted));
                    match self.timeout {
                        Some(timeout) => put.timeout(timeout).wait(),
                        None => put.wait(),
                    }
                })?;
            }
        }
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
