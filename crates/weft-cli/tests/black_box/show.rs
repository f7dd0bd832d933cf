//! `weft demo`.

use crate::process::Weft;

#[test]
fn the_demo_tells_its_story_and_ends_well() {
    let ended = Weft::run("demo");
    assert_eq!(ended.stderr.len(), 0, "{ended:?}");
    let lines = ended.ok();
    let has =
        |text: &str| assert!(lines.iter().any(|line| line.contains(text)), "{text}: {lines:?}");
    for section in ["1. A router", "2. Publish", "3. Store and query", "4. Liveliness", "5. Speed"]
    {
        has(section);
    }
    has(r#"PUT demo/home/bedroom: {"battery":87,"celsius":18.2}"#);
    has(r#"PUT demo/home/thermostat: {"celsius":20.5,"mode":"auto"}"#);
    has(r#"PUT demo/home/kitchen: {"celsius":21.9}"#);
    has("ALIVE demo/alive/robot");
    has("GONE demo/alive/robot");
    has("messages/s through the router");
    has("median round trip between two peers");
}

#[test]
fn the_demo_as_json_has_the_same_results() {
    let lines = Weft::run("demo --json").json();
    let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((count("step"), count("sample"), count("token")), (5, 4, 2), "{lines:?}");
    // Everything, and what is warm.
    assert_eq!(count("reply"), 4 + 3, "{lines:?}");
    assert_eq!(count("measure"), 4);
    let measures = lines.iter().filter(|line| line["type"] == "measure");
    for measure in measures {
        assert!(measure["value"].as_f64().unwrap() > 0.0, "{measure}");
    }
}

#[test]
fn the_demo_stays_if_asked_and_can_be_joined() {
    let demo = Weft::start("demo --stay");
    demo.wait_for("6. Join");
    let line = demo.wait_for("   ");
    let line = demo.wait_for("   ") + &line;
    let endpoint = line.split_whitespace().find(|word| word.starts_with("tcp/")).unwrap();
    let sub = Weft::run(&format!("sub -m client -e {endpoint} -k demo/home/** --count 1")).ok();
    assert!(sub.last().unwrap().starts_with("PUT demo/home/"), "{sub:?}");
    let alive = Weft::run(&format!("liveliness get -e {endpoint} -k demo/alive/**")).ok();
    assert_eq!(alive, ["ALIVE demo/alive/robot"]);
    assert_eq!(demo.interrupt().code, Some(0));
}
