//! What large networks cost: runs them, and prints a row for each phase.

use std::fmt::Write as _;
use std::fs;

use weft_sim::scale::{Measurement, SHAPES, Shape};

use crate::gauges::GAUGES;

/// Where the table is published, from the root of the repository.
const PAGE: &str = "docs/design/scale.md";
const BEGIN: &str = "<!-- begin: cargo xtask sim scale --publish -->\n";
const END: &str = "<!-- end -->";

const HEAD: &str = "\
| network | told | phase | messages | bytes | converged | CPU | memory/router |
|---|---|---|---:|---:|---:|---:|---:|
";

/// Runs the networks and prints or publishes what they cost.
pub(crate) fn run(shapes: &[Shape], json: bool, publish: bool) -> Result<(), String> {
    let mut rows = Vec::new();
    if !json {
        print!("{HEAD}");
    }
    for shape in shapes {
        for told in [Told::Keys, Told::Covers] {
            let mut progress = |phase: &str| {
                eprintln!("{:>8.1} s  {}, {}: {phase}", clock_s(), shape.name, told.name());
            };
            for it in shape.run(told == Told::Covers, GAUGES, &mut progress) {
                let row = if json { object(shape, told, &it) } else { row(shape, told, &it) };
                println!("{row}");
                rows.push(row);
            }
        }
    }
    if publish && !json {
        let page = fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
        let page = published(&page, &rows).ok_or(format!("{PAGE} has no place for the table"))?;
        fs::write(PAGE, page).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    Ok(())
}

/// What a router tells the others of what its clients declare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Keys,
    Covers,
}

impl Told {
    const fn name(self) -> &'static str {
        match self {
            Self::Keys => "each key",
            Self::Covers => "generalised",
        }
    }
}

fn clock_s() -> f64 {
    (GAUGES.clock)().as_secs_f64()
}

fn row(shape: &Shape, told: Told, it: &Measurement) -> String {
    let Measurement { phase, bytes, messages, converged_us, cpu, memory } = it;
    format!(
        "| {} | {} | {phase} | {messages} | {} | {:.2} s | {:.2} s | {} |",
        shape.name,
        told.name(),
        size(*bytes),
        *converged_us as f64 / 1e6,
        cpu.as_secs_f64(),
        size(*memory),
    )
}

fn object(shape: &Shape, told: Told, it: &Measurement) -> String {
    let Measurement { phase, bytes, messages, converged_us, cpu, memory } = it;
    format!(
        "{{\"network\":\"{}\",\"routers\":{},\"clients\":{},\"keys\":{},\"generalised\":{},\"phase\":\"{phase}\",\
         \"messages\":{messages},\"bytes\":{bytes},\"converged_us\":{converged_us},\"cpu_us\":{},\
         \"memory_per_router\":{memory}}}",
        shape.name,
        shape.routers,
        shape.clients,
        shape.keys,
        told == Told::Covers,
        cpu.as_micros(),
    )
}

/// A number of bytes with three digits or so.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// The page with these rows between its marks, in place of earlier ones of the same networks.
fn published(page: &str, rows: &[String]) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (known, after) = rest.split_once(END)?;
    let network = |row: &str| row.split('|').nth(1).map(str::trim).map(str::to_string);
    let mut table = String::from(HEAD);
    for shape in SHAPES {
        let of_shape = |row: &&str| network(row).as_deref() == Some(shape.name);
        let new: Vec<&str> = rows.iter().map(String::as_str).filter(of_shape).collect();
        let old: Vec<&str> = known.lines().filter(of_shape).collect();
        for row in if new.is_empty() { old } else { new } {
            let _ = writeln!(table, "{row}");
        }
    }
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ONE: Measurement = Measurement {
        phase: "start",
        bytes: 12_345,
        messages: 7,
        converged_us: 1_500_000,
        cpu: Duration::from_millis(20),
        memory: 98,
    };

    #[test]
    fn rows_are_read_by_people_and_objects_by_programs() {
        assert_eq!(
            row(&SHAPES[0], Told::Keys, &ONE),
            "| 10r-10k | each key | start | 7 | 12 kB | 1.50 s | 0.02 s | 98 B |"
        );
        assert_eq!(
            object(&SHAPES[0], Told::Covers, &ONE),
            r#"{"network":"10r-10k","routers":10,"clients":100,"keys":10000,"generalised":true,"phase":"start","messages":7,"bytes":12345,"converged_us":1500000,"cpu_us":20000,"memory_per_router":98}"#
        );
        assert_eq!([size(15_000_000), size(12_000_000_000)], ["15 MB", "12.0 GB"]);
    }

    #[test]
    fn rows_replace_those_of_the_same_network() {
        let row = |network: &str, text: &str| format!("| {network} | {text} |");
        let page =
            format!("a\n{BEGIN}old\n{}\n{}\n{END}\nb", row("10r-10k", "1"), row("10r-1M", "2"));
        let rows = [row("10r-10k", "3"), row("10r-10k", "4"), row("1000r-20k", "5")];
        let table: String = [&rows[0], &rows[1], &row("10r-1M", "2"), &rows[2]]
            .map(|row| format!("{row}\n"))
            .concat();
        let expected = format!("a\n{BEGIN}{HEAD}{table}{END}\nb");
        assert_eq!(published(&page, &rows), Some(expected));
        assert_eq!(published("no marks", &rows), None);
    }
}
