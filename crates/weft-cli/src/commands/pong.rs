//! `weft pong`: answers a `weft ping`.

use clap::Args;

use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::output::say;
use crate::rally;
use crate::session::SessionArgs;

/// Answer every `weft ping`
///
/// It has no results of its own; --count counts pings.
#[derive(Args, Debug)]
pub(crate) struct Pong {
    /// Sends at once, without waiting for company
    #[arg(long)]
    express: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Pong {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, self.limits)?;
        let ending = context.ending.clone();
        let _subscriber = rally::pong(&session, self.express, move || ending.counted(|| ()))?;
        say(&"answering pings");
        context.ending.wait();
        session.close().wait();
        Ok(())
    }
}
