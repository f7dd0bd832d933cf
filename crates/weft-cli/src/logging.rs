//! The log: on standard error, warnings only unless `--log` or `RUST_LOG` says otherwise.
//!
//! Directives are `LEVEL` and `TARGET=LEVEL`, separated by commas: `info`, `warn,weft=debug`.
//!
//! What the threads of a session say carries its id: `session{zid=…}` before the line, or `span.zid` in JSON.

use std::fmt::{self, Write as _};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, layer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;
use crate::output::say;

/// How lines on standard error look: for people, or one JSON object a line with timestamp, level, target, message, the
/// event's fields and `span.zid`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum LogFormat {
    // Without help of their own, which `--help` would show in a different form from `-h`.
    #[default]
    Text,
    Json,
}

/// Whether all that is said is JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Starts it.
///
/// # Errors
/// If `directives` cannot be read.
pub(crate) fn start(directives: Option<&str>, format: LogFormat) -> Result<(), Failure> {
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
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
    if format == LogFormat::Json {
        let targets = targets.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
        let to_stderr = to_stderr.json().flatten_event(true).with_span_list(false);
        tracing_subscriber::registry().with(to_stderr).with(targets).init();
    } else if let Some(targets) = targets {
        tracing_subscriber::registry().with(to_stderr).with(targets).init();
    } else {
        let warnings = Targets::new().with_default(LevelFilter::WARN);
        tracing_subscriber::registry().with(to_stderr.event_format(Plain)).with(warnings).init();
    }
    Ok(())
}

/// Something that a command says, as a line of a log in JSON, if that is what is written.
pub(crate) fn as_json(text: &dyn fmt::Display) -> Option<String> {
    if !IS_JSON.load(Ordering::Relaxed) {
        return None;
    }
    let text = text.to_string();
    let (level, message) = match text.split_once(": ") {
        Some(("error", rest)) => ("ERROR", rest),
        Some(("warning", rest)) => ("WARN", rest),
        _ => ("INFO", &*text),
    };
    let mut timestamp = String::new();
    // Writing to a string never fails.
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let line =
        json!({ "timestamp": timestamp, "level": level, "message": message, "target": "weft" });
    Some(line.to_string())
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

/// The message and its fields.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string never fails.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
