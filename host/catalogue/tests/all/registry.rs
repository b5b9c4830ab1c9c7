//! Ids, aliases and the version.

use bindery_catalogue::{AdmitError, Catalogue, Change, Contract, Entry, Seen};
use bindery_types::{Digest, ExecutionState, ValidationStatus};

use crate::fixture::{descriptor, entry, origin, plain};

fn seen(invokable: bool, policy: &str) -> Option<Seen> {
    Some(Seen {
        invokable,
        policy: Digest::of(policy.as_bytes()),
    })
}

fn version_of(entry: Entry) -> Digest {
    let mut catalogue = Catalogue::default();
    catalogue.admit(entry).unwrap();
    catalogue.version(|_| seen(true, "rules"))
}

#[test]
fn the_version_changes_with_each_of_its_inputs_and_with_nothing_else() {
    let base = version_of(plain());
    assert_eq!(
        base,
        version_of(plain()),
        "identical content, identical version"
    );
    let aliased = Contract {
        aliases: vec!["cat".to_owned()],
        ..Contract::default()
    };
    let categorised = Contract {
        category: Some("files".to_owned()),
        ..Contract::default()
    };
    let permitted = Contract {
        allowed_agents: Some(Vec::new()),
        ..Contract::default()
    };
    let mut other_provider = origin();
    other_provider.provider = "beta".parse().unwrap();
    let mut planned = plain();
    planned.execution_state = ExecutionState::Planned;
    for (changed, requirement) in [
        (
            entry(descriptor("read-file", categorised, origin())),
            "R-150 descriptor metadata",
        ),
        (
            entry(descriptor("read-file", permitted, origin())),
            "R-151 permissions",
        ),
        (
            entry(descriptor("read-files", Contract::default(), origin())),
            "R-152 schema, name",
        ),
        (
            entry(descriptor("read-file", Contract::default(), other_provider)),
            "R-153 provider",
        ),
        (planned, "R-155 invokability"),
        (
            entry(descriptor("read-file", aliased, origin())),
            "R-156 aliases",
        ),
    ] {
        assert_ne!(version_of(changed), base, "{requirement}");
    }
    let mut catalogue = Catalogue::default();
    catalogue.admit(plain()).unwrap();
    assert_ne!(catalogue.version(|_| seen(false, "rules")), base, "R-155");
    assert_ne!(
        catalogue.version(|_| seen(true, "other rules")),
        base,
        "R-157"
    );
    assert_ne!(catalogue.version(|_| None), base, "R-154");
    let mut examined = plain();
    examined.validation = ValidationStatus::Bindable;
    assert_eq!(
        version_of(examined),
        base,
        "how far it was examined is the ledger's"
    );
}

#[test]
fn a_hidden_entry_leaves_no_trace_in_the_version() {
    let mut catalogue = Catalogue::default();
    let empty = catalogue.version(|_| None);
    catalogue.admit(plain()).unwrap();
    assert_eq!(catalogue.version(|_| None), empty, "I27");
}

#[test]
fn a_change_replaces_the_whole_entry_and_says_what_it_replaced() {
    let mut catalogue = Catalogue::default();
    assert_eq!(catalogue.admit(plain()), Ok(Change::Added));
    assert_eq!(catalogue.admit(plain()), Ok(Change::Same));
    let changed = Contract {
        category: Some("files".to_owned()),
        ..Contract::default()
    };
    let change = catalogue
        .admit(entry(descriptor("read-file", changed, origin())))
        .unwrap();
    let old = plain().descriptor;
    let replaced = Change::Replaced {
        descriptor: old.digest(),
        implementation: old.implementation_digest(),
    };
    assert_eq!(change, replaced);
    assert!(catalogue.remove(old.id()).is_some());
    assert!(catalogue.get(old.id()).is_none());
}

#[test]
fn another_provider_cannot_take_an_id() {
    let mut catalogue = Catalogue::default();
    catalogue.admit(plain()).unwrap();
    let mut evil = origin();
    evil.provider = "evil".parse().unwrap();
    let result = catalogue.admit(entry(descriptor("read-file", Contract::default(), evil)));
    assert!(
        matches!(result, Err(AdmitError::Taken { .. })),
        "R-177, case C8"
    );
    assert_eq!(
        catalogue.entries().next().unwrap().descriptor.origin(),
        &origin()
    );
}

#[test]
fn an_alias_leads_to_one_entry_and_cannot_be_taken() {
    let aliased = || Contract {
        aliases: vec!["cat".to_owned()],
        ..Contract::default()
    };
    let mut catalogue = Catalogue::default();
    catalogue
        .admit(entry(descriptor("read-file", aliased(), origin())))
        .unwrap();
    assert_eq!(
        catalogue.by_alias("cat").unwrap().descriptor.id().as_str(),
        "acme:files/api#read-file",
        "R-163"
    );
    let clash = catalogue.admit(entry(descriptor("list-dir", aliased(), origin())));
    assert!(matches!(clash, Err(AdmitError::AliasTaken { .. })), "R-163");
    catalogue.admit(plain()).unwrap();
    assert!(
        catalogue.by_alias("cat").is_none(),
        "an alias goes with its contract"
    );
}
