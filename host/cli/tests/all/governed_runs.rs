//! Runs, leases, reviews and findings as commands; what a setting leaves as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::governed::{ALLOW, READ, Site, file_tools};

const ARGUMENTS: &str = r#"{"path": "/src/a.txt"}"#;

fn site() -> Site {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    site
}

/// C-37, R-566, R-578.
#[test]
fn a_run_is_shown_with_its_session_and_its_actions_and_moves_by_the_table_alone() {
    let site = site();
    let workspace = ["session", "new", "--workspace", "nowhere"];
    let (code, refused) = site.json(&workspace);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (1, &json!("run_transition_invalid"))
    );
    let opened = site.ok(&["session", "new", "--workspace", "default"]);
    assert_eq!(opened["run"]["status"], "created");
    let run = opened["run"]["id"].as_str().unwrap().to_owned();
    let handle = site.bind(READ, &[]);
    for _ in 0..2 {
        site.ok(&["call", &handle, ARGUMENTS]);
    }
    let shown = site.ok(&["session", "show"])["run"].clone();
    assert_eq!(
        (&shown["status"], &shown["steps"], &shown["done"]),
        (&json!("running"), &json!(2), &json!(2))
    );
    let actions = site.ok(&["actions", &run]);
    let steps = actions["actions"].as_array().unwrap();
    let steps: Vec<_> = steps.iter().map(|action| action["step"].clone()).collect();
    assert_eq!(steps, [json!(1), json!(2)]);
    let (code, refused) = site.json(&["session", "move", &run, "created"]);
    assert_eq!(
        (code, &refused["error"]["category"]),
        (1, &json!("invalid_run_transition"))
    );
    site.ok(&[
        "session",
        "move",
        &run,
        "completed",
        "--reason",
        "it is done",
    ]);
    let (_, after) = site.json(&["call", &handle, ARGUMENTS]);
    assert_eq!(after["error"]["type"], "binding_stale", "R-534");
}

/// R-541 … R-543, R-545, R-494, R-373.
#[test]
fn an_operator_renews_reviews_and_invalidates_and_a_model_does_only_the_first() {
    let site = site();
    let bound = site.ok(&["bind", READ, "--ttl", "1m"]);
    let handle = bound["handle"].as_str().unwrap().to_owned();
    let renewed = site.ok(&["renew", &handle, "--ttl", "5m"])["expires_at"].clone();
    assert_ne!(renewed, bound["expires_at"]);
    let shorter = site.ok(&["renew", &handle, "--ttl", "1s"])["expires_at"].clone();
    assert_eq!(shorter, renewed, "a lease is not shortened");
    let review = ["review", READ, "--trust", "host_verified"];
    let said = ["--evidence", "two people read its source"];
    site.ok(&[&review[..], &said[..]].concat());
    let drift = ["invalidate", READ, "--finding", "semantic_drift"];
    let asked = [&drift[..], &said[..]].concat();
    for words in [&asked, &[&review[..], &said[..]].concat()] {
        let (code, refused) = site.json(&[&words[..], &["--as", "token:model"]].concat());
        assert_eq!(
            (code, &refused["error"]["type"]),
            (4, &json!("permission_denied"))
        );
    }
    site.ok(&["call", &handle, ARGUMENTS]);
    let unknown = ["invalidate", READ, "--finding", "a_feeling"];
    let (code, _) = site.json(&[&unknown[..], &said[..]].concat());
    assert_eq!(code, 2, "a closed set");
    assert_eq!(site.ok(&asked)["bindings_ended"], 1);
    let (_, after) = site.json(&["call", &handle, ARGUMENTS]);
    assert_eq!(after["error"]["type"], "binding_stale");
}

fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => {
                let bytes = std::fs::read(&path).unwrap();
                // What a reader of the database works with holds nothing that is stored.
                let name = path.to_string_lossy();
                let empty = name.ends_with("-wal") && bytes.is_empty();
                if !empty && !name.ends_with("-shm") {
                    found.insert(path, bytes);
                }
            }
        }
    }
}

/// R-305.
#[test]
fn a_store_opened_under_both_settings_keeps_its_bytes_and_its_records() {
    let site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.ok(&["call", READ, ARGUMENTS]);
    let bytes = || {
        let mut found = BTreeMap::new();
        files(&site.path(".bindery"), &mut found);
        found
    };
    let records = || site.ok(&["ledger", "--from", "1", "--count", "10000"])["records"].clone();
    let (before, told) = (bytes(), records());
    assert!(before.len() > 2, "a store and components are there");
    let text = std::fs::read_to_string(site.path("bindery.toml")).unwrap();
    for preset in ["static", "deferred", "late_bound"] {
        let other = text.replace("preset = \"late_bound\"", &format!("preset = \"{preset}\""));
        std::fs::write(site.path("bindery.toml"), other).unwrap();
        assert_eq!(records(), told, "{preset}: the same records");
        site.ok(&["session", "list"]);
        let after = bytes();
        let differ = |path: &&PathBuf| after.get(*path) != before.get(*path);
        let all = before.keys().chain(after.keys());
        let others: Vec<&PathBuf> = all.filter(differ).collect();
        assert!(others.is_empty(), "{preset}: {others:?}");
    }
    // What a host writes comes after what is there.
    std::fs::write(
        site.path("bindery.toml"),
        text.replace("preset = \"late_bound\"", "preset = \"static\""),
    )
    .unwrap();
    site.ok(&["stages", "set", "2", "on"]);
    let (old, new) = (told, records());
    let old = old.as_array().unwrap();
    assert_eq!(&new.as_array().unwrap()[..old.len()], &old[..]);
}
