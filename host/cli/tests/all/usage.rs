//! What is not understood gets exit code 2, names the flag, and in JSON is one object.

use crate::process::{bindery, bindery_fed, calc, folder};

#[track_caller]
fn refused(words: &[&str], says: &str) {
    let text = bindery(words);
    assert_eq!(
        (text.code, text.stdout.as_str()),
        (2, ""),
        "{words:?}: {}",
        text.stderr
    );
    assert!(
        text.stderr.contains(says),
        "{words:?} does not say {says:?}: {}",
        text.stderr
    );
    let with_json: Vec<&str> = words.iter().copied().chain(["-o", "json"]).collect();
    let json = bindery(&with_json);
    assert_eq!(json.code, 2, "{words:?}");
    let value = json.json();
    assert_eq!(value["error"]["type"], "usage", "{value}");
    assert!(
        value["error"]["message"].as_str().unwrap().contains(says),
        "{value}"
    );
    assert!(value["receipt"].is_null(), "nothing was started: {value}");
    for member in ["type", "category", "message", "blame", "details", "next"] {
        assert!(!value["error"][member].is_null(), "{member}: {value}");
    }
}

/// R-046.
#[test]
fn words_that_are_no_command_are_refused() {
    refused(&["frobnicate"], "frobnicate");
    refused(&["run"], "COMPONENT");
    refused(&["run", "x.wasm", "go", "{}", "--gpu"], "--gpu");
    refused(&["cache", "defragment"], "defragment");
}

#[test]
fn a_limit_that_is_none_is_refused_with_the_names_there_are() {
    let calc = calc();
    refused(
        &["run", &calc, "add", "{}", "--limit", "host-calls=3"],
        "did you mean `host_calls`?",
    );
    refused(
        &["run", &calc, "add", "{}", "--limit", "fuel"],
        "NAME=VALUE",
    );
    refused(&["run", &calc, "add", "{}", "--fuel=-1"], "whole number");
    refused(&["run", &calc, "add", "{}", "--deadline", "2"], "250ms");
    refused(
        &["run", &calc, "add", "{}", "--memory", "2GiB"],
        "at most 1073741824",
    );
    refused(
        &["run", &calc, "add", "{}", "--memory", "unlimited"],
        "at most 1073741824",
    );
    refused(
        &[
            "run", &calc, "add", "{}", "--fuel", "5", "--limit", "fuel=6",
        ],
        "set twice",
    );
}

#[test]
fn a_grant_that_is_none_is_refused_before_anything_runs() {
    let calc = calc();
    refused(
        &["run", &calc, "add", "{}", "--dir", "/nowhere"],
        "HOST::GUEST",
    );
    refused(
        &["run", &calc, "add", "{}", "--dir", "no-such-dir::/d"],
        "no-such-dir",
    );
    refused(
        &["run", &calc, "add", "{}", "--dir", ".::/d:rx"],
        "`ro` or `rw`",
    );
    refused(
        &["run", &calc, "add", "{}", "--endpoint", "ftp://x/"],
        "--endpoint",
    );
    refused(
        &["run", &calc, "add", "{}", "--endpoint", "*"],
        "--endpoint",
    );
    refused(&["run", &calc, "add", "{}", "--config", "=v"], "KEY=VALUE");
    refused(
        &[
            "run", &calc, "add", "{}", "--config", "a=1", "--config", "a=2",
        ],
        "twice",
    );
}

#[test]
fn arguments_come_as_text_from_a_file_or_from_standard_input() {
    let calc = calc();
    let file = folder().join("arguments.json");
    std::fs::write(&file, r#"{"a":1,"b":2}"#).unwrap();
    let at_file = format!("@{}", file.display());
    for printed in [
        bindery(&["run", &calc, "add", r#"{"b":2,"a":1}"#]),
        bindery(&["run", &calc, "add", &at_file]),
        bindery_fed(&["run", &calc, "add", "-"], br#"{"a":1,"b":2}"#),
    ] {
        assert_eq!(
            (printed.code, printed.stdout.as_str()),
            (0, "3\n"),
            "{}",
            printed.stderr
        );
    }
    refused(&["run", &calc, "add", "@no-such-file"], "no-such-file");
}

#[test]
fn missing_arguments_are_an_empty_object_and_too_many_are_a_limit() {
    let calc = calc();
    let missing = bindery(&["run", &calc, "add", "-o", "json"]);
    assert_eq!(missing.code, 2);
    assert_eq!(missing.json()["error"]["type"], "arguments_invalid");
    let flood = vec![b' '; 3 << 20];
    let printed = bindery_fed(&["run", &calc, "add", "-", "-o", "json"], &flood);
    assert_eq!(printed.code, 7);
    let error = &printed.json()["error"];
    assert_eq!(
        (&error["type"], &error["details"]["limit"]),
        (&"budget_exhausted".into(), &"arguments".into())
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_their_place() {
    let printed = bindery_fed(&["run", &calc(), "add", "-", "-o", "json"], b"{\"a\xff");
    assert_eq!(printed.code, 2);
    assert_eq!(printed.json()["error"]["details"]["position"], 3);
}

#[test]
fn a_function_may_be_short_when_it_is_unambiguous() {
    let two = crate::process::guest(
        "two",
        r#"(component
            (core module $m (func (export "go")))
            (core instance $i (instantiate $m))
            (func $go (canon lift (core func $i "go")))
            (component $c (import "go" (func $go)) (export "go" (func $go)))
            (instance $a (instantiate $c (with "go" (func $go))))
            (instance $b (instantiate $c (with "go" (func $go))))
            (export "ex:thing/api@1.0.0" (instance $a))
            (export "ex:thing/other@1.0.0" (instance $b)))"#,
    );
    for name in ["api#go", "ex:thing/api#go", "ex:thing/api@1.0.0#go"] {
        assert_eq!(bindery(&["run", &two, name]).code, 0, "{name}");
    }
    let ambiguous = bindery(&["run", &two, "#go", "-o", "json"]);
    assert_eq!(ambiguous.code, 2);
    let error = &ambiguous.json()["error"];
    assert_eq!(error["type"], "arguments_invalid");
    assert_eq!(
        error["details"]["candidates"],
        serde_json::json!(["ex:thing/api@1.0.0#go", "ex:thing/other@1.0.0#go"])
    );
    let unknown = bindery(&["run", &two, "gone", "-o", "json"]);
    assert_eq!(
        (unknown.code, unknown.json()["error"]["type"].as_str()),
        (2, Some("arguments_invalid"))
    );
}
