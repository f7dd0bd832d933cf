//! What is wrong is said in one line, with the right status.

use crate::process::Weft;

#[test]
fn a_wrong_command_line_or_configuration_is_one_line_and_status_2() {
    for line in [
        "fly",
        "liveliness",
        "--json",
        "sub --kee a",
        "sub -k a//b",
        "sub -k",
        "sub --count 0",
        "sub --duration -1",
        "sub -e localhost:7447",
        "sub -e tcp/localhost",
        "sub -e tcp/localhost:99999",
        "sub -e udp/localhost:7447",
        "sub -e tcp/localhost:7447#bogus=lo",
        "sub -l tcp/127.0.0.1",
        "sub --cfg scouting/multicast/address:'127.0.0.1:7446'",
        "sub --cfg scouting/delay:[1,",
        "sub -m boss",
        "sub -i xyz",
        "sub -c missing.json5",
        "sub --cfg scouting/delays:1",
        "sub --cfg scouting/delay:soon",
        "sub --cfg mode",
        "sub --cfg :{mode:1}",
        "pub --priority 9",
        "get -s a?_filter=( --no-multicast-scouting",
        "get -s a?_time=yesterday --no-multicast-scouting",
        "get --target some",
        "get -o -1",
        "pub --interval -1",
        "router -m client",
        "router -e tcp/localhost --print-config",
        "storage --keys-max 0",
        "ping 99999999999",
        "ping --count 0",
        "completions tcsh",
        "completions bash --json",
        "man --json",
        "bench --case nothing",
        "bench --rounds 0",
        "bench --seconds 0",
        "sub --log x=y=z",
        "bench-role",
        "bench-role router",
        "bench-role pub-thr --listen tcp/127.0.0.1:0",
        "bench-role sub-thr --listen tcp/127.0.0.1:0 --sise 1",
    ] {
        let ended = Weft::run(line);
        assert_eq!((ended.code, ended.stdout.len()), (Some(2), 0), "{line}: {ended:?}");
        assert_eq!(ended.stderr.len(), 1, "{line}: {ended:?}");
        assert!(ended.stderr[0].starts_with("error: "), "{line}: {ended:?}");
    }
}

#[test]
fn the_line_says_what_to_do_instead() {
    let complaint = |line: &str| Weft::run(line).stderr.remove(0);
    assert!(complaint("sub --kee a").contains("'--key'"));
    assert!(complaint("sub --cfg scouting/delays:1").contains("did you mean `scouting/delay`"));
    assert!(complaint("sub --cfg scouting/delay:[1,").contains("`scouting/delay`"));
    assert!(complaint("sub -e tcp/localhost").contains("`host:7447`"));
    assert!(complaint("sub -e udp/localhost:1").contains("tcp, unixsock-stream"));
    assert!(complaint("pub --priority 9").contains("real-time"));
}

#[test]
fn who_cannot_connect_or_listen_says_so_in_one_line_and_status_1() {
    // The discard port: nobody listens there, and nobody but root could.
    let refused = "tcp/127.0.0.1:9";
    for line in [
        format!("put -e {refused}"),
        format!("delete -e {refused}"),
        format!("get -e {refused}"),
        format!("info -e {refused}"),
        format!("liveliness get -e {refused}"),
        format!("sub -m client -e {refused}"),
        format!("pub -m client -e {refused}"),
        // An address of a network that is for documentation only.
        "router -l tcp/192.0.2.77:7447 --no-multicast-scouting".to_owned(),
        "sub -m client --no-multicast-scouting".to_owned(),
    ] {
        let ended = Weft::run(&line);
        assert_eq!((ended.code, ended.stdout.len()), (Some(1), 0), "{line}: {ended:?}");
        assert_eq!(ended.stderr.len(), 1, "{line}: {ended:?}");
        assert!(ended.stderr[0].starts_with("error: "), "{line}: {ended:?}");
    }
    let complaint = Weft::run(&format!("put -e {refused}")).stderr.remove(0);
    assert!(complaint.contains(refused) && complaint.contains("refused"), "{complaint}");
}

#[test]
fn a_peer_goes_on_trying_and_warns() {
    let flags = "-l tcp/127.0.0.1:0 --no-multicast-scouting -e tcp/127.0.0.1:9";
    let ended = Weft::run(&format!("sub {flags} --duration 0.05"));
    assert_eq!((ended.code, ended.complaints().len()), (Some(0), 1), "{ended:?}");
    assert!(ended.complaints()[0].starts_with("warning: "), "{ended:?}");
    let ended = Weft::run(&format!("sub {flags} --duration 0.05 --log off"));
    assert_eq!((ended.code, ended.complaints().len()), (Some(0), 0), "{ended:?}");
    let ended = Weft::run(&format!("sub {flags} --duration 0.05 --log info"));
    assert!(ended.stderr.iter().any(|line| line.contains("session open")), "{ended:?}");
}

#[test]
fn a_log_in_json_is_an_object_a_line_with_the_id_of_the_session() {
    let flags = "-l tcp/127.0.0.1:0 --no-multicast-scouting -e tcp/127.0.0.1:9 -i a1b2";
    let ended = Weft::run(&format!("sub {flags} --duration 0.05 --log debug --log-format json"));
    let lines: Vec<serde_json::Value> =
        ended.stderr.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |text: &str| {
        let is_it = |line: &&serde_json::Value| line["message"].as_str().unwrap().starts_with(text);
        lines.iter().find(is_it).unwrap_or_else(|| panic!("no {text}: {lines:?}"))
    };
    assert_eq!(said("session open")["span"]["zid"], "a1b2");
    assert_eq!(said("session open")["level"], "INFO");
    assert_eq!(said("session closed")["span"]["zid"], "a1b2");
    // Said by another thread.
    let warning = lines.iter().find(|line| line["level"] == "WARN").unwrap();
    assert_eq!(warning["span"]["zid"], "a1b2", "{warning}");
    // The command's own words.
    assert_eq!(said("session a1b2 listens on")["target"], "weft");
    let failed = Weft::run("sub -e tcp/localhost --log-format json");
    assert_eq!(failed.code, Some(2));
    let line: serde_json::Value = serde_json::from_str(&failed.stderr[0]).unwrap();
    assert_eq!(line["level"], "ERROR");
}

/// For longer than any test takes, and where nobody listens.
const OPENING: &str =
    "-m client -e tcp/127.0.0.1:9 --cfg connect/timeout_ms:-1 --no-multicast-scouting";

#[test]
fn the_time_of_a_command_runs_while_its_session_opens() {
    for command in ["sub", "get", "info --watch"] {
        let begin = std::time::Instant::now();
        let ended = Weft::run(&format!("{command} {OPENING} --duration 1"));
        assert!(begin.elapsed().as_secs_f64() >= 1.0, "{command}: {ended:?}");
        assert_eq!((ended.code, ended.stdout.len()), (Some(1), 0), "{command}: {ended:?}");
        let error = ended.stderr.last().unwrap();
        assert!(error.starts_with("error: no session within "), "{command}: {ended:?}");
    }
}

#[test]
fn ctrl_c_ends_a_command_whose_session_does_not_open() {
    for command in ["sub", "get", "put"] {
        let weft = Weft::start(&format!("{command} {OPENING}"));
        // The first attempt has failed.
        weft.wait_for_error("warning: ");
        let ended = weft.interrupt();
        assert_eq!((ended.code, ended.stdout.len()), (Some(130), 0), "{command}: {ended:?}");
        assert!(ended.complaints().iter().all(|line| line.starts_with("warning: ")), "{ended:?}");
    }
}

#[test]
fn a_client_that_is_told_to_wait_warns() {
    let flags = "-m client -e tcp/127.0.0.1:9 --cfg connect/timeout_ms:300";
    let ended = Weft::run(&format!("sub {flags}"));
    assert_eq!((ended.code, ended.stderr.len()), (Some(1), 2), "{ended:?}");
    assert!(ended.stderr[0].starts_with("warning: "), "{ended:?}");
    assert!(ended.stderr[1].starts_with("error: "), "{ended:?}");
}

#[test]
fn the_environment_is_read_with_care() {
    let run = |name, value| {
        Weft::start_in(&[(name, value)], "put -k a -p 1 --no-multicast-scouting").ended()
    };
    let ended = run("WEFT_CONFIG", "");
    assert_eq!((ended.code, ended.stderr.len()), (Some(0), 0), "{ended:?}");
    let ended = run("WEFT_CONFIG", "missing.json5");
    assert_eq!((ended.code, ended.stderr.len()), (Some(2), 1), "{ended:?}");
    assert!(ended.stderr[0].contains("WEFT_CONFIG"), "{ended:?}");
    let ended = run("RUST_LOG", "x=y=z");
    assert_eq!((ended.code, ended.stderr.len()), (Some(0), 1), "{ended:?}");
    assert!(ended.stderr[0].starts_with("warning: RUST_LOG"), "{ended:?}");
}

#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let command = format!(
        "'{}' put -k a -p 1 --no-multicast-scouting >/dev/full",
        env!("CARGO_BIN_EXE_weft")
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains("standard output"), "{complaint}");
}

#[test]
fn nobody_who_answers_a_ping_is_a_failure() {
    let flags = "-l tcp/127.0.0.1:0 --no-multicast-scouting";
    let ended = Weft::run(&format!("ping {flags}"));
    assert_eq!((ended.code, ended.complaints().len()), (Some(1), 1), "{ended:?}");
    assert!(ended.complaints()[0].contains("nobody answers"), "{ended:?}");
}
