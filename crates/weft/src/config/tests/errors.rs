//! What is refused, and how that is told.

use super::super::*;
use super::{error, json5, with};

#[test]
fn unknown_keys_name_the_nearest_and_the_place() {
    assert_eq!(
        error("{\n  listen: {\n    endpoint: [],\n  },\n}"),
        "3:15: unknown key `listen/endpoint`; did you mean `listen/endpoints`?"
    );
    assert_eq!(error("{ scoutin: {} }"), "1:12: unknown key `scoutin`; did you mean `scouting`?");
    assert_eq!(
        error("{ listen: { endpoints: { rooter: [] } } }"),
        "1:34: unknown key `listen/endpoints/rooter`; did you mean `listen/endpoints/router`?"
    );
    assert_eq!(
        error("{ connect: { endpoints: [{ locator: [] }] } }"),
        "1:37: unknown key `connect/endpoints/0/locator`; did you mean `connect/endpoints/0/locators`?"
    );
    let config = Config::default();
    for result in [
        config.json("mode/x"),
        config.effective_json("listen/endpoints/x"),
        config.json("transport/lnk"),
        config.json("mode/"),
    ] {
        assert!(matches!(result.unwrap_err().kind(), ConfigErrorKind::UnknownKey { .. }));
    }
    let removed = Config::default().remove("nowhere").unwrap_err();
    assert!(matches!(removed.kind(), ConfigErrorKind::UnknownKey { .. }));
    assert!(Config::from_json5("{'': 1}").is_err());
}

#[test]
fn values_of_another_type_tell_what_is_expected() {
    assert_eq!(
        error("{ scouting: { delay: '5' } }"),
        "1:22: `scouting/delay` is a string; expected an integer from 0"
    );
    assert_eq!(error("{ scouting: 5 }"), "1:13: `scouting` is an integer; expected an object");
    assert_eq!(error("[]"), "1:1: the configuration is a list; expected an object");
    assert_eq!(
        error("{ connect: { endpoints: 'tcp/a:1' } }"),
        "1:25: `connect/endpoints` is a string; expected a list of endpoints, such as [\"tcp/localhost:7447\"]"
    );
    let mut config = Config::default();
    let error = config.insert_json5("transport/link/tx/queue/size", "{\n data: 2.5 }").unwrap_err();
    assert_eq!(
        error.to_string(),
        "2:8: `transport/link/tx/queue/size/data` is a number with a fraction; expected an integer from 1 to 16"
    );
    assert_eq!(
        (error.path(), error.line_and_column()),
        (Some("transport/link/tx/queue/size/data"), Some((2, 8)))
    );
}

#[test]
fn values_are_checked() {
    let refused = [
        ("transport/link/tx/batch_size", "65536"),
        ("transport/link/tx/batch_size", "255"),
        ("transport/link/tx/queue/size/data", "0"),
        ("transport/link/tx/queue/size/data", "17"),
        ("connect/timeout_ms", "-2"),
        ("connect/retry/period_increase_factor", "0.9"),
        ("transport/link/tx/sequence_number_resolution", "'24bit'"),
        ("id", "'0a'"),
        ("id", "'A1'"),
        ("id", "''"),
        ("id", "'123456789012345678901234567890123'"),
        ("namespace", "'a/**'"),
        ("namespace", "'/a'"),
        ("aggregation/subscribers", "['a//b']"),
        ("connect/endpoints", "['tcp']"),
        ("connect/endpoints", "[{strategy: 'some', locators: []}]"),
        ("connect/endpoints", "[{strategy: 'allOf'}]"),
        ("listen/endpoints", "[{locators: ['tcp/a:1']}]"),
        ("scouting/multicast/address", "'224.0.0.224'"),
        ("scouting/multicast/autoconnect", "['rooter']"),
        ("scouting/multicast/autoconnect", "'router|'"),
        ("scouting/gossip/target", "['client']"),
        ("region_name", "''"),
        ("gateway/south", "'manual'"),
        ("mode", "'broker'"),
        ("plugins", "[]"),
        ("transport/link/protocols", "['tcp', 1]"),
    ];
    for (path, text) in refused {
        let mut config = Config::default();
        let error = config.insert_json5(path, text).unwrap_err();
        let expected = matches!(
            error.kind(),
            ConfigErrorKind::InvalidValue { .. } | ConfigErrorKind::WrongType { .. }
        );
        assert!(expected, "{path} {text}: {error}");
        assert_eq!(config, Config::default());
    }
    let accepted = [
        ("id", "'12345678901234567890123456789012'"),
        ("connect/endpoints", "['tcp/a:1?rel=1#so_sndbuf=5']"),
        ("scouting/multicast/autoconnect", "'router|peer'"),
        ("scouting/multicast/autoconnect", "''"),
        ("scouting/multicast/address", "'[ff02::224]:7446'"),
        ("namespace", "'a/@b'"),
        ("mode", "null"),
    ];
    for (path, text) in accepted {
        with(path, text);
    }
}

#[test]
fn contradictions_are_found_when_everything_is_known() {
    let config = json5("{ connect: { retry: { period_max_ms: { client: 10 } } }, mode: 'client' }");
    let error = config.effective().unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid `connect/retry/period_max_ms`: it is less than period_init_ms"
    );
}

/// What is tried together is tried in one way.
#[test]
fn endpoints_of_one_neighbour_agree_on_how_they_are_tried() {
    let mut config = json5(
        "{ connect: { endpoints: ['tcp/a:1#exit_on_failure=true', 'tcp/b:1#retry_period_init_ms=20'] } }",
    );
    let neighbours = config.effective().unwrap().connect.neighbours;
    let own =
        neighbours.iter().map(|it| (it.attempts.exit_on_failure, it.attempts.retry.period_init));
    let ms = core::time::Duration::from_millis;
    assert_eq!(own.collect::<Vec<_>>(), [(true, ms(1000)), (false, ms(20))]);

    config.set_mode(WhatAmI::Client);
    let error = config.effective().unwrap_err().to_string();
    assert!(error.starts_with("invalid `connect/endpoints`: `tcp/b:1#"), "{error}");
    assert!(error.contains("together with `tcp/a:1#"), "{error}");
    config.set_mode(WhatAmI::Peer);
    let group = "[{locators: ['tcp/a:1', 'tcp/b:1#exit_on_failure=true']}]";
    config.insert_json5("connect/endpoints", group).unwrap();
    assert!(config.effective().is_err());
    config.insert_json5("connect/exit_on_failure", "true").unwrap();
    assert!(config.effective().unwrap().connect.neighbours[0].attempts.exit_on_failure);
}

#[test]
fn endpoints_keep_to_the_protocols_that_may_be_used() {
    let mut config = json5("{ transport: { link: { protocols: ['unixsock-stream'] } } }");
    assert_eq!(
        config.effective().unwrap_err().to_string(),
        "invalid `transport/link/protocols`: `tcp/[::]:0` needs another one"
    );
    config.insert_json5("listen/endpoints", "['unixsock-stream/a']").unwrap();
    assert!(config.effective().is_ok());
    config.insert_json5("connect/endpoints", "['unixsock-stream/b', 'tcp/c:1']").unwrap();
    assert!(config.effective().unwrap_err().to_string().contains("`tcp/c:1`"));
}

#[test]
fn entries_about_publications_are_checked() {
    let complaint = |entry: &str| error(&format!("{{ qos: {{ publication: [{entry}] }} }}"));
    for (entry, part) in [
        ("{config: {}}", "an entry needs `key_exprs`"),
        ("{key_exprs: ['a']}", "an entry needs `config`"),
        ("{key_exprs: ['a//b'], config: {}}", "`qos/publication/0/key_exprs/0`"),
        ("{key_exprs: ['a'], config: {priority: 'control'}}", "there is no `control`"),
        (
            "{key_exprs: ['a'], config: {prio: 'data'}}",
            "did you mean `qos/publication/0/config/priority`",
        ),
        (
            "{key_exprs: ['a'], config: {express: 1}}",
            "`qos/publication/0/config/express` is an integer",
        ),
    ] {
        let complaint = complaint(entry);
        assert!(complaint.contains(part), "{entry}: {complaint}");
    }
}

/// The form of an entry, and how entries fit together.
#[test]
fn rules_are_checked_where_they_are_wrong() {
    let complaint = |text: &str| match Config::from_json5(text) {
        Err(error) => error.to_string(),
        Ok(config) => config.effective().unwrap_err().to_string(),
    };
    let access = |rules: &str, subjects: &str, policies: &str| {
        let lists = format!("rules: [{rules}], subjects: [{subjects}], policies: [{policies}]");
        complaint(&format!("{{ access_control: {{ enabled: true, {lists} }} }}"))
    };
    const RULE: &str = "{id: 'r', key_exprs: ['a'], messages: ['put'], permission: 'deny'}";
    for (complaint, part) in [
        (
            complaint("{access_control: {enabled: true}}"),
            "`access_control/rules`: access control is",
        ),
        (access("{id: 'r'}", "", ""), "an entry needs `key_exprs`"),
        (access(&RULE.replace("put", "push"), "", ""), "rules/0/messages/0`: there is no `push`"),
        (access(&RULE.replace("'deny'", "'no'"), "", ""), "expected \"allow\" or \"deny\""),
        (access(&RULE.replace("permission", "permision"), "", ""), "rules/0/permission`?"),
        (access(&format!("{RULE}, {RULE}"), "", ""), "rules/1/id`: another entry is called `r`"),
        (access("", "{id: 's', zids: ['XY']}", ""), "`access_control/subjects/0/zids/0`"),
        (access("", "{id: 's', zids: []}", ""), "subjects/0/zids`: the list is empty"),
        (access("", "{id: 's', link_protocols: ['tpc']}", ""), "there is no `tpc`"),
        (
            access(RULE, "{id: 's'}", "{rules: ['x'], subjects: ['s']}"),
            "there is no `x`; there is `r`",
        ),
        (
            complaint("{downsampling: [{messages: ['put'], rules: [{key_expr: 'a', freq: -1}]}]}"),
            "`downsampling/0/rules/0/freq`: it is negative; expected a number from 0",
        ),
        (complaint("{downsampling: [{messages: ['put'], rules: []}]}"), "`downsampling/0/rules`"),
        (
            complaint("{low_pass_filter: [{messages: [], key_exprs: ['a'], size_limit: 1}]}"),
            "`low_pass_filter/0/messages`: the list is empty",
        ),
        (
            complaint("{qos: {network: [{messages: ['reply'], overwrite: {express: true}}]}}"),
            "there is no `reply`",
        ),
        (
            complaint("{qos: {network: [{messages: ['put'], overwrite: {priority: 8}}]}}"),
            "8 is out of range; expected \"real_time\"",
        ),
        (
            complaint(
                "{qos: {network: [{messages: ['put'], overwrite: {}, payload_size: '1-2'}]}}",
            ),
            "two numbers of bytes",
        ),
    ] {
        assert!(complaint.contains(part), "{part}: {complaint}");
    }
}

#[test]
fn a_refused_insertion_changes_nothing() {
    let mut config = with("scouting/delay", "5");
    let before = config.clone();
    assert!(config.insert_json5("scouting", "{ delay: 6, timeout: 'x' }").is_err());
    assert!(config.insert_cli(":{ mode: 5 }").is_err());
    assert_eq!(config, before);
}

#[test]
fn a_string_without_quotes_is_explained() {
    let error = |path, text| Config::default().insert_json5(path, text).unwrap_err().to_string();
    assert_eq!(
        error("mode", "client"),
        "value of `mode`:1:1: expected value; a string needs quotes: \"client\""
    );
    let secret = error("transport/auth/usrpwd/password", "hunter2");
    assert_eq!(
        secret,
        "value of `transport/auth/usrpwd/password`:1:1: expected value; a string needs quotes: \"…\""
    );
    assert_eq!(error("scouting/delay", "soon"), "value of `scouting/delay`:1:1: expected value");
    assert_eq!(error("listen", "{"), "value of `listen`:1:1: EOF parsing object");
}
