//! Every case, attack and rule that this part of the product must answer is cited by a
//! test, or has a reason in the one list why not.

use std::collections::BTreeSet;

use bindery_artefacts::repository;
use bindery_cases::{Id, required, table};
use bindery_types::LimitName;

fn list() -> Vec<bindery_cases::Required> {
    let path = repository().join("tests/suite/data/required-ids.txt");
    required(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Ids that a single test cites; what only the header of a file says is a promise.
fn answered() -> BTreeSet<Id> {
    let rows = table(repository()).unwrap().into_iter();
    rows.filter(|(_, places)| places.iter().any(|place| place.test.is_some()))
        .map(|(id, _)| id)
        .collect()
}

#[test]
fn every_required_id_is_cited_by_a_test_or_has_a_reason() {
    let answered = answered();
    let open: Vec<String> = list()
        .into_iter()
        .filter(|row| row.reason.is_none() && !answered.contains(&row.id))
        .map(|row| row.id.to_string())
        .collect();
    assert!(
        open.is_empty(),
        "cited by no test: {open:?} (see `cargo xtask cases`)"
    );
}

#[test]
fn a_reason_goes_when_a_test_comes() {
    let answered = answered();
    let stale: Vec<String> = list()
        .into_iter()
        .filter(|row| row.reason.is_some() && answered.contains(&row.id))
        .map(|row| row.id.to_string())
        .collect();
    assert!(
        stale.is_empty(),
        "a test cites these, so their reasons in tests/suite/data/required-ids.txt are out of date: {stale:?}"
    );
}

/// U5: a limit that no test meets may be one that nothing enforces.
#[test]
fn every_limit_is_met_by_a_test() {
    // Nothing here calls another capability yet.
    const UNMET: [LimitName; 1] = [LimitName::NestedDepth];
    let tests = std::fs::read_dir(repository().join("tests/suite/tests/all")).unwrap();
    let files = tests
        .flatten()
        .filter(|entry| entry.file_name() != "cases.rs");
    let files = files.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let mut text: String = files.collect();
    for folder in ["compile/mod.rs", "compile/bombs.rs"] {
        let path = repository().join("tests/suite/tests/all").join(folder);
        text += &std::fs::read_to_string(path).unwrap();
    }
    let met = |name: &LimitName| text.contains(&format!("LimitName::{name:?}"));
    let unmet: Vec<&LimitName> = LimitName::ALL.iter().filter(|name| !met(name)).collect();
    assert_eq!(unmet, UNMET.iter().collect::<Vec<_>>());
}

#[test]
fn a_reason_is_a_sentence_and_speaks_of_no_plan() {
    for row in list() {
        let Some(reason) = row.reason else { continue };
        assert!(reason.len() > 12, "{}: {reason}", row.id);
        for word in ["issue", "#", "sprint", "milestone"] {
            assert!(!reason.contains(word), "{}: {reason}", row.id);
        }
    }
}
