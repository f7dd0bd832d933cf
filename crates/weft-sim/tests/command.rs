//! The program, as a user runs it.

use std::process::{Command, Output};

fn weft_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft-sim")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_swarm_runs_and_says_what_it_did() {
    let output = weft_sim(&["swarm", "--seeds", "0..3", "--nodes", "3", "--steps", "5"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).starts_with("3 seeds, "), "{output:?}");
}

#[test]
fn one_seed_is_one_line_of_json() {
    let output = weft_sim(&["replay", "4", "--steps", "5", "--json"]);
    assert!(output.status.success());
    let line = text(&output.stdout).trim();
    assert!(line.starts_with("{\"seed\":4,\"scenario\":\"slow\",") && line.ends_with("null}"));
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn a_trace_tells_what_happens() {
    let output = weft_sim(&["replay", "0", "--steps", "5", "--trace"]);
    assert!(text(&output.stderr).contains("NeighbourUp"), "{output:?}");
}

#[test]
fn scenarios_are_listed_and_run_by_name() {
    let list = weft_sim(&["list"]);
    let names: Vec<&str> =
        text(&list.stdout).lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"partitions"), "{names:?}");
    for name in names {
        let output = weft_sim(&["run", name, "--seed", "1", "--steps", "3"]);
        assert!(output.status.success(), "{name}");
    }
}

#[test]
fn a_wrong_command_line_is_one_line_and_status_2() {
    let output = weft_sim(&["replay", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("weft-sim: `nothing` is no seed"), "{output:?}");
}
