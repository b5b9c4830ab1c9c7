//! The guests of this repository build into components, and stay what they claim to be.

use bindery_artefacts::{javascript, python, rust_guest};
use bindery_grants::Grants;
use bindery_inspect::inspect;
use bindery_sandbox::{Cancel, Sandbox};
use bindery_types::{Budget, LimitName, Outcome};
use serde_json::{Value, json};

use crate::shelf;

#[test]
fn a_guest_asked_for_twice_is_one_component_file() {
    let path = rust_guest("fs-driver").unwrap();
    let bytes = std::fs::read(&path).unwrap();
    // The preamble of a component: magic, version 13, layer 1.
    assert_eq!(&bytes[..8], b"\0asm\x0d\0\x01\0");
    assert_eq!(rust_guest("fs-driver").unwrap(), path);
}

#[test]
fn a_guest_that_does_not_exist_is_an_error_that_names_it() {
    let error = rust_guest("no-such-guest").unwrap_err();
    assert!(error.to_string().contains("no-such-guest"), "{error:#}");
}

/// File tools are meant to need nothing but files.
#[test]
fn file_tools_wants_nothing_but_files() {
    let bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
    let shape = inspect(&bytes, &Budget::default()).unwrap();
    for import in &shape.imports {
        let name = import.name.to_string();
        let plumbing = ["wasi:io/", "wasi:clocks/wall-clock@"];
        let known = name.starts_with("wasi:filesystem/")
            || plumbing.iter().any(|prefix| name.starts_with(prefix));
        assert!(known, "file-tools imports {name}");
    }
}

/// The comments of the WIT reach whoever inspects the component.
#[test]
fn a_guest_carries_the_documentation_of_its_interface() {
    let bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
    let shape = inspect(&bytes, &Budget::default()).unwrap();
    let undocumented: Vec<_> = shape
        .functions
        .iter()
        .filter(|function| function.docs.is_none())
        .collect();
    assert!(undocumented.is_empty(), "{undocumented:?}");
    assert!(shape.docs.is_some());
}

#[test]
fn a_component_of_the_bare_language_has_no_imports() {
    let Some(path) = javascript("bare").unwrap() else {
        return;
    };
    let shape = inspect(&std::fs::read(path).unwrap(), &Budget::default()).unwrap();
    assert!(shape.imports.is_empty(), "{:?}", shape.imports);
}

/// Ordinary third-party components run unchanged, and every value survives them.
#[test]
fn python_and_javascript_give_every_value_back() {
    for path in [
        python("echo").unwrap(),
        javascript("echo").unwrap(),
        javascript("bare").unwrap(),
    ] {
        let Some(path) = path else { continue };
        let component = Loaded::new(&std::fs::read(path).unwrap());
        let item = json!({
            "name": "näme", "count": "18446744073709551615", "tags": ["a", ""], "note": null,
            "colour": "green", "marks": ["bold", "underlined"], "shape": {"circle": 1.5}, "pair": [-7, true],
        });
        assert_eq!(component.value("echo-item", &json!({ "item": item })), item);
        assert_eq!(
            component.value("echo-u64", &json!({"number": "9007199254740993"})),
            json!("9007199254740993")
        );
        assert_eq!(
            component.value("echo-bytes", &json!({"data": "AP+A"})),
            json!("AP+A")
        );
        assert_eq!(
            component.value("echo-option", &json!({"value": null})),
            json!(null)
        );
        assert_eq!(
            component.value("divide", &json!({"dividend": -9, "divisor": 2})),
            json!(-4)
        );
        let refused = component.run("divide", &json!({"dividend": 1, "divisor": 0}));
        assert_eq!(refused, Outcome::CapabilityError("\"by-zero\"".to_owned()));
        let crashed = component.run("crash", &json!({"message": "gone"}));
        assert!(matches!(crashed, Outcome::Refused(_)), "{crashed:?}");
        assert_eq!(
            component.value("echo-option", &json!({"value": 1})),
            json!(1)
        );
    }
}

/// C5, C7: what an ordinary program reaches for is not there, and it is told so politely.
#[test]
fn an_ordinary_program_without_grants_finds_a_closed_world() {
    for path in [python("echo").unwrap(), javascript("echo").unwrap()] {
        let Some(path) = path else { continue };
        let component = Loaded::new(&std::fs::read(path).unwrap());
        assert_eq!(
            component
                .value("arguments", &json!({}))
                .as_array()
                .map_or(0, Vec::len),
            0
        );
        let host: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
        let seen = component.value("environment", &json!({}));
        for pair in seen.as_array().unwrap() {
            let name = pair[0].as_str().unwrap();
            assert!(
                name.starts_with("PYTHON") || !host.iter().any(|host| host == name),
                "{name} leaked"
            );
        }
        assert_eq!(
            component.value("now-ms", &json!({})),
            component.value("now-ms", &json!({}))
        );
        assert_eq!(
            component.value("random", &json!({})),
            component.value("random", &json!({}))
        );
        for (function, arguments) in [
            ("read-file", json!({"path": "/etc/passwd"})),
            ("write-file", json!({"path": "/tmp/x", "text": "x"})),
            ("list-dir", json!({"path": "/"})),
            ("connect", json!({"host": "127.0.0.1", "port": 22})),
            ("resolve", json!({"host": "secret-data.evil.test"})),
        ] {
            let outcome = component.run(function, &arguments);
            assert!(
                matches!(outcome, Outcome::CapabilityError(_)),
                "{function}: {outcome:?}"
            );
        }
    }
}

/// A component in a sandbox of its own, called without grants.
struct Loaded {
    runtime: tokio::runtime::Runtime,
    sandbox: Sandbox,
    component: bindery_sandbox::LoadedComponent,
    budget: Budget,
}

impl Loaded {
    fn new(bytes: &[u8]) -> Self {
        let (runtime, sandbox) = (shelf::runtime(), shelf::sandbox());
        let component = runtime.block_on(sandbox.load(bytes.to_vec())).unwrap();
        // An interpreter starts slowly beside other tests.
        let budget = Budget::default().with(LimitName::Deadline, 60_000).unwrap();
        Self {
            runtime,
            sandbox,
            component,
            budget,
        }
    }

    fn run(&self, function: &str, arguments: &Value) -> Outcome {
        let cancel = Cancel::new();
        let text = arguments.to_string();
        let grants = Grants::default();
        self.runtime
            .block_on(self.sandbox.run(
                &self.component,
                function,
                &text,
                grants,
                &self.budget,
                &cancel,
            ))
            .outcome
    }

    fn value(&self, function: &str, arguments: &Value) -> Value {
        match self.run(function, arguments) {
            Outcome::Value(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{function}({arguments}): {other:?}"),
        }
    }
}
