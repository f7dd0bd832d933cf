//! The log: on standard error, warnings only unless `--log` or `RUST_LOG` says otherwise.
//!
//! Directives are `LEVEL` and `TARGET=LEVEL`, separated by commas: `info`, `warn,weft=debug`.

use std::fmt::{self, Write as _};
use std::io;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, layer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;
use crate::output::say;

/// Starts it.
///
/// # Errors
/// If `directives` cannot be read.
pub(crate) fn start(directives: Option<&str>) -> Result<(), Failure> {
    let to_stderr = layer().with_writer(io::stderr).with_ansi(false);
    let from_environment = std::env::var(VARIABLE).ok().filter(|it| !it.is_empty());
    let targets = match (directives, from_environment) {
        (Some(directives), _) => Some(parsed(directives).map_err(Failure::Usage)?),
        (None, Some(directives)) => match parsed(&directives) {
            Ok(targets) => Some(targets),
            // Another program's, perhaps: no reason not to run.
            Err(complaint) => {
                say(&format_args!("warning: {VARIABLE}: {complaint}"));
                None
            }
        },
        (None, None) => None,
    };
    if let Some(targets) = targets {
        tracing_subscriber::registry().with(to_stderr).with(targets).init();
    } else {
        let warnings = Targets::new().with_default(LevelFilter::WARN);
        tracing_subscriber::registry().with(to_stderr.event_format(Plain)).with(warnings).init();
    }
    Ok(())
}

const VARIABLE: &str = "RUST_LOG";

fn parsed(directives: &str) -> Result<Targets, String> {
    directives.parse().map_err(|error| format!("invalid log directives `{directives}`: {error}"))
}

/// `warning: what happened`, for people who did not ask for a log.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let is_error = *event.metadata().level() == Level::ERROR;
        let mut line = Line(if is_error { "error: " } else { "warning: " }.to_owned());
        event.record(&mut line);
        writeln!(writer, "{}", line.0)
    }
}

/// The message and its fields, but for the identity of the only session here.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string never fails.
        let _ = match field.name() {
            "own" => Ok(()),
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
