//! `weft pub`: a publisher that publishes again and again.

use std::io::{self, BufRead as _};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use weft::{KeyExpr, MatchingListener, Publisher, Session};

use crate::arguments::{Beside, Quality, seconds};
use crate::context::Context;
use crate::ending::{Limits, Reason};
use crate::failure::Failure;
use crate::output::say;
use crate::render;
use crate::session::SessionArgs;

/// What stands for standard input where a payload is wanted.
pub(super) const STDIN: &str = "-";

/// Publish again and again
///
/// JSON: {"type":"put","key":…,"payload":…} for each publication; with --matching also {"type":"matching","matching":…}.
#[derive(Args, Debug)]
pub(crate) struct Publish {
    /// Key to publish on
    #[arg(short, long, default_value = "demo/example/weft-pub")]
    key: KeyExpr,
    /// Payload, or - for the lines of standard input, one a publication [default: a numbered greeting]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    payload: Option<String>,
    #[command(flatten)]
    beside: Beside,
    /// Time from one publication to the next, in seconds [default: 1, or 0 for standard input]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    interval: Option<Duration>,
    /// Says when the first subscriber appears and when the last one goes
    #[arg(long)]
    matching: bool,
    /// Waits for a subscriber before the first publication
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    quality: Quality,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Publish {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, self.limits)?;
        let publisher = Arc::new(self.declare(&session)?);
        say(&format_args!("publishing on '{}'", self.key));
        let (seen, matched) = mpsc::channel();
        let _listener = self.listen(&publisher, context, seen)?;
        if self.wait {
            while !context.ending.is_here() && matched.recv_timeout(TICK).is_err() {}
        }
        let outcome = if self.payload.as_deref() == Some(STDIN) {
            let outcomes = self.publish_lines(publisher, context)?;
            context.ending.wait();
            // None is there if something else than the end of the input ends it.
            outcomes.try_recv().unwrap_or(Ok(()))
        } else {
            self.publish_text(&publisher, context)
        };
        session.close().wait();
        outcome
    }

    fn declare(&self, session: &Session) -> Result<Publisher, Failure> {
        let mut publisher = session
            .declare_publisher(&self.key)
            .priority(self.quality.priority.into())
            .congestion_control(self.quality.congestion.into())
            .express(self.quality.express)
            .reliability(self.quality.reliability.into());
        if let Some(encoding) = &self.beside.encoding {
            publisher = publisher.encoding(encoding.clone());
        }
        Ok(publisher.wait()?)
    }

    /// Says when the matching changes; sends to `seen` when something matches.
    fn listen(
        &self,
        publisher: &Publisher,
        context: &Context,
        seen: mpsc::Sender<()>,
    ) -> Result<MatchingListener<()>, Failure> {
        let (output, is_shown) = (context.output.clone(), self.matching);
        let listener = publisher.matching_listener().callback(move |status| {
            let matching = status.matching();
            if is_shown {
                let words =
                    if matching { "there is a subscriber" } else { "there is no subscriber" };
                output.result(
                    || words.to_owned(),
                    || json!({ "type": "matching", "matching": matching }),
                );
            }
            if matching {
                // Nobody waits for it later on.
                let _ = seen.send(());
            }
        });
        Ok(listener.wait()?)
    }

    fn publish_text(&self, publisher: &Publisher, context: &Context) -> Result<(), Failure> {
        let interval = self.interval.unwrap_or(Duration::from_secs(1));
        let mut number: u64 = 0;
        while !context.ending.is_here() {
            let payload = match &self.payload {
                Some(payload) => payload.clone(),
                None => format!("[{number:4}] Pub from Weft!"),
            };
            self.publish(publisher, payload.as_bytes(), context)?;
            number += 1;
            context.ending.pause(interval);
        }
        Ok(())
    }

    /// Publishes the lines of standard input on a thread of their own: reading cannot be interrupted.
    fn publish_lines(
        self,
        publisher: Arc<Publisher>,
        context: &Context,
    ) -> Result<mpsc::Receiver<Result<(), Failure>>, Failure> {
        let (outcome, outcomes) = mpsc::channel();
        let context = context.clone();
        let publish = move || {
            // Nobody waits for it after another end.
            let _ = outcome.send(self.publish_each_line(&publisher, &context));
            context.ending.end(Reason::Done);
        };
        std::thread::Builder::new().name("stdin".into()).spawn(publish)?;
        Ok(outcomes)
    }

    fn publish_each_line(&self, publisher: &Publisher, context: &Context) -> Result<(), Failure> {
        for line in io::stdin().lock().split(b'\n') {
            self.publish(publisher, &line?, context)?;
            if !context.ending.pause(self.interval.unwrap_or_default()) {
                break;
            }
        }
        Ok(())
    }

    /// Publishes and shows it, unless there were enough.
    fn publish(
        &self,
        publisher: &Publisher,
        payload: &[u8],
        context: &Context,
    ) -> Result<(), Failure> {
        let mut outcome = Ok(());
        context.ending.counted(|| {
            let mut publication = publisher.put(payload);
            if let Some(attachment) = &self.beside.attachment {
                publication = publication.attachment(attachment);
            }
            outcome = publication.wait();
            if outcome.is_ok() {
                show_put(context, &self.key, payload);
            }
        });
        Ok(outcome?)
    }
}

/// How long a wait for a subscriber goes on before it looks whether it is the end.
const TICK: Duration = Duration::from_millis(50);

/// Shows what was published.
pub(super) fn show_put(context: &Context, key: &KeyExpr, payload: &[u8]) {
    context.output.result(
        || format!("PUT {key}: {}", render::text(payload)),
        || {
            let mut fields = render::record("put");
            fields.insert("key".into(), key.as_str().into());
            render::insert_bytes(&mut fields, "payload", payload);
            fields.into()
        },
    );
}
