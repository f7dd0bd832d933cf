//! Walks one hot path a number of times: `instructions CASE TIMES`.
//!
//! Run under callgrind with two numbers of times; the difference is what the path costs, without the start and the end.
//! `weftbench.instructions` does so and compares with what is written down.
//!
//! Not here: time. Instructions in user mode are the same on a busy machine.

mod parts;
mod whole;

use std::process::ExitCode;

/// A case: its name, and what walks its path so many times.
type Case = (&'static str, fn(u64));

const CASES: &[Case] = &[
    ("match/literal", parts::match_literal),
    ("match/wild", parts::match_wild),
    ("decode/64", parts::decode),
    ("route/kept", parts::kept_route),
    ("route/new", parts::new_route),
    ("append/8", |times| parts::append(times, 8)),
    ("append/64", |times| parts::append(times, 64)),
    ("append/1024", |times| parts::append(times, 1024)),
    ("receive/64", parts::receive),
    ("forward/64", parts::forward),
    ("p2p/8", |times| whole::peer_to_peer(times, 8)),
    ("p2p/64", |times| whole::peer_to_peer(times, 64)),
    ("p2p/1024", |times| whole::peer_to_peer(times, 1024)),
    ("routed/64", |times| whole::through_a_router(times, 64)),
    ("get/64", |times| whole::questions(times, 64)),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (name, times) = (arguments.next(), arguments.next());
    let case = CASES.iter().find(|(known, _)| name.as_deref() == Some(known));
    if let (Some((_, walk)), Some(times)) = (case, times.and_then(|times| times.parse().ok())) {
        walk(times);
    } else if name.is_none() {
        // All there are, a line each.
        for (name, _) in CASES {
            println!("{name}");
        }
    } else {
        eprintln!("usage: instructions [CASE TIMES]");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
