//! Opening: settings, modes, links, the one owner.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use bindery_ledger::Journal;
use bindery_store::{Inspection, Store, StoreError};
use bindery_types::ErrorType;

use crate::rig::*;
use crate::world::*;

fn mode(path: &std::path::Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn folder_and_files_are_their_owners_alone_h51() {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 3);
    assert_eq!(mode(&place.path), 0o700);
    let mut seen = 0;
    for entry in std::fs::read_dir(&place.path).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 6, "owner, key, mark, database, its log and its index");
}

#[test]
fn a_folder_or_file_that_is_open_to_others_is_refused() {
    for name in [".", "ledger.sqlite", "key", "mark"] {
        let place = place();
        drop(founded(&place.path));
        let path = place.path.join(name);
        let mut permissions = path.metadata().unwrap().permissions();
        permissions.set_mode(permissions.mode() | 0o044);
        std::fs::set_permissions(&path, permissions).unwrap();
        let error = open(&place.path).err().unwrap();
        assert!(
            matches!(error, StoreError::Unsafe { .. }),
            "{name}: {error}"
        );
        assert!(
            !error.refusal().message().contains('/'),
            "no path for the caller"
        );
    }
}

#[test]
fn a_link_in_the_place_of_a_file_or_of_the_folder_is_refused_x74() {
    for name in ["ledger.sqlite", "key", "mark", "owner"] {
        let place = place();
        drop(founded(&place.path));
        let path = place.path.join(name);
        let moved = place.path.join("elsewhere");
        std::fs::rename(&path, &moved).unwrap();
        symlink(&moved, &path).unwrap();
        assert!(open(&place.path).is_err(), "{name}");
        std::fs::remove_file(&path).unwrap();
        std::fs::hard_link(&moved, &path).unwrap();
        assert!(open(&place.path).is_err(), "{name}, a second name");
    }
    let place = place();
    drop(founded(&place.path));
    let link = place.path.with_file_name("link");
    symlink(&place.path, &link).unwrap();
    assert!(matches!(open(&link).err(), Some(StoreError::Unsafe { .. })));
}

#[test]
fn a_second_owner_is_refused_with_the_first_named_x71() {
    let place = place();
    let first = open(&place.path).unwrap();
    let error = open(&place.path).err().unwrap();
    let StoreError::Owned { pid } = &error else {
        panic!("{error}")
    };
    assert_eq!(*pid, std::process::id().to_string());
    assert_eq!(error.refusal().kind(), ErrorType::StoreUnavailable);
    drop(first);
    // What the owner wrote down is not what holds the lock.
    assert!(place.path.join("owner").exists());
    drop(open(&place.path).unwrap());
}

#[test]
fn a_reader_reads_while_somebody_owns_it_and_changes_nothing_c50() {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 5);
    let reader = Inspection::open(&place.path, None).unwrap();
    assert_eq!(*reader.state(), state(&world.journal));
    reader.verify().unwrap();
    work(&world, 6, 5);
    let mut out = Vec::new();
    let last = reader.export(&mut out).unwrap();
    assert_eq!(last, state(&world.journal).sequence());
    let again = Inspection::open(&place.path, None).unwrap();
    assert_eq!(*again.state(), state(&world.journal));
}

#[test]
fn where_there_is_no_store_nothing_is_read_and_none_is_made() {
    let place = place();
    assert!(Inspection::open(&place.path, None).is_err());
    assert!(!place.path.exists());
    let deep = place.path.join("a/b");
    assert!(matches!(open(&deep).err(), Some(StoreError::Io { .. })));
}

#[test]
fn a_start_that_was_cut_off_before_the_first_record_begins_anew() {
    for cut in [
        vec!["key"],
        vec!["key", "mark"],
        vec!["key", "mark", "ledger.new"],
    ] {
        let place = place();
        std::fs::create_dir(&place.path).unwrap();
        std::fs::set_permissions(&place.path, PermissionsExt::from_mode(0o700)).unwrap();
        for name in cut {
            let path = place.path.join(name);
            std::fs::write(&path, b"").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        }
        let world = founded(&place.path);
        work(&world, 1, 1);
    }
}

#[test]
fn a_part_of_a_store_is_no_empty_store_r374() {
    for name in ["ledger.sqlite", "key", "mark"] {
        let place = place();
        drop(founded(&place.path));
        std::fs::remove_file(place.path.join(name)).unwrap();
        let error = open(&place.path).err().unwrap();
        assert_eq!(
            error.refusal().kind(),
            ErrorType::IntegrityFailed,
            "{name}: {error}"
        );
        assert!(Inspection::open(&place.path, None).is_err(), "{name}");
    }
}

#[test]
fn a_store_of_another_version_is_not_touched() {
    let place = place();
    drop(founded(&place.path));
    let other = rusqlite::Connection::open(place.path.join("ledger.sqlite")).unwrap();
    other.pragma_update(None, "user_version", 2).unwrap();
    drop(other);
    let error = open(&place.path).err().unwrap();
    assert!(
        matches!(error, StoreError::Version { got: 2, wanted: 1 }),
        "{error}"
    );
}

#[test]
fn the_mark_may_be_kept_elsewhere_and_then_tells_an_older_copy_i39() {
    let place = place();
    let mut elsewhere = options(START);
    elsewhere.mark = Some(place.path.with_file_name("mark-on-another-disk"));
    let mut world = World::over(Store::open(&place.path, &elsewhere).unwrap());
    world.found();
    furnish(&world);
    work(&world, 1, 3);
    world.journal.close().unwrap();
    let copy = place.path.with_file_name("copy");
    copy_folder(&place.path, &copy);
    let world = World::over(Store::open(&place.path, &elsewhere).unwrap());
    world.open_session(2).unwrap();
    world.journal.close().unwrap();
    // The whole folder is restored, key and all; the mark is not in it.
    std::fs::remove_dir_all(&place.path).unwrap();
    std::fs::rename(&copy, &place.path).unwrap();
    let error = Store::open(&place.path, &elsewhere).err().unwrap();
    assert_eq!(
        error.refusal().kind(),
        ErrorType::IntegrityFailed,
        "{error}"
    );
}

pub(crate) fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    std::fs::set_permissions(to, PermissionsExt::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_closed_store_takes_nothing_more() {
    let place = place();
    let world = founded(&place.path);
    let entry = world.operator_entry(
        None,
        bindery_ledger::event::StageSwitched {
            stage: 2,
            on: true,
            evidence: line("x"),
        },
    );
    world.journal.append(vec![entry], Vec::new()).unwrap();
    assert_eq!(world.journal.poisoned(), None);
    world.journal.close().unwrap();
}
