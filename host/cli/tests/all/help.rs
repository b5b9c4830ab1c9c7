//! Help, version and the table of limits are golden: they change on purpose only.

use expect_test::expect_file;

use crate::process::bindery;

/// Every command, and every verb below one.
const COMMANDS: &[&str] = &[
    "",
    "inspect",
    "run",
    "cache",
    "limits",
    "init",
    "config",
    "config check",
    "config show",
    "config reload",
    "config accept-writes",
    "host",
    "host start",
    "host stop",
    "host status",
    "admit",
    "env",
    "describe",
    "validate",
    "bind",
    "call",
    "renew",
    "release",
    "session",
    "session new",
    "session list",
    "session show",
    "session move",
    "session cancel",
    "session end",
    "ledger",
    "binding",
    "trace",
    "actions",
    "proposals",
    "approve",
    "deny",
    "revoke",
    "invalidate",
    "review",
    "reconcile",
    "stages",
    "stages set",
    "policy",
    "policy explain",
    "policy test",
];

#[test]
fn help_of_every_command_is_the_golden_text() {
    for name in COMMANDS {
        let mut words: Vec<&str> = name.split(' ').filter(|word| !word.is_empty()).collect();
        words.push("--help");
        let printed = bindery(&words);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{name}");
        let file = ["golden/help", &name.replace(' ', "-")].join("-");
        let file = format!("{}.txt", file.trim_end_matches('-'));
        expect_file![file].assert_eq(&printed.stdout);
    }
}

/// A verb that nobody listed has no golden text.
#[test]
fn every_command_of_the_help_is_in_the_list() {
    let help = bindery(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(COMMANDS.contains(&name), "{name}");
    }
}

#[test]
fn the_table_of_limits_is_the_golden_text() {
    let printed = bindery(&["limits"]);
    assert_eq!(printed.code, 0);
    expect_file!["golden/limits.txt"].assert_eq(&printed.stdout);
}

#[test]
fn the_table_of_limits_in_json_has_the_same_rows() {
    let json = bindery(&["limits", "-o", "json"]).json();
    let names: Vec<&str> = json["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    let text = bindery(&["limits"]).stdout;
    assert!(names.len() > 25);
    for name in names {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
    }
}

#[test]
fn help_and_version_in_json_are_one_object() {
    for command in [
        None,
        Some("inspect"),
        Some("run"),
        Some("cache"),
        Some("limits"),
    ] {
        let words: Vec<&str> = command.into_iter().chain(["--help"]).collect();
        let json: Vec<&str> = words.iter().copied().chain(["-o", "json"]).collect();
        let printed = bindery(&json);
        assert_eq!(
            (printed.code, printed.stderr.as_str()),
            (0, ""),
            "{words:?}"
        );
        assert_eq!(printed.json()["help"], bindery(&words).stdout, "{words:?}");
    }
    let version = bindery(&["--version", "-o", "json"]);
    assert_eq!(version.code, 0);
    let plain = bindery(&["--version"]).stdout;
    assert_eq!(
        version.json()["version"],
        plain.trim().trim_start_matches("bindery ")
    );
}
