//! `weft sub`: a subscriber.

use clap::Args;
use weft::KeyExpr;
use weft::timestamp::TimestampText as _;

use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::output::say;
use crate::render::Shown;
use crate::session::SessionArgs;

/// Subscribe, and show every sample
///
/// A line is PUT KEY: PAYLOAD [ENCODING] (ATTACHMENT), or DELETE KEY. JSON: {"type":"sample","kind":"put","key":…,
/// "payload":…,"encoding":…,"timestamp":…} and more; a payload that is no text is payload_hex.
#[derive(Args, Debug)]
pub(crate) struct Subscribe {
    /// Key expression to subscribe to
    #[arg(short, long, default_value = "demo/example/**")]
    key: KeyExpr,
    /// Shows the timestamps of samples that have one
    #[arg(short, long)]
    timestamps: bool,
    /// Tells those who put with a quorum what it has got
    #[arg(long)]
    acknowledge: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Subscribe {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, self.limits)?;
        let (output, ending) = (context.output.clone(), context.ending.clone());
        let has_timestamps = self.timestamps;
        // Shown by the thread that receives: a slow reader of the output slows the link, and nothing piles up here.
        let subscriber = session.declare_subscriber(&self.key);
        let subscriber = if self.acknowledge { subscriber.acknowledging() } else { subscriber };
        let _subscriber = subscriber
            .callback(move |view| {
                let sample = Shown::from(view);
                let line = || match sample.timestamp {
                    Some(timestamp) if has_timestamps => {
                        format!("{} at {}", sample.line(), timestamp.to_rfc3339())
                    }
                    _ => sample.line(),
                };
                ending.counted(|| output.result(line, || sample.json("sample")));
            })
            .wait()?;
        say(&format_args!("subscribed to '{}'", self.key));
        context.ending.wait();
        session.close().wait();
        Ok(())
    }
}
