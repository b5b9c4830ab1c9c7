//! The rules of dependencies: who may name what, which versions, which features.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use bindery_artefacts::repository;
use serde_json::Value;

/// Crates of the workspace with the crates of the workspace that they may depend on:
/// edges point down only (architecture, § 2).
const EDGES: [(&str, &[&str]); 14] = [
    ("bindery-policy", &["bindery-types"]),
    ("bindery-types", &[]),
    ("bindery-json", &["bindery-types"]),
    ("bindery-catalogue", &["bindery-json", "bindery-types"]),
    ("bindery-screen", &[]),
    ("bindery-grants", &["bindery-screen", "bindery-types"]),
    (
        "bindery-inspect",
        &["bindery-grants", "bindery-json", "bindery-types"],
    ),
    ("bindery-ledger", &["bindery-types"]),
    ("bindery-store", &["bindery-ledger", "bindery-types"]),
    (
        "bindery-sandbox",
        &[
            "bindery-grants",
            "bindery-inspect",
            "bindery-json",
            "bindery-types",
        ],
    ),
    (
        "bindery",
        &[
            "bindery-catalogue",
            "bindery-grants",
            "bindery-inspect",
            "bindery-json",
            "bindery-ledger",
            "bindery-policy",
            "bindery-sandbox",
            "bindery-screen",
            "bindery-types",
        ],
    ),
    ("bindery-values", &["bindery-grants"]),
    (
        "bindery-service",
        &["bindery", "bindery-store", "bindery-values"],
    ),
    ("bindery-cli", &["bindery", "bindery-service"]),
];

/// Packages of others that only these crates of the product may name.
const RESERVED: [(&str, &[&str]); 11] = [
    (
        "wasmtime",
        &["bindery-grants", "bindery-inspect", "bindery-sandbox"],
    ),
    ("wasmtime-wasi", &["bindery-grants"]),
    ("wasmtime-wasi-http", &["bindery-grants"]),
    ("wasmtime-wasi-io", &["bindery-grants"]),
    (
        "cap-std",
        &["bindery-cli", "bindery-grants", "bindery-service"],
    ),
    ("hyper", &["bindery-grants"]),
    ("rustls", &["bindery-grants"]),
    ("wit-parser", &["bindery-sandbox"]),
    ("anyhow", &["bindery-cli"]),
    ("clap", &["bindery-cli"]),
    ("rusqlite", &["bindery-store", "bindery-values"]),
];

/// H2: exactly these features, so that nothing is compiled that no one asked for.
const FEATURES: [(&str, &[&str]); 4] = [
    (
        "wasmtime",
        &[
            "async",
            "call-hook",
            "component-model",
            "cranelift",
            "once_cell",
            "parallel-compilation",
            "pooling-allocator",
            "runtime",
            "std",
            "wasmtime-jit-icache-coherence",
        ],
    ),
    ("wasmtime-wasi", &["p2"]),
    ("wasmtime-wasi-http", &["p2"]),
    ("wasmtime-wasi-io", &["std"]),
];

/// The platform that guarantees are claimed for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

fn metadata(folder: &str) -> Value {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository().join(folder))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            PLATFORM,
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// The packages of the product, by name: those in `host`.
fn product(metadata: &Value) -> BTreeMap<&str, &Value> {
    let of_product = |package: &&Value| {
        text(package, "manifest_path").starts_with(&*repository().join("host").to_string_lossy())
    };
    list(metadata, "packages")
        .iter()
        .filter(of_product)
        .map(|package| (text(package, "name"), package))
        .collect()
}

/// What a package depends on outside its tests.
fn needs(package: &Value) -> BTreeSet<&str> {
    list(package, "dependencies")
        .iter()
        .filter(|dependency| dependency["kind"] != "dev")
        .map(|d| text(d, "name"))
        .collect()
}

#[test]
fn edges_between_crates_point_down() {
    let metadata = metadata(".");
    let product = product(&metadata);
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        product.keys().copied().collect::<BTreeSet<_>>(),
        known,
        "a crate without a line in this table"
    );
    for (name, allowed) in EDGES {
        let inner: Vec<&str> = needs(product[name])
            .into_iter()
            .filter(|need| known.contains(need))
            .collect();
        let strange: Vec<_> = inner
            .iter()
            .filter(|need| !allowed.contains(need))
            .collect();
        assert!(strange.is_empty(), "{name} must not depend on {strange:?}");
    }
}

/// Only inspect, the sandbox and the grants name the engine; only the grants touch files and sockets.
#[test]
fn reserved_packages_are_named_where_they_belong_and_nowhere_else() {
    let metadata = metadata(".");
    for (name, package) in product(&metadata) {
        for (reserved, owners) in RESERVED {
            let uses = needs(package).contains(reserved);
            assert!(
                !uses || owners.contains(&name),
                "{name} must not depend on {reserved}"
            );
        }
    }
    for pure in [
        "bindery-types",
        "bindery-json",
        "bindery-catalogue",
        "bindery-screen",
        "bindery-policy",
    ] {
        let needs = needs(product(&metadata)[pure])
            .into_iter()
            .collect::<Vec<_>>();
        assert!(
            !needs.contains(&"tokio") && !needs.contains(&"rustix"),
            "{pure} does no I/O: {needs:?}"
        );
    }
}

/// The packages of the shipped program with their features, as its build takes them.
/// (`cargo metadata` also counts features of other platforms and of build scripts.)
fn shipped() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args([
            "tree",
            "--locked",
            "--package",
            "bindery-cli",
            "--edges",
            "normal",
        ])
        .args([
            "--target", PLATFORM, "--prefix", "none", "--format", "{p}|{f}",
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let package = |line: &str| {
        let (package, features) = line.trim_end_matches(" (*)").split_once('|')?;
        let features = features.split(',').filter(|feature| !feature.is_empty());
        Some((
            package.split(' ').next()?.to_owned(),
            features.map(str::to_owned).collect(),
        ))
    };
    text.lines().filter_map(package).collect()
}

/// H2, H35: the engine has the features that were chosen. Winch is not in the program;
/// Pulley's crate is a dependency that the engine always has, but without the engine's own
/// feature `pulley`, which is not chosen, nothing can be compiled for it or run by it.
#[test]
fn the_engine_is_built_with_the_chosen_features_only() {
    let shipped = shipped();
    for (name, chosen) in FEATURES {
        assert_eq!(shipped[name], chosen, "{name}");
        assert!(!chosen.contains(&"pulley") && !chosen.contains(&"winch"));
    }
    for absent in [
        "wasmtime-internal-winch",
        "winch-codegen",
        "wasmtime-internal-cache",
    ] {
        assert!(!shipped.contains_key(absent), "{absent} is in the program");
    }
}

/// H1: no engine below the release with the fixes this product counts on, none above the line.
#[test]
fn the_engine_is_of_the_line_that_was_reviewed() {
    let metadata = metadata(".");
    let mut seen = 0;
    for package in list(&metadata, "packages") {
        if ["wasmtime", "wasmtime-wasi", "wasmtime-wasi-http"].contains(&text(package, "name")) {
            let version = text(package, "version");
            let parts: Vec<u32> = version
                .split('.')
                .map(|part| part.parse().unwrap())
                .collect();
            assert!(
                parts[0] == 48 && (parts[1], parts[2]) >= (0, 8),
                "{} {version}",
                package["name"]
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 3);
}

/// What is not on the public registry under a fixed hash cannot be reviewed.
#[test]
fn every_dependency_comes_from_the_registry_with_a_fixed_version() {
    for folder in [".", "guests"] {
        for package in list(&metadata(folder), "packages") {
            let source = package["source"].as_str();
            let known = source.is_none_or(|source| {
                source == "registry+https://github.com/rust-lang/crates.io-index"
            });
            assert!(known, "{} comes from {source:?}", package["name"]);
        }
    }
}

/// each of the nine named packages does real work on the tested path.
#[test]
fn every_named_package_is_used_by_code_that_is_tested() {
    let host = metadata(".");
    let guests = metadata("guests");
    for name in [
        "wasmtime",
        "wasmtime-wasi",
        "cap-std",
        "tokio",
        "serde_json",
        "sha2",
        "anyhow",
        "tracing",
    ] {
        let users: Vec<&Value> = product(&host)
            .into_values()
            .filter(|package| needs(package).contains(name))
            .collect();
        assert!(
            users.iter().any(|package| names_in_source(package, name)),
            "no crate of the product uses {name}"
        );
    }
    let bound = list(&guests, "packages")
        .iter()
        .filter(|package| package["source"].is_null());
    let mut of_ours = bound.filter(|package| needs(package).contains("wit-bindgen"));
    assert!(
        of_ours.any(|package| names_in_source(package, "wit-bindgen")),
        "no guest is generated by wit-bindgen"
    );
}

/// True when a source file of the package names the library.
fn names_in_source(package: &Value, library: &str) -> bool {
    fn search(folder: &std::path::Path, needle: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                search(&path, needle)
            } else {
                std::fs::read_to_string(&path).unwrap().contains(needle)
            }
        })
    }
    let manifest = std::path::Path::new(text(package, "manifest_path"));
    search(
        &manifest.parent().unwrap().join("src"),
        &format!("{}::", library.replace('-', "_")),
    )
}
