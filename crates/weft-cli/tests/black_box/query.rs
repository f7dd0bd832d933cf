//! `weft get`, `weft queryable` and `weft storage`.

use serde_json::json;

use crate::process::{Weft, router, run_until, run_until_ended};

#[test]
fn a_queryable_answers_and_shows_what_was_asked() {
    let (_router, client) = router();
    let queryable = Weft::start(&format!("queryable -k a/b -p 42 --encoding text/plain {client}"));
    queryable.wait_for_error("answering for 'a/b'");
    let get = format!("get -s a/*?x=1 -p why {client}");
    let replies = run_until(&get, |lines| !lines.is_empty());
    assert_eq!(replies, ["PUT a/b: 42 [text/plain]"]);
    assert_eq!(queryable.wait_for("QUERY "), "a/*?x=1: why");
    let reply =
        Weft::run(&format!("{get} --json --target all --consolidation none")).json().remove(0);
    assert_eq!((&reply["type"], &reply["key"]), (&"reply".into(), &"a/b".into()));
    assert_eq!((&reply["payload"], &reply["encoding"]), (&"42".into(), &"text/plain".into()));
    assert!(reply["replier"]["zid"].is_string(), "{reply}");
    assert_eq!(queryable.interrupt().code, Some(0));
}

#[test]
fn queries_are_shown_as_json_and_counted() {
    let (_router, client) = router();
    let queryable = Weft::start(&format!("queryable -k q --count 1 --json {client}"));
    queryable.wait_for_error("answering");
    run_until(&format!("get -s q?k=v -p hi --attachment by {client}"), |lines| !lines.is_empty());
    let expected = json!({
        "type": "query",
        "key": "q",
        "parameters": "k=v",
        "payload": "hi",
        "encoding": "zenoh/bytes",
        "attachment": "by",
    });
    assert_eq!(queryable.ended().json(), [expected]);
}

#[test]
fn replies_on_other_keys_are_for_those_who_accept_them() {
    let (_router, client) = router();
    let queryable = Weft::start(&format!("queryable -k a/** {client}"));
    queryable.wait_for_error("answering");
    let any = run_until(&format!("get -s a/b --accept-any {client}"), |lines| !lines.is_empty());
    assert_eq!(any, ["PUT a/**: Queryable from Weft!"]);
}

#[test]
fn a_question_that_nobody_can_answer_ends_at_once_and_well() {
    let (_router, client) = router();
    assert_eq!(Weft::run(&format!("get -s nobody/** {client}")).ok(), [""; 0]);
}

#[test]
fn the_end_of_the_time_is_a_failure() {
    let (_router, client) = router();
    let queryable = Weft::start(&format!("queryable -k slow {client}"));
    queryable.wait_for_error("answering");
    run_until(&format!("get -s slow {client}"), |lines| !lines.is_empty());
    stop(&queryable);
    let ended = Weft::run(&format!("get -s slow -o 0.2 {client}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    // The session says so itself, and the router may say it at the same moment.
    let are_timeouts = ended.stdout.iter().all(|line| line == "ERROR: Timeout");
    assert!(are_timeouts && !ended.stdout.is_empty(), "{ended:?}");
    assert_eq!(ended.stderr.len(), 1, "{ended:?}");
    let ended = Weft::run(&format!("get -s slow -o 0.2 --json {client}"));
    assert!(ended.stdout[0].contains(r#""timeout":true"#), "{ended:?}");
}

#[test]
fn several_are_to_agree_or_to_have_it() {
    let (_router, client) = router();
    let storages = [0; 2].map(|_| Weft::start(&format!("storage -k q/** {client}")));
    for storage in &storages {
        storage.wait_for_error("storing");
    }
    run_until(&format!("put -k q/k -p first --quorum 2 -o 0.2 {client}"), |lines| {
        !lines.is_empty()
    });
    let put = Weft::run(&format!("put -k q/k -p value --quorum 2 --json {client}")).json();
    assert_eq!(put, [json!({ "type": "put", "key": "q/k", "payload": "value" })]);
    assert_eq!(Weft::run(&format!("get -s q/k --quorum 2 {client}")).ok(), ["PUT q/k: value"]);
    let agreed = Weft::run(&format!("get -s q/** --quorum 2 --json {client}")).json().remove(0);
    let fields = (&agreed["type"], &agreed["key"], &agreed["payload"]);
    assert_eq!(fields, (&"agreed".into(), &"q/k".into(), &"value".into()));

    let ended = Weft::run(&format!("put -k q/k -p value --quorum 3 -o 0.1 {client}"));
    assert_eq!((ended.code, ended.stdout.len()), (Some(1), 0), "{ended:?}");
    assert!(ended.stderr[0].contains("2 of 3 repliers agree, 2 answered"), "{ended:?}");
    let ended = Weft::run(&format!("get -s q/k --quorum 3 {client}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let ended = Weft::run(&format!("get -s q/k --quorum 3 --duration 60 -o 60 {client}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");

    let lonely = Weft::start(&format!("queryable -k q/lonely {client}"));
    lonely.wait_for_error("answering");
    let get = format!("get -s q/** --quorum 2 {client}");
    let lines = run_until_ended(&get, |ended| ended.stdout.len() == 2);
    assert_eq!(lines.stdout, ["PUT q/k: value", "SHORT q/lonely: 1 of 2"]);
    assert_eq!(lines.code, Some(1));
    for wrong in ["get --quorum 0", "get --quorum 2 --target all", "put -o 1", "put --quorum x"] {
        assert_eq!(Weft::run(wrong).code, Some(2), "{wrong}");
    }
}

#[test]
fn a_cover_is_wanted_and_had_or_not() {
    let (_router, client) = router();
    let queryable = Weft::start(&format!("queryable -k a/b --complete {client}"));
    queryable.wait_for_error("answering");
    let covered = format!("get -s a/b --cover nearest {client}");
    let covered = run_until_ended(&covered, |ended| ended.code == Some(0));
    assert_eq!(covered.stdout, ["PUT a/b: Queryable from Weft!"]);
    let refused = Weft::run(&format!("get -s a/* --cover all {client}"));
    assert_eq!((refused.code, refused.stdout.len()), (Some(1), 0), "{refused:?}");
    assert!(refused.stderr[0].contains("no complete queryable covers `a/*`"), "{refused:?}");
    stop(&queryable);
    let mute = Weft::run(&format!("get -s a/b --cover all -o 0.2 {client}"));
    assert_eq!(mute.code, Some(1), "{mute:?}");
    assert_eq!(Weft::run("get --cover all --target all").code, Some(2));
}

/// A process that is stopped receives and answers nothing, and its connection stays.
pub(crate) fn stop(weft: &Weft) {
    let stop = format!("kill -STOP {}", weft.id());
    assert!(std::process::Command::new("sh").args(["-c", &stop]).status().unwrap().success());
}

#[test]
fn a_storage_keeps_the_newest_values_and_forgets_what_is_deleted() {
    let (_router, client) = router();
    let storage = Weft::start(&format!("storage -k home/** {client}"));
    storage.wait_for_error("storing 'home/**'");
    let publish = |key: &str, payload: &str| {
        let flags = "--encoding application/json --count 1 --interval 0 --wait";
        Weft::run(&format!("pub -k {key} -p {payload} {flags} {client}")).ok();
        storage.wait_for(&format!("PUT {key}: {payload}"));
    };
    publish("home/1", r#"{"t":20}"#);
    publish("home/2", r#"{"t":30,"u":1}"#);
    publish("home/3", r#"{"t":40}"#);
    publish("home/1", r#"{"t":25}"#);
    let get = |selector: &str| {
        let mut lines = Weft::run(&format!("get -s {selector} {client}")).ok();
        lines.sort();
        lines.iter().map(|line| line.replace(" [application/json]", "")).collect::<Vec<_>>()
    };
    run_until(&format!("get -s home/** {client}"), |lines| lines.len() == 3);
    let all =
        [r#"PUT home/1: {"t":25}"#, r#"PUT home/2: {"t":30,"u":1}"#, r#"PUT home/3: {"t":40}"#];
    assert_eq!(get("home/**"), all);
    assert_eq!(get("home/2?_project=u"), [r#"PUT home/2: {"u":1}"#]);
    assert_eq!(get("home/*?_filter=t>28"), all[1..]);
    // The newest one is the first key's second value.
    assert_eq!(get("home/*?_max=1"), all[..1]);
    assert_eq!(get("home/*?_time=[now(-1h)..]"), all);
    assert_eq!(get("home/*?_time=[..now(-1h)]"), [""; 0]);

    Weft::run(&format!("delete -k home/3 {client}")).ok();
    storage.wait_for("DELETE home/3");
    assert_eq!(get("home/**"), all[..2]);
    let reply = Weft::run(&format!("get -s home/1 --json {client}")).json().remove(0);
    assert!(reply["timestamp"].is_string(), "{reply}");
    assert_eq!(storage.interrupt().code, Some(0));
}
