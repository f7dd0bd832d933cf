//! Reading files and YAML, and printing.

use std::fmt::Write;

use super::super::table::KEYS;
use super::super::*;
use super::json5;

#[test]
fn yaml_reads_as_json5_does() {
    let yaml = "
# comment
mode: client
id: 'a1'
connect: &shared
  endpoints: [tcp/a:1, \"tcp/b:2\"]
  timeout_ms: {client: -1}
metadata: {list: [~, yes, 0x1F, +5, .5, 1.5e3, !!str 7, null], empty:, text: |
    two
    lines
  }
scouting: {multicast: {enabled: False, ttl: 3}}
";
    let expected = json5(
        "{ mode: 'client', id: 'a1', connect: { endpoints: ['tcp/a:1', 'tcp/b:2'], timeout_ms: { client: -1 } },
           scouting: { multicast: { enabled: false, ttl: 3 } } }",
    );
    let mut config =
        Config::from_yaml(&yaml.replace(", text: |\n    two\n    lines\n  }", "}")).unwrap();
    let metadata = r#"{"list":[null,"yes",31,5,".5",1500.0,"7",null],"empty":null}"#;
    assert_eq!(config.json("metadata").unwrap(), metadata);
    config.remove("metadata").unwrap();
    assert_eq!(config, expected);
    assert_eq!(Config::from_yaml("# nothing"), Ok(Config::default()));
    let aliased = "listen: {retry: &retry {period_init_ms: 5}}\nconnect: {retry: *retry}";
    assert_eq!(
        Config::from_yaml(aliased).unwrap().json("connect/retry/period_init_ms").unwrap(),
        "5"
    );
}

#[test]
fn errors_in_yaml_tell_the_place() {
    let error = |text: &str| Config::from_yaml(text).unwrap_err().to_string();
    assert_eq!(
        error("mode: client\nlisten:\n  endpoint: []\n"),
        "3:13: unknown key `listen/endpoint`; did you mean `listen/endpoints`?"
    );
    assert_eq!(
        error("scouting:\n  delay: x\n"),
        "2:10: `scouting/delay` is a string; expected an integer from 0"
    );
    assert!(error("id: 12").starts_with("1:5: `id` is an integer; expected a string"));
    assert!(error("mode: [").starts_with("2:1: while parsing a node"));
    assert_eq!(error("mode: peer\n---\nmode: peer\n"), "2:1: more than one document");
    assert_eq!(error("metadata: &a [*a]"), "1:15: an alias of a value that contains it");
    assert_eq!(error("? [a]\n: b"), "1:3: expected a name");
}

#[test]
fn yaml_cannot_grow_without_limit() {
    let mut text = String::from("metadata:\n  a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for level in 1..10 {
        let below = format!("*a{}", level - 1);
        writeln!(text, "  a{level}: &a{level} [{}]", vec![below; 10].join(", ")).unwrap();
    }
    assert!(Config::from_yaml(&text).unwrap_err().to_string().ends_with("too many values"));
    let deep = format!("metadata: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Config::from_yaml(&deep).is_err());
    assert!(Config::from_json5(&deep.replace("metadata", "{metadata")).is_err());
}

#[test]
fn the_ending_of_a_file_tells_its_syntax() {
    let directory = std::env::temp_dir().join(format!("weft-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let expected = Ok(json5("{mode: 'router'}"));
    let json5 = file("a.json5", "{mode: 'router'}");
    assert_eq!(Config::from_file(&json5), expected);
    assert_eq!(Config::from_file(file("a.json", "{\"mode\": \"router\"}")), expected);
    assert_eq!(Config::from_file(file("a.yaml", "mode: router")), expected);
    assert_eq!(Config::from_file(file("a.yml", "mode: router")), expected);
    assert!(
        Config::from_file(file("a.toml", "mode = 'router'"))
            .unwrap_err()
            .to_string()
            .contains("ends with .json5")
    );
    let wrong = file("wrong.json5", "{\n mode: 5 }");
    let shown = format!(
        "{}:2:8: `mode` is an integer; expected \"router\" or \"peer\" or \"client\"",
        wrong.display()
    );
    assert_eq!(Config::from_file(&wrong).unwrap_err().to_string(), shown);
    let missing = Config::from_file(directory.join("missing.json5")).unwrap_err();
    assert!(
        matches!(missing.kind(), ConfigErrorKind::Unreadable { .. }) && missing.file().is_some()
    );

    let from = |set: &[(&str, &Path)]| {
        Config::from_variables(|name| {
            let found = set.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, path)| path.as_os_str().to_owned())
        })
    };
    assert_eq!(from(&[("ZENOH_CONFIG", &json5)]), expected);
    assert_eq!(from(&[("ZENOH_CONFIG", &wrong), ("WEFT_CONFIG", &json5)]), expected);
    assert_eq!(from(&[]).unwrap_err().kind(), &ConfigErrorKind::NoFileInEnvironment);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn secrets_are_not_displayed() {
    let config = json5(
        "{ transport: { auth: { usrpwd: { user: 'me', password: 'hunter2' } } },
           plugins: { rest: { private: { token: 'hunter2' }, list: [{ private: 'hunter2' }], port: 1 } } }",
    );
    for shown in
        [config.to_string(), config.print_config(), config.print_json(), format!("{config:?}")]
    {
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("***"));
    }
    assert!(config.to_string().contains(r#""user":"me","password":"***""#));
    assert_eq!(config.json("transport/auth/usrpwd/password").unwrap(), r#""hunter2""#);
    let error = Config::default().insert_json5("transport/auth/usrpwd/password", "5").unwrap_err();
    assert!(!error.to_string().contains('5'));
}

#[test]
fn the_printed_configuration_is_effective_and_commented() {
    let mut config = json5(
        "{ connect: { endpoints: { router: ['tcp/a:1'] } }, stats: { filters: [{key: 'a'}] }, metadata: {a: 'b'} }",
    );
    for mode in WhatAmI::ALL {
        config.set_mode(mode);
        let printed = config.print_config();
        let again = Config::from_json5(&printed).unwrap();
        assert_eq!(again.effective(), config.effective());
        assert_eq!(again.to_string(), config.to_string());
        assert_eq!(
            Config::from_json5(&config.print_json()).unwrap().effective(),
            again.effective()
        );
        // It sets every key, but none to anything new.
        assert!(
            Config::from_json5(&Config::default().print_config()).unwrap().warnings().is_empty()
        );
        for key in KEYS {
            assert!(printed.contains(key.doc), "{}", key.path);
        }
    }
    let printed = config.print_config();
    let section = "  queries_default_timeout: 10000,\n  routing: {\n    // Route as a member of a network of peers and routers, with neighbours that do, too. Weft only.\n    mesh: false,\n    // What links of a network cost that have no weight: the same, or their measured round trip. Weft only.\n    paths: \"weights\",\n    router: {\n      linkstate: {\n        // Costs of the links to other members of the network: [{dst_zid, weight}]; others cost 100.\n        transport_weights: [],\n      },\n";
    assert!(printed.contains(section), "{printed}");
}
