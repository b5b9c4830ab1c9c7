//! Files and directories that are not the store's own: links, other modes, other owners,
//! other engines (X63, X73, X74, R-026).

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt, symlink};
use std::process::Command;

use wasmtime::Engine;

use super::super::{ArtefactStore, EngineId};
use super::{COMPILED, Shelf, UNCHANGED, load, name, put};
use crate::engine::code_config;

#[test]
fn x73_code_of_another_engine_or_another_store_is_a_miss() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    let mut config = code_config();
    config.consume_fuel(false);
    let other = Engine::new(&config).unwrap();
    let digest = COMPILED.components[0].0;
    assert!(store.load(&other, &EngineId::of(&other), digest).is_none());
    // Under the right name, with a MAC by another key.
    let foreign = Shelf::holding(1);
    std::fs::copy(foreign.entry(1), shelf.entry(1)).unwrap();
    assert!(load(&store, 1).is_none());
    assert!(load(&store, 0).is_some(), "and the twin is unharmed");
}

#[test]
fn what_was_copied_from_elsewhere_is_foreign_and_what_was_changed_is_damaged() {
    let (shelf, other) = (Shelf::holding(0), Shelf::holding(1));
    std::fs::copy(other.entry(1), shelf.entry(1)).unwrap();
    let verified = shelf.open(UNCHANGED).verify().unwrap();
    assert_eq!((verified.sound, verified.bad.len()), (2, 0));
    assert_eq!(verified.foreign[0].name, name(1).file());
    assert!(
        verified.foreign[0].reason.contains("key of another store"),
        "{verified:?}"
    );
    let mut bytes = std::fs::read(shelf.entry(0)).unwrap();
    bytes[4_096] ^= 1;
    shelf.overwrite(&name(0).file(), &bytes, 0o400);
    let verified = shelf.open(UNCHANGED).verify().unwrap();
    assert_eq!((verified.bad.len(), verified.foreign.len()), (1, 1));
}

#[test]
fn a_folder_that_was_copied_whole_is_sound_and_its_seals_are_foreign() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    for _ in 0..200 {
        assert!(load(&store, 0).is_some());
        if shelf.path.join(name(0).seal()).exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let copy = Shelf::new();
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&copy.path)
        .unwrap();
    for file in shelf.files() {
        std::fs::copy(shelf.path.join(&file), copy.path.join(&file)).unwrap();
    }
    let store = copy.open(UNCHANGED);
    assert!(load(&store, 0).is_some(), "it is loaded all the same");
    let verified = ArtefactStore::open_existing(&copy.path).unwrap().unwrap();
    let verified = verified.verify().unwrap();
    assert_eq!((verified.sound, verified.bad.len()), (2, 0), "{verified:?}");
    let files: Vec<_> = verified.foreign.iter().map(|file| &file.name).collect();
    assert_eq!(files, [&name(0).seal()]);
}

#[test]
fn looking_at_a_store_makes_nothing_and_repairs_nothing() {
    let shelf = Shelf::new();
    assert!(ArtefactStore::open_existing(&shelf.path).unwrap().is_none());
    assert!(!shelf.path.exists());
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&shelf.path)
        .unwrap();
    let store = ArtefactStore::open_existing(&shelf.path).unwrap().unwrap();
    assert!(store.list(&COMPILED.id).unwrap().is_empty());
    assert!(shelf.files().is_empty(), "no key");
    put(&shelf.open(UNCHANGED), 0).unwrap();
    let store = ArtefactStore::open_existing(&shelf.path).unwrap().unwrap();
    assert_eq!(store.list(&COMPILED.id).unwrap().len(), 1, "and its twin");
    assert_eq!(store.verify().unwrap().sound, 2);
}

#[test]
fn r026_compiled_code_dropped_into_the_store_by_hand_is_not_loaded() {
    let shelf = Shelf::new();
    let store = shelf.open(UNCHANGED);
    std::fs::write(shelf.entry(0), COMPILED.components[0].1.as_slice()).unwrap();
    std::fs::set_permissions(shelf.entry(0), PermissionsExt::from_mode(0o400)).unwrap();
    std::fs::write(shelf.path.join("mine.cwasm"), b"x").unwrap();
    assert!(load(&store, 0).is_none());
    let bad = store.verify().unwrap().bad;
    let names: Vec<&str> = bad.iter().map(|bad| bad.name.as_str()).collect();
    assert!(
        names.contains(&"mine.cwasm") && names.len() == 2,
        "{names:?}"
    );
    store.clear().unwrap();
    assert_eq!(
        shelf.files(),
        ["key", "mine.cwasm"],
        "what is not ours stays"
    );
}

/// What is done to a shelf that holds the first component.
type Spoil = fn(&Shelf);

#[test]
fn x74_a_link_another_mode_or_another_name_is_not_loaded() {
    let spoil: [(&str, Spoil); 5] = [
        ("symbolic link", |shelf| {
            let aside = shelf.path.join("aside");
            std::fs::rename(shelf.entry(0), &aside).unwrap();
            symlink(aside, shelf.entry(0)).unwrap();
        }),
        ("hard link", |shelf| {
            std::fs::hard_link(shelf.entry(0), shelf.path.join("twin")).unwrap();
        }),
        ("mode", |shelf| {
            std::fs::set_permissions(shelf.entry(0), PermissionsExt::from_mode(0o600)).unwrap();
        }),
        ("directory", |shelf| {
            std::fs::remove_file(shelf.entry(0)).unwrap();
            std::fs::create_dir(shelf.entry(0)).unwrap();
        }),
        ("fifo", |shelf| {
            std::fs::remove_file(shelf.entry(0)).unwrap();
            let made = Command::new("mkfifo").arg(shelf.entry(0)).status();
            assert!(made.unwrap().success());
        }),
    ];
    for (what, spoil) in spoil {
        let shelf = Shelf::holding(0);
        let store = shelf.open(UNCHANGED);
        spoil(&shelf);
        assert!(load(&store, 0).is_none(), "{what}");
        if what != "directory" {
            put(&store, 0).unwrap();
            assert!(
                load(&store, 0).is_some(),
                "{what}: storing again replaces it"
            );
        }
    }
}

#[test]
fn x63_a_directory_that_is_linked_writable_by_others_or_foreign_is_refused_with_the_reason() {
    let shelf = Shelf::new();
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&shelf.path)
        .unwrap();
    for mode in [0o720, 0o702, 0o777] {
        std::fs::set_permissions(&shelf.path, PermissionsExt::from_mode(mode)).unwrap();
        assert!(shelf.refusal().contains("may write"), "{mode:o}");
    }
    std::fs::set_permissions(&shelf.path, PermissionsExt::from_mode(0o700)).unwrap();
    drop(shelf.open(UNCHANGED));
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&shelf.path, Some(65_534), None).unwrap();
        assert!(shelf.refusal().contains("another user"));
    }
    std::fs::remove_dir_all(&shelf.path).unwrap();
    symlink(shelf._scratch.path(), &shelf.path).unwrap();
    assert!(shelf.refusal().contains("symbolic link"));
    std::fs::remove_file(&shelf.path).unwrap();
    std::fs::write(&shelf.path, b"").unwrap();
    assert!(!shelf.refusal().is_empty(), "a file is no store");
}

#[test]
fn x63_a_key_others_can_read_or_that_is_a_link_is_refused() {
    let shelf = Shelf::holding(0);
    let key = shelf.path.join("key");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(shelf.refusal().contains("mode is 640"));
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    drop(shelf.open(UNCHANGED));
    let aside = shelf._scratch.path().join("aside");
    std::fs::rename(&key, &aside).unwrap();
    symlink(&aside, &key).unwrap();
    assert!(shelf.refusal().contains("symbolic link"));
}

#[test]
fn x74_a_store_whose_path_is_replaced_after_opening_stays_where_it_was() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    let moved = shelf._scratch.path().join("moved");
    let elsewhere = shelf._scratch.path().join("elsewhere");
    std::fs::rename(&shelf.path, &moved).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &shelf.path).unwrap();
    assert!(load(&store, 0).is_some());
    put(&store, 1).unwrap();
    assert!(moved.join(name(1).file()).exists());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(shelf.refusal().contains("symbolic link"));
}
