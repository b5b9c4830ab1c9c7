//! `grep-files` and `glob-files` give what ripgrep gives with the same options.

use std::collections::BTreeSet;
use std::path::Path;

use bindery_artefacts::repository;
use serde_json::{Value, json};

use crate::grep_tools::{Found, Ripgrep, Tools, odd_tree};

/// What ripgrep is told, and what the guest is told, to mean the same.
const OPTIONS: [(&[&str], &str); 15] = [
    (&[], "{}"),
    (&["-i"], r#"{"ignore-case": true}"#),
    (&["-S"], r#"{"smart-case": true}"#),
    (&["-F"], r#"{"fixed-strings": true}"#),
    (&["-w"], r#"{"word": true}"#),
    (&["-x"], r#"{"whole-line": true}"#),
    (&["-v"], r#"{"invert": true}"#),
    (&["-m", "1"], r#"{"max-count": 1}"#),
    (&["-C", "2"], r#"{"context": 2}"#),
    (&["--hidden"], r#"{"hidden": true}"#),
    (&["--no-ignore"], r#"{"no-ignore": true}"#),
    (
        &["--no-ignore", "--hidden"],
        r#"{"no-ignore": true, "hidden": true}"#,
    ),
    (&["-g", "*.txt"], r#"{"globs": ["*.txt"]}"#),
    (
        &["-g", "!sub/**", "-g", "*.rs", "-g", "*.txt"],
        r#"{"globs": ["!sub/**", "*.rs", "*.txt"]}"#,
    ),
    (&["--max-depth", "2"], r#"{"max-depth": 2}"#),
];

#[test]
fn grep_files_finds_in_an_odd_tree_what_ripgrep_finds() {
    let Some(ripgrep) = Ripgrep::new() else {
        return;
    };
    let tree = odd_tree();
    let tools = Tools::over(tree.path());
    for pattern in [
        "needle",
        "NEEDLE",
        "need.e",
        r"^needle$",
        r"\bn\w+e\b",
        "caf\u{e9}",
        "(needle|hay)",
        ".",
    ] {
        for (flags, options) in OPTIONS {
            compare(&ripgrep, &tools, tree.path(), pattern, flags, options);
        }
    }
}

#[test]
fn grep_files_finds_in_this_repository_what_ripgrep_finds() {
    let Some(ripgrep) = Ripgrep::new() else {
        return;
    };
    let tools = Tools::over(repository());
    for (pattern, flags, options) in [
        ("fn main", &["-F"][..], r#"{"fixed-strings": true}"#),
        ("wasi:filesystem", &[], "{}"),
        (
            r"pub(\(crate\))? fn \w+",
            &["-g", "*.rs"],
            r#"{"globs": ["*.rs"]}"#,
        ),
        (
            "budget",
            &["-i", "-w"],
            r#"{"ignore-case": true, "word": true}"#,
        ),
    ] {
        let found = compare(&ripgrep, &tools, repository(), pattern, flags, options);
        assert!(found > 0, "{pattern} is nowhere in this repository");
    }
}

#[test]
fn glob_files_finds_what_ripgrep_lists() {
    let Some(ripgrep) = Ripgrep::new() else {
        return;
    };
    let tree = odd_tree();
    let tools = Tools::over(tree.path());
    for pattern in [
        "*.txt",
        "sub/*.txt",
        "/*.txt",
        "**/deep/**",
        "*.{rs,txt}",
        "*",
        "[a-m]*",
    ] {
        let listed = ripgrep.files(tree.path(), pattern);
        let reply = tools.call(
            "glob-files",
            &json!({"pattern": pattern, "options": {"paths-max": 100_000}}),
        );
        let paths: BTreeSet<String> = reply["paths"]
            .as_array()
            .unwrap()
            .iter()
            .map(below)
            .collect();
        assert_eq!(paths, listed, "{pattern}");
    }
}

/// U5: a bound that is reached says so, and without it nothing is cut.
#[test]
fn results_are_bounded_and_say_when_there_was_more() {
    let tree = odd_tree();
    let tools = Tools::over(tree.path());
    let grep = |mut options: Value| {
        options["globs"] = json!(["*.txt"]);
        tools.call(
            "grep-files",
            &json!({"pattern": "needle", "options": options}),
        )
    };
    let all = grep(json!({}));
    assert_eq!(all["truncated"], false);
    let count = all["count"].as_u64().unwrap();
    assert!(count > 3);
    let exact = grep(json!({ "matches-max": count }));
    assert_eq!(
        (&exact["truncated"], &exact["count"]),
        (&json!(false), &json!(count))
    );
    let fewer = grep(json!({"matches-max": count - 1}));
    assert_eq!(
        (&fewer["truncated"], &fewer["count"]),
        (&json!(true), &json!(count - 1))
    );
    assert_eq!(grep(json!({"bytes-max": 3}))["truncated"], true);
    let cut = tools.call(
        "grep-files",
        &json!({"pattern": "needle", "options": {"globs": ["long.txt"], "line-bytes-max": 10}}),
    );
    assert_eq!(cut["files"][0]["lines"][0]["cut"], true);
    assert_eq!(
        cut["files"][0]["lines"][0]["text"].as_str().unwrap().len(),
        10
    );
}

/// B4: cutting a line never cuts a character.
#[test]
fn a_cut_line_ends_between_characters() {
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("a.txt"), "needle \u{1F600}\u{1F600}\n").unwrap();
    let tools = Tools::over(tree.path());
    for bytes in 7..=15 {
        let reply = tools.call(
            "grep-files",
            &json!({"pattern": "needle", "options": {"line-bytes-max": bytes}}),
        );
        let text = reply["files"][0]["lines"][0]["text"].as_str().unwrap();
        assert!(
            text.len() <= bytes && !text.contains('\u{FFFD}'),
            "{bytes}: {text:?}"
        );
    }
}

/// A binary file is refused as text, and a long one is read on where the last answer ended.
#[test]
fn read_file_gives_lines_and_the_place_to_go_on() {
    let tree = odd_tree();
    let tools = Tools::over(tree.path());
    let read = |arguments: Value| tools.call("read-file", &arguments);
    let whole = read(json!({"path": "/tree/numbers.txt"}));
    assert_eq!(
        (&whole["lines"], &whole["next-line"]),
        (&json!(100), &json!(null))
    );
    let mut text = String::new();
    let mut next = json!(1);
    while !next.is_null() {
        let part = read(
            json!({"path": "/tree/numbers.txt", "options": {"first-line": next, "lines-max": 7}}),
        );
        text.push_str(part["text"].as_str().unwrap());
        next = part["next-line"].clone();
    }
    assert_eq!(text, whole["text"]);
    assert_eq!(
        tools.error("read-file", &json!({"path": "/tree/early.bin"})),
        json!({"binary": "/tree/early.bin"})
    );
    assert_eq!(
        tools.error("read-file", &json!({"path": "/tree/absent"})),
        json!({"not-found": "/tree/absent"})
    );
    let outside = tools.error("read-file", &json!({"path": "/tree/../escape.txt"}));
    assert!(
        outside.get("denied").is_some() || outside.get("not-found").is_some(),
        "{outside}"
    );
}

#[test]
fn list_dir_is_ordered_and_bounded() {
    let tree = odd_tree();
    let tools = Tools::over(tree.path());
    let all = tools.call("list-dir", &json!({"path": "/tree"}));
    let names: Vec<&str> = all["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert!(
        names.is_sorted() && names.contains(&".hidden.txt"),
        "{names:?}"
    );
    let some = tools.call(
        "list-dir",
        &json!({"path": "/tree", "options": {"entries-max": 3, "hidden": false}}),
    );
    assert_eq!(
        (
            some["entries"].as_array().unwrap().len(),
            &some["truncated"]
        ),
        (3, &json!(true))
    );
}

/// Compares one search; how many lines both found.
fn compare(
    ripgrep: &Ripgrep,
    tools: &Tools,
    root: &Path,
    pattern: &str,
    flags: &[&str],
    options: &str,
) -> usize {
    let expected = ripgrep.lines(root, pattern, flags);
    let mut options: Value = serde_json::from_str(options).unwrap();
    for (bound, value) in [
        ("matches-max", 10_000_000),
        ("bytes-max", 1 << 30),
        ("line-bytes-max", 1 << 30),
    ] {
        options[bound] = json!(value);
    }
    let reply = tools.call(
        "grep-files",
        &json!({"pattern": pattern, "options": options}),
    );
    let mut found = Found::new();
    for file in reply["files"].as_array().unwrap() {
        for line in file["lines"].as_array().unwrap() {
            let text = line["text"].as_str().unwrap().to_owned();
            found.insert((below(&file["path"]), line["number"].as_u64().unwrap(), text));
        }
    }
    let missing: Vec<_> = expected.difference(&found).map(shortened).collect();
    let extra: Vec<_> = found.difference(&expected).map(shortened).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{pattern} {flags:?}\nmissing: {missing:?}\nextra: {extra:?}"
    );
    found.len()
}

fn shortened((path, number, text): &(String, u64, String)) -> String {
    format!(
        "{path}:{number}:{}",
        text.chars().take(60).collect::<String>()
    )
}

/// A path of a result, relative to the grant.
fn below(path: &Value) -> String {
    path.as_str()
        .unwrap()
        .strip_prefix("/tree/")
        .unwrap()
        .to_owned()
}
