//! `weft router`, `weft info` and `weft scout`.

use crate::process::{Weft, router, run_until};

#[test]
fn a_router_says_where_it_listens_and_ends_cleanly_on_ctrl_c() {
    let weft = Weft::start("router -l tcp/127.0.0.1:0 --no-multicast-scouting -i 1f");
    assert_eq!(weft.wait_for("router "), "1f");
    assert!(weft.wait_for("listening on tcp/127.0.0.1:").parse::<u16>().unwrap() > 0);
    let ended = weft.interrupt();
    assert_eq!((ended.code, ended.stderr.len()), (Some(0), 0), "{ended:?}");
}

#[test]
fn a_router_says_the_same_as_json_and_ends_with_its_time() {
    let flags = "-l tcp/127.0.0.1:0 --no-multicast-scouting --cfg id:2e --no-timestamp";
    let lines = Weft::run(&format!("router {flags} --duration 0.05 --json")).json();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["type"], "router");
    assert_eq!(lines[0]["mode"], "router");
    assert_eq!(lines[0]["zid"], "2e");
    assert!(lines[0]["locators"][0].as_str().unwrap().starts_with("tcp/127.0.0.1:"));
}

#[test]
fn the_effective_configuration_is_printed_and_can_be_read_again() {
    let flags = "--no-timestamp --cfg timestamping/drop_future_timestamp:true -e tcp/[::1]:7";
    let printed = Weft::run(&format!("router --print-config {flags}")).ok().join("\n");
    assert!(printed.contains(r#"mode: "router""#) && printed.contains("// "), "{printed}");
    let file = std::env::temp_dir().join(format!("weft-{}.json5", std::process::id()));
    std::fs::write(&file, &printed).unwrap();
    let again = Weft::run(&format!("router --print-config -c {}", file.display()));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(again.ok().join("\n"), printed);
}

#[test]
fn a_flag_of_the_user_beats_no_timestamp() {
    let enabled = |flags: &str| {
        let printed = Weft::run(&format!("router --print-config {flags}")).ok();
        let at = printed.iter().position(|line| line.contains("timestamping: {")).unwrap();
        let line = printed[at..].iter().find(|line| line.trim().starts_with("enabled:")).unwrap();
        line.contains("true")
    };
    assert!(enabled(""));
    assert!(!enabled("--no-timestamp"));
    assert!(enabled("--no-timestamp --cfg timestamping/enabled:true"));
}

#[test]
fn a_known_key_without_effect_is_a_warning() {
    let weft =
        Weft::run("router -l tcp/127.0.0.1:0 --cfg plugins_loading/enabled:true --duration 0");
    assert_eq!(weft.code, Some(0));
    assert_eq!(weft.stderr.len(), 1, "{weft:?}");
    assert!(weft.stderr[0].starts_with("warning: `plugins_loading/enabled`"), "{weft:?}");
}

#[test]
fn info_shows_the_router_as_a_neighbour() {
    let weft = Weft::start("router -l tcp/127.0.0.1:0 --no-multicast-scouting");
    let zid = weft.wait_for("router ");
    let locator = weft.wait_for("listening on ");
    let lines = Weft::run(&format!("info -e {locator}")).ok();
    assert!(lines[0].starts_with("client "), "{lines:?}");
    assert!(lines.contains(&format!("neighbour router {zid}")), "{lines:?}");
    let json = Weft::run(&format!("info -e {locator} --json")).json().remove(0);
    assert_eq!((&json["type"], &json["mode"]), (&"info".into(), &"client".into()));
    let neighbour = &json["neighbours"][0];
    assert_eq!((&neighbour["zid"], &neighbour["whatami"]), (&zid.into(), &"router".into()));
    assert_eq!((&neighbour["shm"], &neighbour["multicast"]), (&false.into(), &false.into()));
    let link = neighbour["links"][0].as_object().unwrap();
    assert!(link["dst"].as_str().unwrap().contains("127.0.0.1"), "{json}");
    for absent in ["group", "auth_identifier", "priorities", "reliability"] {
        assert!(link[absent].is_null(), "{absent}: {json}");
    }
}

#[test]
fn info_watches_neighbours_come_and_go() {
    let flags = "-l tcp/127.0.0.1:0 --no-multicast-scouting --watch --count 2 --json";
    let watching = Weft::start(&format!("info {flags}"));
    let locator = watching.wait_for_json()["locators"][0].as_str().unwrap().to_owned();
    let visitor = Weft::run(&format!("info -e {locator} -i 77 --json")).json();
    assert_eq!(visitor[0]["neighbours"][0]["whatami"], "peer");
    let events = watching.ended().json();
    let words = |field: &str| -> Vec<&str> {
        events.iter().map(|event| event[field].as_str().unwrap()).collect()
    };
    assert_eq!(words("event"), ["opened", "closed"]);
    assert_eq!(words("zid"), ["77", "77"]);
    assert_eq!(words("whatami"), ["client", "client"]);
}

#[test]
fn scouting_finds_a_router_once() {
    // A port of its own keeps other nodes of this machine out.
    let group =
        "--cfg scouting/multicast/address:224.0.0.224:17447 --cfg scouting/multicast/interface:lo";
    let weft = Weft::start(&format!("router -l tcp/127.0.0.1:0 {group}"));
    let zid = weft.wait_for("router ");
    let locator = weft.wait_for("listening on ");
    let line = run_until(&format!("scout -w router --count 1 {group}"), |lines| !lines.is_empty());
    assert_eq!(line, [format!("router {zid} {locator}")]);
    let hellos = Weft::run(&format!("scout --json --duration 1.5 {group}")).json();
    assert_eq!(hellos.len(), 1, "{hellos:?}");
    assert_eq!((&hellos[0]["type"], &hellos[0]["zid"]), (&"hello".into(), &zid.into()));
    assert_eq!(hellos[0]["locators"][0], locator);
}

#[test]
fn the_environment_names_the_configuration() {
    let (_router, client) = router();
    let endpoint = client.split_whitespace().last().unwrap();
    let file = std::env::temp_dir().join(format!("weft-env-{}.yaml", std::process::id()));
    let yaml = format!("mode: client\nconnect:\n  endpoints: ['{endpoint}']\n");
    std::fs::write(&file, yaml).unwrap();
    let path = file.to_str().unwrap();
    let info = |variables: &[(&str, &str)]| Weft::start_in(variables, "info --json").ended().json();
    let ours = info(&[("WEFT_CONFIG", path), ("ZENOH_CONFIG", "missing.json5")]);
    let theirs = info(&[("ZENOH_CONFIG", path)]);
    std::fs::remove_file(&file).unwrap();
    for json in [&ours[0], &theirs[0]] {
        assert_eq!(
            (&json["mode"], json["neighbours"].as_array().unwrap().len()),
            (&"client".into(), 1)
        );
    }
}
