//! Help, completions and man pages.

use crate::process::Weft;

const COMMANDS: [&str; 19] = [
    "router",
    "pub",
    "sub",
    "put",
    "delete",
    "get",
    "queryable",
    "storage",
    "liveliness",
    "scout",
    "info",
    "ping",
    "pong",
    "check-config",
    "dissect",
    "demo",
    "bench",
    "completions",
    "man",
];

#[test]
fn help_lists_every_command_and_each_has_help_of_its_own() {
    let help = Weft::run("").ok().join("\n");
    assert_eq!(Weft::run("--help").ok().join("\n"), help);
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        assert!(Weft::run(&format!("{command} --help")).ok().len() > 5, "{command}");
    }
    assert!(!help.contains("bench-role"));
    assert!(Weft::run("--version").ok()[0].starts_with("weft "));
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Weft::run(&format!("completions {shell}")).ok().join("\n");
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(
            script.contains("no-multicast-scouting") && !script.contains("bench-role"),
            "{shell}"
        );
    }
}

#[test]
fn man_pages_are_written_for_weft_and_for_every_command() {
    let page = Weft::run("man").ok().join("\n");
    assert!(page.contains(".TH weft 1"), "{page}");
    let dir = std::env::temp_dir().join(format!("weft-man-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let ended = Weft::run(&format!("man --dir {}", dir.display()));
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    assert!(read("weft.1").contains(".SH NAME"));
    for command in COMMANDS {
        assert!(read(&format!("weft-{command}.1")).contains(".SH NAME"), "{command}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(ended.ok(), [""; 0]);
    assert_eq!(Weft::run("man --dir missing/folder").code, Some(1));
}
