mod errors;
mod files;
mod regions;

use core::time::Duration;

use proptest::prelude::*;
use weft_wire::{Bits, WhatAmIMatcher};

use super::kind::Kind;
use super::schema::Place;
use super::table::{KEYS, Scope};
use super::*;
use crate::settings::{Chance, Settings};

fn json5(text: &str) -> Config {
    Config::from_json5(text).unwrap()
}

fn error(text: &str) -> String {
    Config::from_json5(text).unwrap_err().to_string()
}

fn with(path: &str, text: &str) -> Config {
    let mut config = Config::default();
    config.insert_json5(path, text).unwrap();
    config
}

/// A value of each kind that is not a default.
fn other_value(key: &Key) -> &'static str {
    match key.kind {
        Kind::Bool if key.default_for(WhatAmI::Peer) == "true" => "false",
        Kind::Bool => "true",
        Kind::Integer(..) if key.path.ends_with("period_max_ms") => "8000",
        Kind::Integer(..) if key.path.ends_with("batch_size") => "2048",
        Kind::Integer(..) => "7",
        Kind::Factor => "1.5",
        Kind::Text | Kind::Secret | Kind::Name(_) => "'eth0'",
        Kind::Choice(&["router", "peer", "client"]) => "'client'",
        Kind::Choice(choices) => match *choices.last().unwrap() {
            "greater-zid" => "'greater-zid'",
            "64bit" => "'64bit'",
            "deny" => "'allow'",
            "latency" => "'latency'",
            _ => "'init'",
        },
        Kind::Zid => "'a1'",
        Kind::SocketAddress => "'224.0.0.1:1'",
        Kind::PlainKey | Kind::KeyExpr => "'a/b'",
        Kind::Zids | Kind::Choices(_) | Kind::Frequency | Kind::RegionNames => {
            unreachable!("only within entries")
        }
        Kind::SizeRange | Kind::PriorityChange(_) | Kind::Record(_) => {
            unreachable!("only within entries")
        }
        Kind::KeyExprs => "['a/**']",
        Kind::Endpoints { .. } => "['tcp/host:1']",
        Kind::Modes | Kind::GossipTargets => "['router']",
        Kind::Texts => "['tcp']",
        Kind::Entries(_) => match key.path {
            "qos/publication" => "[{key_exprs: ['a/**'], config: {priority: 'data_high'}}]",
            "qos/network" => "[{messages: ['put'], overwrite: {priority: -1}}]",
            "downsampling" => "[{messages: ['put'], rules: [{key_expr: 'a', freq: 0.5}]}]",
            "routing/router/linkstate/transport_weights" => "[{dst_zid: 'b2', weight: 7}]",
            "low_pass_filter" => "[{messages: ['put'], key_exprs: ['a'], size_limit: 4}]",
            "access_control/rules" => {
                "[{id: 'r', key_exprs: ['a'], messages: ['put'], permission: 'deny'}]"
            }
            "stats/filters" => "[{key: 'a/**'}]",
            "access_control/subjects" => "[{id: 's', link_protocols: ['tcp']}]",
            _ => "[{rules: ['r'], subjects: ['s']}]",
        },
        Kind::AutoOrEntries(_) => "[{filters: [{modes: ['client']}]}]",
        Kind::List => "[{}]",
        Kind::Object => "{rest: {}}",
        Kind::Any => "{x: 1}",
    }
}

#[test]
fn the_table_is_sound() {
    for (index, key) in KEYS.iter().enumerate() {
        for mode in WhatAmI::ALL {
            let default = Value::from_json5(key.default_for(mode), Shape::whole()).unwrap();
            assert_eq!(schema::check(key, &default), Ok(()), "{}", key.path);
        }
        assert!(key.doc.ends_with('.'), "{}", key.path);
        let others = KEYS[index + 1..].iter();
        for other in others {
            assert_ne!(key.path, other.path);
            assert!(schema::below(other.path, key.path).is_none(), "{} {}", key.path, other.path);
            assert!(schema::below(key.path, other.path).is_none(), "{} {}", key.path, other.path);
        }
    }
}

#[test]
fn keys_of_a_branch_stand_together() {
    let mut closed: Vec<&str> = Vec::new();
    let mut previous: Vec<&str> = Vec::new();
    for key in KEYS {
        let ends = key.path.match_indices('/').map(|(at, _)| at);
        let branches: Vec<_> = ends.map(|end| &key.path[..end]).collect();
        closed.extend(previous.iter().filter(|branch| !branches.contains(branch)));
        assert!(branches.iter().all(|branch| !closed.contains(branch)), "{}", key.path);
        previous = branches;
    }
}

/// All that a session is opened with, as text.
fn handed_on(config: &Config) -> String {
    let chance =
        Chance { zid: "c0ffee".parse().unwrap(), cookie_key: [0; 16], hash_seed: 0, first_sn: 0 };
    format!("{:?}", Settings::new(&config.effective().unwrap(), &chance))
}

/// What the table calls acted on changes what a session is opened with, in some mode at least; what
/// it calls known does not, and warns.
#[test]
fn exactly_the_keys_that_are_acted_on_have_an_effect() {
    for key in KEYS {
        let changes = WhatAmI::ALL.into_iter().any(|mode| {
            // Most of what is said of endpoints only shows where there are some.
            // And access control can only be enabled where its lists are.
            let mut config = json5(
                "{connect: {endpoints: ['tcp/a:1']}, listen: {endpoints: ['tcp/[::]:2']},
                  access_control: {rules: [], subjects: [], policies: []}}",
            );
            config.set_mode(mode);
            let before = handed_on(&config);
            config.insert_json5(key.path, other_value(key)).unwrap();
            handed_on(&config) != before
        });
        let acted = key.status == Status::Acted;
        assert_eq!(changes, acted, "{}", key.path);
        assert_eq!(with(key.path, other_value(key)).warnings().is_empty(), acted, "{}", key.path);
    }
}

#[test]
fn every_key_is_read_back_and_removed() {
    for key in KEYS {
        let mut config = with(key.path, other_value(key));
        let set = Value::from_json5(other_value(key), Shape::whole()).unwrap().to_json();
        assert_eq!(config.json(key.path).unwrap(), set);
        assert_eq!(config.effective_json(key.path).unwrap(), set);
        config.remove(key.path).unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.json(key.path).unwrap(), "null");
    }
}

#[test]
fn defaults_are_those_of_the_mode() {
    let effective = |mode| {
        let mut config = Config::default();
        config.set_mode(mode);
        config.effective().unwrap()
    };
    let [router, peer, client] = WhatAmI::ALL.map(effective);
    assert_eq!(Config::default().effective().unwrap(), peer);

    let locators = |effective: &Effective| {
        let endpoints = effective.listen.endpoints.iter().flat_map(|target| &target.endpoints);
        endpoints.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(locators(&router), ["tcp/[::]:7447"]);
    assert_eq!(locators(&peer), ["tcp/[::]:0"]);
    assert!(client.listen.endpoints.is_empty());
    assert_eq!((router.connect.attempts.timeout, peer.connect.attempts.timeout), (None, None));
    assert_eq!(client.connect.attempts.timeout, Some(Duration::ZERO));
    assert!(client.connect.attempts.exit_on_failure && !peer.connect.attempts.exit_on_failure);
    assert!(
        router.timestamping.enabled && !peer.timestamping.enabled && !client.timestamping.enabled
    );
    assert_eq!(router.scouting.multicast.autoconnect.modes, WhatAmIMatcher::EMPTY);
    assert_eq!(peer.scouting.gossip.autoconnect.modes, WhatAmIMatcher::ALL);
    assert_eq!(peer.scouting.gossip.target.to_string(), "router|peer");
    assert!(client.scouting.gossip.target.is_empty());

    assert_eq!(peer.connect.attempts.retry.period_init, Duration::from_secs(1));
    assert_eq!(peer.connect.attempts.retry.period_max, Duration::from_secs(4));
    assert_eq!(peer.scouting.multicast.address.to_string(), "224.0.0.224:7446");
    assert_eq!(
        (peer.tx.lease, peer.tx.keep_alive, peer.tx.batch_size),
        (Duration::from_secs(10), 4, 65535)
    );
    assert_eq!((peer.tx.sequence_number_resolution, peer.tx.queue_sizes), (Bits::U32, [2; 8]));
    assert_eq!(peer.tx.wait_before_drop, Duration::from_millis(1));
    assert_eq!(peer.tx.wait_before_close, Duration::from_secs(5));
    assert_eq!(peer.rx.message_len_max, 1 << 30);
    assert_eq!(peer.limits.fragments_pending_len_max, 1 << 30);
    assert_eq!((peer.limits.links_max, peer.limits.control_backlog_len_max), (10_000, 16 << 20));
}

#[test]
fn values_may_differ_by_mode() {
    let mut config = json5(
        "{ connect: { endpoints: { client: ['tcp/a:1'], peer: [{strategy: 'allOf', locators: ['tcp/b:1', 'tcp/b:2']}, 'tcp/c:1'] },
           timeout_ms: { router: 5 } } }",
    );
    let counts = |config: &Config| {
        let neighbours = config.effective().unwrap().connect.neighbours;
        neighbours.iter().map(|target| target.endpoints.len()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&config), [2, 1]);
    config.set_mode(WhatAmI::Client);
    assert_eq!(counts(&config), [1]);
    assert_eq!(
        config.effective().unwrap().connect.attempts.timeout,
        Some(Duration::ZERO),
        "the default of clients"
    );
    config.set_mode(WhatAmI::Router);
    assert_eq!(counts(&config), [0; 0]);
    assert_eq!(
        config.effective().unwrap().connect.attempts.timeout,
        Some(Duration::from_millis(5))
    );
    assert_eq!(config.json("connect/timeout_ms/router").unwrap(), "5");
    assert_eq!(config.json("connect/timeout_ms/peer").unwrap(), "null");
    assert_eq!(config.effective_json("connect/timeout_ms/peer").unwrap(), "-1");
}

#[test]
fn strategies_may_differ_by_mode_and_target() {
    use super::Strategy::{Always, GreaterZid};
    let strategies = |text: &str| {
        let auto = with("scouting/gossip/autoconnect_strategy", text)
            .effective()
            .unwrap()
            .scouting
            .gossip
            .autoconnect;
        [auto.to_router, auto.to_peer, auto.to_client]
    };
    assert_eq!(strategies("'greater-zid'"), [GreaterZid; 3]);
    assert_eq!(strategies("{to_peer: 'greater-zid'}"), [Always, GreaterZid, Always]);
    assert_eq!(
        strategies("{peer: {to_peer: 'greater-zid', to_router: 'always'}}"),
        [Always, GreaterZid, Always]
    );
    assert_eq!(strategies("{peer: 'greater-zid', router: 'always'}"), [GreaterZid; 3]);
    assert_eq!(strategies("{router: 'greater-zid'}"), [Always; 3]);

    let mut config = with("scouting/gossip/autoconnect_strategy/peer/to_client", "'greater-zid'");
    let path = "scouting/gossip/autoconnect_strategy";
    assert_eq!(config.json(path).unwrap(), r#"{"peer":{"to_client":"greater-zid"}}"#);
    config.insert_json5(path, "'greater-zid'").unwrap();
    assert_eq!(config.json(&format!("{path}/router/to_peer")).unwrap(), r#""greater-zid""#);
    assert_eq!(
        config.effective_json(&format!("{path}/router/to_peer")).unwrap(),
        r#""greater-zid""#
    );
}

#[test]
fn a_value_for_one_mode_leaves_the_others() {
    let mut config = with("listen/exit_on_failure", "false");
    config.insert_json5("listen/exit_on_failure/client", "true").unwrap();
    let read = |config: &Config| config.json("listen/exit_on_failure").unwrap();
    assert_eq!(read(&config), r#"{"router":false,"peer":false,"client":true}"#);
    config.remove("listen/exit_on_failure/router").unwrap();
    assert_eq!(read(&config), r#"{"peer":false,"client":true}"#);
    config.remove("listen/exit_on_failure/client").unwrap();
    config.remove("listen/exit_on_failure/peer").unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(
        with("listen/exit_on_failure", "{router: null}").effective(),
        Config::default().effective()
    );
    assert_eq!(with("listen/exit_on_failure", "{}"), Config::default());
}

#[test]
fn branches_are_set_read_and_removed_as_a_whole() {
    let mut config = with("scouting", "{ delay: 1, multicast: { ttl: 3 } }");
    config.insert_json5("scouting/multicast", "{ ttl: 4, listen: false }").unwrap();
    assert_eq!(config.json("scouting/delay").unwrap(), "1");
    let multicast = r#"{"enabled":null,"address":null,"interface":null,"ttl":4,"autoconnect":null,"autoconnect_strategy":null,"listen":false}"#;
    assert_eq!(config.json("scouting/multicast").unwrap(), multicast);
    let open = r#"{"return_conditions":{"connect_scouted":true,"declares":true}}"#;
    assert_eq!(config.effective_json("open").unwrap(), open);
    config.remove("scouting/multicast").unwrap();
    assert_eq!(config, with("scouting/delay", "1"));
    config.insert_json5("", "null").unwrap();
    assert_eq!(config, Config::default());
}

#[test]
fn open_values_are_reached_into() {
    let mut config = with("plugins/rest/http_port", "8000");
    config.insert_json5("plugins/rest/private", "{password: 'p'}").unwrap();
    assert_eq!(
        config.json("plugins").unwrap(),
        r#"{"rest":{"http_port":8000,"private":{"password":"p"}}}"#
    );
    assert_eq!(config.json("plugins/rest/http_port").unwrap(), "8000");
    assert_eq!(config.effective_json("plugins/none/at/all").unwrap(), "null");
    config.remove("plugins/rest/private").unwrap();
    assert_eq!(config.json("plugins/rest").unwrap(), r#"{"http_port":8000}"#);
    let metadata = with("metadata", "[1, {a: null}]");
    assert_eq!(metadata.effective_json("metadata").unwrap(), r#"[1,{"a":null}]"#);
}

#[test]
fn the_command_line_takes_strings_without_quotes() {
    let set = |argument: &str, path: &str| {
        let mut config = Config::default();
        config.insert_cli(argument).unwrap();
        config.json(path).unwrap()
    };
    assert_eq!(set("mode:client", "mode"), r#""client""#);
    assert_eq!(set("mode:\"client\"", "mode"), r#""client""#);
    assert_eq!(set("id:12", "id"), r#""12""#);
    assert_eq!(set("id:1e5", "id"), r#""1e5""#);
    assert_eq!(set("namespace:true", "namespace"), r#""true""#);
    assert_eq!(set("namespace:null", "namespace"), "null");
    assert_eq!(
        set("scouting/multicast/autoconnect:router|peer", "scouting/multicast/autoconnect"),
        r#""router|peer""#
    );
    assert_eq!(set("scouting/gossip/target:['router']", "scouting/gossip/target"), r#"["router"]"#);
    assert_eq!(set("connect/endpoints:[\"tcp/a:1\"]", "connect/endpoints"), r#"["tcp/a:1"]"#);
    assert_eq!(
        set("connect/endpoints/client:['tcp/a:1']", "connect/endpoints"),
        r#"{"client":["tcp/a:1"]}"#
    );
    assert_eq!(set("scouting/delay:5", "scouting/delay"), "5");
    assert_eq!(set(":{ scouting: { delay: 7 } }", "scouting/delay"), "7");

    let refused = |argument: &str| Config::default().insert_cli(argument).unwrap_err().to_string();
    assert_eq!(refused("mode"), "`mode` is not KEY:VALUE");
    assert_eq!(refused("mod:client"), "unknown key `mod`; did you mean `mode`?");
    assert_eq!(
        refused("mode:broker"),
        "invalid `mode`: there is no `broker`; expected \"router\" or \"peer\" or \"client\""
    );
    assert!(refused("scouting/delay:soon").contains("expected value"));
}

/// The paths that the specification lists, so that none gets lost.
#[test]
fn every_key_of_the_reference_is_known() {
    let mut paths = "id mode metadata region_name gateway/south connect/timeout_ms connect/endpoints connect/exit_on_failure \
        connect/retry/period_init_ms connect/retry/period_max_ms connect/retry/period_increase_factor listen/timeout_ms \
        listen/endpoints listen/exit_on_failure listen/retry/period_init_ms listen/retry/period_max_ms \
        listen/retry/period_increase_factor open/return_conditions/connect_scouted open/return_conditions/declares \
        scouting/timeout scouting/delay scouting/multicast/enabled scouting/multicast/address scouting/multicast/interface \
        scouting/multicast/ttl scouting/multicast/autoconnect scouting/multicast/autoconnect_strategy scouting/multicast/listen \
        scouting/gossip/enabled scouting/gossip/multihop scouting/gossip/target scouting/gossip/autoconnect \
        scouting/gossip/autoconnect_strategy timestamping/enabled timestamping/drop_future_timestamp queries_default_timeout \
        routing/router/linkstate/transport_weights routing/interests/timeout routing/router/peers_failover_brokering \
        routing/peer aggregation/subscribers aggregation/publishers qos/publication qos/network namespace downsampling \
        low_pass_filter access_control/enabled access_control/default_permission access_control/rules \
        access_control/subjects access_control/policies stats/filters adminspace/enabled adminspace/permissions/read \
        adminspace/permissions/write plugins_loading/enabled plugins_loading/search_dirs plugins/x/__path__ \
        transport/unicast/open_timeout transport/unicast/accept_timeout transport/unicast/accept_pending \
        transport/unicast/max_sessions transport/unicast/max_links transport/unicast/lowlatency \
        transport/unicast/qos/enabled transport/unicast/compression/enabled transport/multicast/join_interval \
        transport/multicast/max_sessions transport/multicast/qos/enabled transport/multicast/compression/enabled \
        transport/link/protocols transport/link/unixpipe/file_access_mask transport/shared_memory/enabled \
        transport/shared_memory/mode"
        .split_whitespace()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let branches = [
        ("transport/link/tx", "sequence_number_resolution lease keep_alive batch_size threads"),
        (
            "transport/link/tx/queue/size",
            "control real_time interactive_high interactive_low data_high data data_low background",
        ),
        (
            "transport/link/tx/queue",
            "congestion_control/drop/wait_before_drop batching/enabled batching/time_limit allocation/mode",
        ),
        (
            "transport/link/tx/queue/congestion_control",
            "drop/max_wait_before_drop_fragments block/wait_before_close",
        ),
        ("transport/link/rx", "buffer_size max_message_size"),
        (
            "transport/link/tls",
            "root_ca_certificate listen_private_key listen_certificate connect_private_key connect_certificate",
        ),
        (
            "transport/link/tls",
            "root_ca_certificate_base64 listen_private_key_base64 listen_certificate_base64",
        ),
        (
            "transport/link/tls",
            "connect_private_key_base64 connect_certificate_base64 enable_mtls verify_name_on_connect",
        ),
        ("transport/link/tls", "close_link_on_expiration so_sndbuf so_rcvbuf"),
        ("transport/link/tcp", "so_sndbuf so_rcvbuf"),
        (
            "transport/shared_memory/transport_optimization",
            "enabled pool_size message_size_threshold messages",
        ),
        ("transport/auth/usrpwd", "user password dictionary_file"),
        (
            "transport/auth/pubkey",
            "public_key_pem private_key_pem public_key_file private_key_file key_size known_keys_file",
        ),
    ];
    for (branch, names) in branches {
        paths.extend(names.split_whitespace().map(|name| schema::join(branch, name)));
    }
    for path in &paths {
        assert!(matches!(schema::find(path), Place::Key(..)), "{path}");
    }
    // The other keys that the reference does not have.
    let others =
        ["routing/mesh", "routing/paths", "stats/enabled", "transport/link/rx/busy_poll_us"];
    let ours = schema::keys_below("limits").count() + others.len();
    assert_eq!(KEYS.len(), paths.len() + ours);
    assert_eq!(Config::keys().len(), KEYS.len());
    let targets = KEYS.iter().filter(|key| key.scope == Scope::PerModeAndTarget).count();
    assert_eq!(targets, 2);
}

proptest! {
    /// Any value at any path is set or refused, and what is set can be read, printed and read again.
    #[test]
    fn any_insertion_is_harmless(
        index in 0..KEYS.len(),
        within in r"(/(router|peer|to_peer|x|0)){0,2}",
        text in r"(null|true|-1|5|1.5|'a'|'peer'|'tcp/a:1'|\[\]|\['peer'\]|\['tcp/a:1'\]|\{\}|\{peer:5\}|\{router:'always',peer:\{to_peer:'always'\}\}|x)",
    ) {
        let path = format!("{}{within}", KEYS[index].path);
        let mut config = with("scouting/delay", "1");
        let before = config.clone();
        match config.insert_json5(&path, &text) {
            Ok(()) => {
                for mode in WhatAmI::ALL {
                    if path != "mode" {
                        config.set_mode(mode);
                    }
                    let may_conflict = ["period", "protocols", "access_control/enabled"];
                    let may_conflict = may_conflict.iter().any(|part| path.contains(part));
                    prop_assert!(config.effective().is_ok() || may_conflict);
                    let again = Config::from_json5(&config.print_config()).unwrap();
                    prop_assert!(KEYS[index].is_secret() || again.to_string() == config.to_string());
                }
                prop_assert!(config.json(&path).is_ok() && config.effective_json(&path).is_ok());
            }
            Err(error) => {
                prop_assert_eq!(&config, &before);
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
