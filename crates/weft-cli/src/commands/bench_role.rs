//! `weft bench-role`: one process of `weft bench`.
//!
//! Not a command for people, and not in the help. The comparison with others has more roles of its own, in `bench/`;
//! these are the few of them that a quick look needs, with the same flags, output and way of measuring.
//!
//! Every role ends in order, before its time, with the first signal and when standard input ends: so it never outlives
//! whoever started it.

use std::io;
use std::time::{Duration, Instant};

use clap::{Args, Parser};
use serde_json::{Value, json};
use weft::{Config, Endpoint, Session, WhatAmI};

use super::write_all;
use crate::arguments::{Mode, seconds};
use crate::ending::{Ending, Limits, Reason};
use crate::failure::Failure;
use crate::flood;
use crate::logging::{self, LogFormat};
use crate::measure::{RoundTrips, Window};
use crate::output::say;
use crate::rally::{self, Answers, Pings};

/// The word that starts it.
pub(crate) const NAME: &str = "bench-role";

/// How long after the window should have closed a subscriber still waits for messages.
const GRACE: Duration = Duration::from_secs(30);

/// Puts between two reads of the publisher's clock.
const PUTS_PER_CLOCK: u64 = 64;

/// One process of a benchmark.
#[derive(Parser, Debug)]
#[command(name = "weft bench-role")]
enum Role {
    /// Counts messages
    SubThr {
        #[command(flatten)]
        place: Place,
        #[arg(long, value_parser = seconds, default_value = "1")]
        warmup: Duration,
        #[arg(long, value_parser = seconds, default_value = "3")]
        duration: Duration,
    },
    /// Publishes as fast as it can
    PubThr {
        #[command(flatten)]
        place: Place,
        #[arg(long)]
        size: usize,
        #[arg(long, value_parser = seconds, default_value = "5")]
        duration: Duration,
        #[arg(long)]
        express: bool,
    },
    /// Measures round trips
    Ping {
        #[command(flatten)]
        place: Place,
        #[arg(long)]
        size: usize,
        #[arg(long, default_value_t = 10_000)]
        count: usize,
        #[arg(long, default_value_t = 1_000)]
        warmup: usize,
        #[arg(long, value_enum, default_value = "callback")]
        answers: Answers,
        #[arg(long)]
        express: bool,
    },
    /// Answers pings until standard input ends
    Pong {
        #[command(flatten)]
        place: Place,
        #[arg(long)]
        express: bool,
    },
    /// Forwards until standard input ends
    Router {
        #[command(flatten)]
        place: Place,
    },
}

/// Where it is in the network.
#[derive(Args, Debug)]
struct Place {
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    #[arg(long, required_unless_present = "connect")]
    listen: Option<Endpoint>,
    #[arg(long)]
    connect: Option<Endpoint>,
}

/// Plays the role that the command line names.
pub(crate) fn run() -> Result<(), Failure> {
    let role = match Role::try_parse_from(std::env::args_os().skip(1)) {
        Ok(role) => role,
        Err(error) if !error.use_stderr() => return Ok(error.print()?),
        Err(error) => return Err(error.into()),
    };
    logging::start(None, LogFormat::Text)?;
    let ending = Ending::new();
    ending.on_signals()?;
    end_with_stdin(&ending)?;
    let outcome = play(role, &ending);
    write_all(format!("{}\n", ending.explain(outcome)?).as_bytes())
}

fn play(role: Role, ending: &Ending) -> Result<Value, Failure> {
    match role {
        Role::SubThr { place, warmup, duration } => {
            subscribe(&place.open()?, warmup, duration, ending)
        }
        Role::PubThr { place, size, duration, express } => {
            let session = place.open()?;
            ending.limit(Limits::of_time(Some(duration)));
            publish(&session, size, express, ending)
        }
        Role::Ping { place, size, count, warmup, answers, express } => {
            let pings = Pings { size, is_express: express, answers };
            ping(&place.open()?, pings, RoundTrips::new(warmup, count.max(1)), ending)
        }
        Role::Pong { place, express } => pong(&place.open()?, express, ending),
        Role::Router { place } => router(&place, ending),
    }
}

impl Place {
    fn open(&self) -> Result<Session, Failure> {
        self.open_as(WhatAmI::Peer)
    }

    /// Opens a session at the named endpoints, which finds nothing by itself.
    fn open_as(&self, default: WhatAmI) -> Result<Session, Failure> {
        let mut config = Config::default();
        config.set_mode(self.mode.map_or(default, Into::into));
        config.insert_json5("scouting/multicast/enabled", "false")?;
        for (path, endpoint) in
            [("listen/endpoints", &self.listen), ("connect/endpoints", &self.connect)]
        {
            let all: Value = endpoint.iter().map(ToString::to_string).collect();
            config.insert_json5(path, &all.to_string())?;
        }
        Ok(weft::open(config).wait()?)
    }
}

/// Counts messages from the first one on, and gives the rate inside of the window.
fn subscribe(
    session: &Session,
    warmup: Duration,
    duration: Duration,
    ending: &Ending,
) -> Result<Value, Failure> {
    let counting = flood::count(session, Window::new(warmup, duration))?;
    ready();
    let rate = counting.rate(warmup + duration + GRACE, ending)?;
    Ok(json!({
        "role": "sub-thr",
        "msgs_per_s": rate.per_second() as u64,
        "count": rate.count,
        "seconds": rate.seconds,
    }))
}

/// Publishes the same payload until the end, as fast as back-pressure lets it.
fn publish(
    session: &Session,
    size: usize,
    is_express: bool,
    ending: &Ending,
) -> Result<Value, Failure> {
    let publisher = flood::publisher(session, is_express)?;
    let payload = vec![7; size];
    let mut count: u64 = 0;
    let start = Instant::now();
    while !ending.is_here() {
        for _ in 0..PUTS_PER_CLOCK {
            publisher.put_bytes(&payload)?;
        }
        count += PUTS_PER_CLOCK;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(json!({ "role": "pub-thr", "size": size, "count": count, "seconds": seconds }))
}

fn ping(
    session: &Session,
    pings: Pings,
    round_trips: RoundTrips,
    ending: &Ending,
) -> Result<Value, Failure> {
    let round_trips = rally::ping(session, pings, round_trips, || ending.is_here())?;
    let summary = round_trips.summary().ok_or_else(|| Failure::Run("nothing measured".into()))?;
    Ok(json!({
        "role": "ping",
        "size": pings.size,
        "answers": match pings.answers {
            Answers::Callback => "callback",
            Answers::Channel => "channel",
        },
        "count": summary.count,
        "min_us": summary.min_us,
        "p50_us": summary.p50_us,
        "p90_us": summary.p90_us,
        "p99_us": summary.p99_us,
    }))
}

fn pong(session: &Session, is_express: bool, ending: &Ending) -> Result<Value, Failure> {
    let _subscriber = rally::pong(session, is_express, || ())?;
    ready();
    ending.wait();
    Ok(json!({ "role": "pong" }))
}

fn router(place: &Place, ending: &Ending) -> Result<Value, Failure> {
    let _session = place.open_as(WhatAmI::Router)?;
    ready();
    ending.wait();
    Ok(json!({ "role": "router" }))
}

/// Tells whoever started this process that the other side may start.
fn ready() {
    say(&"ready");
}

/// Makes the end of standard input that of the role.
fn end_with_stdin(ending: &Ending) -> io::Result<()> {
    let ending = ending.clone();
    let wait = move || {
        // What is written there means nothing, and what cannot be read has ended.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        ending.end(Reason::Done);
    };
    std::thread::Builder::new().name("stdin".into()).spawn(wait)?;
    Ok(())
}
