//! `weft dissect`: shows the messages of a capture, or of connections that pass through, decoded.
//!
//! ```text
//! capture -> packet -> flows -> tcp --\
//!                               live --+-> connection -> batch, fragments, keys -> describe -> record -> show
//! ```
//!
//! Whatever cannot be decoded is shown as an error with its place and bytes, and the next batch is read.

mod batch;
mod capture;
mod connection;
mod describe;
mod flows;
mod fragments;
mod keys;
mod limits;
mod live;
mod packet;
mod record;
mod show;
mod tcp;
#[cfg(test)]
mod testing;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use clap::Args;
use weft::KeyExpr;

use self::capture::CaptureError;
use self::flows::Flows;
use self::live::Route;
use self::record::Kind;
use self::show::{Show, Totals};
use crate::context::Context;
use crate::ending::{Ending, Limits, Reason};
use crate::failure::Failure;
use crate::output::say;

/// Show the messages of a capture, or of connections that pass through, decoded
///
/// A file is pcap or pcapng, of Ethernet, Linux "any", loopback or raw IP; - reads standard input, as in
/// tcpdump -w - | weft dissect -. With --live it stands between nodes: they connect to the address it listens on, and it
/// passes everything on to the other one.
///
/// A line is TIME (UTC), CONNECTION, FROM > TO, the frame or fragment with its sequence number, reliability and priority,
/// and the message. Key expressions are written out; <id N> is one whose declaration was not seen. Cookies, credentials and
/// shared-memory data are shown as their length. NOTE tells what is missing or assumed, ERROR what cannot be decoded.
///
/// JSON: {"type":"push","time":…,"connection":"c1","from":…,"to":…,"frame":{"sn":…,"reliability":…,"priority":…},
/// "key":…,"payload":…} and more; bytes that are no text are payload_hex.
#[derive(Args, Debug)]
pub(crate) struct Dissect {
    /// A capture
    #[arg(required_unless_present = "live", conflicts_with = "live")]
    file: Option<PathBuf>,
    /// Listens here, and passes connections on to --to; or both in one, as 'tcp/LISTEN -> tcp/TARGET'
    #[arg(long, value_name = "tcp/LISTEN")]
    live: Option<String>,
    /// Where connections are passed on to
    #[arg(long, value_name = "tcp/TARGET", requires = "live")]
    to: Option<String>,
    /// Shows messages only whose key expression intersects this one; may be repeated
    #[arg(short, long, value_name = "KEYEXPR")]
    key: Vec<KeyExpr>,
    /// Shows only these
    #[arg(long, value_name = "KIND,…", value_enum, value_delimiter = ',', ignore_case = true)]
    kind: Vec<Kind>,
    /// Looks at these ports only [default: 7447, and whatever looks like Zenoh]
    #[arg(long, value_name = "PORT,…", value_delimiter = ',', conflicts_with = "live")]
    port: Vec<u16>,
    #[command(flatten)]
    limits: Limits,
}

impl Dissect {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        context.ending.on_signals()?;
        context.ending.limit(self.limits);
        let show = Show {
            output: context.output.clone(),
            ending: context.ending.clone(),
            kinds: self.kind,
            keys: self.key,
            totals: Totals::default(),
        };
        let (done, outcomes) = mpsc::channel();
        let (ending, thread) = (context.ending.clone(), std::thread::Builder::new());
        let thread = thread.name("dissect".into());
        // Waiting for bytes cannot be interrupted. If it is given up, the end of the process is its end.
        let is_live = self.live.is_some();
        match (self.live, self.file) {
            (Some(live), _) => {
                let route = Route::parse(&live, self.to.as_deref())?;
                let listener = live::listen(&route)?;
                thread.spawn(move || {
                    finish(live::serve(&listener, &route, show), &done, &ending);
                })?;
            }
            (None, Some(path)) => {
                let source = open(&path)?;
                let name = path.display().to_string();
                let ports = self.port;
                thread.spawn(move || finish(read(&name, source, ports, show), &done, &ending))?;
            }
            (None, None) => return Err(Failure::Usage("a capture or --live is missing".into())),
        }
        context.ending.wait();
        match outcomes.try_recv() {
            Ok(outcome) => outcome,
            Err(_) if is_live => Ok(()),
            // A capture that was not read to its end.
            Err(_) => context.ending.check_signal(),
        }
    }
}

fn finish(outcome: Result<(), Failure>, done: &mpsc::Sender<Result<(), Failure>>, ending: &Ending) {
    // Nobody waits for it after a signal.
    let _ = done.send(outcome);
    ending.end(Reason::Done);
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(Failure::Run(format!("{}: {error}", path.display()))),
    }
}

/// Shows a capture, and says at its end what there was.
fn read(
    name: &str,
    source: impl Read + Send,
    ports: Vec<u16>,
    mut show: Show,
) -> Result<(), Failure> {
    let mut flows = Flows::new(ports);
    let outcome = capture::read(source, |packet| {
        flows.packet(&packet, &mut |place, record| show.record(place, &record));
        !show.ending.is_here()
    });
    flows.end(&mut |place, record| show.record(place, &record));
    if show.ending.is_here() {
        return Ok(());
    }
    say(&summary(&flows, show.totals));
    match outcome {
        Ok(()) => Ok(()),
        // As it is when the one that captures is killed.
        Err((error @ CaptureError::Truncated, at)) => {
            say(&format_args!("warning: {name}: {error} at byte {at}"));
            Ok(())
        }
        Err((error, at)) => Err(Failure::Run(format!("{name}: {error} at byte {at}"))),
    }
}

fn summary(flows: &Flows, totals: Totals) -> String {
    let Totals { messages, errors } = totals;
    let connections = flows.connections();
    let mut text = format!("messages: {messages}, connections: {connections}, errors: {errors}");
    if flows.unknown_links() > 0 {
        let _ = write!(text, ", packets of an unknown link layer: {}", flows.unknown_links());
    }
    text
}

#[cfg(test)]
mod tests;
