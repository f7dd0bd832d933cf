//! `weft get`: one query.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use weft::handlers::Callback;
use weft::{Reply, ReplyError, ReplyKeyExpr, Sample, Selector};

use super::put::payload;
use super::quorum::{self, QUORUM};
use crate::arguments::{Beside, ConsolidationArg, CoverArg, SelectArg, Target, seconds};
use crate::context::Context;
use crate::ending::{Limits, Reason};
use crate::failure::Failure;
use crate::output::Output;
use crate::render::{self, Shown};
use crate::session::SessionArgs;

/// Ask once, and show every reply
///
/// A selector is a key expression with parameters, such as `home/*/temp?_time=[now(-1h)..];_filter=value>20`. A line is
/// that of a sample, or ERROR: PAYLOAD. JSON: {"type":"reply","kind":"put","key":…,"payload":…,"replier":…} and what else
/// samples have, or {"type":"reply_error","payload":…,"timeout":…}. Ends with 1 if the time is over before all have
/// answered. With --quorum, lines are what is agreed on, {"type":"agreed",…} with what samples have, and SHORT KEY: GOT of
/// WANTED, {"type":"short","key":…,"got":…,"wanted":…}, for a key without a quorum; with such a key it ends with 1.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// What to ask for
    #[arg(short, long, default_value = "demo/example/**")]
    selector: Selector,
    /// Sends this along with the query; - for all of standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    payload: Option<String>,
    #[command(flatten)]
    beside: Beside,
    /// Which queryables are asked
    #[arg(short, long, value_enum, default_value = "best-matching", ignore_case = true)]
    target: Target,
    /// Which of several replies on one key are shown
    #[arg(long, value_enum, default_value = "auto", ignore_case = true)]
    consolidation: ConsolidationArg,
    /// Asks only if a complete queryable covers the selector, and ends with 1 unless such a cover answers
    #[arg(long, value_enum, ignore_case = true, conflicts_with_all = ["target", "quorum"])]
    cover: Option<CoverArg>,
    /// Shows what at least N repliers say the same of, of all that match
    #[arg(long, value_name = "N", value_parser = QUORUM, conflicts_with_all = ["target", "consolidation"])]
    quorum: Option<u16>,
    /// How long replies may take, in seconds [default: 10, or what the configuration says]
    #[arg(short = 'o', long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Takes replies on keys that were not asked for, too
    #[arg(long)]
    accept_any: bool,
    /// Where `_filter` and `_project` of the selector are applied
    #[arg(long, value_enum, default_value = "pushdown", ignore_case = true)]
    select: SelectArg,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Get {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let payload = self.payload.map(payload).transpose()?;
        let session = context.open_for_once(&self.session, self.limits)?;
        let accepted =
            if self.accept_any { ReplyKeyExpr::Any } else { ReplyKeyExpr::MatchingQuery };
        let mut get = session
            .get(&self.selector)
            .target(self.target.into())
            .consolidation(self.consolidation.into())
            .accept_replies(accepted)
            .select(self.select.into());
        if let Some(timeout) = self.timeout {
            get = get.timeout(timeout);
        }
        if let Some(payload) = payload {
            get = get.payload(payload);
        }
        if let Some(encoding) = self.beside.encoding {
            get = get.encoding(encoding);
        }
        if let Some(attachment) = self.beside.attachment {
            get = get.attachment(attachment);
        }
        if let Some(wanted) = self.quorum {
            let wanted = usize::from(wanted);
            let agreement = quorum::wait(context, &session, || get.quorum(wanted).wait())?;
            return quorum::show(context, &agreement, wanted);
        }
        let replies = Replies::new(context);
        let show = |output: &Output, reply: &Reply, sample: &Sample| {
            output.result(|| Shown::from(sample).line(), || render::reply(reply, sample));
        };
        let get = get.with(replies.callback(show));
        let Some(cover) = self.cover else {
            get.wait()?;
            let outcome = replies.wait();
            session.close().wait();
            return outcome;
        };
        let covered = get.cover(cover.into()).wait()?;
        let outcome = replies.wait();
        session.close().wait();
        if outcome.is_ok() && !covered.is_complete() {
            return Err(Failure::Run(
                "not all that was asked for is covered by the answers".into(),
            ));
        }
        outcome
    }
}

/// Shows replies until there are no more.
pub(super) struct Replies {
    context: Context,
    is_timed_out: Arc<AtomicBool>,
}

impl Replies {
    pub(super) fn new(context: &Context) -> Self {
        Self { context: context.clone(), is_timed_out: Arc::default() }
    }

    /// What gets the replies; its end is the end of the command. `show` shows those with a sample.
    pub(super) fn callback(&self, show: fn(&Output, &Reply, &Sample)) -> Callback<Reply> {
        let Context { output, ending } = self.context.clone();
        let is_timed_out = Arc::clone(&self.is_timed_out);
        let over = ending.clone();
        let show = move |reply: Reply| match reply.result() {
            Ok(sample) => ending.counted(|| show(&output, &reply, sample)),
            Err(error) => {
                is_timed_out.fetch_or(error.is_timeout(), Ordering::Relaxed);
                show_error(&output, error);
            }
        };
        Callback::with_drop(show, move || over.end(Reason::Done))
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// If a signal or the end of the time came first.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        self.context.ending.wait();
        self.context.ending.check_signal()?;
        if self.is_timed_out.load(Ordering::Relaxed) {
            return Err(Failure::Run("the time is over and not all have answered".into()));
        }
        Ok(())
    }
}

fn show_error(output: &Output, error: &ReplyError) {
    let payload = error.payload().to_bytes();
    output.result(
        || format!("ERROR: {}", render::text(&payload)),
        || {
            let mut fields = render::record("reply_error");
            render::insert_bytes(&mut fields, "payload", &payload);
            fields.insert("encoding".into(), error.encoding().to_string().into());
            fields.insert("timeout".into(), error.is_timeout().into());
            fields.into()
        },
    );
}
