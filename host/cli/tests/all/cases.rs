//! Cases through the real process: how a command ends and what its reader is told (A5,
//! B7, D3, D7, U1, U4).

use std::process::Stdio;

use bindery_artefacts::{rust_guest, wat_file};
use serde_json::{Value, json};

use crate::process::{Printed, bindery, command, finish, folder, guest};

/// Runs with `-o json`.
pub(crate) fn run(words: &[&str]) -> Printed {
    let words: Vec<&str> = ["run"]
        .iter()
        .chain(words)
        .chain(&["-o", "json"])
        .copied()
        .collect();
    bindery(&words)
}

pub(crate) fn path_of(path: &std::path::Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// D3: a version that is named is meant; there is another, and the refusal names it.
#[test]
fn a_function_of_another_version_is_refused_with_the_versions_there_are() {
    let exits = path_of(&wat_file("hostile/exit/after-output").unwrap());
    for name in [
        "run",
        "run#run",
        "wasi:cli/run#run",
        "wasi:cli/run@0.2.6#run",
    ] {
        assert_eq!(
            run(&[&exits, name]).code,
            5,
            "{name}: it exits with a code of its own"
        );
    }
    let other = run(&[&exits, "wasi:cli/run@0.2.0#run"]);
    let error = &other.json()["error"];
    assert_eq!(
        (other.code, &error["type"]),
        (2, &json!("arguments_invalid")),
        "D3"
    );
    assert_eq!(
        error["details"]["exported"],
        json!(["wasi:cli/run@0.2.6#run"]),
        "D3: {error}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("not exported in this version; there is wasi:cli/run@0.2.6#run"),
        "D3: {message}"
    );
    assert!(other.json()["receipt"].is_null());
}

/// D7: a command that exits is no crash: its output is there, its code is its own error.
#[test]
fn a_command_that_exits_ends_with_its_output_and_its_code() {
    let exits = |name: &str| path_of(&wat_file(&format!("hostile/exit/{name}")).unwrap());
    let printed = run(&[&exits("after-output"), "run"]);
    let value = printed.json();
    assert_eq!(
        (printed.code, &value["error"]["type"]),
        (5, &json!("capability_error")),
        "D7"
    );
    assert_eq!(
        value["error"]["details"]["value"],
        json!({"exit_code": 3}),
        "D7"
    );
    assert_eq!(value["receipt"]["stdout"]["text"], "before\n", "D7");
    assert_eq!(value["receipt"]["exit_code"], 5);
    let fine = run(&[&exits("exit-ok"), "run"]);
    assert_eq!((fine.code, &fine.json()["value"]), (0, &Value::Null), "D7");
    let failed = run(&[&exits("exit-err"), "run"]);
    assert_eq!(
        (failed.code, &failed.json()["error"]["details"]["value"]),
        (5, &json!({"exit_code": 1})),
        "D7"
    );
    for (name, function, arguments) in [
        ("typed", "go", r#"{"status": {"ok": null}}"#),
        ("start", "go", "{}"),
    ] {
        let printed = run(&[&exits(name), function, arguments]);
        let error = &printed.json()["error"];
        assert_eq!(
            (printed.code, &error["type"]),
            (1, &json!("guest_fault")),
            "D7, H30: {name}"
        );
        assert_eq!(error["details"]["cause"], "exited", "D7, H30: {name}");
        assert_eq!(error["details"]["exit_code"], 0, "D7: success all the same");
    }
}

/// A5: what deals in resources is listed with the reason, and calling it is refused.
#[test]
fn a_function_that_gives_a_resource_is_shown_and_refused() {
    let opens = guest(
        "opens",
        r#"(component
            (type $r' (resource (rep i32)))
            (export $r "cursor" (type $r'))
            (core func $new (canon resource.new $r'))
            (core module $m
                (import "" "new" (func $new (param i32) (result i32)))
                (func (export "open") (result i32) (call $new (i32.const 1)))
                (func (export "plain") (result i32) (i32.const 7)))
            (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
            (func (export "open") (result (own $r)) (canon lift (core func $i "open")))
            (func (export "plain") (result u32) (canon lift (core func $i "plain"))))"#,
    );
    let shown = bindery(&["inspect", &opens, "-o", "json"]).json();
    assert!(
        shown.to_string().contains("resource `cursor`"),
        "A5: {shown}"
    );
    let refused = run(&[&opens, "open"]);
    let error = &refused.json()["error"];
    assert_eq!(
        (refused.code, &error["type"]),
        (2, &json!("arguments_invalid")),
        "A5"
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("resource `cursor`"),
        "A5: {error}"
    );
    assert!(
        refused.json()["receipt"].is_null(),
        "A5: nothing was started"
    );
    assert_eq!(run(&[&opens, "plain"]).json()["value"], 7);
}

/// B7 (a): a hundred thousand brackets are a fault of the arguments that names the depth,
/// whatever they stand for, and end no process.
#[test]
fn arguments_nested_beyond_all_reason_name_the_depth() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let takes = guest(
        "takes-text",
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
                (func (export "go") (param i32 i32)))
            (core instance $i (instantiate $m))
            (func (export "go") (param "text" string)
                (canon lift (core func $i "go") (memory $i "memory") (realloc (func $i "realloc")))))"#,
    );
    for field in ["text", "unknown"] {
        let file = folder().join(format!("nested-{field}.json"));
        std::fs::write(&file, format!("{{\"{field}\": {}}}", nested(100_000))).unwrap();
        let at_file = format!("@{}", file.display());
        let printed = run(&[&takes, "go", &at_file]);
        let error = &printed.json()["error"];
        assert_eq!(
            (printed.code, &error["type"]),
            (2, &json!("arguments_invalid")),
            "B7"
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("deeper than 64 (limit `json_depth`)"),
            "B7: {message}"
        );
    }
    assert_eq!(
        run(&[&takes, "go", r#"{"text": "[[[]]]"}"#]).code,
        0,
        "B7: a text is a text"
    );
}

/// U4: a directory is what the operator's shell and folder say, opened once; the guest's
/// name for it is the only one anybody sees.
#[test]
fn a_directory_is_relative_to_where_the_command_stands_and_may_be_a_link() {
    let top = folder().join("paths");
    std::fs::create_dir_all(top.join("data")).unwrap();
    std::fs::write(top.join("data/a.txt"), "needle\n").unwrap();
    std::fs::write(top.join("file"), "").unwrap();
    let _ = std::os::unix::fs::symlink("data", top.join("link"));
    let file_tools = path_of(&rust_guest("file-tools").unwrap());
    let read = |grant: &str| {
        let words = [
            "run",
            &file_tools,
            "read-file",
            r#"{"path": "/d/a.txt"}"#,
            "--dir",
            grant,
            "-o",
            "json",
        ];
        finish(
            command(&words)
                .current_dir(&top)
                .env("HOME", &top)
                .stdin(Stdio::null()),
        )
    };
    let absolute = format!("{}::/d", top.join("data").display());
    for grant in [
        "data::/d",
        "./data::/d",
        "data/::/d",
        "link::/d",
        "../paths/data::/d",
        &absolute,
    ] {
        let printed = read(grant);
        assert_eq!(printed.code, 0, "U4: {grant}: {}", printed.stdout);
        let path = top.to_str().unwrap();
        assert!(
            !printed.stdout.contains(path),
            "U4: no path of the host: {}",
            printed.stdout
        );
    }
    // Only a shell knows what these mean; here they are names of files that do not exist.
    for grant in [
        "~/data::/d",
        "$HOME/data::/d",
        "missing::/d",
        "file::/d",
        "data/a.txt::/d",
    ] {
        let printed = read(grant);
        let error = &printed.json()["error"];
        assert_eq!(
            (printed.code, &error["type"]),
            (2, &json!("usage")),
            "U4: {grant}"
        );
        let (host, _) = grant.split_once("::").unwrap();
        assert!(
            error["message"].as_str().unwrap().contains(host),
            "U4: {grant}: {error}"
        );
    }
}

/// U1: a write through a read-only directory: WASI's own error for the guest, the grant
/// that would allow it for the operator.
#[test]
fn a_read_only_write_tells_the_operator_which_grant_it_takes() {
    let top = folder().join("read-only");
    std::fs::create_dir_all(&top).unwrap();
    std::fs::write(top.join("a"), "").unwrap();
    let driver = path_of(&rust_guest("fs-driver").unwrap());
    let write = json!({"operations": [{"open-at": {
        "slot": 0, "path-flags": [], "path": "a", "open-flags": [], "flags": ["write"],
    }}]})
    .to_string();
    let grant = |access: &str| format!("{}::/g{access}", top.display());
    let refused = run(&[&driver, "drive", &write, "--dir", &grant("")]);
    assert_eq!(refused.json()["value"], json!([{"err": "read-only"}]), "U1");
    assert!(
        refused.stderr.contains("denied: "),
        "U1: {}",
        refused.stderr
    );
    assert!(refused.stderr.contains(":rw"), "U1: {}", refused.stderr);
    let denials = &refused.json()["denials"];
    assert_eq!(denials.as_array().unwrap().len(), 1, "U1: {denials}");
    assert!(
        denials[0].as_str().unwrap().contains(":rw"),
        "U1: {denials}"
    );
    let allowed = run(&[&driver, "drive", &write, "--dir", &grant(":rw")]);
    assert_eq!(
        allowed.json()["value"],
        json!([{"ok": {"slot": 1}}]),
        "U1: and it does"
    );
    assert!(allowed.json().get("denials").is_none(), "U1");
    assert!(allowed.stderr.is_empty(), "{}", allowed.stderr);
}
