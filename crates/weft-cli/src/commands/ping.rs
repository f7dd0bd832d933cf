//! `weft ping`: measures round trips to a `weft pong`.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::ending::{Limits, TimeLimit};
use crate::failure::Failure;
use crate::measure::{RoundTrips, us};
use crate::rally::{self, Answers, Pings};
use crate::session::SessionArgs;

/// Largest payload: 512 MiB, which with all that surrounds it is a message that every node takes.
const SIZE_MAX: i64 = 512 << 20;

/// Most round trips: each is kept until the end.
const COUNT_MAX: i64 = 100_000_000;

/// Measure round trips to a `weft pong`
///
/// JSON: {"type":"round_trip","seq":…,"size":…,"us":…} for each, then {"type":"round_trips","count":…,"min_us":…,
/// "p50_us":…,"p90_us":…,"p99_us":…}.
#[derive(Args, Debug)]
pub(crate) struct Ping {
    /// Bytes of payload
    #[arg(default_value_t = 64, value_parser = clap::value_parser!(u32).range(..=SIZE_MAX))]
    size: u32,
    /// Round trips before those that count
    #[arg(short, long, value_name = "N", default_value_t = 100)]
    warmup: u32,
    /// Round trips
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=COUNT_MAX))]
    count: u32,
    /// Where answers are taken
    #[arg(long, value_enum, default_value = "callback")]
    answers: Answers,
    /// Sends at once, without waiting for company
    #[arg(long)]
    express: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    time: TimeLimit,
}

impl Ping {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, Limits::of_time(self.time.duration))?;
        let pings =
            Pings { size: self.size as usize, is_express: self.express, answers: self.answers };
        let round_trips = RoundTrips::new(self.warmup as usize, self.count as usize);
        let ending = context.ending.clone();
        let outcome = rally::ping(&session, pings, round_trips, || ending.is_here());
        session.close().wait();
        let round_trips = outcome?;
        for (seq, sample) in round_trips.samples().iter().enumerate() {
            self.show(seq, *sample, context);
        }
        let Some(it) = round_trips.summary() else { return context.ending.check_signal() };
        context.output.result(
            || {
                format!(
                    "{} round trips: min {:.1}, median {:.1}, 90 % {:.1}, 99 % {:.1} µs",
                    it.count, it.min_us, it.p50_us, it.p90_us, it.p99_us
                )
            },
            || {
                json!({
                    "type": "round_trips",
                    "size": self.size,
                    "count": it.count,
                    "min_us": it.min_us,
                    "p50_us": it.p50_us,
                    "p90_us": it.p90_us,
                    "p99_us": it.p99_us,
                })
            },
        );
        let is_complete = it.count == self.count as usize;
        if is_complete { Ok(()) } else { context.ending.check_signal() }
    }

    fn show(&self, seq: usize, sample: Duration, context: &Context) {
        let (size, us) = (self.size, us(sample));
        context.output.result(
            || format!("{size} bytes: seq={seq} rtt={us:.1}µs"),
            || json!({ "type": "round_trip", "seq": seq, "size": size, "us": us }),
        );
    }
}
