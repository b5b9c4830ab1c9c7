//! What `inspect` says of ten components of six producers, two of them not built from
//! our sources, as golden files (`UPDATE_EXPECT=1` writes them).
//!
//! Digest, size and the versions of compilers are masked: they differ from one toolchain
//! to the next. What a component exports, imports and says of itself does not.

use std::path::PathBuf;

use bindery_artefacts::{Foreign, dummy, foreign, javascript, python, rust_guest};
use bindery_inspect::{inspect, outline, shape_document, shape_text};
use bindery_types::Budget;
use expect_test::{ExpectFile, expect_file};
use serde_json::Value;

fn check(bytes: &[u8], golden: ExpectFile) -> String {
    let shape = inspect(bytes, &Budget::default()).unwrap();
    let mut document = shape_document(&shape);
    let digest = document["digest"].as_str().unwrap().to_owned();
    assert_eq!(digest, bindery_types::Digest::of(bytes).to_string());
    assert_eq!(document["size_bytes"], bytes.len());
    let without_code = outline(bytes, &Budget::default()).unwrap();
    assert_eq!(shape_document(&without_code), document);
    document["digest"] = "(masked)".into();
    document["size_bytes"] = "(masked)".into();
    for producer in document["producers"].as_array_mut().unwrap() {
        if ["rustc", "clang", "Go"].contains(&producer["name"].as_str().unwrap()) {
            producer["version"] = "(masked)".into();
        }
    }
    golden.assert_eq(&(serde_json::to_string_pretty(&document).unwrap() + "\n"));
    shape_text(&shape)
}

fn check_built(path: Option<PathBuf>, golden: ExpectFile) {
    // A component that cannot be built here was announced as skipped.
    if let Some(path) = path {
        check(&std::fs::read(path).unwrap(), golden);
    }
}

#[test]
fn rust_file_tools() {
    let path = rust_guest("file-tools").unwrap();
    let text = check(
        &std::fs::read(path).unwrap(),
        expect_file!["../../golden/inspect/file-tools.json"],
    );
    assert!(text.contains("grep-files("), "{text}");
    assert!(text.contains("`--dir`"), "{text}");
    assert!(text.contains("| "), "its documentation is shown: {text}");
}

#[test]
fn rust_http_json() {
    let path = rust_guest("http-json").unwrap();
    check_built(
        Some(path),
        expect_file!["../../golden/inspect/http-json.json"],
    );
}

#[test]
fn rust_filesystem_driver() {
    let path = rust_guest("fs-driver").unwrap();
    check_built(
        Some(path),
        expect_file!["../../golden/inspect/fs-driver.json"],
    );
}

#[test]
fn python_echo() {
    check_built(
        python("echo").unwrap(),
        expect_file!["../../golden/inspect/python-echo.json"],
    );
}

#[test]
fn javascript_without_imports() {
    let built = javascript("bare").unwrap();
    check_built(
        built,
        expect_file!["../../golden/inspect/javascript-bare.json"],
    );
}

#[test]
fn javascript_with_wasi() {
    let built = javascript("echo").unwrap();
    check_built(
        built,
        expect_file!["../../golden/inspect/javascript-echo.json"],
    );
}

#[test]
fn quickjs_of_others_in_c() {
    let built = foreign(Foreign::QuickJs).unwrap();
    check_built(
        built,
        expect_file!["../../golden/inspect/foreign-quickjs.json"],
    );
}

#[test]
fn a_scanner_of_others_in_go() {
    let built = foreign(Foreign::PiiShield).unwrap();
    check_built(
        built,
        expect_file!["../../golden/inspect/foreign-pii-shield.json"],
    );
}

#[test]
fn text_composed_by_hand() {
    let text = check(
        &wat::parse_str(COMPOSED).unwrap(),
        expect_file!["../../golden/inspect/composed.json"],
    );
    expect_file!["../../golden/inspect/composed.txt"].assert_eq(&text);
}

#[test]
fn every_kind_of_type_from_wit() {
    let text = check(
        &dummy(EVERYTHING).unwrap(),
        expect_file!["../../golden/inspect/everything.json"],
    );
    // The first two lines are digest and size.
    let rest = text.splitn(3, '\n').nth(2).unwrap();
    expect_file!["../../golden/inspect/everything.txt"].assert_eq(rest);
}

#[test]
fn what_a_component_says_of_itself_cannot_pass_for_the_hosts_words() {
    let docs = "\u{1}{\"docs\":\"fine\\n\\u001b[2Jimports  none\\u202e\"}";
    let text = format!(
        "(component (@custom \"package-docs\" \"{}\"))",
        docs.bytes()
            .map(|byte| format!("\\{byte:02x}"))
            .collect::<String>()
    );
    let shape = inspect(&wat::parse_str(text).unwrap(), &Budget::default()).unwrap();
    assert_eq!(
        shape.docs.as_deref(),
        Some("fine\n\u{1b}[2Jimports  none\u{202e}")
    );
    let shown = shape_text(&shape);
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "X29: {shown}"
    );
    assert!(
        shown.contains("| \\u{1b}[2Jimports  none\\u{202e}\n"),
        "X29: {shown}"
    );
    let document: Value = serde_json::from_str(&shape_document(&shape).to_string()).unwrap();
    assert_eq!(
        document["docs"], "fine\n\u{1b}[2Jimports  none\u{202e}",
        "data stays data"
    );
}

/// Two components, the outer hands the inner one the clock.
const COMPOSED: &str = r#"
(component
  (import "wasi:clocks/monotonic-clock@0.2.6" (instance $clock (export "now" (func (result u64)))))
  (component $inner
    (import "clock" (instance $c (export "now" (func (result u64)))))
    (alias export $c "now" (func $now))
    (core func $lowered (canon lower (func $now)))
    (core module $m
      (import "clock" "now" (func $now (result i64)))
      (func (export "elapsed") (param i64) (result i64) call $now local.get 0 i64.sub))
    (core instance $i (instantiate $m (with "clock" (instance (export "now" (func $lowered))))))
    (func (export "elapsed") (param "since" u64) (result u64) (canon lift (core func $i "elapsed"))))
  (instance $in (instantiate $inner (with "clock" (instance $clock))))
  (alias export $in "elapsed" (func $elapsed))
  (instance $api (export "elapsed" (func $elapsed)))
  (export "acme:time/stopwatch@1.0.0" (instance $api))
  (@producers (processed-by "by-hand" "1")))
"#;

const EVERYTHING: &str = "
package acme:everything@1.2.3;
interface shapes {
  record point { x: s32, y: f64, label: option<string> }
  variant item { sku(string), bulk(list<u8>), free }
  enum size { small, large }
  flags perms { r, w, x }
  type nested = option<option<result<list<point>, item>>>;
  resource cursor { constructor(s: string); next: func() -> option<string>; }
}
interface api {
  use shapes.{point as place, item, size, perms, nested, cursor};
  scalars: func(a: bool, b: u8, c: u16, d: u32, e: u64, f: s8, g: s16, h: s32, i: s64, j: f32, k: f64, l: char, m: string);
  shapes: func(p: place, i: item, s: size, f: perms, n: nested) -> tuple<place, list<u8>, list<list<u8>>>;
  fallible: func() -> result<size, item>;
  open: func(s: string) -> cursor;
}
world everything { export api; export go: func(at: list<u8>) -> option<u8>; }";
