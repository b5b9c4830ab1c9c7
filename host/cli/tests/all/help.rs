//! Help, version and the table of limits are golden: they change on purpose only.

use expect_test::expect_file;

use crate::process::bindery;

#[test]
fn help_of_every_command_is_the_golden_text() {
    for (words, file) in [
        (vec!["--help"], expect_file!["golden/help.txt"]),
        (
            vec!["inspect", "--help"],
            expect_file!["golden/help-inspect.txt"],
        ),
        (vec!["run", "--help"], expect_file!["golden/help-run.txt"]),
        (
            vec!["cache", "--help"],
            expect_file!["golden/help-cache.txt"],
        ),
        (
            vec!["limits", "--help"],
            expect_file!["golden/help-limits.txt"],
        ),
    ] {
        let printed = bindery(&words);
        assert_eq!(
            (printed.code, printed.stderr.as_str()),
            (0, ""),
            "{words:?}"
        );
        file.assert_eq(&printed.stdout);
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
