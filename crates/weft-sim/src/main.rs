//! `weft-sim`: random networks by the thousand, and single seeds to look into.
//!
//! `cargo xtask sim ARGUMENTS` runs this program in release mode.

mod command;
mod gauges;
mod report;
mod table;

use std::process::ExitCode;

use command::Command;
use weft_sim::PROFILES;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = match command::parse(&arguments) {
        Ok(command) => command,
        Err(problem) => {
            eprintln!("weft-sim: {problem}\n\n{}", command::USAGE);
            return ExitCode::from(2);
        }
    };
    if matches!(command, Command::Swarm { .. }) {
        // A failing seed is reported once, in one place.
        std::panic::set_hook(Box::new(|_| {}));
    }
    match command {
        Command::Help => {
            print!("{}", command::USAGE);
            ExitCode::SUCCESS
        }
        Command::List { json } => {
            for profile in PROFILES {
                println!("{}", report::profile(profile, json));
            }
            ExitCode::SUCCESS
        }
        Command::Scale { shapes, json, publish } => match table::run(shapes, json, publish) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                eprintln!("weft-sim: {problem}");
                ExitCode::FAILURE
            }
        },
        Command::Swarm { seeds, swarm, json } => {
            let mut totals = report::Totals::default();
            for seed in seeds {
                let outcome = swarm.run(seed);
                if json {
                    println!("{}", report::outcome_json(&outcome));
                } else if outcome.failure.is_some() {
                    println!("{}", report::failure(&outcome, &swarm));
                }
                totals.add(&outcome);
            }
            if !json {
                println!("{totals}");
            }
            if totals.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}
