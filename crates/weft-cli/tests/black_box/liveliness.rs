//! `weft liveliness`.

use serde_json::json;

use crate::process::{Weft, router, run_until};

#[test]
fn a_token_is_seen_to_come_to_be_there_and_to_go() {
    let (_router, client) = router();
    let watcher = Weft::start(&format!("liveliness sub -k g/** --count 2 {client}"));
    watcher.wait_for_error("watching tokens of 'g/**'");
    let token = Weft::start(&format!("liveliness token -k g/me {client}"));
    token.wait_for_error("token 'g/me' is alive");
    watcher.wait_for("ALIVE g/me");
    let alive = run_until(&format!("liveliness get -k g/* {client}"), |lines| !lines.is_empty());
    assert_eq!(alive, ["ALIVE g/me"]);
    let history =
        Weft::run(&format!("liveliness sub -k g/* --history --count 1 --json {client}")).json();
    assert_eq!(history, [json!({ "type": "token", "alive": true, "key": "g/me" })]);
    let alive = Weft::run(&format!("liveliness get -k g/* --json {client}")).json();
    assert_eq!(alive, history);

    assert_eq!(token.interrupt().code, Some(0));
    assert_eq!(watcher.ended().ok(), ["GONE g/me"]);
    assert_eq!(Weft::run(&format!("liveliness get -k g/* {client}")).ok(), [""; 0]);
}

#[test]
fn a_token_goes_with_the_process_that_has_it() {
    let (_router, client) = router();
    let watcher = Weft::start(&format!("liveliness sub -k g/** --count 2 --json {client}"));
    watcher.wait_for_error("watching");
    let token = Weft::start(&format!("liveliness token -k g/killed {client}"));
    assert_eq!(watcher.wait_for_json()["alive"], true);
    // Killed: no farewell.
    drop(token);
    assert_eq!(
        watcher.ended().json(),
        [json!({ "type": "token", "alive": false, "key": "g/killed" })]
    );
}
