//! `weft check-config`.

use std::path::PathBuf;

use crate::process::Weft;

/// A configuration file that is gone after the test.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weft-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn check(&self, options: &str) -> crate::process::Ended {
        Weft::run(&format!("check-config {} {options}", self.0.display()))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const RULES: &str = "{
    access_control: {
        enabled: true,
        rules: [
            {id: 'all', key_exprs: ['**'], messages: ['put', 'declare_subscriber'], permission: 'allow'},
            {id: 'vault', key_exprs: ['secret/**'], messages: ['put'], flows: ['ingress'], permission: 'deny'},
            {id: 'lonely', key_exprs: ['x'], messages: ['put'], permission: 'deny'},
        ],
        subjects: [{id: 'everybody'}, {id: 'ann', usernames: ['ann']}],
        policies: [{rules: ['all', 'vault'], subjects: ['everybody', 'ann']}],
    },
    downsampling: [{messages: ['put'], rules: [{key_expr: 'a/**', freq: 5}, {key_expr: 'a/b', freq: 1}]}],
    low_pass_filter: [{messages: ['put'], flows: ['egress'], key_exprs: ['a/**'], size_limit: 4}],
    qos: {network: [{messages: ['put'], key_exprs: ['a/**'], overwrite: {priority: -2}}]},
    plugins_loading: {enabled: true},
}";

#[test]
fn every_rule_is_explained_and_what_is_odd_is_warned_of() {
    let lines = File::new("rules.json5", RULES).check("").ok();
    let has = |text: &str| assert!(lines.iter().any(|line| line == text), "{text}: {lines:#?}");
    has("access_control/default_permission: what no rule is about is denied");
    has(
        "access_control/rules/1: rule `vault` denies put coming in on keys that may touch `secret/**`",
    );
    has("access_control/subjects/0: subject `everybody` is every neighbour");
    has("access_control/policies/0: policy applies `all` and `vault` to `everybody` and `ann`");
    has(
        "downsampling/0: of put both ways, lets through at most 5 a second on `a/**`, at most 1 a second on `a/b`",
    );
    has("low_pass_filter/0: drops put going out on keys within `a/**` above 4 bytes");
    has("qos/network/0: changes put on keys within `a/**` both ways: a priority 2 more urgent");
    has("warning: `plugins_loading/enabled` is known, but Weft does not act on it yet");
    has("warning: access_control/rules/2: rule `lonely` is in no policy and has no effect");
    has(
        "warning: access_control/subjects/1: it never matches: neighbours of this node prove no names yet",
    );
    has(
        "warning: downsampling/0/rules/1: it never counts: `a/**` of rule 0 takes all of `a/b`, and the first rule counts",
    );
    assert!(
        lines.last().unwrap().ends_with("can be used by a router; rules: 10, warnings: 4"),
        "{lines:#?}"
    );
}

#[test]
fn json_tells_the_same() {
    let lines = File::new("rules-json.json5", RULES).check("--json").json();
    let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((count("rule"), count("warning"), count("checked")), (10, 4, 1), "{lines:#?}");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["mode"], &last["rules"], &last["warnings"]),
        (&"router".into(), &10.into(), &4.into())
    );
    assert!(lines.iter().any(|line| line["path"] == "access_control/rules/1"), "{lines:#?}");
}

#[test]
fn a_file_that_cannot_be_used_is_one_line_and_status_2() {
    for (name, text, complaint) in [
        ("unknown.json5", "{acess_control: {}}", "did you mean `access_control`"),
        ("missing.json5", "{access_control: {enabled: true}}", "`access_control/rules`"),
        (
            "dangling.yaml",
            "access_control: {enabled: true, rules: [], subjects: [], policies: [{rules: [r], subjects: [s]}]}",
            "there is no `r`",
        ),
        ("broken.json5", "{", ".json5:1:"),
    ] {
        let ended = File::new(name, text).check("");
        assert_eq!(
            (ended.code, ended.stdout.len(), ended.stderr.len()),
            (Some(2), 0, 1),
            "{ended:?}"
        );
        assert!(ended.stderr[0].starts_with("error: "), "{ended:?}");
        assert!(ended.stderr[0].contains(complaint) && ended.stderr[0].contains(name), "{ended:?}");
    }
    assert_eq!(Weft::run("check-config missing-file.json5").code, Some(2));
    assert_eq!(Weft::run("check-config").code, Some(2));
}
